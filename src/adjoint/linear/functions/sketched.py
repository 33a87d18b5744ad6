"""Traces and diagonals with less variance: a random basis takes the large part of the map, exactly.

With an orthonormal basis Q of the range of Y = A Ω and P = I - Q Q*,

    tr A = tr(Q* A Q) + tr(P A P),        diag A = diag(Q Q* A) + diag(P A),

and probes independent of Q estimate the second terms (Hutch++). XTrace and XDiag use each probe for both: without its
column i, Y has a range whose projection is Q (I - sᵢ sᵢ*) Q*, where sᵢ is the normalized column i of R⁻*, Y = Q R. So
all leave-one-out estimates come from one factorization (Meyer et al. 2021; Epperly, Tropp, Webber 2023).

For a fixed Q each estimate is unbiased whatever Q is. So Q and sᵢ have no derivative here: the derivatives of the
estimates stay unbiased, and nothing is lost where the factorization has none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint.api.gradients import stop_gradient
from adjoint.linear.functions.probes import Estimate, average_samples
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.program.types import Value

__all__ = ["hutch_plus_plus", "xdiag", "xtrace"]

Columns = Callable[[Value], Value]


def hutch_plus_plus(product: Columns, sketch: Value, probes: Value) -> Estimate:
    """tr(Q* A Q) + the mean of ⟨P ω, A P ω⟩."""
    q, _ = np.linalg.qr(stop_gradient(product(sketch)))
    rest = probes - q @ (adjoint_matrix(q) @ probes)
    taken = np.sum(np.conj(q) * product(q))
    samples = np.sum(np.conj(rest) * product(rest), axis=0)
    found = average_samples(samples, 2 * sketch.shape[1] + probes.shape[1], "hutch++")
    return Estimate(taken + found.value, found.error, found.products, found.method)


def _basis(y: Value) -> tuple[Value, Value]:
    """Q, and the directions sᵢ as columns."""
    y = stop_gradient(y)
    q, r = np.linalg.qr(y)
    d = np.diagonal(r)
    size = np.max(np.abs(r))
    tiny = np.finfo(r.dtype).eps * np.where(size > 0, size, 1.0)
    # of a map with less rank than probes; what stands there only has to be small
    r = r + np.diag(np.where(np.abs(d) < tiny, tiny, 0.0).astype(r.dtype))
    s = np.linalg.solve(adjoint_matrix(r), np.eye(r.shape[0], dtype=r.dtype))
    return q, s / np.sqrt(np.sum(np.abs(s) ** 2, axis=0))


def _pairs(a: Value, b: Value) -> Value:
    """⟨aᵢ, bᵢ⟩ of the columns."""
    return np.sum(np.conj(a) * b, axis=0)


def xtrace(product: Columns, probes: Value) -> Estimate:
    """The mean of tr Qᵢ*AQᵢ + ⟨Pᵢωᵢ, A Pᵢωᵢ⟩ over i, with Pᵢωᵢ = ωᵢ - Q xᵢ, xᵢ = (I - sᵢsᵢ*) Q*ωᵢ."""
    y = product(probes)
    q, s = _basis(y)
    z = product(q)
    h = adjoint_matrix(q) @ z
    w = adjoint_matrix(q) @ probes
    x = w - s * _pairs(s, w)
    taken = np.trace(h) - _pairs(s, h @ s)
    rest = _pairs(probes, y) - _pairs(x, adjoint_matrix(q) @ y) - _pairs(probes, z @ x) + _pairs(x, h @ x)
    return average_samples(taken + rest, 2 * probes.shape[1], "xtrace")


def xdiag(product: Columns, adjoint_product: Columns, probes: Value) -> Estimate:
    """The mean of diag(Qᵢ Qᵢ* A) + ωᵢ ∘ Pᵢ A ωᵢ over i."""
    y = product(probes)
    q, s = _basis(y)
    z = adjoint_product(q)
    t = adjoint_matrix(q) @ y
    taken = np.sum(q * np.conj(z), axis=1)[:, None] - (q @ s) * np.conj(z @ s)
    rest = probes * (y - q @ (t - s * _pairs(s, t)))
    return average_samples(np.transpose(taken + rest), 2 * probes.shape[1], "xdiag")

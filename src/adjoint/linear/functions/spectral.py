"""tr f(A) of a symmetric map, so log det A = tr log A, by stochastic Lanczos quadrature.

After k steps from ω, Lanczos has A V ≈ V T with V*V = I, V e₁ = ω/‖ω‖ and T tridiagonal, and

    ⟨ω, f(A) ω⟩ ≈ ‖ω‖² (f(T))₁₁,

which is Gauss's quadrature for the measure that ω sees on the spectrum: exact for polynomials f of degree 2k - 1, and
after as many steps as A has eigenvalues. The mean over probes estimates the trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.api.control_flow import scan
from adjoint.api.gradients import stop_gradient
from adjoint.base.source import user_facing
from adjoint.linear.functions.estimates import products_of
from adjoint.linear.functions.probes import Estimate, average_samples, draw
from adjoint.ops.linalg.spectral_function import SpectralDerivative
from adjoint.program.trace import Tracer, bind
from adjoint.program.types import Value

__all__ = ["estimate_logdet", "estimate_trace_of_function", "lanczos"]

Columns = Callable[[Value], Value]


def lanczos(product: Columns, start: Value, steps: int) -> tuple[Value, Value]:
    """(α, β) of the tridiagonal matrices of all columns: arrays (steps, columns), (steps - 1, columns).

    Every new vector is made orthogonal to all before it, twice. Where the space of powers ends early, β is zero, and
    what follows repeats the first α, which the entry (1, 1) of a function does not see.
    """
    real = np.real(start[:0]).dtype
    small = 100 * np.finfo(real).eps
    first = start / np.sqrt(np.sum(np.abs(start) ** 2, axis=0))
    everyone = np.sum(np.abs(stop_gradient(first)), axis=0) > 0
    carried = (first, np.zeros((steps, *start.shape), start.dtype), everyone, everyone * real.type(0))

    def step(carried: Any, j: Any) -> Any:
        v, basis, alive, size = carried
        basis = np.copy(basis)
        basis[j] = v
        w = product(v)
        alpha = np.real(np.sum(np.conj(v) * w, axis=0))
        for _ in range(2):
            w = w - np.sum(basis * np.sum(np.conj(basis) * w, axis=1, keepdims=True), axis=0)
        square = np.sum(np.abs(w) ** 2, axis=0)
        size = np.maximum(size, stop_gradient(np.abs(alpha)) + np.sqrt(stop_gradient(square)))
        left = alive & (np.sqrt(stop_gradient(square)) > small * size)
        beta = np.sqrt(np.where(left, square, 1))
        following = np.where(left, w / beta, 0)
        return (following, basis, left, size), (np.where(alive, alpha, 0), np.where(left, beta, 0), alive)

    _, (alphas, betas, alive) = scan(step, carried, np.arange(steps))
    return np.where(alive, alphas, alphas[0]), betas[:-1]


@user_facing
def estimate_trace_of_function(
    function: Callable[[Any], Any],
    A: Any,
    rng: Any,
    samples: int = 20,
    steps: int = 25,
    *,
    probes: str = "signs",
    like: Any = None,
) -> Estimate:
    """tr f(A) of a symmetric (Hermitian) map A, for a smooth function f of numbers: samples × steps products.

    The standard error is that of the random probes. The error of the quadrature falls quickly with the number of steps,
    the sooner the better conditioned A is; compare two numbers of steps to see it. Derivatives go through the
    recurrence, at any order.

    ```python
    A = ad.linear.diagonal(np.linspace(1.0, 2.0, 50))
    abs(ad.linear.estimate_trace_of_function(np.sqrt, A, rng=0).value - 60.95) < 0.1  # → True
    ```
    """
    title = "estimate_trace_of_function"
    return _estimate(function, A, rng, samples, steps, probes, like, title)


@user_facing
def estimate_logdet(
    A: Any, rng: Any, samples: int = 20, steps: int = 25, *, probes: str = "signs", like: Any = None
) -> Estimate:
    """log det A of a positive definite map from samples × steps products; see `estimate_trace_of_function`.

    ```python
    A = ad.linear.diagonal(np.linspace(1.0, 2.0, 50))
    abs(ad.linear.estimate_logdet(A, rng=0).value - np.sum(np.log(np.linspace(1.0, 2.0, 50)))) < 0.1  # → True
    ```
    """
    found = _estimate(np.log, A, rng, samples, steps, probes, like, "estimate_logdet")
    if not isinstance(found.value, Tracer) and np.isnan(found.value):
        raise ValueError("estimate_logdet: the map has an eigenvalue that is not positive, so its logarithm has no "
                         "trace. Add a multiple of the identity, or use linear.slogdet for log|det A|.")  # fmt: skip
    return found


def _estimate(
    function: Callable[[Any], Any], A: Any, rng: Any, samples: int, steps: int, probes: str, like: Any, title: str
) -> Estimate:
    if samples < 1 or steps < 1:
        raise ValueError(f"{title}: samples={samples}, steps={steps}; both must be at least 1.")
    made = products_of(A, like, title)
    w = draw(rng, made.space, samples, probes, title)
    if not made.space.size:
        nothing = np.real(made.space.dtype.type(0))
        return Estimate(nothing, nothing, 0, "exact")
    steps = min(steps, made.space.size)
    alphas, betas = lanczos(made.columns, w, steps)
    tridiagonal = alphas.T[:, :, None] * np.eye(steps, dtype=alphas.dtype)
    if steps > 1:
        above = np.pad(betas.T[:, :, None] * np.eye(steps - 1, dtype=betas.dtype), ((0, 0), (0, 1), (1, 0)))
        tridiagonal = tridiagonal + above + np.swapaxes(above, 1, 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        entries = bind(SpectralDerivative(function), tridiagonal)[:, 0, 0]
    return average_samples(entries * np.sum(np.abs(w) ** 2, axis=0), samples * steps, "lanczos quadrature")

"""f(A) = V f(w) Vᴴ of a Hermitian matrix A = V diag(w) Vᴴ, for any smooth function f of numbers, and its derivatives.

The k-th derivative in directions E₁ … Eₖ is, in the basis V, a sum over all orders of the E's,

    Σ f[wₐ, w_b, …, w_z] (E₁)ₐ_b (E₂)_b… … (Eₖ)…_z,

with the divided differences of f: f[a] = f(a), f[a … z] = (f[b … z] - f[a … y]) / (z - a), and the derivative
f⁽ᵏ⁾(a) / k! where all arguments are equal. So nothing is lost where eigenvalues coincide, at any order.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here.)

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import TraceError
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Differential, fit, total
from adjoint.ops.elementwise.pointwise import aligned
from adjoint.ops.linalg.matrices import check_square, factor_dtype, to_factor_dtype
from adjoint.ops.linalg.workspace import spectral_derivative_workspace
from adjoint.program.op import primitive
from adjoint.program.trace import Trace, Tracer
from adjoint.program.types import ArrayType, Value, real_dtype

TERMS = 12  # of the Taylor series that stands for a divided difference of close arguments


def applied(function: Callable[..., Any], x: Value) -> Value:
    """f(x) for a plain vector."""
    y = function(x)
    if isinstance(y, Tracer):
        raise TraceError(
            "funm: the function closes over a traced value. Give its parameters as plain numbers, or write f(A) with "
            "expm, logm and products, which take traced values."
        )
    return np.broadcast_to(np.asarray(y), x.shape)


def divided_differences(function: Callable[..., Any], w: Value, order: int) -> Value:
    """f[wᵢ, …, wₗ] for all choices of order + 1 of the ascending numbers w[…, n]: an array […, n, …, n]."""
    value, _ = _differences(function, w, order)
    return value


def _differences(function: Callable[..., Any], w: Value, order: int) -> tuple[Value, Value]:
    """The differences, and how far rounding may have moved them."""
    eps = float(np.finfo(w.dtype).eps)
    if order == 0:
        f = np.reshape(applied(function, np.ravel(w)), w.shape)
        return f, eps * np.abs(f)
    n = w.shape[-1]
    chosen = np.sort(np.indices((n,) * (order + 1)), axis=0)  # the order of arguments does not matter
    lower, rounding = _differences(function, w, order - 1)
    first, last = tuple(chosen[:-1]), tuple(chosen[1:])
    gap = w[..., chosen[-1]] - w[..., chosen[0]]
    with np.errstate(all="ignore"):
        value = (lower[..., *last] - lower[..., *first]) / gap
        error = (rounding[..., *last] + rounding[..., *first]) / gap
    near = gap <= np.max(np.abs(w), axis=-1, initial=0).reshape(w.shape[:-1] + (1,) * (order + 1)) / 4
    if not np.any(near):
        return value, error
    points = np.stack([np.broadcast_to(w[..., c], gap.shape)[near] for c in chosen])
    series, doubt = _by_series(function, points, order, eps)
    plain, bound = value[near], error[near]
    with np.errstate(all="ignore"):
        apart = np.isfinite(bound) & ~(np.abs(series - plain) <= 16 * bound)  # f is not smooth between these
        better = ~apart & ((doubt < bound) | ~np.isfinite(bound))
    value[near], error[near] = np.where(better, series, plain), np.where(better, doubt, bound)
    return value, error


def _by_series(function: Callable[..., Any], points: Value, order: int, eps: float) -> tuple[Value, Value]:
    """f[x₀ … xₖ] = Σₘ c₍ₖ₊ₘ₎ hₘ(x₀ - c, …, xₖ - c), with the Taylor coefficients of f at the mean c and the complete
    homogeneous polynomials hₘ; and what the last terms and rounding leave open.
    """
    centre = np.mean(points, axis=0)
    with np.errstate(all="ignore"):
        terms = Trace.programs.expansion(function, centre, order + TERMS)
        polynomials = [np.ones_like(centre), *[np.zeros_like(centre)] * TERMS]
        for y in points - centre:
            for m in range(1, TERMS + 1):
                polynomials[m] = polynomials[m] + y * polynomials[m - 1]
        summands = [c * h for c, h in zip(terms[order:], polynomials, strict=True)]
        # the polynomials of odd degree may vanish by symmetry; their bound does not
        reach = np.max(np.abs(points - centre), axis=0)
        rest = np.abs(terms[-1]) * reach**TERMS + np.abs(terms[-2]) * reach ** (TERMS - 1)
        return sum(summands[1:], summands[0]), (order + 2) ** TERMS * rest + eps * np.abs(summands[0])


@primitive
class SpectralDerivative(Differential):
    """The derivative of f at A, of some order, in the directions E₁, E₂, …: arguments A, E₁, E₂, … (order 0: f(A)).

    It is linear and symmetric in the directions; its derivative in A is that of the next order, with Ȧ as one more
    direction, Hermitian or not. Its adjoint in a direction is the same map of conj(f) at Aᴴ (which is A, but moves
    otherwise) with the adjoints of the others.
    """

    function: Callable[..., Any]
    order: int = 0
    conjugated: bool = False

    @property
    def title(self) -> str:
        return "funm"

    def evaluate(self, *xs: Value) -> Value:
        a = to_factor_dtype(self.title, xs[0])
        w, v = np.linalg.eigh(a)
        vh = adjoint_matrix(v)
        differences = divided_differences(self.function, w, self.order)
        if self.conjugated:
            differences = np.conj(differences)
        dtype = self.result_type(*[ArrayType(x.shape, x.dtype) for x in xs]).dtype
        if self.order == 0:
            return np.matmul(v * np.expand_dims(differences, -2), vh).astype(dtype, copy=False)
        inner = [np.matmul(vh, np.matmul(e, v)) for e in xs[1:]]
        letters = "abcdefghijklmnop"[: self.order + 1]
        pairs = [f"...{i}{j}" for i, j in itertools.pairwise(letters)]
        formula = ",".join([f"...{letters}", *pairs]) + f"->...{letters[0]}{letters[-1]}"
        terms = [np.einsum(formula, differences, *chosen) for chosen in itertools.permutations(inner)]
        return np.matmul(v, np.matmul(sum(terms[1:], terms[0]), vh)).astype(dtype, copy=False)

    def result_type(self, *types: ArrayType) -> Any:
        a = types[0]
        for t in types:
            check_square(self.title, t)
        dtype = factor_dtype(self.title, *types)
        with np.errstate(all="ignore"):  # nothing is known of the function but what it does
            result = applied(self.function, np.ones(1, real_dtype(factor_dtype(self.title, a)))).dtype
        stack = np.broadcast_shapes(*[t.shape[:-2] for t in types])
        return ArrayType((*stack, *a.shape[-2:]), np.result_type(dtype, result) if result.kind == "c" else dtype)

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [True] * len(wanted), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        a, *directions = xs
        terms = [self(a, *directions[:i], d, *directions[i + 1 :]) for i, d in enumerate(dxs[1:]) if d is not None]
        if dxs[0] is not None:
            following = SpectralDerivative(self.function, self.order + 1, self.conjugated)
            terms.append(following(a, *directions, dxs[0]))
        return total(*terms)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        a, *directions = xs
        ah, *others = (adjoint_matrix(x) for x in xs)
        cts: list[Value] = [None]
        if wanted[0]:
            following = SpectralDerivative(self.function, self.order + 1, not self.conjugated)
            cts = [fit(following(ah, *others, ct), a)]
        same = SpectralDerivative(self.function, self.order, not self.conjugated)
        for i, want in enumerate(wanted[1:]):
            cts.append(fit(same(ah, *others[:i], ct, *others[i + 1 :]), directions[i]) if want else None)
        return cts

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*aligned(xs, mapped))

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return spectral_derivative_workspace(types, results)

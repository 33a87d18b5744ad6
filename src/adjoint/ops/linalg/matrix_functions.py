"""Functions of a matrix that are inverse to others: square root, logarithm, real powers, the sign; the polar factor.

Square root, sign and polar factor solve an equation, and so do their derivatives: A X + X B = Q. The logarithm and
powers are differentiated as the exponential is: f [A Ȧ; 0 A] = [f(A) Ż; 0 f(A)].

A real matrix has a real result; where there is none (an eigenvalue on the negative real axis), it is NaN.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here; SciPy has no types.)

from __future__ import annotations

import threading
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.forking import free_in_child
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Differential, Implicit, fit, total
from adjoint.ops.elementwise.pointwise import aligned
from adjoint.ops.linalg.expm import toeplitz
from adjoint.ops.linalg.matrices import (
    Stacked,
    check_matrix,
    check_square,
    each_matrix,
    factor_dtype,
    hermitian,
    stack_shape,
    to_factor_dtype,
)
from adjoint.ops.linalg.matrix_equations import Sylvester, schur_form
from adjoint.ops.linalg.solve import Solve
from adjoint.ops.linalg.workspace import measured_workspace, pseudo_inverse_workspace
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value

_drawing = free_in_child(threading.Lock())


@contextmanager
def undisturbed() -> Generator[None]:
    """SciPy estimates norms with draws from NumPy's global generator; the user's numbers stay what they would be."""
    with _drawing:  # one at a time, or a state that another has moved would be put back
        state = np.random.get_state()  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002


def fitted(z: Value, dtype: Any) -> Value:
    """z in the dtype of the matrix it was computed from: NaN if that is real and z is not."""
    if np.iscomplexobj(z) and dtype.kind != "c":
        size = np.max(np.abs(z), initial=0)
        if np.max(np.abs(z.imag), initial=0) > 1e3 * len(z) * np.finfo(dtype).eps * size:
            return np.full(z.shape, np.nan, dtype)
        z = z.real
    return z.astype(dtype, copy=False)


class OfMatrix(Stacked):
    """How a function from a matrix to one of the same size treats axes."""

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_square(self.title, a)
        return ArrayType(a.shape, factor_dtype(self.title, a))


@primitive
class SquareRoot(OfMatrix, Implicit):
    """The Z with Z Z = A whose eigenvalues have positive real part; Z Ż + Ż Z = Ȧ. NaN for an A that has no root."""

    @property
    def title(self) -> str:
        return "sqrtm"

    def evaluate(self, *xs: Value) -> Value:
        import scipy.linalg

        a = to_factor_dtype(self.title, xs[0])

        def one(x: Value) -> Value:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)  # singular matrices may have a root or not
                z = fitted(scipy.linalg.sqrtm(x), a.dtype)
            with np.errstate(all="ignore"):
                gap, size = np.max(np.abs(z @ z - x)), np.max(np.abs(z)) ** 2
            right = gap <= 1e4 * len(x) * np.finfo(a.dtype).eps * size
            return z if right else np.full(x.shape, np.nan)

        return each_matrix(self, one, [a])

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (False,), True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return Sylvester(_root, derivative=True)(z, z, dxs[0])

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        zh = adjoint_matrix(z)
        return (Sylvester(_root, derivative=True)(zh, zh, ct),)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (5.3, 2.4), (122, 118))


_root = "the derivative of sqrtm (it is infinite where A is singular)"
_sign = "the derivative of signm"
_polar = "the derivative of polar (it does not exist where the matrix has not full rank)"


@primitive
class Sign(OfMatrix, Implicit):
    """S = A (A A)^(-1/2), so S S = 1. With N = S A: N Ṡ + Ṡ N = Ȧ - S Ȧ S."""

    @property
    def title(self) -> str:
        return "signm"

    def evaluate(self, *xs: Value) -> Value:
        a = to_factor_dtype(self.title, xs[0])

        def one(x: Value) -> Value:
            t, u = schur_form(x, "complex")
            w: Value = np.real(np.diagonal(t))
            if np.any(np.abs(w) <= 8 * len(w) * np.finfo(a.dtype).eps * np.max(np.abs(t))):
                raise np.linalg.LinAlgError(
                    "signm: an eigenvalue lies on the imaginary axis (up to rounding), where the sign is not defined."
                )
            n = len(w)
            s = np.diag(np.sign(w)).astype(t.dtype)
            for k in range(1, n):  # diagonal by diagonal, from S S = 1 where signs are equal, from S T = T S elsewhere
                for i in range(n - k):
                    j, inner = i + k, slice(i + 1, i + k)
                    known = s[i, inner] @ s[inner, j]
                    if s[i, i] == s[j, j]:
                        s[i, j] = -known / (s[i, i] + s[j, j])
                    else:
                        rest = s[i, inner] @ t[inner, j] - t[i, inner] @ s[inner, j]
                        s[i, j] = (t[i, j] * (s[i, i] - s[j, j]) + rest) / (t[i, i] - t[j, j])
            return fitted(u @ s @ np.conj(u.T), a.dtype)

        return each_matrix(self, one, [a])

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        n, da = np.matmul(z, xs[0]), dxs[0]
        return Sylvester(_sign, derivative=True)(n, n, da - np.matmul(np.matmul(z, da), z))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        n, zh = adjoint_matrix(np.matmul(z, xs[0])), adjoint_matrix(z)
        w = Sylvester(_sign, derivative=True)(n, n, ct)
        return (w - np.matmul(np.matmul(zh, w), zh),)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (10.0, 5.0))


@primitive
class Logarithm(OfMatrix, Differential):
    """The Z with eᶻ = A whose eigenvalues have an imaginary part in (-π, π]."""

    @property
    def title(self) -> str:
        return "logm"

    def evaluate(self, *xs: Value) -> Value:
        import scipy.linalg

        a = to_factor_dtype(self.title, xs[0])

        def one(x: Value) -> Value:
            t, u = schur_form(x, "complex")
            if not np.all(np.diagonal(t)):
                raise np.linalg.LinAlgError("logm: a singular matrix has no logarithm.")
            with undisturbed():
                z = scipy.linalg.logm(t)
            return fitted(u @ z @ np.conj(u.T), a.dtype)

        return each_matrix(self, one, [a])

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True,), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return self(toeplitz([xs[0], dxs[0]]))[..., : xs[0].shape[-1], xs[0].shape[-1] :]

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return (self.push([adjoint_matrix(xs[0])], None, [ct]),)

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        terms = [xs[0].get(j) for j in range(k + 1)]
        if all(term is None for term in terms[1:]):
            return None
        n = terms[0].shape[-1]
        return self(toeplitz(terms))[..., :n, k * n :]

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (20.2, 10.1))


@primitive
class RealPower(Differential):
    """Z = Aᵖ for the real numbers p[…, 1, 1]: Ż = (the derivative in A) + log(A) Z ṗ."""

    @property
    def title(self) -> str:
        return "fractional_matrix_power"

    def evaluate(self, *xs: Value) -> Value:
        import scipy.linalg

        a = to_factor_dtype(self.title, xs[0])

        def one(x: Value, p: Value) -> Value:
            with undisturbed():
                return fitted(scipy.linalg.fractional_matrix_power(x, float(p[0, 0])), a.dtype)

        return each_matrix(self, one, [a, xs[1]])

    def result_type(self, *types: ArrayType) -> Any:
        a, p = types
        check_square(self.title, a)
        check_matrix(self.title, p)
        if p.shape[-2:] != (1, 1) or p.dtype.kind == "c":
            raise ShapeError(f"{self.title}: the exponent must be a real number, got {p}.")
        return ArrayType((*stack_shape(self.title, a, p), *a.shape[-2:]), factor_dtype(self.title, a))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, True), wanted[1]

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        (a, p), (da, dp) = xs, dxs
        n = a.shape[-1]
        return total(
            None if da is None else self(toeplitz([a, da]), p)[..., :n, n:],
            None if dp is None else np.matmul(Logarithm()(a), z) * dp.astype(z.dtype),
        )

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        a, p = xs
        n = a.shape[-1]
        a_bar = p_bar = None
        if wanted[0]:
            blocks = toeplitz([adjoint_matrix(np.broadcast_to(a, ct.shape)), ct])
            a_bar = fit(self(blocks, p)[..., :n, n:], a)
        if wanted[1]:
            derivative = np.conjugate(np.matmul(Logarithm()(a), z)) * ct
            p_bar = fit(np.sum(derivative, axis=(-2, -1), keepdims=True), p)
        return a_bar, p_bar

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        terms, exponents = ([x.get(j) for j in range(k + 1)] for x in xs)
        if any(p is not None for p in exponents[1:]):
            return super().coefficient(k, xs, z)
        if all(term is None for term in terms[1:]):
            return None
        n = terms[0].shape[-1]
        return self(toeplitz(terms), exponents[0])[..., :n, k * n :]

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*aligned(xs, mapped))

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (20.2, 10.1))


@primitive
class PolarFactor(Stacked, Implicit):
    """U with Uᴴ U = 1 and A = U P, P Hermitian and positive, for A[m, n] of rank n, m ≥ n.

    With X = Uᴴ Ȧ:   P Ω + Ω P = X - Xᴴ,    U̇ = U Ω + (Ȧ - U X) P⁻¹.
    """

    @property
    def title(self) -> str:
        return "polar"

    def evaluate(self, *xs: Value) -> Value:
        u, _, vh = np.linalg.svd(xs[0], full_matrices=False)
        return np.matmul(u, vh)

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_matrix(self.title, a)
        if a.shape[-2] < a.shape[-1]:
            raise ShapeError(f"{self.title}: {a} has fewer rows than columns; take its adjoint.")
        return ArrayType(a.shape, factor_dtype(self.title, a))

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        a, da, zh = xs[0], dxs[0], adjoint_matrix(z)
        p, x = hermitian(np.matmul(zh, a)), np.matmul(zh, da)
        dz = np.matmul(z, Sylvester(_polar, derivative=True)(p, p, x - adjoint_matrix(x)))
        if z.shape[-2] > z.shape[-1]:
            dz = dz + adjoint_matrix(Solve()(p, adjoint_matrix(da - np.matmul(z, x))))
        return dz

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        a, zh = xs[0], adjoint_matrix(z)
        p = hermitian(np.matmul(zh, a))
        g = Sylvester(_polar, derivative=True)(p, p, np.matmul(zh, ct))
        x_bar = g - adjoint_matrix(g)
        if z.shape[-2] == z.shape[-1]:
            return (np.matmul(z, x_bar),)
        rest = adjoint_matrix(Solve()(p, adjoint_matrix(ct)))
        return (np.matmul(z, x_bar - np.matmul(zh, rest)) + rest,)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return pseudo_inverse_workspace(types, results)

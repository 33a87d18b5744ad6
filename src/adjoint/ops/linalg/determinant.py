"""Determinants: det, whose derivative exists for singular matrices too, and sign and logarithm of its size.

    d det(A) = Σ C ∘ Ȧ   with the cofactors   C = det(A) A⁻ᵀ

C is a polynomial in A, but the formula divides by zero when A is singular. So singular directions are taken apart
first. With the singular value decomposition A₀ = U Σ Vᴴ of the *value* of A (constants!), B = Uᴴ A V + c P, where P
has ones at the k vanishing singular values and c is the largest one, is regular, and

    det(A) = det(U) det(Vᴴ) det(B) e(R),    R = P - c P B⁻¹ P,

where e is the k-th elementary symmetric polynomial of the eigenvalues. R is zero outside a k × k block, where it is
small, and e(R) is that block's determinant. Differentiated as they stand, these formulas give derivatives of any order,
at any rank. Where C itself is all that is wanted, it is computed from products of all singular values but one.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportPrivateUsage=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here. The slots of traced values
# are private to users, not to the engine.)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import TraceError
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.calculus import Differential, Flat, arithmetic_flops
from adjoint.ops.control.while_loop import While
from adjoint.ops.elementwise.pointwise import masked_multiply
from adjoint.ops.linalg.degenerate_blocks import OnStacks
from adjoint.ops.linalg.det_series import coefficient_on_circle
from adjoint.ops.linalg.flops import cubic
from adjoint.ops.linalg.matrices import (
    Stacked,
    check_square,
    diagonal,
    factor_dtype,
    is_final,
    is_plain,
    to_factor_dtype,
)
from adjoint.ops.linalg.solve import Inverse
from adjoint.ops.linalg.workspace import cofactor_workspace, factor_workspace
from adjoint.program.op import primitive
from adjoint.program.record import RecordTracer, record_program
from adjoint.program.trace import Tracer, bind
from adjoint.program.types import ArrayType, Value, real_dtype


def small_fraction(dtype: Any) -> float:
    """Singular values below this fraction of the largest are taken apart; where the line is only changes rounding."""
    return float(np.finfo(dtype).eps) ** 0.2


class Scalar(Stacked):
    """How a number per matrix treats axes."""

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_square(self.title, a)
        return ArrayType(a.shape[:-2], factor_dtype(self.title, a))


def per_matrix(number: Value) -> Value:
    """A number per matrix, with two axes to multiply matrices by it."""
    return np.expand_dims(number, (-2, -1))


def trace_of_product(x: Value, y: Value) -> Value:
    """Σᵢⱼ xᵢⱼ yᵢⱼ."""
    return np.sum(x * y, axis=(-2, -1))


def transposed(x: Value) -> Value:
    """The transpose, without conjugation."""
    return np.swapaxes(x, -1, -2)


@primitive
class RegularDeterminant(Scalar, Differential):
    """z = det(A) of matrices known to be regular: ż = z tr(A⁻¹ Ȧ)."""

    def evaluate(self, *xs: Value) -> Value:
        return np.linalg.det(xs[0])

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True,), True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return z * trace_of_product(transposed(Inverse()(xs[0])), dxs[0])

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return (per_matrix(ct * np.conjugate(z)) * adjoint_matrix(Inverse()(xs[0])),)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 2 * cubic(xs[0]) / 3)


@primitive
class SingularDecomposition(Stacked, Flat):
    """(U, Vᴴ, p, c, φ, k), constants of a point A₀ = U Σ Vᴴ.

    p has ones at small singular values, c is the largest one, φ = det(U) det(Vᴴ), and k says how many are small.
    """

    several = True

    def evaluate(self, *xs: Value) -> Value:
        u, s, vh = np.linalg.svd(xs[0])
        top = np.max(s, axis=-1, keepdims=True, initial=0)
        small = s <= small_fraction(s.dtype) * top
        scale = np.where(top == 0, 1, top)[..., 0].astype(u.dtype)
        return (
            u,
            vh,
            small.astype(u.dtype),
            scale,
            np.linalg.det(u) * np.linalg.det(vh),
            np.asarray(np.sum(small, axis=-1, dtype=np.int64)),
        )

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_square("det", a)
        dtype = factor_dtype("det", a)
        matrix, vector, number = a.shape, a.shape[:-1], a.shape[:-2]
        return (
            ArrayType(matrix, dtype), ArrayType(matrix, dtype), ArrayType(vector, dtype), ArrayType(number, dtype),
            ArrayType(number, dtype), ArrayType(number, np.dtype(np.int64)),
        )  # fmt: skip


@primitive
class Determinant(Scalar, Differential):
    """z = det(A), with derivatives at singular matrices: ż = Σ C ∘ Ȧ."""

    @property
    def title(self) -> str:
        return "det"

    def evaluate(self, *xs: Value) -> Value:
        return np.linalg.det(xs[0])

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True,), True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return trace_of_product(Cofactors()(xs[0], z), dxs[0])

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return (per_matrix(ct) * np.conjugate(Cofactors()(xs[0], z)),)

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        terms = [xs[0].get(j) for j in range(k + 1)]
        if k <= 3 or terms[0].shape[-1] <= 3:
            return super().coefficient(k, xs, z)
        return coefficient_on_circle(Determinant(), k, terms)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 2 * cubic(xs[0]) / 3)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return factor_workspace(types, results)


@primitive
class Cofactors(OnStacks, Differential):
    """C with d det(A) = Σ C ∘ Ȧ; arguments A and z = det(A).

    With A = U Σ Vᴴ: Cᵀ = det(U) det(Vᴴ) V diag(pᵢ) Uᴴ, where pᵢ is the product of all singular values but the i-th. To
    be differentiated, it is written out.
    """

    def __call__(self, *xs: Value) -> Value:
        top = max((x._trace for x in xs if isinstance(x, Tracer)), key=lambda trace: trace.level, default=None)
        return cofactors(*xs) if top is not None and top.differentiates else bind(self, *xs)

    def evaluate(self, *xs: Value) -> Value:
        a, z = xs
        a = to_factor_dtype("det", a)
        singular = np.equal(z, 0)
        try:
            with np.errstate(all="ignore"):
                inverse = np.linalg.inv(np.where(per_matrix(singular), np.eye(a.shape[-1], dtype=a.dtype), a))
        except np.linalg.LinAlgError:  # det and inv need not agree on which matrices are singular
            return _by_singular_values(a)
        with np.errstate(all="ignore"):
            condition = np.max(np.abs(a), axis=(-2, -1), initial=0) * np.max(np.abs(inverse), axis=(-2, -1), initial=0)
            result = per_matrix(z) * transposed(inverse)
        # where this line is only changes rounding: no derivative is taken of this
        poor = np.logical_or(singular, np.logical_not(condition < small_fraction(inverse.dtype) ** -2))
        if np.any(poor):
            result[poor] = _by_singular_values(a[poor])
        return result

    def result_type(self, *types: ArrayType) -> Any:
        a = types[0]
        return ArrayType(a.shape, factor_dtype("det", a))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, True), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        raise TraceError(WRITTEN_OUT)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        raise TraceError(WRITTEN_OUT)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return cofactor_workspace(types, results)


WRITTEN_OUT = "Cofactors: apply it by calling it, Cofactors()(a, z); then it is written out where it is differentiated."


def _by_singular_values(a: Value) -> Value:
    """The cofactors of plain matrices of any rank; NaN for those that are not finite."""
    finite = np.all(np.isfinite(a), axis=(-2, -1))
    u, s, vh = np.linalg.svd(np.where(per_matrix(finite), a, a.dtype.type(0)))
    ones = np.ones((*s.shape[:-1], 1), s.dtype)
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    phase = per_matrix(np.linalg.det(u) * np.linalg.det(vh))
    result = phase * np.matmul(np.conj(u) * np.expand_dims(before * after, -2), np.conj(vh))
    return np.where(per_matrix(finite), result, result.dtype.type(np.nan))


def cofactors(a: Value, z: Value) -> Value:
    """C written out for traced values, so that it can be differentiated.

    Up to 3 × 3 as products of elements: power series then do not meet the poles of A⁻¹, which spoil high orders.
    """
    if a.shape[-1] <= 3:
        return minors(a)
    u, vh, p, c, phase, k = SingularDecomposition()(a)
    most = _upper_bound(k)
    if most == 0:
        return per_matrix(z) * transposed(Inverse()(a))
    ones = np.expand_dims(p, -1) * np.eye(a.shape[-1], dtype=p.dtype)
    mask = per_matrix(c) * np.expand_dims(p, -1) * np.expand_dims(p, -2)  # c P x P = mask ∘ x
    b = np.matmul(np.matmul(adjoint_matrix(u), a), adjoint_matrix(vh)) + per_matrix(c) * ones
    x = Inverse()(b)
    e, gradient = _symmetric_polynomial(ones - mask * x, ones, k, most)
    # d det(B) = det(B) tr(B⁻¹ Ḃ)   and   Ṙ = c P B⁻¹ Ḃ B⁻¹ P
    inner = per_matrix(e) * x + np.matmul(np.matmul(x, mask * gradient), x)
    adjugate = np.matmul(
        adjoint_matrix(vh), np.matmul(per_matrix(phase * RegularDeterminant()(b)) * inner, adjoint_matrix(u))
    )
    return transposed(adjugate)


def minors(a: Value) -> Value:
    """The cofactors of matrices of at most four rows: of three, the rows are cross products of the other two.

    Of four, each is the determinant of the three rows and columns that are left, along the first of these rows.
    """
    n = a.shape[-1]
    if n < 2:
        return np.ones(a.shape, a.dtype)
    if n == 2:
        return a[..., ::-1, ::-1] * np.array([[1, -1], [-1, 1]], real_dtype(a.dtype))
    if n == 4:
        return _minors_of_four(a)
    one, two = [1, 2, 0], [2, 0, 1]
    first, second = a[..., one, :], a[..., two, :]
    return first[..., one] * second[..., two] - first[..., two] * second[..., one]


def _minors_of_four(a: Value) -> Value:
    left = [[j for j in range(4) if j != i] for i in range(4)]
    first, second, third = (a[..., [others[k] for others in left], :] for k in range(3))
    total: Value = 0
    for one, two, three in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        c, d, e = ([others[k] for others in left] for k in (one, two, three))
        total = total + first[..., c] * (second[..., d] * third[..., e] - second[..., e] * third[..., d])
    signs = np.array([[(-1) ** (i + j) for j in range(4)] for i in range(4)], real_dtype(a.dtype))
    return total * signs


def _upper_bound(k: Value) -> int | None:
    """How many singular values vanish at most; None where it is not known yet."""
    while isinstance(k, Tracer):
        if isinstance(k, RecordTracer):  # a program must serve other values too
            return None
        k = k._value  # (of a stack of batch elements, the most in any of them)
    return int(np.max(k, initial=0))


def _symmetric_polynomial(r: Value, one: Value, k: Value, most: int | None) -> tuple[Value, Value]:
    """e = the k-th elementary symmetric polynomial of the eigenvalues of r, and G with de = tr(G Ṙ), for the k of
    each matrix.

    Newton's identities in matrix form (Faddeev and LeVerrier): G₁ = 1, eⱼ = tr(R Gⱼ) / j, Gⱼ₊₁ = eⱼ - R Gⱼ. In a
    program they are a loop that ends after the largest k.
    """
    number = np.ones(r.shape[:-2], r.dtype)
    carry: list[Value] = [one, number, np.zeros(r.shape, r.dtype)]  # gradient, chosen e, chosen gradient
    if most is not None:
        for j in range(1, most + 1):
            carry = _newton_step(r, one, k, np.asarray(j), *carry)
        return carry[1], carry[2]
    kinds = [ArrayType(x.shape, x.dtype) for x in (r, one, k)]
    step = ArrayType((), np.dtype(np.int64))
    turning = [step, *[ArrayType(x.shape, x.dtype) for x in carry]]

    def goes_on(k: Value, j: Value, *carry: Value) -> Sequence[Value]:
        return [np.less_equal(j, np.max(k, initial=0))]

    def body_step(r: Value, one: Value, k: Value, j: Value, *carry: Value) -> Sequence[Value]:
        return [j + 1, *_newton_step(r, one, k, j, *carry)]

    condition, _ = record_program(goes_on, [kinds[2], *turning])
    body, _ = record_program(body_step, [*kinds, *turning])
    _, _, e, gradient = While(condition, body, 1, 3)(k, r, one, k, np.int64(1), *carry)
    return e, gradient


def _newton_step(r: Value, one: Value, k: Value, j: Value, gradient: Value, e: Value, chosen: Value) -> list[Value]:
    """From Gⱼ to Gⱼ₊₁; eⱼ and Gⱼ are chosen for matrices with k = j."""
    product = np.matmul(r, gradient)
    this = np.sum(diagonal(product), axis=-1) / Convert(r.dtype)(j)
    here = np.equal(k, j)
    following = per_matrix(this) * one - product
    return [following, np.where(here, this, e), np.where(per_matrix(here), gradient, chosen)]


@primitive
class SignLogDeterminant(Stacked, Differential):
    """(s, l) with det(A) = s eˡ and |s| = 1. With t = tr(A⁻¹ Ȧ): l̇ = Re t, ṡ = i s Im t.

    Where det(A) = 0 the derivative does not exist: it is NaN.
    """

    several = True

    @property
    def title(self) -> str:
        return "slogdet"

    def evaluate(self, *xs: Value) -> Value:
        return tuple(np.linalg.slogdet(xs[0]))

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_square(self.title, a)
        dtype = factor_dtype(self.title, a)
        return ArrayType(a.shape[:-2], dtype), ArrayType(a.shape[:-2], real_dtype(dtype))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True,), True

    def inverse(self, a: Value, sign: Value) -> Value:
        """A⁻¹, and NaN instead of an error for a singular matrix of a stack."""
        singular = per_matrix(np.equal(sign, 0))
        if is_final(singular) and not (is_plain(singular) and np.any(singular)):
            return Inverse()(a)
        inverse = Inverse()(np.where(singular, np.eye(a.shape[-1], dtype=a.dtype), a))
        return np.where(singular, inverse.dtype.type(np.nan), inverse)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        sign, _ = z
        t = trace_of_product(transposed(self.inverse(xs[0], sign)), dxs[0])
        return (None, t) if t.dtype.kind != "c" else (sign * np.imag(t) * 1j, np.real(t))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        (sign_bar, log_bar), (sign, _) = ct, z
        weight = log_bar
        if sign.dtype.kind == "c" and sign_bar is not None:
            rotation = 1j * np.imag(np.conjugate(sign) * sign_bar)  # Re⟨s̄, i s Im t⟩ = Re⟨i Im(s* s̄), t⟩
            weight = rotation if weight is None else weight + rotation
        if weight is None:
            return (None,)
        return (masked_multiply(per_matrix(weight), adjoint_matrix(self.inverse(xs[0], sign))),)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 2 * cubic(xs[0]) / 3)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return factor_workspace(types, results)

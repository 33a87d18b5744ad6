"""Carlson's elliptic integrals near coinciding arguments: a family of integrals closed under differentiation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Differential, fit, total
from adjoint.ops.elementwise.nary_ufuncs import adjoint_product, product
from adjoint.ops.elementwise.pointwise import Pointwise, spread
from adjoint.ops.special.library import special, where
from adjoint.program.op import primitive
from adjoint.program.types import Value, type_of

STEP = 0.45  # the integrand over log t has its singularities at distance π: the error is below rounding


@primitive
class CarlsonIntegral(Pointwise, Differential):
    """∫ (t+x)^(-½-a) (t+y)^(-½-b) (t+w)^(-½-c) (t+p)^(-d) dt from 0 to ∞; `powers` = (a, b, c, d).

    By the trapezoidal rule over log t.
    """

    powers: tuple[int, int, int, int]

    @property
    def ufunc(self) -> Any:
        return special.elliprj

    def evaluate(self, *xs: Value) -> Value:
        kind = self._dtype([type_of(x) for x in xs])
        arrays = np.broadcast_arrays(*[np.asarray(x) for x in xs])
        wide = np.complex128 if kind.kind == "c" else np.float64
        arguments = [a.astype(wide)[..., None] for a in arrays]
        sizes = np.abs(np.concatenate(arguments, axis=-1))
        vanishing = np.any(sizes == 0, axis=-1, keepdims=True)
        sizes = where((sizes == 0) | ~np.isfinite(sizes), 1.0, sizes)
        low = np.log(np.min(sizes, axis=-1, keepdims=True)) - where(vanishing, 76.0, 38.0)
        high = np.log(np.max(sizes, axis=-1, keepdims=True)) + 26.0
        count = int(np.ceil(np.max(high - low, initial=1.0) / STEP)) + 1
        t = np.exp(low + STEP * np.arange(count))
        exponents = [-0.5 - n for n in self.powers[:3]] + [-float(self.powers[3])]
        integrand = t
        with np.errstate(all="ignore"):
            for value, exponent in zip(arguments, exponents, strict=True):
                integrand = integrand * (t + value) ** exponent
        return (STEP * np.sum(integrand, axis=-1)).astype(kind)[()]

    def partial(self, i: int, xs: Sequence[Value]) -> Value:
        n = self.powers[i]
        higher = CarlsonIntegral(tuple(m + (j == i) for j, m in enumerate(self.powers)))  # type: ignore[arg-type]
        return (-0.5 - n if i < 3 else -float(n)) * higher(*xs)

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [True] * len(wanted), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        dz = total(*[product(dx, self.partial(i, xs)) for i, dx in enumerate(dxs) if dx is not None])
        return None if dz is None else spread(dz, self.result_type(*[type_of(x) for x in xs]))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return [fit(adjoint_product(ct, self.partial(i, xs)), xs[i]) if want else None for i, want in enumerate(wanted)]


CLOSE = 0.3  # arguments whose difference is smaller, relative to them, coincide more or less


def _close(a: Value, b: Value) -> Value:
    return np.abs(a - b) < CLOSE * np.abs(b)


def third_kind_derivative(x: Value, y: Value, w: Value, p: Value, z: Value) -> Value:
    """∂R_J(x, y, w, p)/∂x = (R_J - R_D(y, w, x)) / (2 (p - x)), and -¾ ∫ where x and p are close."""
    near = _close(x, p)
    integral = -0.75 * CarlsonIntegral((1, 0, 0, 1))(x, y, w, where(near, p, 1.0))
    return where(near, integral, (z - special.elliprd(y, w, x)) / (2.0 * where(near, 1.0, p - x)))


def third_kind_last(x: Value, y: Value, w: Value, p: Value, z: Value) -> Value:
    """From homogeneity of degree -3/2: x ∂x + y ∂y + w ∂w + p ∂p = -3/2 R_J; -3/2 ∫ where p is close to the others."""
    near = _close(x, p) | _close(y, p) | _close(w, p)
    integral = -1.5 * CarlsonIntegral((0, 0, 0, 2))(x, y, w, where(near, p, 1.0))
    q = where(near, 10.0 * (np.abs(x) + np.abs(y) + np.abs(w)), p)  # away from them, where the other branch is taken
    derivatives = (
        x * third_kind_derivative(x, y, w, q, z)
        + y * third_kind_derivative(y, x, w, q, z)
        + w * third_kind_derivative(w, x, y, q, z)
    )
    return where(near, integral, (-1.5 * z - derivatives) / q)


def second_kind_derivative(x: Value, y: Value, w: Value, z: Value) -> Value:
    """∂R_D(x, y, w)/∂x = (R_D(x, y, w) - R_D(y, w, x)) / (2 (w - x)), and -¾ ∫ where x and w are close."""
    near = _close(x, w)
    integral = -0.75 * CarlsonIntegral((1, 0, 1, 0))(where(near, x, w), y, w, 1.0)
    return where(near, integral, (z - special.elliprd(y, w, x)) / (2.0 * where(near, 1.0, w - x)))


def second_kind_last(x: Value, y: Value, w: Value, z: Value) -> Value:
    """From homogeneity of degree -3/2: x ∂x + y ∂y + w ∂w = -3/2 R_D; -9/4 ∫ where w is close to the others."""
    near = _close(x, w) | _close(y, w)
    integral = -2.25 * CarlsonIntegral((0, 0, 2, 0))(where(near, x, w), where(near, y, w), w, 1.0)
    far = where(near, 10.0 * (np.abs(x) + np.abs(y)), w)
    derivatives = x * second_kind_derivative(x, y, far, z) + y * second_kind_derivative(y, x, far, z)
    return where(near, integral, (-1.5 * z - derivatives) / far)

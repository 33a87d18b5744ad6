"""Derivatives of special functions in their parameters: a family of primitives for each function, by order.

∂^(n₁+n₂+…) f / ∂a^n₁ ∂b^n₂ … is one primitive; its own derivatives are the next members of the family. A member is
computed by a kernel: a series, or an integral in a fixed number of nodes, on plain arrays.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cache
from math import comb
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.base.records import record
from adjoint.ops.calculus import Differential, fit, total
from adjoint.ops.elementwise.nary_ufuncs import adjoint_product, product
from adjoint.ops.elementwise.pointwise import Pointwise, spread
from adjoint.ops.special.declare import bare
from adjoint.ops.special.library import special
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, type_of

Orders = tuple[int, ...]
Kernel = Callable[..., Any]  # (orders, *arrays of one dimension) -> array

AT_ONCE = 2048  # elements that a kernel works on together: their nodes stay in the cache
NODES = 430  # numbers for each element that kernels work on; measured


@record
class Family:
    """A function of named arguments and the kernel of its derivatives.

    `derivatives` gives derivatives that are known in closed form: ∂/∂argument of the member of given orders, an
    expression of traced values. Other arguments have the next member, up to `most` derivatives in all of these
    together.
    """

    function: Any
    arguments: tuple[str, ...]
    kernel: Kernel
    most: int
    derivatives: Mapping[str, Callable[..., Value]] = field(default_factory=dict[str, Callable[..., Value]])
    counted: tuple[str, ...] = ()  # the arguments whose derivatives count for `most`
    complex_kernel: Kernel | None = None


FAMILIES: dict[str, Family] = {}


@primitive
class ParameterDerivative(Pointwise, Differential):
    """∂ᵒ f(a, b, …), o the orders in each argument."""

    of: str
    orders: Orders

    @property
    def family(self) -> Family:
        return FAMILIES[self.of]

    @property
    def ufunc(self) -> Any:
        return self.family.function

    @property
    def title(self) -> str:
        return f"d{self.of}"

    def evaluate(self, *xs: Value) -> Value:
        family = self.family
        arrays = [np.asarray(x) for x in xs]
        kind = self._dtype([type_of(x) for x in xs])
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        wide = np.complex128 if kind.kind == "c" else np.float64
        flat = [np.broadcast_to(a, shape).ravel() for a in arrays]
        flat = [a.astype(np.complex128 if a.dtype.kind == "c" else np.float64) for a in flat]
        kernel = family.kernel
        if any(a.dtype.kind == "c" for a in flat):
            kernel = family.complex_kernel
            if kernel is None:
                raise UnsupportedError(
                    f"{self.of}: its derivatives in {', '.join(family.counted)} are known for real arguments alone, "
                    "but an argument is complex. Keep the parameter constant (ad.stop_gradient)."
                )
        z = np.empty(flat[0].shape, wide)
        with np.errstate(all="ignore"):
            for start in range(0, z.size, AT_ONCE):
                part = slice(start, start + AT_ONCE)
                z[part] = kernel(self.orders, *[a[part] for a in flat])
        return z.reshape(shape).astype(kind)[()]

    def partial(self, i: int, xs: Sequence[Value]) -> Value:
        family = self.family
        argument = family.arguments[i]
        if argument in family.derivatives:
            return family.derivatives[argument](self.orders, *xs)
        orders = tuple(o + (j == i) for j, o in enumerate(self.orders))
        taken = sum(o for o, a in zip(orders, family.arguments, strict=True) if a in family.counted)
        if argument in family.counted and taken > family.most:
            raise UnsupportedError(
                f"{self.of}({', '.join(family.arguments)}): its derivatives in {', '.join(family.counted)} are known "
                f"to order {family.most}, but order {taken} is asked for, the last one in {argument!r}. "
                "Keep a parameter constant (ad.stop_gradient)."
            )
        return ParameterDerivative(self.of, orders)(*xs)

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [True] * len(wanted), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        dz = total(*[product(dx, self.partial(i, xs)) for i, dx in enumerate(dxs) if dx is not None])
        return None if dz is None else spread(dz, self.result_type(*map(type_of, xs)) if z is None else z)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return [fit(adjoint_product(ct, self.partial(i, xs)), xs[i]) if want else None for i, want in enumerate(wanted)]

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        """All arguments as they are broadcast, and what a kernel does to some elements at a time."""
        wide = 16 if any(t.dtype.kind == "c" for t in types) else 8
        count = results[0].nbytes // results[0].dtype.itemsize
        return wide * ((len(types) + 1) * count + NODES * min(count, AT_ONCE))


def family(
    function: Any,
    arguments: str,
    kernel: Kernel,
    counted: str,
    *,
    most: int,
    derivatives: Mapping[str, Callable[..., Value]] | None = None,
    complex_kernel: Kernel | None = None,
) -> dict[str, Any]:
    """Declare the family of a function; the partials in the counted arguments, for `named`."""
    name = function.__name__.removeprefix("_")
    names = tuple(arguments.split())
    FAMILIES[name] = Family(
        bare(function), names, kernel, most, derivatives or {}, tuple(counted.split()), complex_kernel
    )
    signature = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])

    def first(argument: str) -> Callable[..., Value]:
        op = ParameterDerivative(name, tuple(int(n == argument) for n in names))

        def partial(*xs: Value) -> Value:
            return op(*xs)

        partial.__signature__ = signature  # type: ignore[attr-defined]
        return partial

    return {argument: first(argument) for argument in counted.split()}


@cache
def gauss(count: int) -> tuple[Any, Any]:
    """Nodes and weights of Gauss and Legendre on (0, 1)."""
    t, w = np.polynomial.legendre.leggauss(count)
    return 0.5 * (t + 1.0), 0.5 * w


def polygammas(n: int, x: Any) -> list[Any]:
    """ψ, ψ′, … ψ⁽ⁿ⁻¹⁾ of plain arrays."""
    return [special.psi(x), *[special.polygamma(k, x) for k in range(1, n)]][:n]


def bell(n: int, rates: Sequence[Value]) -> Value:
    """e^(-f) dⁿ/daⁿ e^f from the derivatives f′, f″, … : Bell's polynomials."""
    weights: list[Value] = [1.0]
    for k in range(n):
        weights.append(sum(comb(k, j) * rates[j] * weights[k - j] for j in range(k + 1)))
    return weights[n]

"""Elementwise functions of several named arguments, with one result or several.

The partials are written in the function's own letters: `betainc(a, b, x)` declares `x=lambda a, b, x: …`, and the
parameter names say what is kept. An argument without a partial may be a constant; differentiating with respect to it is
an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.base.records import parameter_names
from adjoint.ops.calculus import Differential, fit, total
from adjoint.ops.elementwise.pointwise import (
    UFUNCS,
    Pointwise,
    broadcast_shapes,
    masked_multiply,
    spread,
)
from adjoint.program.types import ArrayType, Value, promotion_token, type_of


def product(ct: Value, d: Value) -> Value:
    """ct · d; zero where ct is, whatever d. None is zero."""
    if ct is None or d is None:
        return None
    return ct * d if type(d) in (float, complex) else masked_multiply(ct, d)


def adjoint_product(ct: Value, d: Value) -> Value:
    """ct · conj(d)."""
    return product(ct, d if d is None or type(d) is float else np.conjugate(d))


class NamedUfunc(Pointwise, Differential):
    """z = f(a, b, …) by a ufunc with one result; `partials` gives ∂z/∂a … as functions of arguments and z by name."""

    def __init__(
        self,
        function: Any,
        arguments: str,
        partials: dict[str, Callable[..., Any]],
        *,
        name: str | None = None,
        whole: str = "",
    ) -> None:
        self.function = function  # type: ignore[misc]
        self.name: str = name or function.__name__
        self.arguments = tuple(arguments.split())
        self.whole = tuple(whole.split())  # arguments that count: there is no derivative in them
        self.partials = partials
        self.reads = {argument: parameter_names(f) for argument, f in partials.items()}
        known = {*self.arguments, "z"}
        if (
            len(self.arguments) != function.nin
            or not set(partials) <= known
            or not all(set(r) <= known for r in self.reads.values())
        ):
            raise TypeError(f"{self.name}: the partials name arguments that it does not have")
        UFUNCS[function] = self

    @property
    def ufunc(self) -> Any:
        return self.function

    @property
    def title(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def evaluate(self, *xs: Value) -> Value:
        return self.function(*xs)

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        names = {name for a, want in zip(self.arguments, wanted, strict=True) if want for name in self.reads.get(a, ())}
        return [a in names for a in self.arguments], "z" in names

    def partial(self, i: int, xs: Sequence[Value], z: Value) -> Any:
        """∂z/∂xᵢ: a value, or one for each result."""
        argument = self.arguments[i]
        if argument in self.whole:
            raise UnsupportedError(
                f"{self.name}({', '.join(self.arguments)}) takes integers for {argument!r}, so it has no "
                f"derivative there. Give {argument!r} as integers, or keep it constant (ad.stop_gradient)."
            )
        if argument not in self.partials:
            raise UnsupportedError(
                f"{self.name}({', '.join(self.arguments)}) has no derivative rule for its argument {argument!r}. "
                f"Keep it constant (ad.stop_gradient), or give the function a rule: @ad.custom_rule(jvp=…, vjp=…)."
            )
        return self.partials[argument](*[z if n == "z" else xs[self.arguments.index(n)] for n in self.reads[argument]])

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        dz = total(*[product(dx, self.partial(i, xs, z)) for i, dx in enumerate(dxs) if dx is not None])
        return None if dz is None else spread(dz, self._result(xs, z))

    def _result(self, xs: Sequence[Value], z: Value) -> Any:
        """z, or its type where it was not kept."""
        types = [x if isinstance(x, ArrayType) else type_of(x) for x in xs]
        return self.result_type(*types) if z is None else z

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return [
            fit(adjoint_product(ct, self.partial(i, xs, z)), xs[i]) if want else None for i, want in enumerate(wanted)
        ]


class SeveralUfunc(NamedUfunc):
    """A ufunc with several results: a partial is a tuple, one entry for each result, None for zero."""

    several = True

    def result_type(self, *types: ArrayType) -> Any:
        shape = broadcast_shapes(self.title, types)
        tokens = tuple(promotion_token(t) for t in types)
        return tuple(
            ArrayType(shape, d)
            for d in self.function.resolve_dtypes((*tokens, *[None] * self.function.nout))[len(types) :]
        )

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        rows = [[product(dx, d) for d in self.partial(i, xs, z)] for i, dx in enumerate(dxs) if dx is not None]
        sums = [total(*column) for column in zip(*rows, strict=True)]
        return tuple(
            None if dz is None else spread(dz, part) for dz, part in zip(sums, self._result(xs, z), strict=True)
        )

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return [self._gathered(ct, self.partial(i, xs, z), xs[i]) if want else None for i, want in enumerate(wanted)]

    def _gathered(self, cts: Sequence[Value], row: Sequence[Value], x: Value) -> Value:
        cotangent = total(*[adjoint_product(ct, d) for ct, d in zip(cts, row, strict=True)])
        return None if cotangent is None else fit(cotangent, x)

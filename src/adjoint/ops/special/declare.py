"""How the rules of scipy.special's ufuncs are declared, and series for what has a removable singularity.

The instances are interned; their names are those of SciPy, with `special.` before a name that NumPy has too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from adjoint.ops.elementwise.nary_ufuncs import NamedUfunc, SeveralUfunc
from adjoint.ops.elementwise.pointwise import BY_NAME, UFUNCS, FlatUfunc, Pointwise, SmoothUfunc
from adjoint.ops.special.library import where
from adjoint.program.types import Value

RULES: dict[str, Pointwise] = {}  # name -> primitive

# Partial derivatives as expressions in the arguments that they name, by how many they are: so lambdas are typed.
V: TypeAlias = Value
Expression: TypeAlias = (
    Callable[[], V]
    | Callable[[V], V]
    | Callable[[V, V], V]
    | Callable[[V, V, V], V]
    | Callable[[V, V, V, V], V]
    | Callable[[V, V, V, V, V], V]
    | Callable[[V, V, V, V, V, V], V]
)

SQRT_PI = math.sqrt(math.pi)
SQRT_2 = math.sqrt(2.0)
SQRT_2PI = math.sqrt(2.0 * math.pi)


def by_name(name: str) -> Pointwise:
    """The interned primitive of this name."""
    return RULES[name]


by_name.__module__ = "adjoint.ops.special"  # so that unpickling imports the package, and with it all rules


class SpecialUfunc(SmoothUfunc):
    """A smooth ufunc of one argument."""

    def __reduce__(self) -> Any:
        return (by_name, (self.name,))


class SpecialNamed(NamedUfunc):
    """A ufunc of several arguments."""

    def __reduce__(self) -> Any:
        return (by_name, (self.name,))


class SpecialSeveral(SeveralUfunc):
    """A ufunc with several results."""

    def __reduce__(self) -> Any:
        return (by_name, (self.name,))


def bare(function: Any) -> Any:
    """The ufunc itself: where SCIPY_ARRAY_API is set, SciPy puts a function before it that asks for a namespace."""
    return getattr(function, "__wrapped__", function)


def _free(function: Any) -> str:
    name = function.__name__.removeprefix("_")
    return f"special.{name}" if name in BY_NAME else name


def unary(function: Any, derivative: Expression, *, singular: bool = True) -> None:
    """Declare z = f(x) by its derivative, an expression in x and z."""
    op = SpecialUfunc(bare(function), [derivative], name=_free(function), singular=singular)
    RULES[op.name] = op


def named(function: Any, arguments: str, *, whole: str = "", **partials: Expression) -> None:
    """Declare z = f(a, b, …) by its partials, expressions in the arguments and z; `whole` arguments count."""
    op = SpecialNamed(bare(function), arguments, partials, name=_free(function), whole=whole)
    RULES[op.name] = op


def several(function: Any, arguments: str, *, whole: str = "", **partials: Expression) -> None:
    """Declare a ufunc with several results z by tuples of partials."""
    op = SpecialSeveral(bare(function), arguments, partials, name=_free(function), whole=whole)
    RULES[op.name] = op


def partial_of(function: Any, argument: str, *xs: Value, z: Value = None) -> Value:
    """∂f/∂argument at xs by the rule of another ufunc; z is f(xs), where its rule reads it."""
    op: Any = UFUNCS[bare(function)]
    i = op.arguments.index(argument)
    if z is None and "z" in op.reads.get(argument, ()):
        z = function(*xs)
    return op.partial(i, xs, z)


def flat(function: Any) -> None:
    """Declare a piecewise constant ufunc."""
    op = FlatUfunc(bare(function), name=_free(function))
    RULES[op.name] = op


def polynomial(coefficients: Sequence[float], u: Value) -> Value:
    """Σ cₙ uⁿ, by Horner's rule."""
    result: Value = coefficients[-1] + 0.0 * u
    for c in reversed(coefficients[:-1]):
        result = result * u + c
    return result


def removable(u: Value, coefficients: Sequence[float], formula: Callable[[Value], Value], radius: float) -> Value:
    """An analytic function whose formula is 0/0 at u = 0: its power series for |u| < radius, the formula elsewhere."""
    near: Value = np.abs(u) < radius
    series, rest = polynomial(coefficients, where(near, u, 0.0)), formula(where(near, 2.0 * radius, u))
    return where(near, series, rest)

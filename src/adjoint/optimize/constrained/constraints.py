"""What x is subject to: equations, inequalities, and ranges, as functions of x and the arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.optimize.oracles import prepare_call
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["Constraint", "between", "equality", "inequality", "list_rules", "stack_constraints"]


@final
@dataclass(frozen=True)
class Constraint:
    """lower ≤ c(x, *args) ≤ upper, element by element; c returns any tree of numbers."""

    function: Callable[..., Any]
    lower: Any
    upper: Any
    name: str

    def split(self, x: Any, args: Sequence[Any]) -> tuple[list[Value], list[Value]]:
        """(what must be zero, what must not be above zero), as vectors."""
        zero: list[Value] = []
        below: list[Value] = []
        found = self.function(x, *args)
        if found is None:
            raise TypeError(f"minimize: the constraint {self.name} returned None; does it end with return?")
        for leaf in tree.leaves(found):
            c = leaf if isinstance(leaf, TRACED) else np.asarray(leaf)
            if not hasattr(c, "dtype") or c.dtype.kind not in "fiu":
                hint = " It returns what must not be above zero: not c <= b, but c - b." if c.dtype.kind == "b" else ""
                raise DtypeError(f"minimize: the constraint {self.name} returned {c!r}; it returns real numbers.{hint}")
            c = np.reshape(c * 1.0, (-1,))
            lower, upper = (None if b is None else _bound(self.name, b, c) for b in (self.lower, self.upper))
            if self.lower is self.upper and lower is not None:
                zero.append(c - lower)
                continue
            if lower is not None and upper is not None:
                same = np.broadcast_to(lower == upper, c.shape)
                if not isinstance(same, TRACED) and np.any(same):  # some of them are equations
                    zero.append((c - lower)[np.flatnonzero(same)])
                    rest = np.flatnonzero(~same)
                    lower, upper = (np.broadcast_to(bound, c.shape)[rest] for bound in (lower, upper))
                    c = c[rest]
            if lower is not None:
                below.append(_unless_infinite(lower, lower - c))
            if upper is not None:
                below.append(_unless_infinite(upper, c - upper))
        return zero, below


def _unless_infinite(bound: Value, c: Value) -> Value:
    """What must not be above zero: -1 where there is no bound."""
    free = np.isinf(bound)
    return np.where(free, -1.0, c) if isinstance(free, TRACED) or np.any(free) else c


def _bound(name: str, bound: Any, c: Value) -> Value:
    found = bound if isinstance(bound, TRACED) else np.asarray(bound)
    if found.ndim and found.size != c.shape[0]:
        raise ShapeError(f"minimize: a bound of the constraint {name} has {found.size} numbers, and it returns "
                         f"{c.shape[0]}.")  # fmt: skip
    return np.reshape(found, (-1,)) if found.ndim else found


def _named(function: Callable[..., Any], kind: str) -> str:
    if not callable(function):
        raise TypeError(f"optimize.{kind}: it takes a function of x, not {type(function).__name__}.")
    return getattr(function, "__name__", kind)


def equality(function: Callable[..., Any]) -> Constraint:
    """c(x, *args) = 0, for `minimize(…, subject_to=…)`.

    ```python
    line = ad.optimize.equality(lambda x: np.sum(x) - 1.0)
    found = ad.optimize.minimize(lambda x: np.sum(x**2), np.zeros(2), subject_to=line)
    np.round(found.value, 6)  # → [0.5, 0.5]
    ```
    """
    zero = 0.0
    return Constraint(prepare_call(function), zero, zero, _named(function, "equality"))


def inequality(function: Callable[..., Any]) -> Constraint:
    """c(x, *args) ≤ 0, for `minimize(…, subject_to=…)`.

    ```python
    disk = ad.optimize.inequality(lambda x: np.sum(x**2) - 1.0)
    found = ad.optimize.minimize(lambda x: -x[0], np.zeros(2), subject_to=disk)
    np.round(found.value, 6)  # → [1.0, 0.0]
    ```
    """
    return Constraint(prepare_call(function), None, 0.0, _named(function, "inequality"))


def between(lower: Any, function: Callable[..., Any], upper: Any) -> Constraint:
    """lower ≤ c(x, *args) ≤ upper, for `minimize(…, subject_to=…)`; None is no bound.

    ```python
    ring = ad.optimize.between(1.0, lambda x: np.sum(x**2), 4.0)
    found = ad.optimize.minimize(lambda x: np.sum((x - 3.0) ** 2), np.ones(2), subject_to=ring)
    float(np.round(np.sum(found.value**2), 6))  # → 4.0
    ```
    """
    name = _named(function, "between")
    for side, bound, never in (("lower", lower, np.inf), ("upper", upper, -np.inf)):
        if bound is not None and not isinstance(bound, TRACED) and not np.all(np.asarray(bound) != never):
            raise ValueError(f"optimize.between: {side} is {never} somewhere, so that nothing lies between them.")
        if bound is not None and not isinstance(bound, TRACED) and np.any(np.isnan(bound)):
            raise ValueError(f"optimize.between: {side} has NaN; None or an infinite one is no bound.")
    plain = not any(isinstance(v, TRACED) for v in (lower, upper)) and lower is not None and upper is not None
    if plain:
        low, high = np.asarray(lower), np.asarray(upper)
        if np.any(low > high + 64 * np.finfo(float).eps * (1.0 + np.abs(low))):
            raise ValueError("optimize.between: lower is above upper, so that nothing lies between them.")
        upper = np.maximum(low, high)  # what crosses by no more than rounding is one number
        upper = lower if np.all(low == upper) else upper  # an equation
    return Constraint(prepare_call(function), lower, upper, name)


def list_rules(subject_to: Any) -> list[Any]:
    """What `subject_to=` has, one rule or several, whatever they are."""
    if subject_to is None:
        return []
    several = isinstance(subject_to, Iterable) and not isinstance(subject_to, Mapping | str)
    return list(subject_to) if several else [subject_to]


def stack_constraints(constraints: Sequence[Constraint], x: Any, args: Sequence[Any], dtype: Any) -> Any:
    """(h, g): all that must be zero, and all that must not be above zero."""
    zero: list[Value] = []
    below: list[Value] = []
    for constraint in constraints:
        own = constraint.split(x, args)
        zero, below = zero + own[0], below + own[1]
    empty = np.zeros(0, dtype)
    join = lambda parts: np.concatenate(parts).astype(dtype) if parts else empty
    return join(zero), join(below)

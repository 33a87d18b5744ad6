"""What an update rule is: a pair init and update that turns gradients into steps, and their composition.

    state = rule.init(w)        step, state = rule.update(g, state, w)        w⁺ = w - step

A step is subtracted: what a chain of rules gives is a direction of descent, times a learning rate. Numbers of a rule
are its leaves, so that a rule is an argument of compiled functions like any other and has a gradient of its own; each
of them may be a schedule, a function of the number of updates so far, which starts at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError, TreeError
from adjoint.base.source import user_facing
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["Numbers", "Rule", "apply", "chain", "each", "is_parameter", "like", "make_rule", "map_parameters", "zeros"]

Start = Callable[["Rule", Any], dict[str, Any]]
Advance = Callable[["Numbers", dict[str, Any], Any, Any], tuple[Any, dict[str, Any]]]


@final
@dataclass(frozen=True)
class Rule:
    """An update rule: `init(params)` gives its state, `update(gradient, state, params)` the step and the next state.

    A tree: its leaves are its numbers. `update` is a pure function, so it runs under
    `jit`, `vmap`, `grad` and in loops.

    ```python
    from adjoint.optimize import updates
    rule = updates.momentum(0.1, 0.9)
    w, state = np.ones(2), rule.init(np.ones(2))
    for _ in range(2):
        step, state = rule.update(2 * w, state, w)
        w = updates.apply(w, step)
    w  # → [0.46, 0.46]
    ```
    """

    name: str = field(metadata={"static": True})
    start: Start = field(metadata={"static": True})
    advance: Advance = field(metadata={"static": True})
    numbers: dict[str, Any] = field(default_factory=dict)
    parts: tuple[Rule, ...] = ()
    options: Any = field(default=None, metadata={"static": True})

    def init(self, params: Any) -> dict[str, Any]:
        """The state before the first update."""
        return {"count": np.int64(0), **self.start(self, params)}

    @user_facing
    def update(
        self, gradient: Any, state: dict[str, Any], params: Any, value: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        """The step to be subtracted from params, and the next state. `value` is the loss, for rules that look at it."""
        if not isinstance(state, dict) or "count" not in state:
            raise TreeError(
                f"{self.name}: the state is {type(state).__name__}; make it by {self.name}(…).init(params)."
            )
        count = state["count"]
        numbers = Numbers(self, count, value)
        step, rest = self.advance(numbers, state, gradient, params)
        return step, {"count": count + 1, **rest}


@final
class Numbers:
    """The numbers of a rule at one update: `numbers("learning_rate")` is a float, whatever it was given as."""

    def __init__(self, rule: Rule, count: Value, value: Any) -> None:
        self.rule, self.count, self.value = rule, count, value

    def __call__(self, name: str) -> Any:
        """A number, or what its schedule says now."""
        return read_number(f"{self.rule.name}: {name}", self.rule.numbers[name], self.count)

    @property
    def options(self) -> Any:
        """What is no number."""
        return self.rule.options

    @property
    def parts(self) -> tuple[Rule, ...]:
        """The rules that this one is made of."""
        return self.rule.parts


def read_number(title: str, number: Any, count: Value) -> Any:
    """A hyper-parameter at an update: itself, or a schedule called with the count."""
    found: Any = number(count) if callable(number) else number
    if np.ndim(found):
        what = "its schedule returns" if callable(number) else "it is"
        raise ShapeError(f"{title} is one number; {what} an array of shape {np.shape(found)}. Groups of leaves with "
                         "numbers of their own are made by updates.groups.")  # fmt: skip
    return found


# outside of these a rule is not what its name says: steps change their sign, or averages run away
RANGES = {"b1": (0, 1), "b2": (0, 1), "decay": (0, 1), "eps": (0, np.inf), "eps_root": (0, np.inf), "most": (0, np.inf)}


def make_rule(
    name: str, start: Start, advance: Advance, options: Any = None, parts: tuple[Rule, ...] = (), **numbers: Any
) -> Rule:
    """A rule, its numbers checked as far as they are known."""
    for key, number in numbers.items():
        if isinstance(number, TRACED) or callable(number):
            continue
        try:
            fits = np.ndim(number) == 0 and np.asarray(number).dtype.kind in "fiu"
        except ValueError:
            fits = False
        if not fits:
            raise TypeError(f"{name}: {key} is {number!r}; it must be a number, or a schedule: a function of the count "
                            "of updates.")  # fmt: skip
        if not np.isfinite(number):
            raise ValueError(f"{name}: {key} is {number}; it must be finite.")
        least, most = RANGES.get(key, (-np.inf, np.inf))
        if not least <= number <= most:
            wanted = "at least 0" if most > 1 else "between 0 and 1"
            raise ValueError(f"{name}: {key} is {number}; it must be {wanted}.")
    return Rule(name, start, advance, dict(numbers), parts, options)


def is_parameter(leaf: Any) -> bool:
    """Whether a leaf is trained: a floating or complex one."""
    dtype = getattr(leaf, "dtype", None)
    return isinstance(leaf, float | complex) if dtype is None else dtype.kind in "fc"


def each(outputs: int, f: Callable[..., Any], first: Any, *rest: Any) -> tuple[Any, ...]:
    """f(leaf of first, leaf of rest[0], …) → (a, b, …) for each parameter, as `outputs` trees like first.

    Leaves that are no floating numbers have zeros of their own type as every output.
    """
    leaves, structure = tree.flatten(first)
    others = [tree.leaves_like("update", structure, other) for other in rest]
    columns: list[list[Any]] = [[] for _ in range(outputs)]
    for group in zip(leaves, *others, strict=True):
        if is_parameter(group[0]):
            found = f(*group)
            results = found if outputs > 1 else (found,)
        else:
            results = (np.zeros_like(group[0]),) * outputs
        for column, result in zip(columns, results, strict=True):
            column.append(result)
    return tuple(structure.unflatten(column) for column in columns)


def map_parameters(f: Callable[..., Any], first: Any, *rest: Any) -> Any:
    """f of each parameter, as a tree like first."""
    return each(1, f, first, *rest)[0]


def zeros(params: Any, real: bool = False) -> Any:
    """Zeros like params; real ones, where moduli of complex numbers are kept."""

    def zero(leaf: Any) -> Any:
        found = np.zeros_like(leaf)
        return np.real(found) if real and found.dtype.kind == "c" else found

    return map_parameters(zero, params)


def like(number: Any, leaf: Any) -> Any:
    """A number in the precision of a leaf: hyper-parameters are computed in double precision, arrays are not."""
    dtype = leaf.dtype if hasattr(leaf, "dtype") else np.dtype(type(leaf))
    if dtype.kind == "c":
        dtype = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
    return number.astype(dtype) if isinstance(number, TRACED) else dtype.type(number)


@user_facing
def apply(params: Any, step: Any) -> Any:
    """w - step, leaf by leaf, each in its own precision; leaves that are no floating numbers stay as they are.

    ```python
    from adjoint.optimize import updates
    updates.apply({"w": np.ones(2), "n": 3}, {"w": np.full(2, 0.25), "n": 0})  # → {'w': [0.75, 0.75], 'n': 3}
    ```
    """

    def subtract(w: Any, u: Any) -> Any:
        if not is_parameter(w):
            return w
        moved = w - u
        dtype = getattr(w, "dtype", None)
        return moved if dtype is None or moved.dtype == dtype else moved.astype(dtype)

    return tree.map(subtract, params, step)


@user_facing
def chain(*rules: Rule) -> Rule:
    """Rules one after the other: each takes the step of the one before it as its gradient.

    ```python
    from adjoint.optimize import updates
    rule = updates.chain(updates.clip_by_norm(1.0), updates.scale_by_adam(), updates.scale(1e-3))
    step, state = rule.update(np.array([3.0, -4.0]), rule.init(np.zeros(2)), np.zeros(2))
    np.round(step, 9)  # → [0.001, -0.001]
    ```
    """
    for rule in rules:
        if not isinstance(rule, Rule):
            raise TypeError(f"chain takes rules (updates.adam(1e-3), updates.clip_by_norm(1.0), …), not {rule!r}.")
    return Rule("chain", _start_chain, _advance_chain, {}, rules)


def _start_chain(rule: Rule, params: Any) -> dict[str, Any]:
    return {"parts": tuple(part.init(params) for part in rule.parts)}


def _advance_chain(numbers: Numbers, state: dict[str, Any], gradient: Any, params: Any) -> tuple[Any, dict[str, Any]]:
    states = []
    for part, own in zip(numbers.parts, state["parts"], strict=True):
        gradient, own = part.update(gradient, own, params, numbers.value)
        states.append(own)
    return gradient, {"parts": tuple(states)}

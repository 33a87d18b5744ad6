"""Rules for some leaves: masks, and groups by path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import TreeError
from adjoint.base.source import user_facing
from adjoint.base.suggestions import did_you_mean
from adjoint.optimize.frozen import read_path
from adjoint.optimize.updates.rule import Numbers, Rule

__all__ = ["Choices", "frozen", "groups", "masked", "select"]

State = dict[str, Any]
Choice = Any  # paths, a tree of truth values, or a function of (path, leaf)


def select(title: str, params: Any, which: Choice) -> tuple[bool, ...]:
    """Which leaves are meant: those below one of the paths, or where a tree of truth values or a function says so."""
    leaves, structure = tree.flatten(params)
    paths = structure.paths()
    if isinstance(which, str):
        which = (which,)
    if callable(which) and tree.leaves(which) == [which]:  # a function, and no model of truth values
        return tuple(bool(which(path.removeprefix("."), leaf)) for path, leaf in zip(paths, leaves, strict=True))
    if isinstance(which, tuple | list | set | frozenset) and all(isinstance(path, str) for path in which):
        labels = [read_path(path) for path in paths]
        chosen = [False] * len(leaves)
        for path in which:
            hits = [i for i, own in enumerate(labels) if _is_below(own, read_path(path), structure, labels)]
            if not hits:
                raise TreeError(f"{title}: there is nothing at {path!r}. {did_you_mean(path, paths)}".rstrip())
            for i in hits:
                chosen[i] = True
        return tuple(chosen)
    flags = tree.leaves_like(title, structure, which)
    if any(not isinstance(flag, bool | np.bool_) for flag in flags):
        raise TreeError(f"{title}: leaves are chosen by paths, a tree of truth values, or a function of (path, leaf).")
    return tuple(bool(flag) for flag in flags)


def _is_below(own: Sequence[str], wanted: Sequence[str], structure: Any, labels: Any) -> bool:
    """Whether a leaf stands below a path; [-1] counts from the end of what is there."""
    if len(own) < len(wanted):
        return False
    for depth, (have, want) in enumerate(zip(own, wanted)):
        if want.startswith("-") and want[1:].isdigit():
            beside = {int(other[depth]) for other in labels
                      if len(other) > depth and other[:depth] == own[:depth] and other[depth].isdigit()}  # fmt: skip
            want = str(max(beside, default=-1) + 1 + int(want))
        if have != want:
            return False
    return True


@user_facing
def masked(rule: Rule, which: Choice) -> Rule:
    """The rule for these leaves alone; the gradient of all others passes unchanged.

    `which` is a list of paths, a tree of truth values, or a function of (path, leaf).

    ```python
    from adjoint.optimize import updates
    rule = updates.masked(updates.scale(10.0), lambda path, leaf: np.ndim(leaf) > 0)
    w = {"w": np.ones(2), "b": 1.0}
    rule.update(w, rule.init(w), w)[0]  # → {'w': [10.0, 10.0], 'b': 1.0}
    ```
    """
    return Rule("masked", _start_groups, _advance_groups, {}, (rule,), Choices((which,), False))


@user_facing
def groups(rules: Mapping[Any, Rule] | Sequence[tuple[Any, Rule]], otherwise: Rule | None = None) -> Rule:
    """A rule for each group of leaves: {path: rule}, or pairs (choice, rule). A leaf belongs to the first that fits.

    Leaves in no group take the rule `otherwise`; without one they stay as they are. Rules see their own leaves
    alone, so that norms are of the group.

    ```python
    from adjoint.optimize import updates
    rule = updates.groups({"head": updates.sgd(0.5)}, otherwise=updates.sgd(0.1))
    w = {"body": 1.0, "head": 1.0}
    rule.update(w, rule.init(w), w)[0]  # → {'body': 0.1, 'head': 0.5}
    ```
    """
    pairs = list(rules.items()) if isinstance(rules, Mapping) else list(rules)
    for pair in pairs:
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[1], Rule)):
            raise TypeError(f"groups: a group is a pair (paths, rule), not {pair!r}.")
    last = (frozen() if otherwise is None else otherwise,)
    choices = Choices(tuple(_frozen_choice(which) for which, _ in pairs), True)
    return Rule("groups", _start_groups, _advance_groups, {}, (*(rule for _, rule in pairs), *last), choices)


@user_facing
def frozen() -> Rule:
    """No step at all.

    ```python
    rule = ad.optimize.updates.frozen()
    rule.update(np.ones(2), rule.init(np.ones(2)), np.ones(2))[0]  # → [0.0, 0.0]
    ```
    """
    return Rule("frozen", _no_state, _no_step)


def _no_state(rule: Rule, params: Any) -> State:
    return {}


def _no_step(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    return tree.map(np.zeros_like, gradient), {}


def _frozen_choice(which: Choice) -> Choice:
    return tuple(which) if isinstance(which, list) and all(isinstance(path, str) for path in which) else which


class Choices:
    """What chooses leaves, as a static value: equal to another by what it holds, where that can be compared."""

    def __init__(self, choices: tuple[Choice, ...], has_rest: bool) -> None:
        self.choices, self.has_rest = choices, has_rest

    def __eq__(self, other: Any) -> bool:
        same = isinstance(other, Choices) and self.has_rest == other.has_rest
        if not same or len(self.choices) != len(other.choices):
            return False
        return all(a is b or (_is_plain(a) and _is_plain(b) and a == b) for a, b in zip(self.choices, other.choices))

    def __hash__(self) -> int:
        return hash((self.has_rest, *(a if isinstance(a, str) else id(type(a)) for a in self.choices)))

    def members(self, params: Any) -> list[tuple[bool, ...]]:
        """For each rule, its leaves."""
        left = [True] * len(tree.leaves(params))
        found: list[tuple[bool, ...]] = []
        for which in self.choices:
            flags = tuple(flag and free for flag, free in zip(select("groups", params, which), left, strict=True))
            left = [free and not flag for flag, free in zip(flags, left, strict=True)]
            found.append(flags)
        return [*found, tuple(left)] if self.has_rest else found


def _is_plain(choice: Choice) -> bool:
    if isinstance(choice, str | bool):
        return True
    if isinstance(choice, dict):
        return all(_is_plain(part) for part in choice.values())
    return isinstance(choice, tuple | list | frozenset) and all(_is_plain(part) for part in choice)


def _part(whole: Any, flags: Sequence[bool]) -> dict[str, Any]:
    leaves, structure = tree.flatten(whole)
    return {path: leaf for path, leaf, flag in zip(structure.paths(), leaves, flags, strict=True) if flag}


def _start_groups(rule: Rule, params: Any) -> State:
    members: Callable[[Any], list[tuple[bool, ...]]] = rule.options.members
    return {"parts": tuple(p.init(_part(params, flags)) for p, flags in zip(rule.parts, members(params), strict=True))}


def _advance_groups(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    leaves, structure = tree.flatten(gradient)
    states = []
    for part, own, flags in zip(numbers.parts, state["parts"], numbers.options.members(params), strict=True):
        step, own = part.update(_part(gradient, flags), own, _part(params, flags), numbers.value)
        states.append(own)
        moved = iter(step.values())
        leaves = [next(moved) if flag else leaf for leaf, flag in zip(leaves, flags, strict=True)]
    return structure.unflatten(leaves), {"parts": tuple(states)}

"""Rules by class of primitive: what a transformation or an analysis knows of each, with defaults by family."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from adjoint.base.errors import UnsupportedError
from adjoint.program.op import Op

R = TypeVar("R")


class RuleTable(Generic[R]):
    """The rules of one transformation, by class of primitive.

    A class without a rule of its own has that of its nearest ancestor, so a family (`Pointwise`, `Linear`, `Control`)
    states the default of its members, and `Op` that of all. The rules of a table may stand for a method of `Op`
    (`of`), as lowerings do for `evaluate`: then a class that states this method itself inherits no rule.
    """

    def __init__(self, title: str, of: str = "") -> None:
        self.title, self.of = title, of
        self._rules: dict[type[Op], R] = {}
        self._known: dict[type[Op], R | None] = {}  # by the class of an op, its ancestors looked through

    def rule(self, *kinds: type[Op]) -> Callable[[R], R]:
        """A decorator: the rule of these classes, and of their subclasses that have no other."""

        def register(rule: R) -> R:
            self.update(dict.fromkeys(kinds, rule))
            return rule

        return register

    def update(self, rules: dict[type[Op], R]) -> None:
        """Add rules, a later one instead of an earlier one."""
        self._rules.update(rules)
        self._known.clear()

    def get(self, op: Op) -> R | None:
        """The rule of a primitive; None where there is none."""
        kind = type(op)
        try:
            return self._known[kind]
        except KeyError:
            nearest = next((k for k in kind.__mro__ if k in self._rules), None)
            restated = nearest is not None and self.of and getattr(nearest, self.of) is not getattr(kind, self.of)
            rule = self._known[kind] = None if nearest is None or restated else self._rules[nearest]
            return rule

    def __getitem__(self, op: Op) -> R:
        rule = self.get(op)
        if rule is None:
            raise UnsupportedError(
                f"{self.title} has no rule for {op.title}. Give it one: @table.rule({type(op).__name__}), or a default "
                "for a family of primitives it belongs to."
            )
        return rule

    def __contains__(self, op: Op) -> bool:
        return self.get(op) is not None

    def missing(self, kinds: Iterable[type[Op]]) -> list[str]:
        """The names of the classes that have no rule."""
        return sorted(kind.__name__ for kind in kinds if not any(k in self._rules for k in kind.__mro__))

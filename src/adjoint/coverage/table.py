"""What the table of coverage is made of: one row for each public function of NumPy and SciPy.

A row is added in one line: `NUMPY.differentiable("sinc")`, `NUMPY.refused("packbits", "why", "what to do instead")`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

DIFFERENTIABLE, CONSTANT, REFUSED = "differentiable", "constant", "refused"
KINDS = (DIFFERENTIABLE, CONSTANT, REFUSED)

# What the arguments of a constant function are looked at for.
VALUES = "values"  # the result is piecewise constant: comparisons, places, counts
TYPES = "types"  # only shapes and element types matter, so that any array of the type stands for the traced one
SIZES = "sizes"  # the arguments are plain: integers, sizes, names of files, settings


class Row(NamedTuple):
    """What is said of one function."""

    namespace: str  # "numpy", "scipy.special" …
    name: str
    kind: str
    arguments: tuple[str, ...] = ()  # those it is differentiable in; none named: all that are real or complex
    own: bool = False  # only adjoint.<namespace>.<name> takes traced values: the original does not ask them
    takes: str = VALUES
    reason: str = ""  # why it is refused
    remedy: str = ""  # and what to do instead
    since: str = ""  # the first version of the package that has it
    until: str = ""  # the first version that does not have it any more

    @property
    def title(self) -> str:
        """The function, as it is named in its package."""
        return f"{self.namespace}.{self.name}"

    @property
    def offered(self) -> str:
        """The function to call with traced values; empty when there is none."""
        if self.kind == REFUSED:
            return ""
        return f"adjoint.{self.title}" if self.own else self.title

    @property
    def words(self) -> str:
        """Why it is refused and what to do, as the end of a sentence and another one."""
        return f"{self.reason}. {self.remedy}."


class Table:
    """The rows of one namespace, by name. Names are given together, separated by spaces.

    What is written is kept as it is, and becomes rows when the first is asked for: importing costs nothing.
    """

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._written: list[tuple[str, str, dict[str, Any]]] = []  # names, kind, facts

    def differentiable(
        self, names: str, arguments: str = "", *, own: bool = False, since: str = "", until: str = ""
    ) -> None:
        """Functions with derivatives, in the named arguments ("x, y") or in all."""
        inputs = tuple(arguments.replace(",", " ").split())
        self._add(names, DIFFERENTIABLE, arguments=inputs, own=own, since=since, until=until)

    def constant(self, names: str, takes: str = VALUES, *, own: bool = False, since: str = "", until: str = "") -> None:
        """Functions whose result carries no derivative: it is piecewise constant, or a matter of types or sizes."""
        self._add(names, CONSTANT, takes=takes, own=own, since=since, until=until)

    def refused(self, names: str, reason: str, remedy: str, *, since: str = "", until: str = "") -> None:
        """Functions that traced values cannot go into: why (the end of a sentence), and what to do (a sentence)."""
        self._add(names, REFUSED, reason=reason, remedy=remedy, since=since, until=until)

    def include(self, other: Table) -> None:
        """Take over the rows of another table, whose functions stand in the same namespace."""
        self._written += other._written

    def _add(self, names: str, kind: str, **facts: Any) -> None:
        self._written.append((names, kind, facts))

    @functools.cached_property
    def rows(self) -> dict[str, Row]:
        """All rows by name."""
        rows: dict[str, Row] = {}
        for names, kind, facts in self._written:
            for name in names.split():
                if name in rows:
                    raise ValueError(f"{self.namespace}.{name} has two rows in the table of coverage")
                rows[name] = Row(self.namespace, name, kind, **facts)
        return rows

    def named(self, kind: str, takes: str | None = None) -> list[str]:
        """Names of one kind, in the order of the table."""
        chosen = [names for names, k, facts in self._written if k == kind and takes in (None, facts.get("takes"))]
        return " ".join(chosen).split()

"""What a function did for its arguments: variables, the operations between them, and the groups these stand in.

Variables are numbered as in a lecture: inputs v₁₋ₚ … v₀, then v₁, v₂, … in the order of the computation; arrays that
the function holds as constants are c₁, c₂, …
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.base.source import Location
from adjoint.program.op import Op
from adjoint.program.types import Value, type_of

__all__ = ["Checked", "Event", "ExplanationModel", "Group", "Guard", "Literal", "Variable"]


@dataclass(eq=False)
class Variable:
    """v_i: a value, and what the derivatives say about it. What is not known, or zero throughout, is None."""

    number: int  # in ExplanationModel.variables
    name: str  # "v-1", "v3", "c1"
    kind: str  # "input", "constant" or "step"
    value: Value
    label: str = ""  # what the user calls it
    hidden: bool = False  # a part of a statement that is shown as one step
    is_active: bool = False  # whether it depends on an input that is differentiated
    event: Event | None = field(default=None, repr=False)  # what made it
    adjoint: Value = None  # v̄ = ∂y/∂v
    tangent: Value = None  # v̇, along the direction
    adjoint_tangent: Value = None  # the derivative of v̄ along the direction
    # (event, which of its operands); not printed, as all that leads on: a variable would tell the whole explanation
    uses: list[tuple[Event, int]] = field(default_factory=list[Any], repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.value)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(type_of(self.value).dtype)


@dataclass(frozen=True)
class Literal:
    """A number written into an operation."""

    value: Value


@dataclass(eq=False)
class Group:
    """Operations that belong together: a call of a function, a scope, a loop, one of its iterations, a branch."""

    number: int
    kind: str  # "all", "function", "scope", "loop", "iteration", "branch", "checkpoint"
    name: str
    parent: Group | None = field(repr=False)
    location: Location | str | None = None
    parts: list[Event | Group] = field(default_factory=list[Any], repr=False)

    @property
    def path(self) -> tuple[Group, ...]:
        """From the outermost group to this one, without the whole."""
        return () if self.parent is None else (*self.parent.path, self)

    def events(self) -> Iterator[Event]:
        """All operations inside, in order."""
        for part in self.parts:
            if isinstance(part, Group):
                yield from part.events()
            else:
                yield part


@dataclass(eq=False)
class Event:
    """One operation: outputs = op(operands)."""

    number: int
    op: Op
    operands: tuple[Variable | Literal, ...]
    outputs: tuple[Variable, ...]
    location: Location | str | None
    group: Group = field(repr=False)
    # Of each operand, what this operation adds to its adjoint; None where nothing flows.
    contributions: list[Value] = field(default_factory=list[Any])

    @property
    def values(self) -> list[Value]:
        """The values of the operands."""
        return [a.value for a in self.operands]

    @property
    def moving(self) -> list[bool]:
        """Which operands depend on the inputs."""
        return [isinstance(a, Variable) and a.is_active for a in self.operands]


@dataclass(frozen=True)
class Guard:
    """What was asked of a variable, and the answer that this explanation holds for: the path taken depends on it."""

    variable: Variable
    question: str  # as in adjoint.ops.control.guards
    answer: Any
    text: str


@dataclass(frozen=True)
class Checked:
    """A check that was passed: whether it is made, what must be true, and values to be reported."""

    operands: tuple[Variable | Literal, ...]
    guards: int  # how many of the operands say whether it is made
    batches: Any  # as in adjoint.ops.effects
    message: tuple[str | int, ...]  # texts, and numbers of operands


@dataclass(eq=False)
class ExplanationModel:
    """The whole computation."""

    name: str
    variables: list[Variable]
    events: list[Event]
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable | Literal, ...]
    whole: Group
    groups: list[Group]
    structure: Any  # of the results
    questions: tuple[str, ...] = ()  # what Python asked on its way: the explanation holds for the same answers
    notes: list[str] = field(default_factory=list[str])
    guards: list[Guard | Checked] = field(default_factory=list[Any])
    seeds: list[Value] = field(default_factory=list[Any])  # the adjoints of the results; [] while they are not known

    def seed(self, variable: Variable) -> Value:
        """What a variable's adjoint starts from: None where it is no result."""
        total: Value = None
        for out, seed in zip(self.outputs, self.seeds, strict=False):
            if out is variable:
                total = seed if total is None else total + seed
        return total

    @property
    def steps(self) -> Sequence[Variable]:
        """The variables that operations made."""
        return [v for v in self.variables if v.kind == "step"]

    @property
    def constants(self) -> Sequence[Variable]:
        """The arrays that the function holds."""
        return [v for v in self.variables if v.kind == "constant"]

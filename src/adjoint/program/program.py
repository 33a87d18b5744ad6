"""Programs: typed equations in single-assignment form. They print, compare, hash, and are read by one loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from types import FrameType
from typing import Any, TypeAlias

import numpy as np

from adjoint.base.digests import digest
from adjoint.base.numpy_warnings import with_lines_of_users
from adjoint.base.origins import Origin, pin, unpin
from adjoint.base.records import record
from adjoint.base.source import Location, equation_lines
from adjoint.program.circuits import Circuit, circuit_of
from adjoint.program.dag import Bipartite, Dag, bipartite_of, dag_of
from adjoint.program.op import Op
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, type_of


class Var:
    """A variable: bound once, by an input, a constant or an equation."""

    __slots__ = ("type",)

    def __init__(self, kind: ArrayType) -> None:
        self.type = kind


@record
class Literal:
    """A number written into an equation."""

    value: Value

    @property
    def type(self) -> ArrayType:
        return type_of(self.value)

    def key(self) -> Any:
        """What makes two literals equal: NaN equals itself, 0.0 is not -0.0, 1 is not 1.0."""
        return (type(self.value).__name__, np.asarray(self.value).tobytes())


Atom: TypeAlias = Var | Literal


@record(eq=False)
class Equation:
    """outputs = op(inputs), where the user wrote it."""

    op: Op
    inputs: tuple[Atom, ...]
    outputs: tuple[Var, ...]
    location: Location | str | None = None  # a string in a program that was loaded
    scope: tuple[str, ...] = ()
    # recorded without NumPy's warnings, as derivatives are: where they divide by zero they are masked
    quiet: bool = False
    pulled: str | None = None  # in the backward pass: the name of the operation that is being pulled through

    def __init__(
        self,
        op: Op,
        inputs: tuple[Atom, ...],
        outputs: tuple[Var, ...],
        location: Location | str | None = None,
        scope: tuple[str, ...] = (),
        quiet: bool = False,
        pulled: str | None = None,
    ) -> None:
        fields = self.__dict__  # a frozen dataclass's own way takes four times as long, and traces make many of these
        fields["op"], fields["inputs"], fields["outputs"] = op, inputs, outputs
        fields["location"], fields["scope"], fields["quiet"], fields["pulled"] = location, scope, quiet, pulled


@record(eq=False)
class Program:
    """inputs, constants, equations, outputs.

    Two programs are equal when they compute the same thing in the same way.
    """

    inputs: tuple[Var, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[Atom, ...]
    constants: dict[Var, Value] = field(default_factory=dict[Var, Value])

    def __post_init__(self) -> None:
        # a loop or a branch may hand out a constant as its result: it is never written to, and so `fresh` copies it
        for value in self.constants.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def input_types(self) -> tuple[ArrayType, ...]:
        return tuple(v.type for v in self.inputs)

    @property
    def output_types(self) -> tuple[ArrayType, ...]:
        return tuple(a.type for a in self.outputs)

    def canonical(self) -> tuple[Any, ...]:
        """The program as plain values, with variables numbered in order."""
        cached = self.__dict__.get("_canonical")
        if cached is None:
            cached = self.__dict__["_canonical"] = tuple(self._canonical_parts())
        return cached

    def _canonical_parts(self) -> Iterator[Any]:
        number: dict[Var, int] = {v: i for i, v in enumerate((*self.inputs, *self.constants))}
        yield self.input_types
        yield tuple(digest_value(value) for value in self.constants.values())
        for eq in self.equations:
            key = tuple(number[a] if isinstance(a, Var) else a.key() for a in eq.inputs)
            for v in eq.outputs:
                number[v] = len(number)
            yield eq.op, key, tuple(v.type for v in eq.outputs)
        yield tuple(number[a] if isinstance(a, Var) else a.key() for a in self.outputs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and (self is other or self.canonical() == other.canonical())

    def __hash__(self) -> int:
        cached = self.__dict__.get("_hash")
        if cached is None:
            cached = self.__dict__["_hash"] = hash(self.canonical())
        return cached

    def __str__(self) -> str:
        return "\n".join(printed(self))

    def __repr__(self) -> str:
        return f"<Program of {len(self.equations)} equations>"

    def _repr_html_(self) -> str:
        text = str(self).replace("&", "&amp;").replace("<", "&lt;")
        return f"<pre>{text}</pre>"

    @with_lines_of_users
    def __call__(self, *args: Value) -> tuple[Value, ...]:
        return tuple(interpret(self, args))

    def dag(self) -> Dag:
        """The graph of what needs what: inputs and constants, then equations, by number."""
        return dag_of(self)

    def bipartite(self) -> Bipartite:
        """The graph of variables and functions."""
        return bipartite_of(self)

    def circuit(self) -> Circuit:
        """The polynomial that it computes, by sums and products alone."""
        return circuit_of(self)


def digest_value(value: Value) -> Any:
    """What makes two constants equal: dtype, shape and bits."""
    array = np.asarray(value)  # ascontiguousarray would make an array of one element of a number
    return str(array.dtype), array.shape, digest(np.ascontiguousarray(array).tobytes()).hexdigest()


def interpret(program: Program, args: Sequence[Value]) -> list[Value]:
    """Read a program: every primitive acts under whatever trace is live among its arguments.

    Values are dropped after their last use.
    """
    env: dict[Var, Value] = dict(zip(program.inputs, args, strict=True))
    env.update(program.constants)
    last = last_uses(program)
    located = any(isinstance(a, Tracer) for a in args)  # then somebody may want to know for which line this is done
    token = pin(None) if located else None
    quiet: Any = None
    try:
        for position, eq in enumerate(program.equations):
            if token is not None and eq.location is not None:
                pin(Origin(eq.location, eq.scope, eq.pulled))
            if eq.quiet is (quiet is None):
                quiet = _quieted(quiet)
            op, values = eq.op, [env[a] if isinstance(a, Var) else a.value for a in eq.inputs]
            if op.size_fields:
                op = op.with_sizes([a.type for a in eq.inputs], [np.shape(x) for x in values])
            results = op(*values)
            if op.several:
                env.update(zip(eq.outputs, results, strict=True))
            else:
                env[eq.outputs[0]] = results
            for v in last.get(position, ()):
                del env[v]
    finally:
        if token is not None:
            unpin(token)
        if quiet is not None:
            _quieted(quiet)
    return [env[a] if isinstance(a, Var) else a.value for a in program.outputs]


def _interpreted_line(frame: FrameType) -> Location | str | None:
    """Where the equation was recorded that `interpret` reads in this frame."""
    eq = frame.f_locals.get("eq") if frame.f_code is interpret.__code__ else None
    return None if eq is None else eq.location


equation_lines[interpret.__code__.co_filename] = _interpreted_line


def _quieted(state: Any) -> Any:
    """Switch NumPy's warnings off, or back to what they were."""
    if state is not None:
        return state.__exit__(None, None, None)
    state = np.errstate(all="ignore")
    state.__enter__()
    return state


def last_uses(program: Program) -> dict[int, list[Var]]:
    """After which equation each variable is not read any more."""
    cached = program.__dict__.get("_last_uses")
    if cached is None:
        cached = program.__dict__["_last_uses"] = dict[int, list[Var]]()
        seen: set[Var] = {a for a in program.outputs if isinstance(a, Var)}
        for position in range(len(program.equations) - 1, -1, -1):
            eq = program.equations[position]
            used = {a for a in eq.inputs if isinstance(a, Var)} | set(eq.outputs)
            if used - seen:
                cached[position] = list(used - seen)
                seen |= used
    return cached


def names() -> Iterator[str]:
    """a, b, …, z, aa, ab, …"""
    letters = "abcdefghijklmnopqrstuvwxyz"
    number = 0
    while True:
        text, rest = "", number
        while True:
            text = letters[rest % 26] + text
            rest = rest // 26 - 1
            if rest < 0:
                break
        yield text
        number += 1


def printed(program: Program, indent: str = "") -> Iterator[str]:
    """The lines of a program; sub-programs of control flow stand indented below their equation."""
    name: dict[Var, str] = {}
    supply = names()

    def show(atom: Atom) -> str:
        return name[atom] if isinstance(atom, Var) else repr(atom.value)

    def declare(v: Var) -> str:
        name[v] = next(supply)
        return f"{name[v]}: {v.type}"

    yield f"{indent}({', '.join(declare(v) for v in program.inputs)}) {{"
    for v, value in program.constants.items():
        shown = np.array2string(np.asarray(value), threshold=6, edgeitems=2, precision=6).replace("\n", "")
        yield f"{indent}  {declare(v)} = {shown}"
    for eq in program.equations:
        inputs = " ".join(show(a) for a in eq.inputs)
        outputs = ", ".join(declare(v) for v in eq.outputs)
        yield f"{indent}  {outputs}{' = ' if outputs else ''}{eq.op} {inputs}".rstrip()
        for title, sub in eq.op.programs().items():
            yield f"{indent}    {title}"
            yield from printed(sub, indent + "    ")
    yield f"{indent}}} -> {', '.join(show(a) for a in program.outputs)}"

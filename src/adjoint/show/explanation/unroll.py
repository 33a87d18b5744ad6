"""From a recorded program to an explanation: run, with loops turn by turn and branches as they were taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.source import Location, line, short
from adjoint.ops.arrays.index import Slice
from adjoint.ops.arrays.rearrange import Concatenate, Reshape, Transpose
from adjoint.ops.control.call import Call
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.remat import Checkpoint
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.ops.effects import Check, Effect
from adjoint.ops.elementwise.weak_types import Weaken
from adjoint.program.op import Op
from adjoint.program.program import Equation, Program, Var
from adjoint.program.types import Value, is_differentiable
from adjoint.show.explanation.calls import Calls
from adjoint.show.explanation.checks import checked
from adjoint.show.explanation.groups import Grouping
from adjoint.show.explanation.model import Checked, Event, ExplanationModel, Group, Guard, Literal, Variable
from adjoint.show.explanation.notation import subscripted
from adjoint.show.explanation.recording import Recorded
from adjoint.show.explanation.summaries import summary
from adjoint.show.explanation.variable_names import label

__all__ = ["unfolded"]

Operand = Variable | Literal
MOST_EVENTS = 20_000  # loops are written out, turn by turn, up to so many operations in all


def unfolded(
    run: Recorded, wanted: Sequence[bool] | None = None, *, statements: bool = False, most: int = MOST_EVENTS
) -> ExplanationModel:
    """The explanation of a run. `wanted` says which inputs are differentiated: by default all that can be.

    With `statements` a statement of the user's is one step, however many operations it has.
    """
    teller = _Teller(most)
    teller.asked = {atom for atom, _, _ in run.guards}
    inputs: list[Operand] = []
    p = len(run.values)
    for i, (value, name) in enumerate(zip(run.values, run.names, strict=True)):
        moves = is_differentiable(value) and (wanted is None or wanted[i])
        inputs.append(teller.variable(f"v{i + 1 - p}", "input", value, name, moves))
    outputs = teller.program(run.program, inputs, teller.grouping.whole, list(run.calls))
    asked = [teller.outermost.get(atom) for atom, _, _ in run.guards]
    if statements:
        _hide_parts(teller.events, outputs)
    for kind, hidden, letter in (("constant", False, "c"), ("step", False, "v"), ("step", True, "t")):
        named = (v for v in teller.variables if v.kind == kind and v.hidden == hidden)
        for count, v in enumerate(named, 1):
            v.name = f"{letter}{count}"
    questions = [_asked(a, *guard, at) for a, guard, at in zip(asked, run.guards, run.asked, strict=True)]
    for operand, (_, question, answer), told in zip(asked, run.guards, questions, strict=True):
        teller.guard(operand, question, answer, told)
    given = tuple(v for v in inputs if isinstance(v, Variable))
    grouping = teller.grouping
    return ExplanationModel(
        run.name, teller.variables, teller.events, given, tuple(outputs), grouping.whole, grouping.groups,
        run.outputs, tuple(questions), teller.notes, teller.guards,
    )  # fmt: skip


def _asked(operand: Operand | None, _: Var, question: str, answer: Any, place_: str) -> str:
    """What Python wanted to know, in words."""
    name = subscripted(operand.name) if isinstance(operand, Variable) else "a constant"
    if question == "content":
        return f"the elements of {name} = {summary(np.asarray(operand.value))} at {place_}" if operand else place_
    return f"{name} is {answer} at {place_}" if question == "bool" else f"{question}({name}) is {answer} at {place_}"


def _hide_parts(events: Sequence[Event], outputs: Sequence[Operand]) -> None:
    """Hide what is read once, by an operation of the same statement."""
    results = {v.number for v in outputs if isinstance(v, Variable)}
    for event in events:
        (v, *more), (use, *other_uses) = event.outputs, event.outputs[0].uses or [None]
        if more or other_uses or use is None or v.label or v.number in results:
            continue
        reader = use[0]
        v.hidden = reader.group is event.group and place(reader) is not None and place(reader) == place(event)


def _does_nothing(op: Op, xs: Sequence[Operand]) -> bool:
    """Whether an array is given the shape that it has, or its axes the order that they are in."""
    same_shape = isinstance(op, Reshape) and tuple(op.shape) == np.shape(xs[0].value)
    return same_shape or (isinstance(op, Transpose) and tuple(op.axes) == tuple(range(len(op.axes))))


def _is_truth(index: Operand) -> bool:
    """Whether the number of a branch is 0 for True and 1 for False, as `ad.cond` has it."""
    event = index.event if isinstance(index, Variable) else None
    return event is not None and event.op.title == "select" and [np.ravel(x).tolist() for x in event.values[:2]] == [
        [0], [1]
    ]  # fmt: skip


def place(event: Event) -> tuple[object, int] | None:
    """The line of an operation, and the code that it is a line of."""
    where = event.location
    return (where.code, line(where)) if isinstance(where, Location) else None


class _Teller:
    """Runs programs and writes down every operation."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.variables: list[Variable] = []
        self.events: list[Event] = []
        self.notes: list[str] = []
        self.guards: list[Guard | Checked] = []
        self.outermost: dict[Var, Operand] = {}  # what the variables of the program stand for
        self.asked: set[Var] = set()  # variables of it that Python asked
        self.grouping = Grouping()
        self._arrays: dict[int, Variable] = {}  # constants by identity

    def variable(self, name: str, kind: str, value: Value, label_: str = "", moves: bool = False) -> Variable:
        made = Variable(len(self.variables), name, kind, value, label_, moves=moves)
        self.variables.append(made)
        return made

    def constant(self, value: Value) -> Operand:
        if np.ndim(value) == 0:
            return Literal(np.asarray(value)[()])
        if id(value) not in self._arrays:
            self._arrays[id(value)] = self.variable("", "constant", value)
        return self._arrays[id(value)]

    def program(
        self, program: Program, args: Sequence[Operand], group: Group, calls: Sequence[Calls] | None = None
    ) -> list[Operand]:
        """Run a program inside a group; `calls` says for each equation which of the user's functions were running."""
        env: dict[Var, Operand] = dict(zip(program.inputs, args, strict=True))
        env.update({v: self.constant(value) for v, value in program.constants.items()})

        def read(atom: Any) -> Operand:
            return env[atom] if isinstance(atom, Var) else Literal(atom.value)

        read_later = {a for eq in program.equations for a in eq.inputs} | {*program.outputs, *self.asked}
        last = len(program.equations) - 1
        for position, eq in enumerate(program.equations):
            around = Calls((), position) if calls is None else calls[position]
            inside = calls is None or around.frames  # else a line outside of the function asked for it: grad(f)(x)
            location = eq.location if inside else None
            inner = self.grouping.place(group, around, eq.scope, location)
            read_by = [v in read_later for v in eq.outputs]
            outs = self.equation(eq, [read(a) for a in eq.inputs], inner, read_by, location)
            env.update(zip(eq.outputs, outs, strict=True))
            goes_on = position < last and program.equations[position + 1].location == eq.location
            if goes_on and calls is not None:
                goes_on = calls[position + 1].request == around.request
            if not goes_on and len(outs) == 1 and isinstance(outs[0], Variable) and not outs[0].label:
                outs[0].label = label(location)
        if calls is not None:
            self.outermost = env
        return [read(a) for a in program.outputs]

    def guard(self, operand: Operand | None, question: str, answer: Any, text: str) -> None:
        """Note that the way taken depends on the value of an operand."""
        if isinstance(operand, Variable):
            self.guards.append(Guard(operand, question, answer, text))

    def equation(
        self, eq: Equation, xs: list[Operand], group: Group, read: Sequence[bool], location: Any
    ) -> Sequence[Operand]:
        op: Any = eq.op
        if isinstance(op, Weaken) or _does_nothing(op, xs):
            return xs
        if isinstance(op, Slice) and not any(read):
            return [Literal(None)]  # an assignment to a part reads it anew, for those who still hold it
        if isinstance(op, Check) and (found := checked(op, xs)):
            self.guards.append(found)
        if isinstance(op, Effect):
            return self.kept(op, xs, location, group) if eq.outputs else ()
        if isinstance(op, Call):
            return self.program(op.program, xs, group)
        if isinstance(op, Checkpoint):
            return self.program(op.program, xs, self.grouping.new("checkpoint", "recomputed", group, location))
        if isinstance(op, Cond):
            which = min(max(int(xs[0].value), 0), len(op.branches) - 1)
            self.guard(xs[0], "index", int(xs[0].value), f"branch {which} of ad.cond at {short(location)}")
            name = f"if {which == 0}" if _is_truth(xs[0]) else f"branch {which} of {len(op.branches)}"
            return self.program(op.branches[which], xs[1:], self.grouping.new("branch", name, group, location))
        if isinstance(op, Scan):
            turns = op.length if op.length is not None else len(xs[-1].value)
            if len(self.events) + turns * (len(op.body.equations) + 2) <= self.most:
                return self.scan(op, turns, xs, group, location, read)
        if isinstance(op, While) and (outs := self.loop(op, xs, group, location, read)) is not None:
            return outs
        return self.kept(op, xs, location, group)

    def kept(self, op: Op, xs: list[Operand], location: Any, group: Group) -> Sequence[Variable]:
        """Evaluate one operation."""
        with np.errstate(all="ignore"):
            z = op.evaluate(*[x.value for x in xs])
        zs = list(z) if op.several else [z]
        if isinstance(op, Scan | While):
            note = f"{op.title} is shown as one operation: its iterations are more than {self.most} operations in all"
            self.notes.append(note)
        return self.happened(op, xs, zs, location, group)

    def happened(
        self, op: Op, xs: Sequence[Operand], zs: Sequence[Value], location: Any, group: Group
    ) -> Sequence[Variable]:
        moves = not op.flat and any(isinstance(x, Variable) and x.moves for x in xs)
        outputs: list[Variable] = []
        for z in zs:
            outputs.append(self.variable("", "step", z, moves=moves and is_differentiable(z)))
        event = Event(len(self.events), op, tuple(xs), tuple(outputs), location, group)
        for v in outputs:
            v.event = event
        for i, x in enumerate(xs):
            if isinstance(x, Variable):
                x.uses.append((event, i))
        self.events.append(event)
        group.parts.append(event)
        return outputs

    def scan(
        self, op: Scan, turns: int, xs: list[Operand], group: Group, location: Any, wanted: Sequence[bool]
    ) -> Sequence[Operand]:
        constants, carry, arrays = op.split(xs)
        around = self.grouping.new("loop", f"scan of {turns} iterations", group, location)
        rows: list[Sequence[Operand]] = []
        for t in range(turns - 1, -1, -1) if op.reverse else range(turns):
            turn = self.grouping.new("iteration", f"iteration {t}", around, location)
            read = [self.kept(Slice((t,)), [a], location, turn)[0] for a in arrays]
            out = self.program(op.body, [*constants, *carry, *read], turn)
            carry = out[: op.carries]
            rows.append(out[op.carries :])
        if op.reverse:
            rows.reverse()
        return [*carry, *self.columns(rows, op.body.output_types[op.carries :], wanted[op.carries :], around, location)]

    def loop(
        self, op: While, xs: list[Operand], group: Group, location: Any, wanted: Sequence[bool]
    ) -> Sequence[Operand] | None:
        """Turn by turn, or None when that would be too long: then what was written down is taken back."""
        test, constants, carry = op.parts(xs)
        before = len(self.events), len(self.variables), len(self.grouping.groups), len(self.guards)
        around = self.grouping.new("loop", "while", group, location)
        rows: list[Sequence[Operand]] = []
        while True:
            turn = self.grouping.new("iteration", f"iteration {len(rows)}", around, location)
            asked = self.program(op.condition, [*test, *carry], turn)[0]
            answer = bool(asked.value)
            self.guard(
                asked, "bool", answer, f"iteration {len(rows)} of the loop at {short(location)}: goes on is {answer}"
            )
            if not answer:
                turn.name = "last question"
                break
            out = self.program(op.body, [*constants, *carry], turn)
            carry = out[: op.carries]
            rows.append(out[op.carries :])
            if len(self.events) > self.most:
                self.forget(*before, group)
                return None
        around.name = f"while, {len(rows)} iterations"
        return [*carry, *self.columns(rows, op.body.output_types[op.carries :], wanted[op.carries :], around, location)]

    def forget(self, events: int, variables: int, groups: int, guards: int, group: Group) -> None:
        for event in self.events[events:]:
            for x in event.operands:
                if isinstance(x, Variable):
                    x.uses = [use for use in x.uses if use[0] is not event]
        for v in self.variables[variables:]:
            self._arrays = {key: known for key, known in self._arrays.items() if known is not v}
        del self.events[events:], self.variables[variables:], self.grouping.groups[groups:]
        del self.guards[guards:]
        group.parts.pop()

    def columns(
        self, rows: list[Sequence[Operand]], types: Sequence[Any], wanted: Sequence[bool], group: Group, location: Any
    ) -> list[Operand]:
        """The results of all turns, stacked, where somebody reads them."""
        made: list[Operand] = []
        for j, kind in enumerate(types):
            if not wanted[j]:
                made.append(Literal(None))
                continue
            if not rows:
                made.append(self.constant(np.zeros((0, *kind.shape), kind.dtype)))
                continue
            parts = [self.kept(Reshape((1, *np.shape(r[j].value))), [r[j]], location, group)[0] for r in rows]
            made.append(self.kept(Concatenate(0), list(parts), location, group)[0])
        return made

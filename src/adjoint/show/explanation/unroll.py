"""From a recorded program to an explanation: run, with loops iteration by iteration and branches as they were taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from adjoint.ops.elementwise.select import Select
from adjoint.ops.elementwise.weak_types import Weaken
from adjoint.program.op import Op
from adjoint.program.program import Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import Value, is_differentiable
from adjoint.show.explanation.calls import Calls
from adjoint.show.explanation.checks import read_check
from adjoint.show.explanation.groups import Grouping
from adjoint.show.explanation.model import Checked, Event, ExplanationModel, Group, Guard, Literal, Variable
from adjoint.show.explanation.notation import write_subscript
from adjoint.show.explanation.recording import Recorded
from adjoint.show.explanation.summaries import summary
from adjoint.show.explanation.variable_names import label

__all__ = ["unroll"]

Operand = Variable | Literal
MOST_EVENTS = 20_000  # loops are written out, iteration by iteration, up to so many operations in all


def unroll(
    run: Recorded, wanted: Sequence[bool] | None = None, *, statements: bool = False, most: int = MOST_EVENTS
) -> ExplanationModel:
    """The explanation of a run. `wanted` says which inputs are differentiated: by default all that can be.

    With `statements` a statement of the function is one step, however many operations it has.
    """
    unroller = Unroller(most)
    unroller.asked = {atom for atom, _, _ in run.guards}
    inputs: list[Operand] = []
    p = len(run.values)
    for i, (value, name) in enumerate(zip(run.values, run.names, strict=True)):
        is_active = is_differentiable(value) and (wanted is None or wanted[i])
        inputs.append(unroller.variable(f"v{i + 1 - p}", "input", value, name, is_active))
    outputs = unroller.run(run.program, inputs, unroller.grouping.whole, list(run.calls))
    asked = [unroller.outermost.get(atom) for atom, _, _ in run.guards]
    if statements:
        _hide_parts(unroller.events, outputs)
    for kind, hidden, letter in (("constant", False, "c"), ("step", False, "v"), ("step", True, "t")):
        named = (v for v in unroller.variables if v.kind == kind and v.hidden == hidden)
        for count, v in enumerate(named, 1):
            v.name = f"{letter}{count}"
    questions = [_question(a, *guard, at) for a, guard, at in zip(asked, run.guards, run.asked, strict=True)]
    for operand, (_, question, answer), text in zip(asked, run.guards, questions, strict=True):
        unroller.guard(operand, question, answer, text)
    variables = tuple(v for v in inputs if isinstance(v, Variable))
    grouping = unroller.grouping
    return ExplanationModel(
        run.name, unroller.variables, unroller.events, variables, tuple(outputs), grouping.whole, grouping.groups,
        run.outputs, tuple(questions), unroller.notes, unroller.guards,
    )  # fmt: skip


def _question(operand: Operand | None, _: Var, question: str, answer: Any, where: str) -> str:
    """What Python wanted to know, in words."""
    name = write_subscript(operand.name) if isinstance(operand, Variable) else "a constant"
    if question == "content":
        return f"the elements of {name} = {summary(np.asarray(operand.value))} at {where}" if operand else where
    return f"{name} is {answer} at {where}" if question == "bool" else f"{question}({name}) is {answer} at {where}"


def _hide_parts(events: Sequence[Event], outputs: Sequence[Operand]) -> None:
    """Hide what is read once, by an operation of the same statement."""
    results = {v.number for v in outputs if isinstance(v, Variable)}
    for event in events:
        (v, *more), (use, *other_uses) = event.outputs, event.outputs[0].uses or [None]
        if more or other_uses or use is None or v.label or v.number in results:
            continue
        reader = use[0]
        v.hidden = reader.group is event.group and _line(reader) is not None and _line(reader) == _line(event)


def _line(event: Event) -> tuple[object, int] | None:
    """The code of an operation, and its line in it."""
    where = event.location
    return (where.code, line(where)) if isinstance(where, Location) else None


@dataclass(frozen=True)
class Step:
    """One equation of a program that runs: what a rule reads of it."""

    xs: list[Operand]
    is_read: Sequence[bool]  # of each result, whether anything reads it
    group: Group
    location: Any


class Unroller:
    """Runs programs and records every operation."""

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

    def variable(self, name: str, kind: str, value: Value, label_: str = "", is_active: bool = False) -> Variable:
        """A new variable."""
        variable = Variable(len(self.variables), name, kind, value, label_, is_active=is_active)
        self.variables.append(variable)
        return variable

    def constant(self, value: Value) -> Operand:
        """A number, or the variable of a constant array."""
        if np.ndim(value) == 0:
            return Literal(np.asarray(value)[()])
        if id(value) not in self._arrays:
            self._arrays[id(value)] = self.variable("", "constant", value)
        return self._arrays[id(value)]

    def run(
        self, program: Program, args: Sequence[Operand], group: Group, calls: Sequence[Calls] | None = None
    ) -> list[Operand]:
        """Run a program inside a group; `calls` says for each equation which user functions were running."""
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
            inner = self.grouping.innermost(group, around, eq.scope, location)
            step = Step([read(a) for a in eq.inputs], [v in read_later for v in eq.outputs], inner, location)
            outs = RULES[eq.op](self, eq.op, step)
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
        """Note that the path taken depends on the value of an operand."""
        if isinstance(operand, Variable):
            self.guards.append(Guard(operand, question, answer, text))

    def evaluate(self, op: Op, xs: Sequence[Operand], group: Group, location: Any) -> Sequence[Variable]:
        """Evaluate one operation and record it."""
        with np.errstate(all="ignore"):
            z = op.evaluate(*[x.value for x in xs])
        is_active = not op.flat and any(isinstance(x, Variable) and x.is_active for x in xs)
        outputs: list[Variable] = []
        for value in list(z) if op.several else [z]:
            outputs.append(self.variable("", "step", value, is_active=is_active and is_differentiable(value)))
        event = Event(len(self.events), op, tuple(xs), tuple(outputs), location, group)
        for v in outputs:
            v.event = event
        for i, x in enumerate(xs):
            if isinstance(x, Variable):
                x.uses.append((event, i))
        self.events.append(event)
        group.parts.append(event)
        return outputs

    def evaluate_long_loop(self, op: Op, step: Step) -> Sequence[Operand]:
        """A loop as one operation."""
        note = f"{op.title} is shown as one operation: its iterations are more than {self.most} operations in all"
        self.notes.append(note)
        return evaluate(self, op, step)

    def mark(self) -> tuple[int, int, int, int]:
        """What `take_back` needs to take back all that is recorded from now on."""
        return len(self.events), len(self.variables), len(self.grouping.groups), len(self.guards)

    def take_back(self, mark: tuple[int, int, int, int], group: Group) -> None:
        """Forget what was recorded since the mark: one new part of a group, and all inside."""
        events, variables, groups, guards = mark
        for event in self.events[events:]:
            for x in event.operands:
                if isinstance(x, Variable):
                    x.uses = [use for use in x.uses if use[0] is not event]
        for v in self.variables[variables:]:
            self._arrays = {key: known for key, known in self._arrays.items() if known is not v}
        del self.events[events:], self.variables[variables:], self.grouping.groups[groups:]
        del self.guards[guards:]
        group.parts.pop()

    def stack(
        self, rows: list[Sequence[Operand]], types: Sequence[Any], is_read: Sequence[bool], group: Group, location: Any
    ) -> list[Operand]:
        """The results of all iterations, stacked, where something reads them."""
        columns: list[Operand] = []
        for j, kind in enumerate(types):
            if not is_read[j]:
                columns.append(Literal(None))
                continue
            if not rows:
                columns.append(self.constant(np.zeros((0, *kind.shape), kind.dtype)))
                continue
            parts = [self.evaluate(Reshape((1, *np.shape(r[j].value))), [r[j]], group, location)[0] for r in rows]
            columns.append(self.evaluate(Concatenate(0), parts, group, location)[0])
        return columns


# (unroller, primitive, step) -> the results: how a primitive is explained
RULES: RuleTable[Callable[[Unroller, Any, Step], Sequence[Operand]]] = RuleTable("explain")


@RULES.rule(Op)
def evaluate(unroller: Unroller, op: Op, step: Step) -> Sequence[Operand]:
    """One operation."""
    return unroller.evaluate(op, step.xs, step.group, step.location)


@RULES.rule(Weaken)
def _weaken(unroller: Unroller, op: Weaken, step: Step) -> Sequence[Operand]:
    return step.xs


@RULES.rule(Reshape)
def _reshape(unroller: Unroller, op: Reshape, step: Step) -> Sequence[Operand]:
    return step.xs if tuple(op.shape) == np.shape(step.xs[0].value) else evaluate(unroller, op, step)


@RULES.rule(Transpose)
def _transpose(unroller: Unroller, op: Transpose, step: Step) -> Sequence[Operand]:
    return step.xs if tuple(op.axes) == tuple(range(len(op.axes))) else evaluate(unroller, op, step)


@RULES.rule(Slice)
def _slice(unroller: Unroller, op: Slice, step: Step) -> Sequence[Operand]:
    """An assignment to a part reads it anew, for those who still hold it: where nobody does, there is no step."""
    return evaluate(unroller, op, step) if any(step.is_read) else [Literal(None)]


@RULES.rule(Effect)
def _effect(unroller: Unroller, op: Effect, step: Step) -> Sequence[Operand]:
    return evaluate(unroller, op, step) if step.is_read else ()


@RULES.rule(Check)
def _check(unroller: Unroller, op: Check, step: Step) -> Sequence[Operand]:
    if check := read_check(op, step.xs):
        unroller.guards.append(check)
    return _effect(unroller, op, step)


@RULES.rule(Call)
def _call(unroller: Unroller, op: Call, step: Step) -> Sequence[Operand]:
    return unroller.run(op.program, step.xs, step.group)


@RULES.rule(Checkpoint)
def _checkpoint(unroller: Unroller, op: Checkpoint, step: Step) -> Sequence[Operand]:
    group = unroller.grouping.new("checkpoint", "recomputed", step.group, step.location)
    return unroller.run(op.program, step.xs, group)


@RULES.rule(Cond)
def _cond(unroller: Unroller, op: Cond, step: Step) -> Sequence[Operand]:
    index, *args = step.xs
    which = min(max(int(index.value), 0), len(op.branches) - 1)
    unroller.guard(index, "index", int(index.value), f"branch {which} of ad.cond at {short(step.location)}")
    name = f"if {which == 0}" if _is_truth(index) else f"branch {which} of {len(op.branches)}"
    group = unroller.grouping.new("branch", name, step.group, step.location)
    return unroller.run(op.branches[which], args, group)


def _is_truth(index: Operand) -> bool:
    """Whether the number of a branch is 0 for True and 1 for False, as `ad.cond` has it."""
    event = index.event if isinstance(index, Variable) else None
    return event is not None and event.op == Select() and [np.ravel(x).tolist() for x in event.values[:2]] == [[0], [1]]


@RULES.rule(Scan)
def _scan(unroller: Unroller, op: Scan, step: Step) -> Sequence[Operand]:
    length = op.length if op.length is not None else len(step.xs[-1].value)
    if len(unroller.events) + length * (len(op.body.equations) + 2) > unroller.most:
        return unroller.evaluate_long_loop(op, step)
    constants, carry, arrays = op.split(step.xs)
    loop = unroller.grouping.new("loop", f"scan of {length} iterations", step.group, step.location)
    rows: list[Sequence[Operand]] = []
    for t in range(length - 1, -1, -1) if op.reverse else range(length):
        iteration = unroller.grouping.new("iteration", f"iteration {t}", loop, step.location)
        elements = [unroller.evaluate(Slice((t,)), [a], iteration, step.location)[0] for a in arrays]
        out = unroller.run(op.body, [*constants, *carry, *elements], iteration)
        carry = out[: op.carries]
        rows.append(out[op.carries :])
    if op.reverse:
        rows.reverse()
    return _results(unroller, op, step, carry, rows, loop)


@RULES.rule(While)
def _while(unroller: Unroller, op: While, step: Step) -> Sequence[Operand]:
    """Iteration by iteration; when that turns out to be too long, what was recorded is taken back."""
    test, constants, carry = op.parts(step.xs)
    mark = unroller.mark()
    loop = unroller.grouping.new("loop", "while", step.group, step.location)
    rows: list[Sequence[Operand]] = []
    while True:
        iteration = unroller.grouping.new("iteration", f"iteration {len(rows)}", loop, step.location)
        condition = unroller.run(op.condition, [*test, *carry], iteration)[0]
        answer = bool(condition.value)
        text = f"iteration {len(rows)} of the loop at {short(step.location)}: goes on is {answer}"
        unroller.guard(condition, "bool", answer, text)
        if not answer:
            iteration.name = "last question"
            break
        out = unroller.run(op.body, [*constants, *carry], iteration)
        carry = out[: op.carries]
        rows.append(out[op.carries :])
        if len(unroller.events) > unroller.most:
            unroller.take_back(mark, step.group)
            return unroller.evaluate_long_loop(op, step)
    loop.name = f"while, {len(rows)} iterations"
    return _results(unroller, op, step, carry, rows, loop)


def _results(
    unroller: Unroller, op: Scan | While, step: Step, carry: list[Operand], rows: list[Sequence[Operand]], loop: Group
) -> list[Operand]:
    types, is_read = op.body.output_types[op.carries :], step.is_read[op.carries :]
    return [*carry, *unroller.stack(rows, types, is_read, loop, step.location)]

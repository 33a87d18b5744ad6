"""Formulas: what an operation computes, and what the chain rule says about it, as expressions to be read.

The chain rule's side is not written down a second time: a primitive's own rule is recorded on symbols, and the program
that comes out is read as an expression. So what is shown is what `grad` does.
"""

# pyright: basic
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import fit
from adjoint.ops.elementwise.select import Select
from adjoint.program.program import Literal as ProgramLiteral
from adjoint.program.program import Program, Var
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.show.explanation.expressions import Apply, Formula, Number, Symbol
from adjoint.show.explanation.model import Event, Variable
from adjoint.show.explanation.tidy import ADD, covers, is_conversion, passes_on, tidy

__all__ = [
    "adjoint_formula", "expand_formula", "forward_formula", "partial",
    "pull_program", "pulled_formula", "push_program", "read", "tangent_formula",
]  # fmt: skip


MOST_TERMS = 24  # of a sum over everything that reads a variable
MOST_PARTS = 2000  # of a rule that is written as a formula


def forward_formula(event: Event) -> Formula:
    """op(operands), with the variables of the explanation."""
    whole = Apply(event.op, tuple(_operand(a) for a in event.operands), covers(event.op, _key(event)))
    hides = any(isinstance(a, Variable) and a.hidden for a in event.operands)
    return _write_out(whole) if hides else whole


def _write_out(formula: Formula) -> Formula:
    """What the user wrote, all of it: also a product with zero."""
    if isinstance(formula, Symbol) and getattr(formula.variable, "hidden", False):
        return forward_formula(formula.variable.event)
    if not isinstance(formula, Apply):
        return formula
    parts = tuple(map(_write_out, formula.parts))
    return parts[0] if is_conversion(formula.op) else Apply(formula.op, parts, formula.whole)


def _operand(a: Any) -> Formula:
    return Symbol(a) if isinstance(a, Variable) else Number(a.value)


def adjoint_formula(variable: Variable) -> Formula | None:
    """v̄ = Σ z̄ ∂z/∂v over the operations that read v; None when a rule cannot be written down."""
    terms: list[Formula] = []
    hides = False
    for event, i in reversed(variable.uses):
        if len(terms) == MOST_TERMS:
            terms.append(Symbol("…"))
            break
        if not any(v.is_active for v in event.outputs) or event.contributions[i] is None:
            continue
        term = pulled_formula(event, i)
        if term is None:
            return None
        terms.append(term)
        hides = hides or any(getattr(v, "hidden", False) for v in (*event.outputs, *event.operands))
    whole: Formula | None = None
    for term in terms:
        whole = term if whole is None else tidy(ADD, (whole, term))
    return expand_formula(whole) if hides and whole is not None else whole


def tangent_formula(event: Event) -> Formula | None:
    """ż = Σ ∂z/∂x ẋ for an operation; None when its rule cannot be written down."""
    program = push_program(event)
    if program is None:
        return None
    dots: list[Formula] = [Symbol(a, "dot") for a, m in zip(event.operands, event.moving, strict=True) if m]
    symbols: list[Formula] = [*map(_operand, event.operands), Symbol(event.outputs[0]), *dots]
    return expand_formula(read(program, symbols)[0])


def expand_formula(formula: Formula) -> Formula:
    """The formula without temporaries: each is replaced by what it is."""
    if isinstance(formula, Number) or (isinstance(formula, Symbol) and not getattr(formula.variable, "hidden", False)):
        return formula
    if isinstance(formula, Apply):
        return tidy(formula.op, tuple(expand_formula(part) for part in formula.parts), whole=formula.whole)
    v = formula.variable
    meaning = {"": lambda: forward_formula(v.event), "dot": lambda: tangent_formula(v.event)}
    meant = meaning.get(formula.accent, lambda: adjoint_formula(v))()
    return formula if meant is None else expand_formula(meant)


def partial(event: Event, i: int) -> Formula | None:
    """∂z/∂x_i of an operation that acts element by element; None for all others."""
    program = _partial_program(event.op, _key(event), i) if event.op.pointwise else None
    if program is None:
        return None
    symbols: list[Formula] = [*map(_operand, event.operands), Symbol(event.outputs[0])]
    return read(program, symbols)[0]


def pulled_formula(event: Event, i: int, seed: Formula | None = None) -> Formula | None:
    """What an operation adds to the adjoint of its operand i, as a formula; None if it is unknown."""
    program = pull_program(event)
    if program is None:
        return None
    bars: list[Formula] = [Symbol(v, "bar") for v in event.outputs] if seed is None else [seed]
    symbols: list[Formula] = [*bars, *map(_operand, event.operands), *map(Symbol, event.outputs)]
    wanted = [k for k, w in enumerate(event.moving) if w]
    return read(program, symbols)[wanted.index(i)] if i in wanted else None


def pull_program(event: Event) -> Program | None:
    """The recorded pull of an operation: (z̄…, x₁ … xₙ, z…) -> the adjoints of the operands that move."""
    op: Any = event.op
    if op.saves or op.closes or op.opaque:
        return None
    outs = tuple(type_of(v.value) for v in event.outputs)
    return _pull_program(op, _key(event), outs, tuple(event.moving))


def push_program(event: Event) -> Program | None:
    """The recorded push of an operation with one result: (x₁ … xₙ, z, ẋ of the operands that move) -> ż."""
    op: Any = event.op
    if op.saves or op.closes or op.opaque or op.several:
        return None
    return _push_program(op, _key(event), type_of(event.outputs[0].value), tuple(event.moving))


def _key(event: Event) -> tuple[ArrayType, ...]:
    return tuple(type_of(a.value) for a in event.operands)


def _strong(kind: ArrayType) -> ArrayType:
    return ArrayType(kind.shape, kind.dtype)


@functools.lru_cache(maxsize=4096)
def _pull_program(
    op: Any, types: tuple[ArrayType, ...], outs: tuple[ArrayType, ...], wanted: tuple[bool, ...]
) -> Program | None:
    n = len(outs)

    def rule(*values: Value) -> Sequence[Value]:
        cts, xs, zs = values[:n], values[n : n + len(types)], values[n + len(types) :]
        parts = op.pull(list(cts) if op.several else cts[0], list(xs), tuple(zs) if op.several else zs[0], wanted)
        return [
            np.zeros(kind.shape, kind.dtype) if part is None else fit(part, kind)
            for part, want, kind in zip(parts, wanted, map(_strong, types), strict=False)
            if want
        ]

    return _record(rule, [*outs, *types, *outs])


@functools.lru_cache(maxsize=4096)
def _push_program(
    op: Any, types: tuple[ArrayType, ...], out: ArrayType, moving: tuple[bool, ...]
) -> Program | None:  # fmt: skip
    n = len(types)

    def rule(*values: Value) -> Sequence[Value]:
        dots = iter(values[n + 1 :])
        dxs = [next(dots) if m else None for m in moving]
        d = op.push(list(values[:n]), values[n], dxs)
        return [np.zeros(out.shape, out.dtype) if d is None else d]

    return _record(rule, [*types, out, *[t for t, m in zip(types, moving, strict=True) if m]])


@functools.lru_cache(maxsize=4096)
def _partial_program(op: Any, types: tuple[ArrayType, ...], i: int) -> Program | None:
    def rule(*values: Value) -> Sequence[Value]:
        d = op.factor(i, list(values[:-1]), values[-1])
        return [1.0 if d is None else d]

    return _record(rule, [*types, op.result_type(*types)])


def _record(rule: Callable[..., Sequence[Value]], types: Sequence[ArrayType]) -> Program | None:
    """A rule on symbols; None when it wants to see values (a user rule may)."""
    try:
        with np.errstate(all="ignore"):
            program, captured = record_program(rule, [_strong(t) for t in types])
    except Exception:  # the rule asks for values: then there is no formula, and the numbers stand alone
        return None
    return None if captured or _parts(program) > MOST_PARTS else program


def _parts(program: Program) -> int:
    """How many parts the results have when they are written out, each intermediate value as often as it is read."""
    counts: dict[Any, int] = {}
    for eq in program.equations:
        count = 1 + sum(counts.get(a, 1) if isinstance(a, Var) else 1 for a in eq.inputs)
        counts.update(dict.fromkeys(eq.outputs, count))
    return max((counts.get(a, 1) for a in program.outputs if isinstance(a, Var)), default=1)


def read(program: Program, symbols: Sequence[Formula]) -> list[Formula]:
    """The results of a program as formulas."""
    env: dict[Var, Formula] = dict(zip(program.inputs, symbols, strict=True))
    env.update({v: Number(value) for v, value in program.constants.items()})

    def atom(a: Any) -> Formula:
        return Number(a.value) if isinstance(a, ProgramLiteral) else env[a]

    answers = _conditions(program, symbols)
    for eq in program.equations:
        parts = tuple(atom(a) for a in eq.inputs)
        if eq.outputs and eq.outputs[0] in answers:
            env[eq.outputs[0]] = parts[0] if answers[eq.outputs[0]] else parts[1]
        elif passes_on(eq):
            env[eq.outputs[0]] = parts[0]
        elif len(eq.outputs) == 1:
            env[eq.outputs[0]] = tidy(eq.op, parts, whole=covers(eq.op, [a.type for a in eq.inputs]))
        else:
            for j, v in enumerate(eq.outputs):
                env[v] = Symbol(f"{eq.op.title}{j}")
    return [atom(a) for a in program.outputs]


def _conditions(program: Program, symbols: Sequence[Formula]) -> dict[Var, bool]:
    """For each `where` of a rule whose condition has one value for all elements here: which it is."""
    answers: dict[Var, bool] = {}
    if not any(eq.op == Select() for eq in program.equations):
        return answers
    env: dict[Any, Value] = dict(program.constants)
    for v, symbol in zip(program.inputs, symbols, strict=True):
        if isinstance(symbol, Number):
            env[v] = symbol.value
        elif isinstance(symbol, Symbol) and not symbol.accent and isinstance(symbol.variable, Variable):
            env[v] = symbol.variable.value
    with np.errstate(all="ignore"):
        for eq in program.equations:
            xs = [a.value if isinstance(a, ProgramLiteral) else env.get(a) for a in eq.inputs]
            chooses = eq.op == Select() and xs[2] is not None and np.size(xs[2]) > 0
            if chooses and np.all(xs[2]) == np.any(xs[2]):
                answers[eq.outputs[0]] = bool(np.all(xs[2]))
            if not eq.op.several and all(x is not None for x in xs):
                env[eq.outputs[0]] = eq.op.evaluate(*xs)
    return answers

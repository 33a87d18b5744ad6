"""The edges of the computation graph: which variable enters which, and the partial derivative on the way.

    ∂v/∂u = Σ over paths from u to v through hidden variables of Π ∂(next)/∂(this)

For numbers this is a number. For arrays it is the formula of the partial where operations act element by element;
elsewhere the term that the operation adds: to ū in reverse mode, to v̇ in forward mode.
"""

# pyright: basic
from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from adjoint.ops.elementwise.ufuncs import BY_NAME
from adjoint.program.types import Value, type_of
from adjoint.show.explanation import derivatives, formulas, notation
from adjoint.show.explanation.expressions import Apply, Formula, Symbol
from adjoint.show.explanation.model import Event, ExplanationModel, Variable
from adjoint.show.explanation.tidy import ADD, MULTIPLY, tidy

__all__ = ["Edge", "edges"]

CONJUGATE = BY_NAME["conjugate"]
DIGITS = 4
LONGEST = 18  # letters of a formula beside an edge


@dataclass(eq=False)
class Edge:
    """u → v with ∂v/∂u, as far as it is known."""

    source: Variable = field(repr=False)
    target: Variable = field(repr=False)
    partial: Value  # a number, or None
    formula: str  # the whole formula, for arrays
    is_active: bool  # whether a derivative flows along it

    @cached_property
    def label(self) -> str:
        """What stands beside the edge."""
        if self.partial is not None:
            return notation.number(self.partial, DIGITS)
        return self.formula if len(self.formula) <= LONGEST else ""


@dataclass
class _Path:
    event: Event
    output: int
    factor: Value  # the product so far, or None
    formula: Formula | None
    direct: bool


def edges(model: ExplanationModel, mode: str) -> list[Edge]:
    """All edges between visible variables, in the order of the computation."""
    values = [v.value for v in model.variables]
    with np.errstate(all="ignore"):
        return [
            edge for v in model.variables if v.event is not None and not v.hidden for edge in _into(v, mode, values)
        ]


def _into(v: Variable, mode: str, values: Sequence[Value]) -> Iterator[Edge]:
    assert v.event is not None
    paths: dict[int, list[tuple[Variable, Value, Formula | None, tuple[Event, int] | None, bool]]] = {}
    stack = [_Path(v.event, v.event.outputs.index(v), 1.0, None, True)]
    while stack:
        path = stack.pop()
        for i, u in enumerate(path.event.operands):
            if not isinstance(u, Variable):
                continue
            is_active = v.is_active and u.is_active
            factor = _factor(path, i, values) if is_active else None
            if u.hidden and u.event is not None:
                formula = _product(path, i) if is_active and factor is None else None
                stack.append(_Path(u.event, u.event.outputs.index(u), factor, formula, False))
                continue
            formula = _product(path, i) if is_active and factor is None else None
            last = (path.event, i) if path.direct or mode != "forward" else None
            paths.setdefault(u.number, []).append((u, factor, formula, last, is_active))
    for same_source in paths.values():
        yield _edge(v, same_source, mode, values)


def _edge(v: Variable, paths: list[Any], mode: str, values: Sequence[Value]) -> Edge:
    u, *_, is_active = paths[0]
    if not is_active:
        return Edge(u, v, None, "", False)
    factors = [path[1] for path in paths]
    if not np.ndim(u.value) and not np.ndim(v.value):
        total = _swept(u, v, values) if any(f is None for f in factors) else sum(factors[1:], factors[0])
        return Edge(u, v, total, "", True)
    terms: list[Any] = [path[2] for path in paths]
    if any(term is None for term in terms):
        terms = [None if last is None else _term(last[0], last[1], mode) for *_, last, _ in paths]
    if any(term is None for term in terms):
        return Edge(u, v, None, "", True)
    whole = functools.reduce(lambda a, b: Apply(ADD, (a, b)), terms)
    whole = formulas.expand_formula(whole)
    plain = isinstance(whole, Symbol) and whole.accent  # what only goes on needs no words
    return Edge(u, v, None, "" if plain else notation.text(whole), True)


def _factor(path: _Path, i: int, values: Sequence[Value]) -> Value:
    """The product of partials up to operand i, when all are numbers."""
    event: Any = path.event
    u, z = event.operands[i], event.outputs[path.output]
    if path.factor is None or np.ndim(u.value) or np.ndim(z.value) or not z.is_active:
        return None
    xs = event.values
    if event.op.pointwise and not any(map(np.ndim, xs)):
        d = event.op.factor(i, xs, z.value)
        d = 1.0 if d is None else d
        if np.iscomplexobj(u.value) and (event.op is CONJUGATE or np.isrealobj(z.value)):
            return None  # a real factor, but not a complex derivative
    else:
        cts = [np.ones_like(w.value) if w is z else np.zeros_like(w.value) for w in event.outputs]
        d = derivatives.pulled(event, xs, cts, values)[i]
        if np.iscomplexobj(z.value) or np.iscomplexobj(u.value):
            return None  # the adjoint of a map between complex numbers is not its derivative
        d = 0.0 if d is None else d
    return path.factor * np.asarray(d)[()]


def _product(path: _Path, i: int) -> Formula | None:
    """The same as a formula, where operations act element by element."""
    here = formulas.partial(path.event, i) if path.event.moving[i] else None
    if here is None or (path.formula is None and not path.direct):
        return None
    return here if path.formula is None else tidy(MULTIPLY, (path.formula, here))


def _term(event: Event, i: int, mode: str) -> Formula | None:
    """What operation adds to the adjoint of its operand, or gives to its tangent."""
    if mode != "forward":
        return formulas.pulled_formula(event, i)
    op: Any = event.op
    if op.saves or op.closes or op.opaque or op.several:
        return None
    only = tuple(k == i for k in range(len(event.operands)))
    types = tuple(type_of(x) for x in event.values)
    program = formulas._push_program(op, types, type_of(event.outputs[0].value), only)
    if program is None:
        return None
    symbols = [*map(formulas._operand, event.operands), Symbol(event.outputs[0]), Symbol(event.operands[i], "dot")]
    return formulas.read(program, symbols)[0]


def _swept(u: Variable, v: Variable, values: Sequence[Value]) -> Value:
    """∂v/∂u by a sweep back from v through hidden variables."""
    if np.iscomplexobj(u.value) or np.iscomplexobj(v.value):
        return None
    total: Any = 0.0
    cts: dict[int, Any] = {v.number: np.ones_like(v.value)}
    stack = [v]
    while stack:  # a hidden variable is read once: its adjoint is whole when it is met
        z = stack.pop()
        event: Any = z.event
        parts = [cts[w.number] if w is z else np.zeros_like(w.value) for w in event.outputs]
        pulled = derivatives.pulled(event, event.values, parts, values)
        for x, ct in zip(event.operands, pulled, strict=False):
            if ct is None or not isinstance(x, Variable):
                continue
            if x is u:
                total = total + ct
            elif x.hidden:
                cts[x.number] = ct
                stack.append(x)
    return np.asarray(total)[()]

"""An explanation as plain data, for JSON and for the page. The format has a version; its tables are by column.

format, version, name, title, mode
modes        for each of "reverse", "forward", "second": {"known": whether its numbers are here, "reason": if not}
notes        what a reader should know
variables    name, label, kind, shape, dtype, active, hidden, event (-1: none), and value, adjoint, tangent, second:
             a number, or the elements in C order; NaN and infinities are "nan", "inf", "-inf"; null: not here;
             where statements are one step, chain (the formula of the adjoint) and loose (it depends on values)
texts        for value, adjoint, tangent, second: {variable: summary} of arrays that are too long to be here
imaginary    the same for the imaginary parts of complex values: {variable: elements}
literals     numbers that stand in operations: {"dtype", "shape", "value"}, numbers of Python's with "weak"
events       op, operands (a variable, or -1-k for literal k), outputs, line, group, formula, tangent (formula),
             terms (what is added to the adjoint of each operand), pull, push, second (numbers of rules, -1: none)
general      {event: [tangent, terms]} that hold for any values, where those of `events` hold for the model's alone
ops, rules   primitives, and the programs of the chain rule (see adjoint.show.page.rules)
groups       kind, name, parent (-1: none), line, parts (operations, or -g for group g), in order
lines        place ("model.py:12") and text
results      what the outputs are called: the function's name, and the path to each: f['loss'], f[1]
inputs, outputs, seeds, direction           variables (outputs: or -1-k for literal k), and their derivatives
guards       what was asked of variables on the way: the explanation holds for the same answers; and, with the question
             "check", what ad.check saw: operands (as of events), batches, how many operands say whether it is made
             (alive), and the message: texts, and numbers of operands
recompute    "" or why other inputs cannot be tried in the page
sections     program texts, costs, kinks: {"title", "text"}
"""

# pyright: basic
from __future__ import annotations

import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Any

import numpy as np

from adjoint.base.garbage import uncollected
from adjoint.base.source import Location, line, short
from adjoint.ops.control.guards import QUESTIONS
from adjoint.program.types import Value, type_of
from adjoint.show.explanation import derivatives
from adjoint.show.explanation.model import Checked, ExplanationModel, Guard, Variable
from adjoint.show.explanation.sections import sections
from adjoint.show.explanation.summaries import summary
from adjoint.show.explanation.templates import Templates
from adjoint.show.page.rules import Rules, encode, kind_of

__all__ = ["VERSION", "explanation_data"]

VERSION = 1
EVENTS_IN_ALL_MODES = 1500  # for longer explanations the modes that were not asked for are left to the page
LONGEST_SHOWN = 64  # elements of an array whose values are here
LONGEST_GIVEN = 5000  # of an input or a constant, which the page needs to compute from
MOST_ELEMENTS = 200_000  # that a page computes
FIELDS = ("value", "adjoint", "tangent", "second")
_ATTRIBUTES = {"second": "adjoint_tangent"}


def explanation_data(explanation: Any) -> dict[str, Any]:
    """Everything that is known about an explained function."""
    with uncollected():
        notes, model = list(explanation.notes), explanation.model
        with _all_modes(explanation) as modes:
            return _data(explanation, model, modes, notes)


def _data(explanation: Any, model: ExplanationModel, modes: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    rules, lines = Rules(), _Lines()
    literals: list[Any] = []
    templates, reason = Templates(model), _reason(model)
    events, general = _events(model, not reason, rules, lines, literals, templates)
    options = explanation._options
    outputs: list[int] = []
    for out in model.outputs:
        if isinstance(out, Variable):
            outputs.append(out.number)
        else:
            literals.append(_write_seed(out.value))
            outputs.append(-len(literals))
    groups = {
        "kind": [g.kind for g in model.groups], "name": [g.name for g in model.groups],
        "parent": [-1 if g.parent is None else g.parent.number for g in model.groups],
        "line": [lines.number(g.location) for g in model.groups],
        "parts": [[p.number if hasattr(p, "op") else -p.number for p in g.parts] for g in model.groups],
    }  # fmt: skip
    return {
        "format": "adjoint explanation", "version": VERSION, "name": model.name, "title": explanation._title(),
        "mode": explanation.mode, "modes": modes, "notes": notes,
        **_variables(model, templates), "literals": literals, "events": events, "general": general,
        "ops": rules.ops, "rules": rules.programs,
        "groups": groups, "lines": lines.table, "inputs": [v.number for v in model.inputs], "outputs": outputs,
        "results": model.structure.paths(model.name),
        "seeds": _encode_all(lambda: derivatives.seeds_of(model, options.seed)),
        "direction": _encode_all(lambda: derivatives.directions_of(model, options.direction, noted=False)),
        "guards": [_guard(g, literals) for g in model.guards], "recompute": reason,
        "sections": sections(explanation),
    }  # fmt: skip


def _encode_all(make: Any) -> list[Any]:
    try:
        return [None if value is None else _write_seed(value) for value in make()]
    except (TypeError, ValueError):
        return []  # this mode is not to be had: `modes` says why


def _write_seed(value: Value) -> dict[str, Any]:
    """A seed or a direction; of a long one, its type alone: nothing is computed from it in a page."""
    cell = {"value": None} if np.size(value) > LONGEST_GIVEN else encode(value)
    return {"dtype": str(type_of(value).dtype), "shape": list(np.shape(value)), **cell}


def _guard(guard: Guard | Checked, literals: list[Any]) -> dict[str, Any]:
    if isinstance(guard, Checked):
        operands: list[int] = []
        for a in guard.operands:
            if not isinstance(a, Variable):
                literals.append(_write_seed(a.value))
            operands.append(a.number if isinstance(a, Variable) else -len(literals))
        data = {"operands": operands, "alive": guard.guards, "batches": guard.batches, "text": guard.message}
        return {"question": "check"} | data
    question, answer = guard.question, guard.answer
    if question not in QUESTIONS or question in ("hash", "float", "value"):
        question, answer = "content", np.ravel(guard.variable.value)
    if question == "content" and np.size(answer) > LONGEST_GIVEN:
        answer = None  # the same: other inputs are not tried
    asked: dict[str, Any] = {"variable": guard.variable.number, "question": question, "text": guard.text}
    if question == "content" and answer is not None:
        parts = encode(np.asarray(answer))
        return asked | {"answer": parts.pop("value"), **parts}
    return asked | {"answer": answer}


@contextmanager
def _all_modes(explanation: Any) -> Iterator[dict[str, Any]]:
    """While it is open, the explanation has the numbers of all modes, if that is cheap; afterwards it is as it was."""
    model, mode, options = explanation.model, explanation.mode, explanation._options
    modes: dict[str, Any] = {m: {"known": False, "reason": ""} for m in ("reverse", "forward", "second")}
    modes[mode]["known"] = True
    if mode == "second":
        modes["reverse"]["known"] = modes["forward"]["known"] = True
    kept = [(v.adjoint, v.tangent, v.adjoint_tangent) for v in model.variables]
    terms, notes = [e.contributions for e in model.events], list(model.notes)
    run = {
        "reverse": lambda: derivatives.backward(model, options.seed),
        "forward": lambda: derivatives.forward(model, options.direction),
        "second": lambda: derivatives.second(model, options.seed, options.direction),
    }
    try:
        for name, sweep in run.items():
            if modes[name]["known"]:
                continue
            if len(model.events) > EVENTS_IN_ALL_MODES or _elements(model) > MOST_ELEMENTS:
                continue
            try:
                sweep()
                modes[name]["known"] = True
            except Exception as problem:  # a function with several results has no reverse mode without a seed
                modes[name]["reason"] = str(problem).removeprefix("explain: ")
        yield modes
    finally:
        for v, (adjoint, tangent, second) in zip(model.variables, kept, strict=True):
            v.adjoint, v.tangent, v.adjoint_tangent = adjoint, tangent, second
        for event, parts in zip(model.events, terms, strict=True):
            event.contributions = parts
        model.notes[:] = notes


def _dtype(v: Variable) -> np.dtype[Any]:
    own_dtype = getattr(v.value, "dtype", None)
    return v.dtype if own_dtype is None else own_dtype


def _elements(model: ExplanationModel) -> int:
    return sum(int(np.size(v.value)) for v in model.variables)


def _reason(model: ExplanationModel) -> str:
    """Why other inputs cannot be tried in a page; "" if size and kind of the values allow it."""
    for v in model.variables:
        dtype = _dtype(v)
        if dtype.kind not in "fciub" or dtype.itemsize > (16 if dtype.kind == "c" else 8):
            return f"values of dtype {dtype} are not computed in the page"
        if v.kind != "step" and np.size(v.value) > LONGEST_GIVEN:
            shape = "×".join(map(str, v.shape))
            return f"{v.label or v.name} has shape {shape}, which is too large to be computed in the page"
    many = _elements(model)
    return f"{many} elements are too many to be computed in the page" if many > MOST_ELEMENTS else ""


def _variables(model: ExplanationModel, templates: Templates) -> dict[str, Any]:
    variables = model.variables
    short_ones = sum(s for v in variables if 1 < (s := int(np.size(v.value))) <= LONGEST_SHOWN)
    longest = LONGEST_SHOWN if short_ones <= 20_000 else 8 if short_ones <= 60_000 else 1
    columns: dict[str, list[Any]] = {name: [] for name in FIELDS}
    texts: dict[str, dict[int, str]] = {name: {} for name in FIELDS}
    imaginary: dict[str, dict[int, Any]] = {name: {} for name in FIELDS}
    for v in variables:
        limit = LONGEST_GIVEN if v.kind != "step" else longest
        for name in FIELDS:
            x = getattr(v, _ATTRIBUTES.get(name, name))
            if x is None:
                columns[name].append(None)
            elif isinstance(x, float):  # NumPy's too: most values of long explanations are such numbers
                columns[name].append(float(x) if isfinite(x) else str(float(x)))
            elif np.size(x) <= limit:
                cell = encode(x)
                columns[name].append(cell["value"])
                if "imaginary" in cell:
                    imaginary[name][v.number] = cell["imaginary"]
            else:
                columns[name].append(None)
                texts[name][v.number] = summary(x)
    dtypes = [_dtype(v) for v in variables]
    names = {dtype: str(dtype) for dtype in set(dtypes)}
    table = {
        "name": [v.name for v in variables], "label": [v.label for v in variables], "kind": [v.kind for v in variables],
        "shape": [list(v.shape) for v in variables], "dtype": [names[dtype] for dtype in dtypes],
        "active": [int(v.is_active) for v in variables], "hidden": [int(v.hidden) for v in variables],
        "event": [-1 if v.event is None else v.event.number for v in variables], **columns,
    }  # fmt: skip
    if templates.hides:
        table["chain"] = [templates.adjoint(v) for v in variables]
        table["loose"] = [int(flag) for flag in templates.loose(model)]
    return {"variables": table, "texts": texts, "imaginary": imaginary}


def _events(
    model: ExplanationModel, computed: bool, rules: Rules, lines: _Lines, literals: list[Any], templates: Templates
) -> tuple[dict[str, list[Any]], dict[int, Any]]:
    """The columns of operations; those of rules are -1 when nothing is `computed` in the page."""
    names = ("op", "operands", "outputs", "line", "group", "formula", "tangent", "terms", "pull", "push", "second")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    known: dict[Any, int] = {}
    general: dict[int, Any] = {}

    def literal(value: Value) -> int:
        key = (type(value), repr(value))
        if key not in known:
            literals.append(_write_seed(value))
            known[key] = -len(literals)
        return known[key]

    masks = _find_masked(model)
    for event, masked in zip(model.events, masks, strict=True):
        kind = kind_of(event)
        number = rules.op(event.op)
        forward, tangent, terms, other = templates.of(event, (number, kind))
        if other is not None:
            general[event.number] = other
        pull, push, second = rules.of(event, masked, kind) if computed else (-1, -1, -1)
        row = (
            number, [a.number if isinstance(a, Variable) else literal(a.value) for a in event.operands],
            [v.number for v in event.outputs], lines.number(event.location), event.group.number, forward, tangent,
            terms, pull, push, second,
        )  # fmt: skip
        for name, cell in zip(names, row, strict=True):
            columns[name].append(cell)
    return columns, general


def _find_masked(model: ExplanationModel) -> list[bool]:
    """For each operation whether structural zeros may come to it in the backward pass, as in `derivatives`."""
    flags, masked = [False] * len(model.events), False
    for event in reversed(model.events):
        flags[event.number] = masked
        flows = any(v.is_active for v in event.outputs) and any(event.moving)
        masked = masked or (flows and (event.op.masks or event.op.sparse))
    return flags


class _Lines:
    """The lines of user code that are mentioned, each once."""

    def __init__(self) -> None:
        self.table: list[dict[str, str]] = []
        self._known: dict[Any, int] = {}
        self._rows: dict[Any, int] = {}

    def number(self, location: Location | str | None) -> int:
        """The place of a location in the table; -1 for none."""
        if location is None:
            return -1
        key = (id(location.code), location.lasti) if isinstance(location, Location) else location
        if key not in self._known:
            where, written = short(location), ""
            if isinstance(location, Location):
                written = linecache.getline(location.code.co_filename, line(location)).strip()
            if where not in self._rows:
                self._rows[where] = len(self.table)
                self.table.append({"place": where, "text": written})
            self._known[key] = self._rows[where]
        return self._known[key]

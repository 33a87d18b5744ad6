"""A function run once on its arguments, written down with the calls of user functions around every operation."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.source import describe
from adjoint.ops.control.guards import Expect, content
from adjoint.ops.effects import silent
from adjoint.program.program import Equation, Program, interpret
from adjoint.program.trace import Tracer, primal
from adjoint.program.types import Value, type_of
from adjoint.show.explanation.calls import Calls, CallsRecord
from adjoint.transform.arguments import plain_value
from adjoint.transform.record_function import bind_leaves, record_function
from adjoint.tree.state import states

__all__ = ["Recorded", "recorded"]


@dataclass(frozen=True)
class Recorded:
    """The program, its arguments, and for each equation the calls that were running."""

    name: str
    program: Program
    values: tuple[Value, ...]
    names: tuple[str, ...]  # of the inputs, as the user calls them
    calls: tuple[Calls, ...]
    outputs: Any  # structure of the results
    asked: tuple[str, ...] = ()  # where Python asked for values on its way
    guards: tuple[tuple[Any, str, Any], ...] = ()  # what it asked: (variable of the program, question, answer)
    leaves: tuple[int, ...] = ()  # which leaves of the arguments the values are

    def again(self, *, guarded: bool = False) -> Callable[..., Any]:
        """What the function did, as a function of the values. It does not run itself, nor print or write again.

        When it is `guarded`, values for which Python would have taken another path are refused.
        """
        quiet, guards = silent(self.program), zip(self.guards, self.asked, strict=True) if guarded else ()
        asked = [Equation(Expect(question, answer, at), (atom,), ()) for (atom, question, answer), at in guards]
        program = Program(quiet.inputs, (*quiet.equations, *asked), quiet.outputs, quiet.constants)

        def replay(*values: Value) -> Any:
            return tree.unflatten(self.outputs, interpret(program, values))

        replay.__name__ = self.name
        return replay


class _ExplainedRecord(CallsRecord):
    """A record in which shapes may depend on values."""

    def common(self, x: Any) -> Value:
        """The elements of a mask, on which a shape depends."""
        self.ask(x, "content", content)
        return x._value


def recorded(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], wanted: Sequence[bool] | None = None
) -> Recorded:
    """Run `function` on its arguments, and write down what it does for them.

    Python ints are variables too; where a function does not take them so (it may ask for the type `int`),
    they are left as they are. So are tables (of pandas), beside numbers and arrays: a function may ask for columns.
    Leaves of the arguments that are `wanted` are variables in any case.
    """
    leaves, _ = tree.flatten((args, kwargs))
    data = [_kind(leaf) for leaf in leaves]
    fixed = {"table"} if {"number", "integer"} & set(data) else set[str]()
    moving = [
        i for i, kind in enumerate(data) if kind and (kind not in fixed or (wanted is not None and wanted[i]))
    ]  # fmt: skip
    if "integer" in data:
        with contextlib.suppress(TypeError, ValueError):  # if they come again, they are the function's
            return _recorded(function, args, kwargs, moving)
    return _recorded(function, args, kwargs, [i for i in moving if data[i] != "integer"])


def _recorded(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], moving: Sequence[int]
) -> Recorded:
    name = _title(function)
    leaves, structure = tree.flatten((args, kwargs))
    paths = structure.paths()
    plain = [plain_value(leaves[i], f"explain: argument {paths[i]}") for i in moving]
    values = [np.asarray(v)[()] if isinstance(v, bool | int | float | complex) else primal(v) for v in plain]
    states("explain", (args, kwargs), structure)  # generators that are given twice are refused
    record = _ExplainedRecord("an explained function")
    inputs = [record.input(type_of(v), v) for v in values]
    recorded = record_function(function, bind_leaves(function, leaves, structure, moving), record, inputs)
    names = _names(function, args, kwargs)
    return Recorded(
        name, recorded.program, tuple(values), tuple(names[i] for i in moving), tuple(record.calls), recorded.structure,
        tuple(describe(g.location) for g in record.guards),
        tuple((g.atom, g.question, g.answer) for g in record.guards), tuple(moving),
    )  # fmt: skip


def _title(function: Callable[..., Any]) -> str:
    """What a function is called: f, or grad(f) for one that was made from f."""
    inner: Any = getattr(function, "function", None)
    driver: Any = getattr(getattr(function, "_run", None), "__name__", "")
    if callable(inner) and driver:
        return f"{driver.strip('_')}({_title(inner)})"
    return getattr(function, "__name__", type(function).__name__)


def _kind(leaf: Any) -> str:
    """What a leaf of the arguments is: "number" (arrays too), "integer" (of Python), "table"; "" for an option."""
    if isinstance(leaf, bool | str | bytes):
        return ""
    if isinstance(leaf, int | float | complex | np.ndarray | np.generic | Tracer):
        return "integer" if type(leaf) is int else "number"
    if hasattr(leaf, "__array_namespace__"):
        return "number"
    return "table" if hasattr(leaf, "dtype") or hasattr(leaf, "__array__") else ""


def _names(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[str]:
    """A name for each leaf of (args, kwargs): `x`, `weights[0]`, `model.bias`."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    starred = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "x")
    names: list[str] = []
    for i, a in enumerate(args):
        name = positional[i].name if i < len(positional) else f"{starred}[{i - len(positional)}]"
        names += tree.flatten(a)[1].paths(name)
    order = tree.flatten(kwargs)[1].paths()
    return names + [path.removeprefix("['").replace("']", "", 1) for path in order]

"""Solutions that SciPy finds with plain numbers, differentiated by their conditions.

SciPy's code runs when the primitive `ImplicitSolve` is evaluated: at once, when a compiled program runs, or for one
batch element after the other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from adjoint import tree
from adjoint.conversion.driver import prepare
from adjoint.ops.custom import OpaqueCall
from adjoint.ops.implicit_solve import ImplicitSolve
from adjoint.optimize.scipy_names.written import Plain, Written, is_concrete, strip, write_down, write_down_at
from adjoint.program.program import Equation, Program, Var
from adjoint.program.record import Record
from adjoint.program.trace import Tracer, live_trace, primal
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.scipy.arguments import array
from adjoint.transform.record_function import record_function

__all__ = [
    "BOOL",
    "FLOAT",
    "INTEGER",
    "Found",
    "Unknowns",
    "arguments_of",
    "call_plain",
    "find",
    "ignoring_arguments",
    "objective_of",
    "type_of_start",
]

FLOAT, INTEGER, BOOL = (ArrayType((), np.dtype(t)) for t in (np.float64, np.int64, np.bool_))
Function = Callable[[Any], Any]


class Unknowns(NamedTuple):
    """What is solved for, where it is more than x: its structure and types, and how it is completed from x."""

    structure: Any
    types: tuple[ArrayType, ...]
    complete: Callable[[Function, Any], Any]  # (x ↦ what the function gives, x) ↦ the tree of unknowns


class Found(NamedTuple):
    """x with its derivative, what was reported beside it, and SciPy's own answer where it is known now."""

    x: Any
    reports: list[Value]
    raw: Any
    written: Written
    theta: list[Value]
    unknowns: Any  # x, or the tree of all unknowns

    def at_solution(self, *names: str) -> Any:
        """The parts of the function of this name, at x."""
        found = self.written.at(self.x, self.theta)
        return found[names[0]] if len(names) == 1 else tuple(found[name] for name in names)


def arguments_of(theirs: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call, by name."""
    signature = inspect.signature(theirs)
    given = dict(signature.bind(*args, **kwargs).arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD and name in given:
            given |= given.pop(name)
    return given


def objective_of(function: Any, args: Any, has_derivative: bool = False) -> Callable[[Any], Any]:
    """x ↦ f(x, *args); of a function that returns (f, derivative) the first."""
    prepared = prepare(function)
    extra = args if isinstance(args, tuple) else (args,)

    def objective(x: Any) -> Any:
        value = prepared(x, *extra)
        value = value[0] if has_derivative else value
        return array(value) if isinstance(value, list | tuple) else value

    return objective


def call_plain(
    solver: Any, args: Any, kwargs: Any, function: Function, kind: ArrayType, filled: dict[str, Callable[[Plain], Any]]
) -> Any:
    """SciPy's own function on plain values, with exact derivatives for those arguments that are not given."""
    given = arguments_of(solver, args, kwargs)
    missing = {name: make for name, make in filled.items() if given.get(name) is None}
    if not missing:
        return solver(*args, **kwargs)
    try:
        written = write_down(f"scipy.optimize.{solver.__name__}", lambda x: {"fun": function(x)}, kind)
    except Exception:  # it is not for us to say what is wrong: SciPy calls it next
        written = None
    if written is None or written.theta:
        return solver(*args, **kwargs)
    plain = Plain(written, [])
    return solver(*args, **kwargs, **{name: make(plain) for name, make in missing.items() if name not in kwargs})


def ignoring_arguments(derivative: Callable[[Any], Any]) -> Callable[..., Any]:
    """SciPy passes `args` to derivatives; ours have them already."""
    return lambda x, *args: derivative(x)


def type_of_start(x0: Any, flat: bool = False) -> ArrayType:
    """The type of the unknown, by where the search for it starts: real or complex numbers of double precision."""
    values = [x0] if isinstance(x0, Tracer) else tree.leaves(x0)
    is_complex = any(np.result_type(getattr(v, "dtype", type(v))).kind == "c" for v in values)
    shape = x0.shape if isinstance(x0, Tracer) else np.shape(np.stack(x0) if isinstance(x0, list | tuple) else x0)  # type: ignore[arg-type]
    shape = (int(np.prod(shape, dtype=int)),) if flat else shape
    return ArrayType(shape, np.dtype(np.complex128 if is_complex else np.float64))


@final
class Settings:
    """SciPy's other arguments: the traced ones among them are values that the solver alone reads."""

    def __init__(self, given: Any) -> None:
        self.given, self.traced = given, list[Value]()
        self._collect(given)

    def _collect(self, value: Any) -> None:
        if isinstance(value, Tracer):
            self.traced.append(value)
        elif isinstance(value, dict):
            for part in value.values():
                self._collect(part)
        elif isinstance(value, list | tuple):
            for part in value:
                self._collect(part)

    def put_back(self, values: Sequence[Value]) -> Any:
        """The arguments with plain values in the places of the traced ones."""
        return _replace(self.given, iter(values))


def _replace(value: Any, values: Any) -> Any:
    if isinstance(value, Tracer):
        return next(values)
    if isinstance(value, dict):
        return {name: _replace(part, values) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_replace(part, values) for part in value)
    return value


@final
class _Stripped:
    """A function that cannot be written down, called with plain numbers as it is."""

    def __init__(self, title: str, function: Callable[..., Any]) -> None:
        self.title, self.function = title, function

    def at(self, x: Any) -> Any:
        return tree.map(lambda v: strip(self.title, v), self.function(x))

    def value(self, x: Any) -> Any:
        return self.at(x)["fun"]


def find(
    title: str,
    function: Callable[[Any], dict[str, Any]],
    kind: ArrayType,
    given: dict[str, Any],
    run: Callable[[Any, dict[str, Any]], tuple[Any, list[Any]]],
    reports: Sequence[ArrayType],
    condition: Callable[[Function], Function],
    equation: Any,
    unknowns_of: Callable[[Written], Unknowns] | None = None,
) -> Found | None:
    """The solution, or None where nothing is traced and SciPy is to be called as it is.

    function    x ↦ {"fun": …}: what SciPy is asked about
    run         (the function with plain numbers, SciPy's arguments) ↦ (its answer, [x, *reports])
    condition   function ↦ the equation that x, or the unknowns with x among them, fulfill
    """
    settings = Settings(given)
    if live_trace() is None and not settings.traced:
        return None
    written = write_down(title, function, kind)
    last: list[Any] = []
    if written is None:
        plain = _Stripped(title, function)
        raw, found = run(plain, settings.put_back([strip(title, v) for v in settings.traced]))
        found = _as_types(found, (kind, *reports))
        if not settings.traced and not any(isinstance(v, Tracer) for v in tree.leaves(function(found[0]))):
            return None
        written = write_down_at(title, function, kind, found[0])
        last.append(raw)
        known = found

        def solve(*values: Value) -> list[Any]:
            return known

    else:
        asked, count = written, len(written.theta)

        def solve(*values: Value) -> list[Any]:
            raw, found = run(Plain(asked, values[:count]), settings.put_back(values[count:]))
            last[:] = [raw]
            return _as_types(found, (kind, *reports))

    theta = written.theta
    if not theta and not settings.traced:
        return None
    is_known = all(map(is_concrete, (*theta, *settings.traced)))
    unknowns = Unknowns(tree.structure(0.0), (kind,), lambda f, x: x)
    if unknowns_of is not None:
        unknowns = unknowns_of(written)
    inputs = tuple(Var(_strong(v)) for v in (*theta, *settings.traced))
    outputs = tuple(Var(t) for t in (*unknowns.types, *reports))
    whole = _Whole(title, solve, written, unknowns)
    line = Equation(OpaqueCall(whole, types=tuple(v.type for v in outputs)), inputs, outputs)
    residual = _write_condition(title, written, unknowns, condition)
    paths = tuple(unknowns.structure.paths())
    op = ImplicitSolve(residual, Program(inputs, (line,), outputs), equation.with_paths(paths), len(unknowns.types))
    n = len(unknowns.types)
    results = op(*theta, *map(primal, settings.traced))
    solved = tree.unflatten(unknowns.structure, results[:n])
    x = solved if unknowns_of is None else solved["x"]
    return Found(x, list(results[n:]), last[0] if is_known and last else None, written, theta, solved)


@final
class _Whole:
    """(θ, what the solver alone reads) ↦ the unknowns, then the reports, as plain arrays."""

    def __init__(self, title: str, solve: Callable[..., list[Any]], written: Written, unknowns: Unknowns) -> None:
        self.__name__, self.solve, self.written, self.unknowns = title, solve, written, unknowns

    def __call__(self, *values: Value) -> list[Any]:
        x, *rest = self.solve(*values)
        theta = values[: len(self.written.theta)]
        whole = tree.leaves(self.unknowns.complete(lambda x: self.written.at(x, theta), x))
        return [*_as_types(whole, self.unknowns.types), *rest]


def _write_condition(title: str, written: Written, unknowns: Unknowns, condition: Any) -> Program:
    """(θ, unknowns) ↦ F."""
    record = Record(purpose=f"the equation of {title}")
    n = len(unknowns.types)
    types = [*unknowns.types, *[_strong(v) for v in written.theta]]

    def F(*values: Value) -> Any:
        return condition(lambda x: written.at(x, values[n:]))(tree.unflatten(unknowns.structure, values[:n]))

    bind: Any = lambda leaves: (F, tuple(leaves), {})
    program = record_function(F, bind, record, [record.input(t) for t in types]).program
    order = (*program.inputs[n:], *program.inputs[:n])
    return Program(order, program.equations, program.outputs, program.constants)


def _strong(value: Value) -> ArrayType:
    kind = type_of(value)
    return ArrayType(kind.shape, kind.dtype)


def _as_types(found: Sequence[Any], types: Sequence[ArrayType]) -> list[Any]:
    return [np.reshape(np.asarray(v, t.dtype), t.shape)[()] for v, t in zip(found, types, strict=True)]

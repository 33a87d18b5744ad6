"""`ImplicitFunction`: θ ↦ x with F(x, θ) = 0, found by a solver that need not know of derivatives.

A call writes F down as a program of (θ, x), and the solver as a program of θ: by its own equations where it can be
traced, else as a call with plain arrays. θ are the arguments and every traced value that F closes over. Both programs
go into one primitive, `ImplicitSolve`.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint import tree
from adjoint.base.errors import ControlFlowError, DtypeError, RuleError, ShapeError, TraceError, TreeError
from adjoint.base.foreign import is_refusal
from adjoint.base.source import user_facing
from adjoint.implicit.captures import SolverCaptures, undone_where_refused
from adjoint.implicit.vectors import is_equal, real_size
from adjoint.ops.control.recorded import keep_program
from adjoint.ops.custom import OpaqueCall
from adjoint.ops.implicit_solve import Equation, ImplicitSolve
from adjoint.program.program import Equation as Line
from adjoint.program.program import Program, Var
from adjoint.program.record import Record, RecordTracer
from adjoint.program.trace import Tracer, live_trace, primal
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.arguments import plain_value
from adjoint.transform.batch import BatchTracer
from adjoint.transform.generators import GeneratorArguments
from adjoint.transform.record_function import record_function

__all__ = ["ImplicitFunction"]


class Unknowns(NamedTuple):
    """The structure of x and the types of its arrays; the same of what the solver tells beside x."""

    structure: Any
    types: tuple[ArrayType, ...]
    reports: Any = None
    report_types: tuple[ArrayType, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self.structure.paths())


class Arguments(NamedTuple):
    """θ as it was given: which leaves are numbers, and all else in its place."""

    structure: Any
    fixed: tuple[tuple[int, Any], ...]
    values: list[Value]

    def put_back(self, values: Sequence[Value]) -> Any:
        """(args, kwargs) with other numbers."""
        fixed, rest = dict(self.fixed), iter(values)
        leaves = [fixed[i] if i in fixed else next(rest) for i in range(self.structure.num_leaves)]
        return tree.unflatten(self.structure, leaves)


@final
@dataclass(frozen=True, eq=False)
class ImplicitFunction:
    """x*(θ), the solution of F(x, θ) = 0; what `root`, `fixed_point` and `argmin` return.

    ```python
    w = ad.implicit.root(lambda x, a: x * x - a, x0=1.0)
    w(2.0), ad.grad(w)(2.0)  # → (1.414213…, 0.353553…)
    ```
    """

    residual: Callable[..., Any]
    solver: Callable[..., Any]
    x0: Any
    equation: Equation
    has_aux: bool = False
    title: str = "implicit.root"
    plain: bool = False  # the solver takes plain arrays only: it is not tried with traced ones

    def __post_init__(self) -> None:
        object.__setattr__(self, "__name__", getattr(self.residual, "__name__", "an equation"))

    def __repr__(self) -> str:
        return f"<{self.title} of {self.__dict__['__name__']}>"

    def starting_at(self, x0: Any) -> ImplicitFunction:
        """The same function, whose solver starts elsewhere: at the last solution, for the next outer step.

        ```python
        w = ad.implicit.root(lambda x, a: x * x - a, x0=1.0)
        w.starting_at(-1.0)(4.0)  # → -2.0
        ```
        """
        return dataclasses.replace(self, x0=x0)

    @user_facing
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = self._arguments(args, kwargs)
        start = None if self.x0 is None else self._start()
        stripped = [primal(v) for v in given.values]
        own = [] if start is None else tree.leaves(start)
        run = _Solver(self, given, None if start is None else tree.structure(start))
        if live_trace() is None and not any(isinstance(v, Tracer) for v in (*given.values, *own)):
            found = run(*stripped, *own)
            if not any(isinstance(v, Tracer) for v in found):
                return run.unflatten(found)
        return self._bind(run, given, stripped, own)

    def linearize_at(self, *args: Any, **kwargs: Any) -> tuple[Program, list[Value], list[Value], tuple[str, ...]]:
        """For plain θ: F as a program of (θ, x), the values of θ and of x, and the paths of x."""
        given = self._arguments(args, kwargs)
        start = None if self.x0 is None else self._start()
        own = [] if start is None else tree.leaves(start)
        run = _Solver(self, given, None if start is None else tree.structure(start))
        found = run(*given.values, *own)
        residual, others = self._record_residual(given, run.unknowns, run.answer)
        return residual, [*given.values, *others], found[: len(run.unknowns.types)], run.unknowns.paths

    def _bind(self, run: _Solver, given: Arguments, stripped: list[Value], own: list[Value]) -> Any:
        is_plain = not any(isinstance(v, Tracer) for v in (*stripped, *own))
        program: Program | None = None
        captured: list[Value] = []
        early = self._record_early(given, run.start, own)
        closes = early is not None and bool(early[1]) and not self.plain
        if not is_plain or closes or run.closes_over_traced([*stripped, *own]):
            program, captured = (None, []) if self.plain else _record_solver(run, [*stripped, *own])
        if program is None:
            captured = run.look_around()
            run.sample([*stripped, *own, *captured])
        unknowns = run.unknowns
        if early is not None and early[0].input_types[-len(unknowns.types) :] == unknowns.types:
            residual, others = early
        else:
            residual, others = self._record_residual(given, unknowns, run.answer)
        n, m = len(given.values), len(own)
        extra = [Var(type_of(v)) for v in others]
        if program is None:
            inputs = tuple(Var(type_of(v)) for v in (*given.values, *own, *captured))
            outputs = tuple(Var(t) for t in (*unknowns.types, *unknowns.report_types))
            line = Line(OpaqueCall(run, types=tuple(v.type for v in outputs)), inputs, outputs)
            program = Program(inputs, (line,), outputs)
        inputs = (*program.inputs[:n], *extra, *program.inputs[n:])
        program = Program(inputs, program.equations, program.outputs, program.constants)
        equation: Any = self.equation
        equation = equation.with_paths(unknowns.paths) if hasattr(equation, "with_paths") else equation
        op = ImplicitSolve(residual, program, equation, len(unknowns.types))
        out = op(*given.values, *others, *map(primal, own), *map(primal, captured))
        assert len(program.inputs) == n + len(others) + m + len(captured)
        return run.unflatten(out)

    def _record_early(self, given: Arguments, start: Any, own: list[Value]) -> tuple[Program, list[Value]] | None:
        """F as a program before x is known, where x0 tells its structure.

        What F closes over the solver reads too: it is then written down, and not run among values whose derivatives
        would be followed through its steps for nothing.
        """
        if start is None:
            return None
        try:
            return self._record_residual(given, Unknowns(start, tuple(_strong(type_of(v)) for v in own)), None)
        except (ControlFlowError, TraceError):
            return None

    def _arguments(self, args: Any, kwargs: Any) -> Arguments:
        if GeneratorArguments(self.title, (args, kwargs)):
            raise RuleError(
                f"{self.title}: an argument is a random generator; the solution would be that of another equation each "
                "time. Draw outside, and pass the numbers."
            )
        leaves, structure = tree.flatten((args, kwargs))
        fixed = tuple((i, v) for i, v in enumerate(leaves) if not _is_number(v))
        values: list[Value] = []
        for leaf, path in zip(leaves, structure.paths(), strict=True):
            if _is_number(leaf):
                value = plain_value(leaf, f"{self.title}: argument {path}")
                values.append(value if hasattr(value, "dtype") else np.asarray(value)[()])
        return Arguments(structure, fixed, values)

    def _start(self) -> Any:
        leaves, structure = tree.flatten(self.x0)
        if not leaves:
            raise TreeError(f"{self.title}: x0 has no numbers in it; it is where the solver starts, like x.")
        found = [
            _as_floating(leaf, f"{self.title}: x0{path}") for leaf, path in zip(leaves, structure.paths(), strict=True)
        ]
        return tree.unflatten(structure, found)

    def _record_residual(
        self, given: Arguments, unknowns: Unknowns, answer: Sequence[Value] | None
    ) -> tuple[Program, list[Value]]:
        """(θ, what F closes over, x) ↦ F as a program, and the values that F closes over."""
        types = [*unknowns.types, *[_strong(type_of(v)) for v in given.values]]
        k = len(unknowns.types)

        def bind(leaves: Sequence[Value]) -> Any:
            args, kwargs = given.put_back(leaves[k:])
            return self.residual, (tree.unflatten(unknowns.structure, leaves[:k]), *args), kwargs

        purpose = f"the equation of {self.title}"
        record = Record(purpose=purpose)
        try:
            made = record_function(self.residual, bind, record, [record.input(t) for t in types])
        except ControlFlowError:
            # Python's own branches are followed where the values are known: at the solution
            values = [*([] if answer is None else answer[:k]), *map(primal, given.values)]
            if answer is None or any(isinstance(v, Tracer) for v in values):
                raise
            record = Record(concrete=True, purpose=purpose, runs_again=False)
            inputs = [record.input(t, v) for t, v in zip(types, values, strict=True)]
            made = record_function(self.residual, bind, record, inputs)
        except (KeyError, AttributeError) as problem:
            if self.x0 is not None:
                raise
            raise TreeError(
                f"{self.title}: the solver returned {unknowns.structure}, with which the equation ends in "
                f"{type(problem).__name__}: {problem}. It returns x in the form in which the equation takes it."
            ) from problem
        program = made.program
        self._check_residual(program, made.structure, unknowns)
        order = (*program.inputs[k:], *program.inputs[:k])
        whole = Program(order, program.equations, program.outputs, program.constants)
        return keep_program(whole), list(made.captured)

    def _check_residual(self, program: Program, structure: Any, unknowns: Unknowns) -> None:
        for t, path in zip(program.output_types, structure.paths(), strict=True):
            if t.dtype.kind not in "fc":
                raise DtypeError(f"{self.title}: the equation gives {t} at {path or 'its result'}; it must be made of "
                                 "floating-point numbers.")  # fmt: skip
        rows, columns = real_size(program.output_types), real_size(unknowns.types)
        if rows != columns:
            remedy = (
                "For more equations than unknowns take implicit.conditions.least_squares(F), whose solution makes them "
                "as small as can be."
                if rows > columns
                else "Add what fixes the others, or leave them out of x."
            )
            raise ShapeError(f"{self.title}: F(x, θ) has {rows} numbers, x has {columns}. {remedy}")


class _Solver:
    """The solver as a function of flat values: θ, then x0. The last answer for plain values is remembered."""

    def __init__(self, function: ImplicitFunction, given: Arguments, start: Any) -> None:
        self.function, self.given, self.start = function, given, start
        self.__name__ = f"solver of {function.title}"
        self.around: SolverCaptures | None = None
        self.known: Unknowns | None = None
        self.asked: list[Value] = []
        self.answer: list[Value] | None = None

    def __call__(self, *values: Value) -> list[Value]:
        if self.answer is not None and is_equal(self.asked, values):
            return [np.copy(v)[()] for v in self.answer]
        found = self._run(values)
        if not any(isinstance(v, Tracer) for v in (*values, *found)):
            # copies: arrays may be written to between two calls of a compiled program
            self.asked, self.answer = [np.copy(v) for v in values], [np.copy(v)[()] for v in found]
        return found

    def _run(self, values: Sequence[Value]) -> list[Value]:
        n, title = len(self.given.values), self.function.title
        m = 0 if self.start is None else self.start.num_leaves
        args, kwargs = self.given.put_back(values[:n])
        if self.start is not None:
            args = (tree.unflatten(self.start, values[n : n + m]), *args)
        solver = self.function.solver if self.around is None else self.around.give(values[n + m :])
        result, aux = solver(*args, **kwargs), None
        if self.function.has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TreeError(f"{title}: has_aux=True, but the solver did not return a pair (x, aux).")
            result, aux = result
        leaves, structure = tree.flatten(result)
        if not leaves:
            raise TreeError(f"{title}: the solver returned {result!r}, with no numbers in it. A solver returns x.")
        found = [
            _as_floating(leaf, f"{title}: the solver's result{path}")
            for leaf, path in zip(leaves, structure.paths(), strict=True)
        ]
        reports, report_structure = tree.flatten(aux)
        reports = [v if isinstance(v, Tracer) else np.asarray(v)[()] for v in reports]
        types = tuple(_strong(type_of(v)) for v in found)
        if self.start is not None and structure != self.start and not self.function.plain:
            raise TreeError(
                f"{title}: the solver returned {structure}, and x0 is {self.start}. A solver returns x"
                f"{' and has_aux=True is for one that returns more' if isinstance(result, tuple) else ''}."
            )
        self.known = Unknowns(structure, types, report_structure, tuple(_strong(type_of(v)) for v in reports))
        return [*found, *reports]

    def look_around(self) -> list[Value]:
        """The traced values that a solver of plain arrays reads besides: it is given plain ones when it runs."""
        self.around = SolverCaptures(self.function.solver)
        if self.around.traced:
            self.known = self.answer = None
        return self.around.traced

    @property
    def unknowns(self) -> Unknowns:
        assert self.known is not None
        return self.known

    def unflatten(self, found: Sequence[Value]) -> Any:
        """x, or (x, aux)."""
        known = self.unknowns
        n = len(known.types)
        x = tree.unflatten(known.structure, found[:n])
        return (x, tree.unflatten(known.reports, found[n:])) if self.function.has_aux else x

    def closes_over_traced(self, values: Sequence[Value]) -> bool:
        """Whether it gives traced values for plain ones: it reads some that are no arguments."""
        try:
            return any(isinstance(v, Tracer) for v in self(*values))
        except Exception as error:
            if not is_refusal(error):
                raise
            raise _refuse_traced(self.function.title, error) from error

    def sample(self, values: Sequence[Value]) -> None:
        """Know the structure of x: from an answer for these values, or for those of one batch element."""
        if self.known is not None and self.answer is not None:
            return
        samples = [_take_sample(v) for v in values]
        if any(s is None for s in samples):
            samples = [np.ones(v.shape, v.dtype)[()] if s is None else s for s, v in zip(samples, values, strict=True)]
            if self.start is not None and not self.function.has_aux:
                n = len(self.given.values)
                types = tuple(_strong(type_of(v)) for v in values[n : n + self.start.num_leaves])
                self.known = Unknowns(self.start, types)
                return
        self(*samples)


def _record_solver(run: _Solver, values: Sequence[Value]) -> tuple[Program | None, list[Value]]:
    """The solver's own equations, with what it closes over; None where it takes plain arrays only."""
    title = run.function.title
    record = Record(purpose=f"the solver of {title}")
    inputs = [record.input(_strong(type_of(v))) for v in values]

    flat = lambda *leaves: tuple(run._run(leaves))
    bind = lambda leaves: (flat, tuple(leaves), {})
    try:
        with undone_where_refused(run.function.solver):
            made = record_function(run.function.solver, bind, record, inputs, may_draw=True)
    except Exception as error:
        if not is_refusal(error):
            raise
        if not any(isinstance(v, Tracer) for v in values):
            raise _refuse_traced(title, error) from error
        run.known = None
        return None, []
    return made.program, list(made.captured)


def _refuse_traced(title: str, error: Exception) -> RuleError:
    return RuleError(
        f"{title}: the solver reads a traced value that is none of its arguments, and takes plain arrays only. Pass "
        f"the value as an argument of the function: x(*θ) calls solver(*θ) with plain arrays. ({error})"
    )


def _take_sample(value: Value) -> Value | None:
    """A plain value of this kind: of the first batch element; None where nothing is known."""
    while isinstance(value, Tracer):
        if isinstance(value, BatchTracer) and value._mapped:
            inner = _take_sample(value._value)
            return None if inner is None or not len(inner) else inner[0]
        if isinstance(value, RecordTracer) and value._value is None:
            return None
        value = value._value
    return value


def _is_number(leaf: Any) -> bool:
    """Whether a leaf is an array, a traced value or a floating-point number; Python's own integers stay as they are."""
    return hasattr(leaf, "dtype") or isinstance(leaf, float | complex)


def _strong(kind: ArrayType) -> ArrayType:
    return ArrayType(kind.shape, kind.dtype)


def _as_floating(leaf: Any, name: str) -> Value:
    """A number or array that has a derivative; Python's whole numbers become floating-point ones."""
    if isinstance(leaf, bool | int):
        leaf = float(leaf)
    value = leaf if isinstance(leaf, Tracer) else plain_value(np.asarray(leaf)[()], name)
    if value.dtype.kind not in "fc":
        raise DtypeError(f"{name} is {type_of(value)}; unknowns are floating-point numbers. Write x.astype(float).")
    return value

"""Programs as values: `trace` a function, print, check, compare, call, transform, save and load what it does."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.gradients import Transformed
from adjoint.base.errors import DtypeError, ProgramError, ShapeError, TraceError
from adjoint.base.numpy_warnings import with_lines_of_users
from adjoint.base.records import record
from adjoint.base.source import describe, user_facing
from adjoint.numpy.dispatch import load_primitives, load_rules_of
from adjoint.ops.arrays import logsumexp  # noqa: F401  (primitives that a saved program may hold)
from adjoint.ops.control.guards import Expect
from adjoint.ops.elementwise.pointwise import BY_NAME, UFUNCS
from adjoint.ops.linalg import expm  # noqa: F401  (primitives that a saved program may hold)
from adjoint.program.check import check
from adjoint.program.op import Op
from adjoint.program.program import Equation, Program, interpret
from adjoint.program.record import Guard, Record
from adjoint.program.save import Writer, read, write
from adjoint.program.trace import Tracer, primal
from adjoint.program.types import ArrayType, Size, Value, type_of
from adjoint.transform.arguments import fresh, plain_value
from adjoint.transform.generators import GeneratorArguments
from adjoint.transform.record_function import bind_leaves, record_function

__all__ = ["TracedProgram", "read_program", "trace"]


class TracedProgram:
    """What a function does, as a program over trees. Called, it is evaluated, inside any transformation too.

    Two are equal when they compute the same thing in the same way from arguments of the same structure and types.
    """

    def __init__(
        self, program: Program, inputs: Any, outputs: Any, *, name: str = "function",
        fixed: tuple[tuple[int, Any], ...] = (), captured: Sequence[Tracer] = (),
    ) -> None:  # fmt: skip
        self.program, self.inputs, self.outputs, self.name = program, inputs, outputs, name  # inputs: of (args, kwargs)
        self.fixed = fixed  # (number of the leaf, value) of the arguments that are part of the program
        self._captured = tuple(captured)

    @property
    def input_types(self) -> tuple[ArrayType, ...]:
        """The types of the array arguments, leaf by leaf."""
        types = self.program.input_types
        return types[: len(types) - len(self._captured)]

    @property
    def output_types(self) -> tuple[ArrayType, ...]:
        """The types of the results, leaf by leaf."""
        return self.program.output_types[: self.outputs.num_leaves]

    @property
    def guards(self) -> tuple[str, ...]:
        """What Python asked while it was traced with values: it holds for arguments that give the same answers."""
        found = [eq.op for eq in self.program.equations if isinstance(eq.op, Expect)]
        return tuple(f"{op.question} is {op.answer} at {op.where}" for op in found)

    @user_facing
    @with_lines_of_users
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self.fit_arguments(args, kwargs)
        return self.build_result(args, kwargs, interpret(self.program, [*values, *self._captured]), values)

    def fit_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Value]:
        """The inputs of the program for a call; refused when they have other types than those it was traced for."""
        leaves, structure = tree.flatten((args, kwargs))
        tree.check_same_structure(
            f"{self.name}: it was traced for other arguments",
            self.inputs,
            structure,
            "the (args, kwargs) traced",
            "those given",
        )
        fixed = dict(self.fixed)
        types = iter(self.input_types)
        values: list[Value] = []
        sizes: dict[Size, int] = {}
        for number, (leaf, path) in enumerate(zip(leaves, structure.paths(), strict=True)):
            if number not in fixed:
                values.append(_fit_argument(leaf, next(types), f"{self.name}: argument {path}", sizes))
            elif not _same(fixed[number], leaf):
                raise TraceError(
                    f"{self.name}: argument {path} is part of the program, which was traced for "
                    f"{fixed[number]!r}; got {leaf!r}. Trace it again."
                )
        return values

    def build_result(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], results: Sequence[Value], values: Sequence[Value]
    ) -> Any:
        """The tree of results, from the outputs of the program; the random generators that were given move on."""
        own, n = fresh(results, values), self.outputs.num_leaves
        GeneratorArguments(self.name, (args, kwargs), self.inputs).write_back(own[n:])
        return tree.unflatten(self.outputs, own[:n])

    @user_facing
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program to one file, without pickle; `load` reads it.

        Functions with custom rules and black boxes cannot be saved.
        """
        write(path, self.program, self.describe)

    def describe(self, writer: Writer) -> dict[str, Any]:
        """What stands beside the program in a file."""
        if self._captured:
            raise ProgramError(
                f"{self.name} closes over values of a running transformation, and cannot be saved inside it. "
                "Pass them as arguments."
            )
        fixed = [[number, writer.constant(value, f"argument {number} of {self.name}")] for number, value in self.fixed]
        return {
            "name": self.name,
            "inputs": writer.structure(self.inputs),
            "outputs": writer.structure(self.outputs),
            "fixed": fixed,
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TracedProgram) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.program, self.inputs, self.outputs))

    def _key(self) -> tuple[Any, ...]:
        return (self.program, self.inputs, self.outputs, self.fixed, tuple(map(id, self._captured)))

    def __str__(self) -> str:
        return str(self.program)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, types)) for types in (self.input_types, self.output_types))
        return (
            f"<program of {self.name}: ({inputs}) -> {outputs or 'nothing'}, {len(self.program.equations)} equations>"
        )

    def _repr_html_(self) -> str:
        return self.program._repr_html_()


@user_facing
def trace(
    function: Callable[..., tree.Tree], *, concrete: bool = False, static_argnames: str | Sequence[str] = ()
) -> Transformed:
    """What a function does, as a program: `trace(f)(*args, **kwargs)` returns a TracedProgram.

    The arguments give structure and types only; an `ad.ArrayType(shape, dtype)` stands for an array. Python numbers
    count as float64, int64 and complex128; strings, flags, None, functions and the arguments named in
    `static_argnames` become part of the program. So the function must not ask a value for its truth (`ad.cond` and the
    loops of `ad` can be traced). With `concrete` it is run on the arguments given: Python's control flow then takes
    the way that it takes for them, each question becomes a guard, and the program raises for arguments that would
    answer differently.

    ```python
    program = ad.trace(lambda x: np.sin(x) * 2)(1.0)
    program(0.0)  # → 0.0
    [equation.op.name for equation in program.program.equations]  # → ['sin', 'multiply']
    ```
    """
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    return Transformed(_trace, function, _TraceOptions(concrete, names))


@record
class _TraceOptions(Options):
    """The options of `trace`."""

    concrete: bool
    static_argnames: tuple[str, ...]


def _trace(function: Callable[..., Any], options: _TraceOptions, args: Any, kwargs: Any) -> TracedProgram:
    name = getattr(function, "__name__", type(function).__name__)
    leaves, structure = tree.flatten((args, kwargs))
    static = _static_leaves(function, options.static_argnames, args, kwargs)
    fixed = tuple(
        (i, _kept(leaf)) for i, (leaf, s) in enumerate(zip(leaves, static, strict=True)) if s or not _is_array(leaf)
    )
    moving = [i for i in range(len(leaves)) if i not in dict(fixed)]
    paths = structure.paths()
    given = [
        leaves[i] if isinstance(leaves[i], ArrayType) else plain_value(leaves[i], f"trace: argument {paths[i]}")
        for i in moving
    ]
    types = [
        ArrayType(tuple(t.shape), np.dtype(t.dtype))
        for t in (v if isinstance(v, ArrayType) else type_of(v) for v in given)
    ]
    if options.concrete and any(isinstance(v, ArrayType) for v in given):
        raise TypeError("trace(concrete=True) runs the function on its arguments, so they must be values, not types.")
    values = [np.asarray(v)[()] if isinstance(v, bool | int | float | complex) else primal(v) for v in given]
    generators = GeneratorArguments("trace", (args, kwargs), structure)
    record = Record(concrete=options.concrete, purpose="a traced function")
    inputs = [record.input(t, v if options.concrete else None) for t, v in zip(types, values, strict=True)]
    recorded = record_function(function, bind_leaves(function, leaves, structure, moving), record, inputs, generators)
    program = check(_with_guards(recorded.program, record.guards))
    return TracedProgram(program, structure, recorded.structure, name=name, fixed=fixed, captured=recorded.captured)


def _is_array(leaf: Any) -> bool:
    return not isinstance(leaf, bool | str | bytes) and (
        isinstance(leaf, int | float | complex | ArrayType)
        or hasattr(leaf, "dtype")
        or hasattr(leaf, "__array__")
        or hasattr(leaf, "__dlpack__")
    )


def _static_leaves(function: Callable[..., Any], names: Sequence[str], args: Any, kwargs: Any) -> list[bool]:
    """For each leaf of (args, kwargs), whether it belongs to an argument that is named static."""
    if not names:
        return [False] * len(tree.leaves((args, kwargs)))
    parameters = list(inspect.signature(function).parameters)
    for name in names:
        if name not in parameters:
            raise TypeError(f"trace: the function has no argument called {name!r}; it has {', '.join(parameters)}.")
    flags = [
        [parameters[i] in names if i < len(parameters) else False] * len(tree.leaves(a)) for i, a in enumerate(args)
    ]
    ordered = tree.unflatten(
        tree.structure(kwargs), [k in names for k, v in _sorted_items(kwargs) for _ in tree.leaves(v)]
    )
    return [f for part in flags for f in part] + tree.leaves(ordered)


def _sorted_items(kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
    """Keywords in the order in which a tree reads them."""
    order = tree.leaves({k: k for k in kwargs})
    return [(k, kwargs[k]) for k in order]


def _with_guards(program: Program, guards: Sequence[Guard]) -> Program:
    """The program with each question that Python asked as an equation at its position."""
    if not guards:
        return program
    equations: list[Equation] = []
    start = 0
    for guard in guards:
        equations += program.equations[start : guard.position]
        start = guard.position
        op = Expect(guard.question, guard.answer, describe(guard.location))
        equations.append(Equation(op, (guard.atom,), (), guard.location))
    equations += program.equations[start:]
    return Program(program.inputs, tuple(equations), program.outputs, program.constants)


def _fit_argument(leaf: Any, kind: ArrayType, name: str, sizes: dict[Size, int]) -> Value:
    """An argument in the type that the program is for; refused when it has another one."""
    value = plain_value(leaf, name)
    number = isinstance(value, bool | int | float | complex)
    shape = np.shape(value)
    wanted = tuple(
        sizes.setdefault(n, m) if isinstance(n, Size) else n for n, m in zip(kind.shape, shape, strict=False)
    )
    if shape != wanted or len(shape) != len(kind.shape):
        raise ShapeError(
            f"{name} has shape {shape}, but the program is for {kind}. Trace it for this shape, or map it with vmap."
        )
    dtype = np.asarray(value).dtype if number else value.dtype
    if dtype == kind.dtype:
        return np.asarray(value)[()] if number else value
    if not np.can_cast(dtype, kind.dtype, "same_kind" if number or type(leaf) is float else "safe"):
        raise DtypeError(
            f"{name} has dtype {dtype}, but the program is for {kind}, and something would be lost. "
            "Convert it, or trace again."
        )
    return np.asarray(value, kind.dtype)[()] if number else value.astype(kind.dtype)


def _kept(leaf: Any) -> Any:
    """An argument that is part of a program, as it is now: the caller may write to an array later."""
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    return a is b or (type(a) is type(b) and bool(np.all(a == b)))


def read_program(path: str | os.PathLike[str], classes: Sequence[type] = ()) -> tuple[TracedProgram, Any, Any]:
    """(a program that was saved, what else stands in its text, reader)."""
    program, text, reader = read(path, _ufunc, classes)
    fixed = tuple((number, reader.value(value)) for number, value in text["fixed"])
    traced = TracedProgram(
        program, reader.structure(text["inputs"]), reader.structure(text["outputs"]), name=text["name"], fixed=fixed
    )
    return traced, text, reader


def _ufunc(name: str) -> Op | None:
    """The primitive of NumPy's or SciPy's ufunc of this name."""
    if name not in BY_NAME:
        import scipy.special

        load_rules_of(scipy.special.erf)
        load_primitives()
    found: Any = BY_NAME.get(name)
    return found if found is not None else next((op for op in UFUNCS.values() if op.title == name), None)

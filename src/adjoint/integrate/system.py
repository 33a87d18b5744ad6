"""The equation y′ = f(t, y, *args) as a function of vectors: f is traced once, y is one vector of real numbers.

Complex numbers count twice, (Re, Im). What f reads besides t and y, its arguments and what it closes over, is θ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from inspect import signature
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.control_flow.bodies import Body
from adjoint.api.gradients import stop_gradient
from adjoint.base.errors import DtypeError, ShapeError, TreeError
from adjoint.conversion.driver import prepare
from adjoint.conversion.questions import in_program
from adjoint.implicit.vectors import dtype_of, real_size, to_arrays, to_vector
from adjoint.integrate.forms import DENSE
from adjoint.integrate.hoisting import hoist_changing
from adjoint.ops.elementwise.weak_types import Weaken
from adjoint.program.program import Literal, Program, interpret
from adjoint.program.trace import TRACED, Tracer
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.generators import GeneratorArguments

__all__ = ["Arguments", "Layout", "System", "Traced", "check_right_side", "read_state", "trace_function"]

_TIME = ArrayType((), np.dtype(np.float64))
LIFTED = 8  # numbers: constants of so many are inputs of the program, so that others make no new one


@final
class Layout:
    """How a tree is a vector of real numbers."""

    def __init__(self, structure: Any, types: Sequence[ArrayType]) -> None:
        self.structure, self.types = structure, list(types)
        self.dtype = dtype_of(self.types)
        self.size = real_size(self.types)

    def vector(self, value: Any) -> Value:
        """The vector of a tree."""
        return to_vector(tree.leaves(value), self.types)

    def tree(self, vector: Value) -> Any:
        """The tree of a vector."""
        return tree.unflatten(self.structure, to_arrays(vector, self.types))

    def rows(self, vectors: Value) -> Any:
        """The tree of a stack of vectors: each leaf has the stack's axis in front."""
        leaves: list[Value] = []
        at, m = 0, vectors.shape[0]
        for t in self.types:
            piece, at = vectors[:, at : at + t.size], at + t.size
            if t.dtype.kind == "c":
                piece, at = piece + 1j * vectors[:, at : at + t.size], at + t.size
            piece = np.reshape(piece, (m, *t.shape))
            leaves.append(piece if piece.dtype == t.dtype else piece.astype(t.dtype))
        return tree.unflatten(self.structure, leaves)

    def key(self) -> Any:
        """What makes two layouts alike."""
        return tuple((t.shape, str(t.dtype)) for t in self.types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.structure == other.structure and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())


def read_state(title: str, name: str, y0: Any) -> tuple[list[Value], Layout]:
    """The leaves of y0 as floating-point arrays, and how they are a vector."""
    leaves, structure = tree.flatten(y0)
    if not leaves or not sum(leaf.size if isinstance(leaf, TRACED) else np.size(leaf) for leaf in leaves):
        raise TreeError(f"{title}: {name} has no numbers in it; it is the state at the start, a number, an array, or a "
                        "tree of them.")  # fmt: skip
    found: list[Any] = []
    for leaf, path in zip(leaves, structure.paths(), strict=True):
        value: Any = leaf
        if not isinstance(leaf, Tracer):
            is_int = isinstance(leaf, int) and not isinstance(leaf, bool)
            value = np.asarray(float(leaf) if is_int else leaf)[()]
        if isinstance(leaf, bool) or value.dtype.kind not in "fc":
            raise DtypeError(
                f"{title}: {name}{path} is {type_of(value)}; the state is made of floating-point numbers. Write "
                f"np.asarray({name}{path}, float)."
            )
        if not isinstance(value, Tracer) and not np.all(np.isfinite(value)):
            raise ValueError(f"{title}: {name}{path} holds NaN or infinity. The state at the start must be finite.")
        found.append(value)
    types = [ArrayType(t.shape, t.dtype) for t in map(type_of, found)]
    return found, Layout(structure, types)


@final
class Arguments:
    """args: numbers and arrays are traced, all else is what it is."""

    def __init__(self, args: Any) -> None:
        if not isinstance(args, tuple | list):
            raise TypeError(f"args is a {type(args).__name__}; it is a tuple of what f is given behind t and y. Write "
                            "args=(p,) for one argument.")  # fmt: skip
        leaves, self.structure = tree.flatten(tuple(args))
        self._moving = [_is_numeric(leaf) for leaf in leaves]
        self._static = [None if m else leaf for leaf, m in zip(leaves, self._moving, strict=True)]
        self.values: list[Value] = [
            leaf if isinstance(leaf, Tracer) else np.asarray(leaf)[()]
            for leaf, m in zip(leaves, self._moving, strict=True)
            if m
        ]

    def whole(self, values: Sequence[Value]) -> tuple[Any, ...]:
        """The arguments with other numbers."""
        given = iter(values)
        leaves = [next(given) if m else s for m, s in zip(self._moving, self._static, strict=True)]
        return tree.unflatten(self.structure, leaves)


def _is_numeric(leaf: Any) -> bool:
    if isinstance(leaf, Tracer | bool | int | float | complex):
        return True
    return isinstance(leaf, np.ndarray | np.generic) and leaf.dtype.kind in "biufc"


@final
class Traced:
    """A function of (t, y, *args) as a program over t, the leaves of y and θ."""

    def __init__(self, program: Program, theta: list[Value], structure: Any) -> None:
        self.program, self.theta, self.structure = program, theta, structure
        self.types = [ArrayType(t.shape, t.dtype) for t in program.output_types]


def trace_function(title: str, name: str, f: Callable[..., Any], layout: Layout, args: Arguments) -> Traced:
    """f(t, y, *args), traced: once, for all calls."""
    if not callable(f):
        raise TypeError(f"{title}: {name} must be a function {name}(t, y, *args), not a {type(f).__name__}.")
    _check_call(title, name, f, args)
    weak = layout.dtype != np.float64
    tokens, run = list(args.values), prepare(f)

    def call(t: Value, y: Any, values: Any) -> Any:
        leaves = tree.leaves(y)
        before = [getattr(leaf, "_var", None) for leaf in leaves]
        found = run(Weaken()(t) if weak else t, y, *args.whole(values))
        if any(getattr(leaf, "_var", None) is not var for leaf, var in zip(leaves, before, strict=True)):
            raise ValueError(f"{title}: {name} changes y in place, which would change the solution itself. Write "
                             "y = y.copy() first.")  # fmt: skip
        return found

    probe = tree.unflatten(layout.structure, list(range(len(layout.types))))
    structure = tree.structure((0.0, probe, tokens))
    types = [_TIME, *layout.types, *[ArrayType(t.shape, t.dtype) for t in map(type_of, tokens)]]
    body = Body(call, structure, types, f"{name} of {title}", GeneratorArguments(title, (0.0, probe, tokens)))
    program, constants = _lift_constants(body.program)
    program, changing = (program, []) if in_program() else hoist_changing(program)
    return Traced(program, [*tokens, *body.captured, *constants, *changing], body.result)


def _check_call(title: str, name: str, f: Callable[..., Any], args: Arguments) -> None:
    """That f can be called with t, y and the arguments; what is not written in Python is not looked at."""
    try:
        taken = signature(f)
    except (TypeError, ValueError):
        return
    given = args.whole(args.values)
    try:
        taken.bind(0.0, None, *given)
    except TypeError as problem:
        many = "args=(args,) where it takes all of them as one, as diffrax does; " if len(given) > 1 else ""
        raise TypeError(f"{title}: {name}{taken} cannot be called as {name}(t, y, *args) with {len(given)} in args: "
                        f"{problem}. Write {many}args=(a, b) for {name}(t, y, a, b).") from None  # fmt: skip


def _lift_constants(program: Program) -> tuple[Program, list[Value]]:
    """Arrays that a program holds become its last inputs: other contents are no other program."""
    large = [v for v, value in program.constants.items() if np.size(value) >= LIFTED]
    kept = {v: value for v, value in program.constants.items() if v not in large}
    values = [program.constants[v] for v in large]
    return Program((*program.inputs, *large), program.equations, program.outputs, kept), values


def check_right_side(
    title: str, traced: Traced, layout: Layout, name: str = "f", what: str = "the derivative of y"
) -> None:
    """f gives what y is: the structure, shapes and dtypes of it; so does a function of another name."""
    try:
        tree.check_same_structure(f"{title}: {name}(t, y, *args) is {what}", layout.structure, traced.structure,
                                  "y0", f"what {name} returns")  # fmt: skip
    except TreeError as problem:
        raise TreeError(f"{problem}{_array_remedy(layout.structure, traced.structure, name)}") from None
    outputs = traced.program.outputs
    for path, t, found, out in zip(layout.structure.paths(), layout.types, traced.types, outputs, strict=True):
        if found.dtype.kind in "biu":
            raise DtypeError(f"{title}: {name} returned {found} at y{path}; {what} is a floating-point number. Write "
                             "1.0 for 1, or .astype(float).")  # fmt: skip
        if t.shape != found.shape:
            raise ShapeError(f"{title}: {name} returned {found} at y{path}, and y0{path} is {t}. {name} gives one for "
                             f"each number of y; t comes first, {name}(t, y, *args).")  # fmt: skip
        if t.dtype != found.dtype and not out.type.weak and not isinstance(out, Literal):
            remedy = (f"start with y0{path}.astype(complex)" if found.dtype.kind == "c" and t.dtype.kind != "c"
                      else f"write .astype({t.dtype.name!r}) in {name}, or start with {found.dtype.name}")  # fmt: skip
            raise DtypeError(f"{title}: {name} returned {found} at y{path}, and y0{path} is {t}: {remedy}.")


def _array_remedy(y: Any, found: Any, name: str) -> str:
    """What to write where one of the two is an array, and the other a list of its numbers."""
    parts = [tree.unflatten(s, list(range(s.num_leaves))) for s in (y, found)]
    is_list = [isinstance(part, list | tuple) for part in parts]
    if is_list == [False, True] and y.num_leaves == 1:
        return f" Write return np.stack([…]) in {name}."
    if is_list == [True, False] and found.num_leaves == 1:
        return " Begin with an array, y0 = np.array([…], float), or return a list."
    return ""


def _converted(value: Any, dtype: Any) -> Value:
    value = value if hasattr(value, "dtype") else np.asarray(value)
    return value if value.dtype == dtype else value.astype(dtype)


class System:
    """y′ = f(t, y) for vectors, with given θ; an integrand's values stand behind the derivative.

    θ is what f reads, then the mass matrix, then tolerances for methods that iterate, then two times between which f
    is asked: each of them if there is one.
    """

    has_mass = False  # M y′ = f
    has_tolerances = False
    controls_integrals = False  # whether errors of integrals reject steps too
    windowed = False
    form: Any = DENSE  # how Jacobians are found and equations with them solved
    stiff_program: Program | None = None  # the stiff part of a split f

    def __init__(self, program: Program, layout: Layout, extra: Sequence[ArrayType], theta: Sequence[Value]) -> None:
        self.program, self.layout, self.extra = program, layout, list(extra)
        self.theta = list(theta)
        self.size = layout.size  # of y
        self.width = layout.size + real_size(self.extra)  # with integrals
        self.dtype = layout.dtype

    def changed(self, theta: Sequence[Value], **facts: Any) -> Any:
        """The same equation with other θ, and other facts about it."""
        other = copy(self)
        other.theta = list(theta)
        for name, fact in facts.items():
            setattr(other, name, fact)
        return other

    def with_theta(self, theta: Sequence[Value]) -> Any:
        """The same equation at other θ."""
        return self.changed(theta)

    def plain(self) -> Any:
        """The same equation without derivatives in θ."""
        return self.changed([stop_gradient(v) if isinstance(v, Tracer) else v for v in self.theta])

    def with_tolerances(self, rtol: Value, atol: Value) -> Any:
        """The same equation, for a method that reads tolerances."""
        end = len(self.theta) - 2 * self.windowed
        return self.changed([*self.theta[:end], rtol, atol, *self.theta[end:]], has_tolerances=True)

    def within(self, first: Value, last: Value) -> Any:
        """The same equation, with f asked between two times."""
        return self.changed([*self.theta, first, last], windowed=True)

    @property
    def _end(self) -> int:
        """Where what f and the mass matrix are ends."""
        return len(self.theta) - 2 * self.windowed - 2 * self.has_tolerances

    @property
    def own_theta(self) -> list[Value]:
        """What f reads."""
        return self.theta[: self._end - self.has_mass]

    def __call__(self, t: Value, y: Value) -> Value:
        """f(t, y), and the integrand."""
        if self.windowed:  # f may jump at both ends: it is asked inside
            first, last = self.theta[-2:]
            plain = stop_gradient(t)
            t = t + (np.minimum(np.maximum(plain, first), last) - plain)
        return self.evaluate(t, y)

    def evaluate(self, t: Value, y: Value) -> Value:
        """f at this very time."""
        return self._evaluated(self.program, t, y, [*self.layout.types, *self.extra])

    @property
    def is_split(self) -> bool:
        """Whether f has a stiff part and a rest."""
        return self.stiff_program is not None

    def stiff(self, t: Value, y: Value) -> Value:
        """The stiff part of a split f; zero if it has none."""
        if self.stiff_program is None:
            return 0 * y
        found = self._evaluated(self.stiff_program, t, y, self.layout.types)
        return np.concatenate([found, np.zeros(self.width - self.size, y.dtype)]) if self.extra else found

    def rest(self, t: Value, y: Value) -> Value:
        """The other part."""
        return self(t, y) - self.stiff(t, y)

    def implicit(self, t: Value, y: Value) -> Value:
        """The part with which a stage is an equation: the stiff one, or all of f."""
        return self.stiff(t, y) if self.is_split else self(t, y)

    def _evaluated(self, program: Program, t: Value, y: Value, types: Sequence[ArrayType]) -> Value:
        leaves = to_arrays(y[: self.size] if self.width > self.size else y, self.layout.types)
        found = interpret(program, [t, *leaves, *self.own_theta])
        fitted = [_converted(v, t.dtype) for v, t in zip(found, types, strict=True)]
        return to_vector([np.reshape(v, t.shape) for v, t in zip(fitted, types, strict=True)], types)

    @property
    def mass_index(self) -> int:
        """Where M stands in θ, -1 if there is none."""
        return self._end - 1 if self.has_mass else -1

    @property
    def mass(self) -> Value | None:
        """M, over y and the integrals; None for the identity."""
        if not self.has_mass:
            return None
        M = self.theta[self._end - 1]
        if self.width == self.size:
            return M
        whole = np.eye(self.width, dtype=self.dtype) + 0 * M[0, 0]
        whole[: self.size, : self.size] = M
        return whole

    def weights(self, y: Value) -> Value:
        """atol + rtol |y|, what errors of y are measured by; integrals count where their errors are controlled."""
        end = len(self.theta) - 2 * self.windowed
        rtol, atol = self.theta[end - 2 : end]
        found = atol + rtol * np.abs(y[: self.size])
        if y.shape[0] == self.size:
            return found
        if self.controls_integrals:
            return np.concatenate([found, np.mean(atol) + np.min(rtol) * np.abs(y[self.size :])])
        return np.concatenate([found, np.full(y.shape[0] - self.size, np.inf, y.dtype)])

    def digits(self, y: Value) -> Value:
        """How much of y the tolerances ask for: the largest |y| / (atol + rtol |y|), at least 1."""
        return np.maximum(np.float64(1.0) * np.max(np.abs(y) / self.weights(y)), 1.0)

    @property
    def is_large(self) -> bool:
        """Whether f is so long a program that stages are a loop, which holds it once."""
        return len(self.program.equations) > 40

"""Constants whose elements follow from their positions, as equations: np.arange(n), np.eye(n), np.tri(n) for any n.

A function that is traced for some sizes has such arrays as constants of its programs: the identity whose rows are the
directions of a Hessian, positions that are gathered, a grid. For other sizes they have other elements, which are
computed here from counts along their axes.
"""

# pyright: basic

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.deployment.templates import example_sizes
from adjoint.ops.arrays.rearrange import Broadcast, Convert, Reshape
from adjoint.ops.arrays.search import Count
from adjoint.ops.elementwise.arithmetic import add, divide, multiply
from adjoint.ops.elementwise.pointwise import BY_NAME
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.types import ArrayType

INTEGER = np.dtype(np.int64)
VECTOR, MATRIX = 4001, 257  # sizes at which laws of vectors, and of arrays with more axes, are tried
MOST_ELEMENTS = 2**24  # of an array that a law is tried on


class Affine(NamedTuple):
    """start + Σ stepₖ iₖ; without steps the same number everywhere.

    `by_span`, the steps are those from the first to the last element, (nₖ - 1) times as large: those of np.linspace are
    the same for all sizes.
    """

    start: Any
    steps: tuple[Any, ...]
    by_span: bool = False

    def spanning(self, shape: Sequence[int]) -> Affine:
        """The same by spans."""
        return Affine(
            self.start, tuple(step * (n - 1) for step, n in zip(self.steps, shape, strict=True)), by_span=True
        )

    @property
    def form(self) -> Any:
        return "affine", tuple(bool(step) for step in self.steps)


class Compared(NamedTuple):
    """A number where p compares with zero, elsewhere none, p affine in the positions."""

    how: str  # equal, or less_equal: p ≤ 0
    p: Affine
    number: Any

    @property
    def form(self) -> Any:
        return self.how, self.p.form


class Counts:
    """The constants of programs of one function for several sizes that differ in their sizes, where they have a law."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self.chosen: list[int] = []  # their numbers among the constants
        self.laws: list[list[Affine | Compared]] = [[] for _ in programs]  # of each program
        lists = [list(program.constants.values()) for program in programs]
        if len({len(found) for found in lists}) > 1:
            return
        for k, values in enumerate(zip(*lists, strict=True)):
            arrays = [np.asarray(v) for v in values]
            if len({a.shape for a in arrays}) == 1 or len({(a.ndim, a.dtype) for a in arrays}) > 1:
                continue
            found = _comparable([law_of(a) for a in arrays], arrays)
            if len({None if law is None else law.form for law in found}) == 1 and found[0] is not None:
                self.chosen.append(k)
                for own, law in zip(self.laws, found, strict=True):
                    own.append(law)  # type: ignore[arg-type]

    def write(self, programs: Sequence[Program]) -> list[Program]:
        """The programs that compute these constants."""
        return [_replaced(program, self.chosen, own) for program, own in zip(programs, self.laws, strict=True)]

    def large_sizes(self, program: Program, names: Sequence[str]) -> dict[str, int] | None:
        """Sizes far from those of the examples, at which the laws should hold too; None where there are no laws."""
        if not self.chosen:
            return None
        most = max(np.ndim(list(program.constants.values())[k]) for k in self.chosen)
        if most == 1:
            return dict.fromkeys(names, VECTOR)
        elements = max(np.size(list(program.constants.values())[k]) for k in self.chosen)
        mean = math.prod(example_sizes(names)[0].values()) ** (1 / len(names))
        power = math.log(elements) / math.log(mean)  # directions times arguments of two axes are four sizes
        return dict.fromkeys(names, int(min(MATRIX, MOST_ELEMENTS ** (1 / power))))

    def hold(self, program: Program, sizes: Mapping[str, int], examples: Sequence[Mapping[str, int]]) -> bool:
        """Whether the constants of a program for other sizes follow the same laws, as their numbers say."""
        values = list(program.constants.values())
        for number, k in enumerate(self.chosen):
            law = law_of(np.asarray(values[k])) if k < len(values) else None
            known = [own[number] for own in self.laws]
            if isinstance(law, Affine) and getattr(known[0], "by_span", False):
                law = law.spanning(np.shape(values[k]))
            if law is None or law.form != known[0].form:
                return False
            found = [_numbers(one) for one in (*known, law)]
            if not all(_follows(column, [*examples, sizes]) for column in zip(*found, strict=True)):
                return False
        return True


def _comparable(laws: list[Any], arrays: Sequence[Any]) -> list[Any]:
    """Laws of floats whose steps depend on the size, by their spans."""
    if not all(isinstance(law, Affine) for law in laws) or arrays[0].dtype.kind != "f":
        return laws
    if len({law.steps for law in laws}) == 1:
        return laws
    return [law.spanning(a.shape) for law, a in zip(laws, arrays, strict=True)]


def _numbers(law: Affine | Compared) -> list[float]:
    affine = law if isinstance(law, Affine) else law.p
    return [affine.start, *affine.steps, 0 if isinstance(law, Affine) else law.number]


def _follows(column: Sequence[float], sizes: Sequence[Mapping[str, int]]) -> bool:
    """Whether a number of a law is the same for all sizes, linear in one of them, or in one below."""
    y = np.array(column, float)
    if (y == y[0]).all():
        return True
    close = lambda a, b: np.allclose(a, b, rtol=1e-9, atol=1e-9 * np.max(np.abs(a)))
    for name in sizes[0]:
        n = np.array([own[name] for own in sizes], float)
        step = (y[1] - y[0]) / (n[1] - n[0])
        if close(y, y[0] + step * (n - n[0])) or any(close(y * (n - k), y[0] * (n[0] - k)) for k in (-1, 0, 1)):
            return True
    return False


def law_of(array: Any) -> Affine | Compared | None:
    """The law by which the elements of an array follow from their positions, if there is one."""
    if array.dtype.kind not in "biuf" or not array.size or not array.ndim:
        return None
    if array.dtype.kind != "b" and (affine := _affine(array)) is not None:
        return affine
    number = array.max() if array.max() != 0 else array.min()
    if array.dtype.kind == "b":
        number = array.dtype.type(True)
    if not ((array == 0) | (array == number)).all():
        return None
    return _identity(array != 0, number) or _triangle(array != 0, number)


def _affine(array: Any) -> Affine | None:
    start = array.flat[0].item()
    steps: list[Any] = []
    for axis, n in enumerate(array.shape):
        last = array[tuple(n - 1 if k == axis else 0 for k in range(array.ndim))].item()
        step = (last - start) / (n - 1) if n > 1 else 0
        steps.append(round(step) if array.dtype.kind in "iu" else step)
    law = Affine(start, tuple(steps))
    expected = start + sum(step * i for step, i in zip(steps, np.indices(array.shape), strict=True))
    if array.dtype.kind in "iu":
        return law if np.array_equal(expected, array) else None
    scale = np.max(np.abs(array)) * 4 * np.finfo(array.dtype).eps
    return law if np.allclose(expected, array, rtol=0, atol=scale) else None


def _identity(mask: Any, number: Any) -> Compared | None:
    """Rows of an identity, or one column: element (r, i, j, …) where r = start + (the number of (i, j, …) in order)."""
    if not mask.any():
        return None
    rows = np.arange(mask.shape[0])[:, None]
    flat = mask.reshape(mask.shape[0], -1)
    r, c = np.nonzero(flat)
    start = int(r[0] - c[0])
    if not np.array_equal(flat, rows == start + np.arange(flat.shape[1])):
        return None
    strides = np.cumprod([1, *mask.shape[:1:-1]])[::-1].tolist() if mask.ndim > 1 else []
    return Compared("equal", Affine(-start, (1, *[-s for s in strides])), number)


def _triangle(mask: Any, number: Any) -> Compared | None:
    """Below or above a diagonal: j - i ≤ k, or i - j ≤ k."""
    if mask.ndim != 2 or not mask.any():
        return None
    i, j = np.indices(mask.shape)
    for sign in (1, -1):
        difference = sign * (j - i)
        k = int(difference[mask].max())
        if np.array_equal(mask, difference <= k):
            return Compared("less_equal", Affine(-k, (-sign, sign)), number)
    return None


class _Writer:
    """Equations that compute arrays by their laws."""

    def __init__(self) -> None:
        self.equations: list[Equation] = []

    def apply(self, op: Op, *inputs: Atom) -> Var:
        kind: Any = op.result_type(*[a.type for a in inputs])
        out = Var(kind)
        self.equations.append(Equation(op, inputs, (out,)))
        return out

    def write(self, law: Affine | Compared, kind: ArrayType) -> Var:
        if isinstance(law, Affine):
            return self._convert(self._affine(law, kind.shape, kind.dtype), kind.dtype)
        p = self._affine(law.p, kind.shape, INTEGER)
        mask = self.apply(BY_NAME[law.how], p, Literal(np.int64(0)))
        if kind.dtype.kind == "b":
            return mask
        return self.apply(multiply, self._convert(mask, kind.dtype), Literal(kind.dtype.type(law.number)))

    def _convert(self, x: Var, dtype: Any) -> Var:
        return x if x.type.dtype == dtype else self.apply(Convert(dtype), x)

    def _affine(self, law: Affine, shape: Any, dtype: Any) -> Var:
        """In integers where the law has them, else in floats."""
        wide = dtype if dtype.kind == "f" else INTEGER
        total: Var | None = None
        for axis, step in enumerate(law.steps):
            if not step:
                continue
            count = self._convert(self.apply(Count(shape[axis]), Literal(np.int64(0))), wide)
            scaled = self.apply(multiply, count, Literal(wide.type(step)))
            if law.by_span:  # by a count: a literal would become 1 / (n - 1), which is none for n = 1
                steps = self._convert(self.apply(Count(1), Literal(np.int64(shape[axis] - 1))), wide)
                scaled = self.apply(divide, scaled, self.apply(BY_NAME["maximum"], steps, Literal(wide.type(1))))
            placed = self.apply(Reshape(tuple(n if k == axis else 1 for k, n in enumerate(shape))), scaled)
            placed = self.apply(Broadcast(tuple(shape)), placed)
            total = placed if total is None else self.apply(add, total, placed)
        if total is None:
            return self.apply(Broadcast(tuple(shape)), Literal(wide.type(law.start)))
        return self.apply(add, total, Literal(wide.type(law.start)))


def _replaced(program: Program, chosen: Sequence[int], laws: Sequence[Affine | Compared]) -> Program:
    if not chosen:
        return program
    names = list(program.constants)
    writer = _Writer()
    new = {names[k]: writer.write(law, names[k].type) for k, law in zip(chosen, laws, strict=True)}
    atom = lambda a: new.get(a, a) if isinstance(a, Var) else a
    equations = [
        Equation(eq.op, tuple(map(atom, eq.inputs)), eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled)
        for eq in program.equations
    ]
    constants = {v: value for v, value in program.constants.items() if v not in new}
    return Program(program.inputs, (*writer.equations, *equations), tuple(map(atom, program.outputs)), constants)

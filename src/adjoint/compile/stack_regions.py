"""Operations on stacks as regions: the same operation on parts of the first axis, each with memory of its own."""

# A primitive's parameters are read by its class.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.compile.emit import Emitter
from adjoint.compile.ir import Value
from adjoint.compile.regions import MOST, NeedsPython, may_cut, pays, region
from adjoint.compile.views import strides_of
from adjoint.ops.arrays.reduce import ArgSort
from adjoint.ops.linalg.decompose import LU, QR, Cholesky
from adjoint.ops.linalg.eigenvalues import Eig
from adjoint.ops.linalg.schur import Schur
from adjoint.ops.linalg.solve import Inverse, Solve, TriangularSolve
from adjoint.ops.linalg.spectral import SVD, Eigh
from adjoint.ops.signal.convolution import Convolution
from adjoint.ops.signal.fourier import Fourier, FromHalfSpectrum, HalfSpectrum
from adjoint.program.program import Equation, Literal, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType

COPY = 1.5  # nanoseconds for an element that is copied so that a part can be taken
LANES = 8  # matrices that go through registers together

# Which operands have the first axis of the results, and how many nanoseconds it takes; None: it cannot be cut
STACKS: RuleTable[Callable[[Equation], tuple[list[bool], float] | None]] = RuleTable("stacks in parts", of="evaluate")


def _of_matrices(price: float) -> Callable[[Equation], tuple[list[bool], float] | None]:
    """A stack of matrices, of which n³ operations cost so many nanoseconds."""

    def rule(eq: Equation) -> tuple[list[bool], float] | None:
        most = max(a.type.ndim for a in eq.inputs)
        n = eq.outputs[0].type.shape[0]
        if most < 3 or any(v.type.ndim < 1 or v.type.shape[0] != n for v in eq.outputs):
            return None
        taken = [a.type.ndim == most and a.type.shape[0] == n for a in eq.inputs]
        size = max(eq.inputs[0].type.shape[-2:])
        stack = math.prod(max((a.type.shape[:-2] for a in eq.inputs), key=math.prod))
        return taken, stack * (price * size**3 + 30.0)

    return rule


STACKS.update(dict.fromkeys((Solve, TriangularSolve, Inverse, LU, Cholesky), _of_matrices(0.3)))
STACKS.update({QR: _of_matrices(2.0), Eigh: _of_matrices(6.0)})
STACKS.update(dict.fromkeys((SVD, Eig, Schur), _of_matrices(15.0)))


@STACKS.rule(ArgSort)
def _of_rows(eq: Equation) -> tuple[list[bool], float] | None:
    op: Any = eq.op
    kind = eq.inputs[0].type
    if kind.ndim < 2 or op.axis % kind.ndim == 0:
        return None
    return [True], kind.size * 2.0 * math.log2(kind.shape[op.axis] + 1)


@STACKS.rule(Fourier, HalfSpectrum, FromHalfSpectrum)
def _of_signals(eq: Equation) -> tuple[list[bool], float] | None:
    op: Any = eq.op
    kind, out = eq.inputs[0].type, eq.outputs[0].type
    axes = op.axes if isinstance(op, Fourier) else (op.axis,)
    if any(axis is None or axis % kind.ndim == 0 for axis in axes):
        return None
    return [True], max(kind.size, out.size) * math.log2(math.prod(kind.shape[a] for a in axes) + 1)


@STACKS.rule(Convolution)
def _of_images(eq: Equation) -> tuple[list[bool], float] | None:
    x, w = (a.type for a in eq.inputs)
    out = eq.outputs[0].type
    if x.shape[0] != out.shape[0]:
        return None
    return [True, False], 0.05 * out.size * math.prod(w.shape[2:])


def write_stack(emitter: Emitter, eq: Equation) -> bool:
    """Write an operation on a stack as a region, if it is worth it; False: it is not."""
    rule = STACKS.get(eq.op)
    if rule is None or not may_cut(emitter):
        return False
    if any(type(n) is not int or n == 0 for a in (*eq.inputs, *eq.outputs) for n in a.type.shape):
        return False
    said = rule(eq)
    if said is None or any(isinstance(a, Literal) for a in eq.inputs):
        return False
    taken, nanoseconds = said
    count = eq.outputs[0].type.shape[0]
    if not pays(count, nanoseconds):
        return False
    pointers = _operands(emitter, eq, nanoseconds)
    if pointers is None:
        return False
    part = _part(count)
    for v in eq.outputs:
        emitter.pointer(v)
    whole = count // part
    f = emitter.f
    try:
        title = f"stack of {count}: {eq.op.title}"
        with region(emitter, whole, None, title, native=True) as one, f.loop(one.first, one.last) as number:
            _write_part(emitter, eq, taken, pointers, f.mul(number, f.index(part)), part, whole)
    except NeedsPython:
        return False
    if whole * part < count:
        _write_part(emitter, eq, taken, pointers, f.index(whole * part), count - whole * part, 1)
    return True


def _part(count: int) -> int:
    """How many go together: a divisor of their number if there is one, as many as fill vectors if there are many."""
    least = max(1, -(-count // MOST))
    for step in (LANES, 1):
        start = -(-least // step) * step
        found = next((n for n in range(start, min(4 * start, count // 2) + 1, step) if count % n == 0), None)
        if found is not None:
            return found
    return least if count < MOST else -(-least // LANES) * LANES


def _operands(emitter: Emitter, eq: Equation, nanoseconds: float) -> list[Value] | None:
    """Where the operands stand, one element after the other; None if that would cost too much."""
    views = [emitter.view(a) for a in eq.inputs]
    plain = [
        all(s == t or n == 1 for s, t, n in zip(v.strides, strides_of(v.shape), v.shape, strict=True)) for v in views
    ]
    if COPY * sum(v.type.size for v, is_plain in zip(views, plain, strict=True) if not is_plain) > nanoseconds / 8:
        return None
    pointers: list[Value] = []
    for view, is_plain in zip(views, plain, strict=True):
        pointer = view.pointer
        if not is_plain:
            pointer = emitter.allocate(emitter.nbytes(view.type))
            emitter.copy_strided(pointer, view)
        pointers.append(pointer)
    return pointers


def _write_part(
    emitter: Emitter, eq: Equation, taken: Sequence[bool], pointers: Sequence[Value],
    first: Value, count: int, times: int,
) -> None:  # fmt: skip
    """The operation on some elements of the stack, as a program of its own."""
    f = emitter.f

    def kind(t: ArrayType, is_taken: bool) -> ArrayType:
        return ArrayType((count, *t.shape[1:]), t.dtype) if is_taken else ArrayType(t.shape, t.dtype)

    def moved(pointer: Value, t: ArrayType, is_taken: bool) -> Value:
        nbytes = math.prod(t.shape[1:]) * t.dtype.itemsize
        return f.element(pointer, f.mul(first, f.index(nbytes)), "i8") if is_taken else pointer

    inputs = [Var(kind(a.type, t)) for a, t in zip(eq.inputs, taken, strict=True)]
    outputs = [Var(kind(v.type, True)) for v in eq.outputs]
    same = Equation(eq.op, tuple(inputs), tuple(outputs), eq.location)
    program = Program(tuple(inputs), (same,), tuple(outputs))
    steps = len(emitter.shared.steps)
    inner = Emitter(emitter.shared, program, emitter.times * times)
    where = {v: moved(p, a.type, t) for v, p, a, t in zip(inputs, pointers, eq.inputs, taken, strict=True)}
    inner.emit(where, {k: moved(emitter.pointer(v), v.type, True) for k, v in enumerate(eq.outputs)})
    written = emitter.shared.steps
    written[steps:] = [f"{step}, in parts of {count}" for step in written[steps:]]

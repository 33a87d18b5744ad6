"""Operations written out by simpler ones that loops and BLAS know: contractions, orders, determinants."""

# The rules are written in plain NumPy on values that are being recorded.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.compile.families import read_rules
from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.ops.arrays.index import Gather, LastWrite, ScatterSet
from adjoint.ops.arrays.logsumexp import LogSumExp, written_out
from adjoint.ops.arrays.norm import Length
from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.arrays.reduce import ArgSort, FlatReduction
from adjoint.ops.arrays.search import ArgPartition
from adjoint.ops.elementwise.arithmetic import divide
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.record import record_program
from adjoint.program.rule_table import RuleTable
from adjoint.program.subprograms import map_programs
from adjoint.program.types import ArrayType, result_dtype

Rule = Callable[..., Any]
BLAS_TYPES = {"float32", "float64", "complex64", "complex128"}
FEW_PAIRS = 8192  # elements are sorted by comparing all pairs; more, sooner by NumPy
WORTH_A_PRODUCT = 64  # multiplications: below, moving the operands about costs more


RULES: RuleTable[Callable[[Equation], Rule | None]] = RuleTable("expansions for compiled code", of="evaluate")


def expand_program(program: Program) -> Program:
    """The program with such operations written out, also inside loops and branches."""
    read_rules(program.equations)
    renamed: dict[Var, Atom] = {}
    constants = dict(program.constants)
    equations: list[Equation] = []
    changed = False

    def now(atom: Atom) -> Atom:
        return renamed.get(atom, atom) if isinstance(atom, Var) else atom

    booleans = {eq.outputs[0]: eq.inputs[0] for eq in program.equations if _is_indicator(eq)}
    factors: dict[Any, Sequence[Atom]] = {}  # of a matrix, which what is written out may factor again

    for eq in program.equations:
        inputs = tuple(now(a) for a in eq.inputs)
        rule = _rule(eq)
        if eq.op is divide and inputs[0] in booleans and _is_broadcast(inputs[1].type, inputs[0].type):
            inputs, rule = (booleans[inputs[0]], inputs[1]), _shared_quotient  # type: ignore[index]
        op = eq.op if rule is not None else map_programs(eq.op, expand_program)
        changed = changed or rule is not None or op is not eq.op
        if rule is None:
            equations.append(Equation(op, inputs, eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled))
            if op.several and not op.programs():
                factors.setdefault((op, inputs), eq.outputs)
            continue
        several = eq.op.several
        body, _ = record_program(
            lambda *xs, op=op, rule=rule, several=several: list(rule(op, *xs)) if several else [rule(op, *xs)],
            [a.type for a in inputs],
        )
        body = expand_program(body)
        operands: dict[Var, Atom] = dict(zip(body.inputs, inputs, strict=True))
        constants.update(body.constants)
        for inner in body.equations:
            own = tuple(operands.get(a, a) if isinstance(a, Var) else a for a in inner.inputs)
            if (known := factors.get((inner.op, own))) is not None:
                operands.update(zip(inner.outputs, known, strict=True))
                continue
            if inner.op.several and not inner.op.programs():
                factors[inner.op, own] = inner.outputs
            equations.append(Equation(inner.op, own, inner.outputs, eq.location, eq.scope, True, eq.pulled))
        for var, result in zip(eq.outputs, body.outputs, strict=True):
            renamed[var] = operands.get(result, result) if isinstance(result, Var) else result
    if not changed:
        return program
    return Program(program.inputs, tuple(equations), tuple(now(a) for a in program.outputs), constants)


def constant_of_nothing(op: Any, *xs: Any) -> Any:
    """The results for operands without elements, which are known before the program runs."""
    return op.evaluate(*[np.zeros(np.shape(x), x.dtype) for x in xs])


def _is_indicator(eq: Equation) -> bool:
    """Whether a result is a boolean as a number, 0.0 or 1.0."""
    return isinstance(eq.op, Convert) and eq.op.dtype.kind == "f" and eq.inputs[0].type.dtype.kind == "b"


def _is_broadcast(y: ArrayType, x: ArrayType) -> bool:
    return y.size < x.size and y.dtype == x.dtype and not y.weak


def _shared_quotient(op: Any, condition: Any, y: Any) -> Any:
    """0 / y or 1 / y by a condition: few quotients where y is broadcast (the shares of a maximum among its ties)."""
    kind = y.dtype.type
    return np.where(condition, kind(1) / y, kind(0) / y)


def _rule(eq: Equation) -> Rule | None:
    if any(not isinstance(n, int) for a in eq.inputs for n in a.type.shape):
        return None
    choose = RULES.get(eq.op)
    if choose is not None:
        return choose(eq)
    return (lambda op, *xs: op.expand(*xs)) if "expand" in eq.op.stated else None


# Contractions


def _einsum(op: Einsum, *xs: Any) -> Any:
    """Pairs of operands one after another; each pair is a matrix product where that pays, else a loop nest."""
    inputs, output = op.spec.split("->")
    names = inputs.split(",")
    values = list(xs)
    dtype = result_dtype(*[ArrayType(np.shape(x), x.dtype) if hasattr(x, "dtype") else Literal(x).type for x in xs])
    values = [x if hasattr(x, "dtype") and x.dtype == dtype else Convert(dtype)(x) for x in values]
    if len(values) > 2:
        shapes = [np.broadcast_to(np.empty(()), x.shape) for x in values]
        path = np.einsum_path(op.spec, *shapes, optimize="greedy")[0][1:]
    else:
        path = [tuple(range(len(values)))]
    for pair in path:
        chosen = sorted(pair, reverse=True)
        operands = [values.pop(i) for i in chosen]
        letters = [names.pop(i) for i in chosen]
        needed = output + "".join(names)
        wanted = "".join(dict.fromkeys(c for c in "".join(letters) if c in needed)) if values else output
        values.append(_contract(letters, operands, wanted))
        names.append(wanted)
    return values[0]


RULES.update({Einsum: lambda eq: _einsum})


def _sizes(letters: Sequence[str], xs: Sequence[Any]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for names, x in zip(letters, xs, strict=True):
        for c, n in zip(names, x.shape, strict=True):
            if n != 1 or c not in sizes:
                sizes[c] = n
    return sizes


def _contract(letters: Sequence[str], xs: Sequence[Any], output: str) -> Any:
    """Σ of the product of some operands over the letters that the output does not name."""
    sizes = _sizes(letters, xs)
    full = all(tuple(sizes[c] for c in names) == x.shape for names, x in zip(letters, xs, strict=True))
    if len(xs) == 2 and full:
        product = _as_product(letters, xs, output, sizes)
        if product is not None:
            return product
    summed = [c for c in dict.fromkeys("".join(letters)) if c not in output]
    order = output + "".join(summed)
    total: Any = None
    for names, x in zip(letters, xs, strict=True):
        present = [c for c in order if c in names]
        moved = np.transpose(x, [names.index(c) for c in present])
        shaped = np.reshape(moved, tuple(x.shape[names.index(c)] if c in names else 1 for c in order))
        total = shaped if total is None else total * shaped
    shape = tuple(sizes[c] for c in order)
    if total.shape != shape:
        total = np.broadcast_to(total, shape)
    return np.sum(total, axis=tuple(range(len(output), len(order))), dtype=total.dtype) if summed else total


def _as_product(letters: Sequence[str], xs: Sequence[Any], output: str, sizes: dict[str, int]) -> Any:
    """The contraction as a (stack of) matrix product(s), when it has letters to sum over in both operands."""
    a, b = letters
    if xs[0].dtype.name not in BLAS_TYPES or math.prod(sizes.values()) < WORTH_A_PRODUCT:
        return None
    both = [c for c in a if c in b]
    summed = [c for c in both if c not in output]
    stack = [c for c in both if c in output]
    left = [c for c in a if c not in b]
    right = [c for c in b if c not in a]
    if not summed or any(c not in output for c in (*left, *right)):
        return None

    def size(names: Sequence[str]) -> int:
        return math.prod(sizes[c] for c in names)

    def laid_out(x: Any, names: str, order: Sequence[str], shape: tuple[int, ...]) -> Any:
        axes = [names.index(c) for c in order]
        return np.reshape(np.transpose(x, axes), shape)

    lead = tuple(sizes[c] for c in stack)
    first = laid_out(xs[0], a, [*stack, *left, *summed], (*lead, size(left), size(summed)))
    second = laid_out(xs[1], b, [*stack, *summed, *right], (*lead, size(summed), size(right)))
    product = np.reshape(np.matmul(first, second), tuple(sizes[c] for c in [*stack, *left, *right]))
    order = [*stack, *left, *right]
    return np.transpose(product, [order.index(c) for c in output])


@RULES.rule(MatMul)
def _matmul_rule(eq: Equation) -> Rule | None:
    dtypes = {a.type.dtype for a in eq.inputs}
    out = eq.outputs[0].type.dtype
    if dtypes == {out} and out.name in BLAS_TYPES:
        return None
    return _convert_and_multiply if out.name in BLAS_TYPES else _multiply_integers if out.kind in "iu" else None


def _convert_and_multiply(op: MatMul, a: Any, b: Any) -> Any:
    dtype = result_dtype(a.type, b.type)
    return np.matmul(*[x if x.dtype == dtype else Convert(dtype)(x) for x in (a, b)])


def _multiply_integers(op: MatMul, a: Any, b: Any) -> Any:
    """Integers have no BLAS: Σ over a nest of loops."""
    dtype = result_dtype(a.type, b.type)
    a, b = (x if x.dtype == dtype else Convert(dtype)(x) for x in (a, b))
    row, column = a.ndim == 1, b.ndim == 1
    a = np.reshape(a, (1, *a.shape)) if row else a
    b = np.reshape(b, (*b.shape, 1)) if column else b
    left = np.reshape(np.swapaxes(a, -1, -2), (*a.shape[:-2], a.shape[-1], a.shape[-2], 1))
    right = np.reshape(b, (*b.shape[:-2], b.shape[-2], 1, b.shape[-1]))
    product = np.sum(left * right, axis=-3, dtype=dtype)
    product = np.reshape(product, (*product.shape[:-2], product.shape[-1])) if row else product
    return np.reshape(product, product.shape[:-1]) if column else product


# Reductions and positions


@RULES.rule(LastWrite)
def _last_write_rule(eq: Equation) -> Rule | None:
    return _last_write if all(0 not in a.type.shape for a in eq.inputs) else None


def _last_write(op: LastWrite, *indices: Any) -> Any:
    """Each writes its number at its place; who finds its own there was the last."""
    shape = np.broadcast_shapes(*[i.shape for i in indices])
    number = np.reshape(np.arange(math.prod(shape)), shape)
    key = ("gather", len(indices))
    owner = ScatterSet(key)(np.zeros(op.shape, number.dtype), number, *indices)
    return np.equal(Gather(len(indices))(owner, *indices), number)


@RULES.rule(Length)
def _length_rule(eq: Equation) -> Rule | None:
    return _length if eq.inputs[0].type.dtype.kind in "fc" else None


def _length(op: Length, x: Any) -> Any:
    """√Σ |x|²."""
    squares = np.multiply(x, x) if x.dtype.kind == "f" else np.square(np.real(x)) + np.square(np.imag(x))
    return np.sqrt(np.sum(squares, axis=op.axes))


@RULES.rule(LogSumExp)
def _log_sum_rule(eq: Equation) -> Rule | None:
    kind = eq.inputs[0].type.dtype.kind
    return None if 0 in eq.inputs[0].type.shape else _complex_log_sum if kind == "c" else _log_sum


def _log_sum(op: LogSumExp, x: Any) -> Any:
    return written_out(x if x.dtype.kind == "f" else Convert(np.dtype(np.float64))(x), op.axes)


def _complex_log_sum(op: LogSumExp, x: Any) -> Any:
    """m + log Σ exp(x - m), m the largest real part where it is finite."""
    top = np.max(np.real(x), axis=op.axes, keepdims=True)
    top = np.where(np.isfinite(top), top, top.dtype.type(0))
    total = np.log(np.sum(np.exp(x - top), axis=op.axes))
    return total + np.reshape(top, total.shape)


@RULES.rule(FlatReduction)
def _flat_rule(eq: Equation) -> Rule | None:
    op: Any = eq.op
    x = eq.inputs[0].type
    if op.kind == "count_nonzero":
        return _count
    if op.kind in ("argmax", "argmin") and x.dtype.kind in "fiub" and x.shape[op.axes[0]] > 0:
        return _position
    return None


def _count(op: FlatReduction, x: Any) -> Any:
    return np.sum(Convert(np.dtype(np.intp))(np.not_equal(x, 0)), axis=op.axes)


def _position(op: FlatReduction, x: Any) -> Any:
    """The first index of the extremum, or of the first NaN."""
    (axis,) = op.axes
    n = x.shape[axis]
    kept = tuple(1 if i == axis else m for i, m in enumerate(x.shape))
    best = np.reshape((np.max if op.kind == "argmax" else np.min)(x, axis=axis), kept)
    hit = np.equal(x, best)
    if x.dtype.kind == "f":
        hit = np.logical_or(hit, np.isnan(x))
    positions = np.reshape(np.arange(n), tuple(n if i == axis else 1 for i in range(x.ndim)))
    return np.min(np.where(hit, positions, n), axis=axis)


@RULES.rule(ArgSort, ArgPartition)
def _order_rule(eq: Equation) -> Rule | None:
    op: Any = eq.op
    x = eq.inputs[0].type
    if x.ndim == 0:
        return lambda op, x: np.zeros((), np.intp)
    if x.dtype.kind == "c":
        return _lexicographic
    few = x.dtype.kind in "fiub" and x.size and x.size * x.shape[op.axis] <= FEW_PAIRS
    return _order if few and isinstance(op, ArgSort) else None


def _lexicographic(op: ArgSort | ArgPartition, x: Any) -> Any:
    """Complex numbers by their real parts, then by their imaginary parts; those with NaN behind the others."""
    re, im = np.real(x), np.imag(x)
    broken = Convert(np.dtype(np.int64))(np.isnan(re)) * 2 + Convert(np.dtype(np.int64))(np.isnan(im))
    order = ArgSort(op.axis)(im)
    for key in (re, broken):  # the most important one last: what is sorted before stays among equals
        order = np.take_along_axis(order, ArgSort(op.axis)(np.take_along_axis(key, order, op.axis)), op.axis)
    return order


def _order(op: ArgSort, x: Any) -> Any:
    """rankᵢ = how many j stand before i; the k-th in the order is the i of rank k. NaN stand last, ties as before."""
    x = np.moveaxis(x, op.axis, -1)
    n = x.shape[-1]
    positions = np.arange(n)
    i, j = np.reshape(x, (*x.shape, 1)), np.reshape(x, (*x.shape[:-1], 1, n))
    not_after, after = np.less_equal(j, i), np.less_equal(i, j)
    if x.dtype.kind == "f":
        not_after, after = np.logical_or(not_after, np.isnan(i)), np.logical_or(after, np.isnan(j))
    before = np.where(positions < positions[:, None], not_after, np.logical_not(after))
    rank = np.sum(Convert(np.dtype(np.intp))(before), axis=-1)
    hit = np.equal(np.reshape(rank, (*x.shape[:-1], 1, n)), positions[:, None])
    return np.moveaxis(np.sum(np.where(hit, positions, 0), axis=-1), -1, op.axis)

"""Matrix products: tiles in registers for small ones, BLAS for the rest.

C[m, n] = Σₖ A[m, k] B[k, n], operands at any strides, so transposes cost nothing. Three forms:
*rows*: vectors along n, B read by rows and elements of A spread over the lanes; *columns*: the same for Cᵀ = Bᵀ Aᵀ;
*dots*: vectors along k, folded at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.compile import blas, lanes
from adjoint.compile.block import Block, Operand, lowers
from adjoint.compile.callbacks import write_callback
from adjoint.compile.ir import Value, vector_of
from adjoint.compile.machine import vector_bits
from adjoint.ops.contract import MatMul
from adjoint.program.program import Equation, Var
from adjoint.program.types import ArrayType

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
ZERO = Value("0", "i64")
SMALL = 30_000  # products: below, a call of BLAS costs more than it saves
NEAR = 3 * 2**14  # bytes that stay close to the processor


@dataclass
class Matrix:
    """Rows and columns in memory."""

    pointer: Value
    rows: Any
    columns: Any
    down: Any  # distance between rows, in elements
    across: Any  # distance between columns

    @property
    def transposed(self) -> Matrix:
        return Matrix(self.pointer, self.columns, self.rows, self.across, self.down)


@lowers(MatMul, strided=True)
def write_matmul(block: Block, eq: Equation) -> None:
    """The product of two matrices, or of stacks of them."""
    kinds = [a.type for a in eq.inputs]
    out = eq.outputs[0]
    if (
        not all(isinstance(a, Var) and a.type.dtype == out.type.dtype for a in eq.inputs)
        or out.type.dtype.kind not in "fc"
    ):
        return write_callback(block, eq)
    if out.type.dtype == np.float16:
        return write_callback(block, eq)
    a, b = (block.packed.get((eq, k)) or block.view(x) for k, x in enumerate(eq.inputs))
    target = block.pointer(out)
    if math.prod(out.type.shape) == 0:
        return None
    left = _as_stack(a, row=True)
    right = _as_stack(b, row=False)
    m, k, n = left[1][0], left[1][1], right[1][1]
    stack = out.type.shape[: out.type.ndim - (kinds[0].ndim > 1) - (kinds[1].ndim > 1)]
    block.shared.work += block.times * 2.0 * math.prod(stack) * m * k * n
    block.shared.steps.append(f"matmul {m}×{k}×{n}{' of a stack' if stack else ''}")
    counters: list[Value] = []

    def each(axis: int) -> None:
        if axis < len(stack):
            with block.f.loop(block.f.index(0), block.number(stack[axis])) as i:
                counters.append(i)
                each(axis + 1)
                counters.pop()
            return
        first = _matrix(block, a, left, stack, counters)
        second = _matrix(block, b, right, stack, counters)
        place = _moved(block, target, out.type.dtype, [(c, _step(stack, j, m * n)) for j, c in enumerate(counters)])
        product(block, out.type.dtype, first, second, Matrix(place, m, n, n, 1))
        while block.until_done:
            block.free(block.until_done.pop())

    each(0)
    return None


def wants_packing(block: Block, eq: Equation) -> int | None:
    """The operand of a product in a loop that is better laid out anew, by columns, if it never changes there.

    A matrix times a vector goes by dot products along the rows of the matrix; by columns it needs no folding.
    """
    if not isinstance(eq.op, MatMul) or eq.outputs[0].type.dtype.kind != "f" or eq.outputs[0].type.ndim != 1:
        return None
    for k, x in enumerate(eq.inputs):
        other = eq.inputs[1 - k]
        if x.type.ndim == 2 and other.type.ndim == 1 and x.type.shape[0] > 1 and isinstance(x, Var):
            view = block.plan.view(x)
            inner = view.strides[1] if view is not None and k == 0 else view.strides[0] if view is not None else 0
            if view is not None and inner == 1 and 4 <= x.type.size <= 2**16:
                return k
    return None


def _step(stack: Sequence[Any], axis: int, size: Any) -> Any:
    return math.prod(stack[axis + 1 :]) * size


def _as_stack(x: Operand, row: bool) -> tuple[tuple[Any, ...], tuple[Any, Any], tuple[Any, Any]]:
    """(shape of the stack, rows and columns, their strides); a vector is a row on the left, a column on the right."""
    if len(x.shape) == 1:
        (n,), (s,) = x.shape, x.strides
        return (), ((1, n) if row else (n, 1)), ((0, s) if row else (s, 0))
    return x.shape[:-2], x.shape[-2:], x.strides[-2:]  # type: ignore[return-value]


def _matrix(block: Block, x: Operand, parts: Any, stack: Sequence[Any], counters: Sequence[Value]) -> Matrix:
    own, (rows, columns), (down, across) = parts
    lead = len(stack) - len(own)
    moves = [(counters[lead + j], x.strides[j]) for j, n in enumerate(own) if n != 1]
    return Matrix(_moved(block, x.pointer, x.dtype, moves), rows, columns, down, across)


def _moved(block: Block, pointer: Value, dtype: np.dtype[Any], moves: Sequence[tuple[Value, Any]]) -> Value:
    f = block.f
    for counter, step in moves:
        pointer = f.element(pointer, f.mul(counter, block.number(step * dtype.itemsize)), "i8")
    return pointer


def product(block: Block, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix) -> None:
    """C = A B."""
    m, k, n = a.rows, a.columns, b.columns
    if k == 0:
        block.fill(c.pointer, ArrayType((m * n,), dtype), 0)
        return
    if dtype.kind == "c":
        _gemm(block, dtype, a, b, c)
    elif n == 1 and a.down == 1 and m > 1:
        _rows(block, dtype, b.transposed, a.transposed, c.transposed)
    elif (m == 1 or n == 1) and a.across == 1 and b.down == 1:
        _dots(block, dtype, a, b, c)
    elif _is_ours(m, k, n, dtype.itemsize):
        _rows(block, dtype, a, b if b.across == 1 or n == 1 else _by_rows(block, dtype, b), c)
    else:
        _gemm(block, dtype, a, b, c)


def _is_ours(m: Any, k: Any, n: Any, itemsize: int) -> bool:
    """Whether tiles beat BLAS: for little work, and when one factor or the result stays in the innermost cache."""
    return m * k * n <= SMALL or min(k * n, m * n) * itemsize <= NEAR


# Tiles


def _shape_of_tile(vectors: int, rows: int) -> tuple[int, int]:
    """(vectors, rows) of a tile that fills the registers and leaves the fewest vectors over.

    There are 16 registers, or 32 of the widest kind; some hold factors.
    """
    registers = 24 if vector_bits() == 512 else 12
    if rows == 1:
        return min(vectors, registers), 1
    choices = (4, 3, 2) if registers == 24 else (3, 2)
    best = min(choices, key=lambda v: (vectors % v if vectors > v else 0, -v))
    return best, registers // best


def _rows(block: Block, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix) -> None:
    """Vectors along n: C[m, n…] += A[m, k] B[k, n…], a tile of rows and vectors in registers.

    A long sum over columns of A that are far apart goes block by block, so that what a block reads stays in the cache.
    """
    f = block.f
    depth = a.columns
    if a.across != 1 and c.rows > 8 and depth * (c.rows + c.columns) * dtype.itemsize > 2**16:
        step = max(16, 2**15 // ((c.rows + c.columns) * dtype.itemsize))
        block.fill(c.pointer, ArrayType((c.rows * c.columns,), dtype), 0)
        whole = depth // step * step
        with f.loop(f.index(0), f.index(whole), f.index(step)) as first:
            _columns(block, dtype, a, b, c, (first, f.add(first, f.index(step)), step), adds=True)
        if whole < depth:
            _columns(block, dtype, a, b, c, (f.index(whole), f.index(depth), depth - whole), adds=True)
        return
    _columns(block, dtype, a, b, c, (f.index(0), block.number(depth), depth), adds=False)


Span = tuple[Value, Value, int]  # from, to, how many


def _columns(block: Block, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix, depth: Span, *, adds: bool) -> None:
    """All columns of C, a few vectors at a time."""
    f = block.f
    width = vector_bits() // 8 // dtype.itemsize
    most, tallest = _shape_of_tile(-(-c.columns // width), c.rows)
    span = most * width
    whole = c.columns // span * span
    tile = Tile(block, dtype, a, b, c, depth, adds)
    if whole:
        with f.loop(f.index(0), f.index(whole), f.index(span)) as column:
            tile.all_rows(column, [width] * most, tallest)
    left = c.columns - whole
    if left:
        widths = [width] * (left // width) + ([left % width] if left % width else [])
        tile.all_rows(f.index(whole), widths, max(tallest, most * tallest // len(widths)))


@dataclass
class Tile:
    """Some rows and vectors of C = A B, summed over a span of k in registers."""

    block: Block
    dtype: np.dtype[Any]
    a: Matrix
    b: Matrix
    c: Matrix
    depth: Span
    adds: bool  # to what is there

    def all_rows(self, column: Value, widths: list[int], rows: int) -> None:
        f = self.block.f
        rows = min(rows, self.c.rows, 8)
        whole = self.c.rows // rows * rows
        if whole > rows:
            with f.loop(f.index(0), f.index(whole), f.index(rows)) as row:
                self.write(row, column, rows, widths)
        else:
            self.write(f.index(0), column, rows, widths)
        if whole < self.c.rows:
            self.write(f.index(whole), column, self.c.rows - whole, widths)

    def _at(self, x: Matrix, i: Value, j: Value) -> Value:
        f = self.block.f
        place = f.add(f.mul(i, self.block.number(x.down)), f.mul(j, self.block.number(x.across)))
        return f.element(x.pointer, place, lanes.component(self.dtype))

    def write(self, row: Value, column: Value, rows: int, widths: list[int]) -> None:
        """Few accumulators are doubled, to hide the latency of a multiplication."""
        f, dtype = self.block.f, self.dtype
        scalar = lanes.component(dtype)
        starts = [sum(widths[:v]) for v in range(len(widths))]
        ways = 1
        first, last, count = self.depth
        while rows * len(widths) * ways < 8 and ways < 4 and count % (2 * ways) == 0:
            ways *= 2
        kinds = [vector_of(scalar, w) for w in widths]
        sums = [[[f.allocate(kind) for kind in kinds] for _ in range(rows)] for _ in range(ways)]
        places = [
            [self._at(self.c, f.add(row, f.index(i)), f.add(column, f.index(at))) for at in starts] for i in range(rows)
        ]
        for way, lines in enumerate(sums):
            for i, line in enumerate(lines):
                for v, room in enumerate(line):
                    if self.adds and way == 0:
                        f.store(lanes.load(f, dtype, places[i][v], f.index(0), self.c.across, widths[v]), room)
                    else:
                        f.store(f.constant(kinds[v], 0), room)
        with f.loop(first, last, f.index(ways)) as start:
            for way in range(ways):
                k = f.add(start, f.index(way))
                right = [
                    lanes.load(f, dtype, self._at(self.b, k, f.add(column, f.index(at))), f.index(0), self.b.across, w)
                    for at, w in zip(starts, widths, strict=True)
                ]
                for i in range(rows):
                    left = f.load(scalar, self._at(self.a, f.add(row, f.index(i)), k), dtype.itemsize)
                    for v, w in enumerate(widths):
                        room = sums[way][i][v]
                        f.store(f.fma(f.spread(left, w), right[v], f.load(kinds[v], room)), room)
        for i in range(rows):
            for v, w in enumerate(widths):
                total = f.load(kinds[v], sums[0][i][v])
                for way in range(1, ways):
                    total = f.fadd(total, f.load(kinds[v], sums[way][i][v]))
                lanes.store(f, dtype, total, places[i][v], f.index(0), self.c.across, w)


def _dots(block: Block, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix) -> None:
    """Vectors along k: each element of C is a dot product."""
    f = block.f
    scalar = lanes.component(dtype)
    width = min(vector_bits() // 8 // dtype.itemsize, a.columns)
    tile_m = min(4, c.rows) if c.columns > 1 else min(8, c.rows)
    tile_n = min(4, c.columns) if c.rows > 1 else min(8, c.columns)
    for i0, rows, many_i in _tiles(c.rows, tile_m):
        for j0, columns, many_j in _tiles(c.columns, tile_n):
            with (
                f.loop(f.index(i0), f.index(i0 + rows * many_i), f.index(rows)) as i,
                f.loop(f.index(j0), f.index(j0 + columns * many_j), f.index(columns)) as j,
            ):
                _dot_tile(block, dtype, scalar, a, b, c, i, j, rows, columns, width)


def _tiles(size: int, tile: int) -> list[tuple[int, int, int]]:
    """(start, size of a tile, how many) to cover a range."""
    many, rest = divmod(size, tile)
    found = [(0, tile, many)] if many else []
    return found + ([(many * tile, rest, 1)] if rest else [])


def _dot_tile(
    block: Block, dtype: np.dtype[Any], scalar: str, a: Matrix, b: Matrix, c: Matrix,
    i: Value, j: Value, rows: int, columns: int, width: int,
) -> None:  # fmt: skip
    f = block.f

    def at(x: Matrix, p: Value, q: Value) -> Value:
        return f.element(x.pointer, f.add(f.mul(p, block.number(x.down)), f.mul(q, block.number(x.across))), scalar)

    whole, rest = a.columns // width * width, a.columns % width
    totals: dict[tuple[int, int], Value] = {}
    for first, last, w in ((0, whole, width), (whole, whole + rest, rest)):
        if first == last:
            continue
        kind = vector_of(scalar, w)
        ways = 4 if rows * columns == 1 and (last - first) % (4 * w) == 0 else 1
        rooms = {(p, q, s): f.allocate(kind) for p in range(rows) for q in range(columns) for s in range(ways)}
        for room in rooms.values():
            f.store(f.constant(kind, 0), room)
        with f.loop(f.index(first), f.index(last), f.index(w * ways)) as start:
            for s in range(ways):
                k = f.add(start, f.index(s * w))
                lefts = [
                    lanes.load(f, dtype, at(a, f.add(i, f.index(p)), k), f.index(0), a.across, w) for p in range(rows)
                ]
                rights = [
                    lanes.load(f, dtype, at(b, k, f.add(j, f.index(q))), f.index(0), b.down, w) for q in range(columns)
                ]
                for p in range(rows):
                    for q in range(columns):
                        room = rooms[p, q, s]
                        f.store(f.fma(lefts[p], rights[q], f.load(kind, room)), room)
        for p in range(rows):
            for q in range(columns):
                part = f.load(kind, rooms[p, q, 0])
                for s in range(1, ways):
                    part = f.fadd(part, f.load(kind, rooms[p, q, s]))
                total = _folded(f, part)
                totals[p, q] = f.fadd(totals[p, q], total) if (p, q) in totals else total
    for (p, q), total in totals.items():
        f.store(total, at(c, f.add(i, f.index(p)), f.add(j, f.index(q))), dtype.itemsize)


def _folded(f: Any, value: Value) -> Value:
    """The sum of all lanes, by halves."""
    while value.width > 1 and value.width % 2 == 0:
        half = value.width // 2
        value = f.fadd(f.shuffle(value, None, range(half)), f.shuffle(value, None, range(half, 2 * half)))
    total = f.lane(value, 0)
    for k in range(1, value.width):
        total = f.fadd(total, f.lane(value, k))
    return total


# BLAS


def _gemm(block: Block, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix) -> None:
    """BLAS counts by columns: it is asked for Cᵀ = Bᵀ Aᵀ, whose memory is that of C."""
    f = block.f
    a, b = (_unit(block, dtype, x) for x in (a, b))
    name = f"adjoint_blas_{LETTERS[dtype.name]}gemm"
    block.shared.symbols[name] = blas.symbols()[name]
    integers = [f.allocate("i32", align=8) for _ in range(6)]
    letters = [f.allocate("i8", align=8) for _ in range(2)]
    one, zero = (f.allocate("i8", 16, align=8) for _ in range(2))
    lanes.store(f, dtype, lanes.number(f, dtype, 1, 1), one, f.index(0), 1, 1)
    lanes.store(f, dtype, lanes.number(f, dtype, 0, 1), zero, f.index(0), 1, 1)
    flags, leads = [], []
    for x in (b, a):
        plain = x.across == 1 and (x.down >= x.columns or x.rows == 1)
        flags.append("N" if plain else "T")
        leads.append(max(x.down if plain else x.across, x.columns if plain else x.rows, 1))
    for room, letter in zip(letters, flags, strict=True):
        f.store(f.constant("i8", ord(letter)), room)
    numbers = (c.columns, c.rows, a.columns, leads[0], leads[1], max(c.down, c.columns, 1))
    for room, number in zip(integers, numbers, strict=True):
        f.store(f.constant("i32", number), room)
    m, n, k, ld_b, ld_a, ld_c = integers
    f.call(
        name, "void", letters[0], letters[1], m, n, k, one, b.pointer, ld_b, a.pointer, ld_a, zero, c.pointer, ld_c,
        declared=True,
    )  # fmt: skip


def _unit(block: Block, dtype: np.dtype[Any], x: Matrix) -> Matrix:
    """The matrix with neighbours in one direction; copied when it has none."""
    by_rows = x.across == 1 and (x.down >= x.columns or x.rows == 1)
    if by_rows or (x.down == 1 and (x.across >= x.rows or x.columns == 1)):
        return x
    return _by_rows(block, dtype, x)


def _by_rows(block: Block, dtype: np.dtype[Any], x: Matrix) -> Matrix:
    """A copy, row by row."""
    f = block.f
    room = block.room(x.rows * x.columns * dtype.itemsize)
    with f.loop(f.index(0), block.number(x.rows)) as i, f.loop(f.index(0), block.number(x.columns)) as j:
        place = f.add(f.mul(i, block.number(x.down)), f.mul(j, block.number(x.across)))
        value = lanes.load(f, dtype, x.pointer, place, 1, 1)
        lanes.store(f, dtype, value, room, f.add(f.mul(i, block.number(x.columns)), j), 1, 1)
    block.until_done.append(room)
    return Matrix(room, x.rows, x.columns, x.columns, 1)

"""Products of small and narrow matrices: tiles in registers, written for their sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.records import record
from adjoint.compile import vectors
from adjoint.compile.emit import Emitter
from adjoint.compile.ir import Value, vector_of
from adjoint.compile.machine import vector_bits
from adjoint.compile.matrices import Matrix, by_rows
from adjoint.program.types import ArrayType

ZERO = Value("0", "i64")
CACHE = 2**21  # bytes: a larger matrix comes from memory, and is asked for in time


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


def write_rows(emitter: Emitter, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix) -> None:
    """Vectors along n: C[m, n…] += A[m, k] B[k, n…], a tile of rows and vectors in registers.

    A long sum over columns of A that are far apart goes block by block, so that what a block reads stays in the cache.
    """
    f = emitter.f
    depth = a.columns
    if a.across != 1 and c.rows > 8 and depth * (c.rows + c.columns) * dtype.itemsize > 2**16:
        step = max(16, 2**15 // ((c.rows + c.columns) * dtype.itemsize))
        if c.rows == 1 or c.down == c.columns:
            emitter.fill(c.pointer, ArrayType((c.rows * c.columns,), dtype), 0)
        else:  # some columns of a matrix
            with f.loop(f.index(0), f.index(c.rows)) as row:
                start = f.element(c.pointer, f.mul(row, f.index(c.down * dtype.itemsize)), "i8")
                emitter.fill(start, ArrayType((c.columns,), dtype), 0)
        whole = depth // step * step
        with f.loop(f.index(0), f.index(whole), f.index(step)) as first:
            _columns(emitter, dtype, a, b, c, (first, f.add(first, f.index(step)), step), adds=True)
        if whole < depth:
            _columns(emitter, dtype, a, b, c, (f.index(whole), f.index(depth), depth - whole), adds=True)
        return
    _columns(emitter, dtype, a, b, c, (f.index(0), emitter.number(depth), depth), adds=False)


Span = tuple[Value, Value, int]  # from, to, how many


def _columns(
    emitter: Emitter, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix, depth: Span, *, adds: bool
) -> None:
    """All columns of C, a few vectors at a time."""
    f = emitter.f
    width = vector_bits() // 8 // dtype.itemsize
    most, tallest = _shape_of_tile(-(-c.columns // width), c.rows)
    span = most * width
    whole = c.columns // span * span
    tile = Tile(emitter, dtype, a, b, c, depth, adds)
    if whole:
        with f.loop(f.index(0), f.index(whole), f.index(span)) as column:
            tile.all_rows(column, [width] * most, tallest)
    left = c.columns - whole
    if left:
        widths = [width] * (left // width) + ([left % width] if left % width else [])
        tile.all_rows(f.index(whole), widths, max(tallest, most * tallest // len(widths)))


@record(frozen=False)
class Tile:
    """Some rows and vectors of C = A B, summed over a span of k in registers."""

    emitter: Emitter
    dtype: np.dtype[Any]
    a: Matrix
    b: Matrix
    c: Matrix
    depth: Span
    adds: bool  # to what is there

    def all_rows(self, column: Value, widths: list[int], rows: int) -> None:
        f = self.emitter.f
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
        f = self.emitter.f
        position = f.add(f.mul(i, self.emitter.number(x.down)), f.mul(j, self.emitter.number(x.across)))
        return f.element(x.pointer, position, vectors.component(self.dtype))

    def _fetch(self, pointer: Value) -> None:
        """Ask for a line of memory that will be read soon; an address beyond the end does no harm."""
        f = self.emitter.f
        read, soon, data = f.constant("i32", 0), f.constant("i32", 3), f.constant("i32", 1)
        f.call("llvm.prefetch.p0", "void", pointer, read, soon, data, declared=True)

    def write(self, row: Value, column: Value, rows: int, widths: list[int]) -> None:
        """Few accumulators are doubled, to hide the latency of a multiplication."""
        f, dtype = self.emitter.f, self.dtype
        scalar = vectors.component(dtype)
        starts = [sum(widths[:v]) for v in range(len(widths))]
        copies = 1
        first, last, count = self.depth
        while rows * len(widths) * copies < 8 and copies < 4 and count % (2 * copies) == 0:
            copies *= 2
        kinds = [vector_of(scalar, w) for w in widths]
        sums = [[[f.allocate(kind) for kind in kinds] for _ in range(rows)] for _ in range(copies)]
        targets = [
            [self._at(self.c, f.add(row, f.index(i)), f.add(column, f.index(at))) for at in starts] for i in range(rows)
        ]
        for copy, lines in enumerate(sums):
            for i, line in enumerate(lines):
                for v, buffer in enumerate(line):
                    if self.adds and copy == 0:
                        f.store(vectors.load(f, dtype, targets[i][v], f.index(0), self.c.across, widths[v]), buffer)
                    else:
                        f.store(f.constant(kinds[v], 0), buffer)
        most = 1 if rows * len(widths) >= 12 else 4  # a loop of few instructions costs its iterations
        unrolled = next(n * copies for n in (most, 2, 1) if count % (n * copies) == 0)
        line = 64 // dtype.itemsize
        from_afar = self.a.rows * self.a.columns * dtype.itemsize > CACHE
        if from_afar and self.a.across == 1 and count % line == 0 and line % copies == 0:
            unrolled = line
        with f.loop(first, last, f.index(unrolled)) as start:
            if from_afar and self.a.across == 1:  # the same part of the next rows
                for i in range(rows):
                    self._fetch(self._at(self.a, f.add(row, f.index(rows + i)), start))
            for step in range(unrolled):
                copy = step % copies
                k = f.add(start, f.index(step))
                if from_afar and self.a.across != 1:  # the same rows of the next block
                    self._fetch(self._at(self.a, row, f.add(k, f.index(count))))
                right = [
                    vectors.load(
                        f, dtype, self._at(self.b, k, f.add(column, f.index(at))), f.index(0), self.b.across, w
                    )
                    for at, w in zip(starts, widths, strict=True)
                ]
                for i in range(rows):
                    left = f.load(scalar, self._at(self.a, f.add(row, f.index(i)), k), dtype.itemsize)
                    for v, w in enumerate(widths):
                        buffer = sums[copy][i][v]
                        f.store(f.fma(f.spread(left, w), right[v], f.load(kinds[v], buffer)), buffer)
        for i in range(rows):
            for v, w in enumerate(widths):
                total = f.load(kinds[v], sums[0][i][v])
                for copy in range(1, copies):
                    total = f.fadd(total, f.load(kinds[v], sums[copy][i][v]))
                vectors.store(f, dtype, total, targets[i][v], f.index(0), self.c.across, w)


def write_any_size(emitter: Emitter, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix) -> None:
    """The same for sizes that are known when the kernel runs: tiles of four rows and two vectors, then what is left."""
    f = emitter.f
    if dtype.kind != "c" and b.across != 1:
        b = by_rows(emitter, dtype, b)
    rows, columns = emitter.number(c.rows), emitter.number(c.columns)
    width = 1 if dtype.kind == "c" else vector_bits() // 8 // dtype.itemsize
    for height in (4, 1):
        last = f.mul(f.binary("sdiv", rows, f.index(height)), f.index(height))
        first = f.mul(f.binary("sdiv", rows, f.index(4)), f.index(4)) if height == 1 else ZERO
        with f.loop(first, last, f.index(height)) as row:
            done = ZERO
            for span in (2 * width, width, 1) if width > 1 else (1,):
                end = f.mul(f.binary("sdiv", columns, f.index(span)), f.index(span))
                with f.loop(done, end, f.index(span)) as column:
                    _write_sums(
                        emitter, dtype, (a, b, c), row, column, height, [min(width, span)] * max(span // width, 1)
                    )
                done = end


def _write_sums(
    emitter: Emitter, dtype: np.dtype[Any], factors: tuple[Matrix, Matrix, Matrix],
    row: Value, column: Value, height: int, widths: list[int],
) -> None:  # fmt: skip
    """C[row …, column …] = Σₖ A[row …, k] B[k, column …], some rows and vectors at a time."""
    f, (a, b, c) = emitter.f, factors
    scalar = vectors.component(dtype)

    def at(x: Matrix, i: Value, j: Value) -> Value:
        return f.add(f.mul(i, emitter.number(x.down)), f.mul(j, emitter.number(x.across)))

    if dtype.kind == "c":
        parts = [f.allocate(scalar, 2, align=16) for _ in range(height)]
        for part in parts:
            vectors.store(f, dtype, vectors.number(f, dtype, 0, 1), part, ZERO, 1, 1)
        with f.loop(ZERO, emitter.number(a.columns)) as k:
            u, v = vectors.load(f, dtype, b.pointer, at(b, k, column), 1, 1)
            for i, part in enumerate(parts):
                x, y = vectors.load(f, dtype, a.pointer, at(a, f.add(row, f.index(i)), k), 1, 1)
                s, t = vectors.load(f, dtype, part, ZERO, 1, 1)
                s = f.fadd(s, f.fsub(f.fmul(x, u), f.fmul(y, v)))
                t = f.fadd(t, f.fadd(f.fmul(x, v), f.fmul(y, u)))
                vectors.store(f, dtype, (s, t), part, ZERO, 1, 1)
        for i, part in enumerate(parts):
            total = vectors.load(f, dtype, part, ZERO, 1, 1)
            vectors.store(f, dtype, total, c.pointer, at(c, f.add(row, f.index(i)), column), 1, 1)
        return
    starts = [sum(widths[:v]) for v in range(len(widths))]
    kinds = [vector_of(scalar, w) for w in widths]
    sums = [[f.allocate(kind) for kind in kinds] for _ in range(height)]
    for line in sums:
        for kind, buffer in zip(kinds, line, strict=True):
            f.store(f.constant(kind, 0), buffer)
    with f.loop(ZERO, emitter.number(a.columns)) as k:
        right = [
            vectors.load(f, dtype, b.pointer, at(b, k, f.add(column, f.index(s))), b.across, w)
            for s, w in zip(starts, widths, strict=True)
        ]
        for i, line in enumerate(sums):
            left = f.load(scalar, f.element(a.pointer, at(a, f.add(row, f.index(i)), k), scalar), dtype.itemsize)
            for v, (w, buffer) in enumerate(zip(widths, line, strict=True)):
                f.store(f.fma(f.spread(left, w), right[v], f.load(kinds[v], buffer)), buffer)
    for i, line in enumerate(sums):
        for s, w, kind, buffer in zip(starts, widths, kinds, line, strict=True):
            position = at(c, f.add(row, f.index(i)), f.add(column, f.index(s)))
            vectors.store(f, dtype, f.load(kind, buffer), c.pointer, position, 1, w)


def write_dots(emitter: Emitter, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix) -> None:
    """Vectors along k: each element of C is a dot product."""
    f = emitter.f
    scalar = vectors.component(dtype)
    width = min(vector_bits() // 8 // dtype.itemsize, a.columns)
    tile_m = min(4, c.rows) if c.columns > 1 else min(8, c.rows)
    tile_n = min(4, c.columns) if c.rows > 1 else min(8, c.columns)
    for i0, rows, many_i in _tiles(c.rows, tile_m):
        for j0, columns, many_j in _tiles(c.columns, tile_n):
            with (
                f.loop(f.index(i0), f.index(i0 + rows * many_i), f.index(rows)) as i,
                f.loop(f.index(j0), f.index(j0 + columns * many_j), f.index(columns)) as j,
            ):
                _dot_tile(emitter, dtype, scalar, a, b, c, i, j, rows, columns, width)


def _tiles(size: int, tile: int) -> list[tuple[int, int, int]]:
    """(start, size of a tile, how many) to cover a range."""
    many, rest = divmod(size, tile)
    tiles = [(0, tile, many)] if many else []
    return tiles + ([(many * tile, rest, 1)] if rest else [])


def _dot_tile(
    emitter: Emitter, dtype: np.dtype[Any], scalar: str, a: Matrix, b: Matrix, c: Matrix,
    i: Value, j: Value, rows: int, columns: int, width: int,
) -> None:  # fmt: skip
    f = emitter.f

    def at(x: Matrix, p: Value, q: Value) -> Value:
        return f.element(x.pointer, f.add(f.mul(p, emitter.number(x.down)), f.mul(q, emitter.number(x.across))), scalar)

    whole, rest = a.columns // width * width, a.columns % width
    totals: dict[tuple[int, int], Value] = {}
    for first, last, w in ((0, whole, width), (whole, whole + rest, rest)):
        if first == last:
            continue
        kind = vector_of(scalar, w)
        copies = 4 if rows * columns == 1 and (last - first) % (4 * w) == 0 else 1
        buffers = {(p, q, s): f.allocate(kind) for p in range(rows) for q in range(columns) for s in range(copies)}
        for buffer in buffers.values():
            f.store(f.constant(kind, 0), buffer)
        with f.loop(f.index(first), f.index(last), f.index(w * copies)) as start:
            for s in range(copies):
                k = f.add(start, f.index(s * w))
                lefts = [
                    vectors.load(f, dtype, at(a, f.add(i, f.index(p)), k), f.index(0), a.across, w) for p in range(rows)
                ]
                rights = [
                    vectors.load(f, dtype, at(b, k, f.add(j, f.index(q))), f.index(0), b.down, w)
                    for q in range(columns)
                ]
                for p in range(rows):
                    for q in range(columns):
                        buffer = buffers[p, q, s]
                        f.store(f.fma(lefts[p], rights[q], f.load(kind, buffer)), buffer)
        for p in range(rows):
            for q in range(columns):
                part = f.load(kind, buffers[p, q, 0])
                for s in range(1, copies):
                    part = f.fadd(part, f.load(kind, buffers[p, q, s]))
                total = _fold(f, part)
                totals[p, q] = f.fadd(totals[p, q], total) if (p, q) in totals else total
    for (p, q), total in totals.items():
        f.store(total, at(c, f.add(i, f.index(p)), f.add(j, f.index(q))), dtype.itemsize)


def _fold(f: Any, value: Value) -> Value:
    """The sum of all lanes, by halves."""
    while value.width > 1 and value.width % 2 == 0:
        half = value.width // 2
        value = f.fadd(f.shuffle(value, None, range(half)), f.shuffle(value, None, range(half, 2 * half)))
    total = f.lane(value, 0)
    for k in range(1, value.width):
        total = f.fadd(total, f.lane(value, k))
    return total

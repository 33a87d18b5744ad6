"""Products of large matrices in code of our own: blocks that fit into the caches, packed into panels.

C = A B is cut along k and n into blocks of B, and along m into blocks of A. Both are copied, *packed*, so that a tile
of C, 8 rows and up to three vectors, reads two panels from their start to their end:

    panel of A: a[i, k] of 8 rows,               element (i, k) at 8 k + i
    panel of B: b[k, j] of w = 1 … 3 vectors,    element (k, j) at w k + j

What is left over at the edges is zero in the panels, and masked in C. The code is compiled once, for all sizes, and its
function is called as one of BLAS: `adjoint_panels_float64`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from adjoint.compile.cache import object_of
from adjoint.compile.code import PANELS
from adjoint.compile.ir import Function, Module, Value, vector_of
from adjoint.compile.machine import Loaded, vector_bits
from adjoint.compile.masked import MaskedCode
from adjoint.compile.vectors import transpose

NAME = PANELS
DTYPES = {name: np.dtype(name) for name in ("float32", "float64")}
ROWS, VECTORS = 8, 3  # of a tile: 24 of 32 registers hold its sums
# of a block, at most: it is 256 long, A's fits into the second level of the cache, B's into the third
ROWS_OF_BLOCK, LENGTH, COLUMNS_OF_BLOCK = 192, 256, 768
GROUP = 8  # lines that are transposed at a time, at most


def pays() -> bool:
    """Whether this is quicker than OpenBLAS, which uses half of the widest registers on some processors."""
    return vector_bits() == 512


def block_sizes(m: int, k: int, n: int) -> tuple[int, int, int]:
    """Rows, length and columns of blocks, about equal among each other, in whole panels."""
    span = VECTORS * 16
    sizes = []
    for size, most, unit in ((m, ROWS_OF_BLOCK, ROWS), (k, LENGTH, GROUP), (n, COLUMNS_OF_BLOCK, span)):
        count = -(-size // most)
        sizes.append(-(-size // (count * unit)) * unit)
    return sizes[0], sizes[1], sizes[2]


def workspace(dtype: np.dtype[Any], sizes: tuple[int, int, int]) -> tuple[int, int]:
    """Bytes of the packed blocks of A and of B."""
    m, k, n = sizes
    return m * k * dtype.itemsize, k * n * dtype.itemsize


@cache
def _loaded(name: str) -> Loaded:
    return Loaded(object_of("panels", lambda: write_panels(name), name))


def address(name: str) -> int:
    """Where a function is."""
    return _loaded(name).address(name)


def write_panels(name: str) -> str:
    """LLVM's text of a function."""
    module = Module()
    _Panels(module, DTYPES[name.removeprefix(NAME)]).write(name)
    return str(module)


class _Panels(MaskedCode):
    """The functions of one dtype."""

    def __init__(self, module: Module, dtype: np.dtype[Any]) -> None:
        super().__init__(module, dtype, vector_bits())
        self.span, self.group = VECTORS * self.lanes, min(GROUP, self.lanes)
        self.names = {part: f"{part}_{dtype.name}" for part in ("pack_lines", "pack_across")}
        self.tiles = [f"tile_{v + 1}_{dtype.name}" for v in range(VECTORS)]

    def write(self, name: str) -> None:
        self._write_pack_lines()
        self._write_pack_across()
        for vectors, tile in enumerate(self.tiles, 1):
            self._write_tile(tile, vectors)
        self._write_product(name)

    # Packing: panel[width · k + i] = line i at k, for `count` lines and as many zeros as the panel has more

    def _write_pack_lines(self) -> None:
        """Lines that are neighbors in memory."""
        f = self.function(self.names["pack_lines"], ["ptr", "i64", "ptr", "i64", "i64", "i64"])
        panel, width, source, count, length, step = f.params
        lanes = self.group
        with f.loop(f.index(0), length) as k, f.loop(f.index(0), width, f.index(lanes)) as i:
            values = self.load(f, self.at(f, source, f.mul(k, step), i), self.mask(f, f.sub(count, i), lanes))
            f.store(values, self.at(f, panel, f.mul(k, width), i), self.bytes)
        f.ret()
        f.finish()

    def _write_pack_across(self) -> None:
        """Lines whose own elements are neighbors: a group of them is transposed at a time."""
        f = self.function(self.names["pack_across"], ["ptr", "i64", "ptr", "i64", "i64", "i64"])
        panel, width, source, count, length, step = f.params
        none = f.constant(vector_of("i1", self.group), 0)
        with f.loop(f.index(0), width, f.index(self.group)) as i, f.loop(f.index(0), length, f.index(self.group)) as k:
            inside = self.mask(f, f.sub(length, k), self.group)
            lines: list[Value] = []
            for line in range(self.group):
                number = f.add(i, f.index(line))
                mask = f.select(f.icmp("slt", number, count), inside, none)
                lines.append(self.load(f, self.at(f, source, f.mul(number, step), k), mask))
            for row, values in enumerate(transpose(f, lines)):
                f.store(values, self.at(f, panel, f.mul(f.add(k, f.index(row)), width), i), self.bytes)
        f.ret()
        f.finish()

    # Tiles

    def _write_tile(self, name: str, vectors: int) -> None:
        """Some rows and columns of C from a panel of A and one of B; added to what is there, or not."""
        f = self.function(name, ["ptr noalias", "ptr noalias", "ptr noalias", "i64", "i64", "i64", "i64", "i1"])
        left, right, target, length, down, rows, columns, adds = f.params
        kind = vector_of(self.scalar, self.lanes)
        sums = [[f.allocate(kind) for _ in range(vectors)] for _ in range(ROWS)]
        for buffer in (one for line in sums for one in line):
            f.store(f.constant(kind, 0), buffer)
        with f.loop(f.index(0), length) as k:
            start = f.mul(k, f.index(vectors * self.lanes))
            across = [
                f.load(kind, self.at(f, right, start, f.index(v * self.lanes)), self.lanes * self.bytes)
                for v in range(vectors)
            ]
            for i, line in enumerate(sums):
                factor = f.load(self.scalar, self.at(f, left, f.mul(k, f.index(ROWS)), f.index(i)), self.bytes)
                for one, buffer in zip(across, line, strict=True):
                    f.store(f.fma(f.spread(factor, self.lanes), one, f.load(kind, buffer)), buffer)
        found = f.allocate(kind, ROWS * vectors)
        for number, buffer in enumerate(one for line in sums for one in line):
            f.store(f.load(kind, buffer), f.element(found, f.index(number), kind))
        with f.loop(f.index(0), rows) as i:
            for v in range(vectors):
                mask = self.mask(f, f.sub(columns, f.index(v * self.lanes)), self.lanes)
                target_at = self.at(f, target, f.mul(down, i), f.index(v * self.lanes))
                before = self.load(f, target_at, f.select(adds, mask, f.constant(mask.type, 0)))
                total = f.load(kind, f.element(found, f.add(f.mul(i, f.index(vectors)), f.index(v)), kind))
                self.store(f, f.fadd(before, total), target_at, mask)
        f.ret()
        f.finish()

    # The whole

    def _write_product(self, name: str) -> None:
        f = self.function(name, ["ptr"] * 5 + ["i64"] * 11, linkage="")
        a, b, c, buffer_a, buffer_b, m, k, n, a_down, a_across, b_down, b_across, c_down, m_block, k_block, n_block = (
            f.params
        )
        zero = f.index(0)
        smaller = lambda x, y: f.intrinsic("smin", x, y)
        rounded = lambda x, unit: f.binary("and", f.add(x, f.index(unit - 1)), f.index(-unit))
        with f.loop(zero, n, n_block) as j0, f.loop(zero, k, k_block) as k0:
            columns, length = smaller(f.sub(n, j0), n_block), smaller(f.sub(k, k0), k_block)
            padded = rounded(length, GROUP)
            adds = f.icmp("sgt", k0, zero)
            with f.loop(zero, columns, f.index(self.span)) as j:
                count = smaller(f.sub(columns, j), f.index(self.span))
                source = self.at(f, b, f.mul(k0, b_down), f.mul(f.add(j0, j), b_across))
                panel = self.at(f, buffer_b, f.mul(j, padded))
                self._pack(f, panel, rounded(count, self.lanes), source, count, length, b_across, b_down)
            with f.loop(zero, m, m_block) as i0:
                rows = smaller(f.sub(m, i0), m_block)
                with f.loop(zero, rows, f.index(ROWS)) as i:
                    source = self.at(f, a, f.mul(f.add(i0, i), a_down), f.mul(k0, a_across))
                    count = smaller(f.sub(rows, i), f.index(ROWS))
                    panel = self.at(f, buffer_a, f.mul(i, padded))
                    self._pack(f, panel, f.index(ROWS), source, count, length, a_down, a_across)
                with f.loop(zero, columns, f.index(self.span)) as j:
                    count = smaller(f.sub(columns, j), f.index(self.span))
                    right = self.at(f, buffer_b, f.mul(j, padded))
                    with f.loop(zero, rows, f.index(ROWS)) as i:
                        left = self.at(f, buffer_a, f.mul(i, padded))
                        target = self.at(f, c, f.mul(f.add(i0, i), c_down), j0, j)
                        few = smaller(f.sub(rows, i), f.index(ROWS))
                        self._call_tile(f, left, right, target, length, c_down, few, count, adds)
        f.ret()
        f.finish()

    def _pack(
        self, f: Function, panel: Value, width: Value, source: Value, count: Value, length: Value, apart: Value,
        step: Value,
    ) -> None:  # fmt: skip
        """Lines that stand `apart`, whose elements are `step` from each other; one of the two is 1."""
        neighbors, others, done = (f.new_block(hint) for hint in ("neighbors", "others", "packed"))
        f.branch(f.icmp("eq", apart, f.index(1)), neighbors, others)
        for block, part, distance in (
            (neighbors, "pack_lines", step), (others, "pack_across", apart),
        ):  # fmt: skip
            f.begin(block)
            f.call(self.names[part], "void", panel, width, source, count, length, distance)
            f.jump(done)
        f.begin(done)

    def _call_tile(self, f: Function, *args: Value) -> None:
        """The tile that is as wide as `count` columns."""
        count, done = args[6], f.new_block("written")
        for vectors, tile in enumerate(self.tiles, 1):
            if vectors == VECTORS:
                f.call(tile, "void", *args)
                break
            fits, wider = f.new_block("fits"), f.new_block("wider")
            f.branch(f.icmp("sle", count, f.index(vectors * self.lanes)), fits, wider)
            f.begin(fits)
            f.call(tile, "void", *args)
            f.jump(done)
            f.begin(wider)
        f.jump(done)
        f.begin(done)

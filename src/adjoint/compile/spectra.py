"""Fourier transforms of several lines side by side, one in each lane of the vectors, in code of our own.

Of a block of lines, element k has its real and its imaginary parts in two vectors. For n = r₁ r₂ … each pass of radix r
(Stockham's: the result comes out in order) takes a transform of length N = r m of each of s interleaved parts to r of
length m, from one buffer into the other:

    b_j[p] = exp(-2πi p j / N) Σ_k a[p + k m] exp(-2πi j k / r),   element q + s (r p + j) for q < s

The exponent of the inverse has the other sign: real and imaginary parts are exchanged, before and after. Lines that lie
apart are transposed on the way in and out. The code is compiled once for all lengths, with the roots as a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from adjoint.compile.butterflies import BUTTERFLIES, Pair, Pairs
from adjoint.compile.cache import object_of
from adjoint.compile.code import SPECTRA
from adjoint.compile.ir import Function, Module, Value, vector_of
from adjoint.compile.machine import Loaded, vector_bits
from adjoint.compile.masked import SCALARS, MaskedCode
from adjoint.compile.vectors import transpose

NAME = SPECTRA
RADICES = (4, 2, 3, 5, 7)


# What a length needs


@cache
def radices_of(n: int) -> tuple[int, ...] | None:
    """The passes of a length; None where it has other factors."""
    found: list[int] = []
    for radix in RADICES:
        while n % radix == 0 and n > 1:
            found.append(radix)
            n //= radix
    return tuple(found) if n == 1 and found else None


@cache
def halves_of(n: int) -> tuple[int, int] | None:
    """Two factors of a length, as alike as can be, for a transform in two stages; None where there are no such."""
    if radices_of(n) is None:
        return None
    first = next(k for k in range(math.isqrt(n), 0, -1) if n % k == 0)
    return (first, n // first) if 4 * first * first >= n and first > 1 else None


def powers_of_root(positions: Any, n: int, dtype: Any) -> Any:
    """cos and -sin of 2π k / n side by side, of angles of less than one turn."""
    angles = (positions % n).astype(np.longdouble) * (2 * np.arccos(np.longdouble(-1)) / n)
    pairs = np.stack([np.cos(angles), -np.sin(angles)], axis=-1)
    return np.where(np.abs(pairs) < 1e-18, 0, pairs).astype(dtype)  # of quarter turns


@cache
def _table(name: str) -> Any:
    """The array that a name stands for; it lives as long as the process."""
    kind, dtype, sizes = name.removeprefix(NAME).split("_")
    lengths = [int(n) for n in sizes.split("x")]
    if kind == "plan":
        passes = radices_of(lengths[0]) or ()
        return np.array([len(passes), *passes], np.int64)
    if kind == "stages":  # exp(-2πi k j / n) between the two stages
        rows, columns = lengths
        return np.ascontiguousarray(
            powers_of_root(np.outer(np.arange(rows), np.arange(columns)), rows * columns, dtype)
        )
    parts, length = [], lengths[0]
    for radix in radices_of(length) or ():
        powers = np.outer(np.arange(length // radix), np.arange(1, radix))
        parts.append(powers_of_root(powers, length, dtype).ravel())
        length //= radix
    return np.concatenate(parts)


class Names(NamedTuple):
    """The symbols of a transform of a length."""

    function: str
    plan: str
    roots: str


def names_of(dtype: Any, n: int) -> Names:
    return Names(f"{NAME}{dtype}", f"{NAME}plan_{dtype}_{n}", f"{NAME}roots_{dtype}_{n}")


def stages_name(dtype: Any, rows: int, columns: int) -> str:
    return f"{NAME}stages_{dtype}_{rows}x{columns}"


def address(name: str) -> int:
    """Where a function or a table is."""
    if name.count("_") == 2:
        return _loaded(name).address(name)
    return _table(name).ctypes.data


@cache
def _loaded(name: str) -> Loaded:
    return Loaded(object_of("spectra", lambda: write_spectra(name), name))


def lanes_of(dtype: Any) -> int:
    return vector_bits() // 8 // np.dtype(dtype).itemsize


def workspace(dtype: Any, n: int) -> int:
    """Bytes of two blocks of lines."""
    lanes = lanes_of(dtype)
    return 2 * (n + lanes) * 2 * lanes * np.dtype(dtype).itemsize


# The code


def write_spectra(name: str, module: Module | None = None) -> str:
    """LLVM's text of a function; in a module, for what is to run on its own."""
    whole = module or Module()
    _Spectra(whole, np.dtype(name.removeprefix(NAME))).write(name, "" if module is None else "internal")
    return str(whole) if module is None else ""


def write_table(name: str, module: Module) -> Value:
    """A table as a constant."""
    table = _table(name)
    kind = "i64" if table.dtype.kind == "i" else SCALARS[table.dtype.name]
    return module.constant_array(name, kind, table.ravel().tolist())


class _Spectra(MaskedCode):
    """The functions of one dtype."""

    def __init__(self, module: Module, dtype: np.dtype[Any]) -> None:
        super().__init__(module, dtype, vector_bits())
        self.title = dtype.name
        self.kind = vector_of(self.scalar, self.lanes)
        self.aligned = self.lanes * self.bytes

    def write(self, name: str, linkage: str) -> None:
        for radix in RADICES:
            self._write_pass(radix)
        for title, part in (("rows", self._write_rows), ("columns", self._write_columns)):
            for into in (True, False):
                part(f"{'read' if into else 'write'}_{title}_{self.title}", into)
        self._write_transform(name, linkage)

    # Memory: element k of a block, and numbers anywhere

    def _part(self, f: Function, block: Value, k: Value, part: Value | int) -> Value:
        half = f.index(part) if isinstance(part, int) else part
        return f.element(block, f.add(f.mul(k, f.index(2)), half), self.kind)

    def _get(self, f: Function, block: Value, k: Value) -> Pair:
        one, other = (f.load(self.kind, self._part(f, block, k, part), self.aligned) for part in (0, 1))
        return one, other

    def _put(self, f: Function, block: Value, k: Value, pair: Pair) -> None:
        for part, value in enumerate(pair):
            f.store(value, self._part(f, block, k, part), self.aligned)

    # Passes

    def _write_pass(self, radix: int) -> None:
        f = self.function(f"pass_{radix}_{self.title}", ["ptr noalias", "ptr noalias", "ptr", "i64", "i64"])
        source, target, roots, length, parts = f.params

        def step(p: Value, factors: Sequence[Pair]) -> None:
            with f.loop(f.index(0), parts) as q:
                here = [f.add(q, f.mul(parts, f.add(p, f.mul(length, f.index(k))))) for k in range(radix)]
                start = f.mul(p, f.index(radix))
                there = [f.add(q, f.mul(parts, f.add(start, f.index(j)))) for j in range(radix)]
                results = BUTTERFLIES[radix](Pairs(f), [self._get(f, source, k) for k in here])
                for j, (k, result) in enumerate(zip(there, results, strict=True)):
                    turned = Pairs(f).times(result, factors[j - 1]) if j and factors else result
                    self._put(f, target, k, turned)

        step(f.index(0), [])  # whose factors are 1
        with f.loop(f.index(1), length) as p:
            start = f.mul(p, f.index(2 * (radix - 1)))
            numbers = [
                f.spread(f.load(self.scalar, self.at(f, roots, f.add(start, f.index(i)))), self.lanes)
                for i in range(2 * (radix - 1))
            ]
            step(p, list(zip(numbers[::2], numbers[1::2], strict=True)))
        f.ret()
        f.finish()

    # Blocks: (block, memory, table, n, lines, along, apart, flip)

    def _write_rows(self, name: str, into: bool) -> None:
        """Lines whose elements are neighbors: squares of lines and numbers are transposed."""
        f = self.function(name, ["ptr", "ptr", "ptr", *["i64"] * 5])
        block, memory, _, n, lines, _, apart, flip = f.params
        none = f.constant(vector_of("i1", self.lanes), 0)
        last = f.sub(lines, f.index(1))
        with f.loop(f.index(0), n, f.index(self.lanes // 2)) as k:
            inside = self.mask(f, f.mul(f.sub(n, k), f.index(2)), self.lanes)
            addresses: list[Value] = []
            for line in range(self.lanes):
                number = f.intrinsic("smin", f.index(line), last)
                start = f.mul(f.add(f.mul(number, apart), k), f.index(2))
                addresses.append(self.at(f, memory, start))
            slots = [
                self._part(f, block, f.add(k, f.index(i // 2)), f.binary("xor", f.index(i % 2), flip))
                for i in range(self.lanes)
            ]
            if into:
                for slot, value in zip(slots, transpose(f, [self.load(f, p, inside) for p in addresses]), strict=True):
                    f.store(value, slot, self.aligned)
            else:
                values = transpose(f, [f.load(self.kind, slot, self.aligned) for slot in slots])
                for line, (target_at, value) in enumerate(zip(addresses, values, strict=True)):
                    self.store(f, value, target_at, f.select(f.icmp("slt", f.index(line), lines), inside, none))
        f.ret()
        f.finish()

    def _write_columns(self, name: str, into: bool) -> None:
        """Lines that are neighbors; what is written is multiplied by a table that lies alike, if there is one."""
        f = self.function(name, ["ptr", "ptr", "ptr", *["i64"] * 5])
        block, memory, table, n, lines, along, _, flip = f.params
        w = self.lanes
        count = f.mul(lines, f.index(2))
        masks = [self.mask(f, count, self.lanes), self.mask(f, f.sub(count, f.index(w)), w)]
        other = f.binary("xor", flip, f.index(1))

        def get(base: Value, start: Value) -> Pair:
            low, high = (
                self.load(f, self.at(f, base, f.add(start, f.index(w * v))), mask) for v, mask in enumerate(masks)
            )
            return f.shuffle(low, high, range(0, 2 * w, 2)), f.shuffle(low, high, range(1, 2 * w, 2))

        def element(k: Value, scaled: bool) -> None:
            start = f.mul(f.mul(k, along), f.index(2))
            slots = self._part(f, block, k, flip), self._part(f, block, k, other)
            if into:
                for slot, value in zip(slots, get(memory, start), strict=True):
                    f.store(value, slot, self.aligned)
                return
            if scaled:
                pair = Pairs(f).times(self._get(f, block, k), get(table, start))
                self._put(f, block, k, pair)
            real, imaginary = (f.load(self.kind, slot, self.aligned) for slot in slots)
            for v, mask in enumerate(masks):
                order = [lane for i in range(v * w // 2, (v + 1) * w // 2) for lane in (i, w + i)]
                target_at = self.at(f, memory, f.add(start, f.index(w * v)))
                self.store(f, f.shuffle(real, imaginary, order), target_at, mask)

        if into:
            with f.loop(f.index(0), n) as k:
                element(k, False)
            f.ret()
            f.finish()
            return
        plain, scaled, done = (f.new_block(hint) for hint in ("plain", "scaled", "done"))
        f.branch(f.icmp("eq", table, Value("null", "ptr")), plain, scaled)
        for block_name, is_scaled in ((plain, False), (scaled, True)):
            f.begin(block_name)
            with f.loop(f.index(0), n) as k:
                element(k, is_scaled)
            f.jump(done)
        f.begin(done)
        f.ret()
        f.finish()

    # The whole

    def _write_transform(self, name: str, linkage: str) -> None:
        """(input, output, buffers, roots, plan, table; lines, n; distances along and between lines of both; flip)."""
        f = self.function(name, ["ptr"] * 6 + ["i64"] * 7, linkage=linkage)
        given, result, buffers, roots, plan, table, lines, n, in_along, in_apart, out_along, out_apart, flip = f.params
        zero, one = f.index(0), f.index(1)
        space = f.mul(f.add(n, f.index(self.lanes)), f.index(2))
        second = f.element(buffers, space, self.kind)
        slots = {title: f.allocate(kind, align=8) for title, kind in SLOTS.items()}
        passes = f.load("i64", plan, 8)
        with f.loop(zero, lines, f.index(self.lanes)) as first:
            count = f.intrinsic("smin", f.sub(lines, first), f.index(self.lanes))
            start = f.mul(f.mul(first, in_apart), f.index(2))
            args = [buffers, self.at(f, given, start), Value("null", "ptr"), n, count, in_along, in_apart, flip]
            self._either(f, in_along, "read", args)
            for title, value in (("from", buffers), ("to", second), ("roots", roots), ("length", n), ("parts", one)):
                f.store(value, slots[title], 8)
            with f.loop(zero, passes) as number:
                radix = f.load("i64", f.element(plan, f.add(number, one), "i64"), 8)
                source, target, factors = (f.load("ptr", slots[t], 8) for t in ("from", "to", "roots"))
                length = f.binary("udiv", f.load("i64", slots["length"], 8), radix)
                parts = f.load("i64", slots["parts"], 8)
                for one_radix in RADICES:
                    with f.when(f.icmp("eq", radix, f.index(one_radix))):
                        f.call(f"pass_{one_radix}_{self.title}", "void", source, target, factors, length, parts)
                behind = f.mul(f.mul(length, f.sub(radix, one)), f.index(2))
                for title, value in (
                    ("from", target), ("to", source), ("roots", self.at(f, factors, behind)), ("length", length),
                    ("parts", f.mul(parts, radix)),
                ):  # fmt: skip
                    f.store(value, slots[title], 8)
            start = f.mul(f.mul(first, out_apart), f.index(2))
            at = self.at(f, table, start)
            scales = f.select(f.icmp("eq", table, Value("null", "ptr")), table, at)
            block = f.load("ptr", slots["from"], 8)
            args = [block, self.at(f, result, start), scales, n, count, out_along, out_apart, flip]
            self._either(f, out_along, "write", args)
        f.ret()
        f.finish()

    def _either(self, f: Function, along: Value, title: str, args: Sequence[Value]) -> None:
        rows, columns, done = (f.new_block(hint) for hint in ("rows", "columns", "moved"))
        f.branch(f.icmp("eq", along, f.index(1)), rows, columns)
        for block, part in ((rows, "rows"), (columns, "columns")):
            f.begin(block)
            f.call(f"{title}_{part}_{self.title}", "void", *args)
            f.jump(done)
        f.begin(done)


SLOTS = {"from": "ptr", "to": "ptr", "roots": "ptr", "length": "i64", "parts": "i64"}

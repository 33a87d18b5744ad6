"""Elements between memory and registers: one, or one for each lane of a vector, at any stride, masked or not."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from adjoint.compile.elements import from_memory, memory_type, register_type, to_memory
from adjoint.compile.ir import Function, Value, mangled, vector_of

Element: TypeAlias = Any  # Value, or (real, imaginary)

PARTS = {"complex64": "float", "complex128": "double"}


def component(dtype: np.dtype[Any]) -> str:
    """The type in memory of a number, or of one part of a complex one."""
    return PARTS.get(dtype.name) or memory_type(dtype)


def itemsize(dtype: np.dtype[Any]) -> int:
    return dtype.itemsize


class Step:
    """A distance between lanes that is known when the kernel runs."""

    def __init__(self, f: Function, value: Value) -> None:
        self.f, self.value = f, value

    def __rmul__(self, factor: int) -> Step:
        return Step(self.f, self.f.mul(self.value, self.f.index(factor)))


def load(
    f: Function, dtype: np.dtype[Any], base: Value, at: Value, stride: Any, width: int, mask: Value | None = None
) -> Element:
    """Elements at, at + stride, … of an array; lanes that the mask leaves out are zero. `at` is an i64."""
    if dtype.kind == "c":
        kind = component(dtype)
        if stride == 1 and mask is None and width > 1:
            both = f.load(vector_of(kind, 2 * width), f.element(base, f.mul(at, f.index(2)), kind), dtype.itemsize // 2)
            return (
                f.shuffle(both, None, range(0, 2 * width, 2)),
                f.shuffle(both, None, range(1, 2 * width, 2)),
            )
        first = f.mul(at, f.index(2))
        return (
            _numbers(f, kind, dtype.itemsize // 2, base, first, 2 * stride, width, mask),
            _numbers(f, kind, dtype.itemsize // 2, base, f.add(first, f.index(1)), 2 * stride, width, mask),
        )
    raw = _numbers(f, memory_type(dtype), dtype.itemsize, base, at, stride, width, mask)
    return from_memory(f, raw, dtype)


def _numbers(
    f: Function, kind: str, align: int, base: Value, at: Value, stride: Any, width: int, mask: Value | None
) -> Value:
    if width == 1:
        if mask is None:
            return f.load(kind, f.element(base, at, kind), align)
        return _load_guarded(f, kind, align, f.element(base, at, kind), mask)
    wide = vector_of(kind, width)
    if stride == 1:
        pointer = f.element(base, at, kind)
        if mask is None:
            return f.load(wide, pointer, align)
        return f.intrinsic(
            "masked.load",
            pointer,
            f.constant("i32", align),
            mask,
            f.constant(wide, 0),
            returns=wide,
            over=[wide, "ptr"],
        )
    if stride == -1 and mask is None:
        pointer = f.element(base, f.sub(at, f.index(width - 1)), kind)
        return f.shuffle(f.load(wide, pointer, align), None, range(width - 1, -1, -1))
    pointers = _pointers(f, kind, base, at, stride, width)
    mask = f.constant(vector_of("i1", width), 1) if mask is None else mask
    return f.intrinsic(
        "masked.gather", pointers, f.constant("i32", align), mask, f.constant(wide, 0),
        returns=wide, over=[wide, pointers.type],
    )  # fmt: skip


def _load_guarded(f: Function, kind: str, align: int, pointer: Value, mask: Value) -> Value:
    """A load that happens only where the mask holds; zero elsewhere."""
    spare = f.allocate(kind, align=8)
    f.store(f.constant(kind, 0), spare)
    return f.load(kind, f.select(mask, pointer, spare), align)


def _pointers(f: Function, kind: str, base: Value, at: Value, stride: Any, width: int) -> Value:
    steps = f.lane_numbers(width)
    if isinstance(stride, Step):
        steps = f.binary("mul", steps, f.spread(stride.value, width))
    elif isinstance(stride, int):
        steps = Value("<" + ", ".join(f"i64 {k * stride}" for k in range(width)) + ">", steps.type)
    positions = f.binary("add", f.spread(at, width), steps)
    return f._new(  # pyright: ignore[reportPrivateUsage]
        vector_of("ptr", width), f"getelementptr {kind}, ptr {base.text}, {positions.type} {positions.text}"
    )


def store(
    f: Function,
    dtype: np.dtype[Any],
    value: Element,
    base: Value,
    at: Value,
    stride: Any,
    width: int,
    mask: Value | None = None,
) -> None:
    """Put elements at, at + stride, … of an array."""
    if dtype.kind == "c":
        real, imag = value
        kind = component(dtype)
        first = f.mul(at, f.index(2))
        if stride == 1 and mask is None and width > 1:
            order = [lane for k in range(width) for lane in (k, width + k)]
            f.store(f.shuffle(real, imag, order), f.element(base, first, kind), dtype.itemsize // 2)
            return
        _put(f, kind, dtype.itemsize // 2, real, base, first, 2 * stride, width, mask)
        _put(f, kind, dtype.itemsize // 2, imag, base, f.add(first, f.index(1)), 2 * stride, width, mask)
        return
    raw = to_memory(f, value, dtype)
    _put(f, memory_type(dtype), dtype.itemsize, raw, base, at, stride, width, mask)


def _put(
    f: Function, kind: str, align: int, raw: Value, base: Value, at: Value, stride: Any, width: int, mask: Value | None
) -> None:
    if width == 1:
        if mask is None:
            f.store(raw, f.element(base, at, kind), align)
        else:
            with f.when(mask):
                f.store(raw, f.element(base, at, kind), align)
        return
    if stride == 1:
        pointer = f.element(base, at, kind)
        if mask is None:
            f.store(raw, pointer, align)
        else:
            f.call(
                f"llvm.masked.store.{mangled(raw.type)}.p0", "void", raw, pointer, f.constant("i32", align), mask,
                declared=True,
            )  # fmt: skip
        return
    pointers = _pointers(f, kind, base, at, stride, width)
    mask = f.constant(vector_of("i1", width), 1) if mask is None else mask
    f.call(
        f"llvm.masked.scatter.{mangled(raw.type)}.{mangled(pointers.type)}", "void", raw, pointers,
        f.constant("i32", align), mask, declared=True,
    )  # fmt: skip


def spread(f: Function, value: Element, width: int) -> Element:
    """The same element in every lane."""
    if isinstance(value, Value):
        return f.spread(value, width)
    return tuple(f.spread(part, width) for part in value)


def select(f: Function, condition: Value, yes: Element, no: Element) -> Element:
    """yes where the condition holds, else no."""
    if isinstance(yes, Value):
        return f.select(condition, yes, no)
    return tuple(f.select(condition, a, b) for a, b in zip(yes, no, strict=True))


def transpose(f: Function, lines: list[Value]) -> list[Value]:
    """Columns of a square of vectors, by exchanging blocks of 1, 2, 4 … lanes."""
    size = len(lines)
    block = 1
    while block < size:
        exchanged = list(lines)
        for i in (i for i in range(size) if not i & block):
            first, second = lines[i], lines[i + block]
            exchanged[i] = f.shuffle(first, second, [j if not j & block else size + j - block for j in range(size)])
            exchanged[i + block] = f.shuffle(
                first, second, [j + block if not j & block else size + j for j in range(size)]
            )
        lines, block = exchanged, 2 * block
    return lines


def lane(f: Function, value: Element, index: int) -> Element:
    if isinstance(value, Value):
        return f.lane(value, index)
    return tuple(f.lane(part, index) for part in value)


def shuffle(f: Function, value: Element, order: Any) -> Element:
    if isinstance(value, Value):
        return f.shuffle(value, None, order)
    return tuple(f.shuffle(part, None, order) for part in value)


def number(f: Function, dtype: np.dtype[Any], value: Any, width: int) -> Element:
    """A constant of a dtype, in every lane."""
    if dtype.kind == "c":
        kind = vector_of(component(dtype), width)
        z = complex(value)
        return f.constant(kind, z.real), f.constant(kind, z.imag)
    return f.constant(vector_of(register_type(dtype), width), value)


def load_at(f: Function, dtype: np.dtype[Any], base: Value, positions: Value, mask: Value | None) -> Element:
    """Elements at positions that differ lane by lane."""
    width = positions.width
    if width == 1:
        return load(f, dtype, base, positions, 1, 1, mask)
    if dtype.kind == "c":
        kind = component(dtype)
        doubled = f.binary("mul", positions, f.same(positions, 2))
        odd = f.binary("add", doubled, f.same(positions, 1))
        return tuple(_gather(f, kind, dtype.itemsize // 2, base, p, mask) for p in (doubled, odd))
    return from_memory(f, _gather(f, memory_type(dtype), dtype.itemsize, base, positions, mask), dtype)


def _gather(f: Function, kind: str, align: int, base: Value, positions: Value, mask: Value | None) -> Value:
    width = positions.width
    pointers = f._new(  # pyright: ignore[reportPrivateUsage]
        vector_of("ptr", width), f"getelementptr {kind}, ptr {base.text}, {positions.type} {positions.text}"
    )
    wide = vector_of(kind, width)
    mask = f.constant(vector_of("i1", width), 1) if mask is None else mask
    return f.intrinsic(
        "masked.gather", pointers, f.constant("i32", align), mask, f.constant(wide, 0),
        returns=wide, over=[wide, pointers.type],
    )  # fmt: skip

"""Loops over arrays around single elements: many of them compiled together, then each run on its arrays.

Every case is written twice, with one lane and with the lanes of a vector; both must agree with NumPy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from adjoint.compile.elements import from_memory, is_native, memory_type, to_memory, write
from adjoint.compile.ir import Function, Module, Value, vector_of
from adjoint.compile.machine import Loaded, compile_object
from adjoint.program.op import Op
from adjoint.program.types import type_of

WIDTHS = (1, 4)
ONCE = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}'  # what is unrolled takes longer to compile


@dataclass
class Case:
    """A primitive on arrays and numbers."""

    op: Op
    args: tuple[Any, ...]
    label: str
    weak: tuple[int, ...] = ()  # the arrays whose elements are Python's numbers

    @property
    def arrays(self) -> list[np.ndarray]:
        return [a for a in self.args if isinstance(a, np.ndarray)]


@dataclass
class Kernels:
    """Cases to be compiled in one module."""

    cases: list[Case] = field(default_factory=list)

    def add(self, op: Op, *args: Any, weak: tuple[int, ...] = ()) -> None:
        """A case; arrays of one length, and numbers."""
        kinds = ", ".join(str(a.dtype) if isinstance(a, np.ndarray) else repr(a) for a in args)
        self.cases.append(Case(op, args, f"{op}({kinds})", weak))

    def results(self) -> list[tuple[Case, list[np.ndarray]]]:
        """Each case with what its loops computed, one array for each width."""
        module = Module()
        module.parts["!0"] = ONCE
        for k, case in enumerate(self.cases):
            for width in WIDTHS:
                _write_loop(module, f"case{k}_{width}", case, width)
        loaded = Loaded(compile_object(str(module)))
        return [
            (case, [_run(loaded.address(f"case{k}_{width}"), case, width) for width in WIDTHS])
            for k, case in enumerate(self.cases)
        ]


def types_of(case: Case) -> tuple[list[Any], Any]:
    types = [replace(type_of(a), weak=True) if k in case.weak else type_of(a) for k, a in enumerate(case.args)]
    return types, case.op.result_type(*types)


def native(op: Op, *args: Any) -> bool:
    """Whether a primitive on these arrays and numbers is native."""
    types = [type_of(a) for a in args]
    numbers = [Value("", "") if isinstance(a, np.ndarray) else a for a in args]
    return is_native(op, types, op.result_type(*types), numbers)


def _write_loop(module: Module, name: str, case: Case, width: int) -> None:
    types, out = types_of(case)
    count = len(case.arrays)
    f = Function(module, name, ["ptr"] * (count + 1) + ["i64"], "void", linkage="")
    *pointers, target, n = f.params
    with f.loop(Value("0", "i64"), n, Value(str(width), "i64"), ", !llvm.loop !0") as i:
        places = iter(pointers)
        operands = [_load(f, next(places), i, a.dtype, width) if isinstance(a, np.ndarray) else a for a in case.args]
        _store(f, write(f, case.op, types, out, operands), target, i, out.dtype, width)
    f.ret()
    f.finish()


def _load(f: Function, pointer: Value, i: Value, dtype: np.dtype[Any], width: int) -> Any:
    kind = memory_type(dtype)
    if dtype.kind != "c":
        return from_memory(f, f.load(vector_of(kind, width), f.element(pointer, i, kind), dtype.itemsize), dtype)
    place = f.element(pointer, f.binary("mul", i, Value("2", "i64")), kind)
    if width == 1:
        return f.load(kind, place), f.load(kind, f.element(place, Value("1", "i64"), kind))
    both = f.load(vector_of(kind, 2 * width), place, dtype.itemsize // 2)
    return f.shuffle(both, None, range(0, 2 * width, 2)), f.shuffle(both, None, range(1, 2 * width, 2))


def _store(f: Function, z: Any, pointer: Value, i: Value, dtype: np.dtype[Any], width: int) -> None:
    kind = memory_type(dtype)
    if dtype.kind != "c":
        assert isinstance(z, Value)
        f.store(to_memory(f, z, dtype), f.element(pointer, i, kind), dtype.itemsize)
        return
    place = f.element(pointer, f.binary("mul", i, Value("2", "i64")), kind)
    for part, value in enumerate(z):
        for lane in range(width):
            at = f.element(place, Value(str(2 * lane + part), "i64"), kind)
            f.store(f.lane(value, lane), at, dtype.itemsize // 2)


def _run(address: int, case: Case, width: int) -> np.ndarray:
    n = len(case.arrays[0])
    padded = -(-n // width) * width
    arrays = [np.ascontiguousarray(np.resize(a, padded)) for a in case.arrays]
    out = np.empty(padded, types_of(case)[1].dtype)
    pointers = [a.ctypes.data for a in (*arrays, out)]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers), ctypes.c_int64)(address)(*pointers, padded)
    return out[:n]


def expected(case: Case) -> np.ndarray:
    """What NumPy computes."""
    with np.errstate(all="ignore"):
        return np.asarray(case.op.evaluate(*case.args))


def grid(*columns: Sequence[Any] | np.ndarray) -> list[np.ndarray]:
    """All combinations of the columns."""
    return [np.ascontiguousarray(m.ravel()) for m in np.meshgrid(*columns, indexing="ij")]


def special_values(dtype: Any) -> np.ndarray:
    """Numbers at which primitives are likely to go wrong."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        numbers = {0, 1, 2, 3, 5, 7, 10, 31, 32, 63, 64, 100, info.max // 2, info.max - 1, info.max}
        if dtype.kind == "i":
            numbers |= {-1, -2, -3, -7, info.min + 1, info.min}
        return np.array(sorted(numbers), dtype=dtype)
    if dtype.kind == "c":
        parts = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
        real, imag = grid(parts, parts)
        z = np.empty(real.size, dtype)
        z.real, z.imag = real, imag
        return z
    info = np.finfo(dtype)
    near = [1 + float(info.eps), 1 - float(info.epsneg), 0.1]
    extreme = [float(x) for x in (info.max, info.tiny, info.smallest_subnormal)]
    numbers = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 10.0, 1e4, *near, *extreme, np.inf]
    return np.array([*numbers, *(-x for x in numbers), np.nan]).astype(dtype)


def same(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Equal or both NaN, in both parts; zeros may differ in sign."""
    if wanted.dtype.kind == "c":
        return same(found.real, wanted.real) & same(found.imag, wanted.imag)
    if wanted.dtype.kind != "f":
        return found == wanted
    return (found == wanted) | (np.isnan(found) & np.isnan(wanted))


def check(kernels: Kernels, *, ulps: float = 0.0, zeros: bool = True) -> None:
    """Compare every case with NumPy: equal, or within some units in the last place; `zeros`: signs of zeros as well."""
    failures: list[str] = []
    for case, results in kernels.results():
        wanted = expected(case)
        for width, found in zip(WIDTHS, results):
            assert found.dtype == wanted.dtype, case.label
            good = same(found, wanted)
            if ulps:
                with np.errstate(all="ignore"):
                    good |= np.abs(found - wanted) <= ulps * np.spacing(np.abs(wanted))
            if zeros and wanted.dtype.kind == "f":
                good &= (wanted != 0) | (np.signbit(found) == np.signbit(wanted))
            if not good.all():
                k = int(np.argmin(good))
                at = [a[k] if isinstance(a, np.ndarray) else a for a in case.args]
                failures.append(
                    f"{case.label} in {width} lanes at {at}: {found[k]!r}, NumPy {wanted[k]!r} "
                    f"({np.count_nonzero(~good)} of {good.size})"
                )
    assert not failures, "\n".join(failures)


def check_complex(kernels: Kernels, *, ulps: float) -> None:
    """Compare every case with NumPy: |error| within some units of |result|; infinities and NaN in the same parts."""
    failures: list[str] = []
    for case, results in kernels.results():
        wanted = expected(case)
        for width, found in zip(WIDTHS, results):
            finite = np.isfinite(wanted) & np.isfinite(found)
            with np.errstate(all="ignore"):
                near = np.abs(found - wanted) <= ulps * np.spacing(np.abs(wanted))
            shown = [np.where(np.isfinite(p), 0.0, p) for z in (found, wanted) for p in (z.real, z.imag)]
            alike = same(shown[0], shown[2]) & same(shown[1], shown[3])
            good = np.where(finite, near, alike)
            if not good.all():
                k = int(np.argmin(good))
                at = [a[k] if isinstance(a, np.ndarray) else a for a in case.args]
                failures.append(
                    f"{case.label} in {width} lanes at {at}: {found[k]!r}, NumPy {wanted[k]!r} "
                    f"({np.count_nonzero(~good)} of {good.size})"
                )
    assert not failures, "\n".join(failures)

"""Objects put into memory without LLVM: the same answers as LLVM's own loader, and refusals of all that is unknown."""

import ctypes
import gc
import math
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjoint.compile import elf, machine

pytestmark = pytest.mark.skipif(not elf.is_known_system(), reason="another system has objects of another format")

TEXT = """
@counter = internal global i64 5
@zeros = internal global [100 x i64] zeroinitializer
@table = internal constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5], align 64
@first = internal constant ptr @twice
declare double @adjoint_test_outside(double)
declare double @cos(double)
define internal double @twice(double %x) noinline {
  %y = fadd double %x, %x
  ret double %y
}
define double @value(double %x, i64 %k) {
  %at = getelementptr double, ptr @table, i64 %k
  %entry = load double, ptr %at
  %f = load volatile ptr, ptr @first
  %doubled = call double %f(double %entry)
  %outside = call double @adjoint_test_outside(double %x)
  %cosine = call double @cos(double %x)
  %a = fadd double %doubled, %outside
  %b = fadd double %a, %cosine
  ret double %b
}
define i64 @count() {
  %old = load i64, ptr @counter
  %new = add i64 %old, 1
  store i64 %new, ptr @counter
  %zero = load i64, ptr getelementptr (i64, ptr @zeros, i64 99)
  %sum = add i64 %new, %zero
  ret i64 %sum
}
"""
Unary = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


@pytest.fixture(scope="module")
def content() -> bytes:
    return machine.compile_object(TEXT)


@pytest.fixture(scope="module")
def outside() -> Any:
    return Unary(math.sqrt)


def bound(outside: Any) -> dict[str, int]:
    return {"adjoint_test_outside": ctypes.cast(outside, ctypes.c_void_p).value or 0}


def test_code_constants_data_and_calls(content: bytes, outside: Any) -> None:
    image = elf.load(content, bound(outside))
    assert set(image.functions) == {"value", "count"}
    value = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)(image.functions["value"])
    for k, entry in enumerate((1.5, 2.5, 3.5, 4.5)):
        assert value(4.0, k) == 2 * entry + 2.0 + math.cos(4.0)
    count = ctypes.CFUNCTYPE(ctypes.c_int64)(image.functions["count"])
    assert [count(), count()] == [6, 7]
    other = elf.load(content, bound(outside))  # with data of its own
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(other.functions["count"])() == 6


def test_llvm_loads_what_is_not_known_here(content: bytes, outside: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = machine.Loaded(content, bound(outside))
    assert isinstance(ours._functions, dict)
    monkeypatch.setattr(elf, "_KINDS", {})
    theirs = machine.Loaded(content, bound(outside))
    assert theirs._functions is None
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)
    assert kind(ours.address("value"))(2.0, 1) == kind(theirs.address("value"))(2.0, 1)
    for code in (ours, theirs):
        with pytest.raises(KeyError, match="no function other"):
            code.address("other")


def test_pages_of_code_are_not_written_to(content: bytes, outside: Any) -> None:
    image = elf.load(content, bound(outside))
    address = image.functions["value"]
    rights = {}
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, flags = line.split()[:2]
        start, stop = (int(part, 16) for part in span.split("-"))
        rights[start, stop] = flags
    first, last = image.owner.address, image.owner.address + image.owner.size
    own = {flags for (start, stop), flags in rights.items() if start < last and stop > first}
    assert own == {"r-xp", "r--p", "rw-p"}
    assert next(flags for (start, stop), flags in rights.items() if start <= address < stop) == "r-xp"


def test_memory_is_given_back(content: bytes, outside: Any) -> None:
    def mapped() -> int:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")

    elf.load(content, bound(outside))
    gc.collect()
    before = mapped()
    for _ in range(500):
        elf.load(content, bound(outside))
    gc.collect()
    assert mapped() - before < 500_000


def test_a_function_that_is_nowhere(content: bytes) -> None:
    with pytest.raises(elf.Unknown, match="adjoint_test_outside: not found"):
        elf.load(content, {})


@pytest.mark.parametrize("keep", [0, 3, 40, 63, 64, 200, -1])
def test_objects_that_are_cut_off(content: bytes, outside: Any, keep: int) -> None:
    with pytest.raises(elf.Unknown):
        elf.load(content[:keep] if keep >= 0 else content[: len(content) - 64], bound(outside))


def test_objects_for_other_machines(content: bytes, outside: Any) -> None:
    for at, kind, value in ((4, "B", 1), (5, "B", 2), (16, "H", 2), (18, "H", 183)):
        changed = bytearray(content)
        struct.pack_into(f"<{kind}", changed, at, value)
        with pytest.raises(elf.Unknown, match="not an object for this system"):
            elf.load(bytes(changed), bound(outside))


def test_many_relocations() -> None:
    count = 3000
    lines = "\n".join(f"  %v{k + 1} = fadd double %v{k}, {1.0 + k / 4096!r}" for k in range(count))
    content = machine.compile_object(f"define double @sum(double %v0) {{\n{lines}\n  ret double %v{count}\n}}")
    image = elf.load(content, {})
    function = Unary(image.functions["sum"])
    expected = 0.5
    for k in range(count):
        expected += 1.0 + k / 4096
    assert function(0.5) == expected


def test_addresses_that_do_not_fit_are_refused() -> None:
    pages = np.zeros(64, np.uint8)
    rows = np.array([(8, 2, 1, 0)], elf._RELOCATION)
    elf._relocate(pages, rows, np.array([0, 2**30]), 0, 2**30)
    assert pages[8:12].view("<i4")[0] == 2**30 - (2**30 + 8)
    with pytest.raises(elf.Unknown, match="too far"):
        elf._relocate(pages, rows, np.array([0, 2**40]), 0, 2**30)

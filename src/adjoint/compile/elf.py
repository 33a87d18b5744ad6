"""Object files put into memory without LLVM, whose library alone takes longer to load than the rest of a first call.

LLVM writes objects for Linux on x86-64 in the ELF format: sections of code, constants and data, a table of symbols, and
*relocations*, the positions where addresses of symbols S (plus an addend A) go,

    S + A  in 8 or 4 bytes,     S + A - P  relative to the position P itself.

What is not known here raises `Unknown`; LLVM's own loader then does it.
"""

# pyright: basic

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
import weakref
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

_HEADER = struct.Struct("<4sBBB9xHH4xQQQ4xHHHHHH")
_SECTION = np.dtype(
    [
        *[("name", "<u4"), ("type", "<u4"), ("flags", "<u8"), ("address", "<u8"), ("offset", "<u8"), ("size", "<u8")],
        *[("link", "<u4"), ("info", "<u4"), ("align", "<u8"), ("entry", "<u8")],
    ]
)
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_RELOCATION = np.dtype([("offset", "<u8"), ("type", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])

_RELOCATABLE, _X86_64 = 1, 62
_BITS, _SYMBOLS, _ADDENDS, _NOTHING, _NO_ADDENDS, _UNWIND = 1, 2, 4, 8, 9, 0x70000001  # types of sections
_WRITE, _ALLOCATE, _EXECUTE, _THREADS = 1, 2, 4, 0x400  # flags of sections
_UNDEFINED, _SPECIAL, _ABSOLUTE = 0, 0xFF00, 0xFFF1  # sections of symbols
_THREAD_LOCAL, _INDIRECT = 6, 10  # types of symbols
# relocations: (bytes, relative, signed)
_KINDS = {
    1: (8, False, True),
    2: (4, True, True),
    4: (4, True, True),
    10: (4, False, False),
    11: (4, False, True),
    24: (8, True, True),
}


class Unknown(Exception):
    """The object, or the system, is not one that this file knows."""


class Image(NamedTuple):
    """Code in memory; `owner` gives it back when it goes."""

    owner: Any
    functions: dict[str, int]


class _Memory:
    """Pages of memory; only when the interpreter ends they stay, since their code may still be called."""

    def __init__(self, size: int) -> None:
        system = _system()
        rights, kind = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        address = system.mmap(None, size, rights, kind, -1, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            raise Unknown("no memory for machine code")
        self.address, self.size = address, size
        weakref.finalize(self, system.munmap, address, size).atexit = False

    def protect(self, start: int, stop: int, rights: int) -> None:
        if stop > start and _system().mprotect(self.address + start, stop - start, rights) != 0:
            raise Unknown("the system does not let memory be code")


@cache
def _system() -> ctypes.CDLL:
    system = ctypes.CDLL(None)
    system.mmap.restype = ctypes.c_void_p
    system.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    system.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    system.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return system


@cache
def is_known_system() -> bool:
    """Whether objects of this system are those that are known here."""
    return sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize > 2**32


def load(content: bytes, symbols: Mapping[str, int]) -> Image:
    """An object in memory, its undefined symbols bound to these addresses, or else to the functions of the process."""
    try:
        return _load(content, symbols)
    except (IndexError, ValueError, KeyError, struct.error, OverflowError) as problem:
        raise Unknown(f"an object that cannot be read: {problem}") from problem


def _load(content: bytes, symbols: Mapping[str, int]) -> Image:
    sections = _sections(content)
    starts, limits = _lay_out(sections)
    memory = _Memory(limits[-1])
    content_of_pages: Any = (ctypes.c_uint8 * limits[-1]).from_address(memory.address)
    pages = np.frombuffer(content_of_pages, np.uint8)
    for k, start in starts.items():
        if sections["type"][k] == _BITS:
            offset, size = int(sections["offset"][k]), int(sections["size"][k])
            pages[start : start + size] = np.frombuffer(content, np.uint8, size, offset)
    (table,) = np.flatnonzero(sections["type"] == _SYMBOLS)
    values, functions = _addresses(content, sections, int(table), starts, memory.address, symbols)
    for section in sections:
        target = int(section["info"])
        if section["type"] == _NO_ADDENDS or (section["type"] == _ADDENDS and section["link"] != table):
            raise Unknown("relocations of another form")
        if section["type"] == _ADDENDS and target in starts:
            _relocate(pages, _rows(content, section, _RELOCATION), values, starts[target], memory.address)
    for start, stop, rights in zip((0, *limits), limits, (mmap.PROT_EXEC, 0), strict=False):
        memory.protect(start, stop, mmap.PROT_READ | rights)
    return Image(memory, functions)


def _sections(content: bytes) -> np.ndarray[Any, Any]:
    magic, width, order, *_ = fields = _HEADER.unpack_from(content)
    kind, machine, _entry, _programs, at, _size, _, _, size, count, _names = fields[4:]
    if (magic, width, order, kind, machine, size) != (b"\x7fELF", 2, 1, _RELOCATABLE, _X86_64, _SECTION.itemsize):
        raise Unknown("not an object for this system")
    return np.frombuffer(content, _SECTION, count, at)


def _lay_out(sections: np.ndarray[Any, Any]) -> tuple[dict[int, int], list[int]]:
    """Where each section starts, and where code, constants and data end: pages are of one kind alone."""
    page, at = mmap.PAGESIZE, 0
    starts: dict[int, int] = {}
    limits: list[int] = []
    flags = sections["flags"]
    kept = (flags & _ALLOCATE != 0) & (sections["type"] != _UNWIND)
    if np.any(flags[kept] & _THREADS) or not np.all(np.isin(sections["type"][kept], (_BITS, _NOTHING))):
        raise Unknown("sections of a kind that is not known")
    is_code, is_data = flags & _EXECUTE != 0, flags & _WRITE != 0
    if np.any(is_code & is_data):
        raise Unknown("code that is written to")
    for group in (is_code, ~is_code & ~is_data, is_data):
        for k in np.flatnonzero(kept & group):
            align = max(int(sections["align"][k]), 1)
            if align > page or align & (align - 1):
                raise Unknown("sections at addresses that cannot be had")
            starts[int(k)] = at = -(-at // align) * align
            at += int(sections["size"][k])
        limits.append(at := -(-at // page) * page)
    if not at:
        raise Unknown("nothing to be kept in memory")
    return starts, limits


def _rows(content: bytes, section: Any, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if int(section["entry"]) != kind.itemsize:
        raise Unknown("tables of another form")
    return np.frombuffer(content, kind, int(section["size"]) // kind.itemsize, int(section["offset"]))


def _addresses(
    content: bytes,
    sections: np.ndarray[Any, Any],
    table: int,
    starts: Mapping[int, int],
    base: int,
    symbols: Mapping[str, int],
) -> tuple[np.ndarray[Any, Any], dict[str, int]]:
    """The addresses of all symbols, and those of the functions that the object defines for others, by name."""
    rows = _rows(content, sections[table], _SYMBOL)
    texts = int(sections["offset"][sections["link"][table]])
    values = np.zeros(len(rows), np.int64)
    functions: dict[str, int] = {}
    for k, (at, info, _, section, value, _) in enumerate(rows.tolist()):
        if not k:
            continue  # stands for none
        name = content[texts + at : content.index(b"\0", texts + at)].decode()
        if info & 15 in (_THREAD_LOCAL, _INDIRECT):
            raise Unknown(f"{name}: a symbol of a kind that is not known")
        if section == _UNDEFINED:
            values[k] = symbols[name] if name in symbols else _process_address(name)
        elif section == _ABSOLUTE:
            values[k] = value
        elif section >= _SPECIAL:
            raise Unknown(f"{name}: a symbol in a section that is not known")
        elif section in starts:
            values[k] = base + starts[section] + value
            if info >> 4:  # seen from outside
                functions[name] = int(values[k])
    return values, functions


def _process_address(name: str) -> int:
    function = getattr(_system(), name, None) if name != "_GLOBAL_OFFSET_TABLE_" else None
    if function is None:
        raise Unknown(f"{name}: not found in this process")
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _relocate(
    pages: np.ndarray[Any, Any], rows: np.ndarray[Any, Any], values: np.ndarray[Any, Any], start: int, base: int
) -> None:
    for kind in sorted(set(rows["type"].tolist())):
        if kind not in _KINDS:
            raise Unknown(f"relocations of type {kind}")
        size, relative, signed = _KINDS[kind]
        own = rows[rows["type"] == kind]
        positions = own["offset"].astype(np.int64) + start
        found = values[own["symbol"]] + own["addend"] - (positions + base if relative else 0)
        least, most = (-(2**31), 2**31) if signed else (0, 2**32)
        if size == 4 and (np.any(found < least) or np.any(found >= most)):
            raise Unknown("an address that is too far away")
        pages[positions[:, None] + np.arange(size)] = found.view(np.uint8).reshape(-1, 8)[:, :size]

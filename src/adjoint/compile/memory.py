"""Buffers in the workspace of a kernel: allocated and freed while code is emitted, so that memory is used again."""

from __future__ import annotations

import math
import os
from functools import cache
from typing import Any

ALIGNMENT = 64  # bytes: one cache line


class Arena:
    """Offsets into the workspace. `size` is how much it must hold."""

    def __init__(self) -> None:
        self.size: Any = 0
        self._free: list[tuple[Any, Any]] = []  # (offset, size), by offset, never adjacent

    def allocate(self, nbytes: Any) -> Any:
        """An offset for so many bytes: the first gap that is large enough, or the end."""
        need = _round_up(nbytes)
        for k, (offset, size) in enumerate(self._free):
            if size >= need:
                self._free[k : k + 1] = [(offset + need, size - need)] if size > need else []
                return offset
        offset = self.size
        if self._free and sum(self._free[-1]) == offset:  # the last gap can grow
            offset = self._free.pop()[0]
        self.size = offset + need
        return offset

    def free(self, offset: Any, nbytes: Any) -> None:
        """The buffer is free again."""
        size = _round_up(nbytes)
        gaps = sorted([*self._free, (offset, size)])
        merged: list[tuple[Any, Any]] = []
        for start, length in gaps:
            if merged and sum(merged[-1]) == start:
                merged[-1] = (merged[-1][0], merged[-1][1] + length)
            else:
                merged.append((start, length))
        self._free = merged


@cache
def most_bytes() -> int:
    """How large memory may become whose size is found while a kernel runs: nine tenths of what the machine has."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 2**46
    return physical * 9 // 10


def _round_up(nbytes: Any) -> Any:
    """Whole cache lines; of a size that is known at run time, multiples of the widest number."""
    if type(nbytes) is int:
        return -(-nbytes // ALIGNMENT) * ALIGNMENT
    common = math.gcd(8, *[c for _, c in nbytes.polynomial])
    return nbytes * (8 // common)

"""What the user calls a value: the name that the statement at a place in the code assigns it to."""

from __future__ import annotations

import dis
import functools
import itertools
from types import CodeType

from adjoint.base.source import Location

__all__ = ["label"]

_STORES = {"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"}
_BETWEEN = {"CACHE", "EXTENDED_ARG", "NOP", "RESUME", "PRECALL", "COPY"}


def label(location: Location | str | None) -> str:
    """The name that the value computed at `location` is bound to; "" when it is part of a larger expression."""
    if not isinstance(location, Location):
        return ""
    return _names(location.code).get(location.lasti, "")


@functools.lru_cache(maxsize=256)
def _names(code: CodeType) -> dict[int, str]:
    """For each instruction whose result is stored next: the name."""
    names: dict[int, str] = {}
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _BETWEEN]
    for one, after in itertools.pairwise(instructions):
        if after.opname in _STORES:
            name = after.argval
        elif after.opname in ("STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST"):  # Python 3.13
            name = after.argval[0] if isinstance(after.argval, tuple) else str(after.argval)
        else:
            continue
        # while a Python function runs, its caller may stand anywhere behind the call, as far as the next instruction
        names.update(dict.fromkeys(range(one.offset, after.offset, 2), name))
    return names

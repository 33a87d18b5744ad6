"""The names that a function's code mentions: globals, attributes, and what it writes."""

from __future__ import annotations

import dis
import functools
from collections.abc import Sequence
from types import CodeType
from typing import Any, NamedTuple

_WRITES = ("STORE_ATTR", "DELETE_ATTR")
_ELSEWHERE = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_NAME", "IMPORT_NAME", *_WRITES)
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_READS = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_SUPER_ATTR", *_ATTRIBUTES)
_LOGGING = frozenset(["append", "extend", "appendleft", "extendleft", "add", "update"])

# Who has one of these may read attributes under names that do not stand in its code, or ask whether there is one.
_ANY_NAME_GLOBALS = frozenset(
    (
        *("getattr", "hasattr", "setattr", "delattr", "vars", "dir", "attrgetter", "operator", "inspect", "pickle"),
        *("copy", "deepcopy", "dataclasses", "asdict", "astuple", "fields", "replace"),
        *("AttributeError", "Exception", "BaseException", "suppress", "contextlib"),
    )
)
_ANY_NAME_ATTRIBUTES = frozenset(["__dict__", "__getattribute__", "__getstate__", "__reduce_ex__", "__slots__"])
ANY_NAME_FUNCTIONS: tuple[Any, ...] = (getattr, hasattr, setattr, delattr, vars, dir)


class Mentions(NamedTuple):
    """What stands in the code of a function, and of the functions inside it."""

    global_names: tuple[str, ...]
    attributes: frozenset[str]  # that it may read: `a.name`, and the texts of `getattr(a, "name")`
    read: frozenset[str]  # names of variables and attributes that are more than logs: `a` in `a[0]`
    written_attributes: frozenset[str]
    written_cells: frozenset[str]
    written_globals: frozenset[str]
    is_any: bool  # attributes of names that are not known may be read


@functools.lru_cache(maxsize=1024)
def mentions(code: CodeType) -> Mentions:
    """The names in a code."""
    instructions = list(dis.get_instructions(code))

    def arguments(*operations: str) -> list[Any]:
        return [i.argval for i in instructions if i.opname in operations]

    texts = {text for text in code.co_consts if isinstance(text, str) and text.isidentifier()}
    attributes = {i.argval for i in instructions if i.opname not in _ELSEWHERE and i.opcode in dis.hasname} | texts
    names = arguments("LOAD_GLOBAL", "LOAD_NAME")
    if "type" in names:
        attributes.add("__class__")
    read = {i.argval for n, i in enumerate(instructions) if i.opname in _READS and not _is_log(instructions[n + 1 :])}
    is_any = not _ANY_NAME_GLOBALS.isdisjoint(names) or not _ANY_NAME_ATTRIBUTES.isdisjoint(attributes)
    is_any = is_any or any(i.opname == "MATCH_CLASS" for i in instructions)  # `case Point(0, y)` names no attributes
    inner = [mentions(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return Mentions(
        tuple(dict.fromkeys([*names, *[name for one in inner for name in one.global_names]])),
        frozenset[str](attributes).union(*[one.attributes for one in inner]),
        frozenset[str](read | texts).union(*[one.read for one in inner]),
        frozenset[str](arguments(*_WRITES)).union(*[one.written_attributes for one in inner]),
        frozenset[str](arguments("STORE_DEREF", "DELETE_DEREF")).union(*[one.written_cells for one in inner]),
        frozenset[str](arguments("STORE_GLOBAL", "DELETE_GLOBAL")).union(*[one.written_globals for one in inner]),
        is_any or any(one.is_any for one in inner),
    )


def _is_log(following: Sequence[dis.Instruction]) -> bool:
    """Whether what was loaded is only written to: `a.append(x)`, `a["name"] = x`."""
    first, second = (*following[:2], None, None)[:2]
    if first is None:
        return False
    if first.opname in _ATTRIBUTES:
        return first.argval in _LOGGING
    return second is not None and first.opname.startswith("LOAD_") and second.opname == "STORE_SUBSCR"

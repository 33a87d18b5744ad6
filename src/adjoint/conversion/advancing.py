"""What moves on when it is asked and cannot be put back: iterators, generators, files, Python's random generators.

A body that is traced once asks for one item in place of all, and an iteration that is taken back has lost its own. So
a branch or a body in which such a thing of outside moves on is not kept: the loop stays Python's own.
"""

from __future__ import annotations

import sys
from typing import Any

from adjoint.conversion.joining import NoBlock
from adjoint.conversion.log import CONTAINERS, active_log, note_container

# classes of C and of Python's own library whose methods give the same again, by module; None: builtins
_STILL_MODULES = frozenset({
    "adjoint", "contextvars", "datetime", "decimal", "enum", "fractions", "functools", "logging", "numbers", "numpy",
    "operator", "_operator", "pathlib", "re", "_sre", "scipy", "statistics", "string", "threading", "_thread", "time",
    "types", "typing", "uuid", "weakref", "zoneinfo", "ipaddress", "dataclasses", "inspect", "ast",
})  # fmt: skip
_STILL = (
    *(str, bytes, int, float, complex, tuple, frozenset, range, slice, type, memoryview, BaseException),
    *(staticmethod, classmethod, property, type(None), type(lambda: None), type(len), type({}.keys())),
    *(type({}.values()), type({}.items()), type(type.__dict__)),
)
_WRITING = frozenset({"write", "writelines", "flush"})  # what a stream is told is no matter of numbers
_MOVING_MODULES = frozenset({"random", "queue", "csv", "io", "tempfile", "shelve", "multiprocessing", "tokenize"})


def _count(value: Any) -> int:
    return sys.getrefcount(value)


def _calibrate() -> int:
    """The references of an argument that nobody else holds; 0 where they do not tell it from a variable's."""
    named = iter(())
    alone, held = _count(iter(())), _count(named)
    return alone if alone < held else 0


_ALONE = _calibrate()


def note_mover(thing: Any) -> Any:
    """An iterator is made here: what is inside the innermost branch, body or iteration is nobody else's."""
    log = active_log()
    if log is not None:
        log.made[id(thing)] = thing
    return thing


def is_alone(references: int, thing: Any) -> bool:
    """Whether an argument, seen with so many references in the function that it was given to, has no other name."""
    log = active_log()
    while log is not None:
        references -= id(thing) in log.made
        log = log.outer
    return references == _ALONE


def advance(thing: Any) -> None:
    """Something is about to move on: what is traced and did not make it is refused, what is tried is kept."""
    log = active_log()
    while log is not None and id(thing) not in log.made:
        if log.is_region:
            raise NoBlock(f"{_name(thing)} of outside moves on in it")
        log.has_moved = True
        log = log.outer


def advance_owner(owner: Any, method: str) -> None:
    """A method of an object is about to be called, which is no user's: a container is noted, others may move on."""
    if isinstance(owner, CONTAINERS):
        note_container(owner)
    elif method not in _WRITING and _may_move(owner):
        advance(owner)


def _may_move(owner: Any) -> bool:
    kind = type(owner)
    if hasattr(kind, "__next__"):
        return True
    if isinstance(owner, _STILL):
        return False
    family = kind.__module__.partition(".")[0]
    if family in _MOVING_MODULES or family.lstrip("_") in _MOVING_MODULES:
        return True
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return not file.endswith(".py") and family not in _STILL_MODULES


def _name(thing: Any) -> str:
    return f"an object of {type(thing).__name__}"

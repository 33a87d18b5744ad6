"""The `for` and `while` loops of user code, read from its source."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

from adjoint.base.source import Location, line

__all__ = ["Loop", "loops_around"]

_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


@dataclass(frozen=True)
class Loop:
    """A `for` or `while`: its lines, how it begins, and the names that its iterations bind, without loops inside it."""

    first: int
    last: int
    text: str
    names: tuple[str, ...] = ()


# Code objects by identity: their own hashes go over all of their constants. They are held, so that identities stay.
_known: dict[tuple[int, int], tuple[CodeType, list[Loop]]] = {}


def loops_around(location: Location) -> list[Loop]:
    """The loops that a place in the code stands in, outermost first."""
    key = id(location.code), location.lasti
    known = _known.get(key)
    if known is None:
        if len(_known) > 50_000:
            _known.clear()
        number = line(location)
        loops = [loop for loop in _loops(location.code) if loop.first <= number <= loop.last]
        known = _known[key] = location.code, loops
    return known[1]


@functools.lru_cache(maxsize=256)
def _loops(code: CodeType) -> tuple[Loop, ...]:
    """The loops in the code of a function, outermost first; () when its source is not to be had."""
    try:
        source, start = inspect.getsourcelines(code)
        parsed = ast.parse(textwrap.dedent("".join(source)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return ()
    first = 1 if code.co_name == "<module>" else max(start, 1)
    result: list[Loop] = []
    for node in ast.walk(parsed):
        if isinstance(node, ast.For | ast.While):
            text = ast.unparse(node).split(":\n")[0]
            body_end = node.body[-1].end_lineno or node.lineno
            result.append(Loop(first + node.lineno - 1, first + body_end - 1, text, _find_bound(node)))
    return tuple(sorted(result, key=lambda loop: (loop.first, -loop.last)))


def _find_bound(loop: ast.For | ast.While) -> tuple[str, ...]:
    """The names that an iteration binds, but those that loops inside it bind as well."""
    head = [loop.target] if isinstance(loop, ast.For) else [loop.test]
    own, inner = set[str](), set[str]()
    for part in (*head, *loop.body):
        for node, inside in _find_stored(part, False):
            (inner if inside else own).add(node.id)
    return tuple(sorted(own - inner))


def _find_stored(node: ast.AST, inside: bool) -> Iterator[tuple[ast.Name, bool]]:
    """Every name that is assigned to, and whether in a loop."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node, inside
    if not isinstance(node, _Scope):
        inside = inside or isinstance(node, ast.For | ast.While)
        for part in ast.iter_child_nodes(node):
            yield from _find_stored(part, inside)

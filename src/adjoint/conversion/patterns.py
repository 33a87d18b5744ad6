"""The patterns of `match`: no expressions, but the names of classes in them take traced values as `isinstance` does.

match x:                        match last(c := class(float), x):
    case float(v): …                case c(v): …
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from adjoint.conversion.jumps import at, read


def matched(node: ast.Match, new_name: Callable[[str], str], visit: Callable[[ast.expr], ast.expr]) -> ast.expr:
    """The subject of a match, behind the classes of all patterns, which are given names of ours."""
    named: list[ast.expr] = []
    for pattern in [p for case in node.cases for p in ast.walk(case.pattern) if isinstance(p, ast.MatchClass)]:
        name = new_name("class")
        asking = ast.Call(read("ad·class"), [pattern.cls], [])
        named.append(at(ast.NamedExpr(ast.Name(name, ast.Store()), asking), pattern))
        pattern.cls = at(read(name), pattern)
    subject = visit(node.subject)
    return at(ast.Call(read("ad·last"), [*named, subject], []), node.subject) if named else subject

"""The source of a function: its node in the syntax tree of its file, found by the positions in its code.

A file is parsed once. What is found is compiled as it stands and compared with the code of the function: a file that
was edited since it was imported is not taken for the source of what runs.
"""

from __future__ import annotations

import ast
import linecache
import threading
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeAlias

from adjoint.base.forking import free_in_child

FunctionNode: TypeAlias = ast.FunctionDef | ast.Lambda
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
SCOPES_OF_EXPRESSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Found(NamedTuple):
    """A function in a file, and the name of the class whose body it stands in."""

    node: FunctionNode
    owner: str | None


class SourceFile:
    """The functions of one file, by their first line."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.functions: dict[int, list[Found]] = {}
        try:
            tree = ast.parse("".join(lines))
        except (SyntaxError, ValueError, RecursionError):
            return
        self._visit(tree, None)

    def _visit(self, node: ast.AST, owner: str | None) -> None:
        waiting: list[tuple[ast.AST, str | None]] = [(node, owner)]
        while waiting:
            parent, owner = waiting.pop()
            for child in ast.iter_child_nodes(parent):
                if isinstance(child, ast.FunctionDef | ast.Lambda):
                    decorators = getattr(child, "decorator_list", [])
                    first = min([child.lineno, *[d.lineno for d in decorators]])
                    self.functions.setdefault(first, []).append(Found(child, owner))
                inside = isinstance(child, ast.ClassDef)
                waiting.append((child, child.name if inside else owner))  # type: ignore[union-attr]


_files: dict[str, SourceFile] = {}
_lock = free_in_child(threading.RLock())


def find(function: FunctionType) -> Found | None:
    """Where a function stands in its file; None where there is no source, or another one by now."""
    code = function.__code__
    name = code.co_filename
    with _lock:
        lines = linecache.getlines(name, function.__globals__)
        if not lines:
            return None
        known = _files.get(name)
        if known is None or known.lines is not lines:
            known = _files[name] = SourceFile(lines)
    candidates = known.functions.get(code.co_firstlineno, [])
    for found in candidates:
        if is_source_of(found, code):
            return found
    if "@pytest_ar" in function.__globals__:  # pytest has rewritten the asserts of this file
        named = [f for f in candidates if not isinstance(f.node, ast.Lambda) and f.node.name == code.co_name]
        return next((f for f in named if any(isinstance(n, ast.Assert) for n in ast.walk(f.node))), None)
    return None


def find_converted(function: FunctionType) -> Found | None:
    """Where a function that stands inside a converted one has its source: by its first line, its name and positions."""
    code = function.__code__
    known = _files.get(code.co_filename)
    candidates = [] if known is None else known.functions.get(code.co_firstlineno, [])
    if code.co_name != "<lambda>":
        named = [f for f in candidates if not isinstance(f.node, ast.Lambda) and f.node.name == code.co_name]
        return named[0] if len(named) == 1 else None
    inside = [f for f in candidates if isinstance(f.node, ast.Lambda) and _surrounds(f.node, code)]
    return max(inside, key=lambda f: (f.node.lineno, f.node.col_offset), default=None)


def _surrounds(node: ast.Lambda, code: CodeType) -> bool:
    begin, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    return all(begin <= (line or 0, column or 0) < end for line, _, column, _ in _positions(code))


def is_source_of(found: Found, code: CodeType) -> bool:
    """Whether a node is what a code object was compiled from."""
    node = found.node
    if isinstance(node, ast.Lambda) != (code.co_name == "<lambda>"):
        return False
    if not isinstance(node, ast.Lambda) and node.name != code.co_name:
        return False
    arguments = node.args
    named = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    if len(named) != code.co_argcount or len(arguments.kwonlyargs) != code.co_kwonlyargcount:
        return False
    try:
        made = compile_node(node, found.owner, code.co_freevars, code)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return _same(made, code)


def _same(a: CodeType, b: CodeType) -> bool:
    """Whether two codes do the same at the same positions.

    Instructions may differ: Python calls attributes of imported modules in another way than those of other objects.
    """
    if set(a.co_names) != set(b.co_names) or a.co_varnames != b.co_varnames or len(a.co_consts) != len(b.co_consts):
        return False
    if _positions(a) != _positions(b):
        return False
    for x, y in zip(a.co_consts, b.co_consts, strict=True):
        if isinstance(x, CodeType) and isinstance(y, CodeType):
            if not _same(x, y):
                return False
        elif type(x) is not type(y) or (x != y and x == x and not _is_same_class(x, y)):
            return False
    return True


def _is_same_class(a: Any, b: Any) -> bool:
    """Whether two constants are the qualified name of one class, which stands inside a function."""
    inside = isinstance(a, str) and isinstance(b, str) and LOCALS in a and LOCALS in b
    return inside and a.rpartition(LOCALS)[2] == b.rpartition(LOCALS)[2]


def _positions(code: CodeType) -> set[Any]:
    """Where the instructions stand; those that Python adds at the beginning belong to the decorators."""
    return {position for position in code.co_positions() if position[3]}


LOCALS = ".<locals>."
FACTORY, FUNCTION = "ad·factory", "ad·function"


def compile_node(node: FunctionNode, owner: str | None, free: Any, like: CodeType, added: Any = ()) -> CodeType:
    """The code of a function whose free variables are these names, with the file name and the flags of another code."""
    arguments = _without_defaults(node.args)
    body: ast.stmt
    if isinstance(node, ast.Lambda):
        body = ast.copy_location(ast.Expr(ast.copy_location(ast.Lambda(arguments, node.body), node)), node)
    else:
        # under another name: its own, inside, is a global or a variable outside
        body = ast.copy_location(ast.FunctionDef(FUNCTION, arguments, node.body, [], None, None), node)
    if owner is not None:  # for names that begin with two underscores, which Python writes with the name of the class
        owner = f"___{owner.lstrip('_')}"
        body = ast.copy_location(ast.ClassDef(owner, [], [], [body], []), node)
    names = [name for name in dict.fromkeys([*free, *added]) if owner is None or name != "__class__"]
    given = [ast.copy_location(ast.arg(name), node) for name in names]
    outer = ast.FunctionDef(FACTORY, ast.arguments([], given, None, [], [], None, []), [body], [], None)
    module = ast.Module([ast.copy_location(outer, node)], [])
    if added:  # rewritten, with new nodes inside
        ast.fix_missing_locations(module)
    made = compile(module, like.co_filename, "exec", like.co_flags & 0x1FF0000, dont_inherit=True)
    path = [
        FACTORY,
        *([owner] if owner is not None else []),
        like.co_name if isinstance(node, ast.Lambda) else FUNCTION,
    ]
    for name in path:
        made = next(c for c in made.co_consts if isinstance(c, CodeType) and c.co_name == name)
    return made


def _without_defaults(arguments: ast.arguments) -> ast.arguments:
    """The same parameters; the values of defaults, and annotations, are those of the function itself."""
    none: Any = ast.Constant(None)
    bare = lambda a: ast.copy_location(ast.arg(a.arg), a)
    return ast.arguments(
        [bare(a) for a in arguments.posonlyargs],
        [bare(a) for a in arguments.args],
        arguments.vararg and bare(arguments.vararg),
        [bare(a) for a in arguments.kwonlyargs],
        [d and ast.copy_location(none, d) for d in arguments.kw_defaults],
        arguments.kwarg and bare(arguments.kwarg),
        [ast.copy_location(ast.Constant(None), d) for d in arguments.defaults],
    )

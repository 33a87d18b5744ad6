"""What statements do with names: which they bind and read, which are live behind them, which are surely assigned.

The statements are those of one function after `jumps` has lowered them: no return, break or continue is left in what
will become a block. Names that functions inside read are live everywhere: they may be called at any time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from adjoint.conversion.source import SCOPES, SCOPES_OF_EXPRESSIONS

JUMPS = (ast.Return, ast.Break, ast.Continue)
LOOPS = (ast.For, ast.While)
_STATEMENTS = ("body", "orelse", "handlers", "finalbody", "cases")  # where statements hold others
_MATCH_NAMES = ("name", "rest")  # where the patterns of `match` hold the names that they bind


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly inside one; without those that have nothing inside: contexts and operators."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [part for part in value if isinstance(part, ast.AST)]  # pyright: ignore[reportOptionalIterable]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def walk_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes that belong to the same scope; of a function or class inside, only itself."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, SCOPES):
            waiting += getattr(node, "decorator_list", [])
            arguments = getattr(node, "args", None)
            waiting += [] if arguments is None else [d for d in (*arguments.defaults, *arguments.kw_defaults) if d]
        else:
            waiting += children(node)


def bound_names(nodes: Iterable[ast.AST]) -> list[str]:
    """Names that statements bind, in their scope, in order of the first appearance."""
    names: dict[str, int] = {}
    for node in walk_scope(nodes):
        for name in _bound_by(node):
            position = (getattr(node, "lineno", 0) << 16) + getattr(node, "col_offset", 0)
            names[name] = min(position, names.get(name, position))
    return sorted(names, key=lambda name: names[name])


def _bound_by(node: ast.AST) -> Sequence[str]:
    if isinstance(node, ast.Name):
        binds = not isinstance(node.ctx, ast.Load) and not getattr(node, "of_comprehension", False)
        return (node.id,) if binds else ()
    if isinstance(node, ast.expr):
        return ()
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.ExceptHandler) and node.name:
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return [name for field in _MATCH_NAMES if isinstance(name := getattr(node, field, None), str) and _is_pattern(node)]


def _is_pattern(node: ast.AST) -> bool:
    return isinstance(node, ast.MatchAs | ast.MatchStar | ast.MatchMapping)


def mark_comprehensions(node: ast.AST) -> None:
    """Note which names are variables of comprehensions: they are bound in these alone."""
    for comprehension in ast.walk(node):
        if isinstance(comprehension, SCOPES_OF_EXPRESSIONS):
            for generator in comprehension.generators:
                for name in ast.walk(generator.target):
                    if isinstance(name, ast.Name):
                        name.of_comprehension = True  # type: ignore[attr-defined]


def read_names(node: ast.AST) -> set[str]:
    """Names that are read anywhere inside, also by functions inside."""
    names: set[str] = set()
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, ast.Name):
            if not isinstance(inner.ctx, ast.Store):
                names.add(inner.id)
            continue
        if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name):
            names.add(inner.target.id)
        waiting += children(inner)
    return names


def names_of_inner_functions(body: Sequence[ast.stmt]) -> set[str]:
    """Names that functions and comprehensions inside read or write: a call may do it at any time."""
    names: set[str] = set()
    for node in walk_scope(body):
        if isinstance(node, SCOPES):
            names |= read_names(node) | {
                name for n in ast.walk(node) if isinstance(n, ast.Nonlocal) for name in n.names
            }
    return names


def shared_across_blocks(body: Sequence[ast.stmt]) -> set[str]:
    """Names that a function inside reads or writes, and that are bound in another block than it stands in.

    A block will be a function with variables of its own. What stands in one block from beginning to end stays there;
    all else is written through an object that every function sees. A function that may live longer than its block (it
    is appended to a list, returned, assigned to an attribute) sees the variable, not what it was then.
    """
    homes: dict[str, set[int]] = {}
    readers: dict[str, set[int]] = {}
    waiting: list[tuple[ast.AST, int, bool]] = [(s, 0, False) for s in body]
    while waiting:
        node, home, is_argument = waiting.pop()
        for name in _bound_by(node):
            homes.setdefault(name, set()).add(home)
        if isinstance(node, SCOPES):
            outlives = -1 if isinstance(node, ast.Lambda) and not is_argument and home else home
            written = {name for n in ast.walk(node) if isinstance(n, ast.Nonlocal) for name in n.names}
            for name in read_names(node) | written:
                readers.setdefault(name, set()).add(outlives)
            for name in written:
                homes.setdefault(name, set()).add(-1)
            continue
        if isinstance(node, ast.If):
            waiting.append((node.test, home, False))
            waiting += [(s, id(node.body), False) for s in node.body] + [
                (s, id(node.orelse), False) for s in node.orelse
            ]
        elif isinstance(node, LOOPS):
            head = [node.iter] if isinstance(node, ast.For) else []
            waiting += [(n, home, False) for n in (*head, *node.orelse)]
            inside = [node.target, *node.body] if isinstance(node, ast.For) else [node.test, *node.body]
            waiting += [(n, id(node), False) for n in inside]
        else:
            called = isinstance(node, ast.Call) and not (
                isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "add", "insert", "appendleft")
            )
            keyword = isinstance(node, ast.keyword) and is_argument
            waiting += [(child, home, called or keyword) for child in ast.iter_child_nodes(node)]
    return {name for name, where in readers.items() if _apart(homes.get(name), where)}


def _apart(homes: set[int] | None, readers: set[int]) -> bool:
    """Whether a variable that is bound at these blocks, and read by functions in those, is shared between blocks."""
    if homes is None or homes == {0}:  # bound by the function itself: blocks inside read it as any function does
        return False
    return len(homes | readers) > 1


def has_jumps(nodes: Iterable[ast.AST], kinds: tuple[type[ast.AST], ...] = JUMPS, *, of_loops: bool = False) -> bool:
    """Whether statements jump out of themselves: by a return, or a break or continue of a loop around them."""
    for node in nodes:
        if isinstance(node, kinds) and not (of_loops and isinstance(node, ast.Break | ast.Continue)):
            return True
        if isinstance(node, SCOPES):
            continue
        for part in _STATEMENTS:  # no expression jumps
            inner = getattr(node, part, None)
            is_body = part == "body" and isinstance(node, LOOPS)
            if inner and has_jumps(inner, kinds, of_loops=of_loops or is_body):
                return True
    return False


def always_jumps(body: Sequence[ast.stmt]) -> bool:
    """Whether no path reaches the end of statements."""
    return any(
        isinstance(s, (*JUMPS, ast.Raise))
        or (isinstance(s, ast.If) and always_jumps(s.body) and always_jumps(s.orelse))
        for s in body
    )


def live_before(body: Sequence[ast.stmt], after: set[str]) -> set[str]:
    """Names whose values are read from the beginning of statements on; `after`: from their end on."""
    live = set(after)
    for statement in reversed(body):
        read, written = _effect(statement)
        live = (live - written) | read
    return live


def live_behind_each(body: Sequence[ast.stmt], after: set[str]) -> list[set[str]]:
    """The names that are live behind each of some statements."""
    lives: list[set[str]] = []
    live = set(after)
    for statement in reversed(body):
        lives.append(live)
        read, written = _effect(statement)
        live = (live - written) | read
    return lives[::-1]


Effect = tuple[frozenset[str], frozenset[str]]
_NOTHING: frozenset[str] = frozenset()


def _effect(statement: ast.stmt) -> Effect:
    """(names that are read before they are written, names that are surely written): (live - written) | read before it.

    It is computed once for each statement, before it is rewritten, and remembered in the node.
    """
    known: Effect | None = getattr(statement, "effect", None)
    if known is None:
        known = _effect_of(statement)
        statement.effect = known  # type: ignore[attr-defined]
    return known


def _effect_of(statement: ast.stmt) -> Effect:
    if isinstance(statement, ast.If):
        then, other = _effect_of_all(statement.body), _effect_of_all(statement.orelse)
        return then[0] | other[0] | read_names(statement.test), then[1] & other[1]
    if isinstance(statement, ast.While):  # what an iteration writes may not be written, and the next one reads
        return _effect_of_all(statement.body)[0] | read_names(statement.test) | _flags(statement), _NOTHING
    if isinstance(statement, ast.For):
        inside = _effect_of_all(statement.body)[0] - set(bound_names([statement.target]))
        return inside | read_names(statement.iter) | read_names(statement.target) | _flags(statement), _NOTHING
    sure: Iterable[str] = ()
    if isinstance(statement, ast.Assign):
        sure = [n.id for target in statement.targets for n in _plain_targets(target)]
    elif isinstance(statement, ast.FunctionDef):
        sure = [statement.name]
    elif isinstance(statement, ast.Try):  # Python deletes what `except … as` names at the end of the handler
        plain = [*statement.body, *statement.orelse, *statement.finalbody]
        caught = [read_names(h) - {h.name} for h in statement.handlers]
        return frozenset[str]().union(*map(read_names, plain), *caught), _NOTHING
    return frozenset(read_names(statement)), frozenset(sure)


def _flags(loop: ast.While | ast.For) -> frozenset[str]:
    """The flags that end a loop: they are asked before its first iteration."""
    return frozenset(getattr(loop, "stops", ()))


def _effect_of_all(body: Sequence[ast.stmt]) -> Effect:
    read, written = _NOTHING, _NOTHING
    for statement in reversed(body):
        first, sure = _effect(statement)
        read, written = (read - sure) | first, written | sure
    return read, written


def _plain_targets(target: ast.expr) -> Iterator[ast.Name]:
    if isinstance(target, ast.Name):
        yield target
    elif isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _plain_targets(part)
    elif isinstance(target, ast.Starred):
        yield from _plain_targets(target.value)


def mark_unsure(body: Sequence[ast.stmt], local: set[str], assigned: set[str]) -> set[str]:
    """Mark reads of local names that may not be assigned by then; returns those that surely are at the end."""
    assigned = set(assigned)
    for statement in body:
        assigned = _mark_one(statement, local, assigned)
    return assigned


def _mark_one(statement: ast.stmt, local: set[str], assigned: set[str]) -> set[str]:
    if isinstance(statement, ast.If):
        _mark_reads([statement.test], local, assigned)
        then, other = (mark_unsure(part, local, assigned) for part in (statement.body, statement.orelse))
        return then & other
    if isinstance(statement, ast.While):
        _mark_reads([statement.test], local, assigned)
        mark_unsure(statement.body, local, assigned)
        return assigned
    if isinstance(statement, ast.For):
        _mark_reads([statement.iter], local, assigned)
        mark_unsure(statement.body, local, assigned | set(bound_names([statement.target])))
        return assigned
    if isinstance(statement, ast.With):
        _mark_reads([*statement.items], local, assigned)
        return mark_unsure(statement.body, local, assigned | set(bound_names([*statement.items])))
    if isinstance(statement, ast.Try | ast.Match):
        for part in _parts(statement):
            mark_unsure(part, local, assigned)
        return assigned
    _mark_reads([statement], local, assigned)
    if isinstance(statement, ast.Delete):
        return assigned - set(bound_names([statement]))
    return assigned | set(bound_names([statement]))


def _parts(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The statements inside a compound one."""
    if isinstance(statement, ast.Match):
        return [case.body for case in statement.cases]
    assert isinstance(statement, ast.Try)
    return [statement.body, *[h.body for h in statement.handlers], statement.orelse, statement.finalbody]


def _mark_reads(nodes: Sequence[ast.AST], local: set[str], assigned: set[str]) -> None:
    for node in walk_scope(nodes):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in local - assigned:
            node.unsure = True  # type: ignore[attr-defined]
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in local - assigned:
            node.unsure = True  # type: ignore[attr-defined]

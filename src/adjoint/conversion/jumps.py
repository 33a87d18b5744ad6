"""Return, break and continue as flags, so that every statement has one way in and one way out.

    if p: return a          if p: value = a
    rest                    else: rest

    for x in xs:            broke = False
        if p: break         for x in xs:              (the loop ends when `broke` holds)
        rest                    if p: broke = True
                                else: rest

What stands behind a statement that may jump goes into the branch that does not, or under a test of the flags.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeVar

from adjoint.conversion.names import JUMPS, LOOPS, always_jumps, children, has_jumps, walk_scope
from adjoint.conversion.source import SCOPES

VALUE, RETURNED, UNDEFINED = "ad·value", "ad·returned", "ad·undefined"
N = TypeVar("N", bound=ast.AST)
_REFUSED = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Global, ast.Nonlocal)


def at(made: N, like: ast.AST) -> N:
    """A new node at the position of another one, with all new ones inside it; what has a position is left alone."""
    waiting: list[ast.AST] = [made]
    while waiting:
        node = waiting.pop()
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            ast.copy_location(node, like)
        elif hasattr(node, "lineno") and node is not made:
            continue
        waiting += children(node)
    return made


def read(name: str) -> ast.Name:
    """A name that is read."""
    return ast.Name(name, ast.Load())


def assign(name: str, value: ast.expr, like: ast.AST) -> ast.Assign:
    """name = value."""
    return at(ast.Assign([ast.Name(name, ast.Store())], value), like)


def can_be_block(statement: ast.stmt) -> bool:
    """Whether an if or a loop may become functions: nothing inside jumps out of a try or with, nothing is yielded."""
    for node in walk_scope([statement]):
        if isinstance(node, _REFUSED):
            return False
        if isinstance(node, ast.Try | ast.With | ast.Match) and has_jumps([node]):
            return False
        if isinstance(node, ast.Delete) and any(isinstance(t, ast.Name) for t in node.targets):
            return False
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("locals", "exec", "eval")
        ):
            return False
    return True


class JumpLowering:
    """Lowers the statements of one function."""

    def __init__(self) -> None:
        self.flags = 0

    def lower_function(self, body: Sequence[ast.stmt], like: ast.AST) -> list[ast.stmt]:
        """The body of a function without returns inside blocks."""
        inside = [
            s for s in body if isinstance(s, (ast.If, *LOOPS)) and can_be_block(s) and has_jumps([s], (ast.Return,))
        ]
        if not inside:
            return self.lower(list(body), None)
        first = [assign(VALUE, read(UNDEFINED), like), assign(RETURNED, ast.Constant(value=False), like)]
        last = at(ast.Return(ast.Call(read("ad·returned_value"), [read(VALUE)], [])), like)
        return [*first, *self.lower(list(body), None), last]

    def lower(self, body: list[ast.stmt], loop: tuple[str, str] | None) -> list[ast.stmt]:
        """Statements without jumps; `loop` has the names of the flags of the innermost loop: broke, skipped."""
        out: list[ast.stmt] = []
        for number, statement in enumerate(body):
            rest = body[number + 1 :]
            if isinstance(statement, JUMPS) and (loop is not None or self._in_block):
                return [*out, *self._flagged(statement, loop)]
            # a loop around it that stays Python's keeps its own jumps
            is_left = loop is None and has_jumps([statement], (ast.Break, ast.Continue))
            if isinstance(statement, (ast.If, *LOOPS)) and can_be_block(statement) and not is_left:
                made, finished = self._lower_block(statement, rest, loop)
                out += made
                if finished:
                    return out
            else:
                out.append(self._lower_inside(statement, loop))
        return out

    _in_block = False

    def _flagged(self, statement: ast.stmt, loop: tuple[str, str] | None) -> list[ast.stmt]:
        true: ast.expr = ast.Constant(value=True)
        if isinstance(statement, ast.Return):
            value = statement.value if statement.value is not None else ast.Constant(None)
            return [assign(VALUE, value, statement), assign(RETURNED, true, statement)]
        assert loop is not None
        return [assign(loop[0] if isinstance(statement, ast.Break) else loop[1], true, statement)]

    def _lower_block(
        self, statement: ast.stmt, rest: list[ast.stmt], loop: tuple[str, str] | None
    ) -> tuple[list[ast.stmt], bool]:
        """What stands for an if or a loop, and whether the rest is in it."""
        before, self._in_block = self._in_block, True
        try:
            if isinstance(statement, ast.If):
                return self._lower_if(statement, rest, loop)
            assert isinstance(statement, ast.For | ast.While)
            return self._lower_loop(statement, rest, loop)
        finally:
            self._in_block = before

    def _lower_if(
        self, statement: ast.If, rest: list[ast.stmt], loop: tuple[str, str] | None
    ) -> tuple[list[ast.stmt], bool]:
        body, other = statement.body, statement.orelse
        if not has_jumps([statement]):
            return [at(ast.If(statement.test, self.lower(body, loop), self.lower(other, loop)), statement)], False
        if not rest or always_jumps(body) or always_jumps(other):
            body = body if always_jumps(body) else [*body, *rest]
            other = (
                other if always_jumps(other) else [*other, *rest] if always_jumps(statement.body) or not rest else other
            )
            return [
                at(ast.If(statement.test, self._some(body, loop, statement), self.lower(other, loop)), statement)
            ], True
        first = at(ast.If(statement.test, self._some(body, loop, statement), self.lower(other, loop)), statement)
        flags = self._flags_of(statement, loop)
        return [first, self._unless(flags, rest, loop)], True

    def _some(self, body: list[ast.stmt], loop: tuple[str, str] | None, like: ast.AST) -> list[ast.stmt]:
        return self.lower(body, loop) or [at(ast.Pass(), like)]

    def _flags_of(self, statement: ast.stmt, loop: tuple[str, str] | None) -> list[str]:
        """The flags that jumps out of a statement set."""
        flags = [RETURNED] if has_jumps([statement], (ast.Return,)) else []
        if loop is not None:
            flags += [loop[0]] if has_jumps([statement], (ast.Break,)) else []
            flags += [loop[1]] if has_jumps([statement], (ast.Continue,)) else []
        return flags

    def _lower_loop(
        self, statement: ast.For | ast.While, rest: list[ast.stmt], loop: tuple[str, str] | None
    ) -> tuple[list[ast.stmt], bool]:
        self.flags += 1
        broke, skipped = f"ad·broke{self.flags}", f"ad·skipped{self.flags}"
        breaks, returns = has_jumps(statement.body, (ast.Break,)), has_jumps(statement.body, (ast.Return,))
        stops = [flag for flag, used in ((broke, breaks), (RETURNED, returns)) if used]
        body = self._some(statement.body, (broke, skipped), statement)
        if has_jumps(statement.body, (ast.Continue,)):
            body = [assign(skipped, ast.Constant(value=False), statement), *body]
        test: ast.expr | None = None
        made: ast.For | ast.While
        if isinstance(statement, ast.While):
            test = statement.test
            if any(isinstance(node, ast.NamedExpr) for node in ast.walk(test)):  # it binds a name: part of the body
                if not breaks:
                    stops, breaks = [broke, *stops], True
                leave = at(
                    ast.If(ast.UnaryOp(ast.Not(), test), [assign(broke, ast.Constant(value=True), test)], body), test
                )
                body, test = list[ast.stmt]([leave]), at(ast.Constant(value=True), test)
            made = at(ast.While(test, body, []), statement)
        else:
            made = at(ast.For(statement.target, statement.iter, body, []), statement)
        made.stops = stops  # type: ignore[union-attr]
        out: list[ast.stmt] = [assign(broke, ast.Constant(value=False), statement)] if breaks else []
        out.append(made)
        if returns and not breaks and isinstance(test, ast.Constant) and test.value:
            return [*out, *_known_value(statement)], True  # it ends by a return alone
        if statement.orelse:
            orelse = self._some(statement.orelse, loop, statement.orelse[0])
            guard = [*stops]
            out += orelse if not guard else [at(ast.If(_none_of(guard), orelse, []), statement.orelse[0])]
            returns = returns or has_jumps(statement.orelse)
        if returns and rest:
            flags = self._flags_of(statement, loop) or [RETURNED]
            return [*out, self._unless(flags, rest, loop)], True
        return out, False

    def _unless(self, flags: list[str], rest: list[ast.stmt], loop: tuple[str, str] | None) -> ast.stmt:
        """The rest, where none of the flags is set; where the function has returned, its value is known to be there."""
        known: list[ast.stmt] = []
        if flags == [RETURNED]:
            known = _known_value(rest[0])
        return at(ast.If(_none_of(flags), self._some(rest, loop, rest[0]), known), rest[0])

    def _lower_inside(self, statement: ast.stmt, loop: tuple[str, str] | None) -> ast.stmt:
        """A statement that stays what it is; the statements inside it are lowered."""
        if isinstance(statement, SCOPES) or (has_jumps([statement]) and not self._in_block):
            return statement
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(statement, field, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                setattr(statement, field, self.lower(inner, loop) or [at(ast.Pass(), statement)])
        for handler in getattr(statement, "handlers", ()):
            handler.body = self.lower(handler.body, loop) or [at(ast.Pass(), statement)]
        for case in getattr(statement, "cases", ()):
            case.body = self.lower(case.body, loop) or [at(ast.Pass(), statement)]
        return statement


def _known_value(like: ast.AST) -> list[ast.stmt]:
    """The function has returned here."""
    value = ast.Call(read("ad·surely"), [read(VALUE)], [])
    return [assign(VALUE, value, like), assign(RETURNED, ast.Constant(value=True), like)]


def _none_of(flags: Sequence[str]) -> ast.expr:
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), read(flag)) for flag in flags]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)

"""If, while and for as functions of the variables that they write, so that a traced truth value can choose.

    if p:                      def then(y): y = 2 * y; return (y,)
        y = 2 * y              def other(y): return (y,)
                               (y,) = if(p, then, other, (y,), ("y",))

    while y < 10:              def test(y): return y < 10
        y = 2 * y              def body(y): y = 2 * y; return (y,)
                               (y,) = while(test, body, (y,), ("y",))

What is passed in and out is what is written inside and live around it. While truth values are plain these calls are
Python's own statements.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from adjoint.conversion.jumps import UNDEFINED, JumpLowering, assign, at, can_be_block, read
from adjoint.conversion.names import (
    bound_names,
    has_jumps,
    live_before,
    live_behind_each,
    mark_comprehensions,
    mark_unsure,
    names_of_inner_functions,
    shared_across_blocks,
    walk_scope,
)
from adjoint.conversion.patterns import matched
from adjoint.conversion.rewriting import ExpressionRewriter, catches_division, cell_name, clone_expression, helper
from adjoint.conversion.source import FunctionNode

_GENERATOR = (ast.Yield, ast.YieldFrom, ast.Await)
_FRAME = ("locals", "exec", "eval", "vars")  # functions that read the variables of the frame they are called in


def clone(node: Any) -> Any:
    """A copy of a node that may be changed."""
    if isinstance(node, list):
        return [clone(part) for part in node]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)(**{name: clone(getattr(node, name, None)) for name in node._fields})
    for name in node._attributes:
        if hasattr(node, name):
            setattr(made, name, getattr(node, name))
    return made


class FunctionRewriter(ExpressionRewriter):
    """Rewrites whole functions, those inside them too."""

    def rewrite(self, node: FunctionNode) -> FunctionNode:
        """A function, rewritten; the node given is not changed."""
        made: FunctionNode = clone(node)
        mark_comprehensions(made)
        return self.rewrite_lambda(made) if isinstance(made, ast.Lambda) else self.rewrite_function(made)

    def rewrite_lambda(self, node: ast.Lambda) -> ast.Lambda:
        """A lambda: its expression alone."""
        before, self.first_parameter = self.first_parameter, _first_parameter(node.args) or self.first_parameter
        node.body = self.visit(node.body)
        self.first_parameter = before
        return node

    def rewrite_function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A function: its statements lowered, its blocks made functions."""
        outer = self.cells, self.first_parameter, self.native, self.written_into
        parameters = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        declared = {name for n in walk_scope(node.body) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
        self.first_parameter = _first_parameter(node.args)
        self.written_into = frozenset(_written_into(node.body))
        flat = self.native and not _is_generator(node) and not _reads_frame(node)
        self.native = self.native and not _reads_frame(node)
        shared = names_of_inner_functions(node.body)
        self.cells = declared & set(bound_names(node.body))
        if flat:
            self.cells |= shared_across_blocks(node.body)
        if flat:
            lowered = JumpLowering().lower_function(node.body, node)
            local = set(bound_names(lowered)) - declared - parameters
            mark_unsure(lowered, local, set(parameters))
            always = shared | self.cells
            body = self.block(lowered, always, parameters)
        else:
            body = self.visit_all(node.body)
        node.body = [*self._declarations(node, declared), *self._cell_objects(node, parameters, declared), *body]
        self.cells, self.first_parameter, self.native, self.written_into = outer
        return node

    def _declarations(self, node: ast.FunctionDef, declared: set[str]) -> list[ast.stmt]:
        """Global and nonlocal statements come first: what we add stands behind them."""
        found = [s for s in node.body if isinstance(s, ast.Global | ast.Nonlocal)]
        return [clone(s) for s in found] if declared else []

    def _cell_objects(self, node: ast.FunctionDef, parameters: set[str], declared: set[str]) -> list[ast.stmt]:
        """For each shared variable that is written: an object by which it is read, written and put back."""
        out: list[ast.stmt] = []
        for name in sorted(self.cells):
            scope = "global" if _is_global(node, name) else "nonlocal"
            if name not in parameters and name not in declared:
                out.append(assign(name, read(UNDEFINED), node))
            text = f"def ad·set_{name}(ad·new):\n {scope} {name}\n {name} = ad·new"
            setter = _positioned(ast.parse(text).body[0], node)
            getter = _positioned(ast.parse(f"lambda: {name}", mode="eval").body, node)
            call = helper("cell", getter, read(f"ad·set_{name}"), ast.Constant(name), like=node)  # type: ignore[arg-type]
            out += [setter, assign(cell_name(name), call, node)]  # type: ignore[list-item]
        return out

    # ------------------------------------------------------------------ scopes

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        made = self.rewrite_function(node)
        if node.name not in self.cells:
            return made
        store = ast.Call(ast.Attribute(read(cell_name(node.name)), "store", ast.Load()), [read(node.name)], [])
        return [made, at(ast.Expr(store), node)]

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return self.rewrite_lambda(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        node.body = [self.rewrite_function(s) if isinstance(s, ast.FunctionDef) else s for s in node.body]
        return node

    def visit_Global(self, node: ast.Global) -> Any:
        return at(ast.Pass(), node)  # it stands at the beginning of the function

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        return at(ast.Pass(), node)

    # ------------------------------------------------------------------ blocks

    def block(self, body: Sequence[ast.stmt], after: set[str], known: Iterable[str]) -> list[ast.stmt]:
        """Statements of a function or block; `after` is live behind them, `known` names need no first value."""
        out: list[ast.stmt] = []
        passed: set[str] = set()
        for statement, live in zip(body, live_behind_each(body, after), strict=True):
            if isinstance(statement, ast.If | ast.While | ast.For) and can_be_block(statement):
                made, names = self._made(statement, live)
                passed |= names
                out += made
            elif isinstance(statement, ast.With | ast.Try | ast.Match):
                out.append(self._compound(statement, live, passed))
            else:
                visited: Any = self.visit(statement)
                out += visited if isinstance(visited, list) else [visited]
        passed -= {*known, *self.cells}
        first = sorted(passed & set(bound_names(body))) if passed else []
        return [*[assign(name, read(UNDEFINED), body[0]) for name in first], *out]

    def visit_For(self, node: ast.For) -> Any:
        """A loop that stays Python's own."""
        self.generic_visit(node)
        node.iter = self.iterated(node.iter)
        if self._is_plain(node.target):
            return node
        name = self.new_name("item")
        node.body[:0] = self._spread(node.target, read(name), node)
        node.target = at(ast.Name(name, ast.Store()), node.target)
        return node

    def visit_If(self, node: ast.If) -> Any:
        """An if outside of blocks: of an assert, or in a function that stays as it is."""
        if self.native and not has_jumps([node]) and not bound_names([node]) and can_be_block(node):
            return self._made(node, set())[0]
        self.generic_visit(node)
        node.test = self.asked(node.test)
        return node

    def visit_While(self, node: ast.While) -> Any:
        """A loop that stays Python's own."""
        self.generic_visit(node)
        node.test = self.asked(node.test)
        return node

    def _compound(self, statement: ast.With | ast.Try | ast.Match, live: set[str], passed: set[str]) -> ast.stmt:
        """With, try, match stay what they are; blocks inside them are blocks."""
        inside = live | {name for n in walk_scope([statement]) if isinstance(n, ast.Name) for name in [n.id]}
        if has_jumps([statement]):
            return self.visit(statement)

        def inner(body: list[ast.stmt]) -> list[ast.stmt]:
            made = self.block(body, inside, bound_names(body))
            passed.update(bound_names(body))
            return made

        if isinstance(statement, ast.With):
            statement.items = [self.visit(item) for item in statement.items]
            statement.body = inner(statement.body)
        elif isinstance(statement, ast.Match):
            statement.subject = matched(statement, self.new_name, self.visit)
            for case in statement.cases:
                case.guard = self.visit(case.guard) if case.guard is not None else None
                case.body = inner(case.body)
        else:
            before, self.in_try = self.in_try, self.in_try or catches_division(statement)
            statement.body = [self.tried(statement, inner(statement.body))]
            self.in_try = before
            statement.orelse = inner(statement.orelse)
            statement.finalbody = inner(statement.finalbody)
            for handler in statement.handlers:
                kinds = clone_expression(handler.type) if handler.type is not None else ast.Constant(None)
                handler.body = [at(ast.Expr(helper("caught", kinds, like=handler)), handler), *inner(handler.body)]
        return statement

    def _made(self, statement: ast.If | ast.While | ast.For, live: set[str]) -> tuple[list[ast.stmt], set[str]]:
        """What stands for an if or a loop, and the names that are passed to it."""
        if isinstance(statement, ast.If):
            return self._made_if(statement, live)
        names = [name for name in bound_names([statement]) if name not in self.cells]
        around = live_before([statement], live) | live
        stops: list[str] = getattr(statement, "stops", [])
        state = [name for name in names if name in around or name in stops]
        state += [name for name in stops if name not in state]
        positions = ast.Tuple([ast.Constant(state.index(name)) for name in stops], ast.Load())
        body_name = self.new_name("body")
        again = around | set(state)
        if isinstance(statement, ast.While):
            test_name = self.new_name("test")
            test = at(ast.Return(self.asked(self.visit(statement.test))), statement.test)
            functions = [
                _function(test_name, state, [test], statement.test),
                self._function(body_name, state, statement.body, state, again, statement),
            ]
            call = helper(
                "while", read(test_name), read(body_name), _names(state), _texts(state), positions, like=statement
            )
            return [*functions, _assigned(state, call, statement)], set(state)
        item = self.new_name("item")
        step = [at(ast.Assign([statement.target], read(item)), statement.target), *statement.body]
        made = self._function(body_name, [item, *state], step, state, again, statement)
        items = self.iterated(self.visit(statement.iter))
        call = helper("for", items, read(body_name), _names(state), _texts(state), positions, like=statement)
        return [made, _assigned(state, call, statement)], set(state)

    def _made_if(self, statement: ast.If, live: set[str]) -> tuple[list[ast.stmt], set[str]]:
        names = [name for name in bound_names([*statement.body, *statement.orelse]) if name not in self.cells]
        outs = [name for name in names if name in live]
        before = live_before(statement.body, live) | live_before(statement.orelse, live)
        ins = [name for name in names if name in before]
        then, other = self.new_name("then"), self.new_name("else")
        test = self.asked(self.visit(statement.test))
        functions = [
            self._function(then, ins, statement.body, outs, live, statement),
            self._function(other, ins, statement.orelse, outs, live, statement),
        ]
        call = helper("if", test, read(then), read(other), _names(ins), _texts(outs), like=statement)
        return [*functions, _assigned(outs, call, statement)], {*ins, *outs}

    def _function(
        self, name: str, ins: list[str], body: list[ast.stmt], outs: list[str], after: set[str], like: ast.stmt
    ) -> ast.stmt:
        """def name(ins): body; return (outs)."""
        made = self.block(body, after | set(outs), [*ins, *outs]) if body else []
        first = [assign(n, read(UNDEFINED), like) for n in outs if n not in ins]
        return _function(name, ins, [*first, *made, at(ast.Return(_names(outs)), like)], like)


def _function(name: str, parameters: list[str], body: list[ast.stmt], like: ast.AST) -> ast.FunctionDef:
    arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    return at(ast.FunctionDef(name, arguments, body, [], None, None), like)


def _names(names: Sequence[str]) -> ast.Tuple:
    return ast.Tuple([read(name) for name in names], ast.Load())


def _texts(names: Sequence[str]) -> ast.Tuple:
    return ast.Tuple([ast.Constant(name) for name in names], ast.Load())


def _assigned(names: Sequence[str], call: ast.expr, like: ast.stmt) -> ast.stmt:
    if not names:
        return at(ast.Expr(call), like)
    return at(ast.Assign([ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())], call), like)


def _positioned(node: ast.AST, like: ast.AST) -> ast.AST:
    for inner in ast.walk(node):
        if "lineno" in inner._attributes:
            ast.copy_location(inner, like)
    return node


def _first_parameter(arguments: ast.arguments) -> str | None:
    named = [*arguments.posonlyargs, *arguments.args]
    return named[0].arg if named else None


def _is_generator(node: ast.FunctionDef) -> bool:
    return any(isinstance(n, _GENERATOR) for n in walk_scope(node.body))


def _reads_frame(node: ast.FunctionDef) -> bool:
    calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    return any(isinstance(f, ast.Name) and f.id in _FRAME for f in calls)


def _is_global(node: ast.FunctionDef, name: str) -> bool:
    return any(isinstance(n, ast.Global) and name in n.names for n in walk_scope(node.body))


def _written_into(body: Sequence[ast.stmt]) -> set[str]:
    """Names of what is written to by items or in place, also by the name of a view."""
    nodes = list(walk_scope(body))
    targets = [n.value for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)]
    targets += [n.target for n in nodes if isinstance(n, ast.AugAssign)]
    names = {t.id for t in targets if isinstance(t, ast.Name)}
    views = [(t.id, _viewed(n.value)) for n in nodes if isinstance(n, ast.Assign) for t in n.targets
             if isinstance(t, ast.Name)]  # fmt: skip
    while new := {below for name, below in views if name in names and below is not None} - names:
        names |= new
    return names


def _viewed(value: ast.expr) -> str | None:
    """The name of what a value may be a view of: w of w, w[1:], w.T and w.reshape(2, 3)."""
    while not isinstance(value, ast.Name):
        if isinstance(value, ast.Call):
            value = value.func
        elif isinstance(value, ast.Subscript | ast.Attribute):
            value = value.value
        else:
            return None
    return value.id

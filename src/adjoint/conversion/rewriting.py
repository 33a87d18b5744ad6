"""Calls and stores, in every form; and, or, not, the ternary and chained comparisons in the native one.

    f(x)          call(f)(x)
    z[i] = v      set_item(v, z, i)            o.a = v       set_attribute(v, o, "a")
    z[i] += v     augment_item(z, i, v, iadd)  x += v        x = augment(x, v, iadd)
    a and b       and(lambda: a, lambda: b)    a if p else b choose(p, lambda: a, lambda: b)

Positions are those of the user's text, so tracebacks and debuggers show it. Names that we add begin with `ad·`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from adjoint.conversion.jumps import assign, at, read
from adjoint.conversion.patterns import matched
from adjoint.conversion.source import SCOPES_OF_EXPRESSIONS

# calls of these see the frame that they stand in, or are nothing that we answer for
LEFT_ALONE = frozenset({"super", "locals", "globals", "vars", "dir", "eval", "exec", "slice", "id"})
IN_PLACE = {
    ast.Add: "iadd", ast.Sub: "isub", ast.Mult: "imul", ast.Div: "itruediv", ast.FloorDiv: "ifloordiv",
    ast.Mod: "imod", ast.Pow: "ipow", ast.MatMult: "imatmul", ast.BitAnd: "iand", ast.BitOr: "ior",
    ast.BitXor: "ixor", ast.LShift: "ilshift", ast.RShift: "irshift",
}  # fmt: skip
EXPLICIT_OPERATORS = frozenset({"add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"})
UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
COMPARISONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_BINDING = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)


def helper(name: str, *args: ast.expr, like: ast.AST) -> ast.Call:
    """A call of one of our functions."""
    return at(ast.Call(read(f"ad·{name}"), list(args), []), like)


def is_lazy(node: ast.AST) -> bool:
    """Whether an expression may be evaluated in a function of its own: it binds no name and yields nothing."""
    return not any(isinstance(inner, _BINDING) for inner in ast.walk(node))


def lazily(expression: ast.expr) -> ast.Lambda:
    """lambda: expression."""
    return at(ast.Lambda(ast.arguments([], [], None, [], [], None, []), expression), expression)


def catches_division(node: ast.Try) -> bool:
    """Whether a handler names the error of a division by zero."""
    named = [n.id for h in node.handlers if h.type for n in ast.walk(h.type) if isinstance(n, ast.Name)]
    return not {"ZeroDivisionError", "ArithmeticError"}.isdisjoint(named)


MAKING = (ast.BinOp, ast.UnaryOp, ast.Call, ast.Subscript)  # what may be a new array
DISPLAYS = (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set, ast.SetComp)


class ExpressionRewriter(ast.NodeTransformer):
    """Rewrites expressions and simple statements.

    `native`: truth values may be traced. `explicit`: operators and attributes may be methods of the user's classes.
    `owner` is the class whose body the function stands in.
    """

    def __init__(self, *, native: bool, explicit: bool, owner: str | None = None) -> None:
        self.native, self.explicit, self.owner = native, explicit, owner
        self.temporaries = 0
        self.cells: set[str] = set()  # variables that functions inside share, or that belong to functions outside
        self.first_parameter: str | None = None
        self.in_try = False  # what is raised here may be caught

    def visit_all(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements, one by one."""
        out: list[ast.stmt] = []
        for statement in body:
            made: Any = self.visit(statement)
            out += made if isinstance(made, list) else [made]
        return out

    def new_name(self, stem: str) -> str:
        """A name that nobody has."""
        self.temporaries += 1
        return f"ad·{stem}{self.temporaries}"

    # ------------------------------------------------------------------ expressions

    def visit_Call(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name == "super" and not node.args and self.first_parameter is not None:
            # the function that this stands in may become another one, in which Python would not find them
            node.args = [at(read("__class__"), node), at(read(self.first_parameter), node)]
            return node
        method = node.func
        if isinstance(method, ast.Attribute):
            method.value = self.visit(method.value)
        else:
            node.func = self.visit(method)
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        if name not in LEFT_ALONE:
            into = any(keyword.arg == "out" for keyword in node.keywords)
            node.func = helper("call_into" if into else "call", node.func, like=node.func)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        if node.attr == "__class__":
            return at(ast.Call(helper("call", read("type"), like=node), [node.value], []), node)
        if self.explicit:
            return helper("attribute", node.value, ast.Constant(self.attribute(node.attr)), like=node)
        return node

    def attribute(self, name: str) -> str:
        """The name of an attribute as Python has it: two underscores stand for the class, too."""
        if self.owner is None or not name.startswith("__") or name.endswith("__"):
            return name
        return f"_{self.owner.lstrip('_')}{name}"

    def visit_Name(self, node: ast.Name) -> Any:
        if getattr(node, "unsure", False):
            return helper("read", node, ast.Constant(node.id), like=node)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        self.generic_visit(node)
        if not any(isinstance(value, ast.FormattedValue) for value in node.values):
            return node
        parts: list[ast.expr] = []
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                spec = value.format_spec if value.format_spec is not None else ast.Constant("")
                value = helper("formatted", value.value, ast.Constant(value.conversion), spec, like=node)
            parts.append(value)
        return helper("text", *parts, like=node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            return helper("percent", node.left, node.right, like=node)
        name = IN_PLACE[type(node.op)].removeprefix("i")
        if self.in_try and name in ("truediv", "floordiv", "mod"):
            return helper("divide", node.left, node.right, ast.Constant(name), like=node)
        if self.explicit and name in EXPLICIT_OPERATORS:
            return helper("binary", node.left, node.right, ast.Constant(name), like=node)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        lazy = self.native and is_lazy(node)
        self.generic_visit(node)
        node.test = self.asked(node.test)
        return helper("choose", node.test, lazily(node.body), lazily(node.orelse), like=node) if lazy else node

    def asked(self, test: ast.expr) -> ast.expr:
        """A value whose truth is asked: it may be an object of the user's."""
        is_plain = isinstance(test, ast.Compare | ast.Constant | ast.BoolOp | ast.UnaryOp)
        return test if is_plain or not self.explicit else helper("truth", test, like=test)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        lazy = self.native and is_lazy(node)
        self.generic_visit(node)
        if not lazy:
            return node
        return helper("and" if isinstance(node.op, ast.And) else "or", *map(lazily, node.values), like=node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            node.operand = self.asked(node.operand)
            return helper("not", node.operand, like=node) if self.native else node
        if self.explicit and not isinstance(node.operand, ast.Constant):
            return helper("unary", node.operand, ast.Constant(UNARY[type(node.op)]), like=node)
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        lazy = self.native and len(node.ops) > 1 and is_lazy(node) and all(type(op) in COMPARISONS for op in node.ops)
        self.generic_visit(node)
        if not lazy:
            if self.explicit and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
                sign = ast.Constant(COMPARISONS[type(node.ops[0])])
                return helper("comparison", node.left, node.comparators[0], sign, like=node)
            if self.explicit and len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
                found = helper("contains", node.left, node.comparators[0], like=node)
                return found if isinstance(node.ops[0], ast.In) else at(ast.UnaryOp(ast.Not(), found), node)
            return node
        signs = ast.Tuple([ast.Constant(COMPARISONS[type(op)]) for op in node.ops], ast.Load())
        return helper("compare", node.left, signs, *map(lazily, node.comparators), like=node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        joins = isinstance(node.value, ast.Attribute) and node.value.attr in ("r_", "c_")
        if not isinstance(node.ctx, ast.Load) or not (self.explicit or joins):
            return node
        return helper("item", node.value, as_key(node.slice), like=node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and node.target.id in self.cells:
            store = ast.Attribute(read(cell_name(node.target.id)), "store", ast.Load())
            return at(ast.Call(store, [node.value], []), node)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        # the tests of a comprehension decide how long its result is: they are asked
        node.iter = self.iterated(self.visit(node.iter))
        before, self.native = self.native, False
        node.ifs = [self.visit(test) for test in node.ifs]
        self.native = before
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        self.generic_visit(node)
        return helper("made", node, like=node)

    def visit_Starred(self, node: ast.Starred) -> Any:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = self.iterated(node.value)
        return node

    def visit_withitem(self, node: ast.withitem) -> Any:
        self.generic_visit(node)
        if self.explicit:
            node.context_expr = helper("managed", node.context_expr, like=node.context_expr)
        return node

    def iterated(self, iterable: ast.expr) -> ast.expr:
        """What a loop goes through."""
        if isinstance(iterable, ast.Tuple | ast.List | ast.Constant):
            return iterable
        return helper("iterate", iterable, like=iterable) if self.explicit else iterable

    def visit_Try(self, node: ast.Try) -> Any:
        """A try that stays what it is."""
        before, self.in_try = self.in_try, self.in_try or catches_division(node)
        node.body = [self.tried(node, self.visit_all(node.body))]
        self.in_try = before
        for part in (node.handlers, node.orelse, node.finalbody):
            part[:] = self.visit_all(part)  # type: ignore[arg-type, type-var]
        return node

    def visit_Match(self, node: ast.Match) -> Any:
        node.subject = matched(node, self.new_name, self.visit)
        for case in node.cases:
            case.guard = None if case.guard is None else self.asked(self.visit(case.guard))
            case.body = self.visit_all(case.body)
        return node

    def tried(self, node: ast.Try, body: list[ast.stmt]) -> ast.stmt:
        """The body of a try, which knows that it is one."""
        return at(ast.With([ast.withitem(helper("trying", like=node), None)], body), node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        """A handler for any error does not swallow a refusal: the derivative would be lost in silence."""
        self.generic_visit(node)
        kinds = clone_expression(node.type) if node.type is not None else ast.Constant(None)
        node.body.insert(0, at(ast.Expr(helper("caught", kinds, like=node)), node))
        return node

    # ------------------------------------------------------------------ stores

    def visit_Assign(self, node: ast.Assign) -> Any:
        made = [isinstance(value, MAKING) for value in _parts(node.value)]
        node.value = self._noted(node.value) if self.native else self.visit(node.value)
        if any(isinstance(target, ast.Tuple | ast.List) for target in node.targets):
            node.value = self.iterated(node.value)
        if all(self._is_plain(target) for target in node.targets):
            return self._fresh(node, made) if len(made) == len(_parts(node.targets[0])) else node
        if len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple | ast.List):
            return self._store(node.targets[0], node.value, node)
        name = self.new_name("value")
        return [assign(name, node.value, node), *[s for t in node.targets for s in self._spread(t, read(name), node)]]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return node
        return self.visit_Assign(at(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        value, target, sign = self.visit(node.value), node.target, ast.Constant(IN_PLACE[type(node.op)])
        if isinstance(target, ast.Name):
            old: ast.expr = at(ast.Name(target.id, ast.Load()), target)
            if getattr(node, "unsure", False):
                old = helper("read", old, ast.Constant(target.id), like=target)
            return self._store(target, helper("augment", old, value, sign, like=node), node)
        if isinstance(target, ast.Attribute):
            owner, name = self.visit(target.value), ast.Constant(self.attribute(target.attr))
            return at(ast.Expr(helper("augment_attribute", owner, name, value, sign, like=node)), node)
        assert isinstance(target, ast.Subscript)
        owner, key = self.visit(target.value), as_key(self.visit(target.slice))
        return at(ast.Expr(helper("augment_item", owner, key, value, sign, like=node)), node)

    def visit_Delete(self, node: ast.Delete) -> Any:
        out: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                call = helper("delete_item", self.visit(target.value), as_key(self.visit(target.slice)), like=node)
                out.append(at(ast.Expr(call), node))
            elif isinstance(target, ast.Attribute):
                call = helper(
                    "delete_attribute", self.visit(target.value), ast.Constant(self.attribute(target.attr)), like=node
                )
                out.append(at(ast.Expr(call), node))
            else:
                out.append(at(ast.Delete([target]), node))
        return out

    def visit_Assert(self, node: ast.Assert) -> Any:
        """As the if and raise that it stands for: they may be traced."""
        raised = ast.Raise(ast.Call(read("AssertionError"), [node.msg] if node.msg is not None else [], []), None)
        return self.visit(at(ast.If(ast.UnaryOp(ast.Not(), node.test), [raised], []), node))

    def _is_plain(self, target: ast.expr) -> bool:
        """Whether Python's own assignment to a target does it: names, and tuples of names."""
        if isinstance(target, ast.Name):
            return target.id not in self.cells
        if isinstance(target, ast.Tuple | ast.List):
            return all(map(self._is_plain, target.elts))
        return isinstance(target, ast.Starred) and self._is_plain(target.value)

    def _fresh(self, node: ast.Assign, made: list[bool]) -> ast.Assign:
        """New arrays, made by operators, calls or indices, are noted: they may be written to later."""
        targets, values = _parts(node.targets[0]), _parts(node.value)
        for at_value, (target, value) in enumerate(zip(targets, values, strict=True)):
            if made[at_value] and isinstance(target, ast.Name) and target.id in self.written_into:
                values[at_value] = helper("fresh", value, like=value)
        node.value = node.value if isinstance(node.value, ast.Tuple) else values[0]
        return node

    def _noted(self, value: ast.expr) -> ast.expr:
        """The value, where a new list, dict or set is noted: what a branch or a body writes into it is its own."""
        if isinstance(value, ast.Tuple):
            value.elts = [self._noted(one) for one in value.elts]
            return value
        parts = (value.left, value.right) if isinstance(value, ast.BinOp) else (value,)
        is_part = isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)
        is_new = is_part or any(isinstance(part, DISPLAYS) for part in parts)
        visited = self.visit(value)
        return helper("made", visited, like=value) if is_new else visited

    written_into: frozenset[str] = frozenset()  # names of arrays whose items are assigned somewhere in the function

    def _store(self, target: ast.expr, value: ast.expr, like: ast.stmt) -> ast.stmt:
        if isinstance(target, ast.Name):
            if target.id not in self.cells:
                return at(ast.Assign([ast.Name(target.id, ast.Store())], value), like)
            call = at(ast.Call(ast.Attribute(read(cell_name(target.id)), "store", ast.Load()), [value], []), like)
            return at(ast.Expr(call), like)
        if isinstance(target, ast.Attribute):
            call = helper(
                "set_attribute", value, self.visit(target.value), ast.Constant(self.attribute(target.attr)), like=like
            )
        else:
            assert isinstance(target, ast.Subscript)
            call = helper("set_item", value, self.visit(target.value), as_key(self.visit(target.slice)), like=like)
        return at(ast.Expr(call), like)

    def _spread(self, target: ast.expr, value: ast.expr, like: ast.stmt) -> list[ast.stmt]:
        """target = value, part by part where it is a tuple."""
        if not isinstance(target, ast.Tuple | ast.List):
            return [self._store(target, value, like)]
        names: list[ast.expr] = []
        rest: list[ast.stmt] = []
        for part in target.elts:
            inner = part.value if isinstance(part, ast.Starred) else part
            name = self.new_name("part")
            stored: ast.expr = ast.Name(name, ast.Store())
            names.append(ast.Starred(stored, ast.Store()) if isinstance(part, ast.Starred) else stored)
            rest += self._spread(inner, read(name), like)
        return [at(ast.Assign([ast.Tuple(names, ast.Store())], value), like), *rest]


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def clone_expression(node: ast.expr) -> ast.expr:
    """The same names once more."""
    return ast.parse(ast.unparse(node), mode="eval").body


def as_key(index: ast.expr) -> ast.expr:
    """What stands in brackets, as an argument: slices are calls of `slice`."""
    if isinstance(index, ast.Slice):
        bounds = [part if part is not None else ast.Constant(None) for part in (index.lower, index.upper, index.step)]
        made = ast.Call(read("slice"), bounds, [])
        return at(made, index) if hasattr(index, "lineno") else made
    if isinstance(index, ast.Tuple):
        return at(ast.Tuple([as_key(part) for part in index.elts], ast.Load()), index)
    return index


def cell_name(name: str) -> str:
    """The name of the object by which a shared variable is written."""
    return f"ad·cell_{name}"


__all__ = ["SCOPES_OF_EXPRESSIONS", "ExpressionRewriter", "as_key", "cell_name", "helper", "is_lazy", "lazily"]

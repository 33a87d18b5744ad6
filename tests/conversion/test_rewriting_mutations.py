"""Each rule of the rewriting, broken on purpose, makes the program fail that stands beside it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import TraceError
from adjoint.conversion import blocks, driver, forms, jumps, lifting, loops, rewriting, sharing
from adjoint.conversion.blocks import FunctionRewriter
from adjoint.conversion.jumps import JumpLowering, at
from adjoint.conversion.rewriting import ExpressionRewriter
from tests.support import mutation_programs as programs


def unchanged(kind: str) -> Callable[[pytest.MonkeyPatch], None]:
    """A kind of node is left as it is, with its parts rewritten."""

    def patch(patcher: pytest.MonkeyPatch) -> None:
        for owner in (FunctionRewriter, ExpressionRewriter):
            if f"visit_{kind}" in vars(owner):
                patcher.setattr(owner, f"visit_{kind}", lambda self, node: self.generic_visit(node))

    return patch


def swap(owner: Any, name: str, made: Any) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patcher: patcher.setattr(owner, name, made)


def exchange(table: dict[Any, str], a: Any, b: Any) -> Callable[[pytest.MonkeyPatch], None]:
    def patch(patcher: pytest.MonkeyPatch) -> None:
        first, second = table[a], table[b]
        patcher.setitem(table, a, second)
        patcher.setitem(table, b, first)

    return patch


def drop_flag(kind: type[ast.stmt]) -> Callable[[pytest.MonkeyPatch], None]:
    """A jump of one kind is forgotten."""
    flagged = JumpLowering._flagged
    made = lambda self, statement, loop: (
        [at(ast.Pass(), statement)] if isinstance(statement, kind) else flagged(self, statement, loop)
    )
    return swap(JumpLowering, "_flagged", made)


def _no_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


def _first_alone(self: Any, node: ast.Compare) -> Any:
    self.generic_visit(node)
    return at(ast.Compare(node.left, node.ops[:1], node.comparators[:1]), node)


def _either(self: Any, node: ast.BoolOp) -> Any:
    self.generic_visit(node)
    return rewriting.helper("or", *map(rewriting.lazily, node.values), like=node)


_made_if = FunctionRewriter._made_if


def _exchanged_sides(self: Any, statement: ast.If, live: set[str]) -> Any:
    other = statement.orelse or [at(ast.Pass(), statement)]
    return _made_if(self, at(ast.If(statement.test, other, statement.body), statement), live)


def _without_cases(self: Any, statement: ast.stmt, loop: Any) -> ast.stmt:
    for case in getattr(statement, "cases", ()):
        case.body = [at(ast.Pass(), statement)]
    return statement


MUTATIONS: dict[str, tuple[Callable[[Any], Any], Callable[[pytest.MonkeyPatch], None]]] = {
    "calls": (programs.calls, unchanged("Call")),
    "item assignment": (programs.stores, unchanged("Assign")),
    "augmented items": (programs.item_sums, unchanged("AugAssign")),
    "augmented names": (programs.in_place, unchanged("AugAssign")),
    "iadd is isub": (programs.item_sums, exchange(rewriting.IN_PLACE, ast.Add, ast.Sub)),
    "imul is iadd": (programs.in_place, exchange(rewriting.IN_PLACE, ast.Mult, ast.Add)),
    "attributes": (programs.attributes, unchanged("Assign")),
    "augmented attributes": (programs.attributes, unchanged("AugAssign")),
    "mangled names": (programs.attributes, swap(ExpressionRewriter, "attribute", lambda self, name: name)),
    "super": (programs.attributes, swap(blocks, "_first_parameter", lambda arguments: None)),
    "deletions": (programs.deletions, swap(ExpressionRewriter, "visit_Delete", lambda self, node: node)),
    "ternary": (
        programs.ternary,
        swap(rewriting, "lazily", lambda e: at(ast.Lambda(_no_arguments(), ast.Constant(1.0)), e)),
    ),
    "and is or": (programs.truths, swap(ExpressionRewriter, "visit_BoolOp", _either)),
    "not": (programs.truths, swap(ExpressionRewriter, "visit_UnaryOp", lambda self, node: self.visit(node.operand))),
    "lt is gt": (programs.truths, exchange(rewriting.COMPARISONS, ast.Lt, ast.Gt)),
    "chained comparisons": (programs.truths, swap(ExpressionRewriter, "visit_Compare", _first_alone)),
    "items": (programs.joined, unchanged("Subscript")),
    "assert": (programs.asserted, swap(ExpressionRewriter, "visit_Assert", lambda self, node: at(ast.Pass(), node))),
    "handlers": (programs.swallowed, unchanged("ExceptHandler")),
    "texts": (programs.texts, unchanged("JoinedStr")),
    "comprehensions": (programs.comprehended, swap(ExpressionRewriter, "visit_comprehension", lambda self, node: node)),
    "named expressions": (
        programs.walrus,
        swap(ExpressionRewriter, "visit_NamedExpr", lambda self, n: self.visit(n.value)),
    ),
    "try": (
        programs.tried,
        swap(ExpressionRewriter, "tried", lambda self, n, body: at(ast.If(ast.Constant(1), body, []), n)),
    ),
    "division": (
        programs.tried,
        lambda p: [p.setattr(m, "catches_division", lambda node: False) for m in (rewriting, blocks)],
    ),
    "unpacking": (programs.unpacked, swap(ExpressionRewriter, "iterated", lambda self, iterable: iterable)),
    "stars": (programs.starred, unchanged("Starred")),
    "with": (programs.managed, unchanged("withitem")),
    "truth of objects": (programs.asked, swap(ExpressionRewriter, "asked", lambda self, test: test)),
    "binary operators": (programs.added, unchanged("BinOp")),
    "unary operators": (programs.negated, unchanged("UnaryOp")),
    "comparisons": (programs.compared, unchanged("Compare")),
    "contains": (programs.contained, unchanged("Compare")),
    "properties": (programs.properties, unchanged("Attribute")),
    "sides of an if": (programs.branches, lambda p: p.setattr(FunctionRewriter, "_made_if", _exchanged_sides)),
    "liveness": (programs.branches, swap(blocks, "live_behind_each", lambda body, after: [set() for _ in body])),
    "state of a while": (programs.while_loop, swap(blocks, "live_before", lambda body, after: set())),
    "break": (programs.breaking, drop_flag(ast.Break)),
    "continue": (programs.skipping, drop_flag(ast.Continue)),
    "return": (programs.returning, drop_flag(ast.Return)),
    "else of a loop": (programs.otherwise, swap(jumps, "_none_of", lambda flags: ast.Constant(False))),
    "rest behind a jump": (
        programs.returning,
        swap(JumpLowering, "_unless", lambda self, f, rest, l: at(ast.Pass(), rest[0])),
    ),
    "shared variables": (programs.shared, lambda p: p.setattr(FunctionRewriter, "_cell_objects", lambda *args: [])),
    "shared across blocks": (programs.nested, swap(blocks, "shared_across_blocks", lambda body: set())),
    "cases of a match": (programs.matched, lambda p: p.setattr(JumpLowering, "_lower_inside", _without_cases)),
}


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that was converted before is used, and nothing that is converted here stays."""
    for module, names in (
        (forms, ("_forms", "_origins")),
        (driver, ("_needed", "_explicit")),
        (lifting, ("_lifted", "_is_lifted")),
        (loops, ("_unrolled",)),
        (sharing, ("_kept",)),
    ):
        for name in names:
            monkeypatch.setattr(module, name, type(getattr(module, name))())
    monkeypatch.setattr(forms, "_bound", WeakKeyDictionary())


def check(f: Callable[[Any], Any]) -> None:
    """Values and derivatives, plain against converted: eagerly, as guards and as branches."""
    gradient = ad.value_and_grad(f)
    transformed = (gradient, ad.jit(gradient), ad.jit(gradient, branches="native"))
    for x in (0.71, 0.43):
        slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        for one in transformed:
            value, derivative = one(x)
            np.testing.assert_allclose(value, f(x), rtol=1e-9)
            np.testing.assert_allclose(derivative, slope, rtol=1e-4, atol=1e-6)


def check_refused(f: Callable[[Any], Any]) -> None:
    with pytest.raises(TraceError):
        ad.grad(f)(0.71)


def check_raises(f: Callable[[Any], Any]) -> None:
    check(lambda x: f(x * 0.3))
    for one in (ad.grad(f), ad.jit(f), ad.jit(f, branches="native")):
        with pytest.raises(AssertionError, match="too large"):
            one(0.71)


CHECKS: dict[Any, Callable[[Any], None]] = {programs.swallowed: check_refused, programs.asserted: check_raises}
PROGRAMS = list(dict.fromkeys([*(program for program, _ in MUTATIONS.values()), programs.local_class]))


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_pass(program: Callable[[Any], Any]) -> None:
    CHECKS.get(program, check)(program)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_rule_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, mutate = MUTATIONS[name]
    mutate(monkeypatch)
    with pytest.raises(BaseException):  # noqa: B017 (whatever is seen first)
        CHECKS.get(program, check)(program)

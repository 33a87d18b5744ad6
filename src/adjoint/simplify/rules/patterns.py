"""Identities as text: `identity("x - -y", "x + y")` is a rule that finds the left side and writes the right side.

In a pattern x, y, z stand for values of the dtype of the whole, p for one of any dtype; c and d for numbers that stand
in the program; 1, -1, 0.5 … for themselves. Operators and names (`exp(x)`) are primitives. Every operation inside must
have the dtype of the whole, so that no rounding or overflow of a smaller type is lost. On the right side, operations
between numbers are carried out, in the dtype of the whole.
"""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from adjoint.ops.elementwise.pointwise import MaskedProduct
from adjoint.ops.elementwise.select import Select
from adjoint.ops.elementwise.ufuncs import BY_NAME
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Var
from adjoint.program.types import ArrayType, Value
from adjoint.simplify.rewriter import COMMUTATIVE
from adjoint.simplify.rules.rule import ANY, Rule, Tag, tag_of, with_number

_OPERATORS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
    ast.USub: "negative",
}
_OTHERS: dict[str, Op] = {"select": Select(), "masked": MaskedProduct()}
VALUES, NUMBERS = "xyzp", "cd"

Node: TypeAlias = tuple[Any, ...]  # ("name", letter) | ("number", value) | (op, node, …)
Bindings: TypeAlias = dict[str, Any]  # letter → atom, or number


def identity(
    left: str,
    right: str,
    when: Callable[..., bool] | None = None,
    *,
    kinds: str = "iufc",
    once: bool = False,
    note: str = "",
) -> list[Rule]:
    """Rules for left = right, one for each order of the operands of commutative operations.

    `when` is asked with those of the letters and `shape` (of the whole) that it names; `kinds` are the kinds of dtype
    for which it holds; `once`: only where the operations inside are read nowhere else, so that the new ones replace
    them.
    """
    replacement = _parse(right)
    asks = tuple(inspect.signature(when).parameters) if when is not None else ()

    def build_rule(pattern: Node) -> Rule:
        numbers = [(i, node[1]) for i, node in enumerate(pattern[1:]) if node[0] == "number"]

        def apply(r: Any, op: Op, inputs: tuple[Atom, ...], kind: ArrayType) -> Any:
            for i, number in numbers:  # most often it is another one
                if inputs[i].value != number:  # type: ignore[union-attr]
                    return None
            if kind.dtype.kind not in kinds:
                return None
            bindings: Bindings = {"shape": kind.shape}
            inner: list[Atom] = []
            for node, atom in zip(pattern[1:], inputs, strict=True):
                if not _matches(r, node, atom, bindings, kind, inner):
                    return None
            if when is not None and not when(*[bindings[name] for name in asks]):
                return None
            if once and not all(r.once(atom) for atom in inner):
                return None
            return _build(r, replacement, bindings, kind)

        return Rule(f"{left} = {right}", tag_of(pattern[0]), tuple(map(_tag, pattern[1:])), apply, note)

    return [build_rule(pattern) for pattern in _orders(_parse(left))]


def _parse(text: str) -> Node:
    return _node(ast.parse(text, mode="eval").body)


def _node(tree: Any) -> Node:
    if isinstance(tree, ast.Name):
        return ("name", tree.id)
    if isinstance(tree, ast.Constant):
        return ("number", tree.value)
    if isinstance(tree, ast.UnaryOp):
        inner = _node(tree.operand)
        return ("number", -inner[1]) if inner[0] == "number" else (BY_NAME["negative"], inner)
    if isinstance(tree, ast.BinOp):
        return (BY_NAME[_OPERATORS[type(tree.op)]], _node(tree.left), _node(tree.right))
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        name = tree.func.id
        return (_OTHERS.get(name) or BY_NAME[name], *map(_node, tree.args))
    raise SyntaxError(f"{ast.unparse(tree)} means nothing in an identity")


def _orders(node: Node) -> Iterator[Node]:
    """A pattern with the operands of commutative operations in either order; numbers always stand second."""
    if node[0] in ("name", "number"):
        yield node
        return
    seen: list[Node] = []
    for parts in itertools.product(*[list(_orders(part)) for part in node[1:]]):
        both = [parts]
        if tag_of(node[0]) in COMMUTATIVE:
            if _is_number(parts[0]):
                both = [parts[::-1]]
            elif not _is_number(parts[1]):
                both.append(parts[::-1])
        for order in both:
            if (node[0], *order) not in seen:
                seen.append((node[0], *order))
                yield (node[0], *order)


def _is_number(node: Node) -> bool:
    return node[0] == "number" or (node[0] == "name" and node[1] in NUMBERS)


def _tag(node: Node) -> Tag:
    if _is_number(node):
        return Literal
    if node[0] == "name":
        return ANY
    tag = tag_of(node[0])
    if len(node) != 3 or tag is not node[0]:
        return tag
    return with_number(tag) if _is_number(node[2]) else [tag, with_number(tag)]


def _matches(r: Any, node: Node, atom: Atom, bindings: Bindings, kind: ArrayType, inner: list[Atom]) -> bool:
    """Whether an atom has the form of a node; letters are noted in `bindings`, results of operations in `inner`."""
    head = node[0]
    if head == "number":
        return isinstance(atom, Literal) and bool(atom.value == node[1])
    if head == "name":
        return _matches_letter(node[1], atom, bindings, kind)
    eq: Equation | None = r.defined.get(atom) if isinstance(atom, Var) else None
    if eq is None or (eq.op is not head and eq.op != head) or atom.type.dtype != kind.dtype:
        return False
    inner.append(atom)
    return all(_matches(r, part, a, bindings, kind, inner) for part, a in zip(node[1:], eq.inputs, strict=True))


def _matches_letter(letter: str, atom: Atom, bindings: Bindings, kind: ArrayType) -> bool:
    if letter in NUMBERS:
        if not isinstance(atom, Literal) or isinstance(atom.value, bool | np.bool_):
            return False
        if atom.type.dtype.kind == "c" and kind.dtype.kind != "c":
            return False
        value: Any = kind.dtype.type(atom.value)
        return bindings.setdefault(letter, value) is value or bindings[letter] == value
    if letter != "p":
        number = isinstance(atom, Literal) and atom.type.weak
        # a variable that counts as a Python number promotes otherwise than the result that it would replace
        if not number and (atom.type.dtype != kind.dtype or atom.type.weak):
            return False
    return bindings.setdefault(letter, atom) is atom


def _build(r: Any, node: Node, bindings: Bindings, kind: ArrayType) -> Atom:
    value = _compute(node, bindings, kind)
    if value is not None:
        return r.literal(value)
    if node[0] == "name":
        return bindings[node[1]]
    return r.apply(node[0], tuple([_build(r, part, bindings, kind) for part in node[1:]]))


def _compute(node: Node, bindings: Bindings, kind: ArrayType) -> Value | None:
    """The value of an expression of numbers alone."""
    if node[0] == "number":
        return kind.dtype.type(node[1])
    if node[0] == "name":
        return bindings[node[1]] if node[1] in NUMBERS else None
    parts = [_compute(part, bindings, kind) for part in node[1:]]
    if any(part is None for part in parts):
        return None
    with np.errstate(all="ignore"):
        return kind.dtype.type(node[0].evaluate(*parts))

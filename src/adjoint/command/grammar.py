"""What may stand in an expression besides names: operators, and what to write in place of all the rest."""

from __future__ import annotations

import ast
import math
import operator
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np

MOST_BITS = 1024  # of a whole number: more than any float has


def is_number(value: Any) -> bool:
    """Is it a number that was written down?"""
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def power(base: Any, exponent: Any) -> Any:
    """The power of two numbers, unless it is enormous."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        if abs(base) > 1 and math.log2(abs(base)) * exponent > MOST_BITS:
            raise OverflowError
    elif isinstance(base, int | float) and isinstance(exponent, float) and base < 0 and not exponent.is_integer():
        raise ValueError("a negative number has no real power that is not whole; cbrt is the cube root")
    return base**exponent


def between(*pairs: Any) -> Any:
    """a < b < c: all of the comparisons."""
    found = pairs[0]
    for pair in pairs[1:]:
        found = np.logical_and(found, pair)
    return found


BINARY: dict[type[ast.operator], tuple[str, Callable[..., Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.Pow: ("**", operator.pow),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.MatMult: ("matmul", operator.matmul),
}
COMPARE: dict[type[ast.cmpop], tuple[str, Callable[..., Any]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
}
SYMBOLS = frozenset(
    {symbol for symbol, _ in (*BINARY.values(), *COMPARE.values()) if not symbol.isidentifier()} | {"-", "+"}
)

REMEDIES: dict[type[ast.AST], str] = {
    ast.IfExp: "A condition (a if c else b) is written where(c, a, b).",
    ast.BoolOp: "`and` and `or` are written logical_and(a, b) and logical_or(a, b).",
    ast.Lambda: "A lambda is not taken; put a function into a file and name it module:function.",
    ast.ListComp: "A comprehension is not taken; write the list out, or use arange and NumPy's functions.",
    ast.SetComp: "A comprehension is not taken; write a list [1, 2, 3].",
    ast.DictComp: "A comprehension is not taken; write a list [1, 2, 3].",
    ast.GeneratorExp: "A comprehension is not taken; use arange and NumPy's functions.",
    ast.Set: "A set is not taken; write a list [1, 2, 3].",
    ast.Dict: "A dictionary is not taken; give each array a variable of its own.",
    ast.JoinedStr: "Text is not taken: expressions have numbers, variables and functions.",
    ast.NamedExpr: "`:=` is not taken; write c = ...; and use c after the semicolon.",
    ast.Await: "`await` is not taken.",
    ast.Yield: "`yield` is not taken.",
    ast.YieldFrom: "`yield` is not taken.",
    ast.Starred: "A star is not taken; write the arguments out.",
}
STATEMENTS = "Only expressions are taken, and assignments before the last one: c = x**2; sqrt(c) + cos(c)."


def dotted(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            before = dotted(value)
            return before and f"{before}.{name}"
        case _:
            return None


def described(node: ast.AST) -> str:
    words = {"Assign": "An assignment", "AugAssign": "An assignment with an operator", "FunctionDef": "A function"}
    words |= {"Import": "An import", "ImportFrom": "An import", "For": "A loop", "While": "A loop", "If": "A condition"}
    words |= {"Delete": "`del`", "Expr": "A second expression", "ClassDef": "A class", "AnnAssign": "A type"}
    return words.get(type(node).__name__, f"`{type(node).__name__.lower()}`")


def bitwise(sign: ast.operator) -> str:
    if isinstance(sign, ast.BitXor):
        return "`^` is not a power. Write x**2."
    return "`&`, `|`, `<<` and `>>` are not taken. Write logical_and(a, b) or logical_or(a, b)."


def syntax(error: SyntaxError) -> str:
    """Python's word on a text that it cannot parse, and what is usually meant."""
    said = (error.msg or "invalid syntax").partition(". ")[0]
    if "decimal literal" in said:
        return f"{said}; a product is written 2*x"
    if "f-string" in said or "string literal" in said:
        return f"{said}; expressions have no text in quotes"
    if "invalid non-printable" in said or "invalid character" in said:
        return f"{said}; powers are written x**2, products x*y"
    return f"This cannot be read: {said}"


def normalised(name: str) -> str:
    """A name as Python reads it in code: ﬁ is fi, and composed letters are one."""
    return unicodedata.normalize("NFKC", name)

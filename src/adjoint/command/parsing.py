"""From the text of an expression to its steps: one walk over Python's own tree, with a list of what may stand in it.

Node types without a `visit_` method, and names outside the vocabulary, are refused with their column and what to write
instead. Nothing of the text is evaluated.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from adjoint import numpy as own_numpy
from adjoint.base.suggestions import did_you_mean
from adjoint.command import vocabulary
from adjoint.command.failures import ExpressionError

LONGEST = 10_000  # characters
DEEPEST = 60  # parentheses, calls and lists inside each other
CLIPPED = 120  # characters of the text of a step
MOST_BITS = 1024  # of an integer: more than any float has
NUMBERS = (int, float, complex)  # that are written down, and computed with at once

OPERATORS: dict[type[ast.AST], tuple[str, Callable[..., Any]]] = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv), ast.Pow: ("**", operator.pow), ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod), ast.MatMult: ("matmul", operator.matmul), ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge), ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
}  # fmt: skip
SYMBOLS = {symbol for symbol, _ in OPERATORS.values()} - {"matmul"}

_STATEMENTS = "Only expressions are taken, and assignments before the last one: c = x**2; sqrt(c) + cos(c)."
_FUNCTION = "put a function into a file and name it module:function"
REMEDIES = {
    "IfExp": "A condition (a if c else b) is written where(c, a, b).",
    "BoolOp": "`and` and `or` are written logical_and(a, b) and logical_or(a, b).",
    "Not": "`not` is not taken. Write logical_not(a).",
    "Invert": "`~` is not taken. Write logical_not(a).",
    "BitXor": "`^` is not a power. Write x**2.",
    **dict.fromkeys(
        ("BitAnd", "BitOr", "LShift", "RShift"),
        "`&`, `|`, `<<` and `>>` are not taken. Write logical_and(a, b) or logical_or(a, b).",
    ),
    **dict.fromkeys(("In", "NotIn", "Is", "IsNot"), "`in` and `is` are not taken. Compare with < <= > >= == !=."),
    "Lambda": f"A lambda is not taken; {_FUNCTION}.",
    **dict.fromkeys(
        ("ListComp", "SetComp", "DictComp", "GeneratorExp"),
        "A comprehension is not taken; write the list out, or use arange and NumPy's functions.",
    ),
    "Set": "A set is not taken; write a list [1, 2, 3].",
    "Dict": "A dictionary is not taken; give each array a variable of its own.",
    "JoinedStr": "Text is not taken: expressions have numbers, variables and functions.",
    "NamedExpr": "`:=` is not taken; write c = ...; and use c after the semicolon.",
    "Starred": "A star is not taken; write the arguments out.",
}
_DESCRIBED = {
    "Assign": "An assignment", "AugAssign": "An assignment with an operator", "FunctionDef": "A function",
    "Import": "An import", "ImportFrom": "An import", "For": "A loop", "While": "A loop", "If": "A condition",
    "Delete": "`del`", "Expr": "A second expression", "ClassDef": "A class", "AnnAssign": "A type",
}  # fmt: skip
# What Python says of a text that it cannot parse -> what is usually meant.
_SYNTAX = {
    "decimal literal": "a product is written 2*x",
    "string": "expressions have no text in quotes",
    "invalid non-printable": "powers are written x**2, products x*y",
    "invalid character": "powers are written x**2, products x*y",
}


@dataclass(frozen=True)
class Ref:
    """The value of a variable or of an earlier step."""

    index: int


@dataclass(frozen=True)
class Step:
    """One function applied to variables, earlier steps and constants."""

    text: str
    column: int
    width: int
    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...] = ()
    statement: int = 0  # which of the text's it is part of
    label: str = ""  # the name that the user gave it

    @property
    def elementwise(self) -> bool:
        return self.name in SYMBOLS or (isinstance(self.function, np.ufunc) and self.function.signature is None)

    def refused(self, why: str, text: str) -> ExpressionError:
        shown = self.text if len(self.text) <= 60 else f"{self.text[:57]}..."
        message = f"`{shown}` (column {self.column}) {why.rstrip('.')}."
        return ExpressionError(message, text.strip(), self.column, self.width)


class Reader(ast.NodeVisitor):
    """Lists the steps of one text, equal ones once. What a part stands for is a constant or a reference."""

    def __init__(self, text: str, variables: tuple[str, ...]) -> None:
        self.text = re.sub(r"\r\n?", "\n", text).strip()
        self.variables = len(variables)
        self.names: dict[str, Any] = {name: Ref(index) for index, name in enumerate(variables)}
        self.used: set[str] = set()
        self.steps: list[Step] = []
        self.known: dict[str, Ref] = {}
        self.depth = self.statement = 0
        self.statements: list[str] = []

    def read(self) -> Any:
        """The result: a reference to a step or variable, or a constant."""
        body = self._parse().body
        if not body:
            raise ExpressionError("The expression is empty; write for example 'sin(x)**2' x=1.0.")
        self.statements = [self.segment(statement) for statement in body]
        for self.statement, statement in enumerate(body[:-1]):
            self._assign(statement)
        self.statement, last = len(body) - 1, body[-1]
        if isinstance(last, ast.Assign):
            self.refuse(last, "The last part is the result and has no name. Write c = x**2; sqrt(c) + cos(c).")
        return self.visit(last.value) if isinstance(last, ast.Expr) else self._refuse_statement(last)

    def _parse(self) -> ast.Module:
        if len(self.text) > LONGEST:
            size = f"{len(self.text):,} characters, more than {LONGEST:,}"
            raise ExpressionError(f"The expression has {size}; {_FUNCTION}.")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python's remarks on texts like 1if x: they are refused anyway
                return ast.parse(self.text)
        except SyntaxError as error:
            before = self.text.split("\n")[: (error.lineno or 1) - 1]
            column = min(sum(map(len, before)) + len(before) + max(error.offset or 1, 1), len(self.text) + 1)
            message = (error.msg or "invalid syntax").partition(". ")[0]
            hint = next((hint for words, hint in _SYNTAX.items() if words in message), None)
            message = f"{message}; {hint}" if hint else f"This cannot be read: {message}"
            raise ExpressionError(f"{message} (column {column}).", self.text, column) from error
        except (RecursionError, MemoryError) as error:
            raise ExpressionError("The expression is nested too deeply, or too long a chain.") from error
        except ValueError as error:  # characters that cannot be in a text, numbers of thousands of digits
            raise ExpressionError(f"The expression cannot be read: {error}.") from error

    def _assign(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name in self.names or name in vocabulary.CONSTANTS:
                    self.refuse(statement, f"{name} has a value already; choose another name.")
                before = len(self.steps)
                result = self.visit(value)
                if isinstance(result, Ref) and result.index - self.variables == len(self.steps) - 1 >= before:
                    self.steps[-1] = replace(self.steps[-1], text=f"{name} = {self.steps[-1].text}", label=name)
                self.names[name] = result
            case _:
                self._refuse_statement(statement)

    # Positions and errors

    def span(self, node: Any) -> tuple[int, int]:
        """Where a part begins and ends in the text; Python counts lines, and bytes in them."""
        lines = self.text.split("\n")

        def offset(line: int, column: int) -> int:
            before = sum(map(len, lines[: line - 1])) + line - 1
            return before + len(lines[line - 1].encode()[:column].decode(errors="replace"))

        return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)

    def segment(self, node: Any) -> str:
        """The text of a part, on one line; the beginning of a long one."""
        text = " ".join(self.text[slice(*self.span(node))].split())
        return text if len(text) <= CLIPPED else f"{text[: CLIPPED - 1]}…"

    def refuse(self, node: Any, message: str) -> NoReturn:
        start, end = self.span(node)
        head, _, rest = message.removesuffix(".").partition(". ")
        message = f"{head} (column {start + 1}). {rest}{'' if rest.endswith('?') else '.'}".removesuffix(" .")
        raise ExpressionError(message, self.text, start + 1, end - start)

    def _refuse_statement(self, node: ast.stmt) -> NoReturn:
        kind = type(node).__name__
        self.refuse(node, f"{_DESCRIBED.get(kind, f'`{kind.lower()}`')} is not taken. {_STATEMENTS}")

    def generic_visit(self, node: Any) -> NoReturn:
        """Whatever has no method of its own."""
        kind = type(node).__name__
        self.refuse(node, REMEDIES.get(kind, f"`{kind.lower()}` is not taken."))

    # The tree

    def step(self, node: Any, name: str, function: Callable[..., Any], args: list[Any], **keywords: Any) -> Ref:
        """A step of the program; the same as an earlier one where name and arguments are equal."""
        key = repr((name, id(function), args, keywords))
        if key not in self.known:
            self.known[key] = Ref(self.variables + len(self.steps))
            start, end = self.span(node)
            rest = (name, function, tuple(args), tuple(keywords.items()), self.statement)
            self.steps.append(Step(self.segment(node), start + 1, end - start, *rest))
        return self.known[key]

    def visit(self, node: Any) -> Any:
        self.depth += 1
        if self.depth > DEEPEST:
            self.refuse(node, f"The expression is nested more than {DEEPEST} deep. Name its parts: c = x**2; sqrt(c).")
        try:
            return super().visit(node)
        finally:
            self.depth -= 1

    def operand(self, node: ast.expr) -> Any:
        """A part that must be a number or an array."""
        value = self.visit(node)
        if isinstance(value, tuple):
            self.refuse(node, "Several values in parentheses are no number. Write a list [x, y] for a vector.")
        if value is None:
            self.refuse(node, "None is no number.")
        return value

    def visit_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, str | bytes):
            self.refuse(node, "Text in quotes is not taken. Expressions have numbers, variables and functions.")
        if node.value is Ellipsis:
            self.refuse(node, "... stands in indices only: x[..., 0].")
        if isinstance(node.value, int) and node.value.bit_length() > MOST_BITS:
            self.refuse(node, "This integer is too large.")
        return node.value

    def visit_Name(self, node: ast.Name) -> Any:
        name = node.id
        if name in self.names:
            self.used.add(name)
            return self.names[name]
        if name in vocabulary.CONSTANTS:
            return vocabulary.CONSTANTS[name]
        if name.startswith("__"):
            self.refuse(node, f"{name} is not taken. Names with underscores in front belong to Python.")
        if vocabulary.find(name) or name in vocabulary.PREFIXES:
            self.refuse(node, f"{name} is a function here. Call it: {name}(x).")
        near = did_you_mean(name, [*self.names, *vocabulary.CONSTANTS])
        self.refuse(node, f"{name} has no value. " + (near or f"Give it one after the expression: {name}=1.0."))

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """a + b + c + …, whose tree is as deep as the chain is long, from the left."""
        links: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            links.append(left)
            left = left.left
        value = self.operand(left)
        for link in reversed(links):
            symbol, function = self._operator(link, link.op)
            right = self.operand(link.right)
            if type(value) in NUMBERS and type(right) in NUMBERS:
                value = self._fold(link, function, value, right)
            else:
                value = self.step(link, symbol, function, [value, right])
        return value

    def _operator(self, node: ast.expr, sign: ast.AST) -> tuple[str, Callable[..., Any]]:
        return OPERATORS[type(sign)] if type(sign) in OPERATORS else self.refuse(node, REMEDIES[type(sign).__name__])

    def _fold(self, node: ast.BinOp, function: Callable[..., Any], a: Any, b: Any) -> Any:
        """Two numbers make a number, here and now."""
        try:
            return power(a, b) if function is operator.pow else function(a, b)
        except ZeroDivisionError:
            self.refuse(node, f"`{self.segment(node)}` divides by zero.")
        except OverflowError:
            self.refuse(node, f"`{self.segment(node)}` is too large a number.")
        except (TypeError, ValueError) as error:
            self.refuse(node, f"`{self.segment(node)}` cannot be computed: {error}.")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if not isinstance(node.op, ast.UAdd | ast.USub):
            self.refuse(node, REMEDIES[type(node.op).__name__])
        value = self.operand(node.operand)
        if isinstance(node.op, ast.UAdd):
            return value
        return -value if type(value) in NUMBERS else self.step(node, "-", operator.neg, [value])

    def visit_Compare(self, node: ast.Compare) -> Any:
        """a < b < c: all of the comparisons."""
        operands = [self.operand(part) for part in (node.left, *node.comparators)]
        pairs = zip(node.ops, operands, operands[1:], strict=False)
        answers = [self.step(node, *self._operator(node, sign), [a, b]) for sign, a, b in pairs]
        return functools.reduce(lambda p, q: self.step(node, "logical_and", np.logical_and, [p, q]), answers)

    def visit_List(self, node: ast.List) -> Any:
        return self.step(node, "_list", own_numpy.array, [self._items(node)])

    def _items(self, node: ast.List) -> list[Any]:
        return [self._items(item) if isinstance(item, ast.List) else self.operand(item) for item in node.elts]

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(map(self.visit, node.elts))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return self.step(node, "_index", operator.getitem, [self.operand(node.value), self._index(node.slice)])

    def _index(self, node: ast.expr | None) -> Any:
        match node:
            case ast.Tuple():
                return tuple(map(self._index, node.elts))
            case ast.Slice():
                return slice(*map(self._index, (node.lower, node.upper, node.step)))
            case None:
                return None
            case ast.Constant(value=value) if value in (None, Ellipsis) or type(value) is int:
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))) if type(value) is int:
                return -value
            case _:
                self.refuse(node, "An index is an integer or a slice. Write x[0], x[-1], x[1:3] or x[:, 0].")

    # Calls

    def visit_Call(self, node: ast.Call) -> Any:
        word = self._function(node.func)
        args = [self._argument_of(word, position, item) for position, item in enumerate(node.args)]
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.refuse(keyword.value, REMEDIES["Starred"])
            if keyword.arg in ("out", "exact", "dtype", "like", "subok", "order"):
                self.refuse(keyword.value, f"The argument {keyword.arg}= is not taken here.")
            keywords[keyword.arg] = self._argument_of(word, 1, keyword.value)
        if word.name in ("max", "min") and isinstance(node.func, ast.Name) and len(args) > 1:
            self.refuse(node, f"{word.name} takes one array. Write {word.name}imum(a, b), or {word.name}(a, axis=0).")
        return self.step(node, word.name, word.function, args, **keywords)

    def _argument_of(self, word: vocabulary.Word, position: int, node: ast.expr) -> Any:
        """An argument: lists stay lists for functions that want them so, and as shapes and axes."""
        if isinstance(node, ast.List):
            is_plain = all(isinstance(item, ast.Constant) for item in node.elts)
            if is_plain if position else word.takes_list:
                return [self._argument_of(word, position, item) for item in node.elts]
        return self.visit(node)

    def _function(self, node: ast.expr) -> vocabulary.Word:
        match node:
            case ast.Name(id=name) if name in self.names:
                self.refuse(node, f"{name} is a variable and cannot be called. Write {name}*(...) for a product.")
            case ast.Name(id=name):
                prefix = ""
            case ast.Attribute(attr=name):
                prefix = self._prefix(node)
            case ast.Constant():
                self.refuse(node, "A number cannot be called. Write 2*(x + 1) for a product.")
            case _:
                self.refuse(node, "Functions are called by their names. Write sin(x) or linalg.norm(x).")
        if (word := vocabulary.find(name, prefix)) is None:
            near = vocabulary.suggestion(name, prefix=prefix)
            near = near or "Functions are those of numpy, numpy.linalg and scipy.special that have derivatives."
            shown = f"{prefix}.{name}" if prefix else name
            self.refuse(node, f"{shown} is no function that expressions may call. {near}")
        return word

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        prefix = self._prefix(node)
        if prefix in ("np", "numpy") and node.attr in vocabulary.CONSTANTS:
            return vocabulary.CONSTANTS[node.attr]
        self.refuse(node, f"{prefix}.{node.attr} is not called. Write {prefix}.{node.attr}(x).")

    def _prefix(self, node: ast.Attribute) -> str:
        """`np.linalg` of np.linalg.norm; attributes of anything but NumPy and SciPy are refused."""
        if node.attr.startswith("_"):
            self.refuse(node, f"The attribute {node.attr} is not taken. Expressions have no attributes.")
        prefix = "".join(self.text[slice(*self.span(node.value))].split())
        if prefix in vocabulary.PREFIXES:
            return prefix
        root = re.match(r"[^\W\d]\w*(?=(\.[^\W\d]\w*)*$)", prefix)
        if root and root[0] not in self.names and root[0] not in vocabulary.CONSTANTS:
            near = did_you_mean(prefix, vocabulary.PREFIXES)
            self.refuse(node, f"{prefix} is no part of NumPy or SciPy that is known. {near or 'Write np.sqrt(x).'}")
        remedy = {"T": "transpose(x)", "shape": "shape(x)", "size": "size(x)"}.get(node.attr, f"{node.attr}(x)")
        self.refuse(node, f"The attribute {node.attr} is not taken. Methods are written as functions: {remedy}.")


def power(base: Any, exponent: Any) -> Any:
    """The power of two numbers, unless it is enormous."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        if abs(base) > 1 and math.log2(abs(base)) * exponent > MOST_BITS:
            raise OverflowError
    elif isinstance(base, int | float) and isinstance(exponent, float) and base < 0 and not exponent.is_integer():
        raise ValueError("a negative number has no real power that is not whole; cbrt is the cube root")
    return base**exponent

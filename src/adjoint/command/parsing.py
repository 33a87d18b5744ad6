"""From the text of an expression to its steps: Python's own parser, and a list of what may stand in the tree.

Everything that is not on the list is refused by name, with its column and what to write instead.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from adjoint import numpy as own_numpy
from adjoint.base.suggestions import did_you_mean
from adjoint.command import vocabulary
from adjoint.command.failures import ExpressionError
from adjoint.command.grammar import (
    BINARY,
    COMPARE,
    MOST_BITS,
    REMEDIES,
    STATEMENTS,
    SYMBOLS,
    between,
    bitwise,
    described,
    dotted,
    is_number,
    power,
    syntax,
)

LONGEST = 10_000  # characters
DEEPEST = 60  # parentheses, calls and lists inside each other
CLIPPED = 120  # characters of the text of a step


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
    label: str = ""  # the name that the user gave it
    statement: int = 0  # which of the text's it is part of

    @property
    def elementwise(self) -> bool:
        return self.name in SYMBOLS or (isinstance(self.function, np.ufunc) and self.function.signature is None)

    def refused(self, why: str, text: str) -> ExpressionError:
        shown = self.text if len(self.text) <= 60 else f"{self.text[:57]}..."
        message = f"`{shown}` (column {self.column}) {why.rstrip('.')}."
        return ExpressionError(message, text.strip(), self.column, self.width)


class Reader:
    """Goes through the tree of one text and lists its steps; equal steps are listed once."""

    def __init__(self, text: str, variables: tuple[str, ...]) -> None:
        self.text = text.strip()
        self.lines = [line.encode() for line in self.text.split("\n")]
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line.decode()) + 1)
        self.variables = len(variables)
        self.names: dict[str, Any] = {name: Ref(place) for place, name in enumerate(variables)}
        self.used: set[str] = set()
        self.steps: list[Step] = []
        self.known: dict[str, Ref] = {}
        self.depth = 0
        self.statement = 0
        self.statements: list[str] = []

    def read(self) -> Any:
        """The result: a reference to a step or variable, or a constant."""
        body = self._tree().body
        if not body:
            raise ExpressionError("The expression is empty; write for example 'sin(x)**2' x=1.0.")
        self.statements = [self.segment(statement) for statement in body]
        for statement in body[:-1]:
            self._assign(statement)
            self.statement += 1
        last = body[-1]
        if isinstance(last, ast.Assign):
            self._refuse(last, "The last part is the result and has no name. Write c = x**2; sqrt(c) + cos(c).")
        if not isinstance(last, ast.Expr):
            self._refuse(last, f"{described(last)} is not taken. {STATEMENTS}")
        return self.argument(last.value)

    def _tree(self) -> ast.Module:
        if len(self.text) > LONGEST:
            raise ExpressionError(
                f"The expression has {len(self.text):,} characters, more than {LONGEST:,}; "
                "put a function into a file and name it module:function."
            )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python's remarks on texts like 1if x: they are refused anyway
                return ast.parse(self.text)
        except SyntaxError as error:
            column = self.starts[min((error.lineno or 1), len(self.lines)) - 1] + max(error.offset or 1, 1)
            column = min(column, len(self.text) + 1)
            raise ExpressionError(f"{syntax(error)} (column {column}).", self.text, column) from error
        except (RecursionError, MemoryError) as error:
            raise ExpressionError("The expression is nested too deeply, or too long a chain.") from error
        except ValueError as error:  # characters that cannot be in a text, numbers of thousands of digits
            raise ExpressionError(f"The expression cannot be read: {error}.") from error

    def _assign(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name in self.names or name in vocabulary.CONSTANTS:
                    self._refuse(statement, f"{name} has a value already; choose another name.")
                before = len(self.steps)
                found = self.argument(value)
                if isinstance(found, Ref) and found.index - self.variables == len(self.steps) - 1 >= before:
                    self.steps[-1] = replace(self.steps[-1], text=f"{name} = {self.steps[-1].text}", label=name)
                self.names[name] = found
            case _:
                self._refuse(statement, f"{described(statement)} is not taken. {STATEMENTS}")

    # Places and errors

    def column(self, node: Any) -> int:
        """Counted from 1, in characters of the text without spaces around it."""
        line = self.lines[node.lineno - 1]
        return self.starts[node.lineno - 1] + len(line[: node.col_offset].decode(errors="replace")) + 1

    def width(self, node: Any) -> int:
        if node.end_lineno != node.lineno:
            return 1
        return len(self.lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode(errors="replace"))

    def segment(self, node: Any) -> str:
        """The text of a part, on one line; the beginning of a long one."""
        start = self.column(node) - 1
        last = self.lines[node.end_lineno - 1][: node.end_col_offset].decode(errors="replace")
        text = " ".join(self.text[start : self.starts[node.end_lineno - 1] + len(last)].split())
        return text if len(text) <= CLIPPED else f"{text[: CLIPPED - 1]}…"

    def _refuse(self, node: Any, message: str) -> NoReturn:
        column = self.column(node)
        head, stop, rest = message.partition(". ")
        told = f"{head} (column {column}). {rest}" if stop else f"{message.rstrip('.')} (column {column})."
        raise ExpressionError(told, self.text, column, self.width(node))

    # The tree

    def step(self, node: Any, name: str, function: Callable[..., Any], args: list[Any], **keywords: Any) -> Ref:
        """A step of the program; the same as an earlier one where name and arguments are equal."""
        key = repr((name, id(function), args, keywords))
        if key not in self.known:
            self.known[key] = Ref(self.variables + len(self.steps))
            made = Step(self.segment(node), self.column(node), self.width(node), name, function, tuple(args))
            self.steps.append(replace(made, keywords=tuple(keywords.items()), statement=self.statement))
        return self.known[key]

    def argument(self, node: ast.expr) -> Any:
        """What a part of the tree stands for: a constant, or a reference."""
        self.depth += 1
        if self.depth > DEEPEST:
            self._refuse(
                node, f"The expression is nested more than {DEEPEST} deep. Name parts of it: c = x**2; sqrt(c)."
            )
        try:
            return self._argument(node)
        finally:
            self.depth -= 1

    def _argument(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name():
                return self._name(node)
            case ast.BinOp():
                return self._chain(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.Compare():
                return self._compare(node)
            case ast.Call():
                return self._call(node)
            case ast.Subscript():
                return self.step(node, "_index", operator.getitem, [self._operand(node.value), self._index(node.slice)])
            case ast.List():
                return self.step(node, "_list", own_numpy.array, [self._list(node)])
            case ast.Tuple():
                return tuple(self.argument(item) for item in node.elts)
            case ast.Attribute():
                self._attribute(node)
            case _:
                self._refuse(node, REMEDIES.get(type(node), f"{described(node)} is not taken."))

    def _operand(self, node: ast.expr) -> Any:
        found = self.argument(node)
        if isinstance(found, tuple):
            self._refuse(node, "Several values in parentheses are no number. Write a list [x, y] for a vector.")
        if found is None:
            self._refuse(node, "None is no number.")
        return found

    def _constant(self, node: ast.Constant) -> Any:
        value = node.value
        if isinstance(value, str | bytes):
            self._refuse(node, "Text in quotes is not taken. Expressions have numbers, variables and functions.")
        if value is Ellipsis:
            self._refuse(node, "... stands in indices only: x[..., 0].")
        if isinstance(value, int) and value.bit_length() > MOST_BITS:
            self._refuse(node, "This whole number is too large.")
        return value

    def _name(self, node: ast.Name) -> Any:
        name = node.id
        if name in self.names:
            self.used.add(name)
            return self.names[name]
        if name in vocabulary.CONSTANTS:
            return vocabulary.CONSTANTS[name]
        if name.startswith("__"):
            self._refuse(node, f"{name} is not taken. Names with underscores in front belong to Python.")
        if vocabulary.find(name) or name in vocabulary.PREFIXES:
            self._refuse(node, f"{name} is a function here. Call it: {name}(x).")
        near = did_you_mean(name, [*self.names, *vocabulary.CONSTANTS])
        self._refuse(node, f"{name} has no value. " + (near or f"Give it one after the expression: {name}=1.0."))

    def _chain(self, node: ast.BinOp) -> Any:
        """a + b + c + …, whose tree is as deep as the chain is long, from the left."""
        links: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            links.append(left)
            left = left.left
        found = self._operand(left)
        for link in reversed(links):
            if type(link.op) not in BINARY:
                self._refuse(link, bitwise(link.op))
            symbol, function = BINARY[type(link.op)]
            right = self._operand(link.right)
            if is_number(found) and is_number(right):
                found = self._folded(link, symbol, found, right)
            else:
                found = self.step(link, symbol, function, [found, right])
        return found

    def _folded(self, node: ast.BinOp, symbol: str, a: Any, b: Any) -> Any:
        """Two numbers make a number, here and now."""
        try:
            return power(a, b) if symbol == "**" else BINARY[type(node.op)][1](a, b)
        except ZeroDivisionError:
            self._refuse(node, f"`{self.segment(node)}` divides by zero.")
        except OverflowError:
            self._refuse(node, f"`{self.segment(node)}` is too large a number.")
        except (TypeError, ValueError) as error:
            self._refuse(node, f"`{self.segment(node)}` cannot be computed: {error}.")

    def _unary(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            self._refuse(node, "`not` is not taken. Write logical_not(a).")
        if isinstance(node.op, ast.Invert):
            self._refuse(node, "`~` is not taken. Write logical_not(a).")
        found = self._operand(node.operand)
        if isinstance(node.op, ast.UAdd):
            return found
        if is_number(found):
            return -found
        return self.step(node, "-", operator.neg, [found])

    def _compare(self, node: ast.Compare) -> Any:
        operands = [self._operand(part) for part in (node.left, *node.comparators)]
        pairs: list[Any] = []
        for place, sign in enumerate(node.ops):
            if type(sign) not in COMPARE:
                self._refuse(node, "`in` and `is` are not taken. Compare with < <= > >= == !=.")
            symbol, function = COMPARE[type(sign)]
            both = operands[place : place + 2]
            pairs.append(self.step(node, symbol, function, both))
        return pairs[0] if len(pairs) == 1 else self.step(node, "_between", between, pairs)

    def _list(self, node: ast.List) -> list[Any]:
        return [self._list(item) if isinstance(item, ast.List) else self._operand(item) for item in node.elts]

    def _index(self, node: ast.expr) -> Any:
        match node:
            case ast.Tuple():
                return tuple(self._index(item) for item in node.elts)
            case ast.Slice():
                ends = (node.lower, node.upper, node.step)
                return slice(*(None if end is None else self._index(end) for end in ends))
            case ast.Constant(value=value) if value is None or value is Ellipsis:
                return value
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))) if not isinstance(value, bool):
                return -value
            case _:
                self._refuse(node, "An index is a whole number or a slice. Write x[0], x[-1], x[1:3] or x[:, 0].")

    # Calls

    def _call(self, node: ast.Call) -> Any:
        word = self._function(node.func)
        args = [self._given(word, place, item) for place, item in enumerate(node.args)]
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                self._refuse(keyword.value, "A star is not taken. Write the arguments out.")
            if keyword.arg in ("out", "exact", "dtype", "like", "subok", "order"):
                self._refuse(keyword.value, f"The argument {keyword.arg}= is not taken here.")
            keywords[keyword.arg] = self._given(word, 1, keyword.value)
        if word.name in ("max", "min") and isinstance(node.func, ast.Name) and len(args) > 1:
            both = f"{word.name}imum"
            self._refuse(node, f"{word.name} takes one array. Write {both}(a, b), or {word.name}(a, axis=0).")
        return self.step(node, word.name, word.function, args, **keywords)

    def _given(self, word: vocabulary.Word, place: int, node: ast.expr) -> Any:
        """An argument: lists stay lists for functions that want them so, and as shapes and axes."""
        if isinstance(node, ast.List):
            plain = all(isinstance(item, ast.Constant) for item in node.elts) and place > 0
            if plain or (word.takes_list and place == 0):
                return [self._given(word, place, item) for item in node.elts]
        return self.argument(node)

    def _function(self, node: ast.expr) -> vocabulary.Word:
        match node:
            case ast.Name(id=name) if name in self.names:
                self._refuse(node, f"{name} is a variable and cannot be called. Write {name}*(...) for a product.")
            case ast.Name(id=name):
                prefix = ""
            case ast.Attribute(attr=name):
                prefix = self._attribute(node)
            case ast.Constant():
                self._refuse(node, "A number cannot be called. Write 2*(x + 1) for a product.")
            case _:
                self._refuse(node, "Functions are called by their names. Write sin(x) or linalg.norm(x).")
        if (word := vocabulary.find(name, prefix)) is None:
            near = vocabulary.suggestion(name, prefix=prefix)
            near = near or "Functions are those of numpy, numpy.linalg and scipy.special that have derivatives."
            shown = f"{prefix}.{name}" if prefix else name
            self._refuse(node, f"{shown} is no function that expressions may call. {near}")
        return word

    def _attribute(self, node: ast.Attribute) -> str:
        """The prefix of `np.linalg.norm`; attributes of anything else are refused."""
        if node.attr.startswith("_"):
            self._refuse(node, f"The attribute {node.attr} is not taken. Expressions have no attributes.")
        prefix = dotted(node.value)
        if prefix in vocabulary.PREFIXES:
            return prefix
        root = (prefix or "").partition(".")[0]
        if prefix and root not in self.names and root not in vocabulary.CONSTANTS:
            near = did_you_mean(prefix, vocabulary.PREFIXES)
            self._refuse(node, f"{prefix} is no part of NumPy or SciPy that is known. {near or 'Write np.sqrt(x).'}")
        remedy = {"T": "transpose(x)", "shape": "shape(x)", "size": "size(x)"}.get(node.attr, f"{node.attr}(x)")
        self._refuse(node, f"The attribute {node.attr} is not taken. Methods are written as functions: {remedy}.")

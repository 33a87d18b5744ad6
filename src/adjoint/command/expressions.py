"""Expressions as functions: parsed by Python, checked word by word, and computed step by step. Nothing is evaluated
that is not in the vocabulary.

    Expression.parse("c = x**2 + exp(x**2); sqrt(c) + cos(c)", ["x"])

gives x ↦ √c + cos c. Equal parts are one step, so that this function has six: x², exp, +, √, cos, +. The function's
file is `<expression>`, whose lines are the statements, or the texts of the steps when there is only one: programs that
are traced tell lines as those of any other code.
"""

from __future__ import annotations

import ast
import itertools
import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any, final

import numpy as np

from adjoint.command.failures import ExpressionError
from adjoint.command.growth import LARGEST, check_growth, size_of
from adjoint.command.parsing import Reader, Ref, Step

_numbers = itertools.count(1)


def _code(
    steps: Sequence[Step], places: Sequence[int], result: Any, variables: Sequence[str], filename: str
) -> FunctionType:
    """The steps as one function of Python's, each in its line: written from the steps, not from the user's text.

    Steps without a name of the user's are items of a list, so that whoever looks for names does not find any.
    """
    known: dict[str, Any] = {}  # what the function refers to, under names that no user can write

    def constant(value: Any, kind: str) -> ast.expr:
        name = f".{kind}{len(known)}"
        known[name] = value
        return ast.Name(name, ast.Load())

    def item(k: int, context: ast.expr_context) -> ast.expr:
        if steps[k].label:
            return ast.Name(steps[k].label, context)
        return ast.Subscript(ast.Name(".steps", ast.Load()), ast.Constant(k), context)

    def written(argument: Any) -> ast.expr:
        match argument:
            case Ref(index) if index < len(variables):
                return ast.Name(variables[index], ast.Load())
            case Ref(index):
                return item(index - len(variables), ast.Load())
            case list() | tuple():
                make = ast.List if isinstance(argument, list) else ast.Tuple
                return make([written(part) for part in argument], ast.Load())
            case _:
                return constant(argument, "constant")

    lines: list[ast.stmt] = [ast.parse("steps = {}").body[0]]
    lines[0].targets = [ast.Name(".steps", ast.Store())]  # pyright: ignore[reportAttributeAccessIssue]
    for k, step in enumerate(steps):
        given = [written(argument) for argument in step.arguments]
        keywords = [ast.keyword(name, written(argument)) for name, argument in step.keywords]
        call = ast.Call(constant(step.function, "function"), given, keywords)
        lines.append(_at_line(places[k], ast.Assign([item(k, ast.Store())], call)))
    lines.append(_at_line(max(places, default=1), ast.Return(written(result))))
    whole = ast.parse("def f(): pass")
    made = whole.body[0]
    assert isinstance(made, ast.FunctionDef)
    made.args.args = [ast.arg(name) for name in variables]
    made.body = lines
    module = compile(ast.fix_missing_locations(whole), filename, "exec")
    return FunctionType(next(part for part in module.co_consts if isinstance(part, CodeType)), known)


def _at_line(line: int, statement: ast.stmt) -> ast.stmt:
    """A statement all of whose parts stand in this line."""
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt | ast.expr | ast.keyword):
            node.lineno = node.end_lineno = line
            node.col_offset = node.end_col_offset = 0
    return statement


@dataclass(frozen=True)
class NotFinite:
    """The first part of an expression whose value is infinite or not a number, though all that it is made of is."""

    text: str
    column: int
    value: Any

    def __str__(self) -> str:
        bad = np.asarray(self.value).ravel()
        bad = bad[~np.isfinite(bad)][0]
        reason = " (a division by zero)" if np.isinf(bad) and "/" in self.text else ""
        return f"`{self.text}` (column {self.column}) is {bad}{reason}"


@final
@dataclass(frozen=True)
class Expression:
    """A text as a function of its variables."""

    text: str
    variables: tuple[str, ...]
    steps: tuple[Step, ...]
    result: Any  # a Ref, or a constant
    unused: tuple[str, ...]
    statements: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, variables: Sequence[str] = ()) -> Expression:
        """Read a text; ExpressionError says what cannot be understood, and at which column."""
        reader = Reader(text, tuple(variables))
        result = reader.read()
        unused = tuple(name for name in variables if name not in reader.used)
        return cls(reader.text, tuple(variables), tuple(reader.steps), result, unused, tuple(reader.statements))

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function of the variables, in their order."""
        number = next(_numbers)
        filename = "<expression>" if number == 1 else f"<expression-{number}>"
        one = len(self.statements) == 1
        places = [k + 1 if one else step.statement + 1 for k, step in enumerate(self.steps)]
        lines = [f"{text}\n" for text in ([step.text for step in self.steps] if one else self.statements)]
        linecache.cache[filename] = (sum(map(len, lines)), None, lines, filename)
        function = _code(self.steps, places, self.result, self.variables, filename)
        function.__doc__ = self.text
        return function

    def at(self, **values: Any) -> tuple[Any, NotFinite | None]:
        """The value, step by step with checks of sizes; and where the first number that is not finite came from.

        Errors name the part and its column.
        """
        found: list[Any] = [values[name] for name in self.variables]
        trouble = None
        largest = max([LARGEST, *(4 * size_of(value) for value in found)])
        with np.errstate(all="ignore"):
            for step in self.steps:
                args, kwargs = self._given(step, found)
                check_growth(step, args, kwargs, largest, self.text)
                try:
                    value = step.function(*args, **kwargs)
                except ExpressionError:
                    raise
                except Exception as error:
                    raise step.refused(_reason(error), self.text) from error
                if size_of(value) > largest:
                    raise step.refused(f"makes {size_of(value):,} numbers, more than {largest:,}", self.text)
                if trouble is None and not _finite(value) and all(map(_finite, _leaves((args, kwargs)))):
                    trouble = NotFinite(step.text, step.column, value)
                found.append(value)
        return _filled(self.result, found), trouble

    def _given(self, step: Step, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args = tuple(_filled(argument, values) for argument in step.arguments)
        return args, {name: _filled(argument, values) for name, argument in step.keywords}


def _filled(argument: Any, values: Sequence[Any]) -> Any:
    """An argument with the values of the steps that it refers to."""
    match argument:
        case Ref():
            return values[argument.index]
        case tuple() | list():
            return type(argument)(_filled(item, values) for item in argument)
        case _:
            return argument


def _leaves(arguments: Any) -> Iterator[Any]:
    match arguments:
        case tuple() | list():
            for item in arguments:
                yield from _leaves(item)
        case dict():
            yield from _leaves(list(arguments.values()))
        case _:
            yield arguments


def _finite(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_finite, value))
    array = np.asarray(value)
    return array.dtype.kind not in "fc" or bool(np.all(np.isfinite(array)))


def _reason(error: Exception) -> str:
    match error:
        case ZeroDivisionError():
            return "divides by zero"
        case OverflowError():
            return "is too large a number"
        case MemoryError():
            return f"needs too much memory. {error}".rstrip()
        case _:
            return f"cannot be computed: {str(error).strip() or type(error).__name__}"


def value_of(text: str, *, floats: bool = True) -> Any:
    """A number or an array written as an expression without variables: `0.5`, `pi/2`, `[1, 2, 3]`, `ones(3)`.

    Whole numbers become floats, since derivatives are taken in them, unless that is not wanted.
    """
    value, _ = Expression.parse(text).at()
    if isinstance(value, tuple | list):
        raise ExpressionError(f"{text.strip()} is several values; write a list [1, 2, 3] for a vector.")
    if value is None:
        raise ExpressionError("None is no number; write 0.5, [1, 2, 3] or ones(3).")
    array = np.asarray(value)
    if floats and array.dtype.kind in "iub":
        array = array.astype(float)
        return array[()]
    return value if isinstance(value, bool | int | np.ndarray) else array[()]


def variables_of(pairs: Mapping[str, str], *, floats: bool = True) -> dict[str, Any]:
    """The values of `x=1.0` pairs; errors name the variable."""
    values = {}
    for name, text in pairs.items():
        try:
            values[name] = value_of(text, floats=floats)
        except ExpressionError as error:
            raise ExpressionError(f"{name}={text[:60]}: {error}") from error
    return values

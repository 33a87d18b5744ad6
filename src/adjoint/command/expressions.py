"""Expressions as functions: parsed by Python, checked word by word, and computed step by step. Nothing is evaluated
that is not in the vocabulary.

    Expression.parse("c = x**2 + exp(x**2); sqrt(c) + cos(c)", ["x"])

gives x ↦ √c + cos c. Equal parts are one step, so that this function has six: x², exp, +, √, cos, +. The function's
file is `<statements>`, whose lines they are, or `<expression>` when there is only one, whose lines are the texts of the
steps: programs that are traced tell lines as those of any other code.
"""

from __future__ import annotations

import ast
import itertools
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any, final

import numpy as np

from adjoint.command.failures import ExpressionError
from adjoint.command.growth import LARGEST, check_growth, size_of
from adjoint.command.parsing import Reader, Ref, Step

_numbers = itertools.count(1)


def _compile(
    steps: Sequence[Step], lines: Sequence[int], result: Any, variables: Sequence[str], filename: str
) -> FunctionType:
    """The steps as one Python function, each in its line: written from the steps, not from the user's text.

    Steps without a user name are items of a dictionary, so that whoever looks for names does not find any.
    """
    own = "_" * (1 + max(map(len, [*variables, *(step.label for step in steps)]), default=0))  # no user name
    constants: list[Any] = []

    def write(argument: Any) -> str:
        match argument:
            case Ref(index) if index < len(variables):
                return variables[index]
            case Ref(index):
                return name_of(index - len(variables))
            case list():
                return f"[{', '.join(map(write, argument))}]"
            case tuple():
                return f"({''.join(f'{write(part)}, ' for part in argument)})"
            case _:
                constants.append(argument)
                return f"{own}constants[{len(constants) - 1}]"

    def name_of(k: int) -> str:
        return steps[k].label or f"{own}[{k}]"

    body = [f"{own} = {{}}"]
    for k, step in enumerate(steps):
        arguments = [write(argument) for argument in step.arguments]
        arguments += [f"{name}={write(argument)}" for name, argument in step.keywords]
        body.append(f"{name_of(k)} = {own}functions[{k}]({', '.join(arguments)})")
    module = ast.parse("\n ".join(["def f():", *body, f"return {write(result)}"]))
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.args.args = [ast.arg(name) for name in variables]
    for line, statement in zip([1, *lines, max(lines, default=1)], function.body, strict=True):
        for node in ast.walk(statement):
            vars(node).update(lineno=line, end_lineno=line, col_offset=0, end_col_offset=0)
    code = compile(ast.fix_missing_locations(module), filename, "exec")
    known = {f"{own}functions": [step.function for step in steps], f"{own}constants": constants}
    return FunctionType(next(part for part in code.co_consts if isinstance(part, CodeType)), known)


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
        one = len(self.statements) == 1
        kind = "expression" if one else "statements"
        filename = f"<{kind}>" if number == 1 else f"<{kind}-{number}>"
        texts = [f"{text}\n" for text in ([step.text for step in self.steps] if one else self.statements)]
        lines = [k + 1 if one else step.statement + 1 for k, step in enumerate(self.steps)]
        linecache.cache[filename] = (sum(map(len, texts)), None, texts, filename)
        function = _compile(self.steps, lines, self.result, self.variables, filename)
        function.__doc__ = self.text
        return function

    def at(self, **values: Any) -> tuple[Any, NotFinite | None]:
        """The value, step by step with checks of sizes; and where the first number that is not finite came from.

        Errors name the part and its column.
        """
        results: list[Any] = [values[name] for name in self.variables]
        trouble = None
        largest = max([LARGEST, *(4 * size_of(value) for value in results)])
        with np.errstate(all="ignore"):
            for step in self.steps:
                args, kwargs = _fill(step.arguments, results), _fill(dict(step.keywords), results)
                check_growth(step, args, kwargs, largest, self.text)
                try:
                    value = step.function(*args, **kwargs)
                except ExpressionError:
                    raise
                except Exception as error:
                    raise step.refused(_reason(error), self.text) from error
                if size_of(value) > largest:
                    raise step.refused(f"makes {size_of(value):,} numbers, more than {largest:,}", self.text)
                if trouble is None and not _finite(value) and _finite((args, kwargs)):
                    trouble = NotFinite(step.text, step.column, value)
                results.append(value)
        return _fill(self.result, results), trouble


def _fill(argument: Any, values: Sequence[Any]) -> Any:
    """An argument with the values of the steps that it refers to."""
    match argument:
        case Ref():
            return values[argument.index]
        case tuple() | list():
            return type(argument)(_fill(item, values) for item in argument)
        case dict():
            return {name: _fill(item, values) for name, item in argument.items()}
        case _:
            return argument


def _finite(value: Any) -> bool:
    if isinstance(value, tuple | list | dict):
        return all(map(_finite, value.values() if isinstance(value, dict) else value))
    array = np.asarray(value)
    return array.dtype.kind not in "fc" or bool(np.all(np.isfinite(array)))


def _reason(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"needs too much memory. {error}".rstrip()
    known = {ZeroDivisionError: "divides by zero", OverflowError: "is too large a number"}
    return known.get(type(error), f"cannot be computed: {str(error).strip() or type(error).__name__}")


def value_of(text: str, *, floats: bool = True) -> Any:
    """A number or an array written as an expression without variables: `0.5`, `pi/2`, `[1, 2, 3]`, `ones(3)`.

    Integers become floats, since derivatives are taken in them, unless that is not wanted.
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

"""Texts with traced numbers in them: formatted now where the value is known, when the program runs where it is not."""

from __future__ import annotations

import functools
import itertools
import operator
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.base.number_texts import PERCENT, show_number
from adjoint.conversion.questions import is_of_batch, is_undecided
from adjoint.conversion.special_methods import own_method
from adjoint.ops.conversions import ask
from adjoint.program.trace import Tracer, concrete
from adjoint.program.types import Value, type_of

_DIRECTIVE = r"%[-+ #0]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa]"


class TracedText(str):
    """A text whose numbers are known when the program runs: shown with their types until then.

    What gives a text of it waits with it; what gives anything else asks for the numbers.
    """

    operands: tuple[Value, ...]
    _parts: tuple[Any, ...]  # texts, (conversion, format) for each operand, and (text, function) of inner texts

    @staticmethod
    def of(parts: Sequence[Any]) -> TracedText:
        """One text of several parts: texts, such texts, and (operand, conversion, format)."""
        flat: list[Any] = []
        operands: list[Value] = []
        shown = ""
        for part in parts:
            shown += _shown_now(*part) if isinstance(part, tuple) else str.__str__(part)
            if isinstance(part, TracedText):
                flat += part._parts
                operands += part.operands
            elif isinstance(part, tuple):
                operands.append(part[0])
                flat.append(part[1:])
            else:
                flat.append(part)
        made = TracedText(shown)
        made.operands, made._parts = tuple(operands), tuple(flat)
        return made

    def later(self, function: Callable[[str], str]) -> TracedText:
        """function(text), when the numbers are known."""
        made = TracedText(str.__str__(self))
        made.operands, made._parts = self.operands, ((self, function),)
        return made

    def filled(self, values: Iterator[Value]) -> str:
        """The text with the operands' values."""
        return "".join([self._fill(part, values) for part in self._parts])

    def _fill(self, part: Any, values: Iterator[Value]) -> str:
        if isinstance(part, str):
            return part
        if isinstance(part[0], TracedText):
            return part[1](part[0].filled(values))
        value = next(values)
        return value if isinstance(value, str) else show_number(value, *part)

    def _formats(self) -> list[tuple[int, str]]:
        """How each operand is shown."""
        inner = [
            p[0]._formats() if isinstance(p[0], TracedText) else [p] for p in self._parts if not isinstance(p, str)
        ]
        return [one for part in inner for one in part]

    def known(self) -> str:
        """The text with the numbers of this call: the program is for numbers that are shown like this."""
        shown: list[Any] = []
        for value, (conversion, spec) in zip(self.operands, self._formats(), strict=True):
            answer = functools.partial(show_number, conversion=conversion, spec=spec)
            shown.append(ask(value, f"text {conversion} {spec}", answer) if isinstance(value, Tracer) else value)
        return self.filled(iter(shown))

    def __add__(self, other: str) -> TracedText:
        return TracedText.of([self, other])

    def __radd__(self, other: str) -> TracedText:
        return TracedText.of([other, self])


def _shown_now(value: Value, conversion: int, spec: str) -> str:
    return f"<{type_of(value)}>" if is_undecided(value) else show_number(concrete(value), conversion, spec)


def _waits(value: Any) -> bool:
    """Whether a number is not known now, or is another one for each element of a batch."""
    return isinstance(value, Tracer) and (is_undecided(value) or is_of_batch(value))


def _method(name: str) -> Any:
    """A method of str: another text waits, all else is asked for."""
    is_text = name in _TO_TEXTS

    def method(self: TracedText, *args: Any, **kwargs: Any) -> Any:
        if is_text:
            return self.later(lambda text: getattr(text, name)(*args, **kwargs))
        return getattr(self.known(), name)(*args, **kwargs)

    return method


_TO_TEXTS = frozenset({
    "__getitem__", "__mul__", "__rmul__", "capitalize", "casefold", "center", "expandtabs", "ljust", "lower", "lstrip",
    "removeprefix", "removesuffix", "replace", "rjust", "rstrip", "strip", "swapcase", "title", "translate", "upper",
    "zfill", "__format__",
})  # fmt: skip
_ASKING = frozenset({
    "__contains__", "__eq__", "__ge__", "__gt__", "__hash__", "__iter__", "__le__", "__len__", "__lt__", "__ne__",
    "count",
    "encode", "endswith", "find", "index", "isalnum", "isalpha", "isdecimal", "isdigit", "islower", "isnumeric",
    "isspace", "isupper", "partition", "rfind", "rindex", "rpartition", "rsplit", "split", "splitlines", "startswith",
})  # fmt: skip
for _name in _TO_TEXTS | _ASKING:
    setattr(TracedText, _name, _method(_name))


def formatted(value: Any, conversion: int, spec: str) -> Any:
    """What stands in braces in an f-string."""
    if isinstance(value, Tracer):
        if _waits(value):
            return TracedText.of([(value, conversion, str(spec))])
        return show_number(concrete(value), conversion, spec)
    is_own = conversion == -1 and own_method(value, "__format__") is not None
    value = own_text(value, conversion, spec)
    if isinstance(value, TracedText):
        return value.later(lambda text: format(text, spec)) if spec and not is_own else value
    return show_number(value, conversion, spec)


def own_text(value: Any, conversion: int, spec: str) -> Any:
    """The text that a class of the user's gives for a value; the value itself where it gives none."""
    if conversion == -1 and (method := own_method(value, "__format__")) is not None:
        return _Shown.of(method(spec))
    names = ("__repr__",) if conversion in (114, 97) else ("__str__", "__repr__")
    method = own_method(value, *names)
    return value if method is None else method()


class _Shown(str):
    """A text that has its format already."""

    @staticmethod
    def of(text: str) -> str:
        return text if isinstance(text, TracedText) else _Shown(text)

    def __format__(self, spec: str) -> str:
        return str(self)


def text(*parts: Any) -> str:
    """An f-string."""
    if any(isinstance(part, TracedText) for part in parts):
        return TracedText.of(parts)
    return "".join(parts)


def percent(template: str, values: Any) -> Any:
    """template % values."""
    if isinstance(values, dict) or not isinstance(template, str):
        return template % values
    given = values if isinstance(values, tuple) else (values,)
    if not any(isinstance(v, Tracer) for v in given) and not any(own_method(v, "__str__", "__repr__") for v in given):
        return template % values
    if any(map(_waits, given)):
        return _deferred(template, given)
    plain = tuple(plain_number(v) for v in given)
    return _deferred(template, plain) if any(isinstance(v, TracedText) for v in plain) else template % plain


def fill_template(template: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """template.format(*args, **kwargs)."""
    counted = itertools.count()
    reader = string.Formatter()

    def fill(template: str) -> Any:
        parts: list[Any] = []
        for literal, field, spec, conversion in reader.parse(template):
            parts.append(literal)
            if field is None:
                continue
            if not field or field[0] in ".[":
                field = f"{next(counted)}{field}"
            value = reader.get_field(field, args, kwargs)[0]
            parts.append(formatted(value, ord(conversion) if conversion else -1, fill(spec or "")))
        return text(*parts)

    return fill(template)


def join_texts(separator: str, texts: Sequence[str]) -> Any:
    """separator.join(texts)."""
    if not any(isinstance(t, TracedText) for t in texts):
        return separator.join(texts)
    return TracedText.of([part for t in texts for part in (separator, t)][1:])


def _deferred(template: str, given: tuple[Any, ...]) -> TracedText:
    parts: list[Any] = []
    begin = 0
    values = iter(given)
    for found in re.finditer(_DIRECTIVE, template):
        parts.append(template[begin : found.start()].replace("%%", "%"))
        value = next(values)
        if isinstance(value, TracedText):
            parts.append(value.later(functools.partial(operator.mod, found.group())))
        elif isinstance(value, Tracer):
            parts.append((value, PERCENT, found.group()))
        else:
            parts.append(found.group() % value)
        begin = found.end()
    parts.append(template[begin:].replace("%%", "%"))
    return TracedText.of(parts)


def plain_number(value: Any) -> Any:
    """A traced number as the plain one that it is; a text for those that are not known."""
    if not isinstance(value, Tracer):
        return own_text(value, 115, "")
    if _waits(value):
        return TracedText.of([(value, -1, "")])
    known = concrete(value)
    return known.item() if isinstance(known, np.ndarray) and not known.ndim else known

"""Formulas as text: v₃ = v₁ · exp(v₂), v̄₁ = v̄₃ · exp(v₂)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.show.formulas import Apply, Formula, Number, Symbol
from adjoint.show.story import Variable

__all__ = ["accented", "number", "subscripted", "text"]

_SUBSCRIPTS = str.maketrans("0123456789-", "₀₁₂₃₄₅₆₇₈₉₋")
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_ACCENTS = {"": "", "bar": "\u0304", "dot": "\u0307", "bar dot": "\u0304\u0307"}

# How tightly operators bind; a part that binds less tightly than what stands around it gets parentheses.
SUM, NEGATION, PRODUCT, POWER, ATOM = 1, 2, 3, 4, 5
INFIX = {
    "add": (" + ", SUM), "subtract": (" − ", SUM), "multiply": (" · ", PRODUCT), "divide": (" / ", PRODUCT),
    "matmul": (" @ ", PRODUCT), "power": ("**", POWER), "floor_divide": (" // ", PRODUCT),
    "remainder": (" % ", PRODUCT), "greater": (" > ", 0), "greater_equal": (" ≥ ", 0), "less": (" < ", 0),
    "less_equal": (" ≤ ", 0), "equal": (" == ", 0), "not_equal": (" ≠ ", 0),
}  # fmt: skip
# Names that people use, where the primitive's own says more than they want to know.
NAMES = {"expit": "σ", "absolute": "abs", "reciprocal": "1/", "broadcast": "broadcast", "select": "where"}


def subscripted(name: str) -> str:
    """v-1 -> v₋₁."""
    return name[:1] + name[1:].translate(_SUBSCRIPTS)


def accented(name: str, accent: str = "") -> str:
    """v3, "bar" -> v̄₃."""
    return name[:1] + _ACCENTS[accent] + name[1:].translate(_SUBSCRIPTS)


def number(value: Any, digits: int = 7) -> str:
    """A number as short as it can be."""
    if type(value) is np.float64 or type(value) is float:  # most are, and there may be many
        return _signed(f"{float(value):.{digits}g}")
    plain = np.asarray(value)[()]
    if isinstance(plain, np.bool_ | bool):
        return str(bool(plain))
    if isinstance(plain, np.integer | int):
        return str(plain).replace("-", "−")
    if isinstance(plain, np.complexfloating):
        x, y = float(np.real(plain)), float(np.imag(plain))
        sign = "−" if y < 0 or (y == 0 and np.signbit(y)) else "+"
        return f"({number(x, digits)}{sign}{number(abs(y), digits)}j)"
    return _signed(f"{plain:.{digits}g}")


def _signed(written: str) -> str:
    """1e-06 -> 1e−6."""
    mantissa, e, exponent = written.partition("e")
    return (f"{mantissa}e{int(exponent)}" if e else written).replace("-", "−")


def text(formula: Formula, around: int = 0) -> str:
    """A formula in one line."""
    if isinstance(formula, Symbol):
        v = formula.variable
        return accented(v.name if isinstance(v, Variable) else str(v), formula.accent)
    if isinstance(formula, Number):
        return _constant(formula.value, around)
    written, binding = _applied(formula)
    return f"({written})" if binding < around else written


def _constant(value: Any, around: int) -> str:
    if np.ndim(value) == 0:
        shown = number(value)
        return f"({shown})" if shown.startswith("−") and around >= NEGATION else shown
    if np.size(value) and np.all(np.asarray(value) == np.ravel(value)[0]):
        return number(np.ravel(value)[0])
    shape = "×".join(map(str, np.shape(value)))
    return f"array {shape}"


def _applied(formula: Apply) -> tuple[str, int]:
    op: Any = formula.op
    title, parts = formula.title, formula.parts
    if title == "power" and (exponent := _small(parts[1])) is not None:
        return text(parts[0], ATOM) + str(exponent).translate(_SUPERSCRIPTS), POWER
    if title in INFIX and len(parts) == 2:
        sign, binding = INFIX[title]
        right = binding + 1 if title in ("subtract", "divide", "matmul", "power") else binding
        left = binding + 1 if title == "power" else binding
        return f"{text(parts[0], left)}{sign}{text(parts[1], right)}", binding
    if title == "negative":
        return f"−{text(parts[0], PRODUCT)}", NEGATION
    if title == "square":
        return f"{text(parts[0], ATOM)}²", POWER
    if title == "reciprocal":
        return f"1 / {text(parts[0], POWER)}", PRODUCT
    if title == "transpose" and tuple(op.axes) == (1, 0):
        return f"{text(parts[0], ATOM)}ᵀ", ATOM
    if title == "slice":
        return f"{text(parts[0], ATOM)}[{', '.join(map(_item, op.items))}]", ATOM
    if title == "gather":
        return f"{text(parts[0], ATOM)}[{', '.join(map(text, parts[1:]))}]", ATOM
    if title == "scattersum":
        return f"scatter({', '.join(_scattered(op, parts))})", ATOM
    if title == "scatterset":
        places = _place(op.place, list(parts[2:]))
        return f"set({text(parts[0])}{places}, {', '.join(map(text, parts[1:2]))})", ATOM
    if title == "einsum":
        return f"einsum('{op.spec}', {', '.join(map(text, parts))})", ATOM
    if title == "select":
        return f"where({text(parts[2])}, {text(parts[0])}, {text(parts[1])})", ATOM
    return f"{NAMES.get(title, title)}({', '.join([*map(text, parts), *_options(op, formula.whole)])})", ATOM


def _small(formula: Formula) -> int | None:
    """An exponent that is written above the line: a whole number of one digit."""
    if not isinstance(formula, Number) or np.ndim(formula.value) or np.asarray(formula.value).dtype.kind not in "iuf":
        return None
    return int(formula.value) if abs(formula.value) <= 9 and formula.value == int(formula.value) else None


def _scattered(op: Any, parts: Sequence[Formula]) -> list[str]:
    """What is added to zeros, and where: v̄₃ → [0]."""
    indices = list(parts[len(op.keys) :])
    return [f"{text(part)} → {_place(key, indices)}" for part, key in zip(parts, op.keys, strict=False)]


def _place(key: Any, indices: list[Formula]) -> str:
    """A key of the index operations; a gather takes its index arrays from the list."""
    if key[0] == "slice":
        return f"[{', '.join(map(_item, key[1]))}]"
    taken, indices[: key[1]] = indices[: key[1]], []
    return f"[{', '.join(map(text, taken))}]"


def _item(item: Any) -> str:
    if item is None:
        return "None"
    if isinstance(item, tuple):
        start, stop, *step = item
        tail = f":{step[0]}" if step and step[0] not in (None, 1) else ""
        return f"{'' if start is None else start}:{'' if stop is None else stop}{tail}"
    return str(item)


def _options(op: Any, whole: bool = False) -> list[str]:
    """The static parameters of an operation that a reader wants to see."""
    shown: list[str] = []
    for name in ("axes", "axis", "shape"):
        value = getattr(op, name, None)
        if value is None or value == () or (whole and name == "axes") or (op.title == "broadcast" and name == "shape"):
            continue
        if isinstance(value, tuple) and len(value) == 1 and name == "axes":
            value = value[0]
        shown.append(f"{'axis' if name == 'axes' and op.title != 'transpose' else name}={value}")
    return shown

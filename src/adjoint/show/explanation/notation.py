"""How formulas are written: operators by how tightly they bind, functions, indices; and as text in one line.

v₃ = v₁ · exp(v₂), v̄₁ = v̄₃ · exp(v₂). `adjoint.show.explanation.latex` has other signs for the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from adjoint.ops.arrays.contract import Einsum
from adjoint.ops.arrays.index import Gather, ScatterSet, ScatterSum, Slice
from adjoint.ops.arrays.rearrange import Broadcast, Transpose
from adjoint.ops.arrays.scatter_add import ScatterAdd
from adjoint.ops.elementwise.arithmetic import PowerUfunc
from adjoint.program.op import Op
from adjoint.program.rule_table import RuleTable
from adjoint.show.explanation.expressions import Apply, Formula, Number, Symbol
from adjoint.show.explanation.model import Variable

__all__ = ["Notation", "Pattern", "between", "enclose", "number", "text", "write_accent", "write_subscript"]

_SUBSCRIPTS = str.maketrans("0123456789-", "₀₁₂₃₄₅₆₇₈₉₋")
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_ACCENTS = {"": "", "bar": "\u0304", "dot": "\u0307", "bar dot": "\u0304\u0307"}

# How tightly operators bind; a part that binds less tightly than what stands around it gets parentheses.
SUM, NEGATION, PRODUCT, POWER, ATOM = 1, 2, 3, 4, 5


class Pattern(NamedTuple):
    """How an operation is written: where its parts stand, how tightly it binds, and how tightly they have to."""

    form: str
    binds: int
    parts: tuple[int, ...]


_BETWEEN = {  # as in Pattern
    "add": (SUM, (SUM, SUM)), "subtract": (SUM, (SUM, NEGATION)), "multiply": (PRODUCT, (PRODUCT, PRODUCT)),
    **dict.fromkeys(("divide", "matmul", "floor_divide", "remainder"), (PRODUCT, (PRODUCT, POWER))),
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal", "equal", "not_equal"), (0, (SUM, SUM))),
}  # fmt: skip


def between(**signs: str) -> dict[str, Pattern]:
    """Operators whose sign stands between their parts."""
    return {title: Pattern(f"{{}} {sign} {{}}", *_BETWEEN[title]) for title, sign in signs.items()}


def enclose(left: str, right: str, patterns: dict[str, Pattern]) -> dict[str, Pattern]:
    """The same within brackets."""
    return {title: Pattern(left + form + right, ATOM, parts) for title, (form, _, parts) in patterns.items()}


class Notation(ABC):
    """Writes formulas; those who inherit from it say with which signs."""

    patterns: ClassVar[dict[str, Pattern]]
    brackets: ClassVar[str]
    minus: ClassVar[str]
    goes_to: ClassVar[str]

    @abstractmethod
    def symbol(self, name: str, accent: str) -> str:
        """A variable."""

    @abstractmethod
    def constant(self, value: Any) -> str:
        """A number, or an array of them."""

    @abstractmethod
    def item(self, whole: str, index: str) -> str:
        """The elements of `whole` at an index."""

    @abstractmethod
    def call(self, title: str, parts: Sequence[Formula], arguments: Sequence[str]) -> tuple[str, int]:
        """A function of `parts`, written as `arguments`, and how tightly that binds."""

    def word(self, option: str) -> str:
        """What is no formula."""
        return option

    def power(self, base: Formula, exponent: Formula) -> tuple[str, int] | None:
        """A power, where it is not written as others are."""
        return None

    def write(self, formula: Formula, around: int = 0) -> str:
        """A formula that stands where `around` binds."""
        if isinstance(formula, Symbol):
            v = formula.variable
            return self.symbol(v.name if isinstance(v, Variable) else str(v), formula.accent)
        if isinstance(formula, Number):
            shown = self.constant(formula.value)
            return self.brackets.format(shown) if shown.startswith(self.minus) and around >= NEGATION else shown
        shown, binds = self.applied(formula)
        return self.brackets.format(shown) if binds < around else shown

    def applied(self, formula: Apply) -> tuple[str, int]:
        """An operation, and how tightly it binds."""
        return WRITTEN[formula.op](self, formula.op, formula)

    def named(
        self, title: str, formula: Apply, options: Sequence[str] = (), before: Sequence[str] = ()
    ) -> tuple[str, int]:
        """An operation by its pattern, or as a call of a function: `before`, its parts, `options`."""
        parts = formula.parts
        pattern = self.patterns.get(title)
        if pattern is not None and len(parts) == len(pattern.parts) and not options:
            return pattern.form.format(*map(self.write, parts, pattern.parts)), pattern.binds
        return self.call(title, parts, [*map(self.word, before), *map(self.write, parts), *map(self.word, options)])

    def joined(self, parts: Sequence[Formula]) -> str:
        """Parts in a row."""
        return ", ".join(map(self.write, parts))

    def index(self, key: Any, indices: list[Formula]) -> str:
        """A key of the index operations; a gather takes its index arrays from the list."""
        if key[0] == "slice":
            return f"[{_items(key[1])}]"
        taken, indices[: key[1]] = indices[: key[1]], []
        return f"[{self.joined(taken)}]"


# (notation, primitive, formula) -> how the formula is written, and how tightly it binds
WRITTEN: RuleTable[Callable[[Notation, Any, Apply], tuple[str, int]]] = RuleTable("the notation of formulas")


@WRITTEN.rule(Op)
def _operation(notation: Notation, op: Op, formula: Apply) -> tuple[str, int]:
    """With the static parameters that a reader wants to see."""
    parameters = op.static_parameters()
    options: list[str] = []
    for name in ("axes", "axis", "shape"):
        value = parameters.get(name)
        if value is None or value == () or (formula.whole and name == "axes"):
            continue
        value = value[0] if name == "axes" and len(value) == 1 else value
        options.append(f"{'axis' if name == 'axes' else name}={value}")
    return notation.named(op.title, formula, options)


@WRITTEN.rule(PowerUfunc)
def _power(notation: Notation, op: PowerUfunc, formula: Apply) -> tuple[str, int]:
    return notation.power(*formula.parts) or _operation(notation, op, formula)


@WRITTEN.rule(Slice)
def _slice(notation: Notation, op: Slice, formula: Apply) -> tuple[str, int]:
    return notation.item(notation.write(formula.parts[0], ATOM), _items(op.items)), ATOM


@WRITTEN.rule(Gather)
def _gather(notation: Notation, op: Gather, formula: Apply) -> tuple[str, int]:
    x, *indices = formula.parts
    return notation.item(notation.write(x, ATOM), notation.joined(indices)), ATOM


@WRITTEN.rule(ScatterSum)
def _scatter_sum(notation: Notation, op: ScatterSum, formula: Apply) -> tuple[str, int]:
    """What is added to zeros, and where: v̄₃ → [0]."""
    indices = list(formula.parts[len(op.keys) :])
    pairs = zip(formula.parts, op.keys, strict=False)
    terms = [f"{notation.write(part)} {notation.goes_to} {notation.index(key, indices)}" for part, key in pairs]
    return notation.call("scatter", formula.parts, terms)


@WRITTEN.rule(ScatterAdd)
def _scatter_add(notation: Notation, op: ScatterAdd, formula: Apply) -> tuple[str, int]:
    x, part, *indices = formula.parts
    target = notation.write(x) + notation.index(op.index, indices)
    return notation.call("add", formula.parts, [target, notation.write(part)])


@WRITTEN.rule(ScatterSet)
def _scatter_set(notation: Notation, op: ScatterSet, formula: Apply) -> tuple[str, int]:
    x, value, *indices = formula.parts
    target = notation.write(x) + notation.index(op.index, indices)
    return notation.call("set", formula.parts, [target, notation.write(value)])


@WRITTEN.rule(Transpose)
def _transpose(notation: Notation, op: Transpose, formula: Apply) -> tuple[str, int]:
    if tuple(op.axes) == (1, 0):
        return notation.named("transposed", formula)
    return notation.named(op.title, formula, [f"axes={op.axes}"] if op.axes else [])


@WRITTEN.rule(Broadcast)
def _broadcast(notation: Notation, op: Broadcast, formula: Apply) -> tuple[str, int]:
    return notation.named(op.title, formula)


@WRITTEN.rule(Einsum)
def _einsum(notation: Notation, op: Einsum, formula: Apply) -> tuple[str, int]:
    return notation.named(op.title, formula, before=[f"'{op.spec}'"])


class _Text(Notation):
    """In one line, with the signs that Unicode has."""

    patterns: ClassVar[dict[str, Pattern]] = between(
        add="+", subtract="−", multiply="·", divide="/", matmul="@", floor_divide="//", remainder="%", greater=">",
        greater_equal="≥", less="<", less_equal="≤", equal="==", not_equal="≠",
    ) | {
        "power": Pattern("{}**{}", POWER, (ATOM, ATOM)), "negative": Pattern("−{}", NEGATION, (PRODUCT,)),
        "square": Pattern("{}²", POWER, (ATOM,)), "reciprocal": Pattern("1 / {}", PRODUCT, (POWER,)),
        "transposed": Pattern("{}ᵀ", ATOM, (ATOM,)), "select": Pattern("where({2}, {0}, {1})", ATOM, (0, 0, 0)),
    }  # fmt: skip
    brackets = "({})"
    minus, goes_to = "−", "→"
    # Names that people use, where the primitive's own says more than they want to know.
    names: ClassVar[dict[str, str]] = {"expit": "σ", "absolute": "abs"}

    def symbol(self, name: str, accent: str) -> str:
        return write_accent(name, accent)

    def constant(self, value: Any) -> str:
        if np.ndim(value) == 0:
            return number(value)
        if np.size(value) and np.all(np.asarray(value) == np.ravel(value)[0]):
            return number(np.ravel(value)[0])
        return f"array {'×'.join(map(str, np.shape(value)))}"

    def item(self, whole: str, index: str) -> str:
        return f"{whole}[{index}]"

    def call(self, title: str, parts: Sequence[Formula], arguments: Sequence[str]) -> tuple[str, int]:
        return f"{self.names.get(title, title)}({', '.join(arguments)})", ATOM

    def power(self, base: Formula, exponent: Formula) -> tuple[str, int] | None:
        small = _small(exponent)
        return None if small is None else (self.write(base, ATOM) + str(small).translate(_SUPERSCRIPTS), POWER)


def write_subscript(name: str) -> str:
    """v-1 -> v₋₁."""
    return name[:1] + name[1:].translate(_SUBSCRIPTS)


def write_accent(name: str, accent: str = "") -> str:
    """v3, "bar" -> v̄₃."""
    return name[:1] + _ACCENTS[accent] + name[1:].translate(_SUBSCRIPTS)


def number(value: Any, digits: int = 7) -> str:
    """A number as short as it can be."""
    if type(value) is np.float64 or type(value) is float:  # most are, and there may be many
        return _write_sign(f"{float(value):.{digits}g}")
    plain = np.asarray(value)[()]
    if isinstance(plain, np.bool_ | bool):
        return str(bool(plain))
    if isinstance(plain, np.integer | int):
        return str(plain).replace("-", "−")
    if isinstance(plain, np.complexfloating):
        x, y = float(np.real(plain)), float(np.imag(plain))
        sign = "−" if y < 0 or (y == 0 and np.signbit(y)) else "+"
        return f"({number(x, digits)}{sign}{number(abs(y), digits)}j)"
    return _write_sign(f"{plain:.{digits}g}")


def _write_sign(written: str) -> str:
    """1e-06 -> 1e−6."""
    mantissa, e, exponent = written.partition("e")
    return (f"{mantissa}e{int(exponent)}" if e else written).replace("-", "−")


def _small(formula: Formula) -> int | None:
    """An exponent that is written above the line: an integer of one digit."""
    if not isinstance(formula, Number) or np.ndim(formula.value) or np.asarray(formula.value).dtype.kind not in "iuf":
        return None
    return int(formula.value) if abs(formula.value) <= 9 and formula.value == int(formula.value) else None


def _items(items: Sequence[Any]) -> str:
    """What stands in the brackets of a slice."""
    return ", ".join(map(_item, items))


def _item(item: Any) -> str:
    if not isinstance(item, tuple):
        return str(item)
    start, stop, *step = item
    tail = f":{step[0]}" if step and step[0] not in (None, 1) else ""
    return f"{'' if start is None else start}:{'' if stop is None else stop}{tail}"


text = _Text().write  # a formula in one line

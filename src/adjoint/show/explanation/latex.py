r"""The chain rule of an explanation in LaTeX, as a lecturer writes it on the board.

\bar v_3 = \bar v_5 \frac{\partial v_5}{\partial v_3} = \bar v_5 \cdot \cos v_3 = 0.54
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from adjoint.show.explanation.expressions import Formula, Symbol
from adjoint.show.explanation.formulas import adjoint_formula, forward_formula, tangent_formula
from adjoint.show.explanation.model import Event, ExplanationModel, Variable
from adjoint.show.explanation.notation import (
    ATOM,
    NEGATION,
    POWER,
    PRODUCT,
    Notation,
    Pattern,
    between,
    enclose,
    number,
)
from adjoint.show.explanation.table import part

__all__ = ["derivation", "latex"]

ACCENTS = {"": "{}", "bar": r"\bar {}", "dot": r"\dot {}", "bar dot": r"\dot{{\bar {}}}"}
# Functions that LaTeX has a name for, and how the primitives are called in books.
FUNCTIONS = {
    "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "log": r"\ln", "sinh": r"\sinh", "cosh": r"\cosh",
    "tanh": r"\tanh", "arcsin": r"\arcsin", "arccos": r"\arccos", "arctan": r"\arctan", "expit": r"\sigma",
    "log2": r"\log_2", "log10": r"\log_{10}", "det": r"\det", "max": r"\max", "min": r"\min", "maximum": r"\max",
    "minimum": r"\min", "sign": r"\operatorname{sign}", "gamma": r"\Gamma", "logsumexp": r"\operatorname{lse}",
}  # fmt: skip


def named(name: str, accent: str = "") -> str:
    """v-1, "bar" -> \\bar v_{-1}."""
    letter, index = ACCENTS[accent].format(name[:1]), name[1:]
    return letter if not index else f"{letter}_{index}" if len(index) == 1 else f"{letter}_{{{index}}}"


def escape(text: str) -> str:
    """The user's words inside a formula."""
    for sign in "\\{}":
        text = text.replace(sign, "")
    for sign in "_&%#$":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("^", r"\^{}").replace("~", r"\~{}")


def figure(value: Any, digits: int = 5) -> str:
    """A number; an array as its shape, or as a row if it is short."""
    array = np.asarray(value)
    if array.ndim == 0:
        return _number(array[()], digits)
    if array.ndim == 1 and 0 < array.size <= 4:
        return rf"\left({', '.join(_number(x, digits) for x in array)}\right)^{{\!\top}}"
    shape = r" \times ".join(map(str, array.shape))
    return f"[{shape}]"


def _number(value: Any, digits: int) -> str:
    plain = number(value, digits).replace("−", "-")
    if plain in ("inf", "-inf", "nan", "True", "False"):
        return {"inf": r"\infty", "-inf": r"-\infty"}.get(plain, rf"\text{{{plain}}}")
    mantissa, e, exponent = plain.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if e and "j" not in plain else plain.replace("j", r"\,i")


class _Latex(Notation):
    """As it is set in books."""

    patterns: ClassVar[dict[str, Pattern]] = {
        **between(add="+", subtract="-", multiply=r"\cdot", matmul=r"\,", remainder=r"\bmod"),
        **enclose(r"\left[", r"\right]", between(  # Iverson's: 1 where it holds
            greater=">", greater_equal=r"\ge", less="<", less_equal=r"\le", equal="=", not_equal=r"\ne"
        )),
        "divide": Pattern(r"\frac{{{}}}{{{}}}", ATOM, (0, 0)), "reciprocal": Pattern(r"\frac{{1}}{{{}}}", ATOM, (0,)),
        "floor_divide": Pattern(r"\left\lfloor\frac{{{}}}{{{}}}\right\rfloor", ATOM, (0, 0)),
        "power": Pattern("{{{}}}^{{{}}}", POWER, (ATOM, 0)), "float_power": Pattern("{{{}}}^{{{}}}", POWER, (ATOM, 0)),
        "square": Pattern("{{{}}}^2", POWER, (ATOM,)), "inverse": Pattern("{{{}}}^{{-1}}", POWER, (ATOM,)),
        "transposed": Pattern(r"{{{}}}^{{\!\top}}", POWER, (ATOM,)), "exp": Pattern("e^{{{}}}", POWER, (0,)),
        "negative": Pattern("-{}", NEGATION, (PRODUCT,)), "sum": Pattern(r"\sum {}", PRODUCT, (PRODUCT,)),
        "sqrt": Pattern(r"\sqrt{{{}}}", ATOM, (0,)), "conjugate": Pattern(r"\overline{{{}}}", ATOM, (0,)),
        "absolute": Pattern(r"\left|{}\right|", ATOM, (0,)), "norm": Pattern(r"\left\|{}\right\|", ATOM, (0,)),
        "select": Pattern(r"\begin{{cases}} {0} & {2} \\ {1} & \text{{else}} \end{{cases}}", ATOM, (0, 0, 0)),
    }  # fmt: skip
    brackets = r"\left({}\right)"
    minus, goes_to = "-", r"\to"

    def symbol(self, name: str, accent: str) -> str:
        return named(name, accent)

    def word(self, option: str) -> str:
        return rf"\text{{{escape(option)}}}"

    def constant(self, value: Any) -> str:
        return figure(value)

    def item(self, whole: str, index: str) -> str:
        return f"{{{whole}}}_{{[{index}]}}"

    def call(self, title: str, parts: Sequence[Formula], arguments: Sequence[str]) -> tuple[str, int]:
        function = FUNCTIONS.get(title, rf"\operatorname{{{escape(title)}}}")
        if len(arguments) == 1 and title in FUNCTIONS and isinstance(parts[0], Symbol):
            return f"{function} {arguments[0]}" if title != "expit" else rf"\sigma({arguments[0]})", PRODUCT
        return function + self.brackets.format(", ".join(arguments)), ATOM


latex = _Latex().write


def derivation(model: ExplanationModel, mode: str, digits: int = 5) -> str:
    """The forward trace, then the chain rule of the mode step by step, in `align*` environments."""
    shown = [v for v in model.variables if not v.hidden and v.kind != "constant"]
    parts = [_align("Forward trace", (_forward(v, digits) for v in shown))]
    if mode in ("forward", "second"):
        parts.append(_align("Tangents", (_tangent(v, digits) for v in shown if v.is_active)))
    if mode in ("reverse", "second"):
        parts.append(_align("Adjoints", (_adjoint(v, model.seed(v), digits) for v in reversed(shown) if v.is_active)))
    if mode == "second":
        moving = [v for v in reversed(shown) if v.is_active]
        lines = (f"{named(v.name, 'bar dot')} &= {figure(v.adjoint_tangent, digits)}" for v in moving)
        parts.append(_align("Derivatives of the adjoints", lines))
    return "\n\n".join(parts) + "\n"


def _align(title: str, lines: Iterator[str]) -> str:
    body = " \\\\\n".join(f"  {line}" for line in lines)
    return f"% {title}\n\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _forward(v: Variable, digits: int) -> str:
    meaning = rf"\text{{{escape(v.label)}}}" if v.event is None else latex(forward_formula(v.event)) + part(v)
    label = rf" && \text{{{escape(v.label)}}}" if v.event is not None and v.label else ""
    return f"{named(v.name)} &= {meaning} = {figure(v.value, digits)}{label}"


def _tangent(v: Variable, digits: int) -> str:
    formula = None if v.event is None else tangent_formula(v.event)
    meaning = "" if formula is None else f"{latex(formula)} = "
    return f"{named(v.name, 'dot')} &= {_chain_forward(v)}{meaning}{figure(v.tangent, digits)}"


def _chain_forward(v: Variable) -> str:
    if v.event is None:
        return ""
    moving = _visible(v.event)
    terms = [rf"\frac{{\partial {named(v.name)}}}{{\partial {named(a.name)}}} {named(a.name, 'dot')}" for a in moving]
    return " + ".join(terms) + " = " if terms else ""


def _visible(event: Event) -> list[Variable]:
    """The variables that a step depends on; through what is hidden, each once."""
    visible: dict[int, Variable] = {}
    for a in event.operands:
        if isinstance(a, Variable) and a.is_active:
            inner = _visible(a.event) if a.hidden and a.event is not None else [a]
            visible.update({one.number: one for one in inner})
    return list(visible.values())


def _adjoint(v: Variable, start: Any, digits: int) -> str:
    readers: dict[int, Variable] = {}
    for event, i in reversed(v.uses):
        if event.contributions[i] is not None:
            readers.update({one.number: one for one in _readers(event)})
    by = lambda z: rf"{named(z.name, 'bar')} \frac{{\partial {named(z.name)}}}{{\partial {named(v.name)}}}"
    terms = [by(one) for one in readers.values()]
    formula = adjoint_formula(v)
    seed = [] if start is None else [figure(start, digits) if np.ndim(start) == 0 else r"\text{seed}"]
    chain = [" + ".join([*seed, *terms])] if terms else []
    meaning = [" + ".join([*seed, latex(formula)])] if formula is not None else seed
    return f"{named(v.name, 'bar')} &= " + " = ".join(dict.fromkeys([*chain, *meaning, figure(v.adjoint, digits)]))


def _readers(event: Event) -> list[Variable]:
    readers: list[Variable] = []
    for out in event.outputs:
        if not out.hidden:
            readers += [out] if out.is_active else []
            continue
        for later, _ in out.uses:
            readers += _readers(later)
    return readers

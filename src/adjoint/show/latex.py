r"""The chain rule of a story in LaTeX, as a lecturer writes it on the board.

\bar v_3 = \bar v_5 \frac{\partial v_5}{\partial v_3} = \bar v_5 \cdot \cos v_3 = 0.54
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.show.formulas import (
    Apply,
    Formula,
    Number,
    Symbol,
    adjoint_formula,
    forward_formula,
    tangent_formula,
)
from adjoint.show.notation import ATOM, NEGATION, POWER, PRODUCT, SUM, number
from adjoint.show.story import Event, Story, Variable
from adjoint.show.table import part

__all__ = ["derivation", "latex"]

ACCENTS = {"": "{}", "bar": r"\bar {}", "dot": r"\dot {}", "bar dot": r"\dot{{\bar {}}}"}
# Functions that LaTeX has a name for, and how the primitives are called in books.
FUNCTIONS = {
    "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "log": r"\ln", "sinh": r"\sinh", "cosh": r"\cosh",
    "tanh": r"\tanh", "arcsin": r"\arcsin", "arccos": r"\arccos", "arctan": r"\arctan", "expit": r"\sigma",
    "log2": r"\log_2", "log10": r"\log_{10}", "det": r"\det", "max": r"\max", "min": r"\min", "maximum": r"\max",
    "minimum": r"\min", "sign": r"\operatorname{sign}", "gamma": r"\Gamma", "logsumexp": r"\operatorname{lse}",
}  # fmt: skip
INFIX = {
    "add": (" + ", SUM), "subtract": (" - ", SUM), "multiply": (r" \cdot ", PRODUCT), "matmul": (r" \, ", PRODUCT),
    "greater": (" > ", 0), "greater_equal": (r" \ge ", 0), "less": (" < ", 0), "less_equal": (r" \le ", 0),
    "equal": (" = ", 0), "not_equal": (r" \ne ", 0), "remainder": (r" \bmod ", PRODUCT),
}  # fmt: skip


def name(variable: Any, accent: str = "") -> str:
    """v-1, "bar" -> \\bar v_{-1}."""
    plain = variable.name if isinstance(variable, Variable) else str(variable)
    index = plain[1:]
    letter = ACCENTS[accent].format(plain[:1])
    return letter if not index else f"{letter}_{index}" if len(index) == 1 else f"{letter}_{{{index}}}"


def escaped(text: str) -> str:
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


def latex(formula: Formula, around: int = 0) -> str:
    """A formula."""
    if isinstance(formula, Symbol):
        return name(formula.variable, formula.accent)
    if isinstance(formula, Number):
        shown = figure(formula.value)
        return rf"\left({shown}\right)" if shown.startswith("-") and around >= NEGATION else shown
    written, binding = _applied(formula)
    return rf"\left({written}\right)" if binding < around else written


def _applied(formula: Apply) -> tuple[str, int]:
    op: Any = formula.op
    title, parts = formula.title, formula.parts
    if title in INFIX and len(parts) == 2:
        sign, binding = INFIX[title]
        after = binding + 1 if title == "subtract" else binding
        return f"{latex(parts[0], binding)}{sign}{latex(parts[1], after)}", binding
    if title == "divide":
        return rf"\frac{{{latex(parts[0])}}}{{{latex(parts[1])}}}", ATOM
    if title == "reciprocal":
        return rf"\frac{{1}}{{{latex(parts[0])}}}", ATOM
    if title in ("power", "float_power"):
        return rf"{{{latex(parts[0], ATOM)}}}^{{{latex(parts[1])}}}", POWER
    if title == "square":
        return rf"{{{latex(parts[0], ATOM)}}}^2", POWER
    if title == "negative":
        return f"-{latex(parts[0], PRODUCT)}", NEGATION
    if title == "exp":
        return rf"e^{{{latex(parts[0])}}}", POWER
    if title == "sqrt":
        return rf"\sqrt{{{latex(parts[0])}}}", ATOM
    if title == "absolute":
        return rf"\left|{latex(parts[0])}\right|", ATOM
    if title == "conjugate":
        return rf"\overline{{{latex(parts[0])}}}", ATOM
    if title == "norm":
        return rf"\left\|{latex(parts[0])}\right\|", ATOM
    if title == "sum":
        return rf"\sum {latex(parts[0], PRODUCT)}", PRODUCT
    if title == "transpose" and tuple(op.axes) == (1, 0):
        return rf"{{{latex(parts[0], ATOM)}}}^{{\!\top}}", POWER
    if title == "inverse":
        return rf"{{{latex(parts[0], ATOM)}}}^{{-1}}", POWER
    if title == "slice":
        return rf"{{{latex(parts[0], ATOM)}}}_{{[{_items(op.items)}]}}", ATOM
    if title == "select":
        first, rest, condition = map(latex, parts)
        return rf"\begin{{cases}} {first} & {condition} \\ {rest} & \text{{else}} \end{{cases}}", ATOM
    function = FUNCTIONS.get(title, rf"\operatorname{{{escaped(title)}}}")
    if len(parts) == 1 and title in FUNCTIONS and isinstance(parts[0], Symbol):
        return f"{function} {latex(parts[0])}" if title != "expit" else rf"\sigma({latex(parts[0])})", PRODUCT
    return rf"{function}\left({', '.join(map(latex, parts))}\right)", ATOM


def _items(items: Any) -> str:
    one = lambda i: ":".join("" if n is None else str(n) for n in i[:2]) if isinstance(i, tuple) else str(i)
    return ",".join(map(one, items))


def derivation(story: Story, mode: str, digits: int = 5) -> str:
    """The forward trace, then the chain rule of the mode step by step, in `align*` environments."""
    shown = [v for v in story.variables if not v.hidden and v.kind != "constant"]
    parts = [_aligned("Forward trace", (_forward(v, digits) for v in shown))]
    if mode in ("forward", "second"):
        parts.append(_aligned("Tangents", (_tangent(v, digits) for v in shown if v.moves)))
    if mode in ("reverse", "second"):
        parts.append(_aligned("Adjoints", (_adjoint(v, story.seed(v), digits) for v in reversed(shown) if v.moves)))
    if mode == "second":
        lines = (f"{name(v, 'bar dot')} &= {figure(v.adjoint_tangent, digits)}" for v in reversed(shown) if v.moves)
        parts.append(_aligned("Derivatives of the adjoints", lines))
    return "\n\n".join(parts) + "\n"


def _aligned(title: str, lines: Iterator[str]) -> str:
    body = " \\\\\n".join(f"  {line}" for line in lines)
    return f"% {title}\n\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _forward(v: Variable, digits: int) -> str:
    meaning = rf"\text{{{escaped(v.label)}}}" if v.event is None else latex(forward_formula(v.event)) + part(v)
    told = rf" && \text{{{escaped(v.label)}}}" if v.event is not None and v.label else ""
    return f"{name(v)} &= {meaning} = {figure(v.value, digits)}{told}"


def _tangent(v: Variable, digits: int) -> str:
    formula = None if v.event is None else tangent_formula(v.event)
    meaning = "" if formula is None else f"{latex(formula)} = "
    return f"{name(v, 'dot')} &= {_chain_forward(v)}{meaning}{figure(v.tangent, digits)}"


def _chain_forward(v: Variable) -> str:
    if v.event is None:
        return ""
    moving = _visible(v.event)
    terms = [rf"\frac{{\partial {name(v)}}}{{\partial {name(a)}}} {name(a, 'dot')}" for a in moving]
    return " + ".join(terms) + " = " if terms else ""


def _visible(event: Event) -> list[Variable]:
    """The variables that a step depends on; through what is hidden, each once."""
    found: dict[int, Variable] = {}
    for a in event.operands:
        if isinstance(a, Variable) and a.moves:
            inner = _visible(a.event) if a.hidden and a.event is not None else [a]
            found.update({one.number: one for one in inner})
    return list(found.values())


def _adjoint(v: Variable, start: Any, digits: int) -> str:
    readers: dict[int, Variable] = {}
    for event, i in reversed(v.uses):
        if event.contributions[i] is not None:
            readers.update({one.number: one for one in _readers(event)})
    terms = [rf"{name(one, 'bar')} \frac{{\partial {name(one)}}}{{\partial {name(v)}}}" for one in readers.values()]
    formula = adjoint_formula(v)
    seed = [] if start is None else [figure(start, digits) if np.ndim(start) == 0 else r"\text{seed}"]
    chain = [" + ".join([*seed, *terms])] if terms else []
    meaning = [" + ".join([*seed, latex(formula)])] if formula is not None else seed
    return f"{name(v, 'bar')} &= " + " = ".join(dict.fromkeys([*chain, *meaning, figure(v.adjoint, digits)]))


def _readers(event: Event) -> list[Variable]:
    found: list[Variable] = []
    for out in event.outputs:
        if not out.hidden:
            found += [out] if out.moves else []
            continue
        for later, _ in out.uses:
            found += _readers(later)
    return found

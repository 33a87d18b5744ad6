"""Polynomials as text: 0.29131261 + 0.91513696 (x - 0.3) - … + O((x - 0.3)⁶)."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import tree

__all__ = ["written"]

RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
MOST = 24  # terms that are written out


def written(polynomial: Any, *, latex: bool) -> str:
    """The terms of a polynomial with one real number as value; of others what they are."""
    coefficients = tree.leaves(polynomial.coefficients)
    point = np.concatenate([np.ravel(leaf) for leaf in tree.leaves(polynomial.point)])
    order = polynomial.order
    if len(coefficients) != 1 or coefficients[0].ndim != 1 or coefficients[0].dtype.kind != "f":
        text = f"Taylor polynomial of order {order} in {point.size} variables"
        return rf"\text{{{text}}}" if latex else f"<{text}>"
    single = point.size == 1
    names = [_name(v, single, latex) for v in range(point.size)]
    steps = [_step(name, x) for name, x in zip(names, point, strict=True)]
    terms = [
        (c, [_power(step, k, latex) for step, k in zip(steps, index, strict=True) if k])
        for c, index in zip(coefficients[0], polynomial.partials.indices, strict=True)
        if c != 0
    ]
    text = ""
    for c, factors in terms[:MOST]:
        size = f"{abs(c):.8g}"
        if latex and "e" in size:
            digits, exponent = size.split("e")
            size = rf"{digits} \cdot 10^{{{int(exponent)}}}"
        body = " ".join([size, *factors] if size != "1" or not factors else factors)
        text += (f" {'-' if c < 0 else '+'} " if text else "-" if c < 0 else "") + body
    text = text or "0"
    if len(terms) > MOST:
        text += r" + \dots" if latex else " + …"
    step = steps[0] if single else (r"\|x - x_0\|" if latex else "‖x - x₀‖")
    return f"{text} + O({_power(step, order + 1, latex)})"


def _name(variable: int, single: bool, latex: bool) -> str:
    if single:
        return "x"
    return f"x_{{{variable}}}" if latex else f"x{str(variable).translate(LOWERED)}"


def _step(name: str, x: Any) -> str:
    if x == 0:
        return name
    sign, size = ("-", x) if np.real(x) >= 0 else ("+", -x)
    return f"({name} {sign} {size:.6g})"


def _power(step: str, k: int, latex: bool) -> str:
    if k == 1:
        return step
    return f"{step}^{{{k}}}" if latex else f"{step}{str(k).translate(RAISED)}"

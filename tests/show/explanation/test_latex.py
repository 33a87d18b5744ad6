"""LaTeX of explanations: every line is set by matplotlib's own parser of formulas, and says what was computed."""

import functools
import re

import numpy as np
import pytest
from matplotlib.mathtext import MathTextParser

import adjoint as ad


def everything(x, y):
    a = np.log(x) + x * y - np.sin(y) + np.exp(-x) / y
    b = np.abs(y) ** 1.5 + np.sqrt(x) + np.tanh(x) + np.maximum(x, y) + 1e-9 * x
    return a - b**2


def vectors(w, x):
    h = np.tanh(w @ x)
    return np.sum(h[1:] ** 2) + np.linalg.norm(h) + np.sum(w.T)


def indexed(x):
    y = x[np.array([0, 2])] * x[1:] - np.sum(np.outer(x, x), axis=0)[:2]
    return np.sum(np.where(y > 0, y // 2, -y)) + np.einsum("i,i->", x, x) + np.max(x, axis=0)


@functools.cache
def set_formula(text):
    """Raises where matplotlib cannot read it; variables and values come again in many lines."""
    MathTextParser("path").parse(f"${text}$")


@pytest.mark.parametrize("mode", ["reverse", "forward", "second"])
@pytest.mark.parametrize("function, args", [
    (everything, (2.0, 5.0)), (vectors, (np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.1, 0.2]))),
    (indexed, (np.array([1.0, -2.0, 3.0]),)),
])  # fmt: skip
def test_every_line_can_be_set(function, args, mode):
    text = ad.explain(function, mode=mode)(*args).latex()
    assert (
        text.count(r"\begin{align*}") == text.count(r"\end{align*}") == {"reverse": 2, "forward": 2, "second": 4}[mode]
    )
    lines = [line for line in text.splitlines() if "&=" in line]
    for line in lines:
        assert line.count("{") == line.count("}")
        plain = line.removesuffix(r" \\").replace(r"\!", "").replace(r"\top", "T")
        plain = re.sub(r"\\begin{cases} (.*) & (.*) \\\\ (.*) & (.*) \\end{cases}", r"\1, \2, \3, \4", plain)
        for part in re.split(r"&+=?", plain):
            set_formula(part)


def test_the_chain_rule_as_it_is_written_on_a_board():
    def f(x, y):
        a = x * y
        return np.sin(a) + a

    text = ad.explain(f, detail="statements")(2.0, 3.0).latex()
    assert r"v_1 &= v_{-1} \cdot v_0 = 6 && \text{a}" in text
    assert r"v_2 &= \sin v_1 + v_1 = 5.7206" in text
    assert (
        r"\bar v_1 &= \bar v_2 \frac{\partial v_2}{\partial v_1} = \bar v_2 + \bar v_2 \cdot \cos v_1 = 1.9602" in text
    )
    assert r"\bar v_{-1} &= \bar v_1 \frac{\partial v_1}{\partial v_{-1}} = \bar v_1 \cdot v_0 = 5.8805" in text


def test_names_of_the_user_cannot_break_a_formula():
    def f(some_name):
        a_b = some_name * 2
        return a_b + 1

    text = ad.explain(f)(1.0).latex()
    assert r"\text{some\_name}" in text
    assert r"\text{a\_b}" in text


def test_numbers():
    text = ad.explain(lambda x: x * 1.5e-20 + np.inf)(1.0).latex()
    assert r"1.5 \cdot 10^{-20}" in text
    assert r"\infty" in text


def test_indices_and_axes_are_written():
    text = ad.explain(indexed)(np.array([1.0, -2.0, 3.0])).latex()
    assert r"{v_0}_{[1:]}" in text
    assert r"\operatorname{sum}\left(v_6, \text{axis=0}\right)" in text
    assert r"\to [1:]" in text
    assert r"\frac{\left[v_0 = v_{17}\right]}{\sum \left[v_0 = v_{17}\right]}" in text
    assert r"\begin{cases} v_" in text


def test_text_and_latex_bind_alike():
    def f(x, y):
        return (x - (y - x)) / (x / y) - (x * -2.0) ** 3 + (x + y) * (x - y)

    explained = ad.explain(f, detail="statements")(2.0, 3.0)
    assert explained.table()[2].formula.startswith("(v₋₁ − (v₀ − v₋₁)) / (v₋₁ / v₀) − (v₋₁ · (−2))³")
    assert (
        r"\frac{v_{-1} - \left(v_0 - v_{-1}\right)}{\frac{v_{-1}}{v_0}}"
        r" - {\left(v_{-1} \cdot \left(-2\right)\right)}^{3}"
        r" + \left(v_{-1} + v_0\right) \cdot \left(v_{-1} - v_0\right)"
    ) in explained.latex()

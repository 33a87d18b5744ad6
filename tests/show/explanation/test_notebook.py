"""The view in a notebook: the rows of the table, nothing that reaches out of it."""

import re

import numpy as np
import pytest

import adjoint as ad


def slides(x):
    a = x**2
    b = np.exp(a)
    return np.sqrt(a + b) + np.cos(a + b)


@pytest.mark.parametrize("mode", ["reverse", "forward", "second"])
def test_every_row_and_number(mode):
    explained = ad.explain(slides, mode=mode)(1.0)
    html = explained._repr_html_()
    body = html.split("<tbody>")[1]
    assert body.count("<tr>") == len(explained.table())
    for row in explained.table():
        for number in (row.value, row.tangent, row.adjoint, row.adjoint_tangent):
            assert f">{number}</td>" in body
    widths = {len(re.findall("<td", line)) for line in body.split("</tr>")[:-1]}
    assert len(widths) == 1


def test_long_explanations_are_cut():
    def long(x):
        for _ in range(300):
            x = np.sin(x)
        return x

    html = ad.explain(long)(1.0)._repr_html_()
    assert "… 221 more rows …" in html
    assert len(html) < 60_000


def test_style_and_script_stay_inside():
    html = ad.explain(slides)(1.0)._repr_html_()
    assert "<script" not in html
    style = html.split("<style>")[1].split("</style>")[0]
    selectors = [part.strip() for part in re.findall(r"([^{}]+)\{", style)]
    assert all(".adjoint-view" in s or s.startswith("@media") for s in selectors)


def test_names_are_escaped():
    def f(x):
        return x * 2

    f.__name__ = "<b>&"
    assert "&lt;b&gt;&amp;: value" in ad.explain(f)(1.0)._repr_html_()


def test_what_is_not_finite_stands_out():
    with np.errstate(invalid="ignore"):
        html = ad.explain(lambda x: np.sqrt(np.log(x)))(0.5)._repr_html_()
    assert html.count('adjoint-bad">nan') == 3  # the root, and the adjoints before it
    assert 'adjoint-bad">' not in ad.explain(np.sin)(0.5)._repr_html_()

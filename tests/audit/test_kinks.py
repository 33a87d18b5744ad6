"""The audit of kinks: what is found, where, and that the slope it shows is the slope that derivatives take."""

import io
import math

import numpy as np
import pytest

import adjoint as ad

KINKS = {
    "abs": (np.abs, 0.0, "absolute", "kink"),
    "relu": (lambda x: np.maximum(x, 0.0), 0.0, "maximum", "kink"),
    "min": (lambda x: np.min(np.stack([x, 2 * x])), 0.0, "min", "kink"),
    "where": (lambda x: np.where(x > 0, x, 0.0), 0.0, "greater", "jump"),
    "cond": (lambda x: ad.cond(x > 0, np.sin, np.cos, x), 0.0, "greater", "jump"),
    "python": (lambda x: x if x >= 0 else -x, 0.0, "greater_equal", "jump"),
    "round": (np.round, 0.5, "rint", "jump"),
    "floor": (np.floor, 3.0, "floor", "jump"),
    "sqrt": (np.sqrt, 0.0, "sqrt", "singular"),
    "norm": (lambda x: np.linalg.norm(np.stack([x, x])), 0.0, "norm", "kink"),
    "sort": (lambda x: np.sort(np.stack([x, 2 * x]))[0], 0.0, "argsort", "kink"),
    "scan": (lambda x: ad.scan(lambda c, t: (c + np.abs(c - t), None), x, np.arange(3.0))[0], 0.0, "absolute", "kink"),
}


@pytest.mark.parametrize("name", KINKS)
def test_each_is_found_at_its_point_and_not_beside_it(name):
    f, point, primitive, kind = KINKS[name]
    found = ad.kinks(f)(point)
    assert any((one.primitive, one.kind, one.distance) == (primitive, kind, 0.0) for one in found)
    assert "test_kinks.py" in found[0].line
    beside = ad.kinks(f)(point + 0.01)
    assert len(beside) == 0
    assert beside.verdict == "smooth"
    assert beside.margin <= 0.02
    assert len(ad.kinks(f, tolerance=0.02)(point + 0.01)) >= 1


@pytest.mark.parametrize("name", ["abs", "relu", "floor", "sqrt"])
def test_the_slope_shown_is_the_slope_used(name):
    f, point, *_ = KINKS[name]
    assert ad.kinks(f)(point)[0].used[0] == ad.grad(f)(point)


def test_shares_of_ties():
    x = np.array([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [3.0, 3.0, 3.0]])
    found = ad.kinks(lambda x: np.sum(np.max(x, axis=1)))(x)
    assert [(one.element, one.used) for one in found] == [((0,), (0.5, 0.5)), ((2,), (1 / 3,) * 3)]
    assert found.margin == 1.0


def test_elements_and_trees():
    found = ad.kinks(lambda p: np.abs(p["a"]) + p["b"])({"a": np.array([1.0, 0.0, -0.25]), "b": 2.0})
    assert [one.element for one in found] == [(1,)]
    assert found.margin == 0.25


def test_a_smooth_function_has_no_margin():
    found = ad.kinks(lambda x: np.sin(x) * x)(0.0)
    assert (len(found), found.margin) == (0, math.inf)


def test_tables():
    from rich.console import Console

    found = ad.kinks(np.abs)(np.zeros(2))
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(found)
    for text in (str(found), console.export_text(), found._repr_html_()):
        assert "absolute" in text
        assert "[-1, 1]" in text
        assert "2 elements where it is not smooth" in text

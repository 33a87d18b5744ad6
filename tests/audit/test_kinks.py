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
    "where": (lambda x: np.where(x > 0, x, 0.0), 0.0, "greater", "kink"),
    "where that jumps": (lambda x: np.where(x > 0, x, 0.1), 0.0, "greater", "jump"),
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


MEETING = {  # sides that meet, and sides that do not
    "Huber's loss": (lambda x: np.where(np.abs(x) <= 1, 0.5 * x * x, np.abs(x) - 0.5), 1.0, "kink"),
    "the same, wrong": (lambda x: np.where(np.abs(x) <= 1, 0.5 * x * x, np.abs(x)), 1.0, "jump"),
    "cond": (lambda x: ad.cond(x > 2, lambda x: 4.0 * (x - 1), lambda x: x * x, x), 2.0, "kink"),
    "inside a loop": (
        lambda x: ad.scan(lambda c, t: (c + np.where(t * x > 1, t * x - 1, 0.0), None), 0.0, np.ones(3))[0],
        1.0,
        "kink",
    ),
    "table": (lambda x: np.interp(x, np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 4.0])), 1.0, "kink"),
    "sign": (lambda x: x * np.sign(x), 0.0, "kink"),
    "saw": (lambda x: np.abs(x - np.floor(x) - 0.5), 2.0, "kink"),
    "steps": (lambda x: np.floor(x) + 0.5 * x, 2.0, "jump"),
    "remainder": (lambda x: x % 1.0, 2.0, "jump"),
}


@pytest.mark.parametrize("name", MEETING)
def test_sides_that_meet_are_told_from_jumps(name):
    f, point, verdict = MEETING[name]
    assert ad.kinks(f)(point).verdict == verdict
    assert ad.kinks(ad.jit(f))(point).verdict == verdict
    # by definition: the values beside the point
    assert (abs(f(point + 1e-8) - f(point - 1e-8)) < 1e-6) == (verdict == "kink")


@pytest.mark.parametrize("transform", [ad.jit, ad.checkpoint, lambda f: ad.jit(ad.jit(f)), lambda f: ad.vmap(f)])
def test_of_transformed_functions(transform):
    f = lambda x: np.maximum(x, 0.0) * 2.0
    x = np.array([0.0, 1.0, -2.0])
    found = ad.kinks(transform(f))(x)
    assert [(one.primitive, one.element, one.used) for one in found] == [("maximum", (0,), (0.5, 0.5))]
    assert "f = lambda x: np.maximum(x, 0.0) * 2.0" in found[0].line
    assert found.margin == 1.0


@pytest.mark.parametrize("audit", [ad.kinks, ad.cost])
def test_inside_a_transformation_it_says_what_to_do(audit):
    f = lambda x: np.sum(np.abs(x))
    x = np.ones((2, 2))
    for call in (ad.jit(audit(f)), ad.vmap(audit(f)), ad.grad(lambda x: audit(lambda t: t * x[0, 0])(1.0))):
        with pytest.raises(TypeError, match=r"Call it outside, on the transformed function"):
            call(x)


def test_names_among_the_arguments():
    assert len(ad.kinks(lambda how, x: np.abs(x))("fast", 0.0)) == 1


def test_long_tables_are_cut():
    found = ad.kinks(np.abs)(np.zeros(1000))
    assert len(found) == 1000
    assert len(str(found).splitlines()) == 23
    assert "and 980 more" in str(found)


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

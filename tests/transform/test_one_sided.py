"""Derivatives from one side, against differences of that side and the limits known by hand."""

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import DtypeError, NonFiniteError


def by_python(x):
    return 3.0 * x if x > 0 else -2.0 * x


def by_loop(x):
    return ad.scan(lambda c, t: (c + t * np.abs(c), None), x, np.ones(3))[0]


def by_while(x):
    return ad.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, np.abs(s[1]) + s[1]), (0, x))[1]


KINKS = {  # at 0: from the right, from the left
    "abs": (np.abs, 1, -1),
    "relu": (lambda x: np.maximum(x, 0.0), 1, 0),
    "clip": (lambda x: np.clip(x, 0.0, 1.0), 1, 0),
    "where": (lambda x: np.where(x > 0, 3.0 * x, -2.0 * x), 3, -2),
    "python's if": (by_python, 3, -2),
    "cond": (lambda x: ad.cond(x > 0, lambda x: 3.0 * x, lambda x: -2.0 * x, x), 3, -2),
    "loop": (by_loop, 8, 0),
    "while": (by_while, 4, 0),
    "compiled": (ad.jit(lambda x: 2.0 * np.abs(x)), 2, -2),
    "checkpoint": (ad.checkpoint(np.abs), 1, -1),
    "largest": (lambda x: np.max(np.stack([x, -x, 2.0 * x])), 2, -1),
    "sort": (lambda x: np.sort(np.stack([x, -x]))[0], -1, 1),
    "norm": (lambda x: np.linalg.norm(np.stack([3.0 * x, 4.0 * x])), 5, -5),
    "hypot": (lambda x: np.hypot(x, 0.0), 1, -1),
    "root of a square": (lambda x: np.sqrt(x * x), 1, -1),
    "second order": (lambda x: np.where(x * x > 0, x, 5.0 * x), 1, 1),
    "two kinks": (lambda x: np.abs(x) - np.abs(-2.0 * x), -1, 1),
    "smooth": (np.sin, 1, 1),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks(name):
    f, right, left = KINKS[name]
    for side, expected, h in (("right", right, 1e-7), ("left", left, -1e-7)):
        found = ad.grad(f, side=side)(0.0)
        assert found == pytest.approx(expected, abs=1e-9)
        assert found == pytest.approx((f(h) - f(0.0)) / h, abs=1e-6)


@pytest.mark.parametrize("name", ["abs", "where", "cond", "loop", "largest", "norm"])
def test_compiled_and_mapped(name):
    f, right, left = KINKS[name]
    points = np.array([0.0, 1.0, -1.0])
    for side, expected in (("right", right), ("left", left)):
        assert ad.jit(ad.grad(f, side=side))(0.0) == pytest.approx(expected, abs=1e-9)
        if name not in ("cond", "loop"):
            wanted = [expected, ad.grad(f)(1.0), ad.grad(f)(-1.0)]
            np.testing.assert_allclose(ad.vmap(ad.grad(f, side=side))(points), wanted, atol=1e-9)


SINGULAR = {  # limits from the right where rules meet 0 · ∞
    "x √x": (lambda x: x * np.sqrt(x), 0),
    "x^1.5": (lambda x: x**1.5, 0),
    "√x √x": (lambda x: np.sqrt(x) * np.sqrt(x), 1),
    "√x": (np.sqrt, np.inf),
    "-√x": (lambda x: -np.sqrt(x), -np.inf),
    "x^0.3 x^0.7": (lambda x: x**0.3 * x**0.7, 1),
    "√(x + x²)²": (lambda x: np.sqrt(x + x * x) ** 2, 1),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_limits_of_singular_products(name):
    f, expected = SINGULAR[name]
    for g in (ad.grad(f, side="right"), ad.jit(ad.grad(f, side="right"))):
        assert g(0.0) == pytest.approx(expected, abs=1e-9)


def test_arrays_are_approached_in_all_their_numbers():
    f = lambda x: np.sum(np.abs(x))
    x = np.array([0.0, 2.0, -1.0, 0.0])
    np.testing.assert_array_equal(ad.grad(f, side="right")(x), [1, 1, -1, 1])
    np.testing.assert_array_equal(ad.grad(f, side="left")(x), [-1, 1, -1, -1])


def test_values_types_and_trees():
    (value, extra), slope = ad.value_and_grad(lambda x: (np.abs(x), x), has_aux=True, side="left")(np.float32(0))
    assert (value, extra, slope) == (0, 0, -1)
    assert slope.dtype == np.float32
    found = ad.grad(lambda p: p["n"] * np.abs(p["x"]), side="left")({"n": 3, "x": 0.0})
    assert found == {"n": 0, "x": -3.0}


def test_steps_take_the_value_of_their_side():
    f = lambda x: np.floor(x) * x
    assert ad.grad(f, side="right")(2.0) == 2.0
    assert ad.grad(f, side="left")(2.0) == 1.0


@pytest.mark.parametrize("plan", [2, "full", "halving"])
def test_loops_with_checkpoints(plan):
    turn = lambda c, t: (c + t * np.abs(c), None)
    scanned = lambda x: ad.scan(turn, x, np.ones(4), checkpoint=plan)[0]
    until = lambda x: ad.while_loop(
        lambda s: s[0] < 3, lambda s: (s[0] + 1, np.abs(s[1]) + s[1]), (0, x), checkpoint="online"
    )[1]
    for f, right in ((scanned, 16.0), (until, 8.0), (ad.jit(scanned), 16.0)):
        assert f(1e-3) == pytest.approx(right * 1e-3)
        assert ad.grad(f, side="right")(0.0) == right
        assert ad.grad(f, side="left")(0.0) == 0.0
        assert ad.jit(ad.grad(f, side="right"))(0.0) == right
        both = ad.vmap(ad.grad(f, side="right"))(np.array([0.0, -1.0]))
        np.testing.assert_allclose(both, [right, 0.0], atol=1e-9)


def test_chains_that_are_undone():
    layer = lambda y: 2.0 * y + 0.5 * np.abs(y)
    chain = ad.memory.reversible(layer, inverse=lambda z: np.where(z > 0, z / 2.5, z / 1.5))
    assert ad.grad(chain, side="right")(0.0) == 2.5
    assert ad.grad(chain, side="left")(0.0) == 1.5


@pytest.mark.parametrize("compiled", [False, True])
def test_questions_of_python_are_answered_by_the_side(compiled):
    whole = lambda x: x * math.floor(x) + 10.0 * x * int(x)
    zero = lambda x: 2.0 * x if x else -x  # 0 is the only place where it is -x
    way = ad.jit if compiled else lambda f: f
    assert way(ad.grad(whole, side="right"))(2.0) == 22.0
    assert way(ad.grad(whole, side="left"))(2.0) == 11.0
    assert way(ad.grad(zero, side="right"))(0.0) == way(ad.grad(zero, side="left"))(0.0) == 2.0
    inside = lambda x: np.sum(ad.vmap(zero)(x))
    np.testing.assert_array_equal(ad.grad(inside, side="left")(np.array([0.0, 1.0])), [2.0, 2.0])


def test_beside_a_kink_nothing_changes():
    f = lambda x: np.abs(x - 1e-10)
    assert ad.grad(f, side="right")(0.0) == -1.0


@pytest.mark.parametrize("f", [np.log, np.sqrt, lambda x: x**1.5])
def test_programs_say_nan_where_there_is_no_side(f):
    """Some rules have finite values beside the domain: 1/x of log x."""
    assert np.isnan(ad.jit(ad.grad(f, side="left"))(0.0))
    found = ad.vmap(ad.grad(f, side="left"))(np.array([0.0, 1.0], np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [np.nan, ad.grad(f)(1.0)], rtol=1e-6)


def test_there_must_be_a_side():
    with pytest.raises(NonFiniteError, match="not defined on the left"):
        ad.grad(np.sqrt, side="left")(0.0)
    with pytest.raises(ValueError, match='"left" or "right"'):
        ad.grad(np.abs, side="up")(0.0)
    with pytest.raises(DtypeError, match="no left and right"):
        ad.grad(lambda z: np.abs(z), side="left")(1j)

"""Forward mode: values and tangents side by side, nothing stored."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import DtypeError, ShapeError, TreeError


def f(x):
    return np.tanh(x) @ np.exp(-x) + np.prod(x)


def test_against_the_complex_step() -> None:
    x, v = np.linspace(0.2, 1.1, 4), np.array([1.0, -2.0, 0.5, 3.0])
    y, dy = ad.jvp(f, (x,), (v,))
    assert y == f(x)
    assert dy == pytest.approx(f(x + 1e-30j * v).imag / 1e-30, rel=1e-14)


def test_nothing_is_stored() -> None:
    references = []

    def long(x):
        for _ in range(50):
            x = np.sin(x)
            references.append(weakref.ref(x._value))
        return x

    ad.jvp(long, (np.ones(10),), (np.ones(10),))
    x = np.ones(100_000)
    tracemalloc.start()
    ad.jvp(lambda x: long(x), (x,), (x,))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 * x.nbytes  # 50 steps, but two arrays live at a time and a few between them
    gc.collect()
    assert all(r() is None for r in references)


def test_several_arguments_and_trees() -> None:
    g = lambda p, q: {"a": p["x"] * q, "b": (np.sum(p["x"]), q)}
    p, q = {"x": np.array([1.0, 2.0])}, 3.0
    y, dy = ad.jvp(g, (p, q), ({"x": np.array([1.0, 0.0])}, 10.0))
    np.testing.assert_array_equal(y["a"], [3.0, 6.0])
    np.testing.assert_array_equal(dy["a"], [13.0, 20.0])
    assert dy["b"] == (1.0, 10.0)


def test_a_result_that_does_not_depend_on_the_argument() -> None:
    y, dy = ad.jvp(lambda x: (np.ones(2), x, 3), (1.0,), (1.0,))
    np.testing.assert_array_equal(dy[0], np.zeros(2))
    assert dy[1] == 1.0
    assert dy[2] == 0
    assert y[2] == 3


def test_a_zero_tangent_gives_zero_at_singular_points() -> None:
    """∞ · 0 is 0 for pointwise functions: a direction that does not move the singular element has a derivative."""
    x = np.array([0.0, 4.0])
    _, dy = ad.jvp(np.sqrt, (x,), (np.array([0.0, 1.0]),))
    np.testing.assert_array_equal(dy, [0.0, 0.25])
    with np.errstate(divide="ignore"):  # the logarithm itself is infinite
        _, dy = ad.jvp(np.log, (x,), (np.array([0.0, 1.0]),))
    np.testing.assert_array_equal(dy, [0.0, 0.25])


def test_no_warnings_from_derivatives() -> None:
    """sqrt is fine at 0; its derivative is infinite, and NumPy has nothing to complain about the user's function."""
    _, dy = ad.jvp(np.sqrt, (0.0,), (1.0,))
    assert dy == np.inf
    assert ad.grad(np.sqrt)(0.0) == np.inf


@pytest.mark.parametrize(
    "primals, tangents, error, words",
    [
        ((np.ones(3),), (np.ones(2),), ShapeError, "shape"),
        ((np.ones(3),), (1j * np.ones(3),), DtypeError, "complex"),
        (({"a": np.ones(3)},), ({"b": np.ones(3)},), TreeError, "tangent"),
        ((np.ones(3),), (np.ones(3), np.ones(3)), TreeError, "tangent"),
        (np.ones(3), (np.ones(3),), TypeError, "tuple"),
        ((np.ones(3),), np.ones(3), TypeError, "tuple"),
        ((np.arange(3),), (np.ones(3),), DtypeError, "integers are not differentiable"),
    ],
)
def test_bad_tangents(primals, tangents, error, words) -> None:
    with pytest.raises(error, match=words):
        ad.jvp(np.sin, primals, tangents)


def test_integers_inside_trees_stay_constant() -> None:
    x = {"x": np.array([1.0, 2.0, 3.0]), "i": np.array([0, 0, 2])}
    y, dy = ad.jvp(lambda p: p["x"][p["i"]], (x,), ({"x": np.array([1.0, 0.0, 5.0]), "i": np.zeros(3, int)},))
    np.testing.assert_array_equal(y, [1.0, 1.0, 3.0])
    np.testing.assert_array_equal(dy, [1.0, 1.0, 5.0])


def test_none_is_a_zero_tangent() -> None:
    x, v = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    y, dy = ad.jvp(lambda a, b: a * b, (x, x), (None, v))
    np.testing.assert_array_equal(y, x * x)
    np.testing.assert_array_equal(dy, x * v)
    np.testing.assert_array_equal(ad.linearize(lambda a, b: a * b, x, x)[1](v, None), x * v)
    np.testing.assert_array_equal(ad.vjp(lambda a: (a, 2 * a), x)[1]((None, v))[0], 2 * v)


def test_a_tangent_of_whole_numbers() -> None:
    p = {"x": np.ones(2), "i": np.array([0, 1])}
    move = {"x": np.ones(2), "i": np.array([1, 0])}
    with pytest.raises(DtypeError, match="integers are not differentiable"):
        ad.jvp(lambda p: p["x"][p["i"]], (p,), (move,))


def test_tangents_are_not_changed_by_assignment() -> None:
    def g(x):
        x[0] = 1.0
        x *= 2.0
        x[1:] = x[:-1] * x[1:]
        return x

    x, v = np.arange(1.0, 5.0), np.ones(4)
    _, dy = ad.jvp(g, (x,), (v,))
    np.testing.assert_array_equal(v, 1.0)
    np.testing.assert_array_equal(x, np.arange(1.0, 5.0))
    np.testing.assert_array_equal(dy, [0.0, 4.0, 20.0, 28.0])  # 4 x₁, 4 x₁ x₂, 4 x₂ x₃
    np.testing.assert_array_equal(ad.linearize(g, x)[1](v), dy)
    np.testing.assert_array_equal(v, 1.0)


def test_arrays_that_a_rule_makes_are_no_values_of_the_trace() -> None:
    """The linear solver of a root makes an array like its right side, which is a value of the program being written."""

    def total(a):
        root = ad.implicit.root(
            lambda x, a: x + 0.3 * np.sin(x) - a, x0=1.0, linear=lambda A, b: b / A(np.ones_like(b))
        )
        return ad.scan(lambda c, t: (root(a * t) + c, None), 0.0, np.array([0.5, 1.0]))[0]

    slopes = [ad.testing.finite_difference(f, 0.7, 1.0) for f in (total, ad.grad(total))]
    np.testing.assert_allclose(ad.jvp(total, (0.7,), (1.0,))[1], slopes[0], rtol=1e-6)
    np.testing.assert_allclose(ad.jet(total, (0.7,), ((1.0, 0.0),))[1], slopes, rtol=1e-6)

"""Finite differences against derivatives known in closed form, over trees, with their costs and their errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from adjoint.testing.counting import count_calls
from adjoint.testing.differences import (
    difference_gradient,
    difference_jacobian,
    finite_difference,
    optimal_step,
)
from adjoint.testing.stencils import coefficients

KINDS = ["central", "forward", "backward"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("derivative", [1, 2, 3, 4])
def test_every_order_of_sine(kind, derivative):
    x = np.linspace(-2.0, 2.0, 7)
    found = finite_difference(np.sin, x, np.ones(7), kind=kind, derivative=derivative, accuracy=6)
    assert_allclose(found, np.sin(x + derivative * np.pi / 2), atol=1e-6)


@given(st.sampled_from(KINDS), st.integers(1, 3), st.integers(1, 5), st.floats(-1, 1))
def test_polynomials_below_the_order_are_exact_up_to_rounding(kind, k, accuracy, x):
    """A polynomial of degree < k + q has no truncation error, however large the step."""
    stencil_order = coefficients(kind, k).order
    degree = k + max(accuracy, stencil_order) - 1
    polynomial = np.polynomial.Polynomial(np.arange(1.0, degree + 2))
    found = finite_difference(polynomial, x, 1.0, kind=kind, derivative=k, accuracy=accuracy, step=0.5)
    assert_allclose(found, polynomial.deriv(k)(x), rtol=1e-8, atol=1e-7)


def test_directional_derivative_over_trees():
    def f(tree):
        a, rest = tree
        return {"product": a @ rest["b"], "sum": np.sum(a) + rest["c"], "parts": [np.sin(rest["b"]), 2.0]}

    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 2)), rng.normal(size=2), 0.7
    da, db, dc = rng.normal(size=(3, 2)), rng.normal(size=2), -1.3
    found = finite_difference(f, (a, {"b": b, "c": c}), (da, {"b": db, "c": dc}), accuracy=4)
    assert_allclose(found["product"], da @ b + a @ db, atol=1e-10)
    assert_allclose(found["sum"], da.sum() + dc, atol=1e-10)
    assert_allclose(found["parts"][0], np.cos(b) * db, atol=1e-10)
    assert found["parts"][1] == 0.0


def test_second_derivative_along_a_line_is_the_quadratic_form():
    rng = np.random.default_rng(1)
    matrix, x, v = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=4)
    found = finite_difference(lambda w: w @ matrix @ w, x, v, derivative=2)
    assert_allclose(found, 2 * v @ matrix @ v, rtol=1e-6)


def test_complex_inputs_and_outputs():
    z, v = np.array([1 + 2j, 0.3 - 0.1j]), np.array([0.5 - 1j, 1j])
    assert_allclose(finite_difference(np.exp, z, v, accuracy=4), np.exp(z) * v, rtol=1e-10)
    conjugate = finite_difference(np.conj, z, v)
    assert_allclose(conjugate, np.conj(v), rtol=1e-9)


def test_types_are_kept():
    seen = []

    def f(tree):
        seen.append(tree)
        return tree["x"] * tree["n"]

    point = {"x": np.float32([1.0, 2.0]), "n": 3}
    result = finite_difference(f, point, {"x": np.ones(2), "n": 0})
    assert result.dtype == np.float32
    assert_allclose(result, [3.0, 3.0], rtol=1e-3)
    assert all(tree["x"].dtype == np.float32 and tree["n"] == 3 for tree in seen)
    assert isinstance(finite_difference(np.sin, 0.3, 1.0), np.float64)
    assert_array_equal(point["x"], np.float32([1.0, 2.0]))


def test_a_python_integer_is_promoted_where_it_moves():
    assert_allclose(finite_difference(lambda x: x**3, 2, 1), 12.0, rtol=1e-8)
    assert_allclose(difference_gradient(lambda x: x**3, 2), 12.0, rtol=1e-8)
    assert_allclose(difference_jacobian(lambda x: x**3, 2), 12.0, rtol=1e-8)


def test_discontinuous_counts_are_differenced_as_numbers():
    assert finite_difference(lambda x: x > 0.0, 0.0, 1.0, step=0.5) == 1.0


def test_single_precision_chooses_a_larger_step():
    single = finite_difference(np.exp, np.float32(1.0), 1.0, accuracy=6)
    assert single.dtype == np.float32
    assert_allclose(single, np.e, rtol=3e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_the_step_follows_the_size_of_x_and_of_the_direction(scale):
    found = finite_difference(np.log, scale * 1e3, 7.0 * scale, accuracy=4)
    assert_allclose(found, 7e-3, rtol=1e-9)


@pytest.mark.parametrize("kind, points", [("central", 1), ("central", 2), ("forward", 1), ("forward", 3)])
def test_gradient_and_its_cost(kind, points):
    rng = np.random.default_rng(2)
    x = {"w": rng.normal(size=(2, 3)), "b": 0.5, "steps": 4}
    f = count_calls(lambda p: np.sum(np.sin(p["w"])) * p["b"] ** p["steps"])
    gradient = difference_gradient(f, x, kind=kind, points=points)
    assert f.calls == (2 * points * 7 if kind == "central" else points * 7 + 1)
    tolerance = 1e-6 if kind == "forward" else 1e-8
    assert_allclose(gradient["w"], np.cos(x["w"]) * 0.5**4, atol=tolerance)
    assert_allclose(gradient["b"], np.sum(np.sin(x["w"])) * 4 * 0.5**3, atol=tolerance)
    assert gradient["steps"] == 0
    assert gradient["steps"].dtype == np.int64


def test_gradient_of_a_real_function_of_complex_numbers():
    """|z|² has the gradient 2 z: ∂/∂a + i ∂/∂b."""
    z = np.array([1 + 2j, -0.5 + 0.25j])
    assert_allclose(difference_gradient(lambda w: np.sum(np.abs(w) ** 2), z), 2 * z, rtol=1e-8)


def test_jacobian_over_trees_and_its_cost():
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(2, 3))
    f = count_calls(lambda p: (matrix @ p["x"] * p["s"], np.sum(p["x"] ** 2)))
    x = {"x": rng.normal(size=3), "s": 2.0}
    outer, square = difference_jacobian(f, x, kind="forward", step=1e-6)
    assert f.calls == 5
    assert outer["x"].shape == (2, 3)
    assert outer["s"].shape == (2,)
    assert_allclose(outer["x"], 2.0 * matrix, atol=1e-5)
    assert_allclose(outer["s"], matrix @ x["x"], atol=1e-5)
    assert_allclose(square["x"], 2 * x["x"], atol=1e-5)
    assert square["s"] == 0.0


def test_jacobian_of_matrix_functions_has_both_shapes():
    a = np.arange(6.0).reshape(2, 3)
    found = difference_jacobian(lambda w: w.T * 2.0, a)
    assert found.shape == (3, 2, 2, 3)
    assert_allclose(found, 2 * np.einsum("il,jk->ijkl", np.eye(3), np.eye(2)), atol=1e-9)


def test_the_optimal_step_minimizes_the_bound():
    """Among steps around it, none has a smaller c δ^q + ε Σ|a| / δᵏ, up to rounding to a power of two."""
    for kind, k, p in [("forward", 1, 1), ("central", 1, 1), ("central", 1, 3), ("central", 2, 1), ("backward", 3, 4)]:
        stencil = coefficients(kind, k, p)

        def bound(step, stencil=stencil):
            truncation = abs(float(stencil.constant)) * step**stencil.order
            return truncation + 2.0**-52 * stencil.gain / step**stencil.derivative

        chosen = optimal_step(stencil)
        assert np.log2(chosen) == int(np.log2(chosen))
        assert bound(chosen) < 1.5 * min(bound(step) for step in np.geomspace(1e-12, 1.0, 500))


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda: finite_difference(np.sin, np.ones(3), np.ones(2)), ValueError, r"shape \(3,\), not \(2,\)"),
        (lambda: finite_difference(np.sin, np.ones(3), 1j * np.ones(3)), TypeError, "complex direction"),
        (lambda: finite_difference(np.sin, np.arange(3), np.ones(3)), TypeError, r"int64\[3\] is constant"),
        (lambda: finite_difference(np.sin, 1.0, 1.0, step=0.0), ValueError, "positive and finite"),
        (lambda: finite_difference(np.sin, 1.0, 1.0, points=2, accuracy=2), ValueError, "not both"),
        (lambda: finite_difference(str, 1.0, 1.0), TypeError, "return numbers"),
        (lambda: finite_difference(np.sin, (1.0, 2.0), [1.0, 2.0]), ValueError, "trees differ at the top"),
        (lambda: finite_difference(np.sin, 1.0, "up"), TypeError, "moves along numbers"),
        (lambda: difference_gradient(np.sin, np.ones(3)), TypeError, "difference_jacobian"),
        (lambda: difference_gradient(lambda x: 1j * x, 1.0), TypeError, "one real number"),
        (lambda: difference_jacobian(np.sin, 1j), TypeError, "no one Jacobian"),
        (lambda: difference_jacobian(np.sin, np.arange(3)), TypeError, "make it a float"),
        (lambda: difference_jacobian(np.sin, np.ones(0)), ValueError, "no direction"),
    ],
)
def test_bad_arguments_are_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_a_function_whose_shape_changes_is_refused():
    with pytest.raises(ValueError, match="nearby points"):
        finite_difference(lambda x: np.ones(1 if x > 0 else 2), 0.0, 1.0)

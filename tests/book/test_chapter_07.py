"""Finite differences: weights, orders of error, step sizes, complex steps, costs.

The example of the chapter is softplus(x) = log(1 + eˣ) at x = 1, whose derivative is the logistic function. Its higher
derivatives are polynomials in it, with s' = s (1 - s).
"""

from fractions import Fraction
from math import log2

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adjoint.base.errors import UnsupportedError
from adjoint.testing.complex_step import complex_step, complex_step_gradient
from adjoint.testing.counting import count_calls
from adjoint.testing.differences import difference_gradient, finite_difference, optimal_step
from adjoint.testing.stencils import coefficients

X = 1.0
S = 1.0 / (1.0 + np.exp(-1.0))
FIRST = 0.7310585786300049
SECOND = S * (1 - S)
THIRD = SECOND * (1 - 2 * S)
EPSILON = float(np.finfo(float).eps)


def softplus(x):
    return np.log(1 + np.exp(x))


def error(step, **options):
    return abs(finite_difference(softplus, X, 1.0, step=step, **options) - FIRST)


def fractions(text):
    return tuple(Fraction(part) for part in text.replace("−", "-").split(", "))


# kind, derivative k, points p, weights, order q and constant c of the leading error c δ^q ∂ᵏ⁺^q f
TABLE = [
    ("forward", 1, 1, "-1, 1", 1, "1/2"),
    ("forward", 1, 2, "-3/2, 2, -1/2", 2, "-1/3"),
    ("forward", 1, 3, "-11/6, 3, -3/2, 1/3", 3, "1/4"),
    ("forward", 1, 4, "-25/12, 4, -3, 4/3, -1/4", 4, "-1/5"),
    ("forward", 1, 5, "-137/60, 5, -5, 10/3, -5/4, 1/5", 5, "1/6"),
    ("forward", 2, 2, "1, -2, 1", 1, "1"),
    ("forward", 2, 3, "2, -5, 4, -1", 2, "-11/12"),
    ("forward", 2, 4, "35/12, -26/3, 19/2, -14/3, 11/12", 3, "5/6"),
    ("forward", 3, 3, "-1, 3, -3, 1", 1, "3/2"),
    ("forward", 3, 4, "-5/2, 9, -12, 7, -3/2", 2, "-7/4"),
    ("forward", 4, 4, "1, -4, 6, -4, 1", 1, "2"),
    ("central", 1, 1, "-1/2, 0, 1/2", 2, "1/6"),
    ("central", 1, 2, "1/12, -2/3, 0, 2/3, -1/12", 4, "-1/30"),
    ("central", 1, 3, "-1/60, 3/20, -3/4, 0, 3/4, -3/20, 1/60", 6, "1/140"),
    ("central", 1, 4, "1/280, -4/105, 1/5, -4/5, 0, 4/5, -1/5, 4/105, -1/280", 8, "-1/630"),
    ("central", 2, 1, "1, -2, 1", 2, "1/12"),
    ("central", 2, 2, "-1/12, 4/3, -5/2, 4/3, -1/12", 4, "-1/90"),
    ("central", 2, 3, "1/90, -3/20, 3/2, -49/18, 3/2, -3/20, 1/90", 6, "1/560"),
    ("central", 3, 2, "-1/2, 1, 0, -1, 1/2", 2, "1/4"),
    ("central", 3, 3, "1/8, -1, 13/8, 0, -13/8, 1, -1/8", 4, "-7/120"),
    ("central", 4, 2, "1, -4, 6, -4, 1", 2, "1/6"),
    ("central", 4, 3, "-1/6, 2, -13/2, 28/3, -13/2, 2, -1/6", 4, "-7/240"),
]


def check_table(kind, first_derivative):
    rows = [row for row in TABLE if row[0] == kind and (row[1] == 1) == first_derivative]
    assert rows
    for _, k, p, weights, order, constant in rows:
        stencil = coefficients(kind, k, p)
        assert stencil.offsets == tuple(range(0 if kind == "forward" else -p, p + 1))
        assert stencil.weights == fractions(weights)
        assert (stencil.order, stencil.constant) == (order, Fraction(constant))


def slope(kind, k, p, steps, f, x, exact):
    """The measured power of the step in the error: the slope of log error against log step."""
    errors = [abs(finite_difference(f, x, 1.0, kind=kind, derivative=k, points=p, step=h) - exact) for h in steps]
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


@pytest.mark.row("7.1")
def test_forward_difference():
    f = count_calls(softplus)
    assert finite_difference(f, X, 1.0, kind="forward", step=1e-3) == (softplus(1.001) - softplus(1.0)) / 1e-3
    assert f.calls == 2
    for step, expected in [(1e-1, 9.678e-3), (1e-2, 9.815e-4), (1e-3, 9.829e-5), (1e-4, 9.830e-6)]:
        assert_allclose(error(step, kind="forward"), expected, rtol=1e-3)
    assert_allclose(error(1e-4, kind="forward") / 1e-4, 0.0983059666, rtol=1e-4)
    assert_allclose(SECOND / 2, 0.0983059666, rtol=1e-9)


@pytest.mark.row("7.1")
def test_forward_difference_loses_to_rounding_below_the_root_of_epsilon():
    best = min(error(10.0**-n, kind="forward") for n in range(1, 16))
    small = [error(10.0**-n, kind="forward") for n in (8, 10, 12)]
    # Rounding is erratic, so the sizes hold up to a factor: 9e-9, 1e-6, 1e-4, growing as ε/δ.
    for found, expected in zip(small, (9.4e-9, 1.1e-6, 1.3e-4), strict=True):
        assert expected / 5 < found < expected * 5
    assert best < 2e-8
    assert small[2] > 1e3 * best


@pytest.mark.row("7.1b")
@pytest.mark.parametrize("kind, exponent", [("forward", 1 / 2), ("backward", 1 / 2), ("central", 1 / 3)])
def test_the_chosen_step_balances_truncation_and_rounding(kind, exponent):
    chosen = optimal_step(coefficients(kind))
    assert 0.5 <= chosen / EPSILON**exponent <= 4.0
    # Rounding is erratic at a single step: the error at a step is the largest of a few nearby.
    steps = 2.0 ** np.arange(-45, -2)
    typical = [max(error(step * t, kind=kind) for t in (1.0, 1.1, 1.23, 1.37, 1.55, 1.81)) for step in steps]
    assert abs(log2(chosen / steps[int(np.argmin(typical))])) < log2(10)


@pytest.mark.row("7.1b")
def test_the_step_shrinks_as_epsilon_to_one_over_order_plus_one():
    for kind, p in [("forward", 1), ("forward", 3), ("central", 1), ("central", 3)]:
        stencil = coefficients(kind, 1, p)
        ratio = optimal_step(stencil, 2.0**-52) / optimal_step(stencil, 2.0**-22)
        assert abs(log2(ratio) + 30 / (stencil.order + 1)) <= 1.0  # both are rounded to powers of two


@pytest.mark.row("7.2")
def test_backward_difference():
    f = count_calls(softplus)
    assert_allclose(
        finite_difference(f, X, 1.0, kind="backward", step=1e-3), (softplus(1.0) - softplus(0.999)) / 1e-3, rtol=1e-15
    )
    assert f.calls == 2
    for step, expected in [(1e-1, 9.980e-3), (1e-2, 9.846e-4), (1e-3, 9.832e-5)]:
        assert_allclose(error(step, kind="backward"), expected, rtol=1e-3)


@pytest.mark.row("7.3")
def test_central_difference():
    f = count_calls(softplus)
    assert_allclose(finite_difference(f, X, 1.0, step=1e-3), (softplus(1.001) - softplus(0.999)) / 2e-3, rtol=1e-15)
    assert f.calls == 2
    for step, expected in [(1e-1, 1.513e-4), (1e-2, 1.5143e-6), (1e-3, 1.5143e-8)]:
        assert_allclose(error(step), expected, rtol=1e-3)
    assert_allclose(error(1e-2) / 1e-4, 0.0151429579, rtol=1e-4)
    assert_allclose(abs(THIRD) / 6, 0.0151429579, rtol=1e-8)


@pytest.mark.row("7.4a")
def test_forward_and_backward_weights_of_the_first_derivative():
    check_table("forward", first_derivative=True)
    for p in range(1, 8):
        forward, backward = coefficients("forward", 1, p), coefficients("backward", 1, p)
        assert backward.weights == tuple(-a for a in reversed(forward.weights))
        assert forward.evaluations == p + 1
        assert backward.evaluations == p + 1
        # The system that defines them: Σ a = 0, Σ i a = 1, Σ iʲ a = 0 beyond.
        moments = [sum(a * Fraction(i) ** j for i, a in enumerate(forward.weights)) for j in range(p + 1)]
        assert moments == [0, 1] + [0] * (p - 1)


@pytest.mark.row("7.4a")
@pytest.mark.parametrize("kind", ["forward", "backward"])
@pytest.mark.parametrize("p", [1, 2, 3, 4, 5])
def test_one_sided_schemes_with_p_points_have_order_p(kind, p):
    f = count_calls(np.exp)
    finite_difference(f, X, 1.0, kind=kind, points=p)
    assert f.calls == p + 1
    steps = np.geomspace(2e-3, 2e-2, 5) if p < 4 else np.geomspace(2e-2, 8e-2, 5)
    assert slope(kind, 1, p, steps, np.exp, X, np.e) == pytest.approx(p, abs=0.15)


@pytest.mark.row("7.4b")
def test_central_weights_of_the_first_derivative():
    check_table("central", first_derivative=True)
    for p in range(1, 8):
        stencil = coefficients("central", 1, p)
        assert stencil.weights[p] == 0
        assert stencil.evaluations == 2 * p
        assert stencil.order == 2 * p


@pytest.mark.row("7.4b")
@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_central_schemes_with_2p_points_have_order_2p(p):
    f = count_calls(np.exp)
    finite_difference(f, X, 1.0, points=p)
    assert f.calls == 2 * p
    steps = {1: (1e-3, 1e-2), 2: (1e-2, 1e-1), 3: (5e-2, 0.3), 4: (0.2, 0.6)}[p]
    assert slope("central", 1, p, np.geomspace(*steps, 5), np.exp, X, np.e) == pytest.approx(2 * p, abs=0.15)


@pytest.mark.row("7.5a")
def test_forward_weights_of_higher_derivatives():
    check_table("forward", first_derivative=False)
    # The second derivative with three points is (1, -2, 1), not the first derivative's (-3/2, 2, -1/2).
    assert coefficients("forward", 2, 2).weights == (1, -2, 1)
    for k in range(1, 6):
        for p in range(k, 8):
            stencil = coefficients("forward", k, p)
            assert stencil.order == p - k + 1
            assert stencil.evaluations == p + 1
            mirrored = tuple((-1) ** k * a for a in reversed(stencil.weights))
            assert coefficients("backward", k, p).weights == mirrored


@pytest.mark.row("7.5a")
@pytest.mark.parametrize("k, p", [(2, 2), (2, 3), (2, 4), (3, 3), (3, 4), (4, 4)])
def test_forward_differences_of_higher_derivatives_have_order_p_minus_k_plus_1(k, p):
    f = count_calls(np.exp)
    finite_difference(f, X, 1.0, kind="forward", derivative=k, points=p)
    assert f.calls == p + 1
    assert slope("forward", k, p, np.geomspace(5e-3, 2e-2, 5), np.exp, X, np.e) == pytest.approx(p - k + 1, abs=0.15)


@pytest.mark.row("7.5b")
def test_central_weights_of_higher_derivatives():
    check_table("central", first_derivative=False)
    for k in range(1, 7):
        for p in range((k + 1) // 2, 8):
            # With a ceiling for the floor the second derivative by three points would have order 0.
            assert coefficients("central", k, p).order == 2 * p + 2 - 2 * ((k + 1) // 2)


@pytest.mark.row("7.5b")
@pytest.mark.parametrize("k, p, order", [(2, 1, 2), (2, 2, 4), (3, 2, 2), (4, 2, 2), (3, 3, 4)])
def test_central_differences_of_higher_derivatives(k, p, order):
    f = count_calls(np.exp)
    finite_difference(f, X, 1.0, derivative=k, points=p)
    assert f.calls == 2 * p + (k % 2 == 0)
    steps = np.geomspace(2e-2, 1e-1, 5) if order == 2 else np.geomspace(8e-2, 0.4, 5)
    assert slope("central", k, p, steps, np.exp, X, np.e) == pytest.approx(order, abs=0.15)


@pytest.mark.row("7.5b")
def test_the_second_derivative_by_three_points():
    f = count_calls(softplus)
    h = 2.0**-10
    found = finite_difference(f, X, 1.0, derivative=2, step=h)
    assert f.calls == 3
    assert found == (softplus(X + h) + softplus(X - h) - 2 * softplus(X)) / h**2
    assert_allclose(found, SECOND, atol=1e-6)


@pytest.mark.row("7.6")
def test_complex_step():
    f = count_calls(softplus)
    found = complex_step(f, X, 1.0, step=1e-20)
    assert f.calls == 1
    assert abs(found - FIRST) <= 1.2e-16
    assert_allclose(abs(complex_step(softplus, X, 1.0, step=1e-1) - FIRST), 1.515e-4, rtol=1e-3)
    assert_allclose(abs(complex_step(softplus, X, 1.0, step=1e-6) - FIRST), 1.5e-14, rtol=0.1)
    for exponent in (20, 50, 100, 200, 300):
        assert abs(complex_step(softplus, X, 1.0, step=10.0**-exponent) - FIRST) <= 1.2e-16
    for step in (1e-1, 1e-2, 1e-3):  # Re f(x + iδ) = f(x) - δ²/2 f''(x) + …
        lost = softplus(X) - softplus(X + 1j * step).real
        assert_allclose(lost, step**2 / 2 * SECOND, rtol=1e-2)


@pytest.mark.row("7.6")
@pytest.mark.parametrize("f", [np.conj, np.real, np.imag, np.angle, np.floor, lambda x: x.real, lambda x: float(x)])
def test_complex_step_refuses_what_is_not_analytic(f):
    with pytest.raises(UnsupportedError, match="use finite_difference"):
        complex_step(f, X, 1.0)


@pytest.mark.row("7.6")
def test_complex_step_of_absolute_values_and_maxima_is_that_of_the_real_line():
    assert complex_step(np.abs, -2.0, 1.0) == -1.0
    assert complex_step(lambda x: np.maximum(x, 0.5 * x), -2.0, 1.0) == 0.5
    assert complex_step(lambda x: np.max(np.stack([x, x**2])), 3.0, 1.0) == 6.0


@pytest.mark.row("7.7")
@pytest.mark.parametrize("size", [1, 10])
def test_costs(size):
    w, v = np.linspace(0.1, 1.0, size), np.ones(size)
    f = count_calls(lambda x: np.sum(softplus(x)))
    exact = 1 / (1 + np.exp(-w))
    costs = {"forward": (2, size + 1), "backward": (2, size + 1), "central": (2, 2 * size)}
    for kind, (directional, gradient) in costs.items():
        assert_allclose(finite_difference(f, w, v, kind=kind), exact.sum(), atol=1e-6)
        assert f.reset() == directional
        assert_allclose(difference_gradient(f, w, kind=kind), exact, atol=1e-6)
        assert f.reset() == gradient
    assert_allclose(complex_step(f, w, v), exact.sum(), rtol=1e-15)
    assert f.reset() == 1
    assert_allclose(complex_step_gradient(f, w), exact, rtol=1e-15)
    assert f.reset() == size

"""Taylor polynomials: coefficients, values, remainders, text."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.base.errors import ShapeError

TANH = [0.2913126124515909, 0.9151369618266292, -0.2665909391007272, -0.227384351016854, 0.1551035756922383,
        0.0509475327662763]  # fmt: skip


def f(x):
    return np.exp(x[0] * x[1]) * np.sin(x[1] + x[0] ** 2)


X = np.array([0.3, -0.5])


def test_of_one_number():
    p = ad.taylor(np.tanh, 0.3, 5)
    assert_allclose(p.coefficients, TANH, rtol=1e-13)
    assert p[2] == pytest.approx(TANH[2])
    assert_allclose(p(np.array([[0.3], [0.4]])), np.tanh([[0.3], [0.4]]), atol=1e-7)
    assert p.order == 5


def test_remainders_have_the_next_order_and_are_estimated():
    p, q = ad.taylor(np.tanh, 0.3, 5), ad.taylor(f, X, 3)
    v = np.array([1.0, -2.0])
    for g, polynomial, x, step, order in ((np.tanh, p, 0.3, 1.0, 5), (f, q, X, v, 3)):
        errors = [g(x + h * step) - polynomial(x + h * step) for h in (0.04, 0.02)]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order + 1, abs=0.3)
        assert polynomial.remainder(x + 0.01 * step) == pytest.approx(
            g(x + 0.01 * step) - polynomial(x + 0.01 * step), rel=0.1
        )


def test_polynomials_are_reproduced():
    g = lambda x: x[0] ** 3 - 2 * x[0] * x[1] + 4
    p = ad.taylor(g, X, 3)
    y = np.array([5.0, -7.0])
    assert p(y) == pytest.approx(g(y), rel=1e-12)
    assert p[1, 1] == pytest.approx(-2.0)
    assert p.remainder(y) == pytest.approx(0.0, abs=1e-9)


def test_results_in_arrays_and_trees():
    p = ad.taylor(lambda x: (np.sin(x), np.stack([x, x**2])), 1.0, 4)
    first, second = p(np.array([1.0, 1.1, 1.2]))
    assert_allclose(first, np.sin([1.0, 1.1, 1.2]), atol=1e-5)
    assert second.shape == (3, 2)
    assert_allclose(second[2], [1.2, 1.44])


def test_transformations():
    p = ad.taylor(f, X, 4)
    y = X + 0.1
    slope = ad.grad(p)(y)
    h = 1e-6
    for i, e in enumerate(np.eye(2)):
        assert slope[i] == pytest.approx((p(y + h * e) - p(y - h * e)) / (2 * h), rel=1e-7)
    assert_allclose(ad.grad(p)(X), ad.grad(f)(X), rtol=1e-12)  # at the point itself, where powers of zero stand
    assert_allclose(ad.vmap(p)(np.stack([X, y])), [p(X), p(y)], rtol=1e-13)
    at = lambda x: ad.taylor(f, x, 2)(y)
    assert ad.jit(at)(X) == pytest.approx(at(X), rel=1e-12)
    moved = [at(X + h * np.array([1.0, 0.0])), at(X - h * np.array([1.0, 0.0]))]
    assert ad.grad(at)(X)[0] == pytest.approx((moved[0] - moved[1]) / (2 * h), rel=1e-5)
    assert ad.jit(lambda p, y: p(y))(p, y) == pytest.approx(p(y), rel=1e-13)


def test_written():
    assert repr(ad.taylor(np.sin, 0.0, 4)) == "x - 0.16666667 x³ + O(x⁵)"
    assert repr(ad.taylor(np.exp, -1.0, 1)) == "0.36787944 + 0.36787944 (x + 1) + O((x + 1)²)"
    assert repr(ad.taylor(lambda x: x[0] * x[1], np.array([0.0, 2.0]), 2)) == "2 x₀ + x₀ (x₁ - 2) + O(‖x - x₀‖³)"
    assert repr(ad.taylor(lambda x: 0.0 * x, 0.0, 1)) == "0 + O(x²)"
    assert ad.taylor(np.sin, 0.0, 4)._repr_latex_() == "$x - 0.16666667 x^{3} + O(x^{5})$"
    assert repr(ad.taylor(lambda x: np.stack([x]), 0.0, 1)) == "<Taylor polynomial of order 1 in 1 variables>"


def test_whole_numbers_count_as_floating_point_ones():
    assert repr(ad.taylor(np.sin, 0, 5)) == repr(ad.taylor(np.sin, 0.0, 5))
    assert ad.taylor(np.exp, 0, 3).remainder(1) == pytest.approx(1 / 24)
    pair = lambda p: p[0] ** 2 * p[1]
    assert ad.taylor(pair, (1, 2), 3)((2, 3)) == pytest.approx(12.0)
    assert ad.partials(np.prod, 2)(np.array([2, 3]))[1, 1] == 1.0
    assert ad.laplacian(lambda x: np.sum(x**3))(np.array([1, 2])) == 18.0
    assert ad.laplacian(lambda x: x**3)(2) == 12.0


@pytest.mark.parametrize("at", [lambda x: ad.taylor(np.sin, x, 2), ad.partials(np.sin, 2), ad.laplacian(np.sin)])
def test_what_is_no_number_is_refused(at):
    with pytest.raises(TypeError, match="must be real or complex numbers"):
        at("a")


def test_stacks_are_mapped_over():
    xs = np.array([X, 2 * X, -X])  # as many as f has variables, and one more
    stack, near = ad.vmap(lambda x: ad.taylor(f, x, 2))(xs), xs + 0.01
    assert_allclose(
        ad.vmap(lambda p, x: p(x))(stack, near), [ad.taylor(f, a, 2)(b) for a, b in zip(xs, near)], rtol=1e-12
    )
    assert repr(stack) == "<3 stacked: Taylor polynomial of order 2 in 2 variables>"
    assert repr(ad.vmap(ad.partials(f, 2))(xs)) == "<3 stacked: 6 partial derivatives up to order 2 in 2 variables>"
    of_numbers = ad.vmap(lambda x: ad.taylor(np.exp, x, 2))(np.zeros(3))  # three, with three coefficients
    uses = [
        lambda: stack(X),
        lambda: stack.remainder(X),
        lambda: stack[1, 0],
        lambda: stack.partials.tensor(1),
        lambda: of_numbers[1],
        lambda: of_numbers(0.5),
        lambda: of_numbers.coefficients,
    ]
    for use in uses:
        with pytest.raises(ShapeError, match="a stack of 3, as vmap returns it"):
            use()

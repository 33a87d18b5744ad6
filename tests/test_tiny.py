"""Two seconds that tell whether the library is alive: each transformation once, on values known from elsewhere."""

import math

import numpy as np
import pytest

import adjoint as ad


def f(x):
    c = x**2 + np.exp(x**2)
    return np.sqrt(c) + np.cos(c)


def test_reverse_mode_against_the_complex_step() -> None:
    assert ad.grad(f)(1.0) == pytest.approx(f(1.0 + 1e-30j).imag / 1e-30, rel=1e-14)


def test_forward_mode_against_the_complex_step() -> None:
    value, slope = ad.jvp(f, (1.0,), (1.0,))
    assert (value, slope) == pytest.approx((f(1.0), f(1.0 + 1e-30j).imag / 1e-30), rel=1e-14)


def test_nested_orders_against_taylor_mode() -> None:
    nested, orders = f, []
    for _ in range(4):
        nested = ad.grad(nested)
        orders.append(nested(1.0))
    assert ad.jet(f, (1.0,), ((1.0, 0.0, 0.0, 0.0),))[1] == pytest.approx(orders, rel=1e-11)


def test_vmap_against_a_loop() -> None:
    xs = np.linspace(0.1, 1.0, 7)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(xs), [ad.grad(f)(x) for x in xs], rtol=1e-14)


def test_pullback_and_pushforward_are_adjoint() -> None:
    rng = np.random.default_rng(0)
    x, v, u = rng.normal(size=(3, 4))
    matrix = rng.normal(size=(4, 4))

    def g(x):
        return np.tanh(matrix @ x) * x[::-1]

    _, pushforward = ad.linearize(g, x)
    _, pullback = ad.vjp(g, x)
    assert u @ pushforward(v) == pytest.approx(pullback(u)[0] @ v, rel=1e-13)
    np.testing.assert_allclose(ad.jacobian(g)(x) @ v, pushforward(v), rtol=1e-12)


def test_hessian_of_a_quadratic_form() -> None:
    matrix = np.arange(9.0).reshape(3, 3)
    np.testing.assert_allclose(ad.hessian(lambda x: x @ matrix @ x)(np.ones(3)), matrix + matrix.T)


def test_loops_of_all_kinds() -> None:
    def by_python(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = (x + a / x) / 2
        return x

    def by_while_loop(a):
        return ad.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)

    def by_scan(a):
        return ad.scan(lambda x, _: ((x + a / x) / 2, None), a, None, length=8)[0]

    for root in (by_python, by_while_loop, by_scan):
        assert ad.value_and_grad(root)(2.0) == pytest.approx((math.sqrt(2), 0.5 / math.sqrt(2)), rel=1e-12)


def test_trees_and_assignment() -> None:
    def g(p):
        y = p["x"] * 1.0
        y[0] += p["b"] ** 2
        return np.sum(y**2)

    slopes = ad.grad(g)({"x": np.array([1.0, 2.0]), "b": 3.0})
    np.testing.assert_allclose(slopes["x"], [20.0, 4.0])
    assert slopes["b"] == pytest.approx(120.0)


def test_perturbations_are_not_confused() -> None:
    assert ad.grad(lambda x: x * ad.grad(lambda y: x + y)(2.0))(1.0) == 1.0


def test_a_dropped_derivative_raises() -> None:
    with pytest.raises(TypeError, match=r"np\.sin"):
        ad.grad(lambda x: math.sin(x))(1.0)

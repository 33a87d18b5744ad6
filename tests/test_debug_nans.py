"""`debug.nans()` names the operation and the line where the first NaN or infinity that matters arose."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import NonFiniteError
from tests.support.flow_cases import CASES


def square_roots(x):
    y = x - 1.0
    return np.sum(np.sqrt(y))


def found(call) -> str:
    with pytest.raises(NonFiniteError) as caught, ad.debug.nans():
        call()
    return str(caught.value)


def test_forward() -> None:
    message = found(lambda: ad.grad(square_roots)(np.array([0.5, 2.0])))
    assert message.startswith("Forward: sqrt gave NaN at test_debug_nans.py:")
    assert "in square_roots: return np.sum(np.sqrt(y))" in message
    assert "[-0.5,  1. ]" in message


def test_backward() -> None:
    message = found(lambda: ad.grad(square_roots)(np.array([1.0, 2.0])))
    assert message.startswith("Backward: the derivative of sqrt gave inf")
    assert "in square_roots: return np.sum(np.sqrt(y))" in message
    assert "0." in message


WATCHED = {
    "jvp": lambda: ad.jvp(square_roots, (np.ones(2),), (np.ones(2),)),
    "vjp": lambda: ad.vjp(square_roots, np.ones(2))[1](1.0),
    "linearize": lambda: ad.linearize(square_roots, np.ones(2))[1](np.ones(2)),
    "jet": lambda: ad.jet(square_roots, (np.ones(2),), ((np.ones(2),),)),
    "vmap": lambda: ad.vmap(square_roots)(np.zeros((2, 2))),
    "jacobian": lambda: ad.jacobian(lambda x: np.sqrt(x - 1.0))(np.ones(2)),
    "hessian": lambda: ad.hessian(square_roots)(np.ones(2)),
    "grad of grad": lambda: ad.grad(ad.grad(lambda x: x**1.5))(0.0),
    "checkpoint": lambda: ad.grad(ad.checkpoint(square_roots))(np.ones(2)),
    "a Python int": lambda: ad.grad(np.log)(0),
}


@pytest.mark.parametrize("name", WATCHED)
def test_every_transformation_is_watched(name) -> None:
    assert "test_debug_nans.py" in found(WATCHED[name])


LOOPS = {
    "scan": lambda x: ad.scan(lambda c, t: (np.sqrt(c * t), None), x, np.arange(3.0))[0],
    "while_loop": lambda x: ad.while_loop(lambda s: s[1] < 2, lambda s: (np.sqrt(s[0] * s[1]), s[1] + 1), (x, 0))[0],
    "cond in scan": lambda x: ad.scan(
        lambda c, t: (ad.cond(t < 1, lambda c: np.sqrt(c * t), lambda c: c * t, c), None), x, np.arange(3.0)
    )[0],
}


@pytest.mark.parametrize("name", LOOPS)
def test_inside_loops(name) -> None:
    message = found(lambda: ad.grad(LOOPS[name])(1.0))
    assert message.startswith("Backward: the derivative of sqrt gave inf")
    assert "np.sqrt(" in message


def test_forward_inside_a_loop() -> None:
    def f(x):
        return ad.scan(lambda c, t: (c * x, np.log(c - t)), x, np.arange(3.0))[1][2]

    for derivative in (ad.grad(f), lambda x: ad.jvp(f, (x,), (1.0,))):
        message = found(lambda derivative=derivative: derivative(0.5))
        assert message.startswith("Forward: log gave NaN")
        assert "np.log(c - t)" in message
        assert "-1.875" in message


def harmless(x):
    a = np.where(x > 0, np.log(x), 0.0)
    b = ad.vmap(lambda x: ad.cond(x > 0, np.log, lambda x: x, x))(x)
    c = np.exp(np.where(x > 0, x, -np.inf))
    return np.sum(a) + np.sum(b) + np.sum(c)


def test_what_is_discarded_raises_nothing() -> None:
    x = np.array([-1.0, 2.0])
    with np.errstate(all="ignore"):
        expected = ad.grad(harmless)(x)
    with ad.debug.nans():
        np.testing.assert_array_equal(ad.grad(harmless)(x), expected)
        np.testing.assert_array_equal(ad.vmap(ad.grad(harmless))(x[None]), [expected])
        ad.hessian(harmless)(x)


def test_the_first_one_is_named_not_what_follows() -> None:
    def f(x):
        y = np.where(x > 1, np.log(x), x)  # inf at 0 is discarded
        z = y / np.array([0.0, 1.0])
        return np.sum(z * 2.0 + y)

    message = found(lambda: ad.grad(f)(np.array([0.0, 3.0]) + 0.5))
    assert "divide gave inf" in message
    assert "z = y /" in message


def test_arguments_and_constants_that_are_not_finite() -> None:
    assert "an argument is NaN already" in found(lambda: ad.grad(lambda x: x * 2.0)(np.nan))
    assert "an argument is NaN already" in found(lambda: ad.vmap(np.sin)(np.array([np.nan])))
    bad = np.array([1.0, np.inf])
    message = found(lambda: ad.grad(lambda x: np.sum(x * bad))(np.ones(2)))
    assert "constant that is not finite" in message


def test_results_are_the_same_while_watching() -> None:
    def f(p):
        y = p["x"] * 1.0
        y[0] += p["b"] ** 2
        return np.sum(y**2) + ad.checkpoint(np.sin)(p["b"]), {"aux": y}

    p = {"x": np.array([1.0, 2.0]), "b": 3.0}
    (value, aux), slopes = ad.value_and_grad(f, has_aux=True)(p)
    with ad.debug.nans():
        (value2, aux2), slopes2 = ad.value_and_grad(f, has_aux=True)(p)
        inside = ad.numpy.zeros(2)
    assert type(inside) is np.ndarray
    assert type(value2) is np.float64
    assert value == value2
    for a, b in zip(ad.tree.leaves((aux, slopes)), ad.tree.leaves((aux2, slopes2)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-15)
        assert type(a) is type(b)


def test_a_pullback_that_outlives_the_watch() -> None:
    with ad.debug.nans():
        _, pullback = ad.vjp(np.sqrt, 4.0)
        _, singular = ad.vjp(np.sqrt, 0.0)
    assert type(pullback(1.0)[0]) is np.float64
    with pytest.raises(NonFiniteError):
        singular(1.0)


def test_nothing_is_watched_afterwards() -> None:
    with ad.debug.nans():
        pass
    with np.errstate(all="ignore"):
        assert ad.grad(np.log)(0.0) == np.inf


@pytest.mark.parametrize("name", CASES)
def test_control_flow_is_the_same_while_watching(name) -> None:
    f, x = CASES[name].f, np.array([0.6, 0.9, 0.35])
    xs = np.stack([x, x[::-1]])
    for g in (ad.grad(f), ad.hessian(f), lambda x: ad.vmap(ad.grad(f))(xs), lambda x: ad.jet(f, (x,), ((x, x),))[1][1]):
        expected = g(x)
        with ad.debug.nans():
            np.testing.assert_allclose(g(x), expected, rtol=1e-12, atol=1e-14)


def test_gradients_inside_a_rule_are_not_judged_where_they_are_discarded() -> None:
    """A pullback runs outside of its transformation; what it computes belongs to the caller's result all the same."""

    def pullback(ct):
        infinite = ad.grad(np.sqrt)(0 * ct)
        return (np.where(ct > 0, ct * np.cos(1.0), infinite),)

    f = ad.custom_rule(np.sin, vjp=lambda x: (np.sin(x), pullback))
    with ad.debug.nans():
        assert ad.vjp(f, 1.0)[1](1.0) == (np.cos(1.0),)
        with pytest.raises(NonFiniteError, match="sqrt"):
            ad.vjp(f, 1.0)[1](-1.0)

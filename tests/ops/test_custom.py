"""Rules of the user's own: one rule is enough for every mode, order and nesting; what is wrong with one is said."""

import itertools

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import RuleError

X = np.array([0.3, -0.8, 1.2])
V = np.array([1.0, 0.5, -2.0])


def plain(x, y):
    return np.sin(x) * y


def by_hand(x, y):
    """The same function, whose inside must not be looked at: plain arrays only."""
    return np.sin(np.asarray(x, float)) * np.asarray(y, float)


def jvp_rule(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return np.sin(x) * y, np.cos(x) * y * dx + np.sin(x) * dy


def vjp_rule(x, y):
    return np.sin(x) * y, lambda ct: (ct * np.cos(x) * y, ct * np.sin(x))


RULED = {
    "jvp": ad.custom_rule(plain, jvp=jvp_rule),
    "vjp": ad.custom_rule(plain, vjp=vjp_rule),
    "both": ad.custom_rule(plain, jvp=jvp_rule, vjp=vjp_rule),
    "black box, jvp": ad.custom_rule(by_hand, jvp=jvp_rule),
    "black box, vjp": ad.custom_rule(by_hand, vjp=vjp_rule),
    "black box, stacked": ad.custom_rule(by_hand, vjp=vjp_rule, batch=by_hand),
    "closure": ad.custom_rule(lambda x, y: plain(x, y) * V[1] * 2.0, vjp=vjp_rule),
}
USES = {
    "value": lambda f: f(X, V),
    "grad": lambda f: ad.grad(lambda x: np.sum(f(x, V) * X))(X),
    "grad of both": lambda f: np.stack(ad.grad(lambda x, y: np.sum(f(x, y) ** 2), argnums=(0, 1))(X, V)),
    "jvp": lambda f: ad.jvp(f, (X, V), (V, X))[1],
    "jvp of one": lambda f: ad.jvp(lambda x: f(x, V), (X,), (V,))[1],
    "linearize": lambda f: ad.linearize(f, X, V)[1](V, X),
    "vjp": lambda f: np.stack(ad.vjp(f, X, V)[1](X)),
    "vmap": lambda f: ad.vmap(f)(X, V),
    "vmap of one": lambda f: ad.vmap(f, in_axes=(None, 0))(X, np.stack([V, X])),
    "vmap of grad": lambda f: ad.vmap(ad.grad(f))(X, V),
    "grad of vmap": lambda f: ad.grad(lambda x: np.sum(ad.vmap(f)(x, V) * X))(X),
    "hessian": lambda f: ad.hessian(lambda x: np.sum(f(x, V) ** 2))(X),
    "reverse over reverse": lambda f: ad.grad(lambda x: np.sum(ad.grad(lambda x: np.sum(f(x, V)))(x) * V))(X),
    "forward over reverse": lambda f: ad.jvp(ad.grad(lambda x: np.sum(f(x, V))), (X,), (V,))[1],
    "forward over forward": lambda f: ad.jvp(lambda x: ad.jvp(lambda x: f(x, x), (x,), (V,))[1], (X,), (V,))[1],
    "jet": lambda f: np.stack(ad.jet(f, (X, V), ((V, X), (X, V)))[1]),
    "composed": lambda f: ad.grad(lambda x: np.sum(f(f(x, V), x)))(X),
    "checkpointed": lambda f: ad.grad(ad.checkpoint(lambda x: np.sum(f(x, V))))(X),
    "scanned": lambda f: ad.grad(lambda x: np.sum(ad.scan(lambda c, _: (f(c, V), None), x, None, length=3)[0]))(X),
}


@pytest.mark.parametrize("rule, use", list(itertools.product(RULED, USES)))
def test_a_rule_behaves_as_the_function_itself(rule, use) -> None:
    if rule == "closure":
        if use == "value":
            np.testing.assert_allclose(USES[use](RULED[rule]), plain(X, V) * V[1] * 2.0)
        return
    np.testing.assert_allclose(USES[use](RULED[rule]), USES[use](plain), rtol=1e-12, atol=1e-13)


def test_the_rule_is_what_counts() -> None:
    """A wrong rule is believed: that is what it is for."""
    f = ad.custom_rule(np.floor, jvp=lambda p, t: (np.floor(p[0]), 10.0 * t[0]))
    assert ad.grad(f)(2.5) == 10.0
    assert ad.jvp(f, (2.5,), (1.0,)) == (2.0, 10.0)
    np.testing.assert_array_equal(ad.vmap(ad.grad(f))(np.array([1.5, 2.5])), [10.0, 10.0])
    assert ad.jet(f, (2.5,), ((1.0, 0.0),))[1] == [10.0, 0.0]


def test_closures_over_traced_values_are_differentiated() -> None:
    def outer(a):
        f = ad.custom_rule(lambda x: a * x * x, jvp=lambda p, t: (a * p[0] ** 2, 2.0 * a * p[0] * t[0]))
        return f(3.0) + ad.grad(f)(3.0)

    assert outer(2.0) == 18.0 + 12.0
    assert ad.grad(outer)(2.0) == pytest.approx(9.0 + 6.0)
    assert ad.grad(lambda a: outer(a) * a)(2.0) == pytest.approx(2 * 2.0 * 15.0)


def test_neither_rule_gives_differences_and_a_warning() -> None:
    f = ad.custom_rule(lambda x: np.asarray(np.tanh(np.asarray(x, float))))
    with pytest.warns(UserWarning, match="difference|complex step"):
        g = ad.grad(lambda x: np.sum(f(x)))(X)
    np.testing.assert_allclose(g, 1 - np.tanh(X) ** 2, rtol=1e-6)


def test_static_and_nondiff_arguments() -> None:
    @ad.custom_rule(
        vjp=lambda x, kind, w: (
            x**2 * w if kind == "square" else x * w,
            lambda ct: (ct * (2 * x * w if kind == "square" else w), None),
        ),
        static=("kind",),
        nondiff=("w",),
    )
    def f(x, kind, w=1.0):
        return x**2 * w if kind == "square" else x * w

    assert ad.grad(f)(3.0, "square", 2.0) == 12.0
    assert ad.grad(f)(3.0, kind="linear", w=2.0) == 2.0
    assert ad.grad(f, argnums=2)(3.0, "square", 2.0) == 0.0
    with pytest.raises(RuleError, match="no argument called"):
        ad.custom_rule(lambda x: x, static=("y",))


def test_trees_in_and_out() -> None:
    @ad.custom_rule(
        vjp=lambda p: (
            {"s": np.sum(p["a"]) * p["b"][0]},
            lambda ct: ({"a": np.ones(2) * ct["s"] * p["b"][0], "b": (np.sum(p["a"]) * ct["s"],)},),
        )
    )
    def f(p):
        return {"s": np.sum(p["a"]) * p["b"][0]}

    g = ad.grad(lambda p: f(p)["s"])({"a": np.array([1.0, 2.0]), "b": (5.0,)})
    np.testing.assert_array_equal(g["a"], [5.0, 5.0])
    assert g["b"][0] == 3.0


@pytest.mark.parametrize(
    "rule, words",
    [
        ({"jvp": lambda p, t: np.sin(p[0])}, "pair|jvp"),
        ({"vjp": lambda x: np.sin(x)}, "pair|vjp"),
        ({"vjp": lambda x: (np.sin(x), lambda ct: (ct, ct))}, "cotangent|argument"),
        ({"vjp": lambda x: (np.sin(x), lambda ct: (np.ones(7),))}, "shape"),
        ({"jvp": lambda p, t: (np.sin(p[0]), np.ones(7))}, "shape"),
        ({"jvp": lambda p, t: (np.sin(p[0]), t[0] * 1j)}, "complex"),
    ],
)
def test_a_rule_that_returns_the_wrong_thing(rule, words) -> None:
    f = ad.custom_rule(np.sin, **rule)
    with pytest.raises(RuleError, match=words):
        ad.grad(lambda x: np.sum(f(x)))(X)


def test_the_function_is_called_plainly_outside() -> None:
    seen = []
    f = ad.custom_rule(
        lambda x: seen.append(type(x)) or np.sin(x), vjp=lambda x: (np.sin(x), lambda ct: (ct * np.cos(x),))
    )
    np.testing.assert_array_equal(f(X), np.sin(X))
    assert seen == [np.ndarray]

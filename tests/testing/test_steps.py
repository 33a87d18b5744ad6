"""Steps made for a function, and errors that are to be believed: against derivatives known by formula."""

import numpy as np
import pytest
from scipy.special import expit

from adjoint.testing import coefficients, difference, finite_difference, optimal_step

CASES = {
    "softplus": (lambda x: np.log1p(np.exp(x)), 1.0, expit(1.0)),
    "fast": (lambda x: np.sin(20 * x), 0.3, 20 * np.cos(6.0)),
    "large": (np.exp, 10.0, np.exp(10.0)),
    "far from zero": (lambda x: 1e6 + x**3, 2.0, 12.0),
    "near a pole": (lambda x: 1 / x, 1e-3, -1e6),
    "of large numbers": (lambda x: x * x * x, 1e5, 3e10),
    "straight": (lambda x: 3 * x, 1.0, 3.0),
    "flat": (lambda x: x * x, 0.0, 0.0),
}
KINDS = ["forward", "backward", "central", "complex", "richardson"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_the_error_is_within_the_estimate(name, kind):
    f, x, exact = CASES[name]
    found = difference(f, x, kind=kind)
    assert abs(found.value - exact) <= 1.5 * found.error + 1e-15 * abs(exact)
    # and the estimate says something: digits of the size that the rule can give
    digits = {"forward": 1e-5, "backward": 1e-5, "central": 1e-6, "complex": 1e-14, "richardson": 1e-8}[kind]
    assert found.error <= digits * max(abs(exact), 1e-3)


@pytest.mark.parametrize("kind", ["forward", "central"])
def test_the_step_is_near_the_best_one(kind):
    """The best of many steps is at most five times better than the one that was chosen."""
    for name in ("softplus", "fast", "far from zero", "near a pole"):
        f, x, exact = CASES[name]
        steps = difference(f, x, kind=kind).step * 2.0 ** np.arange(-12, 13)
        worst = [  # of some points nearby, since the error of one step can vanish by chance
            max(abs(finite_difference(f, x, 1.0, kind=kind, step=step * s) - exact) for s in (0.8, 0.9, 1.0, 1.1))
            for step in steps
        ]
        assert worst[12] <= 5 * min(worst)


def test_size_and_remainder_scale_the_step():
    rule = coefficients("central")
    assert optimal_step(rule, size=2.0**9) == 2.0**3 * optimal_step(rule)
    assert optimal_step(rule, remainder=2.0**9) == 2.0**-3 * optimal_step(rule)


def test_higher_derivatives_and_better_rules():
    assert abs((second := difference(np.sin, 1.0, derivative=2)).value + np.sin(1.0)) <= second.error
    fourth_order = difference(np.sin, 1.0, accuracy=4)
    assert abs(fourth_order.value - np.cos(1.0)) <= fourth_order.error < 0.1 * difference(np.sin, 1.0).error


def test_trees_and_directions():
    x = {"a": np.array([1.0, 2.0]), "b": 0.5}
    v = {"a": np.array([1.0, -1.0]), "b": 2.0}
    found = difference(lambda t: (np.sin(t["a"]), np.exp(t["b"])), x, v)
    exact = (np.cos(x["a"]) * v["a"], 2.0 * np.exp(0.5))
    for value, error, truth in zip(found.value, found.error, exact, strict=True):
        assert np.all(np.abs(value - truth) <= error)


def test_noise_makes_steps_wide():
    rough = lambda x: np.round(np.sin(x), 6)
    found = difference(rough, 1.0, noise=1e-6)
    assert abs(found.value - np.cos(1.0)) <= found.error < 1e-2
    assert abs(difference(rough, 1.0).value - np.cos(1.0)) > 1e-2


def test_the_domain_is_not_left():
    """One-sided rules stay on their side, also to measure what they leave over."""

    def inside(x):
        assert x >= 0
        return (1 + x) ** 2.5

    found = difference(inside, 0.0, kind="forward")
    assert abs(found.value - 2.5) <= found.error


def test_it_tells_what_it_did():
    text = repr(difference(np.sin, 1.0))
    for part in ("0.5403023", "±", "central", "truncation", "rounding", "6 evaluations"):
        assert part in text
    assert repr(difference(np.sin, 1.0, kind="complex")).endswith("1 evaluation)")
    assert difference(np.sin, 1.0, step=1e-3).step == 1e-3


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="first derivatives"):
        difference(np.sin, 1.0, kind="complex", derivative=2)
    with pytest.raises(ValueError, match="takes no points"):
        difference(np.sin, 1.0, kind="richardson", accuracy=4)

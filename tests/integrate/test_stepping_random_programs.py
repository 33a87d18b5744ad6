"""Random programs as right-hand sides: steps and their derivatives against a loop in plain NumPy."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate
from tests.random_programs.loops import random_loops, weights

STEPS, SPAN = 3, 0.6


def right_side(seed):
    """y is the arguments of a random function; all of it moves with the function's value."""
    k = random_loops(seed)

    def f(t, y, scale):
        value = np.tanh(0.1 * k.run(*y))
        return [np.sin(scale * value + t) * weights(x) - 0.3 * x for x in y]

    return f, k.arguments


def by_hand(f, y, scale):
    """Classical steps of Runge and Kutta."""
    h = SPAN / STEPS
    plus = lambda y, h, k: [a + h * b for a, b in zip(y, k, strict=True)]
    for i in range(STEPS):
        t = i * h
        k1 = f(t, y, scale)
        k2 = f(t + h / 2, plus(y, h / 2, k1), scale)
        k3 = f(t + h / 2, plus(y, h / 2, k2), scale)
        k4 = f(t + h, plus(y, h, k3), scale)
        y = [v + h / 6 * (a + 2 * b + 2 * c + d) for v, a, b, c, d in zip(y, k1, k2, k3, k4, strict=True)]
    return y


def weigh(y):
    return sum(np.sum(np.sin(v) * weights(v)) for v in y)


def check_right_side(seed, transformations):
    f, start = right_side(seed)
    rng = np.random.default_rng([seed, 2])
    direction = [rng.normal(size=np.shape(x)) for x in start]
    begin = lambda s: [x + s * v for x, v in zip(start, direction, strict=True)]
    end = lambda s: integrate.solve(
        f, (0.0, SPAN), begin(s), args=(1.0 + s,), method="rk4", first_step=SPAN / STEPS
    ).last  # fmt: skip
    loss = lambda s: weigh(end(s))
    plain = lambda s: weigh(by_hand(f, begin(s), 1.0 + s))
    for found, expected in zip(end(0.0), by_hand(f, start, 1.0), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    differences = [(plain(h) - plain(-h)) / (2 * h) for h in (1e-4, 1e-5)]
    if abs(differences[0] - differences[1]) > 1e-4 * (1 + abs(differences[1])):
        return  # a kink or a jump is near
    for transformed in transformations:
        assert transformed(loss) == pytest.approx(differences[1], rel=1e-3, abs=1e-3)


REVERSE = [lambda f: ad.grad(f)(0.0)]
ALL = [
    *REVERSE,
    lambda f: ad.jvp(f, (0.0,), (1.0,))[1],
    lambda f: ad.jit(ad.grad(f))(0.0),
    lambda f: ad.vmap(ad.grad(f))(np.array([0.0, 0.1]))[0],
]


@pytest.mark.parametrize("seed", [1, 7])
def test_some_right_sides(seed):
    check_right_side(seed, REVERSE)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_right_sides(seed):
    check_right_side(seed, ALL)

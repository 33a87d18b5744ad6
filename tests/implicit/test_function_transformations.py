"""Solutions of every kind under every transformation, against solving again with mpmath, or in closed form there."""

import functools

import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq, least_squares, minimize

import adjoint as ad
from adjoint import implicit
from tests.support.sweeps import sampled

DIGITS = 40


def digits(function):
    """Run with many digits."""

    @functools.wraps(function)
    def run(*args):
        with mpmath.workdps(DIGITS):
            return function(*args)

    return run


# Each problem: a loss of θ ∈ R² through our solution, and the same loss in mpmath, by solving again.


def root_problem():
    F = lambda x, t: np.stack([x[0] ** 3 + x[1] - t[0], x[1] ** 3 - x[0] * t[1] + x[1] - 1.0])
    x = implicit.root(F, x0=np.array([0.5, 0.8]))

    def again(a, b):
        return mpmath.findroot(lambda u, v: [u**3 + v - a, v**3 - u * b + v - 1], (0.5, 0.8))

    return x, again


def fixed_point_problem():
    T = lambda x, t: np.stack([0.3 * np.sin(x[1]) + t[0], 0.4 * np.cos(x[0] * t[1])])
    x = implicit.fixed_point(T, x0=np.zeros(2))

    def again(a, b):
        return mpmath.findroot(lambda u, v: [0.3 * mpmath.sin(v) + a - u, 0.4 * mpmath.cos(u * b) - v], (0.8, 0.3))

    # 0.3 and 0.4 are those of floating point in both
    return x, again


def argmin_problem():
    f = lambda x, t: 0.25 * np.sum(x**4) + 0.5 * np.sum((x - t) ** 2) + 0.5 * x[0] * x[1] * t[0]
    x = implicit.argmin(f, x0=np.zeros(2))

    def again(a, b):
        return mpmath.findroot(lambda u, v: [u**3 + u - a + v * a / 2, v**3 + v - b + u * a / 2], (0.5, 0.3))

    return x, again


def box_problem():
    f = lambda x, t: 0.25 * np.sum(x**4) + 0.5 * np.sum((x - t) ** 2)
    P = lambda y: np.clip(y, 0.0, 0.4)
    x = implicit.argmin(f, x0=np.full(2, 0.2), subject_to=implicit.Projected(P, 0.3))

    def one(a):
        free = mpmath.findroot(lambda u: u**3 + u - a, 0.5)
        return min(max(free, mpmath.mpf(0)), mpmath.mpf(0.4))

    return x, lambda a, b: [one(a), one(b)]


def simplex_problem():
    """Two numbers that sum to one, the second at least zero: a quartic in one unknown."""
    f = lambda x, t: 0.25 * np.sum(x**4) + 0.5 * np.sum((x - t) ** 2)

    def P(y):
        first = np.clip((y[0] - y[1] + 1.0) / 2, 0.0, 1.0)
        return np.stack([first, 1.0 - first])

    x = implicit.argmin(f, x0=np.full(2, 0.5), subject_to=implicit.Projected(P, 0.3))

    def again(a, b):
        u = mpmath.findroot(lambda u: u**3 - (1 - u) ** 3 + u - a - (1 - u) + b, 0.5)
        u = min(max(u, mpmath.mpf(0)), mpmath.mpf(1))
        return [u, 1 - u]

    return x, again


def lasso_problem():
    f = lambda x, t: 0.25 * np.sum(x**4) + 0.5 * np.sum((x - t) ** 2)
    soft = lambda y, step: np.sign(y) * np.maximum(np.abs(y) - step * 0.25, 0.0)
    x = implicit.argmin(f, x0=np.full(2, 0.3), subject_to=implicit.Proximal(soft, 0.3))

    def one(a):
        return mpmath.findroot(lambda u: u**3 + u - a + 0.25, 0.5) if a > 0.25 else mpmath.mpf(0) * a

    return x, lambda a, b: [one(a), one(b)]


def kkt_problem():
    """min ½‖x - t‖² + ¼ x₀⁴ with x₀ + x₁ = 1 + t₀/4 and x₁ ≤ ½."""
    f = lambda x, t: 0.5 * np.sum((x - t) ** 2) + 0.25 * x[0] ** 4
    rules = implicit.Constraints(
        equality=lambda x, t: x[0] + x[1] - 1.0 - t[0] / 4, inequality=lambda x, t: x[1:] - 0.5
    )

    def solver(t):
        total = 1.0 + t[0] / 4
        u = brentq(lambda u: (u - t[0]) + u**3 - (total - u - t[1]), -3.0, 3.0, xtol=1e-15)
        for _ in range(3):
            u = u - ((u - t[0]) + u**3 - (total - u - t[1])) / (2 + 3 * u * u)
        return np.array([u, total - u]) if total - u <= 0.5 else np.array([total - 0.5, 0.5])

    x = implicit.argmin(f, solver, subject_to=rules)

    def again(a, b):
        total = 1 + a / 4
        u = mpmath.findroot(lambda u: (u - a) + u**3 - (total - u - b), 0.5)
        return [u, total - u] if total - u <= 0.5 else [total - mpmath.mpf(0.5), mpmath.mpf(0.5) + 0 * a]

    return x, again


def least_squares_problem():
    times = np.array([0.0, 0.5, 1.0, 2.0])
    data = np.array([1.0, 0.7, 0.45, 0.2])
    r = lambda x, t: x[0] * np.exp(-x[1] * times) + t[1] * 0.1 * times - data * t[0]
    F = implicit.conditions.least_squares(r)

    def solver(t):
        jacobian = ad.jacfwd(r)
        x = least_squares(r, np.ones(2), args=(t,), jac=jacobian, xtol=1e-15, ftol=1e-15, gtol=1e-15).x
        for _ in range(3):  # SciPy stops at 1e-9
            x = x - np.linalg.solve(ad.jacfwd(F)(x, t), F(x, t))
        return x

    x = implicit.root(F, solver, facts=("symmetric",))

    def again(a, b):
        def stationary(u, v):
            e = [mpmath.exp(-v * s) for s in times]
            left = [u * q + b * mpmath.mpf(0.1) * s - d * a for q, s, d in zip(e, times, data, strict=True)]
            return [sum(p * q for p, q in zip(left, e, strict=True)),
                    sum(p * -u * s * q for p, q, s in zip(left, e, times, strict=True))]  # fmt: skip

        return mpmath.findroot(stationary, (0.5, 0.8))

    return x, again


def scipy_problem():
    f = lambda x, t: 0.25 * np.sum(x**4) + 0.5 * np.sum((x - t) ** 2)

    def solver(t):
        x = minimize(f, np.zeros(2), args=(t,), jac=ad.grad(f), method="BFGS", options={"gtol": 1e-9}).x
        return x - (x**3 + x - t) / (3 * x**2 + 1)

    x = implicit.argmin(f, solver)
    one = lambda a: mpmath.findroot(lambda u: u**3 + u - a, 0.5)
    return x, lambda a, b: [one(a), one(b)]


PROBLEMS = {
    "root": (root_problem, (0.9, 0.4)),
    "fixed point": (fixed_point_problem, (0.6, 0.7)),
    "argmin": (argmin_problem, (0.6, 0.4)),
    "box": (box_problem, (0.7, 0.2)),
    "simplex": (simplex_problem, (0.7, 0.2)),
    "lasso": (lasso_problem, (0.7, 0.1)),
    "kkt": (kkt_problem, (0.2, 0.9)),
    "least squares": (least_squares_problem, (0.6, 0.4)),
    "scipy": (scipy_problem, (0.7, 0.3)),
}


@functools.cache
def expected(name):
    """Value, gradient, Hessian and the third derivative along (1, ½) of sin(x₀) + x₀ x₁ + x₁² / 2, by mpmath."""
    make, theta = PROBLEMS[name]
    again = make()[1]

    @digits
    def compute():
        def loss(a, b):
            u, v = again(a, b)
            return mpmath.sin(u) + u * v + v * v / 2

        at = tuple(map(mpmath.mpf, theta))
        h = mpmath.mpf(10) ** -10
        value = loss(*at)
        e = [(h, 0), (0, h)]
        move = lambda *steps: loss(*[p + sum(s[i] for s in steps) for i, p in enumerate(at)])
        minus = lambda s: (-s[0], -s[1])
        gradient = [(move(s) - move(minus(s))) / (2 * h) for s in e]
        hessian = [
            [(move(s, r) - move(s, minus(r)) - move(minus(s), r) + move(minus(s), minus(r))) / (4 * h * h) for r in e]
            for s in e
        ]
        d = mpmath.mpf(10) ** -8
        line = lambda k: move((k * d, k * d / 2))
        third = (line(2) - 2 * line(1) + 2 * line(-1) - line(-2)) / (2 * d**3)
        return value, gradient, hessian, third

    value, gradient, hessian, third = compute()
    return float(value), np.array(gradient, float), np.array([[float(v) for v in row] for row in hessian]), float(third)


def loss_of(x):
    def loss(theta):
        v = x(theta)
        return np.sin(v[0]) + v[0] * v[1] + v[1] ** 2 / 2

    return loss


def uses(loss, theta):
    """name -> (what is computed, which of the expected it is)."""
    direction = np.array([1.0, 0.5])
    pair = np.stack([theta, theta])
    scanned = lambda t: ad.scan(lambda c, _: (c, loss(t)), 0.0, np.zeros(3))[1]
    return {
        "eager": (lambda: loss(theta), lambda e: e[0]),
        "jit": (lambda: ad.jit(loss)(theta), lambda e: e[0]),
        "jvp": (lambda: ad.jvp(loss, (theta,), (direction,))[1], lambda e: e[1] @ direction),
        "vjp": (lambda: ad.vjp(loss, theta)[1](1.0)[0], lambda e: e[1]),
        "jit of grad": (lambda: ad.jit(ad.grad(loss))(theta), lambda e: e[1]),
        "jacfwd of jacrev": (lambda: ad.jacfwd(ad.jacrev(loss))(theta), lambda e: e[2]),
        "jacrev of jacfwd": (lambda: ad.jacrev(ad.jacfwd(loss))(theta), lambda e: e[2]),
        "jet": (lambda: ad.jet(loss, (theta,), ((direction, 0 * theta, 0 * theta),))[1][2], lambda e: e[3]),
        "vmap": (lambda: ad.vmap(loss)(pair), lambda e: [e[0], e[0]]),
        "vmap of grad": (lambda: ad.vmap(ad.grad(loss))(pair), lambda e: [e[1], e[1]]),
        "grad of vmap": (lambda: ad.grad(lambda p: np.sum(ad.vmap(loss)(p)))(pair), lambda e: [e[1], e[1]]),
        "scan": (lambda: ad.jacrev(scanned)(theta), lambda e: [e[1]] * 3),
    }


NAMES = list(uses(lambda t: 0.0, np.zeros(2)))


@pytest.mark.parametrize("name, use", sampled([(name, use) for name in PROBLEMS for use in NAMES], every=5))
def test_the_numbers_of_solving_again(name, use):
    make, theta = PROBLEMS[name]
    compute, which = uses(loss_of(make()[0]), np.array(theta))[use]
    tolerance = 1e-8 if use != "jet" else 1e-7  # of the third difference itself
    np.testing.assert_allclose(compute(), which(expected(name)), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name, thetas", [("box", [(0.7, 0.2), (0.1, 0.9), (-0.3, 0.2), (0.8, 0.9)]),
                                          ("lasso", [(0.7, 0.1), (0.1, 0.7), (0.6, 0.9), (0.1, 0.1)]),
                                          ("kkt", [(0.2, 0.9), (0.9, 0.1), (0.4, 0.7)])])  # fmt: skip
def test_batch_elements_have_active_sets_of_their_own(name, thetas):
    x, again = PROBLEMS[name][0]()
    batch, h = np.array(thetas), 1e-12
    for mapped in (ad.vmap(ad.jacrev(x)), ad.jit(ad.vmap(ad.jacrev(x)))):
        found = mapped(batch)
        for jacobian, theta in zip(found, thetas, strict=True):
            with mpmath.workdps(DIGITS):
                a, b = map(mpmath.mpf, theta)
                columns = [
                    [
                        (p - m) / (2 * h)
                        for p, m in zip(again(a + s * h, b + r * h), again(a - s * h, b - r * h), strict=True)
                    ]
                    for s, r in ((1, 0), (0, 1))
                ]
            np.testing.assert_allclose(jacobian, np.array(columns, float).T, atol=1e-8)

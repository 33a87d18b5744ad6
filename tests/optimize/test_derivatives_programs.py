"""Solutions of programs under every transformation, against solving again with mpmath.

Quadratic and linear programs are solved there by trying all sets of active constraints, in exact arithmetic of many
digits; cones, curved constraints and nested problems by the roots of their conditions.
"""

import functools
import itertools

import mpmath
import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from tests.implicit.test_function_transformations import DIGITS, NAMES, loss_of, uses
from tests.support.sweeps import sampled


def enumerate_program(P, q, A, b, G, h):
    """x and its value for min ½ xᵀPx + qᵀx, Ax = b, Gx ≤ h: the set of rows whose multipliers have the right sign."""
    n, m, p = len(q), len(b), len(h)
    best = None
    for count in range(n - m + 1):
        for rows in itertools.combinations(range(p), count):
            C = [*A, *[G[i] for i in rows]]
            K = mpmath.matrix(n + len(C), n + len(C))
            for i in range(n):
                for j in range(n):
                    K[i, j] = P[i][j]
                for k, row in enumerate(C):
                    K[i, n + k] = K[n + k, i] = row[i]
            right = mpmath.matrix([*[-v for v in q], *b, *[h[i] for i in rows]])
            try:
                z = mpmath.lu_solve(K, right)
            except ZeroDivisionError:
                continue
            x = [z[i] for i in range(n)]
            slack = [h[i] - sum(g * v for g, v in zip(G[i], x, strict=True)) for i in range(p)]
            if min([*slack, 0]) < -(mpmath.mpf(10) ** -25) or any(z[n + m + k] < 0 for k in range(count)):
                continue
            value = sum(x[i] * (q[i] + sum(P[i][j] * x[j] for j in range(n)) / 2) for i in range(n))
            best = (x, value) if best is None or value < best[1] else best
    assert best is not None
    return best


def as_rows(*rows):
    return np.stack([np.stack([v + 0.0 for v in row]) for row in rows])


def quadratic_data(a, b):
    """Three unknowns; one equation, four inequalities, of which one is active."""
    P = [[2 + a, 0.5 * b, 0 * a], [0.5 * b, 1.5 + 0 * a, 0.25 * a], [0 * a, 0.25 * a, 1 + a * b]]
    q = [-1 - b, a, -0.5 + 0 * a]
    A, c = [[1 + 0 * a, b, 1 + 0 * a]], [1 + a]
    G = [[1 + 0 * a, a, 0 * a], [-1 + 0 * a, 0 * a, b], [0 * a, -1 + 0 * a, 0 * a], [0 * a, 0 * a, 1 + 0 * a]]
    return P, q, A, c, G, [0.75 + 0.5 * b, 0.5 + 0 * a, 0.25 * a, 0.5 + b]


def quadratic(t):
    P, q, A, c, G, h = quadratic_data(t[0], t[1])
    return optimize.qp(as_rows(*P), np.stack(q), A=as_rows(*A), b=np.stack(c), G=as_rows(*G), h=np.stack(h)).value[:2]


def quadratic_again(a, b):
    return enumerate_program(*quadratic_data(a, b))[0][:2]


def fixed_data(a, b):
    """The first unknown is between two equal bounds, the others between bounds that move."""
    P = [[1 + 0 * a, 0.25 * a, 0 * a], [0.25 * a, 2 + b, 0.5 + 0 * a], [0 * a, 0.5 + 0 * a, 1 + a]]
    return P, [a - 3, -b, 2 * b - 4], [0.5 * a, -1 + 0 * a, -b], [0.5 * a, 0.25 + b, 0.5 + 0 * a]


def fixed(t):
    P, q, lower, upper = fixed_data(t[0], t[1])
    return optimize.qp(as_rows(*P), np.stack(q), lower=np.stack(lower), upper=np.stack(upper)).value[[0, 1]]


def fixed_again(a, b):
    P, q, lower, upper = fixed_data(a, b)
    one = lambda i, sign: [mpmath.mpf(sign if j == i else 0) for j in range(3)]
    G = [*[one(i, -1) for i in (1, 2)], *[one(i, 1) for i in (1, 2)]]
    h = [-lower[1], -lower[2], upper[1], upper[2]]
    return enumerate_program(P, q, [one(0, 1)], [lower[0]], G, h)[0][:2]


def linear_data(a, b):
    """A corner of a polygon, and five rows through or above it."""
    G = [[1 + 0 * a, 2 + a], [3 + b, 1 + 0 * a], [-1 + 0 * a, 0 * a], [0 * a, -1 + 0 * a], [1 + 0 * a, 1 + 0 * a]]
    return [-1 - a, -1 - b], G, [4 + b, 6 + 0 * a, 0 * a, 0 * a, 5 + a]


def linear(t):
    c, G, h = linear_data(t[0], t[1])
    found = optimize.lp(np.stack(c), G=as_rows(*G), h=np.stack(h))
    return np.stack([found.fun, found.value[0]])


def linear_again(a, b):
    c, G, h = linear_data(a, b)
    best = None
    for i, j in itertools.combinations(range(len(h)), 2):
        x = mpmath.lu_solve(mpmath.matrix([G[i], G[j]]), mpmath.matrix([h[i], h[j]]))
        if all(G[k][0] * x[0] + G[k][1] * x[1] <= h[k] + mpmath.mpf(10) ** -25 for k in range(len(h))):
            value = c[0] * x[0] + c[1] * x[1]
            best = (value, x[0]) if best is None or value < best[0] else best
    return best


def second_order(t):
    """min ½‖x‖² - (2 + t₀, t₁)ᵀx with ‖(x₀, t₀ x₁)‖ ≤ t₁."""
    zero, one = 0.0 * t[0], 1.0 + 0.0 * t[0]
    A = as_rows([zero, zero], [-one, zero], [zero, -t[0]])
    b = np.stack([t[1], zero, zero])
    return optimize.conic(np.eye(2), np.stack([-2.0 - t[0], -t[1]]), A, b, [("second order", 3)]).value


def second_order_again(a, b):
    if (2 + a) ** 2 + (a * b) ** 2 < b * b:
        return [2 + a, b]
    at = lambda y: ((2 + a) / (1 + y), b / (1 + y * a * a))
    y = mpmath.findroot(lambda y: at(y)[0] ** 2 + (a * at(y)[1]) ** 2 - b * b, 2.0)
    return at(y)


def exponential(t):
    """The point nearest to t of those above the exponential function."""
    A, b = np.array([[-1.0, 0.0], [0.0, 0.0], [0.0, -1.0]]), np.array([0.0, 1.0, 0.0])
    return optimize.conic(np.eye(2), -t, A, b, ["exponential"]).value


def exponential_again(a, b):
    if mpmath.exp(a) < b:
        return [a, b]
    u = mpmath.findroot(lambda u: u - a + (mpmath.exp(u) - b) * mpmath.exp(u), 0.0)
    return [u, mpmath.exp(u)]


def semidefinite(t):
    """The matrix without negative eigenvalues that is nearest to [[t₀, ½], [½, -t₁]]."""
    zero, half = 0.0 * t[0], 0.5 + 0.0 * t[0]
    q = -np.stack([t[0], half, half, -t[1]])
    found = optimize.conic(np.eye(4), q, -np.eye(4), np.zeros(4) + zero, [("psd", 2)]).value
    return found[:2]


def semidefinite_again(a, b):
    middle, radius = (a - b) / 2, mpmath.sqrt(((a + b) / 2) ** 2 + mpmath.mpf(1) / 4)
    high, low = middle + radius, middle - radius
    if low > 0 or high < 0:
        return [a, mpmath.mpf(1) / 2] if low > 0 else [mpmath.mpf(0), mpmath.mpf(0)]
    return [high / (high - low) * (a - low), high / (high - low) / 2]


def curved(t, method):
    """min (x₀ - 1 - t₀)² + 2 (x₁ - t₁)² with x₀² + x₁⁴ ≤ 1."""
    f = lambda x, t: (x[0] - 1.0 - t[0]) ** 2 + 2.0 * (x[1] - t[1]) ** 2
    rule = optimize.inequality(lambda x, t: x[0] ** 2 + x[1] ** 4 - 1.0)
    return optimize.minimize(f, np.array([0.5, 0.5]), t, subject_to=rule, method=method, tol=1e-11).value


def curved_again(a, b):
    if (1 + a) ** 2 + b**4 < 1:
        return [1 + a, b]
    conditions = lambda u, v, y: [2 * (u - 1 - a) + 2 * y * u, 4 * (v - b) + 4 * y * v**3, u * u + v**4 - 1]
    u, v, _ = mpmath.findroot(conditions, (0.9, 0.5, 0.5))
    return [u, v]


def nested(t):
    """How much of x² is added to (x - t₀)² so that x comes near t₁/2, at a price."""
    inner = lambda x, s, t: 0.5 * (x - t[0]) ** 2 + 0.5 * np.exp(s) * x**2
    outer = lambda x, s, t: (x - t[1] / 2) ** 2 + 0.1 * s**2
    found = optimize.bilevel(outer, inner, 0.5, 0.0, t, tol=1e-11)
    return np.stack(list(found.value))


def nested_again(a, b):
    x = lambda s: a / (1 + mpmath.exp(s))
    price = mpmath.mpf(0.1)
    s = mpmath.findroot(lambda s: -2 * (x(s) - b / 2) * x(s) * mpmath.exp(s) / (1 + mpmath.exp(s)) + 2 * price * s, 0.1)
    return [x(s), s]


PROGRAMS = {
    "quadratic": (quadratic, quadratic_again, (0.4, 0.6)),
    "fixed unknown": (fixed, fixed_again, (0.4, 0.6)),
    "linear": (linear, linear_again, (0.3, 0.5)),
    "second order cone": (second_order, second_order_again, (0.8, 0.6)),
    "exponential cone": (exponential, exponential_again, (0.5, 0.7)),
    "semidefinite": (semidefinite, semidefinite_again, (0.8, 0.6)),
    "curved, sqp": (lambda t: curved(t, "sqp"), curved_again, (0.6, 0.7)),
    "curved, interior point": (lambda t: curved(t, "interior point"), curved_again, (0.6, 0.7)),
    "curved, augmented": (lambda t: curved(t, "augmented lagrangian"), curved_again, (0.6, 0.7)),
    "nested": (nested, nested_again, (1.2, 0.6)),
}


@functools.cache
def expected(name):
    """Value, gradient, Hessian and the third derivative along (1, ½) of the loss, by mpmath."""
    _, again, theta = PROGRAMS[name]
    with mpmath.workdps(2 * DIGITS):
        h = mpmath.mpf(10) ** -12
        at = [mpmath.mpf(v) for v in theta]

        def loss(i, j):
            u, v = again(at[0] + i * h, at[1] + j * h)
            return mpmath.sin(u) + u * v + v * v / 2

        grid = {(i, j): loss(i, j) for i, j in [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1)]}
        gradient = [(grid[1, 0] - grid[-1, 0]) / (2 * h), (grid[0, 1] - grid[0, -1]) / (2 * h)]
        twice = lambda i, j: (grid[i, j] - 2 * grid[0, 0] + grid[-i, -j]) / (h * h)
        mixed = (twice(1, 1) - twice(1, 0) - twice(0, 1)) / 2
        hessian = [[twice(1, 0), mixed], [mixed, twice(0, 1)]]
        half = mpmath.mpf(1) / 2
        line = lambda k: loss(k, k * half)
        third = (line(2) - 2 * line(1) + 2 * line(-1) - line(-2)) / (2 * h**3)
        return float(grid[0, 0]), np.array(gradient, float), np.array(hessian, float), float(third)


CASES = [(name, use) for name in PROGRAMS for use in NAMES]


@pytest.mark.parametrize("name, use", sampled(CASES, every=11))
def test_the_numbers_of_solving_again(name, use):
    solution, _, theta = PROGRAMS[name]
    compute, which = uses(loss_of(solution), np.array(theta))[use]
    tolerance = 1e-7 if use == "jet" or "nested" in name else 1e-8
    np.testing.assert_allclose(compute(), which(expected(name)), rtol=tolerance, atol=tolerance)


BATCHES = {  # points at which other constraints are active
    "quadratic": [(0.4, 0.6), (0.4, 0.2), (1.2, 1.0), (1.2, 0.6)],
    "fixed unknown": [(0.4, 0.6), (2.5, 1.9), (0.2, 0.1), (-0.5, 2.5)],
    "linear": [(0.3, 0.5), (3.0, 0.1), (0.1, 9.0)],
    "second order cone": [(0.8, 0.6), (0.2, 4.0), (0.5, 1.0)],
    "exponential cone": [(0.5, 0.7), (-1.0, 2.0), (0.9, 0.2)],
    "semidefinite": [(0.8, 0.6), (0.9, -2.0), (-2.0, 0.7)],
    "curved, sqp": [(0.6, 0.7), (-0.9, 0.2), (-1.2, 0.4)],
}


def solve_again(name, theta):
    """The Jacobian of a solution by mpmath."""
    again = PROGRAMS[name][1]
    with mpmath.workdps(DIGITS):
        h = mpmath.mpf(10) ** -12
        a, b = map(mpmath.mpf, theta)
        pairs = [(again(a + s * h, b + r * h), again(a - s * h, b - r * h)) for s, r in ((1, 0), (0, 1))]
        columns = [[(p - m) / (2 * h) for p, m in zip(*pair, strict=True)] for pair in pairs]
    return np.array(columns, float).T


@pytest.mark.parametrize("name", sampled(BATCHES, every=3))
def test_batch_elements_have_active_sets_of_their_own(name):
    solution, thetas = PROGRAMS[name][0], BATCHES[name]
    wanted = np.stack([solve_again(name, theta) for theta in thetas])
    for mapped in (ad.vmap(ad.jacrev(solution)), ad.jit(ad.vmap(ad.jacfwd(solution)))):
        np.testing.assert_allclose(mapped(np.array(thetas)), wanted, rtol=1e-7, atol=1e-7)

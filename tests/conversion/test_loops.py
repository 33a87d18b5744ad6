"""Loops of converted code."""

import heapq

import numpy as np
import pytest

import adjoint as ad


def view_by_number(u):
    """A view whose size is not known in the body keeps the loop from being traced once."""
    z = u * 1.0
    b = 0.3
    for i in range(12):
        b = np.sin(np.sum(z[1:][:i]))
        z[1:] = np.tanh(np.sin(b)) + 0.3
    return np.sum(z) + b


def test_views_of_a_body_that_is_given_up_are_gone() -> None:
    u = np.array([0.1, 0.5, 0.9])
    assert ad.jit(view_by_number)(u) == pytest.approx(view_by_number(u), rel=1e-14)
    assert ad.trace(view_by_number)(u)(2 * u) == pytest.approx(view_by_number(2 * u), rel=1e-14)
    step = 1e-6 * np.array([1.0, -0.5, 0.7])
    slope = (view_by_number(u + step) - view_by_number(u - step)) / 2
    assert ad.jit(ad.grad(view_by_number))(u) @ step == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("size", [3, 5, 7])
def test_short_loops_that_branch_are_kept(size: int) -> None:
    """Shortest paths: a few iterations in a few in a few are no reason to write out hundreds of branches."""

    def total_distance(x):
        W = np.abs(np.outer(x, np.arange(1.0, size + 1))) + 0.1
        for k in range(size):
            for i in range(size):
                for j in range(size):
                    if W[i, k] + W[k, j] < W[i, j]:
                        W[i, j] = W[i, k] + W[k, j]
        return W.sum()

    x = np.random.default_rng(size).normal(size=size)
    program = ad.trace(total_distance)(x)
    np.testing.assert_allclose(program(x), total_distance(x), rtol=1e-14)
    np.testing.assert_allclose(ad.jit(ad.grad(total_distance))(x), ad.grad(total_distance)(x), rtol=1e-13)
    assert str(program).count("\n") < 250


def add_to_rows(x):
    n = len(x)
    f = np.zeros((n, 2))
    for i in range(n):
        for j in range(i + 1, n):
            d = x[i] - x[j]
            if d < 0.7:
                f[i] += d
                f[j] -= d * d
    return np.sum(f**2)


def add_to_a_named_row(x):
    n = len(x)
    f = np.zeros((n, 2))
    row = f[1]
    for i in range(n):
        if x[i] < 0.7:
            f[i] += x[i]
        row *= 1.1
    return np.sum(f**2) + row[0]


@pytest.mark.parametrize("f", [add_to_rows, add_to_a_named_row])
@pytest.mark.parametrize("size", [3, 6, 12])
def test_rows_that_are_added_to_behind_a_branch(f, size: int) -> None:
    """f[i] += d makes a view for a moment; an iteration that is given up does not keep it alive."""
    x = np.random.default_rng(size).normal(size=size)
    assert ad.jit(f)(x) == pytest.approx(f(x), rel=1e-13)
    step = 1e-6 * np.cos(np.arange(size))
    slope = (f(x + step) - f(x - step)) / 2
    assert ad.jit(ad.grad(f))(x) @ step == pytest.approx(slope, rel=1e-6)
    several = np.stack([x, -x, 0.3 * x])
    np.testing.assert_allclose(ad.jit(ad.vmap(f))(several), [f(v) for v in several], rtol=1e-12)


def bounce(height, restitution):
    t = np.sqrt(2 * height / 9.81)
    if t > 2.5:
        return height - 4.905 * 2.5**2
    v = 9.81 * t
    while True:
        v = v * restitution
        flight = 2 * v / 9.81
        if t + flight > 2.5:
            return v * (2.5 - t) - 4.905 * (2.5 - t) ** 2
        t = t + flight


def first_above(x, limit):
    if limit < 0:
        return limit
    for v in x:
        if v > limit:
            return v * v
    return limit**3


def test_loops_that_return_behind_an_early_return() -> None:
    """The flag that ends the loop is false before it, also where the loop stands in the rest behind another return."""
    heights, factors = np.array([1.8, 1.82, 1.75, 40.0]), np.array([0.83, 0.84, 0.8, 0.5])
    expected = [bounce(h, r) for h, r in zip(heights, factors, strict=True)]
    np.testing.assert_allclose(ad.jit(ad.vmap(bounce))(heights, factors), expected, rtol=1e-12)
    native = ad.jit(bounce, branches="native")
    np.testing.assert_allclose([native(h, r) for h, r in zip(heights, factors, strict=True)], expected, rtol=1e-12)
    x, limits = np.linspace(-1.0, 2.0, 13), np.array([-0.5, 0.3, 1.1, 5.0])
    expected = [first_above(x, limit) for limit in limits]
    np.testing.assert_allclose(ad.jit(ad.vmap(first_above, in_axes=(None, 0)))(x, limits), expected, rtol=1e-13)
    native = ad.jit(first_above, branches="native")
    np.testing.assert_allclose([native(x, limit) for limit in limits], expected, rtol=1e-13)


def waits(rates):
    """Questions that an iteration asks of batch elements are taken back with it."""
    queue = []
    for k in range(12):
        heapq.heappush(queue, ((k + 0.3 * (k % 5)) / rates[k % 2], k))
    total, now = 0.0, 0.0
    while queue:
        time, k = heapq.heappop(queue)
        total = total + (1 + k % 3) * (time - now)
        now = time
    return total / now


@pytest.mark.filterwarnings("ignore:jit of:RuntimeWarning")
def test_batches_of_queues() -> None:
    several = np.array([[1.0, 1.7], [0.9, 1.1], [2.0, 0.7]])
    np.testing.assert_allclose(ad.jit(ad.vmap(waits))(several), [waits(v) for v in several], rtol=1e-12)


def relax(matrix, rhs):
    x = np.zeros(len(rhs))
    for _ in range(100):
        largest = 0.0
        for i in range(len(rhs)):
            new = (rhs[i] - matrix[i] @ x) / matrix[i, i] + x[i]
            largest = max(largest, abs(new - x[i]))
            x[i] = new
        if largest < 1e-12:
            return x
    raise RuntimeError("no convergence")


def test_questions_of_a_run_that_is_begun_anew() -> None:
    """The first call learns on the way that an array is to be traced from its creation; what it had asked is void."""
    matrix = np.array([[5.2, 1.5, -0.7], [2.1, 5.7, 0.8], [0.5, 0.9, 7.2]])
    several = np.array([[1.0, -0.4, 0.7], [3.0, 0.1, -0.2]])
    gradient = ad.jit(ad.vmap(ad.grad(lambda A, b: np.sum(relax(A, b)), argnums=1), in_axes=(None, 0)))
    expected = np.linalg.solve(matrix.T, np.ones(3))
    np.testing.assert_allclose(gradient(matrix, several), np.stack([expected, expected]), rtol=1e-9)

"""Masks in the bodies of loops: beside the same loop over plain arrays, and differences of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import CheckError, ControlFlowError
from tests.support.sweeps import sampled

TIMES = np.linspace(0.1, 2.0, 7)
X = np.array([0.7, -0.4, 1.9, -1.2, 0.3, 2.4])
TABLE = np.arange(24.0).reshape(6, 4) / 10.0
Body = Callable[[Any, Any], Any]  # (y, x) -> a number that is added


def named(y: Any, x: Any) -> Any:
    m = y > 0.1
    return np.dot(y[m], x[m]) + np.sum(y[m] / (2.0 + x[m] ** 2)) + y[m].size


def positions(y: Any, x: Any) -> Any:
    (i,) = np.nonzero(y > 0.0)
    return np.sum(x[i] * y[i] * (i + 1))


def pairs(y: Any, x: Any) -> Any:
    i, j = np.where(np.outer(y, x) > 0.2)
    return np.sum(y[i] * x[j]) + np.sum(np.outer(x, x)[i, j])


def written(y: Any, x: Any) -> Any:
    z = y * 1.0
    z[y > 0.3] = 0.25
    z[y < 0.0] *= 2.0 + x[y < 0.0][0]
    return np.sum(z * x)


def exchanged(y: Any, x: Any) -> Any:
    m = y > 0.0
    z = x + 0.0 * y
    z[m] = np.sqrt(y[m]) + 1.0
    i = np.flatnonzero(m)
    z[i] += 0.5 * y[i]
    return np.sum(z * z)


def distinct(y: Any, x: Any) -> Any:
    values, inverse, counts = np.unique(np.round(2 * y), return_inverse=True, return_counts=True)
    return np.sum(values * counts) + np.sum(x * counts[inverse]) + values.size


def logarithms(y: Any, x: Any) -> Any:
    """Nothing is selected at some times, and what is not has no logarithm."""
    return np.sum(np.log(y[y > 0.0])) + np.sum(np.log(y[y > 0.99]) ** 2)


BODIES: dict[str, Body] = {
    "sum": lambda y, x: np.sum(y[y > 0] ** 2),
    "product": lambda y, x: np.prod(1.0 + y[y > 0]) * np.any(y[y > 0] > 0.5) * np.all(y[y > 0] > 0.0),
    "extrema": lambda y, x: np.max(y[y > -0.9]) - y[y > -0.9].min() + np.max(y[y > 9.0], initial=0.5),
    "moments": lambda y, x: np.mean(y[y > -1]) + np.std(y[y > -0.9]) + np.var(y[y > -0.9], ddof=1),
    "order": lambda y, x: np.sum(np.cumsum(np.sort(y[y > -0.5]))) + np.median(y[y > -0.9]),
    "ends": lambda y, x: y[y > -0.9][0] * y[y > -0.9][-1] + np.argmax(y[y > -0.9]),
    "rows": lambda y, x: np.sum(np.sin(TABLE[y > 0] @ (x[:4] * y[:4]))) + np.sum(np.max(TABLE[y > 0], axis=1)),
    "columns": lambda y, x: np.sum((TABLE[y > 0] - x[:4]) * y[y > -2][0]),
    "twice": lambda y, x: np.sum((z := y[y > -0.5])[z < 0.5] ** 3),
    "functions": lambda y, x: np.sum(np.where(y[y > 0] > 0.5, 1.0, y[y > 0])) + np.sum(np.clip(y[y > 0], 0.2, 0.4)),
    "beside numbers": lambda y, x: np.sum(np.maximum(x[0], y[y > 0]) + x[1] * y[y > 0] - y[y > 0] / x[2]),
    "compressed": lambda y, x: np.sum(np.compress(y > 0, x)) + np.sum(np.extract(y > 0.5, y)),
    "coordinates": lambda y, x: np.sum(x[np.argwhere(y > 0)[:, 0]]),
    "norm": lambda y, x: np.linalg.norm(y[y > -0.8]) + np.linalg.norm(y[y > 0], 1) + np.count_nonzero(y[y > 0] > 0.3),
}
BODIES |= {f.__name__: f for f in (named, positions, pairs, written, exchanged, distinct, logarithms)}


def step(body: Body, x: Any, c: Any, t: Any) -> Any:
    return 0.5 * c + 0.1 * body(np.sin(x * t + c), x)


def by_loop(body: Body, x: Any) -> Any:
    """The reference on plain arrays, and for `jit` a loop that stays one."""
    c = 0.0
    for t in TIMES:
        c = step(body, x, c, t)
    return c


def by_scan(body: Body, x: Any) -> Any:
    return ad.scan(lambda c, t: (step(body, x, c, t), None), 0.0 * x[0], TIMES)[0]


def by_while(body: Body, x: Any) -> Any:
    times = np.asarray(TIMES)
    turn = lambda s: (s[0] + 1, step(body, x, s[1], np.take(times, s[0])))
    return ad.while_loop(lambda s: s[0] < len(times), turn, (0, 0.0 * x[0]))[1]


def differences(f: Callable[[Any], Any], x: Any) -> Any:
    h = 1e-6
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


CASES = [(loop, name) for name in BODIES for loop in (by_scan, by_loop, by_while)]


@pytest.mark.parametrize("loop, name", sampled(CASES, 4, subject=lambda case: case[0]))
def test_masks_in_loops(loop: Any, name: str) -> None:
    reference = lambda x: by_loop(BODIES[name], x)
    f = lambda x: loop(BODIES[name], x)
    compiled = ad.jit(ad.value_and_grad(f))
    for x in (X, X[::-1] * 0.8):  # other masks, the same program
        value, slope = compiled(x)
        np.testing.assert_allclose(value, reference(x), rtol=1e-12)
        np.testing.assert_allclose(slope, differences(reference, x), rtol=2e-5, atol=2e-8)
    if loop is not by_loop:
        np.testing.assert_allclose(ad.grad(f)(X), differences(reference, X), rtol=2e-5, atol=2e-8)


@pytest.mark.parametrize("name", sampled(["exchanged", "named", "order", "logarithms"], 2))
def test_other_modes(name: str) -> None:
    f = lambda x: by_scan(BODIES[name], x)
    reference = lambda x: by_loop(BODIES[name], x)
    v = np.linspace(-1.0, 1.0, 6)
    slope = differences(reference, X)
    np.testing.assert_allclose(ad.jit(lambda x, v: ad.jvp(f, (x,), (v,))[1])(X, v), slope @ v, rtol=2e-5)
    xs = np.stack([X, X * 0.7, X[::-1]])
    np.testing.assert_allclose(ad.jit(ad.vmap(f))(xs), [reference(x) for x in xs], rtol=1e-12)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(xs)[0], slope, rtol=2e-5, atol=2e-8)
    product = ad.jit(lambda x, v: ad.jvp(ad.grad(f), (x,), (v,))[1])(X, v)
    h = 1e-5
    np.testing.assert_allclose(product, (ad.grad(f)(X + h * v) - ad.grad(f)(X - h * v)) / (2 * h), rtol=1e-4, atol=1e-6)


def test_a_mask_that_is_assigned_to_is_another_one() -> None:
    def turn(c: Any, t: Any) -> Any:
        mask = X * t > 0.5
        before = X[mask]
        mask[0] = True
        return c + np.sum(before + X[mask]), None

    with pytest.raises(ControlFlowError, match=r"y\[other\]"):
        ad.scan(turn, 0.0, TIMES)


def test_branches() -> None:
    """A branch is recorded for all values, too."""

    def f(x: Any) -> Any:
        return ad.cond(x[0] > 0, lambda: np.sum(x[x > 0]), lambda: np.sum(x[x < 0] ** 2))

    for x in (X, -X):
        expected = np.sum(x[x > 0]) if x[0] > 0 else np.sum(x[x < 0] ** 2)
        assert float(ad.jit(f)(x)) == pytest.approx(float(expected), rel=1e-14)
        np.testing.assert_allclose(ad.jit(ad.grad(f))(x), differences(f, x), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "body", [lambda y: np.max(y[y > 5.0]), lambda y: y[y > 5.0][0], lambda y: np.flatnonzero(y > 0.0)[7]]
)
def test_too_few_elements_raise(body: Any) -> None:
    f = lambda x: ad.scan(lambda c, t: (c + body(x * t), None), 0.0 * x[0], TIMES)[0]
    for call in (f, ad.jit(f)):
        with pytest.raises(CheckError, match="too few"):
            call(X)


@pytest.mark.parametrize(
    "body, text",
    [
        (lambda y: np.concatenate([y[y > 0], y]).sum(), "np.concatenate"),
        (lambda y: np.sum(y[y > 0] + y[y < 0]), r"y\[other\]"),
        (lambda y: np.sum(y[y > 0] * y), r"shape \(6,\)"),
        (lambda y: len(y[y > 0]) * 1.0, "np.count_nonzero"),
        (lambda y: sum(v for v in y[y > 0]), "elements"),
        (lambda y: float(y[y > 0]), "elements"),
        (lambda y: np.sum(y[y > 0][::2]), "not known"),
        (lambda y: np.sum(y[y > 0].reshape(2, -1)), "reshape"),
        (lambda y: np.sum(y[y > 0], keepdims=True)[0], "keepdims"),
        (lambda y: np.fft.fft(y[y > 0]).real.sum(), "fft"),
    ],
)
def test_what_needs_the_number_is_refused(body: Any, text: str) -> None:
    f = lambda x: ad.scan(lambda c, t: (c + body(x * t), None), 0.0 * x[0], TIMES)[0]
    with pytest.raises(ControlFlowError, match=text):
        f(X)


def test_a_loop_whose_body_is_refused_is_unrolled() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for k in range(4):
            y = x[x > 0.5 * k]
            total = total + np.sum(np.concatenate([y, y * y]))
        return total

    np.testing.assert_allclose(ad.jit(f)(X), f(X), rtol=1e-14)


def test_one_mask_of_a_value_from_outside_is_written_twice() -> None:
    """x is captured where it is used: both comparisons are the same function of the same value."""

    def halved(x: Any) -> Any:
        y = x.copy()
        y[x > 0.2] = y[x > 0.2] * 0.5
        return y

    def in_a_branch(x: Any) -> Any:
        return ad.cond(np.sum(x) < 9.0, lambda t: ad.map(lambda s: halved(x) * s, t)[1], lambda t: x, TIMES)

    expected = halved(X) * TIMES[1]
    np.testing.assert_allclose(ad.jit(in_a_branch)(X), expected)
    np.testing.assert_allclose(ad.vmap(in_a_branch)(np.stack([X, -X]))[0], expected)
    np.testing.assert_allclose(
        ad.grad(lambda x: np.sum(in_a_branch(x)))(X), TIMES[1] * np.where(X > 0.2, 0.5, 1.0), rtol=1e-14
    )


def test_a_mask_of_an_outer_loop_is_used_in_an_inner_one() -> None:
    def raised(x: Any) -> Any:
        y = x * 1.0
        y[x < 0.3] += np.sum(x)
        return np.sum(y * y)

    f = lambda x, t: ad.map(lambda s: ad.map(lambda r: r * raised(x * s), t), t)
    expected = [[r * raised(X * s) for r in TIMES] for s in TIMES]
    np.testing.assert_allclose(f(X, TIMES), expected, rtol=1e-13)
    np.testing.assert_allclose(ad.jit(f)(X, TIMES), expected, rtol=1e-13)

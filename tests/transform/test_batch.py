"""vmap: all lanes at once, the same numbers as a loop."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ShapeError

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 3))
LANES = RNG.normal(size=(5, 4))

FUNCTIONS = {
    "pointwise": lambda x: np.sin(x) * x + 1.0,
    "matrix": lambda x: A @ x,
    "matrix both sides": lambda x: x @ B @ (A @ x),
    "outer": lambda x: x[:, None] * x[None, :],
    "sum": lambda x: np.sum(x),
    "max": lambda x: np.max(x),
    "sort": lambda x: np.sort(x)[::-1],
    "argsort": lambda x: x[np.argsort(x)],
    "cumulative": lambda x: np.cumsum(x) * np.cumprod(x),
    "gather": lambda x: x[np.array([0, 0, 3])],
    "slice": lambda x: x[1:3] - x[:2],
    "where": lambda x: np.where(x > 0, x, np.exp(x)),
    "assigned": lambda x: _assigned(x),
    "constant": lambda x: np.arange(3.0),
    "reshaped": lambda x: np.reshape(x, (2, 2)).T @ np.ones(2),
    "stacked": lambda x: np.stack([x, x * 2, np.ones(4)], axis=1),
    "concatenated": lambda x: np.concatenate([x, np.zeros(2), x[:1]]),
    "tree": lambda x: {"a": x, "b": (x[0], 2.0)},
    "branch": lambda x: x * 2 if x[0] > 0 else -x,
    "loop": lambda x: _loop(x),
}


def _assigned(x):
    y = x * 1.0
    y[1] = y[0] * 2
    y[2:] += 1.0
    return y


def _loop(x):
    while np.sum(x * x) > 1.0:
        x = x / 2
    return x


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_as_a_loop(name) -> None:
    f = FUNCTIONS[name]
    found = ad.tree.leaves(ad.vmap(f)(LANES))
    expected = [ad.tree.leaves(f(x)) for x in LANES]
    for k, leaf in enumerate(found):
        np.testing.assert_allclose(leaf, np.stack([row[k] for row in expected]), rtol=1e-13)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("out", [0, 1, -1])
def test_axes(axis, out) -> None:
    x = RNG.normal(size=(2, 3, 4))
    f = lambda y: np.tanh(y) @ np.ones((y.shape[1], 2))
    rows = [f(y) for y in np.moveaxis(x, axis, 0)]
    np.testing.assert_allclose(ad.vmap(f, in_axes=axis, out_axes=out)(x), np.stack(rows, axis=out), rtol=1e-14)


def test_arguments_that_are_not_mapped() -> None:
    x, y = RNG.normal(size=(5, 3)), RNG.normal(size=3)
    np.testing.assert_allclose(ad.vmap(np.dot, in_axes=(0, None))(x, y), x @ y)
    np.testing.assert_allclose(ad.vmap(np.dot, in_axes=(None, 1))(y, x.T), x @ y)
    f = lambda p, t: p["a"] * p["b"] + t
    mapped = ad.vmap(f, in_axes=({"a": 0, "b": None}, None))({"a": x, "b": y}, 1.0)
    np.testing.assert_allclose(mapped, x * y + 1.0)
    np.testing.assert_allclose(ad.vmap(lambda: np.ones(2), axis_size=3)(), np.ones((3, 2)))


def test_a_common_result_may_stay_single() -> None:
    y = ad.vmap(lambda x: (x, 3.0), out_axes=(0, None))(np.arange(3.0))
    assert y[1] == 3.0
    with pytest.raises(ShapeError, match="differs between batch elements"):
        ad.vmap(lambda x: x, out_axes=None)(np.arange(3.0))


@pytest.mark.parametrize(
    "args, in_axes, words",
    [
        ((np.ones(3), np.ones(4)), 0, "different sizes"),
        ((np.ones(3), 1.0), 0, "no axis"),
        ((np.ones(3), np.ones(3)), (0, 2), "no axis"),
        ((np.ones(3), np.ones(3)), (None, None), "size of the batch"),
    ],
)
def test_bad_axes(args, in_axes, words) -> None:
    with pytest.raises(ShapeError, match=words):
        ad.vmap(np.add, in_axes=in_axes)(*args)


def test_in_axes_of_the_wrong_length() -> None:
    with pytest.raises(TypeError, match="in_axes has 3 entries"):
        ad.vmap(np.add, in_axes=(0, 0, 0))(np.ones(2), np.ones(2))


def test_lanes_of_integers_and_truths() -> None:
    i = np.array([2, 0, 1])
    by_lane = ad.vmap(lambda i: np.take_along_axis(A, np.broadcast_to(i, (1, 4)), axis=0)[0])(i)
    np.testing.assert_array_equal(by_lane, A[i])
    np.testing.assert_array_equal(ad.vmap(lambda x, i: x[i])(LANES[:3], i), LANES[np.arange(3), i])
    np.testing.assert_array_equal(
        ad.vmap(lambda b, x: np.where(b, x, -x))(i > 0, LANES[:3]), np.where((i > 0)[:, None], LANES[:3], -LANES[:3])
    )
    mapped = ad.vmap(lambda i: i * 2 + 1)(i)
    assert mapped.dtype == i.dtype


def test_each_lane_takes_its_own_path() -> None:
    """Python's `if`, `while`, `int` and exceptions by lane; the number of runs is that of distinct paths."""
    runs = []

    def collatz(n):
        runs.append(1)
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    starts = np.array([1, 2, 4, 8, 3, 6, 2, 1])
    np.testing.assert_array_equal(ad.vmap(collatz)(starts), [0, 1, 2, 3, 7, 8, 1, 0])
    assert len(runs) <= 2 * 6 + 6


def test_lanes_with_int_of_a_value() -> None:
    f = lambda x: x * int(x)
    np.testing.assert_array_equal(ad.vmap(f)(np.array([1.5, 2.5, 1.2])), [1.5, 5.0, 1.2])


def test_branches_with_different_trees() -> None:
    with pytest.raises(ValueError, match="different"):
        ad.vmap(lambda x: (x, x) if x > 0 else x)(np.array([1.0, -1.0]))


def test_users_except_does_not_catch_the_split() -> None:
    def f(x):
        try:
            return x if x > 0 else -x
        except Exception:  # a user's guard
            return x * np.nan

    np.testing.assert_array_equal(ad.vmap(f)(np.array([1.0, -1.0])), [1.0, 1.0])


def test_nested_vmap() -> None:
    x, y = RNG.normal(size=3), RNG.normal(size=4)
    f = lambda a, b: np.sin(a) * b + a
    both = ad.vmap(ad.vmap(f, in_axes=(None, 0)), in_axes=(0, None))(x, y)
    np.testing.assert_allclose(both, np.sin(x)[:, None] * y + x[:, None])
    both = ad.vmap(ad.vmap(f, in_axes=(0, None)), in_axes=(None, 0))(x, y)
    np.testing.assert_allclose(both, (np.sin(x)[:, None] * y + x[:, None]).T)


def test_nested_vmap_with_branches() -> None:
    f = lambda a, b: a * b if a > b else a - b
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.5])
    found = ad.vmap(lambda a: ad.vmap(lambda b: f(a, b))(y))(x)
    np.testing.assert_allclose(found, [[f(a, b) for b in y] for a in x])


def test_no_lanes_at_all() -> None:
    """An empty axis gives empty results; only a question of Python's own has no answer."""
    none = np.ones((0, 2))
    assert ad.vmap(lambda x: (np.sum(np.sin(x) * x), x))(none)[0].shape == (0,)
    assert ad.vmap(ad.grad(lambda x: np.sum(x * x)))(none).shape == (0, 2)
    assert ad.grad(lambda xs: np.sum(ad.vmap(lambda x: x @ x)(xs)))(none).shape == (0, 2)
    with pytest.raises(ShapeError, match="no batch element to ask"):
        ad.vmap(lambda x: x if x > 0 else -x)(np.ones(0))

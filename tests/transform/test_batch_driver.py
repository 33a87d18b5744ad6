"""vmap of plain Python control flow: lanes that disagree run in groups, and outer transformations see the result."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ShapeError

X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0], [1.0, 2.0, 3.0], [-1.0, -1.0, -1.0]])


def positive_part(x: Any) -> Any:
    """A boolean index: how many elements it takes differs from lane to lane."""
    return np.sum(x[x > 0] ** 2)


def branches(x: Any) -> Any:
    """Nested branches and an early return."""
    if np.sum(x) > 5:
        return np.sum(x * x)
    if x[0] < 0:
        return np.prod(x)
    return x[1] * 3.0


def steps(x: Any) -> Any:
    """A loop whose number of turns differs from lane to lane."""
    y = x[0] * 0.0 + 1.0
    while y < 10.0:
        y = y * 2.0 + x[1] * 0.01 if x[2] > 0 else y + 1.5 * np.abs(x[0])
    return y


def powers(x: Any) -> Any:
    """Python asks for an integer."""
    result = x[0]
    for _ in range(int(np.abs(x[2]))):
        result = result * x[1]
    return result


FUNCTIONS = [positive_part, branches, steps, powers]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_lanes_equal_a_loop(function: Any) -> None:
    np.testing.assert_allclose(ad.vmap(function)(X), [function(x) for x in X])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_of_lanes_and_lanes_of_gradients(function: Any) -> None:
    expected = np.stack([ad.grad(function)(x) for x in X])
    np.testing.assert_allclose(ad.vmap(ad.grad(function))(X), expected)
    np.testing.assert_allclose(ad.grad(lambda X: np.sum(ad.vmap(function)(X)))(X), expected)
    direction = np.cos(np.arange(12.0)).reshape(X.shape)
    pushed = ad.jvp(ad.vmap(function), (X,), (direction,))[1]
    np.testing.assert_allclose(pushed, np.sum(expected * direction, axis=1))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_lanes_of_lanes(function: Any) -> None:
    both = np.stack([X, -X[::-1]])
    np.testing.assert_allclose(ad.vmap(ad.vmap(function))(both), [[function(x) for x in rows] for rows in both])


def test_a_branch_never_sees_lanes_that_were_not_meant_for_it() -> None:
    def function(x: Any) -> Any:
        if x <= 0:
            return x * 0.0
        assert np.all(ad.stop_gradient(x) > 0)
        return np.log(x)

    with np.errstate(all="raise"):
        np.testing.assert_allclose(ad.vmap(function)(np.array([-1.0, 2.0, 0.0])), [0.0, np.log(2.0), 0.0])


def test_lanes_that_cannot_be_stacked_are_named() -> None:
    with pytest.raises(ShapeError, match=r"batch elements return arrays of different shapes.*np\.where"):
        ad.vmap(lambda x: x[x > 0])(X)


def test_the_users_except_does_not_swallow_a_split() -> None:
    def function(x: Any) -> Any:
        try:
            return x * 2.0 if x > 0 else x
        except Exception:
            return x * 100.0

    np.testing.assert_allclose(ad.vmap(function)(np.array([-1.0, 2.0])), [-1.0, 4.0])

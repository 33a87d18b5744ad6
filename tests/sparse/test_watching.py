"""What a sparse derivative reads again at each call, and what it need not."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.arange(1.0, 6.0)


@pytest.mark.parametrize("jit", [False, True])
def test_all_that_is_read_may_change(jit: bool) -> None:
    weight, index, power = np.ones(5), np.array([0, 1, 2, 3, 4]), 2

    def f(x: Any, k: Any = 0) -> Any:
        return (x[index] * weight) ** power + x[k]

    derivative = ad.sparse.jacobian(f, jit=jit)

    def check(*more: Any) -> None:
        for _ in range(3):  # the last ones are known already
            np.testing.assert_allclose(derivative(X, *more).toarray(), ad.jacobian(f)(X, *more), rtol=1e-13)

    check()
    weight[:] = 3.0
    check()
    weight = np.full(5, 2.0)
    check()
    index = np.array([1, 0, 2, 3, 3])
    check()
    index[4] = 0
    check()
    power = 3
    check()
    check(2)
    check(np.array([1, 2, 0, 0, 4]))


def test_nothing_is_recorded_again_when_nothing_has_changed() -> None:
    traced: list[Any] = []
    index = np.array([0, 2, 1, 1])

    def f(x: Any) -> Any:
        traced.append(type(x))
        return x[index] ** 2

    derivative = ad.sparse.jacobian(f)
    first = derivative.coloring(X)
    assert derivative.coloring(X + 1.0) is first
    count = len(traced)
    assert derivative.coloring(X + 2.0) is first
    assert len(traced) == count
    index[0] = 1
    assert derivative.coloring(X) is not first


def test_branches_on_values_are_taken_anew() -> None:
    f = lambda x: x[1:] * x[:-1] if x[0] > 2 else x[1:] ** 2
    derivative = ad.sparse.jacobian(f)
    for start in (1.0, 3.0, 1.0, 3.0, 3.0):
        x = X + start
        np.testing.assert_allclose(derivative(x).toarray(), ad.jacobian(f)(x), rtol=1e-13)


@pytest.mark.parametrize("how", ["coloring", "pattern"])
def test_what_is_given_does_not_freeze_what_is_read(how: str) -> None:
    weight, power = np.ones(5), 2

    def f(x: Any) -> Any:
        return (x * weight) ** power

    pattern = np.eye(5)
    given = {"pattern": pattern} if how == "pattern" else {"coloring": ad.sparse.color(pattern)}
    derivative = ad.sparse.jacobian(f, jit=True, **given)
    for _ in range(2):
        np.testing.assert_allclose(derivative(X).toarray(), ad.jacobian(f)(X), rtol=1e-13)
        weight[1] += 1.0
        np.testing.assert_allclose(derivative(X).toarray(), ad.jacobian(f)(X), rtol=1e-13)
        weight, power = np.full(5, 4.0), power + 1

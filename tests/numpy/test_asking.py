"""Questions about values: answered where they are known."""

import numpy as np

import adjoint as ad
from adjoint.numpy.asking import settled, without_leading_zeros


def test_answers_where_values_are_known() -> None:
    seen = []

    def f(x):
        seen.append(settled(x[0] > 1))
        return np.sum(x)

    x = np.array([2.0, 0.5])
    ad.grad(f)(x)
    ad.jit(f)(x)
    ad.vmap(f)(np.stack([x, x]))
    assert set(seen) == {True}
    seen.clear()
    ad.scan(lambda c, x: (c + f(x), None), 0.0, np.stack([x, x]))
    assert set(seen) == {None}


def test_zeros_at_the_ends_are_dropped() -> None:
    x = np.array([0.0, 0.0, 3.0, 0.0])
    np.testing.assert_array_equal(ad.jvp(without_leading_zeros, (x,), (x,))[0], [3.0, 0.0])
    np.testing.assert_array_equal(ad.jvp(lambda x: without_leading_zeros(x, -1), (x,), (x,))[0], [0.0, 0.0, 3.0])
    np.testing.assert_array_equal(ad.jvp(without_leading_zeros, (x[:2],), (x[:2],))[0], [0.0])

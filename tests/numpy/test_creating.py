"""Arrays like traced ones, and ranges between traced ends."""

import numpy as np
import pytest

import adjoint as ad
from tests.numpy.checking import Case, array, complex_array, every_check


def zeros(x):
    z = np.zeros_like(x)
    z[1:] = x[:-1] * 2
    return z * z


def filled(x):
    z = np.empty_like(x, shape=(2, 3))
    z[...] = x[0]
    z[0, 1:] += x[1:3]
    return z


CASES = [
    Case("zeros_like", zeros, (array(4),)),
    Case("empty_like", filled, (array(4),)),
    Case("ones_like", lambda x: np.ones_like(x) * x, (array(2, 2),)),
    Case("full_like", lambda x: np.full_like(x, 3.5) * x, (array(3),)),
    Case("full_like traced", lambda x: np.full_like(x, x[0] * 2, shape=(2, 2)), (array(3),)),
    Case("linspace", lambda a, b: np.linspace(a, b, 5), (0.3, 2.1)),
    Case("linspace open", lambda a, b: np.linspace(a, b, 4, endpoint=False, retstep=True), (0.3, 2.1)),
    Case("linspace of arrays", lambda a, b: np.linspace(a, b, 3, axis=-1), (array(2), array(2, seed=1))),
    Case("linspace of one", lambda a, b: np.linspace(a, b, 1), (0.3, 2.1)),
    Case("logspace", lambda a, b: np.logspace(a, b, 4), (0.3, 1.1)),
    Case("logspace base", lambda a, b, c: np.logspace(a, b, 4, base=c), (0.3, 1.1, 2.5)),
    Case("geomspace", lambda a, b: np.geomspace(a, b, 4), (0.3, 2.1)),
    Case("geomspace negative", lambda a, b: np.geomspace(a, b, 4, endpoint=False), (-0.3, -2.1)),
    Case("geomspace of arrays", lambda a, b: np.geomspace(a, b, 3), (array(2), array(2, seed=1))),
    Case("linspace complex", lambda a, b: np.linspace(a, b, 3), (complex_array(2), complex_array(2, seed=1))),
]


@every_check(CASES)
def test_creating(case, check) -> None:
    check(case)


def test_whole_numbers_stay_plain_unless_stacked() -> None:
    kinds = []

    def f(x):
        count = np.zeros_like(x, dtype=int)
        kinds.append(type(count))
        count[0] = 2
        view = count[1:]
        view[0] = 3
        return np.sum(x * count)

    np.testing.assert_array_equal(ad.grad(f)(np.ones(3)), [2.0, 3.0, 0.0])
    assert kinds == [np.ndarray]
    np.testing.assert_array_equal(ad.vmap(f)(np.ones((2, 3))), [5.0, 5.0])


def test_ends_of_other_sign_are_refused() -> None:
    with pytest.raises(ValueError, match="same sign"):
        ad.grad(lambda a: np.sum(np.geomspace(a, -1.0, 3)))(2.0)
    with pytest.raises(ValueError, match="non-negative"):
        ad.grad(lambda a: np.sum(np.linspace(a, 1.0, -3)))(2.0)


def test_kaiser_window_in_its_parameter():
    anp = ad.numpy
    for m in (0, 1, 4, 5):
        np.testing.assert_allclose(ad.jvp(lambda b, m=m: anp.kaiser(m, b), (3.0,), (1.0,))[0], np.kaiser(m, 3.0), 1e-14)
    ad.check_grads(lambda b: anp.kaiser(5, b), (3.0,))

"""The tuples of SciPy's older minimizers: what stands in them has its derivative, or is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import optimize

bowl = lambda x, a: (x[0] - a) ** 2 + 0.5 * (x[1] - a * x[0]) ** 2
slope = lambda x, a: np.array([2 * (x[0] - a) - a * (x[1] - a * x[0]), x[1] - a * x[0]])
START = [0.0, 0.0]


def test_gradients_in_tuples():
    """The price of a bound: 2 (0.3 - a) for x₀ ≤ 0.3, and nothing where there is none."""
    bounded = lambda a: optimize.fmin_l_bfgs_b(bowl, START, slope, args=(a,), bounds=[(None, 0.3), (None, None)])
    assert_allclose(bounded(1.1)[2]["grad"], [-1.6, 0.0], atol=1e-5)
    assert_allclose(ad.jacobian(lambda a: bounded(a)[2]["grad"])(1.1), [-2.0, 0.0], atol=1e-12)
    free = lambda a: optimize.fmin_bfgs(bowl, START, args=(a,), full_output=True, disp=0)[2]
    assert_allclose(ad.jacobian(free)(1.1), 0.0, atol=1e-12)


LOST = {
    "Bopt": lambda a: optimize.fmin_bfgs(bowl, START, args=(a,), full_output=True, disp=0)[3][0, 0],
    "allvecs": lambda a: optimize.fmin(bowl, START, args=(a,), retall=True, disp=0)[-1][-1],
    "direc": lambda a: optimize.fmin_powell(bowl, START, args=(a,), full_output=True, disp=0)[2] * 2.0,
    "Jout": lambda a: np.min(optimize.brute(lambda x: (x - a) ** 2, ((-1, 2),), full_output=True)[3]),
}


@pytest.mark.parametrize("name", LOST)
def test_what_would_lose_its_derivative_is_refused(name):
    LOST[name](1.1)
    with pytest.raises(UnsupportedError, match=f"{name} is known without a derivative"):
        ad.jacfwd(LOST[name])(1.1)


def test_entries_of_dictionaries_that_are_not_told():
    cubes = lambda x, a: x**3 - a
    with pytest.raises(KeyError, match="fjac"):
        ad.grad(lambda a: optimize.fsolve(cubes, 1.0, args=(a,), full_output=True)[1]["fjac"][0, 0])(2.0)

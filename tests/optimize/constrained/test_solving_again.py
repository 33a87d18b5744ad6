"""Where sequential quadratic programming cannot start, the interior point method goes on."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import equality

LINE = equality(lambda x: np.sum(x) - 1.0)


def f(x):
    return np.sum(np.array([1.0, 2.0, 3.0]) * x) - 0.1 * np.sum(np.log(x))


@pytest.mark.parametrize("compiled", [False, True])
def test_a_start_at_which_the_value_is_infinite(compiled: bool) -> None:
    """The conditions are c + λ = 0.1 / x, with Σ x = 1: one equation for λ, solved by bisection."""
    solve = lambda start: optimize.minimize(f, start, subject_to=LINE, bounds=(0.0, None))
    found = (ad.jit(solve) if compiled else solve)(np.zeros(3))
    assert found.status == "converged"
    price = optimize.root_scalar(lambda v: np.sum(0.1 / (np.array([1.0, 2.0, 3.0]) + v)) - 1.0, bracket=(-0.99, 5.0))
    np.testing.assert_allclose(found.value, 0.1 / (np.array([1.0, 2.0, 3.0]) + price.value), atol=1e-6)
    with np.errstate(all="ignore"):
        alone = optimize.minimize(f, np.zeros(3), subject_to=LINE, bounds=(0.0, None), method="sqp")
    assert alone.status == "not finite"

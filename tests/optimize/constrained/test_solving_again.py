"""Where sequential quadratic programming gets stuck, the interior point method goes on."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import equality


def hs63(x):
    return 1000 - x[0] ** 2 - 2 * x[1] ** 2 - x[2] ** 2 - x[0] * x[1] - x[0] * x[2]


RULES = [equality(lambda x: 8 * x[0] + 14 * x[1] + 7 * x[2] - 56), equality(lambda x: x @ x - 25)]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_problem_on_which_one_method_is_stuck(compiled: bool) -> None:
    """Problem 63 of Hock and Schittkowski; the smallest value is the published one."""
    solve = lambda start: optimize.minimize(hs63, start, subject_to=RULES, bounds=(0.0, None))
    found = (ad.jit(solve) if compiled else solve)(np.full(3, 2.0))
    assert found.status == "converged"
    np.testing.assert_allclose(found.fun, 961.7151721, rtol=1e-8)
    alone = optimize.minimize(hs63, np.full(3, 2.0), subject_to=RULES, bounds=(0.0, None), method="sqp")
    assert alone.status != "converged"

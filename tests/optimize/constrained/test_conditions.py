"""Conditions that are looked at anew at the end of a run, and kinks that are named where one got stuck."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import equality, inequality


def f(x):
    return (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2


DISK = inequality(lambda x: x @ x - 1.0)


@pytest.mark.parametrize("method", ["sqp", "interior point", "augmented lagrangian"])
def test_all_conditions_hold_at_a_minimum(method: str) -> None:
    kept = optimize.minimize(f, np.zeros(2), subject_to=DISK, method=method, certify=True).certificate
    assert set(kept.broken) == {"stationary", "feasible", "signs", "complementary", "second order"}
    assert bool(kept.held), kept


def test_a_run_that_ends_early_breaks_some() -> None:
    found = optimize.minimize(f, np.array([0.1, 0.9]), subject_to=DISK, max_iterations=1, method="sqp", certify=True)
    assert not bool(found.certificate.held)
    assert int(found.certificate.broken["stationary"]) == 1


def test_compiled() -> None:
    solve = lambda x: optimize.minimize(f, x, subject_to=DISK, method="sqp", certify=True).certificate.held
    assert bool(ad.jit(solve)(np.zeros(2)))


def test_constants_of_the_function_are_refused() -> None:
    with pytest.raises(ValueError, match="certify is True"):
        optimize.minimize(f, np.zeros(2), subject_to=DISK, certify={"mu": 1.0})


def test_a_kink_of_a_constraint_is_named() -> None:
    """The violation of |x| + 1 = 0 is smallest at the kink."""

    def fence(x):
        return np.abs(x) + 1.0

    stuck = optimize.minimize(lambda x: x[0], np.array([0.0]), subject_to=equality(fence))
    assert stuck.status == "infeasible"
    assert "the constraint fence (absolute, test_conditions.py" in stuck.advice
    smooth = optimize.minimize(lambda x: x[0], np.array([0.5]), subject_to=equality(lambda x: x**2 + 1.0))
    assert "differentiable" not in smooth.advice


def test_a_maximum_along_the_constraint_fails_the_second_order_alone() -> None:
    """On the circle -x is smallest at (1, 0); the start at (-1, 0) is stationary, and the largest value."""
    circle = equality(lambda x: x @ x - 1.0)
    found = optimize.minimize(lambda x: -x[0], np.array([-1.0, 0.0]), subject_to=circle, method="sqp", certify=True)
    broken = [name for name, at in found.certificate.broken.items() if int(at) >= 0]
    assert broken == ["second order"]

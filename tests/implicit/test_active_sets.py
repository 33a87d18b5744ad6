"""Active sets and multipliers from the minimizer alone, against quadratic programs whose solution is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adjoint.implicit.active_sets import Linearization, identify

EMPTY = np.zeros((0, 3))


def at(x, gradient, inequality, jacobian, equality=None, equality_jacobian=None):
    none = np.zeros(0)
    return Linearization(
        np.asarray(x, float), np.asarray(gradient, float), none if equality is None else equality,
        EMPTY if equality_jacobian is None else equality_jacobian, np.asarray(inequality, float),
        np.asarray(jacobian, float), EMPTY,
    )  # fmt: skip


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_scale_of_a_constraint_does_not_matter(scale):
    """x ≥ 0 of x = (0, 0, 2) with ∇f = (1, 0, 0): active, weak, inactive, whatever the constraint is multiplied by."""
    found = identify(at([0.0, 0.0, 2.0], [1.0, 0.0, 0.0], [0.0, 0.0, -2.0 * scale], -scale * np.eye(3)))
    assert found.kinds == ("active", "weak", "inactive")
    assert_allclose(found.inequality * scale, [1.0, 0.0, 0.0], atol=1e-12)


def test_multipliers_are_not_negative_where_a_constraint_would_pull():
    found = identify(at([0.0, 1.0, 2.0], [-1.0, 0.0, 0.0], [0.0], [[-1.0, 0.0, 0.0]]))
    assert found.kinds != ("active",)  # x could go up: this is no minimum
    assert found.residual > 0.1


def test_equalities_share_the_force():
    a = np.ones((1, 3))
    found = identify(at([1.0, 0.0, 0.0], [-2.0, 0.0, -2.0], [-1.0, 0.0, 0.0], -np.eye(3), np.zeros(1), a))
    assert found.kinds == ("inactive", "active", "weak")
    assert_allclose([found.equality[0], found.inequality[1]], [2.0, 2.0], rtol=1e-12)


def test_dependent_and_violated_ones_are_flagged():
    double = identify(at([0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0], [[-1.0, 0.0, 0.0], [-2.0, 0.0, 0.0]]))
    assert double.is_dependent
    outside = identify(at([-1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0], [[-1.0, 0.0, 0.0]]))
    assert outside["violated"] == [0]

"""Γ and what belongs to it, of complex numbers, in a page."""

import itertools

import numpy as np
import pytest

from adjoint.ops.special.gamma import Polygamma
from tests.show.evaluating import BY_NAME, check

pytestmark = pytest.mark.browser


def test_values(opened):
    rng = np.random.default_rng(0)
    parts = [-6.5, -3.0, -0.25, 0.0, 0.5, 1.0, 2.0, 9.0]
    z = np.array([complex(x, y) for x, y in itertools.product(parts, [-12.0, -2.0, -1e-3, 0.1, 3.0, 30.0])])
    z = np.concatenate([z, rng.uniform(-8, 8, 40) + 1j * rng.uniform(-8, 8, 40), 1 + z[:8] * 1e-3, 2 - z[:8] * 1e-3])
    rows = [(BY_NAME[name], [z], 2e-13, 1e-13) for name in ("loggamma", "psi")]  # which have zeros
    rows += [(BY_NAME[name], [z], 5e-13, 1e-300) for name in ("gamma", "rgamma")]
    check(opened, *rows, *[(Polygamma(n), [z], 1e-12, 0.0) for n in (1, 2, 4)])


def test_the_negative_axis_is_a_cut(opened):
    x = np.array([-0.5, -1.5, -2.5, -7.25, 0.5, 3.0])
    z = np.concatenate([x + 0j, np.conjugate(x + 0j)])
    check(opened, *[(BY_NAME[name], [z], 2e-13, 1e-13) for name in ("loggamma", "gamma", "rgamma", "psi")])
    check(opened, (BY_NAME["rgamma"], [np.array([0j, -1 + 0j, -4 + 0j])], 0.0, 0.0))

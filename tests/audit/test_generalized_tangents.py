"""Tangent spaces against curves that stay on the set."""

import numpy as np
import pytest

from adjoint.audit import tangent_space


def test_orthogonal_matrices():
    """Their tangents at Q are Q times skew matrices; constraints QᵀQ = 1 name each condition twice."""
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    space = tangent_space(lambda Q: Q.T @ Q - np.eye(3))(Q)
    assert space.dimension == 3
    for tangent in space.basis:
        np.testing.assert_allclose(Q.T @ tangent, -(Q.T @ tangent).T, atol=1e-14)
    v = np.random.default_rng(1).normal(size=(3, 3))
    np.testing.assert_allclose(space.project(v), Q @ (Q.T @ v - v.T @ Q) / 2, atol=1e-14)


def test_one_array():
    with pytest.raises(TypeError, match="one array"):
        tangent_space(lambda x, y: x - y)(1.0, 2.0)

"""The exponential cone, at points whose numbers differ by many orders of magnitude."""

import numpy as np

import adjoint as ad
from adjoint.optimize import sets

CONE = sets.exponential_cone()


def points(count, decades):
    rng = np.random.default_rng(0)
    return rng.normal(size=(count, 3)) * 10.0 ** rng.uniform(-decades, decades, size=(count, 3)), rng


def lies_in(p, size):
    x, y, z = p
    edge = abs(y) <= size and x <= size and z >= -size
    return edge or (y > 0 and z >= y * np.exp(min(x / y, 700.0)) * (1 - 1e-9) - size)


def lies_in_dual(q, size):
    x, y, z = q
    edge = abs(x) <= size and y >= -size and z >= -size
    return edge or (x < 0 and z * np.e >= -x * np.exp(min(y / x, 700.0)) * (1 - 1e-6) - size)


def test_points_of_all_sizes_have_the_nearest_one():
    """p in the cone, p - v in the dual one, ⟨p, p - v⟩ = 0: some z were infinite, some y as large as x / 1000."""
    for v, p in zip(points(100, 6)[0], ad.vmap(CONE.project)(points(100, 6)[0]), strict=True):
        size = np.max(np.abs(v))
        assert lies_in(p, 1e-12 * size)
        assert lies_in_dual(p - v, 1e-9 * size)
        assert abs(p @ (p - v)) <= 1e-10 * size**2


def test_their_derivatives_fit_differences():
    at, rng = points(40, 3)
    d = rng.normal(size=at.shape) * np.abs(at)
    project = ad.vmap(CONE.project)
    difference = (project(at + 1e-6 * d) - project(at - 1e-6 * d)) / 2e-6
    off = np.max(np.abs(ad.jvp(project, (at,), (d,))[1] - difference), axis=1)
    assert np.all(off <= 1e-6 * np.max(np.abs(at), axis=1))

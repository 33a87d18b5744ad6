"""The dense output of a whole solution."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate


def solve(k, span=(0.0, 2.0), **options):
    y0 = {"a": np.array([1.0, 2.0])}
    f = lambda t, y: {"a": -k * y["a"]}
    return integrate.solve(f, span, y0, dense=True, rtol=1e-9, atol=1e-11, method="dopri5", **options)


@pytest.mark.parametrize("span", [(0.0, 2.0), (2.0, 0.0)])
def test_values_at_any_time(span):
    path = solve(1.0, span)
    times = np.array([0.0, 0.31, 1.3, 2.0])
    np.testing.assert_allclose(path.at(times)["a"][:, 1], 2.0 * np.exp(span[0] - times), rtol=1e-8)
    assert path.at(0.7)["a"].shape == (2,)
    assert path.interpolation.grid()[-1] == span[1]


def test_derivatives_and_transformations():
    assert abs(ad.grad(lambda k: solve(k).at(0.7)["a"][0])(1.0) + 0.7 * np.exp(-0.7)) < 1e-8
    assert abs(ad.grad(lambda t: solve(1.0).at(t)["a"][0])(0.7) + np.exp(-0.7)) < 1e-8
    compiled = ad.jit(lambda k: solve(k, max_steps=200).at(0.7)["a"][0])(1.0)
    assert abs(compiled - np.exp(-0.7)) < 1e-9
    with pytest.raises(ValueError, match="max_steps"):
        ad.jit(lambda k: solve(k).at(0.7)["a"][0])(1.0)


@pytest.mark.parametrize("span", [(0.0, 2.0), (2.0, 0.0)])
def test_times_outside_of_the_path(span):
    path = solve(1.0, span)
    for t in (-0.1, 2.1, np.array([1.0, 2.5]), np.nan):
        with pytest.raises(ad.CheckError, match=r"outside of the path, which goes from t = 0\.0 to 2"):
            path.at(t)
    at = ad.jit(lambda t: solve(1.0, span, max_steps=200).at(t)["a"][0])
    np.testing.assert_allclose(at(2.0), np.exp(span[0] - 2.0), rtol=1e-8)
    with pytest.raises(ad.CheckError, match="outside of the path"):
        at(2.1)


def test_without_dense_output():
    with pytest.raises(ValueError, match="dense=True"):
        integrate.solve(lambda t, y: -y, (0.0, 1.0), 1.0).at(0.5)

"""Initial values: variances against their definitions, ranges, orthogonality, reproducibility."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import adjoint as ad
from adjoint.nn import initializers

SHAPE = (300, 200)
VARIANCES = {
    "glorot_normal": 2 / 500,
    "glorot_uniform": 2 / 500,
    "he_normal": 2 / 300,
    "he_uniform": 2 / 300,
    "lecun_normal": 1 / 300,
    "lecun_uniform": 1 / 300,
    "torch_linear": 1 / 900,
}


@pytest.mark.parametrize("name", VARIANCES)
def test_variance_and_law(name):
    w = getattr(initializers, name)(ad.random.default_rng(0), SHAPE)
    variance = VARIANCES[name]
    assert np.var(w) == pytest.approx(variance, rel=0.02)
    law = (
        stats.norm(0, np.sqrt(variance))
        if name.endswith("normal")
        else stats.uniform(-(width := np.sqrt(3 * variance)), 2 * width)
    )
    assert stats.kstest(w.ravel()[::7], law.cdf).pvalue > 1e-3
    small = getattr(initializers, name)(ad.random.default_rng(0), SHAPE, np.float32)
    assert small.dtype == np.float32


def test_fans_of_kernels():
    w = initializers.he_normal(ad.random.default_rng(0), (64, 32, 3, 3), fan=(288, 576))
    assert np.var(w) == pytest.approx(2 / 288, rel=0.03)


@pytest.mark.row("L6.c")
def test_the_same_generator_gives_the_same_weights():
    for name in initializers.__all__:
        f = getattr(initializers, name)
        f = f(0.5) if name in ("constant", "normal", "uniform", "truncated") else f
        one, two = (f(ad.random.default_rng(3), (5, 4)) for _ in range(2))
        assert_array_equal(one, two)
        assert one.shape == (5, 4)
        assert f(np.random.default_rng(0), (5, 4), np.float32).dtype == np.float32  # NumPy's generator will do here


def test_special_matrices():
    rng = ad.random.default_rng(0)
    for shape in ((6, 4), (4, 6), (5, 5), (3, 2, 4)):
        q = initializers.orthogonal(rng, shape).reshape(-1, shape[-1])
        small = q.T @ q if q.shape[0] >= q.shape[1] else q @ q.T
        assert_allclose(small, np.eye(len(small)), atol=1e-13)
    assert_array_equal(initializers.identity(rng, (3, 2)), np.eye(3, 2))
    cut = initializers.truncated(0.5, 2.0)(rng, (20000,))
    assert np.max(np.abs(cut)) <= 1.0
    assert stats.kstest(cut, stats.truncnorm(-2, 2, 0, 0.5).cdf).pvalue > 1e-3
    for f in (initializers.orthogonal, initializers.identity):
        with pytest.raises(ad.ShapeError, match="a matrix is needed"):
            f(rng, (3,))

"""Normal numbers from words: against mpmath, against the definition, and one by one against all at once."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from adjoint.random.bits import random_bits, seed_key
from adjoint.random.quantile import normal_from_bits, normal_quantile, one_normal, open_uniform

WORDS = random_bits(seed_key(3), 0, 20_000)


def test_quantiles_are_exact_to_a_few_units_in_the_last_place():
    edges = [0.075, np.nextafter(0.075, 1), 0.925, np.exp(-25.0), np.nextafter(np.exp(-25.0), 0), 0.5 - 2.0**-53]
    u = np.concatenate([open_uniform(WORDS[:200]), 2.0 ** -np.arange(2, 54), 1 - 2.0 ** -np.arange(2, 53), edges])
    found = normal_quantile(u)
    with mpmath.workdps(40):
        for x, z in zip(u, found, strict=True):
            exact = mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(float(x)) - 1)
            assert abs(mpmath.mpf(float(z)) - exact) <= 6 * mpmath.mpf(2) ** -53 * abs(exact)


def test_uniforms_lie_inside_and_symmetrically():
    extremes = np.array([0, 2**64 - 1, 2**63, 2**63 - 1], np.uint64)
    for dtype, p in ((np.float64, 53), (np.float32, 24)):
        u = open_uniform(extremes, dtype)
        assert u.dtype == dtype
        assert_array_equal(u, [2.0**-p, 1 - 2.0**-p, 0.5 + 2.0**-p, 0.5 - 2.0**-p])
    flipped = ~WORDS
    assert_array_equal(open_uniform(flipped), 1 - open_uniform(WORDS))
    assert_array_equal(normal_from_bits(flipped), -normal_from_bits(WORDS))
    assert abs(normal_quantile(open_uniform(extremes[:2])) - [-8.2095, 8.2095]).max() < 1e-4


def test_one_by_one_gives_the_same_numbers():
    words = np.concatenate([WORDS[:3000], np.arange(50, dtype=np.uint64) << np.uint64(13)])  # far tails, too
    together = normal_from_bits(words)
    assert_array_equal([one_normal(int(w)) for w in words], together)
    assert normal_from_bits(words[7]).shape == ()
    assert_array_equal(normal_from_bits(words[:6].reshape(2, 3)), together[:6].reshape(2, 3))
    assert normal_from_bits(words[:0]).shape == (0,)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_normal_numbers_are_normal(dtype):
    z = normal_from_bits(WORDS, dtype)
    assert z.dtype == dtype
    assert stats.kstest(z.astype(float), "norm").pvalue > 1e-3
    assert stats.normaltest(z.astype(float)).pvalue > 1e-3

"""Constants of quadratics by their eigenvalues, of others by what is known."""

import numpy as np
import pytest

from adjoint.optimize import certificates

RNG = np.random.default_rng(0)
M = RNG.normal(size=(5, 5))
A = M @ M.T + 0.5 * np.eye(5)
quadratic = lambda x: 0.5 * x @ (A @ x) + np.sum(x)
lse = lambda x: np.log(np.sum(np.exp(x)))


@pytest.mark.row("15.4.1")
def test_lipschitz_constants():
    assert float(certificates.lipschitz(np.abs, np.array([0.2]), out=2)) == pytest.approx(1.0)
    softargmax = lambda x: np.exp(x) / np.sum(np.exp(x))
    assert float(certificates.lipschitz(softargmax, np.zeros(4), norm=np.inf, samples=60)) == pytest.approx(1.0)
    assert 0.25 <= float(certificates.lipschitz(softargmax, np.zeros(4))) <= 0.5
    for norm, out, expected in ((1, np.inf, np.max(np.abs(M))), (2, 2, np.linalg.norm(M, 2)),
                                (1, 1, np.linalg.norm(M, 1)),
                                (np.inf, np.inf, np.linalg.norm(M, np.inf))):  # fmt: skip
        found = certificates.lipschitz(lambda x: M @ x, np.zeros(5), norm=norm, out=out)
        assert float(found) == pytest.approx(expected)
    with pytest.raises(ValueError, match="the norm is 3"):
        certificates.lipschitz(np.abs, np.ones(2), norm=3)


@pytest.mark.row("15.4.2", "15.4.4a")
def test_smoothness_and_strong_convexity():
    w = np.linalg.eigvalsh(A)
    assert float(certificates.smoothness(quadratic, np.zeros(5))) == pytest.approx(w[-1])
    assert float(certificates.strong_convexity(quadratic, np.zeros(5))) == pytest.approx(w[0])
    assert float(certificates.strong_convexity(lambda x: 3 * quadratic(x), np.zeros(5))) == pytest.approx(3 * w[0])
    assert float(certificates.smoothness(lse, np.zeros(4), norm=np.inf, samples=60)) == pytest.approx(1.0)
    assert float(certificates.strong_convexity(lambda x: np.sum(x**4), np.zeros(2))) == pytest.approx(0.0, abs=1e-12)
    assert float(certificates.strong_convexity(np.cos, 0.0)) < 0


@pytest.mark.row("15.4.4b", "15.4.2")
def test_the_divergence_lies_between_two_squares():
    w = np.linalg.eigvalsh(A)
    assert certificates.check_sandwich(quadratic, np.zeros(5), w[0], w[-1])[0]
    held, pair = certificates.check_sandwich(quadratic, np.zeros(5), w[0], 0.6 * w[-1], samples=400)
    assert not held
    d = pair[0] - pair[1]
    assert 0.5 * d @ A @ d > 0.3 * w[-1] * d @ d  # B of a quadratic, by hand
    assert not certificates.check_sandwich(quadratic, np.zeros(5), 2.0 * w[0], w[-1], samples=400)[0]
    assert certificates.check_sandwich(lse, np.zeros(4), 0.0, 1.0, norm=np.inf)[0]


@pytest.mark.row("15.4.4c")
def test_pinskers_inequality():
    low, high = certificates.pinsker(np.array([0.5, 0.5]), np.array([0.3, 0.7]))
    assert low == pytest.approx(0.08)
    assert high == pytest.approx(0.0871766936)
    # what neither of the two distributions has adds nothing, and no warning
    padded = certificates.pinsker(np.array([0.5, 0.5, 0.0]), np.array([0.3, 0.7, 0.0]))
    np.testing.assert_allclose(padded, (low, high), rtol=1e-15)
    for _ in range(50):
        p, q = RNG.dirichlet(np.ones(4), size=2)
        low, high = certificates.pinsker(p, q)
        assert low <= high
    # on x ≥ 0 with Σ x ≤ m, negentropy is 1/m-strongly convex in the norm 1; on all of x ≥ 0 it is not
    negentropy = lambda x: np.sum(x * np.log(x))
    inside = certificates.strong_convexity(negentropy, np.full(3, 0.3), norm=1, radius=0.2)
    assert float(inside) >= 1.0 / (0.9 + 0.2 * np.sqrt(3))
    assert float(certificates.strong_convexity(negentropy, np.full(3, 1e3), norm=1, radius=1.0)) < 1e-2


def test_divergences_of_distributions_with_zeros():
    half, one = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    np.testing.assert_allclose(certificates.pinsker(one, half), (0.5, np.log(2.0)))
    assert certificates.pinsker(half, one)[1] == np.inf
    with pytest.raises(ValueError, match="q is no distribution"):
        certificates.pinsker(half, np.array([0.5, 0.7]))

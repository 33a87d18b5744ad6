"""Log-determinants and traces of functions by Lanczos quadrature, against dense matrices and differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear
from adjoint.linear.functions.spectral import lanczos

RNG = np.random.default_rng(4)
N = 20
Q = np.linalg.qr(RNG.normal(size=(N, N)))[0]
SPD = Q * np.linspace(1.0, 4.0, N) @ Q.T
SPD = (SPD + SPD.T) / 2
HERMITIAN = SPD + 0.1j * (Q - Q.T)


@pytest.mark.parametrize("matrix", [SPD, HERMITIAN], ids=["symmetric", "hermitian"])
@pytest.mark.parametrize("probes", ["signs", "normal"])
def test_logdet_within_its_error(matrix, probes):
    found = linear.estimate_logdet(matrix, 0, 150, 12, probes=probes)
    assert abs(found.value - np.linalg.slogdet(matrix)[1]) < 4 * found.error < 6


def test_after_all_steps_only_the_probes_matter():
    """With unit vectors the quadrature gives the diagonal of log A."""
    w, v = np.linalg.eigh(SPD)
    alphas, betas = lanczos(lambda x: SPD @ x, np.eye(N), N)
    logs = []
    for a, b in zip(alphas.T, betas.T, strict=True):
        t, y = np.linalg.eigh(np.diag(a) + np.diag(b, 1) + np.diag(b, -1))
        logs.append(np.sum(y[0] ** 2 * np.log(t)))
    assert_allclose(logs, np.diagonal(v * np.log(w) @ v.T), rtol=1e-10)


def test_spaces_that_end_early():
    """With few different eigenvalues the recurrence ends, and the answer is exact for diagonal maps and signs."""
    d = np.array([1.0, 1.0, 2.0, 2.0, 5.0])
    found = linear.estimate_logdet(linear.diagonal(d), 0, 3)
    assert (found.value, found.error) == pytest.approx((np.log(20.0), 0.0), abs=1e-12)
    slope = ad.grad(lambda d: linear.estimate_logdet(linear.diagonal(d), 0, 3).value)(d)
    assert_allclose(slope, 1 / d, rtol=1e-9)


def test_other_functions():
    found = linear.estimate_trace_of_function(np.exp, SPD, 1, 200, 12)
    assert abs(found.value - np.sum(np.exp(np.linspace(1.0, 4.0, N)))) < 4 * found.error


def test_derivatives_and_transformations():
    f = lambda t: linear.estimate_logdet(SPD + t * np.diag(np.arange(N) / N), 2, 3, 6).value
    h = 1e-5
    slope = (f(0.5 + h) - f(0.5 - h)) / (2 * h)
    assert ad.grad(f)(0.5) == pytest.approx(slope, rel=1e-7)
    assert ad.jvp(f, (0.5,), (1.0,))[1] == pytest.approx(slope, rel=1e-7)
    curvature = (ad.grad(f)(0.5 + h) - ad.grad(f)(0.5 - h)) / (2 * h)
    assert ad.grad(ad.grad(f))(0.5) == pytest.approx(curvature, rel=1e-6)
    assert_allclose(ad.vmap(f)(np.array([0.1, 0.5])), [f(0.1), f(0.5)], rtol=1e-12)
    assert ad.jit(ad.value_and_grad(f))(0.5) == pytest.approx((f(0.5), slope), rel=1e-7)


def test_indefinite_maps_are_refused():
    with pytest.raises(ValueError, match="not positive"):
        linear.estimate_logdet(-SPD, 0)
    with pytest.raises(ValueError, match="at least 1"):
        linear.estimate_logdet(SPD, 0, 0)

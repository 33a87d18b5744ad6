"""Traces and diagonals from random products, against matrices; their errors, derivatives and transformations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear

RNG = np.random.default_rng(3)
N = 24
Q = np.linalg.qr(RNG.normal(size=(N, N)))[0]
DECAYING = Q * np.arange(1.0, N + 1) ** -2 @ Q.T
SKEW = RNG.normal(size=(N, N))
COMPLEX = SKEW + 1j * RNG.normal(size=(N, N))
TRACES = ("hutchinson", "hutch++", "xtrace")
DIAGONALS = ("bekas", "xdiag")


@pytest.mark.parametrize("matrix", [SKEW, COMPLEX, DECAYING], ids=["real", "complex", "decaying"])
@pytest.mark.parametrize("method", TRACES)
def test_traces_are_unbiased_and_their_errors_honest(matrix, method):
    rng = ad.random.default_rng(1)
    found = [linear.estimate_trace(matrix, rng, 12, method=method, probes="normal") for _ in range(300)]
    values, errors = np.array([f.value for f in found]), np.array([f.error for f in found])
    spread = np.std(values)
    assert abs(np.mean(values) - np.trace(matrix)) < 4 * spread / np.sqrt(300)
    assert 0.5 < np.sqrt(np.mean(errors**2)) / spread < 1.6
    assert found[0].products == 12


@pytest.mark.parametrize("matrix", [SKEW, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("method", DIAGONALS)
def test_diagonals_are_unbiased_and_their_errors_honest(matrix, method):
    rng = ad.random.default_rng(2)
    found = [linear.estimate_diagonal(matrix, rng, 12, method=method) for _ in range(300)]
    values, errors = np.array([f.value for f in found]), np.array([f.error for f in found])
    spread = np.std(values, axis=0)
    assert np.max(np.abs(np.mean(values, axis=0) - np.diagonal(matrix)) / spread) < 4.5 / np.sqrt(300)
    assert 0.5 < np.sqrt(np.mean(errors**2)) / np.sqrt(np.mean(spread**2)) < 1.6


def test_maps_of_low_rank_and_zero_are_exact():
    low = RNG.normal(size=(N, 3)) @ RNG.normal(size=(3, N))
    for method in ("hutch++", "xtrace"):
        found = linear.estimate_trace(low, 0, 15, method=method)
        assert (found.value, found.error) == pytest.approx((np.trace(low), 0.0), abs=1e-11)
        assert linear.estimate_trace(np.zeros((N, N)), 0, 15, method=method).value == 0
    assert_allclose(linear.estimate_diagonal(low, 0, 15).value, np.diagonal(low), atol=1e-11)


def test_enough_products_are_exact():
    found = linear.estimate_trace(SKEW, 0, N)
    assert (found.value, found.error, found.method) == (pytest.approx(np.trace(SKEW)), 0.0, "exact")
    assert_allclose(linear.estimate_diagonal(SKEW, 0, N).value, np.diagonal(SKEW))


def test_functions_and_maps_of_trees():
    like = {"w": np.ones((2, 3)), "b": 1.0}
    scaled = lambda p: {"w": 3 * p["w"], "b": p["b"] + 0 * np.sum(p["w"])}
    found = linear.estimate_diagonal(scaled, 0, 1, method="bekas", like=like)
    assert_allclose(found.value["w"], np.full((2, 3), 3.0))
    assert found.value["b"] == 1.0
    assert np.isnan(found.error["b"])
    assert linear.estimate_trace(scaled, 0, 1, method="hutchinson", like=like).value == pytest.approx(19.0)
    A = linear.diagonal({"w": np.full((2, 3), 3.0), "b": 1.0})
    assert linear.estimate_trace(A, 0, 1, method="hutchinson").value == pytest.approx(19.0)
    turned = lambda v: np.cumsum(v) * v.size  # not symmetric: xdiag needs the adjoint
    assert_allclose(linear.estimate_diagonal(turned, 0, 26, like=30).value, np.full(30, 30.0), atol=60.0)


@pytest.mark.parametrize("method", TRACES)
def test_derivatives_are_unbiased(method):
    """d tr(A∘A)/dA = 2 diag A on the diagonal, and zero elsewhere."""
    f = lambda a, rng: linear.estimate_trace(a * a, rng, 12, method=method).value
    rng = ad.random.default_rng(5)
    slopes = np.array([ad.grad(f)(SKEW, rng) for _ in range(200)])
    scale = np.std(slopes, axis=0) / np.sqrt(200) + 1e-12
    assert np.max(np.abs(np.mean(slopes, axis=0) - 2 * np.diag(np.diagonal(SKEW))) / scale) < 5


def test_the_plain_estimate_is_differentiated_as_it_stands():
    f = lambda t: linear.estimate_trace(np.exp(t * SKEW / 5), 4, 6, method="hutchinson").value
    h = 1e-5
    assert ad.grad(f)(0.3) == pytest.approx((f(0.3 + h) - f(0.3 - h)) / (2 * h), rel=1e-8)
    assert ad.grad(ad.grad(f))(0.3) == pytest.approx((f(0.3 + 1e-4) - 2 * f(0.3) + f(0.3 - 1e-4)) / 1e-8, rel=1e-5)


@pytest.mark.parametrize("method", ["hutch++", "xtrace"])
def test_transformations(method):
    f = lambda a: linear.estimate_trace(np.sin(a), 0, 12, method=method).value
    pair = np.stack([SKEW, DECAYING])
    assert_allclose(ad.vmap(f)(pair), [f(SKEW), f(DECAYING)], rtol=1e-11)
    value, slope = ad.jit(ad.value_and_grad(f))(SKEW)
    assert value == pytest.approx(f(SKEW), rel=1e-11)
    assert_allclose(slope, ad.grad(f)(SKEW), atol=1e-10)
    assert ad.jvp(f, (SKEW,), (pair[1],))[1] == pytest.approx(np.sum(slope * pair[1]), rel=1e-10)


def test_generators_move_on_and_seeds_do_not():
    again = [linear.estimate_trace(SKEW, 7, 8).value for _ in range(2)]
    assert again[0] == again[1]
    rng = ad.random.default_rng(7)
    compiled = ad.jit(lambda rng, a: linear.estimate_trace(a, rng, 8))
    first, second = compiled(rng, SKEW), compiled(rng, SKEW)
    assert first.value == pytest.approx(again[0], rel=1e-11)
    assert abs(second.value - first.value) > 1e-6
    assert "±" in repr(first)
    assert "xtrace, 8 products" in repr(first)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="not square"):
        linear.estimate_trace(np.ones((2, 3)), 0)
    with pytest.raises(TypeError, match="like=x"):
        linear.estimate_trace(lambda v: v, 0)
    with pytest.raises(ValueError, match=r"hutch\+\+"):
        linear.estimate_trace(SKEW, 0, method="other")
    with pytest.raises(ValueError, match="signs"):
        linear.estimate_trace(SKEW, 0, 4, probes="other")
    with pytest.raises(ValueError, match="at least 4"):
        linear.estimate_trace(SKEW, 0, 3)
    with pytest.raises(ValueError, match="bekas"):
        linear.estimate_diagonal(SKEW, 0, method="other")


def test_maps_without_elements():
    for A in (np.zeros((0, 0)), linear.diagonal({"a": np.zeros(0), "b": np.zeros((2, 0))})):
        for method in TRACES:
            assert linear.estimate_trace(A, 0, method=method).value == 0
        for method in DIAGONALS:
            assert all(leaf.size == 0 for leaf in ad.tree.leaves(linear.estimate_diagonal(A, 0, method=method).value))
        assert linear.estimate_logdet(A, 0).value == 0

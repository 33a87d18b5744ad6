"""All losses against scipy.stats, PyTorch's formulas in high precision and closed forms; under every transformation."""

import numpy as np
import pytest
import scipy.stats

import adjoint as ad
from adjoint.nn import losses

RNG = np.random.default_rng(0)
Z, Y = RNG.normal(size=(5, 4)), np.array([0, 3, 1, 2, 1])
F, T = RNG.normal(size=6), RNG.normal(size=6)
SIGNS = np.array([1, -1, 1, 1, -1, -1])


def test_regression_losses_are_negative_log_likelihoods() -> None:
    np.testing.assert_allclose(losses.gaussian_nll(F, 2.0, T), -scipy.stats.norm(F, 2.0).logpdf(T), rtol=1e-12)
    counts = np.array([0.0, 1.0, 5.0, 2.0, 3.0, 9.0])
    np.testing.assert_allclose(
        losses.poisson_nll(F, counts), -scipy.stats.poisson(np.exp(F)).logpmf(counts), rtol=1e-10
    )
    laplace = losses.nll_of(lambda y, mean: -np.abs(y - mean) - np.log(2.0))
    np.testing.assert_allclose(laplace(F, T), -scipy.stats.laplace(F).logpdf(T), rtol=1e-12)
    np.testing.assert_allclose(losses.log_cosh(F, T), np.log(np.cosh(F - T)), rtol=1e-12)


@pytest.mark.parametrize("name, args", [
    ("squared", (F, T)), ("absolute", (F, T)), ("huber", (F, T)), ("log_cosh", (F, T)),
    ("quantile", (F, T, 0.3)), ("gaussian_nll", (F, 0.7, T)), ("poisson_nll", (F, np.arange(6.0))),
    ("hinge", (F, SIGNS)), ("squared_hinge", (F, SIGNS)), ("exponential", (F, SIGNS)),
    ("logistic", (F, (SIGNS + 1) // 2)), ("cross_entropy", (Z, Y)), ("focal", (Z, Y)),
    ("soft_cross_entropy", (Z, np.full((5, 4), 0.25))),
])  # fmt: skip
def test_transformations(name: str, args: tuple) -> None:
    loss = getattr(losses, name)
    first, *rest = args
    total = lambda f: np.sum(loss(f, *rest))
    ad.check_grads(total, (first,))
    np.testing.assert_allclose(ad.jit(ad.grad(total))(first), ad.grad(total)(first), rtol=1e-10, atol=1e-12)
    rows = [r if np.ndim(r) else np.full(len(first), r) for r in rest]
    np.testing.assert_allclose(ad.vmap(loss)(first, *rows), loss(first, *rest), rtol=1e-12)
    _, (tangent,) = ad.jet(total, (first,), ((np.ones_like(first),),))
    np.testing.assert_allclose(tangent, ad.jvp(total, (first,), (np.ones_like(first),))[1], rtol=1e-10, atol=1e-12)


def test_quantile_loss_is_smallest_at_the_quantile() -> None:
    y = RNG.normal(size=401)
    risk = lambda f: np.mean(losses.quantile(f, y, 0.8))
    grid = np.sort(y)
    assert grid[np.argmin([risk(g) for g in grid])] == pytest.approx(np.quantile(y, 0.8), abs=0.02)


def test_extreme_logits_are_finite() -> None:
    z = np.array([[1000.0, -1000.0], [-1000.0, 1000.0]])
    value, gradient = ad.value_and_grad(lambda z: np.sum(losses.cross_entropy(z, np.array([1, 1]))))(z)
    assert value == 2000.0
    assert np.all(np.isfinite(gradient))
    assert np.all(np.isfinite(losses.logistic(np.array([-1e3, 1e3]), np.array([1, 0]))))


def test_smoothing_and_one_hot_targets() -> None:
    one_hot = np.eye(4)[Y]
    np.testing.assert_allclose(losses.cross_entropy(Z, one_hot), losses.cross_entropy(Z, Y))
    smooth = 0.9 * one_hot + 0.1 / 4
    np.testing.assert_allclose(losses.cross_entropy(Z, Y, smoothing=0.1), losses.soft_cross_entropy(Z, smooth))
    np.testing.assert_allclose(losses.focal(Z, Y, gamma=0.0), losses.cross_entropy(Z, Y))


@pytest.mark.parametrize("name", losses.MARGIN_LOSSES)
def test_minimizers_and_transforms_are_found_again(name: str) -> None:
    """The minimizer of the pointwise risk on a grid of chances, and ψ from the gap between two infima."""
    loss = losses.MARGIN_LOSSES[name]
    etas = np.array([0.1, 0.3, 0.45, 0.55, 0.8, 0.95])
    grid = np.linspace(-6.0, 6.0, 240_001)
    for eta in etas:
        risk = eta * loss.value(grid) + (1 - eta) * loss.value(-grid)
        best = np.min(risk)
        f = loss.minimizer(eta)
        assert eta * loss.value(f) + (1 - eta) * loss.value(-f) == pytest.approx(best, abs=1e-7)
        at_zero = loss.value(0.0)  # the least risk of those that choose the worse class
        theta = abs(2 * eta - 1)
        assert loss.psi(theta) == pytest.approx(at_zero - best, abs=1e-6)
    assert loss.is_consistent
    assert loss.derivative(0.0) < 0
    for m in (-1.3, 0.4, 2.2):
        assert loss.derivative(m) == pytest.approx(ad.grad(loss.value)(m), abs=1e-12)


def test_bad_input() -> None:
    with pytest.raises(ad.ShapeError, match=r"shape \(3, 1\) and the targets \(3,\)"):
        losses.squared(np.zeros((3, 1)), np.zeros(3))
    with pytest.raises(ValueError, match="class 4 is beyond the 4 classes"):
        losses.cross_entropy(Z, np.full(5, 4))
    with pytest.raises(ValueError, match="do not sum to 1"):
        losses.cross_entropy(Z, np.full((5, 4), 0.5))
    with pytest.warns(RuntimeWarning, match="as probabilities do"):
        losses.cross_entropy(np.array([[0.2, 0.8]]), np.array([0]))
    with pytest.raises(ValueError, match="classes must be 1 and -1"):
        losses.hinge(F, np.zeros(6))
    with pytest.raises(ValueError, match="targets are 0, 1"):
        losses.logistic(F, SIGNS)
    with pytest.raises(np.linalg.LinAlgError, match=r"linearly dependent.*losses.ridge"):
        losses.least_squares(np.ones((4, 2)), np.ones(4))
    with pytest.raises(ValueError, match="weights sum to zero"):
        losses.empirical_risk(np.ones(3), np.zeros(3))
    with pytest.raises(ValueError, match="'cauchy' is no prior"):
        losses.log_prior("cauchy", np.ones(2))


@pytest.mark.parametrize("name", ["squared", "absolute", "huber", "log_cosh", "gaussian_nll"])
def test_bytes_have_the_losses_of_their_numbers(name):
    f, y = np.array([200, 20], np.uint8), np.array([210, 0], np.uint8)
    loss = getattr(losses, name)
    more = (3.0,) if name == "gaussian_nll" else ()
    assert np.array_equal(loss(f, *more, y), loss(f.astype(float), *more, y.astype(float)))
    assert np.allclose(ad.jit(lambda f, y: loss(f, *more, y))(f, y), loss(f.astype(float), *more, y.astype(float)))


def test_parameters_of_losses_are_checked():
    with pytest.raises(ValueError, match="delta is -1"):
        losses.huber(np.zeros(2), np.ones(2), -1.0)
    with pytest.raises(ValueError, match=r"q is 1\.5"):
        losses.quantile(np.zeros(2), np.ones(2), 1.5)


def test_compiled_classes_do_not_count_from_the_end():
    with pytest.raises(IndexError):
        ad.jit(losses.cross_entropy)(np.eye(3)[:2], np.array([0, -1]))

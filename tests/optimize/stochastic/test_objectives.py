"""Finite sums: means of examples, the oracle's variance by enumeration."""

import itertools
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.optimize import FiniteSum
from adjoint.optimize.stochastic.objectives import read_loss
from tests.optimize.stochastic.problems import line, squares

X, Y = line(6, 2)
W = np.array([0.3, -0.7])


@pytest.mark.row("16.2a")
def test_mean_of_gradients_is_gradient_of_mean() -> None:
    mean = FiniteSum(squares, (X, Y))
    each = mean.example_gradients(W)
    by_hand = (X @ W - Y)[:, None] * X
    np.testing.assert_allclose(each, by_hand, rtol=1e-12)
    np.testing.assert_allclose(np.mean(each, axis=0), mean.gradient(W), rtol=1e-12)
    np.testing.assert_allclose(mean.gradient(W), ad.grad(lambda w: np.mean(squares(w, X, Y)))(W), rtol=1e-12)


@pytest.mark.row("16.2.1")
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("replace", [True, False])
def test_unbiased_with_variance_over_all_batches(size: int, replace: bool) -> None:
    """Every batch there is: the mean of their gradients is ∇L, their spread σ²/m."""
    mean = FiniteSum(squares, (X, Y))
    every = itertools.product(range(6), repeat=size) if replace else itertools.permutations(range(6), size)
    found = np.array([mean.gradient(W, np.array(batch)) for batch in every])
    np.testing.assert_allclose(found.mean(axis=0), mean.gradient(W), rtol=1e-12)
    spread = np.mean(np.sum((found - mean.gradient(W)) ** 2, axis=1))
    np.testing.assert_allclose(mean.variance(W, size, replace), spread, rtol=1e-12)
    if replace:
        np.testing.assert_allclose(spread, mean.variance(W, 1) / size, rtol=1e-12)


def test_weights() -> None:
    """Weights count examples: 2 is as if it were there twice."""
    weight = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 3.0])
    twice = np.repeat(np.arange(6), weight.astype(int))
    mean, copies = FiniteSum(squares, (X, Y), weight), FiniteSum(squares, (X[twice], Y[twice]))
    np.testing.assert_allclose(mean.value(W), copies.value(W), rtol=1e-14)
    np.testing.assert_allclose(mean.gradient(W), copies.gradient(W), rtol=1e-14)


@pytest.mark.parametrize("loss, spread, generator", [
    (lambda w, batch: 0.0, False, None),
    (lambda w, x, y: 0.0, True, None),
    (lambda w, batch, rng: 0.0, False, "rng"),
    (lambda w, x, y, rng: 0.0, True, "rng"),
    (lambda w, x, y, *, rng=None: 0.0, True, "rng"),
    (lambda w, x, y, drop: 0.0, True, ""),
])  # fmt: skip
def test_how_a_loss_is_called(loss: Any, spread: bool, generator: str | None) -> None:
    call = read_loss("test", loss, (X, Y))
    assert (call.spread, call.generator) == (spread, generator)


@pytest.mark.parametrize("loss, data, text", [
    (lambda w, x: np.ones(3), X, "6 examples"),
    (lambda w, x: (np.ones(6), np.ones(2)), X, "weights of shape"),
    (lambda w, a, b, c, d: 0.0, X, "takes 5 arguments"),
    (3.0, X, "function of"),
    (lambda w, x: np.ones(6) * 1j, X, "real numbers"),
    (lambda w, x: 0.0, (X, Y[:3]), "has 3 rows"),
    (lambda w, x: 0.0, (X, 1.0), "has no axis"),
    (lambda w, x: 0.0, np.zeros((0, 2)), "empty"),
])  # fmt: skip
def test_refusals(loss: Any, data: Any, text: str) -> None:
    with pytest.raises((TypeError, ad.ShapeError), match=text):
        FiniteSum(loss, data).value(W)

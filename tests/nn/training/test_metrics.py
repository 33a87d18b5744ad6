"""Metrics against scikit-learn, and exact over batches of any sizes."""

from typing import Any

import numpy as np
import pytest
import sklearn.metrics as sk

import adjoint as ad
from adjoint import nn
from adjoint.nn import metrics

rng = np.random.default_rng(0)
Z, Y = rng.normal(size=(37, 4)), rng.integers(0, 4, size=37)
P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
A, B = rng.normal(size=37), rng.normal(size=37)
C = rng.uniform(0.1, 2.0, size=37)
ONE_HOT = np.eye(4)[Y]

CASES = {
    "accuracy": (metrics.accuracy, Z, Y, lambda w: sk.accuracy_score(Y, Z.argmax(1), sample_weight=w)),
    "log_loss": (metrics.log_loss, Z, Y, lambda w: sk.log_loss(Y, P, sample_weight=w)),
    "perplexity": (metrics.perplexity, Z, Y, lambda w: np.exp(sk.log_loss(Y, P, sample_weight=w))),
    "brier": (metrics.brier, Z, Y, lambda w: np.average(np.sum((P - ONE_HOT) ** 2, axis=1), weights=w)),
    "top_k": (metrics.top_k(2), Z, Y, lambda w: sk.top_k_accuracy_score(Y, Z, k=2, sample_weight=w)),
    "r2": (metrics.r2, A, B, lambda w: sk.r2_score(B, A, sample_weight=w)),
    "absolute": (metrics.absolute_error, A, B, lambda w: sk.mean_absolute_error(B, A, sample_weight=w)),
    "squared": (metrics.squared_error, A, B, lambda w: sk.mean_squared_error(B, A, sample_weight=w)),
    "binary": (metrics.log_loss, A, (B > 0).astype(int), lambda w: sk.log_loss(
        B > 0, 1 / (1 + np.exp(-A)), sample_weight=w)),
    "binary accuracy": (metrics.accuracy, A, (B > 0).astype(int), lambda w: sk.accuracy_score(
        B > 0, A > 0, sample_weight=w)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_scikit_learn(name: str) -> None:
    metric, prediction, target, judge = CASES[name]
    np.testing.assert_allclose(metric(prediction, target), judge(None), rtol=1e-12)
    np.testing.assert_allclose(metric(prediction, target, C), judge(C), rtol=1e-12)
    np.testing.assert_allclose(ad.jit(metric)(prediction, target, C), judge(C), rtol=1e-12)
    for size in (1, 5, 36):
        data = ad.data.arrays(x=prediction, y=target)
        found = nn.evaluate(lambda x: x, data, {name: metric}, batch=size)
        np.testing.assert_allclose(found[name], judge(None), rtol=1e-12)


def test_confusion() -> None:
    found = 37 * metrics.confusion(4)(Z, Y)
    np.testing.assert_allclose(found, sk.confusion_matrix(Y, Z.argmax(1)), atol=1e-12)


def test_tokens() -> None:
    """Axes of the targets count: every token is an example."""
    z, y = rng.normal(size=(3, 5, 4)), rng.integers(0, 4, size=(3, 5))
    np.testing.assert_allclose(metrics.accuracy(z, y), np.mean(z.argmax(-1) == y))
    np.testing.assert_allclose(metrics.accuracy(z, y, np.array([1.0, 0.0, 0.0])), np.mean(z[0].argmax(-1) == y[0]))


def test_any_function_of_scikit_learn() -> None:
    found = nn.evaluate(lambda x: x, (Z, Y), {"f1": lambda t, p: sk.f1_score(t, p, average="macro")}, batch=10)
    np.testing.assert_allclose(found["f1"], sk.f1_score(Y, Z.argmax(1), average="macro"))


@pytest.mark.parametrize("call", [
    lambda: metrics.squared_error(A[:, None], B), lambda: metrics.accuracy(A[:5], Y), lambda: metrics.r2(A, B[:, None]),
])  # fmt: skip
def test_no_broadcasts(call: Any) -> None:
    """(n, 1) against (n,) is refused, never a table of n × n."""
    with pytest.raises(ad.ShapeError, match="do not fit"):
        call()

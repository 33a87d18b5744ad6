"""learning_rates: a rate that works, a model that stays, a curve that ends where it diverges."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.optimize import updates

RNG = lambda: ad.random.default_rng(0)
X = np.random.default_rng(0).normal(size=(128, 3))
DATA = ad.data.arrays(x=X, y=X @ np.array([1.0, -2.0, 0.5]))
loss = lambda w, batch: (batch["x"] @ w - batch["y"]) ** 2


def test_suggestion() -> None:
    start = np.zeros(3)
    found = nn.learning_rates(start, loss, DATA, updates.sgd, batch=16, rng=RNG(), smallest=1e-5, largest=10.0)
    assert np.all(start == 0.0)
    assert len(found.rates) == len(found.losses) == len(found.smooth)
    assert found.rates[-1] < 10.0  # 2/L is about 1: it was left where it diverged
    limit = 2 / np.linalg.eigvalsh(2 * X.T @ X / 128)[-1]
    assert 0.005 < found.suggestion < limit
    run = nn.fit(start, loss, DATA, updates.sgd(found.suggestion), epochs=5, batch=16, rng=RNG())
    assert run.history["loss"][-1] < 0.05 * run.history["loss"][0]
    np.testing.assert_allclose(found.rates[:2], [1e-5, 1e-5 * 1e6 ** (1 / 99)])


def test_refusals() -> None:
    with pytest.raises(ValueError, match="smallest < largest"):
        nn.learning_rates(np.zeros(3), loss, DATA, batch=16, rng=RNG(), smallest=1.0, largest=0.1)
    with pytest.raises(ValueError, match="smaller one"):
        nn.learning_rates(np.full(3, np.nan), loss, DATA, batch=16, rng=RNG())

"""SVRG, SAGA and the stochastic line search: linear rates where plain steps stay noisy."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.optimize import SAGA, SVRG, StochasticArmijo, train, updates
from tests.optimize.stochastic.problems import line, solve_squares, squares

X, Y = line(30, 3)
BETA = np.max(np.sum(X * X, axis=1))
RNG = lambda seed=0: ad.random.default_rng(seed)


def gap(found: Any) -> float:
    return float(np.max(np.abs(found.value - solve_squares(X, Y))))


@pytest.mark.parametrize("method", [SVRG(1 / (4 * BETA)), SAGA(1 / (3 * BETA)), SVRG(1 / (4 * BETA), every=30)])
@pytest.mark.parametrize("size", [1, 4])
def test_constant_steps_converge(method: Any, size: int) -> None:
    found = train(squares, np.zeros(3), (X, Y), method, batch=size, epochs=150 * size, rng=RNG())
    plain = train(squares, np.zeros(3), (X, Y), updates.sgd(method.learning_rate), batch=size, epochs=150, rng=RNG())
    assert gap(found) < 1e-7
    assert gap(plain) > 1e-4


def test_saga_by_hand() -> None:
    """Three steps with a table in NumPy, in the order of the epoch."""
    x, y = X[:3], Y[:3]
    found = train(squares, np.zeros(3), (x, y), SAGA(0.1), batch=1, rng=RNG(2))
    w, table = np.zeros(3), (x @ np.zeros(3) - y)[:, None] * x
    for i in ad.data.epoch_order(RNG(2), 0, 3):
        new = (x[i] @ w - y[i]) * x[i]
        w = w - 0.1 * (new - table[i] + table.mean(axis=0))
        table[i] = new
    np.testing.assert_allclose(found.value, w, rtol=1e-12)


@pytest.mark.row("16.2.4c")
def test_armijo_on_batches_is_linear_where_the_model_fits() -> None:
    """Interpolation: labels without noise. The error falls by a constant factor in every epoch."""
    x = X[:, :3]
    y = x @ np.array([1.0, 2.0, 3.0])
    errors: list[float] = []
    train(squares, np.zeros(3), (x, y), StochasticArmijo(), batch=3, epochs=30, rng=RNG(),
          callback=lambda now: errors.append(float(np.linalg.norm(now.x - [1.0, 2.0, 3.0]))))  # fmt: skip
    assert errors[-1] < 1e-9
    slope = np.polyfit(np.arange(30), np.log(errors), 1)[0]
    assert slope < -0.5


def test_armijo_condition_holds() -> None:
    """The step that is taken fulfills the condition on its own batch, and the one before it in the search does not."""
    w = np.array([5.0, 5.0, 5.0])
    found = train(squares, w, (X, Y), StochasticArmijo(first=10.0, sufficient=0.3, shrink=0.5), rng=RNG())
    g = ad.grad(lambda w: np.mean(squares(w, X, Y)))(w)
    value = lambda step: np.mean(squares(w - step * g, X, Y))
    step = float(found.state.rule["step"])
    np.testing.assert_allclose(found.value, w - step * g, rtol=1e-12)
    assert value(step) <= value(0.0) - 0.3 * step * g @ g
    assert value(2 * step) > value(0.0) - 0.6 * step * g @ g


def test_in_programs() -> None:
    for method in (SVRG(0.02), SAGA(0.02), StochasticArmijo()):
        end = lambda w, method=method: train(squares, w, (X, Y), method, batch=7, epochs=2, rng=RNG()).value
        np.testing.assert_allclose(ad.jit(end)(np.zeros(3)), end(np.zeros(3)), rtol=1e-9)
    ad.check_grads(lambda rate: np.sum(train(squares, np.zeros(3), (X, Y), SVRG(rate), batch=7, epochs=2,
                                             rng=RNG()).value), (0.02,), order=1)  # fmt: skip

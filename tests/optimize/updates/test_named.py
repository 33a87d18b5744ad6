"""Rules against torch.optim and optax, 200 steps each; tools/update_references.py makes the numbers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.optimize import updates

FROZEN = json.loads((Path(__file__).parents[2] / "data/updates.json").read_text())
START, CURVATURE = np.array(FROZEN["start"]), np.array(FROZEN["curvature"])
STEPS = 200

TORCH = {
    "sgd": lambda: updates.sgd(0.1, penalty=0.01),
    "momentum": lambda: updates.momentum(0.03, 0.9),
    "momentum dampened": lambda: updates.momentum(0.03, 0.9, dampening=0.5),
    "nesterov": lambda: updates.nesterov(0.03, 0.9),
    "adagrad": lambda: updates.adagrad(0.1),
    "adadelta": lambda: updates.adadelta(1.0),
    "rmsprop": lambda: updates.rmsprop(0.01),
    "rmsprop centered": lambda: updates.rmsprop(0.01, centered=True, momentum=0.9),
    "adam": lambda: updates.adam(0.05),
    "adam penalty": lambda: updates.adam(0.05, penalty=0.1),
    "adamw": lambda: updates.adamw(0.05, decay=0.1),
    "amsgrad": lambda: updates.amsgrad(0.05),
    "nadam": lambda: updates.nadam(0.05),
    "radam": lambda: updates.radam(0.05),
    "adamax": lambda: updates.adamax(0.05),
    "accumulated": lambda: updates.accumulate(updates.adam(0.05), 4),
}
OPTAX = {
    "sgd": lambda: updates.sgd(0.1),
    "momentum": lambda: updates.momentum(0.03, 0.9),
    "nesterov": lambda: updates.nesterov(0.03, 0.9),
    "adagrad": lambda: updates.adagrad(0.1, 0.0, initial=0.1, eps_root=1e-7),
    "adadelta": lambda: updates.adadelta(1.0),
    "rmsprop": lambda: updates.rmsprop(0.01, 0.9, 0.0, eps_root=1e-8),
    "adam": lambda: updates.adam(0.05, eps_root=1e-6),
    "adamw": lambda: updates.adamw(0.05, decay=0.1),
    "nadam": lambda: updates.nadam(0.05, momentum_decay=None),
    "adamax": lambda: updates.adamax(0.05),
    "lion": lambda: updates.lion(0.01, decay=0.1),
    "lamb": lambda: updates.lamb(0.01, decay=0.1),
    "clipped": lambda: updates.chain(updates.clip_by_norm(1.0), updates.adam(0.05)),
    "cosine": lambda: updates.adam(updates.cosine(0.05, 150, 0.005)),
    "warm-up": lambda: updates.sgd(updates.warm_up(20, updates.cosine(0.1, 160, 0.01))),
    "plateau": lambda: updates.chain(updates.sgd(0.1), updates.on_plateau(0.5, patience=2, tolerance=0.1, cooldown=2)),
}


def gradient(w: Any, k: Any) -> Any:
    return CURVATURE * w + np.sin(w) + 0.1 * np.sin(np.arange(len(START)) + 0.7 * k)


def run(rule: updates.Rule, compiled: bool = False) -> list[Any]:
    def advance(w: Any, state: Any, k: Any) -> Any:
        value = np.sum(CURVATURE * w * w)
        step, state = rule.update(gradient(w, k), state, w, value=value)
        return updates.apply(w, step), state

    advance = ad.jit(advance) if compiled else advance
    w, state, seen = START, rule.init(START), []
    for k in range(STEPS):
        w, state = advance(w, state, k)
        if k % 20 == 19 or k < 3:
            seen.append(w)
    return seen


@pytest.mark.parametrize("name", TORCH)
@pytest.mark.row("16.2.4d")
def test_torch(name: str) -> None:
    np.testing.assert_allclose(run(TORCH[name]()), FROZEN["torch"][name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", OPTAX)
def test_optax(name: str) -> None:
    np.testing.assert_allclose(run(OPTAX[name]()), FROZEN["optax"][name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["rmsprop centered", "nadam", "radam", "amsgrad"])
def test_compiled(name: str) -> None:
    np.testing.assert_allclose(run(TORCH[name](), compiled=True), FROZEN["torch"][name], rtol=1e-12, atol=1e-12)


@pytest.mark.row("16.2.4d")
def test_adam_of_the_text() -> None:
    """f = w² from 1: the first step is γ sign g, whatever the gradient."""
    rule = updates.adam(0.1)
    w, state, seen = 1.0, rule.init(1.0), []
    for _ in range(3):
        step, state = rule.update(2 * w, state, w)
        w = w - step
        seen.append(w)
    np.testing.assert_allclose(seen, [0.9000000005, 0.8004122286918, 0.7015862729460], rtol=1e-12)


def descend(rule: updates.Rule, w: Any, slope: Callable[[Any], Any], steps: int) -> tuple[Any, Any]:
    state = rule.init(w)
    for _ in range(steps):
        step, state = rule.update(slope(w), state, w)
        w = updates.apply(w, step)
    return w, state


@pytest.mark.row("16.2.3a")
def test_momentum_is_heavy_ball() -> None:
    """Both conventions are the method of Polyak where γ is constant, and differ where it is not."""
    H, w = np.array([0.1, 1.0]), np.ones(2)
    method = ad.optimize.HeavyBall(0.5, 0.8)
    seen: list[Any] = []
    ad.optimize.minimize(lambda w: 0.5 * np.sum(H * w * w), w, method=method, max_iterations=30, tol=0.0,
                         callback=lambda now: seen.append(now.x))  # fmt: skip
    for inside in (False, True):
        rule = updates.momentum(0.5, 0.8, inside=inside)
        found, state = w, rule.init(w)
        for polyak in seen:
            step, state = rule.update(H * found, state, found)
            found = updates.apply(found, step)
            np.testing.assert_allclose(found, polyak, rtol=1e-14, atol=1e-15)
    rate = updates.exponential(0.5, 0.5)
    ends = [descend(updates.momentum(rate, 0.8, inside=inside), w, lambda w: H * w, 5)[0] for inside in (False, True)]
    v, plain = np.zeros(2), w
    for t in range(5):  # γ inside
        v = 0.8 * v - 0.5 * 0.5**t * H * plain
        plain = plain + v
    np.testing.assert_allclose(ends[1], plain, rtol=1e-14)
    assert np.all(np.abs(ends[0] - ends[1]) > 1e-2)


@pytest.mark.row("16.2.3b")
def test_nesterov_of_the_text() -> None:
    """v⁺ = νv + g(w - γνv), w⁺ = w - γv⁺: 60 steps with H = diag(0.1, 1), γ = 0.9, ν = 0.8 from (1, 1)."""
    H, gamma, nu = np.array([0.1, 1.0]), 0.9, 0.8
    ahead, state = descend(updates.nesterov(gamma, nu), np.ones(2), lambda w: H * w, 60)
    w = ahead + gamma * nu * state["parts"][0]["velocity"]
    np.testing.assert_allclose(0.5 * np.sum(H * w * w), 9.453e-11, rtol=1e-3)
    x, v = np.ones(2), np.zeros(2)
    for _ in range(60):
        v = nu * v + H * (x - gamma * nu * v)
        x = x - gamma * v
    np.testing.assert_allclose(w, x, rtol=1e-10, atol=1e-16)

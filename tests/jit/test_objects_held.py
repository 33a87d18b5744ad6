"""What functions read that objects of this library hold: a loss, a schedule, a constraint.

Each test compares with the plain function, called at the same time.
"""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optimize
from adjoint.optimize import updates

RATE: Any = 2.0
SHIFT = np.array([1.0, 0.0])
X = np.array([0.5, 2.0])


class Settings:
    scale = 1.0


SETTINGS = Settings()


def loss(w: Any, x: Any) -> Any:
    return SETTINGS.scale * (w - RATE * x - SHIFT[0]) ** 2


def change(number: int) -> None:
    global RATE
    if number == 0:
        RATE = 2.0
        SHIFT[0], SETTINGS.scale = 1.0, 1.0
    elif number == 1:
        RATE = 5.0
    elif number == 2:
        SHIFT[0] = 7.0
    else:
        SETTINGS.scale = 0.25


STEP = optimize.training_step(loss, updates.sgd(lambda t: 0.1 * RATE))
FINITE = optimize.FiniteSum(loss, X)
SMALLER = optimize.inequality(lambda x: x - RATE * SHIFT[0])


FUNCTIONS: dict[str, Any] = {
    "a step": STEP,
    "a step that is named": lambda state, x: STEP(state, x),
    "a step among the arguments": lambda state, x, step: step(state, x),
    "a finite sum": lambda state, x: FINITE.gradient(state.params, np.array([0, 1])),
    "a constraint": lambda state, x: SMALLER.function(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_changes_are_seen(name: str) -> None:
    change(0)
    function, compiled = FUNCTIONS[name], ad.jit(FUNCTIONS[name])
    args = STEP.init(0.3), X, *([STEP] if "arguments" in name else [])
    seen = []
    for number in range(4):
        change(number)
        for _ in range(2):
            found, expected = (ad.tree.leaves(f(*args)) for f in (compiled, function))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9)
        seen.append(np.sum([np.sum(leaf) for leaf in expected]))
    assert len(set(seen)) >= 3
    change(0)


def train(compile: bool) -> Any:  # noqa: A002
    rng, rule = ad.random.default_rng(0), updates.sgd(lambda t: 0.01 * RATE)
    return optimize.train(loss, 0.3, X, rule, batch=1, epochs=3, rng=rng, validation=X, compile=compile).validation


def fit(compile: bool) -> Any:  # noqa: A002
    rng, rule = ad.random.default_rng(0), updates.sgd(lambda t: 0.01 * RATE)
    model, data = {"w": np.float64(0.3)}, ad.data.arrays(x=X)
    by_batch = lambda model, batch: loss(model["w"], batch["x"])
    return nn.fit(model, FIXED.setdefault("loss", by_batch), data, rule, batch=1, epochs=3, rng=rng, compile=compile
                  ).model["w"]  # fmt: skip


FIXED: dict[str, Any] = {}


@pytest.mark.parametrize("run", [train, fit])
def test_programs_that_runs_share_see_them(run: Any) -> None:
    change(0)
    seen = []
    for number in range(4):
        change(number)
        seen.append(run(True))
        np.testing.assert_allclose(seen[-1], run(False), rtol=1e-9)
    assert len(set(seen)) == 4
    change(0)

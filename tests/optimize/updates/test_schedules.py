"""Schedules against optax's, at their ends, and as leaves."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.optimize import updates

FROZEN = json.loads((Path(__file__).parents[2] / "data/updates.json").read_text())["schedules"]
SCHEDULES = {
    "cosine": lambda: updates.cosine(0.3, 50, 0.03),
    "exponential": lambda: updates.exponential(0.3, 0.7, 10, staircase=True, end=0.05),
    "polynomial": lambda: updates.polynomial(0.3, 0.02, 50, 2.0),
    "piecewise": lambda: updates.piecewise(0.3, {10: 0.5, 30: 0.1}),
    "warm-up": lambda: updates.warm_up(10, updates.cosine(0.3, 40, 0.03)),
    "one-cycle": lambda: updates.one_cycle(0.3, 60),
    "restarts": lambda: updates.cosine_restarts(0.3, 10, growth=2),
}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.row("16.2.2b")
def test_optax(name: str) -> None:
    schedule = SCHEDULES[name]()
    counts = [t for t in range(0, 80, 3) if name != "restarts" or t < 70]
    expected = FROZEN[name][: len(counts)]
    np.testing.assert_allclose([schedule(t) for t in counts], expected, rtol=1e-12, atol=1e-16)
    np.testing.assert_allclose(ad.jit(ad.vmap(schedule))(np.array(counts)), expected, rtol=1e-12, atol=1e-16)


@pytest.mark.row("16.2.2b")
def test_ends_and_middles() -> None:
    cosine = updates.cosine(1.0, 10, 0.2)
    np.testing.assert_allclose([cosine(0), cosine(5), cosine(10), cosine(1000)], [1.0, 0.6, 0.2, 0.2], rtol=1e-15)
    falling = updates.inverse_sqrt(3.0)
    np.testing.assert_allclose([falling(t) for t in (0, 3, 8)], [3.0, 1.5, 1.0])
    steps = updates.piecewise(1.0, {2: 0.5, 4: 0.5})
    assert [float(steps(t)) for t in range(5)] == [1.0, 1.0, 0.5, 0.5, 0.25]
    restarts = updates.cosine_restarts(1.0, 4, growth=2, decay=0.5)
    np.testing.assert_allclose([restarts(t) for t in (0, 4, 12, 28)], [1.0, 0.5, 0.25, 0.125])
    assert float(updates.constant(0.3)(9)) == 0.3


def test_numbers_are_leaves() -> None:
    """One compiled program serves schedules of other numbers, and a schedule has a gradient."""
    at = ad.jit(lambda schedule, t: schedule(t))
    assert [float(at(updates.cosine(start, 10), 0)) for start in (1.0, 2.0, 3.0)] == [1.0, 2.0, 3.0]
    assert "1 specialization" in str(at.report())
    slope = ad.grad(lambda schedule: schedule(5))(updates.linear(1.0, 0.0, 10.0))
    np.testing.assert_allclose([slope.numbers["start"], slope.numbers["end"]], [0.5, 0.5])


@pytest.mark.parametrize("bad", [
    lambda: updates.cosine(1.0, 0), lambda: updates.join([0.1, 0.2], []), lambda: updates.cosine_restarts(1.0, 0.5),
])  # fmt: skip
def test_bad_schedules(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"steps|boundaries"):
        bad()

"""Callbacks, progress and the record of steps."""

from functools import partial

import numpy as np
import pytest

import adjoint as ad
from adjoint.integrate import solve


def decay(t, y, k):
    return {"a": -k * y["a"]}


def test_a_callback_sees_every_step_once():
    seen = []
    end = lambda k, adjoint: solve(
        decay, (0.0, 1.0), {"a": np.ones(2)}, args=(k,), callback=lambda t, y: seen.append((float(t), y["a"][0])),
        adjoint=adjoint, method="tsit5",
    )  # fmt: skip
    path = end(2.0, "discretize")
    assert len(seen) == path.steps
    np.testing.assert_allclose([y for _, y in seen], [np.exp(-2 * t) for t, _ in seen], rtol=1e-5)
    for adjoint in ("discretize", "backsolve"):
        seen.clear()
        ad.grad(lambda k, adjoint=adjoint: end(k, adjoint).last["a"][0])(2.0)
        assert len(seen) == path.steps


def test_the_record_of_steps():
    run = lambda k, **how: solve(decay, (0.0, 1.0), {"a": np.ones(2)}, args=(k,), history=True, method="tsit5", **how)
    path = run(2.0)
    record = path.history
    assert record.starts.shape == (path.steps,)
    np.testing.assert_allclose(np.append(record.starts, 1.0)[1:], record.starts + record.sizes, rtol=1e-14)
    assert np.all(record.errors <= 1.0)
    assert np.sum(record.rejections) == path.rejections
    compiled = ad.jit(lambda k: run(k, max_steps=100).history)(2.0)
    np.testing.assert_array_equal(compiled.sizes[: path.steps], record.sizes)
    assert np.all(np.isnan(compiled.sizes[path.steps :]))
    with pytest.raises(ValueError, match="history=True"):
        solve(lambda t, y: -y, (0.0, 1.0), 1.0, method="reversible-heun", adjoint="reversible", history=True)


def test_no_step_is_longer_or_shorter_than_allowed():
    sizes = lambda method, **how: solve(
        lambda t, y: -y, (0.0, 1.0), 1.0, history=True, method=method, **how
    ).history.sizes  # fmt: skip
    assert np.max(sizes("bosh3", max_step=0.05, first_step=0.5)) <= 0.05
    assert np.max(sizes("euler", max_step=0.125, first_step=0.5)) <= 0.125
    assert np.min(sizes("bosh3", min_step=0.02, atol=1e-3, rtol=1e-3)[:-2]) >= 0.02


def test_progress_is_shown(capsys):
    solve(decay, (0.0, 1.0), {"a": np.ones(2)}, args=(2.0,), progress="decay of a", method="bosh3")
    shown = capsys.readouterr()
    assert "decay of a" in shown.out + shown.err


def test_right_sides_without_source():
    """From exec, partial, callable objects, bound methods, ufuncs of NumPy, two lambdas on one line."""
    space: dict = {"np": np}
    exec("def f(t, y, k):\n    return -k * y\n", space)

    class Equation:
        def __init__(self, k):
            self.k = k

        def __call__(self, t, y):
            return -self.k * y

        def rate(self, t, y):
            return -self.k * y

    one, two = (lambda t, y: -2.0 * y), (lambda t, y: -3.0 * y)
    end = lambda f, *args: solve(f, (0.0, 1.0), 1.0, args=args, rtol=1e-9, atol=1e-9, method="tsit5").last
    for found, k in (
        (end(partial(lambda k, t, y: -k * y, 2.0)), 2.0), (end(Equation(2.0)), 2.0), (end(Equation(3.0).rate), 3.0),
        (end(one), 2.0), (end(two), 3.0), (end(space["f"], 2.0), 2.0),
    ):  # fmt: skip
        np.testing.assert_allclose(found, np.exp(-k), rtol=1e-7)
    np.testing.assert_allclose(ad.grad(lambda k: end(Equation(k)))(2.0), -np.exp(-2.0), rtol=1e-6)
    np.testing.assert_allclose(
        ad.grad(lambda k: end(partial(lambda k, t, y: -k * y, k)))(2.0), -np.exp(-2.0), rtol=1e-6
    )

"""The step: parts of a batch, weights, masks, generators of a step, precision."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.optimize import training_step, updates
from tests.optimize.stochastic.problems import line, squares

X, Y = line(12, 3)
W = np.array([0.3, -0.7, 0.2])


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_parts_of_a_batch_give_the_gradient_of_the_batch(parts: int) -> None:
    """x₁/n₁ + x₂/n₂ is not (x₁ + x₂)/(n₁ + n₂): weights make the parts unequal."""
    weight = np.array([0.0, 0.0, 5.0, 1.0, 1.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0])
    whole = ad.grad(lambda w: np.sum(weight * squares(w, X, Y)) / np.sum(weight))(W)
    step = training_step(squares, updates.sgd(0.1), accumulate=parts)
    report, found = step.gradient(W, (X, Y), weight)
    np.testing.assert_allclose(found, whole, rtol=1e-13)
    np.testing.assert_allclose(report.value, np.sum(weight * squares(W, X, Y)) / np.sum(weight), rtol=1e-13)
    state, _ = ad.jit(step)(step.init(W), (X, Y), weight)
    np.testing.assert_allclose(state.params, W - 0.1 * whole, rtol=1e-13)


def test_losses_of_several_axes_and_own_weights() -> None:
    """Losses of tokens: the mean is over tokens that count, not over sequences."""
    mask = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    loss = lambda w, batch: (w * batch["x"], batch["mask"])
    x = np.array([[1.0, 2.0, 100.0], [6.0, 100.0, 100.0]])
    step = training_step(loss, updates.sgd(1.0))
    report, found = step.gradient(2.0, {"x": x, "mask": mask})
    assert (float(report.value), float(found), float(report.weight)) == (6.0, 3.0, 3.0)
    assert float(step.gradient(2.0, {"x": x, "mask": mask}, np.array([1.0, 0.0]))[1]) == 1.5


def test_masks_leave_leaves_and_their_memory_alone() -> None:
    model = {"body": [np.ones(2), np.ones(2)], "head": np.ones(2), "steps": np.arange(3)}
    loss = lambda w, x: x * np.sum(w["body"][0] * w["body"][1] + w["head"])
    for choice in (["body[-1]", "head"], lambda path, leaf: "0" not in path):
        step = training_step(loss, updates.adamw(0.1, decay=0.5), trainable=choice)
        state = step.init(model)
        assert len(ad.tree.leaves(state.rule)) == 2 * 2 + 4
        state, _ = step(state, np.ones(3))
        assert np.all(state.params["body"][0] == 1.0)
        assert np.all(state.params["body"][1] != 1.0)
        assert np.all(state.params["head"] != 1.0)
        assert state.params["steps"].tolist() == [0, 1, 2]


def test_generators_belong_to_steps() -> None:
    loss = lambda w, x, rng: w * rng.normal(size=x.shape)
    step, rng = training_step(loss, updates.sgd(1.0)), ad.random.default_rng(3)
    first, _ = step(step.init(0.0), np.ones(4), None, rng)
    again, _ = step(step.init(0.0), np.ones(4), None, rng)
    second, _ = step(first, np.ones(4), None, rng)
    assert first.params == again.params
    assert second.params - first.params != first.params
    assert int(rng.counter) == 0
    in_parts = training_step(loss, updates.sgd(1.0), accumulate=2)
    drawn = in_parts.gradient(0.0, np.ones(4), None, rng.at(1).at(0))[1]
    halves = [rng.at(1).at(0).at(k).normal(size=2) for k in (0, 1)]
    np.testing.assert_allclose(drawn, np.mean(halves))


def test_single_precision_stays() -> None:
    """No array of doubles appears in a step of a single-precision model."""
    loss = lambda w, x, y: (np.tanh(x @ w["w"]) + w["b"] - y) ** 2
    params = {"w": np.ones(3, np.float32), "b": np.float32(0.0)}
    data = (X.astype(np.float32), Y.astype(np.float32))
    step = training_step(loss, updates.chain(updates.clip_by_norm(1.0), updates.adamw(updates.cosine(1e-3, 10))))
    state, report = ad.jit(step)(step.init(params), data)
    assert report.value.dtype == np.float64
    assert state.params["w"].dtype == state.params["b"].dtype == np.float32
    program = ad.trace(step)(step.init(params), data)
    wide = [str(line) for line in str(program).splitlines() if "float64[3]" in line]
    assert not wide, wide


def test_vmap_over_models() -> None:
    step = training_step(squares, updates.adam(0.1))
    many = ad.vmap(step.init)(np.stack([W, 2 * W]))
    after, reports = ad.vmap(step, in_axes=(0, None))(many, (X, Y))
    for k, w in enumerate((W, 2 * W)):
        state, report = step(step.init(w), (X, Y))
        np.testing.assert_allclose(after.params[k], state.params, rtol=1e-13)
        np.testing.assert_allclose(reports.total[k], report.total, rtol=1e-13)


@pytest.mark.parametrize("call, text", [
    (lambda: training_step(squares, 0.1), "updates.adam"),
    (lambda: training_step(lambda w, x: np.sum(w), updates.sgd(0.1), accumulate=2).gradient(W, X), "one number"),
    (lambda: training_step(lambda w, x: np.sum(w), updates.sgd(0.1)).gradient(W, X, np.ones(12)), "one number"),
    (lambda: training_step(squares, updates.sgd(0.1), accumulate=5).gradient(W, (X, Y)), "5 equal parts"),
    (lambda: training_step(lambda w, x, rng: x, updates.sgd(0.1)).gradient(W, X), "generator"),
    (lambda: training_step(squares, updates.sgd(0.1), trainable=["q"]).init(W), "nothing at 'q'"),
    (lambda: training_step(squares, updates.sgd(0.1)).init(np.arange(3)), "no leaf"),
])  # fmt: skip
def test_refusals(call: Any, text: str) -> None:
    with pytest.raises((TypeError, ad.AdjointError), match=text):
        call()

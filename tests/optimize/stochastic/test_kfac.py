"""K-FAC: exact for one example, a direction of descent, the inverse of the damped product, and training with it."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.optimize import KFAC, train
from adjoint.optimize.stochastic.kfac import divide

RNG = np.random.default_rng(0)
CLASSES = np.eye(3)


def outer(z: Any, y: Any) -> Any:
    return np.log(np.sum(np.exp(z))) - np.dot(z, y)


def network(p: Any, x: Any) -> Any:
    return np.tanh(x @ p["W"] + p["b"]) @ p["V"].T + p["c"]


def start() -> Any:
    rng = np.random.default_rng(1)
    return {"W": rng.normal(size=(4, 5)) / 2, "b": np.zeros(5), "V": rng.normal(size=(3, 5)) / 2, "c": np.zeros(3)}


DATA = RNG.normal(size=(60, 4)), CLASSES[RNG.integers(0, 3, 60)]

LAYERS = {
    "s W": ((4, 3), lambda W, x: x @ W),
    "W s": ((3, 4), lambda W, x: W @ x),
    "s Wᵀ": ((3, 4), lambda W, x: x @ W.T),
    "dot": ((4, 3), lambda W, x: np.dot(x, W)),
    "tensordot": ((4, 3), lambda W, x: np.tensordot(x, W, 1)),
    "einsum": ((3, 4), lambda W, x: np.einsum("oi,i->o", W, x)),
    "before a function": ((4, 3), lambda W, x: np.tanh(2 * (x @ W))),
}


@pytest.mark.row("17.3.2b")
@pytest.mark.parametrize("name", LAYERS)
def test_exact_for_one_layer_and_one_example(name: str) -> None:
    """F = x xᵀ ⊗ E[g gᵀ], with the expectation over outcomes of the model taken by enumeration."""
    shape, layer = LAYERS[name]
    W, x = RNG.normal(size=shape), RNG.normal(size=4)
    block = ad.curvature.kronecker_gauss_newton(outer, layer, samples=(x[None], CLASSES[:1]))(W)
    p = np.exp(layer(W, x)) / np.sum(np.exp(layer(W, x)))
    scores = [np.ravel(ad.grad(lambda W, y=y: outer(layer(W, x), y))(W)) for y in CLASSES]
    fisher = sum(q * np.outer(g, g) for q, g in zip(p, scores, strict=True))
    assert type(block).__name__ == "Kronecker"
    np.testing.assert_allclose(block.to_dense(), fisher, atol=1e-14)


def test_factors_of_many_examples_are_means() -> None:
    p = start()
    blocks = ad.curvature.kronecker_gauss_newton(outer, network, samples=DATA)(p)
    exact = ad.curvature.gauss_newton(outer, network, samples=DATA)(p)
    np.testing.assert_allclose(blocks["b"].to_dense(), exact["b"]["b"], atol=1e-13)
    inputs = DATA[0].T @ DATA[0] / 60
    np.testing.assert_allclose(blocks["W"].to_dense(), np.kron(inputs, exact["b"]["b"]), atol=1e-13)
    hidden = np.tanh(DATA[0] @ p["W"] + p["b"])
    np.testing.assert_allclose(blocks["V"].to_dense(), np.kron(exact["c"]["c"], hidden.T @ hidden / 60), atol=1e-13)


def test_rows_are_examples_and_uses_are_added() -> None:
    X = RNG.normal(size=(1, 5, 4))
    square = lambda z, y: 0.5 * np.sum((z - y) ** 2)
    W = RNG.normal(size=(4, 4))
    rows = ad.curvature.kronecker_gauss_newton(square, lambda W, x: x @ W, samples=(X, 0 * X))(W)
    np.testing.assert_allclose(rows.to_dense(), np.kron(X[0].T @ X[0] / 5, 5 * np.eye(4)), atol=1e-13)
    twice = ad.curvature.kronecker_gauss_newton(square, lambda W, x: x @ W @ W, samples=(X[:, 0], 0 * X[:, 0]))(W)
    A = (np.outer(X[0, 0], X[0, 0]) + np.outer(X[0, 0] @ W, X[0, 0] @ W)) / 2
    np.testing.assert_allclose(twice.to_dense(), np.kron(A, W @ W.T + np.eye(4)), atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [lambda W, x: x @ W @ W.T, lambda W, x: x @ W + W[0], lambda W, x: x @ (2.0 * W), lambda W, x: np.diag(W @ W) + x],
)
def test_what_is_no_product_with_the_matrix_has_its_exact_block(model: Any) -> None:
    W, x = RNG.normal(size=(4, 4)), RNG.normal(size=(3, 4))
    square = lambda z, y: 0.5 * np.sum((z - y) ** 2)
    block = ad.curvature.kronecker_gauss_newton(square, model, samples=(x, 0 * x))(W)
    exact = np.reshape(ad.curvature.gauss_newton(square, model, samples=(x, 0 * x))(W), (16, 16))
    np.testing.assert_allclose(block.to_dense(), exact, atol=1e-12)


@pytest.mark.row("17.3.2b")
def test_steps_are_descent_directions_by_the_damped_inverse() -> None:
    p = start()
    gradient = ad.grad(lambda p: np.mean(ad.vmap(lambda x, y: outer(network(p, x), y))(*DATA)))(p)
    blocks = ad.curvature.kronecker_gauss_newton(outer, network, samples=DATA)(p)
    for damping in (1e-6, 1e-2, 10.0):
        total = 0.0
        for name, g in gradient.items():
            dense = blocks[name].to_dense()
            factors = blocks[name].factors if name in "WV" else (blocks[name],)
            step = divide(tuple(part.to_dense() for part in factors), g, damping)
            np.testing.assert_allclose(np.ravel(step), np.linalg.solve(dense + damping * np.eye(len(dense)), g.ravel()),
                                       rtol=1e-6, atol=1e-9)  # fmt: skip
            total += np.vdot(g, step)
        assert total > 0


def test_training_does_not_depend_on_units_of_the_inputs() -> None:
    """(M A Mᵀ)⁻¹ undoes a change of variables x → M x, W → M⁻ᵀ W; plain gradients do not."""
    x = DATA[0]
    labels = CLASSES[np.argmax(x @ RNG.normal(size=(4, 3)), axis=1)]
    M = np.diag([1.0, 30.0, 0.1, 3.0]) + 0.3 * RNG.normal(size=(4, 4))
    moved = {**start(), "W": np.linalg.solve(M.T, start()["W"])}
    loss = KFAC(network, outer).loss
    changed = {}
    for name, method in {"kfac": KFAC(network, outer, 0.3, 1e-9, 60), "sgd": ad.optimize.updates.sgd(0.3)}.items():
        options: Any = {"batch": 30, "epochs": 10, "rng": ad.random.default_rng(0)}
        one = train(loss, start(), (x, labels), method, **options).history["fun"]
        other = train(loss, moved, (x @ M.T, labels), method, **options).history["fun"]
        assert one[-1] < one[0]
        changed[name] = np.max(np.abs(one - other))
    assert changed["kfac"] < 1e-4
    assert changed["sgd"] > 0.1


def test_large_leaves_that_are_in_no_product_keep_a_diagonal() -> None:
    scaled = lambda w, x: np.sum(w * x)
    x = RNG.normal(size=(7, 600))
    block = ad.curvature.kronecker_gauss_newton(lambda z, y: 0.5 * (z - y) ** 2, scaled, samples=(x, np.zeros(7)))
    np.testing.assert_allclose(block(np.zeros(600)).diagonal(), np.mean(x**2, axis=0), rtol=1e-12)
    method = KFAC(scaled, lambda z, y: 0.5 * (z - y) ** 2, 0.001, damping=1.0)
    found = train(method.loss, np.zeros(600), (x, x[:, 0]), method, epochs=3, rng=ad.random.default_rng(0))
    assert found.history["fun"][-1] < found.history["fun"][0]


def test_refusals() -> None:
    method = KFAC(network, outer)
    with pytest.raises(TypeError, match="rng="):
        train(method.loss, start(), DATA, method)
    with pytest.raises(ValueError, match="60 examples"):
        too_many = KFAC(network, outer, curvature_batch=500)
        train(method.loss, start(), DATA, too_many, rng=ad.random.default_rng(0))

"""Handwritten digits with wrong labels: each image gets a weight, learned through the fit that it takes part in.

    python examples/hyper_cleaning.py [training images]

    W*(a) = argmin Σᵢ σ(aᵢ) ℓ(W; xᵢ, yᵢ) / n + λ ‖W‖²        min over a of ℓ(W*(a); clean images)

The inner problem is solved by SciPy, which knows nothing of the weights' derivatives. They are those of ∇f(W, a) = 0:
one linear solve for the gradient in all of them.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_digits

import adjoint as ad
from adjoint import implicit

RIDGE = 1e-3


def data(train: int, clean: int = 100, wrong: float = 0.45) -> dict[str, Any]:
    """Training images of which some labels are wrong, a few clean ones, and the rest to test on."""
    images, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(labels))
    images, labels = images[order] / 16.0, labels[order]
    noisy = labels[:train].copy()
    is_wrong = rng.uniform(size=train) < wrong
    noisy[is_wrong] = (noisy[is_wrong] + rng.integers(1, 10, size=int(is_wrong.sum()))) % 10
    parts = np.split(np.arange(len(labels)), [train, train + clean])
    names = ("train", "clean", "test")
    found = {name: (images[part], labels[part]) for name, part in zip(names, parts, strict=True)}
    return found | {"train": (images[:train], noisy), "is_wrong": is_wrong}


def losses(W: Any, images: Any, labels: Any) -> Any:
    """The logarithmic loss of each image; W has a last row of offsets."""
    scores = images @ W[:-1] + W[-1]
    top = np.max(scores, axis=1, keepdims=True)
    normal = np.log(np.sum(np.exp(scores - top), axis=1)) + top[:, 0]
    return normal - np.take_along_axis(scores, labels[:, None], axis=1)[:, 0]


def weighted(W: Any, a: Any, images: Any, labels: Any) -> Any:
    return np.mean(losses(W, images, labels) / (1 + np.exp(-a))) + RIDGE * np.sum(W**2)


def fitted(images: Any, labels: Any, tolerance: float = 1e-13) -> Any:
    """a ↦ W*, by Newton's method with conjugate gradients; it starts where it ended last."""
    objective = ad.jit(ad.value_and_grad(lambda v, a: weighted(v.reshape(65, 10), a, images, labels)))
    curvature = ad.jit(
        lambda v, d, a: ad.jvp(ad.grad(lambda v: weighted(v.reshape(65, 10), a, images, labels)), (v,), (d,))[1]
    )
    last = [np.zeros(650)]

    def solver(a: Any) -> Any:
        found = minimize(objective, last[0], args=(a,), jac=True, method="L-BFGS-B", options={"maxiter": 300})
        v = found.x
        for _ in range(20):
            gradient = objective(v, a)[1]
            if np.linalg.norm(gradient) < tolerance:
                break
            v = v - ad.linear.cg(lambda d, v=v: curvature(v, d, a), gradient, tol=1e-6).value
        last[0] = v
        return v.reshape(65, 10)

    return solver


def accuracy(W: Any, images: Any, labels: Any) -> float:
    return float(np.mean(np.argmax(images @ W[:-1] + W[-1], axis=1) == labels))


def problem(train: int, linear: Any = "auto") -> tuple[dict[str, Any], Any, Any]:
    """The data, the solver of the inner problem, and the loss of the clean images as a function of the weights."""
    found = data(train)
    images, labels = found["train"]
    solver = fitted(images, labels)
    W = implicit.argmin(lambda W, a: weighted(W, a, images, labels), solver, linear=linear)
    return found, solver, lambda a: np.mean(losses(W(a), *found["clean"]))


def learned(train: int, steps: int) -> tuple[Any, Any]:
    """The weights of the training images, and which labels are wrong."""
    found, _, held_out = problem(train)
    outer = minimize(
        ad.value_and_grad(held_out), np.zeros(train), jac=True, method="L-BFGS-B", options={"maxiter": steps}
    )
    return 1 / (1 + np.exp(-outer.x)), found["is_wrong"]


def main(train: int = 800, steps: int = 30) -> None:
    solves: list[int] = []

    def linear(A: Any, b: Any) -> Any:
        solution = ad.linear.cg(A, b, tol=1e-12)
        solves.append(int(solution.iterations))
        return solution

    found, solver, held_out = problem(train, linear)
    a = np.zeros(train)
    gradient = ad.grad(held_out)(a)
    direction, h = np.random.default_rng(1).normal(size=train), 1e-4
    plain = lambda a: float(np.mean(losses(solver(a), *found["clean"])))
    difference = (plain(a + h * direction) - plain(a - h * direction)) / (2 * h)
    error = abs(gradient @ direction - difference) / abs(difference)
    print(f"the gradient in {train} weights: {len(solves)} linear solve of {solves[0]} iterations, "
          f"{error:.1e} from differences")  # fmt: skip
    assert len(solves) == 1
    assert error < 1e-6
    print("✓ one solve, and the right gradient")

    before = accuracy(solver(a), *found["test"])
    alone = fitted(*found["clean"])(np.zeros(100))
    began = time.perf_counter()
    outer = minimize(ad.value_and_grad(held_out), a, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    after, clean_only = accuracy(solver(outer.x), *found["test"]), accuracy(alone, *found["test"])
    ranks = np.argsort(np.argsort(outer.x))
    wrong = found["is_wrong"]
    area = (ranks[~wrong].mean() - (np.sum(~wrong) - 1) / 2) / np.sum(wrong)
    print(f"{outer.nfev} fits: {time.perf_counter() - began:.1f} s")
    print(f"test accuracy {before:.3f} with all labels as they are, {clean_only:.3f} with the clean images alone, "
          f"{after:.3f} with learned weights")  # fmt: skip
    print(f"a wrong label has the lower weight in {100 * area:.0f} % of pairs")
    assert after > before
    assert area > 0.7
    assert train < 800 or after > clean_only + 0.01
    print("✓ the weights tell wrong labels from right ones")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

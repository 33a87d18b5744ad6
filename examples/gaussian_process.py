"""A Gaussian process that chooses its own length scale, amplitude and noise by maximum likelihood.

    python examples/gaussian_process.py

-log p(y) = ½ yᵀ K⁻¹ y + ½ log det K + const, with K = a² exp(-(x - x')² / 2ℓ²) + σ² I: Cholesky factor and triangular
solves are differentiated like everything else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

import adjoint as ad


def kernel(a: Any, b: Any, log_length: Any, log_amplitude: Any) -> Any:
    return np.exp(2 * log_amplitude - 0.5 * ((a[:, None] - b) / np.exp(log_length)) ** 2)


def covariance(x: Any, parameters: Any) -> Any:
    return kernel(x, x, parameters[0], parameters[1]) + np.exp(2 * parameters[2]) * np.eye(len(x))


def negative_log_likelihood(parameters: Any, x: Any, y: Any) -> Any:
    factor = np.linalg.cholesky(covariance(x, parameters))
    white = np.linalg.solve(factor, y)
    return 0.5 * white @ white + np.sum(np.log(np.diag(factor))) + 0.5 * len(x) * np.log(2 * np.pi)


def observations(count: int = 40, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 6, count))
    return x, np.sin(x) + 0.1 * rng.normal(size=count)


def fit(x: Any, y: Any) -> Any:
    """The logarithms of length scale, amplitude and noise."""
    step = ad.jit(ad.value_and_grad(negative_log_likelihood))
    return minimize(step, np.zeros(3), args=(x, y), jac=True, method="L-BFGS-B").x


def predict(at: Any, x: Any, y: Any, parameters: Any) -> tuple[Any, Any]:
    """(mean, standard deviation) of the process at new points."""
    across = kernel(at, x, parameters[0], parameters[1])
    weights = np.linalg.solve(covariance(x, parameters), across.T)
    variance = np.exp(2 * parameters[1]) - np.sum(across.T * weights, axis=0)
    return weights.T @ y, np.sqrt(np.maximum(variance, 0.0))


def main(count: int = 40) -> None:
    x, y = observations(count)
    parameters = fit(x, y)
    length, amplitude, noise = np.exp(parameters)
    print(f"length scale {length:.2f}, amplitude {amplitude:.2f}, noise {noise:.3f}")
    ad.check_grads(lambda p: negative_log_likelihood(p, x, y), (parameters,), order=1)
    print("✓ the gradient agrees with differences")
    assert 0.05 < noise < 0.2
    print("✓ the noise is what it was made with, 0.1, or near it")


if __name__ == "__main__":
    main()

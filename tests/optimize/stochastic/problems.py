"""Small problems that the tests of stochastic methods share."""

from typing import Any

import numpy as np


def line(n: int = 48, width: int = 3, noise: float = 0.3, seed: int = 0) -> tuple[Any, Any]:
    """Inputs and labels of a linear model with noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, width))
    return x, x @ np.arange(1.0, width + 1) + noise * rng.normal(size=n)


def squares(w: Any, x: Any, y: Any) -> Any:
    """Half the square of each residual."""
    return 0.5 * (x @ w - y) ** 2


def solve_squares(x: Any, y: Any) -> Any:
    """The minimizer of their mean, by LAPACK."""
    return np.linalg.lstsq(x, y, rcond=None)[0]


def coins(n: int = 200, seed: int = 1) -> tuple[Any, Any]:
    """Inputs and labels 0 and 1 of a logistic model."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    p = 1 / (1 + np.exp(-(x @ np.array([1.0, -2.0]))))
    return x, (rng.uniform(size=n) < p).astype(float)


def logistic(w: Any, x: Any, y: Any) -> Any:
    """-log p(y | x) of each example."""
    z = x @ w
    return np.logaddexp(0.0, z) - y * z

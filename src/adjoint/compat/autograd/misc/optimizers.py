"""Descent with gradients of random parts of the data: momentum, root-mean-square steps, Adam.

`grad(x, i)` is the gradient at x in step i; x is an array or a container. They can be differentiated themselves.
"""

# pyright: basic

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.compat.autograd.misc.flatten import flatten

__all__ = ["adam", "rmsprop", "sgd", "unflatten_optimizer"]

Gradient = Callable[[Any, int], Any]


def unflatten_optimizer(optimize: Callable[..., Any]) -> Callable[..., Any]:
    """An optimizer of vectors as one of containers."""

    @functools.wraps(optimize)
    def optimized(grad: Gradient, x0: Any, callback: Any = None, *args: Any, **kwargs: Any) -> Any:
        start, unflatten = flatten(x0)
        seen = None if callback is None else lambda x, i, g: callback(unflatten(x), i, unflatten(g))
        end = optimize(lambda x, i: flatten(grad(unflatten(x), i))[0], start, seen, *args, **kwargs)
        return unflatten(end)

    return optimized


@unflatten_optimizer
def sgd(
    grad: Gradient, x: Any, callback: Any = None, num_iters: int = 200, step_size: float = 0.1, mass: float = 0.9
) -> Any:
    """Momentum: v ← m v - (1 - m) g, x ← x + h v."""
    velocity = np.zeros_like(x)
    for i in range(num_iters):
        g = grad(x, i)
        if callback is not None:
            callback(x, i, g)
        velocity = mass * velocity - (1.0 - mass) * g
        x = x + step_size * velocity
    return x


@unflatten_optimizer
def rmsprop(
    grad: Gradient,
    x: Any,
    callback: Any = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Steps in units of a running root mean square: s ← γ s + (1 - γ) g², x ← x - h g / (√s + ε); s starts at 1."""
    square = np.ones_like(x)
    for i in range(num_iters):
        g = grad(x, i)
        if callback is not None:
            callback(x, i, g)
        square = gamma * square + (1.0 - gamma) * g**2
        x = x - step_size * g / (np.sqrt(square) + eps)
    return x


@unflatten_optimizer
def adam(
    grad: Gradient,
    x: Any,
    callback: Any = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Running means m of g and v of g², corrected for their start at zero: x ← x - h m̂ / (√v̂ + ε)."""
    mean, square = np.zeros_like(x), np.zeros_like(x)
    for i in range(num_iters):
        g = grad(x, i)
        if callback is not None:
            callback(x, i, g)
        mean = b1 * mean + (1.0 - b1) * g
        square = b2 * square + (1.0 - b2) * g**2
        corrected = mean / (1.0 - b1 ** (i + 1))
        x = x - step_size * corrected / (np.sqrt(square / (1.0 - b2 ** (i + 1))) + eps)
    return x

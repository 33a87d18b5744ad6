"""In which order examples are taken: a function of (seed, epoch), so that a position is all that must be remembered.

Order and noise of a run come from one generator by numbers: `rng.at(0).at(epoch)` orders an epoch, `rng.at(1).at(step)`
is the randomness of a step. Neither moves the generator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.program.types import Value
from adjoint.random.generator import Generator, default_rng

__all__ = ["count_batches", "epoch_order", "noise_of", "pad_batches", "read_generator", "whole_batches"]

ORDER, NOISE = 0, 1


def read_generator(title: str, rng: Any) -> Any:
    """A generator of `adjoint.random`, also from a seed; None stays None."""
    if rng is None or isinstance(rng, Generator):
        return rng
    if isinstance(rng, int | np.integer):
        return default_rng(int(rng))
    raise TypeError(
        f"{title}: rng is {type(rng).__module__}.{type(rng).__name__}; order and noise of a run depend on a seed "
        "and a number, so that it can be resumed. Give rng=ad.random.default_rng(0)."
    )


def epoch_order(rng: Any, epoch: Any, n: int) -> Value:
    """A permutation of the numbers below n that belongs to an epoch; in their own order without a generator.

    ```python
    rng = ad.random.default_rng(0)
    np.array_equal(ad.data.epoch_order(rng, 3, 10), ad.data.epoch_order(rng, 3, 10))  # → True
    ```
    """
    return np.arange(n) if rng is None else rng.at(ORDER).at(epoch).permutation(n)


def noise_of(rng: Any, step: Any) -> Any:
    """The generator of a step, None without one.

    ```python
    rng = ad.random.default_rng(0)
    ad.data.noise_of(rng, 3).normal() == ad.data.noise_of(rng, 3).normal()  # → True
    ```
    """
    return None if rng is None else rng.at(NOISE).at(step)


def count_batches(n: int, size: int, last: str = "pad") -> int:
    """How many batches n examples make.

    ```python
    ad.data.count_batches(10, 4), ad.data.count_batches(10, 4, last="drop")  # → (3, 2)
    ```
    """
    return n // size if last == "drop" else -(-n // size)


def pad_batches(order: Value, size: int) -> tuple[Value, Value]:
    """The order cut into batches, (batches, size), and weights: 0 where the last one is filled up by its first example.

    ```python
    indices, weights = ad.data.pad_batches(np.arange(5), 2)
    indices, weights  # → ([[0, 1], [2, 3], [4, 4]], [[1.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    ```
    """
    n = np.shape(order)[0]
    check_size(size, n)
    count = count_batches(n, size)
    missing = count * size - n
    weights = np.ones(count * size)
    if missing:
        order = np.concatenate([order, np.broadcast_to(order[(count - 1) * size], (missing,))])
        weights[n:] = 0.0
    return np.reshape(order, (count, size)), np.reshape(weights, (count, size))


def whole_batches(order: Value, size: int) -> tuple[Value, Value]:
    """Batches of full size, and what is left."""
    n = np.shape(order)[0]
    check_size(size, n)
    count = n // size
    return np.reshape(order[: count * size], (count, size)), order[count * size :]


def check_size(size: int, n: int) -> None:
    """A batch has at least one example, and no more than there are."""
    if not 1 <= size <= n:
        raise ShapeError(
            f"batches: a batch of {size} examples cannot be taken from {n}. Give a batch between 1 and {n}."
        )

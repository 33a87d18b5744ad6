"""What is known after each epoch of training."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Epoch"]


class Epoch(NamedTuple):
    """What `stop` and `callback` are called with after each epoch.

    ```python
    seen = []
    ad.optimize.train(lambda w, x: (w - x) ** 2, 0.0, np.arange(4.0), ad.optimize.updates.sgd(0.1), epochs=2,
                      callback=seen.append)
    [int(now.epoch) for now in seen]  # → [1, 2]
    ```
    """

    epoch: Any  # how many are done
    steps: Any
    x: Any  # the parameters
    fun: Any  # the mean loss of the epoch, each batch before its own update
    validation: Any  # the loss of the validation data after it; None without

"""What training answers: the parameters, how it went, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint.base.errors import SolveError
from adjoint.linear.solvers.answer import Coded
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

__all__ = ["DONE", "INTERRUPTED", "NOT_FINITE", "STOPPED", "STOPPED_EARLY", "Trained"]

DONE, STOPPED_EARLY, STOPPED, NOT_FINITE, INTERRUPTED = range(5)
STATUSES = ("done", "stopped early", "stopped", "not finite", "interrupted")
ADVICE = {
    NOT_FINITE: "The loss is not finite: take a smaller learning rate, clip gradients (updates.clip_by_norm), or look "
    "with ad.debug.nans() for the operation. The parameters are those before the epoch in which it happened.",
    INTERRUPTED: "It was interrupted from the keyboard; go on with warm=found.state.",
}


@final
@dataclass(frozen=True, eq=False)
class Trained(Coded):
    """Parameters that `train` found: a tree, so that it goes through jit, vmap and grad.

    ```python
    found = ad.optimize.train(lambda w, x: (w - x) ** 2, 0.0, np.ones(4), ad.optimize.updates.sgd(0.5), epochs=3)
    found.status, float(found.value), int(found.steps)  # → ('done', 1.0, 3)
    ```
    """

    STATUSES = STATUSES

    value: Any  # the parameters: the best ones where there is validation data, else the last ones
    fun: Any  # the mean loss of the last epoch
    last: Any  # the parameters after the last step
    code: Value  # how it ended, as a number; `status` in words
    steps: Value
    epochs: Value
    history: Any  # {"fun": after each step, "validation": after each epoch}; NaN after the end
    validation: Any  # the smallest loss of the validation data; None without
    state: Any  # a TrainingState, for warm=
    note: str = field(default="", metadata={"static": True})

    @property
    def x(self) -> Any:
        """The parameters, by the name that other results of `optimize` have."""
        return self.value

    @property
    def advice(self) -> str:
        """What to do after a failure, in words."""
        if isinstance(self.code, Tracer):
            return ""
        words = [ADVICE[int(code)] for code in np.unique(np.asarray(self.code)) if int(code) in ADVICE]
        return " ".join([*([self.note] if self.note else []), *words])

    def raise_if_failed(self) -> Trained:
        """Itself, unless the loss was not finite.

        ```python
        found = ad.optimize.train(lambda w, x: (w - x) ** 2, 0.0, np.ones(4), ad.optimize.updates.sgd(0.5))
        found.raise_if_failed().status  # → 'done'
        ```
        """
        if not isinstance(self.code, Tracer) and np.any(np.asarray(self.code) == NOT_FINITE):
            raise SolveError(f"train: {self.advice}")
        return self

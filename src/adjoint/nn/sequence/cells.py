"""Cells of recurrent networks: one step, from an input and a state to the next state.

Each has `project(x)`, the part that does not depend on the state (computed for a whole sequence at once),
`recurrence()`, the weights as a loop reads them, and `step(projected, state, recurrence)`. Gates stand side by side in
one matrix, (inputs, gates · width); in a loop they are apart, so that neither a step nor its derivative joins them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.source import user_facing
from adjoint.nn import initializers
from adjoint.nn.locating import checked_input, shown
from adjoint.program.types import Value
from adjoint.scipy import special

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


def _gates(x: Value, width: int) -> tuple[Value, ...]:
    """The parts of the last axis that belong to each gate."""
    return tuple(x[..., i : i + width] for i in range(0, x.shape[-1], width))


def _drawn(rng: Any, gates: int, inputs: int, width: int, dtype: Any) -> list[Value]:
    """Weights of the input and of the state, and a bias: uniform between ±1/√width."""
    shapes = [(inputs, gates * width), (width, gates * width), (gates * width,)]
    return [initializers.torch_linear(rng, shape, dtype, fan=(width, width)) for shape in shapes]


@dataclass(frozen=True)
class _Cell(ABC):
    """A cell whose state is h, zero at the start; its gates stand side by side in `input`, `recurrent` and `bias`."""

    input: Value
    recurrent: Value
    bias: Value

    @property
    def width(self) -> int:
        return self.recurrent.shape[0]

    @property
    def title(self) -> str:
        return f"{type(self).__name__} {self.input.shape[0]} → {self.width}"

    def start(self, batch: tuple[int, ...]) -> Any:
        """The state 0."""
        return np.zeros((*batch, self.width), self.recurrent.dtype)

    def project(self, x: Any) -> Any:
        x = checked_input(self, x, self.input, self.input.shape[0])
        return _gates(x @ self.input + self.bias, self.width)

    def recurrence(self) -> Any:
        return _gates(self.recurrent, self.width)

    @abstractmethod
    def step(self, projected: Any, state: Any, recurrence: Any) -> Any:
        """The next state."""

    def output(self, state: Any) -> Value:
        """What of a state is given to the outside."""
        return state

    def __call__(self, x: Any, state: Any, *, rng: Any = None) -> Any:
        return self.step(self.project(x), state, self.recurrence())


@dataclass(frozen=True)
class RNNCell(_Cell):
    """h ← activation(x @ input + h @ recurrent + bias).

    ```python
    cell = ad.nn.RNNCell(np.array([[1.0]]), np.array([[0.5]]), np.array([0.0]), activation=lambda u: u)
    h = np.array([0.0])
    [float((h := cell(np.array([1.0]), h))[0]) for _ in range(3)]  # → [1.0, 1.5, 1.75]
    ```
    """

    activation: Callable[[Any], Any] = tree.static(default=np.tanh)

    @classmethod
    @user_facing
    def init(
        cls, rng: Any, inputs: int, width: int, *, activation: Callable[[Any], Any] = np.tanh, dtype: Any = np.float64
    ) -> RNNCell:
        """Uniform numbers between ±1/√width."""
        input, recurrent, bias = _drawn(rng, 1, inputs, width, dtype)  # noqa: A001  (the field)
        return cls(input, recurrent, bias, activation)

    __repr__ = shown

    def project(self, x: Any) -> Value:
        return checked_input(self, x, self.input, self.input.shape[0]) @ self.input + self.bias

    def recurrence(self) -> Value:
        return self.recurrent

    def step(self, projected: Value, state: Value, recurrence: Value) -> Value:
        return self.activation(projected + state @ recurrence)


@dataclass(frozen=True)
class LSTMCell(_Cell):
    """Long short-term memory: a state (h, c), and gates i, f, g, o, which stand in this order.

    i, f, g, o = σ(…), σ(…), tanh(…), σ(…) of x @ input + h @ recurrent + bias; c ← f c + i g; h ← o tanh c.

    ```python
    cell = ad.nn.LSTMCell.init(ad.random.default_rng(0), 3, 4)
    h, c = cell(np.ones((2, 3)), cell.start((2,)))
    h.shape, c.shape  # → ((2, 4), (2, 4))
    ```
    """

    @classmethod
    @user_facing
    def init(cls, rng: Any, inputs: int, width: int, *, dtype: Any = np.float64) -> LSTMCell:
        """Uniform numbers between ±1/√width."""
        return cls(*_drawn(rng, 4, inputs, width, dtype))

    __repr__ = shown

    def start(self, batch: tuple[int, ...]) -> tuple[Value, Value]:
        return super().start(batch), super().start(batch)

    def step(
        self, projected: tuple[Value, ...], state: tuple[Value, Value], recurrence: tuple[Value, ...]
    ) -> tuple[Value, Value]:
        h, c = state
        i, f, g, o = [x + h @ w for x, w in zip(projected, recurrence, strict=True)]
        c = special.expit(f) * c + special.expit(i) * np.tanh(g)
        return special.expit(o) * np.tanh(c), c

    def output(self, state: tuple[Value, Value]) -> Value:
        return state[0]


@dataclass(frozen=True)
class GRUCell(_Cell):
    """Gated recurrent unit, with gates r, z and the candidate n, in this order.

    r, z = σ(…), σ(…) of x @ input + h @ recurrent + bias; n = tanh(its part of x @ input + bias + r · (its part of
    h @ recurrent + candidate_bias)); h ← (1 - z) n + z h.

    ```python
    cell = ad.nn.GRUCell.init(ad.random.default_rng(0), 3, 4)
    cell(np.ones((2, 3)), cell.start((2,))).shape  # → (2, 4)
    ```
    """

    candidate_bias: Value

    @classmethod
    @user_facing
    def init(cls, rng: Any, inputs: int, width: int, *, dtype: Any = np.float64) -> GRUCell:
        """Uniform numbers between ±1/√width."""
        input, recurrent, bias = _drawn(rng, 3, inputs, width, dtype)  # noqa: A001  (the field)
        return cls(input, recurrent, bias, initializers.torch_linear(rng, (width,), dtype, fan=(width, width)))

    __repr__ = shown

    def step(self, projected: tuple[Value, ...], state: Value, recurrence: tuple[Value, ...]) -> Value:
        r, z, n = [state @ w for w in recurrence]
        r, z = special.expit(projected[0] + r), special.expit(projected[1] + z)
        candidate = np.tanh(projected[2] + r * (n + self.candidate_bias))
        return candidate + z * (state - candidate)

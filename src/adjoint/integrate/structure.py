"""Methods that keep a structure: symplectic ones for pairs (q, p), and the asynchronous leapfrog, which is reversible.

The asynchronous leapfrog carries c, about y′, beside y:

    s̄ = s + δ/2 c,   c̄ = f(t + δ/2, s̄),   c′ = 2 c̄ - c,   s′ = s̄ + δ/2 c′

A step of -δ undoes a step of δ. Symplectic methods are compositions of kicks, p ← p + d h ∂p/∂t, and drifts,
q ← q + c h ∂q/∂t, for equations in which q′ depends on p alone and p′ on q alone (Yoshida 1990).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from adjoint.integrate.control import Controller
from adjoint.integrate.explicit import Step
from adjoint.integrate.interpolation import hermite
from adjoint.program.types import Value

__all__ = ["AsynchronousLeapfrog", "Symplectic", "named_structure", "structure_names"]


class _FixedSteps:
    """What methods without error estimate have in common."""

    adaptive = False
    stiff = False
    implicit = False
    takes_mass = False

    def value(self, state: Any) -> Value:
        return state[0]

    def derivative(self, state: Any) -> Value:
        return state[1]

    def interpolant(self, f: Any, t: Value, h: Value, before: Any, after: Any) -> Value:
        """The cubic through y and y′ at both ends."""
        return hermite(h.astype(before[0].dtype), before[0], after[0], before[1], after[1])


@dataclass(frozen=True)
class AsynchronousLeapfrog(_FixedSteps):
    """A symmetric and reversible method of order 2 for any equation, unstable for what decays.

    ```python
    from adjoint import integrate
    path = integrate.solve(lambda t, y: -y + np.sin(t), (0.0, 2.0), 1.0, method="leapfrog-async", first_step=0.01)
    bool(abs(path.last - (1.5 * np.exp(-2.0) + 0.5 * (np.sin(2.0) - np.cos(2.0)))) < 1e-4)  # → True
    ```
    """

    name: str = "leapfrog-async"
    controller: Controller = field(default=Controller())

    order = 2
    estimate_order = 2
    evaluations = 1
    symmetric = True
    reversible = True
    symplectic = False

    def start(self, f: Any, t: Value, y: Value) -> Any:
        """(y, c₀ = f(t₀, y₀))."""
        return y, f(t, y)

    def step(self, f: Any, t: Value, h: Value, state: Any) -> Step:
        """One step, forwards or backwards."""
        s, c = state
        half = (0.5 * h).astype(s.dtype)
        middle = s + half * c
        new = s.dtype.type(2.0) * f(t + 0.5 * h, middle) - c
        return Step((middle + half * new, new), None)

    def inverse_step(self, f: Any, t: Value, h: Value, state: Any) -> Any:
        """The state at t from that at t + h."""
        return self.step(f, t + h, -h, state).state


@dataclass(frozen=True)
class Symplectic(_FixedSteps):
    """Kicks and drifts for a pair (q, p): y = (q, p), of equal sizes.

    ```python
    from adjoint import integrate
    f = lambda t, y: (y[1], -np.sin(y[0]))
    energy = lambda y: 0.5 * y[1] ** 2 - np.cos(y[0])
    path = integrate.solve(f, (0.0, 1000.0), (1.0, 0.0), method="yoshida4", first_step=0.1)
    bool(abs(energy(path.last) - energy((1.0, 0.0))) < 1e-4)  # → True
    ```
    """

    drifts: tuple[float, ...]
    kicks: tuple[float, ...]
    order: int
    name: str
    symmetric: bool = True
    controller: Controller = field(default=Controller())

    reversible = True
    symplectic = True

    @property
    def evaluations(self) -> int:
        return len(self.drifts) + sum(1 for k in self.kicks if k)

    @property
    def estimate_order(self) -> int:
        return self.order

    def start(self, f: Any, t: Value, y: Value) -> Any:
        if y.shape[0] % 2:
            raise ValueError(f"integrate.solve: {self.name} solves for a pair y = (q, p) of equal sizes; y has "
                             f"{y.shape[0]} numbers.")  # fmt: skip
        return y, f(t, y)

    def step(self, f: Any, t: Value, h: Value, state: Any) -> Step:
        """One step, forwards or backwards."""
        y, n = state[0], state[0].shape[0] // 2
        q, p = y[:n], y[n:]
        one, at = y.dtype.type, 0.0
        dt = h.astype(y.dtype)
        for c, d in zip(self.drifts, self.kicks, strict=True):
            q = q + one(c) * dt * f(t + at * h, np.concatenate([q, p]))[:n]
            at += c
            if d:
                p = p + one(d) * dt * f(t + at * h, np.concatenate([q, p]))[n:]
        new = np.concatenate([q, p])
        return Step((new, f(t + h, new)), None)

    def inverse_step(self, f: Any, t: Value, h: Value, state: Any) -> Any:
        """The state at t from that at t + h; the inverse of a symmetric method is a step back."""
        if not self.symmetric:
            raise ValueError(f"{self.name} is not symmetric, so that a step back is not its inverse.")
        return self.step(f, t + h, -h, state).state


def _composed(weights: list[float], order: int, name: str) -> Symplectic:
    """Leapfrog steps of the sizes w h, one after the other."""
    drifts = [0.5 * weights[0], *[0.5 * (a + b) for a, b in pairwise(weights)], 0.5 * weights[-1]]
    return Symplectic(tuple(drifts), (*weights, 0.0), order, name)


def named_structure(name: str) -> Any:
    """A method by its name, None if there is none."""
    if name == "leapfrog-async":
        return AsynchronousLeapfrog()
    if name == "symplectic-euler":
        return Symplectic((0.0, 1.0), (1.0, 0.0), 1, name, symmetric=False)
    if name == "leapfrog":
        return _composed([1.0], 2, name)
    if name == "yoshida4":
        w = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))
        return _composed([w, 1.0 - 2.0 * w, w], 4, name)
    if name == "yoshida6":  # Yoshida 1990, solution A
        w3, w2, w1 = 0.784513610477560, 0.235573213359357, -1.17767998417887
        middle = 1.0 - 2.0 * (w1 + w2 + w3)
        return _composed([w3, w2, w1, middle, w1, w2, w3], 6, name)
    return None


def structure_names() -> list[str]:
    return ["leapfrog-async", "symplectic-euler", "leapfrog", "yoshida4", "yoshida6"]

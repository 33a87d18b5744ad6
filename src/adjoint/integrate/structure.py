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
from adjoint.integrate.explicit import Method, RungeKutta, Step, named_explicit
from adjoint.integrate.interpolation import hermite
from adjoint.program.types import Value

__all__ = ["AsynchronousLeapfrog", "Reversible", "ReversibleHeun", "Symplectic", "named_structure", "structure_names"]


class _FixedSteps(Method):
    """What methods without error estimate have in common."""

    adaptive = False

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
    damping: float = 1.0  # η: c′ = c + 2 η (c̄ - c)
    controller: Controller = field(default=Controller())

    def __post_init__(self) -> None:
        if self.damping == 0.5:
            raise ValueError("AsynchronousLeapfrog: with damping 0.5 the step forgets c, and cannot be undone.")

    order = 2
    estimate_order = 2
    evaluations = 1
    reversible = True

    @property
    def symmetric(self) -> bool:
        """Whether a step of -h undoes one of h."""
        return self.damping == 1.0

    def start(self, f: Any, t: Value, y: Value) -> Any:
        """(y, c₀ = f(t₀, y₀))."""
        return y, f(t, y)

    def step(self, f: Any, t: Value, h: Value, state: Any) -> Step:
        """One step, forwards or backwards."""
        s, c = state
        half = (0.5 * h).astype(s.dtype)
        middle = s + half * c
        new = c + s.dtype.type(2.0 * self.damping) * (f(t + 0.5 * h, middle) - c)
        return Step((middle + half * new, new), None)

    def inverse_step(self, f: Any, t: Value, h: Value, state: Any) -> Any:
        """The state at t from that at t + h."""
        s, new = state
        half = (0.5 * h).astype(s.dtype)
        middle = s - half * new
        twice = s.dtype.type(2.0 * self.damping)
        c = (new - twice * f(t + 0.5 * h, middle)) / (s.dtype.type(1.0) - twice)
        return middle - half * c, c


@dataclass(frozen=True)
class ReversibleHeun(_FixedSteps):
    """Heun's method with a second state z, whose steps can be undone (Kidger and others 2021).

        z′ = 2 y - z + h f(z),   y′ = y + h/2 (f(z) + f(z′))

    ```python
    from adjoint import integrate
    path = integrate.solve(lambda t, y: -y, (0.0, 1.0), 1.0, method="reversible-heun", rtol=1e-5, adjoint="reversible")
    float(np.round(path.last, 3))  # → 0.368
    ```
    """

    name: str = "reversible-heun"
    adaptive: bool = True  # else steps are those of first_step
    controller: Controller = field(default=Controller())

    order = 2
    estimate_order = 1
    evaluations = 1
    symmetric = True
    reversible = True

    def start(self, f: Any, t: Value, y: Value) -> Any:
        """(y, f(z), z = y)."""
        return y, f(t, y), y

    def step(self, f: Any, t: Value, h: Value, state: Any) -> Step:
        """One step, forwards or backwards."""
        y, rate, z = state
        dt, one = h.astype(y.dtype), y.dtype.type
        new = one(2) * y - z + dt * rate
        after = f(t + h, new)
        half = one(0.5) * dt
        return Step((y + half * (rate + after), after, new), half * (after - rate))

    def inverse_step(self, f: Any, t: Value, h: Value, state: Any) -> Any:
        """The state at t from that at t + h."""
        return self.step(f, t + h, -h, state).state


@dataclass(frozen=True)
class Reversible(_FixedSteps):
    """Any Runge-Kutta method with a second state z, whose steps can be undone (McCallum and Foster 2024).

        y′ = λ y + (1 - λ) z + Ψ(t, h, z),   z′ = z - Ψ(t + h, -h, y′)

    Ψ is the increment of the method and λ the `coupling`; the order is that of the method.

    ```python
    from adjoint import integrate
    method = integrate.Reversible("dopri5")
    path = integrate.solve(lambda t, y: -y, (0.0, 1.0), 1.0, method=method, adjoint="reversible")
    float(np.round(path.last, 5))  # → 0.36788
    ```
    """

    method: Any
    coupling: float = 0.999

    reversible = True

    def __post_init__(self) -> None:
        found = named_explicit(self.method) if isinstance(self.method, str) else self.method
        if not isinstance(found, RungeKutta):
            raise TypeError(f"Reversible: {self.method!r} is no explicit Runge-Kutta method; give one, or its name.")
        if not 0 < self.coupling <= 1:
            raise ValueError(f"Reversible: coupling is {self.coupling}; it lies between 0 and 1.")
        object.__setattr__(self, "method", found)

    @property
    def name(self) -> str:
        return f"reversible {self.method.name}"

    @property
    def adaptive(self) -> bool:
        return self.method.adaptive

    @property
    def order(self) -> int:
        return self.method.order

    @property
    def estimate_order(self) -> int:
        return self.method.estimate_order

    @property
    def controller(self) -> Controller:
        return self.method.controller

    @property
    def evaluations(self) -> int:
        return 2 * self.method.evaluations + 1

    def _increment(self, f: Any, t: Value, h: Value, y: Value, rate: Value) -> Step:
        found = self.method.step(f, t, h, (y, rate))
        return found._replace(state=found.state[0] - y)

    def start(self, f: Any, t: Value, y: Value) -> Any:
        """(y, f(y), z = y)."""
        return y, f(t, y), y

    def step(self, f: Any, t: Value, h: Value, state: Any) -> Step:
        """One step."""
        y, _, z = state
        a = y.dtype.type(self.coupling)
        ahead = self._increment(f, t, h, z, f(t, z))
        new = a * y + (y.dtype.type(1) - a) * z + ahead.state
        rate = f(t + h, new)
        return Step((new, rate, z - self._increment(f, t + h, -h, new, rate).state), ahead.error)

    def inverse_step(self, f: Any, t: Value, h: Value, state: Any) -> Any:
        """The state at t from that at t + h."""
        new, rate, z = state
        a, one = new.dtype.type(self.coupling), new.dtype.type(1)
        before = z + self._increment(f, t + h, -h, new, rate).state
        ahead = self._increment(f, t, h, before, f(t, before)).state
        y = (new - (one - a) * before - ahead) / a
        return y, f(t, y), before


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
    splits = True

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
    if name == "yoshida8":  # Yoshida 1990, solution D
        w = [0.914844246229740, 0.253693336566229, -1.44485223686048, -0.158240635368243, 1.93813913762276,
             -1.96061023297549, 0.102799849391985]  # fmt: skip
        return _composed([*w, 1.0 - 2.0 * sum(w), *w[::-1]], 8, name)
    if name == "reversible-heun":
        return ReversibleHeun()
    return None


def structure_names() -> list[str]:
    return ["leapfrog-async", "reversible-heun", "symplectic-euler", "leapfrog", "yoshida4", "yoshida6", "yoshida8"]

"""Methods for dy = f dt + g dW: a step from (W, H), the increment and the space-time Lévy area of the step.

`strong` and `weak` are orders: of E|y - ŷ| and of |E φ(y) - E φ(ŷ)| in the step. Kloeden and Platen 1992; Rößler 2010
(SRA1, SRIW1); Kidger and others 2021 (reversible Heun).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adjoint.api.gradients import jvp, vmap
from adjoint.api.jacobians import jacfwd
from adjoint.base.suggestions import did_you_mean
from adjoint.integrate.derivative import detach
from adjoint.integrate.stochastic.areas import approximate_integrals
from adjoint.integrate.stochastic.equation import Equation
from adjoint.program.types import Value

__all__ = ["Noise", "StochasticMethod", "choose_stochastic", "stochastic_methods"]

NEWTON = 8  # iterations of an implicit step


class Noise(NamedTuple):
    """What a step is given of W."""

    number: Value  # of the step
    W: Value
    H: Value


@dataclass(frozen=True)
class StochasticMethod(ABC):
    """A method for equations with noise. `strong` and `weak` are its orders for each kind of noise that it is made for.

    ```python
    from adjoint import integrate
    integrate.stochastic_methods()["milstein"].strong["diagonal"]  # → 1.0
    ```
    """

    name: str
    sense: str  # in which the method reads the equation
    strong: Any
    weak: float
    adaptive: bool = False
    reversible: bool = False
    needs_diagonal: bool = False  # of diagonal noise: that gᵢ depends on yᵢ alone
    by_field: bool = False  # the step reads f h + g dW alone

    def __hash__(self) -> int:
        return hash(self.name)

    def start(self, equation: Equation, t: Value, y: Value) -> Any:
        """The state."""
        return (y,)

    @abstractmethod
    def step(self, equation: Equation, t: Value, h: Value, state: Any, noise: Noise) -> tuple[Any, Value]:
        """The state after a step, and an estimate of its error."""

    def inverse_step(self, equation: Equation, t: Value, h: Value, state: Any, noise: Noise) -> Any:
        """The state before a step, from that after it."""
        raise ValueError(f"{self.name}: its steps cannot be undone; those of reversible-heun can.")

    def value(self, state: Any) -> Value:
        """y of a state."""
        return state[0]


def _scale(h: Value, y: Value) -> Value:
    return h.astype(y.dtype)


class EulerMaruyama(StochasticMethod):
    """y + f h + g W."""

    def step(self, equation: Equation, t: Value, h: Value, state: Any, noise: Noise) -> tuple[Any, Value]:
        y = state[0]
        return (y + equation.field(t, y, _scale(h, y), noise.W),), None


class ImplicitEuler(StochasticMethod):
    """ŷ = y + f(t + h, ŷ) h + g(t, y) W: the drift is implicit."""

    def step(self, equation: Equation, t: Value, h: Value, state: Any, noise: Noise) -> tuple[Any, Value]:
        y = state[0]
        dt, base = _scale(h, y), y + equation.times(equation.g(t, y), noise.W)
        identity = np.eye(y.shape[0], dtype=y.dtype)

        def improved(own: Equation, t: Value, dt: Value, base: Value, x: Value) -> Value:
            matrix = identity - dt * jacfwd(lambda x: own(t, x))(x)
            return x - np.linalg.solve(matrix, x - base - dt * own(t, x))

        plain = equation.with_theta(detach(equation.theta))
        given = detach([t + h, dt, base])
        x = given[2] + given[1] * plain(given[0], given[2])
        for _ in range(NEWTON):
            x = improved(plain, given[0], given[1], given[2], x)
        value = x = detach([x])[0]
        for _ in range(2):  # Newton's step at the solution has the derivatives of the solution
            x = improved(equation, t + h, dt, base, x)
            x = x + (value - detach([x])[0])
        return (x,), None


class Milstein(StochasticMethod):
    """y + f h + g W + Σ ∂gₖ gⱼ I(j, k)."""

    def step(self, equation: Equation, t: Value, h: Value, state: Any, noise: Noise) -> tuple[Any, Value]:
        y, (number, W, H) = state[0], noise
        dt, G = _scale(h, y), equation.g(t, y)
        moved = y + dt * equation(t, y) + equation.times(G, W)
        g = lambda y: equation.g(t, y)
        if not equation.is_matrix:
            return (moved + jvp(g, (y,), (G,))[1] * (0.5 * (W * W - dt)).astype(y.dtype),), None
        half = y.dtype.type(0.5)
        if self.name == "milstein":
            across = jvp(lambda y: equation.times(g(y), W), (y,), (equation.times(G, W),))[1]
            return (moved + half * (across - dt * equation.turned(t, y)),), None
        integrals = approximate_integrals(equation.key, number, h, W, H)
        one = lambda e, row: jvp(lambda y: g(y) @ row, (y,), (G @ e,))[1]
        return (moved + np.sum(vmap(one)(np.eye(W.shape[0], dtype=y.dtype), integrals), axis=0),), None


class Additive(StochasticMethod):
    """SRA1: for noise that does not depend on y."""

    def step(self, equation: Equation, t: Value, h: Value, state: Any, noise: Noise) -> tuple[Any, Value]:
        y = state[0]
        dt, one = _scale(h, y), y.dtype.type
        mean = one(0.5) * noise.W + noise.H  # I(1, 0) / h
        f1, g0, g1 = equation(t, y), equation.g(t, y), equation.g(t + h, y)
        inner = y + one(0.75) * dt * f1 + one(1.5) * equation.times(g1, mean)
        f2 = equation(t + 0.75 * h, inner)
        new = y + dt * (f1 / one(3) + f2 * one(2 / 3)) + equation.times(g1, noise.W) + equation.times(g0 - g1, mean)
        return (new,), one(2 / 3) * dt * (f2 - f1) + equation.times(g0 - g1, mean)


class Rossler(StochasticMethod):
    """SRIW1: for one motion, or one for each number of y."""

    def step(self, equation: Equation, t: Value, h: Value, state: Any, noise: Noise) -> tuple[Any, Value]:
        y, W = state[0], noise.W
        one = y.dtype.type
        dt = _scale(h, y)
        long = np.where(dt > 0, dt, one(1))
        root = np.sqrt(long)
        mean = one(0.5) * W + noise.H  # I(1, 0) / h
        second = one(0.5) * (W * W - dt) / root  # I(1, 1) / √h
        third = (W * W * W - one(3) * dt * W) / (one(6) * long)  # I(1, 1, 1) / h
        f1, g1 = equation(t, y), equation.g(t, y)
        f2 = equation(t + 0.75 * h, y + one(0.75) * dt * f1 + one(1.5) * g1 * mean)
        root = np.sqrt(dt)
        g2 = equation.g(t + 0.25 * h, y + one(0.25) * dt * f1 + one(0.5) * root * g1)
        g3 = equation.g(t + h, y + dt * f1 - root * g1)
        g4 = equation.g(t + 0.25 * h, y + one(0.25) * dt * f1 + root * (one(-5) * g1 + one(3) * g2 + one(0.5) * g3))
        low = (-W - second) * g1 + one(4 / 3) * (W + second) * g2 + (one(2 / 3) * W - second / one(3)) * g3
        high = (
            (one(2) * mean - one(2) * third) * g1 + (one(-4 / 3) * mean + one(5 / 3) * third) * g2
            - one(2 / 3) * (mean + third) * g3 + third * g4
        )  # fmt: skip
        new = y + dt * (f1 / one(3) + one(2 / 3) * f2) + low + high
        return (new,), one(2 / 3) * dt * (f2 - f1) + high


class EulerHeun(StochasticMethod):
    """y + f h + (g(y) + g(y + g W))/2 W."""

    def step(self, equation: Equation, t: Value, h: Value, state: Any, noise: Noise) -> tuple[Any, Value]:
        y, W = state[0], noise.W
        dt = _scale(h, y)
        half, first = y.dtype.type(0.5), equation.kick(t, y, W)
        second = equation.kick(t + h, y + first, W)
        return (y + equation.field(t, y, dt, W) + half * (second - first),), None


class Midpoint(StochasticMethod):
    """y + F(y + F(y)/2) with F = f h + g W."""

    def step(self, equation: Equation, t: Value, h: Value, state: Any, noise: Noise) -> tuple[Any, Value]:
        y = state[0]
        dt = _scale(h, y)
        middle = y + y.dtype.type(0.5) * equation.field(t, y, dt, noise.W)
        return (y + equation.field(t + 0.5 * h, middle, dt, noise.W),), None


class Heun(StochasticMethod):
    """y + (F(y) + F(y + F(y)))/2 with F = f h + g W."""

    def step(self, equation: Equation, t: Value, h: Value, state: Any, noise: Noise) -> tuple[Any, Value]:
        y = state[0]
        dt, half = _scale(h, y), y.dtype.type(0.5)
        first = equation.field(t, y, dt, noise.W)
        second = equation.field(t + h, y + first, dt, noise.W)
        return (y + half * (first + second),), half * (second - first)


class ReversibleHeun(StochasticMethod):
    """z′ = 2 y - z + F(z), y′ = y + (F(z) + F(z′))/2: a step of -h undoes a step of h."""

    def start(self, equation: Equation, t: Value, y: Value) -> Any:
        return y, y

    def step(self, equation: Equation, t: Value, h: Value, state: Any, noise: Noise) -> tuple[Any, Value]:
        y, z = state
        dt, one = _scale(h, y), y.dtype.type
        first = equation.field(t, z, dt, noise.W)
        new = one(2) * y - z + first
        second = equation.field(t + h, new, dt, noise.W)
        return (y + one(0.5) * (first + second), new), None

    def inverse_step(self, equation: Equation, t: Value, h: Value, state: Any, noise: Noise) -> Any:
        """The state at t from that at t + h."""
        y, z = state
        dt, one = _scale(h, y), y.dtype.type
        second = equation.field(t + h, z, dt, noise.W)
        old = one(2) * y - z - second
        first = equation.field(t, old, dt, noise.W)
        return y - one(0.5) * (first + second), old


class Platen(StochasticMethod):
    """Platen's explicit method of weak order 2."""

    def step(self, equation: Equation, t: Value, h: Value, state: Any, noise: Noise) -> tuple[Any, Value]:
        y, W = state[0], noise.W
        one = y.dtype.type
        dt = _scale(h, y)
        root = np.sqrt(dt)
        f1, G = equation(t, y), equation.g(t, y)
        drifted = y + dt * f1
        f2 = equation(t + h, drifted + equation.times(G, W))
        new = y + one(0.5) * dt * (f1 + f2)
        per_root = np.where(dt > 0, one(1) / np.where(root > 0, root, one(1)), one(0))
        quarter = one(0.25)
        if not equation.is_matrix:
            up, down = equation.g(t + h, drifted + root * G), equation.g(t + h, drifted - root * G)
            new = new + quarter * (up + down + one(2) * G) * W
            return (new + quarter * (up - down) * (W * W - dt) * per_root,), None
        m = W.shape[0]
        signs = self._signs(equation, noise, m, dt)

        def column(j: Value) -> Value:
            """What motion j adds, with b^j at the points that the others lead to."""
            b = G[:, j]
            at = lambda x: equation.g(t + h, x)[:, j]
            up, down = at(drifted + root * b), at(drifted - root * b)
            found = (up + down + one(2) * b) * W[j] + (up - down) * (W[j] * W[j] - dt) * per_root

            def across(r: Value) -> Value:
                plus, minus = at(y + root * G[:, r]), at(y - root * G[:, r])
                both = (plus + minus - one(2) * at(y)) * W[j] + (plus - minus) * (W[j] * W[r] + signs[r, j]) * per_root
                return np.where(r == j, 0 * both, both)

            return found + np.sum(vmap(across)(np.arange(m)), axis=0)

        return (new + quarter * np.sum(vmap(column)(np.arange(m)), axis=0),), None

    def _signs(self, equation: Equation, noise: Noise, m: int, dt: Value) -> Value:
        """V(r, j) = ±h with equal probabilities, V(j, r) = -V(r, j)."""
        z = approximate_integrals(equation.key, noise.number, 0 * dt + 1.0, 0 * noise.W, 0 * noise.H)
        return np.sign(np.triu(z, 1)) * dt - np.sign(np.triu(z, 1)).T * dt


def _same(order: float, *noises: str) -> Mapping[str, float]:
    return dict.fromkeys(noises or ("diagonal", "scalar", "additive", "commutative", "general"), order)


def _strong_one() -> Mapping[str, float]:
    return {"diagonal": 1.0, "scalar": 1.0, "additive": 1.0, "commutative": 1.0, "general": 0.5}


_METHODS: dict[str, StochasticMethod] = {
    m.name: m
    for m in (
        EulerMaruyama("euler-maruyama", "ito", {**_same(0.5), "additive": 1.0}, 1.0),
        ImplicitEuler("implicit-euler", "ito", {**_same(0.5), "additive": 1.0}, 1.0),
        Milstein("milstein", "ito", _same(1.0, "diagonal", "scalar", "additive", "commutative"), 1.0,
                 needs_diagonal=True),
        Milstein("milstein-davie", "ito", _same(0.5, "general"), 1.0),
        Additive("sra", "ito", _same(1.5, "additive"), 2.0, adaptive=True),
        Rossler("sri", "ito", _same(1.5, "diagonal", "scalar"), 2.0, adaptive=True, needs_diagonal=True),
        EulerHeun("euler-heun", "stratonovich", _strong_one(), 1.0, by_field=True),
        Midpoint("midpoint", "stratonovich", _strong_one(), 1.0, by_field=True),
        Heun("heun", "stratonovich", _strong_one(), 1.0, adaptive=True, by_field=True),
        ReversibleHeun("reversible-heun", "stratonovich", _strong_one(), 1.0, reversible=True,
                       by_field=True),
        Platen("platen", "ito", {**_strong_one(), "commutative": 0.5}, 2.0, needs_diagonal=True),
    )
}  # fmt: skip


def stochastic_methods() -> dict[str, StochasticMethod]:
    """All methods of `solve_sde`, by name.

    ```python
    {name: m.weak for name, m in ad.integrate.stochastic_methods().items()}["platen"]  # → 2.0
    ```
    """
    return dict(_METHODS)


def choose_stochastic(title: str, method: Any, noise: str, sense: str, adjoint: str) -> StochasticMethod:
    """The method that an argument names, or the one for the noise."""
    if method is None:
        usual = {"additive": "sra", "diagonal": "sri", "scalar": "sri", "commutative": "milstein"}
        name = usual.get(noise, "euler-maruyama" if sense == "ito" else "midpoint")
        name = {"reversible": "reversible-heun", "backsolve": "midpoint"}.get(adjoint, name)
    else:
        name = getattr(method, "name", method)
    if name not in _METHODS:
        raise ValueError(f"{title}: there is no method {name!r}. {did_you_mean(str(name), list(_METHODS))} Methods: "
                         f"{', '.join(_METHODS)}.")  # fmt: skip
    found = _METHODS[name]
    kinds = list(dict.fromkeys(kind for m in _METHODS.values() for kind in m.strong))
    if noise not in kinds:
        raise ValueError(f"{title}: noise is {noise!r}; it is {', '.join(map(repr, kinds))}.")
    if noise not in found.strong:
        others = ", ".join(repr(k) for k, m in _METHODS.items() if noise in m.strong)
        raise ValueError(f"{title}: {name} is made for noise that is {', '.join(found.strong)}, not {noise}. For this "
                         f"noise: {others}.")  # fmt: skip
    return found

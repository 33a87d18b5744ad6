"""Splitting: f with two terms (Davis and Yin), and f with a term of A x (ADMM).

Both keep multipliers y beside x. At a solution

    three operators:  x = prox_g(x + y),  x = prox_h(x - y - ∇f(x))
    ADMM:             ∇f(x) + Aᵀ y = 0,   A x = prox(A x + y)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.implicit import conditions
from adjoint.linear.solvers.iteration import TRACED, both, either, no
from adjoint.optimize.composite.objective import Composite, accept_step, first_step, judge_measure, read_term
from adjoint.optimize.iteration import as_code
from adjoint.optimize.problem import Problem
from adjoint.optimize.proximal.separable import Indicator, apply_prox, evaluate
from adjoint.optimize.proximal.term import Term
from adjoint.optimize.setting import Setting
from adjoint.optimize.statuses import RUNNING
from adjoint.program.types import Value

__all__ = ["ADMM", "ThreeOperatorSplitting"]

TRIALS = 60
NEWTON = 20


class _State(NamedTuple):
    value: Value
    gradient: Value
    dual: Value
    step: Value
    measure: Value
    code: Value


class _Split(Composite, ABC):
    """Conditions of (x, y)."""

    has_dual = True
    linear = "least squares"  # multipliers of two terms at the same point need not be unique, x is

    def conditions(self, setting: Setting) -> Callable[..., Any]:
        """F((x, y), known, *θ)."""
        gradient = conditions.stationary(setting.function) if setting.gradient is None else setting.gradient
        unknowns = setting.unknowns

        def F(z: Any, known: Any, *theta: Any) -> Value:
            x, y = z
            v, g = unknowns.flat(x), unknowns.flat(gradient(x, known[0], *theta))
            return self._equations(unknowns, v, y, g)

        return F

    @abstractmethod
    def _equations(self, unknowns: Any, v: Value, y: Value, g: Value) -> Value:
        """The residual at x and y, where g is the gradient of f."""


@final
@dataclass(frozen=True)
class ThreeOperatorSplitting(_Split):
    """f + g + h for a smooth f and two terms or sets, each by its own proximal operator (Davis and Yin).

    ```python
    from adjoint.optimize import proximal, sets
    f = lambda x: 0.5 * np.sum((x - np.array([0.9, 0.6, -0.2])) ** 2)
    method = ad.optimize.ThreeOperatorSplitting(sets.simplex(), proximal.l1(0.1))
    np.round(ad.optimize.minimize(f, np.ones(3), method=method).value, 6)  # → [0.65, 0.35, 0.0]
    ```
    """

    term: Any
    second: Any
    step_size: Any = None
    needs = ("value", "gradient")

    @property
    def descends(self) -> bool:  # type: ignore[override]
        """Points on the way may violate one of the terms, so that values tell little; the last one counts."""
        return True

    def _terms(self) -> tuple[Term, Term]:
        return self.the_term(), read_term("ThreeOperatorSplitting", self.second)

    def start_dual(self, setting: Setting) -> Value:
        """0."""
        return np.zeros(setting.unknowns.size, setting.unknowns.dtype)

    def _equations(self, unknowns: Any, v: Value, y: Value, g: Value) -> Value:
        first, second = self._terms()
        on = lambda term, u: unknowns.flat(apply_prox(term, unknowns.tree(u), 1.0))
        return np.concatenate([v - on(first, v + y), v - on(second, v - y - g)])

    def evaluate_total(self, setting: Setting) -> Callable[..., Any]:
        """f + g + h."""

        def value(x: Any, fixed: Any, *theta: Any) -> Any:
            found = setting.function(x, fixed, *theta)
            for term in self._terms():
                found = found if isinstance(term, Indicator) else found + evaluate(term, x)
            return found

        return value

    def _values(self, problem: Problem, v: Value) -> Value:
        return sum((self.omega(problem, v, term) for term in self._terms()), 0.0 * v[0])

    def init(self, problem: Problem, x: Value) -> _State:
        """No multipliers."""
        f, g = problem.value_and_gradient(x)
        step = first_step(problem, x, g) if self.step_size is None else self.step_size + 0 * f
        measure = np.max(np.abs(self._equations(problem.unknowns, x, 0 * x, g)))
        return _State(f + self._values(problem, x), g, 0 * x, step, measure, as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One proximal operator of each term."""
        first, second = self._terms()
        y, g = state.dual, state.gradient
        f = problem.value(x)

        def at(step: Value) -> Any:
            p = self.prox(problem, x - step * (y + g), step, second)
            return p, problem.value(p), step

        now = (*at(state.step), np.int64(0))
        if self.step_size is None:
            enough = lambda now: accept_step(problem, x, f, g, now[0], now[1], None, now[2])
            goes_on = lambda now: both(no(enough(now)), now[3] < TRIALS)
            now = problem.loop(goes_on, lambda now: (*at(0.5 * now[2]), now[3] + 1), now)
        p, _, step, _ = now
        z = self.prox(problem, p + step * y, step, first)
        dual = y + (p - z) / step
        f_new, g_new = problem.value_and_gradient(z)
        measure = np.max(np.abs(self._equations(problem.unknowns, z, dual, g_new)))
        return z, _State(f_new + self._values(problem, z), g_new, dual, step, measure, as_code(RUNNING))

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where both conditions hold."""
        return judge_measure(problem, state.value, state.measure, state.code)


class _Alternating(NamedTuple):
    value: Value
    gradient: Value
    dual: Value  # y = ρ u
    image: Value  # z, which stands for A x in the term
    penalty: Value  # ρ
    measure: Value
    code: Value


@final
@dataclass(frozen=True)
class ADMM(_Split):
    """f(x) + Ω(A x) by alternating directions: Newton steps for f, the proximal operator of Ω, multipliers.

        x ← argmin f(x) + ρ/2 ‖A x - z + y/ρ‖²,    z ← prox(A x + y/ρ, 1/ρ),    y ← y + ρ (A x - z)

    `A` is a matrix, or None for the identity. ρ (`penalty`) is adapted where one of both residuals is much larger.

    ```python
    from adjoint.optimize import proximal
    D = np.diff(np.eye(5), axis=0)
    y = np.array([1.0, 1.2, 0.8, 5.0, 5.2])
    method = ad.optimize.ADMM(proximal.l1(0.6), A=D)
    found = ad.optimize.minimize(lambda x: 0.5 * np.sum((x - y) ** 2), np.zeros(5), method=method)
    np.round(found.value, 6)  # → [1.2, 1.2, 1.2, 4.8, 4.8]
    ```
    """

    term: Any
    A: Any = None
    penalty: Any = 1.0
    needs = ("value", "gradient", "hessian")

    @property
    def descends(self) -> bool:  # type: ignore[override]
        """The last point counts."""
        return True

    def _map(self, n: int, dtype: Any) -> Value:
        if self.A is None:
            return np.eye(n, dtype=dtype)
        if self.A.ndim != 2 or self.A.shape[1] != n:
            raise ValueError(f"ADMM: A has shape {self.A.shape}, and x {n} numbers.")
        return self.A.astype(dtype)

    def start(self, problem: Problem, v: Value) -> Value:
        """x0: the term is one of A x."""
        return v

    def start_dual(self, setting: Setting) -> Value:
        """0."""
        unknowns = setting.unknowns
        return np.zeros(self._map(unknowns.size, unknowns.dtype).shape[0], unknowns.dtype)

    def _on_image(self, v: Value, step: Any) -> Value:
        if not isinstance(v, TRACED) and not np.all(np.isfinite(v)):
            return np.full_like(v, np.nan)
        return self.the_term().prox(v, step)

    def _equations(self, unknowns: Any, v: Value, y: Value, g: Value) -> Value:
        A = self._map(unknowns.size, unknowns.dtype)
        image = A @ v
        return np.concatenate([g + A.T @ y, image - self._on_image(image + y, 1.0)])

    def evaluate_total(self, setting: Setting) -> Callable[..., Any]:
        """f(x) + Ω(A x)."""

        def value(x: Any, fixed: Any, *theta: Any) -> Any:
            smooth, term = setting.function(x, fixed, *theta), self.the_term()
            if isinstance(term, Indicator):
                return smooth
            v = setting.unknowns.flat(x)
            return smooth + term(self._map(setting.unknowns.size, setting.unknowns.dtype) @ v)

        return value

    def init(self, problem: Problem, x: Value) -> _Alternating:
        """z = prox(A x), no multipliers."""
        f, g = problem.value_and_gradient(x)
        image = self._map(problem.size, problem.dtype) @ x
        penalty = self.penalty + 0 * f
        z = self._on_image(image, 1.0 / penalty)
        measure = np.max(np.abs(self._equations(problem.unknowns, x, 0 * image, g)))
        return _Alternating(f, g, 0 * image, z, penalty, measure, as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _Alternating) -> tuple[Value, _Alternating]:
        """Both minimizations and the multipliers."""
        A, rho, y, z = self._map(problem.size, problem.dtype), state.penalty, state.dual, state.image
        square = A.T @ A

        def newton(now: Any) -> Any:
            x, g, _, count = now
            gradient = g + A.T @ (y + rho * (A @ x - z))
            values, vectors = np.linalg.eigh(problem.hessian(x) + rho * square)
            values = np.maximum(np.abs(values), 1e-14 * np.max(np.abs(values)) + 1e-100)
            x = x - vectors @ ((vectors.T @ gradient) / values)
            g = problem.gradient(x)
            return x, g, np.max(np.abs(g + A.T @ (y + rho * (A @ x - z)))), count + 1

        accuracy = np.maximum(0.1 * problem.tol, 1e-3 * np.minimum(state.measure, 1.0))
        goes_on = lambda now: both(now[2] > accuracy, now[3] < NEWTON)
        start = (x, state.gradient, np.inf + 0 * rho, np.int64(0))
        x, g, _, _ = problem.loop(goes_on, newton, start)
        image = 1.6 * (A @ x) + (1.0 - 1.6) * z  # over-relaxed
        z_new = self._on_image(image + y / rho, 1.0 / rho)
        y_new = y + rho * (image - z_new)
        measure = np.max(np.abs(self._equations(problem.unknowns, x, y_new, g)))
        primal, dual = np.max(np.abs(A @ x - z_new)), rho * np.max(np.abs(A.T @ (z_new - z)))
        size = np.maximum(np.max(np.abs(z_new)), 1e-10), np.maximum(np.max(np.abs(A.T @ y_new)), 1e-10)
        ratio = (primal / size[0]) / np.maximum(dual / size[1], 1e-300)
        scale = either(ratio > 10.0, 2.0 + 0 * rho, either(ratio < 0.1, 0.5 + 0 * rho, 1.0 + 0 * rho))
        term = self.the_term()
        extra = 0.0 * rho if isinstance(term, Indicator) else term(z_new)
        value = problem.value(x) + extra
        rho = np.minimum(np.maximum(rho * scale, 1e-4 * self.penalty), 1e4 * self.penalty)
        return x, _Alternating(value, g, y_new, z_new, rho, measure, as_code(RUNNING))

    def done(self, problem: Problem, x: Value, state: _Alternating) -> Value:
        """Where both conditions hold."""
        return judge_measure(problem, state.value, state.measure, state.code)

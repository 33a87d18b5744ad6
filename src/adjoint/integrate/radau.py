"""Radau IIA of order 5: collocation at three points, the last of them the end; L-stable, for stiff and algebraic
equations (Hairer and Wanner IV.8).

    (A⁻¹ ⊗ M) Z = h F(y + Z),   y₁ = y + Z₃

Simplified Newton iterations split by the eigenvalues of A⁻¹, one real and a complex pair, into a real and a complex
equation of the size of y. The derivative is that of the whole equation at its solution.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from adjoint.api.control_flow import cond
from adjoint.api.gradients import vmap
from adjoint.integrate.control import Controller
from adjoint.integrate.explicit import Step
from adjoint.integrate.newton import Iterated, Kept, begin, iterate, norm, renewing, solution_of, target_for
from adjoint.integrate.stiff import Renewing
from adjoint.program.types import Value

__all__ = ["Radau"]

_R = np.sqrt(6.0)
C = np.array([(4 - _R) / 10, (4 + _R) / 10, 1.0])
A = np.array([
    [(88 - 7 * _R) / 360, (296 - 169 * _R) / 1800, (-2 + 3 * _R) / 225],
    [(296 + 169 * _R) / 1800, (88 + 7 * _R) / 360, (-2 - 3 * _R) / 225],
    [(16 - _R) / 36, (16 + _R) / 36, 1 / 9],
])  # fmt: skip
E = np.array([-13 - 7 * _R, -13 + 7 * _R, -1.0]) / 3  # of the estimate of the error
INVERSE = np.linalg.inv(A)
_POWERS = np.linalg.inv(C[:, None] ** np.arange(1, 4))  # the collocation polynomial from Z


def _eigenvalues() -> tuple[float, complex, Any, Any, Any, Any]:
    """λ of A⁻¹, real and complex, with right and left vectors."""
    found: Any = np.linalg.eig(INVERSE)
    values, right = found
    left = np.linalg.inv(right)
    real = int(np.argmin(np.abs(values.imag)))
    pair = int(np.argmax(values.imag))
    scale = right[:, real][-1]
    r0, l0 = (right[:, real] / scale).real, (left[real] * scale).real
    return float(values[real].real), complex(values[pair]), r0, l0, right[:, pair], left[pair]


REAL, COMPLEX, R0, L0, R1, L1 = _eigenvalues()


class _State(NamedTuple):
    y: Value
    f: Value
    Z: Value  # (3, n) of the last step
    h: Value  # of the last step; 0 before the first
    kept: Kept


@dataclass(frozen=True)
class Radau(Renewing):
    """Radau IIA of order 5: for stiff equations and algebraic ones, at tight tolerances.

    ```python
    from adjoint import integrate
    path = integrate.solve(lambda t, y: -1e6 * (y - np.cos(t)), (0.0, 1.0), 0.0, method="radau")
    path.status, float(np.round(path.last, 5))  # → ('finished', 0.5403)
    ```
    """

    name: str = "radau"
    controller: Controller = field(default=Controller(1.0, 0.0, largest=8.0, hold=1.2))

    takes_mass = True
    solves_complex = True
    order = 5
    estimate_order = 3
    stages = 3
    A = tuple(map(tuple, A.tolist()))
    b = A[-1]
    c = tuple(C.tolist())

    def start(self, f: Any, t: Value, y: Value) -> _State:
        Z = np.zeros((3, *y.shape), y.dtype) + 0 * y
        return _State(y, f(t, y), Z, np.float64(0.0), begin(f, t, y, _factors))

    def step(self, f: Any, t: Value, h: Value, state: _State) -> Step:
        """One step."""
        y, form = state.y, f.form
        dt, n = h.astype(y.dtype), y.shape[0]
        weights, target = np.concatenate([f.weights(y)] * 3), target_for(f, y, True)
        times = t + C * h
        one = y.dtype.type
        wide = np.result_type(y.dtype, np.complex64)
        inverse = INVERSE.astype(y.dtype)
        mass = (lambda V: V) if f.mass is None else (lambda V: V @ f.mass.astype(V.dtype).T)

        def solve(factors: Any, scale: Value, rate: Value) -> tuple[Value, Iterated]:
            def change(flat: Value) -> Value:
                Z = np.reshape(flat, (3, n))
                G = vmap(f)(times, y + Z) - mass(inverse @ Z) / dt
                w0 = (dt / one(REAL)) * form.solve(f, factors[0], L0.astype(y.dtype) @ G)
                w1 = form.solve(f, factors[1], L1.astype(wide) @ G.astype(wide)) * (dt / COMPLEX).astype(wide)
                dZ = R0.astype(y.dtype)[:, None] * w0 + one(2.0) * (R1.astype(wide)[:, None] * w1).real
                return np.reshape(dZ, (-1,))

            found = iterate(change, np.reshape(self._guess(h, state), (-1,)), weights, target, rate)
            return found.x, found._replace(count=3 * found.count)

        flat, kept, converged, work = renewing(
            f, t, y, dt, state.kept, 1e-9, _factors, solve, np.zeros(3 * n, y.dtype), slow=0.05
        )  # fmt: skip
        Z = np.reshape(flat, (3, n))
        new = y + Z[2]
        ZE = form.times_mass(f, E.astype(y.dtype) @ Z) / dt
        filtered = lambda yp: (dt / one(REAL)) * form.solve(f, kept.factors[0], yp + ZE)
        error = filtered(state.f)
        bound = f.weights(np.maximum(np.abs(y), np.abs(new)))
        error = cond(norm(error, bound) > 1.0, lambda: filtered(f(t, y + error)), lambda: error)
        # the estimate goes with h⁴, the error at the end with h⁵: of the tolerance, its power 4/5 is asked
        error = error * (3.0 * f.digits(y) ** -0.2).astype(y.dtype)
        after = _State(new, f(t + h, new), Z, h, kept)
        return Step(after, error, form.radius(kept.J), failed=np.logical_not(converged), work=work)

    def _guess(self, h: Value, state: _State) -> Value:
        """Z by the polynomial of the step before."""
        ratio = np.where(state.h == 0, 0.0, h / np.where(state.h == 0, 1.0, state.h))
        at = 1.0 + C * ratio
        differences = np.stack([at - 1.0, at**2 - 1.0, at**3 - 1.0], axis=1)
        return (differences @ _POWERS).astype(state.y.dtype) @ state.Z

    def differentiable_step(self, f: Any, t: Value, h: Value, state: _State, after: _State) -> _State:
        """The state after a step, with the derivative of its equation."""
        y, n = state.y, state.y.shape[0]
        inverse = INVERSE.astype(y.dtype)

        def F(f: Any, t: Value, h: Value, y: Value, flat: Value) -> Value:
            Z, dt = np.reshape(flat, (3, n)), h.astype(y.dtype)
            left = inverse @ Z if f.mass is None else (inverse @ Z) @ f.mass.astype(y.dtype).T
            return np.reshape(left - dt * vmap(f)(t + C * h, y + Z), (-1,))

        Z = np.reshape(solution_of(f, F, [t, h, y], np.reshape(after.Z, (-1,))), (3, n))
        new = y + Z[2]
        return _State(new, f(t + h, new), Z, h, after.kept)

    def interpolant(self, f: Any, t: Value, h: Value, before: _State, after: _State) -> Value:
        """The collocation polynomial."""
        return _POWERS.astype(after.Z.dtype) @ after.Z


def _factors(f: Any, h: Value, J: Value) -> Any:
    """Of the real and of the complex equation."""
    wide = np.result_type(J.dtype, np.complex64)
    return f.form.factors(f, h / J.dtype.type(REAL), J), f.form.factors(f, h / wide.type(COMPLEX), J.astype(wide))

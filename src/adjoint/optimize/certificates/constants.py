"""Constants of smoothness: Lipschitz constants in any norms, β and μ, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad
from adjoint.api.jacobians import jacobian
from adjoint.optimize.certificates.convexity import sample_points
from adjoint.program.trace import TRACED, primal

__all__ = ["Constant", "bregman", "check_sandwich", "lipschitz", "pinsker", "smoothness", "strong_convexity"]

DUAL = {1: np.inf, 2: 2, np.inf: 1}
SIGNS = 10  # numbers up to which all signs are tried


@final
@dataclass(frozen=True)
class Constant:
    """A constant as far as samples tell: its value, and the points that show it."""

    value: float
    at: tuple[Any, ...]

    def __float__(self) -> float:
        return self.value


def _check_norm(title: str, norm: Any) -> None:
    if norm not in DUAL:
        raise ValueError(f"certificates.{title}: the norm is {norm!r}; it is 1, 2 or np.inf.")


def _induced(J: np.ndarray, norm: Any, out: Any) -> float:
    """max ‖J u‖ over ‖u‖ ≤ 1: at a corner of the ball where it has corners."""
    if norm == 2 and out == 2:
        return float(np.linalg.norm(J, 2))
    if norm == 1:
        return float(max(np.linalg.norm(column, out) for column in J.T))
    if out == np.inf:
        return float(max(np.linalg.norm(row, DUAL[norm]) for row in J))
    if norm == np.inf and J.shape[1] <= SIGNS:
        return float(max(np.linalg.norm(J @ np.array(u), out) for u in product((-1.0, 1.0), repeat=J.shape[1])))
    # by turns the best u for a direction of the result, and the direction for u; it never falls
    best = 0.0
    rng = np.random.default_rng(0)
    for _ in range(20):
        u = np.sign(rng.normal(size=J.shape[1]))
        u = u / np.linalg.norm(u, norm)
        for _ in range(30):
            y = J @ u
            c = np.sign(y) if out == 1 else y / max(np.linalg.norm(y), 1e-300)
            v = J.T @ c
            u = np.sign(v) if norm == np.inf else v / max(np.linalg.norm(v), 1e-300)
        best = max(best, float(np.linalg.norm(J @ u, out)))
    return best


def lipschitz(
    g: Callable[[Any], Any], x0: Any, *, norm: Any = 2, out: Any = None, radius: float = 1.0, samples: int = 40,
    seed: int = 0,
) -> Constant:  # fmt: skip
    """The largest ‖g(w) - g(v)‖ / ‖w - v‖ around x0 that samples and Jacobians show: a lower bound of the constant.

    `norm` (1, 2 or np.inf) is for arguments, `out` for results; without it it is the dual one.

    ```python
    softargmax = lambda x: np.exp(x) / np.sum(np.exp(x))
    float(ad.optimize.certificates.lipschitz(softargmax, np.zeros(2), norm=np.inf))  # → 1.0
    ```
    """
    out = DUAL.get(norm) if out is None else out
    _check_norm("lipschitz", norm)
    _check_norm("lipschitz", out)
    rows, unravel = sample_points(x0, radius, samples, seed)
    flat = lambda row: tree.ravel(g(unravel(row)))[0]
    derivative = jacobian(flat)
    best, at = 0.0, (unravel(rows[0]),)
    for row in rows[: max(samples // 2, 5)]:
        J = np.asarray(derivative(row))
        size = _induced(J.reshape(-1, len(row)), norm, out)
        if size > best:
            best, at = size, (unravel(row),)
    values = [np.asarray(flat(row)).reshape(-1) for row in rows]
    for i in range(1, len(rows)):
        j = (7 * i) % len(rows)
        away = np.linalg.norm(rows[i] - rows[j], norm)
        size = float(np.linalg.norm(values[i] - values[j], out) / away) if away > 0 else 0.0
        if size > best:
            best, at = size, (unravel(rows[i]), unravel(rows[j]))
    return Constant(best, at)


def smoothness(f: Callable[[Any], Any], x0: Any, *, norm: Any = 2, radius: float = 1.0, samples: int = 40) -> Constant:
    """β with ‖∇f(w) - ∇f(v)‖_* ≤ β ‖w - v‖ around x0, as far as samples tell; of a quadratic the largest eigenvalue.

    ```python
    float(ad.optimize.certificates.smoothness(lambda x: x[0] ** 2 + 2 * x[1] ** 2, np.zeros(2)))  # → 4.0
    ```
    """
    return lipschitz(grad(f), x0, norm=norm, radius=radius, samples=samples)


def strong_convexity(
    f: Callable[[Any], Any], x0: Any, *, norm: Any = 2, radius: float = 1.0, samples: int = 40, seed: int = 0
) -> Constant:
    """μ with ⟨∇f(w) - ∇f(v), w - v⟩ ≥ μ ‖w - v‖² around x0, as far as samples tell; not positive where there is none.

    ```python
    float(ad.optimize.certificates.strong_convexity(lambda x: x[0] ** 2 + 2 * x[1] ** 2, np.zeros(2)))  # → 2.0
    ```
    """
    _check_norm("strong_convexity", norm)
    rows, unravel = sample_points(x0, radius, samples, seed)
    gradient = grad(lambda row: f(unravel(row)))
    best, at = np.inf, (unravel(rows[0]),)
    if norm == 2:
        curvature = jacobian(gradient)
        for row in rows[: max(samples // 2, 5)]:
            least = float(np.linalg.eigvalsh(np.atleast_2d(curvature(row)))[0])
            if least < best:
                best, at = least, (unravel(row),)
    gradients = [np.asarray(gradient(row)) for row in rows]
    for i in range(1, len(rows)):
        j = (7 * i) % len(rows)
        away = rows[i] - rows[j]
        square = np.linalg.norm(away, norm) ** 2
        if square > 0:
            size = float((gradients[i] - gradients[j]) @ away / square)
            if size < best:
                best, at = size, (unravel(rows[i]), unravel(rows[j]))
    return Constant(best, at)


def bregman(f: Callable[[Any], Any], w: Any, v: Any) -> Any:
    """B(w, v) = f(w) - f(v) - ⟨∇f(v), w - v⟩.

    ```python
    ad.optimize.certificates.bregman(lambda x: np.sum(x**2), np.array([3.0, 1.0]), np.array([1.0, 1.0]))  # → 4.0
    ```
    """
    return f(w) - f(v) - tree.vdot(grad(f)(v), tree.subtract(w, v))


def check_sandwich(
    f: Callable[[Any], Any], x0: Any, mu: float, beta: float, *, norm: Any = 2, radius: float = 1.0, samples: int = 100
) -> tuple[bool, Any]:
    """Whether μ/2 ‖w - v‖² ≤ B(w, v) ≤ β/2 ‖w - v‖² at all samples; and the first pair where it does not.

    ```python
    f = lambda x: x[0] ** 2 + 2 * x[1] ** 2
    ad.optimize.certificates.check_sandwich(f, np.zeros(2), 2.0, 4.0)[0]  # → True
    ad.optimize.certificates.check_sandwich(f, np.zeros(2), 2.0, 3.0)[0]  # → False
    ```
    """
    _check_norm("check_sandwich", norm)
    rows, unravel = sample_points(x0, radius, samples, 2)
    for i in range(1, len(rows)):
        w, v = rows[i], rows[(3 * i + 1) % len(rows)]
        square = 0.5 * np.linalg.norm(w - v, norm) ** 2
        found = float(np.asarray(bregman(lambda row: f(unravel(row)), w, v)))
        slack = 1e-9 * (1.0 + abs(found))
        if not mu * square - slack <= found <= beta * square + slack:
            return False, (unravel(w), unravel(v))
    return True, None


def pinsker(p: Any, q: Any) -> tuple[Any, Any]:
    """(½ ‖p - q‖₁², Σ p log(p / q)): of two distributions the first is never the larger one.

    ```python
    ad.optimize.certificates.pinsker(np.array([0.5, 0.5]), np.array([0.3, 0.7]))  # → (0.08, 0.0871766935…)
    ```
    """
    for name, v in (("p", p), ("q", q)):
        known = primal(v)
        if not isinstance(known, TRACED) and not (np.all(np.asarray(known) >= 0) and np.isclose(np.sum(known), 1.0)):
            raise ValueError(
                f"certificates.pinsker: {name} is no distribution: its numbers are not negative, and sum to 1."
            )
    here = p > 0
    both = np.logical_and(here, q > 0)
    ratio = np.where(both, p, 1.0) / np.where(both, q, 1.0)
    divergence = np.sum(np.where(both, p * np.log(ratio), np.where(here, np.inf, 0.0)))
    return 0.5 * np.sum(np.abs(p - q)) ** 2, divergence

"""Levenberg and Marquardt's method for many unknowns: sparse Jacobians by coloring, or products with J alone.

    (JᵀJ + λ D²) p = -Jᵀ r,        λ ← λ max(⅓, 1 - (2ρ - 1)³) after a step that gains the part ρ of what was promised,
                                   λ ← ν λ, ν ← 2 ν  after one that does not                             (Nielsen)

The Jacobian is found from a few products by coloring; its equations are solved by a sparse factorization ("cholesky"),
by eliminating a leaf whose blocks do not touch each other first ("schur"), or without a matrix ("lsmr").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.base.errors import SolveError
from adjoint.base.suggestions import did_you_mean
from adjoint.linear.operators.from_function import from_function
from adjoint.linear.solvers.least_squares import lsmr
from adjoint.optimize.iteration import as_code
from adjoint.optimize.least_squares.marquardt import DOUBT, free_to_change
from adjoint.optimize.least_squares.normal_equations import Blocks, find_blocks, make_normal_solver, make_schur_solver
from adjoint.optimize.least_squares.problem import Residuals
from adjoint.optimize.statuses import CONVERGED, NO_PROGRESS, NOT_FINITE, RUNNING
from adjoint.program.types import Value

__all__ = ["SparseMarquardt"]

LINEAR = ("auto", "cholesky", "schur", "lsmr")
PROBES = 8
SLOW = 0.1  # a step that makes the cost smaller by less than this share,
FINER = 0.1  # asks for as much more exact ones
TRIALS = 30  # of larger λ, where JᵀJ + λ D² is not positive definite


class _State(NamedTuple):
    value: Value
    gradient: Value
    residuals: Value
    jacobian: Any  # ∂r, rescaled by the loss: a sparse matrix, or its linearization
    scaled: Value
    D: Value
    damping: Value  # λ
    growth: Value  # ν
    blocks: Blocks | None
    measure: Value
    forcing: Value  # how exactly products alone solve for a step
    code: Value


@final
@dataclass(frozen=True)
class SparseMarquardt:
    """Levenberg and Marquardt's method with sparse Jacobians; it runs on plain arrays, in compiled programs too.

    `linear` says how its equations are solved: "cholesky" (a sparse factorization), "schur" (after eliminating the leaf
    `eliminate`, e.g. the points of a bundle adjustment: blocks along its first axis that no residual sees two of),
    "lsmr" (products with the Jacobian alone), or "auto": "schur" where there is such a leaf, else "cholesky".
    `pattern` is a matrix whose entries are where the Jacobian may be nonzero; without it, it is found.

    ```python
    residual = lambda x: np.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])
    found = ad.optimize.least_squares(residual, np.zeros(1000), method=ad.optimize.SparseMarquardt())
    bool(np.all(np.abs(found.value - 1) < 1e-6)), found.status  # → (True, 'converged')
    ```
    """

    linear: str = "auto"
    eliminate: str | None = None
    pattern: Any = None
    damping: float = 1e-4  # the first λ; J D⁻¹ has columns of length one
    accept: float = 1e-4
    scaled: bool = True
    needs = ("residual", "jacobian", "jvp", "vjp")
    descends = True
    bounds = True
    plain = True

    def __post_init__(self) -> None:
        if self.linear not in LINEAR:
            near = did_you_mean(self.linear, LINEAR) or f"They are: {', '.join(LINEAR)}."
            raise ValueError(f"SparseMarquardt: linear={self.linear!r} is none. {near}")

    def init(self, problem: Residuals, x: Value) -> _State:
        """Residuals and Jacobian at the start."""
        value, r = problem.value(x)
        J, scaled = self._derive(problem, x, r)
        blocks = None
        if self.linear in {"auto", "schur"}:
            blocks = find_blocks(problem.title, J, problem.unknowns, self.eliminate)
        zero = np.zeros(problem.size, problem.dtype)
        one = problem.dtype.type(1.0)
        return self._look(problem, x, value, r, J, scaled, zero, self.damping * one, 2.0 * one, blocks)

    def _derive(self, problem: Residuals, x: Value, r: Value) -> tuple[Any, Value]:
        if self.linear == "lsmr":
            return problem.linearize(x), problem.weigh(r)
        return problem.sparse_jacobian(x, r, self.pattern)

    def _look(self, problem: Residuals, x: Value, value: Value, r: Value, J: Any, scaled: Value, D: Value,
              damping: Value, growth: Value, blocks: Any) -> _State:  # fmt: skip
        """The state at a point, with the largest cosine between r and the columns (or the gradient's direction)."""
        g = J.T @ scaled
        free = free_to_change(problem, x, g)
        length = np.sqrt(2.0 * value)
        if self.linear == "lsmr":
            D = D if np.any(D > 0) else self._estimate_sizes(J, r, g)
            d = np.where(free, g / (D * D), 0.0)
            size = np.linalg.norm(J @ d) * length
            measure = np.vdot(d, g) / size if size > 0 else 0.0
        else:
            sizes = np.sqrt(np.asarray((J * J).sum(axis=0)).ravel())
            D = np.maximum(D, np.where(sizes > 0, sizes, np.where(D > 0, D, 1.0))) if self.scaled else np.ones_like(g)
            usable = free & (sizes > 0) & (length > 0)
            measure = np.max(np.where(usable, np.abs(g), 0.0) / np.where(usable, sizes * length, 1.0))
        measure = problem.dtype.type(measure)
        forcing = problem.dtype.type(1e-4)
        return _State(value, g, r, J, scaled, D, damping, growth, blocks, measure, forcing, as_code(RUNNING))

    def _estimate_sizes(self, J: Any, r: Value, g: Value) -> Value:
        """Lengths of the columns of J from products: E (Jᵀ z)² = diag JᵀJ for random signs z."""
        if not self.scaled:
            return np.ones_like(g)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, len(r)))
        square = sum((J.T @ z.astype(g.dtype)) ** 2 for z in signs) / PROBES
        return np.sqrt(np.maximum(square, 1e-8 * max(float(np.max(square)), 1e-30)))

    def _solve(self, state: _State, free: Any, lam: Any) -> Value:
        """p for a damping, with unknowns at bounds left alone."""
        J, r, g, D = state.jacobian, state.scaled, np.where(free, state.gradient, 0.0), state.D
        mask = free.astype(g.dtype)
        if self.linear == "lsmr":
            scale = mask / D
            A = from_function(lambda u: J @ (scale * u), len(g), adjoint=lambda w: scale * (J.T @ w), range=len(r))
            tol = min(float(np.clip(1e-2 * state.measure, 1e-12, 1e-4)), max(1e-12, float(state.forcing)))
            return scale * lsmr(A, -r, damp=np.sqrt(lam), tol=tol, max_iterations=2 * len(g) + 20).value
        if not np.all(free):
            from scipy import sparse

            J = J @ sparse.diags_array(mask)
        damping = lam * D * D
        if state.blocks is None:
            solve = make_normal_solver(J, damping)
        else:
            solve = make_schur_solver(J, damping, state.blocks)
        p = -solve(g)
        return mask * (p - solve(J.T @ (r + J @ p) + damping * p))

    def step(self, problem: Residuals, x: Value, state: _State) -> tuple[Value, _State]:
        """One step; where the model was wrong only the damping changes."""
        g, J, D = state.gradient, state.jacobian, state.D
        free = free_to_change(problem, x, g)
        lam = state.damping
        for _ in range(TRIALS):
            try:
                p = self._solve(state, free, lam)
                break
            except SolveError:
                lam = lam * 10.0
        else:
            return x, state._replace(code=as_code(NO_PROGRESS))
        p = problem.project(x + p) - x
        Jp = J @ p
        promised = -(np.vdot(g, p) + 0.5 * np.vdot(Jp, Jp))
        moved = x + p
        value, raw = problem.value(moved)
        finite = bool(np.isfinite(value)) and bool(np.all(np.isfinite(raw)))
        fallen = state.value - value
        ratio = fallen / promised if finite and promised > 0 else -1.0
        good = finite and ratio > self.accept and fallen > 0
        hidden = promised <= 4 * problem.eps * state.value
        still = np.linalg.norm(D * p) <= problem.eps ** (2 / 3) * np.linalg.norm(D * x) + problem.eps**2
        ends = (still or hidden) and (lam <= 1e-2 or state.measure <= 10 * problem.eps**0.5)
        stuck = (still and not good) or lam > 1e16
        code = CONVERGED if ends else NO_PROGRESS if stuck else RUNNING
        refused = x, state._replace(damping=lam * state.growth, growth=2 * state.growth, code=as_code(code))
        blur = DOUBT * problem.eps * state.value
        doubtful = finite and promised <= blur and abs(fallen) <= blur
        if not good and not doubtful:
            return refused
        calmer = max(1.0 / 3.0, 1.0 - (2.0 * float(ratio) - 1.0) ** 3) if good else 1.0
        damping = problem.dtype.type(max(float(lam) * calmer, 1e-15))
        J, scaled = self._derive(problem, moved, raw)
        two = problem.dtype.type(2.0)
        new = self._look(problem, moved, value, raw, J, scaled, D, damping, two, state.blocks)
        # along a narrow valley only steps that are nearly exact get on
        new = new._replace(forcing=state.forcing if ratio * promised > SLOW * state.value else FINER * state.forcing)
        if doubtful and new.measure < 0.5 * state.measure:
            return moved, new
        return (moved, new._replace(code=as_code(code))) if good else refused

    def done(self, problem: Residuals, x: Value, state: _State) -> Value:
        """Where r is orthogonal to the columns of J, or vanishes."""
        small = state.measure <= problem.tol or state.value <= (problem.eps**2) ** 2
        code = state.code if state.code != RUNNING else CONVERGED if small else RUNNING
        finite = np.isfinite(state.value) and np.all(np.isfinite(state.gradient))
        return as_code(code if finite else NOT_FINITE)

"""Approximations of the derivative of a solution, to compare with: truncated series, one step, the solver's own steps.

    Neumann(k):  ∂ₓF⁻¹ ≈ η Σ_{j ≤ k} (I - η ∂ₓF)ʲ        OneStep():  ∂ₓF⁻¹ ≈ η I        Unrolled(n):  x = Tⁿ(x₀)

For x = T(x) with F = x - T(x) and η = 1 the factor I - ∂ₓF is ∂ₓT: the series converges as fast as the iteration
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import fori_loop
from adjoint.base.errors import RuleError
from adjoint.implicit.equation import Stacked, jacobian_map
from adjoint.implicit.vectors import to_arrays, to_vector
from adjoint.ops.implicit_solve import Equation
from adjoint.program.program import Program
from adjoint.program.types import Value

__all__ = ["Neumann", "OneStep", "Unrolled", "unroll_solver"]


@final
@dataclass(frozen=True)
class Neumann:
    """The first `terms` powers of the Neumann series, for `differentiate=`; no linear equation is solved.

    `step` is η where F is no fixed point x - T(x): smaller than 2 over the largest eigenvalue of ∂ₓF.

    ```python
    T = lambda x, a: 0.5 * np.cos(x) + a
    rough = ad.implicit.fixed_point(T, x0=0.0, differentiate=ad.implicit.Neumann(3))
    ad.grad(rough)(0.1), ad.grad(ad.implicit.fixed_point(T, x0=0.0))(0.1)  # → (0.794…, 0.797…)
    ```
    """

    terms: int
    step: float = 1.0

    def equation(self, exact: Equation) -> Equation:
        """How the linear equations of the derivative are solved."""
        if self.terms < 0:
            raise ValueError(f"implicit.Neumann: {self.terms} terms; it takes a number of products, 0 or more.")
        return _Series(self.terms, self.step)


@final
@dataclass(frozen=True)
class OneStep:
    """The derivative of one step at the solution, for `differentiate=`: ∂x* ≈ ∂θT, as if x had no derivative before.

    ```python
    T = lambda x, a: 0.1 * np.cos(x) + a
    one = ad.implicit.fixed_point(T, x0=0.0, differentiate=ad.implicit.OneStep())
    ad.grad(one)(0.1)  # → 1.0
    ```
    """

    step: float = 1.0

    def equation(self, exact: Equation) -> Equation:
        """How the linear equations of the derivative are solved."""
        return _Series(0, self.step)


@final
@dataclass(frozen=True)
class Unrolled:
    """Differentiate the steps themselves, for `differentiate=`: `steps` of x ← T(x, θ) from x0, or the given solver's.

    `checkpoint` is that of `ad.scan`: what reverse mode keeps of them.

    ```python
    T = lambda x, a: 0.5 * np.cos(x) + a
    steps = ad.implicit.fixed_point(T, x0=0.0, differentiate=ad.implicit.Unrolled(40))
    ad.grad(steps)(0.1)  # → 0.797…
    ```
    """

    steps: int | None = None
    checkpoint: Any = None

    def equation(self, exact: Equation) -> Equation:
        """The equation is not used: see `unroll_solver`."""
        return exact


def unroll_solver(
    how: Unrolled, T: Callable[..., Any] | None, solver: Callable[..., Any] | None, x0: Any, title: str
) -> Callable[..., Any]:
    """x(*θ) by a solver whose own steps are differentiated."""
    if solver is not None:
        if how.steps is not None:
            raise RuleError(f"{title}: Unrolled({how.steps}) counts steps of x ← T(x, θ); with a solver of your own "
                            "write Unrolled(), and give it the number.")  # fmt: skip
        return solver if x0 is None else partial(solver, x0)
    if T is None or how.steps is None or x0 is None:
        raise RuleError(f"{title}: Unrolled() needs a solver that can be traced, whose steps it differentiates; only "
                        "fixed_point with x0 has steps of its own, Unrolled(n).")  # fmt: skip
    return partial(_repeat, how, T, x0)


def _repeat(how: Unrolled, T: Callable[..., Any], x0: Any, *args: Any, **kwargs: Any) -> Any:
    step = lambda _, x: T(x, *args, **kwargs)
    start = tree.map(lambda leaf: leaf if hasattr(leaf, "dtype") else np.float64(leaf), x0)
    return fori_loop(0, how.steps, step, start, checkpoint=how.checkpoint)


@final
@dataclass(frozen=True)
class _Series:
    """t = η Σ_{j ≤ terms} (I - η ∂ₓF)ʲ b."""

    terms: int
    step: float

    def solve(
        self, residual: Program, theta: Sequence[Value], x: Sequence[Value], b: Sequence[Value], adjoint: bool,
        memory: dict[str, Any],
    ) -> list[Value]:  # fmt: skip
        unknown, types = residual.input_types[len(theta) :], residual.output_types
        source, target = (unknown, types) if adjoint else (types, unknown)
        right = to_vector(b, source)
        A = jacobian_map(residual, theta, x)
        A = A.adjoint if adjoint else A
        t = right
        for _ in range(self.terms):
            t = right + t - self.step * A(t)
        return to_arrays(np.asarray(self.step, right.dtype) * t, target)

    def batched(self, residual: Program, mapped: tuple[bool, ...], size: int) -> Equation:
        return Stacked(self, residual, mapped, size)

"""`ImplicitSolve`: the solution of an equation, found by any solver and differentiated by the equation itself.

    F(x, θ) = 0        ∂ₓF ẋ = -∂θF θ̇,        ∂ₓF* r = x̄,   θ̄ = -∂θF* r

The steps of the solver are never differentiated, and the solver may be anything that takes plain arrays. Taylor
coefficients follow from one linear solve for each order, always with ∂ₓF at the solution itself. How these linear
equations are solved is told by an `Equation`, whose solves are differentiable themselves, so derivatives of every order
follow. In a finished program the solver's own equations stand in the place of the primitive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from adjoint.ops.control.base import Control, Guard, Run, active_series, rearranged, zeros
from adjoint.ops.control.recorded import call_program, called_program
from adjoint.program.op import primitive
from adjoint.program.program import Program, interpret
from adjoint.program.types import ArrayType, Value


class Equation(Protocol):
    """How ∂ₓF t = b, or ∂ₓF* t = b, is solved at a point (θ, x)."""

    def solve(
        self,
        residual: Program,
        theta: Sequence[Value],
        x: Sequence[Value],
        b: Sequence[Value],
        adjoint: bool,
        memory: dict[str, Any],
    ) -> list[Value]:
        """t, in the types of x; with `adjoint` in those of F. `memory` is for what all solves at this point share."""
        ...  # fmt: skip

    def batched(self, residual: Program, mapped: tuple[bool, ...], size: int) -> Equation:
        """The same for stacks: `residual` is that of one element, `mapped` tells which of (θ, x) are stacked."""
        ...


@primitive
class ImplicitSolve(Control):
    """Arguments: θ, then what the solver alone reads. Results: x, then reports, which have no derivative.

    residual: (θ, x) ↦ F(x, θ);  solver: (θ, its own) ↦ (x, reports);  equation: how ∂ₓF t = b is solved.
    """

    is_implicit = True
    closes = True  # the linear equation is solved by any function, which may make arrays of its own

    residual: Program
    solver: Program
    equation: Any
    unknowns: int  # the number of arrays in x

    @property
    def title(self) -> str:
        return "implicit_solve"

    @property
    def constants(self) -> int:
        """The number of arrays in θ."""
        return len(self.residual.inputs) - self.unknowns

    def programs(self) -> dict[str, Program]:
        return {"solver": self.solver, "residual": self.residual}

    def unroll(self, xs: Sequence[Value], run: Run) -> list[Value]:
        return run(self.solver, xs)

    def guarded(self, guard: Guard) -> tuple[Control, int | None]:
        """The truth value is one more thing that the solver alone reads, and stands first among them."""
        at = self.constants
        solver = guard(self.solver)
        last = len(solver.inputs) - 1
        solver = rearranged(solver, [*range(at), last, *range(at, last)], range(len(solver.outputs)))
        return ImplicitSolve(self.residual, solver, self.equation, self.unknowns), at

    def evaluate(self, *xs: Value) -> Value:
        return tuple(interpret(self.solver, xs))

    def result_type(self, *types: ArrayType) -> Any:
        return self.solver.output_types

    def _tangents(
        self, theta: Sequence[Value], x: Sequence[Value], dxs: Sequence[Value], programs: Any, memory: dict[str, Any]
    ) -> list[Value]:
        """The tangents of all results: -∂ₓF⁻¹ ∂θF θ̇, and None for the reports."""
        reports: list[Value] = [None] * (len(self.solver.outputs) - self.unknowns)
        n, m = self.constants, len(self.residual.outputs)
        moving = [d is not None for d in dxs[:n]]
        if not any(moving):
            return [*[None] * self.unknowns, *reports]
        pushed, flags = programs.jvp(self.residual, (*moving, *[False] * self.unknowns), (False,) * m)
        moved = iter(call_program(pushed, [*theta, *x, *[d for d in dxs[:n] if d is not None]])[m:])
        if not any(flags):
            return [*[None] * self.unknowns, *reports]
        right = [-next(moved) if f else zeros(t) for f, t in zip(flags, self.residual.output_types, strict=True)]
        return [*self.equation.solve(self.residual, theta, x, right, False, memory), *reports]

    def jvp(self, xs: Sequence[Value], dxs: Sequence[Value], trace: Any) -> tuple[Sequence[Value], Sequence[Value]]:
        out = self(*xs)
        return out, self._tangents(xs[: self.constants], out[: self.unknowns], dxs, trace.programs, {})

    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        out = tuple(self(*xs))
        held = tuple(trace.captured.hold(x) for x in xs[: self.constants])
        # a dict is left alone when values are put into the record anew: what it holds is looked up by these values
        return out, (held, out[: self.unknowns], trace.programs, {}, len(xs))

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        theta, x, programs, memory, _ = xs
        return self._tangents(theta, x, dxs, programs, memory)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        theta, x, programs, memory, count = xs
        x_bar = list(ct[: self.unknowns])
        n = self.constants
        if all(c is None for c in x_bar) or not any(wanted[:n]):
            return [None] * count
        types = self.residual.input_types[n:]
        right = [zeros(t) if c is None else c for c, t in zip(x_bar, types, strict=True)]
        r = self.equation.solve(self.residual, theta, x, right, True, memory)
        flags = [*wanted[:n], *[False] * self.unknowns]
        theta_bar = programs.pulled(called_program(self.residual), [*theta, *x], flags, [-c for c in r])[:n]
        return [*theta_bar, *[None] * (count - n)]

    def jet(self, series: Sequence[list[Value]], trace: Any) -> Sequence[list[Value]]:
        """∂ₓF xₖ = -[F(θ(t), x₀ + … + xₖ₋₁ tᵏ⁻¹)]ₖ."""
        order, n, m = trace.order, self.constants, len(self.residual.outputs)
        out = self(*[s[0] for s in series])
        theta = series[:n]
        x: list[list[Value]] = [[z] for z in out[: self.unknowns]]
        moving, memory = active_series(theta), dict[str, Any]()
        for k in range(1, order + 1):
            active = (*moving, *[any(c is not None for c in s[1:]) for s in x])
            new: list[Value] = [None] * self.unknowns
            if any(active):
                known = [*theta, *[[*coefficients, None] for coefficients in x]]
                expanded, flags = trace.programs.jet(self.residual, active, k, (False,) * m)
                flat = [s[0] for s in known]
                for s, a in zip(known, active, strict=True):
                    if a:
                        flat += [zeros(s[0]) if c is None else c for c in s[1 : k + 1]]
                terms = iter(interpret(expanded, flat)[m:])
                tops = [[next(terms) for _ in range(k)][-1] if f else None for f in flags]
                if any(top is not None for top in tops):
                    types = self.residual.output_types
                    right = [zeros(t) if top is None else -top for top, t in zip(tops, types, strict=True)]
                    values = [s[0] for s in known]
                    new = self.equation.solve(self.residual, values[:n], values[n:], right, False, memory)
            for coefficients, c in zip(x, new, strict=True):
                coefficients.append(c)
        return [*x, *[[z, *[None] * order] for z in out[self.unknowns :]]]

    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]:
        """x and the reports are stacked; θ and what the solver alone reads only where they are."""
        size, n = trace.size, self.constants
        flags = (*mapped[:n], *[True] * self.unknowns)
        residual, _ = trace.programs.batched(self.residual, flags, size, (True,) * len(self.residual.outputs))
        solver, _ = trace.programs.batched(self.solver, tuple(mapped), size, (True,) * len(self.solver.outputs))
        equation = self.equation.batched(self.residual, flags, size)
        return [(z, True) for z in ImplicitSolve(residual, solver, equation, self.unknowns)(*xs)]


def is_same(values: Sequence[Value], others: Sequence[Value]) -> bool:
    """Whether two lists hold the very same objects."""
    return len(values) == len(others) and all(a is b for a, b in zip(values, others, strict=True))


def is_plain_array(value: Value) -> bool:
    """Whether a value is a NumPy array or number."""
    return isinstance(value, np.ndarray | np.generic)

"""`LinearSolve`: the solution of a linear equation, found by any program and differentiated by the equation itself.

    A(θ) x = b        ẋ = A⁻¹ (ḃ - Ȧ x),        b̄ = A⁻* x̄,        θ̄ = -(∂θ A(θ) x)* b̄

The steps of the solver are never differentiated. The solves of the derivative are such solves again, so derivatives of
every order follow. What the solver is given beside θ and b (its preconditioner, where it starts) has no derivative: the
solution does not depend on it. In a finished program the solver's own equations stand in its place.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import RuleError
from adjoint.ops.control.base import Control, Flags, Guard, Run, active_series, rearranged, zeros
from adjoint.ops.effects import silent
from adjoint.program.op import primitive
from adjoint.program.program import Program, Var, interpret
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value

BOOL = np.dtype(bool)
BY_HAND = "_by_hand"


def remember_function(program: Program, function: Callable[..., Sequence[Value]]) -> Program:
    """The program, which now knows a function that computes the same of plain arrays, by Python's own loops: quicker
    than to read them from the program.
    """
    program.__dict__[BY_HAND] = function
    return program


@primitive
class LinearSolve(Control):
    """Arguments: constants θ of A, what the solver alone reads, b, where to start. Results: x, then reports.

    matrix: (θ, x) ↦ A x;  solver: (θ, its own, b, start) ↦ (x, reports);  `adjoint` and `adjoint_solver` are the same
    for A*. Both are None when A is symmetric; or, with `symmetric` false, when A* is not known: then nothing is pulled.
    """

    is_implicit = True

    matrix: Program
    solver: Program
    adjoint: Program | None
    adjoint_solver: Program | None
    constants: int
    symmetric: bool

    @property
    def title(self) -> str:
        return "linear_solve"

    def programs(self) -> dict[str, Program]:
        named = {"solver": self.solver, "matrix": self.matrix}
        if self.adjoint is not None and self.adjoint_solver is not None:
            named |= {"adjoint solver": self.adjoint_solver, "adjoint": self.adjoint}
        return named

    def unroll(self, xs: Sequence[Value], run: Run) -> list[Value]:
        return run(self.solver, xs)

    @property
    def unknowns(self) -> int:
        """The number of arrays in x."""
        return len(self.matrix.inputs) - self.constants

    def _split(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """θ, what the solver alone reads, b, where to start."""
        a, c = self.constants, len(values) - self.unknowns
        b = c - len(self.matrix.outputs)
        return list(values[:a]), list(values[a:b]), list(values[b:c]), list(values[c:])

    def again(self) -> LinearSolve:
        """The same without effects, for the solves of the derivative."""
        return LinearSolve(
            self.matrix, silent(self.solver), self.adjoint, self.adjoint_solver, self.constants, self.symmetric
        )

    def transposed(self) -> LinearSolve:
        """The solve with A*."""
        if self.symmetric:
            return self.again()
        if self.adjoint is None or self.adjoint_solver is None:
            raise RuleError(
                "linear_solve: the adjoint of the operator is not known, so nothing can be pulled back through the "
                "solve. Give the operator as a LinearMap with an adjoint, or differentiate in forward mode."
            )
        return LinearSolve(self.adjoint, self.adjoint_solver, self.matrix, silent(self.solver), self.constants, False)

    def guarded(self, guard: Guard) -> tuple[Control, int | None]:
        """The truth value is one more thing that the solver alone reads, and stands first among them."""
        at = self.constants
        guarded = guard(self.solver)
        last = len(guarded.inputs) - 1
        solver = rearranged(guarded, [*range(at), last, *range(at, last)], range(len(guarded.outputs)))
        other = self.adjoint_solver
        if other is not None:
            inputs = (*other.inputs[:at], Var(ArrayType((), BOOL)), *other.inputs[at:])
            other = Program(inputs, other.equations, other.outputs, other.constants)
        return LinearSolve(self.matrix, solver, self.adjoint, other, at, self.symmetric), at

    def evaluate(self, *xs: Value) -> Value:
        by_hand = self.solver.__dict__.get(BY_HAND)
        return tuple(interpret(self.solver, xs) if by_hand is None else by_hand(*xs))

    def result_type(self, *types: ArrayType) -> Any:
        return self.solver.output_types

    def _solve(self, theta: Sequence[Value], own: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """x for another right side, from zero. The first report, where it is an integer, is zero if all is well."""
        start = [zeros(t) for t in self.matrix.input_types[self.constants :]]
        out = self(*theta, *own, *right, *start)
        for code in out[self.unknowns : self.unknowns + 1]:
            if not isinstance(code, Tracer) and code.dtype.kind == "i" and np.any(code):
                warnings.warn(
                    "A linear equation that a derivative needs was not solved to the accuracy asked for (code "
                    f"{np.max(code)}), so the derivative is not exact. Look at the status of the solution itself; give "
                    "more iterations, a preconditioner, or a looser tol.",
                    RuntimeWarning,
                    stacklevel=2,
                )
        return list(out[: self.unknowns])

    def _tangents(
        self, xs: Sequence[Value], x: Sequence[Value], dxs: Sequence[Value], programs: Any
    ) -> list[Value] | None:
        """A⁻¹ (ḃ - Ȧ x); None when nothing moves that x depends on."""
        theta, own, _, _ = self._split(xs)
        d_theta, _, d_right, _ = self._split(dxs)
        right = list(d_right)
        if any(d is not None for d in d_theta):
            m = len(self.matrix.outputs)
            active = (*[d is not None for d in d_theta], *[False] * self.unknowns)
            pushed, flags = programs.jvp(self.matrix, active, (False,) * m)
            moved = iter(interpret(pushed, [*theta, *x, *[d for d in d_theta if d is not None]])[m:])
            right = [_minus(d, next(moved) if f else None) for d, f in zip(right, flags, strict=True)]
        if all(d is None for d in right):
            return None
        types = self.matrix.output_types
        return self.again()._solve(
            theta, own, [zeros(t) if d is None else d for d, t in zip(right, types, strict=True)]
        )

    def _with_reports(self, tangents: list[Value] | None) -> list[Value]:
        count = len(self.solver.outputs)
        return [None] * count if tangents is None else [*tangents, *[None] * (count - self.unknowns)]

    def jvp(self, xs: Sequence[Value], dxs: Sequence[Value], trace: Any) -> tuple[Sequence[Value], Sequence[Value]]:
        out = self(*xs)
        return out, self._with_reports(self._tangents(xs, out[: self.unknowns], dxs, trace.programs))

    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        out = tuple(self(*xs))
        held = tuple(trace.captured.hold(x) for x in xs)
        return out, (held, out[: self.unknowns], trace.programs)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        values, x, programs = xs
        x_bar = list(ct[: self.unknowns])
        if all(c is None for c in x_bar):
            return [None] * len(values)
        theta, own, right, start = self._split(values)
        want, _, _, _ = self._split(wanted)
        types = self.matrix.input_types[self.constants :]
        b_bar = self.transposed()._solve(
            theta, own, [zeros(t) if c is None else c for c, t in zip(x_bar, types, strict=True)]
        )
        if self.symmetric:
            self._warn_if_not_symmetric(theta, right, x, x_bar, b_bar)
        theta_bar: list[Value] = [None] * self.constants
        if any(want):
            flags = [*want, *[False] * self.unknowns]
            theta_bar = programs.pulled(self.matrix, [*theta, *x], flags, [-c for c in b_bar])[: self.constants]
        return [*theta_bar, *[None] * len(own), *b_bar, *[None] * len(start)]

    def _warn_if_not_symmetric(
        self, theta: list[Value], b: list[Value], x: Sequence[Value], x_bar: list[Value], b_bar: list[Value]
    ) -> None:
        """⟨b̄, b⟩ = ⟨x, x̄⟩ where A x = b, A b̄ = x̄ and A is symmetric, up to the residuals r, s of the two equations."""
        x_bar = [zeros(t) if c is None else c for c, t in zip(x_bar, self.matrix.output_types, strict=True)]
        if any(isinstance(v, Tracer) for v in (*theta, *b, *x, *x_bar, *b_bar)):
            return
        with np.errstate(all="ignore"):
            r = [_minus(u, v) for u, v in zip(b, interpret(self.matrix, [*theta, *x]), strict=True)]
            s = [_minus(u, v) for u, v in zip(x_bar, interpret(self.matrix, [*theta, *b_bar]), strict=True)]
            gap = abs(_inner(b_bar, b) - _inner(x, x_bar))
            explained = _size(b_bar) * _size(r) + _size(x) * _size(s)
            scale = _size(b_bar) * _size(b) + _size(x) * _size(x_bar)
            rounding = max((np.finfo(v.dtype).eps for v in b), default=0.0) ** 0.5
        if gap > 2 * explained + 10 * rounding * scale:
            warnings.warn(
                "A linear equation was solved by a method for symmetric operators, but the operator is not symmetric: "
                "the derivative is wrong. Use gmres, bicgstab or lsmr.",
                RuntimeWarning,
                stacklevel=2,
            )

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        values, x, programs = xs
        return self._with_reports(self._tangents(values, x, dxs, programs))

    def jet(self, series: Sequence[list[Value]], trace: Any) -> Sequence[list[Value]]:
        """xₖ = A₀⁻¹ (bₖ - [A(θ) (x₀ + … + xₖ₋₁ tᵏ⁻¹)]ₖ)."""
        order = trace.order
        out = self(*[s[0] for s in series])
        theta, own, right, _ = self._split(series)
        x: list[list[Value]] = [[z] for z in out[: self.unknowns]]
        moving = active_series(theta)
        m = len(self.matrix.outputs)
        for k in range(1, order + 1):
            known = [*theta, *[[*coefficients, None] for coefficients in x]]
            side: list[Value] = [b[k] for b in right]
            active = (*moving, *[any(c is not None for c in s[1:]) for s in x])
            if any(active):
                expanded, flags = trace.programs.jet(self.matrix, active, k, (False,) * m)
                flat = [s[0] for s in known]
                for s, a in zip(known, active, strict=True):
                    if a:
                        flat += [zeros(s[0]) if c is None else c for c in s[1 : k + 1]]
                terms = iter(interpret(expanded, flat)[m:])
                tops = [[next(terms) for _ in range(k)][-1] if f else None for f in flags]
                side = [_minus(b, top) for b, top in zip(side, tops, strict=True)]
            if all(c is None for c in side):
                new: list[Value] = [None] * self.unknowns
            else:
                types = self.matrix.output_types
                filled = [zeros(t) if c is None else c for c, t in zip(side, types, strict=True)]
                new = self.again()._solve([s[0] for s in theta], [s[0] for s in own], filled)
            for coefficients, c in zip(x, new, strict=True):
                coefficients.append(c)
        return [*x, *[[z, *[None] * order] for z in out[self.unknowns :]]]

    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]:
        """b, x and the reports are stacked; θ and what the solver alone reads only where they are."""
        size = trace.size
        theta, own, _, _ = (tuple(flags) for flags in self._split(mapped))
        free = len(theta) + len(own)
        values = [x if m or i < free else _repeat(x, size) for i, (x, m) in enumerate(zip(xs, mapped, strict=True))]

        def stacked(program: Program, flags: Flags) -> Program:
            return trace.programs.batched(program, flags, size, (True,) * len(program.outputs))[0]

        def both(matrix: Program, solver: Program) -> tuple[Program, Program]:
            rows, columns = len(matrix.outputs), len(matrix.inputs) - self.constants
            return (
                stacked(matrix, (*theta, *[True] * columns)),
                stacked(solver, (*theta, *own, *[True] * (rows + columns))),
            )

        matrix, solver = both(self.matrix, self.solver)
        adjoint, adjoint_solver = self.adjoint, self.adjoint_solver
        if adjoint is not None and adjoint_solver is not None:
            adjoint, adjoint_solver = both(adjoint, adjoint_solver)
        op = LinearSolve(matrix, solver, adjoint, adjoint_solver, self.constants, self.symmetric)
        return [(z, True) for z in op(*values)]


def _inner(u: Sequence[Value], v: Sequence[Value]) -> float:
    """Re ⟨u, v⟩, over all arrays."""
    return sum(float(np.real(np.vdot(a, b))) for a, b in zip(u, v, strict=True))  # pyright: ignore[reportUnknownArgumentType]


def _size(u: Sequence[Value]) -> float:
    return _inner(u, u) ** 0.5


def _repeat(x: Value, size: int) -> Value:
    return np.broadcast_to(x if hasattr(x, "shape") else np.asarray(x), (size, *np.shape(x)))


def _minus(a: Value, b: Value) -> Value:
    """a - b, where None is zero."""
    if b is None:
        return a
    return -b if a is None else a - b

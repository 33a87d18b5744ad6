"""Least squares without a matrix: lsmr, and its derivative by the equations that the solution satisfies.

    x minimizes ‖A x - b‖² + damp² ‖x‖²;   r = b - A x:     r + A x = b,   A* r = 0         (A with damp 1 below it)
    of all solutions of A x = b, the shortest:                x + A* y = 0,   A x = b         (fewer rows than columns)

Either pair is one symmetric equation, so the derivative is such a pair with other right sides. It takes A to have full
rank, which damping ensures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Unpack

import numpy as np

from adjoint import tree
from adjoint.base.errors import DtypeError, RuleError, ShapeError
from adjoint.base.source import user_facing
from adjoint.linear.operators.operator import Operator, is_traced, operator
from adjoint.linear.operators.operator import preconditioner as read_preconditioner
from adjoint.linear.operators.spaces import Space
from adjoint.linear.solvers.equation import (
    HISTORY,
    NUMBER,
    REMEMBERED,
    Programs,
    is_plain,
    list_reports,
    record_operator,
    solution,
    split_sizes,
    tolerances,
    written,
)
from adjoint.linear.solvers.iteration import (
    Flat,
    Limits,
    Outcome,
    close_monitor,
    either,
    iterate,
    norm,
    target_for,
    vanishes,
)
from adjoint.linear.solvers.options import Options, SolverOptions, takes_options
from adjoint.linear.solvers.solution import CONVERGED, NOT_FINITE, RUNNING, STAGNATED, Solution
from adjoint.ops.linalg.linear_solve import LinearSolve, remember_function
from adjoint.program.program import Program
from adjoint.program.record import record_program
from adjoint.program.types import Value

__all__ = ["least_squares", "lsmr"]


def least_squares(A: Flat, At: Flat, b: Value, x0: Value, limits: Limits) -> Outcome:
    """Fong and Saunders: minimal residuals for A* A x = A* b by bidiagonalization, β u = A v - α u, α v = A* u - β v.

    ‖A* r‖ falls from step to step; it ends when that, or the residual itself, is small.
    """
    size = norm(b)
    x0 = either(size > 0, x0, 0 * x0)
    u = b - A(x0)
    start = norm(u)
    u = u / either(start > 0, start, 1)
    v = At(u)
    alpha = first = norm(v)
    v = v / either(alpha > 0, alpha, 1)
    nothing = 0 * start

    def step(state: Any) -> Any:
        x, u, v, h, h_bar, numbers, lengths = state
        alpha, alpha_bar, zeta_bar, rho, rho_bar, c_bar, s_bar, size_A = numbers
        u = A(v) - alpha * u
        beta = norm(u)
        u = u / either(beta > 0, beta, 1)
        v = At(u) - beta * v
        size_A = size_A + alpha * alpha + beta * beta
        alpha = norm(v)
        v = v / either(alpha > 0, alpha, 1)
        rho_before, rho_bar_before = rho, rho_bar
        rho = np.hypot(alpha_bar, beta)
        c, s = alpha_bar / _divisor(rho), beta / _divisor(rho)
        theta, alpha_bar = s * alpha, c * alpha
        theta_bar = s_bar * rho
        rho_bar = np.hypot(c_bar * rho, theta)
        c_bar, s_bar = c_bar * rho / _divisor(rho_bar), theta / _divisor(rho_bar)
        zeta, zeta_bar = c_bar * zeta_bar, -s_bar * zeta_bar
        h_bar = h - (theta_bar * rho / (rho_before * rho_bar_before)) * h_bar
        x = x + (zeta / _divisor(rho * rho_bar)) * h_bar
        h = v - (theta / _divisor(rho)) * h
        lengths, residual = _residual(lengths, c, s, theta_bar, rho_bar, zeta)
        small = np.abs(zeta_bar) <= limits.tol * np.sqrt(size_A) * residual
        trouble = either(np.isfinite(residual), either(small, CONVERGED, RUNNING), NOT_FINITE)
        numbers = (alpha, alpha_bar, zeta_bar, _divisor(rho), _divisor(rho_bar), c_bar, s_bar, size_A)
        return (x, u, v, h, h_bar, numbers, lengths), residual, trouble, 1

    one = nothing + 1
    numbers = (alpha, alpha, alpha * start, one, one, one, nothing, nothing)
    lengths = (start, nothing, one, nothing, nothing, nothing)
    state, code, done, target, history = iterate(step, (x0, u, v, v, 0 * v, numbers, lengths), start, size, limits)
    # a right side that A cannot reach at all is best met by zero
    code = either(first <= 0, either(np.isfinite(start), CONVERGED, NOT_FINITE), code)
    code = either(vanishes(b, size), STAGNATED, either(vanishes(v, first), STAGNATED, code))
    residual = norm(b - A(state[0]))
    return Outcome(state[0], code, done, residual, target, 0 * residual, history)


def _divisor(value: Value) -> Value:
    return either(value != 0, value, 1)


def _residual(lengths: Any, c: Value, s: Value, theta_bar: Value, rho_bar: Value, zeta: Value) -> tuple[Any, Value]:
    """‖r‖ from the rotations that make the bidiagonal matrix of the method triangular a second time."""
    beta_dots, beta_dot, rho_dot, tau, theta_before, zeta_before = lengths
    beta_hat, beta_dots = c * beta_dots, -s * beta_dots
    rho_tilde = np.hypot(rho_dot, theta_bar)
    c_tilde, s_tilde = rho_dot / _divisor(rho_tilde), theta_bar / _divisor(rho_tilde)
    theta = s_tilde * rho_bar
    rho_dot = c_tilde * rho_bar
    beta_dot = -s_tilde * beta_dot + c_tilde * beta_hat
    tau = (zeta_before - theta_before * tau) / _divisor(rho_tilde)
    tau_dot = (zeta - theta * tau) / _divisor(rho_dot)
    residual = np.hypot(beta_dot - tau_dot, beta_dots)
    return (beta_dots, beta_dot, rho_dot, tau, theta, zeta), residual


@user_facing
@takes_options
def lsmr(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    damp: Value = 0.0,
    **options: Unpack[SolverOptions],
) -> Solution:
    """The x of least ‖A x - b‖² + damp² ‖x‖², and of least norm when there are several (from x0 = 0).

    It ends when ‖r‖ ≤ max(tol ‖b‖, atol) or ‖A* r‖ ≤ tol ‖A‖ ‖r‖. A preconditioner N replaces x by N y.

    ```python
    ad.linear.lsmr(np.array([[1.0], [1.0]]), np.array([1.0, 3.0])).value  # → [2.0]
    ```
    """
    given = Options.read("lsmr", options)
    made, b, x0 = operator(A, b, x0, "lsmr")
    rows, columns = made.range.size, made.domain.size
    damped = is_traced(damp) or damp != 0
    if np.shape(damp) != ():
        raise ShapeError(f"lsmr: damp has shape {np.shape(damp)}; it must be one number.")
    if np.iscomplexobj(damp):
        raise DtypeError("lsmr: damp is complex; it must be one real number.")
    if given.preconditioner is not None and rows < columns and not damped:
        raise ShapeError("lsmr: with fewer rows than columns a preconditioner changes which solution is the shortest. "
                         "Leave it out, or give damp.")  # fmt: skip
    limits = given.limits("lsmr", made.domain.dtype, min(rows, columns))
    if damped:
        zero = made.domain.zeros()
        made, b = _with_damping(made, damp), (b, zero)
    N = None
    if given.preconditioner is not None:
        N = read_preconditioner(given.preconditioner, Operator(made.domain, made.domain, lambda x: x), "lsmr")
    if given.unrolled or is_plain((b, x0, limits.tol, limits.atol), made, N):
        method = least_squares if N is None else _precondition(N.flat, N.flat_adjoint)
        with np.errstate(all="ignore"):
            outcome = method(made.flat, made.flat_adjoint, made.range.ravel(b), made.domain.ravel(x0), limits)
            close_monitor(limits)
        return solution("lsmr", made.domain.unravel(outcome.x), outcome[1:])
    return _implicit(made, N, b, x0, limits, wide=rows < columns and not damped)


def _with_damping(A: Operator, damp: Value) -> Operator:
    """A with damp 1 below it."""
    domain = A.domain

    def forwards(x: Any) -> Any:
        return A.forwards(x), domain.scaled(damp, x)

    def backwards(u: Any) -> Any:
        return tree.add(A.adjoint(u[0]), domain.scaled(np.conjugate(damp), u[1]))

    return Operator(domain, Space.product((A.range, domain)), forwards, backwards, own_adjoint=A.own_adjoint)


def _precondition(N: Flat, Nt: Flat) -> Callable[[Flat, Flat, Value, Value, Limits], Outcome]:
    """Least squares in y, x = x₀ + N y."""

    def method(A: Flat, At: Flat, b: Value, x0: Value, limits: Limits) -> Outcome:
        size = norm(b)
        x0 = either(size > 0, x0, 0 * x0)
        r = b - A(x0)
        target = target_for(size, limits)
        found = least_squares(lambda y: A(N(y)), lambda u: Nt(At(u)), r, 0 * x0, limits._replace(atol=target))
        return found._replace(x=x0 + N(found.x))

    return method


def _implicit(A: Operator, N: Operator | None, b: Any, x0: Any, limits: Limits, *, wide: bool) -> Solution:
    matrix, theta = record_operator(A, adjoint=True)
    if matrix.backward is None:
        raise RuleError("lsmr: the adjoint of the operator is not known. Give a LinearMap with an adjoint.")
    inverse, own = (None, []) if N is None else record_operator(N, adjoint=True)
    both = _both_equations(matrix, wide)
    solver = written(_solver, limits)(matrix, inverse, limits.without_numbers(), wide)
    op = LinearSolve(both, solver, None, None, len(theta), True)
    zero, nothing = [t.zeros() for t in A.domain.types], [t.zeros() for t in A.range.types]
    right = [*zero, *tree.leaves(b)] if wide else [*tree.leaves(b), *zero]
    start = [*tree.leaves(x0), *nothing] if wide else [*nothing, *tree.leaves(x0)]
    out = op(*theta, *own, *tolerances(limits), *right, *start)
    upper, lower, reports = split_sizes(
        out, *([len(zero), len(nothing)] if wide else [len(nothing), len(zero)]), HISTORY + 1
    )
    return solution("lsmr", tree.unflatten(A.domain.structure, upper if wide else lower), reports)


def _spaces(A: Programs, wide: bool) -> tuple[Space, Space]:
    """Of the two unknowns, and of the two right sides."""
    return (A.domain, A.range) if wide else (A.range, A.domain)


@lru_cache(maxsize=REMEMBERED)
def _both_equations(A: Programs, wide: bool) -> Program:
    """(θ, upper, lower) ↦ the left sides of both equations."""
    spaces = _spaces(A, wide)

    def flat(*values: Value) -> list[Value]:
        theta, *unknowns = split_sizes(values, len(A.types), *[len(space.types) for space in spaces])
        upper, lower = _vectors(spaces, unknowns)
        if wide:
            return _leaves(spaces, upper + A.apply_adjoint(theta, lower), A.apply(theta, upper))
        return _leaves(spaces, upper + A.apply(theta, lower), A.apply_adjoint(theta, upper))

    return record_program(flat, [*A.types, *spaces[0].types, *spaces[1].types], purpose="an operator")[0]


@lru_cache(maxsize=REMEMBERED)
def _solver(A: Programs, N: Programs | None, limits: Limits, wide: bool) -> Program:
    """(θ, own, tol, atol, both right sides, both starts) ↦ (both unknowns, reports)."""
    spaces, own = _spaces(A, wide), () if N is None else N.types
    sizes = [len(space.types) for space in spaces]

    def flat(*values: Value) -> list[Value]:
        theta, mine, (tol, atol), *sides = split_sizes(values, len(A.types), len(own), 2, *sizes, *sizes)
        (f, g), (upper, lower) = _vectors(spaces, sides[:2]), _vectors(spaces, sides[2:])
        now = limits._replace(tol=tol, atol=atol)
        method = least_squares
        if N is not None:
            method = _precondition(partial(N.apply, mine), partial(N.apply_adjoint, mine))
        with np.errstate(all="ignore"):
            product, back = partial(A.apply, theta), partial(A.apply_adjoint, theta)
            found = _pair(product, back, method, f, g, upper, lower, now, wide)
            close_monitor(now)
        return _leaves(spaces, *found)

    types = [*spaces[0].types, *spaces[1].types]
    program, _ = record_program(flat, [*A.types, *own, NUMBER, NUMBER, *types, *types], purpose="the solver lsmr")
    return remember_function(program, flat)


def _vectors(spaces: tuple[Space, Space], leaves: Sequence[Sequence[Value]]) -> tuple[Value, Value]:
    first, second = (
        space.ravel(tree.unflatten(space.structure, part)) for space, part in zip(spaces, leaves, strict=True)
    )
    return first, second


def _leaves(spaces: tuple[Space, Space], upper: Value, lower: Value, *rest: Value) -> list[Value]:
    return [*tree.leaves(spaces[0].unravel(upper)), *tree.leaves(spaces[1].unravel(lower)), *rest]


def _pair(
    A: Flat, At: Flat, method: Any, f: Value, g: Value, upper: Value, lower: Value, limits: Limits, wide: bool
) -> list[Value]:
    """Both unknowns for any right sides f, g, and the reports of the solve that the user asked for."""
    silent = limits.quiet()
    if wide:  # x + A* y = f, A x = g
        outcome = least_squares(A, At, g, upper, limits)
        beside = f - At(least_squares(At, A, f, 0 * lower, silent).x)  # the part of f that A does not see
        y = least_squares(At, A, f - outcome.x, 0 * lower, silent).x
        return [outcome.x + beside, y, *list_reports(outcome)]
    shortest = least_squares(At, A, g, 0 * upper, silent).x  # r + A x = f, A* r = g
    outcome = method(A, At, f - shortest, lower, limits)
    return [f - A(outcome.x), outcome.x, *list_reports(outcome)]

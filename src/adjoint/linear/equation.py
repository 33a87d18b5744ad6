"""A x = b solved by an iteration: at once on plain arrays, as a `LinearSolve` where something is traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api import linear_transpose
from adjoint.base.errors import AdjointError
from adjoint.linear.iteration import Flat, Limits, Outcome, ended
from adjoint.linear.operator import Operator, is_traced
from adjoint.linear.solution import Solution
from adjoint.linear.spaces import Space
from adjoint.ops.effects import silent
from adjoint.ops.linear_solve import LinearSolve
from adjoint.program.program import Program, Var, interpret
from adjoint.program.record import record_program
from adjoint.program.trace import live_trace
from adjoint.program.types import ArrayType, Value, type_of

__all__ = ["Method", "Recorded", "is_plain", "reported", "solution", "solved", "tolerances"]

HISTORY = Outcome._fields.index("history") - 1  # its place among the reports
Method = Callable[[Flat, Flat | None, Value, Value, Limits], Outcome]  # (A, M, b, x₀, limits) on vectors


def solved(
    title: str,
    method: Method,
    A: Operator,
    M: Operator | None,
    b: Any,
    x0: Any,
    limits: Limits,
    *,
    symmetric: bool,
    unrolled: bool = False,
) -> Solution:
    """The solution by a method on vectors."""
    if unrolled or is_plain((b, x0, limits.tol, limits.atol), A, M):
        with np.errstate(all="ignore"):
            outcome = method(A.flat, None if M is None else M.flat, A.range.ravel(b), A.domain.ravel(x0), limits)
            ended(limits)
        return solution(title, A.domain.unravel(outcome.x), outcome[1:])
    matrix = Recorded(A, adjoint=not symmetric)
    inverse = None if M is None else Recorded(M, adjoint=not symmetric)
    own = [] if inverse is None else inverse.theta
    main = _solver(title, method, matrix, inverse, limits, backwards=False)
    other = None if matrix.backward is None else _solver(title, method, matrix, inverse, limits, backwards=True)
    op = LinearSolve(matrix.forward, main, matrix.backward, other, len(matrix.theta), symmetric)
    out = op(*matrix.theta, *own, *tolerances(limits), *tree.leaves(b), *tree.leaves(x0))
    n = len(A.domain.types)
    return solution(title, tree.unflatten(A.domain.structure, out[:n]), out[n:])


def solution(title: str, value: Any, reports: Sequence[Any]) -> Solution:
    """The answer to the user, from what the outcome of an iteration tells beside x."""
    given: list[Any] = [np.int64(r) if isinstance(r, int) else r for r in reports]
    if len(given) > HISTORY and not is_traced((given[1], given[HISTORY])) and given[HISTORY] is not None:
        given[HISTORY] = given[HISTORY][..., : int(given[1]) + 1] if np.ndim(given[1]) == 0 else given[HISTORY]
    return Solution(value, *given, method=title)


def tolerances(limits: Limits) -> list[Value]:
    """tol and atol as values."""
    return [v if is_traced(v) else np.float64(v) for v in (limits.tol, limits.atol)]


def reported(outcome: Outcome) -> list[Value]:
    """What an outcome tells beside x, as values of a program."""
    return [np.int64(r) if isinstance(r, int) else r for r in outcome[1:] if r is not None]


def is_plain(values: Any, *operators: Operator | None) -> bool:
    """Whether nothing is traced, in the values nor in what the functions of operators close over."""
    if live_trace() is None:
        return True
    if is_traced(values):
        return False
    return not any(is_traced(A.forwards(A.domain.zeros())) for A in operators if A is not None)


class Recorded:
    """A and A* as programs of the same θ (everything that their functions read beside their argument), then x."""

    def __init__(self, A: Operator, *, adjoint: bool) -> None:
        self.operator = A
        self.forward, self.theta = _lifted(A.forwards, A.domain)
        self.backward: Program | None = None
        if adjoint:
            self.backward = None if A.own_adjoint else self._transposed()
            if self.backward is None and A.backwards is not None:
                self._given_adjoint(A.backwards)

    @property
    def types(self) -> list[ArrayType]:
        """The types of θ."""
        return [type_of(v) for v in self.theta]

    def _given_adjoint(self, backwards: Callable[[Any], Any]) -> None:
        """What A* reads is added to θ, and each program is told to leave the rest alone."""
        program, more = _lifted(backwards, self.operator.range)
        mine, theirs = [Var(t) for t in self.types], [Var(type_of(v)) for v in more]
        n, m = len(mine), len(theirs)
        self.forward = _with_inputs(self.forward, (*self.forward.inputs[:n], *theirs, *self.forward.inputs[n:]))
        self.backward = _with_inputs(program, (*mine, *program.inputs))
        self.theta = [*self.theta, *more]
        assert len(self.backward.inputs) == n + m + len(self.operator.range.types)

    def _transposed(self) -> Program | None:
        """A* read off the program of A; None where that is not possible."""
        k, A = len(self.theta), self.operator

        def flat(*values: Value) -> list[Value]:
            def product(*x: Value) -> Any:
                return tuple(interpret(self.forward, [*values[:k], *x]))

            back: Any = linear_transpose(product, *A.domain.types)
            return list(back(tuple(values[k:])))

        try:
            return record_program(flat, [*self.types, *A.range.types], purpose="an adjoint")[0]
        except AdjointError:
            return None

    def apply(self, theta: Sequence[Value], x: Value) -> Value:
        """A x for a vector."""
        return _applied(self.forward, theta, x, self.operator.domain, self.operator.range)

    def apply_adjoint(self, theta: Sequence[Value], u: Value) -> Value:
        """A* u for a vector."""
        assert self.backward is not None
        return _applied(self.backward, theta, u, self.operator.range, self.operator.domain)


def _applied(program: Program, theta: Sequence[Value], v: Value, domain: Space, range_: Space) -> Value:
    found = interpret(program, [*theta, *tree.leaves(domain.unravel(v))])
    return range_.ravel(tree.unflatten(range_.structure, found))


def _lifted(function: Callable[[Any], Any], space: Space) -> tuple[Program, list[Value]]:
    """A function of trees as a program of (θ, x) without constants, and the values of θ."""

    def flat(*leaves: Value) -> list[Value]:
        return list(tree.leaves(function(tree.unflatten(space.structure, leaves))))

    program, captured = record_program(flat, space.types, purpose="an operator")
    program, n = silent(program), len(space.types)
    inputs = (*program.inputs[n:], *program.constants, *program.inputs[:n])
    return Program(inputs, program.equations, program.outputs, {}), [*captured, *program.constants.values()]


def _with_inputs(program: Program, inputs: Sequence[Var]) -> Program:
    return Program(tuple(inputs), program.equations, program.outputs, program.constants)


def _solver(
    title: str, method: Method, matrix: Recorded, inverse: Recorded | None, limits: Limits, *, backwards: bool
) -> Program:
    """(θ, own, tol, atol, b, x₀) ↦ (x, reports) for A, or backwards for A*, then without reports to others."""
    A = matrix.operator
    domain, range_ = (A.range, A.domain) if backwards else (A.domain, A.range)
    own = [] if inverse is None else inverse.types
    preconditioned = inverse is not None and not (backwards and inverse.backward is None)
    scalar = ArrayType((), np.dtype(float))

    def flat(*values: Value) -> list[Value]:
        k = len(matrix.theta)
        theta, mine, (tol, atol), sides = (
            values[:k], values[k : k + len(own)], values[k + len(own) : k + len(own) + 2], values[k + len(own) + 2 :],
        )  # fmt: skip
        right, start = sides[: len(range_.types)], sides[len(range_.types) :]
        now = limits._replace(tol=tol, atol=atol)
        now = now.quiet() if backwards else now

        def product(v: Value) -> Value:
            return (matrix.apply_adjoint if backwards else matrix.apply)(theta, v)

        def approximate(v: Value) -> Value:
            assert inverse is not None
            return (inverse.apply_adjoint if backwards else inverse.apply)(mine, v)

        b = range_.ravel(tree.unflatten(range_.structure, right))
        x0 = domain.ravel(tree.unflatten(domain.structure, start))
        with np.errstate(all="ignore"):
            outcome = method(product, approximate if preconditioned else None, b, x0, now)
            ended(now)
        return [*tree.leaves(domain.unravel(outcome.x)), *reported(outcome)]

    types = [*matrix.types, *own, scalar, scalar, *range_.types, *domain.types]
    return record_program(flat, types, purpose=f"the solver {title}")[0]

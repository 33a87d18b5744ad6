"""A x = b solved by an iteration: at once on plain arrays, as a `LinearSolve` where something is traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.api.gradients import linear_transpose
from adjoint.base.errors import AdjointError
from adjoint.linear.operators.operator import Operator, is_traced
from adjoint.linear.operators.spaces import Space
from adjoint.linear.solvers.iteration import Flat, Limits, Outcome, close_monitor
from adjoint.linear.solvers.solution import Solution
from adjoint.ops.effects import silent
from adjoint.ops.linalg.linear_solve import LinearSolve, remember_function
from adjoint.program.program import Program, Var, interpret
from adjoint.program.record import Record, record_program
from adjoint.program.trace import live_trace
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.record_function import record_function

__all__ = [
    "HISTORY",
    "NUMBER",
    "REMEMBERED",
    "Method",
    "Programs",
    "is_plain",
    "list_reports",
    "record_operator",
    "solution",
    "solved",
    "split_sizes",
    "tolerances",
    "written",
]  # fmt: skip

NUMBER = ArrayType((), np.dtype(float))
REMEMBERED = 64  # programs of solvers: an optimization calls the same one again and again
HISTORY = Outcome._fields.index("history") - 1  # its position among the reports
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
            close_monitor(limits)
        return solution(title, A.domain.unravel(outcome.x), outcome[1:])
    matrix, theta = record_operator(A, adjoint=not symmetric)
    inverse, own = (None, []) if M is None else record_operator(M, adjoint=not symmetric)
    make = written(_solver, limits)
    main = make(title, method, matrix, inverse, limits.without_numbers(), backwards=False)
    other: Program | None = None
    if matrix.backward is not None:
        other = _solver(title, method, matrix, inverse, limits.without_numbers().quiet(), backwards=True)
    op = LinearSolve(matrix.forward, main, matrix.backward, other, len(theta), symmetric)
    out = op(*theta, *own, *tolerances(limits), *tree.leaves(b), *tree.leaves(x0))
    n = len(A.domain.types)
    return solution(title, tree.unflatten(A.domain.structure, out[:n]), out[n:])


def written(make: Any, limits: Limits) -> Any:
    """What writes a program, from memory if it can be: not one that tells somebody of its iterations."""
    return make if limits.monitor is None else make.__wrapped__


def solution(title: str, value: Any, reports: Sequence[Any]) -> Solution:
    """The answer to the user, from what the outcome of an iteration tells beside x."""
    given: list[Any] = [np.int64(r) if isinstance(r, int) else r for r in reports]
    if len(given) > HISTORY and not is_traced((given[1], given[HISTORY])) and given[HISTORY] is not None:
        given[HISTORY] = given[HISTORY][..., : int(given[1]) + 1] if np.ndim(given[1]) == 0 else given[HISTORY]
    return Solution(value, *given, method=title)


def tolerances(limits: Limits) -> list[Value]:
    """tol and atol as values."""
    return [v.astype(NUMBER.dtype) if is_traced(v) else np.float64(v) for v in (limits.tol, limits.atol)]


def list_reports(outcome: Outcome) -> list[Value]:
    """What an outcome tells beside x, as values of a program."""
    return [np.int64(r) if isinstance(r, int) else r for r in outcome[1:] if r is not None]


def is_plain(values: Any, *operators: Operator | None) -> bool:
    """Whether nothing is traced, in the values nor in what the functions of operators close over."""
    if live_trace() is None:
        return True
    if is_traced(values):
        return False
    return not any(is_traced(A.forwards(A.domain.zeros())) for A in operators if A is not None)


class Programs(NamedTuple):
    """A and A* as programs of the same θ, then x. Equal ones have equal solvers, which are written once."""

    forward: Program
    backward: Program | None
    domain: Space
    range: Space
    types: tuple[ArrayType, ...]  # of θ

    def apply(self, theta: Sequence[Value], x: Value) -> Value:
        """A x for a vector."""
        return _apply(self.forward, theta, x, self.domain, self.range)

    def apply_adjoint(self, theta: Sequence[Value], u: Value) -> Value:
        """A* u for a vector."""
        assert self.backward is not None
        return _apply(self.backward, theta, u, self.range, self.domain)


def record_operator(A: Operator, *, adjoint: bool) -> tuple[Programs, list[Value]]:
    """A and, where it is wanted and known, A* as programs; and θ, everything that they read beside their argument."""
    forward, theta = _lift(A.forwards, A.domain)
    made = Programs(forward, None, A.domain, A.range, tuple(map(type_of, theta)))
    if not adjoint:
        return made, theta
    turned = None if A.own_adjoint else _transpose(made)
    if turned is not None or A.backwards is None:
        return made._replace(backward=turned), theta
    # what a given A* reads is added to θ, and each program leaves alone what belongs to the other
    backward, more = _lift(A.backwards, A.range)
    n, theirs = len(theta), [Var(type_of(v)) for v in more]
    return Programs(
        _with_inputs(forward, (*forward.inputs[:n], *theirs, *forward.inputs[n:])),
        _with_inputs(backward, (*[Var(t) for t in made.types], *backward.inputs)),
        A.domain,
        A.range,
        (*made.types, *[v.type for v in theirs]),
    ), [*theta, *more]


@lru_cache(maxsize=REMEMBERED)
def _transpose(A: Programs) -> Program | None:
    """A* read off the program of A; None where that is not possible."""
    k = len(A.types)

    def flat(*values: Value) -> list[Value]:
        def product(*x: Value) -> Any:
            return tuple(interpret(A.forward, [*values[:k], *x]))

        back: Any = linear_transpose(product, *A.domain.types)
        return list(back(tuple(values[k:])))

    try:
        return record_program(flat, [*A.types, *A.range.types], purpose="an adjoint")[0]
    except AdjointError:
        return None


def _apply(program: Program, theta: Sequence[Value], v: Value, domain: Space, range_: Space) -> Value:
    found = interpret(program, [*theta, *tree.leaves(domain.unravel(v))])
    return range_.ravel(tree.unflatten(range_.structure, found))


def _lift(function: Callable[[Any], Any], space: Space) -> tuple[Program, list[Value]]:
    """A function of trees as a program of (θ, x) without constants, and the values of θ."""
    record = Record(purpose="an operator")
    bind = lambda leaves: (function, (tree.unflatten(space.structure, leaves),), {})
    recorded = record_function(function, bind, record, [record.input(t) for t in space.types], may_draw=True)
    program, n = silent(recorded.program), len(space.types)
    inputs = (*program.inputs[n:], *program.constants, *program.inputs[:n])
    return Program(inputs, program.equations, program.outputs, {}), [*recorded.captured, *program.constants.values()]


def _with_inputs(program: Program, inputs: Sequence[Var]) -> Program:
    return Program(tuple(inputs), program.equations, program.outputs, program.constants)


@lru_cache(maxsize=REMEMBERED)
def _solver(title: str, method: Method, A: Programs, M: Programs | None, limits: Limits, *, backwards: bool) -> Program:
    """(θ, own, tol, atol, b, x₀) ↦ (x, reports) for A, or backwards for A*, then without telling anyone."""
    domain, range_ = (A.range, A.domain) if backwards else (A.domain, A.range)
    own = () if M is None else M.types
    preconditioned = M is not None and not (backwards and M.backward is None)

    def flat(*values: Value) -> list[Value]:
        theta, mine, (tol, atol), right, start = split_sizes(
            values, len(A.types), len(own), 2, len(range_.types), len(domain.types)
        )
        now = limits._replace(tol=tol, atol=atol)
        now = now.quiet() if backwards else now

        def product(v: Value) -> Value:
            return (A.apply_adjoint if backwards else A.apply)(theta, v)

        def approximate(v: Value) -> Value:
            assert M is not None
            return (M.apply_adjoint if backwards else M.apply)(mine, v)

        b = range_.ravel(tree.unflatten(range_.structure, right))
        x0 = domain.ravel(tree.unflatten(domain.structure, start))
        with np.errstate(all="ignore"):
            outcome = method(product, approximate if preconditioned else None, b, x0, now)
            close_monitor(now)
        return [*tree.leaves(domain.unravel(outcome.x)), *list_reports(outcome)]

    types = [*A.types, *own, NUMBER, NUMBER, *range_.types, *domain.types]
    return remember_function(record_program(flat, types, purpose=f"the solver {title}")[0], flat)


def split_sizes(values: Sequence[Value], *counts: int) -> list[Sequence[Value]]:
    """Values in groups of these sizes."""
    ends = list(accumulate(counts))
    return [values[end - count : end] for end, count in zip(ends, counts, strict=True)]

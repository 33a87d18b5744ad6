"""Kinks of an equation at its solution: a constraint that holds there without pressing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.api.gradients import jvp
from adjoint.base.errors import TraceError
from adjoint.implicit.tangent_flow import flowing_equations, inner_flows
from adjoint.implicit.vectors import to_arrays, to_vector
from adjoint.ops.control.base import Flags
from adjoint.ops.control.conditional_loop import ConditionalLoop
from adjoint.ops.control.recorded import call_program, has_loops
from adjoint.program.program import Equation, Program, Var
from adjoint.program.subprograms import all_equations
from adjoint.program.types import Value

__all__ = ["has_kinks", "is_kink", "measure_distance"]

PROBES = 4  # directions; one where F has loops, which cost as much as a solution


def has_kinks(program: Program, unknowns: int) -> bool:
    """Whether some primitive of F(θ, x) is not smooth everywhere in x."""
    return bool(_find_kinks(program, *_flow_of(program, unknowns)))


def _flow_of(program: Program, unknowns: int) -> tuple[Flags, Flags]:
    """θ stays, x moves, and all of F is wanted."""
    n = len(program.inputs) - unknowns
    return tuple(i >= n for i in range(len(program.inputs))), (True,) * len(program.outputs)


def _find_kinks(program: Program, active: Flags, wanted: Flags) -> dict[int, bool]:
    """The equations that are not smooth everywhere where tangents flow; whether that is in a program inside."""
    known = program.__dict__.setdefault("_kinks", {})
    if (active, wanted) not in known:
        found: dict[int, bool] = {}
        for position, inputs, outputs in flowing_equations(program, active, wanted):
            eq = program.equations[position]
            if any(_find_kinks(*flow) for flow in inner_flows(eq.op, inputs, outputs)):
                found[position] = True
            elif _has_kink(eq):
                found[position] = False
        known[active, wanted] = found
    return known[active, wanted]


def _has_kink(eq: Equation) -> bool:
    """Whether a primitive has a kink anywhere."""
    if eq.op.kinks is None:
        return False
    probe = [np.zeros(a.type.shape, a.type.dtype) if isinstance(a, Var) else np.asarray(a.value) for a in eq.inputs]
    with np.errstate(all="ignore"):  # x³ is a power that has none
        return not np.all(np.isinf(eq.op.kinks.distance(eq.op, probe, [np.zeros(v.type.shape) for v in eq.outputs])))


def measure_distance(program: Program, theta: Sequence[Value], x: Sequence[Value]) -> Value:
    """How far the arguments of the primitives are from where one is not smooth; 0 where that is inside a loop."""
    found = _find_kinks(program, *_flow_of(program, len(x)))
    if any(found.values()):
        return np.float64(0.0)
    env: dict[Var, Value] = dict(zip(program.inputs, [*theta, *x], strict=True)) | program.constants
    least: Value = np.float64(np.inf)
    read = lambda atom: env[atom] if isinstance(atom, Var) else atom.value
    with np.errstate(all="ignore"):
        for position, eq in enumerate(program.equations[: max(found, default=-1) + 1]):
            xs = [read(a) for a in eq.inputs]
            z = eq.op(*xs)
            zs = list(z) if eq.op.several else [z]
            env.update(zip(eq.outputs, zs, strict=True))
            if position in found and (kinks := eq.op.kinks) is not None:
                try:
                    distance = kinks.distance(eq.op, xs, zs)
                except TraceError:  # known for plain numbers alone
                    return np.float64(0.0)
                least = np.minimum(least, np.min(distance))
    return least


def is_kink(program: Program, theta: Sequence[Value], x: Sequence[Value], reach: float) -> bool:
    """Whether ∂ₓF differs on the two sides of a solution, along some directions at random.

    θ stays: it may hold what nobody moves, and what must not be moved by itself (times at which a solver saves).
    """
    types = program.input_types[len(theta) :]
    flat = to_vector(x, types)
    rng = np.random.default_rng(0)
    scale = 1.0 + np.abs(flat)
    # a loop that runs to a tolerance takes another step now and then, and ∂F jumps by about the tolerance
    jump = 1e-3 if any(isinstance(eq.op, ConditionalLoop) for eq in all_equations(program)) else 1e-5

    def F(vector: Value) -> Value:
        return to_vector(call_program(program, [*theta, *to_arrays(vector, types)]), program.output_types)

    for _ in range(1 if has_loops(program) else PROBES):
        side, along = 4 * reach * rng.normal(size=flat.shape) * scale, rng.normal(size=flat.shape)
        at = {k: jvp(F, (flat + k * side,), (along,))[1] for k in (-3, -2, -1, 1, 2, 3)}
        gap = np.linalg.norm(at[1] - at[-1])
        # what ∂F does on either side: its own curvature, and the noise of solvers inside F that choose their steps
        smooth = max(np.linalg.norm(at[2 * k] - at[k]) + np.linalg.norm(at[3 * k] - at[2 * k]) for k in (-1, 1))
        size = np.linalg.norm(at[1]) + np.linalg.norm(at[-1])
        if gap > 10 * smooth + jump * size:
            return True
    return False

"""Noise of a few roundings on every value of a computation: what rounding may do to its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.elementwise.arithmetic import multiply
from adjoint.program.program import Equation, Literal, Program, Var
from adjoint.program.subprograms import map_programs

NOISE = 4.0  # roundings


def noisy(program: Program, args: Sequence[Any], rng: np.random.Generator) -> list[Any]:
    """The program with noise on all values that are not discrete."""
    env: dict[Var, Any] = dict(zip(program.inputs, [noised(a, rng) for a in args], strict=True))
    env.update(program.constants)
    for eq in program.equations:
        results = _run(eq.op, [env[a] if isinstance(a, Var) else a.value for a in eq.inputs], rng)
        env.update(zip(eq.outputs, results, strict=True))
    return [env[a] if isinstance(a, Var) else a.value for a in program.outputs]


def noised(x: Any, rng: np.random.Generator) -> Any:
    dtype = np.asarray(x).dtype
    if dtype.kind not in "fc" or not np.size(x):
        return x
    size = NOISE * np.finfo(dtype).eps
    factor = 1 + size * rng.choice([-1, 1], np.shape(x)) * rng.uniform(0.5, 1, np.shape(x))  # never nothing
    return (np.asarray(x) * factor).astype(dtype)[()]


def _run(op: Any, values: list[Any], rng: np.random.Generator) -> list[Any]:
    if "programs" in op.stated:
        op = map_programs(op, lambda inner: shaken(inner, rng))
    results = op(*values)
    return [noised(z, rng) for z in (results if op.several else (results,))]


def shaken(program: Program, rng: np.random.Generator) -> Program:
    """A program inside of another with noise: every result that is not discrete times a number near 1."""
    equations: list[Equation] = []
    for eq in program.equations:
        op = map_programs(eq.op, lambda inner: shaken(inner, rng)) if "programs" in eq.op.stated else eq.op
        raw = {v: Var(v.type) for v in eq.outputs if v.type.dtype.kind in "fc"}
        equations.append(Equation(op, eq.inputs, tuple(raw.get(v, v) for v in eq.outputs), quiet=eq.quiet))
        for v, before in raw.items():
            dtype = v.type.dtype
            number: Any = 1 + NOISE * np.finfo(dtype).eps * rng.choice([-1, 1]) * rng.uniform(0.5, 1)
            factor = number if v.type.weak else np.zeros((), dtype).real.dtype.type(number)
            equations.append(Equation(multiply, (before, Literal(factor)), (v,), quiet=True))
    return Program(program.inputs, tuple(equations), program.outputs, program.constants)

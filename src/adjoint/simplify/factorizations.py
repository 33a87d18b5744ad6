"""One factorization for all equations with one matrix: forwards and backwards, and before a loop in which it stays.

A X = B and Aᴴ Y = C, of which a program has several for one A (as the backward pass of `solve` has), become

    P A = L U,    X = U⁻¹ L⁻¹ P B,    Y = Pᴴ L⁻ᴴ U⁻ᴴ C

In the body of a loop one of them is enough, if A is a constant of the loop: the factors are then hoisted.
"""

# The replacements are written in plain NumPy on values that are being recorded.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.ops.arrays.rearrange import Transpose
from adjoint.ops.arrays.reduce import ArgSort
from adjoint.ops.elementwise.pointwise import BY_NAME
from adjoint.ops.linalg.decompose import LU
from adjoint.ops.linalg.solve import Solve, TriangularSolve
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.record import record_program
from adjoint.program.types import Value
from adjoint.simplify.loops.parts import open_loop

SMALL = 8  # rows: of smaller matrices the factors are found again as quickly as they are read


class Form(NamedTuple):
    """How a matrix is read: as it is, transposed, conjugate."""

    transposed: bool = False
    conjugate: bool = False


def share_factorizations(program: Program) -> Program:
    """The program with the factors of each matrix computed once."""
    equations, values = list(program.equations), dict(program.constants)
    changed = False
    for k, eq in enumerate(equations):
        loop = open_loop(eq)
        if loop is None:
            continue
        inside = {v for v, _ in loop.constants}
        own = list(loop.equations)
        new = _rewrite(own, loop.values, lambda base, count, inside=inside: base in inside)
        if new is not None:
            loop.equations, loop.changed, changed = new, True, True
            equations[k] = loop.close()
    new = _rewrite(equations, values, lambda base, count: count > 1)
    if new is not None:
        equations, changed = new, True
    return Program(program.inputs, tuple(equations), program.outputs, values) if changed else program


def _rewrite(
    equations: Sequence[Equation], values: dict[Var, Value], is_shared: Callable[[Var, int], bool]
) -> list[Equation] | None:
    """Equations with the solutions written out for the matrices that share factors; None if there are none."""
    makers = {v: eq for eq in equations for v in eq.outputs}
    found: dict[Equation, tuple[Var, Form]] = {}
    for eq in equations:
        if type(eq.op) is Solve and isinstance(eq.inputs[0], Var) and _is_large(eq):
            found[eq] = _trace_back(eq.inputs[0], makers)
    counts: dict[Var, int] = {}
    for base, _ in found.values():
        counts[base] = counts.get(base, 0) + 1
    chosen = {eq: (base, form) for eq, (base, form) in found.items() if is_shared(base, counts[base])}
    if not chosen:
        return None
    factors: dict[Var, tuple[Var, ...]] = {}
    result: list[Equation] = []

    def splice(eq: Equation, function: Callable[..., Any], inputs: Sequence[Atom], outputs: Sequence[Var]) -> None:
        """The equations of a function, with these inputs and outputs."""
        body, _ = record_program(function, [a.type for a in inputs])
        values.update(body.constants)
        own: dict[Any, Any] = dict(zip((*body.inputs, *body.outputs), (*inputs, *outputs), strict=True))
        for inner in body.equations:
            atoms = tuple(own.get(a, a) if isinstance(a, Var) else a for a in inner.inputs)
            results = tuple(own.get(v, v) for v in inner.outputs)
            result.append(Equation(inner.op, atoms, results, eq.location, eq.scope, eq.quiet, eq.pulled))

    for eq in equations:
        if eq not in chosen:
            result.append(eq)
            continue
        base, form = chosen[eq]
        if base not in factors:
            packed, _, order = LU().result_type(base.type)
            factors[base] = Var(packed), Var(order)
            splice(eq, lambda a: list(LU()(a)[::2]), [base], factors[base])
        solve: Callable[..., Any] = lambda m, o, b, form=form: [_solve(form, m, o, b)]
        splice(eq, solve, [*factors[base], eq.inputs[1]], eq.outputs)
    return result


def _is_large(eq: Equation) -> bool:
    a, b = (x.type for x in eq.inputs)
    same = a.dtype == b.dtype == eq.outputs[0].type.dtype
    return same and a.ndim == 2 and all(isinstance(n, int) for n in (*a.shape, *b.shape)) and a.shape[-1] > SMALL


def _trace_back(matrix: Var, makers: Mapping[Var, Equation]) -> tuple[Var, Form]:
    """The matrix that a matrix is the transpose, conjugate or adjoint of, if it is."""
    form = Form()
    while (eq := makers.get(matrix)) is not None and isinstance(eq.inputs[0], Var):
        if isinstance(eq.op, Transpose) and eq.op.axes == (1, 0):
            form = form._replace(transposed=not form.transposed)
        elif eq.op is BY_NAME["conjugate"]:
            form = form._replace(conjugate=not form.conjugate)
        else:
            break
        matrix = eq.inputs[0]
    return matrix, form


def _solve(form: Form, packed: Any, order: Any, b: Any) -> Any:
    """X with A X = B, or with the transpose of A, or its conjugate, from the factors of A."""
    packed = np.conjugate(packed) if form.conjugate else packed
    if not form.transposed:
        rows = np.take(b, order, axis=-2)
        return TriangularSolve(lower=False)(packed, TriangularSolve(lower=True, unit=True)(packed, rows))
    transposed = packed.T
    y = TriangularSolve(lower=False, unit=True)(transposed, TriangularSolve(lower=True)(transposed, b))
    return np.take(y, ArgSort(0)(order), axis=-2)

"""One factorization for all that is asked of one matrix: forwards and backwards, and before a loop in which it stays.

A X = B and Aᴴ Y = C, of which a program has several for one A (as the backward pass of `solve` has), det(A) and A⁻¹
beside them (as the density of a normal distribution and its derivative have) become

    P A = L U,    X = U⁻¹ L⁻¹ P B,    Y = Pᴴ L⁻ᴴ U⁻ᴴ C,    det(A) = det(P) Π uᵢᵢ,    A⁻¹ = U⁻¹ L⁻¹ P

In the body of a loop one equation is enough, if A is a constant of the loop: the factors are then hoisted.
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
from adjoint.ops.elementwise.select import Select
from adjoint.ops.linalg import from_factors
from adjoint.ops.linalg.decompose import LU
from adjoint.ops.linalg.determinant import Determinant, RegularDeterminant, SignLogDeterminant
from adjoint.ops.linalg.solve import Inverse, Solve, TriangularSolve
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.record import record_program
from adjoint.program.types import Value
from adjoint.simplify.loops.parts import open_loop

SMALL = 8  # rows: of smaller matrices the factors are found again as quickly as they are read


class Form(NamedTuple):
    """How a matrix is read: as it is, transposed, conjugate, and where the identity stands in for it."""

    transposed: bool = False
    conjugate: bool = False
    unless: Atom | None = None  # a truth value


def share_factorizations(program: Program) -> Program:
    """The program with the factors of each matrix computed once."""
    equations, values = list(program.equations), dict(program.constants)
    makers = {v: eq for eq in equations for v in eq.outputs}
    changed = False
    for k, eq in enumerate(equations):
        loop = open_loop(eq)
        if loop is None:
            continue
        known = {v: _trace_back(a, makers, {}) for v, a in loop.constants if isinstance(a, Var) and a.type.ndim >= 2}
        own = list(loop.equations)
        new = _rewrite(own, loop.values, lambda base, count, known=known: base in known, known, loop.constants)
        if new is not None:
            loop.equations, loop.changed, changed = new, True, True
            equations[k] = loop.close()
    new = _rewrite(equations, values, lambda base, count: count > 1)
    if new is not None:
        equations, changed = new, True
    return Program(program.inputs, tuple(equations), program.outputs, values) if changed else program


def _rewrite(
    equations: Sequence[Equation],
    values: dict[Var, Value],
    is_shared: Callable[[Var, int], bool],
    known: Mapping[Var, tuple[Var, Form]] | None = None,
    constants: list[tuple[Var, Atom]] | None = None,
) -> list[Equation] | None:
    """Equations with what is asked of matrices that share factors written out; None if there are none.

    `known`: which matrices outside, and in which form, `constants` of a loop are.
    """
    makers = {v: eq for eq in equations for v in eq.outputs}
    found: dict[Equation, tuple[Var, Form]] = {}
    counts: dict[Var, int] = {}
    for eq in equations:
        if type(eq.op) in (*WRITERS, LU) and isinstance(eq.inputs[0], Var) and _is_large(eq):
            base, form = _trace_back(eq.inputs[0], makers, values)
            if type(eq.op) is not LU:
                found[eq] = base, form
            counts[base] = counts.get(base, 0) + 1
    chosen = {
        eq: (base, form)
        for eq, (base, form) in found.items()
        if is_shared(base, counts[base]) and (constants is None or type(eq.op) is Solve)
    }
    if not chosen:
        return None
    outside = _Outside(known, constants) if known is not None and constants is not None else None
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
        if outside is not None:
            base, form = outside.find(base, form)
        if base not in factors:
            factors[base] = tuple(map(Var, LU().result_type(base.type)))
            result.append(Equation(LU(), (base,), factors[base], eq.location, eq.scope, eq.quiet, eq.pulled))
        further = () if form.unless is None else (form.unless,)
        write = lambda *xs, eq=eq, form=form: list(WRITERS[type(eq.op)](form, _standing_in(form, *xs[:4]), *xs[4:]))
        condition = further or (Literal(np.False_),)
        splice(eq, write, [*factors[base], *condition, *eq.inputs[1:]], eq.outputs)
    return result


class _Outside:
    """The matrices that constants of a loop are made of, as further constants."""

    def __init__(self, known: Mapping[Var, tuple[Var, Form]], constants: list[tuple[Var, Atom]]) -> None:
        self._known, self._constants = known, constants
        self._inside: dict[Var, Var] = {}

    def find(self, base: Var, form: Form) -> tuple[Var, Form]:
        outer, turned = self._known[base]
        if turned == Form() or turned.unless is not None:
            return base, form
        if outer not in self._inside:
            self._inside[outer] = Var(outer.type)
            self._constants.append((self._inside[outer], outer))
        transposed, conjugate = (x != y for x, y in zip(form[:2], turned[:2], strict=True))
        return self._inside[outer], form._replace(transposed=transposed, conjugate=conjugate)


def _is_large(eq: Equation) -> bool:
    a = eq.inputs[0].type
    same = all(x.type.dtype == a.dtype for x in (*eq.inputs[1:], eq.outputs[0]))
    whole = all(isinstance(n, int) for x in eq.inputs for n in x.type.shape)
    alike = all(x.type.shape[:-2] == a.shape[:-2] for x in eq.inputs[1:])
    return same and whole and alike and a.ndim >= 2 and a.shape[-1] > SMALL and a.shape[-2] == a.shape[-1]


def _trace_back(matrix: Var, makers: Mapping[Var, Equation], values: Mapping[Var, Value]) -> tuple[Var, Form]:
    """The matrix that a matrix is the transpose or conjugate of, or that the identity stands in for; and how it is."""
    form = Form()
    while (eq := makers.get(matrix)) is not None and isinstance(eq.inputs[0], Var):
        following = eq.inputs[0]
        if isinstance(eq.op, Transpose) and eq.op.axes == _exchanged(len(eq.op.axes)):
            form = form._replace(transposed=not form.transposed)
        elif eq.op is BY_NAME["conjugate"]:
            form = form._replace(conjugate=not form.conjugate)
        elif isinstance(eq.op, Select) and form.unless is None and _is_identity(eq.inputs[0], values):
            following, condition = eq.inputs[1:]
            apart = (*matrix.type.shape[:-2], 1, 1)  # one truth value for each matrix
            if not isinstance(following, Var) or following.type != matrix.type:
                break
            if condition.type.shape not in ((), apart):
                break
            form = form._replace(unless=condition)
        else:
            break
        matrix = following
    return matrix, form


def _exchanged(ndim: int) -> tuple[int, ...]:
    """The order of axes in which matrices are transposed."""
    return (*range(ndim - 2), ndim - 1, ndim - 2)


def _is_identity(x: Var, values: Mapping[Var, Value]) -> bool:
    if x not in values or x.type.ndim < 2 or x.type.shape[-1] != x.type.shape[-2]:
        return False
    return bool(np.all(np.asarray(values[x]) == np.eye(x.type.shape[-1])))


def _standing_in(form: Form, packed: Any, pivots: Any, order: Any, condition: Any) -> tuple[Any, Any, Any]:
    """The factors of a matrix, or those of the identity."""
    if form.unless is None:
        return packed, pivots, order
    n = packed.shape[-1]
    rows = condition[..., 0] if condition.shape else condition
    return (
        np.where(condition, np.eye(n, dtype=packed.dtype), packed),
        np.where(rows, np.arange(n, dtype=pivots.dtype), pivots),
        np.where(rows, np.arange(n, dtype=order.dtype), order),
    )


def _solve(form: Form, factors: Any, b: Any) -> list[Any]:
    """X with A X = B, or with the transpose of A, or its conjugate."""
    packed, _, order = factors
    packed = np.conjugate(packed) if form.conjugate else packed
    if not form.transposed:
        rows = _rows(b, order)
        return [TriangularSolve(lower=False)(packed, TriangularSolve(lower=True, unit=True)(packed, rows))]
    transposed = np.swapaxes(packed, -1, -2)
    y = TriangularSolve(lower=False, unit=True)(transposed, TriangularSolve(lower=True)(transposed, b))
    return [_rows(y, ArgSort(order.ndim - 1)(order))]


def _rows(x: Any, order: Any) -> Any:
    """The rows of matrices in another order."""
    return np.take(x, order, axis=-2) if order.ndim == 1 else np.take_along_axis(x, np.expand_dims(order, -1), axis=-2)


def _invert(form: Form, factors: Any) -> list[Any]:
    x = from_factors.inverse(factors[0], factors[2])
    x = np.swapaxes(x, -1, -2) if form.transposed else x
    return [np.conjugate(x) if form.conjugate else x]


def _determinant(form: Form, factors: Any) -> list[Any]:
    z = from_factors.determinant(*factors[:2])
    return [np.conjugate(z) if form.conjugate else z]


def _sign_and_logarithm(form: Form, factors: Any) -> list[Any]:
    sign, logarithm = from_factors.sign_and_logarithm(*factors[:2])
    return [np.conjugate(sign) if form.conjugate else sign, logarithm]


# primitive → (form, factors of the matrix, other arguments) → its results
WRITERS: dict[type, Callable[..., list[Any]]] = {
    Solve: _solve,
    Inverse: _invert,
    Determinant: _determinant,
    RegularDeterminant: _determinant,
    SignLogDeterminant: _sign_and_logarithm,
}

"""How many operations a primitive takes on given arrays: a model of the arithmetic, not of a machine.

One addition, subtraction, multiplication, division, square root or comparison of real numbers is one flop; a call of an
elementary or special function (exp, sin, erf …) is counted apart. A change of sign takes none: the sum that follows
subtracts instead. Complex additions count 2, multiplications 6, divisions 11. Moving numbers about takes no flops.
Factorizations count by the leading term of the usual algorithm, n³/3 for a Cholesky factor. Each primitive
states its own (`Op.flops`).

Cotangents are divided so that a zero one stays zero: z̄ · (1/y) where z̄ is not 0. That is one division, and
not a division and a product.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from adjoint.ops.elementwise.arithmetic import divide
from adjoint.ops.elementwise.pointwise import BY_NAME, MaskedProduct
from adjoint.program.op import Op
from adjoint.program.program import Equation, Literal, Program, Var

__all__ = ["FLOPS", "operations", "reciprocals"]

# flops of one element of real ufuncs; of those that are not named here, the calls are counted
FLOPS = {name: op.work.flops for name, op in BY_NAME.items() if op.work.flops is not None}


def operations(
    op: Op, xs: Sequence[Any], zs: Sequence[Any], weights: Mapping[str, int] = MappingProxyType({})
) -> tuple[int, int] | None:
    """(flops, calls of elementary functions) of one application; None when there is no model of this primitive.

    `weights` are flops of one element of the result, by primitive, that go before the model.
    """
    if op.title in weights:
        return (np.size(zs[0]) if zs else 0) * weights[op.title], 0
    counts = op.flops(xs, zs)
    return None if counts is None else (round(counts[0]), round(counts[1]))


def reciprocals(program: Program) -> Iterator[Equation]:
    """The equations r = 1 / y whose r only multiplies cotangents, here and in the programs inside."""
    other: set[Any] = set(program.outputs)
    for eq in program.equations:
        factor = eq.inputs[1:] if isinstance(eq.op, MaskedProduct) else ()
        other.update(atom for atom in eq.inputs if isinstance(atom, Var) and atom not in factor)
        for inside in eq.op.programs().values():
            yield from reciprocals(inside)
    for eq in program.equations:
        one = eq.inputs[0] if eq.op == divide else None
        if isinstance(one, Literal) and np.all(one.value == 1) and eq.outputs[0] not in other:
            yield eq

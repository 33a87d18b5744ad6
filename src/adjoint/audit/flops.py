"""How many operations a primitive takes on given arrays: a model of the arithmetic, not of a machine.

One addition, subtraction, multiplication, division, square root or comparison of real numbers is one flop; a call of an
elementary or special function (exp, sin, erf …) is counted apart. A change of sign takes none: the sum that follows
subtracts instead. Complex additions count 2, multiplications 6, divisions 11. Moving numbers about takes no flops.
Factorizations count by the leading term of the usual algorithm, n³/3 for a Cholesky factor. `FLOPS` is the table.

Cotangents are divided in such a way that a zero one stays zero: z̄ · (1/y) where z̄ is not 0. That is one division, and
not a division and a product.
"""

# pyright: basic
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from adjoint.ops.calculus import Linear
from adjoint.ops.elementwise.pointwise import MaskedProduct, Pointwise, Ufunc
from adjoint.program.op import Op
from adjoint.program.program import Equation, Literal, Program, Var

__all__ = ["FLOPS", "VIEWS", "operations", "reciprocals"]

# flops of one element of real ufuncs; of those that are not named here, the calls are counted
FLOPS: dict[str, int] = {
    **dict.fromkeys(("add", "subtract", "multiply", "divide", "true_divide", "square", "reciprocal", "sqrt"), 1),
    **dict.fromkeys(("absolute", "fabs", "sign", "copysign", "heaviside"), 1),
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), 1),
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), 1),
    **dict.fromkeys(("floor", "ceil", "rint", "trunc", "floor_divide", "remainder", "fmod"), 1),
    **dict.fromkeys(("degrees", "radians", "rad2deg", "deg2rad"), 1),
    **dict.fromkeys(("negative", "positive", "conjugate", "signbit", "isnan", "isinf", "isfinite"), 0),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not"), 0),
}
# of complex numbers
ADDED, MULTIPLIED, DIVIDED = 2, 6, 11
COMPLEX = {
    **dict.fromkeys(("multiply", "square"), MULTIPLIED),
    **dict.fromkeys(("divide", "true_divide", "reciprocal"), DIVIDED),
}
VIEWS = {
    "Reshape",
    "Transpose",
    "Broadcast",
    "Slice",
    "Real",
    "Imag",
    "StopGradient",
    "Weaken",
    "Mark",
}  # of memory that is there
MOVED = {
    "Reshape",
    "Transpose",
    "Broadcast",
    "Concatenate",
    "Pad",
    "Convert",
    "Real",
    "Imag",
    "Complex",
    "Slice",
    "Gather",
    "ScatterSet",
    "LastWrite",
    "Select",
    "StopGradient",
    "Weaken",
    "Mark",
    "HalfSpectrum",
    "FromHalfSpectrum",
    "Nonzero",
    "Attach",
    "Check",
    "Expect",
    "Print",
    "Callback",
}


def operations(
    op: Op, xs: Sequence[Any], zs: Sequence[Any], weights: Mapping[str, int] = MappingProxyType({})
) -> tuple[int, int] | None:
    """(flops, calls of elementary functions) of one application; None when there is no model of this primitive.

    `weights` are flops of one element of the result, by primitive, that go before the model.
    """
    name = type(op).__name__
    size = np.size(zs[0]) if zs else 0
    if op.title in weights:
        return size * weights[op.title], 0
    if name in MOVED:
        return 0, 0
    complex_ = any(np.iscomplexobj(x) for x in xs)
    if isinstance(op, Pointwise):
        title = op.name if isinstance(op, Ufunc) else "multiply" if name == "MaskedProduct" else op.title
        if FLOPS.get(title) == 0:
            return 0, 0
        if title == "power" and np.ndim(xs[1]) == 0 and xs[1] in (2, 3, -1, 0.5, -0.5):
            return (1 if xs[1] in (2, -1, 0.5) else 2) * size * (MULTIPLIED if complex_ else 1), 0
        if title in FLOPS:
            return size * (COMPLEX.get(title, ADDED) if complex_ else FLOPS[title]), 0
        return 0, size
    if name not in MODELS:
        return None
    flops = MODELS[name](op, xs, zs)
    if complex_ and name != "Fourier":  # as many additions as multiplications, but for those that only add
        flops *= ADDED if isinstance(op, Linear) else (ADDED + MULTIPLIED) / 2
    return round(flops), np.size(xs[0]) if name == "LogSumExp" else 0


def reciprocals(program: Program) -> Iterator[Equation]:
    """The equations r = 1 / y whose r only multiplies cotangents, here and in the programs inside."""
    other: set[Any] = set(program.outputs)
    for eq in program.equations:
        factor = eq.inputs[1:] if isinstance(eq.op, MaskedProduct) else ()
        other.update(atom for atom in eq.inputs if isinstance(atom, Var) and atom not in factor)
        for inside in getattr(eq.op, "programs", dict)().values():
            yield from reciprocals(inside)
    for eq in program.equations:
        one = eq.inputs[0] if eq.op.title == "divide" else None
        if isinstance(one, Literal) and np.all(one.value == 1) and eq.outputs[0] not in other:
            yield eq


def _product(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> float:
    return np.size(zs[0]) * max(2 * np.shape(xs[0])[-1] - 1, 0)


def _einsum(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> float:
    sizes: dict[str, int] = {}
    for letters, x in zip(str(op.spec).split("->")[0].split(","), xs, strict=True):
        sizes.update(zip(letters.strip(), np.shape(x), strict=True))
    terms = math.prod(sizes.values())
    return terms * (len(xs) - 1) + terms - np.size(zs[0])


def _stack(x: Any) -> tuple[int, int, int]:
    """How many matrices, their rows and columns."""
    shape = np.shape(x)
    return math.prod(shape[:-2]), shape[-2], shape[-1]


def _square(factor: float) -> Callable[..., float]:
    """factor · n³ for each matrix."""
    return lambda op, xs, zs: factor * _stack(xs[0])[0] * _stack(xs[0])[1] ** 3


def _solve(factor: float) -> Callable[..., float]:
    def model(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> float:
        count, n, _ = _stack(xs[0])
        return factor * count * n**3 + 2 * n * np.size(zs[0]) * (1 if factor else 0.5)

    return model


def _tall(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> float:
    count, m, n = _stack(xs[0])
    m, n = max(m, n), min(m, n)
    return count * 2 * n * n * (m - n / 3)


def _svd(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> float:
    count, m, n = _stack(xs[0])
    m, n = max(m, n), min(m, n)
    return count * (6 * m * n * n + 20 * n**3)


def _fourier(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> float:
    lengths = [np.shape(zs[0])[a] for a in np.atleast_1d(op.axes)]
    return 5 * np.size(zs[0]) * math.log2(max(math.prod(lengths), 1))


def _reduced(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> float:
    return max(np.size(xs[0]) - np.size(zs[0]), 0)


def _sorted(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> float:
    n = np.shape(xs[0])[op.axis]
    return np.size(xs[0]) * math.ceil(math.log2(max(n, 1)))


def _scattered(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> float:
    """One addition for each number that meets another one: those that come first are written."""
    given = sum(np.size(x) for x, _ in zip(xs, op.keys, strict=False))
    return max(given - np.size(zs[0]), 0) if len(op.keys) > 1 else 0


MODELS: dict[str, Callable[..., float]] = {
    "MatMul": _product,
    "Einsum": _einsum,
    "Sum": _reduced,
    "Product": _reduced,
    "Extremum": _reduced,
    "FlatReduction": _reduced,
    "Length": lambda op, xs, zs: 2 * np.size(xs[0]),
    "LogSumExp": lambda op, xs, zs: 3 * np.size(xs[0]),
    "CumSum": lambda op, xs, zs: np.size(xs[0]),
    "CumProd": lambda op, xs, zs: np.size(xs[0]),
    "LinearRecurrence": lambda op, xs, zs: 2 * np.size(zs[0]),
    "ArgCumExtremum": lambda op, xs, zs: np.size(xs[0]),
    "ArgSort": _sorted,
    "ArgPartition": lambda op, xs, zs: 2 * np.size(xs[0]),
    "SearchSorted": lambda op, xs, zs: np.size(xs[1]) * math.ceil(math.log2(np.size(xs[0]) + 1)),
    "ScatterSum": _scattered,
    "Cholesky": _square(1 / 3),
    "LDL": _square(1 / 3),
    "LU": _square(2 / 3),
    "Elimination": _square(2 / 3),
    "Determinant": _square(2 / 3),
    "RegularDeterminant": _square(2 / 3),
    "SignLogDeterminant": _square(2 / 3),
    "Inverse": _square(2.0),
    "Solve": _solve(2 / 3),
    "TriangularSolve": _solve(0.0),
    "QR": _tall,
    "Eigh": _square(9.0),
    "Eig": _square(25.0),
    "Schur": _square(25.0),
    "SVD": _svd,
    "Fourier": _fourier,
    "VectorConvolution": lambda op, xs, zs: 2 * np.size(xs[0]) * np.shape(xs[1])[-1],
}

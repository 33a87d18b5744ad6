"""Exponentials, logarithms, trigonometric and hyperbolic functions: each is its ufunc and its partial."""

# Partials are written as bare expressions.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops import kinks
from adjoint.ops.elementwise.pointwise import UFUNCS, Factor, SmoothUfunc, result, smooth
from adjoint.ops.elementwise.work import EXPONENTIAL, TRIGONOMETRIC
from adjoint.program.types import Value, type_of


class LibraryUfunc(SmoothUfunc):
    """A ufunc as NumPy computes it, to the last bit, in compiled programs too; the function itself leads elsewhere."""

    def __init__(self, function: Any, factors: Sequence[Factor | None], **facts: Any) -> None:
        known = UFUNCS[function]
        super().__init__(function, factors, name=f"library.{function.__name__}", **facts)
        UFUNCS[function] = known


LOG2, LOG10 = float(np.log(2.0)), float(np.log(10.0))

exp = smooth(np.exp, result, work=EXPONENTIAL, inverse=(np.log,))
exp2 = smooth(np.exp2, lambda z: LOG2 * z, work=EXPONENTIAL, inverse=(np.log2,))
# z + 1 would be 0 where eˣ is small
expm1 = smooth(np.expm1, lambda x: np.exp(x), work=EXPONENTIAL, inverse=(np.log1p,))
log = smooth(np.log, lambda x: 1.0 / x, singular=True, work=EXPONENTIAL, kinks=kinks.ROOT, inverse=(np.exp,))
library_log = LibraryUfunc(np.log, [lambda x: 1.0 / x], singular=True, work=EXPONENTIAL, kinks=kinks.ROOT)
log2 = smooth(
    np.log2, lambda x: 1.0 / (LOG2 * x), singular=True, work=EXPONENTIAL, kinks=kinks.ROOT, inverse=(np.exp2,)
)
log10 = smooth(np.log10, lambda x: 1.0 / (LOG10 * x), singular=True, kinks=kinks.ROOT)
log1p = smooth(np.log1p, lambda x: 1.0 / (1.0 + x), singular=True, work=EXPONENTIAL, inverse=(np.expm1,))

sin = smooth(np.sin, lambda x: np.cos(x), work=TRIGONOMETRIC)
cos = smooth(np.cos, lambda x: -np.sin(x), work=TRIGONOMETRIC)
tan = smooth(np.tan, lambda z: 1.0 + z * z, work=TRIGONOMETRIC)


def _cosine_of_arcsine(x: Value) -> Value:
    """√(1 - x²); for complex numbers by way of the angle, which knows on which side of a cut x lies (±0i)."""
    if type_of(x).dtype.kind == "c":
        return np.cos(np.arcsin(x))
    return np.sqrt((1.0 - x) * (1.0 + x))


arcsin = smooth(np.arcsin, lambda x: 1.0 / _cosine_of_arcsine(x), singular=True, work=TRIGONOMETRIC, kinks=kinks.ENDS)
arccos = smooth(np.arccos, lambda x: -1.0 / _cosine_of_arcsine(x), singular=True, work=TRIGONOMETRIC, kinks=kinks.ENDS)
arctan = smooth(np.arctan, lambda x: 1.0 / (1.0 + x * x), work=TRIGONOMETRIC, inverse=(np.tan,))
arctan2 = smooth(np.arctan2, lambda x, y: y / (x * x + y * y), lambda x, y: -x / (x * x + y * y), singular=True)

sinh = smooth(np.sinh, lambda x: np.cosh(x), work=TRIGONOMETRIC, inverse=(np.arcsinh,))
cosh = smooth(np.cosh, lambda x: np.sinh(x), work=TRIGONOMETRIC)
tanh = smooth(np.tanh, lambda z: 1.0 - z * z, work=TRIGONOMETRIC, inverse=(np.arctanh,))
arcsinh = smooth(np.arcsinh, lambda x: 1.0 / np.sqrt(x * x + 1.0), inverse=(np.sinh,))
arccosh = smooth(np.arccosh, lambda x: 1.0 / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0)), singular=True, kinks=kinks.ONE)
arctanh = smooth(
    np.arctanh, lambda x: 1.0 / ((1.0 - x) * (1.0 + x)), singular=True, kinks=kinks.ENDS, inverse=(np.tanh,)
)

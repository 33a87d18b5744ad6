"""The words that expressions may use: constants, and functions of NumPy and SciPy by name.

The functions are those that the table of coverage calls differentiable or piecewise constant, and some that make
arrays. What writes into its arguments, calls functions that it is given, or reads files is left out.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from adjoint import numpy as own_numpy
from adjoint import scipy as own_scipy
from adjoint.base.suggestions import closest
from adjoint.coverage import CONSTANT, DIFFERENTIABLE, TABLES, VALUES

CONSTANTS: dict[str, float | bool | None] = {
    "pi": math.pi,
    "π": math.pi,
    "e": math.e,
    "inf": math.inf,
    "nan": math.nan,
    "euler_gamma": float(np.euler_gamma),
}

# As they may be written before a dot, and the namespaces where names without a dot are looked for, in this order.
PREFIXES = {
    "np": "numpy",
    "numpy": "numpy",
    "np.linalg": "numpy.linalg",
    "numpy.linalg": "numpy.linalg",
    "linalg": "numpy.linalg",
    "np.fft": "numpy.fft",
    "numpy.fft": "numpy.fft",
    "fft": "numpy.fft",
    "special": "scipy.special",
    "scipy.special": "scipy.special",
    "sp.special": "scipy.special",
}
WITHOUT_PREFIX = ("numpy", "scipy.special", "numpy.linalg")

# ruff: noqa: SIM905  (lists of words are easier to read without their quotes)
_MAKING = frozenset(
    "arange eye identity ones zeros tri ones_like zeros_like bartlett blackman hamming hanning shape ndim size".split()
)
_LEFT_OUT = frozenset(
    "copyto put place putmask put_along_axis fill_diagonal apply_along_axis apply_over_axes fromfunction vectorize "
    "piecewise poly1d from_dlpack r_ c_ astype array_repr array_str array2string select".split()
)
# Functions whose first argument is a list of arrays, which need not have one shape.
OF_LISTS = frozenset(
    "concatenate concat stack hstack vstack dstack column_stack block choose multi_dot lexsort".split()
)

# Names from other places, and what they are called here.
_KNOWN_ELSEWHERE = {
    "ln": "log",
    "lg": "log10",
    "tg": "tan",
    "ctg": "1/tan(x)",
    "cot": "1/tan(x)",
    "sec": "1/cos(x)",
    "csc": "1/sin(x)",
    "arctg": "arctan",
    "sigmoid": "expit",
    "logistic": "expit",
    "relu": "maximum(x, 0)",
    "lgamma": "gammaln",
    "sgn": "sign",
    "fact": "factorial",
    "if": "where(condition, a, b)",
    "pow": "power",
    "len": "size",
    "mul": "multiply",
    "sub": "subtract",
    "avg": "mean",
    "transposed": "transpose",
}


class Word(NamedTuple):
    """A function that expressions may call."""

    name: str
    namespace: str
    function: Callable[..., Any]

    @property
    def takes_list(self) -> bool:
        return self.name in OF_LISTS and self.namespace != "scipy.special"


@cache
def names(namespace: str) -> frozenset[str]:
    """The functions of a namespace that expressions may call."""
    rows = TABLES[namespace].rows.values()
    allowed = {row.name for row in rows if row.kind == DIFFERENTIABLE or (row.kind == CONSTANT and row.takes == VALUES)}
    allowed -= _LEFT_OUT
    if namespace == "numpy":
        allowed |= _MAKING
    return frozenset(name for name in allowed if callable(_fetch(namespace, name)))


def _fetch(namespace: str, name: str) -> Any:
    """The function itself: the package's own, or ours where the package's cannot take traced values."""
    row = TABLES[namespace].rows[name]
    package, _, part = namespace.partition(".")
    if row.own:
        module: Any = own_numpy if package == "numpy" else own_scipy
    elif package == "numpy":
        module = np
    else:
        import scipy

        module = scipy
    return getattr(getattr(module, part) if part else module, name, None)


def find(name: str, prefix: str = "") -> Word | None:
    """The function of this name; None when there is none, or none that may be called."""
    for namespace in (PREFIXES[prefix],) if prefix else WITHOUT_PREFIX:
        if name in names(namespace):
            return Word(name, namespace, _fetch(namespace, name))
    return None


def suggestion(name: str, others: Iterable[str] = (), *, prefix: str = "") -> str:
    """`Did you mean sqrt?`, or nothing."""
    if hasattr(builtins, name):  # not a typo, but a wish that is not granted
        return ""
    spaces = (PREFIXES[prefix],) if prefix else WITHOUT_PREFIX
    known = [*others, *(word for space in spaces for word in sorted(names(space))), *_KNOWN_ELSEWHERE]
    near = closest(name, known)
    return f"Did you mean {_KNOWN_ELSEWHERE.get(near, near)}?" if near is not None else ""

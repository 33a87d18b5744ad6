"""Functions of others as formulas use them, typed in one place.

SciPy ships no types, and the overloads of some NumPy functions leave the type unknown where arguments are of any kind.
"""

# pyright: reportMissingTypeStubs=false, reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special
import scipy.special._ufuncs

from adjoint.program.types import Value

__all__ = ["imag", "real", "special", "ufuncs", "where"]

special: Any = scipy.special
ufuncs: Any = scipy.special._ufuncs
where: Callable[[Value, Value, Value], Value] = np.where
real: Callable[[Value], Value] = np.real
imag: Callable[[Value], Value] = np.imag

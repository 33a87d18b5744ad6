"""Flops of factorizations, by the leading terms of the usual algorithms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def _stack(a: Any) -> tuple[int, int, int]:
    """How many matrices, their longer and their shorter side."""
    shape = np.shape(a)
    return math.prod(shape[:-2]), max(shape[-2:]), min(shape[-2:])


def cubic(a: Any) -> float:
    """n³ for each matrix of a stack."""
    count, n, _ = _stack(a)
    return count * float(n) ** 3


def tall(a: Any) -> float:
    """2 n² (m - n/3): Householder's triangularization of an m × n matrix."""
    count, m, n = _stack(a)
    return count * 2 * n * n * (m - n / 3)


def thin(a: Any) -> float:
    """6 m n² + 20 n³: the thin singular value decomposition of an m × n matrix."""
    count, m, n = _stack(a)
    return count * (6.0 * m * n * n + 20.0 * n**3)

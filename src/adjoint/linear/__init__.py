"""Linear maps without a matrix, over trees of arrays.

>>> import numpy as np
>>> from adjoint import linear
>>> A = linear.diagonal(np.arange(1.0, 4.0)) + linear.low_rank(np.ones(3))
>>> A @ np.ones(3)
array([4., 5., 6.])
>>> A.has("positive definite"), A.method
(True, 'diagonal with a low-rank update (Woodbury)')
"""

from adjoint.linear import lowrank  # (gives sums their solver)
from adjoint.linear.functions import from_function
from adjoint.linear.maps import LinearMap
from adjoint.linear.operations import congruence
from adjoint.linear.spaces import Space
from adjoint.linear.structures import (
    diagonal,
    identity,
    low_rank,
    matrix,
    permutation,
    scaling,
    triangular,
    zero,
)

__all__ = [
    "LinearMap",
    "Space",
    "congruence",
    "diagonal",
    "from_function",
    "identity",
    "low_rank",
    "matrix",
    "permutation",
    "scaling",
    "triangular",
    "zero",
]

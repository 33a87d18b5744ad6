"""scipy.sparse.linalg for plain and traced entries. Names and arguments are SciPy's; on plain values every function is
SciPy's.

The iterative solvers are those of `adjoint.linear`, with SciPy's arguments and results; they wait until they are asked
for.
"""

# pyright: reportUnsupportedDunderAll=false
# (what waits until it is asked for)

import importlib
from typing import Any

from adjoint.scipy.passing import passed
from adjoint.scipy.sparse.linalg.functions import (
    expm,
    expm_multiply,
    is_sptriangular,
    matrix_power,
    norm,
    spbandwidth,
)
from adjoint.scipy.sparse.linalg.solving import factorized, inv, splu, spsolve, spsolve_triangular
from adjoint.scipy.sparse.numbering import is_ours

ITERATIVE = "LinearOperator aslinearoperator bicg bicgstab cg cgs gcrotmk gmres lgmres minres qmr tfqmr"

__all__ = [
    "LinearOperator",
    "aslinearoperator",
    "bicg",
    "bicgstab",
    "cg",
    "cgs",
    "expm",
    "expm_multiply",
    "factorized",
    "gcrotmk",
    "gmres",
    "inv",
    "is_sptriangular",
    "lgmres",
    "matrix_power",
    "minres",
    "norm",
    "qmr",
    "spbandwidth",
    "splu",
    "spsolve",
    "spsolve_triangular",
    "tfqmr",
]


def __getattr__(name: str) -> Any:
    """The iterative solvers; everything else of scipy.sparse.linalg, for plain values."""
    import scipy.sparse.linalg

    if name in ITERATIVE.split():
        return getattr(importlib.import_module("adjoint.linear.solvers.scipy_names"), name)
    return passed(scipy.sparse.linalg, name, is_ours)

"""scipy.sparse for plain and traced entries, at positions that are plain. Names and arguments are SciPy's; on plain
values every function is SciPy's.

Operators of plain sparse arrays take traced values as they are: `A @ x`, `x @ A`, `A * x`, `A + x`.
"""

from typing import Any

from adjoint.scipy.passing import passed
from adjoint.scipy.sparse import linalg
from adjoint.scipy.sparse.arrays import SparseArray
from adjoint.scipy.sparse.construction import (
    block_array,
    block_diag,
    bmat,
    bsr_array,
    bsr_matrix,
    coo_array,
    coo_matrix,
    csc_array,
    csc_matrix,
    csr_array,
    csr_matrix,
    dia_array,
    dia_matrix,
    diags,
    diags_array,
    dok_array,
    dok_matrix,
    expand_dims,
    find,
    hstack,
    issparse,
    isspmatrix,
    isspmatrix_bsr,
    isspmatrix_coo,
    isspmatrix_csc,
    isspmatrix_csr,
    isspmatrix_dia,
    isspmatrix_dok,
    isspmatrix_lil,
    kron,
    kronsum,
    lil_array,
    lil_matrix,
    permute_dims,
    spdiags,
    swapaxes,
    tril,
    triu,
    vstack,
)
from adjoint.scipy.sparse.numbering import is_ours

__all__ = [
    "SparseArray",
    "block_array",
    "block_diag",
    "bmat",
    "bsr_array",
    "bsr_matrix",
    "coo_array",
    "coo_matrix",
    "csc_array",
    "csc_matrix",
    "csr_array",
    "csr_matrix",
    "dia_array",
    "dia_matrix",
    "diags",
    "diags_array",
    "dok_array",
    "dok_matrix",
    "expand_dims",
    "find",
    "hstack",
    "issparse",
    "isspmatrix",
    "isspmatrix_bsr",
    "isspmatrix_coo",
    "isspmatrix_csc",
    "isspmatrix_csr",
    "isspmatrix_dia",
    "isspmatrix_dok",
    "isspmatrix_lil",
    "kron",
    "kronsum",
    "lil_array",
    "lil_matrix",
    "linalg",
    "permute_dims",
    "spdiags",
    "swapaxes",
    "tril",
    "triu",
    "vstack",
]


def __getattr__(name: str) -> Any:
    """Everything else of scipy.sparse, for plain values."""
    import scipy.sparse

    return passed(scipy.sparse, name, is_ours)

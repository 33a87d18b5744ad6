"""Sparse arrays that tests share: a pattern with an empty row's worth of gaps, and its entries as an argument."""

import numpy as np
import scipy.sparse

from adjoint.scipy import sparse

WIDE = scipy.sparse.csr_array(np.array([[1.0, 0, 2], [0, 3, 0], [0.5, 0, 0], [0, 0, -1.2]]))
ENTRIES = WIDE.data
OTHER = scipy.sparse.csr_array(np.array([[0, 1.5, 0], [0.3, -2, 0], [0, 0, 0], [0, 1, 0.7]]))
DENSE = np.cos(np.arange(12.0)).reshape(3, 4)


def wide(data, kind="csr_array"):
    """The 4 × 3 array with these entries: SciPy's of plain ones, ours of traced ones."""
    made = sparse.csr_array((data, WIDE.indices, WIDE.indptr), shape=WIDE.shape)
    return made if kind == "csr_array" else getattr(sparse, kind)(made)


def dense(result):
    """A result as an array."""
    return result.toarray() if sparse.issparse(result) else np.asarray(result) if _is_plain(result) else result


def _is_plain(result):
    return isinstance(result, np.matrix | float | int)

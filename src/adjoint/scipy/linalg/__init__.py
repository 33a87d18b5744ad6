"""scipy.linalg for plain and traced values, stacks of matrices included. Names and arguments are SciPy's.

`overwrite_*`, `lwork`, `driver` and `check_finite` are taken and ignored: nothing of the caller's is written to, and
values that are not finite give NaN or an error, as NumPy's functions do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.program.types import Value
from adjoint.scipy.linalg.arguments import array
from adjoint.scipy.linalg.banded import (
    cho_solve_banded,
    cholesky_banded,
    eig_banded,
    eigh_tridiagonal,
    eigvals_banded,
    eigvalsh_tridiagonal,
    solve_banded,
    solveh_banded,
)
from adjoint.scipy.linalg.control import (
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_discrete_lyapunov,
    solve_lyapunov,
    solve_sylvester,
)
from adjoint.scipy.linalg.equations import (
    cho_solve,
    det,
    inv,
    lstsq,
    lu_solve,
    pinv,
    pinvh,
    solve,
    solve_triangular,
)
from adjoint.scipy.linalg.factors import (
    cho_factor,
    cholesky,
    ldl,
    lu,
    lu_factor,
    polar,
    qr,
    qr_multiply,
    rq,
    rsf2csf,
    schur,
)
from adjoint.scipy.linalg.fixed import FUNCTIONS, QUESTIONS
from adjoint.scipy.linalg.functions import (
    coshm,
    cosm,
    expm,
    expm_cond,
    expm_frechet,
    fractional_matrix_power,
    funm,
    logm,
    signm,
    sinhm,
    sinm,
    sqrtm,
    tanhm,
    tanm,
)
from adjoint.scipy.linalg.spectra import (
    eig,
    eigh,
    eigvals,
    eigvalsh,
    null_space,
    orth,
    orthogonal_procrustes,
    subspace_angles,
    svd,
    svdvals,
)
from adjoint.scipy.linalg.structured import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    diagsvd,
    fiedler,
    fiedler_companion,
    hankel,
    khatri_rao,
    leslie,
    matmul_toeplitz,
    solve_circulant,
    solve_toeplitz,
    toeplitz,
)
from adjoint.scipy.passing import passed

LinAlgError = np.linalg.LinAlgError


def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Value:
    """numpy.linalg.norm."""
    return np.linalg.norm(array(a), ord, axis, keepdims)


globals().update(FUNCTIONS)

# what takes traced values: functions of this package, and questions; the rest is for plain values
__all__ = sorted(  # pyright: ignore[reportUnsupportedDunderAll]
    name
    for name, value in list(globals().items())
    if name in QUESTIONS
    or (getattr(value, "__module__", "").startswith(__name__) and name not in {*FUNCTIONS, "array"})
)


def __getattr__(name: str) -> Any:
    """Everything else of scipy.linalg, for plain values."""
    import scipy.linalg

    return passed(scipy.linalg, name)

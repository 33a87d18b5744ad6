"""The table of coverage: of every public function of NumPy and of SciPy's parts, whether it is differentiable,
constant, or refused, and why. The dispatch, its errors and a page of the documentation are made from it.
"""

from adjoint.coverage.numpy import NUMPY
from adjoint.coverage.numpy_linalg import FFT, LINALG
from adjoint.coverage.scipy_fft import SCIPY_FFT
from adjoint.coverage.scipy_linalg import SCIPY_LINALG
from adjoint.coverage.signal import SIGNAL
from adjoint.coverage.special import SPECIAL
from adjoint.coverage.table import CONSTANT, DIFFERENTIABLE, KINDS, REFUSED, SIZES, TYPES, VALUES, Row, Table

__all__ = [
    "CONSTANT",
    "DIFFERENTIABLE",
    "KINDS",
    "REFUSED",
    "SIZES",
    "TABLES",
    "TYPES",
    "VALUES",
    "Row",
    "Table",
    "find",
]

TABLES: dict[str, Table] = {t.namespace: t for t in (NUMPY, LINALG, FFT, SPECIAL, SCIPY_LINALG, SCIPY_FFT, SIGNAL)}


def find(namespace: str, name: str) -> Row | None:
    """The row of a function; None for what the table does not speak of."""
    table = TABLES.get(namespace)
    return None if table is None else table.rows.get(name)

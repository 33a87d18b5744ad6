"""The table of coverage: of every public function of NumPy and of SciPy's parts, whether it is differentiable,
constant, or refused, and why. The dispatch, its errors and a page of the documentation are made from it.
"""

import importlib
from collections.abc import Iterator, Mapping

from adjoint.coverage.numpy import NUMPY
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


# namespace -> file and name of its table
_WHERE = {
    "numpy.linalg": ("numpy_linalg", "LINALG"),
    "numpy.fft": ("numpy_linalg", "FFT"),
    "scipy.special": ("special", "SPECIAL"),
    "scipy.linalg": ("scipy_linalg", "SCIPY_LINALG"),
    "scipy.fft": ("scipy_fft", "SCIPY_FFT"),
    "scipy.signal": ("signal", "SIGNAL"),
    "scipy.integrate": ("scipy_integrate", "SCIPY_INTEGRATE"),
    "scipy.optimize": ("scipy_optimize", "SCIPY_OPTIMIZE"),
    "scipy.stats": ("scipy_stats", "SCIPY_STATS"),
    "scipy.interpolate": ("scipy_interpolate", "SCIPY_INTERPOLATE"),
    "scipy.spatial.distance": ("scipy_distance", "SCIPY_DISTANCE"),
    "scipy.ndimage": ("scipy_ndimage", "NDIMAGE"),
    "scipy.sparse": ("scipy_sparse", "SPARSE"),
    "scipy.sparse.linalg": ("scipy_sparse", "SPARSE_LINALG"),
}


class Tables(Mapping[str, Table]):
    """The tables by namespace; all but NumPy's own are loaded when they are first asked for."""

    def __init__(self) -> None:
        self._known: dict[str, Table] = {NUMPY.namespace: NUMPY}

    def __getitem__(self, namespace: str) -> Table:
        if namespace not in self._known:
            file, name = _WHERE[namespace]
            self._known[namespace] = getattr(importlib.import_module(f"adjoint.coverage.{file}"), name)
        return self._known[namespace]

    def __iter__(self) -> Iterator[str]:
        return iter((NUMPY.namespace, *_WHERE))

    def __len__(self) -> int:
        return 1 + len(_WHERE)


TABLES = Tables()


def find(namespace: str, name: str) -> Row | None:
    """The row of a function; None for what the table does not speak of."""
    table = TABLES.get(namespace)
    return None if table is None else table.rows.get(name)

"""scipy.spatial for plain and traced values: its distances. Other names are SciPy's own, for plain values."""

from typing import Any

import scipy.spatial as _theirs

from adjoint.scipy.passing import passed
from adjoint.scipy.spatial import distance

__all__ = ["distance"]


def __getattr__(name: str) -> Any:
    """Everything else of scipy.spatial, for plain values."""
    return passed(_theirs, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_theirs.__all__})

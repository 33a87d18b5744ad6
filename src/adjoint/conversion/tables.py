"""The rest of the table of calls: Python's own functions, read when the first of them is called."""

from __future__ import annotations

from adjoint.conversion import builtins, mathematics, reflection, sequences  # noqa: F401  (they fill the table)
from adjoint.conversion.calls import TABLE

__all__ = ["complete_table"]


def complete_table() -> dict[int, tuple[object, object]]:
    """The table of calls with all its entries."""
    return TABLE

"""Arrays in files: what the backward pass reads but need not stay in memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.records import record
from adjoint.program.trace import Tracer
from adjoint.program.types import Value


@record
class Files:
    """A directory for temporary files; each is deleted when nobody refers to its array any more."""

    directory: str | None = None

    def allocate(self, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """An array whose elements are in a file."""
        import tempfile

        if self.directory is not None:
            os.makedirs(self.directory, exist_ok=True)
        if 0 in shape:
            return np.empty(shape, dtype)
        # the file has no name (or loses it when it is closed): it goes with the last view of the array
        with tempfile.TemporaryFile(dir=self.directory, prefix="adjoint-") as file:
            mapped: Any = np.memmap(file, dtype, "w+", shape=tuple(shape) or (1,))
        return mapped.view(np.ndarray).reshape(tuple(shape))

    def store(self, value: Value) -> Value:
        """A value, in a file; one that is not known stays where it is."""
        if isinstance(value, Tracer):
            known: Any = value
            return known.filed() if hasattr(known, "filed") else known
        array = np.asarray(value)
        out = self.allocate(array.shape, array.dtype)
        out[...] = array
        return out if out.ndim else out[()]

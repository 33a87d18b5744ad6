"""Sources on disk, of which the operating system reads the pages that are asked for."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.base.source import user_facing
from adjoint.data.sources import Source

__all__ = ["MemoryMap", "memmap"]


class MemoryMap(Source):
    """Rows of a file; columns of several files are put together by a dictionary of them."""

    def __init__(self, columns: Any, names: bool) -> None:
        self.maps, self.names = columns, names

    def __len__(self) -> int:
        return len(next(iter(self.maps.values())))

    def rows(self, indices: Any) -> Any:
        """Copies of the rows of these numbers, in memory."""
        found = {name: np.array(each[indices]) for name, each in self.maps.items()}
        return found if self.names else found[""]


@user_facing
def memmap(path: Any, dtype: Any = None, shape: tuple[int, ...] | None = None) -> MemoryMap:
    """A source of the rows of a binary file, or of a file that np.save wrote; a dictionary of paths gives columns.

    For a binary file give dtype and shape; -1 as the first length takes as many rows as there are.

    ```python
    np.arange(12.0).reshape(6, 2).tofile("rows.bin")
    source = ad.data.memmap("rows.bin", np.float64, (-1, 2))
    len(source), source[np.array([5, 0])]  # → (6, [[10.0, 11.0], [0.0, 1.0]])
    ```
    """
    paths = path if isinstance(path, dict) else {"": path}
    columns = {str(name): _open(each, dtype, shape) for name, each in paths.items()}
    lengths = {name: len(each) for name, each in columns.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"memmap: the files differ in the number of rows: {lengths}.")
    return MemoryMap(columns, isinstance(path, dict))


def _open(path: str | PathLike[str], dtype: Any, shape: tuple[int, ...] | None) -> Any:
    name = fspath(path)
    if name.endswith(".npy"):
        return np.load(name, mmap_mode="r", allow_pickle=False)
    if dtype is None:
        raise TypeError(f"memmap: {name} is a plain binary file; give the dtype of its numbers, and their shape.")
    dtype, wanted = np.dtype(dtype), (-1,) if shape is None else tuple(shape)
    width = dtype.itemsize * int(np.prod(wanted[1:], dtype=int))
    there = Path(name).stat().st_size
    rows = there // width if wanted[0] == -1 else wanted[0]
    if there < rows * width or (wanted[0] == -1 and there % width) or not rows:
        raise ValueError(f"memmap: {name} has {there} bytes, which are not {wanted} of {dtype} ({width} bytes a row).")
    return np.memmap(name, dtype, "r", shape=(rows, *wanted[1:]))

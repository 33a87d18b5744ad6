"""Sources in Parquet files, read by row groups: a group is kept as long as rows of it are asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np

from adjoint.base.source import user_facing
from adjoint.data.sources import Source

__all__ = ["Parquet", "parquet"]

KEPT = 8  # row groups in memory


class Parquet(Source):
    """Columns of a Parquet file."""

    def __init__(self, path: str, columns: list[str]) -> None:
        self.path, self.columns = path, columns
        self._file = _open(path)
        meta = self._file.metadata
        self.ends = np.cumsum([meta.row_group(i).num_rows for i in range(meta.num_row_groups)])
        self._groups: OrderedDict[int, dict[str, Any]] = OrderedDict()

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "columns": self.columns}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"], state["columns"])

    def rows(self, indices: Any) -> dict[str, Any]:
        """The rows of these numbers, from the groups that have them."""
        flat = np.ravel(indices)
        group = np.searchsorted(self.ends, flat, side="right")
        found: dict[str, Any] = {}
        for number in np.unique(group):
            mine = np.flatnonzero(group == number)
            columns = self._group(int(number))
            first = int(self.ends[number - 1]) if number else 0
            for name in self.columns:
                values = columns[name][flat[mine] - first]
                if name not in found:
                    found[name] = np.empty((len(flat), *values.shape[1:]), values.dtype)
                found[name][mine] = values
        return {name: values.reshape(np.shape(indices) + values.shape[1:]) for name, values in found.items()}

    def _group(self, number: int) -> dict[str, Any]:
        if number not in self._groups:
            table = self._file.read_row_group(number, columns=self.columns)
            self._groups[number] = {name: _as_array(name, table.column(name)) for name in self.columns}
            if len(self._groups) > KEPT:
                self._groups.popitem(last=False)
        self._groups.move_to_end(number)
        return self._groups[number]


@user_facing
def parquet(path: str | PathLike[str], columns: Sequence[str] | None = None) -> Parquet:
    """A source of columns of a Parquet file, all by default; lists of equal lengths become rows of a matrix.

    Reading needs pyarrow: `pip install "adjoint[store]"`.

    ```python
    import pyarrow, pyarrow.parquet
    pyarrow.parquet.write_table(pyarrow.table({"x": [1.0, 2.0, 3.0], "y": [0, 1, 0]}), "examples.parquet")
    source = ad.data.parquet("examples.parquet")
    len(source), source[np.array([2, 0])]["x"]  # → (3, [3.0, 1.0])
    ```
    """
    name = fspath(path)
    known = _open(name).schema_arrow.names
    wanted = list(known) if columns is None else list(columns)
    for column in wanted:
        if column not in known:
            raise KeyError(f"parquet: {name} has no column {column!r}; it has {', '.join(known)}.")
    return Parquet(name, wanted)


def _open(path: str) -> Any:
    try:
        import pyarrow.parquet as reader
    except ImportError as error:
        raise ImportError("parquet: reading Parquet files needs pyarrow; pip install 'adjoint[store]'.") from error
    return reader.ParquetFile(path)


def _as_array(name: str, column: Any) -> Any:
    """A column as an array: numbers as they are, lists of one length as rows."""
    joined = column.combine_chunks()
    if joined.null_count:
        raise ValueError(f"parquet: column {name!r} has {joined.null_count} missing values; fill them first.")
    kind = str(joined.type)
    if "list" not in kind:
        return joined.to_numpy(zero_copy_only=False)
    rows = joined.to_pylist()
    if len({len(row) for row in rows}) > 1:
        raise ValueError(f"parquet: the lists in column {name!r} differ in length.")
    return np.array(rows)

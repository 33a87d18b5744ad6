"""What a run was like: a row for each epoch, and the loss of each step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

__all__ = ["History"]


@final
@dataclass(repr=False)
class History:
    """A table with a row for each epoch: `history["loss"]` is a column, `history.steps` the loss of each step.

    ```python
    history = ad.nn.History()
    history.add(epoch=1, loss=0.5)
    history.add(epoch=2, loss=0.25)
    history["loss"], len(history)  # → ([0.5, 0.25], 2)
    ```
    """

    rows: list[dict[str, float]] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)

    def add(self, **values: float) -> None:
        """One more row."""
        self.rows.append(dict(values))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def __getitem__(self, name: str) -> Any:
        if self.rows and name not in self.columns:
            raise KeyError(f"the history has no column {name!r}; it has {', '.join(self.columns)}.")
        return np.array([row.get(name, np.nan) for row in self.rows])

    def table(self) -> str:
        """The rows as text."""
        columns = self.columns
        shown = [columns, *[[_shown(row.get(name)) for name in columns] for row in self.rows]]
        widths = [max(len(line[i]) for line in shown) for i in range(len(columns))]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in shown
        )

    def __repr__(self) -> str:
        lines = self.table().splitlines()
        if len(lines) > 12:
            lines = [*lines[:6], f"… {len(lines) - 11} more", *lines[-5:]]
        return "\n".join(lines) if self.rows else f"<History of {len(self.steps)} steps>"

    def plot(self, axes: Any = None) -> Any:
        """Losses and metrics over the epochs, drawn with matplotlib; the axes."""
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots()[1]
        for name in self.columns:
            if name not in ("epoch", "step"):
                axes.plot(self["epoch"], self[name], label=name)
        axes.set_xlabel("epoch")
        axes.legend()
        return axes


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e9 else f"{value:.5g}"

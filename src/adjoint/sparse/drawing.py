"""Pictures of colorings: in a terminal, and by matplotlib."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np

WIDEST = 36  # cells of a picture in a terminal
FINEST = 600  # pixels of a picture, per side: more nonzeros fall together
PALETTE = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#edc948", "#76b7b2", "#ff9da7", "#9c755f", "#bab0ac")


def color_name(number: int) -> str:
    """The color of a group: the palette first, then hues a golden angle apart."""
    if number < len(PALETTE):
        return PALETTE[number]
    hue = (number * 0.618033988749895) % 1.0
    parts = [np.clip(np.abs((hue * 6 + shift) % 6 - 3) - 1, 0, 1) for shift in (0.0, 4.0, 2.0)]
    return "#" + "".join(f"{int(40 + 180 * p):02x}" for p in parts)


def cells(coloring: Any, most: int) -> Any:
    """The pattern in at most `most` × `most` cells: the color of a nonzero in each, -1 where there is none."""
    m, n = coloring.shape
    rows = np.repeat(np.arange(m), np.diff(coloring.pattern.indptr))
    height, width = min(m, most), min(n, most)
    grid = np.full((height, width), -1)
    if rows.size:
        grid[rows * height // m, coloring.pattern.indices.astype(np.int64) * width // n] = coloring.color_of_entries
    return grid


def in_terminal(coloring: Any) -> Any:
    """A title and the pattern, one character for a cell, in the colors of the groups."""
    from rich.text import Text

    text = Text(repr(coloring).strip("<>"))
    for line in cells(coloring, WIDEST):
        text.append("\n")
        for c in line:
            text.append("██" if c >= 0 else "· ", style=color_name(int(c)) if c >= 0 else "gray37")
    return text


def plotted(coloring: Any, ax: Any = None, *, title: str | None = None) -> Any:
    """The pattern as an image on matplotlib's axes."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_rgb
    from matplotlib.ticker import MaxNLocator

    ax = plt.subplots()[1] if ax is None else ax
    grid = cells(coloring, FINEST)
    image = np.ones((*grid.shape, 3))
    for c in np.unique(grid[grid >= 0]):
        image[grid == c] = to_rgb(color_name(int(c)))
    m, n = coloring.shape
    ax.imshow(image, extent=(-0.5, n - 0.5, m - 0.5, -0.5), interpolation="nearest", aspect="equal")
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.set_title(repr(coloring).strip("<>") if title is None else title, fontsize="medium")
    return ax

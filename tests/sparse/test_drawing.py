"""Pictures of colorings."""

import io

import numpy as np
from matplotlib import pyplot as plt
from rich.console import Console

from adjoint import sparse


def test_in_a_terminal() -> None:
    made = sparse.color(np.eye(4) + np.eye(4, k=1))
    console = Console(record=True, width=100, force_terminal=True, color_system="truecolor", file=io.StringIO())
    console.print(made)
    plain = console.export_text(clear=False).splitlines()
    assert plain[0] == repr(made).strip("<>") == "column coloring of 4 × 4 with 7 nonzeros: 2 colors"
    assert [line.replace(" ", "").count("██") for line in plain[1:5]] == [2, 2, 2, 1]
    assert len({line for line in console.export_text(styles=True).split("\x1b[") if line.startswith("38;2")}) >= 2


def test_large_ones_are_drawn_in_few_cells() -> None:
    made = sparse.color(np.eye(500))
    assert max(map(len, str(made.__rich__()).splitlines()[1:])) <= 100


def test_by_matplotlib() -> None:
    made = sparse.color(np.eye(6) + np.eye(6, k=-1))
    axes = made.plot()
    image = axes.images[0].get_array()
    shown = {tuple(pixel) for pixel in np.reshape(np.asarray(image), (-1, 3))}
    assert len(shown) == 3  # two colors and white
    assert "2 colors" in axes.get_title()
    plt.close(axes.figure)
    _, given = plt.subplots()
    assert made.plot(given, title="") is given
    plt.close(given.figure)

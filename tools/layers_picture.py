"""Draws docs/pictures/layers.png: the folders of src/adjoint in their rows, as the architecture test has them.

Run it from anywhere: `python tools/layers_picture.py`.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "layers.png"

WORDS = {  # a folder of the row → what the row is
    "coverage": "what of NumPy and SciPy is supported",
    "base": "errors, source lines, settings",
    "tree": "containers",
    "program": "types, the contract of a primitive, traces",
    "ops": "primitives and their rules",
    "transform": "interpreters, passes, machine code; NumPy's names",
    "api": "what users call",
    "testing": "checks against differences",
    "linear": "linear maps and solvers",
    "curvature": "built on derivatives",
    "show": "explanations, profiles, pages",
    "compat": "other libraries' names",
    "command": "the command line",
}


def rows() -> list[list[str]]:
    """The folders that there are, from the ground up; the test is read and not imported, which would need pytest."""
    test = ast.parse((ROOT / "tests" / "test_architecture.py").read_text(encoding="utf-8"))
    layers = next(ast.literal_eval(node.value) for node in test.body if isinstance(node, ast.Assign) and named(node))
    there = [[name for name in sorted(row) if (ROOT / "src" / "adjoint" / name).is_dir()] for row in layers]
    return [row for row in there if row]


def named(node: ast.Assign) -> bool:
    """Whether this statement assigns the rows."""
    return isinstance(node.targets[0], ast.Name) and node.targets[0].id == "LAYERS"


def draw(path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    drawn = rows()
    figure, ax = plt.subplots(figsize=(9.6, 0.42 * len(drawn)), layout="constrained")
    for height, row in enumerate(drawn):
        width = 7.2 / len(row)
        for k, name in enumerate(row):
            ax.add_patch(
                plt.Rectangle((k * width + 0.03, height + 0.08), width - 0.06, 0.84, fc="#e8effb", ec="#3f51b5")
            )
            ax.text((k + 0.5) * width, height + 0.48, name, ha="center", va="center", family="monospace", fontsize=9)
        words = next((WORDS[name] for name in row if name in WORDS), "")
        ax.text(7.4, height + 0.48, words, va="center", fontsize=9, color="0.35")
    ax.set(xlim=(0, 10.6), ylim=(0, len(drawn)))
    ax.axis("off")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    draw(PICTURE)

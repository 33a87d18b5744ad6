"""Second derivatives as matrices and as trees of trees: leaves one after another, in the order of the tree."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.gradients import Function
from adjoint.program.types import Value

__all__ = ["lay_out_hessian", "matrix_of", "one_argument", "ravel_leaves", "size_of", "unravel_like"]


def one_argument(title: str, function: Function, args: Any, kwargs: Any) -> tuple[Any, Function]:
    """The parameters w, and the function of them: what is given by name stays as it is."""
    if len(args) != 1:
        raise TypeError(f"{title}: it is called with the parameters w; got {len(args)} positional arguments. Give "
                        "others by name, or close over them.")  # fmt: skip
    return args[0], functools.partial(function, **kwargs) if kwargs else function


def size_of(x: tree.Tree) -> int:
    """The number of elements of all leaves."""
    return sum(int(np.size(leaf)) for leaf in tree.leaves(x))


def unravel_like(vector: Value, like: tree.Tree) -> Any:
    """The tree like another whose leaves, one after another, are the vector."""
    leaves, structure = tree.flatten(like)
    ends = np.cumsum([0, *[int(np.size(leaf)) for leaf in leaves]]).tolist()
    parts = [np.reshape(vector[a:b], np.shape(x)) for a, b, x in zip(ends[:-1], ends[1:], leaves, strict=True)]
    return tree.unflatten(structure, parts)


def ravel_leaves(x: tree.Tree) -> Value:
    """All leaves one after another in one vector."""
    pieces = [np.reshape(leaf, (-1,)) for leaf in tree.leaves(x)]
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces) if pieces else np.zeros(0)


def matrix_of(blocks: tree.Tree, rows: tree.Tree, columns: tree.Tree) -> Value:
    """The matrix of a tree of trees of arrays, such as a Jacobian or Hessian, for rows and columns like these trees."""
    row_leaves, row_structure = tree.flatten(rows)
    column_leaves = tree.leaves(columns)
    leaves = tree.leaves(blocks)
    width = len(column_leaves)
    lines: list[Value] = []
    for i, row in enumerate(row_leaves):
        line = [
            np.reshape(leaves[i * width + j], (int(np.size(row)), int(np.size(column))))
            for j, column in enumerate(column_leaves)
        ]
        lines.append(line[0] if width == 1 else np.concatenate(line, axis=1))
    assert len(leaves) == width * row_structure.num_leaves
    return lines[0] if len(lines) == 1 else np.concatenate(lines)


def lay_out_hessian(matrix: Value, like: tree.Tree) -> Any:
    """A square matrix as a tree of trees like `like`, as `ad.hessian` lays out its result."""
    leaves, structure = tree.flatten(like)
    ends = np.cumsum([0, *[int(np.size(leaf)) for leaf in leaves]])
    spans = list(zip(ends[:-1].tolist(), ends[1:].tolist(), leaves, strict=True))
    rows = [
        tree.unflatten(structure, [np.reshape(matrix[a:b, c:d], (*np.shape(x), *np.shape(y))) for c, d, y in spans])
        for a, b, x in spans
    ]
    return tree.unflatten(structure, rows)

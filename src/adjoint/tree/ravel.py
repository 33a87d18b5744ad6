"""One vector for a whole tree, and back: what SciPy's solvers and matrices of derivatives need."""

import math
from typing import Any, final

import numpy as np

from adjoint.base.errors import DtypeError, ShapeError
from adjoint.tree.arrays import Array, as_array, is_plain
from adjoint.tree.flatten import flatten
from adjoint.tree.kinds import Leaf, Tree, listed
from adjoint.tree.structure import Structure

__all__ = ["Unravel", "ravel"]


def ravel(tree: Tree) -> tuple[Array, "Unravel"]:
    """All leaves one after another in one vector, and the function that turns such a vector into a tree.

        flat, unravel = ravel(params)
        result = scipy.optimize.minimize(lambda v: loss(unravel(v)), flat)

    The element type is what NumPy promotes the leaves to; `unravel` gives each leaf its shape and its element type
    again. Integers beside floating-point leaves are refused: a solver would move them to fractions.

    ```python
    flat, unravel = ad.tree.ravel({"a": np.array([1.0, 2.0]), "b": 3.0})
    flat  # → [1.0, 2.0, 3.0]
    unravel(2 * flat)  # → {'a': [2.0, 4.0], 'b': 6.0}
    ```
    """
    leaves, structure = flatten(tree)
    paths = structure.paths()
    arrays = [as_array("ravel", leaf, path) for leaf, path in zip(leaves, paths, strict=True)]
    integers = [path for array, path in zip(arrays, paths, strict=True) if array.dtype.kind in "biu"]
    if 0 < len(integers) < len(arrays):
        raise DtypeError(
            f"ravel: {integers[0]} holds integers and other leaves hold floating-point numbers, but a vector has one "
            "element type. Make it floating-point (.astype(float); 0.0 for 0), or, in a dataclass, declare the field "
            "with tree.static()."
        )
    unravel = Unravel(structure, [tuple(array.shape) for array in arrays], [array.dtype for array in arrays])
    flat = np.concatenate([np.reshape(array, (-1,)) for array in arrays]) if arrays else np.zeros(0)
    return flat, unravel


@final
class Unravel:
    """The backward pass from a vector to a tree: called with the vector.

    ```python
    flat, unravel = ad.tree.ravel((1.0, np.ones(2)))
    unravel(np.arange(3.0))  # → (0.0, [1.0, 2.0])
    ```
    """

    __slots__ = ("dtypes", "shapes", "size", "sizes", "structure")

    def __init__(self, structure: Structure, shapes: list[tuple[int, ...]], dtypes: list[np.dtype[Any]]) -> None:
        self.structure = structure
        self.shapes = shapes
        self.dtypes = dtypes
        self.sizes = [math.prod(shape) for shape in shapes]
        self.size = sum(self.sizes)

    def __call__(self, flat: Any) -> Tree:
        """The tree whose leaves, one after another, are `flat`. Nothing of it is a view of `flat`."""
        vector: Any = flat if hasattr(flat, "shape") else np.asarray(flat)
        if tuple(vector.shape) != (self.size,):
            raise ShapeError(
                f"unravel: expected a vector of {self.size} elements ({self.layout()}), "
                f"got shape {tuple(vector.shape)}."
            )
        leaves: list[Leaf] = []
        start = 0
        for number, (shape, size) in enumerate(zip(self.shapes, self.sizes, strict=True)):
            piece = vector[start] if shape == () else np.reshape(vector[start : start + size], shape)
            leaves.append(self.converted(piece, number))
            start += size
        return self.structure.unflatten(leaves)

    def converted(self, piece: Any, number: int) -> Leaf:
        """A piece of the vector with the element type of its leaf; an error when that would lose something."""
        dtype = self.dtypes[number]
        if piece.dtype.kind == "c" and dtype.kind != "c":
            if is_plain(piece) and np.any(np.imag(piece) != 0):
                raise DtypeError(
                    f"unravel: {self.structure.path(number) or 'the leaf'} is real ({dtype}), but its part of the "
                    "vector has an imaginary part."
                )
            piece = np.real(piece)
        if dtype.kind in "biu" and is_plain(piece) and np.any(piece.astype(dtype) != piece):
            raise DtypeError(
                f"unravel: {self.structure.path(number) or 'the leaf'} holds {dtype}, and its part of the vector has "
                "other numbers."
            )
        return piece.astype(dtype)  # a copy, so that the tree stays as it is when the vector is overwritten

    def layout(self) -> str:
        """Which leaf has which shape."""
        pieces = zip(self.structure.paths(), self.shapes, strict=True)
        return listed(f"{path or 'leaf'}: {shape}" for path, shape in pieces) or "no leaves"

    def __repr__(self) -> str:
        return f"<unravel: vector of {self.size} -> {self.structure.text()}>"

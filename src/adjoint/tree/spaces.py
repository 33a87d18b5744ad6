"""Trees of arrays as vectors: sum, multiple, zero, inner product, norm, basis.

A tree is an element of the product of its leaves' spaces:

    <a, b> = Re Σ_leaves Σ_i conj(a_i) b_i,     ‖a‖ = √<a, a>
"""

import functools
import math
import operator
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from adjoint.base.errors import AdjointError, ShapeError
from adjoint.tree.arrays import Array, as_array, is_plain
from adjoint.tree.compare import check_same_structure
from adjoint.tree.flatten import flatten
from adjoint.tree.kinds import Leaf, Tree
from adjoint.tree.structure import Structure

__all__ = ["add", "basis", "norm", "scale", "size", "subtract", "vdot", "zeros_like"]

T = TypeVar("T")


def zeros_like(tree: T) -> T:
    """The zero of the tree's space: same structure, shapes and element types.

    ```python
    ad.tree.zeros_like({"a": np.ones(2), "b": 1.0})  # → {'a': [0.0, 0.0], 'b': 0.0}
    ```
    """
    arrays, structure = _arrays("zeros_like", tree, "biufc")
    return structure.unflatten([_scalar(np.zeros_like(x)) for x in arrays])


def add(a: T, b: T) -> T:
    """a + b.

    ```python
    ad.tree.add({"a": 1.0}, {"a": 2.0})  # → {'a': 3.0}
    ```
    """
    pairs, structure = _pairs("add", a, b)
    return structure.unflatten([_scalar(x + y) for x, y in pairs])


def subtract(a: T, b: T) -> T:
    """a - b.

    ```python
    ad.tree.subtract({"a": 1.0}, {"a": 2.0})  # → {'a': -1.0}
    ```
    """
    pairs, structure = _pairs("subtract", a, b)
    return structure.unflatten([_scalar(x - y) for x, y in pairs])


def scale(c: Any, tree: T) -> T:
    """c a, for a number c.

    ```python
    ad.tree.scale(3.0, {"a": 1.0, "b": np.ones(2)})  # → {'a': 3.0, 'b': [3.0, 3.0]}
    ```
    """
    # A Python number stays one: multiplied by it, float32 stays float32.
    if type(c) not in (int, float, complex):
        c = as_array("scale", c, "the factor", "iufc")
        if c.shape != ():
            raise ShapeError(f"scale: the factor has shape {c.shape}; it must be one number.")
    arrays, structure = _arrays("scale", tree)
    return structure.unflatten([_scalar(c * x) for x in arrays])


def vdot(a: Tree, b: Tree) -> Any:
    """<a, b> = Re Σ conj(a_i) b_i, over all elements of all leaves. A real number.

    ```python
    ad.tree.vdot({"a": 1.0, "b": np.ones(2)}, {"a": 2.0, "b": np.ones(2)})  # → 4.0
    ```
    """
    pairs, _ = _pairs("vdot", a, b)
    terms = [_leaf_vdot(x, y) for x, y in pairs]
    return functools.reduce(operator.add, terms) if terms else np.float64(0.0)


def norm(tree: Tree) -> Any:
    """‖a‖ = √<a, a>.

    ```python
    ad.tree.norm({"a": 3.0, "b": 4.0})  # → 5.0
    ```
    """
    arrays, _ = _arrays("norm", tree)
    # The norm of the leaves' norms: np.linalg.norm has a derivative where √ has none, at zero.
    lengths = [np.linalg.norm(np.reshape(x, (-1,))) for x in arrays]
    if not lengths:
        return np.float64(0.0)
    return lengths[0] if len(lengths) == 1 else np.linalg.norm(np.stack(lengths))


def size(tree: Tree) -> int:
    """The number of elements of all leaves together: the dimension of the tree's space.

    ```python
    ad.tree.size({"a": 1.0, "b": np.ones((2, 3))})  # → 7
    ```
    """
    return sum(math.prod(x.shape) for x in _arrays("size", tree, "biufc")[0])


def basis(tree: T) -> Iterator[T]:
    """The unit vectors e₁, e₂, ...: trees that are 1 at one element of one leaf and 0 elsewhere, in `ravel`'s order.

    A complex element has one of them: together with its multiple by i it spans that element over the reals.

    ```python
    list(ad.tree.basis((0.0, np.zeros(1))))  # → [(1.0, [0.0]), (0.0, [1.0])]
    ```
    """
    arrays, structure = _arrays("basis", tree)
    for number, x in enumerate(arrays):
        for index in np.ndindex(x.shape):
            leaves: list[Array] = [np.zeros(y.shape, y.dtype) for y in arrays]
            leaves[number][index] = 1
            yield structure.unflatten([_scalar(leaf) for leaf in leaves])


def _arrays(name: str, tree: Tree, kinds: str = "iufc") -> tuple[list[Array], Structure]:
    leaves, structure = flatten(tree)
    try:
        return [as_array(name, leaf, "", kinds) for leaf in leaves], structure
    except AdjointError:
        # Paths cost more than all the rest, so that they are only made when one has to be named.
        paths = structure.paths()
        return [as_array(name, leaf, path, kinds) for leaf, path in zip(leaves, paths, strict=True)], structure


def _pairs(name: str, a: Tree, b: Tree) -> tuple[list[tuple[Array, Array]], Structure]:
    left, structure = _arrays(name, a)
    right, other = _arrays(name, b)
    check_same_structure(name, structure, other)
    for number, (x, y) in enumerate(zip(left, right, strict=True)):
        if x.shape != y.shape:
            raise ShapeError(
                f"{name}: {structure.path(number) or 'the leaf'} has shape {x.shape} in the first tree, "
                f"{y.shape} in the second."
            )
    return list(zip(left, right, strict=True)), structure


def _leaf_vdot(x: Array, y: Array) -> Any:
    if x.dtype.kind in "iu":
        x = x.astype(np.float64)  # a sum of products of integers could overflow
    if is_plain(x) and is_plain(y):
        return np.real(np.vdot(x, y))
    product = np.conj(x) * y if x.dtype.kind == "c" else x * y
    return np.sum(np.real(product) if product.dtype.kind == "c" else product)


def _scalar(x: Any) -> Leaf:
    """Results without axes are scalars, as in NumPy."""
    return x[()] if is_plain(x) and x.ndim == 0 else x

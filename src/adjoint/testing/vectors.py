"""Trees of arrays as vectors of a Euclidean space: moving along a line, inner products, random directions.

The inner product of two trees is Re⟨u, v⟩ = Re Σ conj(u) v over all leaves, the one for which a `vjp` is the adjoint of
a `jvp`. Leaves that are not real or complex floats (integers, booleans, names) are constants: they do not move.
"""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from adjoint.base.errors import DtypeError, ShapeError, TraceError
from adjoint.conversion.driver import prepare
from adjoint.program.trace import Tracer
from adjoint.tree import Structure, Tree, check_same_structure, flatten, unflatten

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
P = ParamSpec("P")
R = TypeVar("R")


def at_values(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that takes differences of values: arguments of a transformation have none yet."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if any(isinstance(leaf, Tracer) for leaf in flatten((args, kwargs))[0]):
            raise TraceError(
                f"{function.__name__} works with values, and inside jit, vmap or a derivative they are not at hand. "
                "Call it outside, on the transformed function."
            )
        if args and callable(args[0]):
            prepared: Any = (prepare(args[0]), *args[1:])
            return function(*prepared, **kwargs)
        return function(*args, **kwargs)

    return call


def has_tangent(leaf: object) -> bool:
    """Whether a leaf can vary continuously: real and complex floats do, all else is constant."""
    return isinstance(leaf, (float, complex)) or getattr(leaf, "dtype", np.dtype(object)).kind in "fc"


def line(x: Tree, direction: Tree) -> Callable[[float], Tree]:
    """t ↦ x + t v, each leaf in its own dtype; a Python int that the direction moves is promoted to float."""
    structure = flatten(x)[1]
    pairs = moving_pairs(x, direction)

    def point(t: float) -> Tree:
        moved = [leaf if v is None else shift(leaf, t, v) for leaf, v in pairs]
        return unflatten(structure, moved)

    return point


def shift(leaf: Any, t: float | complex, v: Array) -> Any:
    """leaf + t v in the dtype of the leaf; a number for a number."""
    return np.asarray(leaf + t * v).astype(np.asarray(leaf).dtype)[()]


def moving_pairs(x: Tree, direction: Tree) -> list[tuple[Any, Array | None]]:
    """The leaves of x with their tangents; None as the tangent of one that stands still."""
    leaves, structure = flatten(x)
    tangents = matching_leaves(direction, structure, "direction", "x")
    paths = structure.paths("direction")
    return [moving_pair(*triple) for triple in zip(leaves, tangents, paths, strict=True)]


def moving_pair(leaf: Any, tangent: Any, path: str) -> tuple[Any, Array | None]:
    """One leaf with its tangent, checked to be of one kind and shape."""
    v = np.asarray(tangent)
    if type(leaf) is int and v.dtype.kind in "biuf" and np.any(v != 0):
        leaf = float(leaf)
    if not has_tangent(leaf):
        if v.dtype.kind in "biufc" and np.any(v != 0):
            raise DtypeError(
                f"{path}: what is of type {describe_leaf(leaf)} is constant and cannot be moved; "
                "make it a float, or give it the direction 0."
            )
        return leaf, None
    x = np.asarray(leaf)
    if v.dtype.kind not in "biufc":
        raise DtypeError(f"{path}: {describe_leaf(leaf)} moves along numbers, not along {describe_leaf(tangent)}.")
    if v.shape != x.shape:
        raise ShapeError(f"{path}: {describe_leaf(leaf)} needs a direction of shape {x.shape}, not {v.shape}.")
    if v.dtype.kind == "c" and x.dtype.kind != "c":
        raise DtypeError(
            f"{path}: a real {describe_leaf(leaf)} cannot move along a complex direction; give a real one."
        )
    return leaf, v


def matching_leaves(tree: Tree, structure: Structure, name: str, other: str) -> list[Any]:
    """The leaves of a tree that must have a given structure."""
    leaves, own_structure = flatten(tree)
    if own_structure != structure:
        check_same_structure(name, own_structure, structure, name, other)
    return list(leaves)


def describe_leaf(leaf: object) -> str:
    """dtype and shape of an array, type of anything else."""
    if isinstance(leaf, np.ndarray):
        return f"{leaf.dtype}{list(leaf.shape)}"
    return type(leaf).__name__


def epsilon(x: Tree) -> float:
    """The coarsest relative spacing of the floats in a tree."""
    spacings = [float(np.finfo(np.asarray(leaf).dtype).eps) for leaf in flatten(x)[0] if has_tangent(leaf)]
    return max(spacings, default=float(np.finfo(np.float64).eps))


def inner(u: Tree, v: Tree) -> float:
    """Re⟨u, v⟩ over all leaves that move."""
    left, structure = flatten(u)
    right = matching_leaves(v, structure, "v", "u")
    return sum(
        (float(np.real(np.vdot(a, b))) for a, b in zip(left, right, strict=True) if has_tangent(a) and has_tangent(b)),
        start=0.0,
    )


def norm(v: Tree) -> float:
    """√Re⟨v, v⟩."""
    return float(np.sqrt(inner(v, v)))


def combination(a: float, u: Tree, b: float, v: Tree) -> Tree:
    """a u + b v, leaf by leaf; constants are taken from u."""
    left, structure = flatten(u)
    right = matching_leaves(v, structure, "v", "u")
    return unflatten(structure, [sum_of(a, p, b, q) for p, q in zip(left, right, strict=True)])


def sum_of(a: float, p: Any, b: float, q: Any) -> Any:
    return np.asarray(a * np.asarray(p) + b * np.asarray(q)).astype(np.asarray(p).dtype)[()] if has_tangent(p) else p


def random_direction(x: Tree, rng: np.random.Generator) -> Tree:
    """A direction with independent normal entries, complex where x is; zeros of their own type for constants."""
    leaves, structure = flatten(x)
    return unflatten(structure, [random_leaf(leaf, rng) for leaf in leaves])


def random_leaf(leaf: Any, rng: np.random.Generator) -> Any:
    x = np.asarray(leaf)
    if not has_tangent(leaf):
        return np.zeros(x.shape, x.dtype)[()] if x.dtype.kind in "biu" else leaf
    entries = rng.standard_normal(x.shape)
    if x.dtype.kind == "c":
        entries = entries + 1j * rng.standard_normal(x.shape)
    return np.asarray(entries).astype(x.dtype)[()]

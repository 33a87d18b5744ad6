"""Bounds on x: read from any of the forms that users write, as vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError, TreeError
from adjoint.implicit.vectors import path_in_x
from adjoint.optimize.frozen import read_path
from adjoint.optimize.problem import Unknowns
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["read_bounds"]


def read_bounds(title: str, bounds: Any, unknowns: Unknowns) -> tuple[Value, Value] | None:
    """(lower, upper) as vectors; None without bounds.

    A pair (lower, upper) is for all unknowns; its sides are None, numbers, or trees like x. A dictionary gives pairs by
    key, for some keys or all. SciPy's `Bounds`, and a list of pairs for a vector, are read too. For a vector of two a
    tuple of two lists is (lower, upper); two tuples are what makes sense, and refused where both readings do.
    """
    if bounds is None:
        return None
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        bounds = (bounds.lb, bounds.ub)
    paths = unknowns.structure.paths()
    if any(t.dtype.kind == "c" for t in unknowns.types):
        raise TreeError(f"{title}: bounds are for real unknowns; complex numbers have no order.")
    if isinstance(bounds, dict):
        pairs = _by_key(title, bounds, unknowns)
    elif _is_list_of_pairs(title, bounds, unknowns):
        pairs = [(np.array([-np.inf if p[0] is None else p[0] for p in bounds], float),
                  np.array([np.inf if p[1] is None else p[1] for p in bounds], float))]  # fmt: skip
    else:
        pairs = _pair(title, bounds, unknowns)
    lower, upper = [], []
    for (low, high), kind, path in zip(pairs, unknowns.types, paths, strict=True):
        for side, value, none, name in ((lower, low, -np.inf, "lower"), (upper, high, np.inf, "upper")):
            side.append(
                _broadcast(f"{title}: the {name} bound of {path_in_x(path)}", none if value is None else value, kind)
            )
        low_array, high_array = lower[-1], upper[-1]
        if not isinstance(low_array, TRACED) and not isinstance(high_array, TRACED):
            wrong = np.argwhere(np.logical_not(low_array <= high_array))
            if len(wrong):
                at = tuple(wrong[0])
                where = path_in_x(path) + (str(list(map(int, at))) if at else "")
                raise ValueError(f"{title}: the bounds of {where} are ({low_array[at]}, {high_array[at]}): the lower "
                                 "one must not be larger than the upper one.")  # fmt: skip
    sides = [np.concatenate([np.reshape(v, (-1,)) for v in side]).astype(unknowns.dtype) for side in (lower, upper)]
    if unknowns.scale is not None:
        sides = [side / unknowns.scale for side in sides]
    return sides[0], sides[1]


def _broadcast(name: str, value: Any, kind: Any) -> Any:
    array = value if isinstance(value, TRACED) else np.asarray(value, float)
    try:
        return np.broadcast_to(array, kind.shape)
    except ValueError:
        raise ShapeError(f"{name} has shape {array.shape}, and x there has {kind.shape}.") from None


def _is_list_of_pairs(title: str, bounds: Any, unknowns: Unknowns) -> bool:
    if len(unknowns.types) != 1 or not isinstance(bounds, list | tuple) or len(unknowns.types[0].shape) != 1:
        return False
    pairs = all(isinstance(b, list | tuple) and len(b) == 2 for b in bounds)
    if not pairs or len(bounds) != unknowns.types[0].shape[0]:
        return False
    numbers = [entry for pair in bounds for entry in pair]
    if len(bounds) != 2 or isinstance(bounds, list) or any(v is None or isinstance(v, TRACED) for v in numbers):
        return True
    if all(isinstance(b, list) for b in bounds):
        return False
    (a, b), (c, d) = bounds
    by_element, by_side = a < b and c < d, a < c and b < d
    if by_element and by_side and b != c:
        raise ValueError(
            f"{title}: bounds are {bounds}, which can be read as two pairs, [{a}, {b}] and [{c}, {d}], or as the lower "
            f"and the upper bounds, [{a}, {c}] and [{b}, {d}]. Write a list of pairs, or two arrays (lower, upper)."
        )
    return not by_side


def _pair(title: str, bounds: Any, unknowns: Unknowns) -> list[tuple[Any, Any]]:
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:
        raise TreeError(f"{title}: bounds is a {type(bounds).__name__}; it is a pair (lower, upper), whose sides are "
                        "None, numbers or trees like x, or a dictionary of such pairs by key.")  # fmt: skip
    sides: list[list[Any]] = []
    for name, side in zip(("lower", "upper"), bounds, strict=True):
        is_number = not _is_tree(side) and (side is None or isinstance(side, TRACED) or np.ndim(side) == 0)
        if is_number:
            sides.append([side] * len(unknowns.types))
        else:
            sides.append(tree.leaves_like(f"{title}: {name} bounds", unknowns.structure, side))
    return list(zip(*sides, strict=True))


def _is_tree(side: Any) -> bool:
    return isinstance(side, dict | list | tuple)


def _by_key(title: str, bounds: dict[Any, Any], unknowns: Unknowns) -> list[tuple[Any, Any]]:
    """Pairs for the leaves below each key; leaves without one are free."""
    pairs: list[tuple[Any, Any]] = []
    used: set[tuple[str, ...]] = set()
    for path in unknowns.structure.paths():
        node: Any = bounds
        steps = read_path(path)
        depth = 0
        while isinstance(node, dict):
            key = next((k for k in node if steps[depth : depth + len(_steps(k))] == _steps(k)), None)
            node, depth = ((None, None), depth) if key is None else (node[key], depth + len(_steps(key)))
        used |= {steps[: i + 1] for i in range(depth)}
        if node is None:
            node = (None, None)
        if not isinstance(node, list | tuple) or len(node) != 2:
            raise TreeError(f"{title}: the bounds of {path_in_x(path)} are {node!r}; they are a pair (lower, upper).")
        pairs.append((node[0], node[1]))
    _refuse_unused(title, bounds, (), used, unknowns)
    return pairs


def _steps(key: Any) -> tuple[str, ...]:
    """The steps of a path that a key of a dictionary stands for."""
    return read_path(f"[{key!r}]")


def _refuse_unused(title: str, node: Any, above: tuple[str, ...], used: set[tuple[str, ...]], unknowns: Any) -> None:
    for key, below in node.items() if isinstance(node, dict) else ():
        steps = (*above, *_steps(key))
        if steps not in used:
            known = ", ".join(unknowns.structure.paths())
            inside = f" in {'.'.join(above)}" if above else ""
            raise TreeError(
                f"{title}: bounds has the key {key!r}{inside}, and x has none of that name. It has: {known}."
            )
        _refuse_unused(title, below, steps, used, unknowns)

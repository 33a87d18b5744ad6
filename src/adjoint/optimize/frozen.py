"""Leaves of x that stay as they are: they are arguments of the problem, not unknowns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.base.errors import TreeError
from adjoint.base.suggestions import did_you_mean

__all__ = ["Split", "read_path", "split"]


class Split(NamedTuple):
    """Which leaves of x are unknowns; None where all are."""

    structure: Any = None
    free: tuple[bool, ...] | None = None

    def merge(self, x: Any, fixed: Any) -> Any:
        """The whole tree, from its unknowns and its fixed leaves."""
        if self.free is None:
            return x
        unknowns, others = iter(x.values()), iter(fixed.values())
        return tree.unflatten(self.structure, [next(unknowns) if free else next(others) for free in self.free])

    def part(self, whole: Any) -> Any:
        """The unknowns of a tree like x."""
        if self.free is None:
            return whole
        leaves = tree.leaves_like("x", self.structure, whole)
        paths = self.structure.paths()
        return {p: leaf for p, leaf, free in zip(paths, leaves, self.free, strict=True) if free}

    def fixed(self, whole: Any) -> Any:
        """The fixed leaves of a tree like x."""
        if self.free is None:
            return {}
        leaves = tree.leaves_like("x", self.structure, whole)
        paths = self.structure.paths()
        return {p: leaf for p, leaf, free in zip(paths, leaves, self.free, strict=True) if not free}

    def of_function(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """f as a function of (unknowns, fixed leaves, *args)."""
        return lambda x, fixed, *args: f(self.merge(x, fixed), *args)

    def of_gradient(self, gradient: Callable[..., Any]) -> Callable[..., Any]:
        """A gradient that the user gives, of the unknowns alone."""
        return lambda x, fixed, *args: self.part(gradient(self.merge(x, fixed), *args))

    def of_product(self, product: Callable[..., Any]) -> Callable[..., Any]:
        """A product with a matrix over x, as one over the unknowns: the fixed leaves do not move."""

        def restricted(x: Any, u: Any, fixed: Any, *args: Any) -> Any:
            still = {path: np.zeros_like(leaf) for path, leaf in fixed.items()}
            return self.part(product(self.merge(x, fixed), self.merge(u, still), *args))

        return restricted


def split(title: str, x0: Any, frozen: Any) -> Split:
    """Which leaves are frozen: paths, or a tree of truth values like x0."""
    if isinstance(frozen, str):
        frozen = (frozen,)
    if isinstance(frozen, tuple | list) and not frozen:
        return Split()
    leaves, structure = tree.flatten(x0)
    paths = structure.paths()
    if isinstance(frozen, tuple | list | set | frozenset) and all(isinstance(p, str) for p in frozen):
        labels = [read_path(path) for path in paths]
        free = [True] * len(leaves)
        for path in frozen:
            wanted = read_path(path)
            hits = [i for i, own in enumerate(labels) if own[: len(wanted)] == wanted]
            if not hits:
                near = did_you_mean(path, paths)
                raise TreeError(f"{title}: frozen names {path!r}, and x0 has no such leaf. {near}".rstrip())
            for i in hits:
                free[i] = False
    else:
        mask = tree.leaves_like(f"{title}: frozen", structure, frozen)
        if any(not isinstance(m, bool | np.bool_) for m in mask):
            raise TreeError(f"{title}: frozen is a tree of truth values like x0, or a list of paths.")
        free = [not m for m in mask]
    if not any(free):
        raise TreeError(f"{title}: all leaves of x0 are frozen, so that there is nothing to look for.")
    return Split(structure, tuple(free))


def read_path(path: str) -> tuple[str, ...]:
    """The steps of a path, however it is written: "x.layers[1]['b']" and "layers.1.b" are the same."""
    return tuple(re.findall(r"[^\[\]'\".]+", path.removeprefix("x.").removeprefix("x[")))

"""The vector space that a value belongs to: its zero, its ones, a basis, sums and products.

A complex number is a pair of real ones here: a complex space has twice as many dimensions, its ones are 1 + i, and its
basis runs through 1 and i. The covector of x is its conjugate: gradients of real functions of complex variables are
covectors.
"""

# pyright: basic

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from adjoint import tree
from adjoint.base.errors import UnsupportedError
from adjoint.program.types import type_of

__all__ = ["ArrayVSpace", "ComplexArrayVSpace", "ContainerVSpace", "VSpace", "vspace"]


class VSpace(ABC):
    """A vector space; `vspace(x)` is that of x."""

    iscomplex = False
    size: int

    @abstractmethod
    def zeros(self) -> Any:
        """The zero."""

    @abstractmethod
    def ones(self) -> Any:
        """All coordinates 1."""

    @abstractmethod
    def randn(self) -> Any:
        """A point with normally distributed coordinates."""

    @abstractmethod
    def standard_basis(self) -> Iterator[Any]:
        """The vectors of the basis, one after another."""

    def add(self, x: Any, y: Any) -> Any:
        return self.zeros() + y if x is None else x + y

    def mut_add(self, x: Any, y: Any) -> Any:
        """The sum; it is a new value, since nothing here is written over."""
        return self.add(x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        return x * a

    @abstractmethod
    def inner_prod(self, x: Any, y: Any) -> Any:
        """The inner product."""

    def covector(self, x: Any) -> Any:
        return x

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in vars(self).items())})"

    @classmethod
    def register(cls, value_type: type, vspace_maker: Any = None) -> NoReturn:
        raise UnsupportedError(
            f"VSpace.register({value_type.__name__}): a class of your own is a container of arrays here. Say what it "
            "holds with adjoint.tree.register, or make it a dataclass; its vector space follows."
        )


class ArrayVSpace(VSpace):
    """Real arrays of one shape and element type."""

    def __init__(self, value: Any) -> None:
        kind = type_of(value)
        self.shape, self.dtype = tuple(kind.shape), kind.dtype

    @property
    def size(self) -> int:  # type: ignore[override]
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def zeros(self) -> Any:
        return np.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        return np.ones(self.shape, self.dtype)

    def randn(self) -> Any:
        return np.asarray(np.random.randn(*self.shape)).astype(self.dtype)  # noqa: NPY002  (users seed this one)

    def standard_basis(self) -> Iterator[Any]:
        for index in np.ndindex(*self.shape):
            unit = self.zeros()
            unit[index] = 1
            yield unit

    def inner_prod(self, x: Any, y: Any) -> Any:
        return np.sum(x * y)


class ComplexArrayVSpace(ArrayVSpace):
    """Complex arrays, as pairs of real ones."""

    iscomplex = True

    @property
    def size(self) -> int:  # type: ignore[override]
        return 2 * math.prod(self.shape)

    def ones(self) -> Any:
        return np.full(self.shape, 1 + 1j, self.dtype)

    def randn(self) -> Any:
        drawn = np.random.randn(*self.shape) + 1j * np.random.randn(*self.shape)  # noqa: NPY002
        return np.asarray(drawn).astype(self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        for unit in super().standard_basis():
            yield unit
            yield unit * self.dtype.type(1j)

    def inner_prod(self, x: Any, y: Any) -> Any:
        return np.sum(np.real(np.conj(x) * y))

    def covector(self, x: Any) -> Any:
        return np.conj(x)


class ContainerVSpace(VSpace):
    """Containers: the product of the spaces of their arrays."""

    def __init__(self, value: Any) -> None:
        self._leaves, self._structure = tree.flatten(value)
        self._leaves = [vspace(leaf) for leaf in self._leaves]

    @property
    def shape(self) -> Any:
        """The container, with spaces in the places of arrays."""
        return tree.unflatten(self._structure, self._leaves)

    @property
    def size(self) -> int:  # type: ignore[override]
        return sum(space.size for space in self._leaves)

    def _map(self, method: str, *values: Any) -> Any:
        columns = zip(*[tree.leaves(v) for v in values], strict=True) if values else [()] * len(self._leaves)
        return [getattr(s, method)(*column) for s, column in zip(self._leaves, columns, strict=True)]

    def _made(self, method: str, *values: Any) -> Any:
        return tree.unflatten(self._structure, self._map(method, *values))

    def zeros(self) -> Any:
        return self._made("zeros")

    def ones(self) -> Any:
        return self._made("ones")

    def randn(self) -> Any:
        return self._made("randn")

    def standard_basis(self) -> Iterator[Any]:
        for i, space in enumerate(self._leaves):
            for unit in space.standard_basis():
                zeros = [s.zeros() for s in self._leaves]
                zeros[i] = unit
                yield tree.unflatten(self._structure, zeros)

    def add(self, x: Any, y: Any) -> Any:
        return self._made("add", self.zeros() if x is None else x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        return tree.unflatten(self._structure, [leaf * a for leaf in tree.leaves(x)])

    def inner_prod(self, x: Any, y: Any) -> Any:
        return sum(self._map("inner_prod", x, y))

    def covector(self, x: Any) -> Any:
        return self._made("covector", x)


def vspace(value: Any) -> Any:
    """The vector space of a value: an array, a number, a container of these."""
    leaves, structure = tree.flatten(value)
    if len(leaves) != 1 or structure != tree.structure(0.0):
        return ContainerVSpace(value)
    try:
        kind = type_of(leaves[0])
    except (TypeError, AttributeError):
        raise TypeError(
            f"vspace: {type(value).__name__} is no array, number or container of these, so it belongs to no vector "
            "space. adjoint.tree.register makes a container of a class."
        ) from None
    return (ComplexArrayVSpace if kind.dtype.kind == "c" else ArrayVSpace)(leaves[0])

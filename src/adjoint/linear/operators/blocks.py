"""Maps made of blocks: rows and columns of maps, maps along a diagonal, and maps on vectors instead of trees."""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError
from adjoint.linear.operators import facts as known
from adjoint.linear.operators.algebra import OfMap, Zero, same
from adjoint.linear.operators.facts import Facts
from adjoint.linear.operators.maps import OPERATIONS, STATIC, LinearMap
from adjoint.linear.operators.spaces import Space
from adjoint.linear.operators.structures import matrix
from adjoint.program.types import Value

__all__ = ["Block", "BlockDiagonal", "Raveled", "block", "block_diagonal", "raveled"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Block(LinearMap):
    """(x₁, x₂, …) ↦ (A₁₁ x₁ + A₁₂ x₂ + …, A₂₁ x₁ + …, …), between tuples."""

    rows: tuple[tuple[LinearMap, ...], ...]

    @property
    def domain(self) -> Space:
        return Space.product(tuple(a.domain for a in self.rows[0]))

    @property
    def range(self) -> Space:
        return Space.product(tuple(row[0].range for row in self.rows))

    def _own_facts(self) -> Facts:
        n = len(self.rows)
        if n != len(self.rows[0]):
            return frozenset()
        pairs = [(i, j) for i in range(n) for j in range(n)]
        nothing_above = all(isinstance(self.rows[i][j], Zero) for i, j in pairs if i < j)
        nothing_below = all(isinstance(self.rows[i][j], Zero) for i, j in pairs if i > j)
        diagonal = known.of_blocks([self.rows[i][i].facts for i in range(n)])
        if nothing_above and nothing_below:
            return diagonal
        found = diagonal & {"symmetric"} if self._mirrored() else frozenset[str]()
        if nothing_above:
            found |= diagonal & {"lower triangular", "unit diagonal", "invertible"}
        if nothing_below:
            found |= diagonal & {"upper triangular", "unit diagonal", "invertible"}
        return found

    def _mirrored(self) -> bool:
        n = len(self.rows)
        return all(same(self.rows[i][j].adjoint, self.rows[j][i]) for i in range(n) for j in range(i))

    def _parts(self) -> tuple[LinearMap, ...]:
        return tuple(a for row in self.rows for a in row)

    def _label(self) -> str:
        return f"Block[{len(self.rows)},{len(self.rows[0])}]"

    def _apply(self, x: Any) -> Any:
        return tuple(row[0].range.total([a._apply(part) for a, part in zip(row, x, strict=True)]) for row in self.rows)

    def _apply_adjoint(self, u: Any) -> Any:
        return tuple(
            column[0].domain.total([a._apply_adjoint(part) for a, part in zip(column, u, strict=True)])
            for column in zip(*self.rows, strict=True)
        )

    def _adjoint(self) -> LinearMap:
        return Block(tuple(tuple(a.adjoint for a in column) for column in zip(*self.rows, strict=True)))

    def _triangular(self) -> str:
        """Which way block elimination goes: all blocks on one side of the diagonal are zero, all on it are square."""
        n = len(self.rows)
        if n != len(self.rows[0]) or not all(self.rows[i][i].is_square for i in range(n)):
            return ""
        if all(isinstance(self.rows[i][j], Zero) for i in range(n) for j in range(i + 1, n)):
            return "lower"
        return "upper" if all(isinstance(self.rows[i][j], Zero) for i in range(n) for j in range(i)) else ""

    def _solve(self, b: Any) -> Any:
        """By substitution block by block; with two rows and an easy first block by the Schur complement D - C A⁻¹ B."""
        if order := self._triangular():
            return self._substituted(list(b), range(len(b)) if order == "lower" else range(len(b) - 1, -1, -1))
        if self._by_schur():
            (a, bb), (c, _) = self.rows
            first = a._solve(b[0])
            second = self._schur()._solve(tree.subtract(b[1], c._apply(first)))
            return tree.subtract(first, a._solve(bb._apply(second))), second
        return super()._solve(b)

    def _substituted(self, b: list[Any], order: Any) -> Any:
        found: dict[int, Any] = {}
        for i in order:
            rest = b[i]
            for j, x in found.items():
                if not isinstance(self.rows[i][j], Zero):
                    rest = tree.subtract(rest, self.rows[i][j]._apply(x))
            found[i] = self.rows[i][i]._solve(rest)
        return tuple(found[i] for i in range(len(b)))

    def _by_schur(self) -> bool:
        return len(self.rows) == 2 == len(self.rows[0]) and self.rows[0][0].is_easy and self.rows[1][1].is_square

    def _schur(self) -> LinearMap:
        (a, b), (c, d) = self.rows
        claims = self.facts & {"positive definite", "symmetric"}
        return (d - c @ a.inverse @ b)._claiming(frozenset(claims))

    def _method(self) -> str:
        if self._triangular():
            return "block substitution"
        return f"Schur complement ({self._schur().method})" if self._by_schur() else super()._method()

    def _is_structured(self) -> bool:
        if self._triangular():
            return all(row[i].is_structured for i, row in enumerate(self.rows))
        return super()._is_structured()

    def _to_dense(self) -> Value:
        return np.concatenate([np.concatenate([a._to_dense() for a in row], axis=1) for row in self.rows], axis=0)


@final
@dataclass(frozen=True, eq=False, repr=False)
class BlockDiagonal(LinearMap):
    """Each map on its own part: a container of maps acts on containers of elements."""

    blocks: tuple[LinearMap, ...]
    container: tree.Structure = field(metadata=STATIC)

    def _split(self, x: Any, spaces: Sequence[Space]) -> list[Any]:
        leaves, start, found = tree.leaves(x), 0, []
        for space in spaces:
            n = len(space.types)
            found.append(tree.unflatten(space.structure, leaves[start : start + n]))
            start += n
        return found

    @property
    def domain(self) -> Space:
        return Space.product(tree.unflatten(self.container, [a.domain for a in self.blocks]))

    @property
    def range(self) -> Space:
        return Space.product(tree.unflatten(self.container, [a.range for a in self.blocks]))

    def _own_facts(self) -> Facts:
        return known.of_blocks([a.facts for a in self.blocks]) if self.blocks else frozenset({"identity"})

    def _parts(self) -> tuple[LinearMap, ...]:
        return self.blocks

    def _mapped(self, name: str, x: Any, spaces: list[Space]) -> Any:
        parts = self._split(x, spaces)
        return tree.unflatten(self.container, [getattr(a, name)(p) for a, p in zip(self.blocks, parts, strict=True)])

    def _apply(self, x: Any) -> Any:
        return self._mapped("_apply", x, [a.domain for a in self.blocks])

    def _apply_adjoint(self, u: Any) -> Any:
        return self._mapped("_apply_adjoint", u, [a.range for a in self.blocks])

    def _solve(self, b: Any) -> Any:
        if not all(a.is_square for a in self.blocks):
            return super()._solve(b)
        return self._mapped("_solve", b, [a.range for a in self.blocks])

    def _adjoint(self) -> LinearMap:
        return BlockDiagonal(tuple(a.adjoint for a in self.blocks), self.container)

    def _inverse(self) -> LinearMap:
        if not all(a.is_square for a in self.blocks):
            return super()._inverse()
        return BlockDiagonal(tuple(a.inverse for a in self.blocks), self.container)

    def _method(self) -> str:
        return "block by block: " + ", ".join(dict.fromkeys(a.method for a in self.blocks))

    def _is_structured(self) -> bool:
        return all(a.is_square for a in self.blocks)

    def diagonal(self) -> Value:
        if not all(a.is_square for a in self.blocks):
            return super().diagonal()
        return np.concatenate([a.diagonal() for a in self.blocks])

    def _to_dense(self) -> Value:
        rows = []
        for i, a in enumerate(self.blocks):
            parts = [np.zeros((a.shape[0], b.shape[1]), self.dtype) for b in self.blocks]
            rows.append(np.concatenate([*parts[:i], a._to_dense(), *parts[i + 1 :]], axis=1))
        return np.concatenate(rows, axis=0) if rows else np.zeros((0, 0))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Raveled(OfMap):
    """A map on vectors: the elements of the domain and range of A, written one after another."""

    inner: LinearMap

    @property
    def domain(self) -> Space:
        return Space.vector(self.inner.domain.size, self.inner.domain.dtype)

    @property
    def range(self) -> Space:
        return Space.vector(self.inner.range.size, self.inner.range.dtype)

    def _apply(self, x: Any) -> Any:
        return self.inner.range.ravel(self.inner._apply(self.inner.domain.unravel(x)))

    def _apply_adjoint(self, u: Any) -> Any:
        return self.inner.domain.ravel(self.inner._apply_adjoint(self.inner.range.unravel(u)))

    def _apply_columns(self, columns: Value) -> Value:
        return self.inner._apply_columns(columns)

    def _solve(self, b: Any) -> Any:
        return self.inner.domain.ravel(self.inner._solve(self.inner.range.unravel(b)))

    def _method(self) -> str:
        return self.inner.method

    def _is_structured(self) -> bool:
        return self.inner.is_structured

    def _adjoint(self) -> LinearMap:
        return Raveled(self.inner.adjoint)

    def diagonal(self) -> Value:
        return self.inner.diagonal()

    def _to_dense(self) -> Value:
        return self.inner._to_dense()


def raveled(a: LinearMap) -> LinearMap:
    """The map on vectors that A is, when the leaves of its domain and range are written one after another.

    ```python
    result = ad.linear.raveled(ad.linear.diagonal((np.ones(2), 3.0))).to_dense()
    result  # → [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0]]
    ```
    """
    if len({t.dtype.kind for t in (*a.domain.types, *a.range.types)}) > 1:  # one vector holds numbers of one kind
        a = OPERATIONS["complexify"](a)
    return a if a.domain.is_vector and a.range.is_vector else Raveled(a)


def block(rows: Sequence[Sequence[Any]]) -> LinearMap:
    """[[A, B], [C, D]]: (x, y) ↦ (A x + B y, C x + D y), of maps or matrices.

    None is zero; `raveled` makes a map on vectors of it.

    ```python
    A = ad.linear.block([[np.eye(2), None], [None, 2 * np.eye(1)]])
    A @ (np.ones(2), np.ones(1))  # → ([1.0, 1.0], [2.0])
    ```
    """
    table = [[_map(a, "block") for a in row] for row in rows]
    if not table or not table[0] or any(len(row) != len(table[0]) for row in table):
        raise ShapeError("block: give rows of maps, all with the same number of them.")
    columns = list(zip(*table, strict=True))
    for what, lines, side in (("row", table, "range"), ("column", columns, "domain")):
        for i, line in enumerate(lines):
            spaces = {getattr(a, side) for a in line if a is not None}
            if len(spaces) != 1:
                found = " and ".join(str(s) for s in spaces) or "nothing but None"
                raise ShapeError(f"block: the maps of {what} {i} must have one {side}; they have {found}.")
    domains = [next(a.domain for a in column if a is not None) for column in columns]
    ranges = [next(a.range for a in row if a is not None) for row in table]
    return Block(
        tuple(
            tuple(Zero(d, r) if a is None else a for a, d in zip(row, domains, strict=True))
            for row, r in zip(table, ranges, strict=True)
        )
    )


def _map(a: Any, what: str) -> Any:
    """A map, None, or the map of a matrix."""
    if a is None or isinstance(a, LinearMap):
        return a
    if getattr(a, "ndim", 0) != 2:
        raise TypeError(f"{what}: expected a LinearMap, a matrix or None; got {type(a).__name__}.")
    return matrix(a)


def block_diagonal(maps: Any) -> LinearMap:
    """Each map on its own part: `maps` is a list, tuple or dict of maps (or nested ones), and elements look like it.

    ```python
    A = ad.linear.block_diagonal({"a": np.eye(2), "b": 3 * np.eye(1)})
    A @ {"a": np.ones(2), "b": np.ones(1)}  # → {'a': [1.0, 1.0], 'b': [3.0]}
    ```
    """
    held: list[LinearMap] = []
    numbers = _number_parts(maps, held)
    return BlockDiagonal(tuple(held), tree.structure(numbers))


def _number_parts(maps: Any, held: list[LinearMap]) -> Any:
    """The container with a number in each position; the maps in the order in which trees are read."""
    if isinstance(maps, LinearMap) or getattr(maps, "ndim", 0) == 2:
        held.append(_map(maps, "block_diagonal"))
        return 0.0
    if isinstance(maps, Mapping):
        order = tree.leaves({key: key for key in maps})
        made = {key: _number_parts(maps[key], held) for key in order}
        return {key: made[key] for key in maps}
    if isinstance(maps, tuple | list):
        parts = [_number_parts(part, held) for part in maps]
        return type(maps)(*parts) if hasattr(maps, "_fields") else type(maps)(parts)
    raise TypeError(
        f"block_diagonal: expected a LinearMap or a list, tuple or dict of them; got {type(maps).__name__}."
    )

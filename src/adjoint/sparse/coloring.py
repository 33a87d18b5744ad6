"""Colorings: which columns (or rows) of a sparse matrix are found together in one product."""

# pyright: basic

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from adjoint.api.jacobians import PULL_COST
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.program.types import Value
from adjoint.sparse import compressed, drawing
from adjoint.sparse.graphs import graph_of
from adjoint.sparse.greedy import color_columns, full_rows, least_colors, split_by_rows
from adjoint.sparse.relations import Matrix
from adjoint.sparse.star import acyclic_colored, star_colored

KINDS = ("column", "row", "bidirectional", "star", "acyclic")


class Coloring:
    """A sparsity pattern and the colors of its columns, or rows, or both; -1 is no color. It pickles.

    kind: "column" and "row" for a Jacobian by products from the right or from the left, "bidirectional" for both,
    "star" and "acyclic" for a symmetric matrix, where one entry of each pair hᵢⱼ = hⱼᵢ is enough. A coloring that
    does not determine every entry of the pattern is refused.

    ```python
    ad.sparse.jacobian(lambda x: x**2).coloring(np.ones(100)).number  # → 1
    ```
    """

    def __init__(self, pattern: Any, kind: str, columns: Any = None, rows: Any = None) -> None:
        if kind not in KINDS:
            raise ValueError(f"sparse.Coloring: kind={kind!r} is none of {', '.join(KINDS)}.")
        self.pattern = as_pattern(pattern)
        self.kind = kind
        self.columns = None if columns is None else _pack(columns, self.pattern.shape[1], "columns")
        self.rows = None if rows is None else _pack(rows, self.pattern.shape[0], "rows")
        self._plan  # noqa: B018  (refuses what does not fit)

    @cached_property
    def _plan(self) -> Any:
        if self.kind in ("star", "acyclic"):
            if self.columns is None:
                raise ShapeError(f"sparse.Coloring: a {self.kind} coloring is one of the columns.")
            make = compressed.star_plan if self.kind == "star" else compressed.acyclic_plan
            return make(self.pattern, self.columns)
        return compressed.direct_plan(self.pattern, self.columns, self.rows)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_plan"}

    @property
    def symmetric(self) -> bool:
        """Whether it is for a Hessian."""
        return self.kind in ("star", "acyclic")

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix."""
        return self.pattern.shape

    @property
    def pushes(self) -> int:
        """How many products from the right it takes (J s, or H s)."""
        return compressed.number(self.columns)

    @property
    def pulls(self) -> int:
        """How many products from the left it takes (sᵀ J)."""
        return compressed.number(self.rows)

    def __len__(self) -> int:
        return self.pushes + self.pulls

    @property
    def number(self) -> int:
        """The number of colors: products that it takes to find the matrix."""
        return len(self)

    @property
    def column_groups(self) -> list[Any]:
        """The columns of each color."""
        return _groups(self.columns)

    @property
    def row_groups(self) -> list[Any]:
        """The rows of each color."""
        return _groups(self.rows)

    @property
    def groups(self) -> list[Any]:
        """The columns of each color, then the rows of each color."""
        return self.column_groups + self.row_groups

    def seeds(self, side: str = "right", dtype: Any = np.float64) -> Any:
        """The 0-1 vectors of the products, one in each row, from the "right" (columns) or the "left" (rows)."""
        colors = self.columns if side == "right" else self.rows
        seeds = np.zeros((compressed.number(colors), self.shape[1 if side == "right" else 0]), dtype)
        if colors is not None:
            here = np.flatnonzero(colors >= 0)
            seeds[colors[here], here] = 1
        return seeds

    def compress(self, matrix: Any) -> tuple[Any, Any]:
        """(products from the right, products from the left) of a matrix, one in each row."""
        right = (matrix @ self.seeds("right").T).T
        left = self.seeds("left") @ matrix if self.pulls else np.zeros((0, self.shape[1]))
        return np.asarray(right), np.asarray(left)

    def values(self, right: Value, left: Value = None) -> Value:
        """The nonzeros of the matrix in the order of the pattern, from its products. Differentiable."""
        parts = [np.reshape(p, (-1,)) for p, n in ((right, self.pushes), (left, self.pulls)) if n]
        if not parts:
            return np.zeros(self.pattern.nnz)
        return self._plan.values(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def assemble(self, values: Any) -> Any:
        """The matrix with these nonzeros; a list of matrices for a stack of them."""
        from scipy.sparse import csr_array

        values = np.asarray(values)
        if values.dtype == np.float16:
            raise DtypeError("SciPy's sparse arrays hold no float16. Use .astype(np.float32), or values(*args) alone.")
        if values.ndim > 1:
            return [self.assemble(row) for row in values]
        return csr_array((values, self.pattern.indices.copy(), self.pattern.indptr.copy()), shape=self.shape)

    def decompress(self, right: Any, left: Any = None) -> Any:
        """The matrix, from its products."""
        return self.assemble(self.values(right, left))

    @property
    def color_of_entries(self) -> Any:
        """For each nonzero the color by which it is found; those of rows come after those of columns."""
        i, j = compressed.entries_of(self.pattern)
        if isinstance(self._plan, compressed.Direct):
            split = self.pushes * self.shape[0]
            source = self._plan.source
            return np.where(
                source < split,
                source // max(1, self.shape[0]),
                self.pushes + (source - split) // max(1, self.shape[1]),
            )
        return self.columns[j] if self.columns is not None else np.zeros(i.size, int)

    def __repr__(self) -> str:
        (m, n), parts = self.shape, []
        if self.pushes:
            parts.append(f"{self.pushes} of columns" if self.pulls else str(self.pushes))
        if self.pulls:
            parts.append(f"{self.pulls} of rows" if self.pushes else str(self.pulls))
        return (
            f"<{self.kind} coloring of {m} × {n} with {self.pattern.nnz} nonzeros: "
            f"{' and '.join(parts) or 'no'} {'color' if len(self) == 1 else 'colors'}>"
        )

    def __rich__(self) -> Any:
        return drawing.in_terminal(self)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the pattern, each nonzero in the color of its product; returns matplotlib's axes."""
        return drawing.plotted(self, ax, **options)


def _groups(colors: Any) -> list[Any]:
    if colors is None:
        return []
    order = np.argsort(colors, kind="stable")
    ends = np.searchsorted(colors[order], np.arange(compressed.number(colors) + 1))
    return [order[a:b] for a, b in pairwise(ends)]


def _pack(colors: Any, size: int, what: str) -> Any:
    """Colors as integers 0, 1, … without gaps."""
    colors = np.asarray(colors)
    if colors.shape != (size,) or colors.dtype.kind not in "iu":
        raise ShapeError(
            f"sparse.Coloring: {what} must be {size} integers, one color for each; got "
            f"{colors.dtype} of shape {colors.shape}."
        )
    used, packed = np.unique(colors, return_inverse=True)
    return np.ravel(packed) - int((used < 0).sum())


def as_pattern(pattern: Any) -> Matrix:
    """A matrix of SciPy or NumPy as a pattern: its nonzeros (of a sparse one: its stored entries)."""
    from scipy.sparse import csr_array, issparse

    if np.ndim(pattern) != 2 and not issparse(pattern):
        raise ShapeError(f"sparse: a pattern is a matrix; got {np.ndim(pattern)} axes. Give rows for results, columns "
                         "for arguments.")  # fmt: skip
    if issparse(pattern):
        matrix = csr_array(pattern)
        if pattern.dtype == bool:
            matrix.eliminate_zeros() if matrix.nnz and not matrix.data.all() else None
        entries = csr_array((np.ones(matrix.nnz, bool), matrix.indices, matrix.indptr), shape=matrix.shape)
    else:
        entries = csr_array(np.asarray(pattern) != 0)
    entries.sum_duplicates()
    entries.sort_indices()
    return entries


def color(
    pattern: Any, kind: str = "auto", order: str = "natural", *, pull_cost: float = PULL_COST
) -> Coloring:  # fmt: skip
    """A coloring of a sparsity pattern, greedy, in one of the orders "natural", "largest first", "smallest last",
    "incidence degree".

    "auto" is the kind of fewest colors among "column", "row" and "bidirectional"; a product from the left counts as
    `pull_cost` of those from the right: a tenth more by default. "star" and "acyclic" are for symmetric patterns:
    Hessians.

    ```python
    pattern = ad.sparse.pattern(lambda x: x[1:] - x[:-1])(np.ones(100))
    ad.sparse.color(pattern).number  # → 2
    ```
    """
    entries = as_pattern(pattern)
    if kind in ("star", "acyclic"):
        _check_symmetric(entries, kind)
        graph = graph_of(entries)
        return Coloring(entries, kind, (star_colored if kind == "star" else acyclic_colored)(graph, order))
    if kind == "column":
        return Coloring(entries, kind, color_columns(entries, order))
    if kind == "row":
        return Coloring(entries, kind, None, color_columns(entries.T.tocsr(), order))
    if kind == "bidirectional":
        return _bidirectional(entries, order, pull_cost)
    if kind != "auto":
        raise ValueError(f"sparse.color: kind={kind!r} is none of auto, {', '.join(KINDS)}.")
    return _cheapest(entries, order, pull_cost)


def _cost(coloring: Coloring, pull_cost: float) -> float:
    return coloring.pushes + pull_cost * coloring.pulls


def _cheapest(pattern: Matrix, order: str, pull_cost: float) -> Coloring:
    """Kinds are tried from the least bound upwards, as long as a bound is below the best found."""
    bounds = {"column": float(least_colors(pattern)), "row": pull_cost * least_colors(pattern.T.tocsr())}
    best: Coloring | None = None
    for kind in sorted(bounds, key=bounds.__getitem__):
        if best is None or bounds[kind] < _cost(best, pull_cost):
            candidate = color(pattern, kind, order)
            best = candidate if best is None or _cost(candidate, pull_cost) < _cost(best, pull_cost) else best
    assert best is not None
    _, pushes, pulls = full_rows(pattern)
    _, more_pulls, more_pushes = full_rows(pattern.T.tocsr())
    least = min(pushes + pull_cost * pulls, more_pushes + pull_cost * more_pulls)
    if least < 0.9 * _cost(best, pull_cost):
        both = _bidirectional(pattern, order, pull_cost)
        best = both if _cost(both, pull_cost) < _cost(best, pull_cost) else best
    return best


def _bidirectional(pattern: Matrix, order: str, pull_cost: float) -> Coloring:
    """The better of setting full rows apart and setting full columns apart."""
    columns, rows = split_by_rows(pattern, order)
    first = Coloring(pattern, "bidirectional", columns, rows)
    rows, columns = split_by_rows(pattern.T.tocsr(), order)
    second = Coloring(pattern, "bidirectional", columns, rows)
    return min(first, second, key=lambda candidate: _cost(candidate, pull_cost))


def _check_symmetric(pattern: Matrix, kind: str) -> None:
    m, n = pattern.shape
    if m != n or (pattern != pattern.T.tocsr()).nnz:
        raise ShapeError(
            f"sparse.color: a {kind} coloring is for symmetric patterns; this one ({m} × {n}) is not. "
            "Give P + P.T, or kind='column'."
        )

"""Jacobians by the products of what a program computes between its heads and its tails: J = L K R (see `cuts`).

K has few colors where J has many. An entry of J is an entry of K, or the sum of several: of the element stiffnesses
at a node, of the two ways in which a parameter is read.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.arrays.index import ScatterSum
from adjoint.ops.arrays.rearrange import Broadcast
from adjoint.program.program import interpret
from adjoint.program.types import ArrayType, Value
from adjoint.sparse.coloring import Coloring, color
from adjoint.sparse.compressed import SUM, direct_plan, entries_of, number
from adjoint.sparse.cuts import Cut, Parts, find_cut
from adjoint.sparse.greedy import least_colors
from adjoint.sparse.pattern import pattern_of
from adjoint.sparse.recording import Recorded, sizes_of
from adjoint.sparse.relations import Matrix
from adjoint.sparse.strips import Weave, color_rows, find_weave, seeds_by_value, weave
from adjoint.transform.drivers import Linearized

MOST_ENTRIES = 30_000_000  # of K
UNROLLED = 4000  # equations that products one by one may have; beyond, K is not used
LARGE = 20_000  # numbers that the products of a coloring of J compute: below, that is quick enough
GAIN = 0.7  # of the cost of a coloring of J, to be worth while
ENTRY = 2.0  # the cost of an entry that is read, in that of a number computed


class Sources(NamedTuple):
    """Where the entries of J come from: sums of entries of K, which stand in its products."""

    source: Any  # for each entry of K that counts its position in the products, in the order of the entries of J
    entry: Any  # the entry of J to which it belongs; None where each is one
    count: int  # of entries of J
    woven: list[Weave] | None  # the entries as strips of the products side by side, where they are

    def values(self, products: Sequence[Value]) -> Value:
        if self.woven is not None:
            return weave(self.woven, products)
        found = np.take(np.concatenate([np.reshape(z, (-1,)) for z in products]), self.source)
        return found if self.entry is None else ScatterSum((self.count,), found.dtype, SUM)(found, self.entry)


class Kernel(NamedTuple):
    """K with its colors: what it takes to compute it."""

    heads: tuple[ArrayType, ...]
    tails: tuple[ArrayType, ...]
    columns: Any  # the colors of its columns, or None
    rows: Any

    @property
    def pushes(self) -> int:
        return number(self.columns)

    @property
    def pulls(self) -> int:
        return number(self.rows)

    @property
    def types(self) -> list[ArrayType]:
        """Of all products, those from the right first."""
        return [*self.tails * self.pushes, *self.heads * self.pulls]

    def products(self, linearized: Linearized) -> list[Value]:
        """Of each color those of all values, those from the right first."""
        found: list[Value] = []
        if self.columns is not None:
            for seeds in seeds_by_value(self.columns, self.heads):
                found += linearized.push([_spread(s, t) for s, t in zip(seeds, self.heads, strict=True)])
        if self.rows is not None:
            for seeds in seeds_by_value(self.rows, self.tails):
                found += linearized.pull([_spread(s, t) for s, t in zip(seeds, self.tails, strict=True)])
        return found


def _spread(seed: Any, kind: ArrayType) -> Any:
    return seed if seed is None or seed.shape == kind.shape else Broadcast(kind.shape)(seed)


# beside the objects, not in them: what a compiled function holds must not change while it is traced
_WHOLE: WeakKeyDictionary[LocalColoring, Coloring] = WeakKeyDictionary()


class LocalColoring(Coloring):
    """A coloring of the part of a program between its heads and its tails: J = L K R, the colors are those of K.

    It belongs to the program in which it was found. `whole()` is a coloring of J itself.
    """

    def __init__(self, pattern: Matrix, cut: Cut, kernel: Kernel, sources: Sources) -> None:
        self.pattern, self.kind = pattern, "local"
        self.columns, self.rows = kernel.columns, kernel.rows
        self.cut, self.kernel, self.sources = cut, kernel, sources

    def whole(self) -> Coloring:
        """A coloring of the matrix itself, for a program that is not the one which was cut."""
        found = _WHOLE.get(self)
        if found is None:
            found = _WHOLE[self] = color(self.pattern)
        return found

    def parts(self, recorded: Recorded) -> Parts | None:
        """The program in its three parts; None when it is another one."""
        return self.cut.parts(recorded)

    def compute(
        self, parts: Parts, arguments: Sequence[Value], *, with_value: bool
    ) -> tuple[Value, list[Value] | None]:
        """(the nonzeros of J, the outputs of the program if they are asked for)."""
        heads = interpret(parts.heads, arguments)
        linearized = Linearized(lambda active: interpret(parts.kernel, [*active, *arguments]), heads)
        values = self.sources.values(self.kernel.products(linearized))
        return values, interpret(parts.rest, [*linearized.values, *arguments]) if with_value else None

    def values(self, right: Value, left: Value = None) -> Value:
        raise ShapeError(
            "sparse: a local coloring is one of what a program computes, not of its matrix, whose products it cannot "
            "read. Use ad.sparse.color(coloring.pattern)."
        )

    def compress(self, matrix: Any) -> tuple[Any, Any]:
        return self.values(matrix)

    def seeds(self, side: str = "right", dtype: Any = np.float64) -> Any:
        """The 0-1 vectors of the products with K."""
        colors = self.columns if side == "right" else self.rows
        return (np.arange(number(colors))[:, None] == (np.zeros(0) if colors is None else colors)).astype(dtype)

    @property
    def color_of_entries(self) -> Any:
        """For each nonzero the color of the product of K in which it stands first."""
        first = np.arange(self.sources.source.size)
        if self.sources.entry is not None:
            first = np.searchsorted(self.sources.entry, np.arange(self.sources.count))
        sizes = [sum(sizes_of(self.kernel.tails)), sum(sizes_of(self.kernel.heads))]
        split = self.pushes * sizes[0]
        source = self.sources.source[first]
        return np.where(source < split, source // max(1, sizes[0]), self.pushes + (source - split) // max(1, sizes[1]))


def local_coloring(recorded: Recorded, pull_cost: float) -> LocalColoring | None:
    """The local coloring of a program; None where its parts have no fewer colors than they would have together."""
    found = find_cut(recorded)
    if found is None:
        return None
    program = found.parts.kernel
    heads = program.input_types[: len(found.cut.heads)]
    selected = (*[True] * len(heads), *[False] * (len(program.inputs) - len(heads)))
    pattern = pattern_of(Recorded(program, selected, None))
    if pattern.nnz > MOST_ENTRIES or not pattern.nnz:
        return None
    kernel = Kernel(heads, program.output_types, *_color(pattern, heads, program.output_types, pull_cost))
    if (kernel.pushes + kernel.pulls) * len(program.equations) > UNROLLED:
        return None
    chosen = [t for t, s in zip(recorded.program.input_types, recorded.selected, strict=True) if s]
    shape = (sum(sizes_of(recorded.program.output_types)), sum(sizes_of(chosen)))
    made = _assembled(pattern, kernel, found.columns, found.rows, shape)
    return None if made is None else LocalColoring(made[0], found.cut, kernel, made[1])


def _color(pattern: Matrix, heads: Any, tails: Any, pull_cost: float) -> tuple[Any, Any]:
    """(colors of columns, colors of rows): by strips where that is good, else by the graph."""
    turned = pattern.T.tocsr()
    columns, rows = color_rows(turned, heads), color_rows(pattern, tails)
    costs = [
        number(columns) if columns is not None else np.inf, pull_cost * number(rows) if rows is not None else np.inf
    ]  # fmt: skip
    if min(costs) <= 1.3 * min(least_colors(pattern), pull_cost * least_colors(turned)):
        return (columns, None) if costs[0] <= costs[1] else (None, rows)
    chosen = color(pattern, "auto", pull_cost=pull_cost)
    if min(costs) <= chosen.pushes + pull_cost * chosen.pulls:
        return (columns, None) if costs[0] <= costs[1] else (None, rows)
    return chosen.columns, chosen.rows


def _assembled(
    pattern: Matrix, kernel: Kernel, columns: Any, rows: Any, shape: tuple[int, int]
) -> tuple[Matrix, Sources] | None:  # fmt: skip
    """The pattern of J, and where its entries come from."""
    from scipy.sparse import csr_array

    i, j = entries_of(pattern)
    source = direct_plan(pattern, kernel.columns, kernel.rows).source
    element, row = rows
    order = np.argsort(element, kind="stable")
    row = row[order]
    count = np.bincount(element, minlength=pattern.shape[0])
    first = np.cumsum(count) - count
    total = int(count[i].sum())
    if total > MOST_ENTRIES:
        return None
    k = np.repeat(np.arange(i.size), count[i])
    within = np.arange(total) - np.repeat(np.cumsum(count[i]) - count[i], count[i])
    r, c = row[first[i[k]] + within], columns[j[k]]
    here = c >= 0
    k, r, c = k[here], r[here], c[here]
    keys = r.astype(np.int64) * shape[1] + c
    order = np.argsort(keys, kind="stable")
    entries, entry = np.unique(keys[order], return_inverse=True)
    r, c = np.divmod(entries, max(1, shape[1]))
    pointer = np.concatenate([[0], np.cumsum(np.bincount(r, minlength=shape[0]))])
    made = csr_array((np.ones(entries.size, bool), c, pointer), shape=shape)
    made.sort_indices()
    unique = entries.size == keys.size
    source = source[k[order]]
    woven = find_weave(source, kernel.types) if unique else None
    return made, Sources(source, None if unique else np.ravel(entry), entries.size, woven)


def work_of(recorded: Recorded) -> int:
    """How many numbers a program computes."""
    return sum(sum(sizes_of([v.type for v in eq.outputs])) for eq in recorded.program.equations)


def choose_coloring(recorded: Recorded, make: Any, bound: Any, pull_cost: float) -> Coloring:
    """The cheaper of a local coloring and one of J.

    make(pattern): the coloring of J of a pattern, which is found from the program when it is None; bound(pattern): no
    such coloring takes fewer products.
    """
    work = work_of(recorded)
    found = local_coloring(recorded, pull_cost) if work >= LARGE else None
    if found is None:
        return make(None)
    cost = lambda c: (c.pushes + pull_cost * c.pulls) * work + ENTRY * c.pattern.nnz
    own = cost(found) + ENTRY * (found.sources.source.size - found.pattern.nnz)
    if own < GAIN * (bound(found.pattern) * work + ENTRY * found.pattern.nnz):
        return found
    whole = make(found.pattern)
    return found if own < GAIN * cost(whole) else whole

"""Dependences through what mixes elements along axes: sums, products of matrices, running sums, windows, transforms.

Most of them are said with letters, as `np.einsum` does: an element of the result depends on all elements of the
argument that agree with it in the letters that both have. Those letters name the hubs through which they meet: the
relation is kept as (result → hub) · (hub → argument).
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.ops.arrays.cumulative import CumProd, CumSum, LinearRecurrence
from adjoint.ops.arrays.logsumexp import LogSumExp
from adjoint.ops.arrays.norm import Length
from adjoint.ops.arrays.reduce import Extremum, Product, Reduction, Sum
from adjoint.ops.linalg.matrices import Stacked
from adjoint.ops.linalg.solve import Equations
from adjoint.ops.signal.convolution import Convolution
from adjoint.ops.signal.cosine_transforms import TrigonometricTransform
from adjoint.ops.signal.fourier import Fourier, FromHalfSpectrum, HalfSpectrum
from adjoint.ops.signal.resampling import WeightedTaps
from adjoint.ops.signal.vector_convolution import VectorConvolution
from adjoint.ops.signal.windows import WindowExtremum, WindowShare, WindowSum
from adjoint.sparse.element_rules import Reach, numbered
from adjoint.sparse.relations import from_map, from_pairs, identity, union
from adjoint.sparse.walking import RULES, Fact, Unanswered, Walk

Letters = Sequence[Any]
MOST_PAIRS = 30_000_000  # a relation with more is taken for a full one


def meeting(fact: Fact, own: Letters, out: Letters, shape: Sequence[int]) -> Reach:
    """z[out…] on all x[own…] that agree in the letters in common; axes of size one are broadcast."""
    if fact.reach is None:
        return None
    x_shape: Any = fact.shape
    if 0 in shape or 0 in x_shape:
        return None
    common = [c for c in out if c in own and x_shape[own.index(c)] != 1 and shape[out.index(c)] != 1]
    sizes = [shape[out.index(c)] for c in common]
    hubs = numbered(sizes)
    return fact.reach.through(
        from_map(_laid(hubs, common, out, shape), hubs.size),
        _gathering(_laid(hubs, common, own, x_shape), hubs.size),
    )


def _laid(hubs: Any, common: Letters, letters: Letters, shape: Sequence[int]) -> Any:
    """For each element of an array with these letters, the number of its hub."""
    order = [common.index(c) for c in letters if c in common]
    kept = [n if c in common else 1 for c, n in zip(letters, shape, strict=True)]
    return np.broadcast_to(np.transpose(hubs, order).reshape(kept), shape)


def _gathering(positions: Any, count: int) -> Any:
    """Hub positions[i] on element i."""
    flat = np.ravel(positions)
    return from_pairs(flat, np.arange(flat.size), (count, flat.size))


def kept_letters(ndim: int, axes: Sequence[int]) -> list[int]:
    """Of all axes those that a reduction leaves."""
    return [a for a in range(ndim) if a not in axes]


@RULES.rule(Reduction, Sum, Product, Length, LogSumExp)
def reduced(walk: Walk, op: Any, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """z on all elements that are reduced into it."""
    ndim = len(facts[0].shape or ())
    return [meeting(facts[0], list(range(ndim)), kept_letters(ndim, op.axes), results[0].shape or ())]


@RULES.rule(Extremum)
def extremum(walk: Walk, op: Extremum, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """z on all elements that are compared; if its value is known, on those that reach it."""
    (x,), (z,) = facts, results
    if x.value is not None and z.value is not None and x.reach is not None:
        ties = np.ravel(op.weights(np.asarray(x.value), np.asarray(z.value)) != 0)
        x = x._replace(reach=x.reach.taken(np.where(ties, np.arange(ties.size), -1)))
    return list(reduced(walk, op, [x], results))


@RULES.rule(Einsum)
def einsum(walk: Walk, op: Einsum, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """A product of arrays, summed over the letters that the result has not."""
    inputs, output = op._parts()  # pyright: ignore[reportPrivateUsage]
    return [contracted([list(letters) for letters in inputs], list(output), facts, results[0])]


@RULES.rule(MatMul)
def matmul(walk: Walk, op: MatMul, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """C[…, i, j] = Σ A[…, i, t] B[…, t, j]."""
    a, b = (len(f.shape or ()) for f in facts)
    stack = list(range(max(a, b, 2) - 2))
    left = [*stack[len(stack) - max(0, a - 2) :], *(["i", "t"] if a > 1 else ["t"])]
    right = [*stack[len(stack) - max(0, b - 2) :], *(["t", "j"] if b > 1 else ["t"])]
    out = [*stack, *(["i"] if a > 1 else []), *(["j"] if b > 1 else [])]
    return [contracted([left, right], out, facts, results[0])]


def contracted(inputs: Sequence[Letters], output: Letters, facts: Sequence[Fact], z: Fact) -> Reach:
    """A sum of products; factors whose values are known and mostly zero let through what stands beside the rest."""
    parts: list[Reach] = []
    for i, (letters, fact) in enumerate(zip(inputs, facts, strict=True)):
        if fact.reach is None:
            continue
        others = [(inputs[j], f.value) for j, f in enumerate(facts) if j != i and f.value is not None]
        sparse = [(w, np.asarray(v)) for w, v in others if _has_zeros(v)]
        beside = None
        if sparse and not (1 in (fact.shape or ()) or 1 in (z.shape or ())):
            beside = _beside(fact, letters, output, z, *min(sparse, key=lambda pair: np.count_nonzero(pair[1])))
        parts.append(meeting(fact, letters, output, z.shape or ()) if beside is None else beside[0])
    return union(parts, z.size)


def _has_zeros(value: Any) -> bool:
    """Whether it is worth while to look at each element: there are many zeros, or it is small."""
    nonzeros, size = np.count_nonzero(value), np.size(value)
    return bool(2 * nonzeros < size or nonzeros < size <= 10_000)


def _beside(
    fact: Fact, letters: Letters, output: Letters, z: Fact, known: Letters, weights: Any
) -> tuple[Reach] | None:
    """z[output] on x[letters] where a weight beside them is not zero; None when the pairs are too many."""
    where = np.nonzero(weights)
    count = where[0].size if where else 1
    sizes = dict(zip(output, z.shape or (), strict=True)) | dict(zip(letters, fact.shape or (), strict=True))
    common = [c for c in output if c in letters and c not in known]
    alone = [c for c in (*output, *letters) if c not in known and c not in common]
    free = [*common, *alone]
    if count * int(np.prod([sizes[c] for c in free], dtype=np.int64)) > MOST_PAIRS or fact.reach is None:
        return None
    positions = dict(zip(known, (w.reshape(-1, *(1,) * len(free)) for w in where), strict=True))
    for k, c in enumerate(free):
        positions[c] = np.arange(sizes[c]).reshape(1, *[sizes[c] if j == k else 1 for j in range(len(free))])
    shape = (count, *[sizes[c] for c in free])
    rows = np.broadcast_to(_flat([positions[c] for c in output], z.shape or ()), shape)
    columns = np.broadcast_to(_flat([positions[c] for c in letters], fact.shape or ()), shape)
    return (fact.reach.through(from_pairs(rows, columns, (z.size or 0, fact.size or 0))),)


def _flat(positions: Sequence[Any], shape: Sequence[int]) -> Any:
    total: Any = np.zeros((), int)
    for position, n in zip(positions, shape, strict=True):
        total = total * n + position
    return total


def along_axes(fact: Fact, axes: Sequence[int], shape: Sequence[int]) -> Reach:
    """Any element of the lines along the axes on any other of the same lines."""
    ndim = len(shape)
    own = [("mixed", a) if a in axes else a for a in range(ndim)]
    return meeting(fact, own, list(range(ndim)), shape)


@RULES.rule(Fourier)
def fourier(walk: Walk, op: Fourier, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """Each element of a spectrum on all of the signal."""
    return [along_axes(facts[0], op.axes, results[0].shape or ())]


@RULES.rule(HalfSpectrum, FromHalfSpectrum, TrigonometricTransform)
def transformed(walk: Walk, op: Any, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """The same along one axis."""
    return [along_axes(facts[0], (op.axis,), results[0].shape or ())]


@RULES.rule(CumSum, LinearRecurrence)
def running(walk: Walk, op: Any, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """zₖ on all xⱼ with j ≤ k (j ≥ k when reverse)."""
    return _running(op.axis, op.reverse, facts, results[0].shape)


@RULES.rule(CumProd)
def running_product(walk: Walk, op: CumProd, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """zₖ on all xⱼ with j ≤ k."""
    return _running(op.axis, False, facts, results[0].shape)


def _running(axis: int, reverse: bool, facts: Sequence[Fact], shape: Any) -> list[Reach]:
    n = shape[axis]
    size = int(np.prod(shape, dtype=np.int64))
    if size * (n + 1) // 2 > MOST_PAIRS:
        return [union([along_axes(f, (axis,), shape) for f in facts if f.shape == shape], size)]
    if any(f.shape != shape for f in facts if f.reach is not None):
        raise Unanswered
    k, j = np.nonzero(np.tri(n, dtype=bool))
    if reverse:
        k, j = j, k
    lines = np.moveaxis(numbered(shape), axis, 0).reshape(n, size // n if n else 0)
    matrix = from_pairs(lines[k], lines[j], (size, size))
    return [union([None if f.reach is None else f.reach.through(matrix) for f in facts], size)]


@RULES.rule(WindowSum, WindowShare)
def windows(walk: Walk, op: Any, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """A position on all elements of its window, or the transpose."""
    return _windows(op, op.transposed, facts, results[0])


@RULES.rule(WindowExtremum)
def window_extrema(walk: Walk, op: WindowExtremum, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """A position on all elements of its window."""
    return _windows(op, False, facts, results[0])


def _windows(op: Any, transposed: bool, facts: Sequence[Fact], z: Fact) -> list[Reach]:
    x = facts[0]
    if any(f.reach is not None for f in facts[1:]):
        raise Unanswered
    small, large = (x.shape, z.shape) if transposed else (z.shape, x.shape)
    positions, elements = numbered(small or ()), numbered(large or ())
    rows, columns = [], []
    for p, i in op.all_taps(large[len(large) - len(op.size) :] if large else ()):
        rows.append(np.ravel(positions[p]))
        columns.append(np.ravel(elements[i]))
    seen_from, seen = (np.concatenate(part or [np.zeros(0, int)]) for part in (rows, columns))
    if transposed:
        seen_from, seen = seen, seen_from
    matrix = from_pairs(seen_from, seen, (z.size or 0, x.size or 0))
    return [None if x.reach is None else x.reach.through(matrix)]


@RULES.rule(Convolution)
def convolution(walk: Walk, op: Convolution, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """z[n,g,o,p] on x[n,g,c,i] and w[g,o,c,k] for all c, where spread·i = stride·p + dilation·k + start."""
    from scipy.sparse import kron

    (x, w), (z,) = facts, results
    shape: Any = z.shape
    own: Any = x.shape
    kernel: Any = w.shape
    if 0 in shape or 0 in own or 0 in kernel:
        return [None]
    n, g, o, *lengths = shape
    positions, elements, taps = (int(np.prod(m)) for m in (lengths, own[3:], kernel[3:]))
    lines = [_taps(op, j, own[3 + j], kernel[3 + j]) for j in range(len(lengths))]
    parts: list[Reach] = []
    if x.reach is not None:
        rows, columns = _product([(p, i) for p, i, _ in lines], lengths, own[3:])
        seen = kron(identity(n * g), from_pairs(rows, columns, (positions, elements)), format="csr").astype(bool)
        to_hub = _gathering(np.broadcast_to(numbered((n, g, 1, *own[3:])), own), n * g * elements)
        spread = from_map(np.broadcast_to(numbered((n, g, 1, *lengths)), shape), n * g * positions)
        parts.append(x.reach.through(spread, seen, to_hub))
    if w.reach is not None:
        rows, columns = _product([(p, k) for p, _, k in lines], lengths, kernel[3:])
        seen = kron(identity(g * o), from_pairs(rows, columns, (positions, taps)), format="csr").astype(bool)
        to_hub = _gathering(np.broadcast_to(numbered((g, o, 1, *kernel[3:])), kernel), g * o * taps)
        spread = from_map(np.broadcast_to(numbered((1, g, o, *lengths)), shape), g * o * positions)
        parts.append(w.reach.through(spread, seen, to_hub))
    return [union(parts, z.size)]


def _taps(op: Convolution, j: int, n: int, size: int) -> tuple[Any, Any, Any]:
    """All (p, i, k) along axis j with spread·i = stride·p + dilation·k + start."""
    p, k = np.meshgrid(np.arange(op.lengths[j]), np.arange(size), indexing="ij")
    i, rest = np.divmod(op.stride[j] * p + op.dilation[j] * k + op.start[j], op.spread[j])
    good = (rest == 0) & (i >= 0) & (i < n)
    return p[good], i[good], k[good]


def _product(pairs: Sequence[tuple[Any, Any]], rows: Sequence[int], columns: Sequence[int]) -> tuple[Any, Any]:
    """Pairs of positions on several axes, from those on each."""
    row, column = np.zeros(1, int), np.zeros(1, int)
    for (p, i), m, n in zip(pairs, rows, columns, strict=True):
        row = (row[:, None] * m + p).ravel()
        column = (column[:, None] * n + i).ravel()
    return row, column


@RULES.rule(VectorConvolution)
def vector_convolution(
    walk: Walk, op: VectorConvolution, facts: Sequence[Fact], results: Sequence[Fact]
) -> list[Reach]:
    """full: zₖ on aⱼ with 0 ≤ k - j < m; valid: with 0 ≤ j - k < m."""
    (z,) = results
    shape: Any = z.shape
    if len(shape) > 1 or any(f.shape is None or len(f.shape) > 1 for f in facts):
        ndim = len(shape)
        return [
            union(
                [
                    meeting(f, [*range(ndim - len(f.shape or ()), ndim - 1), "mixed"], list(range(ndim)), shape)
                    for f in facts
                ],
                z.size,
            )
        ]
    parts: list[Reach] = []
    for i, f in enumerate(facts):
        if f.reach is None:
            continue
        n, m = f.size or 0, facts[1 - i].size or 0
        width = m if not op.valid or i == 0 else m - n + 1
        if shape[0] * width > MOST_PAIRS:
            raise Unanswered
        k, step = np.meshgrid(np.arange(shape[0]), np.arange(width), indexing="ij")
        j = k - step if not op.valid else k + step if i == 0 else n - 1 - step * 0
        if op.valid and i == 1:  # every tap of the kernel counts for every position
            k, j = np.meshgrid(np.arange(shape[0]), np.arange(n), indexing="ij")
        good = (j >= 0) & (j < n)
        parts.append(f.reach.through(from_pairs(k[good], j[good], (shape[0], n))))
    return [union(parts, z.size)]


@RULES.rule(WeightedTaps)
def weighted_taps(walk: Walk, op: WeightedTaps, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """z[…, p, …] on x[…, index[p, t], …], or the transpose."""
    x, index, weight = facts
    shape: Any = results[0].shape
    if index.value is None:
        return [along_axes(x, (op.axis,), shape)]
    p = np.broadcast_to(np.arange(index.value.shape[0])[:, None], index.value.shape)
    here = np.ones(p.shape, bool) if weight.value is None else np.not_equal(weight.value, 0)
    rows, columns = p[here], np.asarray(index.value)[here]
    if op.transposed:
        rows, columns = columns, rows
    out = np.moveaxis(numbered(shape), op.axis, 0).reshape(shape[op.axis], -1)
    own = np.moveaxis(numbered(x.shape or ()), op.axis, 0).reshape(-1, out.shape[1])
    matrix = from_pairs(out[rows], own[columns], (results[0].size or 0, x.size or 0))
    return [None if x.reach is None else x.reach.through(matrix)]


@RULES.rule(Stacked)
def stacked_matrices(walk: Walk, op: Any, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """All of a result on all of its own matrix."""
    x = facts[0]
    own: Any = x.shape
    stack = list(range(len(own) - 2))
    if len(facts) > 1 or any((z.shape or ())[: len(stack)] != own[:-2] for z in results):
        raise Unanswered
    letters = [*stack, "i", "j"]
    return [meeting(x, letters, [*stack, *[("z", k) for k in range(len(z.shape or ()) - len(stack))]], z.shape or ())
            for z in results]  # fmt: skip


@RULES.rule(Equations)
def equations(walk: Walk, op: Any, facts: Sequence[Fact], results: Sequence[Fact]) -> list[Reach]:
    """X[…, :, j] on all of A[…] and on B[…, :, j]."""
    (a, b), (z,) = facts, results
    ndim = len(z.shape or ())
    stack = list(range(ndim - 2))
    own_a = [*stack[ndim - len(a.shape or ()) :], "r", "c"]
    own_b = [*stack[ndim - len(b.shape or ()) :], "r", "j"]
    out = [*stack, "i", "j"]
    return [union([meeting(f, own, out, z.shape or ()) for f, own in ((a, own_a), (b, own_b))], z.size)]

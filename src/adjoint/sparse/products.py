"""Products of a derivative with the seeds of a coloring, from the right and from the left, and their check.

Of a complex function the derivative is the matrix J with dw = J dz: holomorphic in complex arguments, complex in real
ones. Pushing s along gives J s. Pulling is the adjoint for Re⟨u, v⟩, so that s on the left takes a conjugate or two
products:

| argument | pull(u) | sᵀ J |
|---|---|---|
| complex | Jᴴ u | conj(pull(s)) |
| real | Re(Jᴴ u) | pull(s) + i pull(i s) |
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import CheckError, DtypeError
from adjoint.program.types import ArrayType, Value
from adjoint.sparse.coloring import Coloring
from adjoint.sparse.compressed import entries_of
from adjoint.sparse.recording import IN_PARTS, sizes_of
from adjoint.transform.batch_driver import run_batch
from adjoint.transform.drivers import Linearized

MULTIPLES = np.array([[1.0], [3.0], [5.0], [7.0], [11.0], [13.0]])  # of the vector of a check


def has_complex(types: Sequence[ArrayType]) -> bool:
    """Whether any of them holds complex numbers."""
    return any(t.dtype.kind == "c" for t in types)


def complex_positions(types: Sequence[ArrayType]) -> Any:
    """For each number of values with these types, one after the other, whether it is complex."""
    return np.repeat(np.array([t.dtype.kind == "c" for t in types], bool), sizes_of(types))


def products(
    apply: Callable[[Sequence[Value]], Sequence[Value]], seeds: Any, into: Sequence[ArrayType],
    out_of: Sequence[ArrayType], chunk: int, *, times_i: bool = False,
) -> Value:  # fmt: skip
    """The map applied to each row of the seeds; the leaves of each result in one row, one after the other.

    `times_i`, the seeds of complex numbers are times i, and those of real ones are zero.
    """
    width = sum(sizes_of(out_of))
    rows: list[Value] = []
    for first in range(0, len(seeds), chunk):
        part = seeds[first : first + chunk]
        stacks, start = [], 0
        for t, n in zip(into, sizes_of(into), strict=True):
            stack = part[:, start : start + n].astype(t.dtype).reshape(len(part), *t.shape)
            if times_i:
                stack = stack * t.dtype.type(1j) if t.dtype.kind == "c" else np.zeros_like(stack)
            stacks.append(stack)
            start += n
        zs, mapped, _ = run_batch(lambda xs: list(apply(xs)), stacks, [True] * len(stacks), len(part))
        flat = [
            np.reshape(z if f else np.broadcast_to(z, (len(part), *np.shape(z))), (len(part), -1))
            for z, f, n in zip(zs, mapped, sizes_of(out_of), strict=True)
            if n
        ]
        if flat:
            rows.append(flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1))
    if not rows:
        return np.zeros((len(seeds), width))
    return rows[0] if len(rows) == 1 else np.concatenate(rows, axis=0)


def from_right(linearized: Linearized, seeds: Any, chunk: int) -> Value:
    """J s for each row s of the seeds."""
    return products(linearized.push, seeds, linearized.input_types, linearized.output_types, chunk)


def from_left(linearized: Linearized, seeds: Any, chunk: int) -> Value:
    """sᵀ J for each row s of the seeds."""
    rows = products(linearized.pull, seeds, linearized.output_types, linearized.input_types, chunk)
    if not len(seeds) or not has_complex(linearized.output_types):
        return rows
    holomorphic = complex_positions(linearized.input_types)
    if holomorphic.all():
        return np.conjugate(rows)
    other = products(linearized.pull, seeds, linearized.output_types, linearized.input_types, chunk, times_i=True)
    unit = np.result_type(*[t.dtype for t in linearized.output_types]).type(1j)
    return np.where(holomorphic, np.conjugate(rows), rows + unit * other)


def refuse_real_results(linearized: Linearized, coloring: Coloring, what: str) -> None:
    """A real function of complex numbers is not holomorphic, unless it is constant."""
    arguments, results = complex_positions(linearized.input_types), complex_positions(linearized.output_types)
    if not arguments.any() or results.all():
        return
    i, j = entries_of(coloring.pattern)
    if (arguments[j] & ~results[i]).any():
        raise DtypeError(
            f"sparse.{what}: the function takes complex numbers to real ones, so that it is not holomorphic and has no "
            f"complex derivative. Use ad.grad or ad.vjp, or {IN_PARTS}."
        )


def direction(size: int) -> Any:
    """The random vector of a check: always the same."""
    return np.random.default_rng(20130917).normal(size=size)


def checking_products(linearized: Linearized) -> list[Value]:
    """[J v] for the random v, and what rounding does to it; of complex arguments also J w and J i w.

    w is the v of the complex arguments alone. Rounding: how far the J (k v) / k are from each other. Where derivatives
    cancel, as those of (√x)² - x, it is all that there is.
    """
    types = linearized.input_types
    v = direction(sum(sizes_of(types)))[None]
    several = from_right(linearized, MULTIPLES * v, len(MULTIPLES)) / MULTIPLES
    checks = [several[0], np.max(np.abs(several - several[0]), axis=0)]
    if has_complex(types):
        w = v * complex_positions(types)
        checks += [
            from_right(linearized, w, 1)[0],
            products(linearized.push, w, types, linearized.output_types, 1, times_i=True)[0],
        ]
    return checks


def compare(matrix: Any, checks: Sequence[Any], what: str) -> None:
    """Whether the sparse matrix does to a random vector what the function's derivative does."""
    v = direction(matrix.shape[1])
    product, rounding, *times_i = checks
    scale = abs(matrix) @ np.abs(v)
    if times_i and (wrong := _apart(1j * times_i[0], times_i[1], scale, rounding)).size:
        raise CheckError(
            f"sparse.{what}(holomorphic=True): the function is not holomorphic: {_rows(wrong)} of its derivative along "
            f"i v {'is' if wrong.size == 1 else 'are'} not i times that along v. Use ad.jvp or ad.vjp, or {IN_PARTS}."
        )
    if (wrong := _apart(matrix @ v, product, scale, rounding)).size:
        raise CheckError(
            f"sparse.{what}: the pattern misses an entry of {_rows(wrong)} (found by a random product). "
            "Leave out pattern= and coloring=, or find the pattern with ad.sparse.pattern."
        )


def _apart(one: Any, product: Any, scale: Any, rounding: Any) -> Any:
    """Where two products differ by more than rounding.

    That of a row may be zero by chance: the usual one counts for all. (Not the largest: one bad row would hide what is
    wrong with the others.)
    """
    scale = scale + np.abs(product)
    eps = float(np.finfo(np.asarray(product).dtype).eps)
    seen = rounding[np.isfinite(rounding) & (rounding > 0)]
    rounding = 1e3 * rounding + 100 * (np.median(seen) if seen.size else 0.0)
    allowed = 1e4 * eps * np.maximum(scale, np.abs(product).max(initial=0.0) * 1e-6) + rounding
    return np.flatnonzero(~(np.abs(one - product) <= allowed) & np.isfinite(product))


def _rows(which: Any) -> str:
    return f"row{'s' if which.size > 1 else ''} {', '.join(map(str, which[:8]))}{' …' if which.size > 8 else ''}"

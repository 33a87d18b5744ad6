"""Reverse mode: the record of a tape, read backwards (vjp), or forwards (the jvp at the recorded point).

Reading it backwards, the cotangent of a variable is complete when the variable is reached, since all its uses come
later in the record.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import cmath
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import fit, total
from adjoint.ops.elementwise.pointwise import masked_multiply, negated, over_y, pick_x, pick_y, pick_z, spread
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.transform.cotangents import Pending, accumulate, scatter, unwrite
from adjoint.transform.entries import HEAD, INPUT, PART, Entry
from adjoint.transform.tape import Tape

SMALL_RECORD = 20_000  # entries


def sweep_tape(tape: Tape, entries: list[Entry], inputs: int, seeds: dict[int, Value], *, consume: bool) -> list[Value]:
    """`sweep`, first without looking after singular partials: if the results are finite, none of them mattered."""
    if (
        tape.level == 1
        and tape.small
        and len(entries) <= SMALL_RECORD
        and not any(isinstance(s, Tracer) for s in seeds.values())
    ):
        found = sweep_small(entries, seeds)
        # pyright: ignore[reportUnknownMemberType]
        squares: list[Any] = [0.0 if ct is None else np.vdot(ct, ct) for ct in found]
        if all(map(cmath.isfinite, squares)):
            return found
    return sweep(entries, inputs, seeds, consume=consume)


def sweep_small(entries: list[Entry], seeds: dict[int, Value]) -> list[Value]:
    """`sweep` for small-array code.

    Nothing is guarded, and sums are new arrays, which costs less than keeping account.
    """
    cts: list[Any] = [None] * len(entries)
    owned: set[int] = set()
    for index, seed in seeds.items():
        cts[index] = seed
    pop = cts.pop
    with np.errstate(all="ignore"):
        for op, ix, iy, x, y, z, types in reversed(entries):
            if op is INPUT:
                break
            ct = pop()
            if ct is None:
                continue
            if type(op) is not HEAD:
                _pull_general(cts, op, ix, iy, x, z, ct, owned)
                continue
            first, second, _, op = op
            if types is not None:
                _pull_fitted(cts, op, (ix, iy), (x, y), z, types, ct, False, owned)
                continue
            if ix >= 0:
                if first is pick_y:
                    g = ct * y
                elif first is None:
                    g = ct
                elif first is negated:
                    g = -ct
                elif first is pick_z:
                    g = ct * z
                elif first is over_y:
                    g = ct / y
                else:
                    g = ct * first(x, y, z)
                old = cts[ix]
                cts[ix] = g if old is None else old + g
            if iy >= 0:
                if second is pick_x:
                    g = ct * x
                elif second is None:
                    g = ct
                elif second is negated:
                    g = -ct
                else:
                    g = ct * second(x, y, z)
                old = cts[iy]
                cts[iy] = g if old is None else old + g
    return cts


def sweep(entries: list[Entry], inputs: int, seeds: dict[int, Value], *, consume: bool) -> list[Value]:
    """Read a record backwards: cotangents of the first `inputs` variables from those of some others (None: zero).

    With `consume` the record is taken apart on the way, so that memory falls as the sweep goes back. After a select or
    a scatter, and for singular partials, a zero cotangent gives zero even where a partial is infinite or NaN.
    """
    count = len(entries)
    cts: list[Any] = [None] * count
    owned: set[int] = set()
    for index, seed in seeds.items():
        cts[index] = seed
    masked = False
    take = entries.pop if consume else None
    with np.errstate(all="ignore"):  # singular partials are infinite, and zero cotangents win over them
        for k in range(count - 1, inputs - 1, -1):
            ct = cts.pop()
            op, ix, iy, x, y, z, types = entries[k] if take is None else take()
            if ct is None:
                continue
            if type(ct) is Pending:
                ct, masked = ct.assemble(), True
            if type(op) is not HEAD:
                masked = _pull_general(cts, op, ix, iy, x, z, ct, owned) or masked
                continue
            first, second, guarded, op = op
            if types is not None:
                _pull_fitted(cts, op, (ix, iy), (x, y), z, types, ct, masked, owned)
                continue
            guarded = guarded or masked
            for position, factor in ((ix, first), (iy, second)):
                if position >= 0:
                    if factor is None:
                        g = ct
                    elif factor is negated:
                        g = -ct
                    elif guarded:
                        g = masked_multiply(ct, factor(x, y, z))
                    else:
                        g = ct * factor(x, y, z)
                    accumulate(cts, position, g, owned)
    return [ct.assemble() if type(ct) is Pending else ct for ct in cts]


def _pull_general(cts: list[Any], op: Any, ix: Any, iy: Any, x: Any, z: Value, ct: Value, owned: set[int]) -> bool:
    """Pull through a primitive that is not pointwise.

    Says whether cotangents may have structural zeros from here on.
    """
    if op is PART:
        if cts[ix] is None:
            cts[ix] = [None] * x
        cts[ix][iy] = ct
        return False
    if op.sparse:
        scatter(cts, ix[0], op, ct, x, owned)
        return True
    if op.overwrites and type(ct) is np.ndarray and not any(isinstance(i, Tracer) for i in x[2:]):
        # the cotangent that is reached has the place of the entry: one behind those that are left
        unwrite(cts, ix, op, ct if len(cts) in owned else ct.copy(), x, owned)
        return True
    if op.linear and len(ix) == 1:
        accumulate(cts, ix[0], op.pull(ct, x, z, (True,))[0], owned)
    else:
        for i, g in zip(ix, op.pull(ct, x, z, [i >= 0 for i in ix]), strict=True):
            if i >= 0 and g is not None:
                accumulate(cts, i, g, owned)
    return op.masks


def _pull_fitted(
    cts: list[Any],
    op: Any,
    positions: tuple[int, int],
    xy: tuple[Value, Value],
    z: Value,
    types: Any,
    ct: Value,
    masked: bool,
    owned: set[int],
) -> None:
    """The general pull of a pointwise primitive: arguments were broadcast or promoted, or are complex."""
    arity = op.arity
    wanted = [position >= 0 for position in positions[:arity]]
    xs = [types[i] if v is None else v for i, v in enumerate(xy[:arity])]
    for position, kind, g in zip(positions, types, op.pull(ct, xs, z, wanted, masked), strict=False):
        if position >= 0 and g is not None:
            accumulate(cts, position, fit(g, kind), owned)


def _find_needed(entries: list[Entry], inputs: int, wanted: Sequence[int]) -> list[bool]:
    """Which entries some variables depend on: others may be left from what was given up."""
    needed = [False] * len(entries)
    for position in wanted:
        if position >= 0:
            needed[position] = True
    for k in range(len(entries) - 1, inputs - 1, -1):
        if needed[k]:
            op, ix, iy, *_ = entries[k]
            for position in (ix, iy) if type(op) is HEAD else (ix,) if op is PART else ix:
                if position >= 0:
                    needed[position] = True
    return needed


def replay(entries: list[Entry], tangents: Sequence[Value], wanted: Sequence[int]) -> list[Value]:
    """Read a record forwards: the tangents of the wanted variables from those of the inputs (None: zero)."""
    ds: list[Any] = list(tangents)
    needed = _find_needed(entries, len(ds), wanted)
    with np.errstate(all="ignore"):
        for k in range(len(ds), len(entries)):
            if not needed[k]:
                ds.append(None)
                continue
            op, ix, iy, x, y, z, types = entries[k]
            if type(op) is HEAD:
                op = op[3]
                dxs = [ds[i] if i >= 0 else None for i in (ix, iy)[: op.arity]]
                if op.own_push:
                    dz = op.push([types[0] if x is None and types else x], z, dxs)
                else:
                    dz = total(*[op.term(i, dx, (x, y), z) for i, dx in enumerate(dxs) if dx is not None])
                ds.append(dz if dz is None or types is None else spread(dz, types[2]))
            elif op is PART:
                ds.append(None if ds[ix] is None else ds[ix][iy])
            else:
                dxs = [ds[i] if i >= 0 else None for i in ix]
                ds.append(None if all(dx is None for dx in dxs) else op.push(x, z, dxs))
    return ds

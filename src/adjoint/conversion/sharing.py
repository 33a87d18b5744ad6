"""Several names of one array behind a branch or a loop.

`v = y if p else z` makes v another name of y or of z, and which one is not known while a program is written. What the
program gives for v is a value of its own. There is no difference until one of them is written to: then the run is given
up, and starts over with that branch or loop as Python's own, asked and guarded or unrolled.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from adjoint.base.errors import ControlFlowError
from adjoint.base.records import record
from adjoint.base.source import describe, here
from adjoint.conversion.lifting import StartOver
from adjoint.conversion.regions import Region, Traced
from adjoint.numpy.inplace import Owners, may_share, roots
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

_kept: dict[CodeType, Exception] = {}  # blocks that stay Python's own, and the error where that is impossible
_plain: dict[int, tuple[Owners, Owners, Callable[[], BaseException]]] = {}  # plain arrays that a result may be


def stays_python(block_code: CodeType) -> bool:
    """Whether a branch or a loop was found to give an array a second name, that is written to."""
    return block_code in _kept


def keep_python(block_code: CodeType, error: Exception) -> None:
    """From now on a branch or a loop is no part of programs."""
    _kept[block_code] = error


def answer(predicate: Any, block_code: CodeType) -> bool:
    """The truth of a predicate where Python decides; where it is not known, the error says why it must be."""
    try:
        return bool(predicate)
    except ControlFlowError:
        if block_code not in _kept:
            raise
        raise _kept[block_code] from None


def is_array(value: Any) -> bool:
    """Whether a value has memory that may be shared; numbers have not."""
    return isinstance(value, Tracer | np.ndarray) and bool(value.ndim)


def declare(results: Sequence[tuple[Value, set[Hashable], Sequence[Value]]], block_code: CodeType, title: str) -> None:
    """Note which results of a branch or loop may be one array, or one of outer arrays.

    Each result comes with keys, where two results with a common one may be the same, and with outer arrays.
    """

    def refusal() -> BaseException:
        error = ControlFlowError(
            f"An array is written to, at {describe(here())}, that has two names since {title}: which array that is, is "
            "not known while the program is being traced. Take a copy there: z = z.copy()."
        )
        return StartOver(("block", block_code), error)

    for number, (result, keys, outer) in enumerate(results):
        if not isinstance(result, Tracer) or not result.shape:
            continue
        others = list({id(a): a for a in outer if is_array(a) and a is not result}.values())
        for a in others:
            if not isinstance(a, Tracer):
                _plain[id(a)] = (Owners([a]), Owners([result]), refusal)
        others += [
            other for i, (other, theirs, _) in enumerate(results)
            if i != number and other is not result and is_array(other) and not keys.isdisjoint(theirs)
        ]  # fmt: skip
        if others:
            may_share(result, others, f"another name of it since {title}", refusal)


def refuse_shared(array: Any) -> None:
    """A plain array is about to be written to: a result that may be it must not be alive."""
    for root in roots(array) if _plain else ():
        known = _plain.get(id(root))
        if known is None:
            continue
        if known[0]() is root and known[1]() is not None:
            raise known[2]()
        del _plain[id(root)]


@record(frozen=False)
class Origins:
    """What an array may be at the end of an iteration: one of its own, one from outside, or one from before."""

    keys: set[Any]  # by identity, and whether it was made in an iteration before
    outer: list[Value]
    before: list[int]  # slots whose array it may have been at the beginning

    @staticmethod
    def of(slot: Any, slots: Sequence[Any]) -> Origins:
        """What the last value of a slot of a loop may be, among all slots."""
        made = Origins(set(), [], [])
        for root in roots(slot.left) if is_array(slot.left) else ():
            entered = [i for i, s in enumerate(slots) if s.entered is not None and s.entered() is root]
            made.before += entered
            if entered:
                made.outer += [a for i in entered if is_array(slots[i].first) for a in roots(slots[i].first)]
            elif isinstance(root, Tracer) and isinstance(root._trace, Region):
                made.keys.add((id(root), False))
            else:
                made.outer.append(root)
        made.keys |= {(id(a), True) for a in made.outer}
        return made


def is_written_under_two_names(slots: Sequence[Any], arrays: Sequence[Tracer], traced: Traced) -> bool:
    """Whether an iteration writes to what two slots of a loop hold, or may hold in the next iteration, as one array.

    Each slot enters the iteration as a value of its own, so what is read of the other one would not be written to.
    `arrays` are those of outer transformations, which are written to.
    """
    region = traced.region
    written = [s for s in slots if s.variable in region.overwritten]
    if not written and not arrays:
        return False
    used = {atom for eq in region.equations for atom in eq.inputs}
    read = [s for s in slots if s.variable in used or getattr(s.left, "_var", None) is s.variable]
    outer = {id(root) for array in arrays for root in roots(array)}
    for hold in (lambda s: s.first, lambda s: s.left):
        held = [(s, {id(root) for root in roots(hold(s))} if is_array(hold(s)) else set[int]()) for s in slots]
        for s, own in held:
            others = [mine for t, mine in held if t is not s and any(t is r for r in read)]
            if any(s is w for w in written) and any(not own.isdisjoint(mine) for mine in others):
                return True
            if any(s is r for r in read) and not own.isdisjoint(outer):
                return True
    return False


@functools.cache
def _caller(count: int) -> Callable[..., Any]:
    """f(function, values) that calls function(*values) and holds none of the values meanwhile."""
    taken = ", ".join(["values.pop()"] * count)
    return eval(f"lambda function, values: function({taken})")  # a text of ours


def handed_over(function: Callable[..., Any], values: list[Any], *first: Any) -> Any:
    """function(*first, *values), where nobody but the function holds the values: the list is empty by then.

    An array that the function gives up, as in `u = 2 * u`, is free then, and what may be it may be written to.
    """
    values[:0] = first
    values.reverse()
    return _caller(len(values))(function, values)

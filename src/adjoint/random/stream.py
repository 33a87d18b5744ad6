"""The state of a generator, a key and a counter, and how draws advance it.

The state is two leaves of a tree, so it passes through transformations and loops like any array. Drawing n numbers
takes the positions counter, …, counter + n - 1 of the key's stream; n new streams take their keys from there, too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from adjoint.base.errors import ShapeError, TraceError
from adjoint.base.forking import free_in_child
from adjoint.base.source import describe, here
from adjoint.program.journal import moment, note
from adjoint.program.record import Record
from adjoint.program.trace import Tracer, live_trace
from adjoint.program.types import Value
from adjoint.random.draws import Draw, FoldedKey, FromBits, RandomBits, RandomKeys
from adjoint.random.parameters import array, float_type
from adjoint.tree.state import Stateful

S = TypeVar("S", bound="Stream")

COUNT = 2**64  # positions of a stream


class Cell:
    """A key and a counter that several generators may share."""

    __slots__ = ("born", "home", "lock", "state")

    def __init__(self, key: Value, counter: Value) -> None:
        self.state = (key, counter)
        self.lock = free_in_child(threading.RLock())
        self.home = program_trace()
        self.born = moment()

    def take(self, count: int) -> tuple[Value, Value]:
        """(key, counter), and the counter moves on."""
        with self.lock:
            key, counter = self.state
            note(self)
            self.state = (key, later(counter, count))
        return key, counter

    def furthest(self, states: list[Any]) -> Any:
        """The largest counter: what any run has used is used."""
        key, counter = states[0]
        for other, end in states[1:]:
            key, counter = other, np.maximum(counter, end)
        return key, counter


def later(counter: Value, count: int) -> Value:
    """counter + count, modulo 2⁶⁴."""
    if type(counter) is np.uint64:
        return np.uint64((int(counter) + count) % COUNT)
    return counter + np.uint64(count)


def program_trace() -> int | None:
    """The innermost trace of a program that will run again (body of a loop, branch, ad.trace); None outside of one."""
    trace = live_trace()
    while trace is not None:
        if isinstance(trace, Record) and trace.runs_again:
            return trace.serial
        trace = trace.outer
    return None


class Stream(Stateful):
    """A stream of random words. Generators add the distributions."""

    _cell: Cell

    def __init__(self, key: Value, counter: Value) -> None:
        self._cell = Cell(key, counter)

    @property
    def key(self) -> Value:
        """What the stream is a function of: two words of 32 bits. A stack of generators has one row for each."""
        return self._cell.state[0]

    @property
    def counter(self) -> Value:
        """How many positions of the stream have been used."""
        return self._cell.state[1]

    def become(self, leaves: Sequence[Any]) -> None:
        key, counter = leaves
        with self._cell.lock:
            note(self._cell)
            self._cell.state = (key, counter)

    def share(self, other: Any) -> None:
        self._cell = other._cell

    def shares(self, other: Any) -> bool:
        return isinstance(other, Stream) and self._cell is other._cell

    def renew(self) -> None:
        key, counter = self._cell.take(1)
        self.become((FoldedKey()(key, counter), np.zeros_like(counter)))

    def furthest_of(self, leaves: Sequence[Any]) -> Sequence[Any]:
        keys, counters = leaves
        return keys[0], np.max(counters, axis=0)

    @property
    def is_stacked(self) -> bool:
        return len(self.counter.shape) > 0

    def stacked(self: S, size: int) -> S:
        return self.split(size)

    def split(self: S, n: int) -> S:
        """n independent generators as one object, stacked along a first axis, for `vmap` to map over.

        Indexing and iterating give the single ones.
        """
        key, counter = self._taken("split", n)
        return type(self)(RandomKeys((n, 2))(key, counter), np.zeros(n, np.uint64))

    def spawn(self: S, n_children: int) -> list[S]:
        """A list of n independent generators. The parent moves on, and never gives the same children again."""
        key, counter = self._taken("spawn", n_children)
        keys = RandomKeys((n_children, 2))(key, counter)
        return [type(self)(keys[i], np.uint64(0)) for i in range(n_children)]

    def at(self: S, step: Any) -> S:
        """The generator that belongs to an integer: always the same, however far this one has come.

        It changes nothing, so a loop may close over the generator and call `rng.at(i)`, `i` traced or not.
        """
        step = array(step)
        if step.dtype.kind not in "iu":
            raise TypeError(f"at: a step is an integer, not {step.dtype}.")
        if self.is_stacked and not np.ndim(step):
            step = np.broadcast_to(step, np.shape(self.counter))
        key = FoldedKey()(self.key, step)
        return type(self)(key, np.zeros(key.shape[:-1], np.uint64)[()])

    def __len__(self) -> int:
        if not self.is_stacked:
            raise TypeError("a single generator has no length; rng.split(n) makes a stack of n.")
        return self.counter.shape[0]

    def __getitem__(self: S, index: Any) -> S:
        if not self.is_stacked:
            raise TypeError("a single generator cannot be indexed; rng.split(n) makes a stack of n.")
        return type(self)(self.key[index], self.counter[index])

    def __iter__(self: S) -> Iterator[S]:
        return (self[i] for i in range(len(self)))

    def _taken(self, call: str, count: int) -> tuple[Value, Value]:
        """The key and the counter from which on `count` positions now belong to the caller."""
        if count < 0:
            raise ValueError(f"{call}: cannot make {count} of them.")
        now = program_trace()
        if now is not None and self._cell.home != now:
            raise TraceError(
                f"{call}: a random generator was used at {describe(here())} inside a function that is traced once "
                "and run often (the body of a loop, a branch, ad.trace), but came from outside: every run would see "
                "the same numbers. Pass it in as an argument or as part of the carry, or take rng.at(i) for "
                "iteration i."
            )
        if self.is_stacked:
            raise ShapeError(
                f"{call}: this is a stack of {len(self)} generators, made by split. Map over it with vmap, or take one "
                "of them, rng[i]."
            )
        return self._cell.take(count)

    def _draw(self, call: str, draw: Draw, *parameters: Value) -> Value:
        """A draw of as many positions as it has elements."""
        count = 1
        for n in draw.shape:
            count *= n
        return draw(*self._taken(call, count), *parameters)

    def _words(self, call: str, shape: tuple[int, ...]) -> Value:
        return self._draw(call, RandomBits(shape))

    def _standard(self, call: str, distribution: str, shape: tuple[int, ...], dtype: Any = np.float64) -> Value:
        """Standard numbers: uniform in [0, 1) or (0, 1), or normal."""
        kind = float_type(call, dtype)
        return FromBits(distribution, kind)(self._words(call, shape))

    def __copy__(self: S) -> S:
        return type(self)(*self._cell.state)

    def __deepcopy__(self: S, memo: Any) -> S:
        return self.__copy__()

    def __reduce__(self) -> Any:
        return type(self), self._cell.state

    def __repr__(self) -> str:
        key, counter = self._cell.state
        name = type(self).__name__
        if isinstance(key, Tracer) or isinstance(counter, Tracer):
            return f"{name}(key={key!r}, counter={counter!r})"
        if np.shape(key) != (2,):
            return f"{name}(stack of {np.shape(counter)})"
        return f"{name}(key={int(key[0]):08x}{int(key[1]):08x}, counter={int(counter)})"

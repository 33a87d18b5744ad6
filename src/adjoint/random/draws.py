"""Random draws as primitives: functions of a key, a counter and parameters, so that programs record them.

A draw takes a key uint32[..., 2] and a counter uint64[...]; their leading axes, if any, are streams, and stand in front
of the shape that is drawn. Number i of a draw (in C order) is a function of the word at position counter + i, and of
further attempts at the same position. Draws have no derivative; what is differentiable is made of them by NumPy's
functions (loc + scale z).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from adjoint.base.errors import RuleError
from adjoint.base.source import describe, here
from adjoint.ops.calculus import Flat
from adjoint.ops.control.cond import Cond
from adjoint.ops.elementwise.pointwise import broadcast_shapes
from adjoint.program.op import Op, primitive
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.random.bits import FOLD, SPAWN, fold_in, random_bits, spawn, uniform_from_bits
from adjoint.random.quantile import normal_from_bits, open_uniform, write_normal
from adjoint.random.written_out import as_words, write_keys, write_uniform, write_words

Words = NDArray[np.uint64]
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)


class Draw(Flat):
    """A draw of a shape: the arguments are key, counter, and parameters that broadcast with what is drawn."""

    shape: tuple[int, ...]
    parameters: ClassVar[int] = 2  # arguments without derivative: all of them

    @abstractmethod
    def drawn_dtype(self) -> np.dtype[Any]:
        """The dtype of what is drawn."""

    def result_type(self, *types: ArrayType) -> Any:
        key, counter, *parameters = types
        streams = broadcast_shapes(self.title, [ArrayType(key.shape[:-1], key.dtype), counter])
        drawn = ArrayType((*streams, *self.shape), self.drawn_dtype())
        return ArrayType(broadcast_shapes(self.title, [drawn, *parameters]), self.drawn_dtype())

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        own = [1, 0, *[len(self.shape)] * (len(xs) - 2)]  # all other axes are streams, in front of the shape
        ranks = [np.ndim(x) - m - o for x, m, o in zip(xs, mapped, own)]
        rank = max(ranks)
        return self(
            *[
                np.reshape(x, (size,) + (1,) * (rank - r) + np.shape(x)[1:]) if m and r < rank else x
                for x, m, r in zip(xs, mapped, ranks)
            ]
        )

    def full_shape(self, key: Any, counter: Any, *parameters: Any) -> tuple[int, ...]:
        """The shape of the result."""
        streams = np.broadcast_shapes(np.shape(key)[:-1], np.shape(counter))
        return np.broadcast_shapes((*streams, *self.shape), *[np.shape(p) for p in parameters])

    def words(self, key: Any, counter: Any, attempt: int = 0) -> Words:
        """The words of an attempt: shape (*streams, *shape)."""
        bits = random_bits(key, np.asarray(counter), math.prod(self.shape), attempt)
        return bits.reshape(bits.shape[:-1] + self.shape)


@primitive
class RandomBits(Draw):
    """64-bit words, from an attempt."""

    shape: tuple[int, ...]
    attempt: int = 0

    @property
    def title(self) -> str:
        return "random_bits"

    def drawn_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.uint64)

    def evaluate(self, *xs: Value) -> Value:
        key, counter = xs
        return self.words(key, counter, self.attempt)[()]

    def expand(self, key: Value, counter: Value) -> Value:
        words = write_words(key, counter, math.prod(self.shape), self.attempt)
        return np.reshape(words, (*words.shape[:-1], *self.shape))


@primitive
class RandomKeys(Draw):
    """The keys of `count` new streams, which the counter tells from those of other counters."""

    shape: tuple[int, ...]  # (count, 2)

    @property
    def title(self) -> str:
        return "random_keys"

    def drawn_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.uint32)

    def evaluate(self, *xs: Value) -> Value:
        key, counter = xs
        return spawn(key, self.shape[0], np.asarray(counter))

    def expand(self, key: Value, counter: Value) -> Value:
        first = as_words(counter)
        streams = np.broadcast_shapes(key.shape[:-1], first.shape)
        positions = np.broadcast_to(first, streams)[..., None] + np.arange(self.shape[0], dtype=np.uint64)
        return write_keys(key, positions, SPAWN)


@primitive
class FoldedKey(Flat):
    """The key that a key and an integer determine."""

    parameters: ClassVar[int] = 2

    @property
    def title(self) -> str:
        return "folded_key"

    def evaluate(self, *xs: Value) -> Value:
        key, number = xs
        return fold_in(key, np.asarray(number))

    def expand(self, key: Value, number: Value) -> Value:
        positions = as_words(number)
        streams = np.broadcast_shapes(key.shape[:-1], positions.shape)
        return write_keys(key, np.broadcast_to(positions, streams)[..., None], FOLD)[..., 0, :]

    def result_type(self, *types: ArrayType) -> Any:
        key, number = types
        streams = broadcast_shapes(self.title, [ArrayType(key.shape[:-1], key.dtype), number])
        return ArrayType((*streams, 2), key.dtype)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        ranks = [np.ndim(xs[0]) - mapped[0] - 1, np.ndim(xs[1]) - mapped[1]]
        rank = max(ranks)
        return self(
            *[
                np.reshape(x, (size,) + (1,) * (rank - r) + np.shape(x)[1:]) if m and r < rank else x
                for x, m, r in zip(xs, mapped, ranks)
            ]
        )


@primitive
class FromBits(Flat):
    """Standard numbers from words, one from each: uniform in [0, 1), uniform in (0, 1), or normal."""

    distribution: str
    dtype: np.dtype[Any]
    parameters: ClassVar[int] = 1

    @property
    def title(self) -> str:
        return f"{self.distribution}_from_bits"

    def evaluate(self, *xs: Value) -> Value:
        make = {"uniform": uniform_from_bits, "open_uniform": open_uniform, "normal": normal_from_bits}
        return make[self.distribution](np.asarray(xs[0]), self.dtype)[()]

    def expand(self, words: Value) -> Value:
        if self.distribution == "normal":
            return write_normal(write_uniform(words, np.dtype(np.float64), inside=True)).astype(self.dtype)
        return write_uniform(words, self.dtype, self.distribution == "open_uniform")

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape, self.dtype)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(xs[0])


@primitive
class RandomIntegers(Draw):
    """low + ⌊w (reach + 1)⌋ with w the word as a number in [0, 1): of 64 bits, or of 128 when reach ≥ 2³².

    A word of 64 bits favors some integers by a factor 1 ± (reach + 1) 2⁻⁶⁴: by less than 2⁻³² where it is used alone.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    parameters: ClassVar[int] = 4

    @property
    def title(self) -> str:
        return "random_integers"

    def drawn_dtype(self) -> np.dtype[Any]:
        return self.dtype

    def evaluate(self, *xs: Value) -> Value:
        key, counter, low, reach = xs
        shape = self.full_shape(*xs)
        words, low, reach = (np.array(np.broadcast_to(x, shape)) for x in (self.words(key, counter), low, reach))
        with np.errstate(over="ignore"):  # modulo 2⁶⁴, also for single numbers
            offset = high_product(words, reach)
            if np.any(reach > LOW):
                wide = wide_product(words, np.broadcast_to(self.words(key, counter, 1), shape), reach)
                offset = np.where(reach > LOW, wide, offset)
            return (low + offset).astype(np.int64).astype(self.dtype)[()]

    def expand(self, key: Value, counter: Value, low: Value, reach: Value) -> Value:
        shape = self.full_shape(key, counter, low, reach)
        low, reach = np.broadcast_to(low, shape), np.broadcast_to(reach, shape)
        kinds = [type_of(x) for x in (key, counter, reach)]
        programs = [record_program(f, kinds)[0] for f in (self._narrow, self._wide)]
        is_wide = np.any(np.greater(reach, LOW)).astype(np.int64)
        (offset,) = Cond(tuple(programs))(is_wide, key, counter, reach)
        return (low + offset).astype(np.int64).astype(self.dtype)

    def _narrow(self, key: Value, counter: Value, reach: Value) -> list[Value]:
        return [high_product(np.broadcast_to(RandomBits(self.shape)(key, counter), reach.shape), reach)]

    def _wide(self, key: Value, counter: Value, reach: Value) -> list[Value]:
        words, more = (np.broadcast_to(RandomBits(self.shape, k)(key, counter), reach.shape) for k in (0, 1))
        return [np.where(np.greater(reach, LOW), wide_product(words, more, reach), high_product(words, reach))]


def high_product(words: Words, reach: Words) -> Words:
    """⌊w (reach + 1) 2⁻⁶⁴⌋ for reach < 2³²."""
    factor = reach + np.uint64(1)
    return ((words >> HALF) * factor + (((words & LOW) * factor) >> HALF)) >> HALF


def wide_product(words: Words, more: Words, reach: Words) -> Words:
    """⌊(2⁶⁴ w + w′) (reach + 1) 2⁻¹²⁸⌋ for any reach; (reach + 1) w = reach w + w."""
    high, low = full_product(words, reach)
    low_sum = low + words
    high = high + (low_sum < low)
    # what the second word carries into the low half: ⌊w′ (reach + 1) 2⁻⁶⁴⌋
    carried, rest = full_product(more, reach)
    carried = carried + ((rest + more) < rest)
    return high + ((low_sum + carried) < low_sum)


def full_product(x: Words, y: Words) -> tuple[Words, Words]:
    """The high and low 64 bits of x y."""
    x1, x0, y1, y0 = x >> HALF, x & LOW, y >> HALF, y & LOW
    middle = x1 * y0 + ((x0 * y0) >> HALF)
    other = (middle & LOW) + x0 * y1
    return x1 * y1 + (middle >> HALF) + (other >> HALF), x * y


@primitive
class Undifferentiable(Op):
    """The identity; an error as soon as it is differentiated: what is drawn with it does not tell its derivative."""

    call: str
    argument: str
    reason: str

    @property
    def title(self) -> str:
        return "undifferentiable"

    def refuse(self) -> NoReturn:
        raise RuleError(
            f"{self.call}: {self.argument} is differentiated, at {describe(here())}, but {self.reason} "
            f"Write ad.stop_gradient({self.argument}) if the numbers drawn are meant to be constants."
        )

    def evaluate(self, *xs: Value) -> Value:
        return xs[0]

    def result_type(self, *types: ArrayType) -> Any:
        return types[0]

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        self.refuse()

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        self.refuse()

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        self.refuse()

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        if any(xs[0].get(j) is not None for j in range(1, k + 1)):
            self.refuse()
        return None

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(xs[0])


def is_float(x: Value) -> bool:
    """Whether a value may have a derivative."""
    return type_of(x).dtype.kind in "fc"

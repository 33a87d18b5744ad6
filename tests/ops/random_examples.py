"""Examples of the primitives that draw random numbers. Keys and counters are integers, streams stand in front."""

from collections.abc import Iterator

import numpy as np

from adjoint.ops.philox import RandomBlocks
from adjoint.random.bits import seed_key, spawn
from adjoint.random.draws import FoldedKey, FromBits, RandomBits, RandomIntegers, RandomKeys
from adjoint.random.ordering import RandomSubset
from adjoint.random.rejection import RandomBinomial, RandomGamma, RandomPoisson
from tests.ops.samples import FLOAT, SINGLE, Example

LONG, TINY = np.dtype(np.int64), np.dtype(np.int8)


def random_examples() -> Iterator[Example]:
    key, counter = seed_key(1), np.uint64(5)
    keys, counters = spawn(key, 2), np.array([0, 7], np.uint64)
    low, reach = np.uint64(3), np.uint64(9)
    for streams in ((key, counter), (keys, counters), (keys, counter), (key, counters)):
        yield Example(RandomKeys((2, 2)), streams)
        yield Example(FoldedKey(), streams)
        for shape in ((), (3,), (2, 0), (2, 3)):
            yield Example(RandomBits(shape), streams)
            yield Example(RandomIntegers(shape, LONG), (*streams, low, reach))
            yield Example(RandomGamma(shape, FLOAT), (*streams, np.float64(1.3)))
            yield Example(RandomPoisson(shape), (*streams, np.float64(12.5)))
            yield Example(RandomBinomial(shape), (*streams, np.int64(40), np.float64(0.6)))
        yield Example(RandomBits((3,), 4), streams)
        yield Example(RandomSubset((3,), 1000), streams)
    for blocks in (0, 1, 3):
        yield Example(RandomBlocks(blocks), (key, counter))
        yield Example(RandomBlocks(blocks, 2), (keys, counters))
    # parameters of their own for each element, for each stream
    wide = np.array([[1, 2**40, 2**64 - 1], [0, 5, 2**33]], np.uint64)
    yield Example(RandomIntegers((2, 3), LONG), (key, counter, np.zeros((), np.uint64), wide))
    yield Example(RandomIntegers((3,), TINY), (keys, counters, low, np.array([1, 2, 3], np.uint64)))
    shapes = np.array([0.2, 1.0, 30.0])
    yield Example(RandomGamma((2, 3), SINGLE), (key, counter, shapes))
    yield Example(RandomGamma((3,), FLOAT, True), (keys, counters, shapes))
    yield Example(RandomPoisson((2, 3)), (key, counter, np.array([0.0, 2.0, 1e6])))
    yield Example(RandomBinomial((2, 2)), (keys, counters, np.array([[3], [1000]]), np.array([0.1, 0.9])))
    words = RandomBits((2, 3))(key, counter)
    for distribution in ("uniform", "open_uniform", "normal"):
        for dtype in (FLOAT, SINGLE):
            yield Example(FromBits(distribution, dtype), (words,))
            yield Example(FromBits(distribution, dtype), (words[0, 0],))

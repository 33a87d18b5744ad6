"""Blocks of random words: the answers that the authors of Philox publish, and the stream of `adjoint.random`."""

import numpy as np

from adjoint.ops.philox import RandomBlocks
from adjoint.random.bits import random_bits

ZERO = np.zeros(2, np.uint32)
PUBLISHED = [0xE169C58D6627E8D5, 0x9B00DBD8BC57AC4C]  # key 0, counter 0


def test_published_words() -> None:
    np.testing.assert_array_equal(RandomBlocks(1).evaluate(ZERO, np.uint64(0)), [PUBLISHED])


def test_the_stream() -> None:
    key = np.array([7, 2**31], np.uint32)
    for first, attempt in ((0, 0), (2**40, 3), (2**63 - 1, 0)):
        words = RandomBlocks(3, attempt).evaluate(key, np.uint64(first))
        np.testing.assert_array_equal(words.ravel(), random_bits(key, np.uint64(2 * first % 2**64), 6, attempt))

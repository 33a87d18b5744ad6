"""Random words in compiled programs: those of NumPy's integers, for any number of blocks and streams."""

import numpy as np
import pytest

from adjoint.ops.philox import RandomBlocks
from tests.compile.test_ufuncs import compiled_without_callbacks
from tests.ops.test_philox import PUBLISHED, ZERO

R = np.random.default_rng(0)


def test_published_words() -> None:
    got = compiled_without_callbacks(lambda k, n: RandomBlocks(9)(k, n), ZERO, np.uint64(0))
    np.testing.assert_array_equal(got[0], PUBLISHED)


@pytest.mark.parametrize("blocks", [0, 1, 3, 8, 31, 200])
def test_blocks_and_streams(blocks: int) -> None:
    keys = R.integers(0, 2**32, (3, 2, 2), dtype=np.uint32)
    firsts = np.array([[0, 1], [2**32 - 1, 2**40], [2**63 - 2, 2**64 - 3]], np.uint64)
    op = RandomBlocks(blocks, attempt=5)
    got = compiled_without_callbacks(lambda k, n: op(k, n), keys, firsts)
    np.testing.assert_array_equal(got, op.evaluate(keys, firsts))

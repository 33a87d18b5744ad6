"""Draws in compiled programs: the same words and the same numbers, to the last bit."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.random.bits import fold_in, random_bits, spawn
from adjoint.random.draws import FoldedKey, FromBits, RandomBits, RandomIntegers, RandomKeys

KEY = np.array([0xDEADBEEF, 12345], np.uint32)
COUNTERS = [np.uint64(n) for n in (0, 1, 2**32 - 1, 2**63 - 3, 2**64 - 5)]


def compiled(f: Any, *args: Any) -> Any:
    fast = ad.jit(f)
    result = fast(*args)
    assert fast.report().specializations[0].callbacks == []
    return result


@pytest.mark.parametrize("counter", COUNTERS, ids=str)
def test_words_and_keys(counter: Any) -> None:
    for count, attempt in ((1, 0), (2, 1), (7, 0), (64, 0)):
        got = compiled(lambda k, c, n=count, a=attempt: RandomBits((n,), a)(k, c), KEY, counter)
        np.testing.assert_array_equal(got, random_bits(KEY, np.asarray(counter), count, attempt))
    np.testing.assert_array_equal(
        compiled(lambda k, c: RandomKeys((3, 2))(k, c), KEY, counter), spawn(KEY, 3, np.asarray(counter))
    )
    np.testing.assert_array_equal(
        compiled(lambda k, c: FoldedKey()(k, c), KEY, counter), fold_in(KEY, np.asarray(counter))
    )


def test_streams_of_their_own() -> None:
    keys = np.random.default_rng(0).integers(0, 2**32, (3, 2), dtype=np.uint32)
    counters = np.array([0, 5, 2**40], np.uint64)
    got = compiled(lambda k, c: RandomBits((4, 3))(k, c), keys, counters)
    np.testing.assert_array_equal(got, random_bits(keys, counters, 12).reshape(3, 4, 3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("distribution", ["uniform", "open_uniform", "normal"])
def test_numbers(distribution: str, dtype: Any) -> None:
    op = FromBits(distribution, np.dtype(dtype))
    words = random_bits(KEY, 3, 20_000)
    words[:4] = 0, 2**64 - 1, 1, 2**63
    got = compiled(lambda w: op(w), words)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, op.evaluate(words))


@pytest.mark.parametrize("reach", [0, 9, 2**32 - 1, 2**32, 2**64 - 1])
def test_integers(reach: int) -> None:
    op = RandomIntegers((500,), np.dtype(np.int64))
    low = np.uint64(2**64 - 3)
    args = (KEY, np.uint64(8), low, np.uint64(reach))
    np.testing.assert_array_equal(compiled(lambda *xs: op(*xs), *args), op.evaluate(*args))


def test_generators() -> None:
    draw = lambda rng: (rng.random(5), rng.normal(size=(2, 3)), rng.integers(0, 10, 4), rng.uniform(1.0, 2.0))
    for got, want in zip(compiled(draw, ad.random.default_rng(7)), draw(ad.random.default_rng(7)), strict=True):
        np.testing.assert_array_equal(got, want)

"""Draws as primitives: integers against exact arithmetic, streams against single ones, refused derivatives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import adjoint as ad
from adjoint.base.errors import RuleError
from adjoint.random.bits import random_bits, seed_key, spawn
from adjoint.random.draws import (
    FoldedKey,
    RandomBits,
    RandomIntegers,
    RandomKeys,
    Undifferentiable,
    full_product,
    high_product,
    wide_product,
)

words = st.integers(0, 2**64 - 1)


def uint64(number):
    return np.array([number], np.uint64)


@given(words, words)
def test_products_of_words(x, y):
    high, low = full_product(uint64(x), uint64(y))
    assert (int(high[0]) << 64) + int(low[0]) == x * y


@given(words, words, words)
def test_integers_are_the_floor_of_an_exact_product(word, more, reach):
    narrow = reach >> 32
    assert int(high_product(uint64(word), uint64(narrow))[0]) == word * (narrow + 1) >> 64
    expected = ((word << 64) + more) * (reach + 1) >> 128
    assert int(wide_product(uint64(word), uint64(more), uint64(reach))[0]) == expected


def test_wide_integers_read_two_words():
    key = seed_key(2)
    first, second = random_bits(key, 9, 3), random_bits(key, 9, 3, attempt=1)
    reach = 2**40
    drawn = RandomIntegers((3,), np.dtype(np.int64))(key, np.uint64(9), np.uint64(7), np.uint64(reach))
    expected = [7 + (((int(a) << 64) + int(b)) * (reach + 1) >> 128) for a, b in zip(first, second, strict=True)]
    assert drawn.tolist() == expected


def test_attempts_are_streams_of_their_own():
    key = seed_key(4)
    found = [random_bits(key, 0, 40, attempt=a) for a in range(4)]
    assert len({int(w) for words in found for w in words}) == 160
    for attempt, many in enumerate(found):
        assert_array_equal(random_bits(key, 3, 1, attempt=attempt), many[3:4])
        assert_array_equal(RandomBits((2, 20), attempt)(key, np.uint64(0)), many.reshape(2, 20))


def test_streams_stand_in_front_and_draw_what_each_draws_alone():
    keys, counters = spawn(seed_key(5), 3), np.array([0, 3, 8], np.uint64)
    together = RandomBits((2, 2))(keys, counters)
    assert together.shape == (3, 2, 2)
    for lane in range(3):
        assert_array_equal(together[lane], RandomBits((2, 2))(keys[lane], counters[lane]))
    assert RandomKeys((4, 2))(keys, counters).shape == (3, 4, 2)
    assert FoldedKey()(keys, np.int64(3)).shape == (3, 2)


def test_what_cannot_be_differentiated_says_so():
    kept = Undifferentiable("somewhere", "p", "there is no rule.")
    x = np.array([1.0, 2.0])
    assert kept(x) is x
    assert_array_equal(ad.vmap(kept)(x), x)
    calls = (
        lambda: ad.grad(lambda p: kept(p) * 0.0)(1.0),
        lambda: ad.jvp(kept, (1.0,), (1.0,)),
        lambda: ad.jet(kept, (1.0,), ([1.0, 0.0],)),
        lambda: ad.vmap(ad.grad(kept))(x),
        lambda: ad.grad(lambda p: ad.scan(lambda c, _: (c + kept(p), None), 0.0, length=2)[0])(1.0),
        lambda: ad.grad(lambda p: ad.cond(p > 0, kept, lambda q: q, p))(1.0),
    )
    for call in calls:
        with pytest.raises(RuleError, match=r"somewhere: p is differentiated.*no rule.*ad.stop_gradient\(p\)"):
            call()
    assert ad.grad(lambda p: p * kept(ad.stop_gradient(p)))(3.0) == 3.0
    assert ad.jet(lambda p: p * kept(ad.stop_gradient(p)), (3.0,), ([1.0],))[1] == [3.0]
    assert ad.jvp(lambda p: p * kept(ad.stop_gradient(p)), (3.0,), (1.0,))[1] == 3.0

"""The bit generator against its published vectors, against plain integers, and against chance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import stats

from adjoint.random.bits import (
    WORD,
    block,
    blocks_at,
    fold_in,
    philox,
    random_bits,
    seed_key,
    spawn,
    uniform_from_bits,
)

# Published with Random123: counter, key, result.
KNOWN_ANSWERS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((WORD,) * 4, (WORD,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
words32 = st.integers(0, WORD)


def uint32(*numbers):
    return np.array(numbers, np.uint32)


@pytest.mark.parametrize("counter, key, answer", KNOWN_ANSWERS)
def test_published_vectors(counter, key, answer):
    assert_array_equal(philox(uint32(*key), uint32(*counter)), uint32(*answer))
    assert block(key, counter) == answer


def test_published_vectors_as_one_batch():
    counters, keys, answers = (uint32(*column) for column in zip(*KNOWN_ANSWERS, strict=True))
    result = philox(keys, counters)
    assert result.dtype == np.uint32
    assert_array_equal(result, answers)


@settings(max_examples=50, deadline=None)
@given(st.tuples(words32, words32), st.tuples(words32, words32, words32, words32))
def test_arrays_and_plain_integers_agree(key, counter):
    assert tuple(philox(uint32(*key), uint32(*counter)).tolist()) == block(key, counter)


def test_keys_and_counters_broadcast():
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**32, (3, 1, 2), np.uint32)
    counters = rng.integers(0, 2**32, (4, 4), np.uint32)
    result = philox(keys, counters)
    assert result.shape == (3, 4, 4)
    for i in range(3):
        for j in range(4):
            assert_array_equal(result[i, j], philox(keys[i, 0], counters[j]))


def test_words_are_the_halves_of_the_blocks():
    key = seed_key(5)
    expected = []
    for number in range(3):
        c = block((int(key[0]), int(key[1])), (number, 0, 0, 0))
        expected += [c[0] + 2**32 * c[1], c[2] + 2**32 * c[3]]
    assert random_bits(key, 0, 6).tolist() == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 300), st.integers(0, 300))
def test_any_piece_of_the_stream_is_a_slice_of_it(offset, count):
    key = seed_key(11)
    whole = random_bits(key, 0, 600)
    piece = random_bits(key, offset, count)
    assert piece.dtype == np.uint64
    assert piece.shape == (count,)
    assert_array_equal(piece, whole[offset : offset + count])


def test_pieces_across_chunks_agree():
    key = seed_key(12)
    whole = random_bits(key, 0, 100_001)
    assert_array_equal(random_bits(key, 65_533, 11), whole[65_533:65_544])
    assert_array_equal(random_bits(key, 3, 70_000), whole[3:70_003])


def test_the_position_uses_all_its_bits_and_wraps():
    key = seed_key(13)
    beginning = random_bits(key, 0, 2)
    for count in (4, 400):  # plain integers, arrays
        end = random_bits(key, 2**64 - 2, count)
        assert_array_equal(end[2:4], beginning)
        assert not np.isin(end[:2], beginning).any()
    far = [int(random_bits(key, 1 << n, 1)[0]) for n in range(64)]
    assert len(set(far)) == 64


def test_batches_of_keys_and_offsets_draw_what_each_draws_alone():
    keys = spawn(seed_key(14), 6).reshape(2, 3, 2)
    offsets = np.array([[0, 1, 2], [3, 8, 9]])
    batch = random_bits(keys, offsets, 70)
    assert batch.shape == (2, 3, 70)
    for i in range(2):
        for j in range(3):
            assert_array_equal(batch[i, j], random_bits(keys[i, j], int(offsets[i, j]), 70))
    assert_array_equal(random_bits(keys[0, 0], np.array([0, 5]), 3)[1], random_bits(keys[0, 0], 5, 3))
    assert random_bits(keys, 0, 0).shape == (2, 3, 0)
    assert random_bits(keys[:0], 0, 4).shape == (0, 3, 4)


def test_results_are_new_and_arguments_unchanged():
    key = seed_key(15)
    before = key.copy()
    one, two = random_bits(key, 0, 4), random_bits(key, 0, 4)
    one[:] = 0
    assert two.any()
    assert not np.shares_memory(one, two)
    fold_in(key, 1), spawn(key, 3), random_bits(key, 0, 100)
    assert_array_equal(key, before)


def test_uniforms_are_exact_multiples_in_the_half_open_interval():
    extremes = np.array([0, 2**64 - 1, 2**63, 2**11 - 1, 2**40 - 1, 2**53 - 1], np.uint64)
    for dtype, precision in ((np.float64, 53), (np.float32, 24), (np.float16, 11)):
        uniform = uniform_from_bits(extremes, dtype)
        assert uniform.dtype == dtype
        expected = [(int(w) >> (64 - precision)) / 2**precision for w in extremes]
        assert uniform.tolist() == expected
        assert uniform[:3].tolist() == [0.0, 1.0 - 2.0**-precision, 0.5]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_uniforms_look_uniform(dtype):
    uniform = uniform_from_bits(random_bits(seed_key(16), 0, 200_000), dtype).astype(np.float64)
    assert stats.kstest(uniform, "uniform").pvalue > 1e-4
    pairs = np.histogram2d(uniform[0::2], uniform[1::2], bins=16)[0]
    assert stats.chisquare(pairs.ravel()).pvalue > 1e-4
    lags = [abs(np.corrcoef(uniform[:-lag], uniform[lag:])[0, 1]) for lag in (1, 2, 3, 4, 8)]
    assert max(lags) < 5 / np.sqrt(len(uniform))


def test_every_bit_is_fair_and_independent_of_the_others():
    words = random_bits(seed_key(17), 0, 40_000)
    bits = ((words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).astype(float)
    assert np.max(np.abs(bits.mean(0) - 0.5)) < 5 * 0.5 / np.sqrt(len(words))
    correlation = np.corrcoef(bits.T) - np.eye(64)
    assert np.max(np.abs(correlation)) < 6 / np.sqrt(len(words))


def changed_bits(a, b):
    return np.bitwise_count(np.asarray(a) ^ np.asarray(b)).sum(-1)


def test_one_bit_of_key_position_or_number_changes_half_of_the_output():
    key = seed_key(18)
    flips = np.array([[1 << n, 0] for n in range(32)] + [[0, 1 << n] for n in range(32)], np.uint32)
    positions = np.uint64(1) << np.arange(1, 64, dtype=np.uint64)
    base = random_bits(key, 0, 200)
    by_key = changed_bits(random_bits(key ^ flips, 0, 200), base) / 12_800
    by_position = changed_bits(random_bits(key, positions, 200), base) / 12_800
    assert np.all(np.abs(by_key - 0.5) < 0.03)
    assert np.all(np.abs(by_position - 0.5) < 0.03)
    by_number = changed_bits(fold_in(key, positions), fold_in(key, 0)) / 64
    assert abs(by_number.mean() - 0.5) < 0.04
    assert by_number.min() > 0.2


def test_neighboring_keys_give_unrelated_streams():
    keys = np.stack([seed_key(seed) for seed in range(64)])
    streams = uniform_from_bits(random_bits(keys, 0, 4000))
    correlation = np.corrcoef(streams) - np.eye(64)
    assert np.max(np.abs(correlation)) < 6 / np.sqrt(4000)
    assert stats.kstest(streams.T.ravel()[:50_000], "uniform").pvalue > 1e-4


def test_folded_and_spawned_keys_do_not_meet_each_other_or_the_stream():
    key = seed_key(19)
    children, folded = spawn(key, 500), fold_in(key, np.arange(500))
    stream = random_bits(key, 0, 1000).view(np.uint32).reshape(-1, 2)
    everything = {tuple(row) for array in (children, folded, stream) for row in array.tolist()}
    assert len(everything) == 2000


def test_spawning_twice_goes_on_where_the_first_ended():
    keys = spawn(seed_key(20), 2)
    whole = spawn(keys, 7)
    assert whole.shape == (2, 7, 2)
    assert whole.dtype == np.uint32
    assert_array_equal(np.concatenate([spawn(keys, 3), spawn(keys, 4, start=3)], axis=1), whole)
    assert_array_equal(spawn(keys, 2, start=np.array([1, 5]))[1], whole[1, 5:7])
    assert_array_equal(spawn(keys[0], 7), whole[0])


def test_folding_batches_agrees_with_folding_one_by_one():
    keys = spawn(seed_key(21), 3)
    numbers = np.array([0, 7, -1])
    batch = fold_in(keys, numbers)
    assert_array_equal(batch, np.stack([fold_in(k, int(n)) for k, n in zip(keys, numbers, strict=True)]))
    assert_array_equal(fold_in(keys[0], -1), fold_in(keys[0], 2**64 - 1))
    assert fold_in(keys, np.arange(5)[:, None]).shape == (5, 3, 2)
    assert_array_equal(blocks_at(keys, np.uint64(3) * np.ones((), np.uint64)), random_bits(keys, 6, 2))


def test_seeds_of_every_form_give_different_keys():
    integers = [0, 1, -1, -2, 2**32, 2**64, 1 + 2 * 2**32, 2**200, -(2**200)]
    sequences = [[], [0, 0], [1], [1, 2], [2, 1], [1, -2], [-1, 2], (1, 2, 3)]
    seeds = integers + sequences
    keys = {tuple(seed_key(seed).tolist()) for seed in seeds}
    assert len(keys) == len(seeds)
    assert_array_equal(seed_key(7), seed_key(np.int64(7)))
    assert_array_equal(seed_key([7, 8]), seed_key(np.array([7, 8])))
    assert len({tuple(seed_key(seed).tolist()) for seed in range(20_000)}) == 20_000
    assert not np.array_equal(seed_key(None), seed_key(None))


@pytest.mark.parametrize("seed", [1.5, "seed", [1, 2.0], b"x"])
def test_a_seed_that_is_no_integer_is_refused(seed):
    with pytest.raises(TypeError, match="seed is an integer"):
        seed_key(seed)


def test_bad_arguments_name_what_they_got():
    key = seed_key(0)
    with pytest.raises(TypeError, match=r"key is uint32\[\.\.\., 2\], not int64\[2\]"):
        random_bits(np.array([1, 2]), 0, 1)
    with pytest.raises(TypeError, match=r"counter is uint32\[\.\.\., 4\]"):
        philox(key, key)
    with pytest.raises(ValueError, match="cannot draw -1"):
        random_bits(key, 0, -1)
    with pytest.raises(OverflowError, match="64 bits"):
        fold_in(key, 2**64)
    with pytest.raises(TypeError, match="needs integers"):
        fold_in(key, np.array(0.5))
    with pytest.raises(TypeError, match="int64"):
        uniform_from_bits(np.array([1, 2]))
    with pytest.raises(TypeError, match="ask for float64"):
        uniform_from_bits(random_bits(key, 0, 1), np.longdouble)

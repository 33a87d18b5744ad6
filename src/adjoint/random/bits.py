"""Random bits as a pure function of a key and a position: the counter-based generator Philox4x32-10.

A key is an array of uint32 of shape (..., 2), a counter one of shape (..., 4); any leading axes broadcast, so a batch
of keys is an array like any other. A block is ten rounds on the counter (c₀, c₁, c₂, c₃) under the key (k₀, k₁),

    (h₀, l₀) = M₀ c₀,  (h₁, l₁) = M₁ c₂        high and low words of the 64-bit products
    c ← (h₁ ^ c₁ ^ k₀,  l₁,  h₀ ^ c₃ ^ k₁,  l₀)
    k ← (k₀ + W₀,  k₁ + W₁)                     modulo 2³²

and gives four words. (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011.) Nothing here
depends on the order of evaluation, on the machine's byte order or on its word size.

The counter is (low, high, attempt, purpose): a 64-bit position, how often this position has been asked before, and what
the block is for. Bits, folded keys and spawned keys of one key have different purposes, so they never meet. A draw that
may need more than one word (a rejected proposal, the low half of a wide integer) reads the next attempt at its own
position: so every number takes one position, and how many attempts it needed moves nobody else's.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adjoint.ops.philox import INCREMENTS, MULTIPLIERS, ROUNDS, WORD, rounds

Key: TypeAlias = NDArray[np.uint32]

BITS, FOLD, SPAWN = 0, 1, 2  # the purposes
CHUNK: Final = 16384  # blocks computed at once, so that the state stays in cache
FEW: Final = 16  # up to so many blocks plain integers are faster than arrays


def philox(key: NDArray[np.uint32], counter: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Philox4x32-10: the four words (..., 4) for the counters (..., 4) under the keys (..., 2)."""
    keys = checked_key(key).astype(np.uint64)
    words = np.asarray(counter)
    if words.dtype != np.uint32 or words.shape[-1:] != (4,):
        raise TypeError(f"philox: a counter is uint32[..., 4], not {words.dtype}{list(words.shape)}.")
    words = words.astype(np.uint64)
    shape = np.broadcast_shapes(keys.shape[:-1], words.shape[:-1])
    key_halves = np.moveaxis(np.broadcast_to(keys, (*shape, 2)), -1, 0)
    counters = np.moveaxis(np.broadcast_to(words, (*shape, 4)), -1, 0)
    even, odd = rounds(key_halves, counters[0::2].copy(), counters[1::2].copy())
    return np.stack([even[0], odd[0], even[1], odd[1]], axis=-1).astype(np.uint32)


def block(key: tuple[int, int], counter: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """One block in plain integers: the same words as `philox`, sooner for a single one."""
    (k0, k1), (c0, c1, c2, c3) = key, counter
    m0, m1 = MULTIPLIERS
    w0, w1 = INCREMENTS
    for _ in range(ROUNDS):
        p0, p1 = m0 * c0, m1 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & WORD, (p0 >> 32) ^ c3 ^ k1, p0 & WORD
        k0, k1 = (k0 + w0) & WORD, (k1 + w1) & WORD
    return c0, c1, c2, c3


def random_bits(key: Key, offset: int | NDArray[np.integer[Any]], count: int, attempt: int = 0) -> NDArray[np.uint64]:
    """The 64-bit words number offset, offset + 1, …, offset + count - 1 of the stream of a key: shape (..., count).

    Word j is half j mod 2 of block j div 2, low word first. Keys (..., 2) and offsets (...) broadcast. The stream has
    2⁶⁴ words, and then begins again.
    """
    keys = checked_key(key)
    if count < 0:
        raise ValueError(f"random_bits: cannot draw {count} words; count is 0 or more.")
    starts = checked_position(offset, "offset")
    shape = np.broadcast_shapes(keys.shape[:-1], starts.shape)
    blocks = count // 2 + 1
    if shape == () and blocks <= FEW:
        return few_words(keys, int(starts), count, attempt)
    flat_keys = np.broadcast_to(keys, (*shape, 2)).reshape(-1, 2)
    flat_starts = np.broadcast_to(starts, shape).reshape(-1)
    first, parity = flat_starts >> np.uint64(1), flat_starts & np.uint64(1)
    words = np.empty((len(flat_keys), blocks, 2), np.uint64)
    width = max(1, CHUNK // max(1, len(flat_keys)))
    for begin in range(0, blocks, width):
        positions = first[:, None] + np.arange(begin, min(begin + width, blocks), dtype=np.uint64)
        block = blocks_at(flat_keys[:, None, :], positions & np.uint64(2**63 - 1), attempt=attempt)
        words[:, begin : begin + width] = block
    stream = words.reshape(len(flat_keys), 2 * blocks)
    if not parity.any():
        stream = stream[:, :count]
    elif parity.all():
        stream = stream[:, 1 : count + 1]
    else:
        stream = np.where(parity[:, None] == 1, stream[:, 1 : count + 1], stream[:, :count])
    return np.ascontiguousarray(stream).reshape(*shape, count)


def words_at(keys: Key, positions: NDArray[np.uint64], attempt: int = 0) -> NDArray[np.uint64]:
    """The 64-bit words at a vector of positions in no order; one key (1, 2) for all, or one for each (n, 2)."""
    words = np.empty(positions.shape, np.uint64)
    for start in range(0, len(positions), CHUNK):
        piece = slice(start, start + CHUNK)
        pairs = blocks_at(keys if len(keys) == 1 else keys[piece], positions[piece] >> np.uint64(1), attempt=attempt)
        words[piece] = np.where(positions[piece] & np.uint64(1), pairs[..., 1], pairs[..., 0])
    return words


def blocks_at(keys: Key, positions: NDArray[np.uint64], purpose: int = BITS, attempt: int = 0) -> NDArray[np.uint64]:
    """The blocks at 64-bit positions (...) as pairs of 64-bit words (..., 2)."""
    shape = np.broadcast_shapes(keys.shape[:-1], positions.shape)
    even, odd = np.empty((2, *shape), np.uint64), np.empty((2, *shape), np.uint64)
    even[0], even[1] = positions & np.uint64(WORD), np.uint64(attempt)
    odd[0], odd[1] = positions >> np.uint64(32), np.uint64(purpose)
    halves = np.moveaxis(keys, -1, 0).astype(np.uint64)
    low, high = rounds(halves.reshape(2, *(1,) * (len(shape) - halves.ndim + 1), *halves.shape[1:]), even, odd)
    return np.moveaxis(low | (high << np.uint64(32)), 0, -1)


def few_words(key: Key, start: int, count: int, attempt: int = 0) -> NDArray[np.uint64]:
    """`random_bits` for one key and a few words."""
    words: list[int] = []
    for number in range(start // 2, (start + count + 1) // 2):
        c = block_at(key, number & (2**63 - 1), BITS, attempt)
        words += (c[0] | c[1] << 32, c[2] | c[3] << 32)
    skipped = start % 2
    return np.array(words[skipped : skipped + count], np.uint64)


def block_at(key: Key, position: int, purpose: int, attempt: int = 0) -> tuple[int, int, int, int]:
    """One block of one key in plain integers."""
    return block((int(key[0]), int(key[1])), (position & WORD, position >> 32, attempt, purpose))


def uniform_from_bits(bits: NDArray[np.uint64], dtype: Any = np.float64) -> NDArray[Any]:
    """Uniform floats in [0, 1): the leading p bits of each 64-bit word times 2⁻ᵖ, exact; p = 53, 24 or 11."""
    floats = np.dtype(dtype)
    precision = {"float64": 53, "float32": 24, "float16": 11}.get(floats.name)
    if precision is None:
        raise TypeError(f"uniform_from_bits: no uniform numbers of type {floats}; ask for float64, float32 or float16.")
    words = np.asarray(bits)
    if words.dtype != np.uint64:
        raise TypeError(f"uniform_from_bits: bits are uint64 words, not {words.dtype}; take them from random_bits.")
    integers = (words >> np.uint64(64 - precision)).astype(floats)
    return np.asarray(integers * floats.type(2.0**-precision))


def seed_key(seed: int | Sequence[int] | None = None) -> Key:
    """A key from any integer, or any sequence of integers, well mixed; from the operating system's entropy for None."""
    if seed is None:
        return np.random.SeedSequence().generate_state(2).astype(np.uint32)
    if isinstance(seed, (int, np.integer)):
        entropy = [int(seed < 0), *words_of(int(seed))]
    elif isinstance(seed, (list, tuple, range, np.ndarray)) and all(isinstance(n, (int, np.integer)) for n in seed):
        # Lengths and signs first: SeedSequence pads with zeros, and so takes 0 and [0, 0] for the same seed.
        lengths = [2 * len(words_of(int(n))) + int(n < 0) for n in seed]
        entropy = [2, len(lengths), *lengths, *(word for n in seed for word in words_of(int(n)))]
    else:
        raise TypeError(f"seed_key: a seed is an integer, a sequence of integers, or None, not {seed!r}.")
    return np.random.SeedSequence(entropy).generate_state(2).astype(np.uint32)


def words_of(number: int) -> list[int]:
    """The 32-bit words of |number|, lowest first; none for 0."""
    return [abs(number) >> shift & WORD for shift in range(0, abs(number).bit_length(), 32)]


def fold_in(key: Key, number: int | NDArray[np.integer[Any]]) -> Key:
    """The key that a key and a 64-bit integer determine; keys (..., 2) and numbers (...) broadcast."""
    return derived(key, checked_position(number, "number"), FOLD)


def spawn(key: Key, count: int, start: int | NDArray[np.integer[Any]] = 0) -> Key:
    """The children number start, …, start + count - 1 of a key: shape (..., count, 2). None equals a folded key."""
    first = checked_position(start, "start")
    return derived(checked_key(key)[..., None, :], first[..., None] + np.arange(count, dtype=np.uint64), SPAWN)


def derived(key: Key, positions: NDArray[np.uint64], purpose: int) -> Key:
    """The first two words of the blocks at the positions, as keys."""
    keys = checked_key(key)
    if keys.ndim == 1 and positions.ndim == 0:
        return np.array(block_at(keys, int(positions), purpose)[:2], np.uint32)
    pair = blocks_at(keys, positions, purpose)[..., 0]
    return np.stack([pair & np.uint64(WORD), pair >> np.uint64(32)], axis=-1).astype(np.uint32)


def checked_key(key: Any) -> Key:
    array = np.asarray(key)
    if array.dtype != np.uint32 or array.shape[-1:] != (2,):
        raise TypeError(f"a key is uint32[..., 2], not {array.dtype}{list(array.shape)}; make one with seed_key(seed).")
    return array


def checked_position(position: Any, name: str) -> NDArray[np.uint64]:
    """A 64-bit position; negative integers are taken modulo 2⁶⁴."""
    if isinstance(position, int):
        if not -(2**63) <= position < 2**64:
            raise OverflowError(f"{name}: {position} does not fit in 64 bits.")
        return np.asarray(position % 2**64, np.uint64)
    array = np.asarray(position)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: needs integers, not {array.dtype}.")
    return array.astype(np.int64).astype(np.uint64) if array.dtype.kind == "i" else array.astype(np.uint64)

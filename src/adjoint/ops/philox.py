"""Blocks of random words, Philox4x32-10, as a primitive: `adjoint.random.bits` says what they are, and counts them.

A round on the counter (c₀, c₁, c₂, c₃) under the key (k₀, k₁):

    (h₀, l₀) = M₀ c₀,  (h₁, l₁) = M₁ c₂        high and low words of the 64-bit products
    c ← (h₁ ^ c₁ ^ k₀,  l₁,  h₀ ^ c₃ ^ k₁,  l₀),    k ← (k₀ + W₀,  k₁ + W₁)   modulo 2³²
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from adjoint.ops.calculus import Flat
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDS: Final = 10
MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)  # M₀, M₁
INCREMENTS: Final = (0x9E3779B9, 0xBB67AE85)  # W₀, W₁: the golden ratio and √3 - 1, times 2³²
WORD: Final = 0xFFFFFFFF


def rounds(
    keys: NDArray[np.uint64], even: NDArray[np.uint64], odd: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The ten rounds on even = (c₀, c₂) and odd = (c₁, c₃), stacked on the first axis; words sit in uint64.

    With p = (M₀ c₀, M₁ c₂) a round is even ← swap(p >> 32) ^ odd ^ k, odd ← swap(p mod 2³²), written in place.
    """
    sides = (2,) + (1,) * (even.ndim - 1)
    multipliers = np.array(MULTIPLIERS, np.uint64).reshape(sides)
    increments = np.array(INCREMENTS, np.uint64).reshape((2,) + (1,) * (keys.ndim - 1))
    word, half = np.uint64(WORD), np.uint64(32)
    product = np.empty_like(even)
    for number in range(ROUNDS):
        if number:
            keys = (keys + increments) & word
        np.multiply(even, multipliers, out=product)
        np.right_shift(product[::-1], half, out=even)
        even ^= odd
        even ^= keys
        np.bitwise_and(product[::-1], word, out=odd)
    return even, odd


@primitive
class RandomBlocks(Flat):
    """Pairs of 64-bit words, `blocks` of them from a position on: words[…, blocks, 2] for keys uint32[…, 2] and
    positions uint64[…].

    A position counts modulo 2⁶³: it is the counter (c₀, c₁), beside the attempt c₂ and the purpose c₃ = 0.
    """

    blocks: int
    attempt: int = 0

    @property
    def parameters(self) -> int:
        return 2

    @property
    def title(self) -> str:
        return "random_blocks"

    def evaluate(self, *xs: Value) -> Value:
        key, first = (np.asarray(x) for x in xs)
        with np.errstate(over="ignore"):
            positions = (first[..., None] + np.arange(self.blocks, dtype=np.uint64)) & np.uint64(2**63 - 1)
        even, odd = (np.empty((2, *positions.shape), np.uint64) for _ in range(2))
        even[0], even[1] = positions & np.uint64(WORD), np.uint64(self.attempt)
        odd[0], odd[1] = positions >> np.uint64(32), np.uint64(0)
        keys: Any = np.moveaxis(key.astype(np.uint64), -1, 0)[..., None]
        low, high = rounds(keys, even, odd)
        return np.ascontiguousarray(np.moveaxis(low | (high << np.uint64(32)), 0, -1))

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType((*types[1].shape, self.blocks, 2), np.dtype(np.uint64))

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*[x if m else np.broadcast_to(x, (size, *np.shape(x))) for x, m in zip(xs, mapped, strict=True)])

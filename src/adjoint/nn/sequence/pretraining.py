"""Tasks that text sets by itself: words that were hidden, and whether one sentence follows another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.nn.dropping import checked_generator
from adjoint.nn.sequence.packing import SpecialTokens, padded
from adjoint.program.types import Value
from adjoint.signal.geometry import as_values

__all__ = ["MaskedTokens", "SentencePairs", "masked_tokens", "next_sentence"]


SPECIAL = SpecialTokens()


class MaskedTokens(NamedTuple):
    """Inputs with hidden tokens, the tokens themselves, and weights: 1 where one was chosen.

    ```python
    ad.nn.MaskedTokens._fields  # → ('inputs', 'targets', 'weights')
    ```
    """

    inputs: Value
    targets: Value
    weights: Value


def masked_tokens(
    rng: Any,
    ids: Any,
    rate: float = 0.15,
    *,
    tokens: int,
    special: SpecialTokens = SPECIAL,
    dtype: Any = np.float64,
) -> MaskedTokens:
    """Choose tokens with probability `rate`; of those, 80 % become the mask, 10 % another token, 10 % stay.

    `tokens` counts the vocabulary, special ones included, which are never chosen and never put in.

    ```python
    ids = np.arange(6, 106)
    made = ad.nn.masked_tokens(ad.random.default_rng(0), ids, tokens=200)
    bool(np.all((made.inputs == ids) | (made.weights == 1)))  # → True
    ```
    """
    ids = as_values(ids)
    rng = checked_generator("masked_tokens", rng)
    if not 0 <= rate <= 1:
        raise ValueError(f"masked_tokens: the rate must be between 0 and 1, got {rate}.")
    if tokens <= special.count:
        raise ValueError(f"masked_tokens: {tokens} tokens, of which {special.count} are special, leave none to put in.")
    chosen = (rng.random(ids.shape) < rate) & (ids >= special.count)
    fate = rng.random(ids.shape)
    others = rng.integers(special.count, tokens, size=ids.shape)
    replaced = np.where(fate < 0.8, special.mask, np.where(fate < 0.9, others, ids))
    return MaskedTokens(np.where(chosen, replaced, ids), ids, chosen.astype(dtype))


class SentencePairs(NamedTuple):
    """[CLS] a [SEP] b [SEP] in rows, the segment of each token (0 or 1), labels (1: b follows a), and where tokens are.

    ```python
    ad.nn.SentencePairs._fields  # → ('tokens', 'segments', 'labels', 'valid')
    ```
    """

    tokens: Any
    segments: Any
    labels: Any
    valid: Any


def next_sentence(rng: Any, pairs: Sequence[tuple[Any, Any]], *, special: SpecialTokens = SPECIAL) -> SentencePairs:
    """Pairs of sentences (a, b), where b is that of another pair half of the time.

    ```python
    pairs = [([6, 7], [8]), ([9], [10, 11]), ([12], [13])]
    made = ad.nn.next_sentence(ad.random.default_rng(0), pairs)
    made.tokens.shape[0], made.segments[0, :5]  # → (3, [0, 0, 0, 0, 1])
    ```
    """
    n = len(pairs)
    if n < 2:
        raise ShapeError("next_sentence: two pairs are needed at least, to take the second sentence of another one.")
    follows = np.asarray(rng.random(n)) < 0.5
    shift = np.asarray(rng.integers(1, n, size=n))
    rows, firsts = [], []
    for i, (a, b) in enumerate(pairs):
        b = b if follows[i] else pairs[(i + int(shift[i])) % n][1]
        rows.append([special.first, *a, special.separator, *b, special.separator])
        firsts.append(len(a) + 2)
    tokens, valid = padded(rows, pad=special.pad)
    segments = (np.arange(tokens.shape[1]) >= np.array(firsts)[:, None]) & valid
    return SentencePairs(tokens, segments.astype(np.int64), follows.astype(np.int64), valid)

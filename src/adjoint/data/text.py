"""Windows of a long sequence of tokens: inputs and the tokens that follow them."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.source import user_facing
from adjoint.data.sources import Source

__all__ = ["Windows", "text"]


class Windows(Source):
    """Pieces of a sequence, each with the same piece one token later."""

    def __init__(self, ids: Any, length: int, stride: int) -> None:
        self.ids, self.length, self.stride = ids, length, stride

    def __len__(self) -> int:
        return (len(self.ids) - self.length - 1) // self.stride + 1

    def rows(self, indices: Any) -> dict[str, Any]:
        """{"x": tokens, "y": the tokens after them}."""
        positions = np.asarray(indices)[..., None] * self.stride + np.arange(self.length + 1)
        found = np.asarray(self.ids[positions])
        return {"x": found[..., :-1], "y": found[..., 1:]}


@user_facing
def text(ids: Any, length: int, stride: int | None = None) -> Windows:
    """A source of windows of a sequence of tokens: {"x": ids[i : i + length], "y": ids[i + 1 : i + length + 1]}.

    `ids` are bytes, or integers in memory or in a memory map. Windows begin `stride` tokens apart; one behind the other
    by default.

    ```python
    source = ad.data.text(b"abcdefg", 3)
    len(source), bytes(source[1]["x"]), bytes(source[1]["y"])  # → (2, b'def', b'efg')
    ```
    """
    if isinstance(ids, bytes | bytearray):
        ids = np.frombuffer(ids, np.uint8)
    ids = ids if isinstance(ids, np.ndarray) else np.asarray(ids)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise TypeError(f"text: tokens are one sequence of integers, or bytes, not {ids.dtype} of shape {ids.shape}.")
    if not 1 <= length < len(ids):
        raise ValueError(f"text: windows of {length} tokens cannot be taken from {len(ids)}: give a length between 1 "
                         f"and {len(ids) - 1}.")  # fmt: skip
    stride = length if stride is None else stride
    if stride < 1:
        raise ValueError(f"text: stride={stride}; it is a number of tokens, at least 1.")
    return Windows(ids, int(length), int(stride))

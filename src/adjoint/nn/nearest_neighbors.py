"""Retrieval: which vectors lie nearest to others."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.nn.losses.shapes import as_array
from adjoint.program.types import Value

__all__ = ["nearest"]


@user_facing
def nearest(queries: Any, keys: Any, k: int = 1, metric: str = "cosine") -> tuple[Value, Value]:
    """(indices, similarities) of the k keys nearest to each query, best first.

    metric: "cosine", "dot", or "euclidean" (the similarity is then minus the distance).

    ```python
    keys = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    found, similarity = ad.nn.nearest(np.array([[2.0, 0.1]]), keys, 2)
    found  # → [[0, 2]]
    ```
    """
    queries, keys = as_array(queries), as_array(keys)
    if len(queries.shape) != 2 or len(keys.shape) != 2 or queries.shape[1] != keys.shape[1]:
        raise ShapeError(f"nn.nearest: queries have shape {queries.shape} and keys {keys.shape}; both are rows of "
                         "vectors of one length.")  # fmt: skip
    if not 1 <= k <= keys.shape[0]:
        raise ValueError(f"nn.nearest: k is {k}, and there are {keys.shape[0]} keys.")
    if metric == "euclidean":
        squares = np.sum(queries**2, axis=1)[:, None] + np.sum(keys**2, axis=1)
        similarity = -np.sqrt(np.maximum(squares - 2.0 * queries @ keys.T, 0.0))
    elif metric in ("cosine", "dot"):
        if metric == "cosine":
            queries = queries / np.sqrt(np.sum(queries**2, axis=1, keepdims=True))
            keys = keys / np.sqrt(np.sum(keys**2, axis=1, keepdims=True))
        similarity = queries @ keys.T
    else:
        raise ValueError(f"nn.nearest: metric={metric!r}; it is 'cosine', 'dot' or 'euclidean'.")
    order = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(similarity, order, axis=1)

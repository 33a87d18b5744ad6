"""Scores: how badly a label fits a prediction. Sets of labels whose scores are small enough cover the truth.

| | score | set |
|---|---|---|
| absolute | &#124;y - f&#124; | f ± q |
| normalized | &#124;y - f&#124; / σ | f ± q σ |
| quantile (CQR) | max(l - y, y - u) | [l - q, u + q] |
| lac | 1 - p_y | {k: p_k ≥ 1 - q} |
| aps | probabilities above p_y, and a part of p_y itself | the largest, until their sum reaches q |
| raps | aps, and a price for labels beyond the first few | shorter ones |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.nn.losses.shapes import match_shapes

__all__ = ["absolute", "aps", "lac", "normalized", "quantile", "raps"]


def absolute(f: Any, y: Any) -> Any:
    """|y - f|.

    ```python
    ad.nn.conformal.scores.absolute(np.array([1.0, 2.0]), np.array([0.0, 5.0]))  # → [1.0, 3.0]
    ```
    """
    f, y = match_shapes("absolute", f, y, "conformal.scores")
    return np.abs(y - f)


def normalized(f: Any, scale: Any, y: Any) -> Any:
    """|y - f| / σ, with a scale for each example.

    ```python
    ad.nn.conformal.scores.normalized(np.zeros(2), np.array([1.0, 2.0]), np.array([1.0, 1.0]))  # → [1.0, 0.5]
    ```
    """
    f, y = match_shapes("normalized", f, y, "conformal.scores")
    scale, y = match_shapes("normalized", scale, y, "conformal.scores")
    return np.abs(y - f) / scale


def quantile(low: Any, high: Any, y: Any) -> Any:
    """max(l - y, y - u): how far y lies outside of a predicted interval, below zero inside.

    ```python
    ad.nn.conformal.scores.quantile(np.zeros(2), np.ones(2), np.array([1.5, 0.25]))  # → [0.5, -0.25]
    ```
    """
    low, y = match_shapes("quantile", low, y, "conformal.scores")
    high, y = match_shapes("quantile", high, y, "conformal.scores")
    return np.maximum(low - y, y - high)


def _choose(title: str, scores: Any, y: Any) -> Any:
    """The scores of the classes y, of a row (k,) for each."""
    if y is None:
        return scores
    y = np.asarray(y)
    if y.shape != scores.shape[:1] or y.dtype.kind not in "iu":
        raise ShapeError(f"conformal.scores.{title}: p has shape {scores.shape} and y {y.shape} of {y.dtype}; y has a "
                         "class, an integer, for each row.")  # fmt: skip
    if y.size and (np.min(y) < 0 or np.max(y) >= scores.shape[1]):
        raise ValueError(f"conformal.scores.{title}: classes are 0 to {scores.shape[1] - 1}, and y has "
                         f"{np.min(y)} to {np.max(y)}.")  # fmt: skip
    return np.take_along_axis(scores, y[:, None], 1)[:, 0]


def lac(p: Any, y: Any = None) -> Any:
    """1 - p of each class, or of the classes y.

    ```python
    ad.nn.conformal.scores.lac(np.array([[0.2, 0.8]]), np.array([1]))  # → [0.2]
    ```
    """
    return _choose("lac", 1.0 - np.asarray(p, float), y)


def aps(p: Any, y: Any = None, u: Any = None) -> Any:
    """The sum of probabilities down to a class, with its own, or (u given, uniform in [0, 1]) with u times its own.

    ```python
    ad.nn.conformal.scores.aps(np.array([[0.2, 0.5, 0.3]]))  # → [[1.0, 0.5, 0.8]]
    ```
    """
    return raps(p, y, u, 0.0, 0)


def raps(p: Any, y: Any = None, u: Any = None, penalty: float = 0.01, free: int = 1) -> Any:
    """`aps`, and `penalty` for each rank of the class beyond the first `free` ones, so that sets are shorter.

    ```python
    ad.nn.conformal.scores.raps(np.array([[0.2, 0.5, 0.3]]), penalty=0.1, free=1)  # → [[1.2, 0.5, 0.9]]
    ```
    """
    p = np.asarray(p, float)
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, 1)
    part = ranked if u is None else np.asarray(u).reshape(-1, 1) * ranked
    totals = np.cumsum(ranked, axis=1) - ranked + part
    totals = totals + penalty * np.maximum(np.arange(1, p.shape[1] + 1) - free, 0)
    scores = np.empty_like(p)
    np.put_along_axis(scores, order, totals, 1)
    return _choose("raps", scores, y)

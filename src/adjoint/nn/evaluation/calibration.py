"""Whether probabilities are right: of all predictions of 0.8, eight in ten should come true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.nn.evaluation.decisions import decide
from adjoint.nn.evaluation.recalibration import (
    Calibrated,
    Isotonic,
    Platt,
    Temperature,
    VectorScaling,
    isotonic,
    platt,
    temperature,
    vector_scaling,
)

__all__ = [
    "Calibrated", "Isotonic", "Platt", "Reliability", "Temperature", "VectorScaling", "decide", "ece", "isotonic",
    "platt", "reliability", "temperature", "vector_scaling",
]  # fmt: skip


def _confidences(title: str, p: Any, y: Any) -> tuple[Any, Any]:
    """(how sure, whether it was right), of rows of probabilities with classes, or of chances with truth values."""
    p, y = np.asarray(p, float), np.asarray(y)
    if not np.all((p >= -1e-9) & (p <= 1 + 1e-9)):
        raise ValueError(f"calibration.{title}: p has values outside [0, 1]; give probabilities, not logits.")
    if p.ndim == 2:
        if y.shape != p.shape[:1]:
            raise ShapeError(
                f"calibration.{title}: p has shape {p.shape} and y {y.shape}; there is one class for a row."
            )
        return np.max(p, axis=1), np.argmax(p, axis=1) == y
    if p.ndim != 1 or y.shape != p.shape:
        raise ShapeError(f"calibration.{title}: p has shape {p.shape} and y {y.shape}; p has a row of probabilities "
                         "for each class in y, or one chance for each truth value.")  # fmt: skip
    if not np.all((y == 0) | (y == 1)):
        raise ValueError(f"calibration.{title}: with one chance for each, y is 0 or 1, and there is "
                         f"{np.unique(y)[:4]}.")  # fmt: skip
    return p, y.astype(bool)


@final
@dataclass(frozen=True)
class Reliability:
    """Bins of confidence: how sure the predictions were, how many were right, and how many there are.

    ```python
    bins = ad.nn.calibration.reliability(np.array([0.95, 0.9, 0.6, 0.55]), np.array([1, 0, 1, 1]), bins=2)
    bins.confidence, bins.accuracy, bins.count  # → ([nan, 0.75], [nan, 0.75], [0, 4])
    ```
    """

    edges: Any
    confidence: Any
    accuracy: Any
    count: Any

    def plot(self, axes: Any = None) -> Any:
        """Accuracy over confidence; on the diagonal all is well."""
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1] if axes is None else axes
        full = self.count > 0
        axes.plot([0, 1], [0, 1], color="gray", linewidth=0.8)
        widths = np.diff(self.edges)
        axes.bar(self.edges[:-1][full], self.accuracy[full], widths[full], align="edge", alpha=0.5, edgecolor="white")
        axes.plot(self.confidence[full], self.accuracy[full], "o-")
        axes.set_xlabel("confidence")
        axes.set_ylabel("accuracy")
        return axes


@user_facing
def reliability(p: Any, y: Any, bins: int = 15, by: str = "width") -> Reliability:
    """Confidence and accuracy in bins of equal width, or (by="mass") of equally many predictions.

    A bin holds its lower edge, and the last one its upper edge too.

    ```python
    found = ad.nn.calibration.reliability(np.array([0.2, 0.9]), np.array([0, 1]), bins=2)
    found.accuracy  # → [0.0, 1.0]
    ```
    """
    sure, right = _confidences("reliability", p, y)
    if bins < 1:
        raise ValueError(f"calibration.reliability: bins is {bins}; there must be one or more.")
    if by == "width":
        edges = np.linspace(0.0, 1.0, bins + 1)
        # products as 0.1 · 3 lie a rounding beside the numbers that users write
        number = np.clip(np.floor(np.round(sure * bins, 9)).astype(int), 0, bins - 1)
    elif by == "mass":
        order = np.argsort(sure, kind="stable")
        number = np.empty(len(sure), int)
        number[order] = np.arange(len(sure)) * bins // max(len(sure), 1)
        highest = [np.max(sure[number == i], initial=0.0) for i in range(bins)]
        edges = np.concatenate([[0.0], np.maximum.accumulate(highest)])
    else:
        raise ValueError(f"calibration.reliability: by={by!r}; it is 'width' or 'mass'.")
    count = np.bincount(number, minlength=bins)
    safe = np.maximum(count, 1)
    mean = lambda v: np.where(count > 0, np.bincount(number, v, bins) / safe, np.nan)
    return Reliability(edges, mean(sure), mean(right.astype(float)), count)


@user_facing
def ece(p: Any, y: Any, bins: int = 15, by: str = "width", norm: float = 1) -> float:
    """The expected calibration error: Σ |B|/n · |accuracy - confidence|^norm over bins, to the power 1/norm.

    norm = np.inf gives the largest difference.

    ```python
    ad.nn.calibration.ece(np.array([0.95, 0.9, 0.6, 0.55]), np.array([1, 0, 1, 1]), bins=10)  # → 0.425
    ```
    """
    found = reliability(p, y, bins, by)
    full = found.count > 0
    if not np.any(full):
        raise ValueError("calibration.ece: there are no predictions.")
    gaps = np.abs(found.accuracy - found.confidence)[full]
    if norm == np.inf:
        return float(np.max(gaps))
    share = found.count[full] / np.sum(found.count)
    return float(np.sum(share * gaps**norm) ** (1.0 / norm))

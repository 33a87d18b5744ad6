"""`evaluate`: metrics of a model on data, exact over batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from adjoint.base.source import user_facing
from adjoint.data import as_source
from adjoint.nn.training.engine import convert_batch, model_dtype
from adjoint.nn.training.metrics import Metric, decide
from adjoint.program.types import Value

__all__ = ["evaluate", "predict_batch"]

SIZE = 512


def predict_batch(model: Any, batch: Any) -> tuple[Value, Value]:
    """Predictions and targets of a batch: model(x) and y, by these names or as a pair."""
    if isinstance(batch, Mapping) and {"x", "y"} <= set(batch):
        return model(batch["x"]), batch["y"]
    if isinstance(batch, tuple | list) and len(batch) == 2:
        return model(batch[0]), batch[1]
    have = f"columns {', '.join(map(str, batch))}" if isinstance(batch, Mapping) else type(batch).__name__
    raise TypeError(f"evaluate: predictions are model(x), compared with y; the data have {have}. Give predict=, a "
                    "function of (model, batch) that returns predictions and targets.")  # fmt: skip


def check_metrics(title: str, metrics: Any) -> None:
    """Refuse metrics that are no functions by name."""
    wrong = None if isinstance(metrics, Mapping) else metrics
    if wrong is None:
        wrong = next((metric for metric in metrics.values() if not callable(metric)), None)
    if wrong is not None:
        raise TypeError(f"{title}: metrics are functions by name, {{'accuracy': nn.accuracy}}, not {wrong!r}.")


@user_facing
def evaluate(
    model: Any, data: Any, metrics: Mapping[str, Any], *, batch: int = SIZE,
    predict: Callable[[Any, Any], tuple[Any, Any]] = predict_batch,
) -> dict[str, Any]:  # fmt: skip
    """Metrics of a model on data: {name: number}.

    A metric of `nn.metrics` is added up over batches; any other function, as those of sklearn.metrics, is called once
    with all targets and predictions (classes, where the model gives scores of classes).

    ```python
    model = lambda x: x
    data = ad.data.arrays(x=np.array([[2.0, 1.0], [0.0, 1.0], [3.0, 0.0]]), y=np.array([0, 1, 1]))
    ad.nn.evaluate(model, data, {"accuracy": ad.nn.accuracy})  # → {'accuracy': 0.666666667}
    ```
    """
    check_metrics("evaluate", metrics)
    source, dtype = as_source(data), model_dtype(model)
    totals: dict[str, Any] = {}
    gathered: list[tuple[Any, Any]] = []
    others = {name: metric for name, metric in metrics.items() if not isinstance(metric, Metric)}
    for part in source.batches(min(batch, len(source)), last="keep"):
        prediction, target = predict(model, convert_batch(part.data, dtype))
        for name, metric in metrics.items():
            if isinstance(metric, Metric):
                total, weight = metric.totals(prediction, target)
                before = totals.get(name, (0.0, 0.0))
                totals[name] = (before[0] + total, before[1] + weight)
        if others:
            gathered.append((np.asarray(prediction), np.asarray(target)))
    found: dict[str, Any] = {}
    if others:
        prediction, target = (np.concatenate(column) for column in zip(*gathered, strict=True))
        classes = target.dtype.kind in "iub" and prediction.dtype.kind == "f"
        chosen = decide(prediction, target) if classes else prediction
    for name, metric in metrics.items():
        number = metric.read(*totals[name]) if isinstance(metric, Metric) else metric(target, chosen)
        found[name] = float(number) if np.ndim(number) == 0 else number
    return found

"""What the estimators share: scikit-learn's classes, the run of `fit`, and its continuation."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.data import Arrays
from adjoint.nn.activations import elu, gelu, logistic, relu, silu
from adjoint.nn.mlp import MLP
from adjoint.nn.training.engine import convert_batch, model_dtype
from adjoint.nn.training.fitting import fit
from adjoint.optimize.updates import Rule, adamw
from adjoint.random.generator import default_rng

__all__ = ["NetworkEstimator", "keep_arguments", "learn", "read_weights", "validate", "weigh_classes"]

ACTIVATIONS = {"relu": relu, "tanh": np.tanh, "logistic": logistic, "gelu": gelu, "silu": silu, "elu": elu}
LARGEST = 256  # examples of a batch that is chosen automatically: small data are taken whole


def _import_learn() -> Any:
    try:
        import sklearn.base
        import sklearn.utils.class_weight
        import sklearn.utils.multiclass
        import sklearn.utils.validation
    except ImportError as error:
        raise ImportError("estimators need scikit-learn: pip install 'adjoint[learn]'.") from error
    return sklearn


learn: Any = _import_learn()


def validate(estimator: Any, X: Any, *targets: Any, reset: bool = True, **options: Any) -> Any:
    """Inputs as scikit-learn checks them: names and number of features, finite numbers; floating ones as they are."""
    kinds = [np.float64, np.float32]
    return learn.utils.validation.validate_data(estimator, X, *targets, reset=reset, dtype=kinds, **options)


def weigh_classes(class_weight: Any, y: Any, weight: Any) -> Any:
    """The weights of examples times those of their classes; "balanced" counts an example as often as it weighs."""
    if class_weight is None:
        return weight
    if class_weight == "balanced":
        given = np.ones(len(y)) if weight is None else weight
        classes, number = np.unique(y, return_inverse=True)
        totals = np.bincount(number, given, len(classes))
        own = (np.sum(given) / (len(classes) * np.where(totals > 0, totals, 1.0)))[number]
    else:
        own = learn.utils.class_weight.compute_sample_weight(class_weight, y)
    return own if weight is None else own * weight


def read_weights(sample_weight: Any, X: Any) -> Any:
    """Weights of examples, None where all are 1."""
    if sample_weight is None:
        return None
    return learn.utils.validation._check_sample_weight(sample_weight, X, dtype=np.float64)


def keep_arguments(estimator: Any, arguments: Any) -> None:
    """The arguments of __init__ as attributes of the same names, as scikit-learn wants them."""
    for name, value in arguments.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


class NetworkEstimator(learn.base.BaseEstimator):
    """A network that is trained by `fit`."""

    def _seed(self) -> Any:
        state = self.random_state
        if isinstance(state, int | np.integer):
            return default_rng(int(state))
        source = learn.utils.check_random_state(state)
        return default_rng(int(source.randint(2**31 - 1)))

    def _start(self, rng: Any, X: Any, outputs: int) -> Any:
        """The network before training."""
        dtype = X.dtype if self.dtype is None else np.dtype(self.dtype)
        if self.network is not None:
            return self.network(rng.at(2), X.shape[1], outputs)
        activation = ACTIVATIONS.get(self.activation, self.activation)
        if not callable(activation):
            raise ValueError(f"activation={self.activation!r}; it is a function, or one of {', '.join(ACTIVATIONS)}.")
        hidden = (self.hidden,) if isinstance(self.hidden, int | np.integer) else self.hidden
        if not all(isinstance(size, int | np.integer) and size > 0 for size in hidden):
            raise ValueError(f"hidden={self.hidden!r}; it is a tuple of the sizes of the layers between, as (100,).")
        sizes = [X.shape[1], *hidden, outputs]
        return MLP.init(rng.at(2), sizes, activation=activation, dropout=self.dropout, dtype=dtype)

    def _rule(self) -> Rule:
        return adamw(self.learning_rate, decay=self.decay) if self.rule is None else self.rule

    def _train(self, X: Any, target: Any, weight: Any, outputs: int, loss: Any, epochs: int, goes_on: bool) -> None:
        """Train anew, or go on from where an earlier call ended."""
        warm = None
        if goes_on:
            model, rng, warm = self.model_, self._rng, self._state
        else:
            rng = self._seed()
            model = self._start(rng, X, outputs)
        columns = {"x": X, "y": target}
        held = None
        rows = np.arange(len(X))
        if self.validation is not None and not goes_on:
            held, rows = self._hold_out(rng, columns)
        if self.batch != "auto" and not isinstance(self.batch, int | np.integer):
            raise ValueError(f'batch={self.batch!r}; it is a number of examples, or "auto".')
        size = min(LARGEST, len(rows)) if self.batch == "auto" else min(int(self.batch), len(rows))
        data = Arrays({name: column[rows] for name, column in columns.items()})
        run = fit(
            model, loss, data, self._rule(), epochs=epochs, batch=size, rng=rng, validation=held,
            patience=self.patience if held is not None else None, warm=warm,
            weight=None if weight is None else weight[rows], progress=bool(self.verbose),
        )  # fmt: skip
        self.model_, self.history_, self._state, self._rng = run.model, run.history, run.state, rng
        self.n_iter_ = len(run.history)

    def _hold_out(self, rng: Any, columns: Any) -> tuple[Any, Any]:
        """Validation data: a part of the examples, or a pair (X, y) of others."""
        if isinstance(self.validation, tuple | list):
            X, y = self.validation
            return Arrays({"x": validate(self, X, reset=False), "y": self._encode(np.asarray(y))}), np.arange(
                len(columns["x"])
            )
        part = float(self.validation)
        if not 0.0 < part < 1.0:
            raise ValueError(f"validation={part}; it is a fraction of the examples between 0 and 1, or a pair (X, y).")
        numbers = Arrays({"row": np.arange(len(columns["x"])), "y": columns["y"]})
        labels = columns["y"] if columns["y"].dtype.kind == "i" else None
        kept, held = numbers.split((1.0 - part, part), rng.at(3), stratify=labels)
        out = held[:]["row"]
        return Arrays({name: column[out] for name, column in columns.items()}), kept[:]["row"]

    def _scores(self, X: Any) -> Any:
        """What the network gives, without a generator."""
        learn.utils.validation.check_is_fitted(self, "model_")
        X = validate(self, X, reset=False)
        return np.asarray(self.model_(convert_batch(X, model_dtype(self.model_))))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

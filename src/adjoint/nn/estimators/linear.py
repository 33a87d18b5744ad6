"""Linear models as estimators: their objectives are those of scikit-learn, their minima found by `optimize`."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.source import user_facing
from adjoint.nn.activations import log_softargmax
from adjoint.nn.estimators.base import keep_arguments, learn, read_weights, validate, weigh_classes
from adjoint.nn.losses.classification import cross_entropy
from adjoint.optimize import minimize

__all__ = ["LinearClassifier", "LinearRegressor"]

PENALTIES = ("l2", "l1", "elasticnet", None)
POLISHED = 400  # unknowns
LOSSES = ("squared", "huber", "quantile", "poisson")


class _Linear(learn.base.BaseEstimator):
    """A minimum of a loss of X W + b and a penalty of W."""

    def _minimize(self, objective: Any, shape: tuple[int, ...], offset: Any, l1: float) -> tuple[Any, Any]:
        """W and b of objective(W, b) + l1 ‖W‖₁; W = U - V with U, V ≥ 0 where the last part counts."""
        start = {"W": np.zeros(shape), "b": offset}
        if getattr(self, "warm_start", False) and hasattr(self, "_found") and self._found["W"].shape == shape:
            start = dict(self._found)
        if not self.fit_intercept:
            start["b"] = np.zeros_like(offset)
        frozen = () if self.fit_intercept else ("b",)
        options = {"tol": self.tol, "max_iterations": self.max_iterations, "frozen": frozen}
        if l1 == 0:
            found = minimize(lambda p: objective(p["W"], p["b"]), start, method="lbfgs", **options)
            value = found.value
        else:
            split = {"U": np.maximum(start["W"], 0.0), "V": np.maximum(-start["W"], 0.0), "b": start["b"]}
            f = lambda p: objective(p["U"] - p["V"], p["b"]) + l1 * np.sum(p["U"] + p["V"])
            found = minimize(f, split, method="lbfgsb", bounds={"U": (0.0, None), "V": (0.0, None)}, **options)
            value = {"W": found.value["U"] - found.value["V"], "b": found.value["b"]}
            value = _polish_support(objective, value, l1, self.fit_intercept)
        self._found = {name: np.asarray(part) for name, part in value.items()}
        self.n_iter_ = int(np.asarray(found.iterations))
        return self._found["W"], self._found["b"]


def polish(f: Any, start: Any, frozen: Any) -> Any:
    """A few steps of Newton's method, to the last digits, where there are not too many unknowns."""
    if sum(np.size(leaf) for leaf in start.values()) > POLISHED:
        return start
    found = minimize(f, start, method="newton", tol=1e-12, max_iterations=20, frozen=frozen)
    better = np.isfinite(found.fun) and found.fun <= f(start) * (1 + 1e-12) + 1e-300
    return found.value if better else start


def _polish_support(objective: Any, value: Any, l1: float, with_offset: bool) -> Any:
    """The minimum where the entries that are not zero keep their signs: ‖W‖₁ is linear there."""
    W = value["W"]
    chosen = np.nonzero(np.abs(W) > 1e-9 * max(float(np.max(np.abs(W))), 1e-300))
    signs = np.sign(W[chosen])

    def fill(w: Any) -> Any:
        whole = np.zeros_like(W) + 0.0 * np.sum(w)
        whole[chosen] = w
        return whole

    f = lambda p: objective(fill(p["w"]), p["b"]) + l1 * np.sum(signs * p["w"])
    found = polish(f, {"w": W[chosen], "b": value["b"]}, () if with_offset else ("b",))
    kept = np.all(np.sign(found["w"]) == signs)
    return {"W": fill(found["w"]), "b": found["b"]} if kept and len(signs) else value


class LinearClassifier(learn.base.ClassifierMixin, _Linear):
    """Logistic regression for two classes or many: an estimator of scikit-learn.

    The minimum of Σ -log p(yᵢ | xᵢ) + strength · penalty, where the penalty is ½‖W‖² ("l2"), ‖W‖₁ ("l1"), a mixture of
    them with the part `l1_ratio` of the latter ("elasticnet"), or None; strength is 1/C.

    ```python
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = ad.nn.LinearClassifier().fit(X, [0, 0, 1, 1])
    model.predict(X).tolist(), float(np.round(model.coef_[0, 0], 4))  # → ([0, 0, 1, 1], 0.9583)
    ```
    """

    def __init__(
        self,
        penalty: str | None = "l2",
        *,
        strength: float = 1.0,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        tol: float = 1e-8,
        max_iterations: int = 2000,
    ) -> None:
        keep_arguments(self, locals())

    @user_facing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearClassifier:
        """The minimum for examples X (one row each) and their classes y."""
        X, y = validate(self, X, y)
        learn.utils.multiclass.check_classification_targets(y)
        if self.penalty not in PENALTIES:
            raise ValueError(f"LinearClassifier: penalty={self.penalty!r}; it is one of {PENALTIES}.")
        weight = weigh_classes(self.class_weight, y, read_weights(sample_weight, X))
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"LinearClassifier: y has one class alone, {self.classes_[0]!r}; it needs two or more.")
        X = X.astype(np.float64)
        weight = np.ones(len(X)) if weight is None else weight
        part = {"l2": 0.0, "l1": 1.0, "elasticnet": self.l1_ratio, None: 0.0}[self.penalty]
        ridge = 0.0 if self.penalty is None else self.strength * (1.0 - part)
        total = np.sum(weight)

        def objective(W: Any, b: Any) -> Any:
            z = X @ W.T + b
            if W.shape[0] == 1:
                each = np.logaddexp(0.0, z[:, 0]) - labels * z[:, 0]
            else:
                each = cross_entropy(z, labels)
            return (np.sum(weight * each) + 0.5 * ridge * np.sum(W * W)) / total

        rows = 1 if len(self.classes_) == 2 else len(self.classes_)
        W, b = self._minimize(objective, (rows, X.shape[1]), np.zeros(rows), self.strength * part / total)
        self.coef_, self.intercept_ = W, b
        return self

    @user_facing
    def decision_function(self, X: Any) -> Any:
        """Scores of the classes; one for each example where there are two."""
        learn.utils.validation.check_is_fitted(self, "coef_")
        z = validate(self, X, reset=False) @ self.coef_.T + self.intercept_
        return z[:, 0] if z.shape[1] == 1 else z

    @user_facing
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes."""
        z = self.decision_function(X)
        both = np.stack([np.zeros_like(z), z], axis=1) if z.ndim == 1 else z
        return np.asarray(log_softargmax(both))

    @user_facing
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, a row for each example."""
        return np.exp(self.predict_log_proba(X))

    @user_facing
    def predict(self, X: Any) -> Any:
        """The most probable classes."""
        z = self.decision_function(X)
        return self.classes_[(z > 0).astype(int) if z.ndim == 1 else np.argmax(z, axis=1)]


class LinearRegressor(learn.base.RegressorMixin, _Linear):
    """Linear regression with a choice of losses: an estimator of scikit-learn.

    "squared": ‖y - Xw - b‖² + strength ‖w‖². "poisson": mean of e^z - y z, + ½ strength ‖w‖². "quantile": the mean of
    the pinball loss of `quantile`, + strength ‖w‖₁, by a linear program. "huber": Σ (σ + H(r/σ) σ) + strength ‖w‖²,
    squares up to `epsilon` σ and lines beyond, where the scale σ is found, too.

    ```python
    X = np.arange(5.0)[:, None]
    model = ad.nn.LinearRegressor(strength=0.0).fit(X, 2 * X[:, 0] + 1)
    np.round(model.coef_, 6), float(np.round(model.intercept_, 6))  # → ([2.0], 1.0)
    ```
    """

    def __init__(
        self,
        loss: str = "squared",
        *,
        strength: float | None = None,
        epsilon: float = 1.35,
        quantile: float = 0.5,
        fit_intercept: bool = True,
        warm_start: bool = False,
        tol: float = 1e-8,
        max_iterations: int = 2000,
    ) -> None:
        keep_arguments(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss == "poisson"
        return tags

    @user_facing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearRegressor:
        """The minimum for examples X (one row each) and their numbers y."""
        X, y = validate(self, X, y, y_numeric=True)
        if self.loss not in LOSSES:
            raise ValueError(f"LinearRegressor: loss={self.loss!r}; it is one of {', '.join(LOSSES)}.")
        weight = read_weights(sample_weight, X)
        X, y = X.astype(np.float64), y.astype(np.float64)
        weight = np.ones(len(X)) if weight is None else weight
        if not np.sum(weight) > 0:
            raise ValueError("LinearRegressor: the weights of all examples are zero.")
        usual = {"squared": 1.0, "poisson": 1.0, "quantile": 1.0, "huber": 1e-4}[self.loss]
        strength = usual if self.strength is None else float(self.strength)
        solve = {"squared": _fit_squares, "poisson": _fit_poisson, "quantile": _fit_quantile, "huber": _fit_huber}
        w, b = solve[self.loss](self, X, y, weight, strength)
        self.coef_, self.intercept_ = np.asarray(w), float(b)
        return self

    @user_facing
    def predict(self, X: Any) -> Any:
        """X w + b; its exponential for the loss of Poisson."""
        learn.utils.validation.check_is_fitted(self, "coef_")
        z = validate(self, X, reset=False) @ self.coef_ + self.intercept_
        return np.exp(z) if self.loss == "poisson" else z


def _fit_squares(model: Any, X: Any, y: Any, weight: Any, strength: float) -> tuple[Any, Any]:
    """By an orthogonal factorization of the centered problem, with rows √strength I below."""
    root = np.sqrt(weight)[:, None]
    means = (weight @ X / np.sum(weight), weight @ y / np.sum(weight)) if model.fit_intercept else (0.0 * X[0], 0.0)
    A, c = root * (X - means[0]), root[:, 0] * (y - means[1])
    below = np.sqrt(strength) * np.eye(X.shape[1])
    w = np.linalg.lstsq(np.concatenate([A, below]), np.append(c, np.zeros(X.shape[1])), rcond=None)[0]
    model.n_iter_ = 1
    return w, means[1] - means[0] @ w


def _fit_poisson(model: Any, X: Any, y: Any, weight: Any, strength: float) -> tuple[Any, Any]:
    if np.any(y < 0):
        raise ValueError("LinearRegressor: the loss of Poisson is of counts; some values of y are out of its range, "
                         "negative.")  # fmt: skip
    total, mean = np.sum(weight), weight @ y / np.sum(weight)

    def objective(W: Any, b: Any) -> Any:
        z = X @ W + b
        return np.sum(weight * (np.exp(z) - y * z)) / total + 0.5 * strength * np.sum(W * W)

    offset = np.log(mean) if mean > 0 else 0.0
    return model._minimize(objective, (X.shape[1],), np.float64(offset), 0.0)


def _fit_huber(model: Any, X: Any, y: Any, weight: Any, strength: float) -> tuple[Any, Any]:
    """For each scale σ the minimum over w and b; the best σ is the zero of the derivative of that minimum, convex in σ.

    Where the derivative is above zero down to the smallest σ, most examples are fitted exactly: that is the limit of
    least absolute deviations.
    """
    from scipy.optimize import brentq

    epsilon = model.epsilon
    if not epsilon > 1.0:
        raise ValueError(f"LinearRegressor: epsilon={epsilon}; it is larger than 1.")
    w, b = _fit_squares(model, X, y, weight, 1e-6)
    spread = np.sqrt(weight @ (y - X @ w - b) ** 2 / np.sum(weight))
    if spread <= 1e-12 * max(float(np.max(np.abs(y))), 1e-300):
        return w, b
    kept = weight > 0
    A, y, weight = np.column_stack([X, np.ones(len(X))])[kept], y[kept], weight[kept]
    A = A if model.fit_intercept else A[:, :-1]
    penalty = np.full(A.shape[1], strength)
    penalty[X.shape[1] :] = 0.0
    found = {"w": np.append(w, b)[: A.shape[1]], "count": 0}
    known: dict[float, tuple[Any, float]] = {}  # from another start its sign might differ where it is nearly zero

    def derivative(log_scale: float) -> float:
        sigma = np.exp(log_scale)
        if log_scale not in known:
            w = _fit_scaled_huber(A, y, weight, penalty / epsilon, epsilon * sigma, found["w"])
            r = np.minimum(np.abs(y - A @ w) / sigma, epsilon)
            known[log_scale] = w, float(weight @ (1.0 - r * r))
            found["count"] += 1
        found["w"], value = known[log_scale]
        return value

    high = np.log(spread)
    least = high + np.log(1e-10)
    while derivative(high) < 0:
        high += 1.0
    low = high - 1.0
    while low > least and derivative(low) > 0:  # in small steps, each from the minimum before it
        low, high = low - 2.0, low
    at: Any = brentq(derivative, low, high, xtol=1e-12) if low > least else least
    derivative(at)
    model.n_iter_, model.scale_ = found["count"], float(np.exp(at))
    return found["w"][: X.shape[1]], found["w"][-1] if model.fit_intercept else 0.0


def _fit_scaled_huber(A: Any, y: Any, weight: Any, penalty: Any, bound: float, w: Any) -> Any:
    """The minimum of Σ c H(y - A w) / bound + Σ penalty w², H squares up to the bound: Newton's method for pieces."""
    from scipy.optimize import brentq

    def gradient(w: Any) -> Any:
        return penalty * w - A.T @ (weight * np.clip((y - A @ w) / bound, -1.0, 1.0))

    steepest = gradient(w)
    for _ in range(500):
        near = np.abs(y - A @ w) <= bound
        B = A[near] * weight[near, None]
        curvature = B.T @ A[near] + bound * np.diag(penalty)
        step = np.linalg.lstsq(curvature, -bound * steepest, rcond=1e-14)[0] if np.any(near) else -steepest
        start = float(step @ steepest)
        if start >= 0:
            return w
        if np.max(np.abs(step)) <= 1e-12 * np.max(np.abs(w)):
            return w + step
        along = lambda t, w=w, step=step: float(step @ gradient(w + t * step))
        end = 1.0
        while (last := along(end)) < 0.1 * start and end < 1e12:
            end *= 4.0
        t: Any = end if last <= -0.1 * start else brentq(along, 0.0, end, xtol=1e-3 * end)
        w = w + t * step
        steepest = gradient(w)
    return w


def _fit_quantile(model: Any, X: Any, y: Any, weight: Any, strength: float) -> tuple[Any, Any]:
    """min Σ c (q u + (1 - q) v) / Σ c + strength Σ (w⁺ + w⁻), X (w⁺ - w⁻) + b⁺ - b⁻ + u - v = y, all ≥ 0."""
    from scipy.optimize import linprog

    q = float(model.quantile)
    if not 0.0 < q < 1.0:
        raise ValueError(f"LinearRegressor: quantile={q}; it lies between 0 and 1.")
    n, p = X.shape
    one = np.ones((n, 1)) if model.fit_intercept else np.zeros((n, 1))
    A = np.concatenate([X, -X, one, -one, np.eye(n), -np.eye(n)], axis=1)
    share = weight / np.sum(weight)
    cost = np.concatenate([np.full(2 * p, strength), np.zeros(2), q * share, (1.0 - q) * share])
    found = linprog(cost, A_eq=A, b_eq=y, method="highs")
    if found.x is None:
        raise ValueError(f"LinearRegressor: the linear program of the quantile has no solution: {found.message}")
    model.n_iter_ = int(found.nit)
    x = found.x
    return x[:p] - x[p : 2 * p], x[2 * p] - x[2 * p + 1]

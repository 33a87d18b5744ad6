"""scipy.spatial.distance for plain and traced values. Names and arguments are SciPy's; on plain values every function
is SciPy's.

Where two points coincide, distances that are roots have derivative 0, as the norm of a zero vector has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance as _theirs

from adjoint.base.errors import ControlFlowError, UnsupportedError
from adjoint.program.trace import Tracer, primal
from adjoint.program.types import Value
from adjoint.scipy.arguments import array, demand, floating, for_traced
from adjoint.scipy.passing import passed
from adjoint.scipy.spatial import metrics
from adjoint.scipy.spatial.metrics import BOOLEAN, CANONICAL, NAMES

QUESTIONS = ("is_valid_dm", "is_valid_y", "num_obs_dm", "num_obs_y")
__all__ = sorted(("cdist", "directed_hausdorff", "pdist", "squareform", *NAMES, *QUESTIONS))  # pyright: ignore


def __getattr__(name: str) -> Any:
    """Everything else of scipy.spatial.distance, for plain values."""
    return passed(_theirs, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_theirs)})


def _vector(call: str, x: Any) -> Value:
    x = floating(x)
    if x.ndim != 1:
        raise ValueError(f"{call}: input vector should be 1-D, got shape {x.shape}.")
    return x


def _pair(name: str) -> Callable[..., Any]:
    """The distance of two vectors."""
    metric = getattr(metrics, name)

    def pair(u: Any, v: Any, *args: Any, **kwargs: Any) -> Value:
        u, v = _vector(name, u), _vector(name, v)
        if u.shape != v.shape:
            raise ValueError(f"{name}: the vectors must have equal lengths, got {u.shape[0]} and {v.shape[0]}.")
        return metric(u, v, *args, **kwargs)

    pair.__name__ = pair.__qualname__ = name
    pair.__doc__ = f"{metric.__doc__} (scipy.spatial.distance.{name})"
    return for_traced(_theirs)(pair)


globals().update({name: _pair(name) for name in NAMES if name != "jensenshannon"})


@for_traced(_theirs)
def jensenshannon(p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False) -> Value:
    """√((D(p|m) + D(q|m)) / 2) with m = (p + q) / 2, along an axis."""
    p, q = np.moveaxis(floating(p), axis, -1), np.moveaxis(floating(q), axis, -1)
    distance = metrics.jensenshannon(p, q, base)
    return np.expand_dims(distance, axis) if keepdims else distance


def _points(call: str, x: Any) -> Value:
    x = array(x).astype(np.float64)
    if x.ndim != 2:
        raise ValueError(f"{call}: a 2-dimensional array must be passed, got shape {x.shape}.")
    return x


def _chosen(call: str, metric: Any, points: Callable[[], Value], options: dict[str, Any]) -> Callable[..., Any]:
    """A metric of two stacks of points, with its options: variances are those of all points unless given."""
    if options.pop("out", None) is not None:
        raise UnsupportedError(f"{call}: out= cannot hold traced values. Use what {call} returns.")
    if not isinstance(metric, str):
        raise TypeError(f"{call}: 2nd argument metric must be a string identifier or a function.")
    name = CANONICAL.get(metric.lower())
    if name is None:
        raise ValueError(f"Unknown Distance Metric: {metric}")
    if name == "seuclidean" and options.get("V") is None:
        options["V"] = np.var(points(), axis=0, ddof=1)
    if name == "mahalanobis" and options.get("VI") is None:
        x = points()
        if x.shape[0] <= x.shape[1]:
            raise ValueError(
                f"The number of observations ({x.shape[0]}) is too small; the covariance matrix is singular. For "
                f"observations with {x.shape[1]} dimensions, at least {x.shape[1] + 1} observations are required."
            )
        gap = x - np.mean(x, axis=0)
        options["VI"] = np.linalg.inv(np.matmul(gap.T, gap) / (x.shape[0] - 1))
    options = {key: value for key, value in options.items() if value is not None}
    function = getattr(metrics, name)
    if name in BOOLEAN:
        return lambda u, v: function(metrics.truth(u), metrics.truth(v), **options)
    return lambda u, v: function(u, v, **options)


def _each_pair(metric: Callable[..., Any], pairs: Any, options: dict[str, Any]) -> Value:
    """A user function of each pair, in a list or in a list of lists."""
    if isinstance(pairs, tuple):
        return metric(*pairs, **options)
    return np.stack([_each_pair(metric, pair, options) for pair in pairs])


@for_traced(_theirs)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Value:  # noqa: N803
    """d[i, j], the distance of row i of XA from row j of XB."""
    a, b = _points("cdist", XA), _points("cdist", XB)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"cdist: XA and XB must have the same number of columns, got {a.shape[1]} and {b.shape[1]}.")
    if callable(metric):
        return _each_pair(metric, [[(u, v) for v in b] for u in a], kwargs)
    function = _chosen("cdist", metric, lambda: np.concatenate([a, b]), {"out": out, **kwargs})
    return function(np.expand_dims(a, 1), np.expand_dims(b, 0))


@for_traced(_theirs)
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Value:  # noqa: N803
    """The distances of rows i < j of X, in the order (0, 1), (0, 2), … (1, 2), …"""
    x = _points("pdist", X)
    first, second = np.triu_indices(x.shape[0], 1)
    if callable(metric):
        return _each_pair(metric, [(x[i], x[j]) for i, j in zip(first, second, strict=True)], kwargs)
    return _chosen("pdist", metric, lambda: x, {"out": out, **kwargs})(x[first], x[second])


@for_traced(_theirs)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Value:  # noqa: N803
    """The symmetric matrix of the distances of pairs, with a diagonal of zeros, from their vector; or back."""
    x = array(X)
    for word, ndim, kind in (("tomatrix", 1, "vector"), ("tovector", 2, "matrix")):
        if force.lower() == word and x.ndim != ndim:
            raise ValueError(f"Forcing {word!r} but input X is not a distance {kind}.")
    if x.ndim == 1:
        n = (1 + math.isqrt(1 + 8 * x.shape[0])) // 2
        if n * (n - 1) != 2 * x.shape[0]:
            raise ValueError(
                "Incompatible vector size. It must be a binomial coefficient n choose 2 for some integer n >= 2."
            )
        if n < 2:
            return np.zeros((1, 1), x.dtype)
        index = np.zeros((n, n), int)
        index[np.triu_indices(n, 1)] = np.arange(x.shape[0])
        return np.where(np.eye(n, dtype=bool), x.dtype.type(0), x[index + index.T])
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError(f"squareform: needs a vector or a square matrix, got shape {x.shape}.")
    if checks:
        demand(x == x.T, "Distance matrix 'X' must be symmetric.")
        demand(np.diagonal(x) == 0, "Distance matrix 'X' diagonal must be zero.")
    return x[np.triu_indices(x.shape[0], 1)]


@for_traced(_theirs)
def directed_hausdorff(u: Any, v: Any, rng: Any = 0, **seed: Any) -> tuple[Value, Any, Any]:
    """max over the rows of u of the distance to the nearest row of v, and the indices of both rows."""
    u, v = _points("directed_hausdorff", u), _points("directed_hausdorff", v)
    table = metrics.euclidean(np.expand_dims(u, 1), np.expand_dims(v, 0))
    nearest = np.argmin(table, axis=1)
    gaps = np.take_along_axis(table, np.expand_dims(nearest, 1), axis=1)[:, 0]
    at = np.argmax(gaps)
    return gaps[at], at, nearest[at]


def _question(name: str) -> Callable[..., Any]:
    """A question about values, answered for those that a traced value stands for; shapes are always known."""
    theirs = getattr(_theirs, name)

    def answer(x: Any, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("num_obs"):
            return theirs(np.zeros(array(x).shape), *args, **kwargs)
        value = primal(array(x))
        if isinstance(value, Tracer):
            raise ControlFlowError(
                f"{name} answers with a plain truth value, but the values are not known while a program is recorded or "
                "batch elements run together. Ask outside of ad.jit and ad.vmap, or compare arrays: np.all(d == d.T)."
            )
        return theirs(value, *args, **kwargs)

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = f"{(theirs.__doc__ or name).strip().splitlines()[0]} (scipy.spatial.distance.{name})"
    return for_traced(_theirs)(answer)


globals().update({name: _question(name) for name in QUESTIONS})

"""Distances between vectors, along the last axis of arrays that broadcast: what pairs and tables of pairs share."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from adjoint.program.types import Value
from adjoint.scipy.arguments import array, constant, demand, floating, ratio

# canonical name -> other names that SciPy takes
NAMES = {
    "braycurtis": "",
    "canberra": "",
    "chebyshev": "chebychev cheby cheb ch",
    "cityblock": "cblock cb c",
    "correlation": "co",
    "cosine": "cos",
    "dice": "",
    "euclidean": "euclid eu e",
    "hamming": "matching hamm ha h",
    "jaccard": "jacc ja j",
    "jensenshannon": "js",
    "mahalanobis": "mahal mah",
    "minkowski": "mi m pnorm",
    "rogerstanimoto": "",
    "russellrao": "",
    "seuclidean": "se s",
    "sokalsneath": "",
    "sqeuclidean": "sqe sqeuclid",
    "yule": "",
}
CANONICAL = {alias: name for name, others in NAMES.items() for alias in (name, *others.split())}
BOOLEAN = {"dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule"}  # in tables they compare with zero first


def root(x: Value, power: float = 0.5) -> Value:
    """x to a power below one, with derivative 0 where x is 0: as that of the norm of a zero vector."""
    zero = x == 0
    return np.where(zero, 0.0, np.where(zero, 1.0, x) ** power)


def weights(w: Any) -> Value:
    """Weights of the elements: none is negative."""
    w = floating(w)
    demand(w >= 0, "Input weights should be all non-negative")
    return w


def total(x: Value, w: Any) -> Value:
    """Σ w x along the last axis."""
    return np.sum(x if w is None else weights(w) * x, axis=-1)


def minkowski(u: Value, v: Value, p: Any = 2, w: Any = None) -> Value:
    """(Σ w |u - v|ᵖ)^(1/p); the largest |u - v| for p = ∞."""
    constant("minkowski", p=p)
    if p <= 0:
        raise ValueError("p must be greater than 0")
    if w is None:
        return np.linalg.norm(u - v, ord=p, axis=-1)
    if p == np.inf:
        return chebyshev(u, v, w)
    gap = np.abs(u - v)
    return total(gap, w) if p == 1 else root(total(gap * gap if p == 2 else gap**p, w), 1.0 / p)


def euclidean(u: Value, v: Value, w: Any = None) -> Value:
    """√(Σ w (u - v)²)."""
    return minkowski(u, v, 2, w)


def sqeuclidean(u: Value, v: Value, w: Any = None) -> Value:
    """Σ w (u - v)²."""
    return total((u - v) ** 2, w)


def correlation(u: Value, v: Value, w: Any = None, centered: bool = True) -> Value:
    """1 - (u - ū)·(v - v̄) / (|u - ū| |v - v̄|)."""
    if w is not None:
        w = weights(w)
        w = w / np.sum(w)
    if centered:
        mean = lambda x: np.mean(x, axis=-1, keepdims=True) if w is None else np.sum(w * x, axis=-1, keepdims=True)
        u, v = u - mean(u), v - mean(v)
    share = 1.0 if w is None else w
    uv, uu, vv = np.sum(u * v * share, axis=-1), np.sum(u * u * share, axis=-1), np.sum(v * v * share, axis=-1)
    return np.clip(1.0 - uv / np.sqrt(uu * vv), 0.0, 2.0)


def cosine(u: Value, v: Value, w: Any = None) -> Value:
    """1 - u·v / (|u| |v|)."""
    return correlation(u, v, w, centered=False)


def seuclidean(u: Value, v: Value, V: Any) -> Value:  # noqa: N803
    """√(Σ (u - v)² / V)."""
    return root(np.sum((u - v) ** 2 / floating(V), axis=-1))


def cityblock(u: Value, v: Value, w: Any = None) -> Value:
    """Σ w |u - v|."""
    return total(np.abs(u - v), w)


def mahalanobis(u: Value, v: Value, VI: Any) -> Value:  # noqa: N803
    """√((u - v)ᵀ VI (u - v))."""
    gap, inverse = u - v, floating(VI)
    inverse = np.reshape(inverse, (1, 1)) if inverse.ndim == 0 else inverse
    return root(np.sum(np.matmul(gap, inverse) * gap, axis=-1))


def chebyshev(u: Value, v: Value, w: Any = None) -> Value:
    """max |u - v|, over the elements whose weight is not 0."""
    gap = np.abs(u - v)
    return np.max(gap if w is None else np.where(weights(w) > 0, gap, 0.0), axis=-1)


def braycurtis(u: Value, v: Value, w: Any = None) -> Value:
    """Σ w |u - v| / Σ w |u + v|."""
    return total(np.abs(u - v), w) / total(np.abs(u + v), w)


def canberra(u: Value, v: Value, w: Any = None) -> Value:
    """Σ w |u - v| / (|u| + |v|), where an element that is 0 in both counts nothing."""
    return total(ratio(np.abs(u - v), np.abs(u) + np.abs(v)), w)


def jensenshannon(p: Value, q: Value, base: Any = None) -> Value:
    """√((D(p|m) + D(q|m)) / 2) with m = (p + q) / 2, for p and q that are scaled to sum 1."""
    p, q = p / np.sum(p, axis=-1, keepdims=True), q / np.sum(q, axis=-1, keepdims=True)
    m = (p + q) / 2.0
    js = np.sum(scipy.special.rel_entr(p, m) + scipy.special.rel_entr(q, m), axis=-1)
    return root((js if base is None else js / np.log(base)) / 2.0)


def hamming(u: Value, v: Value, w: Any = None) -> Value:
    """The share of the elements that differ, by weight; constant in u and v."""
    differs = (u != v).astype(np.float64)
    if w is None:
        return np.mean(differs, axis=-1)
    w = weights(w)
    return np.sum(differs * (w / np.sum(w)), axis=-1)


def jaccard(u: Value, v: Value, w: Any = None) -> Value:
    """Of the elements that are not 0 in both, the share that is 0 in one, by weight; constant in u and v."""
    u, v = u != 0, v != 0
    return ratio(total((u != v).astype(np.float64), w), total(np.logical_or(u, v).astype(np.float64), w))


def _counts(u: Value, v: Value, w: Any) -> tuple[Value, Value, Value, Value]:
    """How many pairs of truth values are both false, false and true, true and false, both true; by weight."""
    no_u, no_v = 1.0 - u, 1.0 - v
    return total(no_u * no_v, w), total(no_u * v, w), total(u * no_v, w), total(u * v, w)


def yule(u: Value, v: Value, w: Any = None) -> Value:
    """2 tf ft / (tt ff + tf ft), of counts of pairs of truth values."""
    ff, ft, tf, tt = _counts(u, v, w)
    return ratio(2.0 * tf * ft, np.where(tf * ft == 0, 0.0, tt * ff + tf * ft))


def dice(u: Value, v: Value, w: Any = None) -> Value:
    """(tf + ft) / (2 tt + tf + ft), of counts of pairs of truth values."""
    _, ft, tf, tt = _counts(u, v, w)
    return (tf + ft) / (2.0 * tt + tf + ft)


def rogerstanimoto(u: Value, v: Value, w: Any = None) -> Value:
    """2 (tf + ft) / (tt + ff + 2 (tf + ft)), of counts of pairs of truth values."""
    ff, ft, tf, tt = _counts(u, v, w)
    return 2.0 * (tf + ft) / (tt + ff + 2.0 * (tf + ft))


def russellrao(u: Value, v: Value, w: Any = None) -> Value:
    """(n - tt) / n, of counts of pairs of truth values; n is the weight of all."""
    n = float(u.shape[-1]) if w is None else np.sum(weights(w))
    return (n - total(u * v, w)) / n


def sokalsneath(u: Value, v: Value, w: Any = None) -> Value:
    """2 (tf + ft) / (tt + 2 (tf + ft)), of counts of pairs of truth values."""
    _, ft, tf, tt = _counts(u, v, w)
    whole = tt + 2.0 * (tf + ft)
    demand(whole != 0, "Sokal-Sneath dissimilarity is not defined for vectors that are entirely false.")
    return 2.0 * (tf + ft) / whole


def truth(x: Any) -> Value:
    """Whether each number is not 0, as 0.0 and 1.0."""
    return (array(x) != 0).astype(np.float64)

"""Steps whose results depend on an order or on which elements there are: sorts, searches, masks, draws, spectra."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import scipy.special

import adjoint as ad
from tests.random_programs.steps import Pool, Step, an_axis, cast, pick


def _written_where(x: Any) -> Any:
    y = x.copy()
    y[x > 0.2] = y[x > 0.2] * 0.5
    return y


def _added_where(x: Any) -> Any:
    y = x * 1.0
    y[x < 0.3] += np.sum(x)
    return y


def an_order(r: Random, pool: Pool) -> Step:
    i = pick(r, pool, ndim=1, kinds="fiu")
    x = pool[i]
    axis, j = an_axis(r, x), pick(r, pool, kinds="f")
    if not x.shape[axis]:
        raise ValueError("nothing to sort")
    at = r.randrange(x.shape[axis])
    q = r.choice([0.0, 0.3, 0.5, 1.0])
    forms: dict[str, Callable[[Any, Any], Any]] = {
        "sort": lambda x, y: np.sort(x, axis=axis),
        "argsort": lambda x, y: np.argsort(x, axis=axis, kind="stable"),
        "ordered": lambda x, y: np.take_along_axis(np.sin(x), np.argsort(x, axis=axis, kind="stable"), axis),
        "partition": lambda x, y: np.take(np.partition(x, at, axis=axis), at, axis=axis),
        "smallest": lambda x, y: np.sort(x, axis=axis)[..., :1],
        "argpartition": lambda x, y: np.take_along_axis(
            x, np.take(np.argpartition(x, at, axis=axis), [at], axis=axis), axis
        ),
        "searchsorted": lambda x, y: np.searchsorted(np.sort(np.ravel(x)), y),
        "searchsorted right": lambda x, y: np.searchsorted(np.sort(np.ravel(x)), y, side="right") * 0.5,
        "digitize": lambda x, y: np.digitize(y, np.linspace(-1.0, 1.0, 4)),
        "median": lambda x, y: np.median(x, axis=axis),
        "quantile": lambda x, y: np.quantile(x * 1.0, q, axis=axis),
        "interp": lambda x, y: np.interp(y, np.sort(np.ravel(x)) * 1.0, np.cos(np.ravel(x))),
        "lexsort": lambda x, y: np.ravel(x)[np.lexsort((np.ravel(x), np.round(np.ravel(x))))],
        "rank": lambda x, y: np.argsort(np.argsort(np.ravel(x), kind="stable"), kind="stable"),
        "cummax": lambda x, y: np.maximum.accumulate(x, axis=axis),
    }
    name = r.choice(sorted(forms))
    return Step(f"{name} of x{i} along {axis} at {at}, {q}; x{j}", lambda p: forms[name](p[i], p[j]))


def a_selection(r: Random, pool: Pool) -> Step:
    """Which elements there are depends on the numbers: sums over them, and assignment by them."""
    i = pick(r, pool, ndim=1, kinds="fiu")
    forms: dict[str, Callable[[Any], Any]] = {
        "sum where": lambda x: np.sum(x[x > 0.1]),
        "log where": lambda x: np.log(x[x > 0.5]).sum(),
        "squares where": lambda x: np.sum(np.sin(x[x < 0.4]) ** 2),
        "product where": lambda x: x[x > 0.0] @ np.cos(x[x > 0.0]) if x.ndim == 1 else np.sum(x[x > 0.0] ** 2),
        "sorted where": lambda x: np.sum(np.sort(x[x > -0.5]) * 0.5),
        "where nothing": lambda x: np.sum(x[x > 1e6]),
        "nonzero": lambda x: np.sum(x[np.nonzero(x > 0)]),
        "flatnonzero": lambda x: np.sum(np.flatnonzero(x > 0)),
        "positions": lambda x: np.sum(np.ravel(x)[np.where(np.ravel(x) > 0.2)[0]] * 2.0),
        "unique": lambda x: np.sum(np.sin(np.unique(np.round(x)))),
        "unique values": lambda x: np.sum(np.unique(x) ** 2),
        "how many": lambda x: np.count_nonzero(x > 0.3),
        "written where": _written_where,
        "added where": _added_where,
        "mean where": lambda x: np.mean(np.append(np.ravel(x), 1.0)[np.append(np.ravel(x), 1.0) > 0]),
    }
    name = r.choice(sorted(forms))
    return Step(f"{name} of x{i}", lambda p: forms[name](p[i]))


def a_draw(r: Random, pool: Pool) -> Step:
    """Random numbers of the generator that belongs to an integer, with parameters that are traced."""
    i, j, seed = pick(r, pool, kinds="fiu"), pick(r, pool, kinds="f"), r.randrange(9)
    rng = ad.random.default_rng(seed)
    forms: dict[str, Callable[[Any, Any], Any]] = {
        "normal": lambda g, y: g.normal(np.tanh(y), 0.5),
        "uniform": lambda g, y: g.uniform(-1.0, 1.0 + y * y, size=np.shape(y)),
        "exponential": lambda g, y: g.exponential(0.5 + y * y),
        "random": lambda g, y: g.random(3) * y.ravel()[0],
        "integers": lambda g, y: g.integers(0, 7, size=4),
        "permuted": lambda g, y: g.permutation(np.ravel(y)),
        "laplace": lambda g, y: g.laplace(y, 0.3),
        "normal float32": lambda g, y: g.standard_normal(3, dtype=np.float32),
    }
    name = r.choice(sorted(forms))
    return Step(
        f"{name} with x{j}, generator {seed} at x{i}",
        lambda p: forms[name](rng.at(np.abs(cast(np.sum(p[i]), "int64"))), p[j]),
    )


def a_spectrum(r: Random, pool: Pool) -> Step:
    i = pick(r, pool, ndim=1, kinds="fc")
    axis, n = an_axis(r, pool[i]), r.choice([None, None, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 30])
    if not pool[i].shape[axis]:
        raise ValueError("nothing to transform")
    forms: dict[str, Callable[[Any], Any]] = {
        "fft": lambda x: np.fft.fft(x, n=n, axis=axis),
        "power": lambda x: np.abs(np.fft.fft(x, n=n, axis=axis)) ** 2,
        "ifft": lambda x: np.fft.ifft(x, n=n, axis=axis),
        "rfft": lambda x: np.fft.rfft(np.real(x), n=n, axis=axis),
        "irfft": lambda x: np.fft.irfft(x, n=n or 4, axis=axis),
        "filtered": lambda x: np.real(np.fft.ifft(np.fft.fft(x, axis=axis) * 0.5, axis=axis)),
        "fft2": lambda x: np.real(np.fft.fft2(np.atleast_2d(x))),
        "convolve": lambda x: np.convolve(np.ravel(x), np.ravel(x)[:3], mode="same"),
        "logsumexp": lambda x: scipy.special.logsumexp(np.real(x), axis=axis),
    }
    name = r.choice(sorted(forms))
    return Step(f"{name} of x{i} along {axis}, n={n}", lambda p: forms[name](p[i]))

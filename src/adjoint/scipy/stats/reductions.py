"""How statistics are taken along axes: the samples stand along the last one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from adjoint.base.errors import UnsupportedError
from adjoint.program.types import Value
from adjoint.scipy.arguments import demand, floating, for_traced

Statistic = Callable[..., Any]


def gathered(x: Value, axis: Any) -> Value:
    """x with one axis, several, or all of them (None) put together at the end."""
    if axis is None:
        return np.reshape(x, (-1,))
    axes = tuple(a % x.ndim for a in (axis if isinstance(axis, tuple) else (axis,)))
    x = np.moveaxis(x, axes, tuple(range(-len(axes), 0)))
    return np.reshape(x, (*x.shape[: x.ndim - len(axes)], -1)) if len(axes) != 1 else x


def kept(result: Value, ndim: int, axis: Any) -> Value:
    """A result with axes of length 1 where the samples were."""
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return np.expand_dims(result, tuple(sorted(a % ndim for a in axes)))


def check_policy(call: str, nan_policy: str, *samples: Value) -> None:
    """What is done about NaN: "propagate" lets it through, "raise" looks for it."""
    if nan_policy not in ("propagate", "raise", "omit"):
        raise ValueError("nan_policy must be one of {'propagate', 'raise', 'omit'}.")
    if nan_policy == "omit":
        raise UnsupportedError(
            f"{call}: nan_policy='omit' has no derivative rule here. Select the samples before, or give weights of 0: "
            "np.where(np.isnan(x), 0.0, x)."
        )
    if nan_policy == "raise":
        for x in samples:
            demand(~np.isnan(x), "The input contains nan values")


def statistic(samples: int = 1, axis: int | None = 0, order: bool = False) -> Callable[[Statistic], Statistic]:
    """A function of SciPy from one of samples along the last axis.

    Its first `samples` arguments are such, and what is called `weights`. The function gets axis=, nan_policy= and
    keepdims=, in the order of SciPy's own, and is SciPy's for plain values. One that looks at the `order` of samples
    loses NaN: it is put back.
    """

    def choose(function: Statistic) -> Statistic:
        call = function.__name__
        theirs = getattr(scipy.stats, call, function)
        signature = inspect.signature(theirs)

        @functools.wraps(function)
        def reduced(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            options = dict(bound.arguments)
            along, keepdims = options.pop("axis", axis), options.pop("keepdims", False)
            policy = options.pop("nan_policy", "propagate")
            names = list(signature.parameters)[:samples]
            given = [floating(options.pop(name)) for name in names]
            given = list(np.broadcast_arrays(*given)) if samples > 1 else given
            ndim = max(1, given[0].ndim)
            given = [np.reshape(x, (1,)) if x.ndim == 0 else x for x in given]
            check_policy(call, policy, *given)
            if options.get("weights") is not None:
                weights = np.broadcast_to(floating(options["weights"]), given[0].shape)
                options["weights"] = gathered(weights, along)
            given = [gathered(x, along) for x in given]
            result = function(*given, **options)
            if order:
                missing = functools.reduce(np.logical_or, [np.any(np.isnan(x), axis=-1) for x in given])
                result = np.where(missing, np.nan, result)
            return kept(result, ndim, along) if keepdims else result

        reduced.__signature__ = signature  # type: ignore[attr-defined]
        return for_traced(scipy.stats)(reduced)

    return choose


def mean(x: Value, weights: Value | None = None) -> Value:
    """Σ w x / Σ w along the last axis."""
    return np.mean(x, axis=-1) if weights is None else np.sum(weights * x, axis=-1) / np.sum(weights, axis=-1)


def centered(x: Value) -> Value:
    """x minus its mean along the last axis."""
    return x - np.mean(x, axis=-1, keepdims=True)

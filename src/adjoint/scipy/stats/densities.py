"""The distributions of scipy.stats for traced points and parameters: densities, distribution functions, quantiles.

SciPy writes the standard form of each distribution with NumPy's functions and those of scipy.special, which take traced
values; with z = (x - loc) / scale

    log p(x) = log p₀(z) - log scale        F(x) = F₀(z)        F⁻¹(q) = loc + scale F₀⁻¹(q)

Outside of the support, and for parameters that are not allowed, the formula is evaluated at a harmless position, so
that no derivative there is nan. What SciPy computes by quadrature or by searching for a root is refused.
"""

# pyright: basic

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import TraceError, UnsupportedError
from adjoint.base.source import describe, here
from adjoint.scipy.arguments import array

# for each method: what SciPy's class has to state itself, one of them
_STATED = {
    "logpdf": ("_logpdf", "_pdf"), "pdf": ("_pdf", "_logpdf"),
    "logpmf": ("_logpmf", "_pmf"), "pmf": ("_pmf", "_logpmf"),
    "cdf": ("_cdf",), "logcdf": ("_logcdf", "_cdf"), "sf": ("_sf", "_cdf"), "logsf": ("_logsf", "_sf", "_cdf"),
    "ppf": ("_ppf",), "isf": ("_isf", "_ppf"),
}  # fmt: skip
METHODS = frozenset(_STATED)
_BELOW = {"logpdf": -np.inf, "pdf": 0.0, "logpmf": -np.inf, "pmf": 0.0}
_EDGES = {"cdf": (0.0, 1.0), "logcdf": (-np.inf, 0.0), "sf": (1.0, 0.0), "logsf": (0.0, -np.inf)}


class Distribution:
    """A distribution of scipy.stats, with parameters that are kept or none; `call` calls a method of SciPy's."""

    def __init__(
        self, theirs: Any, call: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> None:
        self.theirs, self.call, self.args, self.kwargs = theirs, call, args, kwargs or {}

    def __call__(self, *args: Any, **kwargs: Any) -> Distribution:
        return Distribution(self.theirs, self.call, args, kwargs)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in METHODS:
            raise AttributeError(name)
        return lambda x, *args, **kwargs: self._method(name, x, *self.args, *args, **{**self.kwargs, **kwargs})

    def _method(self, name: str, x: Any, *args: Any, **kwargs: Any) -> Any:
        shapes, loc, scale = self.theirs._parse_args(*args, **kwargs)
        shapes, loc, scale = [array(s) for s in shapes], array(loc), array(scale)
        compute = self._formula(name)
        allowed = scale > 0
        if shapes:
            allowed = allowed & self._allows(shapes)
            shapes = [np.where(allowed, s, 1.0) for s in shapes]
        scale = np.where(allowed, scale, 1.0)
        low, high = self.call(self.theirs._get_support, *shapes)
        if name in ("ppf", "isf"):
            return self._quantile(compute, array(x), shapes, loc, scale, allowed, (low, high), name)
        z = (array(x) - loc) / scale
        if name in _BELOW:
            inside = (z >= low) & (z <= high)
            if name.endswith("pmf"):
                inside = inside & (np.floor(z) == z)
        else:
            inside = (z > low) & (z < high) if not self._is_discrete else (z >= low) & (z < high)
        value = compute(np.where(inside & allowed, z, _between(low, high)), *shapes)
        if name.endswith("pdf"):
            value = value - np.log(scale) if name == "logpdf" else value / scale
        if name in _BELOW:
            outside: Any = _BELOW[name]
        else:
            outside = np.where(z <= low, *_EDGES[name])
        value = np.where(inside, value, np.where(np.isnan(z), np.nan, outside))
        return np.where(allowed, value, np.nan)

    def _quantile(
        self, compute: Any, q: Any, shapes: Any, loc: Any, scale: Any, allowed: Any, ends: Any, name: str
    ) -> Any:
        inside = (q > 0) & (q < 1)
        z = compute(np.where(inside, q, 0.5), *shapes)
        first, last = ends if name == "ppf" else ends[::-1]
        z = np.where(inside, z, np.where(q == 0, first, np.where(q == 1, last, np.nan)))
        return np.where(allowed, loc + scale * z, np.nan)

    @property
    def _is_discrete(self) -> bool:
        return hasattr(self.theirs, "_pmf")

    def _allows(self, shapes: list[Any]) -> Any:
        if self._states("_argcheck"):
            return self.call(self.theirs._argcheck, *shapes)
        return functools.reduce(np.logical_and, [s > 0 for s in shapes])

    def _states(self, name: str) -> bool:
        """Whether SciPy's class has a formula of its own."""
        import scipy.stats

        base = scipy.stats.rv_discrete if self._is_discrete else scipy.stats.rv_continuous
        return getattr(type(self.theirs), name, None) is not getattr(base, name, None)

    def _formula(self, name: str) -> Callable[..., Any]:
        """What SciPy's class states for a method, or what follows from it: the first that takes traced values."""
        stated = [n for n in _STATED[name] if self._states(n)]

        def compute(z: Any, *shapes: Any) -> Any:
            problem: Exception | None = None
            for one in stated:
                try:
                    rule = functools.partial(self.call, getattr(self.theirs, one))
                    return _derived(name, one, rule)(z, *shapes)
                except (TraceError, UnsupportedError) as refused:
                    problem = problem or refused
            raise UnsupportedError(
                f"scipy.stats.{self.theirs.name}.{name} of a traced value, at {describe(here())}: SciPy has no formula "
                "for it that takes traced values. Write it with np and scipy.special."
            ) from problem

        return compute


def _derived(name: str, stated: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a distribution, from what is stated."""
    if stated == f"_{name}":
        return rule
    if name.startswith("log") and stated == f"_{name[3:]}":
        return lambda z, *shapes: np.log(rule(z, *shapes))
    if stated == f"_log{name}":
        return lambda z, *shapes: np.exp(rule(z, *shapes))
    if stated == "_ppf":
        return lambda q, *shapes: rule(1.0 - q, *shapes)
    complement = lambda z, *shapes: 1.0 - rule(z, *shapes)
    return complement if name == "sf" else lambda z, *shapes: np.log(complement(z, *shapes))


def _between(low: Any, high: Any) -> Any:
    """A position inside a support."""
    low, high = array(low), array(high)
    below, above = np.isfinite(low), np.isfinite(high)
    first, last = np.where(below, low, 0.0), np.where(above, high, 0.0)
    both = np.where(above, (first + last) / 2, first + 1.0)
    return np.where(below, both, np.where(above, last - 1.0, 0.0))

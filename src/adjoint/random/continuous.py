"""Continuous distributions: standard draws, which have no derivative, moved and stretched by functions which have one.

With u uniform in (0, 1), z = Φ⁻¹(u) normal and e = -log u exponential, a draw is a smooth function of its parameters
for a fixed u: loc + scale z, scale e^(1/a), … So derivatives of draws are derivatives along the same noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.program.types import Value
from adjoint.random.parameters import delivered, float_type, frozen, numbers, require, shape_of
from adjoint.random.rejection import RandomGamma
from adjoint.random.stream import Stream

NO_SHAPE_DERIVATIVE = (
    "draws by rejection do not tell how they move with it: their derivative in the shape is not implemented."
)


class Continuous(Stream):
    """Draws of real numbers."""

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Value:
        """Uniform numbers in [0, 1): the leading 53 bits (float32: 24) of a word, exact."""
        return delivered("random", self._standard("random", "uniform", _shape("random", size, out), dtype), out)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Value:
        """low + (high - low) u, u in [0, 1)."""
        low, high = numbers("uniform", low=low, high=high)
        require("uniform", "high - low", high - low, "not negative")
        return low + (high - low) * self._standard("uniform", "uniform", shape_of("uniform", size, low, high))

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Value:
        """z = Φ⁻¹(u)."""
        drawn = self._standard("standard_normal", "normal", _shape("standard_normal", size, out), dtype)
        return delivered("standard_normal", drawn, out)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Value:
        """loc + scale z."""
        return self._normal("normal", loc, scale, size)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Value:
        """exp(mean + sigma z)."""
        mean, sigma = numbers("lognormal", mean=mean, sigma=sigma)
        require("lognormal", "sigma", sigma, "not negative")
        return np.exp(mean + sigma * self._standard("lognormal", "normal", shape_of("lognormal", size, mean, sigma)))

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: str = "inv", out: Any = None
    ) -> Value:
        """e = -log u. `method` is here for NumPy's sake: the inverse is the only one."""
        shape = _shape("standard_exponential", size, out)
        return delivered("standard_exponential", self._exponential("standard_exponential", shape, dtype), out)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Value:
        """scale e."""
        (scale,) = numbers("exponential", scale=scale)
        require("exponential", "scale", scale, "not negative")
        return scale * self._exponential("exponential", shape_of("exponential", size, scale))

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Value:
        """loc + scale l, where l = log 2u below the median, -log 2(1-u) above."""
        loc, scale, u = self._located("laplace", loc, scale, size)
        return loc + scale * np.where(u < 0.5, np.log(2.0 * u), -np.log(2.0 - 2.0 * u))

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Value:
        """loc + scale log(u / (1-u))."""
        loc, scale, u = self._located("logistic", loc, scale, size)
        return loc + scale * np.log(u / (1.0 - u))

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Value:
        """loc - scale log e."""
        loc, scale, u = self._located("gumbel", loc, scale, size)
        return loc - scale * np.log(-np.log(u))

    def standard_cauchy(self, size: Any = None) -> Value:
        """tan π(u - ½)."""
        u = self._standard("standard_cauchy", "open_uniform", _shape("standard_cauchy", size))
        return np.tan(np.pi * (u - 0.5))

    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Value:
        """scale √(2e)."""
        (scale,) = numbers("rayleigh", scale=scale)
        require("rayleigh", "scale", scale, "not negative")
        return scale * np.sqrt(2.0 * self._exponential("rayleigh", shape_of("rayleigh", size, scale)))

    def weibull(self, a: Any, size: Any = None) -> Value:
        """e^(1/a)."""
        a, e = self._shaped("weibull", a, size)
        return e ** (1.0 / a)

    def pareto(self, a: Any, size: Any = None) -> Value:
        """exp(e/a) - 1: Pareto II, or Lomax, as in NumPy."""
        a, e = self._shaped("pareto", a, size)
        return np.expm1(e / a)

    def power(self, a: Any, size: Any = None) -> Value:
        """u^(1/a) = exp(-e/a)."""
        a, e = self._shaped("power", a, size)
        return np.exp(-e / a)

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Value:
        """The inverse of a distribution function that is quadratic on both sides of the mode."""
        left, mode, right = numbers("triangular", left=left, mode=mode, right=right)
        require("triangular", "mode - left", mode - left, "not negative")
        require("triangular", "right - mode", right - mode, "not negative")
        require("triangular", "right - left", right - left, "positive")
        u = self._standard("triangular", "open_uniform", shape_of("triangular", size, left, mode, right))
        width = right - left
        rising = left + np.sqrt(u * width * (mode - left))
        falling = right - np.sqrt((1.0 - u) * width * (right - mode))
        return np.where(u * width <= mode - left, rising, falling)

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Value:
        """Gamma numbers of scale 1, by rejection. Differentiating them in the shape is an error."""
        size = np.shape(out) if out is not None and size is None else size
        return delivered("standard_gamma", self._gamma("standard_gamma", "shape", shape, size, dtype), out)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Value:
        """scale times a standard gamma number; differentiable in the scale."""
        shape, scale = numbers("gamma", shape=shape, scale=scale)
        require("gamma", "scale", scale, "not negative")
        return scale * self._gamma("gamma", "shape", shape, shape_of("gamma", size, shape, scale))

    def chisquare(self, df: Any, size: Any = None) -> Value:
        """Twice a standard gamma number of shape df / 2."""
        (df,) = numbers("chisquare", df=df)
        require("chisquare", "df", df, "positive")
        return 2.0 * self._gamma("chisquare", "df", df / 2.0, size)

    def f(self, dfnum: Any, dfden: Any, size: Any = None) -> Value:
        """The ratio of two chi-square numbers, each divided by its degrees of freedom."""
        dfnum, dfden = numbers("f", dfnum=dfnum, dfden=dfden)
        require("f", "dfnum", dfnum, "positive")
        require("f", "dfden", dfden, "positive")
        shape = shape_of("f", size, dfnum, dfden)
        above, below = (
            self._gamma("f", name, df / 2.0, shape, logarithm=True) for name, df in (("dfnum", dfnum), ("dfden", dfden))
        )
        return np.exp(above - below) * (dfden / dfnum)

    def standard_t(self, df: Any, size: Any = None) -> Value:
        """z √(df / χ²)."""
        (df,) = numbers("standard_t", df=df)
        require("standard_t", "df", df, "positive")
        shape = shape_of("standard_t", size, df)
        z = self._standard("standard_t", "normal", shape)
        return z * np.sqrt(df / (2.0 * self._gamma("standard_t", "df", df / 2.0, shape)))

    def beta(self, a: Any, b: Any, size: Any = None) -> Value:
        """x / (x + y) of two gamma numbers, from their logarithms. Differentiating it is an error."""
        a, b = numbers("beta", a=a, b=b)
        require("beta", "a", a, "positive")
        require("beta", "b", b, "positive")
        shape = shape_of("beta", size, a, b)
        x, y = (self._gamma("beta", name, p, shape, logarithm=True) for name, p in (("a", a), ("b", b)))
        top = np.maximum(x, y)
        x, y = np.exp(x - top), np.exp(y - top)
        return x / (x + y)

    def dirichlet(self, alpha: Any, size: Any = None) -> Value:
        """Gamma numbers divided by their sum, along the last axis. Differentiating them is an error."""
        (alpha,) = numbers("dirichlet", alpha=alpha)
        if np.ndim(alpha) != 1 or np.shape(alpha)[0] == 0:
            raise ShapeError(f"dirichlet: alpha must be a vector; it has shape {np.shape(alpha)}.")
        require("dirichlet", "alpha", alpha, "positive")
        shape = (*_shape("dirichlet", size), *np.shape(alpha))
        x = self._gamma("dirichlet", "alpha", alpha, shape, logarithm=True)
        x = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return x / np.sum(x, axis=-1, keepdims=True)

    def multivariate_normal(self, mean: Any, cov: Any, size: Any = None, *, method: str = "cholesky") -> Value:
        """mean + L z with L Lᵀ = cov, differentiable in both. The size stands in front of the vectors.

        `method` is "cholesky", which needs a positive definite covariance; "eigh" and "svd" take a singular one, too.
        """
        mean, cov = numbers("multivariate_normal", mean=mean, cov=cov)
        n = np.shape(mean)[-1] if np.ndim(mean) == 1 else None
        if n is None or np.shape(cov) != (n, n):
            raise ShapeError(
                "multivariate_normal: mean must be a vector and cov a square matrix of its size; "
                f"got {np.shape(mean)} and {np.shape(cov)}."
            )
        z = self._standard("multivariate_normal", "normal", (*_shape("multivariate_normal", size), n))
        return mean + np.matmul(z, np.transpose(_root(cov, method)))

    def _normal(self, call: str, loc: Any, scale: Any, size: Any) -> Value:
        loc, scale = numbers(call, loc=loc, scale=scale)
        require(call, "scale", scale, "not negative")
        return loc + scale * self._standard(call, "normal", shape_of(call, size, loc, scale))

    def _located(self, call: str, loc: Any, scale: Any, size: Any) -> tuple[Value, Value, Value]:
        loc, scale = numbers(call, loc=loc, scale=scale)
        require(call, "scale", scale, "not negative")
        return loc, scale, self._standard(call, "open_uniform", shape_of(call, size, loc, scale))

    def _shaped(self, call: str, a: Any, size: Any) -> tuple[Value, Value]:
        (a,) = numbers(call, a=a)
        require(call, "a", a, "positive")
        return a, self._exponential(call, shape_of(call, size, a))

    def _exponential(self, call: str, shape: tuple[int, ...], dtype: Any = np.float64) -> Value:
        kind = float_type(call, dtype)
        e = -np.log(self._standard(call, "open_uniform", shape))
        return e if kind == np.float64 else e.astype(kind)  # 24 bits would be few for the tail

    def _gamma(
        self, call: str, name: str, a: Any, size: Any, dtype: Any = np.float64, *, logarithm: bool = False
    ) -> Value:
        (a,) = numbers(call, **{name: a})
        require(call, name, a, "not negative")
        a = frozen(call, name, a, NO_SHAPE_DERIVATIVE)
        return self._draw(call, RandomGamma(shape_of(call, size, a), float_type(call, dtype), logarithm), a)


def _shape(call: str, size: Any, out: Any = None) -> tuple[int, ...]:
    """The shape of a draw without parameters."""
    if out is None:
        return shape_of(call, size)
    if size is not None and shape_of(call, size) != np.shape(out):
        raise ShapeError(f"{call}: size={size} does not match out, whose shape is {np.shape(out)}.")
    return np.shape(out)


def _root(cov: Value, method: str) -> Value:
    """L with L Lᵀ = cov."""
    if method == "cholesky":
        return np.linalg.cholesky(cov)
    if method == "eigh":
        values, vectors = np.linalg.eigh(cov)
        return vectors * np.sqrt(np.maximum(values, 0.0))
    if method == "svd":
        left, values, _ = np.linalg.svd(cov)
        return left * np.sqrt(values)
    raise ValueError(f"multivariate_normal: method must be 'cholesky', 'eigh' or 'svd', not {method!r}.")

"""Flows: the map from y(t₀) to y(t₁) of an equation, its inverse, and the logarithm of its volume change.

    log |det ∂y(t₁)/∂y(t₀)| = ∫ tr ∂f/∂y dt

The trace is exact (one product for each number of y), or estimated from random signs ε as εᵀ ∂f ε (Hutchinson), with
part of it exact on a subspace (Hutch++). An estimate is drawn once for each path, so it is a smooth function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from adjoint.api.gradients import jvp, vmap
from adjoint.base.source import user_facing
from adjoint.integrate.derivative import detach
from adjoint.integrate.solving import solve
from adjoint.program.types import Value
from adjoint.random.generator import Generator

__all__ = ["Flow", "flow"]

TRACES = ("exact", "hutchinson", "hutch++")


@final
class Flow:
    """The map of a flow; made by `flow`. It has the methods of a bijector.

    ```python
    spin = ad.integrate.flow(lambda t, y: np.stack([-y[1], 0.5 * y[1]]), (0.0, 1.0))
    y, change = spin.forward_and_log_det(np.array([1.0, 2.0]))
    back, opposite = spin.inverse_and_log_det(y)
    np.round(back, 6), float(np.round(change, 6)), float(np.round(opposite, 6))  # → ([1.0, 2.0], 0.5, -0.5)
    ```
    """

    def __init__(
        self, f: Callable[..., Any], span: Any, args: Sequence[Any], trace: str, rng: Any, probes: int, options: Any
    ) -> None:  # fmt: skip
        self.f, self.span, self.args, self.trace = f, span, tuple(args), trace
        self.rng, self.probes, self.options = rng, probes, options

    def forward(self, x: Any) -> Value:
        """y(t₁) from y(t₀) = x."""
        return solve(self.f, self.span, x, args=self.args, **self.options).raise_if_failed().last

    def inverse(self, y: Any) -> Value:
        """y(t₀) from y(t₁) = y."""
        return solve(self.f, self.span[::-1], y, args=self.args, **self.options).raise_if_failed().last

    def forward_and_log_det(self, x: Any) -> tuple[Value, Value]:
        """y(t₁), and log |det ∂y(t₁)/∂x|."""
        return self._both(x, self.span)

    def inverse_and_log_det(self, y: Any) -> tuple[Value, Value]:
        """y(t₀), and log |det ∂y(t₀)/∂y|."""
        return self._both(y, self.span[::-1])

    def forward_log_det(self, x: Any) -> Value:
        """log |det ∂y(t₁)/∂x|."""
        return self.forward_and_log_det(x)[1]

    def inverse_log_det(self, y: Any) -> Value:
        """log |det ∂y(t₀)/∂y|."""
        return self.inverse_and_log_det(y)[1]

    def _both(self, x: Any, span: Any) -> tuple[Value, Value]:
        start = x if hasattr(x, "dtype") else np.asarray(x, float)
        size = int(np.prod(start.shape, dtype=int))
        signs = self._signs(size, start.dtype)

        def divergence(t: Value, y: Value, signs: Value, *args: Any) -> Value:
            shape = np.shape(y)
            pushed = lambda e: np.reshape(jvp(lambda y: self.f(t, y, *args), (y,), (np.reshape(e, shape),))[1], (-1,))
            many = lambda rows: vmap(pushed)(rows)
            if self.trace == "exact":
                return np.trace(many(np.eye(size, dtype=start.dtype)))
            if self.trace == "hutchinson":
                return np.sum(signs * many(signs)) / signs.shape[0]
            third = min(signs.shape[0] // 2, size)
            # the range of ∂f, about; the estimate is right on average for any Q, and so is its derivative with Q fixed,
            # which a ∂f of low rank has too
            Q = np.linalg.qr(detach([many(signs[:third]).T])[0])[0]
            inside = np.sum(Q.T * many(Q.T))
            rest = signs[third:] - (signs[third:] @ Q) @ Q.T
            return inside + np.sum(rest * many(rest)) / rest.shape[0]

        found = solve(
            self.f_with_signs, span, start, args=(signs, *self.args), integrand=divergence, **self.options
        ).raise_if_failed()
        return found.last, found.integrals

    def f_with_signs(self, t: Value, y: Value, signs: Value, *args: Any) -> Value:
        """f; the signs are for the trace."""
        return self.f(t, y, *args)

    def _signs(self, size: int, dtype: Any) -> Value:
        if self.trace == "exact":
            return np.zeros((0, size), dtype)
        count = self.probes if self.trace == "hutchinson" else max(2, self.probes)
        signs = (2 * self.rng.at(0).integers(0, 2, size=(count, size)) - 1).astype(dtype)
        if self.trace == "hutchinson":
            return signs
        # two rows of signs may be alike: then Q would have a column of rounding errors
        sketch = min(count // 2, size)
        normals = self.rng.at(1).standard_normal((sketch, size)).astype(dtype)
        return np.concatenate([normals, signs[sketch:]])


@user_facing
def flow(
    f: Callable[..., Any], span: Any, *, args: Sequence[Any] = (), trace: str = "exact", rng: Any = None,
    probes: int = 1, **options: Any,
) -> Flow:  # fmt: skip
    """The flow of y′ = f(t, y, *args) over a span, for arrays y: forwards, back, with log-determinants.

    `trace` says how the divergence of f is found: "exact", "hutchinson" or "hutch++" from `probes` random vectors of
    `rng`. The errors of the log-determinant follow the steps of y. `options` are those of `solve`.

    ```python
    A = np.array([[0.1, 0.5], [-0.3, 0.2]])
    linear = ad.integrate.flow(lambda t, y, A: A @ y, (0.0, 1.0), args=(A,))
    float(np.round(linear.forward_log_det(np.ones(2)), 9))  # → 0.3
    ```
    """
    if trace not in TRACES:
        raise ValueError(f"integrate.flow: trace is {trace!r}; it is {', '.join(map(repr, TRACES))}.")
    if trace != "exact" and not isinstance(rng, Generator):
        raise TypeError(f"integrate.flow: trace={trace!r} draws signs; give rng=ad.random.default_rng(seed).")
    if probes < 1:
        raise ValueError(f"integrate.flow: probes is {probes}; it must be positive.")
    return Flow(f, tuple(span), args, trace, rng, probes, options)

"""Taylor mode: power series instead of numbers, x(t) = x₀ + x₁ t + x₂ t² + …, pushed through each primitive.

Linear maps act on each coefficient, products are Cauchy products. Everything else states ż = push(x, z)·ẋ, and that is
a differential equation for the series of z: k zₖ = [push(x, z)·ẋ]ₖ₋₁. The right side is built once, out of *lazy*
series whose coefficients are computed on demand from lower ones and remembered, so a primitive of order K costs O(K²)
products. Equal expressions share one node: the partial of sin is cos, whose partial is minus the *same* sin, and the
recurrence closes by itself.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from threading import get_ident
from typing import Any

import numpy as np

from adjoint.program.op import Op
from adjoint.program.trace import Trace, Tracer
from adjoint.program.types import Value


class Known:
    """A series whose coefficients are given; None is zero, and so is everything beyond."""

    __slots__ = ("coefficients",)

    def __init__(self, coefficients: list[Value]) -> None:
        self.coefficients = coefficients

    def get(self, k: int) -> Value:
        return self.coefficients[k] if k < len(self.coefficients) else None


class DerivativeSeries:
    """The series of ẋ: its k-th coefficient is (k+1) xₖ₊₁."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def get(self, k: int) -> Value:
        term = self.of.get(k + 1)
        return None if term is None else term * (k + 1)


class Part:
    """One of the several results of a node."""

    __slots__ = ("of", "position")

    def __init__(self, of: Node, position: int) -> None:
        self.of, self.position = of, position

    def get(self, k: int) -> Value:
        terms = self.of.get(k)
        return None if terms is None else terms[self.position]


class Node:
    """The lazy series of op(xs)."""

    __slots__ = ("_rates", "coefficients", "op", "trace", "xs")

    def __init__(self, trace: Taylor, op: Op, xs: Sequence[Any]) -> None:
        self.trace, self.op, self.xs = trace, op, xs
        self.coefficients: list[Value] = [op(*[x.get(0) for x in xs])]
        self._rates: Any = None

    def get(self, k: int) -> Value:
        known = self.coefficients
        while len(known) <= k:
            known.append(self.op.coefficient(len(known), self.xs, self))
        return known[k]

    def rate(self, k: int) -> Value:
        """The k-th coefficient of ż = push(x, z)·ẋ."""
        if self._rates is None:
            self._rates = self.trace.rates_of(self)
        if self.op.several:
            return tuple(None if r is None else r.get(k) for r in self._rates)
        return self._rates[0].get(k) if self._rates[0] is not None else None


class TaylorTracer(Tracer):
    """A power series; `_value` is its constant term."""

    __slots__ = ("_series",)

    def __init__(self, trace: Taylor, series: Any) -> None:
        self._trace = trace
        self._series = series
        self._value = series.get(0)

    def has_tangent(self) -> bool:
        trace: Any = self._trace
        return any(self._series.get(k) is not None for k in range(1, trace.order + 1)) or super().has_tangent()

    def snapshot(self) -> TaylorTracer:
        return TaylorTracer(self._trace, self._series)  # type: ignore[arg-type]

    def _adopt(self, other: Value) -> None:
        mine = isinstance(other, TaylorTracer) and other._trace is self._trace
        self._series = other._series if mine else Known([other])
        self._value = self._series.get(0)


class Taylor(Trace):
    """Series up to and including t**order."""

    title = "Taylor mode"
    differentiates = True

    def __init__(self, order: int) -> None:
        super().__init__()
        self.order = order
        self._shared: dict[Any, Any] | None = None  # nodes made while a rule is being built, by expression

    def constant(self, value: Value) -> TaylorTracer:
        return TaylorTracer(self, Known([value]))

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        if get_ident() != self.thread:
            self.wrong_thread()
        if "jet" in op.stated:  # control flow maps Taylor mode over its own programs
            series = [self.coefficients(self._series_of(a)) for a in args]
            with self.reading() if op.closes else nullcontext():
                found = op.jet(series, self)
            return tuple(map(self._settle_series, found))
        if op.flat:
            z = op(*[self._series_of(a).get(0) for a in args])
            return tuple(map(self._settle, z)) if op.several else self._settle(z)
        if self._shared is not None:
            return self._lazily(op, [self._series_of(a) for a in args])
        self._shared = {}
        try:
            node = self._node(op, [self._series_of(a) for a in args])
            with np.errstate(all="ignore"):  # of the terms beyond the value, which NumPy has already commented on
                node.get(self.order)
            parts = node.coefficients
        finally:
            self._shared = None
        if not op.several:
            return self._settle_series(parts)
        return tuple(self._settle_series([None if c is None else c[j] for c in parts]) for j in range(len(parts[0])))

    def _series_of(self, value: Value) -> Any:
        """The series of an argument; equal constants share one while a rule is being built."""
        if isinstance(value, TaylorTracer) and value._trace is self:
            return value._series
        if self._shared is None:
            return Known([value])
        key: Any = (type(value), value) if type(value) in (int, float, complex) else ("constant", id(value))
        return self._shared.setdefault(key, Known([value]))

    def _node(self, op: Op, xs: Sequence[Any]) -> Node:
        assert self._shared is not None
        key = (op, tuple(map(id, xs)))
        node = self._shared.get(key)
        if node is None:
            node = self._shared[key] = Node(self, op, xs)
        return node

    def _lazily(self, op: Op, xs: Sequence[Any]) -> Value:
        node = self._node(op, xs)
        if op.several:
            return tuple(TaylorTracer(self, Part(node, j)) for j in range(len(node.get(0))))
        return TaylorTracer(self, node)

    def rates_of(self, node: Node) -> Sequence[Any]:
        """The series of ż, lazily, from the push of the node's primitive."""
        fixed = [isinstance(x, Known) and len(x.coefficients) == 1 for x in node.xs]
        xs = [x.get(0) if f else TaylorTracer(self, x) for x, f in zip(node.xs, fixed, strict=True)]
        several = node.op.several
        z = (
            tuple(TaylorTracer(self, Part(node, j)) for j in range(len(node.get(0))))
            if several
            else TaylorTracer(self, node)
        )
        derivatives = [
            None if f or x.dtype.kind not in "fc" else self._differentiate(x) for x, f in zip(xs, fixed, strict=True)
        ]
        if all(derivative is None for derivative in derivatives):  # rules may count on a tangent that is there
            return [None] * (len(z) if several else 1)  # pyright: ignore[reportArgumentType]
        with np.errstate(all="ignore"):
            dz = node.op.series_push(xs, z, derivatives)
        return [self._rate_series(d) for d in (dz if several else (dz,))]

    def _operand(self, series: Any) -> Value:
        """What a rule sees of an argument: a series, or the Python number that was given."""
        number = isinstance(series, Known) and type(series.coefficients[0]) in (bool, int, float, complex)
        return series.get(0) if number else TaylorTracer(self, series)

    def _differentiate(self, x: TaylorTracer) -> Value:
        derivative = DerivativeSeries(x._series)
        if derivative.get(0) is None:  # a tracer needs a constant term
            return TaylorTracer(self, _Padded(derivative, np.zeros(x.shape, x.dtype)))
        return TaylorTracer(self, derivative)

    def _rate_series(self, d: Value) -> Any:
        if d is None:
            return None
        return d._series if isinstance(d, TaylorTracer) and d._trace is self else Known([d])

    def _settle(self, z: Value) -> Value:
        return TaylorTracer(self, Known([z])) if type(z) is not bool and z.dtype.kind in "fc" else z

    def _settle_series(self, coefficients: list[Value]) -> Value:
        z = coefficients[0]
        return TaylorTracer(self, Known(coefficients)) if type(z) is not bool and z.dtype.kind in "fc" else z

    def series(self, coefficients: list[Value]) -> Value:
        """The value with these coefficients; None is zero."""
        return TaylorTracer(self, Known(coefficients))

    def coefficients_of(self, value: Value) -> list[Value]:
        """The coefficients of a value."""
        return self.coefficients(self._series_of(value))

    def coefficients(self, series: Any) -> list[Value]:
        """All coefficients up to the order; None is zero."""
        return [series.get(k) for k in range(self.order + 1)]


class _Padded:
    """A series whose constant term is written out although it is zero."""

    __slots__ = ("of", "zero")

    def __init__(self, of: DerivativeSeries, zero: Value) -> None:
        self.of, self.zero = of, zero

    def get(self, k: int) -> Value:
        return self.zero if k == 0 else self.of.get(k)

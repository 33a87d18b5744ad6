"""The adjoint of a Stratonovich equation, solved backwards along the same noise, in constant memory.

    dy = f dt + g ∘ dW,   dλ = -(∂f)ᵀ λ dt - (∂g)ᵀ λ ∘ dW,   dμ = -(∂f/∂θ)ᵀ λ dt - (∂g/∂θ)ᵀ λ ∘ dW

With F(y, θ) = f h + g W all three are F and the pulled-back λ of F (Li, Wong, Chen, Duvenaud 2020). y is solved again
on the way back, so the gradient is that of the equation, up to the error of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast, final

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import scan
from adjoint.api.gradients import jvp, vjp
from adjoint.integrate.derivative import detach
from adjoint.integrate.stochastic.equation import Equation
from adjoint.integrate.stochastic.methods import Noise, StochasticMethod
from adjoint.ops.custom import Attach
from adjoint.program.types import Value, type_of
from adjoint.transform.custom import BatchedRule

__all__ = ["scan_backsolved"]


def scan_backsolved(
    method: StochasticMethod, equation: Equation, step: Any, state: Any, xs: Any, read: Callable[[Any], Value] | None
) -> tuple[Any, Value]:
    """The state after the steps, and y after each of them; with the derivative of the equation."""
    given, y0 = detach(tree.leaves(xs)), method.value(state)
    rule = _Rule(method, equation.with_theta([]), step, read is not None)
    out = rule.run([*given, *detach([y0, y0, *equation.theta])])
    out = Attach(rule, len(out))(*out, *given, *detach(out[:1]), y0, *equation.theta)
    return (out[0],), out[1] if read is not None else None


@final
class _Rule:
    """Inputs: xs (numbers, times, sizes of steps), y at the end, y at the start, θ."""

    title = "backsolve"

    def __init__(self, method: StochasticMethod, equation: Equation, step: Any, has_rows: bool) -> None:
        self.method, self.equation, self.step, self.has_rows = method, equation, step, has_rows

    def run(self, values: Sequence[Value]) -> list[Value]:
        """y at the end, and after each step."""
        theta = values[5:]

        def advance(state: Any, x: Any) -> Any:
            state = self.step(theta, x, state)
            return state, self.method.value(state) if self.has_rows else None

        start = self.method.start(self.equation.with_theta(theta), values[1][0], values[4])
        last, rows = scan(advance, start, tuple(values[:3]))
        y = self.method.value(last)
        return [y, rows] if self.has_rows else [y]

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        """The derivative of the steps."""
        moving = [i for i, dx in enumerate(dxs) if dx is not None and i > 3]
        if not moving:
            return [None] * (1 + self.has_rows)

        def whole(*part: Value) -> list[Value]:
            values = list(xs)
            for i, v in zip(moving, part, strict=True):
                values[i] = v
            return self.run(values)

        return jvp(whole, tuple(xs[i] for i in moving), tuple(dxs[i] for i in moving))[1]

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        numbers, times, sizes, last, _ = xs[:5]
        theta = list(xs[5:])
        moving = [i for i, v in enumerate(theta) if type_of(v).dtype.kind == "f" and wanted[5 + i]]
        kinds = [type_of(theta[i]) for i in moving]
        counts = [int(np.prod(kind.shape, dtype=int)) for kind in kinds]
        n, p = self.equation.size, sum(counts)
        rows = cts[-1] if self.has_rows else None
        again = _Rule(self.method, self.equation, self.step, False)
        known = Attach(again, 1)(*detach([last]), *xs)[0]
        augmented = _Augmented(self.equation.with_theta(theta), moving, n)

        def back(carry: Any, x: Any) -> Any:
            k, t, h, row = x
            if row is not None:
                carry = (np.concatenate([carry[0][:n], carry[0][n : 2 * n] + row, carry[0][2 * n :]]),)
            W, H = augmented.base.increment(k, t, h)
            state = self.method.start(cast(Any, augmented), t + h, carry[0])
            new, _ = self.method.step(cast(Any, augmented), t + h, -h, state, Noise(k, -W, -H))
            return (self.method.value(new),), None

        z = np.concatenate([known, cts[0], np.zeros(p, last.dtype) + 0 * last[0]])
        (z,), _ = scan(back, (z,), (numbers, times, sizes, rows), reverse=True)
        out: list[Value] = [None] * len(xs)
        out[4] = z[n : 2 * n]
        at = 2 * n
        for i, kind, size in zip(moving, kinds, counts, strict=True):
            out[5 + i] = np.reshape(z[at : at + size], kind.shape).astype(kind.dtype)
            at += size
        filled = zip(out, xs, wanted, strict=True)
        zero = lambda x: np.zeros(type_of(x).shape, type_of(x).dtype)
        return [(zero(x) if v is None else v) if w else None for v, x, w in filled]

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)


@final
class _Augmented:
    """(y, λ, μ) as an equation."""

    def __init__(self, base: Equation, moving: Sequence[int], n: int) -> None:
        self.base, self.moving, self.n = base, list(moving), n

    def field(self, t: Value, z: Value, h: Value, w: Value) -> Value:
        return self._pulled(z, lambda own, y: own.field(t, y, h, w))

    def kick(self, t: Value, z: Value, w: Value) -> Value:
        return self._pulled(z, lambda own, y: own.kick(t, y, w))

    def _pulled(self, z: Value, F: Any) -> Value:
        n, theta = self.n, self.base.theta
        y, lam = z[:n], z[n : 2 * n]

        def whole(y: Value, *part: Value) -> Value:
            values = list(theta)
            for i, v in zip(self.moving, part, strict=True):
                values[i] = v
            return F(self.base.with_theta(values), y)

        value, pull = vjp(whole, y, *[theta[i] for i in self.moving])
        back, *parts = pull(lam)
        return np.concatenate([value, -back, *[-np.reshape(v, (-1,)).astype(y.dtype) for v in parts]])

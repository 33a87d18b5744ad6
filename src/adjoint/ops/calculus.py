"""How a primitive differentiates: one fact per class, every other rule derived here, once.

| class | the fact | derived |
|---|---|---|
| Linear | `transpose` | push is the map itself; Taylor acts on each coefficient |
| Multilinear | `adjoint` in each argument | push by the product rule; Taylor by the Cauchy product |
| Smooth | the partials, as expressions in inputs and output | push, pull, what is kept, Taylor |
| Flat | nothing: the derivative is zero | all |
| Implicit | `push` and `pull` of the solution y of F(x, y) = 0 | Taylor |

A zero tangent, cotangent or coefficient is `None`, here and in the traces, and nowhere else.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.program.op import Op
from adjoint.program.types import ArrayType, Value, promotion_token


def total(*terms: Value) -> Value:
    """Sum of the terms that are not zero (None); None when all are."""
    result = None
    for term in terms:
        if term is not None:
            result = term if result is None else result + term
    return result


def arithmetic_flops(op: Op, xs: Sequence[Any], count: float) -> tuple[float, float]:
    """The flops of `count` real operations; complex ones are additions (2), or as many products (6) as additions."""
    scale = 1 if not any(np.iscomplexobj(x) for x in xs) else 2 if op.linear else 4
    return round(scale * count), 0


def fit(ct: Value, target: ArrayType | Value) -> Value:
    """Bring a cotangent back to the type it came from: the transpose of broadcasting, promotion and real → complex."""
    shape, dtype = target.shape, target.dtype
    if ct.dtype is not dtype and ct.dtype != dtype:
        if ct.dtype.kind == "c" and dtype.kind != "c":
            ct = np.real(ct)
        if ct.dtype != dtype:
            ct = ct.astype(dtype)
    if ct.shape != shape:
        lead = len(ct.shape) - len(shape)
        axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1 and ct.shape[lead + i] != 1)
        if axes:
            ct = np.add.reduce(ct, axis=axes, dtype=dtype)
        if ct.shape != shape:
            ct = ct.reshape(shape)
    return ct


def zeros_for(x: Value) -> Value:
    """The zero tangent of a value, or of a type; that of a Python number is one too, and gives way in promotion."""
    if isinstance(x, ArrayType) and x.weak:
        return promotion_token(x)(0)
    return np.zeros(x.shape, x.dtype) if hasattr(x, "shape") else type(x)(0)  # pyright: ignore[reportCallIssue]


class Linear(Op):
    """Linear in its first `operands` arguments together.

    The rest are parameters without derivative (indices, masks).
    """

    linear = True

    @abstractmethod
    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        """The adjoint: one cotangent for each operand. `xs` holds types for operands, values for parameters."""

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        n = len(xs) - self.parameters
        operands = [zeros_for(x) if dx is None else dx for x, dx in zip(xs[:n], dxs[:n], strict=True)]
        return self(*operands, *xs[n:])

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        cts = self.transpose(ct, xs)
        return (*cts, *[None] * self.parameters) if self.parameters else cts

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        n = len(wanted) - self.parameters
        return [False] * n + [True] * self.parameters, False

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        n = len(xs) - self.parameters
        terms = [x.get(k) for x in xs[:n]]
        if all(term is None for term in terms):
            return None
        operands = [zeros_for(x.get(0)) if term is None else term for x, term in zip(xs[:n], terms, strict=True)]
        return self(*operands, *[x.get(0) for x in xs[n:]])


class Multilinear(Op):
    """Linear in each argument. The adjoint in argument i is again built from such products."""

    multilinear = True

    @abstractmethod
    def adjoint(self, i: int, ct: Value, xs: Sequence[Value]) -> Value:
        """The x̄ᵢ with Re⟨ct, f(… ẋᵢ …)⟩ = Re⟨x̄ᵢ, ẋᵢ⟩; xs[i] may be a type, the others are values."""

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return total(*[self(*xs[:i], dx, *xs[i + 1 :]) for i, dx in enumerate(dxs) if dx is not None])

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return [self.adjoint(i, ct, xs) if want else None for i, want in enumerate(wanted)]

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [any(wanted[:i]) or any(wanted[i + 1 :]) for i in range(len(wanted))], False

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        return total(*[self._product(orders, xs) for orders in compositions(k, len(xs))])

    def _product(self, orders: tuple[int, ...], xs: Sequence[Any]) -> Value:
        terms = [x.get(j) for j, x in zip(orders, xs, strict=True)]
        return None if any(term is None for term in terms) else self(*terms)


def compositions(k: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to write k as an ordered sum of `parts` orders ≥ 0."""
    if parts == 1:
        return [(k,)]
    return [(j, *rest) for j in range(k + 1) for rest in compositions(k - j, parts - 1)]


class Differential(Op):
    """A primitive that states ż itself.

    Taylor follows from ż = push(x, z)·ẋ read as a differential equation: k zₖ = [ż]ₖ₋₁.
    """

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        rate = z.rate(k - 1)
        if self.several:
            return tuple(None if r is None else r / k for r in rate)
        return None if rate is None else rate / k


class Implicit(Differential):
    """z solves F(x, z) = 0.

    Push and pull solve the linear equation ∂F/∂z ż = -∂F/∂x ẋ and its transpose; x and z are kept.
    """

    is_implicit = True

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [True] * len(wanted), True


class Flat(Op):
    """Piecewise constant: the derivative is zero, or the output is not a number that has one."""

    flat = True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return (None,) * len(z) if self.several else None

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return [None] * len(wanted)

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [False] * len(wanted), False

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        return None

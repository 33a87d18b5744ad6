"""Functions with rules of the user's own, and black boxes.

The function runs first, on values without derivatives; `Attach` then gives its results the derivative that the rule
states. So the function may be anything that takes arrays, and what it closes over is differentiated as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from adjoint.ops.calculus import Differential, Flat, total
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, type_of


class Rule(Protocol):
    """The derivative of a function from flat inputs to flat outputs."""

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]: ...

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]: ...

    def batched(self, mapped: Sequence[bool], size: int) -> Rule: ...


@primitive
class Attach(Differential):
    """Arguments: n results, then the inputs they were computed from.

    Gives the results back, with the rule's derivative in the inputs.
    """

    is_movement = True
    is_marker = True
    returns_arguments = True

    rule: Any
    count: int
    several = True
    closes = True

    @property
    def title(self) -> str:
        return f"custom_rule[{getattr(self.rule, 'title', '')}]"

    def __str__(self) -> str:
        return self.title

    def evaluate(self, *xs: Value) -> Value:
        return tuple(xs[: self.count])

    def result_type(self, *types: ArrayType) -> Any:
        return tuple(types[: self.count])

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [False] * self.count + [True] * (len(wanted) - self.count), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        n = self.count
        mine: Sequence[Value] = [None] * n
        if any(dx is not None for dx in dxs[n:]):
            mine = self.rule.push(xs[n:], dxs[n:])
        return tuple(total(a, b) for a, b in zip(dxs[:n], mine, strict=True))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        n = self.count
        cts = [np.zeros(x.shape, x.dtype) if c is None else c for c, x in zip(ct, xs[:n], strict=True)]
        return [*ct, *self.rule.pull(xs[n:], cts, wanted[n:])]

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        n = self.count
        results = [
            x if m else np.broadcast_to(x, (size, *np.shape(x))) for x, m in zip(xs[:n], mapped[:n], strict=True)
        ]
        return Attach(self.rule.batched(mapped[n:], size), n)(*results, *xs[n:])


@primitive
class OpaqueCall(Flat):
    """A function that takes plain arrays only: any language, any library.

    Its derivative, if any, is attached by a rule.
    """

    function: Callable[..., Sequence[Value]]
    batched_function: Callable[..., Sequence[Value]] | None = None
    types: tuple[ArrayType, ...] | None = None  # of its results, where they are known
    several = True
    opaque = True

    @property
    def title(self) -> str:
        return f"opaque[{getattr(self.function, '__name__', 'function')}]"

    def __str__(self) -> str:
        return self.title

    def evaluate(self, *xs: Value) -> Value:
        return tuple(self.function(*xs))

    def result_type(self, *types: ArrayType) -> Any:
        if self.types is not None:
            return self.types
        # nothing is known of a black box but what it does: it is asked with ones
        return tuple(type_of(z) for z in self.function(*[np.ones(t.shape, t.dtype)[()] for t in types]))

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        if self.batched_function is not None:
            return OpaqueCall(self.batched_function, types=self._stacked_types(size))(
                *[x if m else np.broadcast_to(x, (size, *np.shape(x))) for x, m in zip(xs, mapped, strict=True)]
            )
        types = self._stacked_types(size)
        return OpaqueCall(_Batched(self.function, tuple(mapped), size, types), types=types)(*xs)

    def _stacked_types(self, size: int) -> tuple[ArrayType, ...] | None:
        return None if self.types is None else tuple(ArrayType((size, *t.shape), t.dtype) for t in self.types)


class _Batched:
    """A black box called for one batch element after the other."""

    def __init__(
        self,
        function: Callable[..., Sequence[Value]],
        mapped: tuple[bool, ...],
        size: int,
        types: tuple[ArrayType, ...] | None,
    ) -> None:
        self.function, self.mapped, self.size, self.types = function, mapped, size, types
        self.__name__ = getattr(function, "__name__", "function")

    def __call__(self, *xs: Value) -> Sequence[Value]:
        if self.types is not None and not self.size:
            return [np.zeros(t.shape, t.dtype) for t in self.types]
        rows = [
            self.function(*[x[i] if m else x for x, m in zip(xs, self.mapped, strict=True)]) for i in range(self.size)
        ]
        return [np.stack(column) for column in zip(*rows, strict=True)]

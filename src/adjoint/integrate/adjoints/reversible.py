"""Steps that can be undone: the backward pass computes the states again, by inverse steps, and keeps none.

    sₖ₊₁ = step(θ, xₖ, sₖ),   sₖ = inverse(θ, xₖ, sₖ₊₁)

The gradient is that of the steps, exact up to the rounding of the inverse; memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import scan
from adjoint.api.gradients import jvp, vjp
from adjoint.integrate.derivative import detach
from adjoint.ops.custom import Attach
from adjoint.program.types import Value, type_of
from adjoint.transform.custom import BatchedRule

__all__ = ["scan_reversible"]

Step = Callable[[Sequence[Value], Any, Any], Any]


def scan_reversible(
    step: Step, inverse: Step, start: Any, xs: Any, theta: Sequence[Value], read: Callable[[Any], Value] | None = None
) -> tuple[Any, Value]:
    """The state after steps over the rows of xs, and read(state) after each of them (None for none)."""
    leaves, structure = tree.flatten(start)
    given, shape = tree.flatten(xs)
    rule = _Rule(step, inverse, structure, shape, len(leaves), len(given), read)
    last, rows = rule.run(detach(leaves), detach(given), detach(theta))
    out = rule.attach(last, rows, [*leaves, *given, *theta])
    return tree.unflatten(structure, out[: len(leaves)]), out[len(leaves)] if read is not None else None


@final
class _Rule:
    """The derivative of a chain of steps. Its inputs: the last state, which is known; the first; xs; θ."""

    title = "reversible steps"

    def __init__(
        self, step: Step, inverse: Step, structure: Any, shape: Any, count: int, width: int, read: Any
    ) -> None:
        self.step, self.inverse, self.structure, self.shape = step, inverse, structure, shape
        self.count, self.width, self.read = count, width, read

    def attach(self, last: Sequence[Value], rows: Sequence[Value], inputs: Sequence[Value]) -> list[Value]:
        """The last state and rows, with their derivatives."""
        return list(Attach(self, len(last) + len(rows))(*last, *rows, *last, *inputs))

    def run(
        self, leaves: Sequence[Value], xs: Sequence[Value], theta: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        """The last state, and rows."""

        def advance(state: Any, x: Any) -> Any:
            state = self.step(theta, x, state)
            return state, None if self.read is None else self.read(state)

        last, rows = scan(advance, tree.unflatten(self.structure, leaves), tree.unflatten(self.shape, xs))
        return tree.leaves(last), [] if self.read is None else [rows]

    def _split(self, values: Sequence[Value]) -> tuple[list[Value], list[Value], list[Value]]:
        n, w = self.count, self.width
        return list(values[n : 2 * n]), list(values[2 * n : 2 * n + w]), list(values[2 * n + w :])

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        moving = [i for i, dx in enumerate(dxs) if dx is not None and i >= self.count]
        if not moving:
            return [None] * (self.count + (self.read is not None))

        def whole(*part: Value) -> list[Value]:
            values = list(xs)
            for i, v in zip(moving, part, strict=True):
                values[i] = v
            last, rows = self.run(*self._split(values))
            return [*last, *rows]

        return jvp(whole, tuple(xs[i] for i in moving), tuple(dxs[i] for i in moving))[1]

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        n = self.count
        _leaves, given, theta = self._split(xs)
        plain = _Rule(self.step, self.inverse, self.structure, self.shape, n, self.width, None)
        last = tree.unflatten(self.structure, plain.attach(detach(list(xs[:n])), [], xs[n:]))
        is_moving = [w and type_of(x).dtype.kind == "f" for w, x in zip(wanted, xs, strict=True)]
        _, moving_x, moving_theta = self._split(is_moving)
        moved_x = [i for i, m in enumerate(moving_x) if m]
        moved = [i for i, m in enumerate(moving_theta) if m]
        rows = cts[n] if self.read is not None else None

        def back(carry: Any, row: Any) -> Any:
            after, ct, sums = carry
            own, ct_row = row
            before = self.inverse(theta, tree.unflatten(self.shape, own), after)

            def one(state: Any, part_x: Any, part: Any) -> Any:
                new = self.step(
                    _replaced(theta, moved, part), tree.unflatten(self.shape, _replaced(own, moved_x, part_x)), state
                )
                return new if ct_row is None else (new, self.read(new))

            _, pull = vjp(one, before, [own[i] for i in moved_x], [theta[i] for i in moved])
            ct, ct_x, parts = pull(ct if ct_row is None else (ct, ct_row))
            return (before, ct, [a + b for a, b in zip(sums, parts, strict=True)]), ct_x

        begin = (last, tree.unflatten(self.structure, list(cts[:n])), [_zero(theta[i]) for i in moved])
        (_, ct, sums), cts_x = scan(back, begin, (given, rows), reverse=True)
        out: list[Value] = [None] * n + tree.leaves(ct)
        out += _replaced([None] * self.width, moved_x, cts_x)
        out += _replaced([None] * len(theta), moved, sums)
        filled = zip(out, xs, wanted, strict=True)
        return [(_zero(x) if v is None else v) if w else None for v, x, w in filled]

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)


def _replaced(values: Sequence[Any], moved: Sequence[int], new: Sequence[Any]) -> list[Any]:
    whole = list(values)
    for i, v in zip(moved, new, strict=True):
        whole[i] = v
    return whole


def _zero(x: Value) -> Value:
    kind = type_of(x)
    return np.zeros(kind.shape, kind.dtype)

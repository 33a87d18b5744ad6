"""Rules given by the user: what is missing is derived by transposition, or by differences for black boxes."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import NotLinear, RuleError, TraceError
from adjoint.ops.calculus import total
from adjoint.ops.effects import silent
from adjoint.program.program import Program, interpret
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.arguments import describe_result
from adjoint.transform.batch_driver import run_batch
from adjoint.transform.drivers import Linearized
from adjoint.transform.linear import LinearTape
from adjoint.transform.subprograms import jvp_program, pulled

_TUPLE: Any = tuple  # as Any: a test against it leaves the value Any, where the class would make its elements unknown


class UserRule:
    """A function over trees with a jvp, a vjp, or neither, as a rule over flat lists."""

    def __init__(
        self,
        function: Callable[..., Any],
        jvp: Callable[..., Any] | None,
        vjp: Callable[..., Any] | None,
        structure: Any,  # of the tuple of array arguments
        call: Any,  # calls a function with static arguments put back
        nondiff: Sequence[bool],  # for each argument of the tuple
        result: Any,
        title: str,
    ) -> None:
        self.function, self._jvp, self._vjp = function, jvp, vjp
        self.structure, self.call, self.nondiff = structure, call, tuple(nondiff)
        self.result, self.title = result, title
        self.memo: tuple[Sequence[Value], Callable[..., Any]] | None = None

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        if self._jvp is not None:
            return self._push_by_jvp(xs, dxs)
        if self._vjp is not None:
            return _transposed(lambda cts: self._pull_by_vjp(xs, cts), self._output_types(xs), dxs, xs)
        return self._push_by_differences(xs, dxs)

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        if self._vjp is not None:
            found = self._pull_by_vjp(xs, cts)
            return [ct if w else None for ct, w in zip(found, wanted, strict=True)]
        moving = [i for i, w in enumerate(wanted) if w]

        def pushed(tangents: Sequence[Value]) -> Sequence[Value]:
            dxs: list[Value] = [None] * len(xs)
            for i, tangent in zip(moving, tangents, strict=True):
                dxs[i] = tangent
            return self.push(xs, dxs)

        found = iter(_transposed(pushed, [type_of(xs[i]) for i in moving], cts, None))
        return [next(found) if w else None for w in wanted]

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)

    def _output_types(self, xs: Sequence[Value]) -> list[ArrayType]:
        y, _ = self._vjp_at(xs)
        return [type_of(v) for v in tree.leaves(y)]

    def _vjp_at(self, xs: Sequence[Value]) -> tuple[Any, Callable[..., Any]]:
        if self.memo is not None and all(x is m for x, m in zip(xs, self.memo[0], strict=True)):
            return self.memo[1]  # type: ignore[return-value]
        assert self._vjp is not None
        made = self.call(self._vjp, tree.unflatten(self.structure, xs))
        if not (isinstance(made, _TUPLE) and len(made) == 2 and callable(made[1])):
            raise RuleError(
                f"custom_rule of {self.title}: vjp must return (y, pullback), where pullback(ct) gives a cotangent for "
                f"each argument; it returned {describe_result(made)}."
            )
        return made

    def _pull_by_vjp(self, xs: Sequence[Value], cts: Sequence[Value]) -> list[Value]:
        _, pullback = self._vjp_at(xs)
        found = pullback(tree.unflatten(self.result, cts))
        parts = tree.unflatten(self.structure, xs)
        if not isinstance(found, _TUPLE):
            found = (found,)
        if len(found) != len(parts):
            raise RuleError(
                f"custom_rule of {self.title}: the pullback returned {len(found)} "
                f"cotangent{'' if len(found) == 1 else 's'} for {len(parts)} argument{'' if len(parts) == 1 else 's'}. "
                "Return a tuple with one for each; None stands for zero."
            )
        out: list[Value] = []
        for part, ct, nondiff in zip(parts, found, self.nondiff, strict=True):
            leaves, structure = tree.flatten(part)
            if ct is None or nondiff:
                out += [None] * len(leaves)
                continue
            given = tree.leaves_like(f"custom_rule of {self.title}: cotangent", structure, ct)
            out += [_checked(self.title, "a cotangent", g, x) for g, x in zip(given, leaves, strict=True)]
        return out

    def _push_by_jvp(self, xs: Sequence[Value], dxs: Sequence[Value]) -> list[Value]:
        assert self._jvp is not None
        filled = [_zero(x) if dx is None and type_of(x).differentiable else dx for x, dx in zip(xs, dxs, strict=True)]
        primals, tangents = tree.unflatten(self.structure, xs), tree.unflatten(self.structure, filled)
        tangents = tuple(None if n else t for t, n in zip(tangents, self.nondiff, strict=True))
        made = self._jvp(self.call.listed(primals, True), self.call.listed(tangents, False))
        if not (isinstance(made, _TUPLE) and len(made) == 2):
            raise RuleError(
                f"custom_rule of {self.title}: jvp(primals, tangents) must return (y, dy); it returned "
                f"{describe_result(made)}."
            )
        y, dy = made
        values, structure = tree.flatten(y)
        given = tree.leaves_like(f"custom_rule of {self.title}: tangent", structure, dy)
        return [_checked(self.title, "a tangent", d, v) for d, v in zip(given, values, strict=True)]

    def _push_by_differences(self, xs: Sequence[Value], dxs: Sequence[Value]) -> list[Value]:
        """Central differences: what is left for a black box without a rule."""
        if any(isinstance(x, Tracer) for x in xs):
            raise TraceError(
                f"{self.title} is a black box without a rule: its derivative comes from differences, which cannot be "
                "differentiated again. Give jvp=… or vjp=…."
            )
        warnings.warn(
            f"{self.title} has no rule: its derivative is computed by central differences. Give jvp=… or vjp=….",
            stacklevel=2,
        )
        if not any(isinstance(dx, Tracer) for dx in dxs):
            return self._difference(xs, dxs)
        moving = [i for i, dx in enumerate(dxs) if dx is not None]
        totals: list[Value] = [None] * len(self._values(xs))
        for i in moving:
            columns = [
                self._difference(xs, [unit if j == i else None for j in range(len(xs))]) for unit in _units(xs[i])
            ]
            for k in range(len(totals)):
                matrix = np.reshape(
                    np.stack([c[k] for c in columns], axis=-1), (*np.shape(columns[0][k]), *np.shape(xs[i]))
                )
                term = np.tensordot(matrix, dxs[i], axes=np.ndim(xs[i]))
                totals[k] = term if totals[k] is None else totals[k] + term
        return totals

    def _difference(self, xs: Sequence[Value], dxs: Sequence[Value]) -> list[Value]:
        """The directional derivative by a central difference with step ∛ε."""
        scale = max([float(np.max(np.abs(dx), initial=0.0)) for dx in dxs if dx is not None], default=0.0)
        if scale == 0.0:
            return [_zero(v) for v in self._values(xs)]
        size = max(
            [float(np.max(np.abs(x), initial=0.0)) for x, dx in zip(xs, dxs, strict=True) if dx is not None],
            default=1.0,
        )
        h = float(np.cbrt(np.finfo(np.float64).eps)) * max(size, 1.0) / scale
        up, down = (
            self._values([x if dx is None else x + s * h * dx for x, dx in zip(xs, dxs, strict=True)]) for s in (1, -1)
        )
        return [(a - b) / (2 * h) for a, b in zip(up, down, strict=True)]

    def _values(self, xs: Sequence[Value]) -> list[Value]:
        return [np.asarray(v)[()] for v in tree.leaves(self.call(self.function, tree.unflatten(self.structure, xs)))]


def _units(x: Value) -> list[Value]:
    """All unit vectors of the space of x."""
    return [
        np.reshape(row, np.shape(x)) for row in np.eye(int(np.prod(np.shape(x), dtype=int)), dtype=type_of(x).dtype)
    ]


def _zero(x: Value) -> Value:
    kind = type_of(x)
    return np.zeros(kind.shape, kind.dtype)


def _checked(title: str, what: str, given: Value, target: Value) -> Value:
    """A tangent or cotangent returned by the user, in the type of what it belongs to."""
    if given is None:
        return None
    kind = type_of(target)
    given = given if isinstance(given, Tracer) else np.asarray(given)
    if given.shape != kind.shape:
        raise RuleError(
            f"custom_rule of {title}: {what} has shape {given.shape}, but belongs to a value of type {kind}. "
            "Return one of "
            "that shape; sum over axes that broadcasting added."
        )
    if given.dtype != kind.dtype:
        if given.dtype.kind == "c" and kind.dtype.kind != "c":
            if "cotangent" not in what:
                raise RuleError(
                    f"custom_rule of {title}: {what} is complex, but belongs to a real value of type {kind}."
                )
            given = np.real(given)  # the adjoint of the real numbers' position among the complex ones
        given = given.astype(kind.dtype)
    return given


def _transposed(
    linear: Callable[[Sequence[Value]], Sequence[Value]], types: Sequence[ArrayType], cts: Sequence[Value], _: Any
) -> list[Value]:
    """The transpose of a linear function, applied: its record read backwards, or by columns if it is a black box."""
    counting: Any = next((ct._trace for ct in cts if isinstance(ct, Tracer) and ct._trace.counts), None)
    zeros = [np.zeros(t.shape, t.dtype) if counting is None else counting.own(t) for t in types]

    def call(inputs: Sequence[Value]) -> Any:
        return tuple(_zero(ct) if z is None else z for z, ct in zip(linear(inputs), cts, strict=True))

    filled = cts
    try:
        record = Linearized(call, zeros, tape=LinearTape(outlives_call=True))
        return record.pull(filled)
    except (TraceError, NotLinear):
        return [_by_columns(linear, zeros, i, cts) for i in range(len(zeros))]


def _by_columns(
    linear: Callable[[Sequence[Value]], Sequence[Value]], zeros: list[Any], i: int, cts: Sequence[Value]
) -> Value:
    """x̄ᵢ from Re⟨L eⱼ, ct⟩ for every unit vector eⱼ, and i eⱼ when xᵢ is complex."""
    found: list[Value] = []
    for position in np.ndindex(zeros[i].shape):
        total_: Value = np.zeros((), zeros[i].dtype)
        for unit in (1.0, 1j) if zeros[i].dtype.kind == "c" else (1.0,):
            basis = [z.copy() for z in zeros]
            basis[i][position] = unit
            pairs = [(z, ct) for z, ct in zip(linear(basis), cts, strict=True) if z is not None and ct is not None]
            total_ = total_ + unit * sum(np.real(np.vdot(z, ct)) for z, ct in pairs)  # pyright: ignore[reportUnknownArgumentType]
        found.append(total_)
    return np.reshape(np.stack(found), zeros[i].shape) if found else zeros[i]


class ClosureRule:
    """A user's rule for the arguments of a function, beside the usual derivative for traced values in its closure."""

    def __init__(self, inner: UserRule, program: Program, count: int) -> None:
        # the program's inputs: `count` arguments, then the captured values
        self.inner, self.program, self.count = inner, silent(program), count
        self.title = inner.title

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        n, m = self.count, len(self.program.outputs)
        mine: Sequence[Value] = [None] * m
        if any(dx is not None for dx in dxs[:n]):
            mine = self.inner.push(xs[:n], dxs[:n])
        active = (False,) * n + tuple(dx is not None for dx in dxs[n:])
        made, flags = jvp_program(self.program, active, (False,) * m)
        tangents = iter(interpret(made, [*xs, *[dx for dx in dxs[n:] if dx is not None]])[m:])
        return [total(a, next(tangents) if f else None) for a, f in zip(mine, flags, strict=True)]

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        n = self.count
        mine = self.inner.pull(xs[:n], cts, wanted[:n]) if any(wanted[:n]) else [None] * n
        return [*mine, *pulled(self.program, xs, [False] * n + list(wanted[n:]), cts)[n:]]

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)


class BatchedRule:
    """A rule on stacked inputs: each batch element has its own derivative."""

    def __init__(self, inner: Any, mapped: tuple[bool, ...], size: int) -> None:
        self.inner, self.mapped, self.size = inner, mapped, size
        self.title = inner.title

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        moving = [i for i, dx in enumerate(dxs) if dx is not None]
        n = len(xs)

        def one(flat: Sequence[Value]) -> list[Value]:
            tangents: list[Value] = [None] * n
            for i, d in zip(moving, flat[n:], strict=True):
                tangents[i] = d
            found = list(self.inner.push(flat[:n], tangents))
            has_tangent[:] = [d is not None for d in found]
            return [d for d in found if d is not None]

        has_tangent: list[bool] = []
        flags = [*self.mapped, *[self.mapped[i] for i in moving]]
        found = iter(self._map_rule(one, [*xs, *[dxs[i] for i in moving]], flags))
        return [next(found) if has else None for has in has_tangent]

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        n = len(xs)

        def one(flat: Sequence[Value]) -> list[Value]:
            found = self.inner.pull(flat[:n], flat[n:], wanted)
            return [_zero(x) if ct is None else ct for x, ct, w in zip(flat[:n], found, wanted, strict=True) if w]

        found = iter(self._map_rule(one, [*xs, *cts], [*self.mapped, *[True] * len(cts)]))
        out: list[Value] = []
        for m, w in zip(self.mapped, wanted, strict=True):
            ct = next(found) if w else None
            out.append(ct if m or ct is None else np.sum(ct, axis=0))
        return out

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)

    def _map_rule(
        self, one: Callable[[Sequence[Value]], list[Value]], values: list[Value], flags: list[bool]
    ) -> list[Value]:
        try:
            out, stacked, _ = run_batch(one, values, flags, self.size)
        except TraceError:  # a black box inside: one batch element at a time
            rows = [one([v[i] if f else v for v, f in zip(values, flags, strict=True)]) for i in range(self.size)]
            return [np.stack(column) for column in zip(*rows, strict=True)]
        return [z if s else np.broadcast_to(z, (self.size, *np.shape(z))) for z, s in zip(out, stacked, strict=True)]

"""Maps given by functions: a linear function, its adjoint derived, and the derivative of any function at a point."""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import linear_transpose, linearize
from adjoint.api.tracing import trace
from adjoint.base.errors import DtypeError, TraceError
from adjoint.linear.operators.facts import read
from adjoint.linear.operators.maps import STATIC, LinearMap
from adjoint.linear.operators.spaces import Space
from adjoint.linear.operators.stacks import axes_of, check_single
from adjoint.program.trace import Tracer, live_trace
from adjoint.program.types import Value

__all__ = ["Derivative", "Function", "from_function"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Function(LinearMap):
    """x ↦ f(x), or f(parameters, x), for a linear function f; the adjoint is derived from its program, or given."""

    function: Callable[..., Any] = field(metadata=STATIC)
    backwards: Callable[..., Any] | None = field(metadata=STATIC)
    parameters: Any
    source: Space = field(metadata=STATIC)
    target: Space = field(metadata=STATIC)

    @property
    def domain(self) -> Space:
        return self.source

    @property
    def range(self) -> Space:
        return self.target

    def _label(self) -> str:
        return f"Function {getattr(self.function, '__name__', '')}".rstrip()

    def _apply(self, x: Any) -> Any:
        return self.target.checked(self.function(*self.parameters, x), "from_function: the result")

    def _apply_columns(self, columns: Value) -> Value:
        try:
            return super()._apply_columns(columns)
        except TraceError:  # a function of plain arrays alone: column by column
            if isinstance(columns, Tracer) or columns.shape[1] == 0:
                raise
            each = [self.target.ravel(self._apply(self.source.unravel(column))) for column in columns.T]
            return np.stack(each, axis=1)

    def _to_dense(self) -> Value:
        if self.backwards is None:
            return super()._to_dense()
        return self._apply_columns(np.eye(self.shape[1], dtype=self.source.dtype))

    def _apply_adjoint(self, u: Any) -> Any:
        if self.backwards is not None:
            return self.source.checked(self.backwards(*self.parameters, u), "from_function: the adjoint's result")
        return linear_transpose(lambda x: self.function(*self.parameters, x), self.source.tree)(u)[0]

    def matvec(self, x: Any) -> Any:
        """A x, by SciPy's name."""
        return self @ x

    def rmatvec(self, u: Any) -> Any:
        """A* u, by SciPy's name."""
        return self.adjoint @ u


def from_function(
    function: Callable[..., Any],
    domain: Any,
    *facts: str,
    adjoint: Callable[..., Any] | None = None,
    parameters: tuple[Any, ...] = (),
    range: Any = None,
) -> LinearMap:
    """The map x ↦ f(x) of a linear function; with `parameters` (p, q, …), x ↦ f(p, q, …, x), differentiable in them.

    `domain` is an element, a tree of types, a shape, or a number of elements. `adjoint` takes the same parameters;
    without it the adjoint is read off the function's program. With `range` given the function is not traced here: so
    it may be one that takes plain arrays alone.

    ```python
    difference = ad.linear.from_function(lambda x: x[1:] - x[:-1], 3)
    difference.adjoint @ np.ones(2)  # → [-1.0, 0.0, 1.0]
    ```
    """
    source = Space.of(domain)
    if range is None:
        program = trace(lambda x: function(*parameters, x))(source.tree)
        target = Space(program.outputs, program.output_types)
    else:
        target = Space.of(range)
    return Function(function, adjoint, tuple(parameters), source, target, claims=read(facts))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Derivative(LinearMap):
    """∂f(x): pushes tangents, and its adjoint pulls cotangents. The function is run once, and the record kept.

    x are the arguments at `positions` (one, or a tuple of them); `others` are the rest, which stay as they are.
    """

    function: Callable[..., Any] = field(metadata=STATIC)
    point: Any
    positions: int | tuple[int, ...] = field(default=0, metadata=STATIC)
    others: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    axes: tuple[int, ...] = field(default=(), metadata=STATIC)
    _axes = (("point", None),)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", self.axes or axes_of(self.point))

    def _at(self, point: Any) -> Any:
        """f, with x in its positions."""
        arguments = list(self.others)
        positions = (self.positions,) if isinstance(self.positions, int) else self.positions
        for position, x in sorted(zip(positions, (point,) if isinstance(self.positions, int) else point, strict=True),
                               key=lambda pair: pair[0]):  # fmt: skip
            arguments.insert(position, x)
        return self.function(*arguments, **self.keywords)

    @functools.cached_property
    def _kept(self) -> list[Any]:
        """(the trace in which the record was made, the record); made again where that trace does not run."""
        return []

    def _record(self) -> Any:
        live = live_trace()
        if self._kept:
            made_in, record = self._kept
            running = live
            while running is not None and running is not made_in:
                running = running.outer
            if running is made_in:
                return record
        _, pushed = linearize(self._at, self.point)
        self._kept[:] = [live, pushed]
        return pushed

    @property
    def value(self) -> Any:
        """f(x)."""
        check_single(self)
        recorded = self._record()._recorded
        return tree.unflatten(recorded.structure, recorded.values)

    @property
    def domain(self) -> Space:
        return Space.of(self.point)

    @property
    def range(self) -> Space:
        recorded = self._record()._recorded
        return Space(recorded.structure, recorded.output_types)

    def _label(self) -> str:
        return f"Derivative of {getattr(self.function, '__name__', 'a function')}"

    def _apply(self, x: Any) -> Any:
        return self._record()(x)

    def _apply_adjoint(self, u: Any) -> Any:
        return self._record().transpose()(u)[0]

    def _apply_columns(self, columns: Value) -> Value:
        self._record()  # outside the map over columns, so that it is kept
        return super()._apply_columns(columns)

    def _to_dense(self) -> Value:
        if self.domain.dtype.kind == "c":
            self._check_complex_linear()
        return super()._to_dense()

    def _check_complex_linear(self) -> None:
        """A function of z and conj(z) has a derivative that is linear over the real numbers alone."""
        v = self.domain.random(np.random.default_rng(0))
        turned, along = self._apply(tree.map(lambda leaf: 1j * leaf, v)), self._apply(v)
        leaves = [*tree.leaves(turned), *tree.leaves(along)]
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            return
        gap = tree.norm(tree.map(lambda p, q: p - 1j * q, turned, along))
        if not gap <= 1e-6 * (tree.norm(turned) + tree.norm(along)):
            raise DtypeError(
                f"{self._label()}: the function is not holomorphic, so its derivative is linear over the real numbers "
                "alone and has no complex matrix. Write it in real and imaginary parts."
            )

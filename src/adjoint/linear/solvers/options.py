"""The options that all iterative solvers share: one type, which stands in the signature of each of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from operator import index as operator_index
from typing import Any, TypedDict, TypeVar, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.suggestions import did_you_mean
from adjoint.linear.solvers.iteration import Limits
from adjoint.linear.solvers.monitor import Monitor
from adjoint.program.types import Value

__all__ = ["Options", "SolverOptions", "takes_options"]

F = TypeVar("F", bound=Callable[..., Any])


class SolverOptions(TypedDict, total=False):
    """`Options` as keyword arguments, for type checkers."""

    tol: Value | None
    atol: Value
    max_iterations: int | None
    preconditioner: Any
    callback: Callable[[Any, Any], object] | None
    progress: bool
    history: bool
    unrolled: bool


@final
@dataclass(frozen=True, kw_only=True)
class Options:
    """When a solver stops, what helps it, and who is told."""

    tol: Value | None = None  # of ‖r‖ / ‖b‖; None: 1e-10 in double precision, 1e-5 in single
    atol: Value = 0.0  # of ‖r‖
    max_iterations: int | None = None  # None: 10 for each unknown
    preconditioner: Any = None
    callback: Callable[[Any, Any], object] | None = None  # called with (iterations so far, residual)
    progress: bool = False
    history: bool = False  # keep the residuals
    unrolled: bool = False  # differentiate the iterations, not the equation

    @classmethod
    def read(cls, title: str, options: SolverOptions) -> Options:
        """The options that a solver was given, by name."""
        for name in options.keys() - inspect.signature(cls).parameters.keys():
            near = did_you_mean(name, SolverOptions.__annotations__)
            raise TypeError(f"{title}() got an unexpected keyword argument {name!r}. {near}".rstrip())
        return cls(**options)

    def limits(self, title: str, dtype: Any, size: int, restart: int = 30) -> Limits:
        """When to stop, for an equation of this size."""
        tol = (1e-10 if np.finfo(dtype).eps < 1e-10 else 1e-5) if self.tol is None else self.tol
        if np.shape(tol) != () or np.shape(self.atol) != ():
            raise ShapeError(f"{title}: tol and atol must be numbers. For a stack of equations use vmap.")
        most = 10 * size if self.max_iterations is None else operator_index(self.max_iterations)
        if most < 0:
            raise ValueError(f"{title}: max_iterations is {most}; it cannot be negative.")
        monitor = Monitor.of(self.callback, self.progress, title, most)
        return Limits(tol, self.atol, most, monitor, self.history, restart)


def takes_options(solver: F) -> F:
    """Show the options in the signature of a solver that takes them as `**options`."""
    own, shared = inspect.signature(solver), inspect.signature(Options)
    named = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    solver.__dict__["__signature__"] = own.replace(parameters=[*named, *shared.parameters.values()])
    return solver

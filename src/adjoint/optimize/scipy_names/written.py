"""A function that SciPy is to call, written down as a program of (x, θ).

θ are the traced values that it reads: arguments, and what it closes over. SciPy is then given the program with plain
numbers in their places, and derivatives of it where it would take differences.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad, jvp
from adjoint.api.jacobians import hessian, jacobian
from adjoint.base.errors import TraceError, UnsupportedError
from adjoint.base.foreign import is_refusal
from adjoint.conversion.driver import run_again
from adjoint.conversion.questions import in_program
from adjoint.ops.control.call import Call
from adjoint.program.evaluate import Evaluator
from adjoint.program.program import Program, interpret
from adjoint.program.record import Record
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.record_function import record_function

__all__ = ["Plain", "Written", "is_concrete", "strip", "write_down", "write_down_at"]

Function = Callable[..., Any]


@final
class Written:
    """x ↦ a tree of values, as a program of (x, θ), with the values of θ."""

    def __init__(
        self, program: Program, structure: Any, kind: ArrayType, theta: Sequence[Value], *, compiles: bool = False
    ) -> None:
        self.program, self.structure, self.kind, self.theta = program, structure, kind, list(theta)
        self.compiles = compiles  # SciPy is called by a compiled program, again and again
        self._derived: dict[str, Written] = {}
        self._run: Callable[[Sequence[Value]], Sequence[Value]] | None = None

    def at(self, x: Value, theta: Sequence[Value]) -> Any:
        """What the function gives at x, for these θ."""
        return tree.unflatten(self.structure, interpret(self.program, [x, *theta]))

    def run(self, x: Any, theta: Sequence[Value]) -> Any:
        """The same for plain numbers, quickly."""
        if self._run is None:
            call = Call(self.program)
            self._run = (lambda values: call.evaluate(*values)) if self.compiles else Evaluator(self.program)
        return tree.unflatten(self.structure, self._run([x, *theta]))

    def derived(self, name: str, derive: Callable[[Function], Function]) -> Written:
        """The derivative of the function, written down; by its name it is not written twice."""
        if name not in self._derived:
            types = [self.kind, *[type_of(v) for v in self.theta]]
            record = Record(purpose="a derivative for SciPy")

            def function(x: Value, *theta: Value) -> Any:
                return derive(lambda x: self.at(x, theta))(x)

            bind: Any = lambda leaves: (function, tuple(leaves), {})
            made = record_function(function, bind, record, [record.input(t) for t in types])
            self._derived[name] = Written(made.program, made.structure, self.kind, self.theta, compiles=self.compiles)
        return self._derived[name]


@final
class Plain:
    """A function with plain numbers for θ, and its derivatives: what SciPy is given."""

    def __init__(self, written: Written, theta: Sequence[Value]) -> None:
        self.written, self.theta = written, list(theta)

    def at(self, x: Any) -> Any:
        """All that the function gives."""
        return self.written.run(self._point(x), self.theta)

    def value(self, x: Any) -> Any:
        """Its value."""
        return self.at(x)["fun"]

    def gradient(self, x: Any) -> Any:
        return self._derived("gradient", grad, "fun", x)

    def hessian(self, x: Any) -> Any:
        return self._derived("hessian", hessian, "fun", x)

    def jacobian(self, x: Any, part: str = "fun") -> Any:
        return self._derived("jacobian", jacobian, part, x)

    def derivative(self, x: Any) -> Any:
        """The derivative of a function of one number, element by element."""
        return self._derived("derivative", _derivative, "fun", x)

    def bend(self, x: Any) -> Any:
        """The second derivative of a function of one number, element by element."""
        return self._derived("bend", lambda f: _derivative(_derivative(f)), "fun", x)

    def _derived(self, name: str, derive: Callable[[Function], Function], part: str, x: Any) -> Any:
        chosen = lambda f: derive(lambda x: f(x)[part])
        return self.written.derived(f"{name} of {part}", chosen).run(self._point(x), self.theta)

    def _point(self, x: Any) -> Any:
        kind = self.written.kind
        if type(x) is float and not kind.shape:
            return kind.dtype.type(x)
        return np.reshape(np.asarray(x, kind.dtype), kind.shape)[()]


def _derivative(f: Function) -> Function:
    return lambda x: jvp(f, (x,), (np.ones(np.shape(x), x.dtype)[()],))[1]


def write_down(title: str, function: Function, kind: ArrayType) -> Written | None:
    """The program of a function of x; None where it asks for values of x that it cannot know beforehand."""

    def write(function: Function) -> Any:
        record = Record(purpose=title)
        return record_function(function, partial(_bind, function), record, [record.input(kind)])

    compiles = in_program()
    try:
        made = run_again(write, function)
    except Exception as error:
        if isinstance(error, TraceError | UnsupportedError) or is_refusal(error):
            return None
        raise
    return Written(made.program, made.structure, kind, made.captured, compiles=compiles)


def write_down_at(title: str, function: Function, kind: ArrayType, x: Value) -> Written:
    """The program of a function along the path that Python takes at x."""
    record = Record(concrete=True, purpose=title, runs_again=False)
    made = record_function(function, partial(_bind, function), record, [record.input(kind, x)])
    return Written(made.program, made.structure, kind, made.captured)


def _bind(function: Function, leaves: Sequence[Value]) -> Any:
    return function, tuple(leaves), {}


def is_concrete(value: Any) -> bool:
    """Whether there is exactly one plain value under the derivatives."""
    while isinstance(value, Tracer):
        if not value._trace.differentiates:
            return False
        value = value._value
    return True


def strip(title: str, value: Any) -> Any:
    """The plain value under derivatives; refused where it stands for a batch or for a variable of a program."""
    if not is_concrete(value):
        raise TraceError(
            f"{title}: the function asks for values while a program is written, or of many batch elements at once, so "
            "that SciPy cannot be given plain numbers. Write its branches with np.where or ad.cond, or call the solver "
            "outside of jit and vmap."
        )
    while isinstance(value, Tracer):
        value = value._value
    return value

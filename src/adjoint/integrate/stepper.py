"""A method on a system: its step as a program, to be tried without derivatives and to be differentiated."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import cond
from adjoint.integrate.derivative import attach_derivative, detach, record_flat, types_of
from adjoint.integrate.system import System
from adjoint.program.program import Program, interpret
from adjoint.program.types import Value

__all__ = ["Stepper", "coefficients", "method_degree"]


class Stepper:
    """A method on a system: its step as a program, to be tried and to be differentiated."""

    def __init__(self, method: Any, system: System, state: Any) -> None:
        self.method, self.system = method, system
        leaves, self.structure = tree.flatten(state)
        self.count = len(leaves)
        time = np.float64(0.0)
        types = types_of([time, time, *leaves, *system.theta])
        self.extras: Any = None

        def step(t: Value, h: Value, *rest: Value) -> list[Value]:
            given = tree.unflatten(self.structure, rest[: self.count])
            found = method.step(system.with_theta(rest[self.count :]), t, h, given)
            extras, self.extras = tree.flatten(found._replace(state=None))
            return [*tree.leaves(found.state), *extras]

        self.program, captured = record_flat(step, types)
        assert not captured
        program = self.program
        self._knows_end = False  # whether the derivative is that of equations which the solution is put into
        self._differentiated = Program(
            program.inputs, program.equations, program.outputs[: self.count], program.constants
        )
        if hasattr(method, "differentiable_step"):

            def other(t: Value, h: Value, *rest: Value) -> list[Value]:
                n = self.count
                given, after = (tree.unflatten(self.structure, rest[i * n : (i + 1) * n]) for i in (0, 1))
                after = tree.unflatten(self.structure, detach(tree.leaves(after)))
                found = method.differentiable_step(system.with_theta(rest[2 * n :]), t, h, given, after)
                return tree.leaves(found)

            leaf_types = types[2 : 2 + self.count]
            self._differentiated, captured = record_flat(other, [*types[:2], *leaf_types, *types[2:]])
            assert not captured
            self._knows_end = True

    def at(self, system: System) -> Stepper:
        """The same program with other θ."""
        other = copy(self)
        other.system = system
        return other

    def inputs(self, t: Value, h: Value, state: Any) -> list[Value]:
        """What the program of a step is given."""
        return [t, h, *tree.leaves(state), *self.system.theta]

    def run(self, t: Value, h: Value, state: Any) -> Any:
        """A step without derivative."""
        out = interpret(self.program, detach(self.inputs(t, h, state)))
        found = tree.unflatten(self.extras, out[self.count :])
        return found._replace(state=tree.unflatten(self.structure, out[: self.count]))

    def attach(self, t: Value, h: Value, before: Any, after: Any) -> Any:
        """The state after an accepted step, with the derivative of the step."""
        values = tree.leaves(after)
        inputs = self.inputs(t, h, before)
        if self._knows_end:
            inputs = [*inputs[: 2 + self.count], *detach(values), *inputs[2 + self.count :]]
        return tree.unflatten(self.structure, attach_derivative(self._differentiated, values, inputs))


def coefficients(stepper: Stepper, t: Value, h: Value, before: Any, after: Any, wanted: Value) -> Value:
    """The dense output of a step, where it is wanted."""
    program, inputs = _dense_program(stepper, t, h, before, after)
    kind = program.output_types[0]
    made = lambda: attach_derivative(program, interpret(program, detach(inputs)), inputs)[0]
    return cond(wanted, made, lambda: np.zeros(kind.shape, kind.dtype))


def method_degree(stepper: Stepper, t: Value, state: Any) -> int:
    """The degree of the polynomials of the dense output."""
    program, _ = _dense_program(stepper, t, np.float64(1.0), state, state)
    return program.output_types[0].shape[0]


def _dense_program(stepper: Stepper, t: Value, h: Value, before: Any, after: Any) -> tuple[Program, list[Value]]:
    method, system, count = stepper.method, stepper.system, stepper.count

    def dense(t: Value, h: Value, *rest: Value) -> list[Value]:
        one, two = (tree.unflatten(stepper.structure, rest[i * count : (i + 1) * count]) for i in (0, 1))
        return [method.interpolant(system.with_theta(rest[2 * count :]), t, h, one, two)]

    inputs = [t, h, *tree.leaves(before), *tree.leaves(after), *system.theta]
    program, captured = record_flat(dense, types_of(inputs))
    assert not captured
    return program, inputs

"""What the rewriter promises: results have the types of the equations that they replace."""

import numpy as np

from adjoint.ops.control.while_loop import While
from adjoint.program.program import interpret
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType
from adjoint.simplify import simplify


def test_a_number_of_pythons_does_not_take_the_place_of_an_array() -> None:
    """sum over no axes of a Python int is an int64 of NumPy's, which promotes differently."""

    def f(n, x):
        return np.float32(1.25) * np.sum(n, axis=()) + x

    weak = ArrayType((), np.dtype(np.int64), True)
    program, _ = record_program(lambda n, x: [f(n, x)], [weak, ArrayType((), np.dtype(np.float32))])
    made = simplify(program)
    assert made.output_types == program.output_types
    for one in (program, made):
        (value,) = one(3, np.float32(0.5))
        assert np.asarray(value).dtype == np.float64


def test_nothing_is_spread_over_a_size_that_nobody_knows() -> None:
    """Rows without elements are any number; how many of them there are is known when the loop has run."""
    row = ArrayType((0,), np.dtype(float))
    condition, _ = record_program(lambda k, _: [k < 3], [ArrayType((), np.dtype(np.int64)), row])
    body, _ = record_program(lambda k, r: [k + 1, r, r], [ArrayType((), np.dtype(np.int64)), row])
    program, _ = record_program(lambda k, r: [np.sin(While(condition, body, 0, 0)(k, r)[2])], condition.input_types)
    (found,) = interpret(simplify(program), [np.int64(0), np.zeros(0)])
    assert found.shape == (3, 0)

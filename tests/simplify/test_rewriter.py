"""What the rewriter promises: results have the types of the equations that they replace."""

import numpy as np

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

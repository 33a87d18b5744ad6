"""Programs as steps on slots: they give the same, with nothing twice and nothing in vain."""

import numpy as np
from scipy.special import pbdv

import adjoint as ad
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType
from adjoint.show.page.rules import encode
from adjoint.show.page.steps import slots
from tests.show.page.test_rules import array

FLOAT = ArrayType((), np.dtype(float))


def written(function, types):
    ops = []
    program, _ = record_program(function, types)
    return slots(program, lambda op: ops.append(op) or len(ops) - 1, encode), ops


def run(found, ops, *xs):
    held = [*xs, *map(array, found["constants"])]
    for op, operands, dtypes in found["steps"]:
        z = ops[op].evaluate(*[held[i] for i in operands])
        held += z if len(dtypes) > 1 else [z]
    return [held[i] for i in found["outputs"]]


def test_nothing_twice_and_nothing_in_vain():
    def f(x, y):
        np.cosh(x * y + 7.0)  # nobody reads it
        value, slope = pbdv(np.sin(x * y) * 2.0 + 3.0, 2.0)
        again = pbdv(np.sin(x * y) * 2.0 + 3.0, 2.0)[1]
        return slope + again, np.exp(y) * value, y

    found, ops = written(f, [FLOAT, FLOAT])
    titles = [str(ops[op]) for op, _, _ in found["steps"]]
    assert titles == ["multiply", "sin", "multiply", "add", "pbdv", "add", "exp", "multiply"]
    assert sorted(c["value"] for c in found["constants"]) == [2.0, 3.0]
    np.testing.assert_array_equal(run(found, ops, 0.7, -1.2), f(0.7, -1.2))


def test_zeros_of_both_signs_are_two_constants():
    found, ops = written(lambda x: (np.copysign(x, 0.0), np.copysign(x, -0.0)), [FLOAT])
    assert run(found, ops, 3.0) == [3.0, -3.0]


def test_programs_inside_are_written_out():
    inner = ad.jit(lambda x: np.sin(x) * np.sin(x))
    found, ops = written(lambda x: (inner(x) + inner(x),), [FLOAT])
    assert len(found["steps"]) == 3
    np.testing.assert_allclose(run(found, ops, 0.7), [2 * np.sin(0.7) ** 2])

"""Marks for derivatives are identities in a finished program."""

import numpy as np

import adjoint as ad
from adjoint.program.check import check
from adjoint.simplify.strip_stop_gradient import drop_derivative_marks


@ad.custom_rule(jvp=lambda primals, tangents: (primals[0] * 2.0, tangents[0] * 7.0))
def doubled(x):
    return x * 2.0


def test_marks_go_and_values_stay() -> None:
    def f(x):
        return ad.stop_gradient(np.sin(x)) * doubled(ad.stop_gradient(x) + x)

    program = ad.trace(f)(np.ones(3)).program
    after = check(drop_derivative_marks(program))
    titles = [eq.op.title for eq in after.equations]
    assert titles == ["sin", "add", "multiply", "multiply"]
    x = np.linspace(0.0, 1.0, 3)
    np.testing.assert_array_equal(after(x)[0], program(x)[0])
    assert drop_derivative_marks(after) is after


def test_an_input_or_a_number_that_is_marked_may_be_an_output() -> None:
    program = ad.trace(lambda x: (ad.stop_gradient(x), ad.stop_gradient(x * 1.0)))(np.ones(3)).program
    after = check(drop_derivative_marks(program))
    assert after.outputs[0] is after.inputs[0]

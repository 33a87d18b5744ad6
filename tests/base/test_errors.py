"""Every error of the library is one of its own and also the built-in error that a NumPy user catches."""

import pickle
import re

import pytest

from adjoint.base import errors

BUILT_IN = {
    errors.AdjointError: Exception,
    errors.TraceError: TypeError,
    errors.LeakError: TypeError,
    errors.ControlFlowError: TypeError,
    errors.ShapeError: ValueError,
    errors.ReadOnlyError: ValueError,
    errors.DtypeError: TypeError,
    errors.NotLinear: TypeError,
    errors.TreeError: ValueError,
    errors.RuleError: TypeError,
    errors.CaptureError: ValueError,
    errors.ReadOnlyError: ValueError,
    errors.CheckError: ValueError,
    errors.NonFiniteError: FloatingPointError,
    errors.SolveError: ArithmeticError,
    errors.ProgramError: ValueError,
    errors.UnsupportedError: TypeError,
}


def test_every_error_is_listed():
    assert {getattr(errors, name) for name in errors.__all__} == set(BUILT_IN)


@pytest.mark.parametrize("error", BUILT_IN, ids=lambda error: error.__name__)
def test_error_is_caught_by_both_names(error):
    with pytest.raises(BUILT_IN[error], match="what happened"):
        raise error("what happened")
    with pytest.raises(errors.AdjointError):
        raise error("what happened")


@pytest.mark.parametrize("error", BUILT_IN, ids=lambda error: error.__name__)
def test_error_has_one_line_of_documentation_with_an_example_and_can_be_pickled(error):
    assert re.fullmatch(r"[^\n]+\.{1,3}\n\n    ```python\n.+\n    ```\n    ", error.__doc__, re.DOTALL)
    copy = pickle.loads(pickle.dumps(error("what happened")))
    assert type(copy) is error
    assert copy.args == ("what happened",)


def test_leaks_and_control_flow_are_trace_errors():
    assert issubclass(errors.LeakError, errors.TraceError)
    assert issubclass(errors.ControlFlowError, errors.TraceError)

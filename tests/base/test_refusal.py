"""Errors in the words of the table of coverage."""

import pytest

from adjoint.base.errors import UnsupportedError
from adjoint.base.refusal import advice, refuse
from adjoint.coverage import CONSTANT, DIFFERENTIABLE, REFUSED, SIZES, Row

ROW = Row("numpy", "save", REFUSED, reason="a file keeps no derivative", remedy="Return it")


def test_a_refusal_names_the_function_the_place_the_reason_and_the_remedy():
    pattern = (
        r"np\.save cannot take a traced value, at .*test_refusal.py:\d+.*: a file keeps no derivative\. Return it\."
    )
    with pytest.raises(UnsupportedError, match=pattern):
        refuse("np.save", ROW)


def test_plain_numbers_are_asked_for():
    with pytest.raises(UnsupportedError, match=r"euler was given a traced value.*plain numbers"):
        refuse("euler", Row("scipy.special", "euler", CONSTANT, takes=SIZES))


@pytest.mark.parametrize("row", [None, Row("numpy", "sin", DIFFERENTIABLE)])
def test_without_a_word_the_remedy_is_general(row):
    with pytest.raises(UnsupportedError, match=r"f has no derivative rule here.*custom_rule"):
        refuse("f", row)


def test_advice():
    assert advice(ROW) == "A file keeps no derivative. Return it."
    ours = Row("numpy", "full", DIFFERENTIABLE, own=True)
    assert advice(ours) == "Use adjoint.numpy.full, which takes traced values."
    assert advice(Row("numpy", "sin", DIFFERENTIABLE)) is None
    assert advice(None) is None


def test_a_function_that_only_we_have_is_named():
    with pytest.raises(UnsupportedError, match=r"Use adjoint\.scipy\.special\.legendre_p, which takes traced values"):
        refuse("The ufunc legendre_p", Row("scipy.special", "legendre_p", DIFFERENTIABLE, own=True))

"""What adjoint.scipy passes on from SciPy."""

import numpy as np
import pytest
import scipy.special

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import special
from adjoint.scipy.passing import passed


def test_plain_values_get_scipys_own_answer():
    np.testing.assert_array_equal(special.ai_zeros(3)[0], scipy.special.ai_zeros(3)[0])
    assert special.erf is scipy.special.erf


def test_unknown_names():
    with pytest.raises(AttributeError, match=r"has no 'no_such_function', and neither has scipy"):
        special.no_such_function


def test_refused_functions_raise_in_the_words_of_the_table():
    with pytest.raises(UnsupportedError, match=r"scipy\.special\.ellip_normal cannot take a traced value.*custom_rule"):
        ad.grad(lambda h: special.ellip_normal(h, 1.2, 2, 1))(0.4)


def test_whole_numbers_may_be_traced_where_they_are_known():
    compiled = ad.jit(lambda n, x: x * special.bernoulli(n)[-1])
    assert compiled(2, 3.0) == pytest.approx(0.5)
    with pytest.raises(UnsupportedError, match="plain numbers"):
        ad.grad(lambda x: special.bernoulli(x)[-1])(2.0)


def test_functions_that_the_table_does_not_speak_of():
    class Module:
        __name__ = "scipy.nowhere"
        one = staticmethod(lambda x: x)

    assert passed(Module(), "one")(2.0) == 2.0
    with pytest.raises(UnsupportedError, match=r"scipy\.nowhere\.one has no derivative rule"):
        ad.grad(passed(Module(), "one"))(2.0)

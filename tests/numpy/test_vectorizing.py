"""np.vectorize on traced values, with all its options."""

import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as adn
from tests.numpy.checking import CHECKS, Case, array, check_compiled, every_check

X, V, W = array(3, 4), array(5), array(4, seed=1)
PAIR = adn.vectorize(lambda a, b: (np.outer(a, b), np.sum(a)), signature="(n),(m)->(n,m),()")


@adn.vectorize(excluded={"p"}, doc="a to the power of the first p")
def raised(a, p):
    return a ** p[0]


CASES = [
    Case("numbers", adn.vectorize(lambda a, b: a * b + 1 if a > 0.5 else b), (X, W), symbolic=False),
    Case("two results", adn.vectorize(lambda a, b: (a * b, a + b)), (X, W)),
    Case("keywords", lambda x, p: adn.vectorize(lambda a, p: a**p)(x, p=p), (V, 2.0)),
    Case("excluded by name", lambda x: raised(x, p=[2.0]), (V,)),
    Case("excluded by place", lambda x: adn.vectorize(lambda a, p: a ** p[0], excluded=[1])(x, [2.0]), (V,)),
    Case("signature", lambda x, w: adn.vectorize(np.dot, signature="(n),(n)->()")(x, w), (X, W)),
    Case("signature of several", PAIR, (X, W)),
    Case("closure", lambda p: adn.vectorize(lambda a: a * p)(V), (0.4,)),
]


@every_check(CASES, [*CHECKS, check_compiled])
def test_vectorize(case, check) -> None:
    check(case)


def test_plain_values_are_numpys() -> None:
    np.testing.assert_array_equal(raised(V, p=[2.0]), V**2)
    assert raised.__doc__ == "a to the power of the first p"


def test_element_types_and_empty_arrays() -> None:
    f = adn.vectorize(lambda a: (2 * a, a), otypes=[np.float32, float])
    for part, wanted in zip(
        ad.vjp(f, V)[0], np.vectorize(lambda a: (2 * a, a), otypes=[np.float32, float])(V), strict=True
    ):
        assert part.dtype == wanted.dtype
        np.testing.assert_allclose(part, wanted)
    for part in ad.vjp(f, np.zeros((0, 2)))[0]:
        assert part.shape == (0, 2)
    with pytest.raises(ValueError, match="otypes"):
        ad.vjp(adn.vectorize(lambda a: a), np.zeros(0))


def test_what_is_wrong_raises() -> None:
    for message, call in {
        "valid gufunc signature": lambda x: adn.vectorize(np.sum, signature="n->")(x),
        "number of positional": lambda x: adn.vectorize(np.sum, signature="(n)->()")(x, x),
        "enough dimensions": lambda x: adn.vectorize(np.sum, signature="(n,m)->()")(x),
        "inconsistent size": lambda x: adn.vectorize(np.dot, signature="(n),(n)->()")(x, x[1:]),
        "number of outputs": lambda x: adn.vectorize(np.sum, signature="(n)->(),()")(x),
        "must give numbers": lambda x: adn.vectorize(lambda a: np.stack([a, a]))(x),
    }.items():
        with pytest.raises((ValueError, TypeError), match=message):
            ad.vjp(call, V)

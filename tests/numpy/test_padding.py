"""Every mode of np.pad."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from tests.numpy.checking import CHECKS, Case, array

X, V = array(2, 3), array(4)
CASES = [
    Case("number", lambda x: np.pad(x, 2), (X,)),
    Case("pairs", lambda x: np.pad(x, ((1, 0), (0, 2))), (X,)),
    Case("pair", lambda x: np.pad(x, (1, 2)), (X,)),
    Case("dict", lambda x: np.pad(x, {1: (1, 2)}), (X,)),
    Case("constant values", lambda x: np.pad(x, 1, constant_values=3.0), (X,)),
    Case("constant pairs", lambda x: np.pad(x, 2, constant_values=((1, 2), (3, 4))), (X,)),
    *[
        Case(f"{mode} {width}", lambda x, mode=mode, width=width: np.pad(x, width, mode=mode), (x,))
        for mode in ("edge", "reflect", "symmetric", "wrap")
        for x, width in ((V, (2, 3)), (V, (9, 6)), (X, ((1, 1), (4, 2))))
    ],
    Case("linear_ramp", lambda x: np.pad(x, (2, 3), mode="linear_ramp", end_values=(5, -4)), (V,)),
    Case("linear_ramp 2", lambda x: np.pad(x, 2, mode="linear_ramp"), (X,)),
    *[
        Case(mode, lambda x, mode=mode: np.pad(x, ((1, 2), (0, 1)), mode=mode), (X,))
        for mode in ("maximum", "minimum", "mean", "median")
    ],
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_padding(case, check) -> None:
    check(case)


def test_traced_constants() -> None:
    def f(x, c):
        return np.sum(np.pad(x, (1, 2), constant_values=c) * np.arange(6.0))

    gx, gc = ad.grad(f, (0, 1))(np.ones(3), 2.0)
    np.testing.assert_allclose(gx, [1.0, 2.0, 3.0])
    assert gc == 0.0 + 4.0 + 5.0


def test_what_has_no_meaning_raises() -> None:
    for kwargs in (
        {"mode": "reflect", "reflect_type": "odd"},
        {"mode": "mean", "stat_length": 2},
        {"mode": lambda *a: None},
    ):
        with pytest.raises(UnsupportedError, match=r"np\.pad"):
            ad.grad(lambda x, kwargs=kwargs: np.sum(np.pad(x, 1, **kwargs)))(np.ones(3))
    with pytest.raises(ValueError, match="negative"):
        ad.grad(lambda x: np.sum(np.pad(x, -1)))(np.ones(3))

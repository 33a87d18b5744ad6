"""where, select, clip."""

import numpy as np
import pytest

import adjoint as ad
from tests.numpy.checking import Case, array, every_check, signed

V = signed(6)
CASES = [
    Case("where", lambda x, y: np.where(x > 0, x * y, y), (V, array(6, seed=1))),
    Case("where broadcast", lambda x, y: np.where(np.array([[True], [False]]), x, y), (V, 1.3)),
    Case("where number", lambda x: np.where(x > 0.3, x, 0), (V,)),
    Case("clip", lambda x: np.clip(x, -0.55, 0.55), (V,)),
    Case("clip low", lambda x: np.clip(x, 0.1, None), (V,)),
    Case("clip names", lambda x: np.clip(x, min=-0.55, max=0.75), (V,)),
    Case("clip bounds", lambda x, a, b: np.clip(x, a, b), (V, -0.55, array(6, seed=2))),
    Case("clip of a plain array", lambda a: V.clip(a, 0.9), (-0.33,)),
    Case("clip out", lambda x: np.clip(x, -0.5, 0.5, out=np.zeros_like(x)), (V,)),
    Case("select", lambda x: np.select([x < -0.5, x > 0.5], [x * x, np.exp(x)], default=3.0), (V,)),
]


@every_check(CASES)
def test_selecting(case, check) -> None:
    check(case)


def test_nothing_leaks_out_of_the_branch_not_taken() -> None:
    x = np.array([-1.0, 0.0, 4.0])
    with np.errstate(all="ignore"):
        for f in (
            lambda x: np.where(x > 0, np.sqrt(x), 0.0),
            lambda x: np.select([x > 0], [np.log(x)], 1.0),
            lambda x: np.where(x > 0, x / x, 2.0),
        ):
            scalar = lambda x, f=f: np.sum(f(x))
            assert np.all(np.isfinite(ad.grad(scalar)(x)))
            assert np.all(np.isfinite(ad.jvp(f, (x,), (np.ones(3),))[1]))
            assert np.all(np.isfinite(ad.jvp(ad.grad(scalar), (x,), (np.ones(3),))[1]))
            assert np.all(np.isfinite(ad.grad(lambda x, scalar=scalar: np.sum(ad.grad(scalar)(x)))(x)))
            assert np.all(np.isfinite(ad.jet(f, (x,), [[np.ones(3), np.zeros(3)]])[1]))


def test_wrong_arguments_raise() -> None:
    with pytest.raises(ValueError, match="same length"):
        ad.grad(lambda x: np.sum(np.select([x > 0], [x, x])))(V)
    with pytest.raises(ValueError, match="broadcast"):
        ad.grad(lambda x: np.sum(np.where(np.ones(4, bool), x, 0)))(V)

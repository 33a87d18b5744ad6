"""Special functions in compiled programs: SciPy's loops, on operands of any dtype, shape and stride, also in loops."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import adjoint as ad

X = np.abs(np.random.default_rng(0).normal(size=(6, 5))) + 0.1
FUNCTIONS = {
    "one argument": lambda x: sp.j0(x),
    "a number beside": lambda x: sp.jv(2.5, x),
    "an integer beside": lambda x: sp.expn(3, x),
    "several results": lambda x: sp.sici(x),
    "four results": lambda x: sp.ellipj(x, 0.3),
    "complex": lambda x: sp.wofz(x + 1j * x),
    "single precision": lambda x: sp.k1(x.astype(np.float32)),
    "strided": lambda x: sp.i1(x[::2, ::-1].T),
    "broadcast": lambda x: sp.kv(x[0], x[:, :1]),
    "broadcast over both": lambda x: sp.gammainc(x[:, None, :1], x[None, :, 1]),
    "integers": lambda x: sp.dawsn((x > 1.0).astype(np.int32)),
    "a scalar": lambda x: sp.spence(x[0, 0]),
    "no elements": lambda x: sp.ellipe(x[:0]),
}


def compiled_without_callbacks(f: Any, *args: Any) -> Any:
    fast = ad.jit(f)
    result = fast(*args)
    assert fast.report().specializations[0].callbacks == []
    return result


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_bit_for_bit(f: Any) -> None:
    got, want = compiled_without_callbacks(f, X), f(X)
    for a, b in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_in_a_loop() -> None:
    def f(x: Any) -> Any:
        return ad.scan(lambda y, t: (sp.i0e(y) + t, sp.ellipk(y / 9)), x, X[0])

    for a, b in zip(compiled_without_callbacks(f, X[0]), f(X[0]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_derivative() -> None:
    slope = ad.grad(lambda x: np.sum(sp.jv(1.5, x)))
    np.testing.assert_allclose(compiled_without_callbacks(slope, X), sp.jvp(1.5, X), rtol=1e-13)


def test_other_sizes() -> None:
    fast = ad.jit(lambda x: sp.j1(x) + sp.y0(x))
    for n in (3, 7, 20, 1, 50):
        x = np.linspace(1.0, 2.0, n)
        np.testing.assert_array_equal(fast(x), sp.j1(x) + sp.y0(x))


def test_errors_that_the_user_wants_raised() -> None:
    fast = ad.jit(lambda x: sp.gammainc(x, 1.0))
    for _ in range(3):
        with sp.errstate(all="raise"), pytest.raises(sp.SpecialFunctionError, match="domain error"):
            fast(-np.ones(3))
        assert np.all(np.isnan(fast(-np.ones(3))))  # and nothing of it is left
    with sp.errstate(all="warn"), pytest.warns(sp.SpecialFunctionWarning):
        fast(-np.ones(3))

"""Rounding, closeness, complex parts, sinc, piecewise, and questions about types."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.numpy.checking import Case, complex_array, every_check, signed

V, Z = signed(5), complex_array(4)
CASES = [
    Case("round", lambda x: np.round(x, 1) * x, (V,)),
    Case("round negative", lambda x: np.around(x * 100, -1) + x, (V,)),
    Case("round complex", lambda x: np.round(x * 3) * x, (Z,)),
    Case("fix", lambda x: np.fix(x * 3) * x, (V,)),
    Case("angle", np.angle, (Z,)),
    Case("angle deg", lambda z: np.angle(z, deg=True), (Z,)),
    Case("angle of reals", lambda x: np.angle(x) + x, (V,)),
    Case("real_if_close", lambda x: np.real_if_close(x * x), (V,)),
    Case("real_if_close complex", lambda x: np.real_if_close(x), (Z,), symbolic=False),
    Case("sinc", np.sinc, (signed(6) * 1.3,)),
    Case("sinc at zero", np.sinc, (np.array([0.0, 0.25, -0.31, 1.0]),)),
    Case("i0", np.i0, (V,)),
    Case("piecewise", lambda x: np.piecewise(x, [x < 0, x > 0.8], [lambda t: -t * t, lambda t: np.exp(t), 3.0]), (V,)),
    Case("piecewise number", lambda x: np.piecewise(x, [x > 0], [lambda t, a: a * t**3, 0.0], 2.0), (0.7,)),
    Case("nan_to_num", lambda x: np.nan_to_num(x) * x, (V,)),
    Case("real", lambda z: np.real(z) * 2, (Z,)),
    Case("imag", np.imag, (Z,)),
    Case("imag of reals", lambda x: np.imag(x) + x, (V,)),
]


@every_check(CASES)
def test_elementwise(case, check) -> None:
    check(case)


def answers(x):
    return [
        np.isclose(x, x + 1e-9),
        np.isclose(x, np.nan, equal_nan=True),
        np.allclose(x, x),
        np.allclose(x, 2 * x),
        np.array_equal(x, x),
        np.array_equal(x, x[:1]),
        np.array_equiv(x, x[0]),
        np.isneginf(x),
        np.isposinf(x),
        np.isreal(x),
        np.iscomplex(x),
        np.iscomplexobj(x),
        np.isrealobj(x),
        np.result_type(x, np.float32(1)),
        np.result_type(x, 1j),
        np.can_cast(np.result_type(x), np.float32),
        np.common_type(x),
        np.ndim(x),
        np.shape(x),
        np.size(x),
        np.min_scalar_type(x),
        np.signbit(x),
        np.isnan(x),
        np.isfinite(x),
    ]


def test_answers_are_those_of_numpy() -> None:
    x = np.array([1.0, -np.inf, np.nan])
    found = []
    ad.grad(lambda x: found.extend(answers(x)) or np.sum(x))(x)
    for mine, numpys in zip(found, answers(x), strict=True):
        np.testing.assert_array_equal(mine, numpys)


def test_shared_memory() -> None:
    def f(x):
        y = +x
        assert np.may_share_memory(y, y[1:])
        assert np.shares_memory(y[1:].T, y)
        assert not np.shares_memory(y, y.copy())
        return np.sum(y)

    ad.grad(f)(np.ones(3))


def test_sinc_keeps_all_derivatives_at_zero() -> None:
    # sinc(x) = 1 - (pi x)^2/6 + (pi x)^4/120 - ...
    _, series = ad.jet(np.sinc, (0.0,), [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(series, [0, -(np.pi**2) / 3, 0, np.pi**4 / 5, 0, -(np.pi**6) / 7], atol=1e-10)


def test_nan_to_num_of_bad_numbers() -> None:
    x = np.array([1.0, np.nan, np.inf, -np.inf])
    f = lambda x: np.nan_to_num(x, nan=5.0, posinf=7.0)
    y, slope = ad.jvp(f, (x,), (np.ones(4),))
    np.testing.assert_array_equal(y, f(x))
    np.testing.assert_array_equal(slope, [1.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(f(x)))(x), [1.0, 0.0, 0.0, 0.0])
    assert ad.grad(lambda c: np.sum(np.nan_to_num(c * x, nan=c)[:2]))(2.0) == 2.0


def test_text_of_traced_values() -> None:
    shown = []
    ad.grad(lambda x: shown.append(np.array2string(x) + np.array_repr(x) + f"{x[0]:.2f}") or np.sum(x))(
        np.array([1.5, 2.5])
    )
    assert "1.5" in shown[0]


def test_angle_of_reals_at_special_values() -> None:
    x = np.array([-np.inf, -1.0, -0.0, 0.0, 2.0, np.inf, np.nan])
    for values in (x, x.astype(np.float32), np.array([-1, 0, 2])):
        found = ad.jit(np.angle)(values)
        np.testing.assert_array_equal(found, np.angle(values))
        assert found.dtype == np.angle(values).dtype


@pytest.mark.parametrize("f", [np.arcsin, np.arccos])
@pytest.mark.parametrize("x", [complex(2, 0.0), complex(2, -0.0), complex(-2, 0.0), complex(-2, -0.0)])
def test_slopes_on_both_sides_of_a_cut(f: Any, x: complex) -> None:
    """The sign of a zero imaginary part says on which side; the slope is that of a point beside it."""
    beside = complex(x.real, np.copysign(1e-9, x.imag))
    slope = lambda x: ad.jvp(f, (x,), (1 + 0j,))[1]
    for way in (slope, ad.jit(slope)):
        np.testing.assert_allclose(way(np.complex128(x)), slope(np.complex128(beside)), rtol=1e-8, atol=1e-8)

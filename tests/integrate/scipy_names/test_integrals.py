"""`quad` and its family under SciPy's names, in code that knows nothing of derivatives."""

import numpy as np
import pytest
import scipy.integrate as si
import scipy.stats

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import integrate
from tests.support.sweeps import sampled


def difference(f, x, h=1e-3):
    """f′ by central differences, extrapolated."""
    central = lambda h: (f(x + h) - f(x - h)) / (2 * h)
    return (4 * central(h / 2) - central(h)) / 3


def bell(a):
    return a * si.quad(lambda x, a: np.exp(-a * x * x), 0.1 * a, a, (a,))[0]


def triangle(a):
    return si.dblquad(lambda y, x, c: np.exp(-a * x * y) * c, 0.0, a, lambda x: 0, lambda x: a * x, args=(2.0,))[0]


def vector(a):
    value = si.quad_vec(lambda x, c: np.array([x * c, np.sin(c * x)]), 0, a, args=(a,))[0]
    return value[0] - 2 * value[1] * value[0]


def kinked(a):
    return si.quad(lambda x: x - a if x > a else 0, -1, 2)[0]


def stepped(a):
    """A jump at a/2, which is named: ∫ = a/2 - 3 (2 - a/2)."""
    return si.quad(lambda x: 1.0 if x < a / 2 else -3.0, 0, 2, points=[a / 2, 1.9])[0]


def wave(a):
    return si.quad(lambda x: x * a, 0.0, 1.0, weight="cos", wvar=3.0 * a)[0]


def cube(a):
    """An inner range that depends on the outer variable and on args, and options for each."""
    inside = lambda y, c: (0.0, y * c)
    return si.nquad(lambda x, y, c: x * y * c, [inside, [0, a]], args=(a,), opts=[{"epsabs": 1e-9}, {"limit": 70}])[0]


CASES = [bell, triangle, vector, kinked, stepped, wave, cube]


@pytest.mark.parametrize("f", sampled(CASES, 2), ids=lambda f: f.__name__)
def test_unchanged_code(f):
    a = 0.9
    value, slope = ad.value_and_grad(f)(a)
    want = difference(f, a)
    assert value == pytest.approx(f(a), rel=1e-9)
    assert slope == pytest.approx(want, rel=1e-6)
    assert ad.jvp(f, (a,), (1.0,))[1] == pytest.approx(slope, rel=1e-9)
    assert ad.jit(ad.grad(f))(a) == pytest.approx(slope, rel=1e-9)
    batch = ad.vmap(f)(np.array([a, 0.5]))
    np.testing.assert_allclose(batch, [f(a), f(0.5)], rtol=1e-8)


def _halton(a):
    qrng = scipy.stats.qmc.Halton(2, seed=0)
    return si.qmc_quad(lambda x: np.exp(-a * x[0] * x[1]), [0.0, a], [1.0, 0.5], n_points=64, qrng=qrng).integral


POINTWISE = {
    "tanhsinh": lambda a: np.sum(si.tanhsinh(
        lambda x, k: np.exp(-a * x * k) * x**-0.5, 0.0, np.array([1.0, 2.0]) * a, args=(np.array([[1.0], [0.5]]),)
    ).integral),
    "cubature": lambda a: si.cubature(
        lambda x, k: np.exp(-k * x[:, 0] * x[:, 1]), [0, 0], [1.0, a], args=(a,)
    ).estimate,
    "qmc_quad": _halton,
}  # fmt: skip


@pytest.mark.parametrize("name", POINTWISE)
def test_integrands_of_many_points(name):
    f = POINTWISE[name]
    expected = (8 * (f(1.31) - f(1.29)) - (f(1.32) - f(1.28))) / 0.12
    assert ad.grad(f)(1.3) == pytest.approx(expected, rel=1e-6)
    assert ad.jit(f)(1.3) == pytest.approx(float(f(1.3)), rel=1e-8)


def test_infinite_ends_in_both_orders():
    above = lambda a: integrate.quad(lambda x: 1 / (1 + a * x * x), a, np.inf)[0]
    turned = lambda a: integrate.quad(lambda x: 1 / (1 + a * x * x), np.inf, a)[0]
    exact = lambda a: (np.pi / 2 - np.arctan(np.sqrt(a) * a)) / np.sqrt(a)
    assert ad.grad(above)(0.7) == pytest.approx(difference(exact, 0.7), rel=1e-8)
    assert ad.grad(turned)(0.7) == pytest.approx(-difference(exact, 0.7), rel=1e-8)


def test_a_jump_on_the_way_down():
    """∫ from b down to 0 of a step at a, where both ends are traced: d/da of -(a - 2 (b - a)) = -3."""
    f = lambda a, b: integrate.quad(lambda x: np.where(x < a, 1.0, -2.0), b, 0.0 * a, points=[a])[0]
    assert f(0.4, 1.0) == pytest.approx(0.8)
    np.testing.assert_allclose(ad.grad(f, (0, 1))(0.4, 1.0), [-3.0, 2.0])
    np.testing.assert_allclose(ad.jit(ad.jacfwd(f, (0, 1)))(0.4, 1.0), [-3.0, 2.0])


def test_second_derivatives():
    assert ad.grad(ad.grad(bell))(0.9) == pytest.approx(difference(ad.grad(bell), 0.9), rel=1e-6)


def test_three_variables():
    def f(a):
        ends = (0, lambda x: x * a, lambda x, y: x - y, lambda x, y: 1 + x * y)
        return si.tplquad(lambda z, y, x: np.exp(-a * x * y * z), 0.0, a, *ends)[0]

    value, slope = ad.value_and_grad(f)(1.1)
    assert value == pytest.approx(f(1.1), rel=1e-9)
    assert slope == pytest.approx(difference(f, 1.1, 1e-2), rel=1e-6)


def test_complex_integrands_are_asked_for():
    f = lambda a: integrate.quad(lambda x: np.exp(1j * a * x), 0, 1, complex_func=True)[0].imag
    assert ad.grad(f)(1.3) == pytest.approx(difference(f, 1.3), rel=1e-8)
    with pytest.raises(TypeError, match="complex_func"):
        ad.grad(lambda a: integrate.quad(lambda x: np.exp(1j * a * x), 0, 1)[0].real)(1.3)


def test_plain_values_are_scipys():
    """Under a transformation too, when nothing traced is read."""
    assert integrate.quad(np.sin, 0, 1) == si.quad(np.sin, 0, 1)
    calls = []

    def f(a):
        calls.append(si.quad(np.sin, 0, 1))
        return a * calls[-1][0]

    assert ad.grad(f)(2.0) == si.quad(np.sin, 0, 1)[0]
    assert calls == [si.quad(np.sin, 0, 1)]
    assert len(integrate.quad(np.sin, 0, 1, full_output=1)) == 3


def test_what_has_no_derivative_says_so():
    with pytest.raises(UnsupportedError, match="weight='cauchy'"):
        ad.grad(lambda a: integrate.quad(lambda x: a * x, -1, 1, weight="cauchy", wvar=0.2)[0])(1.0)
    with pytest.raises(ValueError, match="quad_vec"):
        ad.grad(lambda a: integrate.quad(lambda x: a * np.ones(2), 0, 1)[0])(1.0)
    with pytest.warns(si.IntegrationWarning, match="max intervals|no further progress|not finite"):
        ad.value_and_grad(lambda a: integrate.quad(lambda x: a / x, 0, 1)[0])(1.0)
    with config.override(convert=False), pytest.raises(TypeError, match=r"adjoint\.scipy\.integrate\.quad"):
        ad.grad(lambda a: si.quad(lambda x: a * x, 0.0, 1.0)[0])(1.0)

"""n-th derivatives of functions of one number, against mpmath, nesting, and Faà di Bruno's formula."""

import math

import mpmath
import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.testing import count_calls


@pytest.mark.parametrize("n", [0, 1, 2, 5, 10, 20])
def test_against_mpmath(n):
    f = lambda x, m=np: m.exp(m.sin(x)) / (1 + x * x)
    with mpmath.workdps(60):
        expected = float(mpmath.diff(lambda x: f(x, mpmath), mpmath.mpf("0.4"), n))
    assert ad.derivative(f, n)(0.4) == pytest.approx(expected, rel=1e-11)


def test_one_evaluation_whatever_the_order():
    f = count_calls(np.exp)
    assert ad.derivative(f, 20)(0.3) == pytest.approx(1.349858807576003, rel=1e-14)
    assert f.calls == 1


@pytest.mark.parametrize("n", [1, 3, 6, 9])
def test_faa_di_bruno(n):
    """(f∘g)⁽ⁿ⁾ = Σ f⁽ᵏ⁾(g) B_{n,k}(g', g'', …), with the partial Bell polynomials by their recurrence."""
    f, g, x = np.tanh, lambda x: np.log(2 + x**3), 0.6
    gs = [ad.derivative(g, k)(x) for k in range(n + 1)]
    bell = np.zeros((n + 1, n + 1))
    bell[0, 0] = 1
    for m in range(1, n + 1):
        for k in range(1, m + 1):
            bell[m, k] = sum(math.comb(m - 1, i - 1) * gs[i] * bell[m - i, k - 1] for i in range(1, m - k + 2))
    expected = sum(ad.derivative(f, k)(gs[0]) * bell[n, k] for k in range(1, n + 1))
    assert ad.derivative(lambda x: f(g(x)), n)(x) == pytest.approx(expected, rel=1e-11)


def test_other_arguments_results_and_kinds_of_numbers():
    f = lambda a, x, power=2: {"y": a * x**power, "z": np.stack([x, np.exp(2 * x)])}
    found = ad.derivative(f, 2, argnums=1)(3.0, 1, power=4)
    assert found["y"] == pytest.approx(36.0)
    assert_allclose(found["z"], [0.0, 4 * np.exp(2.0)])
    assert ad.derivative(np.exp, 3)(1j) == pytest.approx(np.exp(1j))
    assert ad.derivative(np.exp, 3)(np.float32(1.0)).dtype == np.float32


def test_transformations():
    third = ad.derivative(np.tanh, 3)
    assert ad.grad(third)(0.3) == pytest.approx(ad.derivative(np.tanh, 4)(0.3), rel=1e-13)
    assert ad.derivative(third, 2)(0.3) == pytest.approx(ad.derivative(np.tanh, 5)(0.3), rel=1e-12)
    assert ad.jit(third)(0.3) == pytest.approx(third(0.3), rel=1e-12)
    xs = np.array([0.1, 0.2])
    assert_allclose(ad.vmap(third)(xs), [third(x) for x in xs], rtol=1e-14)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="vmap"):
        ad.derivative(np.sin, 2)(np.ones(2))
    for wrong in (-1, 1.5, True, 171):
        with pytest.raises(ValueError, match="must be an integer"):
            ad.derivative(np.sin, wrong)
    with pytest.raises(TypeError, match="bool"):
        ad.derivative(np.sin)(True)
    with pytest.raises(ValueError, match="argnums"):
        ad.derivative(np.sin, 1, argnums=1)(1.0)


def test_complex_derivatives_are_those_of_holomorphic_functions():
    z = np.array([0.3 + 0.5j, -1.0 + 0.2j])
    cube = lambda z: np.sum(z**3)
    assert_allclose(ad.derivative(lambda z: z**3, 2)(z[0]), 6 * z[0])
    assert_allclose(ad.laplacian(cube)(z), np.sum(6 * z))
    assert_allclose(ad.partials(cube, 2)(z).tensor(2), np.diag(6 * z), atol=1e-14)
    size = lambda z: np.sum(np.abs(z) ** 2)
    for name, use in {
        "derivative": lambda: ad.derivative(size, 2)(z[0]),
        "laplacian": lambda: ad.laplacian(size)(z),
        "partials": lambda: ad.partials(size, 2)(z),
        "taylor": lambda: ad.taylor(size, z, 1),
    }.items():
        with pytest.raises(DtypeError, match=rf"^{name}: .* not holomorphic .* real and imaginary parts"):
            use()


def test_arguments_that_are_no_number():
    for x in ({"a": 1.0}, None, (1.0, 2.0)):
        with pytest.raises(ShapeError, match=r"^derivative: the argument is a .*; it must be one number"):
            ad.derivative(np.sin, 2)(x)


def test_code_that_asks_for_plain_numbers_is_converted_as_for_grad():
    def one(a):
        return math.sin(a) * scipy.optimize.brentq(lambda x: x**3 - a, 0.0, 5.0)

    def several(x):
        return sum(math.sin(v) * math.exp(2.0 * v) for v in x)

    s, c = np.sin(2.0), np.cos(2.0)
    expected = -s * 2 ** (1 / 3) + 2 * c / 3 * 2 ** (-2 / 3) - s * 2 / 9 * 2 ** (-5 / 3)
    assert_allclose(ad.derivative(one, 2)(2.0), expected, rtol=1e-9)
    x = np.array([0.3, 0.7])
    second = np.exp(2 * x) * (3 * np.sin(x) + 4 * np.cos(x))
    assert_allclose(ad.laplacian(several)(x), np.sum(second), rtol=1e-12)
    found = ad.partials(several, 2)(x)
    assert_allclose([found[2, 0], found[0, 2], found[1, 1]], [*second, 0.0], rtol=1e-12, atol=1e-12)

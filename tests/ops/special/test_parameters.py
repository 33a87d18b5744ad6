"""Derivatives in the parameters of special functions: against mpmath on hard points, in every mode; refusals."""

import json
import pickle
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.ops.special.jets import forms, series
from adjoint.ops.special.parameters import AT_ONCE, FAMILIES, ParameterDerivative
from adjoint.testing import check_grads, mp_difference

A = np.array
ROWS = json.loads((Path(__file__).parent / "references.json").read_text(encoding="utf-8"))
MEMBERS = sorted({(name, tuple(orders)) for name, orders, *_ in ROWS})
# The greatest relative error that we answer for: of first derivatives, of higher ones.
STATED = {
    "gammainc": (2e-13, 1e-12),
    "betainc": (3e-12, 3e-12),
    **dict.fromkeys(("jv", "yv", "ive", "kve"), (2e-13, 2e-13)),
    "hyp0f1": (1e-12, 2e-11),
    "hyp1f1": (1e-13, 1e-13),
    "hyp2f1": (1e-11, 1e-11),
    "hyperu": (3e-12, 3e-12),
}


@pytest.mark.parametrize("name, orders", MEMBERS)
def test_against_mpmath(name, orders):
    rows = [row for row in ROWS if row[0] == name and tuple(row[1]) == orders]
    points = np.array([row[2] for row in rows])
    values, scales = np.array([row[3] for row in rows]), np.array([row[4] for row in rows])
    got = ParameterDerivative(name, orders)(*points.T)
    errors = np.abs(got - values) / np.maximum(np.abs(values), np.maximum(scales, 1e-280))
    worst = np.argmax(errors)
    assert errors[worst] < STATED[name][sum(orders) > 1], (points[worst], got[worst], values[worst])


V, X = A([2.5, 0.3, 0.0, 3.0, -1.4]), A([3.0, 1.2, 2.0, 8.0, 0.7])
CASES = {
    "gammainc": (A([2.5, 0.3]), A([3.0, 0.4])),
    "gammaincc": (A([2.5, 0.3]), A([3.0, 0.4])),
    "gammaincinv": (A([2.5, 0.7]), A([0.4, 0.8])),
    "gammainccinv": (A([2.5, 0.7]), A([0.4, 0.8])),
    "betainc": (A([2.5, 0.3]), A([3.0, 1.2]), A([0.4, 0.7])),
    "betaincc": (A([2.5, 0.3]), A([3.0, 1.2]), A([0.4, 0.7])),
    "betaincinv": (A([2.5, 0.6]), A([3.0, 1.2]), A([0.4, 0.7])),
    "betainccinv": (A([2.5, 0.6]), A([3.0, 1.2]), A([0.4, 0.7])),
    **dict.fromkeys(("jv", "yv", "iv", "kv", "jve", "yve", "ive", "kve"), (V, X)),
    "hyp0f1": (A([1.3, 2.0]), A([-0.6, 30.0])),
    "hyp1f1": (A([0.4, 2.0]), A([1.3, 2.5]), A([-3.6, 3.0])),
    "hyp2f1": (A([0.4, 2.0]), A([1.3, 2.5]), A([2.2, 0.7]), A([-2.6, 0.3])),
    "hyperu": (A([0.4, 2.0]), A([1.3, 2.5]), A([0.6, 3.0])),
}


@pytest.mark.parametrize("name", CASES)
def test_all_arguments_in_both_modes_to_second_order(name):
    check_grads(getattr(special, name), CASES[name])


@pytest.mark.parametrize("name", ["hankel1", "hankel2", "hankel1e", "hankel2e"])
@pytest.mark.parametrize("part", [np.real, np.imag])
def test_hankel_functions_in_order_and_argument(name, part):
    check_grads(lambda v, x: part(getattr(special, name)(v, x)), (V, X))


@pytest.mark.parametrize("name", ["gammainc", "betainc", "jv", "hyp1f1"])
def test_batched_compiled_and_by_taylor(name):
    f, args = getattr(special, name), CASES[name]
    slope = lambda *xs: ad.grad(lambda *ys: np.sum(f(*ys)), argnums=tuple(range(len(xs))))(*xs)
    want = slope(*args)
    for got in (ad.vmap(slope)(*args), ad.jit(slope)(*args)):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)
    along = lambda t: f(args[0] + t, *args[1:])
    nothing = np.zeros(1)
    _, series = ad.jet(along, (nothing,), ([np.ones(1), nothing, nothing],))
    derivative = along
    for term in series:
        derivative = lambda t, g=derivative: ad.jvp(g, (t,), (np.ones(1),))[1]
        np.testing.assert_allclose(term, derivative(nothing), rtol=1e-10)


def test_shapes_and_types():
    slope = lambda a, x: ad.jvp(lambda s: special.gammainc(s, x), (a,), (np.ones_like(a),))[1]
    assert slope(np.empty((0, 3)), 2.0).shape == (0, 3)
    assert slope(A([[2.0], [3.0]]), A([1.0, 2.0, 3.0])).shape == (2, 3)
    assert slope(A([2.0], np.float32), A([1.0], np.float32)).dtype == np.float32
    assert isinstance(slope(np.float64(2.0), 1.0), np.float64)
    many = np.linspace(0.5, 30.0, 2 * AT_ONCE + 7)
    np.testing.assert_array_equal(slope(many, 5.0)[[3, -3]], slope(many[[3, -3]], 5.0))


def test_too_many_derivatives_are_refused_by_name():
    f = lambda a: special.gammainc(a, 2.0)
    for _ in range(5):
        f = ad.grad(f)
    assert np.isfinite(f(1.5))
    with pytest.raises(UnsupportedError, match=r"gammainc\(a, x\).*order 5.*order 6.*'a'"):
        ad.grad(f)(1.5)


# Where one method or another fails: large c near x = 1, large a in the waves of ₁F₁, recurrences of U, large Γ(b).
FOUND = [
    ("hyp2f1", mpmath.hyp2f1, (0.19, 1.26, 64.7, 0.9936)),
    ("hyp2f1", mpmath.hyp2f1, (5.9, 21.3, 0.87, 0.99937)),
    ("hyp2f1", mpmath.hyp2f1, (28.0, 31.0, 45.0, 0.97)),
    ("hyp1f1", mpmath.hyp1f1, (22.3, 2.15, -15.8)),
    ("hyp1f1", mpmath.hyp1f1, (-5.58, 66.9, 10.2)),
    ("hyperu", mpmath.hyperu, (-7.09, 13.4, 0.0295)),
    ("hyp0f1", mpmath.hyp0f1, (193.0, -26.6)),
    ("hyp0f1", mpmath.hyp0f1, (155.0, -4425.0)),
]


@pytest.mark.parametrize("name, exact, point", FOUND)
def test_every_parameter_at_difficult_points(name, exact, point):
    for i in range(len(point) - 1):
        along = lambda t, i=i: exact(*point[:i], t, *point[i + 1 :])
        want = float(mp_difference(along, point[i], digits=30))
        got = ParameterDerivative(name, tuple(int(j == i) for j in range(len(point))))(*point)
        np.testing.assert_allclose(got, want, rtol=1e-10)


def test_a_series_without_correct_digits_is_not_a_number():
    """cos(2√3000) as a power series, whose terms reach 1e46."""
    jet = series((0,), [], [forms(np.array([0.5]))[0]], np.array([-3000.0]), 1000)
    assert np.isnan(jet[0, 0])


HIGHER = {
    "gammainc": (lambda a: mpmath.gammainc(a, 0, 2, regularized=True), 1.5, (2.0,)),
    "betainc": (lambda a: mpmath.betainc(a, 3, 0, 0.4, regularized=True), 1.5, (3.0, 0.4)),
    "jv": (lambda v: mpmath.besselj(v, 7), 1.5, (7.0,)),
    "kv": (lambda v: mpmath.besselk(v, 0.5), 1.5, (0.5,)),
    "iv": (lambda v: mpmath.besseli(v, 3), 4.5, (3.0,)),
    "hyp0f1": (lambda b: mpmath.hyp0f1(b, 20), 1.5, (20.0,)),
    "hyp1f1": (lambda a: mpmath.hyp1f1(a, 2.5, -3), 1.5, (2.5, -3.0)),
    "hyp2f1": (lambda a: mpmath.hyp2f1(a, 2.5, 1.2, 0.9), 1.5, (2.5, 1.2, 0.9)),
    "hyperu": (lambda a: mpmath.hyperu(a, 2.5, 3), 1.5, (2.5, 3.0)),
}


@pytest.mark.parametrize("name", HIGHER)
def test_third_and_fourth_derivatives(name):
    exact, x, rest = HIGHER[name]
    for order in (3, 4):
        got = ParameterDerivative(name, (order,) + (0,) * len(rest))(x, *rest)
        want = float(mp_difference(exact, x, derivative=order, digits=25))
        np.testing.assert_allclose(got, want, rtol=1e-9)


def test_parameters_beside_complex_arguments():
    slope = lambda z: ad.jvp(lambda a: special.hyp1f1(a, 1.5, z), (0.5,), (1.0,))[1]
    assert np.isfinite(slope(2.0))
    with pytest.raises(UnsupportedError, match=r"hyp1f1.*complex"):
        slope(2.0 + 1j)


def test_members_pickle_and_name_themselves():
    op = ParameterDerivative("jv", (2, 0))
    assert pickle.loads(pickle.dumps(op)) == op
    assert "jv" in str(op)
    assert set(FAMILIES) >= {"gammainc", "betainc", "jv", "hyp2f1"}

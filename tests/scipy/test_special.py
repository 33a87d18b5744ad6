"""adjoint.scipy.special: values as SciPy's, derivatives against differences, stability, infinities, and refusals."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from scipy.special import expit

import adjoint as ad
from adjoint.base.errors import TraceError, UnsupportedError
from adjoint.scipy import special
from adjoint.testing import check_grads

INF = np.inf
A = np.random.default_rng(0).normal(size=(3, 4))
B = np.random.default_rng(1).normal(size=(3, 4))
Z = np.array([-2.0, 0.5, 3.0])


def traced_value(f, *args):
    return ad.jvp(f, args, tuple(np.ones_like(a) for a in args))[0]


@pytest.mark.row("A4.3.d", "8.4.1")
def test_logsumexp_is_stable_and_its_gradient_is_the_softmax():
    x = np.array([1000.0, 1000.0])
    value, gradient = ad.value_and_grad(special.logsumexp)(x)
    assert abs(value - 1000.6931471805599) < 1e-12
    np.testing.assert_array_equal(gradient, [0.5, 0.5])
    np.testing.assert_allclose(ad.grad(special.logsumexp)(A), scipy.special.softmax(A), rtol=1e-14)


@pytest.mark.row("L1.b")
def test_softmax_is_stable_on_every_axis():
    np.testing.assert_array_equal(special.softmax(np.array([1000.0, 1000.0])), [0.5, 0.5])
    np.testing.assert_array_equal(traced_value(special.softmax, np.array([1000.0, 1000.0])), [0.5, 0.5])
    for axis in (None, 0, 1, -1, (0, 1)):
        value = traced_value(lambda x, axis=axis: special.softmax(x, axis=axis), A)
        assert np.all(value >= 0)
        np.testing.assert_allclose(np.sum(value, axis=axis), 1.0, rtol=1e-14)
        np.testing.assert_allclose(value, scipy.special.softmax(A, axis=axis), rtol=1e-14)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (1,)])
def test_logsumexp_of_every_axis(axis, keepdims):
    f = lambda a: special.logsumexp(a, axis=axis, keepdims=keepdims)
    g = lambda a, b: special.logsumexp(a, axis=axis, b=b, keepdims=keepdims, return_sign=True)[0]
    want = scipy.special.logsumexp(A, axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(traced_value(f, A), want, rtol=1e-14)
    assert np.shape(traced_value(f, A)) == np.shape(want)
    check_grads(f, (A,))
    check_grads(g, (A, B))


@pytest.mark.parametrize(
    "x",
    [
        [-INF, -INF], [-INF, 0.0, 1.0], [INF, 0.0], [INF, INF, 3.0], [INF, -INF], [0.0, -40.0], [-1000.0, -1001.0],
        [np.nan, 1.0], [700.0, 710.0],
    ],
)  # fmt: skip
def test_extreme_values_are_scipys(x):
    x = np.array(x)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(traced_value(special.logsumexp, x), scipy.special.logsumexp(x), rtol=1e-15)
        np.testing.assert_allclose(traced_value(special.softmax, x), scipy.special.softmax(x), rtol=1e-14)
        np.testing.assert_allclose(
            traced_value(special.log_softmax, x), scipy.special.log_softmax(x), rtol=1e-12, atol=1e-17
        )


def test_gradients_at_infinities():
    g = ad.grad(special.logsumexp)
    np.testing.assert_array_equal(g(np.array([-INF, -INF])), [0.0, 0.0])
    np.testing.assert_array_equal(g(np.array([INF, 1.0, INF])), [0.5, 0.0, 0.5])
    np.testing.assert_allclose(g(np.array([-INF, 0.0, 1.0])), [0.0, expit(-1.0), expit(1.0)], rtol=1e-15)
    rows = np.array([[-INF, -INF], [0.0, 0.0], [INF, 0.0]])
    np.testing.assert_array_equal(
        ad.grad(lambda x: np.sum(np.where([True, True, False], special.logsumexp(x, axis=1), 0.0)))(rows),
        [[0.0, 0.0], [0.5, 0.5], [0.0, 0.0]],
    )


def test_second_order_jet_and_batch():
    s = scipy.special.softmax(A[0])
    hessian = np.stack([ad.jvp(ad.grad(special.logsumexp), (A[0],), (e,))[1] for e in np.eye(4)])
    np.testing.assert_allclose(hessian, np.diag(s) - np.outer(s, s), atol=1e-15)
    v = B[0]
    _, series = ad.jet(special.logsumexp, (A[0],), ([v, np.zeros(4), np.zeros(4)],))
    mean = s @ v
    np.testing.assert_allclose(series, [mean, s @ (v - mean) ** 2, s @ (v - mean) ** 3], rtol=1e-12)
    np.testing.assert_allclose(ad.vmap(special.logsumexp)(A), scipy.special.logsumexp(A, axis=1), rtol=1e-14)
    for axis in (None, 0, -1):
        check_grads(lambda x, axis=axis: special.softmax(x, axis=axis), (A,))
        check_grads(lambda x, axis=axis: special.log_softmax(x, axis=axis), (A,))


def test_weights_of_logsumexp():
    value, sign = ad.jvp(
        lambda a: special.logsumexp(a, b=np.array([1.0, -1.0]), return_sign=True),
        (np.array([1.0, 2.0]),),
        (np.ones(2),),
    )[0]
    np.testing.assert_allclose([value, sign], scipy.special.logsumexp([1, 2], b=[1, -1], return_sign=True), rtol=1e-14)
    with np.errstate(all="ignore"):
        assert np.isnan(traced_value(lambda a: special.logsumexp(a, b=np.array([1.0, -1.0])), np.array([1.0, 2.0])))
    # a weight of zero leaves its element out, however large; the derivative in the weight stays
    b = np.array([0.0, 2.0])
    value, gradient = ad.value_and_grad(lambda b: special.logsumexp(np.array([5.0, 0.0]), b=b))(b)
    np.testing.assert_allclose(value, np.log(2.0))
    np.testing.assert_allclose(gradient, [np.exp(5.0) / 2.0, 0.5])
    assert traced_value(lambda a: special.logsumexp(a, b=b), np.array([1e5, 0.0])) == np.log(2.0)


def test_complex_logsumexp():
    z = A + 1j * B
    np.testing.assert_allclose(
        traced_value(lambda z: special.logsumexp(z, axis=0), z), scipy.special.logsumexp(z, axis=0), rtol=1e-13
    )
    np.testing.assert_allclose(
        ad.grad(special.logsumexp, holomorphic=True)(z), np.exp(z) / np.sum(np.exp(z)), rtol=1e-13
    )


def test_empty_and_single_precision():
    assert special.logsumexp(np.zeros(0)) == traced_value(special.logsumexp, np.zeros(0)) == -INF
    assert ad.grad(special.logsumexp)(np.zeros(0)).shape == (0,)
    single = A.astype(np.float32)
    for f in (special.logsumexp, lambda x: np.sum(special.softmax(x) ** 2), lambda x: np.sum(special.log_softmax(x))):
        value, gradient = ad.value_and_grad(f)(single)
        assert value.dtype == gradient.dtype == np.float32


def test_lists_of_traced_values():
    f = lambda x: special.logsumexp([x, 2.0 * x, -1.0])
    check_grads(f, (0.7,))


@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("name", ["spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"])
def test_spherical_bessel(name, n, derivative):
    z = np.abs(Z) if name == "spherical_kn" else Z
    f = lambda t: getattr(special, name)(n, t, derivative)
    np.testing.assert_allclose(traced_value(f, z), getattr(scipy.special, name)(n, z, derivative), rtol=1e-12)
    check_grads(f, (z,))


def test_spherical_bessel_at_zero():
    """j₀(x) = 1 - x²/6 + x⁴/120 …"""
    _, series = ad.jet(lambda t: special.spherical_jn(0, t), (0.0,), ([1.0, 0.0, 0.0, 0.0],))
    np.testing.assert_allclose(series, [0.0, -1 / 3, 0.0, 1 / 5], atol=1e-15)


def test_gamma_functions():
    x = np.array([1.3, 2.6, 4.0])
    for n in (0, 1, 2, np.array([0, 1, 3])):
        f = lambda t, n=n: special.polygamma(n, t)
        np.testing.assert_allclose(traced_value(f, x), scipy.special.polygamma(n, x), rtol=1e-13)
        check_grads(f, (x,))
    f = lambda a: special.multigammaln(a, 3)
    np.testing.assert_allclose(traced_value(f, x), scipy.special.multigammaln(x, 3), rtol=1e-13)
    check_grads(f, (x,))
    with pytest.raises(ValueError, match="larger than"):
        ad.grad(lambda a: special.multigammaln(a, 3))(0.5)
    for name, before, after in (
        ("factorial", (), ()),
        ("comb", (7.5,), ()),
        ("comb", (), (2,)),
        ("perm", (), (2,)),
        ("perm", (7.5,), ()),
    ):
        y = x + 1.0
        f = lambda t, name=name, a=before, b=after: getattr(special, name)(*a, t, *b)
        np.testing.assert_allclose(traced_value(f, y), getattr(scipy.special, name)(*before, y, *after), rtol=1e-12)
        check_grads(f, (y,))
    f = lambda t: special.comb(t, 2, repetition=True)
    np.testing.assert_allclose(traced_value(f, x), scipy.special.comb(x, 2, repetition=True), rtol=1e-12)


def test_plain_values_are_scipys():
    assert special.logsumexp([1.0, 2.0]) == scipy.special.logsumexp([1.0, 2.0])
    assert special.comb(5, 2, exact=True) == 10
    np.testing.assert_array_equal(special.polygamma(1, [1.0, 2.0]), scipy.special.polygamma(1, [1.0, 2.0]))
    assert special.erf is scipy.special.erf
    assert "erf" in dir(special)
    with pytest.raises(AttributeError, match="neither"):
        special.no_such_function


def test_what_must_be_plain_is_named():
    with pytest.raises(UnsupportedError, match="polygamma: 'n'"):
        ad.grad(lambda n: special.polygamma(n, 2.0))(1.0)
    with pytest.raises(UnsupportedError, match="exact"):
        ad.grad(lambda n: special.comb(n, 2, exact=True))(4.0)


def test_other_functions_of_scipy_are_named():
    """Those that have a counterpart, where code is not converted; else it is called in their place."""
    assert ad.grad(scipy.linalg.det)(np.diag([2.0, 3.0])).tolist() == [[3.0, 0.0], [0.0, 2.0]]
    with (
        ad.config.override(convert=False),
        pytest.raises(TraceError, match=r"scipy\.linalg\.det .*adjoint\.scipy\.linalg\.det"),
    ):
        ad.grad(scipy.linalg.det)(np.eye(2))
    with pytest.raises(TraceError, match=r"scipy\.special\.ellip_normal .*custom_rule"):
        ad.grad(lambda x: scipy.special.ellip_normal(x, 1.2, 2, 1))(0.3)


def test_programs_with_special_functions_are_saved(tmp_path):
    """Loading needs no import beforehand: another process finds the rules by itself."""

    def f(x):
        first = scipy.special.erf(x) + scipy.special.betainc(2.0, 3.0, x) + scipy.special.sici(x)[0]
        return np.sum(first + scipy.special.expm1(x) + special.polygamma(2, x)) + special.logsumexp(x)

    x = np.array([0.2, 0.5, 0.7])
    path = tmp_path / "saved"
    ad.trace(ad.grad(f))(x).save(path)
    code = "import sys, adjoint as ad, numpy as np; print(*ad.load(sys.argv[1])(np.array([0.2, 0.5, 0.7])))"
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    np.testing.assert_allclose([float(v) for v in run.stdout.split()], ad.grad(f)(x), rtol=1e-12)


def test_the_package_loads_scipy_when_it_is_asked():
    code = (
        "import sys, adjoint as ad; before = 'scipy' in sys.modules; y = ad.scipy.special.logsumexp([0.0, 0.0]); "
        "print(before, 'scipy' in sys.modules, float(y), hasattr(ad.scipy, 'linalg'))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True", str(float(np.log(2.0))), "True"]

"""The functions of adjoint.scipy.special that SciPy writes in Python: values and shapes as SciPy's, every mode."""

import numpy as np
import pytest
import scipy.special
from scipy.special import eval_genlaguerre

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import special
from adjoint.testing import check_grads

X = np.array([0.3, -0.5])
ANGLES = np.array([0.3, 2.5])

# name, arguments, the place of the one that varies, keywords
CASES = [
    ("diric", (np.array([0.3, 2.0, -5.0, 0.0, 2.0 * np.pi]), 5), 0, {}),
    ("diric", (np.array([0.3, -5.0]), 4), 0, {}),
    ("assoc_laguerre", (0.3, 3, 1.2), 0, {}),
    *[("legendre_p", (3, X), 1, {"diff_n": d}) for d in (0, 1, 2)],
    ("legendre_p_all", (4, X), 1, {"diff_n": 1}),
    *[("assoc_legendre_p", (3, 2, X), 2, {"diff_n": d}) for d in (0, 1, 2)],
    ("assoc_legendre_p", (3, -1, X), 2, {"norm": True}),
    ("assoc_legendre_p_all", (4, 3, X), 2, {"diff_n": 2}),
    ("assoc_legendre_p_all", (3, 2, 0.3), 2, {"norm": True}),
    *[("sph_legendre_p", (3, -2, ANGLES), 2, {"diff_n": d}) for d in (0, 1, 2)],
    ("sph_legendre_p_all", (4, 3, np.array([0.3, 2.5, -1.0])), 2, {"diff_n": 1}),
    *[("sph_harm_y", (3, -2, ANGLES, 0.4), 2, {"diff_n": d}) for d in (0, 1, 2)],
    *[("sph_harm_y", (3, 1, 0.3, ANGLES), 3, {"diff_n": d}) for d in (0, 2)],
    ("sph_harm_y", (60, 45, np.array([0.9, 1.5]), 0.4), 2, {}),
    ("sph_harm_y_all", (3, 2, ANGLES, 0.4), 2, {"diff_n": 1}),
    ("sph_harm_y_all", (3, 2, ANGLES, 0.4), 3, {}),
    ("lqn", (4, 0.3), 1, {}),
    ("lqn", (3, 2.3), 1, {}),
    ("lqmn", (2, 4, 0.3), 2, {}),
    ("pbdv_seq", (3.3, 0.7), 1, {}),
    ("pbdv_seq", (0.5, 0.7), 1, {}),
    ("pbvv_seq", (2.3, 0.7), 1, {}),
    ("pro_cv_seq", (1, 4, 1.3), 2, {}),
    ("obl_cv_seq", (1, 4, 1.3), 2, {}),
    ("riccati_jn", (3, 0.7), 1, {}),
    ("riccati_yn", (3, 0.7), 1, {}),
    ("lmbda", (2, 0.7), 1, {}),
    ("lmbda", (2.3, 0.7), 1, {}),
    ("factorial2", (3.4,), 0, {"extend": "complex"}),
    ("factorialk", (3.4, 3), 0, {"extend": "complex"}),
    ("softplus", (np.array([0.3, -50.0]),), 0, {}),
    ("zeta", (np.array([2.3, 4.0]),), 0, {}),
    ("zeta", (2.3, 0.7), 0, {}),
    ("zeta", (2.3, 0.7), 1, {}),
    ("lambertw", (np.array([0.7, 2.0]),), 0, {}),
    *[(name, (1.3, ANGLES, n), 1, {}) for name in ("jvp", "yvp", "ivp", "kvp", "h1vp", "h2vp") for n in (0, 3)],
    ("jvp", (1.3, 2.0, 1), 0, {}),
    ("kvp", (1.3, 2.0, 2), 0, {}),
]  # fmt: skip
ROUGH = {"pbdv_seq", "pbvv_seq", "lmbda"}  # SciPy's values have ten digits


def several(z):
    return z if isinstance(z, tuple) else (z,)


def total(z):
    """A real number in which every element has its own weight."""
    found = 0.0
    for part in several(z):
        weights = np.cos(np.arange(1.0, 1.0 + part.size)).reshape(part.shape)
        found = found + np.sum(np.real(part) * weights)
        if part.dtype.kind == "c":
            found = found + np.sum(np.imag(part) * weights[..., ::-1] if part.ndim else np.imag(part))
    return found


@pytest.mark.parametrize("name, args, i, keywords", CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_value_derivatives_and_batches(name, args, i, keywords):
    x = np.asarray(args[i])[()]
    f = lambda t: getattr(special, name)(*args[:i], t, *args[i + 1 :], **keywords)
    value = ad.jvp(f, (x,), (np.ones_like(x),))[0]
    want = getattr(scipy.special, name)(*args, **keywords)
    assert isinstance(value, tuple) == isinstance(want, tuple)
    for a, b in zip(several(value), several(want), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-6 if name in ROUGH else 1e-10, atol=1e-12)
    check_grads(lambda t: total(f(t)), (x,), order=2)
    for a, b in zip(several(ad.vmap(f)(np.stack([x, x]))), several(value), strict=True):
        np.testing.assert_allclose(a[1], b, rtol=1e-12, atol=1e-14)


def test_compiled():
    x = np.array([0.4, 1.2])
    for f in (
        lambda t: np.sum(np.real(special.sph_harm_y(3, 2, t, 0.3))),
        lambda t: np.sum(special.zeta(t + 1.5)),
        lambda t: np.sum(special.lqn(3, t[0] * 0.5)[0]),
        lambda t: np.sum(special.diric(t, 5)),
    ):
        np.testing.assert_allclose(ad.jit(ad.grad(f))(x), ad.grad(f)(x), rtol=1e-12)


def test_harmonics_are_smooth_at_the_poles():
    for theta in (0.0, np.pi):
        slope = ad.grad(lambda t: np.real(special.sph_harm_y(2, 1, t, 0.0)))(theta)
        np.testing.assert_allclose(slope, -np.sqrt(15.0 / (8.0 * np.pi)), rtol=1e-12)


def test_polynomials_take_traced_parameters():
    check_grads(lambda k: special.assoc_laguerre(0.3, 3, k), (1.2,), order=2)
    np.testing.assert_allclose(special.assoc_laguerre(0.3, 3, 1.2), eval_genlaguerre(3, 1.2, 0.3))


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda x: special.factorial2(x), UnsupportedError, "extend='complex'"),
        (lambda x: special.legendre_p(x, 0.3), UnsupportedError, "'n'"),
        (lambda x: special.legendre_p(2.5, x), TypeError, "integers"),
        (lambda x: special.legendre_p(2, x, diff_n=3), ValueError, "diff_n"),
        (lambda x: special.assoc_legendre_p(2, 1, x, branch_cut=3), UnsupportedError, "branch_cut"),
        (lambda x: special.lqn(x, 0.3), UnsupportedError, "lqn"),
        (lambda x: special.pbdv_seq(1.5, np.stack([x, x])), ValueError, "scalar"),
        (lambda x: special.pbdv_seq(-1.5, x), ValueError, "negative"),
        (lambda x: special.pro_cv_seq(3, 2, x), ValueError, "greater"),
        (lambda x: special.lambertw(1.0, x), UnsupportedError, "'k'"),
        (lambda x: special.riccati_jn(1.5, x), ValueError, "must be an integer"),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        ad.jvp(call, (0.4,), (1.0,))

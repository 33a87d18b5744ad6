"""Roots under SciPy's names: derivatives against closed forms and roots in mpmath, in every transformation."""

import importlib

import mpmath
import numpy as np
import pytest
import scipy.optimize

import adjoint as ad
from adjoint.base.errors import TraceError
from adjoint.compile.kernel import Kernel
from adjoint.scipy import optimize

quintic = lambda w, lam: w**5 + w**3 + w - lam


def w_of(lam):
    return optimize.brentq(quintic, 0.0, 2.0, args=(lam,), xtol=1e-14)


def exact(order, lam=3.0):
    """The derivative of the root by differences of fifty digits."""
    with mpmath.workdps(50):
        root = lambda lam: mpmath.findroot(lambda w: w**5 + w**3 + w - lam, 1.0)
        return float(mpmath.diff(root, lam, order))


def test_every_order_in_both_modes():
    assert ad.grad(w_of)(3.0) == pytest.approx(exact(1), rel=1e-12)
    assert ad.jvp(w_of, (3.0,), (1.0,))[1] == pytest.approx(exact(1), rel=1e-12)
    assert ad.jacfwd(ad.jacrev(w_of))(3.0) == pytest.approx(exact(2), rel=1e-12)
    assert ad.jacrev(ad.jacfwd(w_of))(3.0) == pytest.approx(exact(2), rel=1e-12)
    assert ad.derivative(w_of, 3)(3.0) == pytest.approx(exact(3), rel=1e-11)


def test_compiled_and_batched():
    lams = np.array([0.5, 3.0, 20.0])
    want = [exact(1, float(lam)) for lam in lams]
    np.testing.assert_allclose(ad.vmap(ad.grad(w_of))(lams), want, rtol=1e-12)
    np.testing.assert_allclose(ad.jit(ad.vmap(ad.grad(w_of)))(lams), want, rtol=1e-12)
    compiled = ad.jit(ad.value_and_grad(w_of))
    for lam, slope in zip(lams, want, strict=True):
        value, found = compiled(lam)
        assert value == pytest.approx(w_of(lam), rel=1e-15)
        assert found == pytest.approx(slope, rel=1e-12)
    np.testing.assert_allclose(ad.grad(lambda lams: np.sum(ad.vmap(w_of)(lams)))(lams), want, rtol=1e-12)


def test_a_compiled_program_gives_scipy_compiled_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy calls them again and again: read equation by equation, the program would be slower than plain Python."""
    compiled = ad.jit(ad.value_and_grad(w_of))
    compiled(3.0)
    written = importlib.import_module("adjoint.optimize.scipy_names.written")
    slow: list[str] = []
    monkeypatch.setattr(written, "interpret", lambda *_: slow.append("read"))
    monkeypatch.setattr(Kernel, "attempt", lambda *_: slow.append("called from Python"))
    assert compiled(20.0)[1] == pytest.approx(exact(1, 20.0), rel=1e-12)
    assert not slow


CUBES = {
    **{name: lambda a, f=name: getattr(optimize, f)(lambda x: x**3 - a, 0.0, 3.0) for name in
       ("brentq", "brenth", "ridder", "bisect", "toms748")},
    "secant": lambda a: optimize.root_scalar(lambda x: x**3 - a, x0=0.5, x1=1.0, method="secant").root,
    "newton": lambda a: optimize.newton(lambda x: x**3 - a, 1.0, fprime=lambda x: 3 * x * x),
    "halley": lambda a: optimize.root_scalar(lambda x: x**3 - a, x0=0.9, method="halley", fprime=lambda x: 3 * x * x,
                                             fprime2=lambda x: 6 * x).root,
    "pair": lambda a: optimize.root_scalar(lambda x: (x**3 - a, 3 * x * x), x0=0.9, fprime=True, method="newton").root,
    "start": lambda a: optimize.newton(lambda x: x**3 - a, a),
    "vector": lambda a: optimize.newton(lambda x: x**3 - a, np.array([0.8, 1.2]))[1],
    "fixed": lambda a: optimize.fixed_point(lambda x: (2 * x + a / x**2) / 3, 1.1),
    "root": lambda a: optimize.root(lambda x: [x[0] ** 3 - a], [1.2]).x[0],
    "lm": lambda a: optimize.root(lambda x: np.stack([x[0] ** 3 - a, x[1] - x[0]]), [1.2, 1.0], method="lm").x[1],
    "krylov": lambda a: optimize.root(lambda x: x**3 - a, np.full((2, 2), 1.2), method="krylov", tol=1e-12).x[1, 0],
    "fsolve": lambda a: optimize.fsolve(lambda x: x**3 - a, 1.2)[0],
}  # fmt: skip


@pytest.mark.parametrize("name", CUBES)
def test_cube_roots(name):
    """At a = 1 the derivative of a^(1/3) is 1/3, also where the search starts at the root."""
    assert CUBES[name](1.0) == pytest.approx(1.0)
    assert ad.grad(CUBES[name])(1.0) == pytest.approx(1 / 3, rel=1e-7)
    assert ad.jit(CUBES[name])(1.0) == pytest.approx(1.0)


def test_more_is_told():
    _, report = optimize.brentq(quintic, 0.0, 2.0, (3.0,), full_output=True)
    seen = []

    def told(a):
        _, found = optimize.brentq(quintic, 0.0, 2.0, (a,), full_output=True)
        seen.append((found.converged, found.iterations, found.flag))
        return found.root * 1.0

    assert ad.grad(told)(3.0) == pytest.approx(exact(1))
    assert seen[-1] == (True, report.iterations, "converged")
    counted = ad.jit(lambda a: optimize.brentq(quintic, 0.0, 2.0, (a,), full_output=True)[1].iterations)
    assert counted(3.0) == report.iterations
    assert ad.grad(lambda a: optimize.fsolve(lambda x: x**3 - a, 1.2, full_output=True)[1]["fvec"][0])(
        1.0
    ) == pytest.approx(0, abs=1e-7)


def test_branches_of_the_function():
    bent = lambda x, a: x**3 - a if x > 0.3 else x - a
    f = lambda a: optimize.brentq(bent, 0.0, 3.0, (a,))
    assert ad.grad(f)(1.0) == pytest.approx(1 / 3)
    assert ad.grad(f)(0.1) == pytest.approx(1.0)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(np.array([1.0, 0.1])), [1 / 3, 1.0])


def test_a_function_that_cannot_be_written_down():
    """Along the path that it takes at the root; compiled it is refused, with a remedy."""

    @ad.do_not_convert
    def bent(x, a):
        return x**3 - a if x > 0.3 else x - a

    f = lambda a: optimize.brentq(bent, 0.0, 3.0, (a,))
    assert ad.grad(f)(1.0) == pytest.approx(1 / 3)
    with pytest.raises(TraceError, match=r"np\.where"):
        ad.jit(f)(1.0)


def test_errors_and_plain_values_are_scipys():
    with pytest.raises(ValueError, match="different signs"):
        ad.grad(lambda a: optimize.brentq(quintic, 5.0, 6.0, (a,)))(3.0)
    assert optimize.brentq(quintic, 0.0, 2.0, (3.0,)) == scipy.optimize.brentq(quintic, 0.0, 2.0, (3.0,))
    calls = []
    found = optimize.root(lambda x: calls.append(1) or np.cos(x) - x, 0.5)
    assert found.x[0] == pytest.approx(0.7390851332151607)
    assert found.njev == 1  # an exact Jacobian, where SciPy takes differences


def test_a_root_that_was_not_found_is_told():
    loose = lambda a: optimize.newton(lambda x: x**3 - a, 3.0, tol=0.5, maxiter=1, disp=False)
    with pytest.warns(ad.implicit.DerivativeWarning, match=r"scipy\.optimize\.newton: x is no solution"):
        ad.grad(loose)(1.0)

"""`root_scalar` and `minimize_scalar`: against SciPy, elementwise and batched, with derivatives, hard functions."""

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import optimize

HARD = {  # functions with brackets, of which false position and Newton's method are slow or fail
    "cubic": (lambda x: x**3 - 2 * x - 5, (2.0, 3.0)),
    "flat": (lambda x: (x - 1) ** 9, (0.0, 3.0)),
    "steep": (lambda x: np.exp(-20 * x) - 1e-9, (0.0, 10.0)),
    "pole": (lambda x: 1 / (x - 0.3), (0.0, 0.9)),
    "step": (lambda x: np.arctan(1e4 * (x - 0.123)), (-1.0, 2.0)),
    "large": (lambda x: x - 1e8, (0.0, 1e12)),
    "ends": (lambda x: x, (0.0, 1.0)),
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("method", ["bisect", "chandrupatla", "itp"])
def test_brackets(name, method):
    f, bracket = HARD[name]
    found = optimize.root_scalar(f, bracket=bracket, method=method)
    assert found.status == ("no bracket" if name == "pole" else "converged")
    known = {"pole": 0.3, "flat": 1.0}.get(name) or theirs.brentq(f, *bracket, xtol=1e-15)
    assert abs(found.value - known) <= (0.2 if name == "flat" else 1e-14 + 1e-14 * abs(known))
    bisection = np.log2((bracket[1] - bracket[0]) / (4 * 2.2e-16 * max(abs(known), 4 * 2.2e-16))) + 4
    if method != "chandrupatla" and name != "flat":
        assert found.iterations <= bisection


def test_interpolation_pays_where_functions_are_smooth():
    counts = {m: int(optimize.root_scalar(HARD["cubic"][0], bracket=(2.0, 3.0), method=m).iterations)
              for m in ("bisect", "chandrupatla", "itp")}  # fmt: skip
    assert counts["chandrupatla"] < 10 < counts["bisect"]
    assert counts["itp"] < counts["bisect"] / 2


@pytest.mark.parametrize("method", ["newton", "halley", "secant"])
def test_open_methods(method):
    a = np.array([2.0, 8.0, 1e6, 1e-6])
    found = optimize.root_scalar(lambda x, a: x**3 - a, a, x0=np.array([1.0, 1.0, 50.0, 0.1]), method=method)
    np.testing.assert_allclose(found.value, np.cbrt(a), rtol=1e-14)
    assert list(found.status) == ["converged"] * 4


@pytest.mark.row("11.3.1-c")
def test_digits_double_and_treble():
    f = lambda x: np.exp(x) + x - 3
    newton = optimize.root_scalar(f, x0=1.0, method="newton")
    halley = optimize.root_scalar(f, x0=1.0, method="halley")
    assert halley.iterations <= newton.iterations <= 5
    np.testing.assert_allclose(newton.value, theirs.brentq(f, 0, 2, xtol=1e-15), rtol=1e-14)


def test_bounds_keep_newton_in_its_domain():
    assert optimize.root_scalar(lambda x: np.cos(x), x0=0.1).value > 3
    found = optimize.root_scalar(lambda x: np.cos(x), x0=0.1, bounds=(0.0, 3.0))
    np.testing.assert_allclose(found.value, np.pi / 2, rtol=1e-14)
    outside = optimize.root_scalar(lambda x: np.log(x) + 1.0, x0=300.0)  # NaN beyond zero shortens the step
    np.testing.assert_allclose(outside.value, np.exp(-1.0), rtol=1e-14)


def test_statuses_stand_for_elements():
    found = optimize.root_scalar(lambda x: x**2 - np.array([1.0, -1.0, np.nan]), bracket=(0.0, 3.0))
    assert list(found.status) == ["converged", "no bracket", "not finite"]
    flat = optimize.root_scalar(lambda x: x**2 + 1, x0=0.0)
    assert flat.status == "singular"
    endless = optimize.root_scalar(lambda x: x**2 + 1, x0=1.1, max_iterations=7)
    assert endless.status in {"max iterations", "singular"}
    with pytest.raises(ad.SolveError, match="no bracket"):
        found.raise_if_failed()


def test_counts_are_those_of_each_element_alone():
    targets = np.array([2.0, 50.0, 999.0])
    together = optimize.root_scalar(lambda x, a: x**3 - a, targets, bracket=(0.0, 10.0))
    alone = [optimize.root_scalar(lambda x, a: x**3 - a, a, bracket=(0.0, 10.0)) for a in targets]
    np.testing.assert_array_equal(together.evaluations["value"], [int(a.evaluations["value"]) for a in alone])
    for run in (ad.vmap, lambda f: ad.jit(ad.vmap(f))):
        batch = run(lambda a: optimize.root_scalar(lambda x: x**3 - a, bracket=(0.0, 10.0)))(targets)
        np.testing.assert_array_equal(batch.evaluations["value"], together.evaluations["value"])
        np.testing.assert_allclose(batch.value, together.value, rtol=1e-15)


@pytest.mark.parametrize("how", [{"bracket": (0.0, 2.0)}, {"x0": 1.0}])
def test_derivatives_of_a_root(how):
    w = lambda lam: optimize.root_scalar(lambda w: w**5 + w**3 + w - lam, **how).value
    np.testing.assert_allclose([w(3.0), ad.grad(w)(3.0), ad.grad(ad.grad(ad.grad(w)))(3.0)], [1, 1 / 9, 478 / 19683],
                               rtol=1e-12)  # fmt: skip
    np.testing.assert_allclose(ad.derivative(w, 3)(3.0), 478 / 19683, rtol=1e-12)
    lams = np.array([0.5, 3.0])
    np.testing.assert_allclose(ad.jit(ad.vmap(ad.grad(w)))(lams), [ad.grad(w)(lam) for lam in lams], rtol=1e-12)
    many = ad.jacobian(lambda lams: optimize.root_scalar(lambda w: w**5 + w**3 + w - lams, **how).value)(lams)
    np.testing.assert_allclose(many, np.diag([ad.grad(w)(lam) for lam in lams]), rtol=1e-12)


@pytest.mark.parametrize("method", ["brent", "golden"])
@pytest.mark.parametrize("how", [{"bounds": (-5.0, 5.0)}, {"x0": 4.0}])
def test_minima_and_their_derivatives(method, how):
    f = lambda x, a: np.cosh(x - a) + 0.3 * x * x
    solve = lambda a: optimize.minimize_scalar(f, a, method=method, **how)
    known = theirs.minimize_scalar(lambda x: f(x, 1.3), options={"xtol": 1e-12}).x
    np.testing.assert_allclose(solve(1.3).value, known, atol=1e-7)
    assert abs(np.sinh(solve(1.3).value - 1.3) + 0.6 * solve(1.3).value) < 1e-12
    np.testing.assert_allclose(ad.grad(lambda a: solve(a).value)(1.3), 0.650249107409261, rtol=1e-9)
    h = 1e-4
    slope = (solve(1.3 + h).fun - solve(1.3 - h).fun) / (2 * h)
    np.testing.assert_allclose(ad.grad(lambda a: solve(a).fun)(1.3), slope, rtol=1e-7)
    together = optimize.minimize_scalar(f, np.array([1.3, -2.0]), method=method, **how)
    np.testing.assert_allclose(together.value, [solve(1.3).value, solve(-2.0).value], rtol=1e-12)
    np.testing.assert_array_equal(together.iterations, [int(solve(1.3).iterations), int(solve(-2.0).iterations)])
    compiled = ad.jit(lambda a: solve(a))(1.3)
    np.testing.assert_allclose(compiled.value, known, atol=1e-7)


def test_parabolas_pay_and_golden_section_does_not_depend_on_smoothness():
    smooth = lambda x: np.cosh(x - 1.0)
    counts = {
        m: int(optimize.minimize_scalar(smooth, bounds=(-5.0, 5.0), method=m).iterations) for m in ("brent", "golden")
    }
    assert counts["brent"] < counts["golden"] / 2
    kink = optimize.minimize_scalar(lambda x: np.abs(x - 0.7) + 0.1 * x, bounds=(-5.0, 5.0), method="golden")
    np.testing.assert_allclose(kink.value, 0.7, atol=1e-6)


def test_an_end_and_no_end():
    end = optimize.minimize_scalar(lambda x: x, bounds=(1.0, 2.0))
    np.testing.assert_allclose(end.value, 1.0, atol=1e-6)
    assert optimize.minimize_scalar(lambda x: -x, x0=1.0).status == "unbounded"


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: optimize.root_scalar(lambda x: x), ValueError, "either bracket"),
        (lambda: optimize.root_scalar(lambda x: x, bracket=(0.0, 1.0), x0=1.0), ValueError, "either bracket"),
        (lambda: optimize.root_scalar(lambda x: x, x0=1.0, method="newtn"), ValueError, "Did you mean newton"),
        (lambda: optimize.root_scalar(lambda x: x, x0=1.0, method="bisect"), ValueError, "no method"),
        (lambda: optimize.root_scalar(lambda x: x, x0=1j), ad.DtypeError, "real"),
        (lambda: optimize.root_scalar(lambda x: np.sum(x), x0=np.ones(2)), ad.ShapeError, "use root"),
        (lambda: optimize.minimize_scalar(lambda x: x, bounds=(2.0, 1.0)), ValueError, "lower one"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("f, ends", [
    (lambda x: x**3 - 2 * x - 5, (2.0, 3.0)),
    (lambda x: np.exp(x) - 3, (-5.0, 20.0)),
    (lambda x: np.arctan(x) - 0.3, (-50.0, 80.0)),
    (lambda x: 1 / (x - 0.3) - 2, (0.31, 5.0)),
    (lambda x: np.tanh(1e6 * (x - 0.123)), (-1.0, 1.0)),
    (lambda x: x**19, (-0.5, 1.0)),  # so flat that interpolation gains nothing: midpoints end it
])  # fmt: skip
def test_brents_method_takes_about_as_many_evaluations_as_scipys(f, ends):
    found = optimize.root_scalar(f, bracket=ends, method="brentq")
    known = theirs.root_scalar(f, bracket=ends, method="brentq", xtol=1e-15, rtol=1e-15)
    assert found.converged
    np.testing.assert_allclose(found.value, known.root, rtol=1e-12, atol=1e-12)
    assert found.evaluations["value"] <= 1.25 * known.function_calls + 3
    compiled = ad.jit(lambda a, b: optimize.root_scalar(f, bracket=(a, b), method="brent"))(*ends)
    np.testing.assert_allclose(compiled.value, found.value, rtol=1e-12, atol=1e-15)


def test_single_precision_stays():
    one = np.float32(1)
    f = lambda x: x * x - 2
    for found in (
        *(optimize.root_scalar(f, x0=one, method=m) for m in ("newton", "halley", "secant")),
        *(optimize.root_scalar(f, bracket=(one, 2 * one), method=m) for m in ("brent", "itp", "bisect")),
    ):
        assert found.value.dtype == np.float32
        np.testing.assert_allclose(found.value, np.sqrt(2.0), rtol=3e-7)


@pytest.mark.parametrize("method", ["chandrupatla", "brent", "itp", "bisect"])
def test_a_sign_that_changes_without_a_root_is_no_convergence(method):
    ends = np.array([1.0, 2.0]), np.array([2.0, 4.0])
    found = optimize.root_scalar(np.tan, bracket=ends, method=method)  # a pole at π/2, a root at π
    assert list(found.status) == ["no bracket", "converged"]
    jump = optimize.root_scalar(lambda x: np.where(x > 0.3, 1.0, -1.0), bracket=(-1.0, 2.0), method=method)
    assert jump.status == "no bracket"
    assert "pole or a jump" in jump.advice


@pytest.mark.parametrize("method", ["newton", "halley"])
def test_an_infinite_slope_is_no_convergence(method):
    with np.errstate(all="ignore"):
        found = optimize.root_scalar(lambda x: np.sqrt(1.0 - x) + 1.0, x0=0.0, method=method)  # 1 at x = 1, no root
    assert found.status == "singular"


@pytest.mark.parametrize("method", ["newton", "halley", "secant"])
def test_steps_out_of_the_domain_are_shortened_until_they_stay_in_it(method):
    a = np.array([0.0, 1.0, -6.0])
    solve = lambda a: optimize.root_scalar(lambda x, a: np.log(x) - a, a, x0=300.0, method=method)
    for found in (solve(a), ad.jit(solve)(a)):
        assert list(found.status) == ["converged"] * 3
        np.testing.assert_allclose(found.value, np.exp(a), rtol=1e-12)


@pytest.mark.parametrize("method", ["newton", "halley", "secant"])
def test_a_bound_that_is_no_root_is_none(method):
    """Steps that a bound cuts short become small there, at no root."""
    for f in (lambda x: x * x + 1.0, lambda x: np.arctan(x)):
        found = optimize.root_scalar(f, x0=3.0, method=method, bounds=(1e-3, 50.0))
        assert found.status != "converged"
        assert found.fun > 9e-4
    assert optimize.root_scalar(np.arctan, x0=3.0, method=method, bounds=(1e-3, 50.0)).status == "infeasible"
    assert optimize.root_scalar(lambda x: np.log(x) - 1.0, x0=0.1, method=method, bounds=(1e-9, None)).converged
    both = ad.jit(ad.vmap(lambda a: optimize.root_scalar(lambda x: np.arctan(x) - a, x0=3.0, bounds=(0.5, 50.0))))
    assert list(both(np.array([0.0, 1.0])).status) == ["infeasible", "converged"]
    with pytest.raises(ValueError, match="outside its bounds"):
        optimize.root_scalar(np.arctan, x0=0.0, method=method, bounds=(1e-3, 50.0))


def test_a_hole_in_the_domain_is_no_root():
    wall = lambda x: np.where(x > 1.0, x, np.nan)
    assert optimize.root_scalar(wall, x0=3.0, max_iterations=2000).status == "not finite"


def test_a_minimum_at_a_bound_is_the_bound():
    found = optimize.minimize_scalar(lambda x, a: (x - a) ** 2, np.array([3.0, 0.5, -4.0]), bounds=(-1.0, 2.0))
    assert list(found.value[[0, 2]]) == [2.0, -1.0]
    assert abs(found.value[1] - 0.5) < 1e-12
    assert list(found.status) == ["converged"] * 3
    assert np.max(found.residual) < 1e-8

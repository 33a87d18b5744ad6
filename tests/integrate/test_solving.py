"""`solve` against SciPy, closed forms and differences: values, saved times, derivatives, batches, statuses."""

from functools import partial

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import adjoint as ad
from adjoint import integrate
from adjoint.base.errors import CheckError, DtypeError, ShapeError, TraceError, TreeError
from tests.support.sweeps import sampled

RATES = np.array([0.5, 0.02, 0.9, 0.03])
EACH = ["tsit5", pytest.param("auto", marks=pytest.mark.sweep)]  # two methods in one loop take longer to compile
ADAPTIVE = ["bosh3", "dopri5", "tsit5", "dop853", "verner6", "verner7", "verner8", "verner9"]


def prey(t, y, rates):
    a, b, c, d = rates
    return {"hare": (a - b * y["lynx"]) * y["hare"], "lynx": (d * y["hare"] - c) * y["lynx"]}


def prey_vector(t, y, rates=RATES):
    a, b, c, d = rates
    return np.array([(a - b * y[1]) * y[0], (d * y[0] - c) * y[1]])


def reference(times, rates=RATES, y0=(34.0, 5.9)):
    found = solve_ivp(prey_vector, (0, 20.0), y0, method="DOP853", rtol=1e-13, atol=1e-13, t_eval=times, args=(rates,))
    return found.y


def loss(rates, hare=34.0, **options):
    y0 = {"hare": hare, "lynx": 5.9}
    options = {"rtol": 1e-9, "atol": 1e-9, **options}
    path = integrate.solve(prey, (0.0, 20.0), y0, args=(rates,), save=np.arange(0.5, 20.0, 2.5), **options)
    return np.sum(path.values["hare"]) + 0.5 * path.last["lynx"]


@pytest.mark.parametrize("method", sampled(ADAPTIVE, 3))
def test_values_at_saved_times(method):
    times = np.linspace(0.0, 20.0, 41)
    tol = 1e-6 if method == "bosh3" else 1e-9
    path = integrate.solve(
        prey, (0.0, 20.0), {"hare": 34.0, "lynx": 5.9}, args=(RATES,), save=times, method=method, rtol=tol, atol=tol
    )
    expected = reference(times)
    assert path.status == "finished"
    assert path.advice == ""
    np.testing.assert_allclose(path.values["hare"], expected[0], rtol=200 * tol)
    np.testing.assert_allclose(path.values["lynx"], expected[1], rtol=200 * tol)
    assert path.last["hare"] == path.values["hare"][-1]
    assert path.values["hare"][0] == 34.0


@pytest.mark.parametrize(
    "method", sampled(["euler", "midpoint", "heun", "ralston", "rk4", "three-eighths", *ADAPTIVE], 4)
)
def test_measured_order_and_that_of_dense_output(method):
    fixed = integrate.choose(method, error=None)
    f = lambda t, y: 2.0 * np.cos(2.0 * t) * y
    exact = lambda t: np.exp(np.sin(2.0 * t))
    ends, between = np.arange(1, 11) * 0.4, np.array([0.437, 1.1379, 1.777, 3.19])
    slopes = []
    for times in (ends, between):
        errors = []
        for h in (0.05, 0.025) if fixed.order < 6 else (0.4, 0.2) if fixed.order > 8 else (0.2, 0.1):
            path = integrate.solve(f, (0.0, 4.0), 1.0, method=fixed, first_step=h, save=times)
            errors.append(np.max(np.abs(path.values - exact(times))))
        slopes.append(np.log2(errors[0] / errors[1]))
    assert slopes[0] > fixed.order - 0.6
    assert slopes[1] > fixed.order - 0.6


def test_backwards_is_the_inverse():
    there = integrate.solve(prey_vector, (0.0, 20.0), np.array([34.0, 5.9]), method="tsit5", rtol=1e-10, atol=1e-10)
    times = np.array([20.0, 12.5, 3.0, 0.0])
    back = integrate.solve(prey_vector, (20.0, 0.0), there.last, method="tsit5", rtol=1e-10, atol=1e-10, save=times)
    np.testing.assert_allclose(back.last, [34.0, 5.9], rtol=1e-7)
    np.testing.assert_allclose(back.values.T, reference(times[::-1])[:, ::-1], rtol=1e-6)


def test_complex_and_single_precision():
    solve = partial(integrate.solve, method="tsit5")
    circle = solve(lambda t, y: 1j * y, (0.0, 3.0), 1.0 + 0j, rtol=1e-10, atol=1e-10)
    assert abs(circle.last - np.exp(3j)) < 1e-8
    conjugate = solve(lambda t, y: 1j * np.conj(y), (0.0, 1.0), 1.0 + 0j, rtol=1e-10, atol=1e-10)
    assert abs(conjugate.last - (np.cosh(1.0) + 1j * np.sinh(1.0))) < 1e-8
    single = solve(lambda t, y: -t * y, (0.0, 1.0), np.ones(2, np.float32), rtol=1e-5, atol=1e-6)
    assert single.last.dtype == np.float32
    np.testing.assert_allclose(single.last, np.exp(-0.5), rtol=3e-5)
    g = ad.grad(lambda w: np.real(solve(lambda t, y: 1j * w * y, (0.0, 3.0), 1.0 + 0j, rtol=1e-10).last))(1.0)
    assert abs(g + 3.0 * np.sin(3.0)) < 1e-6


def test_gradients_are_those_of_the_steps():
    step = 1e-6
    plain = integrate.choose("dopri5", error=None)
    options = {"method": plain, "first_step": 0.1}
    gradient = ad.grad(lambda r: loss(r, **options))(RATES)
    differences = [
        (loss(RATES + step * e, **options) - loss(RATES - step * e, **options)) / (2 * step) for e in np.eye(4)
    ]
    np.testing.assert_allclose(gradient, differences, rtol=1e-7)


@pytest.mark.parametrize("method", ["tsit5", pytest.param("dop853", marks=pytest.mark.sweep)])
def test_gradient_of_adaptive_steps(method):
    gradient, hare = ad.grad(lambda r, h: loss(r, h, method=method), (0, 1))(RATES, 34.0)
    step = 1e-5

    def exact(rates, first):
        times = np.array([*np.arange(0.5, 20.0, 2.5), 20.0])
        y = reference(times, rates, (first, 5.9))
        return np.sum(y[0, :-1]) + 0.5 * y[1, -1]

    expected = [(exact(RATES + step * e, 34.0) - exact(RATES - step * e, 34.0)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-5)
    assert abs(hare - (exact(RATES, 34.0 + step) - exact(RATES, 34.0 - step)) / (2 * step)) < 1e-5


@pytest.mark.parametrize("method", EACH)
def test_both_modes_agree(method):
    solve = partial(integrate.solve, prey_vector, (0.0, 20.0), np.array([34.0, 5.9]), save=[3.3, 20.0], method=method)
    f = lambda r: solve(args=(r,)).values
    v = np.array([0.3, -0.2, 0.5, 0.1])
    u = np.array([[1.0, -2.0], [0.5, 0.7]])
    _, pushed = ad.jvp(f, (RATES,), (v,))
    _, pull = ad.vjp(f, RATES)
    assert abs(np.vdot(u, pushed) - np.vdot(pull(u)[0], v)) < 1e-12 * abs(np.vdot(u, pushed))


@pytest.mark.parametrize("method", EACH)
@pytest.mark.parametrize("second", [
    lambda f: ad.grad(ad.grad(f)), pytest.param(lambda f: ad.jit(ad.hessian(f)), marks=pytest.mark.sweep),
], ids=["eager", "compiled"])  # fmt: skip
def test_second_derivatives(second, method):
    solve = partial(integrate.solve, method=method, rtol=1e-10, atol=1e-12)
    f = lambda r: solve(lambda t, y: -r * y, (0.0, 1.0), 1.0, save=[0.5, 1.0])
    expected = 0.25 * np.exp(-0.35) + np.exp(-0.7)
    assert abs(second(lambda r: np.sum(f(r).values))(0.7) - expected) < 1e-8


@pytest.mark.row("12.6.2-c")
def test_ends_of_the_span_and_saved_times():
    def value(t0, t1, s):
        path = integrate.solve(lambda t, y: -t * y, (t0, t1), 2.0, save=np.stack([s, t1]), rtol=1e-10, atol=1e-12,
                               method="tsit5")  # fmt: skip
        return path.values[0] + 3.0 * path.values[1] + 5.0 * path.last

    y = lambda t0, t: 2.0 * np.exp(-(t**2 - t0**2) / 2)
    t0, t1, s = 0.3, 1.4, 0.9
    found = ad.grad(value, (0, 1, 2))(t0, t1, s)
    expected = (t0 * (y(t0, s) + 8 * y(t0, t1)), -8 * t1 * y(t0, t1), -s * y(t0, s))
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_stops_are_differentiable():
    def amount(T):
        dose = lambda t, y: (1.0 if t < T else 0.0) - 0.5 * y
        return integrate.solve(dose, (0.0, 4.0), 0.0, stops=(T,), rtol=1e-10, atol=1e-12, method="tsit5").last

    exact = lambda T: 2.0 * (np.exp(-0.5 * (4.0 - T)) - np.exp(-2.0))
    assert abs(amount(1.5) - exact(1.5)) < 1e-8
    assert abs(ad.grad(amount)(1.5) - np.exp(-0.5 * 2.5)) < 1e-7


@pytest.mark.parametrize("method", EACH)
def test_batch_elements_step_as_they_would_alone(method):
    rates = RATES * (1 + 0.3 * np.random.default_rng(0).random((7, 4)))
    fixed = partial(integrate.solve, prey_vector, (0.0, 20.0), np.array([34.0, 5.9]), save=[7.0, 20.0], method=method)
    solve = lambda r: fixed(args=(r,))
    single = [solve(r) for r in rates]
    for many in (ad.vmap(solve)(rates), ad.jit(ad.vmap(solve))(rates)):
        assert list(many.steps) == [int(one.steps) for one in single]
        assert list(many.rejections) == [int(one.rejections) for one in single]
        np.testing.assert_allclose(many.values, np.stack([one.values for one in single]), rtol=1e-13)
    g = lambda r: np.sum(solve(r).values)
    np.testing.assert_allclose(ad.jit(ad.vmap(ad.grad(g)))(rates), [ad.grad(g)(r) for r in rates], rtol=1e-10)


def test_a_long_right_side_is_compiled_once():
    def long(t, y):
        z = y
        for k in range(30):
            z = np.tanh(z + 0.1 * np.sin(k * t) * np.roll(z, 1))
        return -y + z

    f = lambda t, y: long(t, y)
    y0 = np.array([0.4, -0.3, 0.8])
    found = integrate.solve(f, (0.0, 2.0), y0, rtol=1e-9, atol=1e-9, save=[0.7, 2.0], method="tsit5")
    expected = solve_ivp(long, (0, 2.0), y0, rtol=1e-11, atol=1e-11, method="DOP853", t_eval=[0.7, 2.0]).y.T
    np.testing.assert_allclose(found.values, expected, atol=3e-8)


def test_integrand():
    path = integrate.solve(
        lambda t, y: -y, (0.0, 2.0), 1.0, integrand=lambda t, y: {"square": y**2, "time": t * 1.0}, rtol=1e-9, atol=1e-9
    )
    assert abs(path.integrals["square"] - 0.5 * (1 - np.exp(-4.0))) < 1e-7
    assert abs(path.integrals["time"] - 2.0) < 1e-9


@pytest.mark.row("12.6.1-g")
def test_blow_up_is_named_and_has_no_gradient():
    solve = lambda y0: integrate.solve(lambda t, y: y**2, (0.0, 2.0), y0, method="tsit5")
    path = solve(1.0)
    assert path.status == "step too small"
    assert abs(path.time - 1.0) < 1e-4
    assert "t = 1." in path.advice
    with pytest.raises(CheckError, match="failed has no derivative"):
        ad.grad(lambda y0: solve(y0).last)(1.0)


def test_stiff_equations_are_named():
    path = integrate.solve(lambda t, y: -1000.0 * (y - np.cos(t)), (0.0, 3.0), 0.0, method="tsit5")
    assert "steps were cut by stability, not accuracy" in path.advice
    assert path.steps > 500
    assert integrate.solve(lambda t, y: -y, (0.0, 3.0), 1.0, max_steps=2).status == "max steps"
    assert integrate.solve(lambda t, y: np.sqrt(-y), (0.0, 3.0), 1.0).status == "not finite"


@pytest.mark.parametrize(
    "arguments, options, error, words",
    [
        ((lambda t, y: (y, y), (0.0, 1.0), 1.0), {}, TreeError, "what f returns"),
        ((lambda t, y: np.stack([y, y]), (0.0, 1.0), 1.0), {}, ShapeError, "f returned"),
        ((lambda t, y: 1, (0.0, 1.0), 1.0), {}, DtypeError, "1.0 for 1"),
        ((lambda t, y: 1j * y, (0.0, 1.0), 1.0), {}, DtypeError, "complex"),
        ((lambda t, y: y * np.float64(1.0), (0.0, 1.0), np.float32(1.0)), {}, DtypeError, "float32"),
        ((lambda t, y: y, (0.0, 1.0), np.nan), {}, ValueError, "y0 holds NaN"),
        ((lambda t, y: y, (0.0, 1.0), np.array([1, 2])), {}, DtypeError, "floating-point"),
        ((lambda t, y: y, (1.0, 1.0), 1.0), {}, ValueError, "one point"),
        ((lambda t, y: y, (0.0, np.nan), 1.0), {}, ValueError, "finite"),
        ((lambda t, y: y, (0.0, np.inf), 1.0), {}, ValueError, "finite"),
        ((lambda t, y: y, 3.0, 1.0), {}, ValueError, "pair"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"save": [0.5, 2.0]}, ValueError, "outside the span"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"save": [0.5, 0.2]}, ValueError, "order"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"rtol": 1e-20}, ValueError, "rounding"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"rtol": 0.0}, ValueError, "positive"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"atol": -1.0}, ValueError, "positive"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"method": "rk4"}, ValueError, "first_step"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"method": "tsit"}, ValueError, "tsit5"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"max_steps": 0}, ValueError, "max_steps"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"max_steps": 1.5}, TypeError, "max_steps is 1.5"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"max_step": 0.0}, ValueError, "max_step is 0.0"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"min_step": -1.0}, ValueError, "min_step is -1.0"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"first_step": 0.0}, ValueError, "first_step is 0.0"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"norm": "l3"}, ValueError, "norm is 'l3'"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"start": "find"}, ValueError, "start is 'find'"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"rtol": np.ones(3)}, ValueError, "rtol has shape"),
        ((lambda t, y: y, (0.0, 1.0), 1.0), {"stops": [0.5, 2.0]}, ValueError, "outside the span"),
        ((lambda t, y: y, (0.0, 1.0), np.ones(1)), {"mass": [[np.nan]]}, ValueError, "mass holds NaN"),
        ((lambda t, y, k: y, (0.0, 1.0), 1.0), {"args": 2.0}, TypeError, "tuple"),
        ((lambda t, y, k: y, (0.0, 1.0), 1.0), {}, TypeError, "missing a required argument"),
        ((lambda y: y, (0.0, 1.0), 1.0), {}, TypeError, r"f\(t, y, \*args\)"),
        ((lambda t, y: y + np.random.normal(), (0.0, 1.0), 1.0), {}, TraceError, "global generator"),
    ],
)
def test_bad_input(arguments, options, error, words):
    with pytest.raises(error, match=words):
        integrate.solve(*arguments, **options)


def test_what_is_found_out_when_a_program_runs():
    end = ad.jit(lambda t1: integrate.solve(lambda t, y: -y, (0.0, t1), 1.0, method="dopri5"))
    assert end(np.inf).status == "not finite"
    assert end(np.nan).status == "not finite"
    assert end(0.0).last == 1.0
    midway = integrate.solve(lambda t, y: np.log(1.0 - t) * y, (0.0, 2.0), 1.0, method="dopri5")
    assert midway.status == "not finite"
    assert abs(midway.time - 1.0) < 1e-6


@pytest.mark.parametrize("name, good, bad", [("save", [0.2, 0.5], [0.5, 0.2]), ("save", [0.2, 0.5], [0.2, 2.0]),
                                             ("stops", [0.2, 0.5], [0.5, 0.2]), ("rtol", 1e-6, -1e-6),
                                             ("max_step", 0.5, 0.0)])  # fmt: skip
def test_compiled_programs_check_their_numbers(name, good, bad):
    f = ad.jit(lambda v: integrate.solve(lambda t, y: -y, (0.0, 1.0), 1.0, method="bosh3", **{name: v}).last)
    assert abs(f(np.array(good)) - np.exp(-1.0)) < 1e-4
    with pytest.raises(CheckError, match=f"integrate.solve: {name} is"):
        f(np.array(bad))


def test_a_function_that_changes_y_in_place():
    def f(t, y):
        y[0] = 1.0
        return y

    with pytest.raises(ValueError, match="in place"):
        integrate.solve(f, (0.0, 1.0), np.ones(2))

"""`minimize`: answers, derivatives of answers, counts and options, at once, compiled and batched."""

import contextlib
import itertools
import pickle
import signal
import threading

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import optimize
from tests.optimize.functions import rosenbrock

TARGET = np.array([1.0, 2.0])


def penalized(w, lam):
    return np.sum((w - TARGET) ** 2) + lam * np.sum(w**4)


def exact(lam):
    """The minimizer of `penalized`, component by component: the real root of 4λw³ + 2w - 2t."""
    roots = [np.roots([4 * lam, 0, 2, -2 * t]) for t in TARGET]
    return np.array([r[np.argmin(np.abs(r.imag))].real for r in roots])


def best(lam, **options):
    return optimize.minimize(penalized, np.zeros(2), lam, tol=1e-11, **options)


def test_scipys_minimum_is_found_with_fewer_surprises():
    x0 = np.array([-1.2, 1.0])
    found = optimize.minimize(rosenbrock, x0)
    known = theirs.minimize(rosenbrock, x0, jac=ad.grad(rosenbrock), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(found.value, known.x, atol=1e-6)
    assert found.status == "converged"
    assert found.residual <= found.target
    assert found.fun == rosenbrock(found.value)
    np.testing.assert_array_equal(found.grad, ad.grad(rosenbrock)(found.value))
    assert found.x is found.value
    assert found.niter is found.iterations


@pytest.mark.parametrize("run", [lambda f: f, ad.jit], ids=["eager", "jit"])
def test_derivatives_of_the_minimizer_are_those_of_its_closed_form(run):
    lam, h = 0.7, 1e-5
    np.testing.assert_allclose(run(lambda t: best(t).value)(lam), exact(lam), atol=1e-10)
    slope = (exact(lam + h) - exact(lam - h)) / (2 * h)
    np.testing.assert_allclose(run(ad.jacfwd(lambda t: best(t).value))(lam), slope, rtol=1e-8)
    np.testing.assert_allclose(run(ad.jacrev(lambda t: best(t).value))(lam), slope, rtol=1e-8)


@pytest.mark.parametrize("order", [lambda f: ad.jacfwd(ad.jacrev(f)), lambda f: ad.jacrev(ad.jacfwd(f))])
def test_second_derivatives_in_both_nestings(order):
    lam, h = 0.7, 1e-3
    points = [exact(lam + k * h) for k in (-2, -1, 0, 1, 2)]
    bent = (-points[0] + 16 * points[1] - 30 * points[2] + 16 * points[3] - points[4]) / (12 * h * h)
    np.testing.assert_allclose(order(lambda t: best(t).value)(lam), bent, rtol=1e-7)


def test_the_value_is_differentiated_by_the_envelope_at_every_order():
    lam, h = 0.7, 1e-3
    values = [penalized(exact(lam + k * h), lam + k * h) for k in (-2, -1, 0, 1, 2)]
    slope = (values[0] - 8 * values[1] + 8 * values[3] - values[4]) / (12 * h)
    bent = (-values[0] + 16 * values[1] - 30 * values[2] + 16 * values[3] - values[4]) / (12 * h * h)
    for f in (lambda t: best(t).fun, lambda t: optimize.minimize(lambda w: penalized(w, t), np.zeros(2)).fun):
        np.testing.assert_allclose(ad.grad(f)(lam), slope, rtol=1e-8)
        np.testing.assert_allclose(ad.grad(ad.grad(f))(lam), bent, rtol=1e-6)
        np.testing.assert_allclose(ad.jit(ad.grad(f))(lam), slope, rtol=1e-8)


def test_what_the_function_closes_over_has_a_derivative():
    f = lambda t: optimize.minimize(lambda w: penalized(w, t), np.zeros(2), tol=1e-11).value
    np.testing.assert_allclose(ad.jacobian(f)(0.7), ad.jacobian(lambda t: best(t).value)(0.7), rtol=1e-9)


def test_batch_elements_stop_by_themselves_and_keep_their_counts():
    lams = np.array([0.0, 0.5, 10.0])
    alone = [best(lam) for lam in lams]
    for run in (ad.vmap(best), ad.jit(ad.vmap(best))):
        together = run(lams)
        np.testing.assert_array_equal(together.iterations, [int(a.iterations) for a in alone])
        for name, counts in together.evaluations.items():
            np.testing.assert_array_equal(counts, [int(a.evaluations[name]) for a in alone])
        np.testing.assert_allclose(together.value, [exact(lam) if lam else TARGET for lam in lams], atol=1e-9)
        assert list(together.status) == ["converged"] * 3


def test_a_batch_has_a_status_for_each_element():
    def f(x, a):
        return np.where(a > 0, a * (x - 1) ** 2, -x) + 0 * a

    found = ad.vmap(lambda a: optimize.minimize(f, 0.0, a))(np.array([1.0, -1.0, np.nan]))
    assert list(found.status) == ["converged", "unbounded", "not finite"]
    with pytest.raises(ad.SolveError, match="problems were not solved"):
        found.raise_if_failed()


def test_counts_are_exact():
    calls = {"value": 0}

    def counted(x):
        calls["value"] += 1
        return rosenbrock(x)

    for method in ("bfgs", "lbfgs", "trust-exact"):
        calls["value"] = 0
        x0 = np.array([-1.2, 1.0])
        found = optimize.minimize(counted, x0, method=method)
        hessians = found.evaluations.get("hessian", 0)
        assert calls["value"] - found.evaluations["value"] in (0, hessians, 2 * hessians)
        compiled = ad.jit(lambda x, m=method: optimize.minimize(rosenbrock, x, method=m))(x0)
        assert {k: int(v) for k, v in compiled.evaluations.items()} == {k: int(v) for k, v in found.evaluations.items()}
        assert int(compiled.iterations) == int(found.iterations)


def test_grad_of_vmap_and_vmap_of_grad_agree():
    lams = np.array([0.2, 0.5, 3.0])
    one = lambda lam: best(lam).value[1]
    each = ad.vmap(ad.grad(one))(lams)
    whole = ad.grad(lambda lams: np.sum(ad.vmap(one)(lams)))(lams)
    np.testing.assert_allclose(each, whole, rtol=1e-9)
    np.testing.assert_allclose(each, [ad.grad(one)(lam) for lam in lams], rtol=1e-8)


def test_solves_within_a_scan():
    def step(x, t):
        found = optimize.minimize(lambda w: np.sum((w - x) ** 2) + t * np.sum(w**2), x)
        return found.value, found.fun

    last, _ = ad.scan(step, np.ones(2), np.array([1.0, 3.0]))
    np.testing.assert_allclose(last, np.ones(2) / 2 / 4, atol=1e-8)
    slope = ad.jacobian(lambda ts: ad.scan(step, np.ones(2), ts)[0])(np.array([1.0, 3.0]))
    np.testing.assert_allclose(slope, np.tile([-1 / 16, -1 / 32], (2, 1)), atol=1e-7)


def test_trees_complex_numbers_and_single_precision():
    found = optimize.minimize(lambda p: (p["a"] - 1) ** 2 + np.sum((p["b"] - p["a"]) ** 2), {"a": 0.0, "b": np.ones(2)})
    assert found.value["a"].shape == ()
    np.testing.assert_allclose(found.value["b"], np.ones(2), atol=1e-7)
    z = optimize.minimize(lambda z: np.abs(z - (1 + 2j)) ** 2, 0j)
    assert abs(z.value - (1 + 2j)) < 1e-7
    single = optimize.minimize(lambda x: np.sum((x - 1) ** 4), np.zeros(3, np.float32))
    assert single.value.dtype == np.float32
    assert single.status == "converged"
    assert single.target > 1e-4


def test_frozen_leaves_stay_bitwise():
    start = {"a": np.array([0.1, 0.2]), "layers": [{"b": 3.0}, {"b": 5.0}]}
    f = lambda p: np.sum((p["a"] - p["layers"][0]["b"]) ** 2) + (p["layers"][1]["b"] - p["a"][0]) ** 2
    for frozen in (["layers[0].b"], "layers.0", {"a": False, "layers": [{"b": True}, {"b": False}]}):
        found = optimize.minimize(f, start, frozen=frozen)
        assert found.value["layers"][0]["b"] == 3.0
        np.testing.assert_allclose(found.value["a"], 3.0, atol=1e-7)
    found = optimize.minimize(f, start, frozen="a")
    assert found.value["a"] is start["a"]
    held = lambda c: optimize.minimize(lambda p: (p["a"] - c) ** 2 + (p["b"] - p["a"]) ** 2, {"a": c, "b": 0.0},
                                       frozen="a").value["b"]  # fmt: skip
    np.testing.assert_allclose(ad.grad(held)(2.0), 1.0)


def test_scale_is_another_metric_not_another_minimum():
    f = lambda x: 1e8 * (x[0] - 1e-4) ** 2 + 1e-8 * (x[1] - 1e4) ** 2
    found = optimize.minimize(f, np.zeros(2), scale=np.array([1e-4, 1e4]), tol=1e-10)
    np.testing.assert_allclose(found.value, [1e-4, 1e4], rtol=1e-6)
    assert found.iterations < 10
    slope = ad.grad(f)(found.value)
    np.testing.assert_allclose(found.grad, slope, atol=1e-12)


def test_aux_of_the_minimizer():
    found = optimize.minimize(lambda x: ((x - 2) ** 2, {"twice": 2 * x}), 0.0, has_aux=True)
    np.testing.assert_allclose(found.aux["twice"], 4.0, atol=1e-7)


def test_callback_stop_and_history():
    seen = []
    found = optimize.minimize(rosenbrock, np.array([-1.2, 1.0]), callback=seen.append, history=True)
    assert [int(s.iteration) for s in seen] == list(range(1, int(found.iterations) + 1))
    np.testing.assert_array_equal([s.fun for s in seen], found.history["fun"][1:])
    assert len(found.table().splitlines()) == int(found.iterations) + 2
    stopped = optimize.minimize(rosenbrock, np.array([-1.2, 1.0]), stop=lambda now: now.fun < 1.0)
    assert stopped.status == "stopped"
    assert stopped.fun < 1.0
    compiled = ad.jit(lambda x: optimize.minimize(rosenbrock, x, stop=lambda now: now.fun < 1.0))(np.array([-1.2, 1.0]))
    assert compiled.iterations == stopped.iterations
    compiled = ad.jit(lambda x: optimize.minimize(rosenbrock, x, history=True))(np.array([-1.2, 1.0]))
    np.testing.assert_allclose(compiled.history["residual"][: len(found.history["residual"])][:5],
                               found.history["residual"][:5], rtol=1e-6)  # fmt: skip


def test_an_exception_of_a_callback_is_the_callers():
    def broken(now):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        optimize.minimize(rosenbrock, np.array([-1.2, 1.0]), callback=broken)


def test_the_keyboard_leaves_the_best_point_on_the_exception():
    def interrupt(now):
        if now.iteration == 5:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # processes that test side by side ignore it
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            optimize.minimize(rosenbrock, np.array([-1.2, 1.0]), callback=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    found = caught.value.optimum
    assert found.status == "interrupted"
    assert found.iterations == 5
    assert found.fun == rosenbrock(found.value) < rosenbrock(np.array([-1.2, 1.0]))


def test_a_warm_start_goes_on_where_it_ended():
    x0 = np.array([-1.2, 1.0])
    whole = optimize.minimize(rosenbrock, x0)
    half = optimize.minimize(rosenbrock, x0, max_iterations=20)
    assert half.status == "max iterations"
    rest = optimize.minimize(rosenbrock, half.value, warm=half.state)
    assert int(half.iterations) + int(rest.iterations) == int(whole.iterations)
    np.testing.assert_array_equal(rest.value, whole.value)


@pytest.mark.parametrize("method", ["bfgs", "lbfgs", "lbfgsb", "trust-exact", "cubic", "cg", "newton-cg", "gd"])
def test_a_warm_start_for_another_problem_keeps_nothing_that_is_out_of_date(method):
    first = optimize.minimize(penalized, np.zeros(2), 0.5, method=method)
    then = optimize.minimize(penalized, first.value, 0.7, method=method, warm=first.state)
    assert then.converged
    np.testing.assert_allclose(then.value, exact(0.7), atol=1e-7)
    assert then.fun == penalized(then.value, 0.7)


def test_a_warm_start_of_another_method_or_size_is_refused():
    state = optimize.minimize(penalized, np.zeros(2), 0.5, method="bfgs").state
    with pytest.raises(ad.TreeError, match="earlier answer by LBFGS"):
        optimize.minimize(penalized, np.zeros(2), 0.5, method="lbfgs", warm=state)
    with pytest.raises(ad.TreeError, match="other unknowns"):
        optimize.minimize(lambda x: np.sum(x**2), np.ones(3), warm=state)


def test_a_function_that_gives_different_values_at_one_point_is_told():
    calls = itertools.count()
    fresh = lambda: np.random.default_rng(next(calls)).normal(size=2)  # another generator in each call
    found = optimize.minimize(lambda x: np.sum((x - fresh()) ** 2), np.zeros(2))
    assert not found.converged
    assert "different values at the same point" in found.advice


def test_methods_of_scipy_run_on_the_raveled_vector_and_have_derivatives():
    f = lambda w, lam: np.sum((w - np.array([1.0, 2.0])) ** 2) + lam * np.sum(w**4)
    for method in ("Nelder-Mead", "SLSQP", "powell"):
        solve = lambda t, m=method: optimize.minimize(f, np.zeros(2), t, method=m, check="ignore").value
        found = solve(0.7)
        np.testing.assert_allclose(found, exact(0.7), atol=1e-4)
        np.testing.assert_array_equal(ad.jit(solve)(0.7), found)
        np.testing.assert_allclose(ad.jacobian(solve)(0.7), [-0.19138245, -0.34071805], rtol=1e-3)


def test_threads_do_not_share_anything():
    answers: list = [None] * 8

    def work(i):
        answers[i] = best(0.1 * (i + 1)).value

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, answer in enumerate(answers):
        np.testing.assert_allclose(answer, exact(0.1 * (i + 1)), atol=1e-10)


def test_pickles():
    found = pickle.loads(pickle.dumps(best(0.5)))
    assert found.status == "converged"
    for method in (optimize.BFGS(), optimize.LBFGS(), optimize.TrustRegion(), optimize.GradientDescent()):
        assert pickle.loads(pickle.dumps(method)) == method


def test_steps_by_hand_are_those_of_the_loop():
    from adjoint.optimize.problem import Problem, read_unknowns

    x0, unknowns = read_unknowns("test", np.array([-1.2, 1.0]))
    problem, method = Problem("test", rosenbrock, unknowns, 1e-8), optimize.BFGS()
    x, state = unknowns.vector(x0), method.init(problem, unknowns.vector(x0))
    for _ in range(10):
        x, state = method.step(problem, x, state)
    np.testing.assert_array_equal(x, optimize.minimize(rosenbrock, x0, method=method, max_iterations=10).value)
    assert problem.counts["value"] > 10


def test_the_minimizer_as_a_series():
    """Derivatives of order 1 to 3 by Taylor coefficients, against differences of the closed form in many digits."""
    import mpmath

    def exactly(lam, target):
        return mpmath.findroot(lambda w: 4 * lam * w**3 + 2 * w - 2 * target, 1.0)

    with mpmath.workdps(40):
        known = [float(mpmath.diff(lambda lam: exactly(lam, 2), mpmath.mpf("0.7"), k)) for k in (1, 2, 3)]
    found = [ad.derivative(lambda t: best(t).value[1], k)(0.7) for k in (1, 2, 3)]
    np.testing.assert_allclose(found, known, rtol=1e-8)


def test_pythons_own_branches_are_followed_in_compiled_loops():
    def f(x, a):
        if x[0] > a:
            return 3 * (x[0] - a) ** 2 + (x[1] - 1) ** 2
        return (x[0] - a) ** 2 + (x[1] - 1) ** 2

    for run in (lambda g: g, ad.jit):
        np.testing.assert_allclose(
            run(lambda a: optimize.minimize(f, np.zeros(2), a).value)(2.0), [2.0, 1.0], atol=1e-7
        )
    np.testing.assert_allclose(ad.jit(ad.vmap(lambda a: optimize.minimize(f, np.zeros(2), a).value[0]))(
        np.array([2.0, -1.0])), [2.0, -1.0], atol=1e-7)  # fmt: skip


def test_functions_that_draw_or_write_are_refused_or_harmless():
    def writes(x):
        x = x.copy()
        x[0] = x[0] - 1
        return np.sum(x**2)

    np.testing.assert_allclose(optimize.minimize(writes, np.zeros(2)).value, [1.0, 0.0], atol=1e-7)
    start = np.zeros(2)

    def writes_to_its_argument(x):
        x[0] = x[0] - 1
        return np.sum(x**2)

    with contextlib.suppress(ad.AdjointError):
        optimize.minimize(writes_to_its_argument, start)
    np.testing.assert_array_equal(start, np.zeros(2))


def test_lbfgs_by_name_keeps_bounds_and_by_object_refuses_them():
    f = lambda p: np.sum((p["w"] - 2.0) ** 2) + (p["b"] - 1.0) ** 2
    start = {"w": np.zeros(5), "b": 0.0}
    found = optimize.minimize(f, start, method="lbfgs", bounds={"w": (-1.0, 1.0)})
    assert found.converged
    np.testing.assert_allclose(found.value["w"], np.ones(5))
    np.testing.assert_allclose(found.value["b"], 1.0, rtol=1e-6)
    with pytest.raises(ValueError, match="LBFGS takes no bounds"):
        optimize.minimize(f, start, method=optimize.LBFGS(), bounds={"w": (-1.0, 1.0)})

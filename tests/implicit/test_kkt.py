"""Minimizers under constraints: multipliers, one-sided derivatives, smoothing, and what is said of bad points."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import adjoint as ad
from adjoint import implicit

POSITIVE = implicit.Constraints(bounds=(0.0, None))
POINT = np.array([1.0, -1.0, 0.0])


def nearest(**options):
    f = lambda x, a: 0.5 * np.sum((x - a) ** 2)
    return implicit.argmin(f, lambda a: np.maximum(a, 0.0), subject_to=POSITIVE, **options)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_forward_mode_gives_the_derivative_of_the_side_that_is_asked(sign):
    direction = sign * np.ones(3)
    step = 1e-6
    expected = (np.maximum(POINT + step * direction, 0.0) - np.maximum(POINT, 0.0)) / step
    assert_allclose(ad.jvp(nearest(), (POINT,), (direction,))[1], expected, atol=1e-9)


def test_two_constraints_that_meet_without_pressing():
    """The projection of a point of the plane onto a wedge, at its tip: the direction is projected onto the wedge."""
    wedge = np.array([[1.0, 0.5], [-0.3, 1.0]])  # wedge @ x ≤ 0
    rules = implicit.Constraints(inequality=lambda x, a: wedge @ x)

    def project(a):
        inside = {"type": "ineq", "fun": lambda x: -wedge @ x}
        half = lambda x: 0.5 * np.sum((x - a) ** 2)
        return minimize(half, np.zeros(2), jac=lambda x: x - a, constraints=inside, options={"ftol": 1e-16}).x

    x = implicit.argmin(lambda x, a: 0.5 * np.sum((x - a) ** 2), lambda a: np.zeros(2), subject_to=rules)
    for angle in np.linspace(0.0, 2 * np.pi, 9)[:-1] + 0.1:
        d = np.array([np.cos(angle), np.sin(angle)])
        assert_allclose(ad.jvp(x, (np.zeros(2),), (d,))[1], project(d), atol=1e-7)


def test_reverse_mode_says_that_it_leaves_the_constraint_out():
    expected = np.diag([1.0, 0.0, 1.0])
    for transformed in (ad.jacrev(nearest()), ad.jit(ad.jacrev(nearest()))):
        with pytest.warns(implicit.DerivativeWarning, match=r"\['lower'\]\[2\] is weakly active"):
            assert_allclose(transformed(POINT), expected, atol=1e-12)
    with pytest.raises(ad.SolveError, match="weakly active"):
        ad.jacrev(nearest(check="raise"))(POINT)
    assert_allclose(ad.jacrev(nearest(check="ignore"))(POINT), expected, atol=1e-12)


def test_a_projection_at_a_kink_gives_nan_and_never_the_mean():
    box = implicit.Projected(lambda y: np.maximum(y, 0.0))
    x = implicit.argmin(lambda x, a: 0.5 * np.sum((x - a) ** 2), lambda a: np.maximum(a, 0.0), subject_to=box)
    for transformed in (ad.jacrev(x), ad.jit(ad.jacrev(x))):
        with pytest.warns(implicit.DerivativeWarning, match="implicit.argmin: F has a kink at the solution"):
            assert np.all(np.isnan(transformed(POINT)))
    assert_allclose(ad.jacrev(x)(np.array([1.0, -1.0, 0.1])), np.diag([1.0, 0.0, 1.0]), atol=1e-12)


def test_equal_numbers_in_a_sort_are_no_kink_of_the_projection():
    def onto_simplex(y):
        ordered = np.sort(y)[::-1]
        excess = (np.cumsum(ordered) - 1.0) / np.arange(1.0, 1.0 + len(y))
        return np.maximum(y - np.take(excess, np.sum(ordered > excess) - 1), 0.0)

    simplex = implicit.Projected(onto_simplex)
    x = implicit.argmin(lambda x, a: 0.5 * np.sum((x - a) ** 2), lambda a: onto_simplex(a), subject_to=simplex)
    expected = 0.5 * np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert_allclose(ad.jacrev(x)(np.array([0.5, 0.5, -0.4])), expected, atol=1e-12)
    with pytest.warns(implicit.DerivativeWarning, match="kink"):
        assert np.all(np.isnan(ad.jacrev(x)(np.array([0.6, 0.4, 0.0]))))


def test_smoothing_differentiates_across_the_change_and_leaves_values_alone():
    tau = 1e-3
    relaxed = nearest(smoothing=tau)
    grid = np.linspace(-0.5, 0.5, 7)
    assert_allclose(relaxed(grid), np.maximum(grid, 0.0), atol=0)
    # x (x - a) = τ on the central path: x = (a + √(a² + 4τ)) / 2
    expected = 0.5 * (1 + grid / np.sqrt(grid**2 + 4 * tau))
    assert_allclose(np.diagonal(ad.jacrev(relaxed)(grid)), expected, rtol=1e-9)
    assert_allclose(np.diagonal(ad.jit(ad.jacfwd(relaxed))(grid)), expected, rtol=1e-9)
    step = 1e-7
    gradient = ad.grad(lambda a: np.sum(relaxed(a) ** 2))
    assert np.all(np.isfinite(gradient(grid + step)))


def test_points_that_are_not_feasible_or_not_minimal_have_their_words():
    f = lambda x, a: 0.5 * np.sum((x - a) ** 2)
    outside = implicit.argmin(f, lambda a: a, subject_to=POSITIVE)
    with pytest.warns(implicit.DerivativeWarning, match=r"\['lower'\]\[1\] is violated, so that x is not feasible"):
        ad.jacrev(outside)(np.array([1.0, -1.0, 0.5]))
    unfinished = implicit.argmin(f, lambda a: np.maximum(a, 0.0) + 0.1, subject_to=POSITIVE)
    with pytest.warns(implicit.DerivativeWarning, match="x is no solution"):
        ad.jacrev(unfinished)(np.array([1.0, -1.0, 0.5]))


def test_an_equality_that_does_not_hold_is_said_to_be_infeasible():
    rules = implicit.Constraints(equality=lambda x, a: np.stack([x[0] - a[0], x[0] + x[1] - 2.0]))
    f = lambda x, a: np.sum((x - a) ** 2)
    x = implicit.argmin(f, lambda a: np.array([a[0], 5.0]), subject_to=rules)
    a = np.ones(2)
    words = r"constraint \['equality'\]\[1\] is violated, so that x is not feasible"
    each = ad.vmap(ad.jacfwd(x))
    for transformed in (ad.jacrev(x), ad.jit(ad.jacrev(x)), lambda a: each(np.stack([a, a]))):
        with pytest.warns(implicit.DerivativeWarning, match=words):
            transformed(a)
    advice = implicit.report(x)(a).advice
    assert "['equality'][1]: violated, so that x is not feasible" in advice
    assert "has not converged" not in advice
    held = implicit.argmin(f, lambda a: np.array([a[0], 2.0 - a[0]]), subject_to=rules)
    assert implicit.report(held)(a).advice == ""
    assert_allclose(ad.jacrev(held)(a), [[1.0, 0.0], [-1.0, 0.0]], atol=1e-12)


def test_objectives_and_constraints_in_pythons_mathematics():
    f = lambda x, a: math.cosh(x[0] - a) + math.cosh(x[1] - 2.0 * a)
    rules = implicit.Constraints(
        equality=lambda x, a: math.exp(x[0]) - math.exp(a), inequality=lambda x, a: math.sinh(x[1]) - math.sinh(a)
    )
    x = implicit.argmin(f, lambda a: np.array([a, a]), subject_to=rules)
    assert_allclose(ad.jacrev(x)(0.5), [1.0, 1.0], atol=1e-12)
    multiplier = x.multipliers(0.5)["inequality"]["given"]  # sinh(a) = μ cosh(a)
    assert_allclose(multiplier, np.tanh(0.5), atol=1e-12)
    free = lambda a: implicit.argmin(lambda x: f(x, a), x0=np.zeros(2))()
    assert_allclose(ad.jacrev(free)(0.5), [1.0, 2.0], atol=1e-9)


def test_an_unknown_that_is_called_equality_is_no_constraint():
    F = lambda x, a: {"equality": 2.0 * x["equality"] - a}
    x = implicit.root(F, lambda a: {"equality": a})
    with pytest.warns(implicit.DerivativeWarning, match="x is no solution"):
        ad.grad(lambda a: x(a)["equality"])(1.0)
    free = implicit.root(lambda x, a: {"equality": 0.0 * x["equality"] * a}, lambda a: {"equality": a})
    with pytest.warns(implicit.DerivativeWarning, match=r"nothing determines x\['equality'\]"):
        ad.grad(lambda a: free(a)["equality"])(1.0)


def test_dependent_constraints_are_named_and_least_squares_serves():
    rules = implicit.Constraints(inequality=lambda x, a: np.stack([x[0], 2 * x[0]]))
    f = lambda x, a: 0.5 * np.sum((x - a) ** 2)
    a = np.array([1.0, 2.0])
    x = implicit.argmin(f, lambda a: np.array([0.0, a[1]]), subject_to=rules)
    with pytest.warns(implicit.DerivativeWarning, match="linearly dependent"):
        ad.jvp(x, (a,), (np.ones(2),))
    served = implicit.argmin(
        f, lambda a: np.array([0.0, a[1]]), subject_to=rules, linear="least squares", check="ignore"
    )
    assert_allclose(ad.jacrev(served)(a), np.diag([0.0, 1.0]), atol=1e-12)
    assert "dependent" in implicit.report(x)(a).advice


def test_the_vertex_of_a_linear_program_does_not_move():
    rules = implicit.Constraints(inequality=lambda x, c: np.stack([x[0] + x[1] - 1.0, -x[0], -x[1]]))
    x = implicit.argmin(lambda x, c: c @ x, lambda c: np.array([0.0, 1.0]), subject_to=rules)
    c = np.array([-1.0, -2.0])
    assert_allclose(ad.jacrev(x)(c), 0.0, atol=1e-12)
    prices = ad.jacrev(lambda c: x.multipliers(c)["inequality"]["given"])(c)
    assert_allclose(prices, [[0.0, -1.0], [1.0, -1.0], [0.0, 0.0]], atol=1e-12)


def test_bounds_of_trees_with_infinite_ones():
    f = lambda x, a: (x["u"] - a[0]) ** 2 + np.sum((x["v"] - a[1:]) ** 2)
    bounds = ({"u": -np.inf, "v": np.zeros(2)}, {"u": 1.0, "v": np.array([np.inf, 2.0])})
    rules = implicit.Constraints(bounds=bounds)
    solver = lambda a: {"u": np.minimum(a[0], 1.0), "v": np.clip(a[1:], 0.0, [np.inf, 2.0])}
    x = implicit.argmin(f, solver, subject_to=rules)
    a = np.array([3.0, -1.0, 1.0])
    jacobian = ad.jacrev(x)(a)
    assert_allclose(jacobian["u"], np.zeros(3), atol=1e-12)
    assert_allclose(jacobian["v"], [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]], atol=1e-12)
    prices = x.multipliers(a)["inequality"]
    assert_allclose(prices["upper"]["u"], [4.0], rtol=1e-12)
    assert_allclose(prices["lower"]["v"], [2.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-10])
def test_the_active_set_is_told_at_any_accuracy_of_the_solver(tolerance):
    rng = np.random.default_rng(0)
    a = np.array([1.0, -1.0, 0.3, -0.2, 2.0])
    noise = tolerance * rng.normal(size=5)
    f = lambda x, a: 0.5 * np.sum((x - a) ** 2)
    x = implicit.argmin(f, lambda a: np.maximum(a, 0.0) + np.abs(noise), subject_to=POSITIVE, check="ignore")
    assert x.active_set(a)["active"] == [1, 3]
    assert_allclose(ad.jacrev(x)(a), np.diag([1.0, 0.0, 1.0, 0.0, 1.0]), atol=1e-12)


def test_a_minimum_inside_is_free_however_close_a_bound_is():
    f = lambda x, a: 0.5 * np.sum((x - a) ** 2)
    x = implicit.argmin(f, lambda a: a + 1e-16, subject_to=POSITIVE, check="raise")
    a = np.array([1.0, 0.005, 1e-4])
    assert x.active_set(a).kinds == ("inactive",) * 3
    assert_allclose(ad.jacrev(x)(a), np.eye(3), atol=1e-12)


def test_what_is_weak_depends_on_how_well_x_is_known():
    f = lambda x, a: 0.5 * np.sum((x - a) ** 2)
    a = np.array([1.0, 0.0, -1.0])
    for error in (1e-5, 1e-8, 0.0):
        x = implicit.argmin(f, lambda a, e=error: np.maximum(a, 0.0) + e, subject_to=POSITIVE)
        assert x.active_set(a).kinds == ("inactive", "weak", "active")


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: nearest(differentiate=implicit.OneStep()), "neither has_aux nor differentiate"),
        (lambda: implicit.argmin(lambda x: x, subject_to=POSITIVE, x0=0.0), "constraints need a solver"),
        (lambda: implicit.argmin(lambda x: x, lambda: 0.0, subject_to="box"), "subject_to is a str"),
        (lambda: implicit.argmin(lambda x: x**2, lambda: 0.0, smoothing=0.1), "relaxes inequalities"),
    ],
)
def test_bad_input(make, words):
    with pytest.raises((TypeError, ad.RuleError), match=words):
        make()


def test_equal_bounds_fix_an_element():
    rules = implicit.Constraints(bounds=(np.array([0.0, 0.5, -1.0]), np.array([1.0, 0.5, np.inf])))
    f = lambda x, a: 0.5 * np.sum((x - a) ** 2) + x[0] * x[1]
    x = implicit.argmin(
        f, lambda a: np.array([np.clip(a[0] - 0.5, 0.0, 1.0), 0.5, np.maximum(a[2], -1.0)]), subject_to=rules
    )
    a = np.array([0.9, 2.0, 0.3])
    assert_allclose(ad.jacrev(x)(a), np.diag([1.0, 0.0, 1.0]), atol=1e-12)
    assert_allclose(x.multipliers(a)["equality"]["fixed"], [2.0 - 0.5 - 0.4], rtol=1e-12)
    crossed = implicit.argmin(f, lambda a: a, subject_to=implicit.Constraints(bounds=(1.0, 0.0)))
    with pytest.raises(ValueError, match="lower bound is above the upper one at x"):
        crossed(a)


def test_traced_values_that_are_no_arguments_are_refused_with_a_remedy():
    def outer(b):
        f = lambda x: 0.5 * np.sum((x - b) ** 2)
        return implicit.argmin(f, lambda: np.maximum(POINT, 0.0), subject_to=POSITIVE)()

    for transformed in (ad.jacrev(outer), ad.jit(ad.jacrev(outer))):
        with pytest.raises(ad.RuleError, match="Pass the value as an argument"):
            transformed(POINT)


@pytest.mark.parametrize("run", [lambda f: f, ad.jit], ids=["eager", "jit"])
def test_kinks_in_what_nobody_moves_are_no_kinks_of_the_solution(run):
    floors = np.zeros(3)  # on the kink of the maximum; an input of compiled programs, as every array that is read
    F = lambda x, p: x**3 + x - p * (1 + np.sum(np.maximum(x * floors, 0.0)))
    root = lambda p: ad.optimize.root(F, 0.5, p).value
    step = 1e-6
    difference = (root(2.0 + step) - root(2.0 - step)) / (2 * step)
    np.testing.assert_allclose(run(lambda p: ad.jvp(root, (p,), (1.0,))[1])(2.0), difference, rtol=1e-6)


def test_many_minimizers_have_no_one_sided_derivative():
    """min -x₀ - x₁ where x₀ + x₁ ≤ a has an edge of minimizers: at its end all is said, and nothing raises."""
    rules = implicit.Constraints(inequality=lambda x, a: x[0] + x[1] - a, bounds=(0.0, None))
    x = implicit.argmin(lambda x, a: -x[0] - x[1], lambda a: np.array([0.0, a]), subject_to=rules)
    with pytest.warns(implicit.DerivativeWarning, match="one of many"):
        assert np.all(np.isnan(ad.jvp(x, (1.0,), (1.0,))[1]))

"""Minimization under constraints: published problems, derivatives of what is found, statuses, transformations."""

import itertools

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import between, equality, inequality
from adjoint.optimize.statuses import CONVERGED, NOT_FINITE
from tests.support.sweeps import sampled

# Problems of Hock and Schittkowski, Test Examples for Nonlinear Programming Codes, 1981:
# (f, start, constraints, bounds, the smallest value).
PROBLEMS = {
    "HS6": (lambda x: (1 - x[0]) ** 2, [-1.2, 1.0], [equality(lambda x: 10 * (x[1] - x[0] ** 2))], None, 0.0),
    "HS7": (
        lambda x: np.log(1 + x[0] ** 2) - x[1], [2.0, 2.0],
        [equality(lambda x: (1 + x[0] ** 2) ** 2 + x[1] ** 2 - 4)], None, -np.sqrt(3.0),
    ),
    "HS10": (
        lambda x: x[0] - x[1], [-10.0, 10.0],
        [inequality(lambda x: 3 * x[0] ** 2 - 2 * x[0] * x[1] + x[1] ** 2 - 1)], None, -1.0,
    ),
    "HS14": (
        lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2, [2.0, 2.0],
        [inequality(lambda x: 0.25 * x[0] ** 2 + x[1] ** 2 - 1), equality(lambda x: x[0] - 2 * x[1] + 1)],
        None, 9 - 2.875 * np.sqrt(7.0),
    ),
    "HS26": (
        lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4, [-2.6, 2.0, 2.0],
        [equality(lambda x: (1 + x[1] ** 2) * x[0] + x[2] ** 4 - 3)], None, 0.0,
    ),
    "HS28": (
        lambda x: (x[0] + x[1]) ** 2 + (x[1] + x[2]) ** 2, [-4.0, 1.0, 1.0],
        [equality(lambda x: x[0] + 2 * x[1] + 3 * x[2] - 1)], None, 0.0,
    ),
    "HS35": (
        lambda x: 9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + 2 * x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2
        + 2 * x[0] * x[1] + 2 * x[0] * x[2],
        [0.5, 0.5, 0.5], [inequality(lambda x: x[0] + x[1] + 2 * x[2] - 3)], (0.0, None), 1 / 9,
    ),
    "HS39": (
        lambda x: -x[0], [2.0, 2.0, 2.0, 2.0],
        [equality(lambda x: np.stack([x[1] - x[0] ** 3 - x[2] ** 2, x[0] ** 2 - x[1] - x[3] ** 2]))], None, -1.0,
    ),
    "HS43": (
        lambda x: x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3],
        [0.0, 0.0, 0.0, 0.0],
        [inequality(lambda x: np.stack([
            x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2 + x[0] - x[1] + x[2] - x[3] - 8,
            x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2 + 2 * x[3] ** 2 - x[0] - x[3] - 10,
            2 * x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + 2 * x[0] - x[1] - x[3] - 5]))],
        None, -44.0,
    ),
    "HS71": (
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], [1.0, 5.0, 5.0, 1.0],
        [inequality(lambda x: 25 - np.prod(x)), equality(lambda x: np.sum(x**2) - 40)], (1.0, 5.0), 17.0140173,
    ),
    "HS76": (
        lambda x: x[0] ** 2 + 0.5 * x[1] ** 2 + x[2] ** 2 + 0.5 * x[3] ** 2 - x[0] * x[2] + x[2] * x[3] - x[0]
        - 3 * x[1] + x[2] - x[3],
        [0.5, 0.5, 0.5, 0.5],
        [inequality(lambda x: np.stack([
            x[0] + 2 * x[1] + x[2] + x[3] - 5, 3 * x[0] + x[1] + 2 * x[2] - x[3] - 4, 1.5 - x[1] - 4 * x[2]]))],
        (0.0, None), -4.681818181,
    ),
    "HS100": (
        lambda x: (x[0] - 10) ** 2 + 5 * (x[1] - 12) ** 2 + x[2] ** 4 + 3 * (x[3] - 11) ** 2 + 10 * x[4] ** 6
        + 7 * x[5] ** 2 + x[6] ** 4 - 4 * x[5] * x[6] - 10 * x[5] - 8 * x[6],
        [1.0, 2.0, 0.0, 4.0, 0.0, 1.0, 1.0],
        [inequality(lambda x: np.stack([
            2 * x[0] ** 2 + 3 * x[1] ** 4 + x[2] + 4 * x[3] ** 2 + 5 * x[4] - 127,
            7 * x[0] + 3 * x[1] + 10 * x[2] ** 2 + x[3] - x[4] - 282,
            23 * x[0] + x[1] ** 2 + 6 * x[5] ** 2 - 8 * x[6] - 196,
            4 * x[0] ** 2 + x[1] ** 2 - 3 * x[0] * x[1] + 2 * x[2] ** 2 + 5 * x[5] - 11 * x[6]]))],
        None, 680.6300573,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name, method",
    sampled([(name, method) for name in PROBLEMS for method in ("sqp", "augmented lagrangian")], every=3),
)
def test_published_problems(name: str, method: str) -> None:
    f, start, constraints, bounds, smallest = PROBLEMS[name]
    found = optimize.minimize(f, np.array(start), subject_to=constraints, bounds=bounds, method=method, tol=1e-6)
    assert found.status == "converged", found
    assert float(found.fun) == pytest.approx(smallest, abs=2e-5, rel=2e-5)


def hs71(a, method="sqp"):
    rules = [inequality(lambda x, a: a[0] - np.prod(x)), equality(lambda x, a: np.sum(x**2) - a[1])]
    return optimize.minimize(
        lambda x, a: PROBLEMS["HS71"][0](x), np.array([1.0, 5.0, 5.0, 1.0]), a, subject_to=rules, bounds=(1.0, 5.0),
        method=method, tol=1e-10,
    )  # fmt: skip


A = np.array([25.0, 40.0])


@pytest.mark.parametrize("what", ["value", "fun", "prices"])
def test_derivatives_against_solving_again(what: str) -> None:
    measure = {
        "value": lambda a: hs71(a).value,
        "fun": lambda a: hs71(a).fun,
        "prices": lambda a: np.concatenate([hs71(a).multipliers.equality, hs71(a).multipliers.inequality]),
    }[what]
    step = 1e-4
    rough = np.stack([(measure(A + step * e) - measure(A - step * e)) / (2 * step) for e in np.eye(2)], -1)
    for exact in (ad.jacfwd(measure)(A), ad.jacrev(measure)(A)):
        np.testing.assert_allclose(exact, rough, atol=2e-6)


def test_second_derivatives_of_the_value_are_first_ones_of_the_prices() -> None:
    H = ad.hessian(lambda a: hs71(a).fun)(A)
    prices = lambda a: np.stack([hs71(a).multipliers.inequality[0], -hs71(a).multipliers.equality[0]])
    np.testing.assert_allclose(H, ad.jacobian(prices)(A), atol=1e-8)


def test_compiled_and_batched() -> None:
    stack = A + np.array([[0.0, 0.0], [0.5, -0.3], [-1.0, 1.0]])
    solve = lambda a: hs71(a).value
    expected = np.stack([solve(a) for a in stack])
    np.testing.assert_allclose(ad.jit(ad.vmap(solve))(stack), expected, atol=1e-8)
    jacobians = ad.jit(ad.vmap(ad.jacobian(solve)))(stack)
    np.testing.assert_allclose(jacobians, [ad.jacobian(solve)(a) for a in stack], atol=1e-7)


def test_trees_closures_and_ranges() -> None:
    def best(budget):
        ring = between(None, lambda p: p["x"] ** 2 + p["y"] ** 2, budget)
        return optimize.minimize(lambda p: -p["x"] - 2 * p["y"], {"x": 0.1, "y": 0.1}, subject_to=ring)

    found = best(5.0)
    assert found.value["x"] == pytest.approx(1.0, abs=1e-6)
    assert found.value["y"] == pytest.approx(2.0, abs=1e-6)
    assert ad.grad(lambda b: best(b).fun)(5.0) == pytest.approx(-0.5, abs=1e-6)
    assert ad.grad(lambda b: best(b).value["y"])(5.0) == pytest.approx(0.2, abs=1e-6)


def test_statuses() -> None:
    impossible = inequality(lambda x: np.sum(x**2) + 1.0)
    assert optimize.minimize(lambda x: np.sum(x), np.zeros(2), subject_to=impossible).status == "infeasible"
    line = equality(lambda x: x[1] - 1.0)
    assert optimize.minimize(lambda x: x[0], np.zeros(2), subject_to=line).status == "unbounded"
    found = optimize.minimize(lambda x: np.log(x[0] - 5.0), np.zeros(1), subject_to=equality(lambda x: x - 1.0))
    assert found.status == "not finite"
    few = optimize.minimize(PROBLEMS["HS100"][0], np.array(PROBLEMS["HS100"][1]), subject_to=PROBLEMS["HS100"][2],
                            max_iterations=2)  # fmt: skip
    assert few.status == "max iterations"


SOLVERS = ["sqp", "interior point", "augmented lagrangian"]


@pytest.mark.parametrize(
    "compiled, method", [*itertools.product([True], SOLVERS), *sampled(itertools.product([False], SOLVERS), 3)]
)
def test_a_start_without_numbers_is_told_of(compiled: bool, method: str) -> None:
    """Of the constraint or of the function, also beside one that is solved."""
    for f, c in [(lambda x: np.sum(x**2), lambda x: np.log(x[0])), (lambda x: -np.log(x[0]), lambda x: x[0] - 1.5)]:
        solve = lambda x, f=f, c=c: optimize.minimize(f, x, subject_to=equality(c), method=method)
        run = ad.jit(ad.vmap(solve)) if compiled else ad.vmap(solve)
        with np.errstate(invalid="ignore"):
            found = run(np.array([[-1.0], [1.2]]))
        assert [int(code) for code in found.code] == [NOT_FINITE, CONVERGED]


def test_ranges_of_one_number_are_equations() -> None:
    """Also where rounding has crossed their ends."""
    f = lambda x: np.sum((x - 3.0) ** 2)
    for low, high in [(1.0, 1.0), (0.1 + 0.2, 0.3), (np.full(2, 0.3), np.full(2, 0.3))]:
        found = optimize.minimize(f, np.zeros(2), subject_to=between(low, lambda x: x, high))
        assert found.converged
        np.testing.assert_allclose(found.value, low, atol=1e-7)
        np.testing.assert_allclose(found.multipliers.equality, 2.0 * (3.0 - np.broadcast_to(low, 2)), atol=1e-6)


def test_weakly_active_constraints_are_told_of() -> None:
    solve = lambda a: optimize.minimize(
        lambda x, a: (x[0] - a) ** 2, np.ones(1), a, subject_to=inequality(lambda x, a: -x[0])
    )
    with pytest.warns(ad.implicit.DerivativeWarning, match="weakly active"):
        ad.grad(lambda a: solve(a).value[0])(0.0)


@pytest.mark.parametrize("method", ["sqp", "augmented lagrangian"])
def test_methods_for_constraints_without_any(method: str) -> None:
    f = lambda x: np.sum((x - 1.0) ** 2)
    assert np.allclose(optimize.minimize(f, np.zeros(2), method=method).value, 1.0)
    assert np.allclose(optimize.minimize(f, np.zeros(2), subject_to=[], method=method).value, 1.0)
    with pytest.raises(ValueError, match="there is no interior"):
        optimize.minimize(f, np.zeros(2), method="interior point")


def test_bad_input() -> None:
    f, x0 = lambda x: np.sum(x**2), np.zeros(2)
    with pytest.raises(TypeError, match=r"subject_to has a function; write optimize.equality"):
        optimize.minimize(f, x0, subject_to=[lambda x: x])
    for given, kind in ((lambda x: x, "function"), ({"type": "eq", "fun": f}, "dict"), (3, "int"), ("eq", "str")):
        with pytest.raises(TypeError, match=rf"subject_to has a {kind}; write optimize.equality"):
            optimize.minimize(f, x0, subject_to=given)
    assert optimize.minimize(f, x0, subject_to=None).converged
    assert optimize.minimize(f, x0, subject_to=iter([equality(lambda x: x[0])])).converged
    with pytest.raises(ValueError, match="'bfgs' takes no constraints"):
        optimize.minimize(f, x0, subject_to=equality(lambda x: x[0]), method="bfgs")
    with pytest.raises(ValueError, match="lower is above upper"):
        between(1.0, lambda x: x, 0.0)
    with pytest.raises(TypeError, match="takes a function of x, not float"):
        equality(1.0)
    with pytest.raises(ad.DtypeError, match="returns real numbers"):
        optimize.minimize(f, x0, subject_to=equality(lambda x: x[0] * 1j))
    with pytest.raises(ad.ShapeError, match="has 3 numbers, and it returns 2"):
        optimize.minimize(f, x0, subject_to=between(np.zeros(3), lambda x: x, np.ones(3)))


@pytest.mark.parametrize("method", ["sqp", "interior point", "augmented lagrangian"])
def test_ranges_without_some_ends_and_with_equal_ones(method):
    """An end that is infinite was taken for a number; ends that are equal had prices without bound."""
    target = np.array([3.0, 3.0, 0.5, 2.0])
    ends = np.array([-np.inf, 0.0, 1.0, 0.0]), np.array([1.0, np.inf, 1.0, 1.0])
    rule = optimize.between(ends[0], lambda x: 1.0 * x, ends[1])
    found = optimize.minimize(lambda x: np.sum((x - target) ** 2), np.zeros(4), subject_to=rule, method=method)
    assert found.converged
    np.testing.assert_allclose(found.value, [1.0, 3.0, 1.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(found.multipliers.equality, [-1.0], atol=1e-6)  # of the third
    np.testing.assert_allclose(found.multipliers.inequality, [0, 0, 0, 4.0, 0, 2.0], atol=1e-6)


def test_ends_of_ranges_that_are_traced_may_be_infinite():
    def nearest(lower):
        rule = optimize.between(lower, lambda x: 1.0 * x, np.array([1.0, np.inf]))
        return optimize.minimize(lambda x: np.sum((x - 3.0) ** 2), np.zeros(2), subject_to=rule).value

    found = ad.jit(nearest)(np.array([-np.inf, 4.0]))
    np.testing.assert_allclose(found, [1.0, 4.0], atol=1e-6)


def test_constraints_that_return_no_numbers_are_refused():
    f = lambda x: np.sum(x**2)
    for rule, error, words in ((lambda x: None, TypeError, "returned None"), (lambda x: x <= 1, TypeError, "c - b")):
        with pytest.raises(error, match=words):
            optimize.minimize(f, np.ones(2), subject_to=optimize.inequality(rule))
    for ends, words in (((np.nan, 1.0), "lower has NaN"), ((np.inf, None), "nothing lies between")):
        with pytest.raises(ValueError, match=words):
            optimize.between(ends[0], lambda x: x, ends[1])

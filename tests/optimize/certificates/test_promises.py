"""Promises of methods: kept where theory says so, and told where a function or a method breaks them."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import LBFGSB, GradientDescent, StrongWolfe, sets

START = np.array([-1.2, 1.0])


def rosenbrock(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


@pytest.mark.parametrize("method", ["bfgs", "lbfgs", "newton", "trust-exact", "cubic", "cg", "newton-cg", "lbfgsb"])
def test_methods_keep_what_they_promise(method: str) -> None:
    found = optimize.minimize(rosenbrock, START, method=method, certify=True)
    assert found.converged
    assert found.certificate.held, found.certificate
    assert found.certificate.broken["descent"] == -1


@pytest.mark.row("16.1.2a", "16.1.2b", "16.1.2c", "16.1.2d", "16.1.2e")
def test_bounds_of_gradient_descent() -> None:
    """β = 1, μ = 0.1: with γ ≤ 1/β all bounds hold, with γ = 2.5 none does, and a false μ is refuted."""
    f = lambda w: 0.05 * w[0] ** 2 + 0.5 * w[1] ** 2
    known = {"best": 0.0, "mu": 0.1, "dominated": 0.2}
    run = lambda step, known: (
        optimize.minimize(
            f, np.ones(2), method=GradientDescent(step_size=step), certify=known, max_iterations=300
        ).certificate
    )
    good = run(1.0, known)
    names = {"descent lemma", "stationary", "convex", "strongly convex", "gradient domination", "domination itself"}
    assert set(good.broken) == names
    assert good.held
    # the curves are those of the theory, computed here by themselves
    np.testing.assert_allclose(good.bounds["strongly convex"][:5], 0.55 * 0.9 ** np.arange(5))
    np.testing.assert_allclose(good.bounds["convex"][1:4], 2.0 / np.arange(1, 4), rtol=1e-6)
    bad = run(2.5, known)
    assert bad.broken["descent lemma"] == 1
    assert not bad.held
    false = run(0.5, {**known, "mu": 0.5, "dominated": 1.5}).broken
    assert false["descent lemma"] == -1
    assert false["strongly convex"] > 0
    assert false["domination itself"] >= 0
    # gradient dominated, and not convex
    waves = lambda w: w**2 + 3 * np.sin(w) ** 2
    assert not optimize.certificates.check_convex(waves, 0.0, radius=3.0)
    kept = optimize.minimize(
        waves, 2.5, method=GradientDescent(step_size=1 / 8), certify={"best": 0.0, "dominated": 0.35}
    )
    assert kept.certificate.held


def test_a_wrong_gradient_breaks_the_conditions_of_a_search() -> None:
    class Careless:
        """A search that takes any step, and says that it keeps Wolfe's conditions."""

        sufficient, curvature = 1e-4, 0.1

        def search(self, problem, line):
            from adjoint.optimize.searches.search import Found

            x = line.at(0.01 * line.first)
            return Found(0.01 * line.first, x, *problem.value_and_gradient(x), True)

    Careless.__name__ = "StrongWolfe"
    found = optimize.minimize(
        lambda x: np.sum(x**4), np.full(2, 3.0), method=optimize.BFGS(search=Careless()), certify=True, max_iterations=4
    )
    assert found.certificate.broken["Wolfe"] == 1
    assert found.certificate.broken["descent"] == -1


def test_a_slow_end_is_no_quadratic_rate() -> None:
    """x⁴ has no curvature at its minimum: Newton's method is linear there, with ratio 2/3."""
    slow = optimize.minimize(lambda x: x**4, 1.0, method="newton", certify=True, tol=1e-12)
    assert slow.certificate.broken["quadratic rate"] == slow.iterations
    quick = optimize.minimize(lambda x: np.cosh(x) + x**4, 1.0, method="newton", certify=True, tol=1e-12)
    assert quick.certificate.broken["quadratic rate"] == -1


def test_the_gap_of_frank_wolfe_is_no_bound_where_f_is_not_convex() -> None:
    target = np.array([0.2, 0.9, -0.3])
    run = lambda f, known=True: optimize.minimize(
        f, np.array([0.9, 0.05, 0.05]), subject_to=sets.simplex(), method="frank wolfe", certify=known
    )
    assert run(lambda w: np.sum((w - target) ** 2)).certificate.held
    # stationary at the first corner, and smaller at the last one
    wavy = run(lambda w: -np.sum((w - np.array([0.5, 0.3, 0.2])) ** 2), {"best": -0.98})
    assert wavy.certificate.broken["gap"] == 0


def test_a_method_without_promises_says_so() -> None:
    found = optimize.minimize(rosenbrock, START, method=optimize.HeavyBall(1e-3), certify=True, check="ignore")
    assert repr(found.certificate) == "Promises(HeavyBall: none is known)"


def test_compiled_and_in_batches() -> None:
    held = lambda x: optimize.minimize(rosenbrock, x, method="bfgs", certify=True).certificate.broken
    expected = held(START)
    stacked = np.stack([START, START + 1.0])
    for name, at in ad.jit(ad.vmap(held))(stacked).items():
        assert at[0] == expected[name]
    # numbers of the method that are traced, where x0 and all that is known of it is not
    bowl = lambda w: 0.05 * w[0] ** 2 + 0.5 * w[1] ** 2

    def descend(size):
        method = GradientDescent(step_size=size)
        found = optimize.minimize(bowl, np.ones(2), method=method, certify=True, max_iterations=9, check="ignore")
        return found.certificate.held, found.history["fun"]

    sizes = np.array([0.5, 2.5])
    held, values = ad.vmap(descend)(sizes)
    np.testing.assert_array_equal(held, [True, False])
    np.testing.assert_allclose(values, [descend(size)[1] for size in sizes], rtol=1e-12)
    found = optimize.minimize(rosenbrock, START, method=LBFGSB(search=StrongWolfe(curvature=0.1)), certify=True)
    assert "Wolfe: held" in repr(found.certificate)


def test_pictures_have_the_bounds_in_them() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    f = lambda w: 0.05 * w[0] ** 2 + 0.5 * w[1] ** 2
    found = optimize.minimize(f, np.ones(2), method=GradientDescent(step_size=1.0), certify={"best": 0.0, "mu": 0.1})
    labels = [line.get_label() for line in found.plot().get_lines()]
    assert {"fun", "bound: convex", "bound: strongly convex"} <= set(labels)


def test_bad_input() -> None:
    with pytest.raises(TypeError, match="certify is True, or a dictionary"):
        optimize.minimize(rosenbrock, START, certify={"beta": 1.0})
    with pytest.raises(ValueError, match="our own methods"):
        optimize.minimize(rosenbrock, START, method="nelder-mead", certify=True)
    rule = optimize.inequality(lambda x: x[0] - 0.5)
    with pytest.raises(ValueError, match="with constraints certify is True"):
        optimize.minimize(rosenbrock, START, subject_to=rule, certify={"mu": 1.0})

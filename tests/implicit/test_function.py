"""How a solution is called: arguments, structures, what solver and equation are given."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import implicit


def test_integer_arguments_have_no_derivative_but_count():
    x = implicit.root(lambda x, a, n: x**n - a, lambda a, n: float(a) ** (1 / n))
    assert_allclose(ad.grad(x)(8.0, 3), 1 / 12, rtol=1e-12)
    assert_allclose(ad.jit(ad.grad(x))(8.0, 3), 1 / 12, rtol=1e-12)
    index = implicit.root(lambda x, a, k: x - a[k], lambda a, k: a[k])
    assert_allclose(ad.grad(index)(np.array([1.0, 2.0, 3.0]), np.int64(1)), [0.0, 1.0, 0.0])


def test_python_integers_and_truth_values_may_steer_the_code():
    def F(x, a, order, negate):
        total = x
        for k in range(2, order + 1):
            total = total + x**k
        return -total + a if negate else total - a

    x = implicit.root(F, lambda a, order, negate: 1.0, check="raise")
    for f in (ad.grad(x), lambda *args: ad.jit(lambda a: ad.grad(x)(a, *args[1:]))(args[0])):
        assert_allclose(f(3.0, 3, True), 1 / 6, rtol=1e-12)


def test_keywords_and_strings():
    def F(x, a, *, power, name="cubic"):
        return x**3 - a if name == "cubic" else x**power - a

    x = implicit.root(F, lambda a, *, power, name="cubic": np.cbrt(a) if name == "cubic" else np.sqrt(a))
    assert_allclose(ad.grad(lambda a: x(a, power=2))(8.0), 1 / 12, rtol=1e-12)
    assert_allclose(ad.grad(lambda a: x(a, power=2, name="square"))(4.0), 1 / 4, rtol=1e-12)


def test_an_equation_of_another_structure_than_the_unknown():
    F = lambda x, a: np.stack([x["p"] + x["q"] - a, x["p"] - x["q"]])
    x = implicit.root(F, lambda a: {"p": a / 2, "q": a / 2})
    for mode in (ad.jacfwd, ad.jacrev):
        found = mode(x)(3.0)
        assert_allclose([found["p"], found["q"]], [0.5, 0.5], rtol=1e-14)


def test_mixed_precision_keeps_the_types_of_its_leaves():
    F = lambda x, a: {"s": x["s"] - np.float32(2) * a["s"], "d": x["d"] - a["d"] * 3.0}
    x = implicit.root(F, lambda a: {"s": np.float32(2) * a["s"], "d": a["d"] * 3.0})
    a = {"s": np.ones(2, np.float32), "d": np.ones(2)}
    gradient = ad.grad(lambda a: np.sum(x(a)["s"]) + np.sum(x(a)["d"]))(a)
    assert gradient["s"].dtype == np.float32
    assert gradient["d"].dtype == np.float64
    assert_allclose(gradient["s"], 2.0, rtol=1e-6)
    assert_allclose(gradient["d"], 3.0, rtol=1e-12)


def test_an_equation_that_does_not_depend_on_an_argument():
    x = implicit.root(lambda x, a, b: x - 2 * a, lambda a, b: 2 * a)
    assert ad.grad(x, argnums=1)(1.0, 5.0) == 0.0
    assert ad.jvp(lambda b: x(1.0, b), (5.0,), (1.0,))[1] == 0.0


def test_an_equation_that_writes_to_its_argument():
    def F(x, a):
        x = x.copy()
        x[0] = x[0] ** 3
        return x - a

    x = implicit.root(F, lambda a: np.array([np.cbrt(a[0]), a[1]]))
    assert_allclose(np.diagonal(ad.jacrev(x)(np.array([8.0, 1.0]))), [1 / 12, 1.0], rtol=1e-12)


def test_nested_solutions():
    inner = implicit.root(lambda y, x: y**3 + y - x, x0=0.5)
    outer = implicit.root(lambda x, a: x + inner(x) - a, x0=1.0)
    # x = y³ + y, so that y³ + 2 y = a: y' = 1 / (3 y² + 2), x' = (3 y² + 1) y'
    assert_allclose([outer(3.0), ad.grad(outer)(3.0)], [2.0, 4 / 5], rtol=1e-12)
    second = (ad.grad(outer)(3.0 + 1e-5) - ad.grad(outer)(3.0 - 1e-5)) / 2e-5
    assert_allclose(ad.grad(ad.grad(outer))(3.0), second, rtol=1e-7)
    assert_allclose(ad.jit(ad.grad(outer))(3.0), 4 / 5, rtol=1e-12)


def test_a_compiled_plain_solver_whose_result_is_known_by_x0_alone():
    asked = []

    def solver(x0, a):
        asked.append(float(a))
        return np.float64(float(a) ** (1 / 3))

    x = implicit.root(lambda x, a: x**3 - a, solver, x0=1.0)
    scanned = lambda a: ad.scan(lambda c, _: (x(c), None), a, None, length=2)[0]
    assert_allclose(ad.grad(scanned)(512.0), 512.0 ** (1 / 9 - 1) / 9, rtol=1e-10)
    assert 1.0 not in asked


def test_an_empty_batch_solves_nothing():
    x = implicit.root(lambda x, a: x**3 - a, lambda a: np.float64(float(a) ** (1 / 3)))
    assert ad.vmap(x)(np.zeros(0)).shape == (0,)
    assert ad.vmap(ad.grad(x))(np.zeros(0)).shape == (0,)


def test_solvers_that_return_another_structure_are_refused():
    x = implicit.root(lambda x, a: x, lambda x0, a: [x0["u"]], x0={"u": 1.0})
    with pytest.raises(ad.TreeError, match="x0 is"):
        x(1.0)


def test_errors_of_the_solver_are_its_own():
    def solver(a):
        raise ZeroDivisionError("no root here")

    x = implicit.root(lambda x, a: x - a, solver)
    for f in (x, ad.grad(x), ad.jit(x), lambda a: ad.vmap(x)(a * np.ones(2))):
        with pytest.raises(ZeroDivisionError, match="no root here"):
            f(1.0)


def test_solvers_that_found_nothing():
    with pytest.raises(ad.TreeError, match="returned None"):
        ad.grad(implicit.root(lambda x, a: x * x - a, lambda a: None))(2.0)
    lost = implicit.root(lambda x, a: x * x - a, lambda a: np.nan)
    for derive in (ad.grad(lost), ad.jit(ad.grad(lost))):
        with pytest.warns(implicit.DerivativeWarning, match="x is no solution"):
            assert np.isnan(derive(2.0))

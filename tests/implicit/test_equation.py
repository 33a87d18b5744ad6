"""How the linear equation is solved: methods, sparse matrices, memory, starts, threads."""

import threading
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import implicit


def chain(n):
    F = lambda x, a: a * x + x**3 - 0.3 * np.roll(x, 1) - 0.2 * np.roll(x, -1) - 1.0

    def solver(a):
        x = np.zeros(n)
        for _ in range(100):
            x = (1.0 + 0.3 * np.roll(x, 1) + 0.2 * np.roll(x, -1) - x**3) / a
        return x

    return F, solver


A = 3.0 + np.random.default_rng(0).uniform(size=12)
D = np.random.default_rng(1).normal(size=12)
F, SOLVER = chain(12)


def loss(**options):
    x = implicit.root(F, SOLVER, **options)
    return lambda a: np.sum(np.sin(x(a)))


METHODS = ["direct", "lu", "qr", "sparse", "gmres", "bicgstab", "lsmr", "least squares"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_same_derivatives(method):
    f, step = loss(linear=method), 1e-5
    value = lambda a: np.sum(np.sin(SOLVER(a)))
    assert_allclose(ad.grad(f)(A) @ D, (value(A + step * D) - value(A - step * D)) / (2 * step), rtol=1e-8)
    assert_allclose(ad.jvp(f, (A,), (D,))[1], ad.grad(f)(A) @ D, rtol=1e-9)
    assert_allclose(ad.jit(ad.grad(f))(A), ad.grad(f)(A), rtol=1e-8)
    assert_allclose(ad.vmap(ad.grad(f))(np.stack([A, A]))[1], ad.grad(f)(A), rtol=1e-8)
    second = ad.jvp(ad.grad(f), (A,), (D,))[1]
    assert_allclose(second, (ad.grad(f)(A + step * D) - ad.grad(f)(A - step * D)) / (2 * step), rtol=1e-6, atol=1e-9)


def test_a_sparse_equation_is_factored_once_for_all_cotangents(monkeypatch):
    import scipy.sparse.linalg as theirs

    factor, calls = theirs.splu, []
    monkeypatch.setattr(theirs, "splu", lambda *args, **options: calls.append(1) or factor(*args, **options))
    x = implicit.root(F, SOLVER, linear="sparse")
    _, pullback = ad.vjp(x, A)
    rows = np.stack([pullback(e)[0] for e in np.eye(12)])
    assert len(calls) == 1
    assert_allclose(rows, ad.jacrev(implicit.root(F, SOLVER, linear="direct"))(A), atol=1e-12)
    singular = implicit.root(lambda x, a: (x - a) ** 2, lambda a: a, linear="sparse")
    with pytest.raises(ad.SolveError, match="singular"):
        ad.grad(lambda a: np.sum(singular(a)))(np.ones(3))


def test_a_hundred_thousand_unknowns_and_parameters_take_little_memory():
    n = 100_000
    F, _ = chain(n)
    a = np.full(n, 3.5)
    x_star = chain(1)[1](np.full(1, 3.5))[0]  # all are equal where all parameters are
    x = implicit.root(F, lambda a: np.full(n, x_star))
    tracemalloc.start()
    gradient = ad.grad(lambda a: np.sum(x(a)))(a)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * 8 * n
    expected = -x_star / (3.5 + 3 * x_star**2 - 0.5)
    assert_allclose(gradient, expected, rtol=1e-8)


def test_warm_starts_spare_iterations_of_the_adjoint_solve():
    H = np.diag(np.arange(1.0, 31.0)) + 0.1
    f = lambda w, a: 0.5 * w @ (H @ w) - np.sum(w * np.exp(a))
    linear = implicit.WarmStarted("cg", tol=1e-10)
    w = implicit.argmin(f, lambda a: np.linalg.solve(H, np.full(30, np.exp(a))), linear=linear)
    gradient = ad.grad(lambda a: np.sum(w(a) ** 2))
    gradient(0.3)
    cold = linear.iterations
    gradient(0.3 + 1e-6)
    assert linear.iterations < cold - 8
    assert_allclose(gradient(0.3), 2 * np.sum(np.linalg.solve(H, np.full(30, np.exp(0.3))) ** 2), rtol=1e-8)


def test_an_iteration_that_does_not_converge_is_told_of():
    linear = lambda A, b: ad.linear.gmres(A, b, max_iterations=2)
    with pytest.warns(implicit.DerivativeWarning, match="was not solved"):
        ad.grad(loss(linear=linear))(A)
    with pytest.warns(implicit.DerivativeWarning, match="was not solved"):
        ad.jit(ad.grad(loss(linear=linear)))(A)


def test_badly_scaled_equations_are_not_singular():
    scales = np.array([1e-12, 1.0, 1e12])
    x = implicit.root(lambda x, a: scales * (x**3 - a), lambda a: np.cbrt(a), check="raise")
    assert_allclose(np.diagonal(ad.jacrev(x)(np.ones(3))), 1 / 3, rtol=1e-12)
    x = implicit.root(lambda x, a: (scales * x) ** 3 - a, lambda a: np.cbrt(a) / scales, check="raise")
    assert_allclose(np.diagonal(ad.jacrev(x)(np.ones(3))), 1 / 3 / scales, rtol=1e-12)


def test_singular_batch_elements_leave_the_others_alone():
    x = implicit.root(lambda x, a: x * (x - a), lambda a: a)
    for transformed in (ad.vmap(ad.grad(x)), ad.jit(ad.vmap(ad.grad(x)))):
        with pytest.warns(implicit.DerivativeWarning, match="singular"):
            found = transformed(np.array([1.0, 0.0, 2.0]))
        assert_allclose(found, [1.0, np.nan, 1.0])
    pair = implicit.root(lambda x, a: np.stack([x[0] - a, x[1] * a - a]), lambda a: np.stack([a, 1.0 + 0 * a]))
    with pytest.warns(implicit.DerivativeWarning, match="singular"):
        found = ad.jit(ad.vmap(ad.jacrev(pair)))(np.array([1.0, 0.0]))
    assert_allclose(found[0], [1.0, 0.0], atol=1e-12)
    assert np.isnan(found[1, 1])


def test_eight_threads():
    f = ad.grad(loss())
    expected, found = f(A), {}
    threads = [threading.Thread(target=lambda k=k: found.update({k: f(A)})) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for value in found.values():
        assert_allclose(value, expected, rtol=1e-14)

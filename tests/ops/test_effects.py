"""Effects: they happen under every transformation, in order, once for each lane that is alive; no derivative."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import CheckError
from adjoint.program.record import record_program
from adjoint.program.types import type_of

X = np.array([0.5, 1.5])
RUNS = {
    "plain": lambda f: f(X),
    "grad": lambda f: ad.grad(lambda x: np.sum(f(x)))(X),
    "vjp": lambda f: ad.vjp(f, X)[1](X),
    "jvp": lambda f: ad.jvp(f, (X,), (X,)),
    "linearize": lambda f: ad.linearize(f, X)[1](X),
    "jet": lambda f: ad.jet(f, (X,), ((X, X),)),
    "grad of grad": lambda f: ad.grad(lambda x: np.sum(ad.grad(lambda x: np.sum(f(x)))(x)))(X),
    "checkpoint": lambda f: ad.grad(lambda x: np.sum(ad.checkpoint(f)(x)))(X),
    "recorded": lambda f: record_program(lambda x: [f(x)], [type_of(X)])[0](X),
}


@pytest.mark.parametrize("run", RUNS)
def test_once_and_in_order_with_plain_values(run) -> None:
    seen = []

    def f(x):
        ad.debug.callback(lambda *a: seen.append(("first", *a)), x)
        y = np.sin(x)
        ad.debug.callback(lambda *a: seen.append(("second", *a)), y)
        return y

    RUNS[run](f)
    assert [s[0] for s in seen] == ["first", "second"]
    np.testing.assert_array_equal(seen[0][1], X)
    np.testing.assert_array_equal(seen[1][1], np.sin(X))
    assert all(type(s[1]) is np.ndarray for s in seen)


@pytest.mark.parametrize("run", RUNS)
def test_print(run, capsys) -> None:
    def f(x):
        ad.debug.print("sum {s:.2f} of {}", x.shape, s=np.sum(x))
        return x * 2.0

    RUNS[run](f)
    assert capsys.readouterr().out == "sum 2.00 of (2,)\n"


@pytest.mark.parametrize("run", RUNS)
def test_check(run) -> None:
    def safe(limit):
        def f(x):
            ad.check(x < limit, "x must stay below {}, not {}", limit, np.max(x))
            return x * 2.0

        return f

    RUNS[run](safe(2.0))
    with pytest.raises(CheckError, match=r"x must stay below 1\.0, not 1\.5.*test_effects\.py"):
        RUNS[run](safe(1.0))


def test_derivatives_are_left_alone() -> None:
    def f(x):
        ad.debug.callback(lambda x: None, x * x)
        ad.check(np.all(x > 0), "positive")
        return np.sum(np.sin(x))

    np.testing.assert_allclose(ad.grad(f)(X), np.cos(X))
    np.testing.assert_allclose(ad.jvp(f, (X,), (np.ones(2),))[1], np.sum(np.cos(X)))
    np.testing.assert_allclose(ad.hessian(f)(X), np.diag(-np.sin(X)))


def test_each_lane_by_itself() -> None:
    seen = []
    ad.vmap(lambda x: ad.debug.callback(lambda v: seen.append(float(v)), x) or x * 2)(np.array([1.0, 2.0, 3.0]))
    assert seen == [1.0, 2.0, 3.0]
    seen.clear()
    inner = lambda x, y: ad.debug.callback(lambda a, b: seen.append((float(a), float(b))), x, y) or x * y
    ad.vmap(lambda x: ad.vmap(lambda y: inner(x, y))(np.array([10.0, 20.0])))(np.array([1.0, 2.0]))
    assert sorted(seen) == [(1.0, 10.0), (1.0, 20.0), (2.0, 10.0), (2.0, 20.0)]


def test_lanes_that_fail_are_named() -> None:
    def f(x):
        ad.check(x > 0, "not positive: {}", x)
        return np.log(x)

    with pytest.raises(CheckError, match=r"not positive: -1\.0") as caught:
        ad.vmap(f)(np.array([1.0, -1.0, 2.0, -3.0]))
    assert "1" in str(caught.value)
    assert "3" in str(caught.value)


def test_lanes_that_take_different_branches_happen_once() -> None:
    seen = []

    def f(x):
        ad.debug.callback(lambda v: seen.append(float(v)), x)
        return np.sin(x) if x > 0 else x

    ad.vmap(f)(np.array([1.0, -1.0, 2.0]))
    assert sorted(seen) == [-1.0, 1.0, 2.0]


def test_in_loops_and_branches() -> None:
    seen = []
    note = lambda *v: seen.append(tuple(float(a) for a in v))

    def body(carry, x):
        ad.debug.callback(note, carry, x)
        return carry + x, carry

    ad.grad(lambda c: ad.scan(body, c, np.array([1.0, 2.0, 3.0]))[0])(0.5)
    assert seen == [(0.5, 1.0), (1.5, 2.0), (3.5, 3.0)]
    seen.clear()
    choose = lambda x: ad.cond(x > 0, lambda x: (ad.debug.callback(note, x), x * 2)[1], lambda x: x, x)
    choose(1.0)
    choose(-1.0)
    ad.vmap(choose)(np.array([2.0, -2.0, 3.0]))
    assert seen == [(1.0,), (2.0,), (3.0,)]
    seen.clear()
    ad.vmap(lambda n: ad.while_loop(lambda x: x < n, lambda x: (ad.debug.callback(note, x), x + 1.0)[1], 0.0))(
        np.array([1.0, 3.0])
    )
    assert sorted(seen) == [(0.0,), (0.0,), (1.0,), (2.0,)]


def test_checks_of_branches_not_taken_are_quiet() -> None:
    f = lambda x: ad.cond(x > 0, lambda x: (ad.check(x > 0, "positive"), np.log(x))[1], lambda x: x, x)
    np.testing.assert_allclose(ad.vmap(f)(np.array([1.0, -1.0])), [0.0, -1.0])
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(np.array([2.0, -1.0])), [0.5, 1.0])


def test_a_traced_program_expects_the_answers_that_it_was_traced_for() -> None:
    program = ad.trace(lambda x: np.sin(x) if x > 0 else x, concrete=True)(1.0)
    assert program(2.0) == np.sin(2.0)
    with pytest.raises(TypeError, match="another way"):
        program(-1.0)
    printed = str(program)
    assert "expect" in printed.lower()


def test_bad_arguments() -> None:
    with pytest.raises(TypeError, match="format string"):
        ad.debug.print(1.0)
    with pytest.raises(TypeError, match="function"):
        ad.debug.callback(1.0)
    with pytest.raises(TypeError, match="message"):
        ad.check(True, 3)

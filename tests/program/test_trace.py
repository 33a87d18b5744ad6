"""Traced values where they do not belong: after the end of their trace, in other threads, inside outer arrays."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import LeakError, TraceError
from adjoint.ops.elementwise.pointwise import BY_NAME
from adjoint.program.trace import Tracer, bind, live_trace

TRANSFORMATIONS = {
    "grad": lambda f, x: ad.grad(f)(x),
    "vjp": lambda f, x: ad.vjp(f, x),
    "linearize": lambda f, x: ad.linearize(f, x),
    "jvp": lambda f, x: ad.jvp(f, (x,), (np.ones_like(x),)),
    "jet": lambda f, x: ad.jet(f, (x,), ((np.ones_like(x),),)),
    "vmap": lambda f, x: ad.vmap(f)(np.stack([x, x])),
}
USES = {
    "operator": lambda t: t + 1.0,
    "reflected": lambda t: 2.0 * t,
    "ufunc": lambda t: np.sin(t),
    "function": lambda t: np.sum(t),
    "index": lambda t: t[0],
    "method": lambda t: t.sum(),
    "assignment": lambda t: t.__setitem__(0, 1.0),
    "in place": lambda t: t.__iadd__(1.0),
    "matrix product": lambda t: t @ np.ones(2),
    "reshape": lambda t: np.reshape(t, (2, 1)),
}


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("use", USES)
def test_a_leaked_value_raises_with_both_lines(transformation, use) -> None:
    leaked = []

    def f(x):
        leaked.append(np.exp(x))
        return np.sum(x)

    TRANSFORMATIONS[transformation](f, np.ones(2))  # the line where it began
    with pytest.raises(LeakError) as caught:
        USES[use](leaked[0])  # the line where it is used
    lines = re.findall(r"test_trace\.py:(\d+)", str(caught.value))
    assert len(set(lines)) == 2
    assert "has_aux" in str(caught.value)


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_a_leaked_value_inside_another_transformation(transformation) -> None:
    leaked = []
    TRANSFORMATIONS[transformation](lambda x: leaked.append(x) or np.sum(x), np.ones(2))
    with pytest.raises(LeakError):
        ad.grad(lambda x: np.sum(x * leaked[0]))(np.ones(2))
    with pytest.raises(LeakError):
        ad.vmap(lambda x: x * leaked[0])(np.ones((2, 2)))


def test_a_leaked_value_prints() -> None:
    """Looking at it in a debugger is no use of it."""
    leaked = []
    ad.grad(lambda x: leaked.append(x) or np.sum(x))(np.ones(2))
    assert "float64[2]" in repr(leaked[0])
    assert leaked[0].shape == (2,)


def test_leaked_after_an_exception() -> None:
    leaked = []

    def f(x):
        leaked.append(x)
        raise KeyError("stop")

    with pytest.raises(KeyError):
        ad.grad(f)(np.ones(2))
    assert live_trace() is None
    with pytest.raises(LeakError):
        leaked[0] * 2


def test_an_inner_value_used_in_the_outer_function() -> None:
    def outer(x):
        kept = []
        ad.grad(lambda y: kept.append(y * x) or y)(2.0)
        return kept[0] * x

    with pytest.raises(LeakError):
        ad.grad(outer)(1.0)


def test_an_inner_value_stored_in_an_outer_array() -> None:
    def outer(x):
        box = x * 1.0

        def inner(y):
            box[0] = y
            return y

        return ad.grad(inner)(2.0) * np.sum(box)

    for transformation in ("grad", "jvp", "jet", "vjp"):
        with pytest.raises(TraceError, match="inner transformation"):
            TRANSFORMATIONS[transformation](outer, np.ones(2))


def test_an_outer_value_stored_in_an_inner_array_is_fine() -> None:
    def outer(x):
        def inner(y):
            box = y * np.ones(2)
            box[0] = x
            return np.sum(box * y)

        return ad.grad(inner)(3.0)

    assert outer(2.0) == 2.0 + 2 * 3.0
    assert ad.grad(outer)(2.0) == 1.0


# ---- threads ----


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_a_thread_started_inside_raises_with_both_lines(transformation) -> None:
    problems = []

    def f(x):
        def work():
            try:
                np.sin(x)
            except LeakError as problem:
                problems.append(problem)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return np.sum(x)

    TRANSFORMATIONS[transformation](f, np.ones(2))
    assert len(problems) == 1
    assert "another thread" in str(problems[0])
    assert len(set(re.findall(r"test_trace\.py:(\d+)", str(problems[0])))) == 2


def test_a_pool_inside_the_function() -> None:
    with ThreadPoolExecutor(2) as pool, pytest.raises(LeakError, match="another thread"):
        ad.grad(lambda x: sum(pool.map(np.sin, [x, x])))(1.0)


def test_eight_threads_at_once() -> None:
    """Each thread nests its own transformations; all answers are right, and no trace is seen by another thread."""
    matrix = np.random.default_rng(0).normal(size=(6, 6))

    def loss(x, k):
        for _ in range(10):
            x = np.tanh(matrix @ x) + k
        return np.sum(x * x)

    def job(k):
        assert live_trace() is None
        x = np.linspace(0.0, 1.0, 6) + k
        results = []
        for _ in range(5):
            results.append(ad.grad(loss)(x, 0.1 * k))
            results.append(ad.jvp(ad.grad(loss), (x, 0.1 * k), (np.ones(6), 1.0))[1])
            results.append(ad.vmap(ad.grad(loss), in_axes=(0, None))(np.stack([x, x]), 0.1 * k)[1])
        return results

    expected = [job(k) for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(job, range(8)))
    for a, b in zip(found, expected, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


def test_a_thread_may_differentiate_inside_a_trace_of_another() -> None:
    """A thread started inside works on plain values of its own."""
    found = []

    def f(x):
        thread = threading.Thread(target=lambda: found.append(ad.grad(np.sin)(0.5)))
        thread.start()
        thread.join()
        return x * 2.0

    assert ad.grad(f)(1.0) == 2.0
    assert found == [np.cos(0.5)]


# ---- levels ----


def test_the_innermost_trace_acts_first() -> None:
    levels = []

    def f(x):
        levels.append(x._trace.level)

        def g(y):
            levels.append(y._trace.level)
            z = x * y
            assert z._trace is y._trace
            return z

        return ad.grad(g)(2.0)

    assert ad.grad(f)(3.0) == 1.0
    assert levels == [1, 2]
    assert live_trace() is None


def test_plain_values_pass_through() -> None:
    """No trace, no tracer: a primitive on plain values is its NumPy function."""
    z = bind(BY_NAME["sin"], np.ones(2))
    assert type(z) is np.ndarray
    assert not isinstance(ad.stop_gradient(1.0), Tracer)


def test_a_copy_belongs_to_the_innermost_loop_that_is_recorded() -> None:
    """The loop stands in a branch, whose program it is written into, and the array comes from outside of both."""

    def f(x: Any, t: Any) -> Any:
        def body(s: Any) -> Any:
            y = x.copy()
            y[1] = s
            return np.sum(y * y)

        return ad.cond(np.sum(x) > 0, lambda t: ad.map(body, t), lambda t: t, t)

    x, t = np.array([1.0, -2.0, 3.0]), np.array([0.5, 4.0])
    expected = 10.0 + t**2
    np.testing.assert_allclose(ad.jit(f)(x, t), expected)
    np.testing.assert_allclose(ad.jit(ad.vmap(f))(np.stack([x, -x]), np.stack([t, t])), [expected, t])
    np.testing.assert_allclose(ad.jit(ad.grad(lambda x, t: np.sum(f(x, t))))(x, t), [4.0, 0.0, 12.0])

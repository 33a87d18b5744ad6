"""Kernels: how they are called and fail, many at once, made again and again."""

import gc
import threading

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.compile.expand import expand_program
from adjoint.compile.kernel import compile_program
from adjoint.compile.lower import LoweredCode
from adjoint.compile.machine import parse_verified
from adjoint.ops.arrays.cumulative import CumSum
from adjoint.ops.arrays.rearrange import Transpose
from adjoint.ops.arrays.reduce import Sum
from adjoint.ops.elementwise.select import Select
from adjoint.program.program import interpret
from adjoint.scipy import linalg
from tests.compile.test_machine import resident
from tests.random_programs.agreement import traced
from tests.random_programs.functions import random_function
from tests.simplify.programs import program_of

X = np.random.default_rng(2).normal(size=(6, 5))


def kernel_of(f, *args):
    return compile_program(program_of(f, *args)[0])


def test_arguments_of_any_layout_are_taken() -> None:
    kernel = kernel_of(lambda x, c: [np.sin(x) * c, c], X, 2.0)
    for x in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1][::-1]):
        actual, number = kernel.run([x, 2.0])
        np.testing.assert_allclose(actual, np.sin(X) * 2.0, rtol=1e-14)
        assert number == 2.0
        assert isinstance(number, np.float64)
    assert kernel.notes["callbacks"] == []
    assert kernel.workspace >= 0
    assert not kernel.heavy


def test_which_kernels_may_call_python() -> None:
    """Operations left to NumPy, and loops that may be long: they look for signals."""
    assert not kernel_of(lambda x: np.sin(x) + 1.0, X).calls_back
    assert kernel_of(lambda x: linalg.logm(x), X @ X.T).calls_back
    assert kernel_of(lambda x: ad.while_loop(lambda c: c[0, 0] < 9.0, lambda c: c + 1.0, x), X).calls_back


def test_an_index_out_of_bounds_is_named_with_its_axis_and_line() -> None:
    kernel = kernel_of(lambda x, i: np.exp(x)[:, i] + 1.0, X, np.array([0, 1, 2]))
    for bad in (5, -6, 2**40):
        with pytest.raises(IndexError, match=rf"index {bad} is out of bounds for an axis of size 5.*test_kernel"):
            kernel.run([X, np.array([4, bad, -5])])
    np.testing.assert_allclose(kernel.run([X, np.array([4, 0, -5])])[0], np.exp(X)[:, [4, 0, 0]] + 1.0)


def test_a_status_without_details_is_still_an_exception() -> None:
    kernel = kernel_of(lambda x: x + 1.0, X)
    assert isinstance(kernel.failure(-1), KeyboardInterrupt)
    assert isinstance(kernel.failure(-2), IndexError)
    assert isinstance(kernel.failure(-4), MemoryError)
    assert isinstance(kernel.failure(-99), RuntimeError)


def test_constants_of_loops_and_branches_are_found() -> None:
    w = np.arange(5.0)

    def f(x):
        return ad.scan(lambda c, r: (ad.cond(np.sum(r) > 0, lambda: c + w, lambda: c - w * r), c @ w), x[0], x)

    program, flat = program_of(f, X)
    for actual, expected in zip(compile_program(program).run(flat), interpret(program, flat), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_the_text_of_random_programs_is_well_formed() -> None:
    for seed in range(100, 112):
        f = random_function(seed)
        program = traced(f, f.values(0))
        if program is not None:
            parse_verified(LoweredCode(expand_program(program)).text)


def together(run, count=8):
    """Run a function in several threads at once; what they raised."""
    barrier, problems = threading.Barrier(count), []

    def work(number):
        barrier.wait()
        try:
            run(number)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return problems


def test_threads_compile_and_call_at_once() -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(4 + k % 3, 7)) for k in range(8)]

    def run(k):
        x = inputs[k]
        f = lambda x: [np.tanh(x * (k % 4)) @ x.T, np.sort(x, axis=0), np.cumsum(x, axis=1), x[np.argmax(x, axis=0)]]
        for _ in range(2):
            for actual, expected in zip(kernel_of(f, x).run([x]), f(x), strict=True):
                np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)

    assert together(run) == []
    run(0)
    run(1)  # LLVM keeps nothing that refers to the stacks of threads that are gone


def test_each_thread_gets_its_own_failure() -> None:
    """One kernel, called by all: the index that is named is the caller's own, and so is the exception of NumPy."""
    x = np.arange(100.0)
    kernel = kernel_of(lambda x, i: np.sin(x)[i], x, np.array([1, 2]))

    class Mine(Exception):
        pass

    def callback(x):
        raise Mine(int(x[0]))

    other = kernel_of(lambda x: ad.debug.callback(callback, x) or x * 2.0, x)

    def run(k):
        for iteration in range(30):
            bad = 1000 * (k + 1) + iteration
            with pytest.raises(IndexError, match=f"index {bad} is out of bounds"):
                kernel.run([x, np.array([1, bad])])
            with pytest.raises(Exception, match=str(bad)):
                other.run([x + bad])

    assert together(run) == []


@pytest.mark.skipif(not resident(), reason="the system does not tell how much memory is in use")
def test_memory_is_freed() -> None:
    """Programs that nobody holds any more leave nothing behind but what is remembered of a few hundred families."""
    x = np.ones(7)

    def make(k):
        program, _ = program_of(lambda x: np.sin(x * float(k))[::-1] + np.sum(x), x)
        compile_program(program).run([x])

    with config.override(cache=False):
        for k in range(20):
            make(k)
        gc.collect()
        before = resident()
        for k in range(60):
            make(k + 0.5)
        gc.collect()
    assert resident() - before < 8_000_000


class Opposite(Select):
    """y where the condition holds, else x."""

    def evaluate(self, *xs):
        x, y, c = xs
        return np.where(c, y, x)


class Mean(Sum):
    def evaluate(self, *xs):
        return np.mean(xs[0], axis=self.axes)


class Downwards(CumSum):
    def evaluate(self, *xs):
        return -np.cumsum(xs[0], self.axis)


class Backwards(Transpose):
    def evaluate(self, *xs):
        return np.transpose(xs[0], self.axes)[::-1]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: Opposite()(x, -x, x > 0),
        lambda x: Mean((0,))(x),
        lambda x: Downwards(1)(x),
        lambda x: Backwards((1, 0))(x) * 2.0,
    ],
    ids=["element", "reduction", "lowering", "view"],
)
def test_a_primitive_that_evaluates_otherwise_does_not_inherit_machine_code(function) -> None:
    x = np.random.default_rng(3).normal(size=(4, 5))
    np.testing.assert_array_equal(kernel_of(function, x).run([x])[0], function(x))

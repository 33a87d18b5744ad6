"""Loops as machine code: rows of loops whose number of iterations is known only when they run."""

import signal
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.checkpointing.unwritten import Undefined
from tests.random_programs.running import agrees


def grow(x: Any) -> Any:
    """Multiplies until it is large: more iterations for smaller x."""
    return ad.while_loop(lambda c: np.sum(c * c) < 300.0, lambda c: 1.5 * c + 0.1 * np.sin(x) * x, x)


def in_a_branch(x: Any) -> Any:
    return np.sum(ad.cond(np.sum(x) > 0, grow, lambda x: x * x * x, x))


def in_a_loop(x: Any) -> Any:
    """Each iteration of the outer loop takes another number of iterations inside."""
    return np.sum(ad.scan(lambda c, k: (grow(np.tanh(c) * k), np.sum(c)), x, np.array([0.3, 2.0, 0.1, 1.0]))[1])


def in_a_while_loop(x: Any) -> Any:
    return np.sum(
        ad.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, grow(np.tanh(c[1] / 20) / (1 + c[0]))), (0, x))[1]
    )


def second_derivatives(f: Any) -> Any:
    """Reverse over reverse: the rows of the loop back are kept as well."""
    return lambda x: ad.vjp(ad.grad(f), x)[1](np.linspace(1.0, 2.0, x.size))[0]


@pytest.mark.parametrize("function", [in_a_branch, in_a_loop, in_a_while_loop])
@pytest.mark.parametrize("transformed", [ad.grad, second_derivatives, ad.hessian])
def test_rows_of_while_loops(function: Any, transformed: Any) -> None:
    g = transformed(function)
    compiled = ad.jit(g)
    for x in (np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 0.5]), np.array([-1.0, 0.25, 0.5])):
        want = g(x)
        np.testing.assert_allclose(compiled(x), want, rtol=1e-9, atol=1e-9 * np.max(np.abs(want)))
    assert {one.how for one in compiled.report().specializations} == {"compiled"}


X = np.linspace(-1.0, 1.0, 150).reshape(3, 50)

CARRIES = {
    "in place": lambda c, r: c * 0.5 + r,
    "backwards": lambda c, r: c[::-1] * 0.5 + r,
    "in part": lambda c, r: np.concatenate([c[1:], r[:1]]),
    "as it is": lambda c, r: c,
    "what was walked along": lambda c, r: r * 1.0,
    "written to": lambda c, r: _written(c, r),
    "with a sum of itself": lambda c, r: c / (1.0 + np.sum(c * c)) + r,
    "sorted": lambda c, r: np.sort(c + r),
}


def _written(c: Any, r: Any) -> Any:
    c = c.copy()
    c[3:5] = r[3:5] + c[0]
    c[0] = c[-1]
    return c


@pytest.mark.parametrize("n", [2, 50])
@pytest.mark.parametrize("step", CARRIES.values(), ids=CARRIES)
def test_carries_in_registers_in_place_and_between_two_buffers(step: Any, n: int) -> None:
    """All at once: two carries that exchange their values, ys, forwards and backwards."""
    x = np.ascontiguousarray(X[:, :n])

    def f(x: Any) -> Any:
        def iteration(carry: Any, row: Any) -> Any:
            c, d = carry
            return (step(c, row), c - d), (c, d[0])

        return [ad.scan(iteration, (x[0], x[1]), x, reverse=r) for r in (False, True)]

    agrees(f, x)


def test_nested_loops_branches_and_no_iterations() -> None:
    def f(x: Any) -> Any:
        inner = lambda c, k: ad.fori_loop(0, 3, lambda i, c: np.where(c > i, c * 0.5, c + k), c)
        outer = ad.scan(lambda c, r: (ad.switch(np.argmax(r), [inner, np.maximum, np.add], c, r[0]), c), x[0], x)
        none = ad.scan(lambda c, r: (c + r, r), x[0], x[:0])
        return [outer, none, ad.while_loop(lambda c: np.sum(c) > 1e9, lambda c: c * 2.0, x)]

    agrees(f, X)
    agrees(f, X[:, :3])


def test_rows_of_a_while_loop_grow() -> None:
    """More iterations than there is memory for at first, twice."""

    def f(x: Any) -> Any:
        return np.sum(ad.while_loop(lambda c: c[0] < 300, lambda c: (c[0] + 1, np.sin(c[1]) + 0.01), (0, x))[1])

    agrees(ad.value_and_grad(f), X[0, :4])


@pytest.mark.parametrize("rows", [36, 37, 100])
def test_what_nobody_has_written_stands_somewhere_before_its_readers_loop(rows: int) -> None:
    """A vector loop and the rest behind it read the same memory."""
    nothing = Undefined((2, 3, rows), np.dtype(np.float32))

    def f(taken: Any, x: Any) -> Any:
        return np.where(taken[:, None, None], np.sin(x), nothing(taken))

    agrees(f, np.ones(2, bool), np.linspace(0, 1, 6 * rows, dtype=np.float32).reshape(2, 3, rows), rounding=1e-6)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals by a clock")
@pytest.mark.parametrize("through_numpy", [False, True])
def test_ctrl_c_ends_a_long_loop(through_numpy: bool) -> None:
    class Late(Exception):
        pass

    def raised(*_: Any) -> None:
        raise Late

    body = (lambda c: np.abs(np.fft.fft(c)) / 9.0) if through_numpy else (lambda c: c + np.sin(c) * 1e-9 + 1e-9)
    compiled = ad.jit(lambda x: ad.while_loop(lambda c: c[0] < 1e15, body, x))
    compiled(np.full(3, 1e16))
    before = signal.signal(signal.SIGALRM, raised)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Late):
            compiled(np.zeros(3))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(compiled(np.full(3, 1e16)), 1e16)

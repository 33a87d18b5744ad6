"""Batches of loops and branches in compiled programs: each element, or a few together, stops by itself."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.api.control_flow.loops import try_until
from adjoint.ops.control.batch_elements import (
    block_width,
    has_loops_over_elements,
    is_dear,
    loops_over_elements,
    note_blocks,
    noted_blocks,
    wide_block,
)
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.program.program import Program
from adjoint.program.subprograms import all_equations
from adjoint.program.types import ArrayType, Size

FLOAT = np.dtype(float)


def root(x: Any) -> Any:
    """√x by Newton's method, from far above: many iterations for small x."""
    return ad.while_loop(lambda s: s * s - x > 1e-10 * x, lambda s: 0.5 * (s + x / s), 1.0 + 4.0 * x)


def traced(f: Any, *args: Any) -> Program:
    return ad.trace(f)(*args).program


@pytest.mark.parametrize("count", [0, 1, 3, 8, 25, 53, 1000])
def test_a_batch_of_any_size_has_the_roots_and_their_derivatives(count: int) -> None:
    """√x, 1 / (2 √x) and - 1 / (4 x √x): divisors of the size or none, blocks of one size or each by itself."""
    x = np.random.default_rng(count).uniform(0.01, 8.9, count)
    np.testing.assert_allclose(ad.jit(ad.vmap(root))(x), np.sqrt(x), rtol=1e-9)
    np.testing.assert_allclose(ad.jit(ad.vmap(ad.grad(root)))(x), 0.5 / np.sqrt(x), rtol=1e-4)
    of_sum = ad.jit(ad.grad(lambda x: np.sum(ad.vmap(root)(x))))
    np.testing.assert_allclose(of_sum(x), 0.5 / np.sqrt(x), rtol=1e-4)


def test_what_is_compiled_has_loops_over_blocks_and_what_is_not_has_none() -> None:
    x = np.linspace(1.0, 8.0, 48)
    lengths = lambda program: [eq.op.length for eq in all_equations(program) if isinstance(eq.op, Scan)]
    assert not has_loops_over_elements()
    assert lengths(traced(ad.vmap(root), x)) == []
    with loops_over_elements():
        assert has_loops_over_elements()
        assert lengths(traced(ad.vmap(root), x)) == [6]  # of 8 elements
    assert not has_loops_over_elements()


def test_a_loop_goes_through_blocks() -> None:
    """Two blocks, one of which is done after two iterations."""

    def count(n: Any) -> Any:
        return ad.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1.0, s[1] + np.sin(s[1])), (0.0 * n, n))[0]

    n = np.repeat([2.0, 30.0], 8)
    with loops_over_elements():
        program = traced(ad.vmap(count), n)
    (loop,) = [eq.op for eq in program.equations if isinstance(eq.op, Scan)]
    inside = next(eq.op.programs().values() for eq in loop.body.equations if eq.op.title == "while")
    assert [p.input_types[-1].shape for p in inside] == [(8,), (8,)]
    np.testing.assert_array_equal(ad.jit(ad.vmap(count))(n), n)


def test_effects_keep_the_order_of_iterations(capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed is printed iteration by iteration, as without compiling."""

    def f(x: Any) -> Any:
        def body(s: Any) -> Any:
            ad.debug.print("{}", s)
            return s / 2

        return ad.while_loop(lambda s: s > 1.0, body, x)

    x = np.array([3.0, 9.0])
    want = ad.vmap(f)(x)
    printed = capsys.readouterr().out
    np.testing.assert_array_equal(ad.jit(ad.vmap(f))(x), want)
    assert capsys.readouterr().out == printed != ""


def test_blocks_are_noted_by_batch() -> None:
    size, other = Size.fresh(), Size.fresh()
    with loops_over_elements():
        note_blocks([ArrayType((3, size), FLOAT)], 7, 4)
        with loops_over_elements():  # the same notes
            note_blocks([ArrayType((size,), FLOAT)], 8, 2)
        assert noted_blocks([ArrayType((6, size), FLOAT)], 7) == 4
        assert noted_blocks([ArrayType((size,), FLOAT), ArrayType((other,), FLOAT)], 8) == 2
        assert noted_blocks([ArrayType((other,), FLOAT)], 7) is None
        assert noted_blocks([ArrayType((size,), FLOAT)], 9) is None
    assert noted_blocks([ArrayType((size,), FLOAT)], 7) is None


@pytest.mark.parametrize(
    "size, numbers, width",
    [(1000, 1, 8), (42, 1, 7), (53, 1, 1), (5, 1, 5), (64, 8, 8), (64, 16, 4), (64, 100, 1), (0, 1, 1)],
)
def test_width_of_blocks(size: int, numbers: int, width: int) -> None:
    body = traced(lambda x: x * 2, 1.0)
    assert block_width(body, [ArrayType((numbers,), FLOAT)], size) == width


def test_loops_with_loops_inside_go_element_by_element() -> None:
    assert block_width(traced(root, 2.0), [ArrayType((), FLOAT)], 48) == 1


def test_loops_around_attempts_go_in_blocks() -> None:
    """A step is halved until it is small enough, which differs from element to element: as each by itself."""

    def walk(x: Any, p: Any) -> Any:
        def step(s: Any) -> Any:
            t, y = s
            tried = lambda h: np.abs(h * np.cos(3 * t) * p)
            h = try_until(lambda h: tried(h) > 0.1, lambda h: h / 2, 0.6 + 0 * t)
            return t + h, y + h * np.sin(p * t)

        return ad.while_loop(lambda s: s[0] < x, step, (0 * x, p))[1]

    xs, ps = np.random.default_rng(0).uniform(0.3, 4.0, (2, 24))
    assert any(eq.op.once for eq in all_equations(traced(walk, 1.0, 1.0)) if isinstance(eq.op, While))
    for f in (walk, ad.grad(walk, 1)):
        found = ad.jit(ad.vmap(f))(xs, ps)
        np.testing.assert_allclose(found, [f(x, p) for x, p in zip(xs, ps, strict=True)], rtol=1e-13)
    (loop,) = [eq.op for eq in ad.jit(ad.vmap(walk)).lower(xs, ps).program.equations if isinstance(eq.op, Scan)]
    assert loop.length == 3  # blocks of eight


def test_first_attempts_are_made_together() -> None:
    """None, one, or several attempts; those after the first are in a loop that is skipped where nobody needs it."""
    halved = lambda x: try_until(lambda h: h > 0.5, lambda h: h / 2, x)
    xs = np.array([[0.3, 0.7, 5.0], [40.0, 0.1, 1.0]])
    found = ad.jit(ad.vmap(ad.vmap(halved)))(xs)
    np.testing.assert_array_equal(found, [[halved(x) for x in row] for row in xs])
    program = ad.jit(ad.vmap(halved)).lower(xs[0]).program
    assert [type(eq.op) for eq in program.equations if eq.op.programs()] == [Cond]
    np.testing.assert_array_equal(ad.jit(ad.vmap(ad.grad(halved)))(xs[0]), [ad.grad(halved)(x) for x in xs[0]])


def test_what_a_dear_branch_is() -> None:
    x = np.ones(100)
    assert not is_dear(traced(lambda x: x * x + np.sin(x), 1.0))
    assert not is_dear(traced(lambda x: x[::-1], x))
    assert is_dear(traced(root, 2.0))  # it may not end where it is not taken
    assert is_dear(traced(lambda x: np.sin(x) + x * np.outer(x, x), x))
    assert is_dear(traced(lambda x: ad.scan(lambda c, t: (np.sin(c) * t, None), x, np.arange(10.0))[0], x))


def test_only_the_side_that_is_taken_is_computed() -> None:
    """The loop would never end for the other elements."""

    def f(x: Any) -> Any:
        halve = lambda x: ad.while_loop(lambda s: s != 0.0, lambda s: s / 2, x)
        return ad.cond(np.isfinite(x), lambda x: halve(x) + x, lambda x: 0.0 * x + 1.0, x)

    x = np.array([1.0, np.inf, -3.0, np.nan])
    compiled = ad.jit(ad.vmap(f))
    np.testing.assert_array_equal(compiled(x), [1.0, np.nan, -3.0, np.nan])
    with loops_over_elements():
        program = traced(ad.vmap(f), x)
    (loop,) = [eq.op for eq in program.equations if isinstance(eq.op, Scan)]
    assert any(isinstance(eq.op, Cond) for eq in loop.body.equations)


RATES = np.random.default_rng(3).uniform(0.1, 0.8, size=2400)
ROWS = np.random.default_rng(4).normal(size=(2400, 30))
MIXING = np.array([[0.2, -0.3, 0.1], [0.4, 0.1, 0.0], [-0.1, 0.2, 0.3]])


def of_vectors(p: Any) -> Any:
    """A carry of three numbers, from the same start for all; the rows are those of all elements."""
    c, ys = ad.scan(lambda c, t: (np.tanh(MIXING @ c) + p * t, np.sum(c)), np.ones(3), ROWS[0])
    return np.sum(c) + np.sum(ys**2)


def of_loops(p: Any) -> Any:
    """A loop in every iteration."""
    inner = lambda c: ad.scan(lambda d, s: (np.cos(d) * p + s, None), c, ROWS[1][:5])[0]
    return np.sum(ad.scan(lambda c, t: (inner(c), c * t), p, ROWS[0])[1])


def of_conditions(p: Any) -> Any:
    """A loop that stops by itself in every iteration."""
    root = lambda c: ad.while_loop(lambda z: z < 1.0 + np.tanh(c) ** 2, lambda z: z * 1.5 + 0.1 * p, 0.2 * p)
    return ad.scan(lambda c, t: (c * 0.5 + root(c), None), p, ROWS[0])[0]


@pytest.mark.parametrize("function", [of_vectors, of_loops, of_conditions])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_large_batches_of_counted_loops_go_in_wide_blocks(function: Any, order: int) -> None:
    for _ in range(order):
        function = ad.grad(function)
    batched = ad.vmap(function)
    compiled = ad.jit(batched)
    np.testing.assert_allclose(compiled(RATES), batched(RATES), rtol=1e-9, atol=1e-9)
    assert any(step.startswith("loop of") for step in compiled.report().specializations[0].threads)


def test_rows_in_reverse_order() -> None:
    function = ad.vmap(lambda p, x: ad.scan(lambda c, t: (np.sin(c) * p + t, c * t), 0.0, x, reverse=True))
    for got, expected in zip(ad.jit(function)(RATES, ROWS), function(RATES, ROWS), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_how_many_go_together() -> None:
    silent = ad.trace(lambda c, t: c + t)(1.0, 1.0).program
    loud = ad.trace(lambda c, t: (ad.debug.callback(print, c), c + t)[1])(1.0, 1.0).program
    assert wide_block(silent, 10_000, 100) == 1000
    assert wide_block(silent, 10_007, 100) is None  # a prime
    assert wide_block(silent, 1000, 10) is None  # too little
    assert wide_block(loud, 10_000, 100) is None  # what it does is done for all elements together


def counted(x):
    """Goes round as often as x says: one element of a block may go on alone for long."""
    return ad.while_loop(lambda s: s[0] < x, lambda s: (s[0] + 1.0, s[1] + np.sin(s[1] + x) * 0.1), (0.0, 0.0))[1]


UNEVEN = np.where(np.arange(24) % 8 == 3, 40.0, 2.0) + np.linspace(0.0, 0.4, 24)


@pytest.mark.parametrize("xs", [UNEVEN, UNEVEN[:16], UNEVEN[::-1], np.zeros(8), UNEVEN[3:4], UNEVEN[:11]], ids=len)
def test_the_last_element_of_a_block_goes_on_alone(xs) -> None:
    def forms(mapped):
        total = lambda xs: np.sum(np.cos(mapped(xs)))
        yield mapped
        yield ad.grad(total)
        yield lambda xs: ad.jvp(mapped, (xs,), (np.cos(xs),))[1]
        yield lambda xs: ad.jvp(ad.grad(total), (xs,), (np.sin(xs),))[1]

    one_by_one = lambda xs: ad.map(counted, xs)
    for batched, single in zip(forms(ad.vmap(counted)), forms(one_by_one), strict=True):
        np.testing.assert_allclose(ad.jit(batched)(xs), single(xs), rtol=1e-10, atol=1e-12)


def test_a_block_is_left_when_one_element_goes_on() -> None:
    """The loop of a block asks for two that go on, and a loop of one element stands behind it."""
    with loops_over_elements():
        program = ad.trace(ad.vmap(counted))(UNEVEN).program
    (blocks,) = [eq.op for eq in program.equations if eq.op.title == "scan"]
    loops = [eq.op for eq in blocks.body.equations if eq.op.title == "while"]
    assert [loop.body.outputs[0].type.shape for loop in loops] == [(8,), ()]
    assert any(eq.op.title in ("greater_equal", "sum", "count_nonzero") for eq in loops[0].condition.equations)

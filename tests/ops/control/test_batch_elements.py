"""Batches of loops and branches in compiled programs: each element, or a few together, stops by itself."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.control.batch_elements import (
    block_width,
    has_loops_over_elements,
    is_dear,
    loops_over_elements,
    note_blocks,
    noted_blocks,
)
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.scan import Scan
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
    inside = loop.body.equations[-1].op.programs().values()
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

"""Cotangents of elements that loops read: only the elements are touched, whatever the length of the array."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile.emit import _is_strided  # pyright: ignore[reportPrivateUsage]
from adjoint.compile.overwriting import overwritten, updates_in_place
from adjoint.compile.plan import Plan, Single
from adjoint.ops.control.batch_elements import loops_over_elements
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.program.check import check
from adjoint.program.program import Atom, Program
from adjoint.program.subprograms import all_programs
from adjoint.simplify import simplify
from adjoint.simplify.finish import finish
from adjoint.simplify.loops.sums_in_place import add_in_place
from tests.simplify.loops.indexing_loops import BATCH, LOOPS, element, nested, scan
from tests.simplify.programs import program_of, same_results
from tests.support.sweeps import sampled

X = np.random.default_rng(0).uniform(0.1, 1.0, 100)
V = np.cos(np.arange(100.0))


def tangent(f: Any) -> Any:
    return lambda x: ad.jvp(f, (x,), (np.cos(np.arange(x.size)),))[1]


def pulled_twice(f: Any) -> Any:
    return ad.grad(lambda x: np.vdot(ad.grad(f)(x), np.cos(np.arange(x.size))))


MODES = {"gradient": ad.grad, "tangent": tangent, "tangent of gradient": lambda f: tangent(ad.grad(f))}
MODES["gradient of gradient"] = pulled_twice


def final(f: Callable[..., Any], *args: Any) -> tuple[Program, Program]:
    """The program before sums are in place, and the one that is compiled."""
    with loops_over_elements():  # as where programs are compiled
        program, arguments = program_of(f, *args)
    before = simplify(program)
    same_results(before, check(add_in_place(before)), arguments)
    return before, check(finish(before))


def loops_inside(program: Program) -> Iterator[Any]:
    for p in all_programs(program):
        yield from [eq.op for eq in p.equations if isinstance(eq.op, Scan | While)]


def copies(program: Program, size: int) -> list[str]:
    """What an iteration of some loop computes or copies as a whole: results of at least so many elements."""
    found: list[str] = []
    for loop in loops_inside(program):
        if getattr(loop, "length", None) == len(BATCH):
            continue  # over the elements of a batch, each with an array of its own
        for p in all_programs(loop.body):
            is_body = p is loop.body
            plan = Plan(p, _is_strided, () if is_body else [k for k, a in enumerate(p.outputs) if a in p.inputs])
            for k in range(loop.carries if is_body else 0):
                if _elements(p.outputs[k]) >= size and not updates_in_place(plan, loop.constants + k, k):
                    found.append(f"carry {k} of {loop}")
            for step in plan.steps:
                stacked = len(step.outputs)
                if isinstance(step, Single) and isinstance(step.equation.op, Scan | While):
                    stacked = step.equation.op.carries  # from here on rows are put side by side, each once
                large = [v for v in step.outputs[:stacked] if _elements(v) >= size]
                found += [step.title for v in large if overwritten(plan, v) is None]
    return found


def _elements(atom: Atom) -> int:
    shape: Any = atom.type.shape
    return math.prod(shape) if all(isinstance(n, int) for n in shape) else 0


@pytest.mark.parametrize(
    "f, mode", sampled([(f, mode) for f in LOOPS for mode in MODES], every=3), ids=lambda v: getattr(v, "__name__", v)
)
def test_no_iteration_touches_a_whole_array(f: Any, mode: str) -> None:
    _, after = final(MODES[mode](f), X)
    assert copies(after, 81) == []
    eager = MODES[mode](f)(X)
    np.testing.assert_allclose(ad.jit(MODES[mode](f))(X), eager, rtol=1e-9, atol=1e-9 * np.max(np.abs(eager)))


def test_the_check_finds_whole_arrays() -> None:
    """The gradient as it is recorded adds arrays of zeros; an array that changes as a whole is found as well."""
    before, _ = final(ad.grad(element), X)
    assert copies(before, 81)
    _, after = final(ad.grad(lambda x: np.sum(scan(lambda c, i: np.sin(c[::-1]) * x[i], x, x.size))), X)
    assert copies(after, 81)


@pytest.mark.parametrize("f", [element, nested], ids=lambda f: f.__name__)
def test_gradients_are_those_of_differences(f: Any) -> None:
    h = 1e-6
    steps = [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(X.size)[::9]]
    np.testing.assert_allclose(ad.jit(ad.grad(f))(X)[::9], steps, rtol=1e-5, atol=1e-6)


def test_an_array_that_is_read_afterwards_is_not_written_over() -> None:
    """The old values of what an iteration writes are used behind the writing: as a whole, and element by element."""

    def whole(x: Any) -> Any:
        def body(z: Any, i: Any) -> Any:
            new = z.copy()
            new[i] = np.sum(z) * 0.1
            return new * 0.5 + z[::-1] * 0.1

        return np.sum(scan(body, x, 40) ** 2)

    def swapped(x: Any) -> Any:
        def body(s: Any, i: Any) -> Any:
            a, b = s
            new = a.copy()
            new[i] = b[i - 1]
            return b, new

        a, b = scan(body, (x, np.sin(x)), 40)
        return np.sum(a * np.cos(b))

    def late(x: Any) -> Any:
        def body(z: Any, i: Any) -> Any:
            old = z[i]
            new = z.copy()
            new[i] = z[i - 1] * 0.5
            new[i - 1] = old + new[i] * x[i]
            return new

        return np.sum(scan(body, x, 40) ** 3)

    def shifted(x: Any) -> Any:
        def body(z: Any, i: Any) -> Any:
            new = z.copy()
            new[1:] = z[:-1]
            new[0] = x[i] * z[-1]
            return new

        return np.sum(scan(body, x, 40) ** 3)

    def plain(f: Any, x: Any) -> Any:
        h = 1e-6
        return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])

    x = X[:40]
    for f in (whole, swapped, late, shifted):
        np.testing.assert_allclose(ad.jit(f)(x), f(x), rtol=1e-12)
        np.testing.assert_allclose(ad.jit(ad.grad(f))(x), plain(f, x), rtol=1e-5, atol=1e-6)


def _added(array: Any, i: Any, value: Any) -> Any:
    array = array.copy()
    np.add.at(array, i, value)
    return array


MADE_TOGETHER = {
    "branch": lambda a, b, i, x: ad.cond(
        x[i] > 0, lambda a, b: (_added(a, i, x[i]), _added(b, i - 1, 2.0)), lambda a, b: (a, b), a, b
    ),
    "loop": lambda a, b, i, x: scan(lambda s, j: (_added(s[0], j, x[i]), _added(s[1], i, x[j])), (a, b), 5),
    "crossed": lambda a, b, i, x: scan(lambda s, j: (_added(s[1], j, x[i]), _added(s[0], i, x[j])), (a, b), 5),
    "apart": lambda a, b, i, x: (_added(a, i, x[i - 1]), _added(b, i - 1, np.sin(x[i]))),
}


@pytest.mark.parametrize("name", MADE_TOGETHER)
def test_carries_of_one_sum_that_are_made_together(name: str) -> None:
    """None of them can begin with what the other one has become."""

    def f(x: Any) -> Any:
        a, b = scan(lambda s, i: MADE_TOGETHER[name](*s, i, x), (np.zeros(40), np.zeros(40)), 20)
        return x * 0.5 + (a + b)

    x = X[:40]
    np.testing.assert_allclose(ad.jit(f)(x), f(x), rtol=1e-12)
    np.testing.assert_allclose(ad.jit(ad.jacobian(f))(x), ad.jacobian(f)(x), rtol=1e-12, atol=1e-12)


def test_results_of_one_branch_are_added_at_once() -> None:
    """A branch whose several results go into one sum is taken once."""

    def f(x: Any) -> Any:
        def body(c: Any, i: Any) -> Any:
            return ad.cond(x[i] > 0.5, lambda c: c * x[i] + np.sin(x[i - 1]) * x[i - 2], lambda c: c * 0.5, c)

        return scan(body, 1.0, x.size)

    _, after = final(ad.grad(f), X)
    assert all(sum(eq.op.title == "cond" for eq in loop.body.equations) <= 1 for loop in loops_inside(after))


def test_results_of_one_branch_are_one_number() -> None:
    """The cotangents that the sides of a branch give are zero on the other sides: they are not added up outside."""

    def f(x: Any) -> Any:
        def body(c: Any, i: Any) -> Any:
            v, w = c
            low = lambda v, w: (-v * w, v * 0.5)
            high = lambda v, w: ad.cond(v > 1.0, lambda v, w: (v - w, w), lambda v, w: (v + 0.1, w * v), v, w)
            return ad.cond(v < 0.3, low, high, v, w)

        v, w = scan(body, (x[0], x[1]), 20)
        return v * w

    _, after = final(ad.grad(f), X[:2])
    backward = list(loops_inside(after))[-1].body
    (branch,) = [eq for eq in backward.equations if eq.op.title == "cond"]
    assert len(branch.outputs) == 2
    expected = [(f(X[:2] + h) - f(X[:2] - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(ad.jit(ad.grad(f))(X[:2]), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_types(dtype: Any) -> None:
    x = (X * (1 + (0.3j if dtype is np.complex128 else 0))).astype(dtype)
    f = lambda x: np.real(scan(lambda c, i: c + np.sin(x[i]) * c * dtype(0.1), dtype(1.0), x.size))
    expected = ad.grad(f)(x)
    got = ad.jit(ad.grad(f))(x)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-4 if dtype is np.float32 else 1e-10)


def test_sizes_of_all_lengths_share_code() -> None:
    """The code for any size adds where it belongs, too."""
    f = ad.jit(ad.grad(element))
    for n in (40, 57, 91, 33, 64):
        x = X[:n]
        np.testing.assert_allclose(f(x), ad.grad(element)(x), rtol=1e-10)


def test_indices_out_of_bounds_are_refused() -> None:
    f = ad.jit(ad.grad(lambda x: scan(lambda c, i: c + np.sin(x[i]), 0.0, 60)))
    with pytest.raises(IndexError, match="out of bounds"):
        f(X[:50])

"""What reverse mode costs: linear time, no recursion, memory that falls on the way back, sparse indexing."""

import gc
import sys
import tracemalloc
import weakref

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.arrays.index import Gather, ScatterSum, Slice
from adjoint.program.trace import running
from adjoint.transform.reverse import sweep
from adjoint.transform.tape import Tape
from tests.support.steps import steps


def by_differences(f, x, step=1e-5):
    """The gradient by central differences."""
    out = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[i] = step
        out[i] = (f(x + e) - f(x - e)) / (2 * step)
    return out


def chain(n: int):
    def f(x):
        for _ in range(n):
            x = np.sin(x)
        return x

    return f


def test_a_hundred_thousand_operations_without_recursion_in_linear_time() -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(250)
    try:
        value, slope = ad.value_and_grad(chain(100_000))(1.0)
        work = [steps(lambda n=n: ad.value_and_grad(chain(n))(1.0)) for n in (5_000, 20_000)]
    finally:
        sys.setrecursionlimit(limit)
    x, expected = 1.0, 1.0
    for _ in range(100_000):
        x, expected = np.sin(x), expected * np.cos(x)
    assert value == x
    assert slope == pytest.approx(expected, rel=1e-10)
    assert work[1] < 5 * work[0]  # linear is 4, quadratic 16


def test_the_record_is_released_on_the_way_back() -> None:
    """Arrays of the record die one after another while the sweep goes back, the last first."""
    alive: list[weakref.ref] = []
    counts: list[int] = []

    def f(x):
        for _ in range(20):
            x = np.sin(x)
            alive.append(weakref.ref(x._value))
        return np.sum(x)

    tape = Tape()
    with running(tape):
        y = f(tape.input(np.linspace(0.0, 1.0, 10)))
        index = y._index
        entries, tape.entries = tape.entries, []
        del y

        class Counting(list):
            """The record; each time an entry is taken, count the arrays that still live."""

            def pop(self, *place):
                counts.append(sum(r() is not None for r in alive))
                return super().pop(*place)

        counting = Counting(entries)
        entries.clear()
        sweep(counting, 1, {index: np.float64(1.0)}, consume=True)
    assert len(counts) == 21
    assert counts == sorted(counts, reverse=True)
    assert counts[0] >= 19
    assert counts[-1] <= 2
    assert sum(r() is not None for r in alive) == 0


def test_memory_falls_as_the_sweep_goes_back() -> None:
    """The peak of a gradient is the record and a few arrays more, not the record twice."""
    n, size = 50, 100_000

    def f(x):
        for _ in range(n):
            x = np.sin(x)  # keeps its argument
        return np.sum(x)

    x = np.linspace(0.0, 1.0, size)
    ad.grad(f)(x[:10])
    tracemalloc.start()
    ad.grad(f)(x)
    left, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (n + 8) * x.nbytes
    assert left < 3 * x.nbytes


def test_nothing_survives_a_gradient() -> None:
    references = []

    def f(x):
        y = np.exp(x)
        references.append(weakref.ref(y))
        references.append(weakref.ref(y._value))
        return np.sum(y)

    ad.grad(f)(np.ones(5))
    gc.collect()
    assert [r() for r in references] == [None, None]


def test_indexing_in_a_loop_costs_order_n(monkeypatch) -> None:
    """x[i] for all i: the cotangent is one array that is written to, not n arrays that are added."""

    def f(x):
        total = 0.0
        for i in range(len(x)):
            total = total + x[i] * x[i]
        return total

    dense: list[tuple[int, ...]] = []
    zeros = np.zeros
    monkeypatch.setattr(np, "zeros", lambda shape, *rest: dense.append(shape) or zeros(shape, *rest))
    x = np.linspace(0.0, 1.0, 2_000)
    np.testing.assert_allclose(ad.grad(f)(x), 2 * x)
    assert dense == [x.shape]
    work = [steps(lambda n=n: ad.grad(f)(x[:n])) for n in (500, 2_000)]
    assert work[1] < 4.1 * work[0]


def test_no_dense_arrays_for_indexing() -> None:
    """Under an outer trace too, the parts are put together once."""
    x = np.linspace(0.0, 1.0, 400)

    def f(x):
        total = 0.0
        for i in range(len(x)):
            total = total + x[i] ** 3
        return total

    inner = ad.vjp(lambda x: ad.grad(f)(x), x)[1]
    kinds = [entry[0] for entry in inner._recorded.entries if isinstance(entry[0], ScatterSum)]
    assert len(kinds) == 1
    assert len(kinds[0].keys) == 400
    np.testing.assert_allclose(inner(np.ones(400))[0], 6 * x)


@pytest.mark.parametrize(
    "index", [0, slice(1, 3), np.array([0, 2, 0]), np.array([True, False, True]), (Ellipsis, None)]
)
def test_indexed_and_used_whole(index) -> None:
    """Sparse and dense cotangents of one variable, in either order."""
    x = np.array([1.0, 2.0, 3.0])
    f = lambda x: np.sum(np.exp(x[index])) + np.sum(x**3) + np.sum(x[index] * 2.0)
    g = lambda x: np.sum(x**3) + np.sum(np.exp(x[index])) + np.sum(x[index] * 2.0)
    v = np.array([1.0, -1.0, 0.5])
    for h in (f, g):
        np.testing.assert_allclose(ad.grad(h)(x), by_differences(h, x), rtol=1e-8)
        twice = ad.grad(lambda x, h=h: ad.grad(h)(x) @ v)(x)
        np.testing.assert_allclose(twice, ad.jvp(ad.grad(h), (x,), (v,))[1], rtol=1e-13)
        np.testing.assert_allclose(twice, by_differences(lambda x, h=h: ad.grad(h)(x) @ v, x), rtol=1e-7)


def test_primitives_with_sparse_pulls_are_the_indexing_ones() -> None:
    assert Slice.sparse
    assert Gather.sparse


MODES = {
    "grad": lambda f, x: ad.grad(f)(x),
    "jvp": lambda f, x: ad.jvp(f, (x,), (np.ones_like(x),))[1],
    "linearize": lambda f, x: ad.linearize(f, x)[1](np.ones_like(x)),
    "jet": lambda f, x: ad.jet(f, (x,), ((np.ones_like(x),),))[1][0],
    "vmap of grad": lambda f, x: ad.vmap(ad.grad(f))(np.stack([x, x]))[0],
    "grad of grad": lambda f, x: ad.grad(lambda x: np.sum(ad.grad(f)(x)))(x),
    "jvp of grad": lambda f, x: ad.jvp(ad.grad(f), (x,), (np.ones_like(x),))[1],
    "recorded": lambda f, x: ad.trace(ad.grad(f))(x)(x),
}


@pytest.mark.parametrize("mode", MODES)
def test_no_mode_recurses(mode) -> None:
    """A thousand operations, then a thousand views, one upon another, written through; 300 frames suffice."""

    def f(x):
        y = x * 1.0
        for _ in range(1200):
            y = 0.999 * y
        view = y
        for _ in range(1200):
            view = view[::-1]
        view[0] = 0.5 * view[1]
        return np.sum(y * y)

    by_hand = lambda x: 0.999**2400 * (0.25 * x[1] ** 2 + x[1] ** 2)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(300)
    try:
        found = MODES[mode](f, np.array([1.0, 2.0]))
    finally:
        sys.setrecursionlimit(limit)
    expected = by_hand(np.array([1.0, 1.0])) * 2
    if mode in {"grad", "vmap of grad", "recorded"}:
        np.testing.assert_allclose(found, [0.0, 2 * expected])
    elif mode in {"jvp", "linearize", "jet"}:
        np.testing.assert_allclose(found, 2 * expected)
    else:
        np.testing.assert_allclose(found, [0.0, expected])


def test_writing_in_a_loop_costs_order_n() -> None:
    """y[i] = f(y[i-1]) for all i: each write touches one element, forwards and backwards."""

    def f(x):
        y = np.zeros_like(x)
        y[0] = x[0]
        for i in range(1, len(x)):
            y[i] = np.sin(y[i - 1]) + x[i]
        return y[-1]

    assert ad.grad(f)(np.linspace(0.0, 1.0, 100))[-1] == 1.0
    work = [steps(lambda n=n: ad.grad(f)(np.linspace(0.0, 1.0, n))) for n in (500, 2_000)]
    assert work[1] < 5 * work[0]  # linear is 4, quadratic 16

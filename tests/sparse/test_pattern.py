"""Patterns: equal to those known from elsewhere, never smaller than the true nonzeros."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import adjoint as ad
from adjoint import sparse
from adjoint.base.config import config
from adjoint.base.errors import ControlFlowError, TraceError
from tests.random_programs.functions import random_function
from tests.support.strategies import RandomProgram, programs

RNG = np.random.default_rng(7)


def bits(text: str) -> Any:
    """A pattern written as rows of 0 and 1."""
    return np.array([[c == "1" for c in row] for row in text.split()])


def found(f: Any, *args: Any, **options: Any) -> Any:
    return sparse.pattern(f, **options)(*args).toarray()


def band(n: int, *offsets: int) -> Any:
    return sum(np.eye(n, k=k) for k in offsets) > 0


def true_pattern(f: Any, x: Any, order: int = 1) -> Any:
    """Nonzeros at a few random points."""
    derivative = ad.jacfwd(f) if order == 1 else ad.hessian(f)
    points = [x, *[x + 0.3 * RNG.normal(size=np.shape(x)) for _ in range(3)]]
    rows = np.size(x) if order == 2 else np.size(f(x))
    return np.any([np.reshape(derivative(p), (rows, np.size(x))) != 0 for p in points], axis=0)


def gathered(x):
    return x[np.array([3, 0, 0])] ** 2


def written(x):
    y = ad.numpy.zeros(5)
    y[1:4] = x[:3]
    y[2] = x[4] * x[0]
    return y


def added(x):
    y = ad.numpy.zeros(3)
    np.add.at(y, np.array([0, 2, 0]), x[:3])
    return y


MATRIX = np.diag(np.ones(5)) + np.diag(np.ones(4), 1)

KNOWN = {
    "pointwise": (np.sin, np.ones(4), band(4, 0)),
    "difference": (lambda x: x[1:] - x[:-1] ** 2, np.ones(4), bits("1100 0110 0011")),
    "broadcast": (lambda x: x[:, None] * x, np.ones(2), bits("10 11 11 01")),
    "sum": (np.sum, np.ones(3), bits("111")),
    "sum over an axis": (lambda x: np.sum(x, axis=0), np.ones((2, 3)), bits("100100 010010 001001")),
    "mean that is taken off": (lambda x: x - np.mean(x), np.ones(3), np.ones((3, 3))),
    "transposed": (lambda x: x.T, np.ones((2, 3)), bits("100000 000100 010000 000010 001000 000001")),
    "constant matrix": (lambda x: MATRIX @ x**2, np.ones(5), band(5, 0, 1)),
    "constant factor": (lambda x: x * np.array([1.0, 0.0, 2.0]), np.ones(3), bits("100 000 001")),
    "product of matrices": (lambda x: x @ x, np.ones((2, 2)), bits("1110 1101 1011 0111")),
    "einsum": (lambda x: np.einsum("ij,ik->i", x, x), np.ones((2, 2)), bits("1100 0011")),
    "gather": (gathered, np.ones(4), bits("0001 1000 1000")),
    "write": (written, np.ones(5), bits("00000 10000 10001 00100 00000")),
    "add at": (added, np.ones(4), bits("1010 0000 0100")),
    "running sum": (np.cumsum, np.ones(3), np.tri(3)),
    "running product": (np.cumprod, np.ones(3), np.tri(3)),
    "maximum": (lambda x: np.max(x, axis=1), np.ones((2, 2)), bits("1100 0011")),
    "convolution": (lambda x: np.convolve(x, np.ones(2)), np.ones(3), bits("100 110 011 001")),
    "both convolved": (lambda x: ad.signal.conv(x[None, None], x[None, None, :2], padding=1)[0, 0], np.ones(4),
                       bits("1100 1100 1110 1111 1001")),
    "windows": (lambda x: ad.signal.avg_pool(x[None, None], (2,), stride=2)[0, 0], np.ones(4), bits("1100 0011")),
    "kernels": (lambda x: ad.signal.conv(x[None, None], np.ones((1, 1, 3)))[0, 0], np.ones(4), bits("1110 0111")),
    "stack of inverses": (np.linalg.inv, np.ones((2, 1, 1)), band(2, 0)),
    "columns solved": (lambda x: np.linalg.solve(np.eye(2), x), np.ones((2, 2)), bits("1010 0101 1010 0101")),
    "spectrum": (lambda x: np.real(np.fft.fft(x, axis=0)), np.ones((2, 2)), bits("1010 0101 1010 0101")),
    "no derivative": (lambda x: np.floor(x) + np.argmax(x) + np.sign(x), np.ones(2), np.zeros((2, 2))),
    "stopped": (lambda x: x * ad.stop_gradient(x[::-1]), np.ones(2), band(2, 0)),
    "compiled": (ad.jit(lambda x: x[1:] * x[:-1]), np.ones(3), bits("110 011")),
    "checkpoint": (ad.checkpoint(lambda x: x[1:] * x[:-1]), np.ones(3), bits("110 011")),
    "choice": (lambda x: np.where(x > 0, x, x[::-1]), np.ones(3), bits("101 010 101")),
    "branches": (lambda x: ad.cond(x[0] > 0, lambda x: x[::-1], lambda x: x, x), np.ones(3), bits("101 010 101")),
    "sums carried": (lambda x: ad.scan(lambda c, v: (c + v, 2 * c), 0.0, x)[1], np.ones(3), bits("000 100 110")),
    "backwards": (lambda x: ad.scan(lambda c, v: (c * v, c), 1.0, x, reverse=True)[1], np.ones(3),
                  bits("011 001 000")),
    "elements of turns": (lambda x: ad.fori_loop(0, 3, lambda i, c: c + x[i] * (np.arange(3) == i), np.zeros(3)),
                          np.ones(3), band(3, 0)),
    "mapped": (lambda x: ad.map(lambda v: v**2, x), np.ones(3), band(3, 0)),
    "unknown turns": (lambda x: ad.while_loop(lambda c: c[0] < 4, lambda c: np.concatenate([c[:1] + 1, c[:-1]]), x),
                      np.ones(3), np.tri(3)),
    "loop of squares": (lambda x: ad.while_loop(lambda c: c[0] < 4, lambda c: c**2, x), np.ones(3), band(3, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_known_patterns(name: str) -> None:
    f, x, expected = KNOWN[name]
    np.testing.assert_array_equal(found(f, x), np.asarray(expected) != 0)


LOCAL = {
    "choice": (lambda x: np.where(x > 0, x, x[::-1] ** 2), [1.0, -1.0, 2.0], bits("100 010 001")),
    "factor": (lambda x: x * x[::-1], [0.0, 1.0, 2.0], bits("100 010 100")),
    "maximum": (lambda x: np.max(x) * np.ones(1), [1.0, 3.0, 3.0], bits("011")),
    "relu": (lambda x: np.maximum(x, 0.0), [1.0, -1.0], bits("10 00")),
    "branch": (lambda x: ad.cond(x[0] > 0, lambda x: x[::-1], lambda x: x, x), [1.0, 2.0], bits("01 10")),
    "Python's branch": (lambda x: x[::-1] if x[0] > 0 else x, [1.0, 2.0], bits("01 10")),
    "square": (lambda x: x**2, [0.0, 1.0], bits("00 01")),
    "complex sign": (lambda x: np.sign(x[:1] + 1j * x[1:]), [1.0, 2.0], bits("11")),
    "real sign": (lambda x: np.sign(x) + np.abs(x), [1.0, 0.0], bits("10 01")),
    "turns": (lambda x: ad.while_loop(lambda c: c[0] < 2, lambda c: np.concatenate([c[:1] + 1, c[:-1]]), x),
              [1.0, 2.0, 3.0], bits("100 100 010")),
    "matrix": (lambda x: np.diag(x) @ x, [1.0, 2.0], bits("10 01")),
}  # fmt: skip


@pytest.mark.parametrize("name", LOCAL)
def test_patterns_at_a_point(name: str) -> None:
    f, x, expected = LOCAL[name]
    np.testing.assert_array_equal(found(f, np.array(x), local=True), expected)


SECOND = {
    "squares": (lambda x: np.sum(x**2), np.ones(3), band(3, 0)),
    "linear": (lambda x: np.sum(3 * x), np.ones(3), np.zeros((3, 3))),
    "neighbors": (lambda x: np.sum(x[1:] * x[:-1]), np.ones(4), band(4, -1, 1)),
    "Rosenbrock": (
        lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), np.ones(4), band(4, -1, 0, 1),
    ),
    "all": (lambda x: np.sum(x) ** 2, np.ones(3), np.ones((3, 3))),
    "scan": (lambda x: ad.scan(lambda c, v: (c + v**2, None), 0.0, x)[0], np.ones(3), band(3, 0)),
    "compiled": (ad.jit(lambda x: np.sum(x[1:] * x[:-1])), np.ones(3), band(3, -1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_patterns_of_hessians(name: str) -> None:
    f, x, expected = SECOND[name]
    np.testing.assert_array_equal(found(f, x, order=2), np.asarray(expected) != 0)
    assert not (true_pattern(f, x, order=2) & ~found(f, x, order=2)).any()


def test_hessian_of_a_while_loop_is_not_too_small() -> None:
    def f(x):
        return np.sum(ad.while_loop(lambda c: np.sum(c) < 4, lambda c: c * (1 + x**2), x))

    x = np.array([0.5, 0.8])
    assert not (true_pattern(f, x, order=2) & ~found(f, x, order=2)).any()


def nonzeros(program: RandomProgram, xs: list[Any]) -> Any:
    rows = ad.jacfwd(program.pool, tuple(range(len(xs))))(*xs)
    blocks = [[np.reshape(b, (-1, np.size(x))) for b, x in zip(row, xs, strict=True)] for row in rows]
    return np.block(blocks) != 0


@given(programs(most_steps=5))
@settings(max_examples=40)
def test_random_programs(program: RandomProgram) -> None:
    xs = [np.asarray(x) for x in program.inputs]
    every = tuple(range(len(xs)))
    pattern = found(program.pool, *xs, argnums=every)
    here = found(program.pool, *xs, argnums=every, local=True)
    true = nonzeros(program, xs)
    assert not (true & ~pattern).any()
    assert not (true & ~here).any()
    assert not (here & ~pattern).any()


@given(programs(most_steps=4))
@settings(max_examples=15)
def test_hessians_of_random_programs(program: RandomProgram) -> None:
    xs = [np.asarray(x) for x in program.inputs]
    every = tuple(range(len(xs)))

    def energy(*args: Any) -> Any:
        return sum(np.sum(z * z) for z in program.pool(*args))

    rows = ad.hessian(energy, every)(*xs)
    true = np.block([[np.reshape(b, (np.size(y), np.size(x))) for b, x in zip(row, xs, strict=True)]
                     for row, y in zip(rows, xs, strict=True)])  # fmt: skip
    for local in (False, True):
        assert not ((true != 0) & np.isfinite(true) & ~found(energy, *xs, argnums=every, order=2, local=local)).any()


def test_random_functions_with_loops_and_matrices() -> None:
    tried = 0
    for seed in range(40):
        f = random_function(seed)
        xs = f.values(0)
        floats = tuple(k for k, x in enumerate(xs) if np.asarray(x).dtype.kind == "f" and 0 < np.size(x) < 100)
        if not floats or sum(np.size(z) for z in f(*xs)) > 400:
            continue

        def results(*args: Any, f: Any = f) -> list[Any]:
            return [z for z in f(*args) if z.dtype.kind == "f"]

        with np.errstate(all="ignore"):
            try:
                pattern = found(results, *xs, argnums=floats)
            except TraceError:  # it writes to an argument of whole numbers, which is a plain array then
                continue
            rows = ad.jacfwd(results, floats)(*xs)
        if rows:
            parts = [[np.reshape(b, (-1, np.size(xs[k]))) for k, b in zip(floats, r, strict=True)] for r in rows]
            true = np.block(parts)
            assert not ((true != 0) & np.isfinite(true) & ~pattern).any(), str(f)
            tried += 1
    assert tried > 10


def test_other_arguments_are_unknown_and_whole_numbers_known() -> None:
    def f(x, weights, places):
        return weights * x[places]

    x, places = np.ones(4), np.array([2, 0])
    np.testing.assert_array_equal(found(f, x, np.zeros(2), places), bits("0010 1000"))
    np.testing.assert_array_equal(found(f, x, np.zeros(2), places, argnums=1), bits("10 01"))
    np.testing.assert_array_equal(found(f, x, np.ones(2), places, argnums=(0, 1)), bits("001010 100001"))


def test_trees_are_laid_out_leaf_by_leaf() -> None:
    def f(p):
        return {"a": p["w"] * 2, "b": np.sum(p["v"])}

    np.testing.assert_array_equal(found(f, {"v": np.ones(2), "w": 1.0}), bits("001 110"))


def test_custom_rules_are_looked_through() -> None:
    @ad.custom_rule(jvp=lambda xs, ts: (xs[0] ** 2, 2 * xs[0] * ts[0]))
    def squared(x):
        return x**2

    np.testing.assert_array_equal(found(lambda x: squared(x[1:]), np.ones(3)), bits("010 001"))


def test_large_bands_take_little_time_and_memory() -> None:
    n = 20_000
    pattern = sparse.pattern(lambda x: x[2:] * x[1:-1] + np.sin(x[:-2]))(np.ones(n))
    assert pattern.nnz == 3 * (n - 2)
    total = sparse.pattern(lambda x: np.sum((x - np.mean(x)) ** 2))(np.ones(n))
    assert total.nnz == n


def test_python_questions_are_refused_with_a_remedy() -> None:
    f = lambda x: x if x[0] > 0 else -x
    with config.override(convert=False), pytest.raises(ControlFlowError, match=r"ad\.cond"):
        found(f, np.ones(2))
    assert np.all(found(f, np.ones(2)) >= np.eye(2))  # a branch: what both of its sides read


def differences(f: Any, z: Any) -> Any:
    """Whether fᵢ moves at all when zⱼ goes a step along the real or the imaginary axis."""
    steps = [step * np.eye(z.size)[j] for j in range(z.size) for step in (1e-3, 1e-3j)]
    moved = np.array([np.abs(f(z + s) - f(z)) > 1e-9 for s in steps])
    return moved.reshape(z.size, 2, -1).any(axis=1).T


@pytest.mark.parametrize(
    "f",
    [
        lambda z: z[1:] * z[:-1],
        lambda z: np.conj(z) * z[::-1],
        lambda z: np.abs(z[1:]) ** 2 + z.imag[:-1],
        lambda z: np.concatenate([z.real, z.imag[:2] * z[2:].real]),
        lambda z: np.cumsum(z),
    ],
)
def test_complex_arguments_in_any_way(f: Any) -> None:
    z = np.array([1.0 + 0.5j, -0.3 + 2.0j, 0.7 - 1.1j, 0.4 + 0.2j])
    np.testing.assert_array_equal(found(f, z), differences(f, z))


def test_second_order_of_complex_arguments() -> None:
    z = np.array([1.0 + 0.5j, -0.3 + 2.0j, 0.7 - 1.1j])
    band = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    energy = sparse.pattern(lambda z: np.sum(np.abs(z[1:] * z[:-1]) ** 2), order=2)(z)
    np.testing.assert_array_equal(energy.toarray(), band)
    cubes = sparse.pattern(lambda z: np.sum(z[1:] ** 2 * z[:-1] ** 2), order=2, holomorphic=True)(z)
    np.testing.assert_array_equal(cubes.toarray(), band)
    with pytest.raises(TypeError, match=r"sparse\.pattern needs a real output.*holomorphic=True"):
        sparse.pattern(lambda z: np.sum(z**2), order=2)(z)


def test_orders() -> None:
    with pytest.raises(ValueError, match="1 \\(Jacobian\\) or 2"):
        sparse.pattern(np.sin, order=3)

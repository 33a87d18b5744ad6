"""Fused nests: reductions over any axes, vectors and what is left of them, windows, gathers."""

import itertools

import numpy as np
import pytest

from adjoint.compile.results import neutral
from tests.random_programs.running import agrees
from tests.support.sweeps import sampled

rng = np.random.default_rng(3)


def subsets(n):
    return [axes for k in range(n + 1) for axes in itertools.combinations(range(n), k)]


@pytest.mark.parametrize("shape", [(3, 5, 4), (2, 1, 17), (1, 33, 2)])
def test_sums_over_all_sets_of_axes_in_one_program(shape) -> None:
    x = rng.normal(size=shape)
    agrees(lambda x: [np.sum(x * x, axis=axes) for axes in subsets(3)], x)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int8", "uint16", "bool", "float16"])
def test_all_reductions(dtype) -> None:
    x = (rng.normal(size=(5, 19)) * 2).astype(dtype)
    rounding = {"float32": 1e-5, "float16": 5e-2}.get(dtype, 1e-12)
    kinds = ["sum", "prod", "any", "all"] + ["max", "min"] * (dtype != "complex128")
    agrees(lambda x: [getattr(np, k)(x, axis=a) for k in kinds for a in (None, 0, 1)], x, rounding=rounding)


def test_neutral_elements_are_neutral() -> None:
    combine = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
    for dtype in ("float64", "int8", "uint8", "int64"):
        x = np.array([3, 1, 2], dtype)
        for kind, f in combine.items():
            start = np.dtype(dtype).type(neutral(kind, np.dtype(dtype)))
            np.testing.assert_array_equal(f(start, x), x)
    for kind, f in {"any": np.logical_or, "all": np.logical_and}.items():
        assert [bool(f(neutral(kind, np.dtype(bool)), b)) for b in (False, True)] == [False, True]


@pytest.mark.parametrize("n", [1, 7, 8, 9, 16, 31, 2047, 2049, 4500])
def test_long_sums_are_as_exact_as_numpys(n) -> None:
    """Vectors, what is left of them, and blocks: the error does not grow with the length."""
    x = rng.uniform(0.5, 1.5, n).astype(np.float32)
    kernel = agrees(lambda x: [np.sum(x), np.max(x), np.sum(x * x)], x, rounding=1e-5)
    exact = np.sum(x.astype(np.float64))
    assert abs(kernel.run([x])[0] - exact) <= 3e-6 * exact


@pytest.mark.parametrize("n", [255, 256, 257, 1300])
def test_extrema_side_by_side_hand_on_nan(n) -> None:
    """The extremum of a long row is that of several accumulators; what is not a number may stand in any of them."""
    for position in (0, n // 3, n // 2 + 9, n - 1):
        x = rng.normal(size=n)
        agrees(lambda x: [np.max(x), np.min(x), np.sum(x), np.prod(1 + x / n), np.any(x > 2.5)], x)
        x[position] = np.nan
        agrees(lambda x: [np.max(x), np.min(x)], x)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "complex64", "int16", "bool"])
@pytest.mark.parametrize("shape", [(16, 17), (40, 33), (70, 16)])
def test_what_lies_across_is_transposed(dtype, shape) -> None:
    """By squares in registers, and what is left over at both edges."""
    x, y = (rng.normal(size=s) * 9 for s in (shape, shape[::-1]))
    agrees(lambda x, y: [x.T + y, np.copy(x.T), np.where(y < x.T, y.T.T, x.T)], x.astype(dtype), y.astype(dtype))
    agrees(lambda x: np.transpose(x, (2, 0, 1)) + 1, np.stack([x, 2 * x]).astype(dtype))


def test_extrema_with_nan_and_of_signed_zeros() -> None:
    x = rng.normal(size=(4, 11))
    x[1, 3] = x[2, 0] = np.nan
    x[3] = -np.inf
    agrees(lambda x: [np.max(x, axis=1), np.min(x, axis=1), np.max(x), np.min(x, axis=0), np.argmax(x, axis=1)], x)


def test_empty_reductions_and_results() -> None:
    x, y = np.zeros((0, 4)), np.zeros((3, 0))
    agrees(lambda x, y: [np.sum(x, axis=0), np.prod(y, axis=1), np.any(y), np.all(x), np.sin(x), y.T + 1.0], x, y)


def test_stencils_and_joins_in_one_nest() -> None:
    x = rng.normal(size=(9, 13))

    def f(x):
        inner = x[1:-1, 1:-1]
        laplace = x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * inner
        padded = np.pad(laplace, 1)
        joined = np.concatenate([x[:2], padded, x[:, ::-1]], axis=0)
        return [laplace, padded * x, joined + 1.0, np.sum(joined, axis=1), np.pad(x, ((0, 2), (3, 0)))[::-1, ::2]]

    agrees(f, x)


def test_results_that_end_early_are_not_read_beyond_their_end() -> None:
    """A gather that is one shorter than its nest: the index behind the last one is no index."""
    x = rng.normal(size=(1, 15))
    order = np.array([[13, 2, 5, 0, 1, 3, 4, 6, 7, 8, 9, 10, 11, 12]])
    agrees(lambda x, i: [x * 0.5 + 1.0, np.diff(x, axis=1)[0, i]], x, order)


def test_gathers_with_indices_along_any_axis() -> None:
    x, i = rng.normal(size=(4, 5, 6)), rng.integers(-4, 4, (3, 2))
    agrees(lambda x, i: [x[i], x[:, i], x[i, i], x[i, :, 1], x[1, i, i] * 2, np.sum(x[i] ** 2), x[i.T, ::2]], x, i)
    for dtype in ("int8", "uint8", "int32", "bool"):
        agrees(lambda x, i: np.exp(x)[i.astype(np.int64)] + x[i * 1], x, (np.abs(i) % 2).astype(dtype).astype(int))


SHAPES = [(3, 130, 128), (257, 256), (128, 515, 128)]


@pytest.mark.parametrize("shape, dtype", sampled(itertools.product(SHAPES, ["float64", "float32", "complex64"]), 4))
def test_transposed_arrays_with_aligned_rows(shape, dtype) -> None:
    x = rng.normal(size=shape).astype(dtype)
    y = rng.normal(size=shape[-1]).astype(dtype)
    axes = tuple(reversed(range(x.ndim)))
    f = lambda x, y: [np.transpose(x, axes) * 2, np.swapaxes(x, -1, -2) + y[:, None], np.transpose(x, axes)[3:-1]]
    agrees(f, x, y, rounding=1e-6 if dtype != "float64" else 1e-14)

"""Axes, shapes and widths that are arguments of a compiled function."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.numpy.settings import NAMES

X = np.arange(24.0).reshape(2, 3, 4)


def summed(x, axis):
    return np.sum(x, axis=axis)


def largest(x, axis):
    return np.max(x, axis)


def median(x, axis):
    return np.median(x, axis=axis)


def norm(x, axis):
    return np.linalg.norm(x, axis=axis)


def flipped(x, axis):
    return np.flip(x, axis)


def expanded(x, axis):
    return np.expand_dims(x, axis)


def moved(x, axes):
    return np.moveaxis(x, axes, (1, 0))


def rolled(x, shift):
    return np.roll(x, shift, axis=(0, 1))


def padded(x, widths):
    return np.pad(x, widths)


def contracted(x, axes):
    return np.tensordot(x, x, axes=axes)


def broadcast(x, shape):
    return np.broadcast_to(x, shape)


def reshaped(x, shape):
    return x.reshape(shape)


def reshaped_in_two(x, rows):
    return x.reshape(rows, -1)


def transform(x, shape):
    return np.abs(np.fft.fftn(x, shape, axes=(0, 1)))


def ordered(x, kth):
    return np.partition(x, kth)[..., 1]


@pytest.mark.parametrize(
    "function, settings",
    [
        (summed, [(0, 1), (0, 2), 1]),
        (largest, [(0, 1), -1, (1, 2)]),
        (median, [(0, 1), 2]),
        (norm, [(0, 1), (1, 2), 0]),
        (flipped, [(0, 1), 2]),
        (expanded, [(0, 2), 1]),
        (moved, [(0, 1), (2, 1)]),
        (rolled, [(1, 2), (0, 1)]),
        (padded, [((1, 2), (0, 1), (1, 1)), (1, 2), 1, np.array([1, 2])]),
        (contracted, [([0], [0]), ([0, 1], [0, 1]), (1, 1), 3]),
        (broadcast, [(2, 2, 3, 4), [1, 2, 3, 4]]),
        (reshaped, [(4, 6), 24, -1, [2, 12]]),
        (reshaped_in_two, [4, 6, 1]),
        (transform, [(3, 4), (2, 2)]),
        (ordered, [(1, 2), 1]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_compiled_function_takes_its_settings_as_arguments(function: Callable[..., Any], settings: list[Any]):
    compiled = ad.jit(function)
    gradient = ad.jit(ad.grad(lambda x, setting: np.sum(np.sin(function(x, setting)))))
    for setting in [*settings, settings[0]]:
        expected, result = function(X, setting), compiled(X, setting)
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-12)
        differentiated = ad.grad(lambda x, setting=setting: np.sum(np.sin(function(x, setting))))(X)
        np.testing.assert_allclose(gradient(X, setting), differentiated, rtol=1e-12, atol=1e-12)


def test_a_size_that_is_an_argument_may_be_one_number():
    compiled = ad.jit(lambda x, n: np.broadcast_to(x, n) * 2.0)
    assert compiled(1.5, 3).tolist() == [3.0] * 3
    assert compiled(1.5, 2).tolist() == [3.0] * 2


def test_a_setting_for_each_element_of_a_batch_makes_groups():
    cube = np.arange(27.0).reshape(3, 3, 3)
    sums = ad.vmap(lambda x, axis: np.sum(x, axis=axis), in_axes=(None, 0))(cube, np.array([0, 2, 0]))
    np.testing.assert_array_equal(sums, [cube.sum(0), cube.sum(2), cube.sum(0)])


def test_names_of_settings_are_parameters_of_numpy():
    spaces = (np, np.linalg, np.fft)
    functions = [f for space in spaces for f in vars(space).values() if hasattr(f, "_implementation")]
    found = {name for f in functions for name in inspect.signature(f).parameters}
    assert found >= NAMES

"""Parts of a gradient that every iteration adds to one array, put together: at each element in the order they had."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.check import check
from adjoint.program.program import interpret
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.reroll.driver import reroll
from tests.random_programs.loops import check_loops

MATRIX = np.array([[0.3, -0.2, 0.5], [0.7, 0.1, -0.4], [0.2, 0.6, -0.1]])


def whole(x, a, b):
    y = x.copy()
    for _ in range(10):
        y[1:] += x[0:][:2]
        y[1:] *= y[:2]
        b = np.cos(b) - a
    return np.sum(y * b)


def whole_and_moving(x, a, b):
    """A sum of two parts, of which one moves and one is all of the array."""
    y = x * 1.0
    for i in range(12):
        y = np.sin(x[::1]) * b + 0.5 * y
        y[i % 3] += a * x[i % 3]
    return np.sum(np.sin(y))


def written_otherwise(x, a, b):
    """x[0:2] and x[:2] alternately: slices that stay, though they are not written alike."""
    y = x * 1.0
    for i in range(12):
        y[0 if i % 2 else None : 2] += np.sin(x[None if i % 2 else 0 : 2]) * a
        y[...] = np.tanh(y) + b
    return np.sum(y * y)


def no_axis(x, a, b):
    """A number is an array without axes."""
    y = x * 1.0
    for _ in range(12):
        y = np.sin(y) + x[0] * a
        b = np.cos(b) * a
    return np.sum(y * b)


@pytest.mark.parametrize("x", [MATRIX[0], MATRIX], ids=["vector", "matrix"])
@pytest.mark.parametrize("f", [whole, whole_and_moving, written_otherwise, no_axis], ids=lambda f: f.__name__)
def test_iterations_that_read_the_whole_array(f, x):
    args = (x, 0.3, 0.4)
    gradient = ad.grad(f, argnums=(0, 1, 2))
    expected = gradient(*args)
    for a, b in zip(ad.jit(gradient)(*args), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    program = drop_dead_code(ad.trace(gradient)(*args).program)
    rolled = reroll(program, least=8)
    check(rolled)
    for a, b in zip(interpret(rolled, args), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_random_loops_of_slices(seed):
    assert not check_loops(seed)

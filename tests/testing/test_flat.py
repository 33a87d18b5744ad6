"""Functions of trees as functions of their floats, and their differences."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from adjoint.testing.flat import Differences, flat_function


def model(params, x, name):
    return {"y": params["w"] * x, "n": params["n"], "name": name, "sum": np.sum(params["w"])}


def test_constants_are_held_and_paths_remembered():
    flat = flat_function(model, ({"w": np.ones(2), "n": 4}, 3, "abc"), "test")
    assert flat.inputs == ("args[0]['w']", "args[1]")
    assert flat.outputs == ("output['sum']", "output['y']")
    assert flat.point[1] == 3.0
    total, y = flat.at((np.array([1.0, 2.0]), 10.0))
    assert total == 3.0
    assert_array_equal(y, [10.0, 20.0])


def test_one_argument_need_not_be_a_tuple():
    assert flat_function(np.sin, 0.5, "test").inputs == ("args[0]",)


def test_quick_and_careful_differences_agree_and_bound_their_errors():
    flat = flat_function(lambda x: np.exp(3 * x), (np.array([0.1, 0.5]),), "test")
    v = (np.array([1.0, -2.0]),)
    exact = 3 * np.exp(3 * flat.point[0]) * v[0]
    for (value,), (doubt,) in Differences(flat, flat.at(flat.point), v, None).attempts():
        assert_allclose(value, exact, rtol=1e-9)
        assert np.all(np.abs(value - exact) <= 1e-10 + doubt)
        assert np.all(doubt < 1e-9)


def test_doubt_is_limited_where_differences_prove_nothing():
    flat = flat_function(np.abs, (np.array([1e-6]),), "test")
    differences = Differences(flat, flat.at(flat.point), (np.ones(1),), None)
    (value,), (doubt,) = differences.careful
    assert abs(value[0] - 1.0) > 0.1
    assert doubt[0] < 0.01

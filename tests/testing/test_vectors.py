"""Trees as vectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from adjoint.testing.vectors import combination, epsilon, has_tangent, inner, line, norm, random_direction


def test_a_line_moves_floats_and_keeps_types():
    start = {"x": np.float32([1.0, 2.0]), "n": 3, "z": 1j, "flag": True, "name": "w"}
    direction = {"x": np.array([1.0, -1.0]), "n": 0, "z": 2.0, "flag": False, "name": "w"}
    point = line(start, direction)(0.5)
    assert_array_equal(point["x"], np.float32([1.5, 1.5]))
    assert point["x"].dtype == np.float32
    assert point["z"] == 1 + 1j
    assert (point["n"], point["flag"], point["name"]) == (3, True, "w")
    assert start["x"][0] == 1.0


def test_what_moves():
    assert all(has_tangent(value) for value in (1.0, 1j, np.float32(1), np.zeros(2), np.zeros(2, complex)))
    assert not any(has_tangent(value) for value in (1, True, "x", np.arange(2), np.zeros(2, bool), None))


def test_the_inner_product_is_the_real_part_and_euclidean():
    u = {"a": np.array([1 + 2j, 3.0]), "b": 2.0, "n": 5}
    v = {"a": np.array([1j, 1.0]), "b": 4.0, "n": 7}
    # Re(conj(1 + 2i) i) = 2, and then 3 * 1 and 2 * 4; the integer is no direction.
    assert inner(u, v) == 2.0 + 3.0 + 8.0
    assert inner(u, v) == inner(v, u)
    assert_allclose(norm(u) ** 2, 1 + 4 + 9 + 4)


def test_combinations():
    u, v = (np.array([1.0, 2.0]), 3), (np.array([10.0, 20.0]), 4)
    combined, constant = combination(2.0, u, -1.0, v)
    assert_array_equal(combined, [-8.0, -16.0])
    assert constant == 3


def test_random_directions_have_the_types_of_the_point_and_repeat():
    point = {"x": np.ones((2, 3), np.float32), "z": np.ones(4, complex), "n": np.arange(3), "name": "w"}
    one, two = (random_direction(point, np.random.default_rng(7)) for _ in range(2))
    assert one["x"].dtype == np.float32
    assert one["x"].shape == (2, 3)
    assert np.all(one["z"].imag != 0)
    assert_array_equal(one["n"], [0, 0, 0])
    assert one["name"] == "w"
    assert_array_equal(one["x"], two["x"])


def test_the_coarsest_float_counts():
    assert epsilon({"a": 1.0, "b": np.float32(1.0), "n": 3}) == pytest.approx(2.0**-23)
    assert epsilon((1.0, 2j)) == 2.0**-52
    assert epsilon(3) == 2.0**-52


def test_trees_must_match():
    with pytest.raises(ValueError, match="trees differ at the top"):
        inner((1.0, 2.0), [1.0, 2.0])


def test_errors_name_the_place():
    point = {"w": [np.ones(2), np.ones(3)]}
    with pytest.raises(
        ValueError, match=r"direction\['w'\]\[1\]: float64\[3\] needs a direction of shape \(3,\), not \(\)"
    ):
        line(point, {"w": [np.ones(2), 1.0]})

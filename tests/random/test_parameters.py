"""Parameters: what is known of them, and the shapes that they give."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ShapeError
from adjoint.random.parameters import known, require, shape_of, sizes


def test_the_values_of_all_lanes_are_known():
    seen = []
    ad.vmap(lambda x: seen.append(known(x)) or x)(np.arange(3.0))
    ad.grad(lambda x: seen.append(known(x)) or x)(2.0)
    ad.scan(lambda c, x: seen.append(known(x)) or (c, None), 0.0, np.arange(3.0))
    assert seen[0].tolist() == [0.0, 1.0, 2.0]
    assert seen[1] == 2.0
    assert seen[2] is None


@pytest.mark.parametrize("rule, good, bad", [
    ("not negative", [0.0, 0, np.inf, [1.0, 2.0]], [-1, -1e-9, [1.0, -1.0]]),
    ("positive", [1e-9, 3, [0.5, 2.0]], [0, 0.0, -1.0, np.nan, [1.0, 0.0]]),
    ("a probability", [0, 1, 0.5, [0.0, 1.0]], [1.1, -0.1, np.nan, [0.5, 2.0]]),
])  # fmt: skip
def test_rules(rule, good, bad):
    for x in good:
        require("call", "x", x, rule)
    for x in bad:
        with pytest.raises(ValueError, match=f"call: x must be {rule}"):
            require("call", "x", x, rule)


def test_shapes():
    assert shape_of("call", None, 1.0, 2) == ()
    assert shape_of("call", None, np.zeros((2, 1)), np.zeros(3)) == (2, 3)
    assert shape_of("call", 4, 1.0) == (4,)
    assert shape_of("call", np.int64(4), 1.0) == (4,)
    assert shape_of("call", [4, 3], np.zeros(3)) == (4, 3)
    assert sizes("call", ()) == ()
    with pytest.raises(ShapeError, match="call"):
        shape_of("call", 3, np.zeros((2, 3)))

"""Jumps of f that a solution meets without being told of them."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.integrate import Event, solve

OPTIONS = {"method": "dopri5", "rtol": 1e-8, "atol": 1e-10}


def slower(t, y):
    if y > 0.5:
        return -2.0 * y
    return -0.5 * y


def exact(y0):
    """y(2): it takes log(y₀ / ½) / 2 to the jump."""
    return 0.5 * np.exp(-0.5 * (2.0 - np.log(y0 / 0.5) / 2))


def test_a_jump_in_y_is_named_and_warned_of():
    end = lambda y0, **how: solve(slower, (0.0, 2.0), y0, **OPTIONS, **how)
    path = end(1.0)
    assert abs(path.last - exact(1.0)) < 1e-7
    assert "f jumps at t = 0.3465" in path.advice
    assert "integrate.Event" in path.advice
    with pytest.warns(RuntimeWarning, match="does not see that a jump moves"):
        ad.grad(lambda y0: end(y0).last)(1.0)
    # what it advises has the right derivative
    fast, slow = (lambda t, y: -2.0 * y), (lambda t, y: -0.5 * y)
    change = Event(lambda t, y: y - 0.5, terminal=False, then=slow)
    found = ad.grad(lambda y0: solve(fast, (0.0, 2.0), y0, events=[change], **OPTIONS).last)(1.0)
    assert abs(found - (exact(1.0 + 1e-5) - exact(1.0 - 1e-5)) / 2e-5) < 1e-7


def test_what_is_no_jump_is_not_named():
    kink = solve(lambda t, y: -2.0 * np.maximum(y, 0.5), (0.0, 1.0), 1.0, **OPTIONS)
    steep = solve(lambda t, y: 1e3 * np.cos(t) * np.exp(-1e4 * (t - 0.5) ** 2) - y, (0.0, 1.0), 1.0, **OPTIONS)
    stop = solve(lambda t, y: -2.0 * y if t < 0.3 else -y, (0.0, 1.0), 1.0, stops=(0.3,), **OPTIONS)
    assert [path.advice for path in (kink, steep, stop)] == ["", "", ""]

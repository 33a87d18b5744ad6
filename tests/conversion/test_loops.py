"""Loops of converted code."""

import numpy as np
import pytest

import adjoint as ad


def view_by_number(u):
    """A view whose size is not known in the body keeps the loop from being traced once."""
    z = u * 1.0
    b = 0.3
    for i in range(12):
        b = np.sin(np.sum(z[1:][:i]))
        z[1:] = np.tanh(np.sin(b)) + 0.3
    return np.sum(z) + b


def test_views_of_a_body_that_is_given_up_are_gone() -> None:
    u = np.array([0.1, 0.5, 0.9])
    assert ad.jit(view_by_number)(u) == pytest.approx(view_by_number(u), rel=1e-14)
    assert ad.trace(view_by_number)(u)(2 * u) == pytest.approx(view_by_number(2 * u), rel=1e-14)
    step = 1e-6 * np.array([1.0, -0.5, 0.7])
    slope = (view_by_number(u + step) - view_by_number(u - step)) / 2
    assert ad.jit(ad.grad(view_by_number))(u) @ step == pytest.approx(slope, rel=1e-6)

"""Distances from kinks and jumps, against where differences of the primitive itself see them."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.audit.distances import non_smooth
from adjoint.ops.kinks import second_gap

UNARY = {
    "absolute": (np.abs, 0.0),
    "floor": (np.floor, 2.0),
    "ceil": (np.ceil, -1.0),
    "rint": (np.rint, 1.5),
    "trunc": (np.trunc, 3.0),
    "sign": (np.sign, 0.0),
    "relu": (lambda x: np.maximum(x, 0.0), 0.0),
    "clip": (lambda x: np.clip(x, -1.0, 0.5), 0.5),
    "remainder": (lambda x: x % 0.75, 1.5),
    "condition": (lambda x: np.where(x > 0.3, x, 0.3), 0.3),
}


@pytest.mark.parametrize("name", UNARY)
def test_the_distance_is_how_far_one_can_go_before_the_slope_changes(name):
    """A difference that is zero for straight lines is not small over the point; elsewhere it is."""
    f, point = UNARY[name]
    for offset in (0.125, -0.0625):
        distance = ad.kinks(f)(point + offset).margin
        assert distance == pytest.approx(abs(offset), rel=1e-12)
    bend = lambda x, h: abs(f(x + h) - 2 * f(x + h / 3) + f(x - h / 3))  # zero for straight lines
    assert bend(point, 1e-3) > 1e-4
    assert bend(point + 0.125, 1e-3) < 1e-12


def test_truncation_does_not_jump_at_zero():
    assert ad.kinks(np.trunc)(0.0).verdict == "smooth"
    assert ad.kinks(np.trunc)(0.25).margin == 0.75


def test_gaps_of_extrema_against_sorting():
    x = np.random.default_rng(0).normal(size=(3, 4, 5))
    for axes in ((0,), (1, 2), (0, 1, 2), (-1,)):
        moved = np.moveaxis(x, axes, range(-len(axes), 0))
        lines = np.sort(moved.reshape(*moved.shape[: x.ndim - len(axes)], -1), axis=-1)
        np.testing.assert_allclose(second_gap(x, axes, 1), lines[..., -1] - lines[..., -2])
        np.testing.assert_allclose(second_gap(x, axes, -1), lines[..., 1] - lines[..., 0])


def test_whole_numbers_do_not_move():
    op = ad.trace(lambda x: x < 2)(1).program.equations[0].op
    assert non_smooth(op, [2, 2], [False]) is None
    assert non_smooth(op, [2.0, 2], [False]) is not None

"""The branches of a program at a kink: which are possible together."""

import numpy as np

import adjoint as ad
from adjoint.audit.branches import Branches


def runs(f, x):
    """All runs: the choices of each, and its gradients."""
    program, waiting, found = ad.trace(f)(x).program, [()], {}
    while waiting:
        branches = Branches(waiting.pop(), x.size)
        _, (gradients,) = branches.run(program, [x], [np.eye(x.size)])
        waiting += branches.others()
        found[tuple(branches.taken)] = gradients
    return found


def test_only_combinations_that_some_direction_takes():
    lines = np.random.default_rng(0).normal(size=(4, 2))
    found = runs(lambda x: np.sum(np.abs(lines @ x)), np.zeros(2))
    assert len(found) == 8  # four lines through the origin cut the plane into eight sectors
    for choices, slopes in found.items():
        np.testing.assert_allclose(slopes, np.where(np.array(choices) == 0, 1, -1) @ lines)


def test_slopes_that_vanish_decide_nothing():
    assert list(runs(lambda x: np.sum(np.abs(x**2)), np.zeros(2))) == [()]
    assert list(runs(lambda x: np.maximum(x[0], x[0]), np.zeros(2))) == [()]

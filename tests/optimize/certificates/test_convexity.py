"""Convexity by samples, and kinds of stationary points."""

import numpy as np
import pytest

from adjoint.optimize import certificates

double_well = lambda x: np.sum((x**2 - 1) ** 2)


@pytest.mark.row("15.4.3", "A2.3.d")
def test_convex_functions_are_accepted_and_others_refuted():
    assert certificates.check_convex(lambda x: np.log(np.sum(np.exp(x))), np.zeros(4), radius=3.0)
    assert certificates.check_convex(lambda x: np.sum(np.abs(x)), np.ones(3), radius=3.0)
    quartic = certificates.check_convex(lambda x: np.sum(x**4), np.zeros(2))
    assert quartic.holds
    assert abs(quartic.least_curvature) < 1e-12  # strictly convex, with a Hessian that is zero at 0
    found = certificates.check_convex(double_well, np.zeros(2), radius=1.5)
    assert not found
    assert found.failed == "chord"
    w, v = found.at
    chord = [
        double_well(t * w + (1 - t) * v) - t * double_well(w) - (1 - t) * double_well(v) for t in np.linspace(0, 1, 99)
    ]
    assert max(chord) >= found.amount * 0.99
    assert not certificates.check_convex(np.sin, 0.5, radius=3.0)
    # a dent that chords of this length do not see
    dent = lambda x: 0.5 * x @ x - 2e-3 * np.exp(-1e4 * x @ x)
    assert certificates.check_convex(dent, np.zeros(1), radius=1.0, samples=8).holds
    hidden = lambda x: x[0] ** 2 + x[1] ** 2 + 3 * x[0] * x[1] * (1 + 0 * x[0])
    assert not certificates.check_convex(hidden, np.zeros(2))


@pytest.mark.row("15.4.3", "A2.3.d")
def test_a_domain_that_ends_within_reach_hides_nothing():
    """Samples without a value used to make every comparison pass."""
    ring = lambda x: np.where(np.sum(x * x) > 0.5, np.sum(x * x), np.nan)  # convex where it is, but with a gap
    wave = lambda x: np.where(np.sum(x) > 0.0, np.sum(np.cos(9.0 * x)), np.nan)
    for seed in range(4):
        assert certificates.check_convex(lambda x: -np.sum(np.log(x)), np.array([0.5]), seed=seed).holds
        assert certificates.check_convex(wave, np.array([0.5]), seed=seed).failed == "chord"
        assert not certificates.check_convex(lambda x: np.sum(np.log(x)), np.array([0.5]), seed=seed)
        assert certificates.check_convex(ring, np.ones(2), radius=2.0, seed=seed).failed == "chord"
    assert certificates.check_convex(lambda x: -np.sum(np.log(x)), -np.ones(1)).failed == "domain"


@pytest.mark.row("15.4.3")
def test_convexity_does_not_depend_on_units():
    for unit in (1e-10, 1.0, 1e10):
        assert not certificates.check_convex(lambda x, unit=unit: -unit * np.sum(x * x), np.zeros(2))
        assert not certificates.check_convex(lambda x, unit=unit: unit * (x[0] ** 2 - 1e-3 * x[1] ** 2), np.zeros(2))
        assert certificates.check_convex(lambda x, unit=unit: unit * np.sum(x * x), np.zeros(2))
    assert certificates.check_convex(lambda x: np.sum(np.sin(x) ** 2 + np.cos(x) ** 2 - 1.0), np.zeros(3))  # rounding


@pytest.mark.row("15.4.5", "A2.3.d")
def test_stationary_points_are_classified():
    kinds = {
        "minimum": lambda x: x[0] ** 2 + x[1] ** 2,
        "maximum": lambda x: -(x[0] ** 2) - 3 * x[1] ** 2,
        "saddle point": lambda x: x[0] ** 2 - x[1] ** 2,
        "degenerate": lambda x: x[0] ** 2 + x[1] ** 4,
        "not stationary": lambda x: x[0] + x[1] ** 2,
    }
    for kind, f in kinds.items():
        assert certificates.classify_stationary(f, np.zeros(2)).kind == kind
    assert certificates.classify_stationary(lambda p: p["a"] ** 2 - p["b"] ** 2, {"a": 0.0, "b": 0.0}).inertia == (
        1,
        0,
        1,
    )

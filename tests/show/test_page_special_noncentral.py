"""Noncentral distributions in a page, and where their integrals have their nodes."""

import numpy as np
import pytest
from scipy import special

from adjoint.ops.special.quadrature import Placed
from tests.show.evaluating import Case, check

pytestmark = pytest.mark.browser
RNG = np.random.default_rng(11)
COUNT = 100


def wide(low, high):
    return np.exp(RNG.uniform(np.log(low), np.log(high), COUNT))


def rows(*columns):
    return list(zip(*(np.asarray(c).tolist() for c in columns), strict=True))


FIRST, SECOND, SHIFT = wide(0.5, 50.0), wide(0.5, 50.0), wide(0.1, 60.0)
X = (FIRST + SHIFT) * wide(0.4, 1.8)
RATIO = (FIRST + SHIFT) / FIRST * wide(0.3, 3.0)
T, CENTRE = RNG.normal(size=COUNT) * 2, RNG.normal(size=COUNT)
CHI, FISHER = special.chndtr(X, FIRST, SHIFT), special.ncfdtr(FIRST, SECOND, SHIFT, RATIO)
STUDENT = special.nctdtr(FIRST, CENTRE, T)
CASES = [
    ("chndtr", Case([*rows(X, FIRST, SHIFT), (0.0, 1.0, 1.0), (np.inf, 1.0, 1.0), (2.0, 3.0, 0.0)], 1e-12)),
    ("chndtrix", Case(rows(CHI, FIRST, SHIFT), 1e-11)),
    ("chndtridf", Case(rows(X, CHI, SHIFT), 1e-10)),
    ("chndtrinc", Case(rows(X, FIRST, CHI), 1e-10)),
    ("ncfdtr", Case([*rows(FIRST, SECOND, SHIFT, RATIO), (2.0, 3.0, 0.0, 1.0), (2.0, 3.0, 1.0, 0.0)], 1e-12)),
    ("ncfdtri", Case(rows(FIRST, SECOND, SHIFT, FISHER), 1e-10)),
    ("nctdtr", Case(rows(FIRST, CENTRE, T), 1e-9)),  # SciPy's small tails are no better
    ("nctdtrit", Case(rows(FIRST, CENTRE, STUDENT), 1e-8)),
]
PLACES = {
    "laplace.chi_square_saddle": (X, FIRST, SHIFT),
    "laplace.chi_square_width": (X, FIRST, SHIFT),
    "laplace.ratio_saddle": (FIRST, SECOND, SHIFT, RATIO),
    "laplace.ratio_left": (FIRST, SECOND, SHIFT, RATIO),
    "laplace.ratio_width": (FIRST, SECOND, SHIFT, RATIO),
    "noncentral.scale_peak": (FIRST, CENTRE, T),
    "noncentral.scale_width": (FIRST, CENTRE, T, CENTRE),
    "noncentral.tail_peak": (FIRST, CENTRE, T, np.sign(T)),
    "noncentral.tail_side": (FIRST, CENTRE, T),
}


def test_values_are_those_of_scipy(opened):
    check(opened, *[case.of(name) for name, case in CASES])


def test_places_are_those_of_python(opened):
    check(opened, *[Case(rows(*xs), 1e-13, 1e-15).of(Placed(rule)) for rule, xs in PLACES.items()])

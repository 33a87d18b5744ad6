"""Noncentral distributions in a page, and where their integrals have their nodes."""

import numpy as np
import pytest
from scipy import special

from adjoint.ops.special.quadrature import Placed
from tests.show.evaluating import BY_NAME, RUN, Case, check, evaluating_page, found, written

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
    # SciPy searches these in steps that it ends early, and finds them from some starts only
    ("nctdtrinc", Case([(2.5, 0.4, 0.8), (6.0, 0.6, 0.9), (5.0, 0.7, -0.5), (4.5, 0.4, 0.9)], 1e-6)),
    ("nctdtridf", Case([(0.2, 1.3, 0.5), (0.76, 1.0, 2.0), (0.9277, -1.0, 0.5)], 1e-3)),
    ("ncfdtrinc", Case([(3.0, 10.0, 0.5, 1.2), (5.0, 4.0, 0.3, 1.5), (2.0, 20.0, 0.6, 2.0)], 1e-3)),
    ("ncfdtridfd", Case([(3.0, 0.5, 1.0, 1.2), (6.0, 0.7, 0.5, 1.6)], 1e-3)),
    ("ncfdtridfn", Case([(0.45, 5.0, 0.7, 0.8), (0.3, 4.0, 1.0, 0.9)], 1e-3)),
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


def test_inverses_give_the_probability_back(opened):
    """Where SciPy's own searches fail, its distribution functions tell."""
    rows = {
        "ncfdtridfn": ((FISHER, SECOND, SHIFT, RATIO), lambda z: special.ncfdtr(z, SECOND, SHIFT, RATIO), FISHER),
        "ncfdtridfd": ((FIRST, FISHER, SHIFT, RATIO), lambda z: special.ncfdtr(FIRST, z, SHIFT, RATIO), FISHER),
        "ncfdtrinc": ((FIRST, SECOND, FISHER, RATIO), lambda z: special.ncfdtr(FIRST, SECOND, z, RATIO), FISHER),
        "nctdtridf": ((STUDENT, CENTRE, T), lambda z: special.nctdtr(z, CENTRE, T), STUDENT),
        "nctdtrinc": ((FIRST, STUDENT, T), lambda z: special.nctdtr(FIRST, z, T), STUDENT),
    }
    cases = [written(BY_NAME[name], xs)[0] for name, (xs, _, _) in rows.items()]
    page = opened(evaluating_page(cases))
    for out, (_, forward, p) in zip(page.evaluate(RUN, cases), rows.values(), strict=True):
        z = found(out[0])
        inside = z < 1e99
        assert np.mean(inside) > 0.9
        np.testing.assert_allclose(forward(z)[inside], p[inside], 1e-8)

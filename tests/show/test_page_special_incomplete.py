"""Gamma and beta functions, complete and incomplete, their distributions and derivatives in parameters, in a page."""

import itertools

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.ops.special.gamma import Polygamma
from adjoint.ops.special.parameters import ParameterDerivative
from tests.show.evaluating import Case, check
from tests.show.test_page_recomputation import RECOMPUTED, arrays, typed

pytestmark = pytest.mark.browser
RNG = np.random.default_rng(7)
COUNT = 200
NAN, INF = np.nan, np.inf


def wide(low, high):
    """Samples between low and high, even in their logarithms."""
    return np.exp(RNG.uniform(np.log(low), np.log(high), COUNT))


def even(low=0.0, high=1.0):
    return RNG.uniform(low, high, COUNT)


def rows(*columns):
    return list(zip(*(np.asarray(c).tolist() for c in columns), strict=True))


def grid(*values, arguments=2):
    return list(itertools.product(values, repeat=arguments))


SHAPE, OTHER = wide(1e-3, 1e4), wide(1e-3, 1e4)
DEGREES = wide(0.1, 300.0)
COUNTED = np.floor(wide(1.0, 200.0))
TRIALS = COUNTED + np.floor(wide(1.0, 200.0))
MEAN = SHAPE / (SHAPE + OTHER)
NEAR_MEAN = np.clip(
    MEAN + 3 * RNG.normal(size=COUNT) * np.sqrt(MEAN * (1 - MEAN) / (SHAPE + OTHER + 1)), 1e-9, 1 - 1e-9
)
SIDES = RNG.normal(size=COUNT) * 5
SIDE = special.stdtr(DEGREES, SIDES)
EDGES = grid(0.0, 0.5, 1.0, 2.0, 10.0, INF, NAN, -1.0)
TRIPLES = grid(0.0, 0.5, 1.0, 3.0, NAN, -1.0, arguments=3)
FEW = grid(0.0, 1.0, 3.0, -1.0, arguments=3)

# rtol 1e-10: SciPy takes differences of log Γ; 1e-9: SciPy solves by its own rougher steps
CASES = [
    ("beta", Case(rows(SHAPE, OTHER), 1e-10, 1e-290)),
    ("beta", Case(rows(even(-20, 20), even(-20, 20)), 1e-12)),
    ("betaln", Case([*rows(SHAPE, OTHER), (1.0, 1.0), (0.0, 2.0), (-2.0, 1.0), (INF, 2.0)], 1e-10, 1e-14)),
    ("poch", Case(rows(wide(0.01, 1e3), wide(0.01, 100.0)), 1e-11)),
    ("poch", Case([(-3.0, 2.0), (-3.0, 5.0), (0.0, 0.0), (2.0, -1.0), (-2.5, 3.0), (1.5, 0.0), (3.0, INF)], 1e-13)),
    ("binom", Case(rows(even(-20, 20), even(-20, 20)), 1e-12)),
    ("binom", Case([*rows(TRIALS, COUNTED), (5.0, 7.0), (5.0, -1.0), (-2.0, 1.0), (0.0, 0.0), (NAN, 1.0)], 1e-11)),
    (
        "zeta",
        Case([*rows(1.0 + wide(1e-3, 60.0), wide(0.01, 100.0)), *grid(0.5, 1.0, 2.0, 3.0, -2.5, 0.0, NAN)], 1e-11),
    ),
    (
        "gammainc",
        Case([*rows(SHAPE, SHAPE * wide(0.3, 3.0)), *rows(wide(1e-9, 1.0), wide(1e-9, 9.0)), *EDGES], 1e-11, 1e-300),
    ),
    (
        "gammaincc",
        Case([*rows(SHAPE, SHAPE * wide(0.3, 3.0)), *rows(wide(1e-9, 1.0), wide(1e-9, 9.0)), *EDGES], 1e-11, 1e-300),
    ),
    ("gammaincinv", Case([*rows(SHAPE, even()), *rows(wide(0.1, 99.0), wide(1e-99, 1.0)), *EDGES], 1e-12, 1e-300)),
    ("gammainccinv", Case([*rows(SHAPE, even()), *rows(wide(0.1, 99.0), wide(1e-99, 1.0)), (2.0, 0.0)], 1e-12, 1e-300)),
    ("betainc", Case([*rows(SHAPE, OTHER, NEAR_MEAN), *rows(wide(1e-9, 1.0), wide(1e-9, 1.0), even())], 1e-11, 1e-200)),
    (
        "betaincc",
        Case([*rows(SHAPE, OTHER, NEAR_MEAN), *rows(wide(1e-9, 1.0), OTHER, even()), *TRIPLES], 1e-11, 1e-200),
    ),
    ("betaincinv", Case([*rows(SHAPE, OTHER, even()), *TRIPLES], 1e-11)),
    ("betainccinv", Case([*rows(SHAPE, OTHER, even()), *TRIPLES], 1e-11)),
    ("chdtr", Case([*rows(DEGREES, DEGREES * wide(0.3, 3.0)), *EDGES], 1e-12)),
    ("chdtrc", Case([*rows(DEGREES, DEGREES * wide(0.3, 3.0)), *EDGES], 1e-12)),
    ("chdtri", Case([*rows(DEGREES, even()), *EDGES], 1e-12)),
    ("chdtriv", Case(rows(even(), DEGREES), 1e-11)),
    ("gdtr", Case([*rows(wide(0.1, 9.0), DEGREES, DEGREES), *TRIPLES], 1e-12)),
    ("gdtrc", Case([*rows(wide(0.1, 9.0), DEGREES, DEGREES), *TRIPLES], 1e-12)),
    ("gdtria", Case(rows(even(), DEGREES, wide(0.1, 9.0)), 1e-11)),
    ("gdtrib", Case(rows(wide(0.1, 9.0), even(), DEGREES), 1e-11)),
    ("gdtrix", Case(rows(wide(0.1, 9.0), DEGREES, even()), 1e-11)),
    ("pdtr", Case([*rows(COUNTED, COUNTED * wide(0.5, 2.0)), *EDGES], 1e-12)),
    ("pdtrc", Case([*rows(COUNTED, COUNTED * wide(0.5, 2.0)), *EDGES], 1e-12)),
    ("pdtri", Case(rows(COUNTED, even()), 1e-12, dtypes=("int64", "float64"))),
    ("pdtrik", Case(rows(even(), DEGREES), 1e-11)),
    ("btdtria", Case(rows(even(), DEGREES, even()), 1e-11)),
    ("btdtrib", Case(rows(DEGREES, even(), even()), 1e-11)),
    ("bdtr", Case([*rows(COUNTED + 0.5, TRIALS, even()), *FEW], 1e-12, 1e-200, ("float64", "int64", "float64"))),
    ("bdtrc", Case([*rows(COUNTED + 0.5, TRIALS, even()), *FEW], 1e-12, 1e-200, ("float64", "int64", "float64"))),
    ("bdtri", Case([*rows(COUNTED, TRIALS, even()), *FEW], 1e-11, 0.0, ("float64", "int64", "float64"))),
    ("bdtrik", Case(rows(even(), TRIALS, even()), 1e-9)),
    ("bdtrin", Case(rows(COUNTED, even(), even()), 1e-9)),
    ("nbdtr", Case(rows(COUNTED, TRIALS, even()), 1e-12, 1e-200, ("int64", "int64", "float64"))),
    ("nbdtrc", Case(rows(COUNTED, TRIALS, even()), 1e-12, 1e-200, ("int64", "int64", "float64"))),
    ("nbdtri", Case(rows(COUNTED, TRIALS, even()), 1e-11, 0.0, ("int64", "int64", "float64"))),
    ("nbdtrik", Case(rows(even(), TRIALS, even()), 1e-9)),
    ("nbdtrin", Case(rows(COUNTED, even(), even()), 1e-9)),
    ("fdtr", Case(rows(DEGREES, wide(0.1, 300.0), wide(0.1, 9.0)), 1e-12)),
    ("fdtrc", Case(rows(DEGREES, wide(0.1, 300.0), wide(0.1, 9.0)), 1e-12)),
    ("fdtri", Case([*rows(DEGREES, wide(0.1, 300.0), even()), (2.0, 3.0, 0.0), (2.0, -1.0, 0.5)], 1e-12)),
    ("fdtridfd", Case(rows(DEGREES, even(0.05, 0.4), 2.0 + SHAPE / 1e3), 1e-9)),
    ("stdtr", Case([*rows(DEGREES, SIDES), *EDGES], 1e-12)),
    ("stdtrit", Case([*rows(DEGREES, even()), *EDGES], 1e-12)),
    ("stdtridf", Case(rows(SIDE[DEGREES < 30], SIDES[DEGREES < 30]), 1e-6)),
]
MEMBERS = [
    *[(Polygamma(n), Case([*rows(wide(0.01, 100.0)), *rows(-wide(0.01, 20.0)), (0.0,), (INF,), (NAN,)], 1e-13))
      for n in (1, 2, 5)],
    *[(ParameterDerivative("gammainc", (n, 0)), Case([*rows(DEGREES, wide(0.1, 300.0)), *EDGES], 1e-9, 1e-200))
      for n in (1, 2)],
    *[(ParameterDerivative("betainc", (i, j, 0)), Case([*rows(DEGREES, OTHER, even()), *TRIPLES], 1e-9, 1e-14))
      for i, j in ((1, 0), (0, 1), (1, 1), (2, 0))],
]  # fmt: skip


def test_values_are_those_of_scipy(opened):
    check(opened, *[case.of(name) for name, case in CASES])


def test_derivatives_in_parameters_are_those_of_the_kernels(opened):
    check(opened, *[case.of(op) for op, case in MEMBERS])


STORIES = {
    "gamma": (lambda a, x: special.gammainc(a, x) * special.gammaincinv(a, x / 9), (1.5, 2.0), (2.5, 1.2)),
    "beta": (lambda a, x: special.betainc(a, 2.0, x) * special.bdtri(2, 5, x), (1.5, 0.3), (2.5, 0.7)),
}


@pytest.mark.parametrize("name", STORIES)
def test_other_inputs_in_all_modes(opened, name):
    function, here, there = STORIES[name]
    page = opened(ad.explain(function)(*here))
    for mode in ("reverse", "forward", "second"):
        out = page.evaluate(RECOMPUTED, {"inputs": [typed(x) for x in there], "mode": mode})
        story = ad.explain(function, mode=mode)(*there).story
        for field, attribute in (("value", "value"), ("adjoint", "adjoint"), ("second", "adjoint_tangent")):
            for v, got in zip(story.variables, arrays(out[field] or []), strict=False):
                expected = getattr(v, attribute)
                if expected is not None and got is not None:
                    np.testing.assert_allclose(
                        got, np.ravel(expected), 1e-9, 1e-12, err_msg=f"{mode}: {field} of {v.name}"
                    )

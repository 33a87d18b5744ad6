"""Hypergeometric functions with derivatives in their parameters, polynomials, and rarer distributions in a page."""

import itertools

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.ops.special.parameters import ParameterDerivative
from adjoint.ops.special.sequences import FunctionSequence
from tests.show.evaluating import Case, check
from tests.show.test_page_recomputation import RECOMPUTED, arrays, typed

pytestmark = pytest.mark.browser
RNG = np.random.default_rng(17)
COUNT = 120
POINTS = [0.0, 1.0, -1.0, 0.5, -2.0, 3.0]


def wide(low, high):
    return np.exp(RNG.uniform(np.log(low), np.log(high), COUNT))


def even(low, high):
    return RNG.uniform(low, high, COUNT)


def rows(*columns):
    return list(zip(*(np.asarray(c).tolist() for c in columns), strict=True))


def grid(*values):
    return list(itertools.product(*values))


DEGREES = RNG.integers(0, 30, COUNT)
ORDERS = RNG.integers(0, 6, COUNT)
SAMPLES = np.floor(wide(1.0, 300.0))
NEAR_ONE = np.concatenate([even(-0.95, 0.95)[:60], 1 - wide(1e-6, 0.2)[60:]])
INTEGER = ("int64", "float64")
HYPERGEOMETRIC = [
    ("hyp0f1", Case([*rows(wide(0.1, 50.0), even(-300, 300)), *grid(POINTS, POINTS)], 1e-11)),
    ("hyp0f1", Case(rows(wide(0.1, 50.0), -wide(100.0, 1e5)), 1e-10)),
    ("hyp1f1", Case([*rows(even(-5, 5), even(0.2, 9), even(-30, 30)), *grid(POINTS, POINTS, POINTS)], 1e-11)),
    ("hyp1f1", Case(rows(even(-10, 20), even(0.2, 9), even(-200, 100)), 1e-9)),
    ("hyp2f1", Case(rows(even(-3, 3), even(-3, 3), even(0.2, 6), NEAR_ONE), 1e-11)),
    ("hyp2f1", Case(rows(even(-3, 3), even(-3, 3), even(0.2, 6), -wide(0.1, 1e4)), 1e-10)),
    (
        "hyp2f1",
        Case(grid([0.5, 1.0, -2.0, 3.0], [1.0, -1.0, 0.25], [0.7, 2.0, 1.0], [0.0, 0.5, 1.0, -1.0, -2.0]), 1e-12),
    ),
    ("hyperu", Case(rows(even(0.1, 5), even(-2, 5), wide(0.1, 2.0)), 1e-8)),  # SciPy has no more digits
]
PARAMETERS = [
    *[("hyp0f1", orders, rows(wide(0.1, 50.0), even(-300, 300))) for orders in ((1, 0), (2, 0), (1, 1))],
    *[("hyp1f1", orders, rows(even(-3, 5), even(0.2, 9), even(-60, 40)))
      for orders in ((1, 0, 0), (0, 1, 0), (1, 1, 0))],
    *[("hyp2f1", orders, rows(even(-3, 3), even(-3, 3), even(0.2, 6), NEAR_ONE))
      for orders in ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (1, 0, 1, 0), (0, 0, 2, 1))],
    *[("hyperu", orders, rows(even(-4, 5), even(-5, 5), wide(0.1, 50.0)))
      for orders in ((1, 0, 0), (0, 1, 0), (1, 1, 0))],
]  # fmt: skip
SIMPLE = [
    "eval_legendre", "eval_sh_legendre", "eval_chebyt", "eval_chebyu", "eval_chebyc", "eval_chebys", "eval_sh_chebyt",
    "eval_sh_chebyu", "eval_laguerre",
]  # fmt: skip
POLYNOMIALS = [
    *[(name, Case(rows(DEGREES, even(-1, 1)), 1e-11, 1e-13, INTEGER)) for name in SIMPLE],
    *[(name, Case(rows(even(-0.5, 6), even(0.1, 0.95)), 1e-9)) for name in SIMPLE],
    *[(name, Case(rows(DEGREES, even(-3, 3)), 1e-11, 0.0, INTEGER)) for name in ("eval_hermite", "eval_hermitenorm")],
    ("eval_jacobi", Case(rows(DEGREES, even(-0.9, 5), even(-0.9, 5), even(-1, 1)), 1e-11, 1e-13)),
    ("eval_jacobi", Case(rows(even(0, 6), even(-0.9, 5), even(-0.9, 5), even(-0.5, 0.99)), 1e-9)),
    ("eval_sh_jacobi", Case(rows(DEGREES, even(3, 5), even(0.1, 2), even(0, 1)), 1e-11, 1e-20)),
    ("eval_gegenbauer", Case(rows(DEGREES, even(-0.4, 5), even(-1, 1)), 1e-11, 1e-13)),
    ("eval_gegenbauer", Case(rows(even(0, 6), even(0.1, 5), even(-0.5, 1)), 1e-9)),
    (
        "eval_genlaguerre",
        Case(rows(DEGREES, even(-0.9, 5), wide(0.1, 30.0)), 1e-10, 0.0, ("int64", "float64", "float64")),
    ),
    ("eval_genlaguerre", Case(rows(even(0, 9), even(-0.9, 5), wide(0.1, 20.0)), 1e-10)),
    ("lpmv", Case(rows(ORDERS, RNG.integers(0, 12, COUNT), even(-1, 1)), 1e-11)),
    ("lpmv", Case(rows(ORDERS, even(0, 9), even(-0.5, 0.99)), 1e-8)),
    ("lpmv", Case(rows(-ORDERS, even(0, 9), even(-0.2, 0.99)), 1e-8)),
]
SIDE = [0.0, 1.0, -1.0, 0.5, 3.0, np.inf, -np.inf, np.nan]
COUNTS = [0.0, 1.0, 3.0, 30.0]
RARER = [
    ("expn", Case([*rows(SAMPLES, wide(1e-5, 100.0)), *grid(COUNTS, [0.0, 1.0, -1.0, np.inf])], 1e-12, 0.0, INTEGER)),
    ("owens_t", Case([*rows(even(-5, 5), even(-5, 5)), *rows(wide(1.0, 30.0), even(0, 5)), *grid(SIDE, SIDE)], 1e-12)),
    ("tklmbda", Case([*rows(even(-3, 3), even(-2, 2)), (0.0, 0.0), (1.0, 1.0), (np.nan, 1.0)], 1e-9, 1e-13)),
    ("voigt_profile", Case(rows(even(-9, 9), wide(0.1, 5.0), wide(1e-8, 10.0)), 1e-12)),
    ("voigt_profile", Case(grid([0.0, 1.0, -2.0, np.nan], [0.0, 1.0], [0.0, 0.5]), 1e-13)),
    ("nrdtrimn", Case(rows(even(0, 1), wide(0.1, 5.0), even(-3, 3)), 1e-11, 1e-13)),
    ("nrdtrisd", Case(rows(even(-3, 3), even(0, 0.45), even(-3, 3)), 1e-12)),
    *[(name, Case([*rows(SAMPLES, even(0, 1)), *grid([1.0, 3.0, 30.0], [0.0, 0.1, 1.0])], 1e-11, 1e-300, INTEGER))
      for name in ("smirnov", "smirnovp", "smirnovi")],
]  # fmt: skip


def test_hypergeometric_values_are_those_of_scipy(opened):
    check(opened, *[case.of(name) for name, case in HYPERGEOMETRIC])


def test_derivatives_in_parameters_are_those_of_the_kernels(opened):
    check(opened, *[Case(xs, 1e-8).of(ParameterDerivative(name, orders)) for name, orders, xs in PARAMETERS])


def test_polynomials_and_rarer_distributions_are_those_of_scipy(opened):
    check(opened, *[case.of(name) for name, case in [*POLYNOMIALS, *RARER]])


def test_sequences_of_the_second_kind_are_those_of_scipy(opened):
    points = [0.0, 0.5, -0.9, 0.3, 1.0, -1.0, 1.001, 1.5, 4.0, 30.0, np.nan]  # below -1.02 SciPy loses digits
    few = [0.25, -0.9, 1.01, 1.5, 3.0, np.nan]
    single, table = FunctionSequence("lqn", (12,)), FunctionSequence("lqmn", (3, 6))
    check(opened, Case(points, 1e-10, 1e-14).of(single), Case(few, 1e-10, 1e-14).of(table))


def mixed(a, x):
    return special.hyp2f1(a, 1.5, 2.5, x) * special.eval_legendre(3, x) + special.hyp1f1(a, 2.0, x) * special.hyp0f1(
        a, x
    )


def test_other_inputs_in_all_modes(opened):
    page = opened(ad.explain(mixed)(0.4, 0.3))
    for mode in ("reverse", "forward", "second"):
        out = page.evaluate(RECOMPUTED, {"inputs": [typed(1.2), typed(0.6)], "mode": mode})
        story = ad.explain(mixed, mode=mode)(1.2, 0.6).story
        for field, attribute in (("value", "value"), ("adjoint", "adjoint"), ("second", "adjoint_tangent")):
            for v, got in zip(story.variables, arrays(out[field] or []), strict=False):
                expected = getattr(v, attribute)
                if expected is not None and got is not None:
                    np.testing.assert_allclose(
                        got, np.ravel(expected), 1e-10, 1e-12, err_msg=f"{mode}: {field} {v.name}"
                    )

"""Elliptic integrals, Jacobi's functions and the arithmetic-geometric mean in a page."""

import itertools

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.ops.special.carlson import CarlsonIntegral
from tests.show.evaluating import Case, check
from tests.show.test_page_recomputation import RECOMPUTED, arrays, typed

pytestmark = pytest.mark.browser
RNG = np.random.default_rng(13)
COUNT = 200
EDGES = [0.0, 1.0, -1.0, 0.5, 3.0, np.inf, np.nan]


def wide(low, high):
    return np.exp(RNG.uniform(np.log(low), np.log(high), COUNT))


def rows(*columns):
    return list(zip(*(np.asarray(c).tolist() for c in columns), strict=True))


A, B, C, D = (wide(1e-4, 1e4) for _ in range(4))
ANGLE, PARAMETER = RNG.uniform(-20, 20, COUNT), 1 - wide(1e-6, 100.0)
PAIRS, TRIPLES = (list(itertools.product(EDGES, repeat=k)) for k in (2, 3))
NONE = np.zeros(COUNT)
CASES = [
    ("elliprc", Case([*rows(A, B), *rows(A, -B), *rows(A, A * (1 + wide(1e-9, 1.0))), *PAIRS], 1e-14)),
    ("elliprf", Case([*rows(A, B, C), *rows(NONE, B, C), *TRIPLES], 1e-14)),
    ("elliprd", Case([*rows(A, B, C), *rows(NONE, B, C), *TRIPLES], 1e-14)),
    ("elliprg", Case([*rows(A, B, C), *rows(NONE, B, C), *TRIPLES], 1e-14)),
    ("elliprj", Case([*rows(A, B, C, D), *rows(A, B, C, -D), *rows(NONE, B, C, D)], 1e-13)),
    ("agm", Case([*rows(A, B), *rows(-A, -B), *PAIRS], 1e-14)),
    ("ellipkinc", Case([*rows(ANGLE, PARAMETER), *rows(ANGLE / 10, PARAMETER), *PAIRS], 1e-14)),
    ("ellipeinc", Case([*rows(ANGLE, PARAMETER), *rows(ANGLE / 10, PARAMETER), *PAIRS], 1e-14)),
    ("ellipj", Case([*rows(ANGLE / 3, RNG.uniform(0, 1, COUNT)), *PAIRS], 1e-13, 1e-15)),
]
MEMBERS = [
    (CarlsonIntegral(powers), Case([*rows(A, B, C, D), *rows(NONE, B, C, D)], 1e-13))
    for powers in ((1, 0, 0, 1), (0, 0, 2, 0))
]


def test_values_are_those_of_scipy(opened):
    check(opened, *[case.of(op) for op, case in [*CASES, *MEMBERS]])


def amplitudes(u, x):
    return special.ellipj(u, x)[1] * special.elliprd(u, x, 1.1) + special.ellipkinc(u, x) * special.ellipeinc(u, x)


def test_other_inputs_in_all_modes(opened):
    page = opened(ad.explain(amplitudes)(0.4, 0.3))
    for mode in ("reverse", "forward", "second"):
        out = page.evaluate(RECOMPUTED, {"inputs": [typed(1.2), typed(0.6)], "mode": mode})
        story = ad.explain(amplitudes, mode=mode)(1.2, 0.6).story
        for field, attribute in (("value", "value"), ("adjoint", "adjoint"), ("second", "adjoint_tangent")):
            for v, got in zip(story.variables, arrays(out[field] or []), strict=False):
                expected = getattr(v, attribute)
                if expected is not None and got is not None:
                    np.testing.assert_allclose(
                        got, np.ravel(expected), 1e-10, 1e-12, err_msg=f"{mode}: {field} {v.name}"
                    )

"""Functions with parameters of a complex argument in a page; polynomials beside mpmath, as SciPy has fewer digits."""

import mpmath
import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.ops.special.carlson import CarlsonIntegral
from tests.show.evaluating import BY_NAME, RUN, Case, check, evaluating_page, found, written
from tests.show.test_page_recomputation import RECOMPUTED, typed

pytestmark = pytest.mark.browser
RNG = np.random.default_rng(19)
COUNT = 40


def even(low, high):
    return RNG.uniform(low, high, COUNT)


def plane(size):
    return even(-size, size) + 1j * even(-size, size)


def gauss(scale, b, c):
    """scale(n) ₂F₁(-n, b(n), c, (1-x)/2)."""
    return lambda n, x: scale(n) * mpmath.hyp2f1(-n, b(n), c, (1 - x) / 2)


CARLSON = {"elliprc": 2, "elliprf": 3, "elliprd": 3, "elliprg": 3, "elliprj": 4}
WHOLE = RNG.integers(0, 20, COUNT).astype(float)
LEGENDRE = gauss(lambda n: 1, lambda n: n + 1, 1)
CHEBYSHEV = gauss(lambda n: 1, lambda n: n, 0.5)
SECOND = gauss(lambda n: n + 1, lambda n: n + 2, 1.5)
ROWS = [
    ("hyp0f1", mpmath.hyp0f1, (even(0.2, 9), plane(60))),
    ("hyp1f1", mpmath.hyp1f1, (even(-4, 6), even(0.2, 9), plane(30))),
    ("hyp2f1", mpmath.hyp2f1, (even(-3, 3), even(-3, 3), even(0.2, 6), plane(3))),
    ("hyp2f1", mpmath.hyp2f1, (even(-3, 3), even(-3, 3), even(0.2, 6), 1 + plane(0.2))),
    ("eval_jacobi", mpmath.jacobi, (WHOLE, even(-0.5, 4), even(-0.5, 4), plane(2))),
    ("eval_jacobi", mpmath.jacobi, (even(0, 6), even(-0.5, 4), even(-0.5, 4), plane(1))),
    ("eval_gegenbauer", mpmath.gegenbauer, (WHOLE, even(0.1, 4), plane(2))),
    ("eval_gegenbauer", mpmath.gegenbauer, (even(0, 6), even(0.1, 4), plane(1))),
    *[("eval_legendre", LEGENDRE, (n, plane(1))) for n in (WHOLE, even(0, 6))],
    *[("eval_chebyt", CHEBYSHEV, (n, plane(1))) for n in (WHOLE, even(0, 6))],
    *[("eval_chebyu", SECOND, (n, plane(1))) for n in (WHOLE, even(0, 6))],
    ("eval_sh_legendre", lambda n, x: LEGENDRE(n, 2 * x - 1), (WHOLE, plane(1))),
    ("eval_sh_chebyt", lambda n, x: CHEBYSHEV(n, 2 * x - 1), (WHOLE, plane(1))),
    ("eval_sh_chebyu", lambda n, x: SECOND(n, 2 * x - 1), (WHOLE, plane(1))),
    ("eval_chebyc", lambda n, x: 2 * CHEBYSHEV(n, x / 2), (WHOLE, plane(1))),
    ("eval_chebys", lambda n, x: SECOND(n, x / 2), (WHOLE, plane(1))),
    ("eval_genlaguerre", mpmath.laguerre, (WHOLE, even(-0.5, 4), plane(9))),
    ("eval_genlaguerre", mpmath.laguerre, (even(0, 6), even(-0.5, 4), plane(9))),
    ("eval_laguerre", lambda n, x: mpmath.laguerre(n, 0, x), (WHOLE, plane(9))),
    (
        "eval_sh_jacobi",
        lambda n, p, q, x: mpmath.jacobi(n, p - q, q - 1, 2 * x - 1) / mpmath.binomial(2 * n + p - 1, n),
        (WHOLE, even(3, 4), even(0.5, 2), plane(1)),
    ),
]


def test_values_are_those_of_mpmath(opened):
    cases = [written(BY_NAME[name], xs)[0] for name, _, xs in ROWS]
    page = opened(evaluating_page(cases))
    for (name, function, xs), out in zip(ROWS, page.evaluate(RUN, cases), strict=True):
        assert isinstance(out, list), (name, out)
        with mpmath.workdps(30):
            expected = [complex(function(*map(mpmath.mpmathify, point))) for point in zip(*xs, strict=True)]
        np.testing.assert_allclose(found(out[0]), expected, 1e-11, err_msg=name)


def right():
    return np.abs(even(0, 3)) + 1j * even(-3, 3)


def test_elliptic_integrals_are_those_of_scipy(opened):
    rows = {name: list(zip(*(right() for _ in range(count)), strict=True)) for name, count in CARLSON.items()}
    rows["elliprc"] += list(zip(plane(3), plane(3), strict=True))
    rows["elliprf"] += [(0j, 0j, 1j), (0j, 1j, 2 + 0j)]
    for powers in ((1, 0, 0, 1), (0, 0, 2, 0)):
        rows[CarlsonIntegral(powers)] = [*rows["elliprj"], (0j, 1j, 2 + 1j, 0.3 + 0j)]
    check(opened, *[Case(samples, 1e-12).of(name) for name, samples in rows.items()])


def test_other_inputs(opened):
    def size(x):
        return np.abs(special.hyp2f1(0.5, 1.2, 2.0, 1j * x) * special.eval_legendre(3, x + 0.5j))

    page = opened(ad.explain(size)(0.4))
    out = page.evaluate(RECOMPUTED, {"inputs": [typed(1.3)], "mode": "reverse"})
    story = ad.explain(size)(1.3).story
    np.testing.assert_allclose(out["adjoint"][0], story.inputs[0].adjoint, 1e-9)

"""Complex numbers in a page: values beside NumPy's, and explanations that are computed again."""

import itertools

import numpy as np
import pytest

from tests.show.array_primitives import COMPLEX_FAMILIES, complex_
from tests.show.evaluating import BY_NAME, RUN, check, evaluating_page, found, written

pytestmark = pytest.mark.browser
PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 1e-9, -1e-9, 30.0, -700.0]
WILD = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan]


def grid(parts):
    pairs = np.array(list(itertools.product(parts, repeat=2)))
    z = np.empty(len(pairs), complex)
    z.real, z.imag = pairs.T
    return z


def names(opened):
    return opened(evaluating_page()).evaluate("Object.keys(complexes.of)")


def test_functions_of_complex_numbers(opened):
    rng = np.random.default_rng(0)
    near = np.exp(1j * rng.uniform(-np.pi, np.pi, 20)) * (1 + 1e-12 * rng.normal(size=20))  # |z| = 1
    plain = rng.normal(size=60) * 3 + 3j * rng.normal(size=60)
    moderate = np.concatenate([grid(PARTS), plain, near])
    rows = []
    for name in names(opened):
        op = BY_NAME[name]
        power = name in ("power", "float_power", "square")  # of 1e200 it is NaN or infinite, by chance
        z = moderate if power else np.concatenate([moderate, grid([1e-200, 1e200, 1])])
        others = grid(PARTS[:9]) if power else np.concatenate([z[:40:3], z[-40::3]])
        rows.append((op, [z] if op.ufunc.nin == 1 else [z[:, None], others], 2e-13, 1e-300))
    check(opened, *rows)


def test_signs_at_the_branch_cuts(opened):
    """Zeros have signs, and these say on which side of a cut a number lies."""
    z = grid([-3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0])
    z = z[(z.real == 0) | (z.imag == 0)]
    curves = ["sqrt", "log", "exp", *(a + b + c for a in ("", "arc") for b in ("sin", "cos", "tan") for c in ("", "h"))]
    cases = [written(BY_NAME[name], [z]) for name in curves]
    outs = opened(evaluating_page()).evaluate(RUN, [case for case, _ in cases])
    wrong = []
    for name, (_, (expected,)), (out,) in zip(curves, cases, outs, strict=True):
        got = found(out)
        for a, b in ((got.real, expected.real), (got.imag, expected.imag)):
            wrong += [(name, z[k], got[k], expected[k]) for k in np.flatnonzero(np.signbit(a) != np.signbit(b))]
    assert not wrong, "\n".join(map(str, wrong))


def test_parts_that_are_infinite_or_nan(opened):
    z = grid(WILD)
    rows = []
    for name in names(opened):
        op = BY_NAME[name]
        rows.append((op, [z] if op.ufunc.nin == 1 else [z[:, None], z[::3]], 1e-14, 0.0))
    check(opened, *rows)


def test_arrays_of_complex_numbers(opened):
    draw = complex_(np.random.default_rng(1))
    rows = [(op, xs, 1e-13, 1e-15) for family in COMPLEX_FAMILIES for op, xs in family(draw)]
    narrow = lambda op: getattr(op, "dtype", "") in ("float32", "float16", "complex64")
    check(opened, *[(op, xs, 1e-6, 0.0) if narrow(op) else (op, xs, r, a) for op, xs, r, a in rows])

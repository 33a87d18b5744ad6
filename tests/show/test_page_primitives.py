"""The values that a page computes, beside NumPy's and SciPy's, in a browser."""

import itertools

import numpy as np
import pytest

from adjoint.show.page.rules import named
from tests.show.array_primitives import FAMILIES, real
from tests.show.evaluating import BY_NAME, RUN, check, evaluating_page, written

pytestmark = pytest.mark.browser
INTEGERS = {
    "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "gcd", "lcm", "bitwise_count",
}  # fmt: skip
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, np.inf, -np.inf, np.nan, 1e-300, 1e300, 1e-8])
# What is compared with looser bounds: SciPy's own methods differ from the page's in the last digits.
LOOSE = {"gamma": 2e-13, "rgamma": 2e-13, "gammaln": 1e-12, "loggamma": 1e-12, "psi": 1e-11, "ndtr": 1e-13,
         "log_ndtr": 1e-12, "erfc": 1e-13, "erfcx": 1e-12, "logit": 1e-13, "kl_div": 1e-12, "pseudo_huber": 1e-8,
         "boxcox": 1e-12, "boxcox1p": 1e-12, "inv_boxcox": 1e-12, "inv_boxcox1p": 1e-12, "cosdg": 1e-11, "sindg": 1e-11,
         "exp10": 1e-13, "power": 1e-13, "float_power": 1e-13}  # fmt: skip


def arguments(name, arity, rng):
    """Special values in all combinations, and random ones."""
    if name in INTEGERS:
        pool = rng.integers(0 if "shift" in name else -40, 40 if "shift" not in name else 6, size=(arity, 30))
        return [np.abs(row) if name in ("left_shift", "right_shift") else row for row in pool]
    if name == "ldexp":
        return [np.repeat([0.0, 1.5, -2.0, np.inf, np.nan], 5), np.tile([0, 3, -4, 60, -60], 5)]
    random = rng.normal(scale=3, size=(arity, 40))
    grid = np.array(list(itertools.product(SPECIAL, repeat=arity))).T
    return list(np.concatenate([grid, random], axis=1))


def test_every_function_of_numbers_is_numpys(opened):
    names = opened(evaluating_page()).evaluate("Object.keys(numbers.of)")
    assert not [name for name in names if name not in BY_NAME]
    rng = np.random.default_rng(0)
    rows = []
    for name in names:
        arity = BY_NAME[name].ufunc.nin
        xs = arguments(name, arity, rng)
        if name == "pseudo_huber" or name.startswith(("boxcox", "inv_boxcox")):  # SciPy's overflow earlier
            xs = [rng.uniform(0.1, 2.0, 40) for _ in range(arity)]
        elif name in LOOSE and name not in ("power", "float_power"):
            kept = np.all([(np.abs(x) < 1e2) | ~np.isfinite(x) for x in xs], axis=0)
            xs = [x[kept] for x in xs]
        rtol = LOOSE.get(name, 1e-14)
        rows.append((BY_NAME[name], xs, rtol, rtol * 0.1))
    check(opened, *rows)


def test_every_array_primitive_is_numpys(opened):
    rows = [(op, xs, 2e-14, 2e-15) for family in FAMILIES for op, xs in family(real(np.random.default_rng(1)))]
    narrow = lambda op, xs: np.asarray(xs[0]).dtype == np.float32 or getattr(op, "dtype", "") in ("float32", "float16")
    check(opened, *[(op, xs, 1e-6, 0.0) if narrow(op, xs) else (op, xs, r, a) for op, xs, r, a in rows])


def test_all_array_primitives_of_the_page_are_tried(opened):
    tried = {named(op)["name"] for family in FAMILIES for op, _ in family(real(np.random.default_rng(2)))}
    assert set(opened(evaluating_page()).evaluate("Object.keys(primitives.table)")) <= tried


EXTREMES = [0.0, -0.0, 1.0, -1.0, 2.0, 0.3, -1e-5, 1e-7, 3e-8, 1e-45, np.inf, np.nan, 1000.7]
FLOATING = ("add", "multiply", "divide", "subtract", "nextafter", "spacing", "sqrt", "exp", "maximum", "less", "rint")
TRUTH = ("add", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "maximum", "less", "divide")
WHOLE = (*TRUTH, "subtract", "negative", "absolute", "floor_divide", "remainder", "square", "gcd", "left_shift",
         "bitwise_count", "sign")  # fmt: skip


def narrow_rows(dtype):
    kind = np.dtype(dtype)
    if kind.kind == "f":
        x, names = np.array([*EXTREMES, np.finfo(kind).max, np.finfo(kind).min], kind), FLOATING
    elif kind.kind == "b":
        x, names = np.array([True, False]), TRUTH
    else:
        x, names = np.array([np.iinfo(kind).min, np.iinfo(kind).max, 0, 1, 2, 3, 7, 100], kind), WHOLE
        x = np.concatenate([x, -x[3:]]) if kind.kind == "i" else x
    for name in names:
        op = BY_NAME[name]
        xs = [x] if op.ufunc.nin == 1 else [x[:, None], x[None, :]]
        if name == "left_shift":
            xs[1] = np.array([[0, 1, 3]], kind)
        yield op, xs, {"float16": 1e-3, "float32": 2e-7}.get(dtype, 1e-14), 0.0


def test_dtypes_round_and_wrap_as_numpys(opened):
    """Narrow numbers: sums beyond their range, neighbors and spacings, truth values."""
    dtypes = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "bool", "float16", "float32"]
    check(opened, *[row for dtype in dtypes for row in narrow_rows(dtype)])


def test_what_is_not_computed_says_so(opened):
    big = written(BY_NAME["multiply"], [np.array(2**40), np.array(2**20)])[0]
    page = opened(evaluating_page())
    assert page.evaluate("primitives.reason({name: 'jv', title: 'jv'})") == "jv is not computed in the page"
    assert page.evaluate(RUN, [big]) == [{"error": "a whole number beyond 2⁵³"}]
    wide = "primitives.reason({name: 'add', title: 'add'}, ['float128'])"
    assert page.evaluate(wide) == "values of dtype float128 are not computed in the page"
    wrong = {"op": {"name": "Convert", "title": "convert", "parameters": {"dtype": "int8"}},
             "xs": [{"shape": [], "dtype": "float64", "value": 300.0}], "dtypes": ["int8"]}  # fmt: skip
    assert page.evaluate(RUN, [wrong]) == [{"error": "300 as int8, which does not hold it"}]

"""The values that a page computes, beside NumPy's and SciPy's, in a browser."""

import importlib
import itertools
import pkgutil

import numpy as np
import pytest

import adjoint as ad
import adjoint.ops.special
from adjoint.ops.compare import Exponent
from adjoint.ops.contract import Einsum, MatMul
from adjoint.ops.cumulative import ArgCumExtremum, CumProd, CumSum, LinearRecurrence
from adjoint.ops.index import Gather, LastWrite, ScatterSet, ScatterSum, Slice
from adjoint.ops.logsumexp import LogSumExp
from adjoint.ops.norm import Length
from adjoint.ops.pointwise import UFUNCS, MaskedProduct
from adjoint.ops.rearrange import Broadcast, Concatenate, Convert, Pad, Real, Reshape, Transpose
from adjoint.ops.reduce import ArgSort, Extremum, FlatReduction, Product, Sum
from adjoint.ops.select import Select, StopGradient
from adjoint.ops.special.gamma import Polygamma
from adjoint.show.rules import encoded, named

pytestmark = pytest.mark.browser

for module in pkgutil.iter_modules(adjoint.ops.special.__path__):  # SciPy's functions become primitives when imported
    importlib.import_module(f"adjoint.ops.special.{module.name}")
BY_NAME = {str(op): op for op in UFUNCS.values()}
INTEGERS = {
    "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "gcd", "lcm", "bitwise_count",
}  # fmt: skip
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, np.inf, -np.inf, np.nan, 1e-300, 1e300, 1e-8])
# What is compared with looser bounds: SciPy's own methods differ from the page's in the last digits.
LOOSE = {"gamma": 2e-13, "rgamma": 2e-13, "gammaln": 1e-12, "loggamma": 1e-12, "psi": 1e-11, "ndtr": 1e-13,
         "log_ndtr": 1e-12, "erfc": 1e-13, "erfcx": 1e-12, "logit": 1e-13, "kl_div": 1e-12, "pseudo_huber": 1e-8,
         "boxcox": 1e-12, "boxcox1p": 1e-12, "inv_boxcox": 1e-12, "inv_boxcox1p": 1e-12, "cosdg": 1e-11, "sindg": 1e-11,
         "exp10": 1e-13, "power": 1e-13, "float_power": 1e-13}  # fmt: skip
RUN = """cases => cases.map(({op, xs, dtypes}) => {
  const arrayed = xs.map((x) => arrays.decode(x.shape, x.dtype, x.value));
  if (primitives.reason(op)) return {error: primitives.reason(op)};
  try {
    const [z] = primitives.run(op, arrayed, dtypes);
    const word = (a) => (Object.is(a, -0) ? "-0" : Number.isFinite(a) ? a : String(a));
    return {shape: z.shape, data: Array.from(z.data, word)};
  } catch (problem) { return {error: problem.message}; }
})"""


@pytest.fixture(scope="module")
def blank():
    return ad.explain(np.sin)(1.0).html()


def written(op, xs):
    """A case for the page, and the value that it must give."""
    xs = [np.asarray(x) for x in xs]
    with np.errstate(all="ignore"):
        z = np.asarray(op.evaluate(*[x[()] if x.ndim == 0 else x for x in xs]))
    typed = [{"shape": list(x.shape), "dtype": str(x.dtype), **encoded(x)} for x in xs]
    return {"op": named(op), "xs": typed, "dtypes": [str(z.dtype)]}, z


def compare(page, cases, tolerances):
    found = page.evaluate(RUN, [case for case, _ in cases])
    words = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf, "-0": -0.0}
    wrong = []
    for (case, z), out, rtol in zip(cases, found, tolerances, strict=True):
        if "error" in out or out["shape"] != list(z.shape):
            wrong.append((case["op"], out))
            continue
        data = np.array([words.get(a, a) for a in out["data"]], float).reshape(z.shape)
        exact = z.dtype.kind in "biu"
        close = data == z if exact else np.isclose(data, z, rtol=rtol, atol=rtol * 0.1, equal_nan=True)
        for at in np.argwhere(~close)[:5]:
            values = [x["value"] if not x["shape"] else x["value"][at[-1]] for x in case["xs"] if len(x["shape"]) < 2]
            wrong.append((case["op"], values, f"{data[tuple(at)]} instead of {z[tuple(at)]}"))
    assert not wrong, "\n".join(map(str, wrong))


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


def test_every_function_of_numbers_is_numpys(opened, blank):
    page = opened(blank)
    names = page.evaluate("Object.keys(numbers.of)")
    assert not [name for name in names if name not in BY_NAME]
    numpy_own = {
        str(op) for function, op in UFUNCS.items() if getattr(np, getattr(function, "__name__", ""), 0) is function
    }
    assert numpy_own - {"matmul"} <= set(names)  # all of NumPy's
    rng = np.random.default_rng(0)
    cases, tolerances = [], []
    for name in names:
        arity = BY_NAME[name].ufunc.nin
        xs = arguments(name, arity, rng)
        if name == "pseudo_huber" or name.startswith(("boxcox", "inv_boxcox")):  # SciPy's overflow earlier
            xs = [rng.uniform(0.1, 2.0, 40) for _ in range(arity)]
        elif name in LOOSE and name not in ("power", "float_power"):
            kept = np.all([(np.abs(x) < 1e2) | ~np.isfinite(x) for x in xs], axis=0)
            xs = [x[kept] for x in xs]
        cases.append(written(BY_NAME[name], xs))
        tolerances.append(LOOSE.get(name, 1e-14))
    compare(page, cases, tolerances)


def reductions(rng):
    x = rng.normal(size=(2, 3, 4))
    special = np.array([[1.0, np.nan, 2.0], [np.inf, 1.0, -np.inf], [0.0, -0.0, 0.0]])
    ties = np.array([[1.0, 2.0, 2.0], [3.0, 3.0, 1.0]])
    for axes in ((), (0,), (1, 2), (0, 1, 2)):
        yield Sum(axes), [x]
        yield Product(axes), [x]
        yield Length(axes), [x]
        yield LogSumExp(axes), [x]
    for axes in ((0,), (0, 2)):
        for kind in ("max", "min"):
            yield Extremum(kind, axes), [x]
    for op in (Sum((1,)), Product((1,)), Extremum("max", (1,)), Extremum("min", (0,)), LogSumExp((1,)), CumSum(1)):
        yield op, [special]
    yield LogSumExp((0,)), [np.full((3, 2), -np.inf)]
    for kind in ("argmax", "argmin"):
        yield FlatReduction(kind, (1,)), [special]
        yield FlatReduction(kind, (0,)), [ties]
    for kind in ("any", "all", "count_nonzero"):
        yield FlatReduction(kind, (0,)), [np.array([[0.0, 1.0], [0.0, np.nan]])]
    for reverse in (False, True):
        yield CumSum(1, reverse), [x]
        yield LinearRecurrence(2, reverse), [x, x[::-1].copy()]
    yield CumProd(0), [x]
    yield ArgSort(1), [special]
    yield ArgSort(0), [ties]
    for kind in ("max", "min"):
        yield ArgCumExtremum(kind, 1), [special]
    yield Sum((0,)), [np.arange(100_000, dtype=np.float32) / 7]
    yield Sum((0,)), [np.array([True, False, True])]


def rearrangements(rng):
    x = rng.normal(size=(3, 4))
    yield Reshape((2, 6)), [x]
    yield Transpose((1, 0)), [x]
    yield Transpose((2, 0, 1)), [rng.normal(size=(2, 3, 4))]
    yield Broadcast((2, 3, 4)), [x]
    yield Broadcast((3, 4)), [x[:, :1]]
    yield Concatenate(1), [x, x[:, :2], x * 2]
    yield Concatenate(0), [np.arange(3), np.arange(2.0)]
    yield Pad(((1, 0), (2, 3))), [x]
    for dtype in ("float32", "int64", "bool", "float64"):
        yield Convert(np.dtype(dtype)), [np.array([1.7, -2.5, 0.0, 1e-9])]
    yield Real(), [x]
    yield StopGradient(), [x]
    yield Select(), [x, -x, x > 0]
    yield Select(), [np.nan, x, x > 0]
    yield MaskedProduct(), [np.array([0.0, 1.0, -0.0, 2.0]), np.array([np.inf, np.nan, np.nan, 3.0])]
    yield Exponent(), [np.array([1.0, 0.5, -3.0, 0.0, 1e-310, 1e308, np.inf])]
    for n in (1, 2, 5):
        yield Polygamma(n), [np.array([0.1, 0.7, 1.0, 2.5, 13.0, 40.0, np.inf, np.nan])]
    for items in ((0,), (-1, 2), ((None, None, -1),), ((1, None, 2), None, (0, -1, 1)), (None, (5, 9, None)),
                  ((-1, 0, -2), (None, None, None)), ((2, 0, -1), 1), (..., 0), (1, ..., None),
                  (..., (None, -1, None))):  # fmt: skip
        yield Slice(items), [x]
        part = np.asarray(Slice(items).evaluate(x)) * 3
        yield ScatterSum((3, 4), np.dtype(float), (("slice", items),)), [part]
        yield ScatterSet(("slice", items)), [x, part]
    rows, columns = np.array([0, 2, 2, -1]), np.array([1, 1, 1, 3])
    yield Gather(1), [x, rows]
    yield Gather(2), [x, rows[:, None], columns]
    yield ScatterSum((3, 4), np.dtype(float), (("gather", 2),)), [np.arange(4.0), rows, columns]
    yield (
        ScatterSum((3, 4), np.dtype(float), (("gather", 1), ("slice", (0,)))),
        [rng.normal(size=(4, 4)), np.ones(4), rows],
    )
    yield ScatterSet(("gather", 2)), [x, np.arange(4.0), rows, columns]
    yield LastWrite((3, 4)), [np.array([0, 2, 2, 1]), columns]


def products(rng):
    draw = lambda *shape: rng.normal(size=shape)
    for a, b in (
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 1, 2, 3), (2, 3, 2)),
    ):
        yield MatMul(), [draw(*a), draw(*b)]
    yield Einsum("ij,jk->ik"), [draw(2, 3), draw(3, 4)]
    yield Einsum("ij,ij->"), [draw(2, 3), draw(2, 3)]
    yield Einsum("bij,bj,i->b"), [draw(4, 2, 3), draw(4, 3), draw(2)]
    yield Einsum("ij->ji"), [draw(2, 3)]


@pytest.mark.parametrize("family", [reductions, rearrangements, products])
def test_every_array_primitive_is_numpys(opened, blank, family):
    cases = [written(op, xs) for op, xs in family(np.random.default_rng(1))]
    compare(opened(blank), cases, [1e-6 if z.dtype == np.float32 else 2e-14 for _, z in cases])


def test_all_array_primitives_of_the_page_are_tried(opened, blank):
    rng = np.random.default_rng(2)
    tried = {named(op)["name"] for family in (reductions, rearrangements, products) for op, _ in family(rng)}
    assert set(opened(blank).evaluate("[...primitives.names(), ...Object.keys(numbers.given)]")) == tried


def test_what_is_not_computed_says_so(opened, blank):
    page = opened(blank)
    assert page.evaluate("primitives.reason({name: 'jv', title: 'jv'})") == "jv is not computed in the page"
    big = written(BY_NAME["multiply"], [np.array(2**40), np.array(2**20)])[0]
    assert page.evaluate(RUN, [big]) == [{"error": "a whole number beyond 2⁵³"}]

"""Mathieu functions and spheroidal wave functions in a page: SciPy's, and by eigenvalues, equations and Wronskians."""

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.ops.special.eigenvectors import TridiagonalEigh
from adjoint.ops.special.quadrature import Placed
from adjoint.show.summaries import summary
from tests.show.evaluating import RUN, Case, check, evaluating_page, found, written
from tests.show.test_page_recomputation import RECOMPUTED, arrays, typed

pytestmark = pytest.mark.browser
NAN = float("nan")
FIELDS = {"value": "value", "adjoint": "adjoint", "tangent": "tangent", "second": "adjoint_tangent"}
ORDERS = [(m, q) for m in (0, 1, 2, 5, 12) for q in (-30.0, -2.0, 0.0, 0.3, 8.0, 150.0)]
WAVES = [(m, n, c) for m, n in ((0, 0), (0, 3), (1, 1), (2, 6)) for c in (0.2, 2.5, 9.0)]


def page_values(opened, **samples):
    """What the page gives for the samples of each function, result by result; SciPy is asked for nothing."""
    cases = []
    for name, rows in samples.items():
        case, _ = written(*Case([(1.0, 2.0, 1.5, 2.0)[: len(rows[0])]]).of(name)[:2])
        columns = np.array(rows).T
        xs = [{"shape": [len(rows)], "dtype": "float64", "value": column.tolist()} for column in columns]
        cases.append(case | {"xs": xs})
    outs = opened(evaluating_page(cases)).evaluate(RUN, cases)
    return [[found(part) for part in out] for out in outs]


def test_values_of_mathieu(opened):
    valid = [(m, q) for m, q in ORDERS if m > 0]
    strange = [(-1.0, 1.0), (1.5, 1.0), (NAN, 1.0), (1.0, NAN)]
    check(
        opened,
        Case([*ORDERS, *strange], 1e-13, 1e-13).of("mathieu_a"),
        Case([*valid, (0.0, 1.0)], 1e-13).of("mathieu_b"),
    )


def test_values_of_mathieu_for_any_q(opened):
    """Where q < 0 an odd order's a is the b of -q: SciPy leaves its branch for some of them."""
    a, b = page_values(opened, mathieu_a=[(9, 40.8), (5, 1e4)], mathieu_b=[(9, -40.8), (5, 1e4)])
    assert a[0][0] == b[0][0]
    k = np.arange(300)
    for value, corner in ((a[0][1], 1.0), (b[0][1], -1.0)):
        matrix = np.diag((2.0 * k + 1) ** 2) + 1e4 * (np.eye(300, k=1) + np.eye(300, k=-1))
        matrix[0, 0] += corner * 1e4
        np.testing.assert_allclose(value, np.linalg.eigvalsh(matrix)[2], rtol=1e-12)


def test_mathieu_functions(opened):
    samples = [(m, q, x) for m, q in ORDERS for x in (-200.0, 17.0, 90.0, 400.0)]
    rows = [Case(samples, 1e-12, 1e-12).of(name) for name in ("mathieu_cem", "mathieu_sem")]
    strange = [(-1.0, 1.0, 20.0), (1.5, 1.0, 20.0), (1.0, 1.0, NAN), (0.0, 1.0, 20.0)]
    rows += [Case(strange, 1e-13).of(name) for name in ("mathieu_cem", "mathieu_sem")]
    modified = [(m, q, x) for m in (1, 2, 4) for q in (3.0, 8.0, 60.0) for x in (-0.3, 0.0, 0.4, 1.5)]
    for name in ("mathieu_modcem1", "mathieu_modcem2", "mathieu_modsem1", "mathieu_modsem2"):
        rows += [Case(modified, 2e-10, 1e-12).of(name), Case([(1.0, -1.0, 0.2), (1.5, 1.0, 0.2)]).of(name)]
    check(opened, *rows)


def test_wronskians_of_modified_mathieu_functions(opened):
    """Of J's and Y's kind it is 2/π; SciPy loses digits where the first is small."""
    samples = [(m, q, x) for m in (1, 6, 11) for q in (0.2, 5.0, 90.0) for x in (0.1, 1.1, 2.0)]
    names = ("mathieu_modcem1", "mathieu_modcem2", "mathieu_modsem1", "mathieu_modsem2")
    first, second, odd_first, odd_second = page_values(opened, **dict.fromkeys(names, samples))
    for (y, dy), (z, dz) in ((first, second), (odd_first, odd_second)):
        np.testing.assert_allclose(y * dz - dy * z, 2 / np.pi, rtol=1e-11)


def test_places(opened):
    rng = np.random.default_rng(3)
    rows = [Case(list(map(tuple, rng.normal(size=(12, 3)))), 0.0).of(Placed("mathieu.side"))]
    rows += [Case(list(map(tuple, rng.normal(size=(12, 7)))), 0.0).of(Placed("mathieu.strongest"))]
    check(opened, *rows)


@pytest.mark.parametrize("kind", ["pro", "obl"])
def test_spheroidal(opened, kind):
    strange = [(2.0, 1.0, 1.0), (0.5, 1.0, 1.0), (-1.0, 1.0, 1.0), (0.0, 3.0, -2.0), (0.0, 0.0, 0.0)]
    angles = [(*wave, x) for wave in WAVES for x in (-0.9, 0.0, 0.4)]
    places = [(*wave, x) for wave in WAVES for x in ((1.05, 2.0, 7.0) if kind == "pro" else (0.0, 0.6, 4.0))]
    ends = [(0.0, 1.0, 2.0, x) for x in (-2.0, NAN)] + [(2.0, 1.0, 1.0, 0.5)]
    value = getattr(special, f"{kind}_cv")
    given = lambda samples: [(m, n, c, float(value(m, n, c)), x) for m, n, c, x in samples]
    loss = 5e-11 if kind == "obl" else 1e-11  # SciPy's own, near 0 for large c
    check(
        opened,
        Case([*WAVES, (0, 0, 40.0), *strange], 1e-12, 1e-13).of(f"{kind}_cv"),
        Case([*angles, *ends, (0.0, 1.0, 2.0, 1.0)], loss, 1e-12).of(f"{kind}_ang1"),
        Case([*places, *ends], loss, 1e-13).of(f"{kind}_rad1"),
        Case(given(angles), loss, 1e-12).of(f"{kind}_ang1_cv"),
        Case(given(places), loss, 1e-13).of(f"{kind}_rad1_cv"),
        Case(ends).of(f"{kind}_rad2"),
    )


def test_eigenvectors(opened):
    """What the rules are written with; two matrices beside each other."""
    d, e = np.array([(2.0 * k) ** 2 for k in range(30)]), np.linspace(2.0, -1.0, 29)
    stack = np.array([np.diag(d * s) + np.diag(e, 1) + np.diag(e, -1) for s in (1.0, -0.2)])
    check(opened, (TridiagonalEigh(), [stack], 1e-12, 1e-13))


def mathieu(q, x):
    even, slope = special.mathieu_cem(2, q, x)
    return special.mathieu_b(3, q) * even + slope * special.mathieu_modsem1(1, q, x * 0.02)[0]


def spheroidal(c, x):
    return special.pro_ang1(1, 2, c, x)[0] * special.obl_cv(0, 1, c) + special.obl_rad1(0, 1, c, x)[1]


def sequences(x, n):
    return special.smirnov(n, x) * special.smirnovi(4, x + 0.1)


@pytest.mark.parametrize(
    "function, here, there",
    [(mathieu, (0.5, 30.0), (4.5, 70.0)), (spheroidal, (0.5, 0.3), (2.5, 0.6)), (sequences, (0.3, 5), (0.45, 5))],
)
def test_other_inputs_for_given_orders(opened, function, here, there):
    """The rules are those for the orders of the story, which are whole numbers."""
    page = opened(ad.explain(function)(*here))
    for mode in ("reverse", "forward", "second"):
        out = page.evaluate(RECOMPUTED, {"inputs": list(map(typed, there)), "mode": mode})
        assert "value" in out, out
        story = ad.explain(function, mode=mode)(*there).story
        for field, attribute in FIELDS.items():
            for v, got in zip(story.variables, arrays(out[field] or []), strict=False):
                if (expected := getattr(v, attribute)) is not None:
                    assert got is not None, f"{mode}: {field} of {v.name}"
                    np.testing.assert_allclose(got, [expected], 1e-10, 1e-12, err_msg=f"{mode}: {field} of {v.name}")


def test_other_orders_are_refused(opened):
    page = opened(ad.explain(sequences)(0.3, 5))
    inputs = [typed(0.3), typed(np.int64(6))]
    assert "value" in page.evaluate(RECOMPUTED, {"inputs": inputs, "mode": "reverse"})  # its rule holds for any
    out = page.evaluate(RECOMPUTED, {"inputs": inputs, "mode": "second"})
    told = "the derivatives of smirnov in the page are for 5, not 6"
    assert out["problem"].startswith(told)
    page.fill("#inputs label:has-text('n') input", "6")
    page.click("[data-mode=second]")  # its mode stays, and goes on
    assert page.inner_text("#problem").startswith(told)
    assert page.get_attribute("[data-mode=reverse]", "aria-checked") == "true"
    page.fill("#inputs label:has-text('x') input", "0.25")
    assert page.inner_text("#problem") == ""
    assert page.evaluate("explanation.state.mode") == "reverse"
    assert summary(sequences(0.25, 6)) in page.inner_text("#results")


@pytest.mark.parametrize("kind, sign", [("pro", -1.0), ("obl", 1.0)])
def test_the_second_radial_function_by_its_wronskian(opened, kind, sign):
    """R₁ R₂′ - R₁′ R₂ = 1/(c (x² ∓ 1)); SciPy's second function fails it for many c and n."""
    samples = [(*wave, x) for wave in WAVES for x in (1.02, 1.5, 3.0, 9.0)]
    given = [(m, n, c, float(getattr(special, f"{kind}_cv")(m, n, c)), x) for m, n, c, x in samples]
    first, second = page_values(opened, **{f"{kind}_rad1": samples, f"{kind}_rad2": samples})
    case, _ = written(
        *Case([(1.0, 2.0, 3.0, float(getattr(special, f"{kind}_cv")(1, 2, 3)), 1.5)]).of(f"{kind}_rad2_cv")[:2]
    )
    case["xs"] = [
        {"shape": [len(given)], "dtype": "float64", "value": list(column)} for column in zip(*given, strict=True)
    ]
    (out,) = opened(evaluating_page([case])).evaluate(RUN, [case])
    c, x = (np.array(samples)[:, k] for k in (2, 3))
    for other in (second, [found(part) for part in out]):
        wronskian = first[0] * other[1] - first[1] * other[0]
        np.testing.assert_allclose(wronskian * c * (x * x + sign), 1.0, rtol=1e-10)
    far = [(m, n, c, 2000.0) for m, n, c in WAVES if c > 2]  # there it is like sin(cx - (n+1)π/2)/(cx)
    (((y, _),)) = page_values(opened, **{f"{kind}_rad2": far})
    for z, (_, n, c, x) in zip(y, far, strict=True):
        assert abs(z * c * x - np.sin(c * x - (n + 1) * np.pi / 2)) < 0.02

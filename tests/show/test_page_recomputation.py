"""A page that computes again for other inputs gives what Python gives for them: in all modes, for every variable."""

import json

import numpy as np
import pytest
from scipy.special import erf, expit, gammaln, jv, log_ndtr, logit, pbdv

import adjoint as ad
from adjoint.scipy.special import logsumexp
from adjoint.show.explanation.notation import number
from adjoint.show.explanation.summaries import summary
from adjoint.show.page.rules import encode
from tests.support.sweeps import sampled

pytestmark = pytest.mark.browser
RECOMPUTED = """({inputs, mode}) => {
  const {state} = window.explanation;
  const why = state.engine.reason(mode);
  if (why) return {why};
  const given = new Map();
  inputs.forEach((x, k) => { if (x) given.set(state.data.inputs[k], decoded(x)); });
  try {
    const found = state.engine.run(given, mode);
    const words = (data) => Array.from(data, (a) => Number.isFinite(a) ? a : String(a));
    const plain = (x) => x && (x.imaginary ? [words(x.data), words(x.imaginary)] : [words(x.data)]);
    return Object.fromEntries(Object.entries(found).map(([field, list]) => [field, list && list.map(plain)]));
  } catch (problem) { return {problem: problem.message}; }
}"""


def slides(x):
    a = x**2
    b = np.exp(a)
    c = a + b
    return np.sqrt(c) + np.cos(c)


def lecture(w2, w1, w0):
    v3 = expit(w0 + w1 + 1.5 * w2)
    v4 = expit(w0 + 1.5 * w1 - w2)
    return (0 - v3) ** 2 + (1 - v4) ** 2


def vectors(x, w, scale):
    h = np.tanh(w @ x) * scale
    p = h - logsumexp(h)
    return -np.sum(p * np.arange(4.0)) + np.max(x) + np.linalg.norm(w[0]) + np.prod(x) + np.cumsum(x)[1]


def pieces(x, y):
    z = np.where(x > y, x * y, y / x)
    return np.maximum(z, 0.5) * np.abs(x - 3) + erf(y) + gammaln(x) + np.minimum(x, y) ** 3 + np.hypot(x, y)


def indexed(x):
    y = np.zeros(6) + x[0]
    y[1:4] = x[:3] ** 2
    picked = x[np.array([0, 2, 2, 3])]
    return np.sum(y * 2) + picked @ picked + np.sum(x[::-1][:2]) + np.einsum("i,i->", x, x) + np.concatenate([x, y])[5]


def looped(x, n):
    total = x
    for k in range(n):
        total = np.sin(total) + x / (k + 1)
    return total


def averaged(x):
    x = x.reshape(2, 3)
    centered = (x - x.mean(axis=0)) / (x.std(axis=0) + 1)
    return np.sum(np.sort(centered, axis=1) @ np.ones(3)) + np.log(np.sum(x * x)) + np.var(x)


def single(x):
    return np.sum(np.sqrt(x) * np.float32(0.3)) ** 2


def numbers_of_python(x):
    return np.sum(np.where(x * 0.1 <= 0.1, x * 0.3, x)) + np.sum(x / 3 > 0.3)


def holomorphic(z, w):
    a = np.exp(1j * z) * w
    b = np.sqrt(a + 2) / (1 + z)
    return np.abs(b) ** 2 + np.real(z * np.conjugate(w)) + np.angle(np.log(z) ** w) + (z.imag * w).real


def phases(x, z):
    spectrum = np.exp(1j * np.outer(x, x)) @ z
    total = np.sum(np.abs(spectrum) ** 2) + np.prod(z).real + np.linalg.norm(z) + np.cumsum(z)[1].imag
    return total + np.real(np.einsum("i,i->", z, np.conjugate(z[::-1]))) + np.sum(np.where(x > 0, z, 1j * z)).real


def halves(x):
    return np.sum(np.exp(x) * np.float16(0.5)) + x[0] / x[1]


def several(v, x):
    whole, part = divmod(x, 0.7)
    mantissa, exponent = np.frexp(x)
    return v * whole * part + mantissa * exponent + np.modf(x)[0] ** 2


def searched(x, limits):
    places = np.searchsorted(limits, x)
    return np.sum(x * places) + np.sum(np.partition(x, 2)[:2])


def distributions(p, x):
    return logit(p) * log_ndtr(x - p) + gammaln(x * p) + erf(x)


VECTOR = np.array([0.3, -1.2, 0.8, 2.0])
CASES = {
    "slides": (slides, (1.0,), (0.3,)),
    "lecture": (lecture, (0.5, 1.5, -1.0), (-0.25, 2.0, 0.7)),
    "vectors": (vectors, (VECTOR, np.linspace(-1, 1, 16).reshape(4, 4), 0.5), (VECTOR[::-1] * 0.9, None, -0.7)),
    "pieces": (pieces, (2.5, 1.5), (1.1, 3.2)),
    "indexed": (indexed, (VECTOR,), (VECTOR * 1.7 - 0.2,)),
    "looped": (looped, (0.4, 5), (-1.3, None)),
    "averaged": (averaged, (np.array([0.2, 1.5, -0.7, 2.2, 0.1, 0.9]),), (np.array([1.2, -1.5, -0.3, 0.2, 0.6, 1.0]),)),
    "numbers of Python's": (numbers_of_python, (np.array([3, 2], np.float32),), (np.array([1, 0.9], np.float32),)),
    "complex numbers": (holomorphic, (0.5 + 0.2j, 1 - 2j), (-0.3 + 1.1j, 0.4 + 0.6j)),
    "complex arrays": (phases, (VECTOR[:3], np.array([1 + 2j, 0.3 - 1j, -1j])), (VECTOR[1:], np.array([2j, 1-1j, 2]))),
    "half precision": (halves, (np.array([1, 2, 3], np.float16),), (np.array([0.5, 2.5, 1.5], np.float16),)),
    "several results": (several, (1.5, 0.8), (0.7, 1.3)),
    "searched": (searched, (VECTOR, np.array([-1.0, 0.0, 1.0])), (VECTOR[::-1] * 1.5, None)),
    "error, gamma and logistic functions": (distributions, (0.3, 2.5), (0.6, 3.7)),
    "single precision": (single, (np.array([1, 2, 3], np.float32),), (np.array([0.5, 2.5, 1.5], np.float32),)),
}  # fmt: skip


def typed(x):
    x = np.asarray(x)
    return {"shape": list(x.shape), "dtype": str(x.dtype), **encode(x)}


def arrays(column):
    words = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}
    part = lambda cell: np.array([words.get(a, a) for a in cell], float)
    return [None if cell is None else part(cell[0]) + (1j * part(cell[1]) if len(cell) > 1 else 0) for cell in column]


@pytest.mark.parametrize("name", sampled(CASES, every=4))
def test_other_inputs_in_all_modes(opened, name):
    function, here, there = CASES[name]
    page = opened(ad.explain(function)(*here))
    full = [h if t is None else t for h, t in zip(here, there, strict=True)]
    loose = {"single precision": 2e-4, "half precision": 4e-3, "numbers of Python's": 1e-6}.get(name, 1e-10)
    tolerance = {"rtol": loose, "atol": loose * 0.05}
    given = [None if t is None else typed(np.asarray(t, np.asarray(h).dtype)) for h, t in zip(here, there, strict=True)]
    for mode in ("reverse", "forward", "second"):
        out = page.evaluate(RECOMPUTED, {"inputs": given, "mode": mode})
        assert out.keys() == {"value", "adjoint", "tangent", "second"}, out
        model = ad.explain(function, mode=mode)(*full).model
        fields = {"value": "value", "adjoint": "adjoint", "tangent": "tangent", "second": "adjoint_tangent"}
        for field, attribute in fields.items():
            expected = [getattr(v, attribute) for v in model.variables]
            if out[field] is None:
                assert all(x is None for x in expected)
                continue
            for v, x, got in zip(model.variables, expected, arrays(out[field]), strict=True):
                if x is not None:
                    np.testing.assert_allclose(got, np.ravel(x), **tolerance, err_msg=f"{mode}: {field} of {v.name}")


def test_zero_cotangents_win_over_infinite_partials(opened):
    """What flows back through a branch not taken is zero, in the page as in Python."""

    def guarded(x):
        return np.where(x > 0, np.log(x), 0.0) + np.where(x > 0, x, x * np.exp(1e3 * x))

    with np.errstate(all="ignore"):
        page = opened(ad.explain(guarded)(0.5))
    for x in (0.0, -3.0, 4.0):
        out = page.evaluate(RECOMPUTED, {"inputs": [typed(x)], "mode": "reverse"})
        with np.errstate(all="ignore"):
            model = ad.explain(guarded)(x).model
        assert arrays(out["adjoint"])[0] == model.inputs[0].adjoint


def test_inputs_that_take_another_way_are_refused(opened):
    def branch(x):
        return x * x if x > 0 else -x

    page = opened(ad.explain(branch)(2.0))
    out = page.evaluate(RECOMPUTED, {"inputs": [typed(-1.0)], "mode": "reverse"})
    assert "another way" in out["problem"]
    assert page.evaluate(RECOMPUTED, {"inputs": [typed(3.0)], "mode": "reverse"})["value"][0] == [[3.0]]

    def root(a):
        return ad.while_loop(lambda s: abs(s * s - a) > 1e-10, lambda s: 0.5 * (s + a / s), a)

    page = opened(ad.explain(root)(2.0))
    assert "another way" in page.evaluate(RECOMPUTED, {"inputs": [typed(1e6)], "mode": "reverse"})["problem"]


@pytest.mark.parametrize(
    "function, args, reason",
    [
        (lambda x: np.linalg.det(np.diag(x)), (np.array([1.0, 2.0]),), "not computed in the page"),
        (lambda x: jv(1.5, x) * x, (2.0,), "jv is not computed in the page"),
        (lambda x: pbdv(1.5, x)[0] + x, (0.8,), "pbdv is not computed in the page"),
        (lambda x: np.sum(np.abs(np.fft.fft(x))), (VECTOR,), "not computed in the page"),
        (lambda z: erf(z) * 2, (1 + 1j,), "erf of complex numbers is not computed in the page"),
        (lambda x: np.sum(x * x), (np.ones(6000),), "too large to be computed in the page"),
        (lambda x, n: x * n, (2.0, 2**60 + 1), "a whole number beyond 2⁵³"),
        (lambda x, n: x * (n + (2**60 + 1)), (2.0, 2), "a whole number beyond 2⁵³"),
    ],
)
def test_what_cannot_be_computed_is_disabled_with_the_reason(opened, function, args, reason):
    page = opened(ad.explain(function)(*args))
    assert reason in page.inner_text("#editing")
    assert all(field.is_disabled() for field in page.query_selector_all("#inputs input"))


def test_complex_inputs_are_written_and_shown(opened):
    page = opened(ad.explain(lambda z: np.exp(z) * z)(0.5 + 0.25j))
    field = page.locator("#inputs input")
    assert field.input_value() == "0.5+0.25j"
    written = {"1−2j": 1 - 2j, "-j": -1j, "2.5": 2.5 + 0j, "1e-3 + 1e2j": 1e-3 + 1e2j, "(pi+0,5i)": np.pi + 0.5j}
    for text, z in written.items():
        field.fill(text)
        assert page.inner_text("#problem") == ""
        value = np.exp(z) * z
        shown = page.evaluate("explanation.state.text('value', explanation.state.data.outputs[0])")
        assert shown == summary(value)
        assert summary(value) in page.inner_text("#results")
    for text in ("1+", "2+3", "j2", "1++2j", ""):
        field.fill(text)
        assert "1−2j" in page.inner_text("#problem")
    page.click("#reset")
    assert page.locator("#inputs input").input_value() == "0.5+0.25j"


def test_partials_beside_edges_between_complex_numbers(opened):
    """After other inputs an edge has dz/du, which for complex numbers is not what flows back."""

    def f(z):
        return np.sin(z * (2 + 1j)) ** 2

    page = opened(ad.explain(f)(0.5 + 0.25j))
    page.locator("#inputs input").fill("1−0.25j")
    shown = page.locator(".graph .arrow text").all_text_contents()
    w = (1 - 0.25j) * (2 + 1j)
    expected = [number(d, 4) for d in (np.complex128(2 + 1j), np.cos(w), 2 * np.sin(w))]
    assert set(expected) <= set(shown), shown


def test_numbers_are_written_as_python_writes_them(opened):
    rng = np.random.default_rng(3)
    values = [0.0, -0.0, 1.0, 1e-5, 123456.789, 1234567.0, 12345678.0, 1e100, -2.5e-300, np.nan, np.inf, -np.inf, 1 / 3,
              *rng.normal(size=30) * 10.0 ** rng.integers(-8, 12, 30), np.arange(3.0), np.array([np.nan, 1.0]),
              rng.normal(size=(4, 5)), np.array([1, 2, 3, 4]), np.array([True, False, True, True]), np.zeros(0),
              np.array([np.inf, 1.0, 2.0, np.nan]), np.ones((2, 2)), np.int64(-7), np.bool_(True),
              np.complex128(1 - 2e-7j), np.complex64(-1.5j), np.array([1j, 2.0]), np.complex128(complex("inf+nanj")),
              rng.normal(size=5) + 1j]  # fmt: skip
    page = opened(ad.explain(slides)(1.0))
    cells = [json.loads(json.dumps(typed(v))) for v in values]
    got = page.evaluate("xs => xs.map((x) => format.summary(decoded(x)))", cells)
    assert got == [summary(v) for v in values]

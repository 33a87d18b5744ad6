"""Programs as values: traced from types or with values, called, transformed, compared, printed."""

import dataclasses

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import ControlFlowError, DtypeError, LeakError, ShapeError, TraceError

X = np.array([0.6, 0.9, 0.35])


def loss(params, x, *, scale=1.0):
    h = np.tanh(params["w"] @ x + params["b"]) * scale
    return {"loss": np.sum(h**2), "h": h}


PARAMS = {"w": np.arange(9.0).reshape(3, 3) / 10.0, "b": np.array([0.1, 0.2, 0.3])}


def test_the_print() -> None:
    p = ad.trace(lambda x: np.sin(x) * x)(1.0)
    assert str(p) == "(a: float64[]) {\n  b: float64[] = sin a\n  c: float64[] = multiply b a\n} -> c"
    assert "<pre>(a: float64[])" in p._repr_html_()
    assert repr(ad.trace(loss)(PARAMS, X)) == (
        "<program of loss: (float64[3], float64[3,3], float64[3]) -> float64[3], float64[], 6 equations>"
    )


def test_called_on_trees_with_keywords() -> None:
    p = ad.trace(loss)(PARAMS, X, scale=2.0)
    found, expected = p(PARAMS, X * 2.0, scale=0.5), loss(PARAMS, X * 2.0, scale=0.5)
    assert found.keys() == expected.keys()
    for key in expected:
        np.testing.assert_array_equal(found[key], expected[key])
    assert type(found["loss"]) is np.float64


def test_traced_from_types() -> None:
    vector, matrix = ad.ArrayType((3,), float), ad.ArrayType((3, 3), np.dtype(float))
    assert ad.trace(loss)({"w": matrix, "b": vector}, vector) == ad.trace(loss)(PARAMS, X)


TRANSFORMED = {
    "grad": lambda f: ad.grad(f),
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (np.ones(3),))[1],
    "vjp": lambda f: lambda x: ad.vjp(f, x)[1](2.0)[0],
    "hessian": lambda f: ad.hessian(f),
    "jet": lambda f: lambda x: ad.jet(f, (x,), ((np.ones(3), np.zeros(3)),))[1],
    "vmap": lambda f: lambda x: ad.vmap(f)(np.stack([x, 2 * x])),
    "vmap of grad": lambda f: lambda x: ad.vmap(ad.grad(f))(np.stack([x, 2 * x])),
    "scan": lambda f: lambda x: ad.scan(lambda c, _: (c * f(x), c), 1.0, None, length=3)[0],
    "linearize": lambda f: lambda x: ad.linearize(f, x)[1](np.ones(3)),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformations_of_programs_and_programs_of_transformations(name) -> None:
    def f(x):
        return np.sum(np.sin(x) * x[0]) ** 2

    transform = TRANSFORMED[name]
    expected = transform(f)(X)
    for found in (
        transform(ad.trace(f)(X))(X),
        ad.trace(transform(f))(X)(X),
        ad.trace(transform(ad.trace(f)(X)))(X)(X),
    ):
        np.testing.assert_allclose(np.stack(ad.tree.leaves(found)), np.stack(ad.tree.leaves(expected)), rtol=1e-12)


# ---- what functions may do ----


def writes(x):
    y = ad.numpy.zeros(4)
    y[1:] = x * 2.0
    y[0] += x[1]
    y[1:] *= y[:3]
    return y


def builds(x):
    table = ad.numpy.array([[x[0], 1.0], [x[1], x[2]]])
    return np.concatenate([table.ravel(), ad.numpy.full(2, x[0]), np.zeros_like(x), ad.numpy.arange(3.0)])


def assigns_to_its_argument(x):
    y = x
    y[0] = 5.0
    return np.sum(y * x)


def with_integers(x):
    order = np.argsort(x)
    return x[order] * order + np.sum(x > 0.5)


def with_python(x):
    total = 0.0
    for k in range(len(x)):
        if k % 2 == 0:
            total = total + x[k] ** k
    return total


@pytest.mark.parametrize("f", [writes, builds, with_integers, with_python])
def test_functions_of_all_kinds(f) -> None:
    for other in (X, X[::-1] * 2.0):
        np.testing.assert_array_equal(ad.trace(f)(X)(other), f(other))
        np.testing.assert_allclose(ad.jacobian(ad.trace(f)(X))(other), ad.jacobian(f)(other), rtol=1e-12)


def test_the_arguments_are_never_changed_and_never_returned() -> None:
    x = X.copy()
    p = ad.trace(assigns_to_its_argument)(x)
    assert p(x) == assigns_to_its_argument(x.copy())
    np.testing.assert_array_equal(x, X)
    same = ad.trace(lambda x: (x, x[1:]))(x)(x)
    same[0][0] = same[1][0] = 99.0
    np.testing.assert_array_equal(x, X)


def test_constants_are_fixed_when_traced() -> None:
    scale = np.ones(3)
    p = ad.trace(lambda x: x * scale)(X)
    scale[:] = 7.0
    np.testing.assert_array_equal(p(X), X)
    p(X)[:] = 3.0
    np.testing.assert_array_equal(p(X), X)


def test_static_arguments_are_part_of_the_program() -> None:
    def power(x, n, mode="plain", skip=False):
        return x if skip else x**n if mode == "plain" else -(x**n)

    p = ad.trace(power, static_argnames="n")(2.0, 3)
    assert p(3.0, 3) == 27.0
    with pytest.raises(TraceError, match=r"part of the program, which was traced for 3; got 4"):
        p(3.0, 4)
    negative = ad.trace(power, static_argnames=("n",))(2.0, n=2, mode="negative", skip=False)
    assert negative(3.0, n=2, mode="negative", skip=False) == -9.0
    assert ad.trace(power, static_argnames="n")(2.0, 3) == p
    assert ad.trace(power, static_argnames="n")(2.0, 2) != p
    with pytest.raises(TypeError, match="no argument called 'k'; it has x, n"):
        ad.trace(power, static_argnames="k")(2.0, 3)


def test_closures_over_values_of_an_outer_transformation() -> None:
    def f(a):
        p = ad.trace(lambda x: np.sin(a * x))(1.0)
        return p(2.0) * p(3.0)

    assert ad.grad(f)(0.5) == pytest.approx(ad.grad(lambda a: np.sin(2 * a) * np.sin(3 * a))(0.5), rel=1e-14)
    kept = []
    ad.grad(lambda a: (kept.append(ad.trace(lambda x: a * x)(1.0)), a)[1])(0.5)
    with pytest.raises(LeakError):
        kept[0](2.0)


# ---- values: guards ----


def branching(x):
    if x[0] > 0:
        return x[0] * x[1] if int(x[1]) == 2 else x[2]
    return -x[0]


def test_with_values_python_takes_its_way_and_the_questions_are_guards() -> None:
    x = np.array([1.0, 2.5, 3.0])
    p = ad.trace(branching, concrete=True)(x)
    assert p(x) == 2.5
    assert p(np.array([2.0, 2.9, 0.0])) == 5.8
    assert [g.split(" at ")[0] for g in p.guards] == ["bool is True", "int is 2"]
    assert "x[0] > 0" in p.guards[0]
    assert "expect[bool is True]" in str(p)
    np.testing.assert_array_equal(ad.grad(p)(x), [2.5, 1.0, 0.0])
    with pytest.raises(ControlFlowError, match=r"bool\(…\) = True at test_tracing.* give False"):
        p(-x)
    with pytest.raises(ControlFlowError, match=r"int\(…\) = 2"):
        p(x * 2.0)
    with pytest.raises(ControlFlowError, match="another way"):
        ad.vmap(p)(np.stack([x, -x]))
    np.testing.assert_array_equal(ad.vmap(p)(np.stack([x, x])), [2.5, 2.5])


def test_without_values_a_question_names_the_remedy() -> None:
    refused = pytest.raises(ControlFlowError, match=r"inside a traced function, at test_tracing.*x\[0\] > 0.*ad\.cond")
    with config.override(convert=False), refused:
        ad.trace(branching)(X)
    with pytest.raises(TypeError, match="must be values"):
        ad.trace(branching, concrete=True)(ad.ArrayType((3,), float))


def test_with_and_without_values_give_the_same_program() -> None:
    assert ad.trace(loss, concrete=True)(PARAMS, X) == ad.trace(loss)(PARAMS, X)


# ---- equality, refusals ----


def test_programs_are_values() -> None:
    p, q = ad.trace(loss)(PARAMS, X), ad.trace(loss)(PARAMS, X + 1.0)
    assert p == q
    assert {p: 1}[q] == 1
    others = [
        ad.trace(loss)(PARAMS, X, scale=1.0),
        ad.trace(loss)({k: v.astype("f4") for k, v in PARAMS.items()}, X),
        ad.trace(lambda params, x: loss(params, x)["loss"])(PARAMS, X),
        ad.trace(lambda params, x: loss(params, x, scale=2.0))(PARAMS, X),
    ]
    assert all(p != other for other in others)
    assert p != "a program"


@dataclasses.dataclass
class Model:
    w: np.ndarray

    def predict(self, x):
        return self.w @ x


def test_methods_and_dataclasses() -> None:
    model = Model(np.ones(3))
    assert ad.trace(model.predict)(X)(X) == pytest.approx(1.85)
    p = ad.trace(Model.predict)(model, X)
    assert p(Model(np.zeros(3)), X) == 0.0
    assert isinstance(ad.grad(p)(model, X), Model)


def test_arguments_of_other_types() -> None:
    p = ad.trace(lambda x, n: x * n)(np.ones(3, "f4"), 2)
    assert p(np.ones(3, "f2"), 3).dtype == ad.trace(lambda x, n: x * n)(np.ones(3, "f4"), 2).output_types[0].dtype
    with pytest.raises(ShapeError, match=r"shape \(4,\), but the program is for float32\[3\].*vmap"):
        p(np.ones(4, "f4"), 2)
    with pytest.raises(ShapeError, match=r"shape \(3, 1\)"):
        p(np.ones((3, 1), "f4"), 2)
    with pytest.raises(DtypeError, match=r"dtype float64, but the program is for float32\[3\]"):
        p(np.ones(3), 2)
    with pytest.raises(DtypeError, match="dtype float64, but the program is for int64"):
        p(np.ones(3, "f4"), 2.5)
    with pytest.raises(ValueError, match="traced for other arguments"):
        p(np.ones(3, "f4"))
    with pytest.raises(ValueError, match="traced for other arguments"):
        p(np.ones(3, "f4"), n=2)
    assert ad.trace(lambda x: x * 2.0)(1.0)(3) == 6.0


def test_what_is_not_a_function() -> None:
    with pytest.raises(TypeError, match=r"needs a function"):
        ad.trace(3.0)
    with pytest.raises(DtypeError, match="result is a str"):
        ad.trace(lambda x: "text")(1.0)


def test_draws_would_be_frozen() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(TraceError, match=r"ad\.random"):
        ad.trace(lambda x: x + rng.normal())(1.0)


SMALL = np.array([0.0, 1.0, 2.0])
HANDED_OUT = {
    "itself": lambda x: SMALL,
    "scan": lambda x: ad.scan(lambda s, t: (SMALL, SMALL * t), x, x),
    "while_loop": lambda x: ad.while_loop(lambda s: s[0] == 0.6, lambda s: SMALL, x),
    "fori_loop": lambda x: ad.fori_loop(0, 3, lambda i, s: SMALL, x),
    "cond": lambda x: ad.cond(x[0] > 0, lambda: SMALL, lambda: 2 * SMALL),
    "switch": lambda x: ad.switch(x[0].astype(int), [lambda: SMALL, lambda: SMALL]),
    "view": lambda x: ad.cond(x[0] > 0, lambda: SMALL[:, None].T, lambda: np.ones((1, 3))),
    "cond in scan": lambda x: ad.scan(lambda s, t: (ad.cond(t > 0, lambda: SMALL, lambda: s), t), x, x)[0],
    "checkpoint": lambda x: ad.checkpoint(lambda t: (SMALL, 2 * t))(x),
    "jit": lambda x: ad.jit(lambda t: (SMALL, 2 * t))(x),
}


@pytest.mark.parametrize("name", HANDED_OUT)
def test_results_are_the_callers_own(name: str) -> None:
    p = ad.trace(HANDED_OUT[name])(X)
    first = p(X)
    expected = ad.tree.map(np.copy, first)
    for leaf in ad.tree.leaves(first):
        leaf[...] = 77.0
    for found, wanted in zip(ad.tree.leaves(p(X)), ad.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(SMALL, [0.0, 1.0, 2.0])


def test_constants_of_programs_are_locked() -> None:
    p = ad.trace(lambda x: x * SMALL)(X)
    (constant,) = p.program.constants.values()
    with pytest.raises(ValueError, match="read-only"):
        constant[0] = 1.0


def test_a_static_array_that_is_written_to() -> None:
    w = np.ones(3)
    p = ad.trace(lambda x, w: x * w, static_argnames="w")(X, w=w)
    np.testing.assert_array_equal(p(X, w=np.ones(3)), X)
    w[0] = 5.0
    for other in (w, np.ones(1), np.ones(3, "f4")):
        with pytest.raises(TraceError, match="part of the program"):
            p(X, w=other)

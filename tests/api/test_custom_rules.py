"""Functions with rules of their own, and functions that forget."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.special

import adjoint as ad
from adjoint.base.errors import RuleError, TraceError
from adjoint.program.trace import Tracer
from adjoint.transform.tape import Tape

X = np.array([0.4, 1.3, -0.7])


def close(found, expected, rtol=1e-10) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-12)


# ---- custom_rule: the rule that is given is the one that is used, the other follows by transposition ----


def plain(x, y):
    return np.sin(x) * y


def tripled_jvp(primals, tangents):
    """Three times the true derivative, to be told apart from it."""
    (x, y), (dx, dy) = primals, tangents
    return plain(x, y), 3.0 * (np.cos(x) * y * dx + np.sin(x) * dy)


def tripled_vjp(x, y):
    return plain(x, y), lambda ct: (3.0 * np.cos(x) * y * ct, 3.0 * np.sin(x) * ct)


RULES = {"jvp": {"jvp": tripled_jvp}, "vjp": {"vjp": tripled_vjp}, "both": {"jvp": tripled_jvp, "vjp": tripled_vjp}}


@pytest.mark.parametrize("given", RULES)
def test_every_transformation_uses_the_rule(given) -> None:
    f = ad.custom_rule(plain, **RULES[given])
    y = np.array([2.0, -1.0, 0.5])
    v, u = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.2, 1.0])
    slope_x, slope_y = 3.0 * np.cos(X) * y, 3.0 * np.sin(X)
    close(f(X, y), plain(X, y))
    close(ad.jvp(f, (X, y), (v, u))[1], slope_x * v + slope_y * u)
    close(ad.vjp(f, X, y)[1](u), (slope_x * u, slope_y * u))
    close(ad.linearize(f, X, y)[1](v, u), slope_x * v + slope_y * u)
    close(ad.vmap(ad.grad(f, (0, 1)))(X, y), (slope_x, slope_y))
    close(ad.vmap(ad.grad(f), in_axes=(0, None))(X, 2.0), 6.0 * np.cos(X))
    close(ad.jacobian(f)(X, y), np.diag(slope_x))
    close(ad.jet(lambda x: f(x, y), (X,), ((v, 0 * v),))[1][0], slope_x * v)
    close(ad.scan(lambda c, x: (c + ad.grad(f)(x, 1.0), None), 0.0, X)[0], np.sum(3.0 * np.cos(X)))
    second = ad.grad(ad.grad(lambda x: f(x, 2.0)))(0.4)
    assert second == pytest.approx(-6.0 * np.sin(0.4), rel=1e-10)
    assert ad.jvp(ad.grad(lambda x: f(x, 2.0)), (0.4,), (1.0,))[1] == pytest.approx(-6.0 * np.sin(0.4), rel=1e-10)


CALLS: list[object] = []


def cube(x):
    CALLS.append("function")
    return x**3


def cube_rule(x):
    CALLS.append("rule")
    return x**3, lambda ct: (3 * x**2 * ct,)


def test_a_vjp_runs_instead_of_the_function() -> None:
    CALLS.clear()
    assert ad.grad(ad.custom_rule(cube, vjp=cube_rule))(2.0) == 12.0
    assert CALLS == ["rule"]


def test_trees_keywords_static_and_nondiff() -> None:
    def scaled(params, x, *, mode, factor):
        assert mode == "double"
        return {"out": params["w"] * x * factor}

    def rule(params, x, *, mode, factor):
        y = scaled(params, x, mode=mode, factor=factor)
        return y, lambda ct: ({"w": ct["out"] * x * factor}, ct["out"] * params["w"] * factor, None)

    f = ad.custom_rule(scaled, vjp=rule, static=("mode",), nondiff=("factor",))

    def loss(params, x, factor):
        return f(params, x, mode="double", factor=factor)["out"] ** 2

    params, slope = ad.grad(loss, (0, 1))({"w": 3.0}, 2.0, 5.0)
    assert (params["w"], slope) == (2 * 30 * 10, 2 * 30 * 15)
    assert ad.grad(loss, 2)({"w": 3.0}, 2.0, 5.0) == 0.0


def test_a_decorator_with_options_and_methods() -> None:
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @ad.custom_rule(
            jvp=lambda primals, tangents: (primals[0].scale * primals[1], 7.0 * tangents[1]), static=("self",)
        )
        def predict(self, x):
            return self.scale * x

    model = Model(2.0)
    assert model.predict(3.0) == 6.0
    assert ad.grad(model.predict)(3.0) == 7.0


def test_closures_over_traced_values_are_differentiated() -> None:
    def outer(a, x):
        rule = lambda primals, tangents: (a * primals[0] ** 2, 2 * a * primals[0] * tangents[0])
        f = ad.custom_rule(lambda x: a * x**2, jvp=rule)
        return f(x) * a

    assert ad.grad(outer, (0, 1))(3.0, 2.0) == (2 * 3.0 * 4.0, 9.0 * 4.0)
    assert ad.grad(ad.grad(outer))(3.0, 2.0) == pytest.approx(8.0)
    assert ad.grad(ad.grad(outer, 1), 0)(3.0, 2.0) == pytest.approx(2 * 3.0 * 2 * 2.0)
    close(ad.hessian(outer, (0, 1))(3.0, 2.0), [[8.0, 24.0], [24.0, 18.0]])


# ---- black boxes ----


def root(a):
    """x³ + x = a, by SciPy."""
    return scipy.optimize.brentq(lambda x: x**3 + x - float(a), -10.0, 10.0, xtol=1e-14)


def test_a_black_box_with_a_rule() -> None:
    f = ad.custom_rule(root, vjp=lambda a: ((x := f(a)), lambda ct: (ct / (3 * x**2 + 1),)))
    x = root(2.0)
    assert ad.grad(f)(2.0) == pytest.approx(1 / (3 * x**2 + 1), rel=1e-10)
    assert ad.jvp(f, (2.0,), (1.0,))[1] == pytest.approx(1 / (3 * x**2 + 1), rel=1e-10)
    assert ad.grad(ad.grad(f))(2.0) == pytest.approx(-6 * x / (3 * x**2 + 1) ** 3, rel=1e-9)
    close(ad.vmap(f)(np.array([2.0, 10.0])), [1.0, 2.0])
    close(ad.vmap(ad.grad(f))(np.array([2.0, 10.0])), [1 / 4, 1 / 13])


def test_a_black_box_without_a_rule_warns_and_takes_differences() -> None:
    f = ad.custom_rule(root)
    with pytest.warns(UserWarning, match="central differences"):
        assert ad.grad(f)(2.0) == pytest.approx(0.25, rel=1e-7)
    with pytest.warns(UserWarning, match="central differences"):
        assert ad.jvp(f, (2.0,), (2.0,))[1] == pytest.approx(0.5, rel=1e-7)
    with pytest.raises(TraceError, match="cannot be differentiated again"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ad.grad(ad.grad(f))(2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(2.0) == pytest.approx(1.0)


def test_a_black_box_of_arrays() -> None:
    matrix = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])

    def solved(b):
        return scipy.linalg.solve(matrix, np.asarray(b, float))

    f = ad.custom_rule(solved, vjp=lambda b: (f(b), lambda ct: (f(ct),)))
    close(ad.jacobian(f)(X), np.linalg.inv(matrix))
    close(ad.vmap(f)(np.eye(3)), np.linalg.inv(matrix))


def logistic(x):
    CALLS.append(np.shape(x))
    return scipy.special.expit(float(x))


def stacked_logistic(x):
    CALLS.append(np.shape(x))
    return scipy.special.expit(np.asarray(x))


def test_batch_maps_the_function_at_once() -> None:
    CALLS.clear()
    f = ad.custom_rule(logistic, jvp=lambda p, t: ((y := f(*p)), y * (1 - y) * t[0]), batch=stacked_logistic)
    close(ad.vmap(f)(X), scipy.special.expit(X))
    assert CALLS == [(3,)]
    close(ad.vmap(ad.grad(f))(X), scipy.special.expit(X) * scipy.special.expit(-X))


def test_a_complex_black_box_is_transposed_by_columns() -> None:
    matrix = np.array([[1.0 + 2.0j, 0.5j], [0.0, 2.0 - 1.0j]])

    def product(z):
        return matrix @ np.array([complex(v) for v in z])

    f = ad.custom_rule(product, jvp=lambda primals, tangents: (product(primals[0]), product(tangents[0])))
    z, u = np.array([1.0 + 1.0j, 2.0]), np.array([0.3 - 1.0j, 1.0j])
    close(ad.vjp(f, z)[1](u)[0], matrix.conj().T @ u)


# ---- rules that are wrong ----


WRONG = {
    "pullback of the wrong shape": (
        {"vjp": lambda x: (x * 2, lambda ct: (np.ones(5),))},
        r"cotangent has shape \(5,\).*float64\[3\]",
    ),
    "too many cotangents": ({"vjp": lambda x: (x * 2, lambda ct: (ct, ct))}, "2 cotangents for 1 argument"),
    "no pullback": ({"vjp": lambda x: x * 2}, r"must return \(y, pullback\)"),
    "jvp without a pair": ({"jvp": lambda p, t: t[0]}, r"must return \(y, dy\)"),
    "tangent of the wrong shape": ({"jvp": lambda p, t: (p[0] * 2, np.ones((2, 2)))}, r"tangent has shape \(2, 2\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules(name) -> None:
    rules, match = WRONG[name]
    f = ad.custom_rule(lambda x: x * 2.0, **rules)
    with pytest.raises(RuleError, match=match):
        ad.grad(lambda x: np.sum(f(x)))(X)


def test_names_that_do_not_exist() -> None:
    with pytest.raises(RuleError, match="no argument called 'mode'"):
        ad.custom_rule(lambda x: x, jvp=lambda p, t: (p[0], t[0]), static=("mode",))


picklable = ad.custom_rule(plain, vjp=tripled_vjp)


def test_pickling() -> None:
    for f in (picklable, ad.checkpoint(plain), ad.grad(picklable)):
        copy = pickle.loads(pickle.dumps(f))
        assert copy(0.4, 2.0) == f(0.4, 2.0)


# ---- checkpoint ----


def deep(x, w):
    for _ in range(20):
        x = np.tanh(w @ x) + np.sin(x)
    return x


W = np.random.default_rng(0).normal(size=(3, 3)) / 2


def kept_arrays(f) -> int:
    """How many arrays the tape of one run holds."""
    tapes: list[Tape] = []

    def spy(x):
        tapes.append(x._trace)
        y = f(x)
        assert isinstance(y, Tracer)
        return np.sum(y)

    _ = ad.vjp(spy, X)
    entries = tapes[0].entries
    return len(
        {
            id(v)
            for e in entries
            for part in e[3:6]
            for v in (part if type(part) is tuple else (part,))
            if isinstance(v, np.ndarray)
        }
    )


def test_checkpoint_gives_the_same_in_every_mode() -> None:
    f, g = ad.checkpoint(deep), deep
    for h in (lambda f: f(X, W), lambda f: ad.jvp(f, (X, W), (X, W))[1], lambda f: ad.vjp(f, X, W)[1](X)[1]):
        close(h(f), h(g))
    close(ad.hessian(lambda x: np.sum(f(x, W) ** 2))(X), ad.hessian(lambda x: np.sum(g(x, W) ** 2))(X), rtol=1e-8)
    close(
        ad.vmap(ad.jacobian(f), in_axes=(0, None))(np.stack([X, 2 * X]), W), [ad.jacobian(g)(x, W) for x in (X, 2 * X)]
    )
    close(ad.jet(lambda x: f(x, W), (X,), ((X, X),))[1], ad.jet(lambda x: g(x, W), (X,), ((X, X),))[1])


def test_memory_is_released() -> None:
    whole = kept_arrays(lambda x: deep(x, W))
    forgotten = kept_arrays(lambda x: ad.checkpoint(deep)(x, W))
    assert forgotten < whole / 10


def test_how_often_the_function_runs() -> None:
    runs = []

    def counted(x):
        ad.debug.callback(lambda: runs.append("printed"))
        runs.append("called")
        return np.sum(np.sin(x) ** 2)

    ad.grad(ad.checkpoint(counted))(X)
    assert runs.count("called") == 1  # the recorded program is run again, not the Python function
    assert runs.count("printed") == 1


def test_checkpoint_of_closures_nested_with_keywords_and_trees() -> None:
    def f(a):
        inner = ad.checkpoint(lambda x, *, scale: {"y": np.sin(x) * a * scale, "n": 3})
        outer = ad.checkpoint(lambda p: inner(p["x"], scale=2.0)["y"] * inner(a, scale=1.0)["n"] * p["x"])
        return outer({"x": a * a, "flag": True})

    def g(a):
        return np.sin(a * a) * a * 2.0 * 3 * a * a

    for x in (0.7, 1.3):
        assert f(x) == pytest.approx(g(x))
        assert ad.grad(f)(x) == pytest.approx(ad.grad(g)(x), rel=1e-12)
        assert ad.grad(ad.grad(f))(x) == pytest.approx(ad.grad(ad.grad(g))(x), rel=1e-12)


def test_checkpoint_with_control_flow_inside() -> None:
    def f(x):
        y = ad.scan(lambda c, t: (ad.cond(c > 0.5, np.sin, np.cos, c) * t, None), x, np.arange(1.0, 4.0))[0]
        return ad.while_loop(lambda v: v < 5.0, lambda v: v * (1.5 + x * x), y + 1.0)

    def python(x):
        return f(x) * 1.0 if x > 0.5 else x**3

    for g in (f, python):
        for x in (0.3, 0.8):
            assert ad.grad(ad.checkpoint(g))(x) == pytest.approx(ad.grad(g)(x), rel=1e-12)
            assert ad.grad(ad.grad(ad.checkpoint(g)))(x) == pytest.approx(ad.grad(ad.grad(g))(x), rel=1e-12)


def test_checkpoint_of_an_integer_result_and_of_a_method() -> None:
    class Model:
        @ad.checkpoint
        def run(self, x):
            return np.argmax(x), x * 2.0

    assert Model().run(X)[0] == 1
    close(ad.grad(lambda x: np.sum(Model().run(x)[1] * Model().run(x)[0]))(X), [2.0, 2.0, 2.0])


def test_traced_values_in_functions_that_are_arguments_are_not_lost() -> None:
    """A rule knows the arguments alone: what a function among them closes over would have no derivative."""

    def at_two(function, x):
        return function(2.0) * x

    ruled = ad.custom_rule(at_two, vjp=lambda f, x: (f(2.0) * x, lambda ct: (ct * f(2.0),)))
    assert ad.grad(lambda x: ruled(lambda t: t, x))(3.0) == 2.0
    for transform in (ad.grad, ad.jacfwd, lambda f: ad.jit(ad.grad(f))):
        with pytest.raises(RuleError, match="at_two: it reads a traced value that is none of its arguments"):
            transform(lambda x: ruled(lambda t: t * x, x))(3.0)

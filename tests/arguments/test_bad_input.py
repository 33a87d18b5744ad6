"""What users get wrong: an error that names the argument and a remedy, or NumPy's own answer; never a wrong number."""

import warnings
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import LeakError

X = np.array([0.5, 1.0, 2.0])
total = lambda x: np.sum(x**2)

FIRST_ORDER = {
    "grad": lambda f, x: ad.grad(f)(x),
    "value_and_grad": lambda f, x: ad.value_and_grad(f)(x)[1],
    "jvp": lambda f, x: ad.jvp(f, (x,), (x,))[1],
    "vjp": lambda f, x: ad.vjp(f, x)[1](1.0)[0],
    "linearize": lambda f, x: ad.linearize(f, x)[1](x),
    "jet": lambda f, x: ad.jet(f, (x,), ((x, x),))[1],
    "jacobian": lambda f, x: ad.jacobian(f)(x),
    "jacfwd": lambda f, x: ad.jacfwd(f)(x),
    "hessian": lambda f, x: ad.hessian(f)(x),
    "hvp": lambda f, x: ad.hvp(f, (x,), (x,)),
}


# whole numbers


@pytest.mark.parametrize("mode", FIRST_ORDER)
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, np.bool_])
def test_arrays_of_whole_numbers(mode, dtype) -> None:
    with pytest.raises(TypeError, match=rf"argument weights has dtype {np.dtype(dtype)}.*astype\(float\)"):
        FIRST_ORDER[mode](lambda weights: np.sum(weights * 1.0), np.array([1, 0, 1], dtype))


def test_python_numbers() -> None:
    assert ad.grad(lambda x: x**3)(2) == 12.0
    assert type(ad.grad(lambda x: x**3)(2)) is np.float64
    with pytest.raises(TypeError, match="bool"):
        ad.grad(lambda x: x * 1.0)(True)
    np.testing.assert_array_equal(ad.vmap(lambda k: k * 2)(np.array([1, 2])), [2, 4])  # batching takes any numbers


def test_whole_numbers_in_a_tree_are_constants() -> None:
    tree = {"x": X, "rows": np.array([0, 0, 2]), "flag": np.array(True)}
    slope = ad.grad(lambda t: np.sum(t["x"][t["rows"]] ** 2))(tree)
    np.testing.assert_array_equal(slope["x"], [2.0, 0.0, 4.0])
    assert (slope["rows"].dtype, slope["rows"].tolist()) == (np.int64, [0, 0, 0])
    assert slope["flag"].dtype == np.bool_


# dtypes without arithmetic, masks, matrices

with warnings.catch_warnings(action="ignore"):
    MATRIX = np.matrix([[1.0]])


@pytest.mark.parametrize("mode", FIRST_ORDER)
@pytest.mark.parametrize(
    "argument, named",
    [
        (np.array(["a", "b"]), "<U1"),
        (np.array([1.0, None], dtype=object), "object"),
        (np.array(["2020-01-01"], "datetime64[D]"), "datetime64"),
        (np.array([(1.0, 2)], dtype=[("a", float), ("b", int)]), "void|a|b"),
        (np.array([b"x"]), "S1"),
        (np.ma.array(X, mask=[0, 1, 0]), "masked.*filled"),
        (MATRIX, r"np\.matrix.*np\.asarray"),
        (np.ones(2, np.longdouble), "longdouble|float128"),
    ],
)
def test_arguments_without_arithmetic(mode, argument, named) -> None:
    with pytest.raises(TypeError, match=f"(?s)argument data .*({named})"):
        FIRST_ORDER[mode](lambda data: np.sum(data), argument)
    with pytest.raises(TypeError, match=f"(?s)argument.*({named})"):
        ad.vmap(lambda data: data)(argument)


@pytest.mark.parametrize(
    "operand",
    [
        np.array(["a", "b", "c"]),
        np.array([1.0, None, 2.0], dtype=object),
        np.ma.array(X, mask=[0, 1, 0]),
        "text",
        None,
        {"a": 1},
        object(),
        np.ones(3, "datetime64[s]"),
    ],
    ids=lambda operand: f"{type(operand).__name__} {getattr(operand, 'dtype', '')}",
)
@pytest.mark.parametrize("left", [False, True])
def test_operands_without_arithmetic(operand, left) -> None:
    for call in (
        lambda f: ad.grad(f)(X),
        lambda f: ad.jvp(f, (X,), (X,)),
        lambda f: ad.vmap(f)(np.stack([X, X])),
        lambda f: ad.jet(f, (X,), ((X,),)),
    ):
        with pytest.raises(TypeError):
            call(lambda x: np.sum(operand * x if left else x * operand))


def test_masked_arrays_without_a_mask_are_arrays() -> None:
    np.testing.assert_array_equal(ad.grad(total)(np.ma.array(X)), 2 * X)
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x * np.ma.array(X, mask=False)))(X), X)


def test_an_object_array_of_traced_values() -> None:
    def f(x):
        parts = np.empty(2, dtype=object)
        parts[0], parts[1] = x[0], x[1]
        return np.sum(parts[0] * parts[1])

    np.testing.assert_array_equal(ad.grad(f)(X), [1.0, 0.5, 0.0])


# outputs


@pytest.mark.parametrize(
    "output, text",
    [
        (lambda x: x, r"scalar output.*float64\[3\].*(jacobian|vjp)"),
        (lambda x: x[:1], r"scalar output.*float64\[1\]"),
        (lambda x: (x[0], x[1]), "one scalar output.*tuple.*has_aux"),
        (lambda x: [x[0]], "one scalar output.*list"),
        (lambda x: {"loss": x[0]}, "one scalar output.*dict"),
        (lambda x: None, "one scalar output.*None"),
        (lambda x: "text", "str"),
        (lambda x: x[0] * 1j, "real output.*complex128.*holomorphic"),
    ],
)
@pytest.mark.parametrize("transformation", [ad.grad, ad.value_and_grad])
def test_outputs_that_have_no_gradient(transformation, output, text) -> None:
    with pytest.raises((ValueError, TypeError), match=f"(?s){text}") as caught:
        transformation(output)(X)
    assert transformation.__name__ in str(caught.value) or "result" in str(caught.value)


def test_outputs_that_depend_on_nothing() -> None:
    for constant in (1.0, 2, np.float32(1.0), np.array(3.0)):
        np.testing.assert_array_equal(ad.grad(lambda x, c=constant: c)(X), np.zeros(3))
    np.testing.assert_array_equal(ad.jacobian(lambda x: np.ones(2))(X), np.zeros((2, 3)))
    np.testing.assert_array_equal(ad.jvp(lambda x: (1.0, X), (X,), (X,))[1][1], np.zeros(3))


def test_aux() -> None:
    with pytest.raises(TypeError, match=r"pair \(value, aux\)"):
        ad.grad(total, has_aux=True)(X)
    _, aux = ad.grad(lambda x: (total(x), {"text": "kept", "x": x}), has_aux=True)(X)
    assert aux["text"] == "kept"
    assert type(aux["x"]) is np.ndarray


# trees that do not fit

Point = namedtuple("Point", "x y")


@dataclass
class Layer:
    weight: np.ndarray
    bias: float


@pytest.mark.parametrize(
    "primal, tangent, text",
    [
        ({"a": X, "b": X}, {"a": X}, "b"),
        ({"a": X}, {"a": X, "b": X}, "b"),
        ([X, X], [X], "2|1"),
        ((X, [X]), (X, X), r"\[1\]"),
        (Point(X, X), (X, X), "Point"),
        (Layer(X, 1.0), {"weight": X, "bias": 1.0}, "Layer"),
        ({"a": X}, {"a": np.ones(4)}, r"\(4,\).*float64\[3\]"),
        ({"a": X}, {"a": X * 1j}, "complex"),
        (X, [0.5, 1.0, 2.0], "list|leaf"),
        (X, "text", "str"),
        (X, np.ones((3, 1)), r"\(3, 1\)"),
    ],
)
def test_ragged_trees(primal, tangent, text) -> None:
    f = lambda tree: sum(np.sum(leaf) for leaf in ad.tree.leaves(tree))
    for call in (
        lambda: ad.jvp(f, (primal,), (tangent,)),
        lambda: ad.linearize(f, primal)[1](tangent),
        lambda: ad.jet(f, (primal,), ((tangent,),)),
        lambda: ad.vjp(lambda t: t, primal)[1](tangent),
        lambda: ad.hvp(f, (primal,), (tangent,)),
    ):
        with pytest.raises((ValueError, TypeError), match=f"(?s){text}"):
            call()


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: ad.jvp(total, X, X), "tuple"),
        (lambda: ad.jvp(total, (X,), X), "tuple"),
        (lambda: ad.jvp(total, (X,), (X, X)), "1|2"),
        (lambda: ad.vjp(total, X)[1](1.0, 2.0), "one cotangent"),
        (lambda: ad.vjp(np.sin, X)[1](1.0), r"\(\).*float64\[3\]"),
        (lambda: ad.grad(total, argnums=1)(X), "argnums=1.*1 positional"),
        (lambda: ad.grad(total, argnums="y")(X), "no argument called 'y'"),
        (lambda: ad.grad(total(X)), r"needs a function.*grad\(f\)\(x\)"),
        (lambda: ad.jet(total, (X,), ((X,), (X,))), "1 primals but 2 series"),
        (lambda: ad.jet(np.multiply, (X, X), ((X,), (X, X))), "same number"),
        (lambda: ad.vmap(total)(1.0), r"no axis 0"),
        (lambda: ad.vmap(np.add)(X, np.ones(2)), "different sizes"),
        (lambda: ad.vmap(np.add, in_axes=(0,))(X, X), "in_axes has 1"),
        (lambda: ad.vmap(np.add, in_axes=None)(X, X), "axis_size"),
        (lambda: ad.vmap(np.sin, in_axes=3)(X), "no axis 3"),
        (lambda: ad.vmap(np.sin, out_axes=None)(X), "differs between batch elements"),
        (lambda: ad.vmap(lambda x: [x, x] if x > 0.7 else [x])(X), "different trees"),
        (lambda: ad.scan(lambda c, x: (c, x), 0.0, 1.0), "first axis"),
        (lambda: ad.scan(lambda c, x: c + x, 0.0, X), "pair"),
        (lambda: ad.scan(lambda c, x: (c + X, x), 0.0, X), r"enters the body as .*float64\[\].*float64\[3\]"),
        (lambda: ad.scan(lambda c, x: (c, x), 0.0, {"a": X, "b": X[:2]}), "sizes"),
        (lambda: ad.scan(lambda c, x: (c, x), 0.0), "length"),
        (lambda: ad.while_loop(lambda c: c > 0, lambda c: c[0], X), "one truth value|axes|enters"),
        (lambda: ad.cond(X > 0, np.sin, np.cos, X), "one truth value"),
        (lambda: ad.vmap(lambda x: ad.cond(x > 1, lambda x: x, lambda x: (x, x), x))(X), "different trees"),
        (lambda: ad.switch(0, [], X), "at least one"),
        (lambda: ad.tree.ravel({"a": X})[1](np.ones(4)), "3 elements.*4"),
        (lambda: ad.tree.ravel({"a": X, "n": 3}), "n.*integers"),
        (lambda: ad.linear_transpose(np.sin, X)(X), "not linear"),
        (lambda: ad.hvp(np.sin, (X,), (X,)), "scalar"),
        (lambda: ad.grad(lambda z: z**2, holomorphic=True)(1.0), "complex"),
    ],
)
def test_calls_that_do_not_fit(call, text) -> None:
    with pytest.raises((ValueError, TypeError), match=f"(?s){text}"):
        call()


# writing


def test_written_views_and_arguments() -> None:
    """NumPy's answer, and the caller's array as it was."""

    def through_a_view(x):
        y = x * 1.0
        view = y[1:]
        view[0] = x[0] * 5.0
        view *= 2.0
        return np.sum(y**2)

    def into_the_argument(x):
        x[0] = 3.0 * x[1]
        return np.sum(x**2)

    x = X.copy()
    for f in (through_a_view, into_the_argument):
        step, slope = 1e-6, ad.grad(f)(x)
        for i, unit in enumerate(np.eye(3)):
            assert slope[i] == pytest.approx((f(X + step * unit) - f(X - step * unit)) / (2 * step), rel=1e-6, abs=1e-6)
    np.testing.assert_array_equal(x, X)


def test_a_captured_array_that_is_written_to() -> None:
    weights = np.ones(3)

    def f(x):
        y = np.sum(x * weights)
        weights[...] = 7.0
        return y

    np.testing.assert_array_equal(ad.grad(f)(X), np.ones(3))
    weights[...] = 1.0
    _, pullback = ad.vjp(lambda x: np.sum(x * weights), X)
    weights[...] = 9.0
    np.testing.assert_array_equal(pullback(1.0)[0], np.ones(3))


def test_an_argument_that_is_written_to_before_the_way_back() -> None:
    x = X.copy()
    _, pullback = ad.vjp(total, x)
    _, pushforward = ad.linearize(total, x)
    x[...] = 100.0
    np.testing.assert_array_equal(pullback(1.0)[0], 2 * X)
    assert pushforward(np.ones(3)) == np.sum(2 * X)


# leaks

LEAKS = {
    "grad": lambda f: ad.grad(f)(X),
    "jvp": lambda f: ad.jvp(f, (X,), (X,)),
    "vmap": lambda f: ad.vmap(f)(np.stack([X, X])),
    "jet": lambda f: ad.jet(f, (X,), ((X,),)),
    "trace": lambda f: ad.trace(f)(X),
    "scan": lambda f: ad.scan(lambda c, x: (c + f(x), None), 0.0, np.stack([X, X])),
    "vjp": lambda f: ad.vjp(f, X),
    "checkpoint": lambda f: ad.grad(ad.checkpoint(f))(X),
}
USES = {
    "sum": np.sum,
    "operator": lambda x: x + 1.0,
    "index": lambda x: x[0],
    "assignment": lambda x: x.__setitem__(0, 1.0),
    "function": lambda x: np.concatenate([x, x]),
    "another grad": lambda x: ad.grad(lambda y: np.sum(x * y))(X),
    "another vmap": lambda x: ad.vmap(lambda y: x * y)(X),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("mode", LEAKS)
def test_leaked_values(mode, use) -> None:
    kept = []

    def f(x):
        kept.append(x * 2.0)
        return np.sum(x)

    LEAKS[mode](f)
    with pytest.raises(LeakError, match=r"(?s)outlived.*test_bad_input\.py"):
        USES[use](kept[-1])


def test_a_value_kept_from_an_inner_level() -> None:
    def f(x):
        kept = []
        ad.grad(lambda y: kept.append(y) or np.sum(y * x))(X)
        return np.sum(kept[0] * x)

    with pytest.raises(LeakError, match="outlived"):
        ad.grad(f)(X)

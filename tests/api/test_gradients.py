"""What users call: which arguments, which trees, what comes back, and what is said when the input is bad."""

import concurrent.futures
import dataclasses
import functools
import inspect
import multiprocessing
import pickle
import re
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import DtypeError, ShapeError, TraceError

X = np.array([1.0, 2.0, 3.0])


def f(x, y=2.0, *, z=3.0):
    return np.sum(x**2) * y * z


# ---- arguments ----


@pytest.mark.parametrize("argnums, expected", [(0, 40.0), ("x", 40.0), (1, 20.0), ("y", 20.0), (-1, 20.0), ("z", 8.0)])
def test_argnums(argnums, expected) -> None:
    assert ad.grad(f, argnums)(2.0, 2.0, z=5.0) == expected


def test_several_arguments_give_a_tuple() -> None:
    assert ad.grad(f, (0, 1))(2.0, 1.0) == (12.0, 12.0)
    assert ad.grad(f, ["x", "z"])(2.0, y=1.0, z=3.0) == (12.0, 4.0)
    assert ad.grad(f, (1,))(2.0, 1.0) == (12.0,)
    assert ad.grad(f, 1)(2.0, y=1.0) == 12.0


def test_arguments_that_do_not_exist() -> None:
    with pytest.raises(TypeError, match="no argument called 'w'; it has x, y, z"):
        ad.grad(f, "w")(2.0)
    with pytest.raises(TypeError, match="argnums=5, but the function was called with 1 positional"):
        ad.grad(f, 5)(2.0)
    with pytest.raises(TypeError, match="argnums=1"):
        ad.grad(f, 1)(2.0)


def test_arguments_that_are_not_given_have_their_defaults() -> None:
    g = lambda x, y=3.0, *, z=2.0: x * y**2 * z
    assert ad.grad(g, "y")(2.0) == 24.0
    assert ad.grad(g, ("z", "x"))(2.0) == (18.0, 18.0)
    with pytest.raises(TypeError, match=r"argnums='y', but .* without y"):
        ad.grad(lambda x, y: x * y, "y")(2.0)


def test_whole_numbers_where_there_is_no_argnums() -> None:
    multiply = lambda x, n: x * n
    with pytest.raises(DtypeError, match=r"argument n .*lambda x: f\(x, n\)"):
        ad.jvp(multiply, (X, np.arange(3)), (X, np.arange(3)))
    with pytest.raises(DtypeError, match=r"argument n .*argnums"):
        ad.grad(multiply, "n")(X, np.arange(3))


def test_c_code_that_goes_on_after_a_refusal() -> None:
    with config.override(convert=False), pytest.raises(TraceError, match="derivative would be lost"):
        ad.grad(lambda a: brentq(lambda t: t * t - a, 0.0, 3.0))(2.0)


def test_what_is_not_a_function() -> None:
    for transform in (ad.grad, ad.value_and_grad, ad.vmap, ad.jacobian, ad.checkpoint):
        with pytest.raises(TypeError, match=r"needs a function, not float64"):
            transform(np.float64(3.0))


def test_primals_and_tangents_are_tuples() -> None:
    with pytest.raises(TypeError, match=r"primals must be a tuple"):
        ad.jvp(np.sin, 1.0, (1.0,))
    with pytest.raises(TypeError, match=r"tangents must be a tuple"):
        ad.jvp(np.sin, (1.0,), 1.0)
    with pytest.raises(ValueError, match="tangents"):
        ad.jvp(np.sin, (1.0,), (1.0, 2.0))
    with pytest.raises(TypeError, match="one cotangent"):
        ad.vjp(np.sin, 1.0)[1](1.0, 2.0)
    with pytest.raises(ShapeError, match=r"shape \(2,\).*float64\[3\]"):
        ad.jvp(np.sin, (X,), (np.ones(2),))
    with pytest.raises(ShapeError, match=r"shape \(3,\).*float64\[\]"):
        ad.vjp(np.sum, X)[1](X)
    with pytest.raises(ShapeError, match="same number of terms"):
        ad.jet(np.multiply, (1.0, 2.0), ((1.0,), (1.0, 2.0)))


# ---- trees ----


class Pair(NamedTuple):
    a: float
    b: np.ndarray


@dataclasses.dataclass
class Params:
    pair: Pair
    layers: list
    steps: int
    name: str


PARAMS = Params(Pair(1.5, X), [{"w": np.eye(2)}, (), None], 4, "model")


def loss(p):
    return p.pair.a * np.sum(p.pair.b) * np.sum(p.layers[0]["w"]) * p.steps


def test_gradients_look_like_their_arguments() -> None:
    g = ad.grad(loss)(PARAMS)
    assert isinstance(g, Params)
    assert isinstance(g.pair, Pair)
    assert g.layers[1:] == [(), None]
    assert (g.steps, type(g.steps), g.name) == (0, np.int64, "model")
    assert g.pair.a == 6.0 * 2.0 * 4
    np.testing.assert_array_equal(g.pair.b, np.full(3, 1.5 * 2 * 4))
    np.testing.assert_array_equal(g.layers[0]["w"], np.full((2, 2), 1.5 * 6 * 4))


def test_has_aux() -> None:
    def with_aux(x):
        return np.sum(x**2), {"double": x * 2, "text": "kept", "none": None}

    g, aux = ad.grad(with_aux, has_aux=True)(X)
    (value, aux2), g2 = ad.value_and_grad(with_aux, has_aux=True)(X)
    assert value == 14.0
    for gradient, extra in ((g, aux), (g2, aux2)):
        np.testing.assert_array_equal(gradient, 2 * X)
        assert type(extra["double"]) is np.ndarray
        assert (extra["text"], extra["none"]) == ("kept", None)
    y, pullback, aux3 = ad.vjp(with_aux, X, has_aux=True)
    assert (y, aux3["text"]) == (14.0, "kept")
    np.testing.assert_array_equal(pullback(1.0)[0], 2 * X)
    y, dy, aux4 = ad.jvp(with_aux, (X,), (X,), has_aux=True)
    assert (y, dy, aux4["text"]) == (14.0, 28.0, "kept")
    with pytest.raises(TypeError, match=r"pair \(value, aux\); it returned a float64"):
        ad.grad(lambda x: np.float64(1.0), has_aux=True)(X)


def test_the_path_of_a_leaf_is_in_the_error() -> None:
    with pytest.raises(DtypeError, match=r"argument params\['layers'\]\[0\] has dtype <U4"):
        ad.grad(lambda params: 0.0)({"layers": [np.array(["text"])]})
    with pytest.raises(ValueError, match=r"'b'|\.b"):
        ad.jvp(lambda p: p.b, (Pair(1.0, X),), (Pair(1.0, np.ones(2)),))


# ---- results ----


@pytest.mark.parametrize("x", [2.0, np.float64(2.0), np.array(2.0), 2, np.float32(2.0)])
def test_scalars_in_scalars_out(x) -> None:
    g = ad.grad(lambda x: x**3)(x)
    assert isinstance(g, np.generic)
    assert g == 12.0
    assert g.dtype == (np.float32 if getattr(x, "dtype", None) == np.float32 else np.float64)


def test_results_never_share_memory_with_arguments() -> None:
    x = X.copy()
    y, pullback = ad.vjp(lambda x: x, x)
    y[:] = 9.0
    pullback(x)[0][:] = 9.0
    ad.vmap(lambda x: x)(x)[:] = 9.0
    ad.jvp(lambda x: x, (x,), (x,))[1][:] = 9.0
    np.testing.assert_array_equal(x, X)


def test_names_signatures_and_methods() -> None:
    class Model:
        def __init__(self, scale):
            self.scale = scale

        def energy(self, x):
            """The energy."""
            return self.scale * np.sum(x**2)

        force = ad.grad(energy, argnums=1)

    np.testing.assert_array_equal(Model(3.0).force(X), 6 * X)
    np.testing.assert_array_equal(ad.grad(Model(3.0).energy)(X), 6 * X)
    transformed = ad.grad(f)
    assert (transformed.__name__, transformed.__wrapped__) == ("f", f)
    assert "grad of f" in repr(transformed)
    assert ad.grad(functools.partial(f, y=1.0))(2.0) == 12.0
    assert ad.grad(np.sum)(X).tolist() == [1.0, 1.0, 1.0]


PICKLED = [ad.grad(f), ad.value_and_grad(f, 1), ad.vmap(f, in_axes=(0, None)), ad.jacobian(f), ad.hessian(f)]
PICKLED += [ad.grad(ad.grad(f)), ad.checkpoint(f)]


@pytest.mark.parametrize("transformed", PICKLED, ids=repr)
def test_pickling(transformed) -> None:
    argument = X if "vmap" in repr(transformed) else 2.0
    copy = pickle.loads(pickle.dumps(transformed))
    for a, b in zip(ad.tree.leaves(copy(argument, 1.0)), ad.tree.leaves(transformed(argument, 1.0)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes(method) -> None:
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        assert list(pool.map(ad.grad(np.tanh), [0.0, 0.0])) == [1.0, 1.0]
        np.testing.assert_array_equal(pool.submit(ad.vmap(ad.grad(np.square)), X).result(60), 2 * X)


# ---- bad input ----


BAD = {
    "integer array": (lambda: ad.grad(np.sum)(np.arange(3)), DtypeError, r"argument .* int64.*astype\(float\)"),
    "boolean": (lambda: ad.grad(lambda x: x * 1.0)(True), DtypeError, "bool"),
    "string": (lambda: ad.grad(lambda x: x)("text"), DtypeError, "is a str"),
    "string array": (lambda: ad.grad(lambda x: x)(np.array(["a"])), DtypeError, "<U1"),
    "object array": (lambda: ad.grad(lambda x: x)(np.array([1.0, None], dtype=object)), DtypeError, "object"),
    "longdouble": (lambda: ad.grad(lambda x: x)(np.longdouble(1.0)), DtypeError, "float64"),
    "masked": (lambda: ad.grad(np.sum)(np.ma.masked_array([1.0, 2.0], [True, False])), DtypeError, "filled"),
    "matrix": (lambda: ad.grad(np.sum)(np.asmatrix(np.ones((2, 2)))), DtypeError, "np.asarray"),
    "None": (lambda: ad.grad(lambda x: 1.0)(object()), DtypeError, "is a object"),
    "vector output": (lambda: ad.grad(lambda x: x * 2)(X), ShapeError, r"scalar.* float64\[3\].*jacobian"),
    "tuple output": (lambda: ad.grad(lambda x: (x, x))(1.0), ShapeError, "has_aux"),
    "no output": (lambda: ad.grad(lambda x: None)(1.0), ShapeError, "returned None"),
    "string output": (lambda: ad.grad(lambda x: "text")(1.0), DtypeError, "result is a str"),
    "complex output": (lambda: ad.grad(lambda x: x * 1j)(1.0), DtypeError, "holomorphic=True"),
    "real holomorphic": (lambda: ad.grad(np.sin, holomorphic=True)(1.0), DtypeError, "complex arguments"),
    "complex tangent": (lambda: ad.jvp(np.sin, (1.0,), (1.0j,)), DtypeError, "complex"),
    "ragged tangents": (lambda: ad.jvp(lambda p: p[0], ((1.0, 2.0),), ((1.0,),)), ValueError, "tangents"),
    "ragged cotangent": (lambda: ad.vjp(lambda x: {"a": x}, 1.0)[1]({"b": 1.0}), ValueError, "cotangent"),
    "vmap sizes": (lambda: ad.vmap(np.add)(np.ones(3), np.ones(4)), ShapeError, "different sizes"),
    "vmap number": (lambda: ad.vmap(np.sin)(1.0), ShapeError, "no axis 0"),
    "vmap axis": (lambda: ad.vmap(np.sin, in_axes=2)(np.ones((2, 2))), ShapeError, "no axis 2"),
    "vmap unmapped": (lambda: ad.vmap(np.sin, in_axes=None)(1.0), ShapeError, "axis_size"),
    "vmap in_axes": (lambda: ad.vmap(np.add, in_axes=(0,))(X, X), TypeError, "1 entry"),
    "vmap out_axes": (lambda: ad.vmap(np.sin, out_axes=None)(X), ShapeError, "differs between batch elements"),
    "shapes": (lambda: ad.grad(lambda x: np.sum(x + np.ones(2)))(X), ValueError, "broadcast"),
    "float()": (lambda: ad.grad(lambda x: float(x))(1.0), TraceError, "float"),
    "asarray": (lambda: ad.grad(lambda x: np.sum(np.asarray(x)))(X), TraceError, "plain value"),
    "not linear": (lambda: ad.linear_transpose(np.sin, 1.0)(1.0), TypeError, "sin is not linear"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("name", BAD)
def test_bad_input(name) -> None:
    call, kind, match = BAD[name]
    with config.override(convert=False), pytest.raises(kind, match=match):
        call()


GOOD = {
    "Fortran order": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "strided": np.arange(12.0)[::2],
    "negative strides": np.arange(4.0)[::-1],
    "byte-swapped": np.arange(4.0).astype(">f8"),
    "read-only": np.broadcast_to(np.float64(2.0), (3,)),
    "0-d": np.array(2.0),
    "empty": np.zeros((0, 3)),
    "single": np.arange(3.0, dtype=np.float32),
    "half": np.arange(3.0, dtype=np.float16),
    "unmasked": np.ma.masked_array([1.0, 2.0], [False, False]),
    "a subclass": np.arange(3.0).view(type("Mine", (np.ndarray,), {})),
}


@pytest.mark.parametrize("name", GOOD)
def test_unusual_arrays(name) -> None:
    x = GOOD[name]
    before = np.array(x)
    g = ad.grad(lambda x: np.sum(x**2))(x)
    np.testing.assert_allclose(g, 2 * before)
    assert type(g) in (np.ndarray, np.float64)
    assert g.dtype == before.dtype.newbyteorder("=")
    np.testing.assert_array_equal(x, before)


def test_nan_and_inf_pass_through() -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            ad.grad(lambda x: np.sum(x * x))(np.array([np.nan, np.inf, 1.0])), [np.nan, np.inf, 2.0]
        )


def test_linear_transpose_from_types() -> None:
    transpose = ad.linear_transpose(lambda x: np.cumsum(x), ad.ArrayType((3,), np.dtype(float)))
    np.testing.assert_array_equal(transpose(np.array([1.0, 10.0, 100.0]))[0], [111.0, 110.0, 100.0])


def test_public_signatures_say_what_they_take() -> None:
    """No bare Any: a tree, a value or a function is called so."""
    for name in ad.__all__:
        function = inspect.unwrap(getattr(ad, name))
        if inspect.isfunction(function):
            bare = {k: v for k, v in function.__annotations__.items() if re.search(r"(?<![\w.])Any\b", str(v))}
            assert not bare, f"{name}: {bare}"


def test_a_pushforward_has_the_pullback_of_the_same_run() -> None:
    calls: list[int] = []

    def f(x, y):
        calls.append(1)
        return np.sin(x) * y

    x, y, u = X, 2.0, np.arange(1.0, 1.0 + X.size).reshape(X.shape)
    _, pushforward = ad.linearize(f, x, y)
    pullback = pushforward.transpose()
    assert (repr(pushforward)[:13], repr(pullback)[:10]) == ("<pushforward ", "<pullback ")
    for ours, theirs in zip(pullback(u), ad.vjp(f, x, y)[1](u), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert len(calls) == 2

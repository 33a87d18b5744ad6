"""The Array API standard: the dtypes of mixed operands, and shapes of every size, also 0, in every transformation."""

import itertools

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import adjoint as ad
import adjoint.numpy as xp
from tests.numpy.array_api_names import DTYPES

# The standard's tables: each dtype with those of its own kind and, for integers, of the other sign.
CHAINS = (
    ("int8", "int16", "int32", "int64"),
    ("uint8", "uint16", "uint32", "uint64"),
    ("float32", "float64"),
    ("complex64", "complex128"),
)
MIXED = {  # (signed, unsigned)
    ("int8", "uint8"): "int16",
    ("int8", "uint16"): "int32",
    ("int8", "uint32"): "int64",
    ("int16", "uint8"): "int16",
    ("int16", "uint16"): "int32",
    ("int16", "uint32"): "int64",
    ("int32", "uint8"): "int32",
    ("int32", "uint16"): "int32",
    ("int32", "uint32"): "int64",
    ("int64", "uint8"): "int64",
    ("int64", "uint16"): "int64",
    ("int64", "uint32"): "int64",
    ("float32", "complex64"): "complex64",
    ("float32", "complex128"): "complex128",
    ("float64", "complex64"): "complex128",
    ("float64", "complex128"): "complex128",
}
PROMOTED = {("bool", "bool"): "bool"} | MIXED | {(b, a): c for (a, b), c in MIXED.items()}
PROMOTED |= {(a, b): max(a, b, key=chain.index) for chain in CHAINS for a, b in itertools.product(chain, repeat=2)}


def sample(dtype: str) -> np.ndarray:
    return np.array([1, 0, 1], dtype)


def test_result_type() -> None:
    for (a, b), wanted in PROMOTED.items():
        found = xp.result_type(getattr(xp, a), sample(b))
        assert found == getattr(xp, wanted), (a, b)
        assert strict.result_type(getattr(strict, a), getattr(strict, b)) == getattr(strict, wanted)
        assert xp.can_cast(getattr(xp, a), getattr(xp, wanted))
    traced = ad.vmap(lambda x: xp.astype(x, xp.result_type(x, xp.complex64, 1.0)))(np.ones((2, 2), np.float32))
    assert traced.dtype == np.complex64


@pytest.mark.parametrize("how", ["plain", "lanes", "compiled"])
def test_mixed_operands(how: str) -> None:
    def f(pool):
        return [
            (xp.equal(x, y), xp.where(x == y, x, y), xp.concat([x, y]), xp.stack([x, y]))
            + ((x + y, xp.multiply(x, y), xp.vecdot(x, y)) if "bool" not in (str(x.dtype), str(y.dtype)) else ())
            for x, y in pool
        ]

    promoted = dict(list(PROMOTED.items())[:: 6 if how == "compiled" else 1])
    pool = [(sample(a), sample(b)) for a, b in promoted]
    if how == "lanes":
        found = ad.vmap(f)([(np.stack([x, x]), np.stack([y, y])) for x, y in pool])
    else:
        found = f(pool) if how == "plain" else ad.jit(f)(pool)
    for (dtypes, wanted), (truth, *others) in zip(promoted.items(), found, strict=True):
        assert truth.dtype == np.bool
        assert {str(part.dtype) for part in others} == {wanted}, dtypes


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bool"])
def test_numbers_of_python_keep_the_dtype(dtype: str) -> None:
    numbers = [2]
    numbers += [0.5] if dtype.startswith(("float", "complex")) else []
    numbers += [1j] if dtype.startswith("complex") else []
    x = sample(dtype)
    f = lambda x: [g for n in numbers for g in (x + n, n * x, xp.add(x, n), xp.multiply(n, x), xp.where(x == 1, x, n))]
    for found in (f(x), ad.vmap(f)(np.stack([x, x])), ad.jit(f)(x)):
        assert {str(part.dtype) for part in found} == {dtype}


SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
FUNCTIONS = {  # of an array with at least one axis, and one of its axes
    "sum": lambda xp, x, axis: xp.sum(x, axis=axis, keepdims=True),
    "prod": lambda xp, x, axis: xp.prod(x, axis=axis),
    "all": lambda xp, x, axis: xp.all(x, axis=axis),
    "flip": lambda xp, x, axis: xp.flip(x, axis=axis),
    "roll": lambda xp, x, axis: xp.roll(x, 1, axis=axis),
    "expand_dims": lambda xp, x, axis: xp.expand_dims(x, axis=axis),
    "concat": lambda xp, x, axis: xp.concat([x, x * 2.0], axis=axis),
    "stack": lambda xp, x, axis: xp.stack([x, x * 2.0], axis=axis),
    "unstack": lambda xp, x, axis: xp.unstack(x, axis=axis),
    "moveaxis": lambda xp, x, axis: xp.moveaxis(x, axis, 0),
    "repeat": lambda xp, x, axis: xp.repeat(x, 2, axis=axis),
    "sort": lambda xp, x, axis: xp.sort(x, axis=axis, descending=True),
    "argsort": lambda xp, x, axis: xp.argsort(x, axis=axis),
    "cumulative_sum": lambda xp, x, axis: xp.cumulative_sum(x, axis=axis, include_initial=True),
    "count_nonzero": lambda xp, x, axis: xp.count_nonzero(x, axis=axis),
    "vector_norm": lambda xp, x, axis: xp.linalg.vector_norm(x, axis=axis),
    "reshape": lambda xp, x, axis: xp.reshape(x, (1, x.size)),
    "tile": lambda xp, x, axis: xp.tile(x, (2, 1)),
    "take": lambda xp, x, axis: xp.take(x, xp.asarray([], dtype=xp.int64), axis=axis),
    "diff": lambda xp, x, axis: xp.diff(x, axis=axis, prepend=x),
}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_shapes(data) -> None:
    """Every function, in every transformation, gives what another implementation of the standard gives."""
    shape = data.draw(SHAPES.filter(len))
    x = np.random.default_rng(0).standard_normal(shape)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    name = data.draw(st.sampled_from(sorted(FUNCTIONS)))
    parts = lambda result: list(result) if isinstance(result, tuple) else [result]
    wanted = [np.from_dlpack(part) for part in parts(FUNCTIONS[name](strict, strict.asarray(x), axis))]
    check(lambda x: parts(FUNCTIONS[name](xp, x, axis)), (x,), wanted)


@settings(max_examples=60, deadline=None)
@given(
    hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3),
    st.sampled_from(["add", "where"]),
)
def test_broadcasting(shapes, name: str) -> None:
    x, y = (np.random.default_rng(k).standard_normal(shape) for k, shape in enumerate(shapes.input_shapes))
    call = {"add": lambda xp, x, y: xp.add(x, y), "where": lambda xp, x, y: xp.where(x > 0.0, x, y)}[name]
    wanted = np.from_dlpack(call(strict, strict.asarray(x), strict.asarray(y)))
    assert wanted.shape == shapes.result_shape
    check(lambda x, y: [call(xp, x, y)], (x, y), [wanted])


def check(f, xs, wanted) -> None:
    ones = tuple(np.ones_like(x) for x in xs)
    ways = [f(*xs), ad.vjp(lambda *a: (np.sum(a[0]), f(*a)), *xs, has_aux=True)[2], ad.jvp(f, xs, ones)[0]]
    ways.append([part[0] for part in ad.vmap(f)(*[np.stack([x, x]) for x in xs])])
    for found in ways:
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)

"""Every form of index, reading and writing, against NumPy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjoint as ad
from tests.numpy.checking import Case, array, every_check

X = array(3, 4, 5)
MASK = np.arange(12).reshape(3, 4) % 2 == 0
INDICES = {
    "integer": 1,
    "negative": -1,
    "tuple": (0, 2, 3),
    "slice": slice(1, None),
    "steps": (slice(None, None, 2), slice(3, 0, -1)),
    "ellipsis": (..., 2),
    "ellipsis in between": (1, ..., slice(2)),
    "newaxis": (None, 0, None, ..., None),
    "list": [2, 0, 2],
    "array": np.array([[0, 1], [2, 2]]),
    "arrays": (np.array([0, 2]), np.array([1, 3])),
    "arrays that broadcast": (np.array([[0], [2]]), np.array([1, 3, 1])),
    "array after slice": (slice(None), np.array([3, 0, 3])),
    "arrays apart": (np.array([0, 2]), slice(None), np.array([1, 4])),
    "arrays together": (slice(None), np.array([0, 2]), np.array([1, 4])),
    "integer and array": (0, slice(None), np.array([1, 4])),
    "array and integer": (np.array([0, 1]), slice(1, 3), 2),
    "array and newaxis": (np.array([0, 1]), None, slice(None), np.array([2, 3])),
    "array and ellipsis": (..., np.array([2, 0])),
    "mask": MASK,
    "mask of first axis": np.array([True, False, True]),
    "mask after slice": (slice(None), np.array([True, False, True, False])),
    "mask and integer": (MASK, 2),
    "mask and array": (np.array([True, False, True]), np.array([0, 2])),
    "empty list": [],
    "empty slice": slice(5, 9),
    "true": True,
    "false": np.False_,
    "numpy integer": np.int64(2),
    "all": ...,
    "nothing": (),
}
CASES = [
    *[Case(f"read {name}", lambda x, i=i: x[i], (X,)) for name, i in INDICES.items()],
    Case("take", lambda x: np.take(x, [[0, 7], [3, 3]]), (X,)),
    Case("take axis", lambda x: np.take(x, [0, -1], axis=1), (X,)),
    Case("take clip", lambda x: np.take(x, [-5, 99], axis=0, mode="clip"), (X,)),
    Case("take wrap", lambda x: np.take(x, [-5, 99], axis=0, mode="wrap"), (X,)),
    Case("take_along_axis", lambda x: np.take_along_axis(x, np.array([[[1], [0], [2], [2]]]), 2), (X,)),
    Case("take_along_axis flat", lambda x: np.take_along_axis(x, np.array([5, 0, 5]), None), (X,)),
    Case("iteration", lambda x: [row * 2 for row in x], (array(3, 2),)),
    Case("unpacking", lambda x: [a * b for (a, b) in [x]], (array(2),)),
    Case("repeated reads", lambda x: sum(x[i] * x[i - 1] for i in range(4)), (array(4),)),
]


def written(index):
    def f(x, v):
        y = x * 1.5
        y[index] = np.broadcast_to(v, np.shape(y[index])) * 2
        return y * y

    return f


def scalar_written(index):
    def f(x, v):
        y = +x
        y[index] = v
        y[index] *= y[0, 0, 0]
        return y

    return f


CASES += [Case(f"write {name}", written(i), (X, 1.3)) for name, i in INDICES.items()]
CASES += [Case(f"write a number {name}", scalar_written(i), (X, 1.3)) for name, i in INDICES.items()]


@every_check(CASES)
def test_indexing(case, check) -> None:
    check(case)


def test_repeated_indices_keep_the_last_write() -> None:
    def f(x, v):
        y = +x
        y[[0, 2, 0]] = v
        return y * y

    x, v = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    gx, gv = ad.grad(lambda x, v: np.sum(f(x, v)), (0, 1))(x, v)
    np.testing.assert_array_equal(gx, [0.0, 4.0, 0.0])
    np.testing.assert_array_equal(gv, [0.0, 10.0, 12.0])


PARTS = (
    st.integers(-3, 2)
    | st.slices(3)
    | st.just(None)
    | st.lists(st.integers(-3, 2), min_size=1, max_size=3).map(np.array)
    | st.just(...)
    | st.just(np.array([True, False, True]))
)


@given(st.lists(PARTS, max_size=4))
def test_any_index_is_numpys(parts) -> None:
    x = np.arange(27.0).reshape(3, 3, 3)
    index = tuple(parts)
    try:
        wanted = x[index]
    except (IndexError, ValueError) as problem:
        with pytest.raises(type(problem)):
            ad.jvp(lambda x: x[index], (x,), (x,))
        return
    y, slope = ad.jvp(lambda x: x[index], (x,), (x,))
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(slope, wanted)
    counts = np.zeros((3, 3, 3))
    np.add.at(counts, index, 1.0)
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x[index]))(x), counts)
    np.testing.assert_array_equal(ad.vmap(lambda x: x[index])(np.stack([x, -x])), np.stack([wanted, -wanted]))
    changed = x.copy()
    changed[index] = 7.0

    def write(x):
        x = +x
        x[index] = 7.0
        return x

    np.testing.assert_array_equal(ad.jvp(write, (x,), (x,))[0], changed)


def test_traced_places() -> None:
    x, i = array(2, 5), np.array([[0, 3], [4, 4]])
    np.testing.assert_allclose(ad.vmap(lambda x, i: x[i] * i)(x, i), np.stack([x[k][i[k]] * i[k] for k in range(2)]))
    np.testing.assert_allclose(ad.vmap(lambda x, i: x.at[i].add(1.0))(x, i)[1, 4], x[1, 4] + 2.0)


@pytest.mark.parametrize("index", [7, (0, 0, 0, 0), [3], 1.5, "a", np.ones(4, bool), (slice(None), np.ones(3, bool))])
def test_wrong_indices_raise_as_in_numpy(index) -> None:
    with pytest.raises(IndexError):
        X[index]
    for run in (lambda f: ad.grad(f)(X), lambda f: ad.jvp(f, (X,), (X,)), lambda f: ad.vmap(f)(np.stack([X, X]))):
        with pytest.raises(IndexError):
            run(lambda x: np.sum(x[index]))


def test_lists_with_traced_places() -> None:
    def pivoted(a):
        a = +a
        p = np.argmax(np.abs(a[:, 0]))
        a[[0, p]] = a[[p, 0]]
        return np.sum(a * np.arange(1.0, 7.0).reshape(3, 2), axis=1)

    lanes = np.random.default_rng(0).normal(size=(4, 3, 2))
    np.testing.assert_allclose(ad.vmap(pivoted)(lanes), [pivoted(lane) for lane in lanes])
    np.testing.assert_allclose(ad.vmap(ad.jacrev(pivoted))(lanes), [ad.jacfwd(pivoted)(lane) for lane in lanes])


# ---- lists on the right ----

LISTS = {
    "a slice": ((4,), lambda z, x: z.__setitem__(slice(1, 3), [x[0], x[1] ** 2])),
    "a tuple with a number": ((4,), lambda z, x: z.__setitem__(slice(1, 3), (x[0] * x[2], 2))),
    "places": ((4,), lambda z, x: z.__setitem__([0, 2], [x[0], 3.0])),
    "a mask": ((4,), lambda z, x: z.__setitem__(np.array([True, False, True, False]), [x[1], x[2] * x[1]])),
    "nested": ((2, 2), lambda z, x: z.__setitem__(slice(None), [[x[0], 1.0], (x[1], x[2] ** 2)])),
    "a list of arrays": ((2, 3), lambda z, x: z.__setitem__(slice(None), [x, np.sin(x)])),
    "a column": ((2, 3), lambda z, x: z.__setitem__((slice(None), 1), (x[1], x[2] ** 3))),
    "one number everywhere": ((4,), lambda z, x: z.__setitem__(..., [x[0]])),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_traced_values_is_assigned(name: str) -> None:
    shape, assign = LISTS[name]

    def f(x: Any) -> Any:
        z = ad.numpy.zeros(shape)
        assign(z, x)
        return z

    x = np.array([0.7, -1.2, 2.0])
    expected = np.zeros(shape)
    assign(expected, x)
    step = 1e-6
    columns = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(ad.jit(f)(x), expected)
    np.testing.assert_allclose(ad.vmap(f)(np.stack([x, x]))[1], expected)
    np.testing.assert_allclose(ad.map(f, np.stack([x, x]))[1], expected)
    for jacobian in (ad.jacfwd(f), ad.jacrev(f), ad.jit(ad.jacrev(f))):
        np.testing.assert_allclose(jacobian(x), np.stack(columns, axis=-1), atol=1e-8)

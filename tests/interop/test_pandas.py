"""pandas: columns as arguments and as operands, on either side; what would lose something is refused."""

import numpy as np
import pandas as pd
import pytest

import adjoint as ad

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0], "count": [2, 0, 1], "name": ["x", "y", "z"]})
A, B, NUMBERS = FRAME["a"], FRAME["b"], FRAME[["a", "b"]]
X = np.array([0.5, 1.0, 2.0])


def test_a_column_is_an_argument() -> None:
    slope = ad.grad(lambda x: np.sum(x**2))(A)
    assert type(slope) is np.ndarray
    np.testing.assert_array_equal(slope, [2.0, 4.0, 6.0])
    np.testing.assert_array_equal(ad.jvp(np.sum, (A,), (B,))[1], 15.0)
    np.testing.assert_array_equal(ad.vmap(np.square)(B), [16.0, 25.0, 36.0])
    np.testing.assert_array_equal(ad.jacobian(np.square)(A), np.diag([2.0, 4.0, 6.0]))
    np.testing.assert_array_equal(ad.jet(np.sum, (A,), ((B, A),))[1], [15.0, 6.0])


def test_a_frame_is_a_matrix() -> None:
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x**2))(NUMBERS), 2 * NUMBERS.to_numpy())


def test_the_frame_stays_as_it_is() -> None:
    before = FRAME.copy()

    def f(x):
        x[0] = 7.0
        return np.sum(x * A)

    np.testing.assert_array_equal(ad.grad(f)(A), [0.0, 2.0, 3.0])
    pd.testing.assert_frame_equal(FRAME, before)


# (function of a traced vector with pandas objects in it, the same with arrays)
a, b, numbers = A.to_numpy(), B.to_numpy(), NUMBERS.to_numpy()
OPERANDS = {
    "x * s": (lambda x: x * A, lambda x: x * a),
    "s * x": (lambda x: A * x, lambda x: a * x),
    "s + x": (lambda x: A + x, lambda x: a + x),
    "s - x": (lambda x: A - x, lambda x: a - x),
    "s / x": (lambda x: A / x, lambda x: a / x),
    "s ** x": (lambda x: A**x, lambda x: a**x),
    "x ** s": (lambda x: x**A, lambda x: x**a),
    "s * scalar": (lambda x: A * x[0], lambda x: a * x[0]),
    "s // x": (lambda x: A // x + x, lambda x: a // x + x),
    "frame * scalar": (lambda x: NUMBERS * x[1], lambda x: numbers * x[1]),
    "frame * row": (lambda x: NUMBERS * x[:2], lambda x: numbers * x[:2]),
    "x @ frame": (lambda x: x @ NUMBERS, lambda x: x @ numbers),
    "np.multiply": (lambda x: np.multiply(A, x), lambda x: a * x),
    "np.dot": (lambda x: np.dot(A, x), lambda x: a @ x),
    "np.exp of a column": (lambda x: x * np.exp(A), lambda x: x * np.exp(a)),
    "np.where": (lambda x: np.where(A > 1, x, 0.0), lambda x: np.where(a > 1, x, 0.0)),
    "mask": (lambda x: x[A > 1], lambda x: x[a > 1]),
    "places": (lambda x: x[FRAME["count"]] ** 2, lambda x: x[[2, 0, 1]] ** 2),
    "index": (lambda x: x * A.index, lambda x: x * np.arange(3)),
    "comparison": (lambda x: np.where(A.lt(2) & (x < A), x, 1.0), lambda x: np.where((a < 2) & (a > x), x, 1.0)),
    "integers": (lambda x: FRAME["count"] * x, lambda x: np.array([2, 0, 1]) * x),
    "cell by cell": (lambda x: sum(v * x[0] for v in A), lambda x: np.sum(a) * x[0]),
    "map": (lambda x: A.map(lambda v: v * x[0]).sum(), lambda x: np.sum(a) * x[0]),
    "apply": (lambda x: NUMBERS.apply(lambda r: r["a"] * x[1], axis=1).sum(), lambda x: np.sum(a) * x[1]),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_operands(name) -> None:
    f, plain = OPERANDS[name]
    total, expected = lambda x: np.sum(f(x)), lambda x: np.sum(plain(x))
    np.testing.assert_allclose(total(X), expected(X))
    np.testing.assert_allclose(ad.grad(total)(X), ad.grad(expected)(X))
    np.testing.assert_allclose(ad.jvp(total, (X,), (X,))[1], ad.jvp(expected, (X,), (X,))[1])
    lanes = np.stack([X, X + 0.1])
    np.testing.assert_allclose(ad.vmap(ad.grad(total))(lanes), [ad.grad(expected)(lane) for lane in lanes])


def added_in_place(x):
    column = A.copy()
    column += x
    return np.sum(column)


def assigned(x):
    column = A.copy()
    column.iloc[0] = x[0]
    return np.sum(column)


@pytest.mark.parametrize(
    "f, text",
    [
        (lambda x: A @ x, r"Series\.__matmul__.*\.to_numpy\(\)"),
        (lambda x: A.dot(x), r"Series\.dot.*\.to_numpy\(\)"),
        (lambda x: np.sum(NUMBERS.T @ x), r"DataFrame\.__matmul__.*\.to_numpy\(\)"),
        (lambda x: np.sum(pd.Series(x)), r"Series\.__init__.*\.to_numpy\(\)"),
        (added_in_place, r"pandas.*series \+= x.*\.to_numpy\(\)"),
        (assigned, r"pandas.*__setitem__.*\.to_numpy\(\)"),
    ],
)
@pytest.mark.parametrize("mode", ["grad", "jvp", "vmap"])
def test_where_pandas_does_not_hand_over(f, text, mode) -> None:
    """An error that names the method of pandas and the way out; never a dropped derivative."""
    call = {
        "grad": lambda: ad.grad(f)(X),
        "jvp": lambda: ad.jvp(f, (X,), (X,)),
        "vmap": lambda: ad.vmap(f)(np.stack([X, X])),
    }[mode]
    with pytest.raises(TypeError, match=f"(?s){text}"):
        call()


@pytest.mark.parametrize(
    "column, dtype",
    [
        (FRAME["name"], "object|str"),
        (FRAME, "object"),
        (pd.Series(["a", "b"], dtype="category"), "object|str"),
        (pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])), "datetime64"),
        (pd.Series([1.0, "two"], dtype=object), "object"),
        (FRAME["count"], "int64"),
    ],
)
def test_columns_without_a_derivative(column, dtype) -> None:
    with pytest.raises(TypeError, match=f"argument x .*({dtype})"):
        ad.grad(lambda x: np.sum(x))(column)
    if dtype != "int64":
        with pytest.raises(TypeError, match=dtype):
            ad.grad(lambda x: np.sum(x * column))(np.ones(2))


def test_missing_numbers_are_nan() -> None:
    column = pd.Series([1.0, None], dtype="Float64")
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x * column))(np.ones(2)), [1.0, np.nan])


def test_results_go_back_into_a_frame() -> None:
    slopes = pd.DataFrame({"x": X, "slope": ad.vmap(ad.grad(np.tanh))(X)}, index=["p", "q", "r"])
    assert slopes.loc["q", "slope"] == pytest.approx(1 - np.tanh(1.0) ** 2)
    np.testing.assert_allclose(FRAME.assign(slope=ad.vmap(ad.grad(np.sin))(A))["slope"], np.cos(a))


def test_a_model_on_a_frame() -> None:
    """Least squares by Newton's method equals NumPy's."""
    frame = pd.DataFrame({"height": [1.5, 1.6, 1.7, 1.8, 1.9], "weight": [50.0, 61.0, 66.0, 79.0, 88.0]})

    def misfit(p):
        return ((p["offset"] + frame["height"] * p["slope"] - frame["weight"]) ** 2).sum()

    vector, unravel = ad.tree.ravel({"offset": 0.0, "slope": 0.0})
    flat = lambda v: misfit(unravel(v))
    fitted = unravel(vector - np.linalg.solve(ad.hessian(flat)(vector), ad.grad(flat)(vector)))
    slope, offset = np.polyfit(frame["height"], frame["weight"], 1)
    assert fitted["slope"] == pytest.approx(slope)
    assert fitted["offset"] == pytest.approx(offset)

"""Operators between traced values and plain sparse arrays, without any conversion: every format, every operator."""

import numpy as np
import pytest
import scipy.sparse

import adjoint as ad
from adjoint.base.errors import AdjointError
from tests.numpy.checking import Case, check_first_order, check_lanes, check_second_order, check_taylor, signed
from tests.scipy.sparse.samples import WIDE, dense

X, COLUMNS, Y, ROWS, SAME = signed(3), signed(3, 2), signed(4), signed(2, 4), signed(4, 3)
NUMBER = np.float64(1.7)

BOTH = {
    "A @ x": (lambda A, x: A @ x, X),
    "A @ X": (lambda A, x: A @ x, COLUMNS),
    "A @ column": (lambda A, x: A @ x, X[:, None]),
    "x @ A": (lambda A, x: x @ A, Y),
    "X @ A": (lambda A, x: x @ A, ROWS),
    "A.T @ x": (lambda A, x: A.T @ x, Y),
    "A + X": (lambda A, x: A + x, SAME),
    "X + A": (lambda A, x: x + A, SAME),
    "A - X": (lambda A, x: A - x, SAME),
    "X - A": (lambda A, x: x - A, SAME),
    "s * A": (lambda A, s: s * A, NUMBER),
    "A * s": (lambda A, s: A * s, NUMBER),
    "A / s": (lambda A, s: A / s, NUMBER),
}
OF_ARRAYS = {
    "A * X": (lambda A, x: A * x, SAME),
    "X * A": (lambda A, x: x * A, SAME),
    "A * row": (lambda A, x: A * x, X),
    "A / X": (lambda A, x: A / x, SAME),
    "(A * s) @ x": (lambda A, s: (A * s) @ X, NUMBER),
}
OF_MATRICES = {
    "A * x": (lambda A, x: A * x, X),
    "x * A": (lambda A, x: x * A, Y),
}
FORMATS = ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"]


def cases(kind):
    return BOTH | (OF_ARRAYS if kind == "array" else OF_MATRICES)


EVERY = [(f, kind, name) for f in FORMATS for kind in ("array", "matrix") for name in cases(kind)]


@pytest.mark.parametrize("form, kind, name", EVERY)
def test_values_and_derivatives(form, kind, name):
    A = getattr(scipy.sparse, f"{form}_{kind}")(WIDE)
    operation, x = cases(kind)[name]
    f = lambda x: dense(operation(A, x))
    wanted = np.asarray(f(x))
    value, pull = ad.vjp(f, x)
    np.testing.assert_allclose(value, wanted, rtol=1e-14)
    assert value.shape == wanted.shape
    direction = np.cos(3 * x)
    slope = ad.jvp(f, (x,), (direction,))[1]
    differences = (np.asarray(f(x + 1e-3 * direction)) - np.asarray(f(x - 1e-3 * direction))) / 2e-3
    np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-9)
    cotangent = np.sin(wanted + 1)
    np.testing.assert_allclose(np.sum(pull(cotangent)[0] * direction), np.sum(cotangent * slope), rtol=1e-12)


@pytest.mark.parametrize("check", [check_first_order, check_second_order, check_lanes, check_taylor])
@pytest.mark.parametrize("name", BOTH | OF_ARRAYS)
def test_every_transformation(name, check):
    operation, x = (BOTH | OF_ARRAYS)[name]
    check(Case(name, lambda x: dense(operation(WIDE, x)), (x,)))


@pytest.mark.parametrize("form", FORMATS)
def test_dot(form):
    A = getattr(scipy.sparse, f"{form}_array")(WIDE)
    if form == "coo":  # its method asks for an array itself
        with pytest.raises(AdjointError, match="A @ x"):
            ad.grad(lambda x: np.sum(A.dot(x)))(X)
    else:
        np.testing.assert_allclose(ad.grad(lambda x: np.sum(A.dot(x)))(X), WIDE.toarray().sum(axis=0))


@pytest.mark.parametrize("name", ["A @ x", "x @ A", "A * s", "A + X"])
def test_compiled(name):
    operation, x = BOTH[name]
    f = lambda x: np.sum(dense(operation(WIDE, x)) ** 2)
    value, gradient = ad.jit(ad.value_and_grad(f))(x)
    wanted = ad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-13)
    np.testing.assert_allclose(gradient, wanted[1], rtol=1e-13)


@pytest.mark.parametrize("form", FORMATS)
def test_methods_that_cannot_hand_over_are_refused(form):
    """`A.multiply(x)` would return NotImplemented as its value."""
    A = getattr(scipy.sparse, f"{form}_array")(WIDE)
    with pytest.raises(AdjointError, match="operators of sparse arrays take traced values"):
        ad.grad(lambda x: np.sum(A.multiply(x)))(SAME)


def test_complex_numbers():
    A = WIDE * (1 + 2j)
    f = lambda x: np.sum(np.abs(A @ x) ** 2)
    np.testing.assert_allclose(ad.grad(f)(X), 2 * np.real(A.toarray().conj().T @ (A @ X)))


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="3 columns"):
        ad.grad(lambda x: np.sum(WIDE @ x))(Y)


def test_comparisons_are_refused():
    with pytest.raises(AdjointError, match="toarray"):
        ad.grad(lambda x: np.sum(x**2) + np.sum(x < WIDE))(SAME)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool, np.complex128])
@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (1, 1), (4, 2), (2, 0)])
def test_shapes_and_element_types(shape, dtype):
    """Rows, columns and matrices without entries, of every kind of number: SciPy's values, shapes and types."""
    rng = np.random.default_rng(4)
    m, n = shape
    for density in (0.0, 0.5, 1.0):
        full = (rng.random(shape) < density) * rng.integers(1, 9, shape)
        for form in ("csr", "csc", "bsr"):
            A = getattr(scipy.sparse, f"{form}_array")(full.astype(dtype))
            for operation, x in (
                (lambda x, A=A: A @ x, signed(n)),
                (lambda x, A=A: A @ x, signed(n, 2)),
                (lambda x, A=A: x @ A, signed(m)),
                (lambda x, A=A: x @ A, signed(2, m)),
                (lambda x, A=A: A + x, signed(m, n)),
                (lambda x, A=A: x - A, signed(m, n)),
                (lambda x, A=A: dense(A * x), np.float64(1.5)),
                (lambda x, A=A: dense(A * x), signed(m, n)),
            ):
                wanted, found = np.asarray(operation(x)), ad.vjp(operation, x)[0]
                assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
                np.testing.assert_allclose(found, wanted, rtol=1e-6)

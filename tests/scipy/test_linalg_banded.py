"""Matrices given by their diagonals: SciPy's values, derivatives under every transformation."""

import numpy as np
import pytest
import scipy.linalg

import adjoint as ad
from adjoint.base.errors import ShapeError
from adjoint.scipy import linalg
from tests.numpy.checking import Case, array, check_first_order, check_second_order, complex_array, every_check, signed
from tests.scipy.matrices import compared


def wide(main, *shape, complex_=False):
    """Diagonals, the main one large."""
    band = complex_array(*shape) if complex_ else signed(*shape)
    return band + 9.0 * (np.arange(shape[-2]) == main)[:, None]


def factor_and_solve(lower):
    return lambda ab, b: linalg.cho_solve_banded((linalg.cholesky_banded(ab, lower=lower), lower), b)


CASES = [
    Case("solve_banded", lambda ab, b: linalg.solve_banded((1, 2), ab, b), (wide(2, 4, 5), signed(5, 2))),
    Case("solve_banded stack", lambda ab, b: linalg.solve_banded((2, 1), ab, b),
         (wide(1, 2, 4, 5, complex_=True), signed(5))),
    Case("solveh_banded", linalg.solveh_banded, (wide(2, 3, 5, complex_=True), signed(5, 2))),
    Case("solveh_banded lower", lambda ab, b: linalg.solveh_banded(ab, b, lower=True), (wide(0, 3, 5), signed(5))),
    Case("cholesky_banded", linalg.cholesky_banded, (wide(1, 2, 4, complex_=True),)),
    Case("eigh_tridiagonal", linalg.eigh_tridiagonal, (3 * np.arange(3.0), array(2))),
]  # fmt: skip
BRIEF = [
    Case("cho_solve_banded", factor_and_solve(False), (wide(1, 2, 4, complex_=True), signed(4))),
    Case("cho_solve_banded lower", factor_and_solve(True), (wide(0, 2, 4, complex_=True), signed(4))),
    Case("eigvals_banded", linalg.eigvals_banded, (complex_array(2, 3) + np.array([[0, 0, 0], [1, 4, 8.0]]),)),
    Case("eigvalsh_tridiagonal", lambda d, e: linalg.eigvalsh_tridiagonal(d, e, "i", (1, 2)),
         (3 * np.arange(4.0), array(3))),
]  # fmt: skip


@every_check(CASES)
def test_derivatives(case, check) -> None:
    check(case)


@pytest.mark.parametrize("check", [check_first_order, check_second_order], ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", BRIEF, ids=lambda case: case.name)
def test_derivatives_to_second_order(case, check) -> None:
    check(case)


@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
def test_values_are_scipys(complex_) -> None:
    ab, b = wide(2, 4, 5, complex_=complex_), signed(5, 2)
    compared(linalg.solve_banded((1, 2), ab, b), scipy.linalg.solve_banded((1, 2), ab, b))
    for lower, main in ((False, 1), (True, 0)):
        half = wide(main, 2, 5, complex_=complex_)
        half[main] = half[main].real
        for ours, theirs in ((linalg, scipy.linalg),):
            compared(ours.solveh_banded(half, b, lower=lower), theirs.solveh_banded(half, b, lower=lower))
            factor, wanted = (part.cholesky_banded(half, lower=lower) for part in (ours, theirs))
            there = np.ones((2, 5), bool)
            there[1 - main, 4 if lower else 0] = False  # the corner outside of the matrix is not written
            compared(factor[there], wanted[there])
            compared(ours.cho_solve_banded((wanted, lower), b), theirs.cho_solve_banded((wanted, lower), b))
            compared(ours.eigvals_banded(half, lower), theirs.eigvals_banded(half, lower))
            for kind, chosen in (("i", (1, 3)), ("v", (8.5, 11.0))):
                values, vectors = ours.eig_banded(half, lower, select=kind, select_range=chosen)
                wanted, wanted_vectors = theirs.eig_banded(half, lower, select=kind, select_range=chosen)
                compared(values, wanted)
                compared(np.abs(vectors), np.abs(wanted_vectors))


def test_tridiagonal_values_are_scipys() -> None:
    d, e = 3 * np.arange(4.0), array(3)
    compared(linalg.eigvalsh_tridiagonal(d, e), scipy.linalg.eigvalsh_tridiagonal(d, e))
    for options in ({}, {"select": "i", "select_range": (0, 1)}, {"select": "v", "select_range": (2.0, 7.0)}):
        found, wanted = (part.eigh_tridiagonal(d, e, **options) for part in (linalg, scipy.linalg))
        compared(found[0], wanted[0])
        compared(np.abs(found[1]), np.abs(wanted[1]))


def test_a_long_band_takes_little_memory() -> None:
    """Ten thousand unknowns: a dense matrix would take 800 MB."""
    n = 10_000
    ab = np.stack([np.full(n, -1.0), np.full(n, 2.5), np.full(n, -1.0)])
    f = lambda ab, b: np.sum(linalg.solve_banded((1, 1), ab, b) ** 2)
    b = np.linspace(0.0, 1.0, n)
    slope_ab, slope_b = ad.grad(f, (0, 1))(ab, b)
    step = 1e-6 * np.cos(np.arange(n))
    np.testing.assert_allclose(slope_b @ step, (f(ab, b + step) - f(ab, b - step)) / 2, rtol=1e-7)
    main = [[0], [1], [0]] * step
    np.testing.assert_allclose(slope_ab[1] @ step, (f(ab + main, b) - f(ab - main, b)) / 2, rtol=1e-6)


def test_compiled_values_and_gradients_are_the_same() -> None:
    f = lambda ab, b: np.sum(np.sin(linalg.solve_banded((1, 1), ab, b)))
    for g in (f, ad.grad(f, (0, 1))):
        compared(ad.jit(g)(wide(1, 3, 5), signed(5)), g(wide(1, 3, 5), signed(5)), 1e-12)


@pytest.mark.parametrize("call, error, words", [
    (lambda: linalg.solve_banded((1, 1), signed(2, 4), signed(4)), ShapeError, "3 rows"),
    (lambda: linalg.solve_banded((1, 1), signed(3, 4), signed(5)), ShapeError, "4 columns"),
    (lambda: linalg.solve_banded((1, 1), np.zeros((3, 4)), signed(4)), np.linalg.LinAlgError, "singular"),
    (lambda: linalg.solveh_banded(-wide(1, 2, 4), signed(4)), np.linalg.LinAlgError, "positive definite"),
    (lambda: linalg.eigh_tridiagonal(array(3), array(3)), ValueError, "one more"),
    (lambda: linalg.eigh_tridiagonal(complex_array(3), array(2)), TypeError, "real"),
    (lambda: linalg.eigvals_banded(wide(1, 2, 4), select="x"), ValueError, "select"),
    (lambda: linalg.eigvals_banded(wide(1, 2, 4), select="i", select_range=(2, 9)), ValueError, "indices"),
])  # fmt: skip
def test_wrong_calls_raise(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()

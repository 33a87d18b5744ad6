"""adjoint.scipy.linalg: SciPy's values, and derivatives under every transformation."""

import numpy as np
import pytest
import scipy.linalg

from adjoint.base.errors import ShapeError, UnsupportedError
from adjoint.scipy import linalg
from tests.numpy.checking import Case, array, complex_array, every_check, signed


def regular(*shape, seed=0):
    return signed(*shape, seed=seed) + 4 * np.eye(shape[-2], shape[-1])


def complex_regular(*shape, seed=0):
    return complex_array(*shape, seed=seed) + 4 * np.eye(shape[-2], shape[-1])


def gram(a):
    return a @ np.conj(np.swapaxes(a, -1, -2))


A, Z = regular(3, 3), complex_regular(3, 3)
TRIANGULAR = [
    {"trans": trans, "lower": lower, "unit_diagonal": unit}
    for trans in (0, "T", 2)
    for lower in (False, True)
    for unit in (False, True)
]
CASES = [
    *[
        Case(f"solve_triangular {o}", lambda a, b, o=o: linalg.solve_triangular(a, b, **o), (Z, array(3)))
        for o in TRIANGULAR
    ],
    Case("solve_triangular stack", lambda a, b: linalg.solve_triangular(a, b), (regular(2, 3, 3), array(3, 2))),
    Case("cholesky", lambda a: linalg.cholesky(gram(a)), (Z,)),
    Case("cho_solve lower", lambda a, b: linalg.cho_solve(linalg.cho_factor(gram(a), lower=True), b), (A, array(3))),
    Case("cho_solve upper", lambda a, b: linalg.cho_solve(linalg.cho_factor(gram(a)), b), (Z, array(3, 2))),
    Case("solve", linalg.solve, (A, array(3))),
    Case("solve transposed", lambda a, b: linalg.solve(a, b, transposed=True), (A, array(3))),
    Case("solve pos", lambda a, b: linalg.solve(gram(a), b, assume_a="pos"), (Z, array(3))),
    Case("solve pos transposed", lambda a, b: linalg.solve(gram(a), b, assume_a="pos", transposed=True), (Z, array(3))),
    Case("solve sym", lambda a, b: linalg.solve(a + a.T, b, assume_a="sym"), (Z, array(3))),
    Case("solve her", lambda a, b: linalg.solve(gram(a), b, assume_a="her"), (Z, array(3))),
    Case("solve triangle", lambda a, b: linalg.solve(np.tril(a), b, assume_a="lower triangular"), (A, array(3))),
    Case("inv", linalg.inv, (A,)),
    Case("det", linalg.det, (A,)),
    *[Case(f"lu {x.shape}", lambda a: linalg.lu(a)[1:], (x,)) for x in (A, regular(4, 2), complex_regular(2, 3))],
    Case("lu permuted", lambda a: linalg.lu(a, permute_l=True), (np.flip(A, 0),)),
    Case("lu_factor", lambda a: linalg.lu_factor(a)[0], (np.flip(complex_regular(2, 3, 3), -2),)),
    *[
        Case(f"lu_solve {t}", lambda a, b, t=t: linalg.lu_solve(linalg.lu_factor(a), b, t), (np.flip(Z, 0), array(3)))
        for t in (0, 1, 2)
    ],
    Case("lu_solve stack", lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), (regular(2, 3, 3), array(3, 2))),
    Case("block_diag", linalg.block_diag, (array(2, 3), array(2), complex_array(1, 1))),
    Case("block_diag stacks", linalg.block_diag, (array(2, 1, 2), array(2, 2))),
    Case("expm", linalg.expm, (signed(3, 3),)),
    Case("expm stack", linalg.expm, (complex_array(2, 2, 2),)),
]  # fmt: skip


@every_check(CASES)
def test_derivatives(case, check) -> None:
    check(case)


@pytest.mark.parametrize("options", TRIANGULAR, ids=str)
def test_solve_triangular_is_scipys(options) -> None:
    for b in (array(3), array(3, 2)):
        wanted = scipy.linalg.solve_triangular(Z, b, **options)
        np.testing.assert_allclose(linalg.solve_triangular(Z, b, **options), wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", ["gen", "pos", "sym", "her", "lower triangular", "upper triangular", "diagonal", None])
@pytest.mark.parametrize("transposed", [False, True])
def test_solve_is_scipys(kind, transposed) -> None:
    a = np.diag([1.0, 2.0, 3.0]) if kind == "diagonal" else np.tril(A) if kind == "lower triangular" else A
    a = np.triu(A) if kind == "upper triangular" else gram(A) if kind in ("pos", "sym", "her") else a
    b = array(3)
    wanted = scipy.linalg.solve(a, b, assume_a=kind, transposed=transposed)
    np.testing.assert_allclose(linalg.solve(a, b, assume_a=kind, transposed=transposed), wanted, rtol=1e-11)


@pytest.mark.parametrize(
    "a", [A, np.flip(Z, 0), regular(4, 2), np.flip(regular(2, 4), 0), np.zeros((0, 2))], ids=np.shape
)
def test_lu_is_scipys(a) -> None:
    for options in ({}, {"permute_l": True}, {"p_indices": True}):
        for found, wanted in zip(linalg.lu(a, **options), scipy.linalg.lu(a, **options), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-14)
            assert found.shape == wanted.shape
    if a.size:
        for found, wanted in zip(linalg.lu_factor(a), scipy.linalg.lu_factor(a), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-14)


@pytest.mark.parametrize("trans", [0, 1, 2])
def test_lu_solve_is_scipys(trans) -> None:
    a, b = np.flip(Z, 0), array(3, 2)
    wanted = scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b, trans)
    np.testing.assert_allclose(linalg.lu_solve(scipy.linalg.lu_factor(a), b, trans), wanted, rtol=1e-12)


def test_other_values_are_scipys() -> None:
    np.testing.assert_allclose(linalg.expm(A), scipy.linalg.expm(A))
    np.testing.assert_allclose(linalg.block_diag(A, [1.0, 2.0], 3.0), scipy.linalg.block_diag(A, [1.0, 2.0], 3.0))
    np.testing.assert_allclose(linalg.cholesky(gram(Z)), scipy.linalg.cholesky(gram(Z)), atol=1e-13)
    np.testing.assert_allclose(
        linalg.cholesky(gram(Z), lower=True), scipy.linalg.cholesky(gram(Z), lower=True), atol=1e-13
    )
    factor = scipy.linalg.cho_factor(gram(Z))
    np.testing.assert_allclose(linalg.cho_solve(factor, array(3)), scipy.linalg.cho_solve(factor, array(3)), rtol=1e-12)


@pytest.mark.parametrize("call, error, words", [
    (lambda: linalg.solve(A, array(3), assume_a="magic"), UnsupportedError, "magic"),
    (lambda: linalg.solve_triangular(A, array(3), trans="X"), ValueError, "trans"),
    (lambda: linalg.cho_solve((array(3), True), array(3)), ShapeError, "cho_solve"),
    (lambda: linalg.expm(array(3)), ShapeError, "expm"),
    (lambda: linalg.solve_triangular(np.zeros((2, 2)), np.ones(2)), np.linalg.LinAlgError, "singular"),
])  # fmt: skip
def test_wrong_calls_raise(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()

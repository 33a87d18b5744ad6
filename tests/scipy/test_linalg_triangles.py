"""Functions of a Hermitian matrix read one triangle of it, with the real part of the diagonal; so do derivatives.

The matrices are not Hermitian, and the directions are any: differences say what is read.
"""

import numpy as np
import pytest
import scipy.linalg

import adjoint as ad
from adjoint.scipy import linalg
from tests.numpy.checking import Case, array, complex_array, every_check, signed
from tests.scipy.matrices import compared

B = array(3)
REAL, COMPLEX = np.diag([4.0, 7.0, 11.0]) + signed(3, 3), np.diag([4.0, 7.0, 11.0]) + complex_array(3, 3)
STACK = np.stack([REAL, COMPLEX])
OTHER = np.diag([6.0, 5.0, 4.0]) + 0.5 * complex_array(3, 3, seed=4)


def sizes(pairs):
    """The values, and the vectors up to a phase."""
    return pairs[0], np.abs(pairs[1])


def cases(lower):
    side = "lower" if lower else "upper"
    uplo = "L" if lower else "U"
    for name, f in {
        "np eigvalsh": lambda a: np.linalg.eigvalsh(a, uplo),
        "np eigh": lambda a: sizes(np.linalg.eigh(a, uplo)),
        "np cholesky": lambda a: np.linalg.cholesky(a, upper=not lower),
        "eigvalsh": lambda a: linalg.eigvalsh(a, lower=lower),
        "eigh": lambda a: sizes(linalg.eigh(a, lower=lower)),
        "cholesky": lambda a: linalg.cholesky(a, lower=lower),
        "cho_factor": lambda a: linalg.cho_solve(linalg.cho_factor(a, lower=lower), B),
        "pinvh": lambda a: linalg.pinvh(a, lower=lower),
        "solve pos": lambda a: linalg.solve(a, B, assume_a="pos", lower=lower),
        "solve her": lambda a: linalg.solve(a, B, assume_a="her", lower=lower),
        "solve sym": lambda a: linalg.solve(a, B, assume_a="sym", lower=lower),
        "inv pos": lambda a: linalg.inv(a, assume_a="pos", lower=lower),
        "ldl": lambda a: linalg.ldl(a, lower=lower)[:2],
        "ldl symmetric": lambda a: linalg.ldl(a, lower=lower, hermitian=False)[:2],
    }.items():
        yield Case(f"{name} {side}", f, (REAL,))
        yield Case(f"{name} {side} complex", f, (COMPLEX,))
    for kind in (1, 2, 3):
        f = lambda a, b, kind=kind: sizes(linalg.eigh(a, b, type=kind, lower=lower))
        yield Case(f"eigh type {kind} {side}", f, (COMPLEX, OTHER))


CASES = [
    *cases(True),
    *cases(False),
    *[
        Case(f"{name} {a.shape}", f, (a,))
        for a in (REAL, STACK)
        for name, f in {
            "np pinv": lambda a: np.linalg.pinv(a, hermitian=True),
            "np svd": lambda a: np.linalg.svd(a, hermitian=True)[1],
        }.items()
    ],
    *[
        Case(f"solve {kind}", lambda a, kind=kind: linalg.solve(a, B, assume_a=kind), (COMPLEX,))
        for kind in ("diagonal", "tridiagonal", "upper triangular", "lower triangular")
    ],
]  # fmt: skip


@every_check(CASES)
def test_derivatives(case, check) -> None:
    check(case)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("a", [REAL, COMPLEX], ids=["real", "complex"])
def test_values_are_scipys(a, lower) -> None:
    for kind in ("pos", "her", "sym"):
        options = {"assume_a": kind, "lower": lower}
        compared(linalg.solve(a, B, **options), scipy.linalg.solve(a, B, **options))
        compared(linalg.inv(a, **options), scipy.linalg.inv(a, **options))
    for kind in ("diagonal", "tridiagonal"):
        compared(linalg.solve(a, B, assume_a=kind), scipy.linalg.solve(a, B, assume_a=kind))
    for kind in (1, 2, 3):
        options = {"type": kind, "lower": lower}
        compared(linalg.eigvalsh(a, OTHER, **options), scipy.linalg.eigvalsh(a, OTHER, **options))
    compared(linalg.cholesky(a, lower=lower), scipy.linalg.cholesky(a, lower=lower))
    compared(linalg.pinvh(a, lower=lower), scipy.linalg.pinvh(a, lower=lower))


def test_a_matrix_filled_in_one_triangle() -> None:
    def lowest(p):
        a = np.zeros_like(p, shape=(2, 2))
        a[np.tril_indices(2)] = p
        return np.linalg.eigvalsh(a)[0]

    p, h = np.array([3.0, 1.0, 1.0]), 1e-5
    wanted = [(lowest(p + h * e) - lowest(p - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(wanted, [0.1464, -0.7071, 0.8536], atol=1e-4)
    for gradient in (ad.grad(lowest), ad.jit(ad.grad(lowest))):
        np.testing.assert_allclose(gradient(p), wanted, atol=1e-9)


def test_equal_eigenvalues_of_one_triangle() -> None:
    """Forward mode chooses vectors for its direction: of that too, one triangle counts."""
    v = np.array([[0.3, 9.0, 9.0], [0.5, -0.4, 9.0], [0.7, 0.2, 0.1]])
    rates = ad.jvp(np.linalg.eigvalsh, (np.eye(3),), (v,))[1]
    np.testing.assert_allclose(rates, np.linalg.eigvalsh(v), atol=1e-12)
    upper = ad.jvp(lambda a: np.linalg.eigvalsh(a, "U"), (np.eye(3),), (v,))[1]
    np.testing.assert_allclose(upper, np.linalg.eigvalsh(v, "U"), atol=1e-12)

"""Matrices made of vectors: SciPy's values, derivatives under every transformation."""

import numpy as np
import pytest
import scipy.linalg

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import linalg
from tests.numpy.checking import Case, array, check_first_order, complex_array, every_check
from tests.scipy.matrices import compared

FAR = np.array([5.0, 0.0, 0.0])
CASES = [
    Case("toeplitz", linalg.toeplitz, (array(3), array(4))),
    Case("toeplitz hermitian", linalg.toeplitz, (complex_array(2, 3),)),
    Case("hankel", linalg.hankel, (array(3), array(4))),
    Case("circulant", linalg.circulant, (complex_array(2, 3),)),
    Case("companion", linalg.companion, (array(4),)),
    Case("fiedler_companion", linalg.fiedler_companion, (array(6),)),
    Case("convolution_matrix", lambda a: linalg.convolution_matrix(a, 5, "same"), (array(3),)),
    Case("khatri_rao", linalg.khatri_rao, (array(2, 3), complex_array(4, 3))),
    Case("matmul_toeplitz", lambda c, r, x: linalg.matmul_toeplitz((c, r), x), (array(4), array(3), array(3, 2))),
    Case("matmul_toeplitz complex", linalg.matmul_toeplitz, (complex_array(3), array(3))),
    Case("solve_toeplitz", lambda c, r, b: linalg.solve_toeplitz((c, r), b), (array(3) + FAR, array(3), array(3, 2))),
    Case("solve_circulant", linalg.solve_circulant, (array(3) + FAR, complex_array(3))),
]
BRIEF = [
    Case("fiedler", linalg.fiedler, (array(4),)),
    Case("leslie", linalg.leslie, (array(4), array(3))),
    Case("diagsvd", lambda s: linalg.diagsvd(s, 3, 5), (array(3),)),
]


@every_check(CASES)
def test_derivatives(case, check) -> None:
    check(case)


@pytest.mark.parametrize("case", BRIEF, ids=lambda case: case.name)
def test_first_derivatives(case) -> None:
    check_first_order(case)


CALLS = {
    "toeplitz": [(array(3),), (complex_array(3), array(4)), ([1, 2, 3],), (2.0,), (complex_array(2, 3),)],
    "hankel": [(array(3),), (array(3), array(4)), ([1, 2, 3],)],
    "circulant": [(array(3),), (array(2, 3),), ([1, 2],)],
    "companion": [(array(4),), (array(2, 3),), ([1.0, 2.0],)],
    "fiedler": [(array(4),), (array(2, 3),)],
    "fiedler_companion": [(array(n),) for n in (2, 3, 4, 5, 6, 7)],
    "leslie": [(array(3), array(2)), ([1.0, 2.0], [0.5])],
    "convolution_matrix": [(array(3), n, mode) for n in (2, 3, 5) for mode in ("full", "same", "valid")],
    "khatri_rao": [(array(2, 3), array(4, 3))],
    "diagsvd": [(array(3), 3, 5), (array(3), 4, 3)],
    "matmul_toeplitz": [((array(4), array(3)), array(3, 2)), (complex_array(3), array(3))],
    "solve_toeplitz": [((array(3) + FAR, array(3)), array(3)), (complex_array(3) + FAR, array(3, 2))],
    "solve_circulant": [(array(3) + FAR, array(3)), (array(3) + FAR, complex_array(3, 2))],
    "block_diag": [(array(2, 2), array(3)), ()],
}


@pytest.mark.parametrize("name, args", [(name, args) for name, calls in CALLS.items() for args in calls], ids=str)
def test_values_are_scipys(name, args) -> None:
    compared(getattr(linalg, name)(*args), getattr(scipy.linalg, name)(*args))


def test_lists_of_traced_values_are_vectors() -> None:
    found = ad.grad(lambda x: np.sum(linalg.toeplitz([x, 2 * x, x**2]) ** 2))(1.5)
    wanted = ad.grad(lambda x: 3 * x**2 + 4 * (2 * x) ** 2 + 2 * x**4)(1.5)
    np.testing.assert_allclose(found, wanted)


def test_circulant_axes_and_singular_ones() -> None:
    c, b = array(2, 3) + FAR, array(4, 3)
    options = {"caxis": 1, "baxis": 1, "outaxis": -1}
    compared(linalg.solve_circulant(c[:1], b, **options), scipy.linalg.solve_circulant(c[:1], b, **options))
    flat = np.ones(3)
    with pytest.raises(np.linalg.LinAlgError, match="near singular"):
        linalg.solve_circulant(flat, array(3))
    shortest = linalg.solve_circulant(flat, array(3), singular="lstsq")
    compared(shortest, scipy.linalg.solve_circulant(flat, array(3), singular="lstsq"))
    slope = ad.jvp(lambda b: linalg.solve_circulant(flat, b, singular="lstsq"), (array(3),), (array(3, seed=1),))[1]
    np.testing.assert_allclose(slope, np.linalg.pinv(np.ones((3, 3))) @ array(3, seed=1), atol=1e-12)


def test_compiled_values_and_gradients_are_the_same() -> None:
    def f(c, b):
        return np.sum(linalg.solve_toeplitz(c, b) * linalg.matmul_toeplitz(c, b)) + np.sum(linalg.circulant(c) ** 2)

    for g in (f, ad.grad(f, (0, 1))):
        compared(ad.jit(g)(array(3) + FAR, array(3)), g(array(3) + FAR, array(3)), 1e-12)


def test_matrices_of_sizes_are_scipys() -> None:
    for name in ("dft", "hadamard", "helmert", "hilbert", "invhilbert", "invpascal", "pascal"):
        compared(getattr(linalg, name)(4), getattr(scipy.linalg, name)(4))
        with pytest.raises(UnsupportedError, match=f"{name} .*plain numbers"):
            ad.grad(lambda n, name=name: np.sum(getattr(linalg, name)(n)))(4.0)


def test_questions_are_answered_for_the_value() -> None:
    def f(a):
        assert linalg.issymmetric(a)
        assert linalg.ishermitian(a)
        assert linalg.bandwidth(a) == (1, 1)
        return np.sum(a**2)

    a = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 3.0], [0.0, 3.0, 1.0]])
    np.testing.assert_allclose(ad.grad(f)(a), 2 * a)
    with pytest.raises(UnsupportedError, match="batch"):
        ad.vmap(f)(a[None])


@pytest.mark.parametrize("call, words", [
    (lambda: linalg.companion([0.0, 1.0, 2.0]), "must not be zero"),
    (lambda: linalg.fiedler_companion([0.0, 1.0, 2.0]), "zero"),
    (lambda: linalg.companion([1.0]), "at least 2"),
    (lambda: linalg.leslie(array(3), array(3)), "one less"),
    (lambda: linalg.khatri_rao(array(2, 2), array(2, 3)), "columns"),
    (lambda: linalg.convolution_matrix(array(3), 0), "positive"),
    (lambda: linalg.solve_toeplitz((array(3), array(4)), array(3)), "square"),
    (lambda: linalg.solve_circulant(array(3), array(4)), "incompatible"),
])  # fmt: skip
def test_wrong_calls_raise(call, words) -> None:
    with pytest.raises(ValueError, match=words):
        call()

"""Exponentials, powers and norms of sparse matrices: SciPy's values, and derivatives."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

import adjoint as ad
from adjoint.base.errors import AdjointError
from adjoint.scipy import sparse
from adjoint.scipy.sparse import linalg
from tests.numpy.checking import Case, every_check, signed
from tests.scipy.signal.agreement import CHECKS

RNG = np.random.default_rng(5)
A = (scipy.sparse.random_array((5, 5), density=0.4, rng=RNG) + 0.5 * scipy.sparse.eye_array(5)).tocsc()
B = signed(5)


def matrix(d):
    return sparse.csc_array((d, A.indices, A.indptr), shape=A.shape)


FUNCTIONS = {
    "expm_multiply": lambda d, b: linalg.expm_multiply(matrix(d), b),
    "expm_multiply columns": lambda d, b: linalg.expm_multiply(matrix(0.1 * d), np.stack([b, b**2], axis=1)),
    "expm_multiply times": lambda d, b: linalg.expm_multiply(matrix(d), b, start=0.1, stop=0.7, num=3),
    "expm_multiply open": lambda d, b: linalg.expm_multiply(matrix(d), b, 0.1, 0.7, 3, endpoint=False),
    "expm": lambda d, b: linalg.expm(matrix(d)) @ b,
    "matrix_power": lambda d, b: linalg.matrix_power(matrix(d), 5) @ b,
    "norm": lambda d, b: linalg.norm(matrix(d)) * b,
    "norm 1": lambda d, b: linalg.norm(matrix(d), 1) * b,
    "norm -1": lambda d, b: linalg.norm(matrix(d), -1) * b,
    "norm inf": lambda d, b: linalg.norm(matrix(d), np.inf) * b,
    "norm -inf": lambda d, b: linalg.norm(matrix(d), -np.inf) * b,
    "norm of columns": lambda d, b: linalg.norm(matrix(d), axis=0) * b,
    "norm of rows": lambda d, b: linalg.norm(matrix(d), 1, axis=1) * b,
}


# the norm of the matrix decides how many terms expm_multiply has
SYMBOLIC = {name: not name.startswith("expm_multiply") for name in FUNCTIONS}


@every_check([Case(name, f, (A.data, B), symbolic=SYMBOLIC[name]) for name, f in FUNCTIONS.items()], CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("scale", [1e-4, 0.05, 1.0, 4.0, -30.0, 100j])
def test_exponentials_of_every_size(scale):
    d = scale * A.data
    value = ad.jvp(lambda b: linalg.expm_multiply(matrix(d), b), (B,), (B,))[0]
    wanted = scipy.linalg.expm(matrix(d).toarray()) @ B
    np.testing.assert_allclose(value, wanted, rtol=1e-11, atol=1e-12 * np.abs(wanted).max())


def test_a_matrix_that_is_too_large_for_the_record():
    with pytest.raises(AdjointError, match=r"ad\.scan"):
        ad.grad(lambda b: np.sum(linalg.expm_multiply(matrix(1e6 * A.data), b)))(B)


def test_compiled_exponential():
    f = lambda d: np.sum(linalg.expm_multiply(matrix(d), B) ** 2)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(A.data), ad.grad(f)(A.data), rtol=1e-11)
    np.testing.assert_allclose(ad.jit(f)(9 * A.data), f(9 * A.data), rtol=1e-9)


def test_questions_about_the_pattern():
    ours = ad.jit(matrix)(A.data)
    assert linalg.is_sptriangular(ours) == linalg.is_sptriangular(A)
    assert tuple(linalg.spbandwidth(ours)) == tuple(map(int, scipy.sparse.linalg.spbandwidth(A)))
    assert linalg.is_sptriangular(sparse.tril(ours)) == (True, False)


def test_the_spectral_norm():
    value = ad.jvp(lambda d: linalg.norm(matrix(d), 2), (A.data,), (A.data,))
    np.testing.assert_allclose(value, np.full(2, np.linalg.norm(A.toarray(), 2)))

"""Preconditioners: fewer iterations, the same solution and derivative."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import adjoint as ad
from adjoint import linear
from adjoint.base.errors import ShapeError, SolveError, TraceError
from tests.linear.equations import HERMITIAN, POSITIVE, B, N, close
from tests.support.sweeps import sampled

SIZE = 80
SCALES = np.logspace(0, 3, SIZE)
SPARSE = scipy.sparse.csr_array(
    scipy.sparse.diags_array([-np.ones(SIZE - 1), 1.5 + SCALES, -np.ones(SIZE - 1)], offsets=[-1, 0, 1])
)
SKEW = scipy.sparse.csr_array(SPARSE + scipy.sparse.diags_array([np.ones(SIZE - 1)], offsets=[1]))
RIGHT = np.random.default_rng(3).normal(size=SIZE)

MADE = {
    "jacobi": lambda A: linear.jacobi(A),
    "block_jacobi": lambda A: linear.block_jacobi(A, 7),
    "incomplete_cholesky": lambda A: linear.incomplete_cholesky(A),
    "incomplete_lu": lambda A: linear.incomplete_lu(A),
    "a function": lambda A: lambda r: r / (1.5 + SCALES),
    "a matrix": lambda A: np.diag(1 / (1.5 + SCALES)),
    "a sparse array": lambda A: scipy.sparse.diags_array(1 / (1.5 + SCALES)),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("method", [linear.cg, linear.minres, linear.gmres, linear.bicgstab])
def test_fewer_iterations_and_the_same_solution(name, method):
    M = MADE[name](SPARSE)
    plain, helped = method(SPARSE, RIGHT), method(SPARSE, RIGHT, preconditioner=M)
    assert helped.converged
    assert helped.iterations < 0.6 * plain.iterations
    close(helped.value, scipy.sparse.linalg.spsolve(SPARSE.tocsc(), RIGHT))


@pytest.mark.parametrize("name", sampled(MADE, every=3))
def test_the_derivative_is_that_of_the_equation(name):
    M = MADE[name](SKEW) if name != "incomplete_cholesky" else MADE[name](SPARSE)
    slope = ad.grad(lambda b: np.sum(linear.gmres(SKEW, b, preconditioner=M).value))(RIGHT)
    close(slope, scipy.sparse.linalg.spsolve(SKEW.T.tocsc(), np.ones(SIZE)), 1e-7)
    values = ad.vmap(lambda b: linear.gmres(SKEW, b, preconditioner=M).value)(np.stack([RIGHT, SCALES]))
    close(values[0], scipy.sparse.linalg.spsolve(SKEW.tocsc(), RIGHT), 1e-7)


@pytest.mark.parametrize("name", ["block_jacobi", "incomplete_cholesky"])
def test_compiled(name):
    M = MADE[name](SPARSE)
    found = ad.jit(lambda b: linear.cg(SPARSE, b, preconditioner=M))(RIGHT)
    assert found.iterations <= linear.cg(SPARSE, RIGHT, preconditioner=M).iterations + 1
    close(found.value, scipy.sparse.linalg.spsolve(SPARSE.tocsc(), RIGHT))


def test_made_of_traced_matrices():
    def f(A):
        return np.sum(linear.cg(A, B, preconditioner=linear.jacobi(A)).value)

    close(ad.grad(f)(POSITIVE), ad.grad(lambda A: np.sum(np.linalg.solve(A, B)))(POSITIVE))
    g = lambda A: np.sum(linear.gmres(A, B, preconditioner=linear.block_jacobi(A, 5)).value)
    close(ad.grad(g)(POSITIVE), ad.grad(lambda A: np.sum(np.linalg.solve(A, B)))(POSITIVE))
    with pytest.raises(TraceError, match="constant matrix"):
        ad.grad(lambda A: np.sum(linear.cg(A, B, preconditioner=linear.incomplete_cholesky(A)).value))(POSITIVE)


def test_blocks_are_inverses():
    M = linear.block_jacobi(POSITIVE, 5).to_dense()
    expected = np.zeros((N, N))
    for start, stop in ((0, 5), (5, 10), (10, N)):
        expected[start:stop, start:stop] = np.linalg.inv(POSITIVE[start:stop, start:stop])
    close(M, expected)
    close(linear.jacobi(linear.matrix(POSITIVE)).to_dense(), np.diag(1 / np.diag(POSITIVE)))
    close(linear.jacobi(np.diag([2, 0])).to_dense(), np.diag([0.5, 1.0]))


def test_complex_matrices():
    for M in (linear.jacobi(HERMITIAN), linear.block_jacobi(HERMITIAN, 4), linear.incomplete_cholesky(HERMITIAN)):
        close(linear.cg(HERMITIAN, B, preconditioner=M).value, np.linalg.solve(HERMITIAN, B))


def test_least_squares_with_scaled_columns():
    A = np.random.default_rng(2).normal(size=(40, 10)) * np.logspace(0, 4, 10)
    b = np.ones(40)
    plain = linear.lsmr(A, b)
    helped = linear.lsmr(A, b, preconditioner=linear.diagonal(np.logspace(0, -4, 10)))
    assert helped.iterations < 0.6 * plain.iterations
    close(helped.value, np.linalg.lstsq(A, b)[0])
    slope = ad.grad(lambda b: linear.lsmr(A, b, preconditioner=linear.diagonal(np.logspace(0, -4, 10))).value[0])(b)
    close(slope, np.linalg.pinv(A)[0])


def test_what_does_not_fit():
    with pytest.raises(TypeError, match="from_function"):
        linear.jacobi(lambda v: v)
    with pytest.raises(ShapeError, match="as many rows"):
        linear.jacobi(np.ones((2, 3)))
    with pytest.raises(ValueError, match="at least 1"):
        linear.block_jacobi(POSITIVE, 0)
    with pytest.raises(SolveError, match="not positive"):
        linear.incomplete_cholesky(-POSITIVE)
    with pytest.raises(SolveError, match="no such factors"):
        linear.incomplete_lu(np.zeros((3, 3)))

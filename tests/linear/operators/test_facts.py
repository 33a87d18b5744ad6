"""Facts carry over: whatever is made of maps with facts has the facts that it claims, by its matrix."""

import itertools

import numpy as np
import pytest

from adjoint import linear
from adjoint.base.errors import CheckError, ShapeError
from adjoint.linear.operators import facts as known

RNG = np.random.default_rng(11)
square, other = RNG.normal(size=(2, 3, 3))
positive = square @ square.T + np.eye(3)

POOL = {
    "general": lambda: linear.matrix(square),
    "symmetric": lambda: linear.matrix(square + square.T, "symmetric"),
    "positive": lambda: linear.matrix(positive, "positive definite"),
    "negative": lambda: linear.matrix(-positive, "negative definite"),
    "semidefinite": lambda: linear.low_rank(square[:, :2]),
    "negative semidefinite": lambda: -linear.low_rank(square[:, :2]),
    "diagonal": lambda: linear.diagonal(np.array([1.0, -2.0, 3.0])),
    "positive diagonal": lambda: linear.diagonal(np.array([1.0, 2.0, 3.0])),
    "lower": lambda: linear.triangular(square),
    "upper, unit": lambda: linear.triangular(square, lower=False, unit_diagonal=True),
    "lower, unit": lambda: linear.triangular(other, unit_diagonal=True),
    "tridiagonal": lambda: linear.matrix(np.triu(np.tril(positive, 1), -1), "tridiagonal", "symmetric"),
    "orthonormal": lambda: linear.matrix(np.linalg.qr(square)[0], "orthonormal"),
    "permutation": lambda: linear.permutation([1, 2, 0]),
    "identity": lambda: linear.identity(3),
    "zero": lambda: linear.zero(3),
    "complex": lambda: linear.matrix(square + 1j * other),
    "hermitian": lambda: linear.matrix(square + square.T + 1j * (other - other.T), "hermitian"),
    "complex diagonal": lambda: linear.diagonal(np.array([1.0 + 1j, 2.0, 3j])),
}
PAIRS = list(itertools.product(POOL, POOL))


@pytest.mark.parametrize("name", POOL)
def test_one_map_changed(name):
    A = POOL[name]()
    made = [A, A.adjoint, A.T, -A, 2 * A, -3.0 * A, 0.0 * A, A**2, A**3, A.T @ A, A.H @ A, A @ A.H, A + A.H, A - A.H]
    made += [linear.congruence(A, A), linear.block_diagonal([A, A]), linear.kronecker(A, A), linear.raveled(A)]
    made += [linear.block([[A, A], [None, A]]), linear.block([[A, None], [A.H, A]]), linear.block([[A, A], [A.H, A]])]
    if A.dtype.kind == "c":
        made += [1j * A, (1 + 1j) * A]
    if np.linalg.matrix_rank(A.to_dense()) == 3:
        made += [A.inverse, A**-2, A.inverse.adjoint, linear.kronecker(A, A.inverse)]
    for B in made:
        linear.check_facts(B)
        linear.check_adjoint(B)


@pytest.mark.parametrize("pair", PAIRS[::5])
def test_two_maps_together(pair):
    A, B = (POOL[name]() for name in pair)
    real = A.dtype.kind == B.dtype.kind
    together = [linear.kronecker(A, B), linear.block_diagonal({"a": A, "b": B})]
    if real:
        together += [A + B, A - B, A @ B, A.H @ B @ A, A + 0.5 * B, linear.congruence(A, B)]
    for C in together:
        linear.check_facts(C)


def test_facts_that_must_be_known():
    """Not only true ones: those that solvers need."""
    A = linear.matrix(RNG.normal(size=(5, 3)))
    assert (A.T @ A).has("positive semidefinite")
    assert (A.T @ A + 0.1 * linear.identity(3)).has("positive definite")
    assert (A.T @ linear.diagonal(np.ones(5)) @ A).has("positive semidefinite")
    assert ((A @ linear.matrix(square)).T @ (A @ linear.matrix(square))).has("symmetric")
    Q = linear.matrix(np.linalg.qr(square)[0], "orthonormal")
    assert linear.kronecker(Q, Q).has("orthonormal", "invertible")
    assert (Q @ Q).has("orthonormal")
    assert (Q.T @ Q).has("identity")
    L = linear.triangular(square)
    assert L.adjoint.has("upper triangular")
    assert (L @ L).has("lower triangular")
    assert L.inverse.has("lower triangular")
    M = linear.matrix(square)
    assert (M + M.T).has("symmetric")
    S = linear.matrix(positive, "positive definite")
    assert S.inverse.has("positive definite")
    assert (-S).has("negative definite")
    assert (S**2).has("positive definite")
    assert linear.kronecker(-S, -S).has("positive definite")
    assert linear.block_diagonal([S, S]).has("positive definite")
    saddle = linear.block([[S, M], [M.T, linear.zero(3)]])
    assert saddle.has("symmetric")
    assert (linear.diagonal(np.ones(3)) + linear.scaling(2.0, 3)).has("positive definite", "diagonal")


def test_closure():
    assert known.deduce({"lower triangular", "symmetric"}, True) >= {"diagonal", "upper triangular"}
    assert known.deduce({"orthonormal"}, True) >= {"invertible", "orthonormal rows"}
    assert known.deduce({"orthonormal", "symmetric"}, False) == {"orthonormal"}
    assert known.read(["hermitian", "lower"]) == {"symmetric", "lower triangular"}
    with pytest.raises(ValueError, match="'square' is no fact"):
        known.read(["square"])


def test_facts_are_asserted_and_checked():
    A = linear.matrix(square)
    believed = linear.assume(A, "positive definite")
    assert believed.has("symmetric", "invertible")
    with pytest.raises(CheckError, match="is not"):
        linear.check_facts(believed)
    with pytest.raises(CheckError, match="is not positive definite"):
        linear.check_facts(linear.matrix(-positive), "positive definite")
    linear.check_facts(linear.assume(linear.matrix(positive), "positive definite"))
    with pytest.raises(ShapeError, match="cannot be symmetric"):
        linear.assume(linear.matrix(np.ones((2, 3))), "symmetric")
    assert linear.find_facts(linear.matrix(positive)).has("positive definite")
    assert linear.find_facts(linear.matrix(np.eye(3))).has("identity")
    assert linear.find_facts(linear.matrix(np.tril(square))).has("lower triangular")


def test_large_maps_are_tried_on_random_elements():
    n = 600
    d = np.linspace(1.0, 2.0, n)
    for good in ("symmetric", "positive definite"):
        linear.check_facts(linear.diagonal(d), good)
    linear.check_facts(linear.permutation(np.arange(n)[::-1]))
    A = linear.from_function(lambda v: np.cumsum(v) * d, n)
    for fact in ("symmetric", "orthonormal", "orthonormal rows", "identity", "zero"):
        with pytest.raises(CheckError, match=f"is not {fact}"):
            linear.check_facts(A, fact)
    with pytest.raises(CheckError, match="is not negative"):
        linear.check_facts(linear.diagonal(d), "negative semidefinite")


def test_a_wrong_adjoint_is_found():
    wrong = linear.from_function(np.cumsum, 4, adjoint=np.cumsum)
    with pytest.raises(CheckError, match="not the adjoint"):
        linear.check_adjoint(wrong)
    right = linear.from_function(np.cumsum, 4, adjoint=lambda u: np.cumsum(u[::-1])[::-1])
    linear.check_adjoint(right)

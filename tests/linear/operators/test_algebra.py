"""Expressions of maps at random: all that they know and do agrees with the same expression of matrices."""

import numpy as np
import pytest

from adjoint import linear
from adjoint.base.errors import CheckError

N = 3
LEAVES = {
    "general": lambda a, b: (linear.matrix(a), a),
    "symmetric": lambda a, b: (linear.matrix(a + a.T, "symmetric"), a + a.T),
    "positive": lambda a, b: (linear.matrix(a @ a.T + np.eye(N), "positive definite"), a @ a.T + np.eye(N)),
    "negative": lambda a, b: (linear.matrix(-a @ a.T - np.eye(N), "negative definite"), -a @ a.T - np.eye(N)),
    "gram": lambda a, b: (linear.low_rank(a[:, :1]), a[:, :1] @ a[:, :1].T),
    "low rank": lambda a, b: (linear.low_rank(a[:, :1], b[:, :1]), a[:, :1] @ b[:, :1].T),
    "diagonal": lambda a, b: (linear.diagonal(a[0]), np.diag(a[0])),
    "positive diagonal": lambda a, b: (linear.diagonal(np.exp(a[0])), np.diag(np.exp(a[0]))),
    "singular diagonal": lambda a, b: (linear.diagonal(np.array([1.0, 0.0, 2.0])), np.diag([1.0, 0.0, 2.0])),
    "lower": lambda a, b: (linear.triangular(a), np.tril(a)),
    "upper": lambda a, b: (linear.triangular(a, lower=False, unit_diagonal=True), np.triu(a, 1) + np.eye(N)),
    "tridiagonal": lambda a, b: (linear.matrix(np.triu(np.tril(a, 1), -1), "tridiagonal"), np.triu(np.tril(a, 1), -1)),
    "orthonormal": lambda a, b: (linear.matrix(np.linalg.qr(a)[0], "orthonormal"), np.linalg.qr(a)[0]),
    "permutation": lambda a, b: (linear.permutation(np.argsort(a[0])), np.eye(N)[np.argsort(a[0])]),
    "identity": lambda a, b: (linear.identity(N), np.eye(N)),
    "zero": lambda a, b: (linear.zero(N), np.zeros((N, N))),
    "complex": lambda a, b: (linear.matrix(a + 1j * b), a + 1j * b),
    "hermitian": lambda a, b: (linear.matrix(a + a.T + 1j * (b - b.T), "hermitian"), a + a.T + 1j * (b - b.T)),
    "complex diagonal": lambda a, b: (linear.diagonal(a[0] + 1j * b[0]), np.diag(a[0] + 1j * b[0])),
}
ONE = {
    "A*": lambda A, a: (A.adjoint, a.conj().T),
    "Aᵀ": lambda A, a: (A.T, a.T),
    "-A": lambda A, a: (-A, -a),
    "2 A": lambda A, a: (2 * A, 2 * a),
    "-A/2": lambda A, a: (-0.5 * A, -0.5 * a),
    "0 A": lambda A, a: (0.0 * A, 0.0 * a),
    "i A": lambda A, a: (1j * A, 1j * a),
    "A²": lambda A, a: (A**2, a @ a),
    "A³": lambda A, a: (A**3, a @ a @ a),
    "A* A": lambda A, a: (A.H @ A, a.conj().T @ a),
    "A + A*": lambda A, a: (A + A.H, a + a.conj().T),
    "A⁻¹": lambda A, a: (A.inverse, np.linalg.inv(a)) if np.linalg.cond(a) < 1e4 else (A, a),
}
TWO = {
    "A + B": lambda A, B, a, b: (A + B, a + b),
    "A - B": lambda A, B, a, b: (A - B, a - b),
    "A B": lambda A, B, a, b: (A @ B, a @ b),
    "A* B A": lambda A, B, a, b: (A.H @ B @ A, a.conj().T @ b @ a),
    "A ⊗ B": lambda A, B, a, b: (linear.kronecker(A, B), np.kron(a, b)),
    "diag(A, B)": lambda A, B, a, b: (
        linear.raveled(linear.block_diagonal([A, B])), np.block([[a, 0 * a], [0 * b, b]])),
    "[A B; B* A]": lambda A, B, a, b: (
        linear.raveled(linear.block([[A, B], [B.H, A]])), np.block([[a, b], [b.conj().T, a]])),
    "[A 0; B A]": lambda A, B, a, b: (
        linear.raveled(linear.block([[A, None], [B, A]])), np.block([[a, 0 * a], [b, a]])),
}  # fmt: skip


def expression(rng, depth):
    """(map, matrix, its name)."""
    if depth == 0:
        name = list(LEAVES)[rng.integers(len(LEAVES))]
        return *LEAVES[name](*rng.normal(size=(2, N, N))), name
    A, a, left = expression(rng, depth - 1)
    if rng.random() < 0.5:
        name = list(ONE)[rng.integers(len(ONE))]
        return *ONE[name](A, a), f"{name} with A = {left}"
    B, b, right = expression(rng, int(rng.integers(depth)))
    name = list(TWO)[rng.integers(len(TWO))]
    same_kind = A.dtype.kind == B.dtype.kind or not name.startswith("[")
    if (a.shape != b.shape and name != "A ⊗ B") or a.shape[0] * b.shape[0] > 81 or not same_kind:
        return A, a, left
    return *TWO[name](A, B, a, b), f"{name} with A = {left}, B = {right}"


@pytest.mark.parametrize("start", range(0, 160, 20))
def test_random_expressions(start):
    for seed in range(start, start + 20):
        rng = np.random.default_rng(seed)
        A, a, name = expression(rng, int(rng.integers(1, 4)))
        agrees(A, a, rng, f"{name} (seed {seed})")


def agrees(A, a, rng, name):
    size = max(float(np.abs(a).max()), 1e-12)
    near = lambda x, y, scale=1.0: np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-8 * scale, err_msg=name)
    near(A.to_dense(), a, size)
    try:
        linear.check_facts(linear.matrix(a), *A.facts)
    except CheckError as problem:
        raise AssertionError(name) from problem
    x = rng.normal(size=len(a)) + (1j * rng.normal(size=len(a)) if A.domain.dtype.kind == "c" else 0)
    y = A @ x
    near(y, a @ x, size)
    near(A.H @ y, a.conj().T @ y, size**2)
    near(A.T @ y, a.T @ y, size**2)
    near(y @ A, y @ a, size**2)
    near(A @ np.stack([x, 1j * x], 1), a @ np.stack([x, 1j * x], 1), size)
    near(A.diagonal(), np.diag(a), size)
    near(A.as_scipy().matvec(x), a @ x, size)
    near(A.as_scipy().rmatvec(x + 1j * y), a.conj().T @ (x + 1j * y), size**2)
    if np.linalg.cond(a) < 1e5:
        scale = 1e3 * size * (1 + float(np.abs(y).max()))
        near(a @ A.solve(y), y, scale)
        near(a.conj().T @ A.H.solve(y), y, scale)
        near(a @ A.solve(np.stack([x, 1j * y], 1)), np.stack([x, 1j * y], 1), scale)
        near(a @ linear.factored(A).solve(y), y, scale)
        sign, log = np.linalg.slogdet(a)
        near(linear.slogdet(A)[0], sign)
        near(linear.slogdet(A)[1], log, 1e2)


def test_parts_that_have_no_inverse():
    """A sum or block matrix may have one all the same: no way through the part is taken."""
    a = np.array([1.0, 0.0, 0.0, 2.0])
    u = np.eye(4)[:, 1:3]
    A = linear.diagonal(a) + linear.low_rank(u)
    assert A.method == "lu"
    np.testing.assert_allclose(A.solve(np.arange(4.0)), [0.0, 1.0, 2.0, 1.5])
    B = linear.block([[linear.zero(2), linear.identity(2)], [linear.identity(2), linear.diagonal(np.ones(2))]])
    x = (np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    for found, wanted in zip(B.solve(B(x)), x, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    assert (linear.diagonal(np.array([1.0, -2.0])) + linear.low_rank(np.ones(2))).method.endswith("(Woodbury)")


def test_real_and_complex_parts_in_one_vector():
    rng = np.random.default_rng(0)
    a, z = rng.normal(size=(2, 2)), rng.normal(size=(2, 2)) + 1j
    A = linear.raveled(linear.block_diagonal([linear.matrix(a), linear.matrix(z)]))
    x = rng.normal(size=4) + 1j * rng.normal(size=4)
    dense = np.block([[a, 0 * a], [0 * a, z]])
    np.testing.assert_allclose(A @ x, dense @ x)
    np.testing.assert_allclose(A.H @ x, dense.conj().T @ x)
    np.testing.assert_allclose(dense @ A.solve(x), x)
    upwards = linear.matrix(z, domain=2)  # real numbers to complex ones
    wide = linear.complexified(upwards)
    np.testing.assert_allclose(wide @ x[:2], z @ x[:2])
    np.testing.assert_allclose(wide.H @ x[:2], z.conj().T @ x[:2])
    np.testing.assert_allclose(upwards.as_scipy().rmatvec(x[:2]), z.conj().T @ x[:2])
    linear.check_adjoint(wide)
    function = linear.from_function(lambda v: np.cumsum(v), 3)
    columns = rng.normal(size=(3, 2)) + 1j
    np.testing.assert_allclose(function @ columns, np.cumsum(columns, axis=0))
    np.testing.assert_allclose(function.as_scipy() @ columns, np.cumsum(columns, axis=0))

"""Determinants of singular matrices: derivatives of every order against Leibniz' sum over permutations."""

from itertools import permutations

import mpmath
import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ShapeError
from adjoint.ops.linalg.determinant import Cofactors, Determinant, SignLogDeterminant
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType


def leibniz(a):
    """Σ over permutations of the product of a[i, p(i)], with the sign of p: a polynomial, differentiated as such."""
    n = a.shape[-1]
    total = 0.0
    for p in permutations(range(n)):
        inversions = sum(p[j] > p[i] for i in range(n) for j in range(i))
        term = (-1.0) ** inversions
        for i in range(n):
            term = term * a[..., i, p[i]]
        total = total + term
    return total


def of_rank(n: int, rank: int, complex_: bool, seed: int = 0):
    rng = np.random.default_rng([n, rank, seed])
    left, right = rng.normal(size=(2, n, n)) + (1j * rng.normal(size=(2, n, n)) if complex_ else 0)
    return left[:, :rank] @ right[:rank]


@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("n, rank", [(n, rank) for n in (1, 2, 3, 4) for rank in range(n + 1)])
def test_every_order_at_every_rank(n, rank, complex_) -> None:
    a = of_rank(n, rank, complex_)
    directions = [of_rank(n, n, complex_, seed) for seed in (1, 2, 3, 4)]
    _, found = ad.jet(np.linalg.det, (a,), (directions,))
    _, wanted = ad.jet(leibniz, (a,), (directions,))
    for term, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(term, expected, rtol=1e-9, atol=1e-9)

    def twice(f):
        slope = lambda x: np.sum(np.real(ad.grad(lambda y: np.real(f(y)))(x) * directions[0]))
        return ad.grad(slope)(a)

    np.testing.assert_allclose(twice(np.linalg.det), twice(leibniz), rtol=1e-9, atol=1e-9)


def test_a_stack_of_different_ranks() -> None:
    stack = np.stack([of_rank(3, rank, False) for rank in range(4)] + [np.eye(3), 1e-9 * np.ones((3, 3))])
    for f in (lambda f, x: ad.grad(lambda x: np.sum(f(x) + f(x) ** 2))(x), lambda f, x: ad.vmap(ad.grad(f))(x)):
        np.testing.assert_allclose(f(np.linalg.det, stack), f(leibniz, stack), rtol=1e-9, atol=1e-12)
    basis = np.eye(9).reshape(9, 3, 3)
    hessian = lambda f: ad.vmap(lambda x: ad.vmap(lambda e: ad.jvp(ad.grad(f), (x,), (e,))[1])(basis))
    np.testing.assert_allclose(hessian(np.linalg.det)(stack), hessian(leibniz)(stack), rtol=1e-9, atol=1e-9)


def test_nearly_singular() -> None:
    """Cofactors do not depend on the small singular value, so they keep all their digits."""
    u, v = (np.linalg.qr(np.random.default_rng(k).normal(size=(4, 4)))[0] for k in (0, 1))
    for smallest in (1e-3, 1e-6, 1e-9, 1e-15, 0.0):
        a = (u * [1.0, 2.0, 3.0, smallest]) @ v
        np.testing.assert_allclose(ad.grad(np.linalg.det)(a), ad.grad(leibniz)(a), atol=1e-13)


def test_recorded_program_serves_every_rank() -> None:
    """A gradient recorded from types alone is right for matrices of any rank."""
    program, _ = record_program(lambda x: [ad.grad(np.linalg.det)(x)], [ArrayType((3, 3), np.dtype(float))])
    for rank in range(4):
        a = of_rank(3, rank, False)
        np.testing.assert_allclose(program(a)[0], ad.grad(leibniz)(a), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
def test_compiled_derivatives_of_a_stack_of_different_ranks(complex_) -> None:
    """First and second order; the program knows no ranks."""
    stack = np.stack([of_rank(3, rank, complex_) for rank in range(4)] + [of_rank(3, 2, complex_) * 1e-3])
    v = np.stack([of_rank(3, 3, complex_, seed) for seed in range(1, 6)])
    pushed = lambda f: lambda x, v: ad.jvp(f, (x,), (v,))[1]
    pulled = lambda f: lambda x, v: ad.grad(lambda x: np.sum(np.real(f(x) * np.conj(f(v)))))(x)
    for derivative in (
        pushed,
        pulled,
        lambda f: pushed(lambda x: pushed(f)(x, v)),
        lambda f: lambda x, v: ad.grad(lambda x: np.sum(np.real(pushed(f)(x, v))))(x),
    ):
        wanted = derivative(leibniz)(stack, v)
        np.testing.assert_allclose(ad.jit(derivative(np.linalg.det))(stack, v), wanted, rtol=1e-9, atol=1e-11)


def test_first_derivatives_cost_what_a_decomposition_costs() -> None:
    """The program of a derivative does not grow with the size of the matrix."""
    slope = lambda x: ad.jvp(np.linalg.det, (x,), (x,))[1]
    counts = [
        [len(record_program(lambda x, f=f: [f(x)], [ArrayType((n, n), np.dtype(float))])[0].equations) for n in (5, 30)]
        for f in (slope, ad.grad(np.linalg.det))
    ]
    for small, large in counts:
        assert small == large


@pytest.mark.parametrize("rank", [4, 3, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_cofactors_are_determinants_of_minors(rank, dtype) -> None:
    a = of_rank(4, rank, np.dtype(dtype).kind == "c").astype(dtype)
    found = Cofactors()(a, np.linalg.det(a))
    wanted = np.array(
        [[(-1) ** (i + j) * leibniz(np.delete(np.delete(a, i, 0), j, 1)) for j in range(4)] for i in range(4)]
    )
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, atol=200 * np.finfo(dtype).eps * np.max(np.abs(a)) ** 3)


def test_cofactors_of_what_is_no_number_and_of_nothing() -> None:
    stack = np.stack([np.eye(2), np.full((2, 2), np.nan), np.ones((2, 2))])
    found = Cofactors()(stack, np.array([1.0, np.nan, 0.0]))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(stack))
    np.testing.assert_allclose(found[2], [[1, -1], [-1, 1]], atol=1e-12)
    for shape in ((0, 2, 2), (2, 0, 0)):
        assert ad.grad(lambda a: np.sum(np.linalg.det(a)))(np.zeros(shape)).shape == shape


def test_log_determinant_of_a_singular_matrix() -> None:
    """It is minus infinity, and has no derivative; a lane that is not used does not disturb the others."""
    stack = np.stack([2 * np.eye(2), np.ones((2, 2))])
    logarithm = lambda a: np.linalg.slogdet(a)[1]
    assert np.all(np.isnan(ad.grad(lambda a: logarithm(a[1]))(stack)[1]))
    found = ad.grad(lambda a: np.sum(np.where(np.array([True, False]), logarithm(a), 0.0)))(stack)
    np.testing.assert_array_equal(found, [np.eye(2) / 2, np.zeros((2, 2))])


def test_jacobi_formula() -> None:
    """d log det(A) = tr(A⁻¹ Ȧ), for a function that is written with det."""
    a = of_rank(4, 4, True)
    np.testing.assert_allclose(
        ad.vjp(lambda a: np.log(np.linalg.det(a)), a)[1](1.0 + 0j)[0], np.linalg.inv(a).conj().T, rtol=1e-9
    )


@pytest.mark.parametrize("op, name", [(Determinant(), "det"), (SignLogDeterminant(), "slogdet")])
def test_wrong_shapes_are_named(op, name) -> None:
    with pytest.raises(ShapeError, match=f"{name}: .*not square"):
        op.result_type(ArrayType((2, 3), np.dtype(float)))


def test_second_derivatives_in_a_program_are_a_loop_over_vanishing_singular_values() -> None:
    """The program of a Hessian product does not grow with the matrix, and serves every rank."""

    def product(a, v):
        return ad.jvp(ad.grad(np.linalg.det), (a,), (v,))[1]

    sizes = [len(ad.trace(product)(np.eye(n), np.eye(n)).program.equations) for n in (5, 30)]
    assert sizes[0] == sizes[1]
    compiled = ad.jit(product)
    rng = np.random.default_rng(3)
    for rank in range(4):
        a = rng.standard_normal((3, rank)) @ rng.standard_normal((rank, 3))
        v = rng.standard_normal((3, 3))
        step = 1e-3
        slope = [_cofactors(a + t * v) for t in (step, -step)]  # a quadratic in t: central differences are exact
        np.testing.assert_allclose(compiled(a, v), (slope[0] - slope[1]) / (2 * step), atol=1e-9)


def _cofactors(a):
    """By their definition: signed determinants of what is left when a row and a column are taken away."""
    minors = lambda i, j: np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))
    return np.array([[(-1) ** (i + j) * minors(i, j) for j in range(3)] for i in range(3)])


def test_high_orders_of_small_determinants_are_those_of_their_polynomial() -> None:
    """Against the same polynomial written out: det(A) of A(x) has no poles, though A⁻¹ has."""

    def rows(x):
        return [[x, np.sin(x), 1 + 0 * x], [np.cos(x), x * x, x], [np.exp(x), 2 + 0 * x, np.sin(x)]]

    def written_out(x):
        (a, b, c), (d, e, f), (g, h, i) = rows(x)
        return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)

    for at in (0.3, 1.0):
        found = ad.taylor(lambda x: np.linalg.det(np.stack([np.stack(row) for row in rows(x)])), at, 25)
        np.testing.assert_allclose(
            found.coefficients, ad.taylor(written_out, at, 25).coefficients, rtol=1e-9, atol=1e-17
        )


def test_high_orders_of_larger_determinants() -> None:
    """Against mpmath, which differentiates the same determinant numerically with forty digits."""
    rng = np.random.default_rng(0)
    b, c = rng.standard_normal((2, 5, 5))
    found = ad.taylor(lambda x: np.linalg.det(b * np.cos(x) + c * np.sin(x) + np.eye(5)), 0.3, 14).coefficients
    with mpmath.workdps(40):
        matrix = lambda a: mpmath.matrix(a.tolist())
        exact = lambda x: mpmath.det(matrix(b) * mpmath.cos(x) + matrix(c) * mpmath.sin(x) + mpmath.eye(5))
        expected = [float(t) for t in mpmath.taylor(exact, mpmath.mpf("0.3"), 14)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)

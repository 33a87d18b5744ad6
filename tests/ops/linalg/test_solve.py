"""Linear equations beyond the contract: cost, reuse of one factorization, exactness, lanes, symbolic shapes."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import DtypeError, NotLinear, ShapeError
from adjoint.ops.linalg.solve import Inverse, PseudoInverse, Solve, TriangularSolve
from adjoint.program.types import ArrayType

rng = np.random.default_rng(0)
A = rng.normal(size=(3, 3)) + 3 * np.eye(3)


def kind(*shape: int, dtype=np.float64) -> ArrayType:
    return ArrayType(shape, np.dtype(dtype))


@pytest.mark.parametrize("op, types, words", [
    (Solve(), (kind(2, 3), kind(2, 1)), ["solve", "float64[2,3]", "not square"]),
    (Solve(), (kind(3, 3), kind(2, 1)), ["solve", "3 columns", "2 rows"]),
    (Solve(), (kind(3), kind(3, 1)), ["solve", "two axes"]),
    (Solve(), (kind(2, 3, 3), kind(4, 3, 1)), ["solve", "do not broadcast"]),
    (TriangularSolve(lower=True), (kind(2, 2), kind(3, 1)), ["solve_triangular", "3 rows"]),
    (Inverse(), (kind(2, 3),), ["inv", "2 rows, 3 columns"]),
    (PseudoInverse(), (kind(3), kind()), ["pinv", "two axes"]),
])  # fmt: skip
def test_wrong_shapes_are_named(op, types, words) -> None:
    with pytest.raises(ShapeError) as caught:
        op.result_type(*types)
    for word in words:
        assert word in str(caught.value)


def test_half_precision_is_refused() -> None:
    with pytest.raises(DtypeError, match="float16"):
        Inverse().result_type(kind(2, 2, dtype=np.float16))


@pytest.mark.parametrize("lower", [True, False])
def test_the_other_triangle_is_not_read(lower) -> None:
    b = rng.normal(size=(3, 2))
    spoiled = np.where(np.tri(3, dtype=bool) if lower else np.tri(3, dtype=bool).T, A, np.nan)
    for op in (TriangularSolve(lower), TriangularSolve(lower, unit=True)):
        x, pullback = ad.vjp(op, A, b)
        if op.unit:
            np.fill_diagonal(spoiled, np.nan)
        y, spoiled_pullback = ad.vjp(op, spoiled, b)
        np.testing.assert_array_equal(x, y)
        for found, wanted in zip(spoiled_pullback(x), pullback(x), strict=True):
            np.testing.assert_array_equal(found, wanted)
        assert not np.any(pullback(x)[0][~np.tri(3, dtype=bool) if lower else ~np.tri(3, dtype=bool).T])


def test_triangular_stack_is_a_loop() -> None:
    stack, b = A + 0.1 * rng.normal(size=(4, 3, 3)), rng.normal(size=(4, 3, 2))
    op = TriangularSolve(lower=True)
    np.testing.assert_allclose(op(stack, b), np.stack([op(a, y) for a, y in zip(stack, b, strict=True)]), rtol=1e-12)


def test_one_matrix_is_factored_once_for_all_lanes(monkeypatch) -> None:
    seen = []
    plain = np.linalg.solve
    monkeypatch.setattr(np.linalg, "solve", lambda a, b: seen.append((np.shape(a), np.shape(b))) or plain(a, b))
    right = rng.normal(size=(50, 3))
    f = lambda b: Solve()(A, np.expand_dims(b, -1))[..., 0]
    found = ad.vmap(f)(right)
    assert seen == [((3, 3), (3, 50))]
    np.testing.assert_allclose(found, plain(A, right.T).T, rtol=1e-12)


def test_the_transpose_is_not_an_inverse(monkeypatch) -> None:
    """The way back solves with the adjoint matrix; no inverse is formed."""
    monkeypatch.setattr(np.linalg, "inv", lambda a: pytest.fail("an inverse was formed"))
    b = rng.normal(size=(3, 1))
    found = ad.grad(lambda a, b: np.sum(Solve()(a, b) ** 2), (0, 1))(A, b)
    x = np.linalg.solve(A, b)
    np.testing.assert_allclose(found[1], np.linalg.solve(A.T, 2 * x), rtol=1e-12)
    np.testing.assert_allclose(found[0], -found[1] @ x.T, rtol=1e-12)


def test_taylor_series_of_a_geometric_series() -> None:
    """(1 - t N)⁻¹ = Σ tᵏ Nᵏ."""
    n = 0.5 * rng.normal(size=(3, 3))
    order = 6
    zero = np.zeros((3, 3))
    for f in (lambda a: Inverse()(a), lambda a: Solve()(a, np.eye(3))):
        _, terms = ad.jet(f, (np.eye(3),), ([-n, *[zero] * (order - 1)],))
        factorial = 1
        for k in range(1, order + 1):
            factorial *= k
            np.testing.assert_allclose(terms[k - 1] / factorial, np.linalg.matrix_power(n, k), atol=1e-12)


def test_constant_rank_of_the_pseudo_inverse() -> None:
    """Along matrices of rank one, A = u vᵀ, pinv is v uᵀ / (|u|² |v|²)."""
    u, v, du, dv = rng.normal(size=(4, 3))
    explicit = lambda u, v: np.outer(v, u) / (u @ u) / (v @ v)
    through = lambda u, v: PseudoInverse()(np.outer(u, v), np.asarray(1e-10))
    for order in (1, 2):
        series = tuple([d] + [0 * d] * (order - 1) for d in (du, dv))
        found, wanted = (ad.jet(f, (u, v), series)[1][-1] for f in (through, explicit))
        np.testing.assert_allclose(found, wanted, atol=1e-9)
    weight = rng.normal(size=(3, 3))
    found, wanted = (ad.grad(lambda u, v, f=f: np.sum(weight * f(u, v)), (0, 1))(u, v) for f in (through, explicit))
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_the_transpose_in_the_right_side() -> None:
    """x = A⁻¹ b is linear in b; in A it is not."""
    b, u = rng.normal(size=(2, 3))
    (found,) = ad.linear_transpose(lambda b: np.linalg.solve(A, b), b)(u)
    np.testing.assert_allclose(found, np.linalg.solve(A.T, u), rtol=1e-12)
    with pytest.raises(NotLinear, match="solve"):
        ad.linear_transpose(lambda a: np.linalg.solve(a, b), A)(u)

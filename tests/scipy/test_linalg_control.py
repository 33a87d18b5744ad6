"""Sylvester, Lyapunov and Riccati equations: SciPy's values, derivatives of any order, singular equations."""

import numpy as np
import pytest
import scipy.linalg

import adjoint as ad
from adjoint.base.errors import ShapeError
from adjoint.scipy import linalg
from tests.numpy.checking import Case, complex_array, every_check, signed
from tests.scipy.matrices import adjoint, compared, complex_regular, gram, regular

A, Z = regular(3, 3), complex_regular(3, 3)


def riccati(f):
    """With q and r made Hermitian and positive."""
    return lambda a, b, q, r, *more: f(a, b, gram(q), gram(r), *more)


CASES = [
    Case("sylvester", linalg.solve_sylvester, (A, regular(2, 2), signed(3, 2))),
    Case("sylvester stack", linalg.solve_sylvester, (regular(2, 3, 3), complex_regular(2, 2), signed(3, 2))),
    Case("continuous_lyapunov", linalg.solve_continuous_lyapunov, (Z, signed(3, 3))),
    Case("discrete_lyapunov", linalg.solve_discrete_lyapunov, (0.1 * A, signed(3, 3))),
    Case("discrete_lyapunov stack", linalg.solve_discrete_lyapunov, (0.1 * complex_regular(2, 2, 2), signed(2, 2))),
    Case(
        "continuous_are", riccati(linalg.solve_continuous_are), (signed(2, 2), signed(2, 1), regular(2, 2), np.eye(1))
    ),
    Case(
        "discrete_are",
        lambda a, b, q, r, e, s: linalg.solve_discrete_are(a, b, gram(q), gram(r), e, 0.1 * s),
        (
            complex_array(3, 3),
            complex_array(3, 2),
            Z,
            complex_regular(2, 2),
            complex_regular(3, 3, seed=3),
            signed(3, 2),
        ),
    ),
]


@every_check(CASES)
def test_derivatives(case, check) -> None:
    check(case)


@pytest.mark.parametrize("a", [A, Z], ids=["real", "complex"])
def test_values_are_scipys(a) -> None:
    q = gram(a) + 0.1 * a
    compared(linalg.solve_sylvester(a, 2 * a, q), scipy.linalg.solve_sylvester(a, 2 * a, q))
    compared(linalg.solve_continuous_lyapunov(a, q), scipy.linalg.solve_continuous_lyapunov(a, q))
    compared(linalg.solve_lyapunov(a, q), scipy.linalg.solve_lyapunov(a, q))
    for method in (None, "direct", "bilinear"):
        wanted = scipy.linalg.solve_discrete_lyapunov(0.1 * a, q, method)
        compared(linalg.solve_discrete_lyapunov(0.1 * a, q, method), wanted)
    b, q, r = np.eye(3)[:, :2] + 0.1 * a[:, :2], np.eye(3), np.eye(2)
    e, s = np.diag([1.0, 2.0, 1.5]), 0.05 * signed(3, 2)
    for name in ("solve_continuous_are", "solve_discrete_are"):
        ours, theirs = getattr(linalg, name), getattr(scipy.linalg, name)
        compared(ours(a, b, q, r), theirs(a, b, q, r), 1e-10)
        compared(ours(a / 4, b, q, r, e, s), theirs(a / 4, b, q, r, e, s), 1e-10)


def test_the_gain_of_a_controller_minimizes_the_cost() -> None:
    """Envelope theorem: x₀ᴴ X x₀ is the least cost of a regulator, so its slope in q is the state's second moment."""
    a, b, r = signed(2, 2), signed(2, 1), np.eye(1)
    start = np.array([1.0, -0.5])
    slope = ad.grad(lambda q: start @ linalg.solve_continuous_are(a, b, q, r) @ start)(np.eye(2))
    x = scipy.linalg.solve_continuous_are(a, b, np.eye(2), r)
    closed = a - b @ b.T @ x
    moment = scipy.linalg.solve_continuous_lyapunov(closed, -np.outer(start, start))  # ∫ x(t) x(t)ᵀ dt
    np.testing.assert_allclose(slope, moment, rtol=1e-10)


def test_compiled_values_and_gradients_are_the_same() -> None:
    f = lambda a, q: np.sum(np.sin(linalg.solve_sylvester(a, adjoint(a), q) + linalg.solve_discrete_lyapunov(a / 9, q)))
    q = signed(3, 3)
    for g in (f, ad.grad(f, (0, 1))):
        compared(ad.jit(g)(A, q), g(A, q), 1e-12)


@pytest.mark.parametrize("call, error, words", [
    (lambda: linalg.solve_sylvester(A, -A, A), np.linalg.LinAlgError, "minus one of B"),
    (lambda: linalg.solve_continuous_lyapunov(np.diag([1.0, -1.0]), np.eye(2)), np.linalg.LinAlgError, "lyapunov"),
    (lambda: linalg.solve_discrete_lyapunov(np.eye(2), np.eye(2)), np.linalg.LinAlgError, "is one"),
    (lambda: linalg.solve_discrete_lyapunov(A, A, "other"), ValueError, "other"),
    (lambda: linalg.solve_sylvester(A, A, signed(3, 2)), ShapeError, "solve_sylvester"),
    (lambda: linalg.solve_sylvester(signed(3, 2), A, A), ShapeError, "square"),
    (lambda: linalg.solve_continuous_are(A, A, A, np.eye(3)), ValueError, "q should be"),
    (lambda: linalg.solve_continuous_are(A, A[:, :2], gram(A), np.eye(3)), ShapeError, "r is"),
])  # fmt: skip
def test_wrong_calls_raise(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()


def test_what_is_not_finite_gives_nan() -> None:
    found = linalg.solve_sylvester(np.stack([A, np.full((3, 3), np.nan)]), A, A)
    assert np.all(np.isfinite(found[0]))
    assert np.all(np.isnan(found[1]))

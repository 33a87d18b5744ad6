"""Values that coincide, to second and third order: functions of whole spaces are right, others do not pass for it.

The oracle has no eigenvectors: projectors from the sign of a matrix, the polar factor from its own equation, sums over
singular values from the square root of a matrix.
"""

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy import linalg
from tests.numpy.checking import signed

KINDS = pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
MODES = ("forward-over-reverse", "reverse-over-reverse", "reverse-over-forward")


def draw(*shape, complex_=False, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if complex_ else x


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def hermitian(x):
    return (x + adjoint(x)) / 2


def from_lower(x):
    """The Hermitian matrix whose lower triangle x holds."""
    low = np.tril(x, -1)
    return low + adjoint(low) + np.eye(x.shape[-1]) * np.real(x)


def with_values(values, rows, complex_):
    n = len(values)
    left, right = (np.linalg.qr(draw(k, k, complex_=complex_, seed=k))[0] for k in (rows, n))
    return hermitian((right * values) @ adjoint(right)) if rows == n else (left[:, :n] * values) @ adjoint(right)


def same_to_third_order(found, wanted, a, v, tolerance=1e-11):
    """Gradients, Hessians along a direction in several modes, and a third derivative."""
    scale = 1 + np.max(np.abs(ad.hvp(wanted, (a,), (v,))))
    np.testing.assert_allclose(ad.grad(found)(a), ad.grad(wanted)(a), atol=tolerance * scale)
    for mode in MODES:
        second = ad.hvp(found, (a,), (v,), mode=mode)
        np.testing.assert_allclose(second, ad.hvp(wanted, (a,), (v,)), atol=tolerance * scale, err_msg=mode)

    def third(f):
        along = lambda t: f(a + t * v)
        for _ in range(3):
            along = lambda t, g=along: ad.jvp(g, (t,), (1.0,))[1]
        return along(0.0)

    np.testing.assert_allclose(third(found), third(wanted), rtol=1e-10)
    zero = np.zeros_like(v)
    _, (_, _, by_series) = ad.jet(found, (a,), [[v, zero, zero]])
    np.testing.assert_allclose(by_series, third(wanted), rtol=1e-10)


def paired(u, x):
    return np.sum(np.real(np.conj(u) * x)) ** 2


@KINDS
@pytest.mark.parametrize("w", [(1, 1, 2, 2), (1, 2, 2, 3), (1, 1, 1, 3), (0, 0, 1, 1)], ids=str)
def test_projectors_onto_eigenspaces(w, complex_) -> None:
    a, (u, v) = with_values(w, 4, complex_), (hermitian(draw(4, 4, complex_=complex_, seed=k)) for k in (4, 3))
    first = w.index(max(w))
    between = (w[first - 1] + w[first]) / 2 * np.eye(4)

    def found(x):
        top = np.linalg.eigh(x)[1][:, first:]
        return paired(u, top @ adjoint(top))

    same_to_third_order(found, lambda x: paired(u, (np.eye(4) + linalg.signm(from_lower(x) - between)) / 2), a, v)


@KINDS
@pytest.mark.parametrize("s", [(2, 2, 2), (3, 2, 2), (3, 3, 1)], ids=str)
def test_polar_factor_and_nuclear_norm(s, complex_) -> None:
    a, u, v = with_values(s, 4, complex_), *(draw(4, 3, complex_=complex_, seed=k) for k in (6, 5))

    def factor(x):
        left, _, right = np.linalg.svd(x, full_matrices=False)
        return left @ right

    same_to_third_order(lambda x: paired(u, factor(x)), lambda x: paired(u, linalg.polar(x)[0]), a, v)
    root = lambda x: np.real(np.trace(linalg.sqrtm(adjoint(x) @ x)))
    same_to_third_order(lambda x: np.linalg.norm(x, "nuc"), root, a, v)


@KINDS
@pytest.mark.parametrize("s", [(3, 2, 2), (3, 3, 1)], ids=str)
def test_projectors_onto_spaces_of_singular_vectors(s, complex_) -> None:
    a, u, v = with_values(s, 4, complex_), *(draw(4, 3, complex_=complex_, seed=k) for k in (6, 5))
    count, between = s.count(max(s)), (max(s) ** 2 - 0.5) * np.eye(4)

    def found(x):
        top = np.linalg.svd(x, full_matrices=False)[0][:, :count]
        return paired(u @ adjoint(u), top @ adjoint(top))

    wanted = lambda x: paired(u @ adjoint(u), (np.eye(4) + linalg.signm(x @ adjoint(x) - between)) / 2)
    same_to_third_order(found, wanted, a, v, 1e-9)


def test_functions_of_the_sum_of_values_are_told() -> None:
    v = hermitian(signed(3, 3))
    found = ad.hvp(lambda a: np.sum(np.linalg.eigvalsh(a)) ** 3, (np.eye(3),), (v,))
    np.testing.assert_allclose(found, 18 * np.trace(v) * np.eye(3), atol=1e-12)


def test_compiled_derivatives_are_the_same() -> None:
    a, v = np.diag([1.0, 1.0, 2.0]), hermitian(signed(3, 3))

    def f(x):
        top = np.linalg.eigh(x)[1][:, :2]
        return paired(signed(3, 3), top @ top.T) + np.linalg.norm(x, "nuc")

    for g in (ad.grad(f), lambda a: ad.hvp(f, (a,), (v,))):
        np.testing.assert_allclose(ad.jit(g)(a), g(a), atol=1e-12)
    np.testing.assert_allclose(ad.hvp(ad.jit(f), (a,), (v,)), ad.hvp(f, (a,), (v,)), atol=1e-12)

"""Eigenvalues and singular values: Hermitian directions, values that coincide or vanish, phases."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ShapeError
from adjoint.ops.linalg.spectral import SVD, Eig, Eigh
from adjoint.program.types import ArrayType
from adjoint.testing.differences import finite_difference

KINDS = pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])


def draw(*shape: int, complex_: bool = False, seed: int = 0):
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


def rotation(n: int, complex_: bool, seed: int = 0):
    return np.linalg.qr(draw(n, n, complex_=complex_, seed=seed))[0]


def with_eigenvalues(w, complex_: bool):
    v = rotation(len(w), complex_)
    return hermitian((v * w) @ adjoint(v))


def with_singular_values(s, complex_: bool):
    k = len(s)
    return (rotation(k + 1, complex_)[:, :k] * s) @ rotation(k, complex_, 1)


def check(f, x, v, complex_: bool) -> None:
    """jvp by differences, vjp by jvp, for one array in and out."""
    value, slope = ad.jvp(f, (x,), (v,))
    np.testing.assert_allclose(slope, finite_difference(f, x, v, accuracy=6), atol=2e-8)
    ct = draw(*np.shape(value), complex_=np.iscomplexobj(value), seed=9)
    ct = ct[()] if np.shape(value) else np.float64(1.0)
    (back,) = ad.vjp(f, x)[1](ct)
    np.testing.assert_allclose(np.real(np.vdot(back, v)), np.real(np.vdot(ct, slope)), rtol=1e-8, atol=1e-10)


REPEATED = [(1, 1, 1, 1), (1, 1, 2, 2), (0, 0, 0, 0), (1, 2, 2, 3), (0, 0, 1, 1)]


@KINDS
@pytest.mark.parametrize("w", REPEATED, ids=str)
def test_symmetric_functions_of_repeated_eigenvalues(w, complex_) -> None:
    a, v = with_eigenvalues(w, complex_), draw(4, 4, complex_=complex_, seed=3)
    check(lambda x: np.sum(np.exp(np.linalg.eigvalsh(x))), a, v, complex_)
    cubes = lambda x: np.sum(Eigh()(x)[0] ** 3)
    wanted = lambda x: np.real(np.trace(np.linalg.matrix_power(from_lower(x), 3)))
    np.testing.assert_allclose(ad.grad(cubes)(a), ad.grad(wanted)(a), atol=1e-10)


@KINDS
@pytest.mark.parametrize("w", [w for w in REPEATED if len(set(w)) > 1], ids=str)
def test_projector_onto_a_whole_eigenspace(w, complex_) -> None:
    a, v = with_eigenvalues(w, complex_), draw(4, 4, complex_=complex_, seed=3)
    first = w.index(max(w))

    def projector(x):
        top = np.linalg.eigh(x)[1][:, first:]
        return top @ adjoint(top)

    check(projector, a, v, complex_)


@KINDS
@pytest.mark.parametrize("lower", [True, False])
def test_eigenvectors_read_one_triangle(lower, complex_) -> None:
    """Up to its phase, which is fixed here by its largest element, each vector has a derivative."""
    a, v = with_eigenvalues([1.0, 2.0, 4.0], complex_), draw(3, 3, complex_=complex_)

    def fixed(x):
        w, vectors = np.linalg.eigh(x, "L" if lower else "U")
        top = vectors[0:1]
        return w * vectors * np.conj(top) / np.abs(top)

    check(fixed, a, v, complex_)
    (back,) = ad.vjp(lambda x: Eigh(lower)(x)[0], a)[1](np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(back, np.tril(back) if lower else np.triu(back))
    np.testing.assert_array_equal(np.imag(np.diag(back)), np.zeros(3))


def test_a_real_eigenvector_keeps_its_length() -> None:
    """v̇ is orthogonal to v, and the sign is LAPACK's: the derivative of what NumPy returns."""
    a, v = with_eigenvalues([1.0, 2.0, 4.0], False), hermitian(draw(3, 3))
    vectors, slope = ad.jvp(lambda x: np.linalg.eigh(x)[1], (a,), (v,))
    np.testing.assert_allclose(np.sum(vectors * slope, axis=0), np.zeros(3), atol=1e-12)
    np.testing.assert_allclose(slope, finite_difference(lambda x: np.linalg.eigh(x)[1], a, v, accuracy=6), atol=1e-8)


@KINDS
@pytest.mark.parametrize("s", [(2, 2, 2), (3, 2, 2), (3, 2, 1)], ids=str)
def test_polar_factor_of_repeated_singular_values(s, complex_) -> None:
    def polar(x):
        u, _, vh = np.linalg.svd(x, full_matrices=False)
        return u @ vh

    a, v = with_singular_values(s, complex_), draw(4, 3, complex_=complex_, seed=5)
    check(polar, a, v, complex_)
    check(lambda x: polar(np.swapaxes(x, -1, -2)), np.swapaxes(a, 0, 1), np.swapaxes(v, 0, 1), complex_)


@KINDS
@pytest.mark.parametrize("s", [(2, 2, 0), (0, 0, 0), (3, 0, 0), (2, 1, 1)], ids=str)
def test_sums_over_repeated_and_vanishing_singular_values(s, complex_) -> None:
    a = with_singular_values(s, complex_)
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(np.linalg.svdvals(x) ** 2))(a), 2 * a, atol=1e-12)
    found = ad.grad(lambda x: np.sum(np.abs(SVD()(x)[0] * SVD()(x)[1]) ** 2))(a)
    assert np.all(np.isfinite(found))
    np.testing.assert_allclose(found, 2 * a, atol=1e-10)


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)], ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_the_factors_stay_factors(full, shape, complex_) -> None:
    """To third order along a line: U diag(s) Vᴴ is the matrix, U and V have orthonormal columns."""
    a, v = draw(*shape, complex_=complex_), draw(*shape, complex_=complex_, seed=1)
    k = min(shape)

    def equations(x):
        u, s, vh = SVD(full)(x)
        return (u[..., :k] * s) @ vh[..., :k, :], adjoint(u) @ u, vh @ adjoint(vh)

    values, terms = ad.jet(equations, (a,), ([v, 0 * v, 0 * v],))
    for j, wanted in enumerate((a, np.eye(values[1].shape[-1]), np.eye(values[2].shape[-1]))):
        np.testing.assert_allclose(values[j], wanted, atol=1e-12)
        np.testing.assert_allclose(terms[0][j], v if j == 0 else 0 * wanted, atol=1e-10)
        np.testing.assert_allclose(terms[1][j], 0 * wanted, atol=1e-8)
        np.testing.assert_allclose(terms[2][j], 0 * wanted, atol=1e-6)


@KINDS
def test_phases_of_singular_vectors_are_shared_evenly(complex_) -> None:
    """The diagonals of Uᴴ U̇ and Vᴴ V̇ are opposite, so that neither factor turns more than the other."""
    a, v = draw(3, 3, complex_=complex_), draw(3, 3, complex_=complex_, seed=1)
    (u, _, vh), (du, _, dvh) = ad.jvp(SVD(), (a,), (v,))
    left, right = np.diag(adjoint(u) @ du), np.diag(vh @ adjoint(dvh))
    np.testing.assert_allclose(left, -right, atol=1e-12)
    np.testing.assert_allclose(np.real(left), np.zeros(3), atol=1e-12)


@KINDS
def test_eigenvalues_of_any_matrix(complex_) -> None:
    a, v = draw(4, 4, complex_=complex_), draw(4, 4, complex_=complex_, seed=1)
    check(lambda x: Eig()(x)[0], a, v, complex_)
    powers = ad.grad(lambda x: np.real(np.sum(Eig()(x)[0] ** 3)))(a)
    np.testing.assert_allclose(powers, 3 * adjoint(a @ a), atol=1e-9)


@KINDS
def test_eigenvectors_of_any_matrix(complex_) -> None:
    """A V = V diag(w) holds along a line to second order, and columns keep their length."""
    a, v = draw(3, 3, complex_=complex_), draw(3, 3, complex_=complex_, seed=1)

    def residual(x):
        w, vectors = Eig()(x)
        return x @ vectors - vectors * w, np.sum(np.abs(vectors) ** 2, axis=0)

    (gap, lengths), terms = ad.jet(residual, (a,), ([v, 0 * v],))
    np.testing.assert_allclose(gap, np.zeros((3, 3)), atol=1e-12)
    np.testing.assert_allclose(lengths, np.ones(3), atol=1e-12)
    for k, tolerance in ((0, 1e-10), (1, 1e-8)):
        np.testing.assert_allclose(terms[k][0], np.zeros((3, 3)), atol=tolerance)
        np.testing.assert_allclose(terms[k][1], np.zeros(3), atol=tolerance)


@pytest.mark.parametrize("op, shape, words", [
    (Eigh(), (2, 3), "eigh: .*not square"),
    (Eig(), (2, 3), "eig: .*not square"),
    (SVD(), (3,), "svd: .*two axes"),
])  # fmt: skip
def test_wrong_shapes_are_named(op, shape, words) -> None:
    with pytest.raises(ShapeError, match=words):
        op.result_type(ArrayType(shape, np.dtype(float)))


POINTS = [np.eye(3), np.diag([1.0, 1.0, 2.0]), 0.5 * np.eye(3) + 0.5]  # the last: values ½, ½, 2
WEIGHTS = np.array([[0.3, -1.2, 0.7], [0.4, 0.9, -0.5], [-0.6, 1.1, 0.2]])


@pytest.mark.parametrize("weights", [WEIGHTS, WEIGHTS - np.diag(np.diag(WEIGHTS)), np.diag([1.0, 2.0, 3.0])])
@pytest.mark.parametrize("point", POINTS)
def test_functions_of_a_matrix_through_its_factors_are_right_or_nan_at_equal_values(point, weights):
    def through_eigh(a):  # A² and A³, which are smooth
        w, v = np.linalg.eigh(a)
        return np.sum(weights * ((v * w**2) @ v.T))

    def through_svd(a):
        u, s, vh = np.linalg.svd(a)
        return np.sum(weights * ((u * s**3) @ vh))

    sides = weights + weights.T
    square = ad.grad(lambda a: np.sum(weights * (from_lower(a) @ from_lower(a))))(point)
    cube = weights @ point @ point + point @ weights.T @ point + point @ point @ weights
    for f, right in ((through_eigh, square), (through_svd, cube)):
        for g in (ad.grad(f)(point), ad.jit(ad.grad(f))(point)):
            assert np.all(np.isnan(g[right != 0])) or np.allclose(g, right, atol=1e-9)
        np.testing.assert_allclose(ad.jvp(f, (point,), (sides,))[1], np.sum(right * sides), rtol=1e-9)


@pytest.mark.parametrize("point", POINTS[1:])
def test_functions_of_values_and_of_whole_spaces_together_are_right_at_equal_values(point):
    def energy(a):
        w, v = np.linalg.eigh(a)
        filled = v[:, :2]
        return np.sum(w[:2]) + np.sum(WEIGHTS * (filled @ filled.T))

    ad.check_grads(energy, (point,), order=1)
    np.testing.assert_allclose(ad.jit(ad.grad(energy))(point), ad.grad(energy)(point), rtol=1e-12, atol=1e-14)

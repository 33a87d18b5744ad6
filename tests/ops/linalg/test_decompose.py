"""Triangular factors: derivatives along any direction, one triangle that is read, the equations that define them."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ShapeError
from adjoint.ops.linalg.decompose import LU, QR, Cholesky, row_order
from adjoint.program.types import ArrayType
from adjoint.testing.differences import finite_difference

rng = np.random.default_rng(0)


def draw(*shape: int, complex_: bool = False):
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if complex_ else x


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


KINDS = pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
STACKS = pytest.mark.parametrize("stack", [(), (2,), (2, 1)], ids=str)


@KINDS
@STACKS
def test_cholesky_reads_one_triangle(stack, complex_) -> None:
    x = draw(*stack, 3, 3, complex_=complex_)
    a, v = x @ adjoint(x) + np.eye(3), draw(*stack, 3, 3, complex_=complex_)
    slope = ad.jvp(Cholesky(), (a,), (v,))[1]
    np.testing.assert_allclose(slope, finite_difference(Cholesky().evaluate, a, v, accuracy=6), atol=1e-8)
    ct = draw(*stack, 3, 3, complex_=complex_)
    (back,) = ad.vjp(Cholesky(), a)[1](ct)
    np.testing.assert_allclose(np.real(np.vdot(back, v)), np.real(np.vdot(ct, slope)), rtol=1e-10)
    np.testing.assert_array_equal(back, np.tril(back))
    np.testing.assert_array_equal(np.imag(back[..., range(3), range(3)]), 0)
    curvature = lambda t: ad.jvp(Cholesky(), (a + t * v,), (v,))[1]
    wanted = finite_difference(curvature, 0.0, 1.0, accuracy=6)
    np.testing.assert_allclose(ad.jet(Cholesky(), (a,), ([v, 0 * v],))[1][1], wanted, atol=1e-7)


@KINDS
def test_what_cholesky_does_not_read_may_be_nan(complex_) -> None:
    x = draw(3, 3, complex_=complex_)
    a, v = x @ adjoint(x) + np.eye(3), draw(3, 3, complex_=complex_)
    hidden = np.where(np.tri(3, dtype=bool), 0, np.nan)
    np.testing.assert_array_equal(
        ad.jvp(Cholesky(), (a + hidden,), (v + hidden,))[1], ad.jvp(Cholesky(), (a,), (v,))[1]
    )


def test_cholesky_of_a_number_is_the_root() -> None:
    _, terms = ad.jet(Cholesky(), (np.array([[4.0]]),), ([np.ones((1, 1)), *[np.zeros((1, 1))] * 3],))
    wanted = ad.jet(np.sqrt, (4.0,), ([1.0, 0.0, 0.0, 0.0],))[1]
    np.testing.assert_allclose(np.ravel(terms), wanted)


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)], ids=str)
def test_factors_stay_factors(shape, complex_) -> None:
    """To fourth order along a line: Q R and P L U are the matrix, Qᴴ Q is one."""
    a, v = draw(*shape, complex_=complex_), draw(*shape, complex_=complex_)
    zero = 0 * v
    series = ([v, zero, zero, zero],)

    def constant(f, wanted) -> None:
        value, (first, *rest) = ad.jet(f, (a,), series)
        np.testing.assert_allclose(value, wanted(a), atol=1e-10)
        np.testing.assert_allclose(first, wanted(a + v) - wanted(a), atol=1e-9)
        for term in rest:
            np.testing.assert_allclose(term, np.zeros_like(value), atol=1e-6 * (1 + np.max(np.abs(first))))

    def product(x):
        q, r = QR()(x)
        return q @ r

    def gram(x):
        q, _ = QR()(x)
        return adjoint(q) @ q

    def eliminated(x):
        packed, _, order = LU()(x)
        m, n = packed.shape[-2:]
        k = min(m, n)
        low = np.tril(packed)[..., :k] * (1 - np.eye(m, k)) + np.eye(m, k)
        return np.take_along_axis(low @ np.triu(packed)[..., :k, :], np.argsort(order, axis=-1)[..., None], axis=-2)

    constant(product, lambda x: x)
    constant(gram, lambda x: np.broadcast_to(np.eye(min(shape[-2:])), (*shape[:-2], *[min(shape[-2:])] * 2)))
    constant(eliminated, lambda x: x)


@KINDS
def test_completed_basis_stays_orthogonal(complex_) -> None:
    a, v = draw(4, 2, complex_=complex_), draw(4, 2, complex_=complex_)

    def gram(x):
        q, r = QR(full=True)(x)
        return adjoint(q) @ q, q @ r

    (one, whole), (slope, change) = ad.jvp(gram, (a,), (v,))
    np.testing.assert_allclose(one, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(slope, np.zeros((4, 4)), atol=1e-12)
    np.testing.assert_allclose(whole, a, atol=1e-12)
    np.testing.assert_allclose(change, v, atol=1e-12)


def test_order_of_rows() -> None:
    pivots = np.array([[1, 2, 2], [2, 1, 2]])
    found = row_order(pivots, 3)
    for k in range(2):
        rows = [0, 1, 2]
        for i, j in enumerate(pivots[k]):
            rows[i], rows[j] = rows[j], rows[i]
        assert list(found[k]) == rows


def test_rank_deficient_matrices_have_no_derivative() -> None:
    for part in ad.jvp(QR(), (np.zeros((3, 2)),), (np.ones((3, 2)),))[1]:
        assert np.any(np.isnan(part))


@pytest.mark.parametrize("op, shape, words", [
    (Cholesky(), (2, 3), "cholesky: .*not square"),
    (QR(), (3,), "qr: .*two axes"),
    (LU(), (3,), "lu_factor: .*two axes"),
])  # fmt: skip
def test_wrong_shapes_are_named(op, shape, words) -> None:
    with pytest.raises(ShapeError, match=words):
        op.result_type(ArrayType(shape, np.dtype(float)))

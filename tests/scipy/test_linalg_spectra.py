"""Eigenvalues and singular values with SciPy's names: values, derivatives, spaces whose basis is not unique."""

import numpy as np
import pytest
import scipy.linalg

import adjoint as ad
from adjoint.base.errors import ControlFlowError, ShapeError
from adjoint.scipy import linalg
from tests.numpy.checking import Case, check_first_order, check_second_order, complex_array, every_check, signed
from tests.scipy.matrices import adjoint, apart, compared, complex_apart, complex_regular, gram, hermitian, regular

A, Z = regular(3, 3), complex_regular(3, 3)
WIDE = 3 * np.diag([1.0, 2.0, 4.0])


def projector(f):
    """Onto the space that f gives a basis of."""

    def call(a):
        basis = f(a)
        return basis @ adjoint(basis)

    return call


CASES = [
    Case("eigh generalized", lambda a, b: linalg.eigh(hermitian(a), gram(b)), (WIDE + 0.2 * signed(3, 3), A)),
    Case("eigvalsh generalized", lambda a, b: linalg.eigvalsh(hermitian(a), gram(b), type=3),
         (WIDE + 0.2 * complex_array(2, 3, 3), Z)),
    Case("eig generalized", lambda a, b: tuple(map(np.abs, linalg.eig(a, b, left=True))),
         (WIDE + 0.2 * signed(3, 3), A)),
    Case("null_space", projector(linalg.null_space), (complex_array(2, 4),), symbolic=False),
    Case("orth", projector(linalg.orth), (complex_array(4, 2),), symbolic=False),
    Case("procrustes", linalg.orthogonal_procrustes, (signed(5, 3), complex_array(5, 3))),
    Case("pinvh", lambda a: linalg.pinvh(hermitian(a)), (Z,)),
]  # fmt: skip
BRIEF = [
    Case("eigh type 2", lambda a, b: linalg.eigh(hermitian(a), gram(b), type=2), (WIDE + 0.2 * signed(3, 3), A)),
    Case("eigvals", linalg.eigvals, (apart(3, 3),)),
    Case("svd", lambda a: np.abs(linalg.svd(a)[0][:, :2]), (regular(3, 2),)),
    Case("svdvals", linalg.svdvals, (Z,)),
    Case("subspace_angles", linalg.subspace_angles, (signed(5, 3), complex_array(5, 2))),
    Case("lstsq", lambda a, b: linalg.lstsq(a, b)[:2], (regular(4, 2), signed(4))),
    Case("pinv", linalg.pinv, (complex_regular(4, 2),)),
    Case("inv pos", lambda a: linalg.inv(gram(a), assume_a="pos"), (Z,)),
    Case("norm", linalg.norm, (A,)),
]


@every_check(CASES)
def test_derivatives(case, check) -> None:
    check(case)


@pytest.mark.parametrize("check", [check_first_order, check_second_order], ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", BRIEF, ids=lambda case: case.name)
def test_derivatives_to_second_order(case, check) -> None:
    check(case)


@pytest.mark.parametrize("a", [apart(3, 3), complex_apart(3, 3)], ids=["real", "complex"])
def test_values_are_scipys(a) -> None:
    h, b = hermitian(a), gram(a)
    for options in ({}, {"lower": False}, {"subset_by_index": (1, 2)}, {"subset_by_value": (1.5, 9.0)}):
        for more in ((), (b,)):
            found, wanted = (part.eigh(h, *more, **options) for part in (linalg, scipy.linalg))
            compared(found[0], wanted[0])
            compared(np.abs(found[1]), np.abs(wanted[1]))
    for kind in (1, 2, 3):
        found, wanted = (part.eigh(h, b, type=kind) for part in (linalg, scipy.linalg))
        compared(found[0], wanted[0])
        compared(np.abs(found[1]), np.abs(wanted[1]))
        compared(linalg.eigvalsh(h, b, type=kind), wanted[0])
    for more in ((), (b,)):
        found, wanted = (part.eig(a, *more, left=True) for part in (linalg, scipy.linalg))
        ours, theirs = np.argsort(found[0].real), np.argsort(wanted[0].real)
        compared(found[0][ours], wanted[0][theirs])
        for k in (1, 2):
            compared(np.abs(found[k][:, ours]), np.abs(wanted[k][:, theirs]))
    ratio = linalg.eigvals(a, b, homogeneous_eigvals=True)
    np.testing.assert_allclose(np.sort(ratio[0] / ratio[1]), np.sort(scipy.linalg.eigvals(a, b)))
    compared(linalg.svdvals(a), scipy.linalg.svdvals(a))
    compared(linalg.pinv(a[:, :2], return_rank=True), scipy.linalg.pinv(a[:, :2], return_rank=True))
    compared(linalg.pinvh(h, return_rank=True), scipy.linalg.pinvh(h, return_rank=True))
    compared(linalg.pinv(a, atol=1.5), scipy.linalg.pinv(a, atol=1.5))
    compared(linalg.lstsq(a[:, :2], a[:, 2]), scipy.linalg.lstsq(a[:, :2], a[:, 2]))
    compared(linalg.lstsq(a[:, :2], a), scipy.linalg.lstsq(a[:, :2], a))
    compared(linalg.orthogonal_procrustes(a, h), scipy.linalg.orthogonal_procrustes(a, h))
    compared(linalg.subspace_angles(a[:, :2], h[:, :1]), scipy.linalg.subspace_angles(a[:, :2], h[:, :1]))
    for name in ("null_space", "orth"):
        compared(projector(getattr(linalg, name))(a[:2]), projector(getattr(scipy.linalg, name))(a[:2]))


def test_one_triangle_is_read() -> None:
    a = hermitian(complex_apart(3, 3))
    for lower, part in ((True, np.tril(a)), (False, np.triu(a))):
        compared(linalg.eigvalsh(part, lower=lower), scipy.linalg.eigvalsh(a))
        compared(linalg.eigvalsh(part, gram(A), lower=lower), scipy.linalg.eigvalsh(a, gram(A)))


def test_spaces_of_matrices_with_a_deficient_rank() -> None:
    """Along matrices of the same rank, the projectors have the derivatives that differences say."""
    left, right, v = signed(4, 2), signed(2, 3), signed(2, 3, seed=5)
    for f in (linalg.orth, linalg.null_space):
        along = lambda t, f=f: projector(f)(left @ (right + t * v) + t * signed(4, 4) @ left @ (right + t * v))
        slope = ad.jvp(along, (0.0,), (1.0,))[1]
        h = 1e-4
        wanted = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
        np.testing.assert_allclose(slope, wanted, atol=1e-8)


def test_rank_must_be_known_and_the_same() -> None:
    with pytest.raises(ShapeError, match="different ranks"):
        linalg.null_space(np.stack([np.eye(2), np.ones((2, 2))]))
    with pytest.raises(ControlFlowError):
        ad.scan(lambda c, a: (c, linalg.orth(a)), 0.0, np.stack([np.eye(2)] * 2))
    f = projector(linalg.null_space)
    compared(ad.jit(f)(signed(2, 3)), f(signed(2, 3)))


@pytest.mark.parametrize("call, error, words", [
    (lambda: linalg.eigh(A, type=4), ValueError, "type"),
    (lambda: linalg.eigh(A, subset_by_index=(0, 1), subset_by_value=(0, 1)), ValueError, "Either"),
    (lambda: linalg.eigh(A, subset_by_value=(1, 0)), ValueError, "bounds"),
    (lambda: linalg.eigh(np.stack([A, A]), subset_by_value=(0, 1)), ShapeError, "stack"),
    (lambda: linalg.eig(A, np.zeros((3, 3))), np.linalg.LinAlgError, "[Ss]ingular"),
    (lambda: linalg.orthogonal_procrustes(A, A[:, :2]), ValueError, "differ"),
    (lambda: linalg.pinv(A, atol=-1.0), ValueError, "positive"),
    (lambda: linalg.lstsq(A, A, lapack_driver="x"), ValueError, "driver"),
])  # fmt: skip
def test_wrong_calls_raise(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()

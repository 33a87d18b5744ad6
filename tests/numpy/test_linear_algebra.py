"""numpy.linalg on traced values: NumPy's values, derivatives by differences, stacks, lanes, Taylor series, errors."""

import numpy as np
import pytest

import adjoint as ad
from tests.numpy.checking import (
    Case,
    array,
    check_first_order,
    check_second_order,
    check_value,
    complex_array,
    every_check,
    signed,
)

linalg = np.linalg


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def hermitian(x):
    return (x + adjoint(x)) / 2


def parts(result):
    return list(result) if isinstance(result, tuple) else [result]


def regular(*shape, seed=0):
    return signed(*shape, seed=seed) + 4 * np.eye(shape[-2], shape[-1])


def complex_regular(*shape, seed=0):
    return complex_array(*shape, seed=seed) + 4 * np.eye(shape[-2], shape[-1])


def invariant_svd(a):
    """What does not depend on the signs and phases of singular vectors."""
    u, s, vh = linalg.svd(a, full_matrices=False)
    return s, u @ vh, u[..., :, :1] @ adjoint(u[..., :, :1])


def null_projectors(a):
    """Projectors onto what the square factors of the full decomposition add."""
    u, s, vh = linalg.svd(a)
    k = s.shape[-1]
    return u[..., k:] @ adjoint(u[..., k:]), adjoint(vh[..., k:, :]) @ vh[..., k:, :]


def eigen_projector(a):
    w, v = linalg.eigh(hermitian(a))
    return w, v[..., :2] @ adjoint(v[..., :2])


def left_out(a):
    q, r = linalg.qr(a, mode="complete")
    k = a.shape[-1]
    return q[..., k:] @ adjoint(q[..., k:]), r


OBLONG = (regular(3, 3), regular(4, 2), regular(2, 4))
CASES = [
    Case("solve vector", linalg.solve, (regular(3, 3), array(3))),
    Case("solve stack and one vector", linalg.solve, (regular(2, 3, 3), array(3))),
    Case("solve matrix", linalg.solve, (regular(3, 3), array(3, 2))),
    Case("solve one matrix for a stack", linalg.solve, (regular(3, 3), array(2, 3, 2))),
    Case("solve broadcast", linalg.solve, (complex_regular(2, 1, 2, 2), array(3, 2, 1))),
    Case("inv", linalg.inv, (regular(2, 2, 2),)),
    Case("inv complex", linalg.inv, (complex_regular(3, 3),)),
    Case("det", linalg.det, (regular(2, 3, 3),)),
    Case("det complex", linalg.det, (complex_regular(3, 3),)),
    Case("slogdet", lambda a: linalg.slogdet(a).logabsdet, (regular(2, 3, 3),)),
    Case("slogdet complex", lambda a: tuple(linalg.slogdet(a)), (complex_regular(3, 3),)),
    Case("cholesky", lambda a: linalg.cholesky(a @ adjoint(a)), (regular(2, 3, 3),)),
    Case("cholesky complex", lambda a: linalg.cholesky(a @ adjoint(a)), (complex_regular(3, 3),)),
    Case("cholesky upper", lambda a: linalg.cholesky(a @ adjoint(a), upper=True), (complex_regular(2, 2),)),
    Case("eigvalsh", lambda a: linalg.eigvalsh(hermitian(a)), (regular(2, 3, 3),)),
    Case("eigvalsh upper", lambda a: linalg.eigvalsh(hermitian(a), "U"), (complex_regular(3, 3),)),
    Case("eigh", lambda a: tuple(linalg.eigh(hermitian(a))), (regular(3, 3),)),
    Case("eigh complex", eigen_projector, (complex_regular(2, 3, 3),)),
    *[Case(f"svd {a.shape}", invariant_svd, (a,)) for a in (*OBLONG, complex_regular(2, 3, 2))],
    *[Case(f"svd full {a.shape}", null_projectors, (a,)) for a in (regular(4, 2), complex_regular(2, 3))],
    Case("svd without vectors", lambda a: linalg.svd(a, compute_uv=False), (regular(3, 2),)),
    Case("svd hermitian", lambda a: linalg.svd(hermitian(a), hermitian=True)[1], (regular(3, 3),)),
    Case("svdvals", linalg.svdvals, (complex_regular(2, 3),)),
    *[Case(f"qr {a.shape}", lambda a: tuple(linalg.qr(a)), (a,)) for a in (*OBLONG, complex_regular(2, 2, 3))],
    Case("qr r", lambda a: linalg.qr(a, "r"), (regular(4, 2),)),
    Case("qr complete wide", lambda a: tuple(linalg.qr(a, "complete")), (regular(2, 3),)),
    Case("qr complete tall", left_out, (regular(4, 2),)),
    Case("eigvals real", linalg.eigvals, (np.diag([1.0, 3.0, 6.0]) + 0.1 * signed(3, 3),), lanes=False),
    Case("eigvals", lambda a: linalg.eigvals(a) + 0j, (regular(3, 3),)),
    Case("eig", lambda a: np.abs(linalg.eig(a).eigenvectors), (complex_regular(3, 3),)),
    *[Case(f"pinv {a.shape}", linalg.pinv, (a,)) for a in (*OBLONG, complex_regular(2, 3, 2))],
    Case("pinv hermitian", lambda a: linalg.pinv(hermitian(a), hermitian=True, rtol=None), (complex_regular(2, 2),)),
    Case("pinv of low rank", lambda a, b: linalg.pinv(a @ b, 1e-10), (regular(4, 2), regular(2, 3))),
    *[
        Case(f"matrix_power {n}", lambda a, n=n: linalg.matrix_power(a, n), (regular(2, 2, 2),))
        for n in (-3, -1, 1, 2, 5)
    ],
    Case("multi_dot", lambda *xs: linalg.multi_dot(xs), (array(2, 3), array(3, 4), array(4, 2), array(2))),
    Case("multi_dot of vectors", lambda *xs: linalg.multi_dot(xs), (array(3), array(3, 2), array(2))),
    Case("lstsq", lambda a, b: linalg.lstsq(a, b)[:2], (regular(4, 2), array(4, 2))),
    Case("lstsq vector", lambda a, b: linalg.lstsq(a, b)[:2], (regular(4, 2), array(4))),
    Case("lstsq wide", lambda a, b: linalg.lstsq(a, b)[0], (complex_regular(2, 4), complex_array(2))),
    Case("tensorsolve", linalg.tensorsolve, (regular(6, 6).reshape(2, 3, 6), array(2, 3))),
    Case("with axes", lambda a, b: linalg.tensorsolve(a, b, (0,)), (regular(6, 6).reshape(6, 2, 3), array(2, 3))),
    Case("tensorinv", linalg.tensorinv, (regular(6, 6).reshape(2, 3, 6),)),
    Case("trace", lambda a: linalg.trace(a, offset=1), (array(2, 3, 3),)),
    Case("diagonal", linalg.diagonal, (array(2, 3, 2),)),
    Case("outer", linalg.outer, (array(2), array(3))),
    Case("cross", linalg.cross, (array(2, 3), array(2, 3, seed=1))),
    Case("matmul", linalg.matmul, (array(2, 3), array(3, 2))),
    Case("tensordot", lambda a, b: linalg.tensordot(a, b, axes=1), (array(2, 3), array(3, 2))),
    Case("vecdot", linalg.vecdot, (complex_array(2, 3), complex_array(2, 3, seed=1))),
    Case("matrix_transpose", linalg.matrix_transpose, (array(2, 3),)),
]  # fmt: skip


@every_check(CASES)
def test_linear_algebra(case, check) -> None:
    check(case)


@pytest.mark.parametrize("name", ["eigh", "svd", "qr", "slogdet", "eig"])
def test_results_have_numpys_names(name) -> None:
    function = getattr(linalg, name)
    a = hermitian(regular(3, 3))
    found = ad.jvp(lambda x: function(x)._asdict(), (a,), (a,))[0]
    assert list(found) == list(function(a)._asdict())
    for key, part in function(a)._asdict().items():
        np.testing.assert_allclose(found[key], part, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "eigh", "svd", "qr", "pinv", "norm", "eig"])
def test_single_precision_stays_single(name, dtype) -> None:
    function = getattr(linalg, name)
    a = complex_regular(3, 3) if dtype is np.complex64 else regular(3, 3)
    a = (a @ adjoint(a)).astype(dtype)
    f = lambda x: parts(function(x))
    values, slopes = ad.jvp(f, (a,), (a,))
    for value, slope, wanted in zip(values, slopes, f(a), strict=True):
        assert value.dtype == slope.dtype == wanted.dtype
    (ct,) = ad.vjp(f, a)[1]([np.ones_like(v) for v in values])
    assert ct.dtype == dtype


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)])
@pytest.mark.parametrize(
    "name", ["inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "svd", "qr", "pinv", "eigvals"]
)
def test_empty(name, shape) -> None:
    function = getattr(linalg, name)
    f = lambda x: parts(function(x))
    a = np.zeros(shape)
    values, pullback = ad.vjp(f, a)
    assert [v.shape for v in values] == [np.shape(v) for v in f(a)]
    assert pullback([np.ones_like(v) for v in values])[0].shape == shape


def test_gradient_of_the_solution_with_an_integer_matrix() -> None:
    a = np.array([[2, 1], [1, 3]])
    found = ad.grad(lambda b: np.sum(linalg.solve(a, b) ** 2))(np.array([1.0, 2.0]))
    inverse = linalg.inv(a)
    np.testing.assert_allclose(found, 2 * inverse.T @ inverse @ [1, 2], atol=1e-14)


def test_matrix_rank_is_a_plain_number() -> None:
    def f(x):
        assert linalg.matrix_rank(np.outer(x, x)) == 1
        assert linalg.matrix_rank(x) == 1
        return np.sum(x) * linalg.matrix_rank(np.outer(x, x), tol=1e-3)

    np.testing.assert_allclose(ad.grad(f)(array(3)), np.ones(3))


def test_rank_of_each_lane() -> None:
    stack = np.stack([np.eye(2), np.ones((2, 2)), np.zeros((2, 2))])
    np.testing.assert_array_equal(ad.vmap(linalg.matrix_rank)(stack), [2, 1, 0])


def test_matrix_power_zero_is_constant() -> None:
    a = regular(2, 2)
    value, slope = ad.jvp(lambda x: linalg.matrix_power(x, 0), (a,), (a,))
    np.testing.assert_array_equal(value, np.eye(2))
    np.testing.assert_array_equal(slope, np.zeros((2, 2)))


def test_numpys_least_squares() -> None:
    a, b = regular(5, 3), array(5, 2)
    for found, wanted in zip(ad.vjp(lambda x: linalg.lstsq(x, b), a)[0], linalg.lstsq(a, b), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


SINGULAR = np.ones((2, 2))


@pytest.mark.parametrize("call", [
    lambda a: linalg.inv(a),
    lambda a: linalg.solve(a, np.ones(2)),
    lambda a: linalg.cholesky(a - 2 * np.eye(2)),
    lambda a: linalg.matrix_power(a, -1),
])  # fmt: skip
def test_singular_matrices_raise_as_in_numpy(call) -> None:
    with pytest.raises(linalg.LinAlgError):
        ad.grad(lambda a: np.sum(call(a)))(SINGULAR)


@pytest.mark.parametrize("call", [
    lambda a: linalg.inv(a),
    lambda a: linalg.det(a),
    lambda a: linalg.slogdet(a)[1],
    lambda a: linalg.cholesky(a),
    lambda a: linalg.eigvalsh(a),
    lambda a: linalg.eigvals(a),
    lambda a: linalg.solve(a, np.ones(2)),
    lambda a: linalg.solve(np.eye(2), a.T @ np.ones((2, 3))),
    lambda a: linalg.svd(a[0]),
    lambda a: linalg.qr(a[0]),
    lambda a: linalg.matrix_power(a, 2),
    lambda a: linalg.multi_dot([a, a]),
    lambda a: linalg.multi_dot([a]),
    lambda a: linalg.multi_dot([a, a[None], a]),
    lambda a: linalg.lstsq(a, np.ones(5)),
    lambda a: linalg.lstsq(a[None], np.ones(2)),
    lambda a: linalg.tensorinv(a, 1),
    lambda a: linalg.tensorinv(a, 0),
    lambda a: linalg.tensorsolve(a, np.ones(2)),
    lambda a: linalg.outer(a, a),
    lambda a: linalg.cross(a.T, a.T),
    lambda a: linalg.eigh(a, "X"),
    lambda a: linalg.pinv(a, 1e-5, rtol=1e-5),
    lambda a: linalg.matrix_rank(a, 1e-5, rtol=1e-5),
])  # fmt: skip
def test_wrong_shapes_raise(call) -> None:
    """Both errors, NumPy's and ours, are ValueErrors."""
    with pytest.raises(ValueError):
        ad.jvp(call, (np.ones((2, 3)),), (np.ones((2, 3)),))


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (3, 3), (2, 4, 2), (1, 1)], ids=str)
@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
def test_raw_qr_is_lapacks(shape, complex_) -> None:
    a = regular(*shape) + (0.5j * regular(*shape, seed=3) if complex_ else 0)
    case = Case("raw", lambda a: linalg.qr(a, mode="raw"), (a,))
    for check in (check_value, check_first_order, check_second_order):
        check(case)


def test_raw_qr_of_a_triangular_matrix_has_no_derivative() -> None:
    value, pull = ad.vjp(lambda a: linalg.qr(a, mode="raw"), np.eye(3))
    for found, wanted in zip(value, linalg.qr(np.eye(3), mode="raw"), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-15)
    assert np.any(np.isnan(pull((np.ones((3, 3)), np.ones(3)))[0]))
    with pytest.raises(ValueError, match="mode"):
        ad.vjp(lambda a: linalg.qr(a, mode="some"), np.eye(3))


def test_least_squares_whose_rank_is_not_known() -> None:
    a, b = np.random.default_rng(0).normal(size=(4, 2)), np.arange(4.0)
    f = lambda a: np.linalg.lstsq(a, b, rcond=None)
    for got, want in zip(ad.trace(f)(a)(a), f(a), strict=True):
        np.testing.assert_allclose(got, want)
    assert np.isnan(ad.trace(f)(a)(np.ones((4, 2)))[1]).all()  # NumPy leaves them out; here the shape must stay

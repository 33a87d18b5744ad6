"""Sparse derivatives of complex functions: against the dense ones and against differences along both axes."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import adjoint as ad
from adjoint import sparse
from adjoint.base.errors import CheckError, DtypeError

rng = np.random.default_rng(8)
X = rng.normal(size=9)
Z = X + 1j * rng.normal(size=9)


def helmholtz(u: Any) -> Any:
    """Damped waves in a medium whose index depends on them, holomorphic: tridiagonal."""
    padded = np.concatenate([u[:1] * 0, u, u[:1] * 0])
    return (padded[2:] - 2 * u + padded[:-2]) / 0.04 + (3.0 - 0.5j) * u + (0.2 + 1j) * u**3


def arrow(u: Any) -> Any:
    """A full row and a full column."""
    return np.concatenate([np.sum(np.exp(1j * u), keepdims=True), u[1:] * u[0] ** 2 * (1 + 2j)])


def wide(u: Any) -> Any:
    return np.sum(u[::3] * np.sin(u[1::3]) * 1j + u[2::3] ** 3, keepdims=True)


def scalar(u: Any) -> Any:
    """A complex number with a Hessian of one full row and a band."""
    return np.sum(np.exp(1j * u[1:] * u[:-1])) + (2 - 1j) * u[0] * np.sum(u**2)


def differences(f: Any, u: Any, step: complex = 1e-5) -> Any:
    """(f(u + h eⱼ) - f(u - h eⱼ)) / 2h: with an imaginary step h the derivative along the other axis."""
    columns = [(f(u + step * e) - f(u - step * e)) / (2 * step) for e in np.eye(u.size)]
    return np.moveaxis(np.array(columns), 0, -1)


MODES = ["auto", "forward", "reverse", "both"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [helmholtz, arrow, wide])
def test_jacobians_of_complex_arguments(f: Any, mode: str) -> None:
    found = sparse.jacobian(f, mode=mode, holomorphic=True, check=True)(Z)
    assert isinstance(found, scipy.sparse.csr_array)
    assert found.dtype == np.complex128
    np.testing.assert_allclose(found.toarray(), ad.jacfwd(f, holomorphic=True)(Z), rtol=1e-12, atol=1e-13)
    for step in (1e-5, 1e-5j):
        np.testing.assert_allclose(found.toarray(), differences(f, Z, step), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [helmholtz, arrow, wide])
def test_jacobians_of_complex_results(f: Any, mode: str) -> None:
    found = sparse.jacobian(f, mode=mode, check=True)(X)
    assert found.dtype == np.complex128
    np.testing.assert_allclose(found.toarray(), ad.jacfwd(f)(X), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.toarray(), differences(f, X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("mode", ["star", "acyclic", "column"])
@pytest.mark.parametrize("u", [X, Z])
def test_hessians(u: Any, mode: str) -> None:
    value, slope, found = sparse.hessian(scalar, mode=mode, holomorphic=u is Z, check=True, with_value=True)(u)
    assert value == pytest.approx(scalar(u))
    np.testing.assert_allclose(slope, differences(scalar, u), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.toarray(), ad.hessian(scalar, holomorphic=u is Z)(u), rtol=1e-11, atol=1e-11)
    gradient = ad.jacrev(scalar, holomorphic=u is Z)
    np.testing.assert_allclose(found.toarray(), differences(gradient, u), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", [np.complex64, np.float32])
def test_single_precision_and_compiled(kind: Any) -> None:
    u = (Z if kind is np.complex64 else X).astype(kind)
    double = u.astype(np.result_type(kind, np.float64))
    for mode in ("forward", "reverse", "both"):
        found = sparse.jacobian(arrow, mode=mode, holomorphic=True, jit=True, check=True)(u)
        assert found.dtype == np.complex64
        np.testing.assert_allclose(found.toarray(), differences(arrow, double), rtol=2e-4, atol=2e-4)
    second = sparse.hessian(scalar, mode="acyclic", holomorphic=True, jit=True, check=True)(u)
    assert second.dtype == np.complex64
    exact = ad.hessian(scalar, holomorphic=True)(double)
    np.testing.assert_allclose(second.toarray(), exact, rtol=2e-4, atol=2e-4)


def mixed(z: Any, t: Any) -> Any:
    return {"w": z[1:] * z[:-1] * t[0], "r": t[1:] ** 2 * t[0], "c": np.exp(1j * t) * z[: t.size]}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("jit", [False, True])
def test_real_and_complex_arguments_and_results(mode: str, jit: bool) -> None:
    z, t = Z[:4], X[:3]
    found = sparse.jacobian(mixed, argnums=(0, 1), mode=mode, holomorphic=True, jit=jit, check=True)(z, t).toarray()

    def flat(u: Any) -> Any:
        out = mixed(u[:4], u[4:].real)
        return np.concatenate([out["c"], out["r"], out["w"]])  # leaves in the order of their keys

    np.testing.assert_allclose(found, differences(flat, np.concatenate([z, t])), rtol=1e-7, atol=1e-7)


def test_hessian_by_real_and_complex_arguments() -> None:
    def f(z: Any, t: Any) -> Any:
        return np.sum(z[1:] * z[:-1] ** 2 * t) + 1j * np.sum(t**3)

    z, t = Z[:4], X[:3]
    found = sparse.hessian(f, argnums=(0, 1), holomorphic=True, check=True)(z, t).toarray()
    rows = ad.hessian(f, (0, 1), holomorphic=True)(z, t)
    np.testing.assert_allclose(found, np.block([list(row) for row in rows]), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found[4:, 4:], np.diag(6j * t), rtol=1e-12)


def test_the_cheapest_mode_counts_two_pulls_by_real_arguments() -> None:
    pair = lambda u: np.stack([np.sum(u[:3]), np.sum(u[2:4] ** 2)]) * 1j
    assert sparse.jacobian(pair).coloring(X).kind == "column"  # 3 against 2 · 2
    assert sparse.jacobian(pair, holomorphic=True).coloring(Z).kind == "row"  # 3 against 2
    assert sparse.jacobian(wide).coloring(X).kind == "row"
    assert sparse.color(np.ones((2, 3))).kind == "row"
    assert sparse.color(np.ones((2, 3)), pull_cost=2.2).kind == "column"


def test_patterns_and_colorings_that_are_given() -> None:
    expected = ad.jacfwd(helmholtz, holomorphic=True)(2 * Z)
    pattern = sparse.pattern(helmholtz)(Z)
    np.testing.assert_array_equal(pattern.toarray(), np.tri(9, k=1) * np.tri(9, k=1).T)
    for kind in ("column", "row", "bidirectional"):
        made = pickle.loads(pickle.dumps(sparse.color(pattern, kind)))
        found = sparse.jacobian(helmholtz, coloring=made, holomorphic=True, check=True)(2 * Z)
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=1e-13)
        again = made.decompress(*made.compress(found))
        np.testing.assert_array_equal(again.toarray(), found.toarray())
    found = sparse.jacobian(helmholtz, pattern, holomorphic=True)(2 * Z)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=1e-13)
    with pytest.raises(CheckError, match="misses an entry of rows"):
        sparse.jacobian(helmholtz, np.eye(9), holomorphic=True, check=True)(Z)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_nonzeros_inside_other_transformations(mode: str) -> None:
    derivative = sparse.jacobian(helmholtz, mode=mode, holomorphic=True)
    pattern = derivative.coloring(Z).pattern
    rows = np.repeat(np.arange(9), np.diff(pattern.indptr))

    def expected(u: Any) -> Any:
        return ad.jacfwd(helmholtz, holomorphic=True)(u)[rows, pattern.indices]

    np.testing.assert_allclose(ad.jit(derivative.values)(Z), expected(Z), rtol=1e-12)
    stack = np.stack([Z, 1j * Z])
    np.testing.assert_allclose(ad.vmap(derivative.values)(stack), [expected(u) for u in stack], rtol=1e-12)

    def size(u: Any) -> Any:
        return np.sum(np.abs(derivative.values(u)) ** 2)

    slope = differences(size, Z).real + 1j * differences(lambda u: size(1j * u), -1j * Z).real
    np.testing.assert_allclose(ad.grad(size)(Z), slope, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(ad.jit(ad.grad(size))(Z), ad.grad(size)(Z), rtol=1e-12)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("f", [np.conjugate, lambda z: z * np.abs(z), lambda z: z.real + 0j])
def test_a_function_that_is_not_holomorphic_fails_its_check(f: Any, mode: str) -> None:
    with pytest.raises(CheckError, match=r"not holomorphic: rows 0, 1.*argnums=\(0, 1\)"):
        sparse.jacobian(f, mode=mode, holomorphic=True, check=True)(Z)


def test_what_is_refused_names_what_helps() -> None:
    remedy = r"holomorphic=True \(z is complex128\[9\]\).*jvp or vjp.*lambda x, y: f\(x \+ 1j \* y\)"
    for make in (sparse.jacobian, sparse.hessian):
        with pytest.raises(DtypeError, match=rf"{make.__name__} of complex arguments needs {remedy}"):
            make(lambda z: z**2)(Z)
    with pytest.raises(DtypeError, match=r"p\['z'\] is complex128\[9\]"):
        sparse.jacobian(lambda p: p["z"] * p["a"])({"a": 2.0, "z": Z})
    for mode in MODES:
        with pytest.raises(DtypeError, match=r"complex numbers to real ones.*ad\.grad or ad\.vjp"):
            sparse.jacobian(lambda z: np.abs(z) ** 2, mode=mode, holomorphic=True)(Z)
    with pytest.raises(DtypeError, match=r"sparse\.hessian\(holomorphic=True\) needs a complex output"):
        sparse.hessian(lambda z: np.sum(np.abs(z) ** 2), holomorphic=True)(Z)
    for make in (sparse.jacobian, sparse.hessian, sparse.pattern):
        for x, words in (
            (np.arange(3), r"x has dtype int64.*\.astype\(float\)"),
            (np.ones(3, np.clongdouble), r"\.astype\(np\.complex128\)"),
            (np.ones(3, np.longdouble), r"\.astype\(np\.float64\)"),
            (np.array([1, "a"], object), r"has dtype object.*\.astype\(float\)"),
            ("text", r"is a str.*leave it out"),
        ):
            with pytest.raises(DtypeError, match=words):
                make(lambda x: x)(x)


def test_the_two_parts_as_two_arguments() -> None:
    """What the errors advise, of a function that is not holomorphic."""

    def energy(x: Any, y: Any) -> Any:
        psi = x + 1j * y
        return np.sum(np.abs(psi[1:] - psi[:-1]) ** 2) + np.sum(np.abs(psi) ** 4)

    x, y = Z.real, Z.imag
    found = sparse.hessian(energy, argnums=(0, 1), check=True)(x, y)
    assert found.dtype == np.float64
    both = np.concatenate([x, y])
    slopes = lambda u: np.concatenate(ad.grad(energy, (0, 1))(u[:9], u[9:]))
    np.testing.assert_allclose(found.toarray(), differences(slopes, both), rtol=1e-6, atol=1e-6)


def test_constants_and_empty_arrays() -> None:
    assert sparse.jacobian(lambda z: z * 0 + 1, holomorphic=True)(Z).dtype == np.complex128
    assert sparse.jacobian(np.sin, holomorphic=True)(np.zeros(0, np.complex64)).dtype == np.complex64
    constant = sparse.jacobian(lambda z: np.ones(2), holomorphic=True)(Z)
    assert (constant.shape, constant.nnz) == ((2, 9), 0)
    assert sparse.hessian(lambda x: np.sum(x) * 1j)(X).dtype == np.complex128
    assert sparse.jacobian(lambda z: z**2, holomorphic=True)(2j).toarray().tolist() == [[4j]]

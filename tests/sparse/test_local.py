"""Sparse Jacobians and Hessians by the parts of a program."""

import pickle
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.sparse import local
from adjoint.sparse.local import LocalColoring

RNG = np.random.default_rng(8)
X = RNG.normal(size=12)
I, J = RNG.integers(0, 12, 30), RNG.integers(0, 12, 30)
A = RNG.normal(size=(30, 2, 3))
ELEMENTS = np.stack([np.arange(11), np.arange(1, 12)], 1)


def assembly(x: Any) -> Any:
    u = x[ELEMENTS]
    stretch = u[:, 1] - u[:, 0]
    forces = np.stack([-stretch - stretch**3, stretch + stretch**3], 1)
    return np.bincount(np.ravel(ELEMENTS), weights=np.ravel(forces), minlength=12)


def rotated(x: Any) -> Any:
    points = x.reshape(4, 3)[I % 4]
    return np.einsum("pab,pb->pa", A, np.sin(points)) * points[:, :1]


JACOBIANS: dict[str, tuple[Any, int]] = {  # with the number of products
    "gather": (lambda x: np.sin(x[I]) * x[J], 1),
    "pairs": (lambda x: (x[:, None] - x[None, :]) ** 2, 1),
    "stencil": (lambda x: np.concatenate([x[:1], x[2:] * x[1:-1] - np.exp(x[:-2]), x[-1:]]), 1),
    "assembly": (assembly, 2),
    "vectors": (rotated, 2),
    "stacked": (lambda x: (A @ np.stack([x[I], x[J], x[I] * x[J]], 1)[..., None])[..., 0], 2),
    "select": (lambda x: np.where(x[I] > 0, x[I] * x[J], x[J] ** 2), 1),
    "loop": (lambda x: ad.fori_loop(0, 3, lambda k, y: np.sin(y) * x[J], x[I]), 1),
}
HESSIANS: dict[str, tuple[Any, int]] = {
    "springs": (lambda x: np.sum((x[I] - x[J]) ** 4 * np.sin(x[I])), 2),
    "pairs": (lambda x: np.sum(np.exp(-((x[:, None] - x[None, :]) ** 2))), 2),
    "Rosenbrock": (lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), 2),
}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians(name: str, jit: bool) -> None:
    f, products = JACOBIANS[name]
    derivative = ad.sparse.jacobian(f, mode="local", jit=jit, with_value=True)
    value, matrix = derivative(X)
    coloring = derivative.coloring(X)
    assert coloring.kind == "local"
    assert len(coloring) == products
    expected = ad.jacobian(f)(X)
    np.testing.assert_allclose(matrix.toarray(), expected.reshape(-1, 12), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(value, f(X), rtol=1e-13)
    assert (ad.sparse.pattern(f)(X) != coloring.pattern).nnz == 0


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", HESSIANS)
def test_hessians(name: str, jit: bool) -> None:
    f, products = HESSIANS[name]
    derivative = ad.sparse.hessian(f, mode="local", jit=jit, with_value=True)
    value, gradient, matrix = derivative(X)
    assert len(derivative.coloring(X)) == products
    np.testing.assert_allclose(matrix.toarray(), ad.hessian(f)(X), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(gradient, ad.grad(f)(X), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(value, f(X), rtol=1e-13)


def test_nonzeros_inside_other_transformations() -> None:
    f, _ = JACOBIANS["vectors"]
    derivative = ad.sparse.jacobian(f, mode="local")
    pattern = derivative.coloring(X).pattern
    rows = np.repeat(np.arange(60), np.diff(pattern.indptr))
    expected = lambda x: ad.jacobian(f)(x).reshape(60, 12)[rows, pattern.indices]
    np.testing.assert_allclose(ad.jit(derivative.values)(X), expected(X), rtol=1e-12)
    stack = np.stack([X, X + 0.5])
    np.testing.assert_allclose(ad.vmap(derivative.values)(stack), np.stack(list(map(expected, stack))), rtol=1e-12)
    v = RNG.normal(size=12)
    mine, theirs = ad.jvp(derivative.values, (X,), (v,))[1], ad.jvp(expected, (X,), (v,))[1]
    np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)
    square = lambda of: ad.grad(lambda x: np.sum(of(x) ** 2))(X)
    np.testing.assert_allclose(square(derivative.values), square(expected), rtol=1e-10)


def test_large_programs_are_cut_without_being_asked() -> None:
    n, p = 30, 4000
    index = RNG.integers(0, n, (p, 2))
    x = RNG.normal(size=n)
    f = lambda x: np.sin(x[index[:, 0]]) * x[index[:, 1]] ** 2
    derivative = ad.sparse.jacobian(f)
    coloring = derivative.coloring(x)
    assert repr(coloring) == f"<local coloring of 4000 × 30 with {coloring.pattern.nnz} nonzeros: 1 color>"
    np.testing.assert_allclose(derivative(x).toarray(), ad.jacfwd(f)(x), rtol=1e-13)
    assert ad.sparse.jacobian(f, mode="forward").coloring(x).kind == "column"
    assert ad.sparse.jacobian(lambda x: x**2).coloring(np.ones(50_000)).kind == "column"


def test_a_local_coloring_is_used_again() -> None:
    """With other data; and for another program, whose parts it does not know, the matrix itself is colored."""
    index = I.copy()
    scale = np.ones(30)
    f = lambda x: scale * np.sin(x[index]) * x[J]
    coloring = ad.sparse.jacobian(f, mode="local").coloring(X)
    assert isinstance(coloring, LocalColoring)
    again = pickle.loads(pickle.dumps(coloring))
    for jit in (False, True):
        derivative = ad.sparse.jacobian(f, coloring=again, jit=jit)
        for factor in (1.0, 3.0):
            scale = np.full(30, factor)
            np.testing.assert_allclose(derivative(X).toarray(), ad.jacobian(f)(X), rtol=1e-13)
    scale = np.ones(30)
    other = ad.sparse.jacobian(lambda x: np.cos(x[index]) + x[J], coloring=again)
    np.testing.assert_allclose(other(X).toarray(), ad.jacobian(lambda x: np.cos(x[index]) + x[J])(X), rtol=1e-13)
    checked = ad.sparse.jacobian(f, coloring=again, check=True)
    np.testing.assert_allclose(checked(X).toarray(), ad.jacobian(f)(X), rtol=1e-13)


def test_what_a_local_coloring_is_not() -> None:
    coloring = ad.sparse.jacobian(JACOBIANS["gather"][0], mode="local").coloring(X)
    with pytest.raises(ValueError, match=r"products it cannot read\. Use ad\.sparse\.color"):
        coloring.compress(np.ones(coloring.shape))
    assert coloring.seeds("left").shape == (1, 30)
    assert coloring.seeds("right").shape[0] == 0
    assert coloring.color_of_entries.tolist() == [0] * coloring.pattern.nnz


def test_a_program_that_is_not_cut_is_colored_as_a_whole() -> None:
    assert ad.sparse.jacobian(np.sin, mode="local").coloring(X).kind == "column"


def test_too_many_equations_are_not_unrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "UNROLLED", 3)
    f, _ = JACOBIANS["vectors"]
    derivative = ad.sparse.jacobian(f, mode="local")
    assert derivative.coloring(X).kind != "local"
    np.testing.assert_allclose(derivative(X).toarray(), ad.jacobian(f)(X).reshape(-1, 12), rtol=1e-12)

"""Sparse Jacobians and Hessians against the dense ones, eagerly and inside other transformations."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

import adjoint as ad
from adjoint import sparse
from adjoint.base.errors import CheckError, DtypeError, ShapeError, TraceError
from tests.support.strategies import RandomProgram, programs

X = np.random.default_rng(3).normal(size=12)


def neighbors(x):
    """Tridiagonal."""
    padded = np.concatenate([x[:1] * 0, x, x[-1:] * 0])
    return padded[2:] - 2 * padded[1:-1] * padded[:-2] + x**3


def arrow(x):
    """A full row and a full column."""
    return np.concatenate([np.sum(x**2, keepdims=True), x[1:] * x[0]])


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def coupled(x):
    return np.sum(np.exp(x[1:] * x[:-1])) + x[0] * np.sum(x**2)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse", "both"])
@pytest.mark.parametrize("f", [neighbors, arrow])
@pytest.mark.parametrize("jit", [False, True])
def test_jacobians(f: Any, mode: str, jit: bool) -> None:
    found = sparse.jacobian(f, mode=mode, check=True, jit=jit)(X)
    assert isinstance(found, scipy.sparse.csr_array)
    np.testing.assert_allclose(found.toarray(), ad.jacfwd(f)(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("mode", ["auto", "star", "acyclic", "column"])
@pytest.mark.parametrize("f", [rosenbrock, coupled])
@pytest.mark.parametrize("jit", [False, True])
def test_hessians(f: Any, mode: str, jit: bool) -> None:
    found = sparse.hessian(f, mode=mode, check=True, jit=jit)(X)
    np.testing.assert_allclose(found.toarray(), ad.hessian(f)(X), rtol=1e-10, atol=1e-10)


def test_modes_take_the_fewest_products() -> None:
    assert sparse.jacobian(neighbors).coloring(X).number == 3
    assert sparse.jacobian(lambda x: np.sum(x**2, keepdims=True)).coloring(X).kind == "row"
    assert sparse.jacobian(arrow).coloring(X).kind == "bidirectional"
    assert sparse.hessian(rosenbrock).coloring(X).number == 3
    assert sparse.hessian(rosenbrock, mode="acyclic").coloring(X).number == 2


@given(programs(most_steps=4))
@settings(max_examples=15)
def test_random_programs(program: RandomProgram) -> None:
    every = tuple(range(len(program.inputs)))
    found = sparse.jacobian(program.pool, argnums=every, check=True)(*program.inputs)
    rows = ad.jacfwd(program.pool, every)(*program.inputs)
    parts = [[np.reshape(b, (-1, np.size(x))) for b, x in zip(r, program.inputs, strict=True)] for r in rows]
    np.testing.assert_allclose(found.toarray(), np.block(parts), rtol=1e-9, atol=1e-10)
    second = sparse.hessian(program, check=True)(*program.inputs)
    n = np.size(program.inputs[0])
    np.testing.assert_allclose(
        second.toarray(), np.reshape(ad.hessian(program)(*program.inputs), (n, n)), rtol=1e-7, atol=1e-8
    )


def test_values_and_auxiliary_results() -> None:
    value, found = sparse.jacobian(neighbors, with_value=True)(X)
    np.testing.assert_array_equal(value, neighbors(X))
    (value, found), aux = sparse.jacobian(lambda x: (neighbors(x), {"n": np.sum(x)}), with_value=True, has_aux=True)(X)
    assert aux["n"] == pytest.approx(X.sum())
    np.testing.assert_allclose(found.toarray(), ad.jacfwd(neighbors)(X))
    value, slope, second = sparse.hessian(rosenbrock, with_value=True)(X)
    assert value == pytest.approx(rosenbrock(X))
    np.testing.assert_allclose(slope, ad.grad(rosenbrock)(X))
    second, aux = sparse.hessian(lambda x: (rosenbrock(x), x[0]), has_aux=True)(X)
    assert aux == X[0]
    np.testing.assert_allclose(second.toarray(), ad.hessian(rosenbrock)(X), atol=1e-10)


@pytest.mark.parametrize("jit", [False, True])
def test_trees_and_several_arguments(jit: bool) -> None:
    def f(p, y):
        return {"a": p["v"] * y[0], "b": p["w"] ** 2 * y}

    p, y = {"v": np.arange(1.0, 4.0), "w": 2.0, "n": np.array([1])}, np.array([3.0, 4.0])
    found = sparse.jacobian(f, argnums=(0, 1), jit=jit)(p, y).toarray()
    expected = np.zeros((5, 6))
    expected[:3, :3] = 3 * np.eye(3)
    expected[:3, 4] = [1, 2, 3]
    expected[3:, 3] = 4 * y
    expected[3:, 4:] = 4 * np.eye(2)
    np.testing.assert_allclose(found, expected)


def test_a_given_pattern_is_used_and_checked_on_request() -> None:
    pattern = sparse.pattern(neighbors)(X)
    np.testing.assert_allclose(sparse.jacobian(neighbors, pattern)(X).toarray(), ad.jacfwd(neighbors)(X))
    full = sparse.jacobian(neighbors, np.ones((12, 12)), check=True)(X)
    assert full.nnz == 144
    for what, f in ((sparse.jacobian, neighbors), (sparse.hessian, rosenbrock)):
        with pytest.raises(CheckError, match="misses an entry of rows"):
            what(f, np.eye(12), check=True)(X)
    with pytest.raises(ValueError, match="maps 12 numbers to 12, but the pattern is for 3 to 3"):
        sparse.jacobian(neighbors, np.eye(3))(X)


def test_one_missing_entry_is_noticed() -> None:
    for k in range(4):
        pattern = sparse.pattern(neighbors)(X).tolil()
        pattern[k + 1, k] = False
        with pytest.raises(CheckError):
            sparse.jacobian(neighbors, pattern.tocsr(), check=True)(X)


@pytest.mark.parametrize("seed", range(8))
def test_derivatives_that_cancel_pass_their_check(seed: int) -> None:
    """What is left of them is rounding; an entry that misses is noticed beside it."""
    x = np.random.default_rng(seed).uniform(1, 9, size=40)
    found = sparse.hessian(lambda x: np.sum(np.sqrt(x) ** 2), check=True)(x)
    assert 0 < np.abs(found.toarray()).max() < 1e-15
    with pytest.raises(CheckError, match="misses an entry of rows 3, 4 "):
        sparse.hessian(lambda x: np.sum(np.sqrt(x) ** 2) + 1e-9 * x[3] * x[4], np.eye(40), check=True)(x)


def test_a_coloring_is_used_again_also_from_a_file() -> None:
    made = pickle.loads(pickle.dumps(sparse.hessian(rosenbrock).coloring(X)))
    again = sparse.hessian(rosenbrock, coloring=made)
    assert again.coloring() is made
    np.testing.assert_allclose(again(2 * X).toarray(), ad.hessian(rosenbrock)(2 * X), atol=1e-9)
    with pytest.raises(TypeError, match="for Hessians"):
        sparse.jacobian(neighbors, coloring=made)
    with pytest.raises(TypeError, match=r"ad\.sparse\.color"):
        sparse.jacobian(neighbors, coloring=np.eye(3))


def test_the_pattern_follows_what_the_function_reads() -> None:
    places = np.array([0, 1])
    derivative = sparse.jacobian(lambda x: x[places] ** 2)
    assert derivative(X).indices.tolist() == [0, 1]
    places[:] = [5, 7]
    assert derivative(X).indices.tolist() == [5, 7]
    by_argument = sparse.jacobian(lambda x, places: x[places] ** 2)
    assert by_argument(X, np.array([3])).indices.tolist() == [3]
    assert by_argument(X, np.array([4])).indices.tolist() == [4]


def test_branches_of_python_are_followed_at_each_call() -> None:
    derivative = sparse.jacobian(lambda x: x[1:] ** 2 if x[0] > 0 else x[:-1] * 3, check=True)
    assert derivative(np.array([1.0, 2.0])).toarray().tolist() == [[0, 4]]
    assert derivative(np.array([-1.0, 2.0])).toarray().tolist() == [[3, 0]]


@pytest.mark.parametrize(
    "make", [lambda: sparse.jacobian(neighbors), lambda: sparse.hessian(rosenbrock, mode="acyclic")]
)
def test_nonzeros_inside_other_transformations(make: Any) -> None:
    derivative = make()
    pattern = derivative.coloring(X).pattern
    rows = np.repeat(np.arange(12), np.diff(pattern.indptr))
    dense = ad.jacfwd(neighbors) if derivative.function is neighbors else ad.hessian(rosenbrock)

    def expected(x):
        return dense(x)[rows, pattern.indices]

    close = {"rtol": 1e-8, "atol": 1e-8}
    np.testing.assert_allclose(derivative.values(X), expected(X), **close)
    np.testing.assert_allclose(ad.jit(derivative.values)(X), expected(X), **close)
    stack = np.stack([X, 2 * X, -X])
    np.testing.assert_allclose(ad.vmap(derivative.values)(stack), [expected(x) for x in stack], **close)
    weights = np.cos(np.arange(rows.size))
    for transform in (ad.grad, lambda f: ad.jit(ad.grad(f))):
        np.testing.assert_allclose(
            transform(lambda x: weights @ derivative.values(x))(X), ad.grad(lambda x: weights @ expected(x))(X), **close
        )
    v = np.sin(np.arange(12.0))
    np.testing.assert_allclose(
        ad.jvp(derivative.values, (X,), (v,))[1], ad.jvp(expected, (X,), (v,))[1], rtol=1e-7, atol=1e-7
    )
    matrices = derivative.assemble(ad.vmap(derivative.values)(stack), X)
    np.testing.assert_allclose(matrices[1].toarray(), dense(2 * X), **close)


def test_matrices_cannot_hold_traced_values() -> None:
    with pytest.raises(TraceError, match="method values"):
        ad.jit(lambda x: sparse.jacobian(neighbors)(x))(X)


def test_values_of_outer_transformations_may_be_closed_over() -> None:
    def total(p):
        return np.sum(sparse.jacobian(lambda x: neighbors(p * x)).values(X) ** 2)

    def dense(p):
        return np.sum(ad.jacfwd(lambda x: neighbors(p * x))(X) ** 2)

    for transform in (ad.grad, lambda f: ad.grad(ad.grad(f)), lambda f: ad.jit(ad.grad(f))):
        assert transform(total)(1.5) == pytest.approx(transform(dense)(1.5), rel=1e-10)


def test_random_numbers_are_drawn_once() -> None:
    def f(x, rng):
        return x * rng.normal(size=3) * x[::-1]

    rng, other = ad.random.default_rng(3), ad.random.default_rng(3)
    found = sparse.jacobian(f, check=True)(np.ones(3), rng)
    np.testing.assert_allclose(found.toarray(), ad.jacfwd(f)(np.ones(3), other))
    assert rng.normal() == other.normal()


def test_numbers_and_methods() -> None:
    assert sparse.jacobian(lambda x: x**2)(3.0).toarray().tolist() == [[6.0]]
    assert sparse.hessian(lambda x: x**3)(2.0).toarray().tolist() == [[12.0]]

    class Model:
        weight = 2.0

        def squares(self, x):
            return self.weight * x**2

        slopes = sparse.jacobian(squares, argnums=1)

    assert Model().slopes(np.array([1.0, 2.0])).toarray().tolist() == [[4.0, 0.0], [0.0, 8.0]]


def test_single_precision_stays() -> None:
    x = np.ones(3, np.float32)
    for f in (neighbors, lambda x: x[:2] * 0 + 1, lambda x: np.ones(2, np.float32)):
        assert sparse.jacobian(f)(x).dtype == np.float32
    assert sparse.hessian(lambda x: np.sum(x) * 2)(x).dtype == np.float32


def test_chunks() -> None:
    for chunk in (1, 2):
        found = sparse.jacobian(neighbors, chunk_size=chunk)(X)
        np.testing.assert_allclose(found.toarray(), ad.jacfwd(neighbors)(X))


def test_types_of_numbers() -> None:
    single = sparse.jacobian(neighbors)(X.astype(np.float32))
    assert single.dtype == np.float32


def test_empty_arrays_and_functions_without_derivative() -> None:
    assert sparse.jacobian(np.sin)(np.zeros(0)).shape == (0, 0)
    assert sparse.jacobian(lambda x: np.zeros(2))(X).nnz == 0
    assert sparse.hessian(np.sum)(X).nnz == 0
    assert sparse.jacobian(np.floor)(X).toarray().any() is np.False_


def test_wrong_modes_are_named() -> None:
    with pytest.raises(ValueError, match="forward, reverse, both"):
        sparse.jacobian(neighbors, mode="sideways")
    with pytest.raises(TypeError, match="needs a function"):
        sparse.hessian(3)  # type: ignore[arg-type]


def test_a_large_band_takes_three_products() -> None:
    x = np.linspace(0, 1, 30_000)
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return neighbors(x)

    derivative = sparse.jacobian(f)
    found = derivative(x)
    assert (derivative.coloring(x).number, found.nnz) == (3, 3 * x.size - 2)
    assert calls <= 4  # to look at it, to run it, and to look again
    np.testing.assert_allclose(found @ x, ad.jvp(neighbors, (x,), (x,))[1], atol=1e-12)


def test_options_that_say_nothing():
    for make in (sparse.jacobian, sparse.hessian):
        for size in (0, -1, 1.5):
            with pytest.raises(ValueError, match="chunk_size is an integer above zero"):
                make(np.sin, chunk_size=size)
    with pytest.raises(ShapeError, match="a pattern is a matrix; got 1 axes"):
        sparse.jacobian(np.sin, pattern=np.ones(3))(np.ones(3))
    with pytest.raises(DtypeError, match="no float16"):
        sparse.jacobian(np.sin)(np.ones(3, np.float16))


def test_products_are_compiled_when_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    derivative = sparse.jacobian(lambda x: x[1:] * x[:-1])
    first = derivative(X).toarray()
    monkeypatch.setattr("adjoint.sparse.derivatives.PATIENCE", 0.0)
    np.testing.assert_allclose(derivative(X).toarray(), first)
    assert derivative._compiled is not None
    never = sparse.jacobian(lambda x: x[1:] * x[:-1], jit=False)
    for _ in range(2):
        np.testing.assert_allclose(never(X).toarray(), first)
    assert never._compiled is None

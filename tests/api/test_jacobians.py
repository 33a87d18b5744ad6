"""Jacobians and Hessians: shapes, trees, modes; against differences and closed forms."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import tree
from adjoint.api import jacobians
from adjoint.base.errors import DtypeError

RNG = np.random.default_rng(3)
A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 4))
X = RNG.normal(size=4)
JACOBIANS = [ad.jacobian, ad.jacfwd, ad.jacrev]


def differences(f, x, h=1e-6):
    """df/dx by central differences, with the axes of x last."""
    x = np.asarray(x, float)
    columns = []
    for i in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[i] = h
        columns.append((np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * h))
    stacked = np.stack(columns, axis=-1) if columns else np.zeros((*np.shape(f(x)), 0))
    return stacked.reshape((*np.shape(f(x)), *x.shape))


FUNCTIONS = {
    "vector to vector": (lambda x: A @ np.sin(x), X),
    "vector to scalar": (lambda x: np.sum(np.exp(x) * x[0]), X),
    "scalar to vector": (lambda x: np.stack([x, np.sin(x), x**3]), 0.7),
    "scalar to scalar": (lambda x: x**3, 0.7),
    "matrix to matrix": (lambda m: m @ m.T + np.sin(m[:, :1]), A),
    "matrix to vector": (lambda m: np.prod(m, axis=1), A),
    "independent of x": (lambda x: np.ones(2), X),
    "a part of x": (lambda x: x[1:3], X),
}


@pytest.mark.parametrize("jacobian", JACOBIANS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobian(name, jacobian) -> None:
    f, x = FUNCTIONS[name]
    found = jacobian(f)(x)
    assert found.shape == np.shape(f(x)) + np.shape(x)
    np.testing.assert_allclose(found, differences(f, x), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("jacobian", JACOBIANS)
@pytest.mark.parametrize("x", [np.zeros(0), np.zeros((0, 3)), np.ones(2)])
def test_empty_inputs_and_outputs(jacobian, x) -> None:
    for f in (
        lambda x: x * 2.0,
        lambda x: np.sum(x),
        lambda x: np.zeros((0, 2)) + np.sum(x),
        lambda x: np.ones(3) * np.sum(x),
    ):
        assert jacobian(f)(x).shape == np.shape(f(x)) + x.shape
    assert ad.hessian(lambda x: np.sum(x**2))(x).shape == x.shape * 2


def test_forward_and_reverse_count_their_runs_by_the_shorter_side() -> None:
    """jacobian pushes the columns of a tall matrix and pulls the rows of a wide one."""
    tall, wide = np.ones((50, 2)), np.ones((2, 50))
    for matrix in (tall, wide):
        np.testing.assert_array_equal(ad.jacobian(lambda x, m=matrix: m @ x)(np.ones(matrix.shape[1])), matrix)


@pytest.mark.parametrize("chunk", [1, 3, 4, 100])
def test_chunks_give_the_same(chunk: int) -> None:
    def f(x, y):
        return {"a": np.outer(x, y) ** 2, "b": np.exp(1j * x)}

    args = (np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0]))
    for jacobian in (ad.jacfwd, ad.jacrev, ad.jacobian):
        found = jacobian(f, (0, 1), chunk_size=chunk)(*args)
        expected = ad.jacfwd(f, (0, 1))(*args)
        for z, w in zip(ad.tree.leaves(found), ad.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(z, w, atol=1e-14)
    quartic = lambda x: np.sum(np.outer(x, x) ** 2)
    found = ad.hessian(quartic, chunk_size=chunk)(args[0])
    np.testing.assert_allclose(found, ad.hessian(quartic)(args[0]))
    np.testing.assert_allclose(ad.jit(ad.hessian(quartic, chunk_size=chunk))(args[0]), found)


def test_memory_is_bounded_by_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def watched(function, values, mapped, size):
        sizes.append(size)
        return run_batch(function, values, mapped, size)

    run_batch = jacobians.run_batch
    monkeypatch.setattr(jacobians, "run_batch", watched)
    x = np.linspace(0, 1, 64)
    f = lambda x: np.sin(x) * np.exp(x)
    whole = ad.jacobian(f)(x)
    assert sizes == [64]
    monkeypatch.setattr(jacobians, "MEMORY", 8 * 64 * 5 * 16)  # sixteen directions of about five arrays
    np.testing.assert_array_equal(ad.jacobian(f)(x), whole)
    assert len(sizes) > 3
    assert max(sizes[1:]) <= 16
    assert sum(sizes[1:]) == 64
    with pytest.raises(ValueError, match="chunk_size is an integer"):
        ad.jacobian(f, chunk_size=0)


def test_the_cheaper_mode_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []
    for name in ("_rows", "_columns"):
        original = getattr(jacobians, name)
        monkeypatch.setattr(
            jacobians, name, lambda *a, name=name, original=original, **k: chosen.append(name) or original(*a, **k)
        )
    for shape in ((3, 9), (9, 3), (9, 9), (9, 10)):
        matrix = np.ones(shape)
        ad.jacobian(lambda x, m=matrix: m @ x)(np.ones(shape[1]))
    assert chosen == ["_rows", "_columns", "_columns", "_rows"]


@dataclasses.dataclass
class Model:
    w: np.ndarray
    b: float
    n: int


MODEL = Model(np.array([1.0, 2.0]), 0.5, 3)


def outputs(model, x):
    return {"sum": np.sum(model.w) * x + model.b, "powers": [model.w**model.n, x * model.w]}


@pytest.mark.parametrize("jacobian", JACOBIANS)
def test_trees_of_outputs_by_trees_of_inputs(jacobian) -> None:
    found = jacobian(outputs, (0, 1))(MODEL, 2.0)
    assert found.keys() == {"sum", "powers"}
    by_model, by_x = found["powers"][0]
    assert isinstance(by_model, Model)
    np.testing.assert_allclose(by_model.w, np.diag(3 * MODEL.w**2))
    np.testing.assert_array_equal(by_model.b, [0.0, 0.0])
    np.testing.assert_array_equal(by_model.n, [0, 0])
    np.testing.assert_array_equal(by_x, [0.0, 0.0])
    np.testing.assert_array_equal(found["powers"][1][1], MODEL.w)
    np.testing.assert_array_equal(found["sum"][0].w, [2.0, 2.0])
    assert (found["sum"][0].b, found["sum"][1]) == (1.0, 3.0)


def test_arguments_by_name_position_and_keyword() -> None:
    def f(x, y, *, z):
        return x * y**2 * z

    for jacobian in JACOBIANS:
        assert jacobian(f, "y")(2.0, 3.0, z=4.0) == 48.0
        assert jacobian(f, -1)(2.0, 3.0, z=4.0) == 48.0
        assert jacobian(f, "z")(2.0, 3.0, z=4.0) == 18.0
        assert jacobian(f, ("z", 0))(2.0, 3.0, z=4.0) == (18.0, 36.0)
    np.testing.assert_allclose(ad.hessian(f, ("x", "y"))(2.0, 3.0, z=4.0), [[0.0, 24.0], [24.0, 16.0]])


@pytest.mark.parametrize("transform", [*JACOBIANS, ad.hessian])
def test_has_aux(transform) -> None:
    plain = transform(lambda x: np.sum(x**3))(X)
    found, aux = transform(lambda x: (np.sum(x**3), {"x": x * 2, "note": 1}), has_aux=True)(X)
    np.testing.assert_array_equal(found, plain)
    np.testing.assert_array_equal(aux["x"], X * 2)
    assert type(aux["x"]) is np.ndarray


@pytest.mark.parametrize("jacobian", JACOBIANS)
def test_holomorphic(jacobian) -> None:
    z = np.array([1.0 + 2.0j, -0.5j])
    matrix = np.array([[1.0, 2.0j], [0.5 - 1.0j, 3.0]])
    found = jacobian(lambda z: matrix @ z**2 + np.exp(z), holomorphic=True)(z)
    np.testing.assert_allclose(found, matrix * 2 * z + np.diag(np.exp(z)), rtol=1e-13)
    with pytest.raises(DtypeError, match="holomorphic=True"):
        jacobian(lambda z: z * z)(z)


@pytest.mark.parametrize("jacobian", JACOBIANS)
def test_real_results_of_complex_arguments_are_not_holomorphic(jacobian) -> None:
    z = np.array([1.0 + 2.0j, -0.5j])
    for f in (lambda z: np.abs(z) ** 2, lambda z: {"w": z**2, "size": np.abs(z)}):
        with pytest.raises(DtypeError, match=r"returned float64\[2\].*not holomorphic. Use grad or vjp"):
            jacobian(f, holomorphic=True)(z)
    constant = jacobian(lambda z: {"w": z**2, "one": np.ones(3)}, holomorphic=True)(z)
    np.testing.assert_allclose(constant["w"], np.diag(2 * z))
    np.testing.assert_array_equal(constant["one"], np.zeros((3, 2)))


def test_holomorphic_hessian() -> None:
    z = np.array([1.0 + 2.0j, -0.5j])
    np.testing.assert_allclose(ad.hessian(lambda z: np.sum(z**3), holomorphic=True)(z), np.diag(6 * z), rtol=1e-13)


# ---- second order ----


SCALARS = {
    "quadratic": (lambda x: x @ B @ x, B + B.T),
    "separable": (lambda x: np.sum(np.sin(x)), np.diag(-np.sin(X))),
    "log-sum-exp": (lambda x: np.log(np.sum(np.exp(x))), None),
    "product": (lambda x: np.prod(x), None),
    "linear": (lambda x: np.sum(x * 3.0), np.zeros((4, 4))),
}


@pytest.mark.parametrize("name", SCALARS)
def test_hessian(name) -> None:
    f, expected = SCALARS[name]
    found = ad.hessian(f)(X)
    np.testing.assert_allclose(found, found.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found, differences(ad.grad(f), X), rtol=1e-6, atol=1e-8)
    if expected is not None:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_hessian_of_vectors_and_matrices() -> None:
    assert ad.hessian(lambda x: np.stack([np.sum(x**3), np.prod(x)]))(X).shape == (2, 4, 4)
    m = ad.hessian(lambda m: np.sum(m**3))(A)
    assert m.shape == (3, 4, 3, 4)
    np.testing.assert_allclose(np.einsum("ijij->ij", m), 6 * A, rtol=1e-12)


def test_hessian_of_trees() -> None:
    found = ad.hessian(lambda p: np.sum(p["a"] ** 2) * p["b"])({"a": np.array([1.0, 2.0]), "b": 3.0})
    np.testing.assert_allclose(found["a"]["a"], np.eye(2) * 6.0)
    np.testing.assert_allclose(found["a"]["b"], [2.0, 4.0])
    np.testing.assert_allclose(found["b"]["a"], [2.0, 4.0])
    assert found["b"]["b"] == 0.0


def test_under_other_transformations() -> None:
    f = SCALARS["log-sum-exp"][0]
    xs = RNG.normal(size=(3, 4))
    np.testing.assert_allclose(ad.vmap(ad.hessian(f))(xs), [ad.hessian(f)(x) for x in xs], rtol=1e-12)
    trace = lambda x: np.trace(ad.hessian(f)(x))
    np.testing.assert_allclose(ad.grad(trace)(X), differences(trace, X), rtol=1e-6, atol=1e-8)
    third = ad.jacobian(ad.hessian(f))(X)
    np.testing.assert_allclose(third, np.transpose(third, (2, 0, 1)), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ad.trace(ad.hessian(f))(X)(X), ad.hessian(f)(X), rtol=1e-12)


def test_results_are_new_and_writeable() -> None:
    x = X.copy()
    for transform in (*JACOBIANS, ad.hessian):
        found = transform(lambda x: np.sum(x))(x)
        found[...] = 7.0
        np.testing.assert_array_equal(x, X)
        assert not np.any(transform(lambda x: np.sum(x))(x) == 7.0)


def test_single_precision_is_kept() -> None:
    x = X.astype(np.float32)
    for transform in (*JACOBIANS, ad.hessian):
        assert transform(lambda x: np.sum(np.sin(x)))(x).dtype == np.float32


def test_complex_outputs_of_real_inputs() -> None:
    f = lambda x: {"wave": np.exp(1j * x[:2]) * x[2], "size": x[0] * x[1]}
    x, h = np.array([0.5, 2.0, -1.0]), 1e-6
    wanted = np.stack([(f(x + e)["wave"] - f(x - e)["wave"]) / (2 * h) for e in h * np.eye(3)], axis=-1)
    for transform in (ad.jacfwd, ad.jacrev, ad.jacobian):
        found = transform(f)(x)
        np.testing.assert_allclose(found["wave"], wanted, rtol=1e-8, atol=1e-9)
        assert found["size"].dtype == np.float64
    wave = lambda x: np.sum(f(x)["wave"])  # one output and three inputs: reverse mode
    np.testing.assert_allclose(ad.jacobian(wave)(x), wanted.sum(0), rtol=1e-8)
    np.testing.assert_allclose(ad.hessian(wave)(x), ad.jacfwd(ad.jacfwd(wave))(x), rtol=1e-12)
    np.testing.assert_allclose(ad.vmap(ad.jacrev(wave))(x[None])[0], wanted.sum(0), rtol=1e-8)
    assert ad.jacrev(wave)(x.astype(np.float32)).dtype == np.complex64


def test_a_compiled_jacobian_leaves_out_iterations_that_were_given_up() -> None:
    """A loop that cannot be kept is written out: what its first attempt left on the tape is nobody's."""
    curvature = np.diag([1.0, 3.0, 10.0])

    def run(rate):
        rule = ad.optimize.updates.adam(rate)
        w = np.array([1.0, -2.0, 0.5])
        state = rule.init(w)
        for _ in range(10):
            step, state = rule.update(curvature @ w, state, w)
            w = ad.optimize.updates.apply(w, step)
        return w

    np.testing.assert_allclose(ad.jit(ad.jacobian(run))(0.05), ad.jacrev(run)(0.05), rtol=1e-10)


@pytest.mark.parametrize("derivative", [ad.jacfwd, ad.jacrev, ad.jacobian, ad.hessian])
def test_directions_of_a_program_go_through_a_loop(derivative: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jacobians, "_chunk_of_program", lambda recorded: 4)
    rng = np.random.default_rng(3)
    A = rng.normal(size=(5, 13))

    def f(x: Any, y: Any) -> Any:
        z = np.tanh(A @ np.concatenate([x, np.ravel(y)])) * x[0]
        return np.sum(z**2) if derivative is ad.hessian else {"z": z, "w": np.outer(x, z)}

    x, y = rng.normal(size=7), rng.normal(size=(2, 3))
    plain = derivative(f, (0, 1))
    compare = lambda mine, theirs: tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11), mine, theirs)
    looped = ad.jit(plain)
    compare(looped(x, y), plain(x, y))
    assert "loop" in str(looped.lower(x, y).program) or "scan" in str(looped.lower(x, y).program)
    stack = np.stack([y, 2 * y])
    compare(ad.jit(ad.vmap(plain, (None, 0)))(x, stack), ad.vmap(plain, (None, 0))(x, stack))
    norm = lambda x: sum(np.sum(leaf**2) for leaf in tree.leaves(plain(x, y)))
    compare(ad.jit(ad.grad(norm))(x), ad.grad(norm)(x))


def test_complex_directions_go_through_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jacobians, "_chunk_of_program", lambda recorded: 4)
    rng = np.random.default_rng(4)
    z = rng.normal(size=11) + 1j * rng.normal(size=11)
    f = lambda z: np.sin(z) * z[::-1]
    for derivative in (ad.jacfwd, ad.jacrev):
        whole = derivative(f, holomorphic=True)
        np.testing.assert_allclose(ad.jit(whole)(z), whole(z), rtol=1e-12)
    real = lambda x: np.exp(1j * x) * x[0]
    x = rng.normal(size=11)
    np.testing.assert_allclose(ad.jit(ad.jacrev(real))(x), ad.jacfwd(real)(x), rtol=1e-12)


def test_chunks_of_programs_fit_into_the_cache() -> None:
    """Unless a large matrix would be read again for each of them."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(100, 10))

    def network(t: Any) -> Any:
        W, v = t[:300].reshape(10, 30), t[300:]
        return np.sum((np.tanh(X @ W) @ v) ** 2)

    def logistic(w: Any) -> Any:
        return np.sum(np.logaddexp(0.0, FEATURES @ w))

    FEATURES = rng.normal(size=(8000, 90))
    for f, n, is_loop in ((network, 330, True), (logistic, 90, False)):
        x = rng.normal(size=n)
        program = str(ad.jit(ad.hessian(f)).lower(x).program)
        assert ("scan" in program) == is_loop
    np.testing.assert_allclose(ad.jit(ad.hessian(network))(np.ones(330)), ad.hessian(network)(np.ones(330)), rtol=1e-10)

"""cg, minres, gmres, bicgstab (and lsmr where they share it) against dense solves, SciPy and differences."""

import dataclasses
import inspect

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg as peer

import adjoint as ad
from adjoint import linear
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.linear.solvers.options import Options, SolverOptions
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType
from tests.linear.equations import COMPLEX, EXACT, GENERAL, HERMITIAN, METHODS, POSITIVE, B, N, V, W, close

each = pytest.mark.parametrize("name", METHODS)


@each
def test_the_value_is_that_of_a_dense_solve(name):
    method, A = METHODS[name]
    found = method(A, B)
    assert found.status == "converged"
    assert found.advice == ""
    assert found.residual <= 10 * found.target == pytest.approx(1e-9 * np.linalg.norm(B))
    close(found.value, np.linalg.solve(A, B))


@pytest.mark.parametrize("name", ["cg", "minres", "gmres", "bicgstab"])
@pytest.mark.parametrize("size", [12, 60])
def test_as_many_iterations_as_scipy(name, size):
    rng = np.random.default_rng(size)
    noise = rng.normal(size=(size, size)) / np.sqrt(size)
    A = {"cg": noise @ noise.T + np.eye(size), "minres": noise + noise.T + 3 * np.eye(size)}.get(
        name, noise + 2 * np.eye(size)
    )
    b, count = rng.normal(size=size), []
    options = {"restart": 10, "maxiter": 1000, "callback_type": "pr_norm"} if name == "gmres" else {}
    theirs, _ = getattr(peer, name)(A, b, rtol=1e-8, callback=count.append, **options)
    mine = getattr(linear, name)(A, b, tol=1e-8, **({"restart": 10} if name == "gmres" else {}))
    assert mine.status == "converged"
    assert abs(int(mine.iterations) - len(count)) <= 2 + len(count) // 10
    close(mine.value, theirs, 1e-6)


def scalar(method):
    return lambda A, b: np.sum(np.sin(method(A * b[0] ** 2, b)) * np.arange(1.0, N + 1))


SECOND = {
    "hessian in b": lambda f, A: ad.hessian(lambda c: f(A, B + c[0] * V + c[1] * W))(np.array([0.1, 0.2])),
    "reverse over forward": lambda f, A: ad.grad(lambda b: ad.jvp(lambda b: f(A + b[1] ** 2, b), (b,), (V,))[1])(B),
    "jet": lambda f, A: np.stack(ad.jet(lambda b: f(A, b), (B,), ((V, W, V),))[1]),
}  # fmt: skip


@each
def test_derivatives_of_first_order(name):
    method, A = METHODS[name]
    f, g = scalar(lambda A, b: method(A, b, **EXACT).value), scalar(np.linalg.solve)
    for mine, theirs in zip(ad.grad(f, argnums=(0, 1))(A, B), ad.grad(g, argnums=(0, 1))(A, B), strict=True):
        close(mine, theirs)
    push = [ad.jvp(h, (A, B), (POSITIVE, V))[1] for h in (f, g)]
    close(*push)
    close(ad.linearize(f, A, B)[1](POSITIVE, V), push[1])


@pytest.mark.parametrize("use", SECOND)
@pytest.mark.parametrize("name", ["cg", "gmres", "lsmr"])
def test_derivatives_of_higher_order(name, use):
    method, A = METHODS[name]
    f, g = scalar(lambda A, b: method(A, b, **EXACT).value), scalar(np.linalg.solve)
    close(SECOND[use](f, A), SECOND[use](g, A), 1e-6)


@each
def test_compiled_with_its_gradient(name):
    method, A = METHODS[name]
    f = scalar(lambda A, b: method(A, b, **EXACT).value)
    value, slope = ad.jit(ad.value_and_grad(f))(A, B)
    assert value == pytest.approx(scalar(np.linalg.solve)(A, B), rel=1e-9)
    close(slope, ad.grad(scalar(np.linalg.solve))(A, B))


@each
def test_lanes_stop_on_their_own(name):
    method, A = METHODS[name]
    rights = np.stack([B, np.zeros(N), A @ np.ones(N), V])
    starts = np.stack([np.zeros(N), np.zeros(N), np.ones(N), np.zeros(N)])
    found = ad.vmap(lambda b, x0: method(A, b, x0, **EXACT))(rights, starts)
    alone = [method(A, b, x0, **EXACT) for b, x0 in zip(rights, starts, strict=True)]
    assert list(found.status) == ["converged"] * 4
    assert list(found.iterations[1:3]) == [0, 0]
    assert [abs(int(i) - int(a.iterations)) <= 1 for i, a in zip(found.iterations, alone, strict=True)] == [True] * 4
    close(found.value, np.linalg.solve(A, rights.T).T)
    stack = np.stack([A, A + np.eye(N)])
    close(ad.vmap(lambda A: method(A, B).value)(stack), np.linalg.solve(stack, B))
    slopes = ad.vmap(ad.grad(lambda b, A: np.sum(method(A, b, **EXACT).value)), in_axes=(None, 0))(B, stack)
    close(slopes, np.linalg.solve(np.swapaxes(stack, 1, 2), np.ones(N)))


FORMS = {
    "matrix": lambda A: A,
    "list": lambda A: A.tolist(),
    "map": lambda A: linear.matrix(A),
    "sum of maps": lambda A: linear.matrix(A - np.eye(N)) + linear.identity(N),
    "function as a map": lambda A: linear.from_function(lambda v: A @ v, N, adjoint=lambda u: A.T @ u),
    "sparse array": lambda A: scipy.sparse.csr_array(A),
    "sparse map": lambda A: linear.as_map(scipy.sparse.csr_array(A)),
    "operator of SciPy": lambda A: peer.aslinearoperator(A),
    "function": lambda A: lambda v: A @ v,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_operator(form):
    A = FORMS[form](GENERAL)
    assert linear.gmres(A, B).status == "converged"
    for method in (linear.gmres, linear.lsmr):
        close(method(A, B).value, np.linalg.solve(GENERAL, B))
        close(ad.grad(lambda b: np.sum(method(A, b).value))(B), np.linalg.solve(GENERAL.T, np.ones(N)))  # noqa: B023
    found = ad.vmap(lambda b: linear.gmres(A, b).value)(np.stack([B, V]))
    close(found, np.linalg.solve(GENERAL, np.stack([B, V]).T).T)


@pytest.mark.parametrize("form", ["sparse array", "operator of SciPy", "sum of maps"])
def test_every_form_compiled(form):
    A = FORMS[form](POSITIVE)
    close(ad.jit(lambda b: linear.cg(A, b).value)(B), np.linalg.solve(POSITIVE, B))


def test_what_a_function_closes_over_is_differentiated():
    def laplace(theta, v):
        return (2 + np.exp(theta)) * v - np.roll(v, 1) - np.roll(v, -1)

    def f(theta, b):
        return np.sum(linear.cg(lambda v: laplace(theta, v), b, **EXACT).value ** 2)

    theta = 0.1 * np.arange(1.0, N + 1)
    ad.check_grads(f, (theta, B), order=2)
    close(ad.jit(ad.grad(f))(theta, B), ad.grad(f)(theta, B))

    def g(theta):  # the right side and a map's parameters beside a closure
        A = linear.diagonal(np.exp(theta)) + linear.low_rank(np.sin(theta))
        return np.sum(linear.minres(A, theta**2, **EXACT).value)

    ad.check_grads(g, (theta,), order=1)


def test_trees():
    scale = {"a": np.arange(1.0, 4.0), "b": (np.float64(2.0), np.full((2, 2), 3.0))}
    right = {"a": np.ones(3), "b": (1.0, np.ones((2, 2)))}
    for method in (linear.cg, linear.minres, linear.gmres, linear.bicgstab, linear.lsmr):
        found = method(lambda v: ad.tree.map(np.multiply, scale, v), right)
        assert found.status == "converged"
        for x, s in zip(ad.tree.leaves(found.value), ad.tree.leaves(scale), strict=True):
            close(x, 1 / s)
        product = lambda v: ad.tree.map(np.multiply, scale, v)
        slope = ad.grad(lambda r: np.sum(method(product, r).value["b"][1]))(right)  # noqa: B023
        close(slope["b"][1], np.full((2, 2), 1 / 3))
        assert not np.any(slope["a"])


@pytest.mark.parametrize(
    "method, A", [(linear.cg, HERMITIAN), (linear.minres, HERMITIAN), (linear.gmres, COMPLEX),
                      (linear.bicgstab, COMPLEX), (linear.lsmr, COMPLEX)]
)  # fmt: skip
def test_complex_operators(method, A):
    close(method(A, B).value, np.linalg.solve(A, B))
    b = B + 1j * V

    def loss(solve):
        return lambda A, b: np.sum(np.abs(solve(A, b) - 0.3j) ** 2)

    mine = ad.grad(loss(lambda A, b: method(A, b, **EXACT).value), argnums=(0, 1))(A, b)
    theirs = ad.grad(loss(np.linalg.solve), argnums=(0, 1))(A, b)
    for x, y in zip(mine, theirs, strict=True):
        close(x, y)
    assert method(GENERAL if method is not linear.cg and method is not linear.minres else POSITIVE, b).converged


@each
def test_single_precision_stays_single(name):
    method, A = METHODS[name]
    found = method(A.astype(np.float32), B.astype(np.float32))
    assert found.status == "converged"
    assert found.value.dtype == found.residual.dtype == np.float32
    close(found.value, np.linalg.solve(A, B), 1e-3)
    assert ad.jit(lambda b: method(A.astype(np.float32), b).value)(B.astype(np.float32)).dtype == np.float32
    assert method(lambda v: A @ v, B.astype(np.float32)).value.dtype == np.float64


@each
def test_zero_right_sides_empty_systems_and_starts(name):
    method, A = METHODS[name]
    nothing = method(A, np.zeros(N), np.ones(N))
    assert nothing.converged
    assert not np.any(nothing.value)
    assert method(np.zeros((0, 0)), np.zeros(0)).converged
    there = method(A, B, np.linalg.solve(A, B))
    assert there.iterations == 0
    near = method(A, B, np.linalg.solve(A, B) + 1e-6 * V, tol=1e-8)
    assert near.iterations < method(A, B, tol=1e-8).iterations
    assert not np.any(ad.grad(lambda x0: np.sum(method(A, B, x0).value))(V))
    assert method(A, np.arange(N)).converged


@each
def test_history_and_callbacks(name):
    method, A = METHODS[name]
    told = []
    found = method(A, B, callback=lambda k, r: told.append((int(k), float(r))), history=True)
    count = int(found.iterations)
    assert [k for k, _ in told] == list(range(1, count + 1))
    np.testing.assert_allclose(found.history[1:], [r for _, r in told], rtol=1e-12)
    assert found.history.shape == (count + 1,)
    if name in ("minres", "gmres"):
        assert np.all(np.diff(found.history) <= 1e-12)
    before, told = list(told), []
    compiled = ad.jit(lambda b: method(A, b, callback=lambda k, r: told.append((int(k), float(r))), history=True))(B)
    assert len(told) == int(compiled.iterations)
    np.testing.assert_allclose([r for _, r in told[: count - 2]], [r for _, r in before[: count - 2]], rtol=1e-4)
    assert np.all(np.isnan(compiled.history[int(compiled.iterations) + 1 :]))


def test_progress_is_shown(capsys):
    linear.cg(POSITIVE, B, progress=True)
    ad.jit(lambda b: linear.gmres(POSITIVE, b, progress=True).value)(B)
    shown = capsys.readouterr().err
    assert "cg: " in shown
    assert "gmres: " in shown
    assert "residual=" in shown


def test_unrolled_differentiates_the_steps():
    def cut(b, unrolled):
        return np.sum(linear.cg(POSITIVE, b, max_iterations=3, unrolled=unrolled).value ** 2)

    ad.check_grads(lambda b: cut(b, True), (B,), order=1)
    steps = ad.grad(lambda b: cut(b, True))(B)
    with pytest.warns(RuntimeWarning, match="the derivative is not exact"):
        equation = ad.grad(lambda b: cut(b, False))(B)
    assert np.max(np.abs(steps - equation)) > 1e-3 * np.max(np.abs(steps))
    whole = ad.grad(lambda b: np.sum(linear.cg(POSITIVE, b, unrolled=True, **EXACT).value))(B)
    close(whole, np.linalg.solve(POSITIVE, np.ones(N)), 1e-6)


@pytest.mark.parametrize("name", ["cg", "gmres"])
def test_a_derivative_that_was_not_solved_for_says_so(name):
    method, A = METHODS[name]
    exact = np.linalg.solve(A, B)
    f = lambda b: np.sum(method(A, b, exact, max_iterations=1).value)  # the solution itself is there from the start
    with pytest.warns(RuntimeWarning, match="the derivative is not exact"):
        ad.grad(f)(B)
    with pytest.warns(RuntimeWarning, match="the derivative is not exact"):
        ad.jvp(f, (B,), (V,))


def test_tolerances_may_be_traced():
    f = lambda tol: linear.cg(POSITIVE, B, tol=tol).iterations
    expected = [int(f(tol)) for tol in (1e-2, 1e-6)]
    assert [int(ad.jit(f)(np.float64(tol))) for tol in (1e-2, 1e-6)] == expected
    assert list(ad.vmap(f)(np.array([1e-2, 1e-6], np.float32))) == expected


def test_a_solve_inside_a_solve():
    def schur(theta, v):  # theta P + P⁻¹
        return theta * (POSITIVE @ v) + linear.cg(POSITIVE, v, **EXACT).value

    f = lambda theta, b: np.sum(linear.cg(lambda v: schur(theta, v), b, tol=1e-11).value ** 2)
    g = lambda theta, b: np.sum(np.linalg.solve(theta * POSITIVE + np.linalg.inv(POSITIVE), b) ** 2)
    assert f(0.7, B) == pytest.approx(g(0.7, B), rel=1e-7)
    for mine, theirs in zip(ad.grad(f, argnums=(0, 1))(0.7, B), ad.grad(g, argnums=(0, 1))(0.7, B), strict=True):
        close(mine, theirs, 1e-6)


def test_programs_of_solvers_hold_no_large_arrays():
    n = 4000

    def all_of_them(b):
        return [f(lambda v: 2 * v, b, max_iterations=50, history=True).value for f, _ in METHODS.values()]

    program, _ = record_program(all_of_them, [ArrayType((n,), np.dtype(float))])
    held = [value for eq in program.equations for inner in _programs(eq.op) for value in inner.constants.values()]
    assert len(program.equations) >= len(METHODS)
    assert max(map(np.size, held), default=0) < n // 2
    assert max(map(np.size, program.constants.values())) <= n  # where they start


def _programs(op):
    inside = list(op.programs().values())
    return [*inside, *[deeper for p in inside for eq in p.equations for deeper in _programs(eq.op)]]


def test_restarts():
    long, short = (linear.gmres(GENERAL, B, restart=m, tol=1e-9) for m in (N, 4))
    assert long.status == short.status == "converged"
    assert long.iterations <= N < short.iterations
    close(short.value, long.value, 1e-7)
    close(ad.jit(lambda b: linear.gmres(GENERAL, b, restart=4).value)(B), np.linalg.solve(GENERAL, B))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: linear.cg(np.ones((3, 2)), np.ones(3)), "as many rows as columns"),
        (lambda: linear.cg(POSITIVE, np.ones(3)), "12 rows, but b has 3 elements"),
        (lambda: linear.cg(POSITIVE, np.ones((N, 2))), "vmap over the columns"),
        (lambda: linear.cg(np.stack([POSITIVE]), B), "two axes"),
        (lambda: linear.cg(lambda v: v[:3], B), r"gives shape \(3,\)"),
        (lambda: linear.cg(POSITIVE, B, np.ones(3)), "x0"),
        (lambda: linear.cg(linear.identity(3), B), "works with"),
        (lambda: linear.cg(POSITIVE, B, preconditioner=np.eye(3)), "preconditioner"),
        (lambda: linear.cg(POSITIVE, B, tol=np.ones(3)), "must be numbers"),
        (lambda: linear.lsmr(POSITIVE, B, damp=np.ones(3)), "one number"),
    ],
)
def test_shapes_that_do_not_fit(call, message):
    with pytest.raises(ShapeError, match=message):
        call()


def test_other_arguments_that_do_not_fit():
    with pytest.raises(TypeError, match="LinearMap, a matrix, a sparse array"):
        linear.cg(3.0, B)
    with pytest.raises(ValueError, match=r"linear\.jacobi"):
        linear.cg(POSITIVE, B, preconditioner="jacobi")
    with pytest.raises(ValueError, match="negative"):
        linear.cg(POSITIVE, B, max_iterations=-1)
    with pytest.raises(ValueError, match="at least 1"):
        linear.gmres(POSITIVE, B, restart=0)
    with pytest.raises(DtypeError, match="real and complex"):
        linear.cg(lambda v: v, {"a": B, "b": 1j * B})
    with pytest.raises(DtypeError, match="complex"):
        linear.cg(linear.matrix(POSITIVE), 1j * B)


@pytest.mark.parametrize("name", ["cg", "minres", "gmres", "bicgstab", "lsmr"])
def test_every_solver_shows_the_shared_options_in_its_signature(name):
    shown = inspect.signature(getattr(linear, name)).parameters
    assert list(shown)[:3] == ["A", "b", "x0"]
    for field in dataclasses.fields(Options):
        assert shown[field.name].kind is inspect.Parameter.KEYWORD_ONLY
        assert shown[field.name].default == field.default
    assert SolverOptions.__annotations__.keys() == {field.name for field in dataclasses.fields(Options)}
    with pytest.raises(TypeError, match=r"keyword argument 'max_iteration'\. Did you mean max_iterations"):
        getattr(linear, name)(np.eye(2), np.ones(2), max_iteration=3)

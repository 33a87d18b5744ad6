"""The solve as a primitive: NumPy's numbers under every transformation; effects, saving, writing out."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import NonFiniteError, RuleError
from adjoint.ops.linalg.linear_solve import LinearSolve
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType
from adjoint.simplify import simplify

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
B = RNG.normal(size=3)
DA, DB = RNG.normal(size=(3, 3)), RNG.normal(size=3)
MATRIX, VECTOR = ArrayType((3, 3), np.dtype(float)), ArrayType((3,), np.dtype(float))


def programs(told=None):
    """(θ, x) ↦ A x; (θ, b, start) ↦ (x, a report); the same for the transpose."""

    def by_elimination(a, b, start):
        if told is not None:
            ad.debug.callback(told, b[0])
        return [np.linalg.solve(a, b) + 0 * start, np.sum(b)]

    forward, _ = record_program(lambda a, x: [np.matmul(a, x)], [MATRIX, VECTOR])
    backward, _ = record_program(lambda a, u: [np.matmul(u, a)], [MATRIX, VECTOR])
    solver, _ = record_program(by_elimination, [MATRIX, VECTOR, VECTOR])
    turned, _ = record_program(lambda a, c, _: [np.linalg.solve(a.T, c)], [MATRIX, VECTOR, VECTOR])
    return forward, solver, backward, turned


SOLVE = LinearSolve(*programs(), 1, False)


def mine(a, b):
    return SOLVE(a, b, np.zeros(3))[0]


def loss(solve):
    return lambda a, b: np.sum(np.sin(solve(a * b[0], b)) * np.arange(1.0, 4.0))


USES = {
    "value": lambda f: f(A, B),
    "grad": lambda f: np.concatenate([g.ravel() for g in ad.grad(f, argnums=(0, 1))(A, B)]),
    "grad in b alone": lambda f: ad.grad(lambda b: f(A, b))(B),
    "jvp": lambda f: ad.jvp(f, (A, B), (DA, DB))[1],
    "linearize": lambda f: ad.linearize(f, A, B)[1](DA, DB),
    "vjp": lambda f: ad.vjp(f, A, B)[1](2.0)[1],
    "hessian": lambda f: ad.hessian(lambda b: f(A, b))(B),
    "reverse over reverse": lambda f: ad.grad(lambda a: np.sum(ad.grad(f)(a, B) * DA))(A),
    "reverse over forward": lambda f: ad.grad(lambda a: ad.jvp(lambda a: f(a, B), (a,), (DA,))[1])(A),
    "third order": lambda f: ad.grad(lambda t: ad.grad(lambda s: ad.grad(lambda r: f(A + r * DA, B))(s))(t))(0.1),
    "jet": lambda f: np.stack(ad.jet(f, (A, B), ((DA, 0.1 * A, DA), (DB, DB, B)))[1]),
    "vmap over b": lambda f: ad.vmap(f, in_axes=(None, 0))(A, np.stack([B, DB])),
    "vmap over A": lambda f: ad.vmap(f, in_axes=(0, None))(np.stack([A, A + 1]), B),
    "vmap over both": lambda f: ad.vmap(f)(np.stack([A, A + 1]), np.stack([B, DB])),
    "grad of vmap": lambda f: ad.grad(lambda a: np.sum(ad.vmap(f, in_axes=(None, 0))(a, np.stack([B, DB]))))(A),
    "vmap of grad": lambda f: ad.vmap(ad.grad(f), in_axes=(None, 0))(A, np.stack([B, DB])),
    "jit": lambda f: ad.jit(f)(A, B),
    "jit of grad": lambda f: ad.jit(ad.grad(f))(A, B),
    "in a scan": lambda f: ad.grad(lambda b: ad.scan(lambda c, r: (f(A, c + r) * DB, None), b, DA)[0][1])(B),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_the_same_numbers_as_by_elimination(use):
    np.testing.assert_allclose(USES[use](loss(mine)), USES[use](loss(np.linalg.solve)), rtol=1e-9, atol=1e-11)


def test_it_is_linear_in_the_right_side():
    turned = ad.linear_transpose(lambda b: mine(A, b), B)(DB)[0]
    np.testing.assert_allclose(turned, np.linalg.solve(A.T, DB), rtol=1e-12)


def test_the_start_and_the_reports_have_no_derivative():
    assert not np.any(ad.grad(lambda s: np.sum(SOLVE(A, B, s)[0]))(B))
    assert not np.any(ad.grad(lambda b: SOLVE(A, b, B)[1])(B))
    assert ad.jvp(lambda b: SOLVE(A, b, B)[1], (B,), (DB,))[1] == 0


def test_without_an_adjoint_forward_mode_goes_on():
    forward, solver, _, _ = programs()
    half = LinearSolve(forward, solver, None, None, 1, False)
    slope = ad.jvp(lambda b: half(A, b, B)[0], (B,), (DB,))[1]
    np.testing.assert_allclose(slope, np.linalg.solve(A, DB), rtol=1e-12)
    with pytest.raises(RuleError, match="adjoint of the operator is not known"):
        ad.grad(lambda b: np.sum(half(A, b, B)[0]))(B)


def test_effects_happen_once_for_each_lane_and_not_on_the_way_back():
    told = []
    loud = LinearSolve(*programs(lambda x: told.append(float(x))), 1, False)
    ad.grad(lambda b: np.sum(loud(A, b, B)[0]))(B)
    assert told == [B[0]]
    told.clear()

    def chosen(b):
        return ad.cond(b[0] > 0, lambda b: np.sum(loud(A, b, B)[0]), lambda b: 0.0 * b[0], b)

    stack = np.stack([np.abs(B), -np.abs(B), 2 * np.abs(B)])
    ad.jit(ad.vmap(chosen))(stack)
    assert told == [abs(B[0]), 2 * abs(B[0])]
    told.clear()
    np.testing.assert_array_equal(ad.jit(ad.vmap(ad.grad(chosen)))(stack)[1], 0.0)
    np.testing.assert_allclose(ad.vmap(ad.grad(chosen))(stack)[0], np.linalg.solve(A.T, np.ones(3)), rtol=1e-12)


def test_it_is_saved_and_differentiated_after_loading(tmp_path):
    program = ad.trace(lambda a, b: mine(a, b))(A, B)
    program.save(tmp_path / "solve.zip")
    again = ad.load(tmp_path / "solve.zip")
    np.testing.assert_allclose(again(A, B), np.linalg.solve(A, B), rtol=1e-12)
    found = ad.grad(lambda a: np.sum(again(a, B)))(A)
    np.testing.assert_allclose(found, ad.grad(lambda a: np.sum(np.linalg.solve(a, B)))(A), rtol=1e-10)


def test_a_finished_program_holds_the_solver_alone():
    program, _ = record_program(lambda a, b: [mine(a, b) + mine(a, 2 * b)], [MATRIX, VECTOR])
    simple = simplify(program)
    assert any(isinstance(eq.op, LinearSolve) for eq in program.equations)
    assert not any(isinstance(eq.op, LinearSolve) for eq in simple.equations)
    np.testing.assert_allclose(simple(A, B)[0], 3 * np.linalg.solve(A, B), rtol=1e-12)


def test_a_nan_inside_the_solver_is_named():
    def through_a_logarithm(a, b, start):
        return [np.linalg.solve(a, b) + np.log(b - b - 1), np.sum(b)]

    forward, _, backward, turned = programs()
    solver, _ = record_program(through_a_logarithm, [MATRIX, VECTOR, VECTOR])
    bad = LinearSolve(forward, solver, backward, turned, 1, False)
    with ad.debug.nans(), pytest.raises(NonFiniteError, match="log"):
        ad.grad(lambda b: np.sum(bad(A, b, B)[0]))(B)

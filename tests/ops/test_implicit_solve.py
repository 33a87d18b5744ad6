"""The solution as a primitive: the numbers of differentiated closed forms, under every transformation."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import implicit
from adjoint.ops.implicit_solve import ImplicitSolve
from adjoint.scipy import linalg
from adjoint.simplify import simplify
from adjoint.transform.subprograms import Split

# x³ = a has the root cbrt(a), which NumPy differentiates by itself.
A = np.array([0.5, 1.3, 2.0])
DA, DDA = np.array([1.0, -0.5, 0.2]), np.array([0.3, 0.1, -1.0])
cube_root = implicit.root(lambda x, a: x**3 - a, lambda a: np.cbrt(a))
through_plain = implicit.root(lambda x, a: x**3 - a, lambda a: np.array([float(v) ** (1 / 3) for v in a]))


def loss(root):
    return lambda a: np.sum(np.sin(root(a * a[0])) * np.arange(1.0, 4.0))


USES = {
    "value": lambda f: f(A),
    "grad": lambda f: ad.grad(f)(A),
    "jvp": lambda f: ad.jvp(f, (A,), (DA,))[1],
    "linearize": lambda f: ad.linearize(f, A)[1](DA),
    "vjp": lambda f: ad.vjp(f, A)[1](2.0)[0],
    "hessian": lambda f: ad.hessian(f)(A),
    "jacfwd of jacrev": lambda f: ad.jacfwd(ad.jacrev(f))(A),
    "jacrev of jacfwd": lambda f: ad.jacrev(ad.jacfwd(f))(A),
    "jacrev of jacrev": lambda f: ad.jacrev(ad.jacrev(f))(A),
    "third order": lambda f: ad.grad(lambda t: ad.grad(lambda s: ad.grad(lambda r: f(A + r * DA))(s))(t))(0.1),
    "jet": lambda f: np.stack(ad.jet(f, (A,), ((DA, DDA, A),))[1]),
    "jet of grad": lambda f: np.stack(ad.jet(ad.grad(f), (A,), ((DA, DDA),))[1]),
    "grad of jet": lambda f: ad.grad(lambda a: ad.jet(f, (a,), ((DA, DDA),))[1][1])(A),
    "vmap": lambda f: ad.vmap(f)(np.stack([A, A + 1])),
    "vmap of grad": lambda f: ad.vmap(ad.grad(f))(np.stack([A, A + 1])),
    "vmap of hessian": lambda f: ad.vmap(ad.hessian(f))(np.stack([A, A + 1])),
    "grad of vmap": lambda f: ad.grad(lambda a: np.sum(ad.vmap(f)(a) ** 2))(np.stack([A, A + 1])),
    "vmap of vmap": lambda f: ad.vmap(ad.vmap(f))(np.stack([A, A + 1, A + 2, A + 3]).reshape(2, 2, 3)),
    "jit": lambda f: ad.jit(f)(A),
    "jit of grad": lambda f: ad.jit(ad.grad(f))(A),
    "jit of hessian": lambda f: ad.jit(ad.hessian(f))(A),
    "jit of vmap of grad": lambda f: ad.jit(ad.vmap(ad.grad(f)))(np.stack([A, A + 1])),
    "grad of jit": lambda f: ad.grad(ad.jit(f))(A),
    "in a scan": lambda f: ad.grad(lambda a: ad.scan(lambda c, r: (f(c**2 + 1) * A, None), a, DA)[0][1])(A),
    "in a branch": lambda f: ad.grad(lambda a: ad.cond(a[0] > 0, f, np.sum, a))(A),
    "checkpointed": lambda f: ad.grad(ad.checkpoint(f))(A),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("root", [cube_root, through_plain], ids=["traced solver", "plain solver"])
def test_the_same_numbers_as_the_closed_form(root, use):
    np.testing.assert_allclose(USES[use](loss(root)), USES[use](loss(np.cbrt)), rtol=1e-9, atol=1e-10)


def counting(answers):
    """x³ = a, with a linear solver that counts its calls."""

    def linear(A, b):
        answers.append(np.shape(b))
        return ad.linear.solve(ad.linear.matrix(A.to_dense()), b).value

    return implicit.root(lambda x, a: x**3 - a, np.cbrt, linear=linear, check="ignore")


def test_a_pull_is_one_solve_whatever_the_size_of_theta():
    calls = []
    x = counting(calls)
    ad.grad(lambda theta: np.sum(x(theta.reshape(-1, 3).sum(axis=0)) ** 2))(np.linspace(0.1, 1.0, 300))
    assert len(calls) == 1


def test_a_jacobian_is_one_solve_of_all_right_sides():
    for jacobian in (ad.jacrev, ad.jacfwd):
        calls = []
        jacobian(counting(calls))(A)
        assert len(calls) == 1


def test_a_taylor_coefficient_is_one_solve():
    calls = []
    ad.jet(counting(calls), (A,), ((DA, DDA, A, DA),))
    assert len(calls) == 4


def test_many_pulls_share_one_factorization(monkeypatch):
    calls = []
    monkeypatch.setattr("adjoint.implicit.equation.lu_factor", lambda m: calls.append(m) or linalg.lu_factor(m))
    _, pullback = ad.vjp(cube_root, A)
    for row in np.eye(3):
        pullback(row)
    assert len(calls) == 1


def test_the_solver_runs_once_for_a_value_with_its_derivative():
    calls = []
    x = implicit.root(lambda x, a: x**3 - a, lambda a: calls.append(a) or np.array([float(v) for v in np.cbrt(a)]))
    ad.value_and_grad(lambda a: np.sum(x(a)))(A)
    assert len(calls) == 1
    calls.clear()
    ad.vmap(ad.grad(lambda a: np.sum(x(a))))(np.stack([A, A + 1]))
    plain = [a for a in calls if isinstance(a, np.ndarray)]  # at first it was tried with a traced value
    np.testing.assert_array_equal(plain, [A, A + 1])


def test_the_solver_is_given_plain_arrays_by_a_compiled_program():
    asked = []
    x = implicit.root(lambda x, a: x**3 - a, lambda a: asked.append(a) or np.float64(float(a) ** (1 / 3)))
    compiled = ad.jit(ad.value_and_grad(x))
    for a in (8.0, 27.0):
        value, slope = compiled(a)
        np.testing.assert_allclose([value, slope], [a ** (1 / 3), a ** (-2 / 3) / 3], rtol=1e-12)
    assert all(isinstance(a, float) for a in asked)  # what was tried with traced values left nothing
    assert asked[-1] == 27.0


def test_finished_programs_hold_the_equations_of_the_solver():
    program = ad.trace(lambda a: cube_root(a))(A).program
    assert any(isinstance(eq.op, ImplicitSolve) for eq in program.equations)
    assert "residual" in str(program)
    simple = simplify(program)
    assert not any(isinstance(eq.op, ImplicitSolve) for eq in simple.equations)


def test_what_the_solver_alone_reads_has_no_derivative():
    x = implicit.root(lambda x, a: x**3 - a, lambda x0, a: np.cbrt(a) + 0.0 * x0, x0=np.ones(3))
    moved = lambda a, start: np.sum(x.starting_at(start)(a))
    assert not np.any(ad.grad(moved, argnums=1)(A, np.ones(3)))
    np.testing.assert_allclose(ad.grad(moved)(A, np.ones(3)), A ** (-2 / 3) / 3, rtol=1e-12)


def test_effects_of_the_solver_in_a_branch_that_is_not_taken():
    told = []

    def solver(a):
        ad.debug.callback(lambda v: told.append(float(v)), a[0])
        return np.cbrt(a)

    x = implicit.root(lambda x, a: x**3 - a, solver)
    f = lambda a: ad.cond(a[0] > 1.0, lambda a: np.sum(x(a)), np.sum, a)
    ad.vmap(f)(np.stack([A, A + 1]))
    assert told == [1.5]


def test_a_split_program_keeps_no_solver_in_its_backward_half():
    program = ad.trace(lambda a: np.sum(cube_root(a)))(A).program
    split = Split(program, (True,))
    assert not any("cbrt" in str(eq.op) for eq in split.backward().equations)


def test_nothing_made_in_a_branch_is_kept_for_what_stands_outside():
    def f(a):
        _, pullback = ad.vjp(cube_root, a)
        first = ad.cond(a[0] > 0.0, lambda u: pullback(u)[0], lambda u: 0 * u, DA)
        return first + pullback(DDA)[0]

    expected = (DA + DDA) / (3 * np.cbrt(A) ** 2)
    np.testing.assert_allclose(ad.jit(f)(A), expected, rtol=1e-12)
    np.testing.assert_allclose(ad.jacfwd(f)(A) @ DA, (f(A + 1e-6 * DA) - f(A - 1e-6 * DA)) / 2e-6, rtol=1e-6)

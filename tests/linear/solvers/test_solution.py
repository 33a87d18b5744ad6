"""How solvers end, what they advise, and what a Solution is."""

import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint import linear
from adjoint.base.errors import CheckError, SolveError
from tests.linear.equations import ANY, GENERAL, INDEFINITE, METHODS, POSITIVE, B, N, V, close

SINGULAR = np.diag([3.0, 2.0, 1.0, 0.0])
REACHED, MISSED = np.array([1.0, 1.0, 1.0, 0.0]), np.ones(4)
TURN = np.array([[0.0, 1.0], [-1.0, 0.0]])
SHIFT = np.roll(np.eye(6), 1, axis=0)

FAILURES = {
    "cg of what is not symmetric": (lambda: linear.cg(ANY, B), None, "not symmetric: use gmres"),
    "minres of what is not symmetric": (lambda: linear.minres(ANY, B), "max iterations", "not symmetric: use gmres"),
    "cg of an indefinite matrix": (lambda: linear.cg(INDEFINITE, B), "not positive", "use minres"),
    "cg of a negative matrix": (lambda: linear.cg(-POSITIVE, B), "not positive", "negate"),
    "cg of a singular matrix": (lambda: linear.cg(SINGULAR, MISSED), "not positive", "minres"),
    "minres of a singular matrix": (lambda: linear.minres(SINGULAR, MISSED), "singular", "lsmr"),
    "gmres of a singular matrix": (lambda: linear.gmres(SINGULAR, MISSED), "singular", "lsmr"),
    "bicgstab of a singular matrix": (lambda: linear.bicgstab(SINGULAR, MISSED), None, ""),
    "bicgstab that divides by zero": (lambda: linear.bicgstab(TURN, np.array([1.0, 0.0])), "breakdown", "gmres"),
    "gmres that restarts too soon": (lambda: linear.gmres(SHIFT, np.eye(6)[0], restart=3), "stagnated", "restart"),
    "too few iterations": (lambda: linear.cg(POSITIVE, B, max_iterations=2), "max iterations", "preconditioner"),
    "none at all": (lambda: linear.gmres(GENERAL, B, max_iterations=0), "max iterations", "restart"),
    "a negative preconditioner": (
        lambda: linear.cg(POSITIVE, B, preconditioner=lambda r: -r), None, "not positive definite"),
    "an indefinite preconditioner": (
        lambda: linear.minres(POSITIVE, B, preconditioner=lambda r: r * np.where(np.arange(N) % 2, 1, -1)),
        "indefinite preconditioner", "jacobi"),
    "an indefinite preconditioner that shows later": (
        lambda: linear.minres(np.diag(np.arange(1.0, 9.0)), np.ones(8), preconditioner=np.diag([1.0] * 6 + [-1.0] * 2)),
        "indefinite preconditioner", "jacobi"),
    "a preconditioner of zeros": (
        lambda: linear.cg(POSITIVE, B, preconditioner=lambda r: 0 * r), "indefinite preconditioner", "jacobi"),
    "a preconditioner of zeros for minres": (
        lambda: linear.minres(POSITIVE, B, preconditioner=lambda r: 0 * r), "indefinite preconditioner", "jacobi"),
    "NaN in the preconditioner": (
        lambda: linear.gmres(GENERAL, B, preconditioner=np.full((N, N), np.nan)), "not finite", "NaN"),
    "NaN in the preconditioner of bicgstab": (
        lambda: linear.bicgstab(GENERAL, B, preconditioner=np.full((N, N), np.nan)), "not finite", "NaN"),
    "squares that underflow": (lambda: linear.cg(np.eye(2), np.full(2, 1e-200)), "stagnated", "scale"),
    "squares that underflow in lsmr": (lambda: linear.lsmr(np.eye(2), np.full(2, 1e-200)), "stagnated", "scale"),
    "a matrix whose squares underflow": (lambda: linear.lsmr(1e-200 * np.eye(2), np.ones(2)), "stagnated", "scale"),
    "NaN in the matrix": (lambda: linear.gmres(np.full((2, 2), np.nan), np.ones(2)), "not finite", "NaN"),
    "infinity on the right": (lambda: linear.bicgstab(np.eye(2), np.array([1.0, np.inf])), "not finite", "NaN"),
    "more than rounding allows": (
        lambda: linear.cg(np.diag(np.logspace(0, 13, 8)), np.ones(8), tol=1e-17, max_iterations=400), None, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_failures_have_a_status_and_advice(name):
    call, status, advice = FAILURES[name]
    found = call()
    assert not found.converged
    assert status is None or found.status == status
    assert advice in found.advice
    assert found.status in repr(found)
    with pytest.raises(SolveError, match="residual"):
        found.raise_if_failed()


@pytest.mark.parametrize(
    "name", ["cg of an indefinite matrix", "minres of a singular matrix", "gmres of a singular matrix"]
)
def test_the_last_good_value_is_kept(name):
    found = FAILURES[name][0]()
    assert np.all(np.isfinite(found.value))


@pytest.mark.parametrize("method", [linear.cg, linear.minres, linear.gmres])
def test_a_singular_matrix_and_a_right_side_that_it_reaches(method):
    found = method(SINGULAR, REACHED)
    assert found.converged
    close(found.value[:3], 1 / np.diag(SINGULAR)[:3])


@pytest.mark.parametrize("name", METHODS)
def test_compiled_programs_know_their_failures_too(name):
    method, A = METHODS[name]
    broken = {"cg": -A, "minres": ANY}.get(name, A * np.nan)
    mine = ad.jit(lambda A: method(A, B, max_iterations=40))(broken)
    plain = method(broken, B, max_iterations=40)
    assert mine.status == plain.status != "converged"
    assert mine.advice == plain.advice


def test_a_failed_check_stops_a_compiled_program():
    f = ad.jit(lambda A: linear.cg(A, B).raise_if_failed().value)
    close(f(POSITIVE), np.linalg.solve(POSITIVE, B))
    with pytest.raises(CheckError, match="cg: the equation was not solved"):
        f(-POSITIVE)


def test_one_word_for_each_lane():
    found = ad.vmap(lambda A: linear.cg(A, B))(np.stack([POSITIVE, -POSITIVE, ANY]))
    assert list(found.status[:2]) == ["converged", "not positive"]
    assert list(found.converged) == [True, False, False]
    assert "not symmetric" in found.advice
    assert "negate" in found.advice
    assert "1 of 3 converged" in repr(found)
    with pytest.raises(SolveError, match=r"2 of 3 equations were not solved .*batch elements: 1, 2"):
        found.raise_if_failed()


def test_it_is_a_tree():
    found = linear.gmres(GENERAL, B, history=True)
    leaves, structure = ad.tree.flatten(found)
    again = ad.tree.unflatten(structure, leaves)
    assert (again.status, again.method) == ("converged", "gmres")
    close(pickle.loads(pickle.dumps(found)).value, found.value)
    assert found.raise_if_failed() is found
    out = ad.jit(lambda b: linear.gmres(GENERAL, b))(B)
    assert isinstance(out, linear.Solution)
    assert out.status == "converged"


def test_inside_a_trace_it_says_what_it_can():
    said = []

    def f(b):
        found = linear.cg(POSITIVE, b)
        said.extend([found.status, found.advice, repr(found)])
        return np.where(found.converged, found.value, np.nan)

    close(ad.jit(f)(B), np.linalg.solve(POSITIVE, B))
    assert said[:3] == ["not known while the program is traced", "", "Solution(cg, traced)"]
    close(ad.grad(lambda b: np.sum(f(b) * V))(B), np.linalg.solve(POSITIVE, V))


def test_a_loose_tolerance_is_no_singular_matrix():
    """minres stops at the residual that was asked for, also where A is ill-conditioned."""
    q = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 30)))[0]
    A = (q * np.logspace(0, -4, 30)) @ q.T
    b = np.arange(30.0)
    found = linear.minres((A + A.T) / 2, b, tol=1e-3)
    assert found.status == "converged"
    assert np.linalg.norm(A @ found.value - b) <= 1.001e-3 * np.linalg.norm(b)


@pytest.mark.parametrize("method", [linear.cg, linear.minres])
def test_a_derivative_through_an_asymmetric_matrix_warns(method):
    """The value is right, the adjoint solve would need A*."""
    rng = np.random.default_rng(3)
    A = np.diag(np.linspace(1.0, 3.0, 12)) + 1e-3 * rng.normal(size=(12, 12))
    b = rng.normal(size=12)
    assert method(A, b).status == "converged"
    with pytest.warns(RuntimeWarning, match="not symmetric"):
        ad.grad(lambda b: np.sum(method(A, b).value ** 2))(b)
    ad.grad(lambda b: np.sum(method((A + A.T) / 2, b, tol=1e-3).value ** 2))(b)  # warnings are errors here
    ad.grad(lambda b: np.sum(linear.gmres(A, b).value ** 2))(b)

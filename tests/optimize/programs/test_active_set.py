"""Active sets of programs: polished solutions of degenerate programs, and constraints that give way."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.implicit.diagnosis import DerivativeWarning
from adjoint.optimize.programs.active_set import polish
from adjoint.optimize.programs.interior_point import Program, run_interior_point


def some_program(seed: int, unknowns: int = 6, equations: int = 2, inequalities: int = 8) -> Program:
    draw = np.random.default_rng(seed).normal
    root, x = draw(size=(unknowns, unknowns)), draw(size=unknowns)
    A, G = draw(size=(equations, unknowns)), draw(size=(inequalities, unknowns))
    return Program(root @ root.T, draw(size=unknowns), A, A @ x, G, G @ x + np.abs(draw(size=inequalities)) * 0.1)


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_say_the_same_leave_the_solution_exact(seed: int) -> None:
    data = some_program(seed)
    once = optimize.qp(data.P, data.q, A=data.A, b=data.b, G=data.G, h=data.h)
    twice = optimize.qp(data.P, data.q, A=np.tile(data.A, (2, 1)), b=np.tile(data.b, 2), G=np.tile(data.G, (3, 1)),
                        h=np.tile(data.h, 3))  # fmt: skip
    assert twice.status == "converged"
    np.testing.assert_allclose(twice.value, once.value, atol=1e-9)
    prices = twice.multipliers.inequality.reshape(3, -1).sum(0)
    np.testing.assert_allclose(prices, once.multipliers.inequality, atol=1e-7)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_derivative_of_what_two_equal_rows_determine_is_nan_and_told(compiled: bool) -> None:
    """Each of x ≤ h₁ and x ≤ h₂ alone would have derivative one; both together have none at h₁ = h₂."""
    solve = lambda h: optimize.qp(np.eye(1), np.array([-2.0]), G=np.ones((2, 1)), h=h).value[0]
    f = ad.jit(ad.grad(solve)) if compiled else ad.grad(solve)
    with pytest.warns(DerivativeWarning, match="follow from others"):
        assert np.all(np.isnan(f(np.array([1.0, 1.0]))))
    np.testing.assert_allclose(ad.grad(solve)(np.array([1.0, 1.5])), [1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("give", [1e-1, 1e-3, 1e-8])
@pytest.mark.parametrize("seed", range(3))
def test_soft_constraints_are_penalties(seed: int, give: float) -> None:
    """½ xᵀPx + qᵀx + (‖A x - b‖² + ‖(G x - h)⁺‖²) / 2δ, whose gradient must vanish; b and h contradict each other."""
    data = some_program(seed)
    data = data._replace(b=data.b + 1.0, h=data.h - 1.0, P=data.P + 0.1 * np.eye(6))
    soft = (np.full(2, give), np.full(8, give))
    found = polish(data, run_interior_point(data, 1e-10, 100, None, soft), soft)
    x = found.x
    pull = data.A.T @ (data.A @ x - data.b) + data.G.T @ np.maximum(data.G @ x - data.h, 0.0)
    assert np.max(np.abs(give * (data.P @ x + data.q) + pull)) < 1e-8 * max(1.0, np.max(np.abs(pull)))

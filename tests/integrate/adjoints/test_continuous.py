"""Adjoint and variational equations against the derivative of the steps, closed forms and the book's numbers."""

import numpy as np
import pytest
from scipy.linalg import expm, expm_frechet

import adjoint as ad
from adjoint import integrate

A = np.array([[0.0, 1.0], [-1.0, -0.1]])
EULER = {"method": "euler", "first_step": 0.1}


def prey(t, y, w):
    return np.stack([w[0] * y[0] - w[1] * y[0] * y[1], -w[2] * y[1] + w[3] * y[0] * y[1]])


def loss(w, y0, t1, s, adjoint):
    path = integrate.solve(
        prey, (0.0, t1), y0, args=(w,), save=np.stack([s, 10.0 + 0 * s]), method="dopri5", rtol=1e-9, atol=1e-9,
        adjoint=adjoint,
    )  # fmt: skip
    return np.sum(path.last * np.array([1.0, 2.0])) + np.sum(path.values * np.array([[1.0, 0.5], [0.3, 0.1]]))


RATES, START = np.array([0.5, 0.02, 0.9, 0.03]), np.array([34.0, 5.9])


@pytest.mark.row("12.6.2-b")
@pytest.mark.parametrize("adjoint", ["backsolve", "forward"])
def test_all_derivatives_with_cotangents_at_saved_times(adjoint):
    arguments = (RATES, START, 15.0, 4.0)
    found = ad.grad(lambda *a: loss(*a, adjoint), (0, 1, 2, 3))(*arguments)
    expected = ad.grad(lambda *a: loss(*a, "discretize"), (0, 1, 2, 3))(*arguments)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7)
    tangents = (np.array([0.1, 0.01, -0.1, 0.02]), np.array([1.0, -1.0]), 0.5, -0.3)
    pushed = ad.jvp(lambda *a: loss(*a, adjoint), arguments, tangents)[1]
    assert abs(pushed - sum(np.vdot(g, v) for g, v in zip(expected, tangents, strict=True))) < 1e-6 * abs(pushed)


@pytest.mark.row("12.6.6-a")
@pytest.mark.parametrize("adjoint", ["discretize", "backsolve", "forward"])
def test_linear_equation(adjoint):
    x, u, T = np.array([0.7, -0.4]), np.array([1.0, -2.0]), 2.0
    value = lambda x, A: (
        u
        @ integrate.solve(
            lambda t, y, A: A @ y, (0.0, T), x, args=(A,), adjoint=adjoint, method="verner8", rtol=1e-12, atol=1e-12
        ).last
    )
    found_x, found_A = ad.grad(value, (0, 1))(x, A)
    np.testing.assert_allclose(found_x, expm(T * A).T @ u, atol=1e-10)
    np.testing.assert_allclose(found_A, T * expm_frechet(T * A.T, np.outer(u, x))[1], atol=1e-10)


@pytest.mark.row("12.6.3-a")
def test_ten_steps_of_euler():
    end = lambda x, w, adjoint: (
        integrate.solve(lambda t, s, w: w * s, (0.0, 1.0), x, args=(w,), adjoint=adjoint, **EULER).last
    )
    discrete = ad.grad(lambda x, w: end(x, w, "discretize"), (0, 1))(1.0, 1.0)
    np.testing.assert_allclose(discrete, (1.1**10, 1.1**9), rtol=1e-12)
    assert abs(discrete[1] - 2.3579476910) < 1e-9
    with pytest.warns(RuntimeWarning, match=r"is 0.0956 away from the start"):  # (1 - δ²w²)¹⁰ = 0.9043820750
        continuous = ad.grad(lambda x, w: end(x, w, "backsolve"), (0, 1))(1.0, 1.0)
    np.testing.assert_allclose(continuous, (2.5937424601, 2.4800827200), atol=1e-9)


def test_drift_of_what_decays():
    end = lambda x: (
        integrate.solve(
            lambda t, s: -50.0 * s, (0.0, 1.0), x, adjoint="backsolve", method="euler", first_step=1e-3
        ).last
    )
    with pytest.warns(RuntimeWarning, match="backsolve"):
        ad.grad(end)(1.0)


@pytest.mark.row("12.6.4-b")
def test_both_approaches_converge_at_first_order():
    def errors(steps):
        end = lambda w, adjoint: (
            integrate.solve(
                lambda t, s, w: w * s,
                (0.0, 1.0),
                1.0,
                args=(w,),
                adjoint=adjoint,
                method="euler",
                first_step=1.0 / steps,
            ).last
        )
        discrete = ad.grad(lambda w: end(w, "discretize"))(1.0)
        with pytest.warns(RuntimeWarning, match="backsolve"):
            continuous = ad.grad(lambda w: end(w, "backsolve"))(1.0)
        return abs(discrete - np.e), abs(continuous - np.e)

    np.testing.assert_allclose(errors(10), (0.3603, 0.2382), atol=1e-4)
    np.testing.assert_allclose(errors(160), (0.0253, 0.0168), atol=1e-4)


def test_what_is_refused():
    f, span = lambda t, y: -y, (0.0, 1.0)
    with pytest.raises(ValueError, match="'discretize', 'backsolve'"):
        integrate.solve(f, span, 1.0, adjoint="continuous")
    with pytest.raises(ValueError, match="not made for stops"):
        integrate.solve(f, span, 1.0, adjoint="backsolve", stops=(0.5,))


def test_checkpoints_give_the_same_gradient():
    value = lambda w, checkpoint: integrate.solve(
        prey, (0.0, 15.0), START, args=(w,), method="dopri5", checkpoint=checkpoint
    ).last[0]
    plain = ad.grad(lambda w: value(w, None))(RATES)
    np.testing.assert_allclose(ad.grad(lambda w: value(w, 5))(RATES), plain, rtol=1e-12)

"""Rosenbrock methods and switching on the stiff test set, their orders and derivatives."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate
from adjoint.integrate import solving
from adjoint.integrate.system import System
from tests.integrate.rooted_trees import defects_of_rosenbrock
from tests.integrate.stiff_problems import PROBLEMS, relative_error, rober

METHODS = ["rodas4", "rodas5p"]


def test_published_end_values():
    assert relative_error("CHEMAKZO", "rodas5p", 1e-7) < 30
    assert relative_error("HIRES", "auto", 1e-7) < 30
    assert relative_error("ROBER", "auto", 1e-10) < 30  # |Δf| / |Δy| without units sees no stiffness in it


@pytest.mark.sweep
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_all_published_end_values(name, method):
    for tol in (1e-4, 1e-7, 1e-10):
        assert relative_error(name, method, tol) < 30


@pytest.mark.sweep
@pytest.mark.parametrize("name", [name for name in PROBLEMS if PROBLEMS[name].mass is None])
def test_all_published_end_values_by_low_order(name):
    for tol in (1e-4, 1e-7, 1e-10):
        assert relative_error(name, "rosenbrock23", tol, max_steps=10_000_000) < 30


@pytest.mark.parametrize("method", METHODS)
def test_order_conditions(method):
    """In Hairer and Wanner's α, Γ, b, from the coefficients of u = Γ k: C = 1/γ - Γ⁻¹, A = α Γ⁻¹, m = b Γ⁻¹."""
    m = integrate.choose(method)
    s = m.stages
    A, C = np.zeros((2, s, s))
    for i in range(1, s):
        A[i, :i], C[i, :i] = m.A[i], m.C[i]
    gamma = np.linalg.inv(np.eye(s) / m.gamma - C)
    alpha, weights = A @ gamma, np.array([*m.A[-1], 1.0])
    np.testing.assert_allclose(np.sum(alpha, axis=1), m.alpha, rtol=0, atol=1e-13)
    np.testing.assert_allclose(np.sum(gamma, axis=1), m.sums, rtol=0, atol=1e-13)
    for row, order in ((weights, m.order), (weights - np.eye(s)[-1], m.order - 1)):  # the last stage is the error
        found = defects_of_rosenbrock(alpha, alpha + gamma, row @ gamma, order + 1)
        assert max(found[p] for p in range(1, order + 1)) < 1e-13
        assert found[order + 1] > 1e-6


@pytest.mark.parametrize("method", ["rosenbrock23", *METHODS])
def test_order(method):
    chosen = integrate.choose(method)
    f = lambda t, y: np.stack([-y[0] * y[1] + np.cos(3 * t), y[0] ** 2 - y[1]])
    exact = integrate.solve(f, (0.0, 2.0), np.array([1.0, 0.5]), method="verner9", rtol=1e-13, atol=1e-13).last
    errors = []
    for tol in (1e-4, 1e-6) if method == "rosenbrock23" else (1e-6, 1e-9):
        path = integrate.solve(f, (0.0, 2.0), np.array([1.0, 0.5]), method=chosen, rtol=tol, atol=tol)
        errors.append((np.max(np.abs(path.last - exact)), int(path.steps)))
    (e1, n1), (e2, n2) = errors
    assert np.log(e1 / e2) / np.log(n2 / n1) > chosen.order - 0.6


@pytest.mark.parametrize(
    "method",
    ["rodas5p", *[pytest.param(m, marks=pytest.mark.sweep) for m in ("auto", "rosenbrock23", "rodas4")]],
)
def test_gradients_in_rate_constants(method):
    rates = np.array([0.04, 3e7, 1e4])
    end = lambda k, m, tol: integrate.solve(
        rober, (0.0, 1e3), np.array([1.0, 0.0, 0.0]), args=(k,), method=m, rtol=tol, atol=1e-3 * tol
    ).last[0]
    tol = 1e-6 if method == "rosenbrock23" else 1e-8
    found = ad.grad(lambda k: end(k, method, tol))(rates)
    expected = [
        (end(rates * (1 + 1e-4 * e), "rodas5p", 1e-11) - end(rates * (1 - 1e-4 * e), "rodas5p", 1e-11))
        / (2e-4 * rates[i])
        for i, e in enumerate(np.eye(3))
    ]
    np.testing.assert_allclose(found, expected, rtol=2e-3 if method == "rosenbrock23" else 1e-5)


@pytest.mark.parametrize("method", ["rodas4", pytest.param("rodas5p", marks=pytest.mark.sweep)])
def test_both_modes_agree(method):
    f = lambda k: (
        integrate.solve(rober, (0.0, 1e3), np.array([1.0, 0.0, 0.0]), args=(k,), method=method, save=[0.3, 55.0]).values
    )
    rates, v = np.array([0.04, 3e7, 1e4]), np.array([0.01, 1e6, -1e3])
    u = np.array([[1.0, 1e4, -2.0], [0.3, -1e4, 0.7]])
    pushed = ad.jvp(f, (rates,), (v,))[1]
    pulled = ad.vjp(f, rates)[1](u)[0]
    assert abs(np.vdot(u, pushed) - np.vdot(pulled, v)) < 1e-12 * np.sum(np.abs(u * pushed))


def test_dense_output_between_steps():
    f = lambda t, y: -1e4 * (y - np.cos(t))
    exact = lambda t: (1e8 * np.cos(t) + 1e4 * np.sin(t)) / (1e8 + 1)
    times = np.linspace(0.5, 3.0, 23)
    for method in METHODS:
        path = integrate.solve(f, (0.0, 3.0), 0.0, method=method, rtol=1e-8, atol=1e-8, save=times)
        np.testing.assert_allclose(path.values, exact(times), atol=1e-5)


def test_mass_matrix_is_differentiable():
    # m y″ = -y, with the mass of a spring in M
    def place(m):
        M = np.stack([np.array([1.0, 0.0]), np.stack([0.0 * m, m])])
        f = lambda t, y: np.stack([y[1], -y[0]])
        return integrate.solve(
            f, (0.0, 2.0), np.array([1.0, 0.0]), mass=M, method="rodas5p", rtol=1e-9, atol=1e-9
        ).last[0]

    assert abs(place(4.0) - np.cos(1.0)) < 1e-7
    assert abs(ad.grad(place)(4.0) - np.sin(1.0) / 8.0) < 1e-6


def test_mass_needs_a_method_for_it():
    with pytest.raises(ValueError, match="rodas5p"):
        integrate.solve(lambda t, y: -y, (0.0, 1.0), np.ones(2), mass=np.eye(2), method="tsit5")
    with pytest.raises(ValueError, match="mass has shape"):
        integrate.solve(lambda t, y: -y, (0.0, 1.0), np.ones(2), mass=np.eye(3), method="rodas5p")


def test_counts():
    path = integrate.solve(lambda t, y: -1e3 * (y - np.cos(t)), (0.0, 1.0), 0.0, method="rodas5p")
    assert path.factorizations == path.jacobians == path.steps + path.rejections
    switched = integrate.solve(lambda t, y: -1e5 * (y - np.cos(t)), (0.0, 5.0), 0.0)
    assert 0 < switched.factorizations < switched.steps
    assert switched.advice == ""


@pytest.mark.parametrize("n", [2, 50])
def test_auto_takes_a_method_for_mass_matrices(n):
    mass = np.diag(np.append(np.ones(n - 1), 0.0))
    f = lambda t, y: np.concatenate([-y[:-1], np.reshape(y[0] + y[-1] - 2.0, (1,))])
    path = integrate.solve(f, (0.0, 1.0), np.ones(n), mass=mass)
    assert path.status == "finished"
    np.testing.assert_allclose(path.last[[0, -1]], [np.exp(-1.0), 2 - np.exp(-1.0)], rtol=1e-5)


@pytest.mark.parametrize("method", ["rodas4", pytest.param("rodas5p", marks=pytest.mark.sweep)])
def test_stages_in_a_loop_for_a_large_right_side(method, monkeypatch):
    """The loop over stages is the same step, with f in it once: also with a mass matrix, and its derivatives."""
    mass = np.array([[2.0, 0.3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    f = lambda t, y, k: np.stack([-k * y[0] + np.sin(t), k * y[0] - y[1] ** 2 * y[2], y[0] + y[1] ** 2 + y[2] - 2.0])
    y0 = np.array([1.0, 0.0, 1.0])

    def solve(k):
        path = integrate.solve(f, (0.0, 2.0), y0, args=(k,), method=method, mass=mass, save=[1.0])
        return np.concatenate([path.values.ravel(), path.last])

    found = []
    for is_large in (False, True):
        monkeypatch.setattr(System, "is_large", is_large)
        solving._programs.clear()
        found.append((solve(1.3), ad.grad(lambda k: np.sum(solve(k) ** 2))(1.3)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)

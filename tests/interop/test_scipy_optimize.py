"""scipy.optimize with derivatives from here: gradients, Hessians, products with them, Jacobians; trees."""

import numpy as np
import pytest
from scipy import optimize

import adjoint as ad


def valley(x):
    """Rosenbrock's function; its minimum is at ones."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


START = np.array([0.7, 1.3, 0.5, 0.9])
SLOPE, CURVATURE = ad.grad(valley), ad.hessian(valley)


def test_derivatives_agree_with_scipys() -> None:
    np.testing.assert_allclose(SLOPE(START), optimize.rosen_der(START), rtol=1e-13)
    np.testing.assert_allclose(CURVATURE(START), optimize.rosen_hess(START), rtol=1e-13)
    v = np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(ad.hvp(valley, (START,), (v,)), optimize.rosen_hess_prod(START, v), rtol=1e-13)
    assert optimize.check_grad(valley, SLOPE, START) < 1e-4


@pytest.mark.parametrize("method", ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP"])
def test_methods_with_a_gradient(method) -> None:
    result = optimize.minimize(valley, START, jac=SLOPE, method=method)
    np.testing.assert_allclose(result.x, np.ones(4), atol=1e-3)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "SLSQP"])
def test_value_and_gradient_in_one_call(method) -> None:
    calls = []

    def counted(x):
        calls.append(x)
        return valley(x)

    result = optimize.minimize(ad.value_and_grad(counted), START, jac=True, method=method)
    np.testing.assert_allclose(result.x, np.ones(4), atol=1e-3)
    assert len(calls) <= result.nfev + 1, "one run of the function for both"


@pytest.mark.parametrize("method", ["Newton-CG", "dogleg", "trust-ncg", "trust-exact", "trust-krylov"])
def test_methods_with_a_hessian(method) -> None:
    start = np.full(4, 1.02) if method == "dogleg" else START  # dogleg needs a Hessian that is positive definite
    result = optimize.minimize(valley, start, jac=SLOPE, hess=CURVATURE, method=method)
    np.testing.assert_allclose(result.x, np.ones(4), atol=1e-4)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov"])
def test_methods_with_products(method) -> None:
    product = lambda x, v: ad.hvp(valley, (x,), (v,))
    result = optimize.minimize(valley, START, jac=SLOPE, hessp=product, method=method)
    np.testing.assert_allclose(result.x, np.ones(4), atol=1e-4)


def test_extra_arguments() -> None:
    f = lambda x, target, weight: weight * np.sum((x - target) ** 4) + np.sum(x**2)
    result = optimize.minimize(ad.value_and_grad(f), np.zeros(3), args=(np.arange(3.0), 5.0), jac=True)
    slope = ad.grad(f)(result.x, np.arange(3.0), 5.0)
    np.testing.assert_allclose(slope, 0.0, atol=1e-4)


def test_constraints() -> None:
    """The point of the unit circle with the largest x + 2y, with Jacobian and Hessian of the constraint."""
    circle = lambda x: np.sum(x**2)
    constraint = optimize.NonlinearConstraint(
        circle, 1.0, 1.0, jac=ad.grad(circle), hess=lambda x, v: v[0] * ad.hessian(circle)(x)
    )
    objective = lambda x: -x[0] - 2.0 * x[1]
    found = optimize.minimize(
        objective,
        np.array([0.3, 0.4]),
        jac=ad.grad(objective),
        hess=ad.hessian(objective),
        constraints=constraint,
        method="trust-constr",
    )
    np.testing.assert_allclose(found.x, np.array([1.0, 2.0]) / np.sqrt(5.0), atol=1e-6)
    old = {"type": "eq", "fun": lambda x: circle(x) - 1.0, "jac": ad.grad(circle)}
    found = optimize.minimize(objective, [0.3, 0.4], jac=ad.grad(objective), constraints=old, method="SLSQP")
    np.testing.assert_allclose(found.x, np.array([1.0, 2.0]) / np.sqrt(5.0), atol=1e-6)


def test_least_squares() -> None:
    t = np.linspace(0.0, 4.0, 30)
    y = 2.5 * np.exp(-1.3 * t) + 0.5
    residual = lambda p: p[0] * np.exp(-p[1] * t) + p[2] - y
    for method in ("trf", "dogbox", "lm"):
        found = optimize.least_squares(residual, np.array([1.0, 1.0, 0.0]), jac=ad.jacobian(residual), method=method)
        np.testing.assert_allclose(found.x, [2.5, 1.3, 0.5], atol=1e-6)


def test_curve_fit() -> None:
    t = np.linspace(0.0, 3.0, 25)
    model = lambda t, a, b: a * np.sin(b * t)
    slopes = lambda t, a, b: np.stack(ad.jacobian(model, argnums=(1, 2))(t, a, b), axis=-1)
    found, _ = optimize.curve_fit(model, t, model(t, 1.7, 2.2), p0=[1.0, 2.0], jac=slopes)
    np.testing.assert_allclose(found, [1.7, 2.2], atol=1e-8)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root(method) -> None:
    system = lambda x: np.stack([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]])
    found = optimize.root(system, np.zeros(2), jac=ad.jacobian(system), method=method)
    np.testing.assert_allclose(system(found.x), 0.0, atol=1e-10)


def test_root_in_one_dimension() -> None:
    """Newton's and Halley's methods with first and second derivative."""
    f = lambda x: np.cos(x) - x
    assert optimize.newton(f, 1.0, fprime=ad.grad(f)) == pytest.approx(0.7390851332151607)
    assert optimize.newton(f, 1.0, fprime=ad.grad(f), fprime2=ad.grad(ad.grad(f))) == pytest.approx(0.7390851332151607)
    found = optimize.root_scalar(f, x0=1.0, fprime=ad.grad(f), fprime2=ad.grad(ad.grad(f)), method="halley")
    assert found.root == pytest.approx(0.7390851332151607)
    square = lambda x: x**2 - 2.0
    np.testing.assert_allclose(optimize.newton(square, np.ones(3), ad.vmap(ad.grad(square))), 2**0.5)


def test_trees_of_parameters() -> None:
    """A network's parameters as one vector; the fit comes back as a tree."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    y = np.tanh(x @ np.array([1.0, -2.0])) * 1.5 + 0.2
    params = {"layers": [{"w": rng.normal(size=(2, 3)), "b": np.zeros(3)}, {"w": rng.normal(size=3), "b": 0.0}]}
    vector, unravel = ad.tree.ravel(params)

    def loss(v):
        first, second = unravel(v)["layers"]
        return np.mean((np.tanh(x @ first["w"] + first["b"]) @ second["w"] + second["b"] - y) ** 2)

    result = optimize.minimize(ad.value_and_grad(loss), vector, jac=True, method="L-BFGS-B")
    assert result.fun < 1e-3 * loss(vector)
    fitted = unravel(result.x)
    assert fitted["layers"][0]["w"].shape == (2, 3)
    assert ad.tree.structure(fitted) == ad.tree.structure(params)


def test_linear_operators() -> None:
    """A product with the Hessian as a SciPy operator: one step of Newton's method by conjugate gradients."""
    from scipy.sparse.linalg import LinearOperator, cg

    f = lambda x: np.sum(np.cosh(x)) + np.sum(x) ** 2 - x[0]
    x = np.array([0.3, -0.2, 0.5])
    _, product = ad.linearize(ad.grad(f), x)
    step, status = cg(LinearOperator((3, 3), matvec=product), ad.grad(f)(x), rtol=1e-12)
    assert status == 0
    np.testing.assert_allclose(ad.hessian(f)(x) @ step, ad.grad(f)(x), atol=1e-10)


def test_differential_equations() -> None:
    """A stiff solver with our Jacobian."""
    from scipy.integrate import solve_ivp

    oscillator = lambda t, y: np.stack([y[1], 50.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])
    jacobian = ad.jacobian(oscillator, argnums=1)
    exact = solve_ivp(oscillator, (0.0, 20.0), [2.0, 0.0], method="BDF", jac=jacobian, rtol=1e-8, atol=1e-8)
    rough = solve_ivp(oscillator, (0.0, 20.0), [2.0, 0.0], method="BDF", rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(exact.y[:, -1], rough.y[:, -1], rtol=1e-4)

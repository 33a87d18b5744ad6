"""Kinks and jumps told apart, Clarke's derivatives, tangent spaces of constraints, derivatives of functionals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.audit import directional, generalized_jacobian, lipschitz, tangent_space

RNG = np.random.default_rng(271)
relu = lambda x: np.maximum(x, 0.0)


def vertices(f, x):
    found = generalized_jacobian(f)(x)
    assert found.exact
    return found.vertices[np.lexsort(found.vertices.reshape(len(found), -1).T)]


@pytest.mark.row("B2.1.d")
def test_derivatives_at_the_ends_of_a_domain():
    """From inside alone: √x at 0 has an infinite slope, x √x has slope 0; beyond the end there is none."""
    product = lambda x: x * np.sqrt(x)
    assert ad.grad(np.sqrt)(0.0) == ad.grad(np.sqrt, side="right")(0.0) == np.inf
    for f in (product, ad.jit(product)):
        assert ad.grad(f, side="right")(0.0) == 0.0
    for f in (np.sqrt, product):
        with pytest.raises(ArithmeticError, match="not defined on the left"):
            ad.grad(f, side="left")(0.0)
    # on [-1, 1]: the quotients of each end from inside, falling with the root of the step for (1 - x²)^1.5
    f = lambda x: (1.0 - x * x) ** 1.5 + 2.0 * x
    for end, side, inward in ((-1.0, "right", 1), (1.0, "left", -1)):
        slope = ad.grad(f, side=side)(end)
        assert slope == pytest.approx(2.0, abs=1e-12)
        errors = [abs((f(end + inward * h) - f(end)) / (inward * h) - slope) for h in (1e-4, 1e-6, 1e-8)]
        assert_allclose(errors, np.sqrt([8e-4, 8e-6, 8e-8]), rtol=1e-2)
    # inside, both sides agree with the derivative; at a kink they are its two slopes
    for x in (0.3, 2.0):
        assert_allclose([ad.grad(product, side=s)(x) for s in ("left", "right")], 1.5 * np.sqrt(x), rtol=1e-15)
    assert [ad.grad(relu, side=s)(0.0) for s in ("left", "right")] == [0.0, 1.0]


@pytest.mark.row("B2.1.e")
def test_jumps_kinks_and_smooth_points_are_told_apart():
    step = lambda x: np.heaviside(x, 0.5)
    assert [ad.kinks(f)(0.0).verdict for f in (step, np.abs, np.sin)] == ["jump", "kink", "smooth"]
    assert [ad.kinks(f)(1.0).verdict for f in (step, np.abs, np.sin)] == ["smooth"] * 3
    # what the words mean: one-sided limits of the value, then of the slope
    h = 1e-7
    sides = lambda f: abs(f(h) - f(-h))
    bend = lambda f: abs((f(h) - f(0.0)) / h - (f(0.0) - f(-h)) / h)
    assert sides(step) == 1.0
    assert sides(np.abs) < 1e-6 < bend(np.abs)
    assert bend(np.sin) < 1e-6


@pytest.mark.row("B2.7.a")
def test_lipschitz_constant_of_the_rectifier():
    constant = lipschitz(relu)(0.0)
    assert constant == 1.0
    x, y = RNG.normal(size=(2, 1000))
    assert np.all(np.abs(relu(x) - relu(y)) <= constant * np.abs(x - y) + 1e-15)


@pytest.mark.row("B2.7.c", "2.7.2a")
@pytest.mark.parametrize("method", ["exact", "sampled"])
def test_generalized_directional_derivatives(method):
    """Of |x| and of -|x| at 0 it is |v|, although the one-sided derivative of -|x| along 1 is -1."""
    for f in (np.abs, lambda x: -np.abs(x)):
        for v in (1.0, -1.0, 2.5):
            # rounding of the quotients is below 1e-16 / 1e-8
            assert directional(f, method=method)(0.0, v) == pytest.approx(abs(v), rel=1e-7)
    assert (-np.abs(1e-8) - 0.0) / 1e-8 == -1.0


@pytest.mark.row("B2.7.d", "2.7.2b")
def test_generalized_gradients():
    assert_allclose(vertices(np.abs, 0.0), [-1.0, 1.0])
    assert_allclose(vertices(relu, 0.0), [0.0, 1.0])
    assert_allclose(vertices(lambda x: np.maximum(x[0], x[1]), np.ones(2)), [[1.0, 0.0], [0.0, 1.0]])
    # g is in the set exactly if ⟨g, v⟩ is never above the generalized directional derivative
    f, x = lambda x: np.abs(x[0]) + np.maximum(x[0], x[1]), np.zeros(2)
    found = generalized_jacobian(f)(x)
    directions = RNG.normal(size=(500, 2))
    bounds = np.array([found.along(v) for v in directions])
    inside = []
    for g in RNG.uniform(-2.0, 2.5, size=(40, 2)):
        inside.append(g in found)
        assert inside[-1] == bool(np.all(directions @ g <= bounds + 1e-12))
    assert 0 < sum(inside) < 40


@pytest.mark.row("B2.7.e", "2.7.2c")
def test_generalized_jacobian_of_rectifiers():
    found = vertices(relu, np.zeros(2))
    corners = [np.diag([a, b]) for b in (0.0, 1.0) for a in (0.0, 1.0)]
    assert_allclose(found, corners)
    hull = generalized_jacobian(relu)(np.zeros(2))
    assert np.diag([0.3, 0.8]) in hull
    assert np.diag([0.3, 1.1]) not in hull
    assert np.array([[0.3, 0.1], [0.0, 0.8]]) not in hull


@pytest.mark.row("B2.7.f")
def test_where_f_is_smooth_the_set_is_the_gradient():
    f = lambda x: np.sum(np.sin(x) * x[::-1]) + relu(x[0])
    x = np.array([0.7, -0.2, 1.1])
    found = vertices(f, x)
    assert len(found) == 1
    assert_allclose(found[0], ad.grad(f)(x), rtol=1e-14)


@pytest.mark.row("B2.6.b", "2.6-ex")
def test_the_tangent_space_of_the_sphere():
    """c(w) = ⟨w, w⟩ - 1: tangents are orthogonal to w, P - 1 of them; ψ(v) = (v, √(1 - ⟨v, v⟩)) stays on it."""
    c = lambda w: np.sum(w * w) - 1.0
    v = np.array([0.3, -0.4, 0.2])
    chart = lambda v: np.concatenate([v, np.sqrt(1.0 - np.sum(v * v, keepdims=True))])
    w = chart(v)
    assert c(w) == pytest.approx(0.0, abs=1e-15)
    h = RNG.normal(size=4)
    assert ad.jvp(c, (w,), (h,))[1] == pytest.approx(2 * w @ h)
    space = tangent_space(c)(w)
    assert space.dimension == 3
    assert_allclose(space.basis @ w, 0.0, atol=1e-15)
    assert_allclose(space.project(h), h - (h @ w) * w, atol=1e-15)
    assert_allclose(space.project(space.project(h)), space.project(h), atol=1e-15)
    # the chart's derivative maps onto the tangent space
    slopes = ad.jacobian(chart)(v).T
    assert np.linalg.matrix_rank(slopes) == 3
    for tangent in slopes:
        assert_allclose(space.project(tangent), tangent, atol=1e-14)


@pytest.mark.row("B2.3.p")
def test_functional_derivatives_are_functions():
    """∂F(f)[h] = ∫ (δF/δf) h dx: δF/δf is f for ∫ ½f², and -f'' for ∫ ½f'² (functions that vanish at both ends).

    f = Σ cₖ sin kx on [0, π] with ∫ sin² kx = π/2; so the representer of ∂F is Σ gₖ sin kx with g = ∇F(c) / (π/2).
    """
    k = np.arange(1, 6)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    nodes, weights = (nodes + 1) * np.pi / 2, weights * np.pi / 2
    value = lambda c, x: np.sin(np.multiply.outer(x, k)) @ c
    slope = lambda c, x: np.cos(np.multiply.outer(x, k)) @ (k * c)

    def representer(F, c):
        g = ad.grad(F)(c) / (np.pi / 2)
        return lambda x: value(g, x)

    c, h = RNG.normal(size=(2, 5))
    energy = lambda c: np.sum(weights * value(c, nodes) ** 2) / 2
    bending = lambda c: np.sum(weights * slope(c, nodes) ** 2) / 2
    x = np.linspace(0.1, 3.0, 9)
    step = 1e-4
    second = (value(c, x + step) - 2 * value(c, x) + value(c, x - step)) / step**2
    assert_allclose(representer(energy, c)(x), value(c, x), rtol=1e-10, atol=1e-12)
    assert_allclose(representer(bending, c)(x), -second, rtol=1e-5, atol=1e-5)
    for F in (energy, bending):
        along = np.sum(weights * representer(F, c)(nodes) * value(h, nodes))
        assert ad.jvp(F, (c,), (h,))[1] == pytest.approx(along, rel=1e-10)

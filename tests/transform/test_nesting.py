"""Transformations nest in any order and depth; no derivative is mistaken for another.

The oracles are mpmath's numerical derivatives (high precision, no rules), closed forms by sympy, and loops.
"""

import itertools
from itertools import product

import mpmath
import numpy as np
import pytest
import sympy

import adjoint as ad
from adjoint.base.errors import AdjointError, LeakError
from tests.support.sweeps import sampled

# ---- each transformation as an operator on functions of one number: (operator, how often it differentiates) ----

OPERATORS = {
    "grad": (lambda f: ad.grad(f), 1),
    "jvp": (lambda f: lambda x: ad.jvp(f, (x,), (1.0,))[1], 1),
    "vjp": (lambda f: lambda x: ad.vjp(f, x)[1](1.0)[0], 1),
    "linearize": (lambda f: lambda x: ad.linearize(f, x)[1](1.0), 1),
    "jet": (lambda f: lambda x: ad.jet(f, (x,), ((1.0, 0.0),))[1][1], 2),
    "vmap": (lambda f: lambda x: ad.vmap(f)(np.stack([2.0 * x, x]))[1], 0),
}
FUNCTIONS = {
    "product": (lambda x: np.sin(x) * np.exp(x), lambda x: mpmath.sin(x) * mpmath.exp(x)),
    "quotient": (lambda x: x**3 / (1.0 + x * x), lambda x: x**3 / (1 + x * x)),
    "composed": (lambda x: np.tanh(np.sqrt(x) + np.log(x)), lambda x: mpmath.tanh(mpmath.sqrt(x) + mpmath.log(x))),
    "indexed": (
        lambda x: np.sum(np.cumprod(np.stack([x, x * x, np.cos(x)]))[1:]),
        lambda x: x**3 + x**3 * mpmath.cos(x),
    ),
    "selected": (lambda x: np.where(x > 0, np.maximum(x, 0.1) ** 2.5, np.nan), lambda x: mpmath.mpf(x) ** 2.5),
    "branched": (lambda x: x * np.exp(x) if x > 0 else x, lambda x: x * mpmath.exp(x)),
    "matrix": (
        lambda x: np.ones(2) @ (np.reshape(np.stack([x, x * x, 1.0 + x, x]), (2, 2)) @ np.stack([x, np.sin(x)])),
        lambda x: x * (x + 1 + x) + mpmath.sin(x) * (x * x + x),
    ),
}
POINT = 0.7
CACHE: dict[tuple[str, int], float] = {}


def derivative_of(name: str, order: int) -> float:
    if (name, order) not in CACHE:
        with mpmath.workdps(60):
            CACHE[name, order] = float(mpmath.diff(FUNCTIONS[name][1], mpmath.mpf(POINT), order))
    return CACHE[name, order]


@pytest.mark.parametrize("name, outermost", sampled(product(FUNCTIONS, OPERATORS), every=5))
def test_all_orders_of_nesting_to_depth_three(name, outermost) -> None:
    for inner in itertools.chain([()], *[itertools.product(OPERATORS, repeat=n) for n in (1, 2)]):
        f, order = FUNCTIONS[name][0], 0
        for word in (*inner, outermost):
            operator, times = OPERATORS[word]
            f, order = operator(f), order + times
        expected = derivative_of(name, order)
        assert f(POINT) == pytest.approx(expected, rel=1e-9, abs=1e-9), " of ".join((outermost, *reversed(inner)))


@pytest.mark.parametrize("outer, middle, inner", sampled(product(OPERATORS, repeat=3), every=5))
def test_inner_derivatives_of_functions_that_close_over_outer_variables(outer, middle, inner) -> None:
    """outer of x ↦ x · middle of (y ↦ y · inner of (z ↦ sin(x y z)) at z = x + y) at y = x²."""
    x, y, z = sympy.symbols("x y z")
    (a, na), (b, nb), (c, nc) = OPERATORS[outer], OPERATORS[middle], OPERATORS[inner]
    deep = sympy.diff(sympy.sin(x * y * z), z, nc).subs(z, x + y)
    middle_form = sympy.diff(y * deep, y, nb).subs(y, x**2)
    expected = sympy.diff(x * middle_form, x, na).subs(x, POINT).evalf()

    def f(x):
        return x * b(lambda y: y * c(lambda z: np.sin(x * y * z))(x + y))(x * x)

    assert a(f)(POINT) == pytest.approx(float(expected), rel=1e-9)


# ---- the classics ----


DERIVATIVES = {name: operator for name, (operator, times) in OPERATORS.items() if times == 1}


@pytest.mark.parametrize("outer", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_perturbations_are_kept_apart(outer, inner) -> None:
    d, e = DERIVATIVES[outer], DERIVATIVES[inner]
    assert d(lambda x: x * e(lambda y: x + y)(1.0))(1.0) == 1.0  # not 2
    assert d(lambda x: x * e(lambda y: x * y)(2.0))(3.0) == 6.0
    assert d(lambda x: e(lambda y: x)(1.0) * x)(5.0) == 0.0
    assert d(lambda x: x * e(lambda _: x * x)(1.0) + x)(5.0) == 1.0
    assert d(lambda x: e(lambda y: y * y * x)(x))(3.0) == 12.0  # d/dx 2x²


@pytest.mark.parametrize("word", DERIVATIVES)
def test_a_curried_shift_differentiated_twice(word) -> None:
    """The shift s(u)(f)(x) = f(x + u): D = ∂/∂u s(u) at 0 is d/dx, and D(D(h)) must be h'', though s(u) holds u."""
    d = DERIVATIVES[word]
    shift = lambda u: lambda f: lambda x: f(x + u)
    D = lambda f: lambda x: d(lambda u: shift(u)(f)(x))(0.0)
    assert D(np.exp)(1.0) == pytest.approx(np.e, rel=1e-14)
    assert D(D(np.sin))(1.0) == pytest.approx(-np.sin(1.0), rel=1e-14)
    assert D(D(D(lambda x: x**5)))(1.0) == pytest.approx(60.0, rel=1e-13)
    assert d(lambda y: D(D(np.sin))(y) * y)(1.0) == pytest.approx(-np.sin(1.0) - np.cos(1.0), rel=1e-13)


def test_a_closure_that_escapes_raises_when_it_is_called() -> None:
    def f(x):
        return x * x, lambda y: x * y

    gradient, escaped = ad.grad(f, has_aux=True)(3.0)
    assert gradient == 6.0
    with pytest.raises(LeakError, match=r"outlived.*reverse mode"):
        escaped(2.0)


def test_a_function_is_no_result() -> None:
    with pytest.raises(AdjointError, match="function"):
        ad.grad(lambda x: lambda y: x * y)(1.0)
    with pytest.raises(AdjointError, match="function"):
        ad.jvp(lambda x: lambda y: x * y, (1.0,), (1.0,))


def test_higher_order_functions_with_traced_arguments() -> None:
    """A functional that differentiates its argument, itself differentiated in the function's own parameter."""
    energy = lambda f, x: 0.5 * ad.grad(f)(x) ** 2 + f(x)
    by_parameter = ad.grad(lambda a: energy(lambda x: np.sin(a * x), 2.0))(1.5)
    a, x = sympy.symbols("a x")
    form = sympy.diff(sympy.sin(a * x), x) ** 2 / 2 + sympy.sin(a * x)
    assert by_parameter == pytest.approx(float(sympy.diff(form, a).subs({a: 1.5, x: 2.0})), rel=1e-13)


def test_newton_inside_a_gradient() -> None:
    """A root found by Newton's method with an inner derivative, differentiated from outside: x(a)² = a."""

    def root(a):
        x = a
        for _ in range(8):
            f = lambda x: x * x - a
            x = x - f(x) / ad.grad(f)(x)
        return x

    assert ad.grad(root)(2.0) == pytest.approx(0.5 / np.sqrt(2), rel=1e-14)
    assert ad.grad(ad.grad(root))(2.0) == pytest.approx(-0.25 * 2**-1.5, rel=1e-13)
    np.testing.assert_allclose(ad.vmap(ad.grad(root))(np.array([1.0, 2.0, 3.0])), 0.5 / np.sqrt([1.0, 2.0, 3.0]))


def test_interleaved_tapes() -> None:
    """Two pullbacks taken before either is used."""

    def f(x):
        a, back_a = ad.vjp(np.sin, x)
        b, back_b = ad.vjp(np.exp, x * a)
        return back_b(a)[0] * back_a(b)[0]

    x = sympy.symbols("x")
    form = sympy.exp(x * sympy.sin(x)) * sympy.sin(x) * sympy.cos(x) * sympy.exp(x * sympy.sin(x))
    assert f(0.8) == pytest.approx(float(form.subs(x, 0.8)), rel=1e-14)
    assert ad.grad(f)(0.8) == pytest.approx(float(sympy.diff(form, x).subs(x, 0.8)), rel=1e-13)
    assert ad.jvp(ad.grad(f), (0.8,), (1.0,))[1] == pytest.approx(float(sympy.diff(form, x, 2).subs(x, 0.8)), rel=1e-12)


def test_a_pullback_used_inside_an_outer_transformation() -> None:
    """The pullback was recorded outside; its argument is traced."""
    _, pullback = ad.vjp(lambda x: np.sin(x) * x, np.array([0.3, 0.4]))
    slope = np.cos([0.3, 0.4]) * [0.3, 0.4] + np.sin([0.3, 0.4])
    g = ad.grad(lambda u: np.sum(pullback(u * u)[0]))(np.array([2.0, 3.0]))
    np.testing.assert_allclose(g, 2 * np.array([2.0, 3.0]) * slope, rtol=1e-14)
    np.testing.assert_allclose(ad.vmap(lambda u: pullback(u)[0])(np.eye(2)), np.diag(slope), rtol=1e-14)
    _, pushforward = ad.linearize(lambda x: np.sin(x) * x, np.array([0.3, 0.4]))
    np.testing.assert_allclose(ad.vmap(pushforward)(np.eye(2)), np.diag(slope), rtol=1e-14)
    g = ad.grad(lambda v: np.sum(pushforward(v) ** 2))(np.array([2.0, 3.0]))
    np.testing.assert_allclose(g, 2 * slope**2 * [2.0, 3.0], rtol=1e-14)


# ---- several variables ----

RNG = np.random.default_rng(3)
MATRIX, BATCH = RNG.normal(size=(3, 3)), RNG.normal(size=(4, 3))


def scalar(x):
    return np.sum(np.tanh(MATRIX @ x) * x[::-1]) + np.prod(x)


def loop_gradient(x):
    """The gradient of `scalar` by the complex step."""
    plain = lambda x: np.sum(np.tanh(MATRIX @ x) * x[::-1]) + np.prod(x)
    return np.array([plain(x + 1e-30j * e).imag / 1e-30 for e in np.eye(3)])


def test_vmap_in_grad_in_vmap_in_jvp() -> None:
    """Lanes of a gradient of a mapped sum, pushed forward in t; against loops and differences."""

    def inner(x, t):
        return np.sum(ad.vmap(lambda a: scalar(a * x))(BATCH)) * t

    def h(t):
        return ad.vmap(lambda x: ad.grad(inner)(x * t, t))(BATCH)

    def plain(t):
        rows = []
        for x in BATCH:
            rows.append(sum(a * loop_gradient(a * x * t) for a in BATCH) * t)
        return np.stack(rows)

    value, slope = ad.jvp(h, (0.9,), (1.0,))
    np.testing.assert_allclose(value, plain(0.9), rtol=1e-12)
    step = 1e-3
    by_differences = (
        sum(c * plain(0.9 + k * step) for k, c in ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))) / step
    )
    np.testing.assert_allclose(slope, by_differences, rtol=1e-8, atol=1e-9)


def test_hessians_in_six_ways() -> None:
    x = BATCH[0]
    hessian = np.stack([ad.jvp(ad.grad(scalar), (x,), (e,))[1] for e in np.eye(3)])
    by_step = np.stack([(loop_gradient(x + 1e-5 * e) - loop_gradient(x - 1e-5 * e)) / 2e-5 for e in np.eye(3)])
    np.testing.assert_allclose(hessian, by_step, rtol=1e-7, atol=1e-8)
    gradient = ad.grad(scalar)
    ways = [
        np.stack([ad.vjp(gradient, x)[1](e)[0] for e in np.eye(3)]),
        np.stack([ad.grad(lambda y, e=e: gradient(y) @ e)(x) for e in np.eye(3)]),
        np.stack([ad.grad(lambda y, e=e: ad.jvp(scalar, (y,), (e,))[1])(x) for e in np.eye(3)]),
        np.stack([ad.linearize(gradient, x)[1](e) for e in np.eye(3)]),
        ad.vmap(lambda e: ad.jvp(gradient, (x,), (e,))[1])(np.eye(3)),
        ad.vmap(lambda e: ad.vjp(gradient, x)[1](e)[0])(np.eye(3)),
        np.stack([ad.jet(gradient, (x,), ((e,),))[1][0] for e in np.eye(3)]),
    ]
    for way in ways:
        np.testing.assert_allclose(way, hessian, rtol=1e-12, atol=1e-13)
    for e in RNG.normal(size=(3, 3)):
        assert ad.jet(scalar, (x,), ((e, np.zeros(3)),))[1][1] == pytest.approx(e @ hessian @ e, rel=1e-12)


def test_jet_in_grad() -> None:
    """y'' = f'(x) x₂ + f''(x) x₁² along the curve (x, x₁ = x, x₂ = x²), differentiated in x."""
    f = lambda x: ad.jet(np.sin, (x,), ((x, x * x),))[1][1]
    x = sympy.symbols("x")
    form = sympy.cos(x) * x**2 - sympy.sin(x) * x**2
    assert f(0.6) == pytest.approx(float(form.subs(x, 0.6)), rel=1e-14)
    assert ad.grad(f)(0.6) == pytest.approx(float(sympy.diff(form, x).subs(x, 0.6)), rel=1e-13)
    assert ad.vmap(ad.grad(f))(np.array([0.6, 0.7]))[0] == pytest.approx(ad.grad(f)(0.6), rel=1e-14)
    assert ad.jet(ad.grad(f), (0.6,), ((1.0, 0.0),))[1][1] == pytest.approx(
        float(sympy.diff(form, x, 3).subs(x, 0.6)), rel=1e-12
    )


def test_ten_nested_gradients() -> None:
    """exp(2x): each level doubles; and the tenth derivative of x¹⁰ is 10!."""
    f, g = lambda x: np.exp(2.0 * x), lambda x: x**10
    for _ in range(5):
        f, g = ad.grad(f), ad.grad(g)
    assert f(0.1) == pytest.approx(32 * np.exp(0.2), rel=1e-12)
    assert g(1.0) == pytest.approx(30240.0, rel=1e-12)
    for _ in range(5):
        g = OPERATORS["jvp"][0](g)
    assert g(1.0) == pytest.approx(3628800.0, rel=1e-12)


def test_vmap_of_branches_inside_gradients() -> None:
    """Lanes that take different branches, differentiated from outside and from inside."""
    f = lambda x: np.sin(x) if x > 0 else x**2 if x > -1 else np.exp(x)
    xs = np.array([0.5, -0.5, -2.0, 1.5])
    slopes = np.array([np.cos(0.5), -1.0, np.exp(-2.0), np.cos(1.5)])
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(xs), slopes, rtol=1e-14)
    np.testing.assert_allclose(ad.grad(lambda xs: np.sum(ad.vmap(f)(xs)))(xs), slopes, rtol=1e-14)
    np.testing.assert_allclose(ad.jvp(ad.vmap(f), (xs,), (np.ones(4),))[1], slopes, rtol=1e-14)
    np.testing.assert_allclose(
        ad.vmap(lambda x: ad.vmap(f)(x * xs))(xs), [[f(a * b) for b in xs] for a in xs], rtol=1e-14
    )
    second = np.array([-np.sin(0.5), 2.0, np.exp(-2.0), -np.sin(1.5)])
    np.testing.assert_allclose(ad.vmap(ad.grad(ad.grad(f)))(xs), second, rtol=1e-13)


@pytest.mark.parametrize("order", list(itertools.permutations(["grad", "vmap", "jvp"])))
def test_trees_through_every_order(order) -> None:
    """A model with a tree of parameters; the order of transformations does not matter to the answer."""
    params = {"w": MATRIX, "b": (BATCH[1], 0.5)}
    move = {"w": MATRIX.T, "b": (BATCH[2], -1.0)}

    def loss(p, x):
        return np.sum(np.tanh(p["w"] @ x + p["b"][0]) ** 2) * p["b"][1]

    expected = ad.jvp(lambda p: [ad.grad(loss)(p, x) for x in BATCH], (params,), (move,))[1]
    g = ad.grad(loss)
    if order.index("vmap") < order.index("jvp"):
        found = ad.vmap(lambda x: ad.jvp(lambda p: g(p, x), (params,), (move,))[1])(BATCH)
    else:
        found = ad.jvp(lambda p: ad.vmap(lambda x: g(p, x))(BATCH), (params,), (move,))[1]
    if order.index("grad") < order.index("jvp"):
        other = ad.vmap(lambda x: ad.grad(lambda p: ad.jvp(lambda q: loss(q, x), (p,), (move,))[1])(params))(BATCH)
        np.testing.assert_allclose(other["w"], found["w"], rtol=1e-12)
    for k, row in enumerate(expected):
        np.testing.assert_allclose(found["w"][k], row["w"], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found["b"][0][k], row["b"][0], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found["b"][1][k], row["b"][1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("at", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)], ids=str)
def test_a_cotangent_that_is_zero_here_still_moves(at) -> None:
    """Third derivatives by reverse mode over reverse mode, at points where inner cotangents vanish exactly."""
    x = np.array(at)
    units = np.eye(3)

    def f(x):
        return np.exp(x[0] * x[1]) * (1 + x[2]) ** 3.0 + np.sum(x[:2]) * np.sqrt(1 + x[2] ** 2) * x[0]

    pulled = lambda h, e: lambda x: np.sum(ad.grad(h)(x) * e)
    pushed = lambda h, e: lambda x: ad.jvp(h, (x,), (e,))[1]
    for d, e, g in itertools.product(units, repeat=3):
        wanted = pushed(pushed(pushed(f, d), e), g)(x)
        np.testing.assert_allclose(pushed(pulled(pulled(f, d), e), g)(x), wanted, atol=1e-12)
        np.testing.assert_allclose(pulled(pulled(pulled(f, d), e), g)(x), wanted, atol=1e-12)


@pytest.mark.parametrize("inner", ["checkpoint", "scan", "while_loop"])
@pytest.mark.parametrize("rule", ["svd", "eigvalsh", "cumprod", "sort"])
def test_rules_that_run_while_an_inner_function_is_traced(rule: str, inner: str) -> None:
    """What a rule makes belongs to its transformation, not to the body whose closure has brought the value there."""
    operations = {
        "svd": lambda x: np.linalg.svd(x + np.eye(2), compute_uv=False),
        "eigvalsh": lambda x: np.linalg.eigvalsh(x @ x.T + np.diag([1.0, 3.0])),
        "cumprod": lambda x: np.cumprod(x, axis=0)[0],
        "sort": lambda x: np.sort(x, axis=None)[:2],
    }
    bodies = {
        "checkpoint": lambda g, y: ad.checkpoint(lambda z: z * g())(y),
        "scan": lambda g, y: ad.scan(lambda c, t: (c * g() * t, None), y, np.array([1.0, 0.5]))[0],
        "while_loop": lambda g, y: ad.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[1] * g()), (0, y))[1],
    }
    f = lambda x: np.sum(bodies[inner](lambda: operations[rule](np.tanh(x)), x[0]))
    x, v = np.array([[0.3, 0.5], [0.7, 0.2]]), np.array([[1.0, -2.0], [0.5, 0.3]])
    curvature = lambda x: ad.jvp(ad.grad(f), (x,), (v,))[1]
    expected = (ad.grad(f)(x + 1e-5 * v) - ad.grad(f)(x - 1e-5 * v)) / 2e-5
    batch = np.stack([x, x])
    for value in (curvature(x), ad.jit(curvature)(x), *ad.vmap(curvature)(batch), *ad.jit(ad.vmap(curvature))(batch)):
        np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-8)


def test_a_gradient_of_a_branch_in_nested_batches() -> None:
    """What the rules of a backward pass make is no value of the tape that it reads."""

    def f(x):
        if np.sum(x) > 0.2:
            y = x * 2.0
        else:
            y, n = x.copy(), 0
            values = np.linalg.svd(np.outer(x, x) + np.diag([1.0, 2.0, 3.0]), compute_uv=False)
            while n < 2 and np.sum(np.abs(y)) < 1e9:
                y[n % 3] = np.tanh(y)[n % 3]
                n += 1
            y = y + np.sum(values)
        return np.sum(np.sin(y))

    xs = np.array([[0.1, 0.4, 0.7], [-0.5, 0.2, 0.1]])
    expected = np.stack([ad.grad(f)(x) for x in xs])
    twice = lambda xs: ad.vmap(ad.vmap(ad.grad(f)))(np.stack([xs, xs]))[1]
    for g in (twice(xs), ad.jit(twice)(xs)):
        np.testing.assert_allclose(g, expected, rtol=1e-12)

"""Two seconds that tell whether the library is alive: each transformation once, on values known from elsewhere."""

import inspect
import math
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad


def f(x):
    c = x**2 + np.exp(x**2)
    return np.sqrt(c) + np.cos(c)


def test_reverse_mode_against_the_complex_step() -> None:
    assert ad.grad(f)(1.0) == pytest.approx(f(1.0 + 1e-30j).imag / 1e-30, rel=1e-14)


def test_forward_mode_against_the_complex_step() -> None:
    value, slope = ad.jvp(f, (1.0,), (1.0,))
    assert (value, slope) == pytest.approx((f(1.0), f(1.0 + 1e-30j).imag / 1e-30), rel=1e-14)


def test_compiled_against_the_complex_step() -> None:
    compiled = ad.jit(ad.grad(f))
    assert [compiled(x) for x in (1.0, 0.5)] == pytest.approx(
        [f(x + 1e-30j).imag / 1e-30 for x in (1.0, 0.5)], rel=1e-13
    )


def test_nested_orders_against_taylor_mode() -> None:
    nested, orders = f, []
    for _ in range(4):
        nested = ad.grad(nested)
        orders.append(nested(1.0))
    assert ad.jet(f, (1.0,), ((1.0, 0.0, 0.0, 0.0),))[1] == pytest.approx(orders, rel=1e-11)


def test_vmap_against_a_loop() -> None:
    xs = np.linspace(0.1, 1.0, 7)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(xs), [ad.grad(f)(x) for x in xs], rtol=1e-14)


def test_pullback_and_pushforward_are_adjoint() -> None:
    rng = np.random.default_rng(0)
    x, v, u = rng.normal(size=(3, 4))
    matrix = rng.normal(size=(4, 4))

    def g(x):
        return np.tanh(matrix @ x) * x[::-1]

    _, pushforward = ad.linearize(g, x)
    _, pullback = ad.vjp(g, x)
    assert u @ pushforward(v) == pytest.approx(pullback(u)[0] @ v, rel=1e-13)
    np.testing.assert_allclose(ad.jacobian(g)(x) @ v, pushforward(v), rtol=1e-12)


def test_hessian_of_a_quadratic_form() -> None:
    matrix = np.arange(9.0).reshape(3, 3)
    np.testing.assert_allclose(ad.hessian(lambda x: x @ matrix @ x)(np.ones(3)), matrix + matrix.T)


def test_loops_of_all_kinds() -> None:
    def by_python(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = (x + a / x) / 2
        return x

    def by_while_loop(a):
        return ad.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)

    def by_scan(a):
        return ad.scan(lambda x, _: ((x + a / x) / 2, None), a, None, length=8)[0]

    for root in (by_python, by_while_loop, by_scan):
        assert ad.value_and_grad(root)(2.0) == pytest.approx((math.sqrt(2), 0.5 / math.sqrt(2)), rel=1e-12)


def test_trees_and_assignment() -> None:
    def g(p):
        y = p["x"] * 1.0
        y[0] += p["b"] ** 2
        return np.sum(y**2)

    slopes = ad.grad(g)({"x": np.array([1.0, 2.0]), "b": 3.0})
    np.testing.assert_allclose(slopes["x"], [20.0, 4.0])
    assert slopes["b"] == pytest.approx(120.0)


def test_perturbations_are_not_confused() -> None:
    assert ad.grad(lambda x: x * ad.grad(lambda y: x + y)(2.0))(1.0) == 1.0


def test_a_dropped_derivative_raises() -> None:
    assert ad.grad(lambda x: math.sin(x))(0.0) == 1.0
    assert ad.grad(ad.convert(lambda x: math.sin(x)))(0.0) == 1.0
    with pytest.raises(TypeError, match=r"np\.sin"):
        ad.grad(ad.do_not_convert(lambda x: math.sin(x)))(1.0)
    assert "ad·call(math.sin)" in ad.show_converted(lambda x: math.sin(x))


def test_other_ways_to_a_jacobian_and_hessian() -> None:
    g = lambda x: np.stack([x[0] * x[1], np.sin(x[1])])
    expected = [[2.0, 1.0], [0.0, math.cos(2.0)]]
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(ad.jacfwd(g)(x), expected)
    np.testing.assert_allclose(ad.jacrev(g)(x), expected)
    np.testing.assert_allclose(ad.hvp(lambda x: x[0] ** 2 * x[1], (x,), (np.array([1.0, 0.0]),)), [4.0, 2.0])
    np.testing.assert_allclose(ad.linear_transpose(lambda x: np.cumsum(x), x)(np.array([1.0, 10.0]))[0], [11.0, 10.0])
    assert ad.grad(lambda x: x * ad.stop_gradient(x))(3.0) == 3.0


def test_branches_and_short_loops() -> None:
    assert ad.grad(lambda x: ad.cond(x > 0, np.sin, np.cos, x))(1.0) == pytest.approx(math.cos(1.0))
    assert ad.grad(lambda x: ad.switch(1, [np.sin, np.exp], x))(1.0) == pytest.approx(math.e)
    assert ad.grad(lambda x: ad.fori_loop(0, 3, lambda i, y: y * x, 1.0))(2.0) == pytest.approx(12.0)
    np.testing.assert_allclose(ad.map(np.sin, np.arange(3.0)), np.sin(np.arange(3.0)))
    np.testing.assert_allclose(ad.associative_scan(np.add, np.arange(4.0)), np.cumsum(np.arange(4.0)))


def test_rules_of_ones_own_and_recomputation() -> None:
    straight = ad.custom_rule(np.floor, jvp=lambda primals, tangents: (np.floor(primals[0]), tangents[0]))
    assert ad.grad(lambda x: straight(x) ** 2)(2.7) == 4.0
    assert ad.grad(ad.checkpoint(f))(1.0) == pytest.approx(ad.grad(f)(1.0), rel=1e-14)
    assert ad.grad(lambda x: ad.checkpoint_name(f(x), "kept"))(1.0) == ad.grad(f)(1.0)


def test_programs(tmp_path) -> None:
    program = ad.trace(f)(1.0)
    assert "exp" in str(program)
    assert program(0.5) == f(0.5)
    program.save(tmp_path / "f.program")
    assert ad.load(tmp_path / "f.program")(0.5) == f(0.5)
    assert ad.trace(f)(ad.ArrayType((), np.dtype(float)))(0.5) == f(0.5)
    assert ad.export(f, 1.0, name="f")(0.5) == f(0.5)


def test_looking_inside(capsys) -> None:
    def g(x):
        ad.debug.print("x = {}", x)
        ad.check(x > 0, "x must be positive")
        with ad.scope("root"):
            return np.sqrt(x)

    assert ad.grad(g)(4.0) == 0.25
    assert capsys.readouterr().out == "x = 4.0\n"
    with pytest.raises(ValueError, match="must be positive"):
        ad.grad(g)(-1.0)
    assert list(ad.progress(range(3), "counting")) == [0, 1, 2]


def test_namespaces() -> None:
    """Arrays that can be assigned to, SciPy's functions, random numbers, containers."""

    def g(x):
        y = ad.numpy.zeros(2)
        y[0] = x
        return np.sum(y**2) + ad.scipy.special.logsumexp(y * 0.0)

    assert ad.grad(g)(3.0) == pytest.approx(6.0)
    draw = lambda scale: ad.random.default_rng(0).normal(0.0, scale)
    assert ad.grad(draw)(2.0) == pytest.approx(draw(2.0) / 2.0)
    assert ad.tree.leaves({"a": 1, "b": (2, 3)}) == [1, 2, 3]
    np.testing.assert_allclose(ad.signal.conv(np.arange(4.0), [1.0, 2.0], channels=None), [2.0, 5.0, 8.0])
    np.testing.assert_allclose(ad.grad(lambda a: np.linalg.slogdet(a)[1])(np.diag([2.0, 4.0])), np.diag([0.5, 0.25]))


def test_second_order() -> None:
    value, gradient, hessian = ad.curvature.backpropagate(lambda x: x**3)(2.0)
    assert (value, gradient, hessian) == (8.0, 12.0, 12.0)


def test_sparse_derivatives() -> None:
    J = ad.sparse.jacobian(lambda x: x[1:] * x[:-1])(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(J.toarray(), [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]])


def test_linear_maps() -> None:
    A = ad.linear.diagonal(np.array([1.0, 2.0])) + ad.linear.low_rank(np.ones(2))
    np.testing.assert_allclose(A @ A.solve(np.array([3.0, 4.0])), [3.0, 4.0])
    assert A.has("positive definite")


def test_high_orders() -> None:
    assert ad.derivative(np.exp, 20)(0.3) == pytest.approx(math.exp(0.3), rel=1e-14)
    assert ad.taylor(np.sin, 0.0, 3)[3] == pytest.approx(-1 / 6)
    assert ad.partials(lambda x: x[0] ** 2 * x[1], 3)(np.ones(2))[2, 1] == pytest.approx(2.0)
    assert ad.laplacian(lambda x: np.sum(x**3))(np.array([1.0, 2.0])) == pytest.approx(18.0)


def test_gradients_from_random_directions() -> None:
    found = ad.forward_gradient(lambda x: np.sum(x**2), samples=4000, probes="signs")(0, np.array([1.0, -2.0]))
    np.testing.assert_allclose(found.value, [2.0, -4.0], atol=5 * np.max(found.error))


def test_audits() -> None:
    assert ad.audit.cost is ad.cost
    assert ad.cost(lambda x: x * x + x)(3.0).value.flops == 2
    assert ad.kinks(np.abs)(0.0).verdict == "kink"
    assert "v₁ = sin(v₀)" in str(ad.explain(np.sin)(0.5))
    assert ad.profile(np.sin, seconds=0.0)(0.5).by_primitive()["sin"][2] == 1


def test_checks_and_extensions() -> None:
    ad.check_grads(np.tanh, (0.3,))
    assert ad.testing.check_grads is ad.check_grads
    assert ad.extend.PRIMITIVES["Scan"].is_loop


def test_the_derivative_of_a_root() -> None:
    cube_root = ad.implicit.root(lambda x, a: x**3 - a, lambda a: np.cbrt(a))
    found = ad.optimize.minimize(lambda x: np.sum((x - 1.0) ** 2), np.zeros(2))
    np.testing.assert_allclose(found.value, 1.0, atol=1e-6)
    assert ad.grad(cube_root)(8.0) == pytest.approx(1 / 12, rel=1e-12)


def test_a_differential_equation() -> None:
    decay = lambda k: ad.integrate.solve(lambda t, y: -k * y, (0.0, 1.0), 1.0, rtol=1e-9).last
    assert ad.grad(decay)(0.5) == pytest.approx(-np.exp(-0.5), rel=1e-6)


def test_a_layer() -> None:
    np.testing.assert_array_equal(ad.vmap(ad.grad(ad.nn.relu))(np.array([-1.0, 0.0, 1.0])), [0.0, 0.0, 1.0])


def test_batches() -> None:
    sizes = [len(batch.indices) for batch in ad.data.arrays(x=np.arange(5.0)).batches(2, last="keep")]
    assert sizes == [2, 2, 1]


def test_settings() -> None:
    before = ad.config.threads
    with ad.config.override(threads=before + 1):
        assert ad.config.threads == before + 1
    assert ad.config.threads == before


def test_every_public_name_is_tried_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    names = [name for name in ad.__all__ if not inspect.isclass(getattr(ad, name))]  # errors have tests of their own
    untried = sorted(name for name in names if f"ad.{name}" not in text)
    assert not untried, f"give these a line in test_tiny.py: {untried}"


def test_memory_on_the_way_back() -> None:
    def chain(x, slots):
        return ad.scan(lambda x, _: (np.sin(x) * 1.1, None), x, length=8, checkpoint=slots)[0]

    assert ad.grad(chain)(0.5, 2) == pytest.approx(ad.grad(chain)(0.5, None), rel=1e-14)
    assert ad.memory.schedule(2, 8).calls == 14
    assert ad.grad(ad.checkpoint(lambda x: ad.checkpoint_name(x * x, "square") ** 2))(3.0) == 108.0
    assert ad.grad(ad.reversible(lambda x: np.exp(x) * 2))(0.0) == 2.0
    assert ad.memory_report(np.sum)(np.ones(1000)).results == 8008

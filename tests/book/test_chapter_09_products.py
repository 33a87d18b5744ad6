"""Second-order automatic differentiation: products of Hessians with vectors, and models of second order."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.api.hessian_products import HVP_MODES
from adjoint.curvature import gauss_newton_product, hvp_times, predicted_hvp_costs, quadratic_model
from adjoint.program.program import Var
from adjoint.simplify.costs import program_cost
from adjoint.testing import precise
from tests.book.recording import names, recorded

RNG = np.random.default_rng(91)
FORWARD_REVERSE, REVERSE_REVERSE, REVERSE_FORWARD, FORWARD_FORWARD = HVP_MODES


def chain(K, P, seed=0):
    """x ↦ ½‖tanh(W_K … tanh(W₁ x))‖²: K maps from R^P to R^P."""
    Ws = np.random.default_rng(seed).normal(size=(K, P, P)) / np.sqrt(P)

    def f(x):
        for W in Ws:
            x = np.tanh(W @ x)
        return 0.5 * np.sum(x**2)

    return f


def peak(f, x, v, mode):
    """The most memory that a product takes at a time, in arrays of the size of x."""
    ad.hvp(f, (x,), (v,), mode=mode)
    tracemalloc.start()
    ad.hvp(f, (x,), (v,), mode=mode)
    found = tracemalloc.get_traced_memory()[1] / x.nbytes
    tracemalloc.stop()
    return found


def elementwise(K):
    """A chain whose maps cost P, not P²: what is stored shows in the memory."""

    def f(x):
        for k in range(K):
            x = np.sin(x) * (1.0 + k / 10)
        return np.sum(x**2)

    return f


def work(f, x, mode):
    """The cost of a product, from its program."""
    return program_cost(recorded(lambda x, v: ad.hvp(f, (x,), (v,), mode=mode), x, np.ones_like(x)))


@pytest.mark.row("9.1.1-1")
@pytest.mark.row("9.1.1-2")
@pytest.mark.row("9.1.1-3")
@pytest.mark.row("9.1.1-4")
@pytest.mark.parametrize("K, P, seed", [(1, 3, 0), (3, 5, 1), (6, 4, 2)])
def test_four_ways_to_a_product(K, P, seed):
    """∂(∇f)*[v] = ∂(∇f)[v] = ∇(∂f[v]) = (∂²f[v, eᵢ])ᵢ, to 1e-12 on random networks."""
    f = chain(K, P, seed)
    x, v = np.random.default_rng(seed).normal(size=(2, P))
    exact = ad.hessian(f)(x) @ v
    found = [ad.hvp(f, (x,), (v,), mode=mode) for mode in HVP_MODES]
    for product in found:
        assert_allclose(product, exact, rtol=1e-12, atol=1e-12)
        assert_allclose(product, found[0], rtol=1e-12, atol=1e-12)
    difference = (ad.grad(f)(x + 1e-4 * v) - ad.grad(f)(x - 1e-4 * v)) / 2e-4
    assert_allclose(found[0], difference, rtol=1e-6, atol=1e-7)


@pytest.mark.row("9.1.1-1")
@pytest.mark.row("9.1.1-2")
@pytest.mark.row("9.1.1-3")
def test_against_differences_with_many_digits():
    """The same function written with mpmath: ∂²f[v, eᵢ] to 15 digits."""
    import mpmath

    x, v = np.array([0.3, -0.7]), np.array([1.5, 0.25])
    f = lambda x: np.exp(x[0] * x[1]) * np.sin(x[1]) + np.tanh(x[0]) ** 2
    exact = lambda a, b: mpmath.exp(a * b) * mpmath.sin(b) + mpmath.tanh(a) ** 2
    for i, e in enumerate(np.eye(2)):
        along = lambda a, b, e=e: precise.mp_difference(exact, a, b, direction=tuple(e), digits=40)
        wanted = float(precise.mp_difference(along, *x, direction=tuple(v), digits=20))
        for mode in HVP_MODES:
            assert_allclose(ad.hvp(f, (x,), (v,), mode=mode)[i], wanted, rtol=1e-14)


@pytest.mark.row("9.1.1-1")
@pytest.mark.row("9.1.1-3")
@pytest.mark.parametrize("mode", HVP_MODES[:3])
def test_time_and_memory_of_the_first_three(mode):
    """O(K P²) work and O(K P) memory: both grow with K alone, work with the square of P."""
    x = np.ones(64)
    assert 1.8 < work(chain(16, 64), x, mode) / work(chain(8, 64), x, mode) < 2.2
    assert 3 < work(chain(4, 256), np.ones(256), mode) / work(chain(4, 128), np.ones(128), mode) < 4.5
    large = np.linspace(0.1, 1.0, 20_000)
    short, long = (peak(elementwise(K), large, large, mode) for K in (20, 80))
    assert long - short > 60  # K values at least are kept
    assert long < 5 * short


@pytest.mark.row("9.1.1-2")
def test_forward_over_reverse_is_the_default_and_keeps_least():
    """It follows the graph of the gradient and keeps nothing beside: not the r_k that reverse over reverse stores."""
    x = np.linspace(0.1, 1.0, 20_000)
    f = elementwise(40)
    ours, other = (peak(f, x, x, mode) for mode in (FORWARD_REVERSE, REVERSE_REVERSE))
    assert ours <= other
    costs = predicted_hvp_costs(chain(5, 30), (np.ones(30),))
    chosen = ad.hvp(chain(5, 30), (np.ones(30),), (np.ones(30),))
    assert costs[FORWARD_REVERSE] <= 1.2 * min(costs.values())
    assert np.array_equal(chosen, ad.hvp(chain(5, 30), (np.ones(30),), (np.ones(30),), mode=FORWARD_REVERSE))


@pytest.mark.row("9.1.1-4")
def test_forward_over_forward_stores_nothing_but_takes_p_times_as_long():
    """Four arrays for each direction that is pushed, whatever K; P second derivatives one by one."""
    x = np.linspace(0.1, 1.0, 300)
    short, long = (peak(elementwise(K), x, x, FORWARD_FORWARD) for K in (20, 200))
    assert long < 1.1 * short
    ratios = [work(chain(3, P), np.ones(P), FORWARD_FORWARD) / work(chain(3, P), np.ones(P), FORWARD_REVERSE) / P
              for P in (16, 32, 64)]  # fmt: skip
    assert max(ratios) < 1.5 * min(ratios)
    assert 0.3 < ratios[-1] < 2


@pytest.mark.row("9.1.2")
def test_the_clock_decides():
    """mode="measure" times the first three on this function once, tells the times, and takes the fastest."""
    f, x, v = chain(4, 30), RNG.normal(size=30), RNG.normal(size=30)
    product = ad.hvp(f, (x,), (v,), mode="measure")
    times = hvp_times(f, (x,), (v,))
    assert set(times.products) == {FORWARD_REVERSE, REVERSE_REVERSE, REVERSE_FORWARD}
    assert times.products[times.fastest] == min(times.products.values()) > 0
    assert np.array_equal(product, ad.hvp(f, (x,), (v,), mode=times.fastest))
    assert f"{times.fastest} " in str(times)
    assert str(times).count("µs") == 4


@pytest.mark.row("9.1.2")
def test_a_product_costs_a_small_multiple_of_the_function():
    """Whatever the length and the width: less than a dozen times f."""
    ratios = []
    for K, P in ((1, 10), (4, 10), (16, 10), (4, 100), (4, 300)):
        f = chain(K, P)
        alone = program_cost(recorded(f, np.ones(P)))
        ratios += [work(f, np.ones(P), mode) / alone for mode in HVP_MODES[:3]]
    assert max(ratios) < 12
    # Taylor mode, for higher orders: all derivatives along a line, at a cost that grows with their square
    x, v = RNG.normal(size=(2, 10))
    _, (first, second, third) = ad.jet(chain(4, 10), (x,), ([v, 0 * v, 0 * v],))
    assert_allclose(second, v @ ad.hvp(chain(4, 10), (x,), (v,)), rtol=1e-11)
    along = ad.jvp(lambda x: ad.hvp(chain(4, 10), (x,), (v,)), (x,), (v,))[1]
    assert_allclose(third, v @ along, rtol=1e-10)
    assert_allclose(first, v @ ad.grad(chain(4, 10))(x), rtol=1e-12)


@pytest.mark.row("9.1.2b")
@pytest.mark.parametrize("K", [1, 3, 7])
def test_the_gradient_of_a_chain_is_a_graph(K):
    """Every s_k is read on the way forward and again on the way back; the Hessian's graph follows from this one."""
    Ws = RNG.normal(size=(K, 5, 5))

    def f(x):
        for W in Ws:
            x = np.sin(W @ x)
        return np.sum(x)

    program = recorded(ad.grad(f), np.ones(5))
    forward = recorded(f, np.ones(5))
    count = names(program)
    # K products and K sines forward; K products with the transpose and K cosines back (the last sine is not needed,
    # but eager execution cannot know)
    assert count["matmul"] == 2 * K
    assert (count["sin"], count["cos"]) == (K, K)
    assert names(forward)["matmul"] == K
    products = [eq for eq in program.equations if eq.op.title == "matmul"][:K]
    for k, eq in enumerate(products):
        (t,) = eq.outputs
        readers = [e.op.title for e in program.equations if t in e.inputs]
        assert sorted(readers) == ["cos", "sin"], f"t_{k + 1} is read twice: the graph is no chain"
    used = [a for e in program.equations for a in e.inputs if isinstance(a, Var)]
    shared = {v for e in program.equations for v in e.outputs if used.count(v) > 1}
    assert len(shared) >= K
    # each node once: the gradient is a small multiple of the function, not of the number of paths
    assert len(program.equations) <= 4 * len(forward.equations)


@pytest.mark.row("9.2.0")
def test_quadratic_models():
    """L(w) + ⟨∇L, v⟩ + ½⟨v, B v⟩: with the Hessian the remainder is of third order; the constant is part of it."""
    W = RNG.normal(size=(6, 4))
    model = lambda w: np.tanh(W @ w)
    loss = lambda z: np.sum(z**2) + np.log(np.sum(np.exp(z)))
    f = lambda w: loss(model(w))
    w, v = np.array([0.8, -0.6, 0.5, 0.9]), RNG.normal(size=4) / 2
    exact, gauss = quadratic_model(f)(w), quadratic_model(model, loss=loss)(w)
    assert exact(np.zeros(4)) == gauss(np.zeros(4)) == f(w)
    errors = {t: abs(f(w + t * v) - exact(t * v)) for t in np.geomspace(1e-1, 1e-3, 9)}
    slope = np.polyfit(np.log(list(errors)), np.log(list(errors.values())), 1)[0]
    assert abs(slope - 3) < 0.1
    H = ad.hessian(f)(w)
    assert_allclose(exact(v), f(w) + ad.grad(f)(w) @ v + 0.5 * v @ H @ v, rtol=1e-13)
    # of a model that is nearly linear the other one is as good; of this one it is of second order, but convex
    B = np.stack([gauss.product(e) for e in np.eye(4)])
    assert np.linalg.eigvalsh(B)[0] > 0 > np.linalg.eigvalsh(H)[0]
    assert_allclose(B @ v, gauss_newton_product(loss, model, (w,), (v,)), rtol=1e-13)
    assert_allclose(gauss(v), f(w) + ad.grad(f)(w) @ v + 0.5 * v @ B @ v, rtol=1e-13)
    errors = [abs(f(w + t * v) - gauss(t * v)) for t in (1e-2, 1e-3)]
    assert 50 < errors[0] / errors[1] < 200
    linear = quadratic_model(lambda w: W @ w, loss=loss)(w)
    assert_allclose(linear(v), quadratic_model(lambda w: loss(W @ w))(w)(v), rtol=1e-13)

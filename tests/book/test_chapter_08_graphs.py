"""Automatic differentiation of graphs and primitives: fan-out, the size of gradients, one mode from the other."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import tree
from adjoint.base.errors import NotLinear
from adjoint.scipy.special import logsumexp
from adjoint.testing import complex_step, complex_step_gradient, finite_difference
from tests.book.recording import names, recorded, shapes
from tests.ops.examples import examples

RNG = np.random.default_rng(83)
VALUE, GRADIENT = 13.792770562190322, [20.689155843285484, 9.8088584252867282]


def nodes(x, moved=(0.0,) * 7):
    """s₁, …, s₇ of x₂ e^{x₁} √(x₁ + x₂ e^{x₁}): s₁ and s₄ are used twice. `moved` shifts each, to see its adjoint."""
    s1, s2 = x[0] + moved[0], x[1] + moved[1]
    s3 = np.exp(s1) + moved[2]
    s4 = s2 * s3 + moved[3]
    s5 = s1 + s4 + moved[4]
    s6 = np.sqrt(s5) + moved[5]
    return s1, s2, s3, s4, s5, s6, s4 * s6 + moved[6]


def shared(x):
    return nodes(x)[-1]


POINT = np.array([1.0, 2.0])


@pytest.mark.row("8.3.1")
def test_forward_mode_on_a_graph():
    """t_k = Σⱼ ∂ⱼf_k[t of the parents], in topological order: f(1, 2) = 13.79, with slopes 20.69 and 9.81."""
    for direction, slope in zip(np.eye(2), GRADIENT, strict=True):
        assert_allclose(ad.jvp(shared, (POINT,), (direction,)), (VALUE, slope), rtol=1e-14)
    # a state is released once no child needs it: a long graph with two live values holds a few arrays at a time
    x = np.linspace(0.1, 1.0, 50_000)

    def ladder(x, K):
        a, b = x, np.cos(x)
        for _ in range(K):
            a, b = b, a * b
        return b

    peaks = []
    for K in (10, 300):
        tracemalloc.start()
        ad.jvp(lambda x, K=K: ladder(x, K), (x,), (x,))
        peaks.append(tracemalloc.get_traced_memory()[1] / x.nbytes)
        tracemalloc.stop()
    assert peaks[1] < 1.05 * peaks[0] < 12


@pytest.mark.row("8.3.2")
def test_reverse_mode_on_a_graph():
    """r₄ = r_{4→5} + r_{4→7} and r₁ = r_{1→3} + r_{1→5}: every adjoint is complete before it is passed on."""
    s1, s2, s3, s4, s5, s6, _ = nodes(POINT)
    r7 = 1.0
    r6 = s4 * r7
    r5 = r6 / (2 * math.sqrt(s5))
    r4 = r5 + s6 * r7
    r3 = s2 * r4
    r2 = s3 * r4
    r1 = math.exp(s1) * r3 + r5
    found = ad.grad(lambda moved: nodes(POINT, moved)[-1])(np.zeros(7))
    assert_allclose(found, [r1, r2, r3, r4, r5, r6, r7], rtol=1e-14)
    assert_allclose(ad.grad(shared)(POINT), GRADIENT, rtol=1e-14)


@pytest.mark.row("8.3.2")
def test_each_node_is_pulled_once_and_what_is_not_reached_never():
    """The node with two children waits for both; a value that the result does not depend on gets no adjoint at all."""
    calls = []

    def node(name, function):
        def vjp(*xs):
            y, pullback = ad.vjp(function, *xs)
            return y, lambda r: (calls.append(name), pullback(r))[1]

        return ad.custom_rule(lambda *xs: function(*xs), vjp=vjp)

    exp, product, total, root, last = (
        node("s3", np.exp), node("s4", np.multiply), node("s5", np.add), node("s6", np.sqrt), node("s7", np.multiply)
    )  # fmt: skip
    unused = node("unused", np.sin)

    def f(x1, x2):
        s4 = product(x2, exp(x1))
        unused(s4)
        return last(s4, root(total(x1, s4)))

    assert_allclose(ad.grad(f, (0, 1))(1.0, 2.0), GRADIENT, rtol=1e-14)
    assert calls == ["s7", "s6", "s5", "s4", "s3"]


@pytest.mark.row("8.3.2b")
def test_adjoints_of_many_children_are_added_up_in_one_place():
    """n children: n - 1 additions, and memory that does not grow with n; the value itself is not copied."""
    x = np.ones(100_000)

    def fan_out(n, child=np.positive):
        return lambda x: sum((np.sum(child(float(i + 1) * x)) for i in range(n)), 0.0)

    for n in (2, 9):
        f = fan_out(n, np.sin)
        forward, both = (names(recorded(g, np.ones(3)))["add"] for g in (f, ad.grad(f)))
        assert both - forward == n - 1
    peaks = []
    for n in (5, 50):
        tracemalloc.start()
        gradient = ad.grad(fan_out(n))(x)
        peaks.append(tracemalloc.get_traced_memory()[1] / x.nbytes)
        tracemalloc.stop()
        assert gradient[0] == n * (n + 1) / 2
    assert peaks[1] < 1.05 * peaks[0] < 5


@st.composite
def circuits(draw):
    """A polynomial of four variables: gates (+ or ×, operand, operand), each of which may use all before it."""
    gates = []
    for k in range(draw(st.integers(1, 25))):
        place = st.integers(0, 3 + k)
        gates.append((draw(st.sampled_from("+*")), draw(place), draw(place)))
    return gates


def run(gates, *xs):
    values = list(xs)
    for kind, i, j in gates:
        values.append(values[i] + values[j] if kind == "+" else values[i] * values[j])
    return values[-1]


def edges(program):
    """The size of a circuit: the number of operands of its gates."""
    assert set(names(program)) <= {"add", "multiply"}
    return 2 * len(program.equations)


@pytest.mark.row("8.3.3")
@given(circuits())
def test_the_gradient_of_a_polynomial_is_at_most_five_times_as_large_as_the_polynomial(gates):
    """Baur and Strassen: a × gate has 2 edges, its two products 4, their additions at most 4; a + gate fewer."""
    xs = (0.5, -1.5, 2.0, 0.25)
    f = lambda *xs: run(gates, *xs)
    whole = recorded(ad.value_and_grad(f, argnums=(0, 1, 2, 3)), *xs)
    assert edges(whole) <= 5 * edges(recorded(f, *xs))
    value, gradient = ad.value_and_grad(f, argnums=(0, 1, 2, 3))(*xs)
    assert value == f(*xs)
    for ours, e in zip(gradient, np.eye(4), strict=True):
        slope = complex_step(lambda x: run(gates, *x), np.array(xs), e)
        assert_allclose(ours, slope, rtol=1e-9, atol=1e-9 * (1 + abs(value)))


@pytest.mark.row("8.4.1")
def test_high_level_primitives_bring_stability():
    """log Σ exp written out overflows at (1000, 1000); as one primitive it is 1000.6931 with gradient (½, ½)."""
    large = np.array([1000.0, 1000.0])

    @ad.custom_rule(vjp=lambda x: stable(x))
    def mine(x):
        return stable(x)[0]

    def stable(x):
        top = np.max(x)
        p = np.exp(x - top)
        return np.log(np.sum(p)) + top, lambda u: (u * p / np.sum(p),)

    for f in (logsumexp, mine):
        value, gradient = ad.value_and_grad(f)(large)
        assert_allclose(value, 1000.6931471805599, rtol=1e-15)
        assert_allclose(gradient, [0.5, 0.5])
        assert_allclose(ad.jvp(f, (large,), (np.array([1.0, 3.0]),))[1], 2.0)
        assert_allclose(ad.vmap(ad.grad(f))(np.stack([large, -large])), np.full((2, 2), 0.5))
    with np.errstate(over="ignore", invalid="ignore"):
        assert not np.isfinite(ad.grad(lambda x: np.log(np.sum(np.exp(x))))(large)).any()


@pytest.mark.row("8.4.2")
def test_a_composed_function_serves_as_a_primitive():
    """A function kept as one node with a program inside has the derivatives of the same function written out."""
    inner = lambda x, y: np.sin(x) * np.exp(-y) + x @ y
    nested = ad.checkpoint(lambda x, y: ad.checkpoint(inner)(x, y) * 2.0)
    plain = lambda x, y: inner(x, y) * 2.0
    x, y, v = RNG.normal(size=(3, 4))
    f, g = (lambda x, h=h: np.sum(np.tanh(h(x, y))) for h in (nested, plain))
    assert f(x) == g(x)
    assert np.array_equal(ad.grad(f)(x), ad.grad(g)(x))
    assert_allclose(ad.hessian(f)(x), ad.hessian(g)(x), rtol=1e-13, atol=1e-15)
    assert_allclose(ad.jet(f, (x,), ([v, v, v],))[1], ad.jet(g, (x,), ([v, v, v],))[1], rtol=1e-12)
    assert_allclose(ad.grad(g)(x), complex_step_gradient(g, x), rtol=1e-12)
    along = lambda h: lambda t: ad.vmap(lambda s: ad.grad(h)(x + s * v) @ v)(t * np.array([0.5, 1.0]))
    assert_allclose(ad.jacfwd(along(f))(0.3), ad.jacrev(along(g))(0.3), rtol=1e-12)
    assert_allclose(ad.jacfwd(along(f))(0.3), finite_difference(along(g), 0.3, 1.0, accuracy=4), rtol=1e-8)


@pytest.mark.row("8.4.3a")
def test_rules_of_linear_maps():
    """W ↦ W x pulls u back to u xᵀ; W ↦ W X pushes V to V X and pulls U back to U Xᵀ: ⟨V X, U⟩ = ⟨V, U Xᵀ⟩."""
    W, V = RNG.normal(size=(2, 3, 4))
    x, u = RNG.normal(size=4), RNG.normal(size=3)
    X, U = RNG.normal(size=(4, 5)), RNG.normal(size=(3, 5))
    (to_W,) = ad.vjp(lambda W: W @ x, W)[1](u)
    assert_allclose(to_W, [[a * b for b in x] for a in u], rtol=1e-15)
    pushed = ad.jvp(lambda W: W @ X, (W,), (V,))[1]
    assert np.array_equal(pushed, V @ X)
    (to_W,) = ad.vjp(lambda W: W @ X, W)[1](U)
    assert_allclose(to_W, np.einsum("ik,jk->ij", U, X), rtol=1e-13)
    assert_allclose(np.trace(pushed.T @ U), np.trace(V.T @ to_W), rtol=1e-12)


@pytest.mark.row("8.4.3b")
@pytest.mark.parametrize("g", [np.sin, np.exp, np.tanh, np.arctan, lambda w: np.logaddexp(0.0, w), lambda w: w**3])
def test_rules_of_elementwise_functions(g):
    """The Jacobian is diag(g'(w)): push and pull are the same product g'(w) ∘ v, in every bit, and form no matrix."""
    w, v = RNG.normal(size=(2, 30))
    pushed = ad.jvp(g, (w,), (v,))[1]
    (pulled,) = ad.vjp(g, w)[1](v)
    assert np.array_equal(pushed, pulled)
    exact = complex_step(lambda w: np.log(1 + np.exp(w)), w, v) if g(0.0) == math.log(2) else complex_step(g, w, v)
    assert_allclose(pushed, exact, rtol=1e-13)
    assert set(shapes(recorded(lambda w, v: ad.vjp(g, w)[1](v), w, v))) <= {(30,), ()}


def smooth_examples():
    """Primitives as functions of their active arguments, and these, in double precision."""
    for example in examples():
        args = tuple(example.args[i] for i in example.active)
        if not args or example.op.flat or any(x.dtype.char != "d" or not x.size for x in args):
            continue

        def f(*active, example=example):
            given = list(example.args)
            for i, x in zip(example.active, active, strict=True):
                given[i] = x
            return example.op(*given)

        if all(np.asarray(leaf).dtype.char == "d" for leaf in tree.leaves(f(*args))):
            yield str(example.op), f, args


def assert_same(ours, theirs, name):
    for a, b in zip(tree.leaves(ours), tree.leaves(theirs), strict=True):
        assert_allclose(a, b, rtol=1e-11, atol=1e-12, err_msg=name)


@pytest.mark.row("8.4.4a")
def test_forward_mode_from_reverse_mode():
    """u ↦ ∂f(w)*[u] is linear, and its own pull is ∂f(w)[v], whatever u: (Wᵀu, u xᵀ) becomes W v + V x."""
    x, v = RNG.normal(size=(2, 4))
    W, V = RNG.normal(size=(2, 3, 4))
    y, pullback = ad.vjp(lambda x, W: W @ x, x, W)
    for u in RNG.normal(size=(2, 3)):
        _, pull_of_pull = ad.vjp(pullback, u)
        assert_allclose(pull_of_pull((v, V))[0], W @ v + V @ x, rtol=1e-13)
    assert_allclose(ad.linear_transpose(pullback, y)((v, V))[0], W @ v + V @ x, rtol=1e-13)
    tried = set()
    for name, f, args in smooth_examples():
        if name not in tried:
            tangents = tuple(RNG.normal(size=x.shape)[()] for x in args)
            y, pullback = ad.vjp(f, *args)
            _, pull_of_pull = ad.vjp(pullback, y)
            assert_same(pull_of_pull(tangents)[0], ad.jvp(f, args, tangents)[1], name)
            tried.add(name)
    assert len(tried) > 200


# Their pushes are linear, but made with functions that are not: expm of a larger matrix, recurrences with products.
NOT_LINEAR_BY_STRUCTURE = (
    "expm", "logm", "fractional_matrix_power", "funm", "the derivative of schur", "eigenvalue_blocks",
    "commutator_solve", "anticommutator_solve", "block_right_solve", "block_gradient", "all_pole", "cumprod",
    "linear_recurrence",
)  # fmt: skip


@pytest.mark.row("8.4.4b")
def test_reverse_mode_from_forward_mode():
    """Linearize, then transpose what is linear: the pull derived from a push is the pull that is written by hand."""
    tried = set()
    for name, f, args in smooth_examples():
        if name not in tried:
            y, pullback = ad.vjp(f, *args)
            cotangent = tree.map(lambda leaf: RNG.normal(size=np.shape(leaf))[()], y)
            push = lambda *v, f=f, args=args: ad.jvp(f, args, v)[1]
            assert_same(ad.vjp(push, *args)[1](cotangent), pullback(cotangent), name)
            if not name.startswith(NOT_LINEAR_BY_STRUCTURE):
                assert_same(ad.linear_transpose(push, *args)(cotangent), pullback(cotangent), name)
            tried.add(name)
    assert len(tried) > 200


@pytest.mark.row("8.4.4b")
def test_transposes_of_rules_and_of_functions():
    """A custom rule with a push alone can be pulled; the transpose of the transpose is the map; x² has none."""
    cube = ad.custom_rule(lambda x: x**3, jvp=lambda xs, vs: (xs[0] ** 3, 3 * xs[0] ** 2 * vs[0]))
    x = np.array([1.0, -2.0, 0.5])
    assert_allclose(ad.grad(lambda x: np.sum(cube(x)))(x), [3.0, 12.0, 0.75])
    linear = lambda v: np.cumsum(v)[::2] * 3.0 - np.mean(v)
    transposed = ad.linear_transpose(linear, x)
    twice = ad.linear_transpose(lambda u: transposed(u)[0], linear(x))
    for e in np.eye(3):
        assert_allclose(twice(e)[0], linear(e), rtol=1e-14)
    matrix = np.stack([linear(e) for e in np.eye(3)], axis=1)
    assert_allclose(np.stack([transposed(u)[0] for u in np.eye(2)]), matrix, rtol=1e-14)
    with pytest.raises(NotLinear):
        ad.linear_transpose(lambda v: v * v, x)(x)

"""The lecture on multilayer perceptrons and the computation of gradients: its rules and its worked example.

Two examples ((1, 1.5), 0) and ((1.5, -1), 1) are classified by y = σ(w·(1, x)) with w = (-1, 1.5, 0.5); the loss is
L = Σ (c - y)². Decimals of the lecture that were rounded on the way (0.61 for v₇) or printed wrongly (-0.28 for the
first contribution to v₋₁) are replaced by the exact ones.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import adjoint as ad
from adjoint import tree
from adjoint.base.config import config
from adjoint.base.errors import AdjointError
from adjoint.scipy.special import log_softmax, softmax
from adjoint.testing import complex_step, complex_step_gradient, count_calls, difference_gradient, dot_test
from tests.book.recording import recorded
from tests.ops.examples import examples

W = np.array([-1.0, 1.5, 0.5])
X = np.array([[1.0, 1.5], [1.5, -1.0]])
C = np.array([0.0, 1.0])
LOSS = 0.7071214
GRADIENT = [0.1292979, 0.0593926, 0.5434737]
V = [1.25, 0.75, 0.7772999, 0.6791787, -0.7772999, 0.3208213, 0.6041951, 0.1029263, 0.7071214]
ADJOINTS = [0.2691087, -0.1398107, 1.5545997, -0.6416426, -1.5545997, 0.6416426, 1.0, 1.0, 1.0]


def loss(w, x=X, c=C):
    """The lecture's loss, in NumPy as one would write it."""
    y = expit(w[0] + x @ w[1:])
    return np.sum((c - y) ** 2)


def steps(w, moved=(0.0,) * 9):
    """v₁, …, v₉ one by one, each moved by a number whose derivative is then the adjoint of that variable."""
    v0, v_1, v_2 = w
    v1 = v0 + v_1 + 1.5 * v_2 + moved[0]
    v2 = v0 + 1.5 * v_1 - v_2 + moved[1]
    v3 = expit(v1) + moved[2]
    v4 = expit(v2) + moved[3]
    v5 = 0 - v3 + moved[4]
    v6 = 1 - v4 + moved[5]
    v7 = v5**2 + moved[6]
    v8 = v6**2 + moved[7]
    v9 = v7 + v8 + moved[8]
    return v1, v2, v3, v4, v5, v6, v7, v8, v9


@pytest.mark.row("L8.a", "L8.e", "L8.h")
def test_value_and_gradient_of_the_loss_in_one_call():
    """L = 0.7071214 and ∇L = (0.13, 0.06, 0.54); one evaluation of L gives both, and only w is differentiated."""
    counted = count_calls(loss)
    value, gradient = ad.value_and_grad(counted)(W, X, C)
    assert_allclose(value, LOSS, atol=5e-8)
    assert_allclose(gradient, GRADIENT, atol=5e-8)
    assert_allclose(gradient, [0.13, 0.06, 0.54], atol=0.005)
    by_steps = complex_step_gradient(lambda w: np.sum((C - 1 / (1 + np.exp(-w[0] - X @ w[1:]))) ** 2), W)
    assert_allclose(gradient, by_steps, rtol=1e-13)
    assert counted.calls == 1
    assert gradient.shape == W.shape


@pytest.mark.row("L8.b")
def test_forward_trace():
    """1.25, 0.75, 0.78, 0.68, -0.78, 0.32, 0.60, 0.10, 0.71: and differentiating does not change the values."""
    assert_allclose(steps(W), V, atol=5e-8)
    values, _ = ad.linearize(steps, W)
    assert_allclose(values, V, atol=5e-8)


@pytest.mark.row("L8.c")
def test_reverse_trace():
    """adj(v₉), adj(v₈), … = 1, 1, 1, 0.64, -1.55, -0.64, 1.55, -0.14, 0.27."""
    adjoints = ad.grad(lambda moved: steps(W, moved)[-1])(np.zeros(9))
    assert_allclose(adjoints, ADJOINTS, atol=5e-8)
    assert_allclose(adjoints[5::-1], [0.64, -1.55, -0.64, 1.55, -0.14, 0.27], atol=0.005)


@pytest.mark.row("L8.d")
def test_contributions_to_the_inputs_add_up():
    """v₂ gives (-0.14, -0.21, 0.14) to (v₀, v₋₁, v₋₂), v₁ gives the rest: the sum is the gradient."""
    _, pullback = ad.vjp(lambda w: steps(w)[:2], W)
    (from_v2,) = pullback((0.0, ADJOINTS[1]))
    assert_allclose(from_v2, [-0.1398107, -0.2097161, 0.1398107], atol=5e-8)
    (from_both,) = pullback((ADJOINTS[0], ADJOINTS[1]))
    assert_allclose(from_both, GRADIENT, atol=1e-7)


@pytest.mark.row("L8.f")
def test_sigma_as_one_primitive_or_made_of_four():
    """1 / (1 + exp(-z)) has the derivative of σ to within 1e-15 on [-30, 30]; at -800 only σ as a whole is safe."""
    z = np.linspace(-30.0, 30.0, 601)
    whole = ad.vmap(ad.grad(expit))(z)
    parts = ad.vmap(ad.grad(lambda t: 1 / (1 + np.exp(-t))))(z)
    assert_allclose(whole, parts, rtol=0, atol=1e-15)
    for slope in (ad.grad(expit)(-800.0), ad.jvp(expit, (-800.0,), (1.0,))[1], ad.grad(ad.grad(expit))(-800.0)):
        assert slope == 0.0


@pytest.mark.row("L8.g")
def test_programs_without_closed_form():
    """The branch that is taken, and the number of turns that a loop makes, decide: each evaluation is traced."""

    def f(x):
        while x < 10:  # doubled until large
            x = 2 * x
        return x**2 if x > 15 else 3 * x

    # 3 → 6 → 12: f = 3·4x there; 4 → 8 → 16: f = (4x)² there; 11 stays: f = 3x there
    for x, slope in ((3.0, 12.0), (4.0, 32 * 4.0), (11.0, 3.0)):
        assert ad.grad(f)(x) == slope
        assert ad.jvp(f, (x,), (1.0,))[1] == slope
    assert_allclose(ad.vmap(ad.grad(f))(np.array([3.0, 4.0, 11.0])), [12.0, 128.0, 3.0])


@pytest.mark.row("L7.b")
def test_the_seed_of_the_output_is_one_or_the_users():
    """adj(v_m) = 1 in a gradient; `vjp` takes any seed, and everything is proportional to it."""
    assert_allclose(ad.grad(loss)(W), GRADIENT, atol=5e-8)
    _, pullback = ad.vjp(loss, W)
    assert_allclose(pullback(1.0)[0], GRADIENT, atol=5e-8)
    assert_allclose(pullback(-3.0)[0], -3 * np.array(GRADIENT), atol=2e-7)


@pytest.mark.row("L7.c", "B2.3.i")
def test_every_primitive_pulls_back_the_adjoint_of_what_it_pushes_forward():
    """adj(vᵢ) = adj(v_k) ∂v_k/∂vᵢ for every operand: ⟨u, J v⟩ = ⟨Jᵀu, v⟩ to rounding."""
    tried = set()
    for example in examples():
        args = tuple(example.args[i] for i in example.active)
        if not args or example.op.flat or any(x.dtype.char not in "dD" for x in args):
            continue

        def f(*active, example=example):
            given = list(example.args)
            for i, x in zip(example.active, active, strict=True):
                given[i] = x
            return example.op(*given)

        dot_test(f, args, rtol=1e-12)
        tried.add(str(example.op))
    assert len(tried) > 100


@pytest.mark.row("L7.d")
def test_a_variable_with_several_children_gets_the_sum_of_their_adjoints():
    """x·x has the derivative 2x, x + x has 2, and uses at different depths add up as well."""
    assert ad.grad(lambda x: x * x)(3.5) == 7.0
    assert ad.grad(lambda x: x + x)(3.5) == 2.0
    f = lambda x: x * np.sin(x) + np.exp(x * x)
    assert_allclose(ad.grad(f)(0.5), complex_step(f, 0.5, 1.0), rtol=1e-15)


@pytest.mark.row("L7.e")
def test_an_operation_without_a_local_derivative_says_its_name():
    """A call that cannot be differentiated raises, and names itself: no derivative is dropped in silence."""

    def squared(x):
        return x**2

    with pytest.raises(AdjointError, match=r"ufunc squared .* cannot take a traced value"):
        ad.grad(np.frompyfunc(squared, 1, 1))(1.0)
    with config.override(convert=False), pytest.raises(AdjointError, match=r"float\(\).* derivative would be lost"):
        ad.grad(lambda x: float(x) ** 2)(1.0)
    assert ad.grad(lambda x: float(x) ** 2)(1.5) == 3.0  # its source says that nothing is dropped


@pytest.mark.row("L9.a")
def test_reverse_mode_is_linear_in_the_number_of_nodes():
    """x ← x + x fifty times: 2⁵⁰, by 50 additions forwards and 50 backwards; plain recursion has 2⁵⁰ paths."""

    def doubled(x):
        for _ in range(50):
            x = x + x
        return x

    assert ad.grad(doubled)(1.0) == 2.0**50
    assert len(recorded(doubled, 1.0).equations) == 50
    assert len(recorded(ad.grad(doubled), 1.0).equations) <= 2 * 50


@pytest.mark.row("L1.b")
def test_softmax():
    """Along any axis the results are positive and sum to one; (1000, 1000) gives (½, ½) without overflow."""
    z = np.array([[1.0, 2.0, 3.0], [-4.0, 0.5, 0.0]])
    for axis in (0, 1, None):
        y = softmax(z, axis=axis)
        assert np.all(y > 0)
        assert_allclose(np.sum(y, axis=axis), 1.0, rtol=1e-15)
        assert_allclose(y, np.exp(z) / np.sum(np.exp(z), axis=axis, keepdims=axis is not None), rtol=1e-15)
    large = np.array([1000.0, 1000.0])
    assert_allclose(softmax(large), [0.5, 0.5])
    assert_allclose(ad.jacobian(softmax)(large), [[0.25, -0.25], [-0.25, 0.25]])


@pytest.mark.row("L1.d")
def test_sigma_and_its_complement_are_a_softmax():
    """(σ(z), σ(-z)) = softmax((z, 0)): z = 1.25 gives (0.7772999, 0.2227001), and one derivative each way."""
    pair = lambda z: np.stack([expit(z), expit(-z)])
    both = lambda z: softmax(np.stack([z, 0.0 * z]))
    for f in (pair, both):
        assert_allclose(f(np.float64(1.25)), [0.7772999, 0.2227001], atol=5e-8)
        y, slope = ad.jvp(f, (1.25,), (1.0,))
        assert_allclose(np.sum(y), 1.0, rtol=1e-15)
        assert_allclose(slope, 0.7772999 * 0.2227001 * np.array([1, -1]), atol=5e-8)


@pytest.mark.row("L5.c")
def test_outer_product():
    """v ⊗ w = v wᵀ has the pullback (U w, Uᵀ v), and pushes (a, b) to a wᵀ + v bᵀ."""
    v, w, U = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0]), np.array([[1.0, -1.0, 2.0], [0.5, 0.0, -3.0]])
    y, pullback = ad.vjp(np.outer, v, w)
    assert_allclose(y, [[3, 4, 5], [6, 8, 10]])
    to_v, to_w = pullback(U)
    assert_allclose(to_v, [9.0, -13.5])
    assert_allclose(to_w, [2.0, -1.0, -4.0])
    assert_allclose(ad.jvp(np.outer, (v, w), (np.array([1.0, 0.0]), np.zeros(3)))[1], [[3, 4, 5], [0, 0, 0]])
    assert_allclose(ad.jvp(np.outer, (v, w), (np.zeros(2), np.array([0.0, 0.0, 1.0])))[1], [[0, 0, 1], [0, 0, 2]])


def network(weights, x):
    """tanh, then max(0, ·), then logits; each layer sees a constant 1 before its input, so that biases sit in W."""
    first, *hidden, last = weights
    y = np.concatenate([[1.0], np.tanh(first @ np.concatenate([[1.0], x]))])
    for W in hidden:
        y = np.concatenate([[1.0], np.maximum(W @ y, 0.0)])
    return last @ y


def layers():
    rng = np.random.default_rng(3)
    return [rng.normal(size=shape) / 2 for shape in ((4, 3), (5, 5), (3, 6))]


LABEL = np.array([0.0, 1.0, 0.0])


def cross_entropy(weights, x=X[1]):
    return -np.sum(LABEL * log_softmax(network(weights, x)))


@pytest.mark.row("L6.d")
def test_the_gradient_of_cross_entropy_in_the_logits_is_minus_the_residual():
    """With δ = c - y and y = softmax(z): ∇_z(-Σ cᵢ log yᵢ) = -δ."""
    z = network(layers(), X[1])
    residual = LABEL - softmax(z)
    assert_allclose(ad.grad(lambda z: -np.sum(LABEL * log_softmax(z)))(z), -residual, rtol=1e-14)


@pytest.mark.row("L6.f")
def test_one_call_returns_the_gradients_of_all_layers():
    """One evaluation forwards and one sweep back give ∂ℓ/∂W for every W, in the structure of the weights."""
    weights = layers()
    counted = count_calls(cross_entropy)
    gradients = ad.grad(counted)(weights)
    assert counted.calls == 1
    assert tree.structure(gradients) == tree.structure(weights)
    for ours, differences in zip(gradients, difference_gradient(cross_entropy, weights), strict=True):
        assert_allclose(ours, differences, rtol=1e-6, atol=1e-8)


@pytest.mark.row("L6.e")
def test_gradient_of_a_regularized_objective():
    """ℓ(w) = l(w) + (λ/n) R(w) has the gradient ∇l + (λ/n) ∇R; with R the sum of squares that adds (2λ/n) w."""
    weights, n = layers(), 2

    def objective(w, λ):
        return cross_entropy(w) + λ / n * sum(np.sum(W**2) for W in w)

    alone = ad.grad(cross_entropy)(weights)
    for λ in (0.0, 0.3):
        expected = tree.add(alone, tree.scale(2 * λ / n, weights))
        for ours, theirs in zip(ad.grad(objective)(weights, λ), expected, strict=True):
            assert_allclose(ours, theirs, rtol=1e-13, atol=1e-15)


@pytest.mark.row("L6.g")
def test_a_gradient_step_goes_down():
    """w ← w - 0.1 ∇L takes the loss from 0.7071214 to 0.6752061; the other sign takes it up to 0.7382915."""
    step = tree.scale(0.1, ad.grad(loss)(W))
    assert_allclose(loss(tree.subtract(W, step)), 0.6752061, atol=5e-8)
    assert_allclose(loss(tree.add(W, step)), 0.7382915, atol=5e-8)


def counted_square(seen):
    """x ↦ x², whose rules note how many directions they are given."""

    def product(kind):
        def on_lanes(x, v):
            seen[kind] += len(v)
            return 2 * x * v

        return ad.custom_rule(lambda x, v: 2 * x * v, batch=on_lanes)

    push, pull = product("pushed"), product("pulled")

    def vjp(x):
        return x**2, lambda u: (pull(x, u),)

    return ad.custom_rule(lambda x: x**2, jvp=lambda xs, vs: (xs[0] ** 2, push(xs[0], vs[0])), vjp=vjp)


def composed(B, g, A):
    return lambda x: B @ g(A @ x)


@pytest.mark.row("L9.b")
@pytest.mark.parametrize("n, m", [(2, 5), (5, 2), (3, 3)])
def test_a_jacobian_takes_n_pushforwards_or_m_pullbacks(n, m):
    """For f: Rⁿ → Rᵐ forward mode runs n times, reverse mode m times; `jacobian` takes the cheaper one."""
    A, B, x = np.arange(4.0 * n).reshape(4, n), np.cos(np.arange(4.0 * m)).reshape(m, 4), np.ones(n) / 3
    found = {}
    for transform in (ad.jacfwd, ad.jacrev, ad.jacobian):
        seen = {"pushed": 0, "pulled": 0}
        f = composed(B, counted_square(seen), A)
        assert_allclose(transform(f)(x), B @ np.diag(2 * A @ x) @ A, rtol=1e-14)
        found[transform] = seen
    assert found[ad.jacfwd] == {"pushed": n, "pulled": 0}
    assert found[ad.jacrev] == {"pushed": 0, "pulled": m}
    assert found[ad.jacobian] == found[ad.jacrev if m < n else ad.jacfwd]

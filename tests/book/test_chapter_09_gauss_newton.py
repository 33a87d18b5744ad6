"""Gauss-Newton and Fisher matrices: definitions, products, factors, and where they are the same."""

import gc
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.curvature import (
    empirical_fisher,
    empirical_fisher_product,
    factor_product,
    fisher,
    fisher_product,
    gauss_newton,
    gauss_newton_factor,
    gauss_newton_product,
    hessian_split,
    output_fisher,
)
from adjoint.curvature.arrangement import matrix_of
from adjoint.transform.tape import Tape
from tests.book.recording import names, recorded

RNG = np.random.default_rng(92)
A, B = RNG.normal(size=(2, 3, 4))
W0, V0 = RNG.normal(size=(2, 4))


def model(w):
    return np.tanh(A @ w) + np.sin(B @ w) * w[0]


def softmax_loss(y):
    """-log softmax(z)_y."""
    return lambda z: np.log(np.sum(np.exp(z - np.max(z)))) + np.max(z) - z[y]


CONVEX = {
    "squares": lambda z: np.sum((z - 1.0) ** 2),
    "softmax": softmax_loss(1),
    "exponentials": lambda z: np.sum(np.exp(z)),
    "logistic": lambda z: np.sum(np.logaddexp(0.0, z)),
    "sum of logarithms": lambda z: np.sum(np.sqrt(1.0 + z**2)),
}


def by_hand(loss, model, w):
    """∂f* ∇²ℓ ∂f from whole matrices: differences of differences would lose digits, so by forward mode alone."""
    J = ad.jacfwd(model)(w)
    return J.T @ ad.jacfwd(ad.jacfwd(loss))(model(w)) @ J


@pytest.mark.row("9.2.1a")
@pytest.mark.parametrize("name", CONVEX)
def test_the_gauss_newton_matrix_is_positive(name):
    """∂f(w)* ∇²ℓ(f(w)) ∂f(w), for convex ℓ with no eigenvalue below -1e-12, whatever f."""
    loss = CONVEX[name]
    for w in RNG.normal(size=(5, 4)):
        G = gauss_newton(loss, model)(w)
        assert_allclose(G, by_hand(loss, model, w), rtol=1e-12, atol=1e-13)
        assert np.linalg.eigvalsh(G)[0] > -1e-12
        assert_allclose(G, G.T, rtol=1e-13, atol=1e-14)
    lowest = min(np.linalg.eigvalsh(ad.hessian(lambda w: loss(model(w)))(w))[0] for w in RNG.normal(size=(20, 4)))
    assert lowest < -0.1  # of the Hessian, which is not positive


@pytest.mark.row("9.2.1b")
@pytest.mark.parametrize("name", CONVEX)
def test_the_hessian_is_gauss_newton_and_the_curvature_of_the_model(name):
    """∇²(ℓ∘f) = GN + Σ_{j=1}^M ∂_jℓ ∇²f_j; for linear f the second part vanishes."""
    loss = CONVEX[name]
    G, rest = hessian_split(loss, model)(W0)
    slopes = ad.grad(loss)(model(W0))
    each = [ad.hessian(lambda w, j=j: model(w)[j])(W0) for j in range(3)]
    assert_allclose(rest, sum(s * H for s, H in zip(slopes, each, strict=True)), rtol=1e-11, atol=1e-12)
    assert_allclose(G + rest, ad.hessian(lambda w: loss(model(w)))(W0), rtol=1e-11, atol=1e-12)
    linear = hessian_split(loss, lambda w: A @ w - 1.0)(W0)
    assert_allclose(linear.rest, np.zeros((4, 4)), atol=1e-15)
    assert_allclose(linear.gauss_newton, ad.hessian(lambda w: loss(A @ w - 1.0))(W0), rtol=1e-12, atol=1e-14)


@pytest.mark.row("9.2.2")
def test_the_chain_rule_of_gauss_newton():
    """GN(ℓ∘f∘g)(w) = ∂g(w)* GN(ℓ∘f)(g(w)) ∂g(w)."""
    g = lambda w: np.exp(-(w**2)) @ RNG_MATRIX + w
    for loss in CONVEX.values():
        whole = gauss_newton(loss, lambda w: model(g(w)))(W0)
        J = ad.jacobian(g)(W0)
        assert_allclose(whole, J.T @ gauss_newton(loss, model)(g(W0)) @ J, rtol=1e-12, atol=1e-12)


RNG_MATRIX = RNG.normal(size=(4, 4))


@pytest.mark.row("9.2.3")
def test_a_product_runs_forward_twice_and_backward_once():
    """K layers: K products for the values, K to push v, K to pull back; and the result is that of the matrix."""
    K = 6
    Ws = RNG.normal(size=(K, 4, 4)) / 2

    def deep(w):
        for W in Ws:
            w = np.tanh(W @ w)
        return w

    loss = CONVEX["softmax"]
    program = recorded(lambda w, v: gauss_newton_product(loss, deep, (w,), (v,)), W0, V0)
    assert names(program)["matmul"] == 3 * K
    G = gauss_newton(loss, deep)(W0)
    for run in (lambda f: f, ad.jit):
        found = run(lambda w, v: gauss_newton_product(loss, deep, (w,), (v,)))(W0, V0)
        assert_allclose(found, G @ V0, rtol=1e-12, atol=1e-14)
    many = ad.vmap(lambda v: gauss_newton_product(loss, deep, (W0,), (v,)))(np.eye(4))
    assert_allclose(many, G, rtol=1e-12, atol=1e-14)
    assert_allclose(ad.linear.gauss_newton(loss, deep)(W0) @ V0, G @ V0, rtol=1e-12, atol=1e-14)


@pytest.mark.row("9.2.3")
def test_each_layer_is_evaluated_pushed_and_pulled_once():
    calls = {"value": 0, "push": 0, "pull": 0}

    def noted(name, result):
        calls[name] += 1
        return result

    layer = ad.custom_rule(
        lambda x: noted("value", np.tanh(A[:, :3] @ x)),
        jvp=lambda xs, vs: (
            np.tanh(A[:, :3] @ xs[0]),
            noted("push", (1 - np.tanh(A[:, :3] @ xs[0]) ** 2) * (A[:, :3] @ vs[0])),
        ),
        vjp=lambda x: (
            np.tanh(A[:, :3] @ x),
            lambda u: noted("pull", (A[:, :3].T @ ((1 - np.tanh(A[:, :3] @ x) ** 2) * u),)),
        ),
    )
    deep = lambda x: layer(layer(x))
    plain = lambda x: np.tanh(A[:, :3] @ np.tanh(A[:, :3] @ x))
    loss, w, v = CONVEX["squares"], W0[:3], V0[:3]
    found = gauss_newton_product(loss, deep, (w,), (v,))
    assert calls == {"value": 2, "push": 2, "pull": 2}  # of two layers: forward twice, backward once
    assert_allclose(found, gauss_newton(loss, plain)(w) @ v, rtol=1e-13)


@pytest.mark.row("9.2.4")
def test_the_gauss_newton_matrix_as_a_product_of_a_factor():
    """V Vᵀ with v_j = √λ_j ∂f*u_j: P × M numbers, rank M - 1 for softmax, and no record of the model is kept."""
    tall = RNG.normal(size=(3, 6))
    wide = lambda w: np.tanh(tall @ w)
    w, v = RNG.normal(size=(2, 6))
    for loss in CONVEX.values():
        V = gauss_newton_factor(loss, wide)(w)
        G = gauss_newton(loss, wide)(w)
        assert V.shape == (6, 3)
        assert_allclose(V @ V.T, G, rtol=0, atol=2e-15 * max(1.0, np.max(np.abs(G))))
        assert_allclose(factor_product(V, v), G @ v, rtol=1e-13, atol=1e-14)
        assert np.linalg.matrix_rank(G) <= 3
    gc.collect()
    before = sum(issubclass(type(thing), Tape) for thing in gc.get_objects())
    V = gauss_newton_factor(CONVEX["softmax"], wide)(w)
    gc.collect()
    assert sum(issubclass(type(thing), Tape) for thing in gc.get_objects()) == before
    assert type(V) is np.ndarray
    # softmax: a constant added to all outputs changes nothing, so that one eigenvalue is zero but for rounding
    inner = ad.hessian(CONVEX["softmax"])(wide(w))
    rounding = np.linalg.eigvalsh(inner)[0]
    assert abs(rounding) < 1e-16
    columns = np.linalg.norm(V, axis=0)
    assert np.sum(columns == 0) == 1
    assert np.sort(columns)[1] > 1e-3
    assert math.sqrt(4e-17) > 6e-9  # what its root would have been


@pytest.mark.row("9.2.4")
def test_factors_over_trees_and_of_losses_that_are_not_convex():
    two = lambda p: {"a": p["W"] @ np.tanh(p["b"]), "b": p["b"] * np.sum(p["W"])}
    loss = lambda z: np.sum(z["a"] ** 2) + np.sum(np.cosh(z["b"])) + np.sum(np.exp(z["a"]) * 2)
    p = {"W": A, "b": W0}
    direction = ad.tree.map(np.ones_like, p)
    for run in (lambda f: f, ad.jit):
        V = run(gauss_newton_factor(loss, two))(p)
        assert V["W"].shape == (3, 4, 7)
        found = factor_product(V, direction)
        wanted = gauss_newton_product(loss, two, (p,), (direction,))
        for leaf, other in zip(ad.tree.leaves(found), ad.tree.leaves(wanted), strict=True):
            assert_allclose(leaf, other, rtol=1e-11, atol=1e-12)
    with pytest.raises(ValueError, match="eigenvalue -"):
        gauss_newton_factor(lambda z: np.sum(z**2) - 2 * z[0] ** 2, model)(W0)


@pytest.mark.row("9.2.5")
def test_the_mean_over_samples():
    """The Gauss-Newton matrix of a batch is the average of those of its samples; so are the products."""
    X, Y = RNG.normal(size=(7, 3)), RNG.normal(size=(7, 2))
    M = RNG.normal(size=(2, 3))
    net = lambda p, x: np.tanh(p["W"] @ x + p["b"])
    loss = lambda z, y: np.sum((z - y) ** 2) + np.log(np.sum(np.exp(z)))
    p, v = {"W": M, "b": np.ones(2)}, {"W": M[::-1].copy(), "b": np.array([1.0, -1.0])}
    each = [gauss_newton(lambda z, y=y: loss(z, y), lambda p, x=x: net(p, x))(p) for x, y in zip(X, Y, strict=True)]
    mean = ad.tree.map(lambda *leaves: np.mean(leaves, axis=0), *each)
    whole = gauss_newton(lambda Z: np.mean(ad.vmap(loss)(Z, Y)), lambda p: ad.vmap(lambda x: net(p, x))(X))(p)
    batch = gauss_newton(loss, net, samples=(X, Y))
    for found in (whole, batch(p), ad.jit(batch)(p)):
        for leaf, other in zip(ad.tree.leaves(found), ad.tree.leaves(mean), strict=True):
            assert_allclose(leaf, other, rtol=1e-12, atol=1e-14)
    product = gauss_newton_product(loss, net, (p,), (v,), samples=(X, Y))
    flat = matrix_of(mean, p, p) @ np.concatenate([v["W"].ravel(), v["b"]])
    assert_allclose(np.concatenate([product["W"].ravel(), product["b"]]), flat, rtol=1e-12)


# Fisher information

P = np.array([0.5, 0.3, 0.2])
LOGITS = np.log(P) + 0.7
categorical = lambda z, y: np.log(np.sum(np.exp(z))) - z[y]


@pytest.mark.row("9.3.1")
def test_fisher_information_of_logits():
    """E[∇ℓ ⊗ ∇ℓ] over all outcomes with their probabilities is diag(p) - p pᵀ, with diagonal (.25, .21, .16)."""
    found = output_fisher(categorical, LOGITS, support=np.arange(3))
    assert_allclose(found, np.diag(P) - np.outer(P, P), atol=1e-15)
    assert_allclose(np.diag(found), [0.25, 0.21, 0.16], rtol=1e-14)
    assert_allclose(fisher(categorical, lambda z: z, support=np.arange(3))(LOGITS), found, atol=1e-16)
    # by samples from the model: within five standard errors
    rng = np.random.default_rng(5)
    drawn = rng.choice(3, size=40_000, p=P)
    estimate = output_fisher(categorical, LOGITS, samples=drawn)
    assert np.max(np.abs(estimate - found)) < 5 * 0.3 / math.sqrt(40_000)
    # every outcome once without its weight is something else
    unweighted = output_fisher(categorical, LOGITS, samples=np.arange(3))
    assert_allclose(np.diag(unweighted), [0.25, 0.67 / 3, 0.24], rtol=1e-12)
    with pytest.raises(ValueError, match=r"sums to 0\.8"):
        output_fisher(categorical, LOGITS, support=np.arange(2))


@pytest.mark.row("9.3.2")
def test_the_mean_of_the_hessian_is_the_same():
    """E[∇²L] = E[∇L ⊗ ∇L] under the model, in the parameters of a network too."""
    deep = lambda w: np.tanh(A @ w) * 2.0 + w[:3]
    by_score, by_hessian = (
        fisher(categorical, deep, support=np.arange(3), form=form)(W0) for form in ("score", "hessian")
    )
    assert_allclose(by_score, by_hessian, rtol=1e-12, atol=1e-13)
    # from the definition, in w: the curvature of the model is part of each Hessian, and vanishes in the mean
    p = np.exp(deep(W0)) / np.sum(np.exp(deep(W0)))
    L = lambda y: lambda w: categorical(deep(w), y)
    outer = sum(p[y] * np.outer(ad.grad(L(y))(W0), ad.grad(L(y))(W0)) for y in range(3))
    curved = sum(p[y] * ad.hessian(L(y))(W0) for y in range(3))
    assert_allclose(by_score, outer, rtol=1e-12, atol=1e-13)
    assert_allclose(by_score, curved, rtol=1e-11, atol=1e-12)
    assert not np.allclose(ad.hessian(L(0))(W0), by_score, atol=0.01)


@pytest.mark.row("9.3.2b")
def test_the_empirical_matrix_has_a_name_of_its_own():
    """With labels of data that are not distributed as the model says the two differ; where they are, they agree."""
    net = lambda w, x: w.reshape(3, 2) @ x
    w = RNG.normal(size=6)
    x = np.array([0.8, -0.5])
    p = np.exp(net(w, x)) / np.sum(np.exp(net(w, x)))
    exact = fisher(categorical, net, inputs=x[None], support=np.arange(3))(w)
    others = np.array([0, 0, 1, 2, 2, 2])
    found = empirical_fisher(categorical, net, (np.tile(x, (6, 1)), others))(w)
    assert np.max(np.abs(found - exact)) > 0.05
    # labels in proportion to p: 5, 3 and 2 of 10
    z = np.log([0.5, 0.3, 0.2])
    w = np.linalg.lstsq(np.kron(np.eye(3), x), z, rcond=None)[0]
    labels = np.repeat([0, 1, 2], [5, 3, 2])
    X = np.tile(x, (10, 1))
    at_model = empirical_fisher(categorical, net, (X, labels))(w)
    exact = fisher(categorical, net, inputs=X, support=np.arange(3))(w)
    assert_allclose(at_model, exact, rtol=1e-12, atol=1e-14)
    v = RNG.normal(size=6)
    product = empirical_fisher_product(categorical, net, (w,), (v,), (X, labels))
    assert_allclose(product, at_model @ v, rtol=1e-12, atol=1e-14)
    assert p.sum() == pytest.approx(1.0)


def hermite(loc, scale, count=40):
    """Points and weights for means over a normal distribution."""
    points, weights = np.polynomial.hermite_e.hermegauss(count)
    return loc + scale * points, weights / np.sum(weights)


@pytest.mark.row("9.3.3")
def test_fisher_is_gauss_newton_for_natural_parameters():
    """Softmax, Bernoulli in its logit, Poisson in its logarithm: E_X[∂f* ∇²ℓ ∂f], whatever the label."""
    X = RNG.normal(size=(3, 4))
    bernoulli = lambda z, y: np.sum(np.logaddexp(0.0, z) - y * z)
    poisson = lambda z, y: np.sum(np.exp(z) - y * z) + ad.scipy.special.gammaln(y + 1.0)
    cases = {
        "softmax": (categorical, lambda w, x: np.tanh(A @ (w * x)), np.arange(3)),
        "Bernoulli": (bernoulli, lambda w, x: np.tanh(w) @ x + w[0] * w[1], np.array([0.0, 1.0])),
        "Poisson": (poisson, lambda w, x: 1.0 + np.sin(w @ x), np.arange(60.0)),
    }
    for name, (loss, net, support) in cases.items():
        exact = fisher(loss, net, inputs=X, support=support)(W0)
        labels = RNG.choice(support, size=3)
        gn = gauss_newton(loss, net, samples=(X, labels))(W0)
        assert_allclose(exact, gn, rtol=1e-12, atol=1e-12, err_msg=name)
        product = fisher_product(loss, net, (W0,), (V0,), inputs=X, support=support)
        assert_allclose(product, gn @ V0, rtol=1e-12, atol=1e-12, err_msg=name)
        compiled = ad.jit(
            lambda w, loss=loss, net=net, support=support: fisher(loss, net, inputs=X, support=support)(w)
        )
        assert_allclose(compiled(W0), gn, rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.row("9.3.3")
def test_normal_distributions_by_mean_and_by_scale():
    """In its mean a normal distribution is natural; in its log-scale ∇²ℓ depends on y, and the two differ."""
    mean_loss = lambda z, y: 0.5 * np.sum((y - z) ** 2) + 0.5 * math.log(2 * math.pi)
    f = lambda w: np.sin(A[:1] @ w)
    points, weights = hermite(f(W0)[0], 1.0)
    scores = np.stack([ad.grad(lambda z, y=y: mean_loss(z, y))(f(W0)) for y in points])
    F = (scores.T * weights) @ scores
    assert_allclose(F, [[1.0]], rtol=1e-12)
    J = ad.jacobian(f)(W0)
    for label in (0.0, 3.0):
        assert_allclose(J.T @ F @ J, gauss_newton(lambda z, y=label: mean_loss(z, y), f)(W0), rtol=1e-12, atol=1e-14)
    # log-scale s: ℓ = s + ½ (y/eˢ)², ∇²ℓ = 2 (y/eˢ)² with mean 2
    scale_loss = lambda s, y: np.sum(s + 0.5 * (y * np.exp(-s)) ** 2) + 0.5 * math.log(2 * math.pi)
    s = np.array([0.4])
    points, weights = hermite(0.0, math.exp(0.4))
    curved = np.stack([ad.hessian(lambda s, y=y: scale_loss(s, y))(s) for y in points])
    slopes = np.stack([ad.grad(lambda s, y=y: scale_loss(s, y))(s) for y in points])
    assert_allclose(np.tensordot(weights, curved, 1), [[2.0]], rtol=1e-10)
    assert_allclose((slopes.T * weights) @ slopes, [[2.0]], rtol=1e-10)
    at_data = gauss_newton(lambda s: scale_loss(s, 0.3), lambda w: w)(s)
    assert abs(at_data[0, 0] - 2.0) > 1.5


@pytest.mark.row("9.3.1")
def test_sampled_fisher_information_for_each_input():
    """One row of draws for each input; the estimate goes through vmap, jit and products alike."""
    X = RNG.normal(size=(3, 4))
    net = lambda w, x: np.tanh(A @ (w * x))
    draws = np.random.default_rng(0).integers(0, 3, size=(3, 5))
    found = fisher(categorical, net, inputs=X, samples=draws)(W0)
    scores = [
        [ad.grad(lambda w, x=x, y=y: categorical(net(w, x), y))(W0) for y in row]
        for x, row in zip(X, draws, strict=True)
    ]
    wanted = np.mean([np.outer(s, s) for row in scores for s in row], axis=0)
    assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    product = fisher_product(categorical, net, (W0,), (V0,), inputs=X, samples=draws)
    assert_allclose(product, wanted @ V0, rtol=1e-12, atol=1e-14)
    with pytest.raises(TypeError, match="either the support"):
        fisher(categorical, net, inputs=X)(W0)
    with pytest.raises(ValueError, match="neither 'score'"):
        output_fisher(categorical, LOGITS, support=np.arange(3), form="outer")

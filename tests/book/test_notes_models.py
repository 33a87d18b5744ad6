"""The lecture and the notes on losses, linear models, decisions and calibration, with their numbers."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.nn import calibration, conformal, losses

P, Q = np.array([0.5, 0.5]), np.array([0.25, 0.75])


@pytest.mark.row("L2.a")
def test_cross_entropy_of_distributions() -> None:
    assert losses.soft_cross_entropy(np.log(Q), P, base=2) == pytest.approx(1.2075187, abs=1e-7)
    assert losses.soft_cross_entropy(np.log(Q), np.array([1.0, 0.0])) == pytest.approx(np.log(4))
    assert losses.soft_cross_entropy(np.array([0.0, -np.inf]), np.array([1.0, 0.0])) == 0.0  # 0 log 0 = 0


@pytest.mark.row("L2.b")
def test_divergence_and_its_link() -> None:
    assert losses.entropy(P, base=2) == pytest.approx(1.0)
    assert losses.kl(P, Q, base=2) == pytest.approx(0.2075187, abs=1e-7)
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(5), size=2)
        assert losses.kl(p, q) == pytest.approx(losses.soft_cross_entropy(np.log(q), p) - losses.entropy(p))
        assert losses.kl(p, q) > 0
        assert losses.kl(p, p) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.row("L2.c")
def test_binary_loss_from_the_logit() -> None:
    z = np.linspace(-5, 5, 11)
    for c in (0, 1):
        sigma = 1 / (1 + np.exp(-z))
        direct = -c * np.log(sigma) - (1 - c) * np.log(1 - sigma)
        np.testing.assert_allclose(losses.logistic(z, np.full(11, c)), direct, rtol=1e-10)
        assert np.all(np.isfinite(losses.logistic(np.array([-1000.0, 1000.0]), np.array([c, c]))))


@pytest.mark.row("L2.d", "A4.2.e")
def test_many_classes_from_logits() -> None:
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(6, 4)), rng.integers(0, 4, 6)
    np.testing.assert_allclose(losses.cross_entropy(z, y), nn.logsumexp(z, axis=-1) - z[np.arange(6), y])
    np.testing.assert_allclose(losses.cross_entropy(z, nn.one_hot(y, 4)), losses.cross_entropy(z, y))
    two = np.stack([z[:, 0], np.zeros(6)], axis=1)
    np.testing.assert_allclose(losses.cross_entropy(two, np.zeros(6, int)), losses.logistic(z[:, 0], np.ones(6)))
    gradient = ad.grad(lambda z: np.sum(losses.cross_entropy(z, y)))(z)
    np.testing.assert_allclose(gradient, nn.softargmax(z) - nn.one_hot(y, 4), atol=1e-12)


@pytest.mark.row("L2.e")
def test_base_of_logarithms() -> None:
    z = np.zeros(2)
    assert losses.cross_entropy(z, 0, base=2) == pytest.approx(1.0)
    assert losses.cross_entropy(z, 0) == pytest.approx(0.6931472, abs=1e-7)
    natural, binary = (ad.grad(lambda z, b=b: losses.cross_entropy(z, 0, base=b))(z) for b in (np.e, 2))
    np.testing.assert_allclose(binary, natural / np.log(2))


@pytest.mark.row("A3.1.a")
def test_data_and_their_split() -> None:
    data = ad.data.arrays(x=np.arange(20.0), y=np.arange(20) % 2)
    parts = data.split((0.6, 0.2, 0.2), ad.random.default_rng(0))
    seen = [np.asarray(part[np.arange(len(part))]["x"]) for part in parts]
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)), np.arange(20.0))
    again = data.split((0.6, 0.2, 0.2), ad.random.default_rng(0))
    for one, other in zip(seen, again, strict=True):
        np.testing.assert_array_equal(one, other[np.arange(len(other))]["x"])


@pytest.mark.row("A3.1.b")
def test_retrieval_and_taps() -> None:
    rng = np.random.default_rng(0)
    keys = rng.normal(size=(30, 5))
    queries = keys[[3, 17]] * 2.0 + 1e-3
    for metric in ("cosine", "dot", "euclidean"):
        near, similarity = nn.nearest(queries if metric != "euclidean" else keys[[3, 17]], keys, 3, metric)
        assert np.all(np.diff(similarity, axis=1) <= 0)
        if metric != "dot":
            assert list(near[:, 0]) == [3, 17]
    model = nn.MLP.init(ad.random.default_rng(0), [5, 8, 2])
    x = rng.normal(size=(4, 5))
    out, _ = nn.taps(model, "layers[0]")(x)
    np.testing.assert_array_equal(out, model(x))


@pytest.mark.row("A3.2.c", "A3.2.e")
def test_margins() -> None:
    f, y = np.array([0.3, -2.0, 1.5]), np.array([1, 1, -1])
    np.testing.assert_array_equal(losses.zero_one(f, y), [0, 1, 1])
    np.testing.assert_array_equal(losses.margin(f, y) > 0, np.sign(f) == y)
    np.testing.assert_array_equal(ad.grad(lambda f: np.sum(losses.zero_one(f, y)))(f), np.zeros(3))
    assert losses.hinge(0.3, 1) == pytest.approx(0.7)
    assert ad.grad(lambda f: losses.hinge(f, 1))(0.3) == -1.0
    assert -1.0 <= ad.grad(lambda f: losses.hinge(f, 1))(1.0) <= 0.0


@pytest.mark.row("A3.2.f")
def test_a_model_that_memorizes_has_a_gap() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random(10), rng.random(10)
    memory = dict(zip(x, y, strict=True))
    train = losses.squared(np.array([memory[v] for v in x]), y)
    test = losses.squared(np.zeros(10), rng.random(10))
    assert np.all(train == 0)
    assert losses.generalization_gap(train, test) == pytest.approx(np.mean(test))


@pytest.mark.row("A3.3.a")
def test_bayes_over_two_models() -> None:
    flips = np.array([1, 1, 0, 1])
    chances = np.array([0.5, 0.8])
    likelihood = np.array([np.prod(np.where(flips == 1, c, 1 - c)) for c in chances])
    weights = losses.posterior(np.log(likelihood), np.log([0.5, 0.5]))
    np.testing.assert_allclose(weights, likelihood / likelihood.sum())
    assert np.sum(weights) == pytest.approx(1.0)
    assert losses.average(list(chances), weights) == pytest.approx(weights @ chances)
    np.testing.assert_allclose(losses.posterior(np.log(likelihood) - 5000.0), likelihood / likelihood.sum())


@pytest.mark.row("A3.3.c")
def test_priors_are_penalties() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    objective = lambda w: np.sum(losses.squared(X @ w, y)) - 2 * losses.log_prior("gaussian", w, scale=0.5)
    found = ad.optimize.minimize(objective, np.zeros(3)).value
    np.testing.assert_allclose(found, losses.ridge(X, y, 1 / 0.5**2), atol=1e-6)
    flat = ad.optimize.minimize(lambda w: np.sum(losses.squared(X @ w, y)) - losses.log_prior("flat", w), np.zeros(3))
    np.testing.assert_allclose(flat.value, losses.least_squares(X, y), atol=1e-6)
    for kind in ("gaussian", "laplace"):
        assert losses.log_prior(kind, np.ones(3)) > losses.log_prior(kind, 2 * np.ones(3))


@pytest.mark.row("A4.1.a", "A4.1.c")
def test_losses_of_numbers() -> None:
    assert losses.squared(3.0, 1.0) == 4.0
    assert losses.gaussian_nll(0.0, 2.0, 1.0) == pytest.approx(1.7370857, abs=1e-7)
    assert losses.huber(0.5, 0.0) == 0.125
    assert losses.huber(2.0, 0.0) == 1.5
    for side in (-1e-7, 1e-7):  # it is differentiable where the parts meet
        assert ad.grad(lambda e: losses.huber(e, 0.0))(1.0 + side) == pytest.approx(1.0, abs=1e-6)
    assert -1.0 <= ad.grad(lambda e: losses.absolute(e, 0.0))(0.0) <= 1.0


@pytest.mark.row("A4.1.d")
def test_a_bias_is_a_column_of_ones() -> None:
    rng = np.random.default_rng(0)
    X, w, b = rng.normal(size=(7, 3)), rng.normal(size=3), 0.7
    layer = nn.Linear.init(ad.random.default_rng(0), 3, 1)
    loss = lambda w, b: np.sum((X @ w + b) ** 2)
    wide = lambda v: np.sum((np.concatenate([X, np.ones((7, 1))], axis=1) @ v) ** 2)
    both = np.append(w, b)
    np.testing.assert_allclose(np.append(*ad.grad(loss, argnums=(0, 1))(w, b)), ad.grad(wide)(both), rtol=1e-12)
    order = rng.permutation(7)
    np.testing.assert_allclose(layer(X[order]), layer(X)[order])


@pytest.mark.row("A4.2.a")
def test_one_hot_and_back() -> None:
    np.testing.assert_array_equal(nn.one_hot(2, 3), [0, 0, 1])
    assert nn.decode(np.array([0.2, 0.3, 0.4])) == 2
    codes = nn.one_hot(np.arange(3), 3)
    apart = np.sqrt(np.sum((codes[:, None] - codes) ** 2, axis=-1))
    np.testing.assert_allclose(apart, np.sqrt(2) * (1 - np.eye(3)))


@pytest.mark.row("A4.2.c")
def test_temperatures() -> None:
    x = np.array([0.1, 0.2, 0.6])
    np.testing.assert_allclose(nn.softargmax(x), [0.2664, 0.2944, 0.4392], atol=5e-5)
    np.testing.assert_allclose(nn.softargmax(x, temperature=1e6), np.full(3, 1 / 3), atol=1e-6)
    np.testing.assert_allclose(nn.softargmax(x, temperature=1e-3), [0, 0, 1], atol=1e-12)


@pytest.mark.row("A4.3.a")
def test_two_classes_are_two_logits() -> None:
    s = np.linspace(-3, 3, 7)
    pairs = np.stack([np.zeros(7), s], axis=1)
    np.testing.assert_allclose(nn.softargmax(pairs)[:, 1], nn.logistic(s), rtol=1e-12)
    np.testing.assert_allclose(nn.logit(nn.logistic(s)), s, atol=1e-12)


@pytest.mark.row("A4.3.e")
def test_costs_decide() -> None:
    costs, p = np.array([[0.0, 10.0], [1.0, 0.0]]), np.array([0.85, 0.15])
    np.testing.assert_allclose(costs @ p, [1.5, 0.85])
    assert calibration.decide(p, costs) == 1


@pytest.mark.row("A4.3.f")
def test_calibration_error() -> None:
    p, right = np.array([0.95, 0.9, 0.6, 0.55]), np.array([1, 0, 1, 1])
    assert calibration.ece(p, right, bins=10) == pytest.approx(0.425)
    assert calibration.ece(np.array([1.0]), np.array([1])) == 0.0  # 1.0 lies in the last bin


@pytest.mark.row("A4.3.g")
def test_temperature_keeps_the_classes() -> None:
    rng = np.random.default_rng(0)
    z, y = 5 * rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    found = calibration.temperature(z, y)
    nll = lambda t: np.mean(losses.cross_entropy(z / t, y))
    assert nll(found.temperature) <= nll(1.0)
    np.testing.assert_array_equal(np.argmax(found(z), axis=1), np.argmax(z, axis=1))


@pytest.mark.row("A4.3.h")
def test_prediction_sets() -> None:
    np.testing.assert_array_equal(np.flatnonzero(conformal.threshold_sets(np.array([0.2, 0.5, 0.3]), 0.25)), [1, 2])
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(300):
        y = rng.normal(size=200)
        low, high = conformal.Split(0.9).calibrate(np.abs(y[:100])).interval(np.zeros(100))
        covered.append(np.mean((y[100:] >= low) & (y[100:] <= high)))
    assert np.mean(covered) >= 0.9 - 3 * 0.03 / np.sqrt(300)


@pytest.mark.row("A5.2.a", "A5.2.b")
def test_linear_layers_collapse() -> None:
    rng = ad.random.default_rng(0)
    first, second = nn.Linear.init(rng, 3, 4), nn.Linear.init(rng, 4, 1)
    x = np.random.default_rng(0).normal(size=(6, 3))
    np.testing.assert_allclose(
        second(first(x)), x @ (first.weight @ second.weight) + first.bias @ second.weight + second.bias, rtol=1e-12
    )
    w = np.array([1.0, -2.0, 0.5])
    doubled = x.copy()
    doubled[:, 1] *= 2
    np.testing.assert_allclose(doubled @ w - x @ w, w[1] * x[:, 1], rtol=1e-10)
    assert sum(np.size(leaf) for leaf in ad.tree.leaves(first)) == 16
    gradient = ad.grad(lambda layer: np.sum(np.sin(layer(x))))(first)
    np.testing.assert_allclose(gradient.bias, np.sum(np.cos(first(x)), axis=0), rtol=1e-12)


@pytest.mark.row("A5.2.d")
def test_thirty_two_units_fit_a_sine() -> None:
    x = np.linspace(-np.pi, np.pi, 200)[:, None]
    model = nn.MLP.init(ad.random.default_rng(0), [1, 32, 1], activation=np.tanh)
    loss = lambda model: np.mean(losses.squared(model(x)[:, 0], np.sin(x[:, 0])))
    found = ad.optimize.minimize(loss, model, max_iterations=300).value
    assert np.max(np.abs(found(x)[:, 0] - np.sin(x[:, 0]))) < 0.05

"""train: epochs and order, bounds of the theory, stopping, resuming, hyper-gradients, what it refuses."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.optimize import SVRG, FiniteSum, train, updates
from tests.optimize.stochastic.problems import coins, line, logistic, solve_squares, squares

X, Y = line()
RNG = lambda seed=0: ad.random.default_rng(seed)


@pytest.mark.row("A5.3.b")
def test_every_example_once_in_an_epoch() -> None:
    """n = 12, r = 4: three batches, each example once, in another order in the next epoch."""
    orders = []
    for epoch in range(2):
        indices, weights = ad.data.pad_batches(ad.data.epoch_order(RNG(), epoch, 12), 4)
        assert indices.shape == (3, 4)
        assert weights.all()
        assert sorted(indices.ravel().tolist()) == list(range(12))
        np.testing.assert_array_equal(indices.ravel(), ad.data.epoch_order(RNG(), epoch, 12))
        orders.append(indices.ravel().tolist())
    assert orders[0] != orders[1]


@pytest.mark.row("A5.3.a")
def test_batches_of_an_epoch_average_to_the_whole_loss() -> None:
    """With a learning rate of 0 the loss of an epoch is the loss of all data, also with a batch that is filled up."""
    w = np.array([1.0, 0.0, -1.0])
    for size in (8, 7, 48):
        found = train(squares, w, (X, Y), updates.sgd(0.0), batch=size, rng=RNG())
        np.testing.assert_allclose(found.fun, np.mean(squares(w, X, Y)), rtol=1e-13)
        assert len(found.history["fun"]) == -(-48 // size)
    mean = FiniteSum(squares, (X, Y))
    draws = {r: np.array([mean.gradient(w, mean.sample(RNG().at(k), r)) for k in range(400)]) for r in (1, 4, 16)}
    spread = {r: np.mean(np.sum((g - mean.gradient(w)) ** 2, axis=1)) for r, g in draws.items()}
    for r in (4, 16):
        assert 0.6 < r * spread[r] / spread[1] < 1.6


@pytest.mark.row("16.2.2a")
def test_stochastic_gradient_descent_keeps_its_bound() -> None:
    """E L(w̄) - L* ≤ ‖w⁰ - w*‖²/(γT) + 2γσ² for γ ≤ 1/(4β), and a plateau in proportion to γ."""
    best = solve_squares(X, Y)
    least = np.mean(squares(best, X, Y))
    beta = np.max(np.sum(X * X, axis=1))
    mean = FiniteSum(squares, (X, Y))
    sigma = mean.variance(best)
    plateaus = []
    for gamma in (1 / (4 * beta), 1 / (32 * beta)):
        rule = updates.averaged(updates.sgd(gamma))

        def end(rng: Any, start: Any, rule: Any = rule) -> Any:
            def advance(carry: Any, t: Any) -> Any:  # examples with replacement, as the theorem has it
                w, state = carry
                step, state = rule.update(mean.gradient(w, mean.sample(rng.at(t), 1)), state, w)
                return (updates.apply(w, step), state), None

            (w, state), _ = ad.scan(advance, (start, rule.init(start)), np.arange(960))
            return np.mean(squares(updates.average(state), X, Y)), np.mean(squares(w, X, Y))

        run = ad.jit(ad.vmap(end, in_axes=(0, None)))
        averaged, _ = run(RNG().split(24), np.zeros(3))
        bound = np.sum(best**2) / (gamma * 960) + 2 * gamma * sigma
        assert 0 < np.mean(averaged) - least <= bound
        plateaus.append(np.mean(run(RNG(1).split(100), best)[1]) - least)
    assert 4.0 < plateaus[0] / plateaus[1] < 16.0  # the steps differ by 8


@pytest.mark.row("L6.a")
def test_loss_of_a_small_set_falls_in_every_epoch() -> None:
    """Any model, loss and regularizer: a layer of tanh, squares, a penalty of the weights."""
    rng = np.random.default_rng(0)
    params = {"U": rng.normal(size=(3, 4)), "v": rng.normal(size=4)}

    def loss(w: Any, x: Any, y: Any) -> Any:
        return (np.tanh(x @ w["U"]) @ w["v"] - y) ** 2 + 1e-3 * np.sum(w["U"] ** 2)

    seen: list[float] = []
    whole = lambda now: seen.append(float(np.mean(loss(now.x, X[:8], Y[:8]))))
    train(loss, params, (X[:8], Y[:8]), updates.sgd(1e-3), batch=1, epochs=30, rng=RNG(), callback=whole)
    assert len(seen) == 30
    assert all(after < before for before, after in pairwise(seen))


@pytest.mark.row("L6.c")
def test_keys_and_stopping_rules() -> None:
    """Weights are functions of a key; the loop ends exactly when the rule says so."""
    one, two = (RNG(7).at(3).normal(size=(3, 4)) for _ in range(2))
    assert one.tobytes() == two.tobytes()
    asked: list[int] = []

    def stop(now: Any) -> bool:
        asked.append(now.epoch)
        return now.epoch == 4

    found = train(squares, np.zeros(3), (X, Y), updates.sgd(0.01), batch=8, epochs=30, rng=RNG(), stop=stop)
    assert (found.status, int(found.epochs), int(found.steps), asked) == ("stopped", 4, 24, [1, 2, 3, 4])
    falls = lambda now: now.fun < 0.5
    eager = train(squares, np.zeros(3), (X, Y), updates.sgd(0.01), batch=8, epochs=30, rng=RNG(), stop=falls)
    fast = ad.jit(lambda w: train(squares, w, (X, Y), updates.sgd(0.01), batch=8, epochs=30, rng=RNG(), stop=falls))
    traced = fast(np.zeros(3))
    assert eager.status == traced.status == "stopped"
    assert int(eager.epochs) == int(traced.epochs) < 30
    np.testing.assert_allclose(eager.value, traced.value, rtol=1e-10)


def test_early_stopping_keeps_the_best() -> None:
    x, y = line(12, 3, noise=2.0)
    found = train(squares, np.zeros(3), (x[:4], y[:4]), updates.adam(0.3), batch=2, epochs=200, rng=RNG(),
                  validation=(x[4:], y[4:]), patience=5)  # fmt: skip
    checks = found.history["validation"]
    assert found.status == "stopped early"
    assert len(checks) == int(np.argmin(checks)) + 7
    np.testing.assert_allclose(np.mean(squares(found.value, x[4:], y[4:])), np.min(checks), rtol=1e-12)
    np.testing.assert_allclose(np.mean(squares(found.last, x[4:], y[4:])), checks[-1], rtol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
def test_going_on_is_the_same_run(compiled: bool) -> None:
    args = (squares, np.zeros(3), (X, Y), updates.adamw(updates.cosine(0.1, 40)))
    whole = train(*args, batch=10, epochs=6, rng=RNG(), compile=compiled)
    half = train(*args, batch=10, epochs=3, rng=RNG(), compile=compiled)
    rest = train(*args, batch=10, epochs=3, rng=RNG(), compile=compiled, warm=half.state)
    assert whole.value.tobytes() == rest.value.tobytes()
    np.testing.assert_array_equal(whole.history["fun"], np.append(half.history["fun"], rest.history["fun"]))


def test_compiled_is_eager() -> None:
    for loss in (squares, lambda w, x, y: np.mean(squares(w, x, y))):
        runs = [train(loss, np.zeros(3), (X, Y), updates.adam(0.05), batch=10, epochs=5, rng=RNG(), compile=c)
                for c in (False, True)]  # fmt: skip
        np.testing.assert_allclose(runs[0].value, runs[1].value, rtol=1e-10)
        assert len(runs[0].history["fun"]) == 25


def test_converges_to_the_minimizer() -> None:
    found = train(squares, np.zeros(3), (X, Y), updates.adam(updates.cosine(0.1, 900)), batch=16, epochs=300, rng=RNG())
    np.testing.assert_allclose(found.value, solve_squares(X, Y), atol=1e-3)
    x, y = coins()
    whole = ad.optimize.minimize(lambda w: np.mean(logistic(w, x, y)), np.zeros(2)).value
    found = train(
        logistic, np.zeros(2), (x, y), updates.adam(updates.cosine(0.1, 1500)), batch=40, epochs=300, rng=RNG()
    )
    np.testing.assert_allclose(found.value, whole, atol=1e-3)


def test_hyper_gradients_of_schedules() -> None:
    def end(start: Any, finish: Any) -> Any:
        rule = updates.chain(updates.clip_by_norm(5.0), updates.momentum(updates.linear(start, finish, 12), 0.8))
        found = train(squares, np.zeros(3), (X, Y), rule, batch=16, epochs=4, rng=RNG(), validation=(X[:5], Y[:5]),
                      differentiate=ad.implicit.Unrolled())  # fmt: skip
        return np.mean(squares(found.last, X[:5], Y[:5]))

    ad.check_grads(end, (0.02, 0.005), order=1)
    slopes = ad.grad(end, (0, 1))(0.02, 0.005)
    np.testing.assert_allclose(ad.jit(ad.grad(end, (0, 1)))(0.02, 0.005), slopes, rtol=1e-10)
    many = ad.vmap(ad.grad(end), in_axes=(0, None))(np.array([0.02, 0.03]), 0.005)
    np.testing.assert_allclose(many[0], slopes[0], rtol=1e-10)


def test_not_finite() -> None:
    x = X.copy()
    x[20] = np.nan
    found = train(squares, np.zeros(3), (x, Y), updates.sgd(0.01), batch=8, epochs=3, rng=RNG())
    assert (found.status, int(found.epochs)) == ("not finite", 0)
    assert np.all(found.value == 0.0)
    assert "20" in found.note
    with pytest.raises(ad.SolveError, match="smaller learning rate"):
        found.raise_if_failed()
    traced = ad.jit(lambda w: train(squares, w, (x, Y), updates.sgd(0.01), batch=8, epochs=3, rng=RNG()))(np.zeros(3))
    assert traced.status == "not finite"
    assert np.all(traced.value == 0.0)


@pytest.mark.parametrize("options, text", [
    ({"batch": 100}, "batch of 100"),
    ({"batch": 0}, "batch of 0"),
    ({"batch": 4, "rng": None}, "default_rng"),
    ({"patience": 3}, "validation="),
    ({"differentiate": "equation"}, "Unrolled"),
    ({"epochs": -1}, "negative"),
    ({"epochs": 1.5}, "epochs is 1.5; it is an integer"),
    ({"batch": 2.5}, "batch is 2.5; it is an integer"),
    ({"weight": np.ones(3)}, "48 examples"),
])  # fmt: skip
def test_refusals(options: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError, ad.AdjointError), match=text):
        train(squares, np.zeros(3), (X, Y), updates.sgd(0.1), **{"rng": RNG(), **options})


SHORT = np.arange(8.0) / 8


def run_short(loss: Any, rule: Any) -> Any:
    return train(loss, 0.1, SHORT, rule, batch=4, epochs=2, rng=ad.random.default_rng(0)).value


CLOSURES: dict[str, Any] = {
    "a loss": lambda c: run_short(lambda w, x: (w - c * x) ** 2, updates.adam(0.1)),
    "a schedule": lambda c: run_short(lambda w, x: (w - x) ** 2, updates.adam(lambda t: 0.1 * c * 0.9**t)),
    "a method": lambda c: run_short(lambda w, x: (w - c * x) ** 2, SVRG(0.05)),
}


@pytest.mark.parametrize("name", CLOSURES)
def test_what_a_run_closes_over_is_differentiated(name: str) -> None:
    run, h = CLOSURES[name], 1e-6
    expected = (run(2.0 + h) - run(2.0 - h)) / (2 * h)
    derivatives = (ad.grad(run)(2.0), ad.jit(ad.grad(run))(2.0), ad.jvp(run, (2.0,), (1.0,))[1])
    np.testing.assert_allclose(derivatives, expected, rtol=1e-6)
    np.testing.assert_allclose(ad.vmap(run)(np.array([2.0, 3.0])), [run(2.0), run(3.0)], rtol=1e-12)


@pytest.mark.parametrize("weight", [-np.ones(8), np.full(8, np.nan), np.zeros(8)])
def test_weights_that_are_none(weight: Any) -> None:
    with pytest.raises(ValueError, match="weights are not negative"):
        train(lambda w, x: (w - x) ** 2, 0.0, SHORT, updates.sgd(0.1), weight=weight)

"""Rules as trees and in transformations; their numbers as schedules and traced values; what they refuse."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.optimize import updates

W = {"w": np.array([[1.0, -2.0], [0.5, 3.0]]), "b": np.array([0.3, -0.1]), "n": np.arange(2)}


def slope(w: Any) -> Any:
    return {"w": 2 * w["w"], "b": np.cos(w["b"]), "n": np.zeros(2, int)}


def descend(rule: updates.Rule, w: Any, steps: int = 5) -> Any:
    state = rule.init(w)
    for _ in range(steps):
        step, state = rule.update(slope(w), state, w, value=1.0)
        w = updates.apply(w, step)
    return w


RULES = {
    "adam": lambda: updates.adam(0.1),
    "chain": lambda: updates.chain(updates.clip_by_norm(1.0), updates.adamw(updates.cosine(0.1, 10))),
    "lookahead": lambda: updates.lookahead(updates.radam(0.1), 2),
    "accumulate": lambda: updates.accumulate(updates.nadam(0.1), 2),
    "averaged": lambda: updates.averaged(updates.rmsprop(0.1, centered=True), 0.9),
    "groups": lambda: updates.groups({"w": updates.lion(0.1), "b": updates.adagrad(0.1)}),
    "plateau": lambda: updates.chain(updates.adadelta(), updates.on_plateau(0.5, 1)),
}


@pytest.mark.parametrize("name", RULES)
def test_compiled_in_a_loop_and_batched(name: str) -> None:
    rule = RULES[name]()
    plain = descend(rule, W)
    assert plain["n"].tolist() == [0, 1]

    def looped(rule: updates.Rule, w: Any) -> Any:
        def advance(carry: Any, _: Any) -> Any:
            w, state = carry
            step, state = rule.update(slope(w), state, w, value=1.0)
            return (updates.apply(w, step), state), None

        return ad.scan(advance, (w, rule.init(w)), None, length=5)[0][0]

    compiled = ad.jit(looped)(rule, W)
    many = ad.vmap(descend, in_axes=(None, 0))(rule, ad.tree.map(lambda leaf: np.stack([leaf, 2 * leaf]), W))
    for path in ("w", "b"):
        np.testing.assert_allclose(compiled[path], plain[path], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(many[path][0], plain[path], rtol=1e-12, atol=1e-14)


@pytest.mark.row("16.2.4e")
def test_schedules_count_from_zero() -> None:
    """A schedule in Adam is called with 0, 1, 2, …: it is Adam with another γ in each update."""
    rates = [0.3, 0.1, 0.5, 0.2]
    rule = updates.adam(lambda t: np.array(rates)[t])
    w, state, seen = W, rule.init(W), W
    parts = updates.scale_by_adam()
    inner = parts.init(W)
    for rate in rates:
        step, state = rule.update(slope(w), state, w)
        w = updates.apply(w, step)
        step, inner = parts.update(slope(seen), inner, seen)
        seen = updates.apply(seen, ad.tree.map(lambda u, rate=rate: rate * u, step))
    np.testing.assert_allclose(w["w"], seen["w"], rtol=1e-15)


@pytest.mark.parametrize("make", [
    lambda x: updates.adam(0.1, b1=x), lambda x: updates.adam(x), lambda x: updates.nadam(0.1, b2=x),
    lambda x: updates.chain(updates.clip_by_norm(x), updates.sgd(0.1)), lambda x: updates.adamw(0.1, decay=x),
    lambda x: updates.lookahead(updates.sgd(0.1), 2, x), lambda x: updates.rmsprop(0.1, x, centered=True),
    lambda x: updates.momentum(updates.cosine(x, 10), 0.9, inside=True),
])  # fmt: skip
def test_hyper_gradients(make: Any) -> None:
    """Traced numbers: the derivative of what a few updates lead to, against differences."""
    end = lambda x: np.sum(descend(make(x), W)["w"] ** 2)
    ad.check_grads(end, (0.7,), order=1)


def test_rules_are_trees() -> None:
    """The gradient with respect to a rule is a rule, and no number makes a second program."""
    end = lambda rule: np.sum(descend(rule, W)["w"] ** 2)
    slopes = ad.grad(end)(updates.adam(0.1))
    by_number = ad.grad(lambda rate: end(updates.adam(rate)))(0.1)
    np.testing.assert_allclose(slopes.parts[-1].numbers["factor"], by_number)
    fast = ad.jit(end)
    for rate in (0.1, 0.2, 0.3):
        np.testing.assert_allclose(fast(updates.adam(rate)), end(updates.adam(rate)), rtol=1e-12)
    assert "1 specialization" in str(fast.report())


def test_zero_gradients_have_hyper_gradients() -> None:
    """√v at 0 has no derivative; a parameter without gradient stays where it is, for every rate."""

    def end(rate: Any) -> Any:
        rule, w = updates.adam(rate), np.zeros(2)
        step, _ = rule.update(np.zeros(2), rule.init(w), w)
        return np.sum(w - step)

    assert ad.grad(end)(0.1) == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
@pytest.mark.parametrize("name", [n for n in RULES if n != "groups"])
def test_precision_is_that_of_the_parameters(name: str, dtype: Any) -> None:
    rule = RULES[name]()
    w = np.array([1.0, 2.0], dtype)
    state = rule.init(w)
    for _ in range(3):
        step, state = rule.update(w, state, w, value=1.0)
        w = updates.apply(w, step)
        assert step.dtype == w.dtype == dtype
    assert all(leaf.dtype.kind == "i" or leaf.shape == () or leaf.dtype.itemsize <= np.dtype(dtype).itemsize
               for leaf in ad.tree.leaves(state))  # fmt: skip


def test_complex_parameters_descend() -> None:
    """|g|² is the size of a complex gradient: multiplying all by i turns the path by i."""
    f = lambda w: np.sum(np.abs(w - 1.0j) ** 2)
    ends = []
    for turn in (1.0, 1.0j):
        rule, w = updates.adam(0.1), np.array([1.0 + 0j, 2.0]) * turn
        state = rule.init(w)
        for _ in range(300):
            step, state = rule.update(ad.grad(lambda w, turn=turn: f(w / turn))(w), state, w)
            w = w - step
        ends.append(w / turn)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)
    np.testing.assert_allclose(ends[0], [1.0j, 1.0j], atol=0.02)


@pytest.mark.parametrize("bad, text", [
    (lambda: updates.adam("fast"), "learning|factor"),
    (lambda: updates.scale(np.inf), "finite"),
    (lambda: updates.chain(0.1), "chain takes rules"),
    (lambda: descend(updates.sgd(lambda t: np.ones(2)), W), "one number"),
    (lambda: updates.adam().update(W, (), W), "init"),
    (lambda: updates.groups({"q": updates.sgd(0.1)}).init(W), "nothing at 'q'"),
    (lambda: updates.average(updates.adam().init(W)), "averaged"),
    (lambda: updates.scale_by_schedule(0.1), "updates.scale"),
    (lambda: updates.on_plateau().update(1.0, updates.on_plateau().init(1.0), 1.0), "value=loss"),
])  # fmt: skip
def test_refusals(bad: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError, ad.AdjointError), match=text):
        bad()


def test_numbers_with_which_a_rule_is_another_one_are_refused():
    """Clipping to a negative norm turned the step round; averages with a factor above 1 run away."""
    for make, words in ((lambda: updates.clip_by_norm(-1.0), "most is -1.0; it must be at least 0"),
                        (lambda: updates.adam(0.1, b1=2.0), "b1 is 2.0; it must be between 0 and 1"),
                        (lambda: updates.rmsprop(0.1, decay=-0.1), "decay is -0.1"),
                        (lambda: updates.adam(0.1, eps=-1e-8), "eps is")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            make()

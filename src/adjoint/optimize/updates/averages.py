"""Rules around another rule: averages of iterates, lookahead, accumulated gradients, and waiting for a plateau."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import cond
from adjoint.base.errors import TreeError
from adjoint.base.source import user_facing
from adjoint.optimize.updates.rule import Numbers, Rule, apply, like, make_rule, map_parameters, zeros
from adjoint.program.trace import TRACED

__all__ = ["accumulate", "average", "averaged", "lookahead", "on_plateau"]

State = dict[str, Any]


def copy(params: Any) -> Any:
    """The same numbers, in arrays of their own."""
    return map_parameters(lambda w: w if isinstance(w, TRACED) else np.array(w)[()], params)


@user_facing
def averaged(rule: Rule, decay: Any = None, *, start: int = 0) -> Rule:
    """The rule, and beside it an average of the iterates that it leads to; `average(state)` reads it.

    Without `decay` it is the mean of all iterates from update number `start` on (Polyak, Ruppert); with it a mean that
    forgets, a⁺ = decay a + (1 - decay) w⁺, freed from its start: divided by 1 - decayᵗ⁺¹.

    ```python
    from adjoint.optimize import updates
    rule = updates.averaged(updates.sgd(0.5))
    w, state = 1.0, rule.init(1.0)
    for _ in range(2):
        step, state = rule.update(w, state, w)
        w = w - step
    w, float(updates.average(state))  # → (0.25, 0.375)
    ```
    """
    number = None if callable(decay) or isinstance(decay, TRACED) else decay
    if number is not None and not np.all((number >= 0) & (number < 1)):
        raise ValueError(f"averaged: decay={decay}; it is a number with 0 <= decay < 1.")
    numbers = {} if decay is None else {"decay": decay}
    return make_rule("averaged", _start_averaged, _averaged, int(start), (rule,), **numbers)


def _start_averaged(rule: Rule, params: Any) -> State:
    inner = rule.parts[0].init(params)
    state: State = {"inner": inner, "average": copy(params)}
    return {**state, "sum": zeros(params), "weight": np.float64(0.0)} if "decay" in rule.numbers else state


def _averaged(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    step, inner = numbers.parts[0].update(gradient, state["inner"], params, numbers.value)
    moved = apply(params, step)
    if "decay" in numbers.rule.numbers:
        decay = np.where(numbers.count < numbers.options, 0.0, numbers("decay"))
        mix = lambda s, w: like(decay, w) * s + like(1.0 - decay, w) * w
        total, weight = map_parameters(mix, state["sum"], moved), decay * state["weight"] + 1.0 - decay
        mean = map_parameters(lambda s: s / like(weight, s), total)
        return step, {"inner": inner, "average": mean, "sum": total, "weight": weight}
    part = 1.0 / np.maximum(numbers.count - numbers.options + 1.0, 1.0)
    mean = map_parameters(lambda a, w: a + like(part, w) * (w - a), state["average"], moved)
    return step, {"inner": inner, "average": mean}


@user_facing
def average(state: Any) -> Any:
    """The average of the iterates, from the state of a rule that has an `averaged` part.

    ```python
    from adjoint.optimize import updates
    rule = updates.chain(updates.clip_by_norm(1.0), updates.averaged(updates.sgd(0.5)))
    updates.average(rule.init(np.ones(2)))  # → [1.0, 1.0]
    ```
    """
    if isinstance(state, dict):
        if "average" in state:
            return state["average"]
        for inner in (*state.get("parts", ()), *([state["inner"]] if "inner" in state else [])):
            try:
                return average(inner)
            except TreeError:
                continue
    raise TreeError("average: no part of this rule keeps an average of the iterates; wrap it: updates.averaged(rule).")


@user_facing
def lookahead(rule: Rule, every: int = 5, rate: Any = 0.5) -> Rule:
    """k updates of the rule, then back to a point on the way: s⁺ = s + rate (w - s), w = s⁺ (Zhang et al.).

    ```python
    from adjoint.optimize import updates
    rule = updates.lookahead(updates.sgd(1.0), every=2, rate=0.5)
    w, state = 0.0, rule.init(0.0)
    for _ in range(2):
        step, state = rule.update(-1.0, state, w)
        w = w - step
    float(w)  # → 1.0
    ```
    """
    if every < 1:
        raise ValueError(f"lookahead: every={every}; it counts updates, at least 1.")
    return make_rule("lookahead", _start_lookahead, _lookahead, int(every), (rule,), rate=rate)


def _start_lookahead(rule: Rule, params: Any) -> State:
    return {"inner": rule.parts[0].init(params), "slow": copy(params)}


def _lookahead(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    step, inner = numbers.parts[0].update(gradient, state["inner"], params, numbers.value)
    rate, due = numbers("rate"), (numbers.count + 1) % numbers.options == 0
    moved = apply(params, step)
    slow = map_parameters(lambda w, s: np.where(due, s + like(rate, s) * (w - s), s), moved, state["slow"])
    step = map_parameters(lambda u, w, s: np.where(due, w - s, u), step, params, slow)
    return step, {"inner": inner, "slow": slow}


@user_facing
def accumulate(rule: Rule, every: int) -> Rule:
    """The rule with the mean of so many gradients, at every so-many-th update; no step at the others.

    Micro-batches that weigh the same give the gradient of the large batch; `training_step` takes parts of any weights.

    ```python
    from adjoint.optimize import updates
    rule = updates.accumulate(updates.sgd(1.0), 2)
    first, state = rule.update(1.0, rule.init(0.0), 0.0)
    float(first), float(rule.update(3.0, state, 0.0)[0])  # → (0.0, 2.0)
    ```
    """
    if every < 1:
        raise ValueError(f"accumulate: every={every}; it counts gradients, at least 1.")
    return make_rule("accumulate", _start_accumulate, _accumulate, int(every), (rule,))


def _start_accumulate(rule: Rule, params: Any) -> State:
    return {"inner": rule.parts[0].init(params), "sum": zeros(params)}


def _accumulate(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    every = numbers.options
    total = map_parameters(lambda s, g: s + g, state["sum"], gradient)
    due = (numbers.count + 1) % every == 0

    def take() -> tuple[Any, Any, Any]:
        mean = map_parameters(lambda s: s / like(every, s), total)
        step, inner = numbers.parts[0].update(mean, state["inner"], params, numbers.value)
        return step, inner, tree.map(np.zeros_like, total)

    step, inner, rest = cond(due, take, lambda: (tree.map(np.zeros_like, gradient), state["inner"], total))
    return step, {"inner": inner, "sum": rest}


@user_facing
def on_plateau(
    factor: Any = 0.1, patience: int = 10, *, tolerance: Any = 1e-4, cooldown: int = 0, least: Any = 0.0, every: int = 1
) -> Rule:
    """u times a number that starts at 1 and is multiplied by `factor` when the loss has not fallen for long.

    The loss, which `update` is given as `value`, is averaged over `every` updates; it has fallen when it is below the
    best one so far by the part `tolerance`. After more than `patience` such means without a fall the number shrinks,
    not below `least`, and waits for `cooldown` of them.

    ```python
    from adjoint.optimize import updates
    rule = updates.on_plateau(0.5, patience=1)
    state = rule.init(0.0)
    for _ in range(3):
        step, state = rule.update(1.0, state, 0.0, value=3.0)
    float(step)  # → 0.5
    ```
    """
    options = (int(patience), int(cooldown), int(every))
    return make_rule("on_plateau", _start_plateau, _plateau, options, factor=factor, tolerance=tolerance, least=least)


def _start_plateau(rule: Rule, params: Any) -> State:
    whole, number = np.int64(0), np.float64
    return {"scale": number(1.0), "best": number(np.inf), "waited": whole, "cooling": whole, "sum": number(0.0)}


def _plateau(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    if numbers.value is None:
        raise TypeError("on_plateau: the rule needs the loss: rule.update(gradient, state, params, value=loss).")
    patience, cooldown, every = numbers.options
    value: Any = numbers.value if isinstance(numbers.value, TRACED) else np.float64(numbers.value)
    total = state["sum"] + value.astype(np.float64)
    due = (numbers.count + 1) % every == 0
    mean = total / every
    fell = mean < state["best"] * (1.0 - numbers("tolerance"))
    fell = np.logical_or(fell, np.logical_and(np.isinf(state["best"]), np.isfinite(mean)))
    cooling = np.maximum(state["cooling"] - 1, 0)
    waited = np.where(np.logical_or(fell, state["cooling"] > 0), 0, state["waited"] + 1)
    shrinks = waited > patience
    scale = np.where(shrinks, np.maximum(state["scale"] * numbers("factor"), numbers("least")), state["scale"])
    new = {
        "scale": scale,
        "best": np.where(fell, mean, state["best"]),
        "waited": np.where(shrinks, 0, waited),
        "cooling": np.where(shrinks, cooldown, cooling),
        "sum": 0.0 * total,
    }
    kept = {**state, "sum": total}
    state = {name: np.where(due, new[name], kept[name]) for name in new}
    return map_parameters(lambda u: like(state["scale"], u) * u, gradient), state

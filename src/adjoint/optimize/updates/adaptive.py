"""Rules that divide by a size of past gradients, or follow their mean.

    m⁺ = ν₁ m + (1 - ν₁) g        v⁺ = ν₂ v + (1 - ν₂) |g|²        m̂ = m⁺ / (1 - ν₁ᵗ⁺¹)        v̂ = v⁺ / (1 - ν₂ᵗ⁺¹)

t counts the updates from 0. Numbers of a step are computed in double precision, arrays in their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.source import user_facing
from adjoint.optimize.updates.rule import Numbers, Rule, each, like, make_rule, map_parameters, zeros

__all__ = [
    "scale_by_adadelta", "scale_by_adagrad", "scale_by_adam", "scale_by_adamax", "scale_by_lion", "scale_by_momentum",
    "scale_by_radam", "scale_by_rmsprop",
]  # fmt: skip

State = dict[str, Any]


def _square(g: Any) -> Any:
    return np.real(g * np.conj(g)) if getattr(g, "dtype", np.dtype(type(g))).kind == "c" else g * g


def _root(v: Any) -> Any:
    """√v, with derivative 0 at 0: a parameter that has no gradient yet has no hyper-gradient either."""
    positive = v > 0
    return np.where(positive, np.sqrt(np.where(positive, v, like(1.0, v))), like(0.0, v))


def _correction(decay: Any, count: Any) -> Any:
    """1 - νᵗ⁺¹."""
    return 1.0 - decay ** (count + 1.0)


def _mix(decay: Any, old: Any, new: Any) -> Any:
    return like(decay, new) * old + like(1.0 - decay, new) * new


@user_facing
def scale_by_momentum(decay: Any = 0.9, *, nesterov: bool = False, dampening: Any = 0.0, inside: Any = None) -> Rule:
    """v⁺ = ν v + (1 - dampening) g, without dampening at the first update; the step is v⁺, with `nesterov` g + ν v⁺.

    `inside` is a learning rate within the memory, v⁺ = ν v + γ g: where γ changes, steps already taken keep theirs.

    ```python
    rule = ad.optimize.updates.scale_by_momentum(0.5)
    step, state = rule.update(1.0, rule.init(0.0), 0.0)
    float(step), float(rule.update(1.0, state, 0.0)[0])  # → (1.0, 1.5)
    ```
    """
    numbers = {"decay": decay, "dampening": dampening}
    return make_rule("momentum", _start_momentum, _momentum, nesterov,
                     **(numbers if inside is None else {**numbers, "inside": inside}))  # fmt: skip


def _start_momentum(rule: Rule, params: Any) -> State:
    return {"velocity": zeros(params)}


def _momentum(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    decay, dampening = numbers("decay"), numbers("dampening")
    inside = numbers("inside") if "inside" in numbers.rule.numbers else 1.0
    fresh = np.where(numbers.count == 0, 1.0, 1.0 - dampening) * inside

    def advance(g: Any, v: Any) -> tuple[Any, Any]:
        v = like(decay, g) * v + like(fresh, g) * g
        return (like(inside, g) * g + like(decay, g) * v if numbers.options else v), v

    step, velocity = each(2, advance, gradient, state["velocity"])
    return step, {"velocity": velocity}


@user_facing
def scale_by_adagrad(eps: Any = 1e-10, *, initial: Any = 0.0, eps_root: Any = 0.0) -> Rule:
    """g / (√(s + eps_root) + eps), where s is `initial` plus the sum of all |g|² so far.

    ```python
    rule = ad.optimize.updates.scale_by_adagrad()
    step, state = rule.update(2.0, rule.init(0.0), 0.0)
    float(np.round(step, 6)), float(np.round(rule.update(2.0, state, 0.0)[0], 6))  # → (1.0, 0.707107)
    ```
    """
    return make_rule("adagrad", _start_adagrad, _adagrad, eps=eps, eps_root=eps_root, initial=initial)


def _start_adagrad(rule: Rule, params: Any) -> State:
    initial = rule.numbers["initial"]
    return {"sum": map_parameters(lambda z: z + like(initial, z), zeros(params, real=True))}


def _adagrad(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    eps, inside = numbers("eps"), numbers("eps_root")

    def advance(g: Any, s: Any) -> tuple[Any, Any]:
        s = s + _square(g)
        return g / (_root(s + like(inside, s)) + like(eps, s)), s

    step, total = each(2, advance, gradient, state["sum"])
    return step, {"sum": total}


@user_facing
def scale_by_adadelta(decay: Any = 0.9, eps: Any = 1e-6) -> Rule:
    """d = g √(x + eps) / √(v⁺ + eps), where v and x are running means of |g|² and |d|².

    ```python
    rule = ad.optimize.updates.scale_by_adadelta()
    float(np.round(rule.update(2.0, rule.init(0.0), 0.0)[0], 6))  # → 0.003162
    ```
    """
    return make_rule("adadelta", _start_adadelta, _adadelta, decay=decay, eps=eps)


def _start_adadelta(rule: Rule, params: Any) -> State:
    return {"squares": zeros(params, real=True), "steps": zeros(params, real=True)}


def _adadelta(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    decay, eps = numbers("decay"), numbers("eps")

    def advance(g: Any, v: Any, x: Any) -> tuple[Any, Any, Any]:
        v = _mix(decay, v, _square(g))
        d = g * (np.sqrt(x + like(eps, x)) / np.sqrt(v + like(eps, v)))
        return d, v, _mix(decay, x, _square(d))

    step, squares, steps = each(3, advance, gradient, state["squares"], state["steps"])
    return step, {"squares": squares, "steps": steps}


@user_facing
def scale_by_rmsprop(decay: Any = 0.99, eps: Any = 1e-8, *, eps_root: Any = 0.0, centered: bool = False) -> Rule:
    """g / (√(v⁺ + eps_root) + eps); with `centered` the square of the mean gradient is taken from v.

    ```python
    rule = ad.optimize.updates.scale_by_rmsprop()
    float(np.round(rule.update(2.0, rule.init(0.0), 0.0)[0], 6))  # → 10.0
    ```
    """
    return make_rule("rmsprop", _start_rmsprop, _rmsprop, centered, decay=decay, eps=eps, eps_root=eps_root)


def _start_rmsprop(rule: Rule, params: Any) -> State:
    state = {"squares": zeros(params, real=True)}
    return {**state, "mean": zeros(params)} if rule.options else state


def _rmsprop(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    decay, eps, inside = numbers("decay"), numbers("eps"), numbers("eps_root")
    squares = map_parameters(lambda g, v: _mix(decay, v, _square(g)), gradient, state["squares"])
    divide = lambda g, v: g / (_root(v + like(inside, v)) + like(eps, v))
    if not numbers.options:
        return map_parameters(divide, gradient, squares), {"squares": squares}
    mean = map_parameters(lambda g, m: _mix(decay, m, g), gradient, state["mean"])
    step = map_parameters(lambda g, v, m: divide(g, v - _square(m)), gradient, squares, mean)
    return step, {"squares": squares, "mean": mean}


@user_facing
def scale_by_adam(
    b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, *, eps_root: Any = 0.0, amsgrad: bool = False,
    nesterov: bool = False, momentum_decay: Any = None,
) -> Rule:  # fmt: skip
    """m̂ / (√(v̂ + eps_root) + eps).

    With `amsgrad` v̂ is the largest one so far. With `nesterov` m̂ looks one update ahead (Dozat), with `momentum_decay`
    ψ also ν₁ grows, ν₁(1 - 0.96^((t + 1)ψ)/2), as PyTorch does it.

    ```python
    rule = ad.optimize.updates.scale_by_adam()
    float(np.round(rule.update(-2.0, rule.init(0.0), 0.0)[0], 6))  # → -1.0
    ```
    """
    numbers = {"b1": b1, "b2": b2, "eps": eps, "eps_root": eps_root}
    decays = momentum_decay is not None
    return make_rule("adam", _start_adam, _adam, (amsgrad, nesterov or decays, decays),
                     **({**numbers, "momentum_decay": momentum_decay} if decays else numbers))  # fmt: skip


def _start_adam(rule: Rule, params: Any) -> State:
    amsgrad, _, decays = rule.options
    state: State = {"m": zeros(params), "v": zeros(params, real=True)}
    if amsgrad:
        state["largest"] = zeros(params, real=True)
    if decays:
        state["product"] = np.float64(1.0)
    return state


def _adam(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    b1, b2, eps, inside, t = numbers("b1"), numbers("b2"), numbers("eps"), numbers("eps_root"), numbers.count
    amsgrad, nesterov, decays = numbers.options
    rest: State = {}
    if decays:  # m̂ = ν₁(t+1) m⁺ / Πⁿ⁺¹ν₁ + (1 - ν₁(t)) g / (1 - Πⁿν₁)
        psi = numbers("momentum_decay")
        now, later = (b1 * (1.0 - 0.5 * 0.96 ** (psi * (t + k))) for k in (1.0, 2.0))
        rest["product"] = product = state["product"] * now
        of_mean, of_gradient = later / (1.0 - product * later), (1.0 - now) / (1.0 - product)
    elif nesterov:
        of_mean, of_gradient = b1 / _correction(b1, t + 1), (1.0 - b1) / _correction(b1, t)
    else:
        of_mean, of_gradient = 1.0 / _correction(b1, t), 0.0
    of_square = 1.0 / _correction(b2, t)

    def advance(g: Any, m: Any, v: Any, largest: Any = None) -> tuple[Any, ...]:
        m, v = _mix(b1, m, g), _mix(b2, v, _square(g))
        ahead = like(of_mean, g) * m
        if nesterov:
            ahead = ahead + like(of_gradient, g) * g
        size = v if largest is None else np.maximum(largest, v)
        step = ahead / (_root(size * like(of_square, v) + like(inside, v)) + like(eps, v))
        return (step, m, v) if largest is None else (step, m, v, size)

    if amsgrad:
        step, m, v, rest["largest"] = each(4, advance, gradient, state["m"], state["v"], state["largest"])
    else:
        step, m, v = each(3, advance, gradient, state["m"], state["v"])
    return step, {"m": m, "v": v, **rest}


@user_facing
def scale_by_radam(b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, *, threshold: float = 5.0) -> Rule:
    """Adam whose division waits until the variance of v̂ is known: before it the step is m̂ (Liu et al.).

    ```python
    rule = ad.optimize.updates.scale_by_radam()
    rule.update(-2.0, rule.init(0.0), 0.0)[0]  # → -2.0
    ```
    """
    return make_rule("radam", _start_radam, _radam, float(threshold), b1=b1, b2=b2, eps=eps)


def _start_radam(rule: Rule, params: Any) -> State:
    return {"m": zeros(params), "v": zeros(params, real=True)}


def _radam(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    b1, b2, eps, t = numbers("b1"), numbers("b2"), numbers("eps"), numbers.count
    correction = _correction(b2, t)
    longest = 2.0 / (1.0 - b2) - 1.0
    length = longest - 2.0 * (t + 1.0) * (1.0 - correction) / correction
    known = length > numbers.options
    safe = np.where(known, length, numbers.options + 1.0)
    above = (safe - 4.0) * (safe - 2.0) * longest
    rectified = np.sqrt(above / ((longest - 4.0) * (longest - 2.0) * safe)) * np.sqrt(correction)
    unbiased = 1.0 / _correction(b1, t)

    def advance(g: Any, m: Any, v: Any) -> tuple[Any, Any, Any]:
        m, v = _mix(b1, m, g), _mix(b2, v, _square(g))
        ahead = like(unbiased, g) * m
        return np.where(known, ahead * like(rectified, g) / (_root(v) + like(eps, v)), ahead), m, v

    step, m, v = each(3, advance, gradient, state["m"], state["v"])
    return step, {"m": m, "v": v}


@user_facing
def scale_by_adamax(b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Rule:
    """m̂ / u with u⁺ = max(ν₂ u, |g| + eps): Adam with the largest gradient instead of a mean of squares.

    ```python
    rule = ad.optimize.updates.scale_by_adamax()
    float(np.round(rule.update(-2.0, rule.init(0.0), 0.0)[0], 6))  # → -1.0
    ```
    """
    return make_rule("adamax", _start_adamax, _adamax, b1=b1, b2=b2, eps=eps)


def _start_adamax(rule: Rule, params: Any) -> State:
    return {"m": zeros(params), "largest": zeros(params, real=True)}


def _adamax(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    b1, b2, eps = numbers("b1"), numbers("b2"), numbers("eps")
    unbiased = 1.0 / _correction(b1, numbers.count)

    def advance(g: Any, m: Any, u: Any) -> tuple[Any, Any, Any]:
        m, u = _mix(b1, m, g), np.maximum(like(b2, u) * u, np.abs(g) + like(eps, u))
        return like(unbiased, g) * m / u, m, u

    step, m, u = each(3, advance, gradient, state["m"], state["largest"])
    return step, {"m": m, "largest": u}


@user_facing
def scale_by_lion(b1: Any = 0.9, b2: Any = 0.99) -> Rule:
    """sign(ν₁ m + (1 - ν₁) g), and then m⁺ = ν₂ m + (1 - ν₂) g.

    ```python
    rule = ad.optimize.updates.scale_by_lion()
    rule.update(-2.0, rule.init(0.0), 0.0)[0]  # → -1.0
    ```
    """
    return make_rule("lion", _start_momentum, _lion, b1=b1, b2=b2)


def _lion(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    b1, b2 = numbers("b1"), numbers("b2")
    advance = lambda g, m: (np.sign(_mix(b1, m, g)), _mix(b2, m, g))
    step, m = each(2, advance, gradient, state["velocity"])
    return step, {"velocity": m}

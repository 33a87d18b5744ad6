"""The rules by their names: a direction, decay of weights where asked for, and a learning rate.

Every number may be a schedule, a function of the count of updates from 0, or a traced value.
"""

from __future__ import annotations

from typing import Any

from adjoint.base.source import user_facing
from adjoint.optimize.updates import adaptive
from adjoint.optimize.updates.rule import Rule, chain
from adjoint.optimize.updates.scaling import add_decayed_weights, scale, scale_by_trust_ratio

__all__ = [
    "adadelta", "adagrad", "adam", "adamax", "adamw", "amsgrad", "lamb", "lion", "momentum", "nadam", "nesterov",
    "radam", "rmsprop", "sgd",
]  # fmt: skip


def _is_zero(number: Any) -> bool:
    return isinstance(number, int | float) and number == 0


def _join(direction: Rule | None, learning_rate: Any, penalty: Any = 0.0, decay: Any = 0.0) -> Rule:
    """The penalty joins the gradient, the decay the step."""
    parts = [] if _is_zero(penalty) else [add_decayed_weights(penalty)]
    parts += [] if direction is None else [direction]
    parts += [] if _is_zero(decay) else [add_decayed_weights(decay)]
    return chain(*parts, scale(learning_rate))


@user_facing
def sgd(learning_rate: Any, *, penalty: Any = 0.0) -> Rule:
    """w⁺ = w - γ (g + penalty w).

    ```python
    rule = ad.optimize.updates.sgd(0.1)
    float(rule.update(2.0, rule.init(1.0), 1.0)[0])  # → 0.2
    ```
    """
    return _join(None, learning_rate, penalty)


@user_facing
def momentum(
    learning_rate: Any, decay: Any = 0.9, *, dampening: Any = 0.0, inside: bool = False, penalty: Any = 0.0
) -> Rule:
    """v⁺ = ν v + g, w⁺ = w - γ v⁺; with `inside` v⁺ = ν v + γ g, w⁺ = w - v⁺.

    The two differ where γ is a schedule: inside, every gradient keeps the learning rate of its own update (heavy ball).

    ```python
    rule = ad.optimize.updates.momentum(0.1, 0.5)
    step, state = rule.update(1.0, rule.init(0.0), 0.0)
    float(np.round(rule.update(1.0, state, 0.0)[0], 6))  # → 0.15
    ```
    """
    if inside:
        return _join(adaptive.scale_by_momentum(decay, dampening=dampening, inside=learning_rate), 1.0, penalty)
    return _join(adaptive.scale_by_momentum(decay, dampening=dampening), learning_rate, penalty)


@user_facing
def nesterov(learning_rate: Any, decay: Any = 0.9, *, penalty: Any = 0.0) -> Rule:
    """v⁺ = ν v + g, w⁺ = w - γ (g + ν v⁺): Nesterov's momentum at the point that looks ahead.

    With a constant γ, w + γ ν v is the sequence x of v⁺ = ν v + ∇f(x - γ ν v), x⁺ = x - γ v⁺.

    ```python
    rule = ad.optimize.updates.nesterov(0.1, 0.5)
    float(np.round(rule.update(1.0, rule.init(0.0), 0.0)[0], 6))  # → 0.15
    ```
    """
    return _join(adaptive.scale_by_momentum(decay, nesterov=True), learning_rate, penalty)


@user_facing
def adagrad(
    learning_rate: Any, eps: Any = 1e-10, *, initial: Any = 0.0, eps_root: Any = 0.0, penalty: Any = 0.0
) -> Rule:
    """Steps divided by the root of the sum of all squares (Duchi, Hazan, Singer).

    ```python
    rule = ad.optimize.updates.adagrad(0.1)
    float(np.round(rule.update(2.0, rule.init(1.0), 1.0)[0], 6))  # → 0.1
    ```
    """
    return _join(adaptive.scale_by_adagrad(eps, initial=initial, eps_root=eps_root), learning_rate, penalty)


@user_facing
def adadelta(learning_rate: Any = 1.0, decay: Any = 0.9, eps: Any = 1e-6, *, penalty: Any = 0.0) -> Rule:
    """Steps in the units of the parameters (Zeiler).

    ```python
    rule = ad.optimize.updates.adadelta()
    float(np.round(rule.update(2.0, rule.init(1.0), 1.0)[0], 6))  # → 0.003162
    ```
    """
    return _join(adaptive.scale_by_adadelta(decay, eps), learning_rate, penalty)


@user_facing
def rmsprop(
    learning_rate: Any, decay: Any = 0.99, eps: Any = 1e-8, *, momentum: Any = 0.0, centered: bool = False,
    eps_root: Any = 0.0, penalty: Any = 0.0,
) -> Rule:  # fmt: skip
    """Steps divided by a running root mean square; then, where asked for, momentum.

    ```python
    rule = ad.optimize.updates.rmsprop(0.01)
    float(np.round(rule.update(2.0, rule.init(1.0), 1.0)[0], 6))  # → 0.1
    ```
    """
    direction = adaptive.scale_by_rmsprop(decay, eps, eps_root=eps_root, centered=centered)
    if not _is_zero(momentum):
        direction = chain(direction, adaptive.scale_by_momentum(momentum))
    return _join(direction, learning_rate, penalty)


@user_facing
def adam(
    learning_rate: Any = 1e-3, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, *, eps_root: Any = 0.0,
    penalty: Any = 0.0,
) -> Rule:  # fmt: skip
    """w⁺ = w - γ m̂ / (√(v̂ + eps_root) + eps) (Kingma, Ba). `penalty` joins the gradient; decay is in `adamw`.

    ```python
    rule = ad.optimize.updates.adam(0.1)
    w, state = 1.0, rule.init(1.0)
    for _ in range(3):
        step, state = rule.update(2 * w, state, w)
        w = w - step
    float(w)  # → 0.701586273
    ```
    """
    return _join(adaptive.scale_by_adam(b1, b2, eps, eps_root=eps_root), learning_rate, penalty)


@user_facing
def adamw(
    learning_rate: Any = 1e-3,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    *,
    decay: Any = 1e-2,
    eps_root: Any = 0.0,
) -> Rule:
    """Adam with decay of weights outside the division: w⁺ = w - γ (m̂ / (√v̂ + eps) + decay w) (Loshchilov, Hutter).

    ```python
    rule = ad.optimize.updates.adamw(0.1, decay=0.5)
    float(np.round(rule.update(2.0, rule.init(1.0), 1.0)[0], 6))  # → 0.15
    ```
    """
    return _join(adaptive.scale_by_adam(b1, b2, eps, eps_root=eps_root), learning_rate, decay=decay)


@user_facing
def amsgrad(learning_rate: Any = 1e-3, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, *, penalty: Any = 0.0) -> Rule:
    """Adam that divides by the largest v so far, so that steps never grow again (Reddi, Kale, Kumar).

    ```python
    rule = ad.optimize.updates.amsgrad(0.1)
    float(np.round(rule.update(2.0, rule.init(1.0), 1.0)[0], 6))  # → 0.1
    ```
    """
    return _join(adaptive.scale_by_adam(b1, b2, eps, amsgrad=True), learning_rate, penalty)


@user_facing
def nadam(
    learning_rate: Any = 2e-3, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, *, momentum_decay: Any = 4e-3,
    penalty: Any = 0.0,
) -> Rule:  # fmt: skip
    """Adam with Nesterov's look ahead (Dozat). `momentum_decay=None` keeps ν₁ constant, as optax does.

    ```python
    rule = ad.optimize.updates.nadam(0.1)
    float(np.round(rule.update(2.0, rule.init(1.0), 1.0)[0], 6))  # → 0.105645
    ```
    """
    direction = adaptive.scale_by_adam(b1, b2, eps, nesterov=True, momentum_decay=momentum_decay)
    return _join(direction, learning_rate, penalty)


@user_facing
def radam(learning_rate: Any = 1e-3, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, *, penalty: Any = 0.0) -> Rule:
    """Adam that does not divide before it knows by what (Liu et al.).

    ```python
    rule = ad.optimize.updates.radam(0.1)
    float(rule.update(2.0, rule.init(1.0), 1.0)[0])  # → 0.2
    ```
    """
    return _join(adaptive.scale_by_radam(b1, b2, eps), learning_rate, penalty)


@user_facing
def adamax(learning_rate: Any = 2e-3, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, *, penalty: Any = 0.0) -> Rule:
    """Adam with the largest gradient in place of the mean square (Kingma, Ba).

    ```python
    rule = ad.optimize.updates.adamax(0.1)
    float(np.round(rule.update(2.0, rule.init(1.0), 1.0)[0], 6))  # → 0.1
    ```
    """
    return _join(adaptive.scale_by_adamax(b1, b2, eps), learning_rate, penalty)


@user_facing
def lion(learning_rate: Any = 1e-4, b1: Any = 0.9, b2: Any = 0.99, *, decay: Any = 0.0) -> Rule:
    """The sign of a momentum (Chen et al.), with decay of weights.

    ```python
    rule = ad.optimize.updates.lion(0.1)
    float(rule.update(2.0, rule.init(1.0), 1.0)[0])  # → 0.1
    ```
    """
    return _join(adaptive.scale_by_lion(b1, b2), learning_rate, decay=decay)


@user_facing
def lamb(learning_rate: Any = 1e-3, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-6, *, decay: Any = 0.0) -> Rule:
    """Adam whose step of each leaf is in proportion to the leaf's norm, for large batches (You et al.).

    ```python
    rule = ad.optimize.updates.lamb(0.1)
    float(np.round(rule.update(2.0, rule.init(3.0), 3.0)[0], 6))  # → 0.3
    ```
    """
    parts = [adaptive.scale_by_adam(b1, b2, eps)]
    parts += [] if _is_zero(decay) else [add_decayed_weights(decay)]
    return chain(*parts, scale_by_trust_ratio(), scale(learning_rate))

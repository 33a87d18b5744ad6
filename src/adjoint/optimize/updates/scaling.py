"""Rules without a memory of gradients: multiples, clipping, decay, noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.source import user_facing
from adjoint.optimize.updates.rule import Numbers, Rule, is_parameter, like, make_rule, map_parameters

__all__ = [
    "add_decayed_weights", "clip_by_leaf_norm", "clip_by_norm", "clip_by_value", "global_norm", "identity",
    "scale", "scale_by_schedule", "scale_by_sign", "scale_by_trust_ratio",
]  # fmt: skip

State = dict[str, Any]


def _nothing(rule: Rule, params: Any) -> State:
    return {}


@user_facing
def identity() -> Rule:
    """The gradient itself, whole.

    ```python
    rule = ad.optimize.updates.identity()
    rule.update(3.0, rule.init(0.0), 0.0)[0]  # → 3.0
    ```
    """
    return make_rule("identity", _nothing, _same)


def _same(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    return gradient, {}


@user_facing
def scale(factor: Any) -> Rule:
    """factor · u. The factor is a number or a schedule.

    ```python
    rule = ad.optimize.updates.scale(0.5)
    rule.update(3.0, rule.init(0.0), 0.0)[0]  # → 1.5
    ```
    """
    return make_rule("scale", _nothing, _scale, factor=factor)


@user_facing
def scale_by_schedule(schedule: Any) -> Rule:
    """schedule(t) · u, where t counts the updates from 0.

    ```python
    rule = ad.optimize.updates.scale_by_schedule(ad.optimize.updates.inverse_sqrt(2.0))
    step, state = rule.update(1.0, rule.init(0.0), 0.0)
    float(step), float(np.round(rule.update(1.0, state, 0.0)[0], 6))  # → (2.0, 1.414214)
    ```
    """
    if not callable(schedule):
        raise TypeError(f"scale_by_schedule takes a function of the count of updates, not {schedule!r}; a number is "
                        "for updates.scale.")  # fmt: skip
    return make_rule("scale_by_schedule", _nothing, _scale, factor=schedule)


def _scale(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    factor = numbers("factor")
    return map_parameters(lambda u: like(factor, u) * u, gradient), {}


@user_facing
def scale_by_sign() -> Rule:
    """sign(u), in each element.

    ```python
    rule = ad.optimize.updates.scale_by_sign()
    rule.update(np.array([3.0, -0.5]), rule.init(np.zeros(2)), np.zeros(2))[0]  # → [1.0, -1.0]
    ```
    """
    return make_rule("scale_by_sign", _nothing, _sign)


def _sign(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    return map_parameters(np.sign, gradient), {}


@user_facing
def add_decayed_weights(strength: Any) -> Rule:
    """u + strength · w: weight decay, not scaled by what came before in the chain.

    ```python
    rule = ad.optimize.updates.add_decayed_weights(0.1)
    rule.update(3.0, rule.init(10.0), 10.0)[0]  # → 4.0
    ```
    """
    return make_rule("add_decayed_weights", _nothing, _decay, strength=strength)


def _decay(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    strength = numbers("strength")
    return map_parameters(lambda u, w: u + like(strength, u) * w, gradient, params), {}


def global_norm(step: Any) -> Any:
    """√Σ|u|² over all elements of all parameters, with derivative 0 at 0.

    ```python
    ad.optimize.updates.global_norm({"a": np.array([3.0]), "b": 4.0})  # → 5.0
    ```
    """
    squares = [_square(leaf) for leaf in tree.leaves(step) if is_parameter(leaf)]
    return _safe_root(sum(squares[1:], squares[0])) if squares else np.float64(0.0)


def _square(leaf: Any) -> Any:
    squared = np.real(leaf * np.conj(leaf)) if getattr(leaf, "dtype", np.dtype(type(leaf))).kind == "c" else leaf * leaf
    return np.sum(squared).astype(np.float64)


def _safe_root(square: Any) -> Any:
    return np.where(square > 0, np.sqrt(np.where(square > 0, square, 1.0)), 0.0)


def _limit(norm: Any, most: Any) -> Any:
    """min(1, most / norm), and 1 at 0; NaN stays NaN, so that it is seen."""
    longer = np.logical_not(norm <= most)
    return np.where(longer, most / np.where(longer, norm, 1.0), 1.0)


@user_facing
def clip_by_norm(most: Any) -> Rule:
    """u min(1, most / ‖u‖), where ‖u‖ is that of all leaves together.

    ```python
    rule = ad.optimize.updates.clip_by_norm(1.0)
    np.round(rule.update(np.array([3.0, 4.0]), rule.init(np.zeros(2)), np.zeros(2))[0], 6)  # → [0.6, 0.8]
    ```
    """
    return make_rule("clip_by_norm", _nothing, _clip_by_norm, most=most)


def _clip_by_norm(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    factor = _limit(global_norm(gradient), numbers("most"))
    return map_parameters(lambda u: like(factor, u) * u, gradient), {}


@user_facing
def clip_by_leaf_norm(most: Any) -> Rule:
    """u min(1, most / ‖u‖) for each leaf by itself.

    ```python
    rule = ad.optimize.updates.clip_by_leaf_norm(1.0)
    rule.update([2.0, -0.5], rule.init([0.0, 0.0]), [0.0, 0.0])[0]  # → [1.0, -0.5]
    ```
    """
    return make_rule("clip_by_leaf_norm", _nothing, _clip_by_leaf_norm, most=most)


def _clip_by_leaf_norm(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    most = numbers("most")
    return map_parameters(lambda u: like(_limit(_safe_root(_square(u)), most), u) * u, gradient), {}


@user_facing
def clip_by_value(most: Any) -> Rule:
    """Each element within [-most, most].

    ```python
    rule = ad.optimize.updates.clip_by_value(1.0)
    rule.update(np.array([3.0, -0.5]), rule.init(np.zeros(2)), np.zeros(2))[0]  # → [1.0, -0.5]
    ```
    """
    return make_rule("clip_by_value", _nothing, _clip_by_value, most=most)


def _clip_by_value(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    most = numbers("most")
    return map_parameters(lambda u: np.minimum(np.maximum(u, like(-most, u)), like(most, u)), gradient), {}


@user_facing
def scale_by_trust_ratio(least: Any = 0.0) -> Rule:
    """u ‖w‖ / ‖u‖ for each leaf (1 where one of them is zero): layers move in proportion to their size (LARS, LAMB).

    ```python
    rule = ad.optimize.updates.scale_by_trust_ratio()
    rule.update(np.array([3.0, 4.0]), rule.init(np.ones(2)), np.array([0.0, 10.0]))[0]  # → [6.0, 8.0]
    ```
    """
    return make_rule("scale_by_trust_ratio", _nothing, _trust, least=least)


def _trust(numbers: Numbers, state: State, gradient: Any, params: Any) -> tuple[Any, State]:
    least = numbers("least")

    def trust(u: Any, w: Any) -> Any:
        length, size = _safe_root(_square(u)), np.maximum(_safe_root(_square(w)), least)
        usable = np.logical_and(length > 0, size > 0)
        return like(np.where(usable, size / np.where(usable, length, 1.0), 1.0), u) * u

    return map_parameters(trust, gradient, params), {}

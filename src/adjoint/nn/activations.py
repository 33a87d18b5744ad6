"""Activations: functions of one number, applied to each; and those of a vector, softargmax and its relatives.

Each keeps the element type, and works under every transformation. `relu` and its kin take the derivative of the left
side at 0. (Names: `softargmax` is the vector of probabilities, `logsumexp` the soft maximum, a value.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.program.types import Value
from adjoint.scipy import special
from adjoint.scipy.special.arguments import array
from adjoint.signal.geometry import as_values

__all__ = [
    "elu",
    "gelu",
    "glu",
    "hardmax",
    "leaky_relu",
    "log_softargmax",
    "logistic",
    "logsumexp",
    "power",
    "prelu",
    "relu",
    "selu",
    "silu",
    "softargmax",
    "softargmax_inverse",
    "softmax",
    "softplus",
    "step",
    "swiglu",
]

# Fixed point of mean 0 and variance 1 (Klambauer, Unterthiner, Mayr, Hochreiter: Self-normalizing networks. 2017).
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def relu(x: Any) -> Value:
    """max(x, 0); the derivative at 0 is 0.

    ```python
    ad.nn.relu(np.array([-1.0, 0.0, 2.0]))  # → [0.0, 0.0, 2.0]
    ```
    """
    x = as_values(x)
    return np.where(x <= 0, 0, x)  # NaN stays NaN


def leaky_relu(x: Any, slope: float = 0.01) -> Value:
    """x where it is positive, slope·x elsewhere.

    ```python
    ad.nn.leaky_relu(np.array([-2.0, 2.0]))  # → [-0.02, 2.0]
    ```
    """
    return prelu(x, slope)


def prelu(x: Any, slope: Any) -> Value:
    """`leaky_relu` with a slope to be learned: an array that broadcasts, one number for each feature, say.

    ```python
    ad.grad(ad.nn.prelu, argnums=1)(-2.0, 0.1)  # → -2.0
    ```
    """
    x = as_values(x)
    return np.where(x > 0, x, slope * x)


def elu(x: Any, alpha: float = 1.0) -> Value:
    """x where it is positive, alpha (eˣ - 1) elsewhere.

    ```python
    ad.nn.elu(np.array([-1.0, 2.0]))  # → [-0.632120…, 2.0]
    ```
    """
    x = array(x)
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0, x)))


def selu(x: Any) -> Value:
    """`elu`, scaled so that layers keep mean 0 and variance 1.

    ```python
    ad.nn.selu(np.array([-1.0, 1.0]))  # → [-1.111330…, 1.050700…]
    ```
    """
    return SELU_SCALE * elu(x, SELU_ALPHA)


def silu(x: Any) -> Value:
    """x · logistic(x), also called swish.

    ```python
    ad.nn.silu(1.0)  # → 0.731058…
    ```
    """
    x = array(x)
    return x * special.expit(x)


def gelu(x: Any, approximate: bool = False) -> Value:
    """x Φ(x), Φ the normal distribution function; `approximate` takes its tanh form, as GPT-2 does.

    ```python
    ad.nn.gelu(1.0), ad.nn.gelu(1.0, approximate=True)  # → (0.841344…, 0.841191…)
    ```
    """
    x = array(x)
    if approximate:
        return x * special.expit(math.sqrt(8 / math.pi) * (x + 0.044715 * x * x * x))  # ½ (1 + tanh u) = logistic(2u)
    return x * special.ndtr(x)


def softplus(x: Any) -> Value:
    """log(1 + eˣ), for any x; its derivative is `logistic`.

    ```python
    ad.nn.softplus(2.0)  # → 2.126928…
    ```
    """
    return special.softplus(array(x))


def logistic(x: Any, slope: float = 1.0) -> Value:
    """1 / (1 + e⁻ˢˣ) with s = slope; towards `step` for large slopes.

    ```python
    ad.nn.logistic(2.0)  # → 0.880797…
    ```
    """
    x = array(x)
    return special.expit(x if _is_one(slope) else slope * x)


def step(x: Any) -> Value:
    """1 where x ≥ 0, 0 elsewhere; the derivative is 0.

    ```python
    ad.nn.step(np.array([-1.0, 0.0, 1.0]))  # → [0.0, 1.0, 1.0]
    ```
    """
    return np.heaviside(array(x), 1)


def power(x: Any, p: float) -> Value:
    """xᵖ, the polynomial activation.

    ```python
    ad.grad(ad.nn.power)(2.0, 3)  # → 12.0
    ```
    """
    return as_values(x) ** p


def softargmax(x: Any, axis: int = -1, temperature: float = 1.0) -> Value:
    """exp(x/τ) / Σ exp(x/τ) along an axis, stable for any finite x: a point of the simplex.

    τ → 0 gives the `hardmax`, τ → ∞ equal parts. The derivative is that of `logsumexp`'s gradient.

    ```python
    ad.nn.softargmax(np.array([1.0, 2.0, 3.0]))  # → [0.090030…, 0.244728…, 0.665240…]
    ```
    """
    return special.softmax(_tempered(x, temperature), axis=axis)


def softmax(x: Any, axis: int = -1, temperature: float = 1.0) -> Value:
    """`softargmax` by the name that other libraries give it. (The soft maximum itself is `logsumexp`.)

    ```python
    ad.nn.softmax(np.array([1000.0, 1000.0]))  # → [0.5, 0.5]
    ```
    """
    return softargmax(x, axis, temperature)


def log_softargmax(x: Any, axis: int = -1, temperature: float = 1.0) -> Value:
    """log softargmax(x), without under- or overflow.

    ```python
    ad.nn.log_softargmax(np.array([0.0, 1000.0]))  # → [-1000.0, 0.0]
    ```
    """
    return special.log_softmax(_tempered(x, temperature), axis=axis)


def logsumexp(x: Any, axis: int = -1, temperature: float = 1.0) -> Value:
    """τ log Σ exp(x/τ), the soft maximum: max x ≤ its value ≤ max x + τ log M. Its gradient is `softargmax`.

    ```python
    ad.nn.logsumexp(np.array([1.0, 2.0, 3.0]), temperature=0.5)  # → 3.071465…
    ```
    """
    value = special.logsumexp(_tempered(x, temperature), axis=axis)
    return value if _is_one(temperature) else temperature * value


def softargmax_inverse(p: Any, axis: int = -1) -> Value:
    """log p - mean(log p): of all x with softargmax(x) = p the one of mean 0.

    ```python
    ad.nn.softargmax_inverse(ad.nn.softargmax(np.array([1.0, 2.0, 3.0])))  # → [-1.0, 0.0, 1.0]
    ```
    """
    log_p = np.log(array(p))
    return log_p - np.mean(log_p, axis=axis, keepdims=True)


def hardmax(x: Any, axis: int = -1) -> Value:
    """1 at the largest element (the first of them), 0 elsewhere; the derivative is 0.

    ```python
    ad.nn.hardmax(np.array([1.0, 3.0, 3.0]))  # → [0.0, 1.0, 0.0]
    ```
    """
    x = array(x)
    axis = axis % x.ndim
    numbers = np.arange(x.shape[axis]).reshape(-1, *(1,) * (x.ndim - 1 - axis))
    return (numbers == np.argmax(x, axis=axis, keepdims=True)).astype(x.dtype)


def glu(x: Any, axis: int = -1) -> Value:
    """a · logistic(b), a and b the two halves of x along an axis.

    ```python
    ad.nn.glu(np.array([3.0, 0.0]))  # → [1.5]
    ```
    """
    a, b = _halves("glu", array(x), axis)
    return a * special.expit(b)


def swiglu(x: Any, axis: int = -1) -> Value:
    """silu(a) · b, a (the gate) and b the two halves of x along an axis.

    ```python
    ad.nn.swiglu(np.array([1.0, 2.0]))  # → [1.462117…]
    ```
    """
    a, b = _halves("swiglu", array(x), axis)
    return silu(a) * b


def _halves(call: str, x: Value, axis: int) -> tuple[Value, Value]:
    if x.shape[axis] % 2:
        raise ShapeError(f"{call}: axis {axis} of x has {x.shape[axis]} elements, which are no two halves.")
    a, b = np.split(x, 2, axis=axis)
    return a, b


def _is_one(factor: Any) -> bool:
    return isinstance(factor, int | float) and factor == 1


def _tempered(x: Any, temperature: Any) -> Value:
    x = array(x)
    if isinstance(temperature, int | float) and not temperature > 0:
        raise ValueError(f"softargmax: the temperature must be positive, got {temperature}; `hardmax` is its limit 0.")
    return x if _is_one(temperature) else x / temperature

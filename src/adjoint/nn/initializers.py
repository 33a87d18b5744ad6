"""Initial values of parameters: functions (rng, shape, dtype, fan=(inputs, outputs)) -> array.

`fan` counts the numbers that go into one output and the outputs that one input goes to; layers give it. Without it a
weight is (inputs, …, outputs). The generator is that of `ad.random`, or NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.program.types import Value
from adjoint.scipy import special

__all__ = [
    "constant",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "torch_linear",
    "truncated",
    "uniform",
    "zeros",
]

Shape: TypeAlias = Sequence[int]
Fan: TypeAlias = tuple[int, int] | None
Initializer: TypeAlias = Callable[..., Value]


def zeros(rng: Any, shape: Shape, dtype: Any = np.float64, fan: Fan = None) -> Value:
    """All 0.

    ```python
    ad.nn.initializers.zeros(None, (2,))  # → [0.0, 0.0]
    ```
    """
    return np.zeros(shape, dtype)


def ones(rng: Any, shape: Shape, dtype: Any = np.float64, fan: Fan = None) -> Value:
    """All 1.

    ```python
    ad.nn.initializers.ones(None, (2,))  # → [1.0, 1.0]
    ```
    """
    return np.ones(shape, dtype)


def constant(value: float) -> Initializer:
    """The initializer that gives one number everywhere.

    ```python
    ad.nn.initializers.constant(0.5)(None, (2,))  # → [0.5, 0.5]
    ```
    """
    return lambda rng, shape, dtype=np.float64, fan=None: np.full(shape, value, dtype)


def normal(scale: float = 0.02) -> Initializer:
    """The initializer of normal numbers with this standard deviation.

    ```python
    ad.nn.initializers.normal(0.1)(ad.random.default_rng(0), (3, 2)).shape  # → (3, 2)
    ```
    """
    return lambda rng, shape, dtype=np.float64, fan=None: _normal(rng, shape, dtype, scale)


def uniform(width: float = 0.01) -> Initializer:
    """The initializer of numbers spread evenly between -width and width.

    ```python
    float(np.max(ad.nn.initializers.uniform(0.1)(ad.random.default_rng(0), (99,)))) < 0.1  # → True
    ```
    """
    return lambda rng, shape, dtype=np.float64, fan=None: _uniform(rng, shape, dtype, width)


def truncated(scale: float = 0.02, cut: float = 2.0) -> Initializer:
    """The initializer of normal numbers that are at most `cut` standard deviations from 0.

    ```python
    float(np.max(ad.nn.initializers.truncated(1.0)(ad.random.default_rng(0), (999,)))) < 2.0  # → True
    ```
    """

    def initialize(rng: Any, shape: Shape, dtype: Any = np.float64, fan: Fan = None) -> Value:
        low = float(special.ndtr(-cut))
        u = low + (1 - 2 * low) * _drawn(rng).random(tuple(shape))
        return (scale * special.ndtri(u)).astype(dtype)

    return initialize


def glorot_normal(rng: Any, shape: Shape, dtype: Any = np.float64, fan: Fan = None) -> Value:
    """Normal, of variance 2 / (inputs + outputs): for tanh and other odd activations (Glorot, Bengio 2010).

    ```python
    ad.nn.initializers.glorot_normal(ad.random.default_rng(0), (3, 2)).shape  # → (3, 2)
    ```
    """
    return _normal(rng, shape, dtype, math.sqrt(2 / sum(_fans(shape, fan))))


def glorot_uniform(rng: Any, shape: Shape, dtype: Any = np.float64, fan: Fan = None) -> Value:
    """Uniform, of variance 2 / (inputs + outputs).

    ```python
    ad.nn.initializers.glorot_uniform(ad.random.default_rng(0), (3, 2)).shape  # → (3, 2)
    ```
    """
    return _uniform(rng, shape, dtype, math.sqrt(6 / sum(_fans(shape, fan))))


def he_normal(rng: Any, shape: Shape, dtype: Any = np.float64, fan: Fan = None) -> Value:
    """Normal, of variance 2 / inputs: for rectifiers (He, Zhang, Ren, Sun 2015).

    ```python
    ad.nn.initializers.he_normal(ad.random.default_rng(0), (3, 2)).shape  # → (3, 2)
    ```
    """
    return _normal(rng, shape, dtype, math.sqrt(2 / _fans(shape, fan)[0]))


def he_uniform(rng: Any, shape: Shape, dtype: Any = np.float64, fan: Fan = None) -> Value:
    """Uniform, of variance 2 / inputs.

    ```python
    ad.nn.initializers.he_uniform(ad.random.default_rng(0), (3, 2)).shape  # → (3, 2)
    ```
    """
    return _uniform(rng, shape, dtype, math.sqrt(6 / _fans(shape, fan)[0]))


def lecun_normal(rng: Any, shape: Shape, dtype: Any = np.float64, fan: Fan = None) -> Value:
    """Normal, of variance 1 / inputs.

    ```python
    ad.nn.initializers.lecun_normal(ad.random.default_rng(0), (3, 2)).shape  # → (3, 2)
    ```
    """
    return _normal(rng, shape, dtype, math.sqrt(1 / _fans(shape, fan)[0]))


def lecun_uniform(rng: Any, shape: Shape, dtype: Any = np.float64, fan: Fan = None) -> Value:
    """Uniform, of variance 1 / inputs.

    ```python
    ad.nn.initializers.lecun_uniform(ad.random.default_rng(0), (3, 2)).shape  # → (3, 2)
    ```
    """
    return _uniform(rng, shape, dtype, math.sqrt(3 / _fans(shape, fan)[0]))


def torch_linear(rng: Any, shape: Shape, dtype: Any = np.float64, fan: Fan = None) -> Value:
    """Uniform between ±1/√inputs: what PyTorch's linear and convolution layers begin with, biases too.

    ```python
    float(np.max(ad.nn.initializers.torch_linear(ad.random.default_rng(0), (100, 2)))) < 0.1  # → True
    ```
    """
    return _uniform(rng, shape, dtype, math.sqrt(1 / _fans(shape, fan)[0]))


def orthogonal(rng: Any, shape: Shape, dtype: Any = np.float64, fan: Fan = None) -> Value:
    """A random matrix with orthonormal columns (rows, if it is wide): axes in front of the last count as one.

    ```python
    q = ad.nn.initializers.orthogonal(ad.random.default_rng(0), (4, 2))
    np.round(q.T @ q, 12)  # → [[1.0, 0.0], [0.0, 1.0]]
    ```
    """
    if len(shape) < 2:
        raise ShapeError(f"orthogonal: a matrix is needed, got shape {tuple(shape)}; take normal for vectors.")
    rows, columns = math.prod(shape[:-1]), shape[-1]
    q, r = np.linalg.qr(_drawn(rng).standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diagonal(r))  # so that all orthogonal matrices are equally likely
    return np.reshape(q if rows >= columns else q.T, tuple(shape)).astype(dtype)


def identity(rng: Any, shape: Shape, dtype: Any = np.float64, fan: Fan = None) -> Value:
    """The identity matrix, cut or filled with zeros to the shape.

    ```python
    ad.nn.initializers.identity(None, (2, 3))  # → [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    ```
    """
    if len(shape) != 2:
        raise ShapeError(f"identity: a matrix is needed, got shape {tuple(shape)}.")
    return np.eye(*shape, dtype=dtype)


def _fans(shape: Shape, fan: Fan) -> tuple[int, int]:
    if fan is None:
        fan = (math.prod(shape[:-1]), shape[-1]) if len(shape) > 1 else (shape[0], 1) if shape else (1, 1)
    return max(1, fan[0]), max(1, fan[1])


def _drawn(rng: Any) -> Any:
    if not hasattr(rng, "standard_normal"):
        raise TypeError(f"init: rng is a {type(rng).__name__}, not a generator; make one: ad.random.default_rng(seed).")
    return rng


def _normal(rng: Any, shape: Shape, dtype: Any, scale: float) -> Value:
    return _drawn(rng).standard_normal(tuple(shape), dtype=dtype) * np.dtype(dtype).type(scale)


def _uniform(rng: Any, shape: Shape, dtype: Any, width: float) -> Value:
    return (2 * _drawn(rng).random(tuple(shape), dtype=dtype) - 1) * np.dtype(dtype).type(width)

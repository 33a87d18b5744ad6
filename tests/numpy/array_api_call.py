"""Calls of functions of the Array API standard: what is called, with which arrays, for which dtypes.

The arrays are called x, y (2 × 3), v, w (3), m (3 × 3, Hermitian and positive definite), by the names of parameters.
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Call(NamedTuple):
    """A call of one function, f, of a namespace, xp, and the dtypes it is defined for."""

    name: str
    made: Callable[..., Any]
    kind: str

    @property
    def parameters(self) -> tuple[str, ...]:
        parameters = inspect.signature(self.made).parameters.values()
        return tuple(p.name for p in parameters if p.default is p.empty)

    def function(self, xp: Any, *arrays: Any) -> Any:
        """The call itself, on arrays of xp."""
        given, rest = {"xp": xp, "f": named(xp, self.name)}, iter(arrays)
        return self.made(*[given[name] if name in given else next(rest) for name in self.parameters])

    def arrays(self, dtype: str) -> tuple[np.ndarray, ...]:
        pool = arrays(dtype, shifted=1.0 if self.name == "acosh" else 0.0)
        return tuple(pool[name] for name in self.parameters if name in pool)


def named(xp: Any, name: str) -> Any:
    """xp.name, also of an extension."""
    for part in name.split("."):
        xp = getattr(xp, part)
    return xp


def arrays(dtype: str, shifted: float = 0.0) -> dict[str, np.ndarray]:
    """Arrays by name. Floats lie between 0 and 1 (plus a shift), integers are small."""
    x, y = np.array([[3, 7, 5], [2, 9, 4]]), np.array([[6, 1, 8], [3, 2, 4]])
    m = np.array([[20, 3, 1], [3, 15, 2], [1, 2, 10]])
    found = {"x": x, "y": y, "v": np.array([4, 1, 6]), "w": np.array([2, 5, 3]), "m": m}
    if dtype == "bool":
        return {name: a > 3 for name, a in found.items()}
    if dtype.startswith(("int", "uint")):
        return {name: a.astype(dtype) for name, a in found.items()}
    found = {name: a / 10 + shifted for name, a in found.items()}
    if dtype.startswith("complex"):
        imaginary = {name: np.flip(a) / 20 for name, a in found.items()} | {"m": (np.triu(m, 1) - np.tril(m, -1)) / 30}
        found = {name: a + 1j * imaginary[name] for name, a in found.items()}
    return {name: a.astype(dtype) for name, a in found.items()}


def device(xp: Any) -> Any:
    """The device of a namespace."""
    return xp.__array_namespace_info__().default_device()


def one_like(x: Any) -> Any:
    """A number of Python's that goes with an array."""
    return True if "bool" in str(x.dtype) else 1


def calls(name: str, kind: str, *made: Callable[..., Any]) -> list[Call]:
    """Calls of one function."""
    return [Call(name, function, kind) for function in made]

"""Intermediate values of a model, at paths in its tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint import tree
from adjoint.base.errors import TreeError
from adjoint.nn.locating import apply, title_of
from adjoint.nn.residual import Sequential
from adjoint.nn.stacking import Stack

__all__ = ["taps"]


@dataclass(frozen=True)
class _Tap:
    """A layer whose results are noted."""

    inner: Any
    path: str = tree.static()
    note: Any = tree.static()

    @property
    def title(self) -> str:
        return title_of(self.inner)

    def __call__(self, *inputs: Any, rng: Any = None, **options: Any) -> Any:
        if options:
            result = self.inner(*inputs, rng=rng, **options)
        else:
            result = apply(self.inner, "", *inputs, rng=rng)
        self.note(self.path, result)
        return result

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("inner", "path", "note"):
            raise AttributeError(name)
        return getattr(self.inner, name)


def tapped(model: Any, paths: Sequence[str], note: Callable[[str, Any], None]) -> Any:
    """The model, which calls note(path, result) for each layer at one of the paths."""
    for path in sorted(set(paths), key=len, reverse=True):  # a layer is wrapped after what is inside of it
        inner = tree.get(model, path) if path else model
        if not callable(inner):
            raise TreeError(f"taps: what stands at {path} is a {type(inner).__name__}, no layer.")
        tap = _Tap(inner, path, note)
        model = tree.replace(model, path, tap) if path else tap
    return model


def taps(model: Any, *paths: str) -> Callable[..., Any]:
    """A function (inputs) -> (output, values): what the layers at these paths give on the way, and the same output.

    `values` is a dict by path; of a layer that is called several times it has a list. Layers of a `Stack` are reached
    by their number, as in stack.layers[2].

    ```python
    model = ad.nn.MLP.init(ad.random.default_rng(0), [2, 3, 1])
    output, values = ad.nn.taps(model, "layers[0]")(np.ones((5, 2)))
    values["layers[0]"].shape  # → (5, 3)
    ```
    """
    for path in paths:
        model = _unrolled(model, path)

    def call(*inputs: Any, **options: Any) -> tuple[Any, dict[str, Any]]:
        found: dict[str, list[Any]] = {}

        def note(path: str, value: Any) -> None:
            found.setdefault(path, []).append(value)

        result = tapped(model, paths, note)(*inputs, **options)
        missing = [path for path in paths if path not in found]
        if missing:
            raise TreeError(f"taps: the layer at {missing[0]} was not called.")
        return result, {path: found[path][0] if len(found[path]) == 1 else found[path] for path in paths}

    return call


def _unrolled(model: Any, path: str) -> Any:
    """The model with each `Stack` that the path goes through as a sequence of layers."""
    for match in re.finditer(r"layers\[", path):
        above = path[: match.start()].rstrip(".")
        try:
            stack = tree.get(model, above) if above else model
        except TreeError:
            return model
        if isinstance(stack, Stack):
            layers = Sequential(tuple(stack.unstacked()))
            model = tree.replace(model, above, layers) if above else layers
    return model

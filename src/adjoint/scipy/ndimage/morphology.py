"""Morphology with gray values: erosions and dilations by a footprint or a structure, and what is made of them.

    erosion zᵢ = min over k of x[i + k] - sₖ,    dilation zᵢ = max over k of x[i - k] + sₖ

Differentiable in the image and in the structure; the derivative is that of the chosen element.
"""

# ruff: noqa: A002

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.program.types import Value
from adjoint.scipy.ndimage.arguments import array, axes_of, each, finished, for_traced
from adjoint.scipy.ndimage.rank_filters import _extreme
from adjoint.scipy.passing import settled


def _eroded(call: str, x: Value, size: Any, footprint: Any, structure: Any, *rest: Any) -> Value:
    if size is None and footprint is None and structure is None:
        raise ValueError("size, footprint, or structure must be specified")
    return _extreme(call, "minimum", x, size, footprint, structure, *rest)


def _dilated(
    call: str, x: Value, size: Any, footprint: Any, structure: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> Value:
    if size is None and footprint is None and structure is None:
        raise ValueError("size, footprint, or structure must be specified")
    chosen = axes_of(axes, x.ndim)
    structure = None if structure is None else np.flip(array(structure))
    if footprint is not None:
        footprint = np.flip(np.asarray(settled(f"scipy.ndimage.{call}", "footprint", footprint)))
    given = structure if footprint is None else footprint
    shape = each(size, len(chosen)) if given is None else given.shape
    origins = [-o - (0 if n % 2 else 1) for o, n in zip(each(origin, len(chosen)), shape, strict=True)]
    return _extreme(call, "maximum", x, size, footprint, structure, mode, cval, origins, axes)


def _opened(call: str, x: Value, *settings: Any) -> Value:
    return _dilated(call, _eroded(call, x, *settings), *settings)


def _closed(call: str, x: Value, *settings: Any) -> Value:
    return _eroded(call, _dilated(call, x, *settings), *settings)


def _filter(name: str, summary: str, compute: Callable[..., Value]) -> Callable[..., Value]:
    """A function with the arguments that all of these have."""

    def call(
        input: Any,
        size: Any = None,
        footprint: Any = None,
        structure: Any = None,
        output: Any = None,
        mode: Any = "reflect",
        cval: Any = 0.0,
        origin: Any = 0,
        *,
        axes: Any = None,
    ) -> Value:
        x = array(input)
        z = compute(name, x, size, footprint, structure, mode, cval, origin, axes)
        return finished(name, z, input, output)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = summary
    return for_traced(call)


grey_erosion = _filter("grey_erosion", "The least of the neighbors, less the structure.", _eroded)
grey_dilation = _filter("grey_dilation", "The largest of the neighbors, plus the structure.", _dilated)
grey_opening = _filter("grey_opening", "The dilation of the erosion.", _opened)
grey_closing = _filter("grey_closing", "The erosion of the dilation.", _closed)
morphological_gradient = _filter(
    "morphological_gradient",
    "The dilation less the erosion.",
    lambda call, x, *settings: _dilated(call, x, *settings) - _eroded(call, x, *settings),
)
morphological_laplace = _filter(
    "morphological_laplace",
    "The dilation plus the erosion, less twice the image.",
    lambda call, x, *settings: _dilated(call, x, *settings) + _eroded(call, x, *settings) - 2 * x,
)
white_tophat = _filter(
    "white_tophat", "The image less its opening.", lambda call, x, *settings: x - _opened(call, x, *settings)
)
black_tophat = _filter(
    "black_tophat", "The closing of the image less itself.", lambda call, x, *settings: _closed(call, x, *settings) - x
)

"""Derivatives of functions of one variable, and the names that stand beside them in autograd."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.gradients import jvp, vjp
from adjoint.compat.autograd.boxes import Box, getval, isbox
from adjoint.compat.autograd.extend import (
    JVPNode,
    VJPNode,
    conjugated,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    primitive,
)
from adjoint.compat.autograd.vspaces import VSpace, vspace
from adjoint.program.trace import Tracer

__all__ = [
    "Box",
    "JVPNode",
    "VJPNode",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "getval",
    "isbox",
    "make_jvp",
    "make_vjp",
    "primitive",
    "primitive_with_deprecation_warnings",
    "vspace",
]

primitive_with_deprecation_warnings = primitive


def floating(x: Any) -> Any:
    """An array of integers as floats, which have derivatives; anything else as it is."""
    return x.astype(float) if isinstance(x, np.ndarray) and x.dtype.kind in "iu" else x


def fitting(g: Any, example: Any) -> Any:
    """A tangent or cotangent as an array of the type of what it belongs to, where that loses nothing."""

    def fit(leaf: Any, like: Any) -> Any:
        if isinstance(leaf, Tracer) or not hasattr(like, "dtype"):
            return leaf
        array = np.asarray(leaf)
        return array.astype(like.dtype) if np.can_cast(array.dtype, like.dtype, "same_kind") else array

    return tree.map(fit, g, example) if tree.structure(g) == tree.structure(example) else g


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """(g ↦ Jᵀg, f(x))."""
    y, pullback = vjp(fun, floating(x))

    def pull(g: Any) -> Any:
        (found,) = pullback(conjugated(fitting(g, y)))
        return conjugated(found)

    return pull, y


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """v ↦ (f(x), J v)."""
    point = floating(x)
    return lambda g: jvp(fun, (point,), (fitting(g, point),))

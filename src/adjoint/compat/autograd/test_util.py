"""Checking derivatives against differences."""

# pyright: basic

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.compat.autograd.vspaces import vspace
from adjoint.compat.autograd.wrap_util import unary_to_nary
from adjoint.testing import check_grads as ad_check_grads

__all__ = ["check_equivalent", "check_grads", "check_jvp", "check_vjp", "combo_check", "scalar_close"]

_MODES = {"fwd": "forward", "rev": "reverse"}


def scalar_close(a: Any, b: Any) -> bool:
    """Equal to six digits."""
    return bool(abs(a - b) < 1e-6 or abs(a - b) < 1e-6 * abs(a + b))


def check_equivalent(x: Any, y: Any) -> None:
    """Raise unless both are the same, in form and in value."""
    assert vspace(x) == vspace(y), f"different spaces: {vspace(x)} and {vspace(y)}"
    for a, b in zip(tree.leaves(x), tree.leaves(y), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@unary_to_nary
def check_grads(f: Callable[[Any], Any], x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    """Raise unless the derivatives agree with differences: "fwd" and "rev" mode, up to an order."""
    for mode in modes:
        if mode not in _MODES:
            raise ValueError(f'check_grads: modes are "fwd" and "rev", not {mode!r}.')
    ad_check_grads(f, (x,), order, [_MODES[mode] for mode in modes], rtol=1e-6, atol=1e-6)  # type: ignore[arg-type]


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Reverse mode, once."""
    check_grads(f, modes=["rev"], order=1)(x)


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Forward mode, once."""
    check_grads(f, modes=["fwd"], order=1)(x)


def combo_check(fun: Callable[..., Any], *options: Any, **named: Any) -> Callable[..., None]:
    """`check_grads` of all combinations of the arguments that are listed."""

    def check(*args: Any, **kwargs: Any) -> None:
        for given in itertools.product(*args):
            for chosen in itertools.product(*kwargs.values()):
                check_grads(fun, *options, **named)(*given, **dict(zip(kwargs, chosen, strict=True)))

    return check

"""Hypergeometric functions in all arguments: derivatives in x raise each parameter by one."""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

from adjoint.ops.special.declare import named
from adjoint.ops.special.hypergeometric_kernels import hyp0f1_kernel, hyp1f1_kernel, hyp2f1_kernel
from adjoint.ops.special.library import special
from adjoint.ops.special.parameters import family
from adjoint.ops.special.tricomi import hyperu_kernel

named(
    special.hyp0f1,
    "b x",
    **family(special.hyp0f1, "b x", hyp0f1_kernel, "b", most=5),
    x=lambda b, x: special.hyp0f1(b + 1.0, x) / b,
)
named(
    special.hyp1f1,
    "a b x",
    **family(special.hyp1f1, "a b x", hyp1f1_kernel, "a b", most=5),
    x=lambda a, b, x: a / b * special.hyp1f1(a + 1.0, b + 1.0, x),
)
named(
    special.hyp2f1,
    "a b c x",
    **family(special.hyp2f1, "a b c x", hyp2f1_kernel, "a b c", most=5),
    x=lambda a, b, c, x: a * b / c * special.hyp2f1(a + 1.0, b + 1.0, c + 1.0, x),
)
named(
    special.hyperu,
    "a b x",
    **family(special.hyperu, "a b x", hyperu_kernel, "a b", most=5),
    x=lambda a, b, x: -a * special.hyperu(a + 1.0, b + 1.0, x),
)

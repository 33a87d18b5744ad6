"""Hypergeometric functions in their argument: each slope is the same function with every parameter raised by one."""

# The rules are a table of lambdas, whose letters have no types.
# pyright: basic

from __future__ import annotations

from scipy import special

from adjoint.ops.special.declare import named

named(special.hyp0f1, "b x", x=lambda b, x: special.hyp0f1(b + 1.0, x) / b)
named(special.hyp1f1, "a b x", x=lambda a, b, x: a / b * special.hyp1f1(a + 1.0, b + 1.0, x))
named(special.hyp2f1, "a b c x", x=lambda a, b, c, x: a * b / c * special.hyp2f1(a + 1.0, b + 1.0, c + 1.0, x))
named(special.hyperu, "a b x", x=lambda a, b, x: -a * special.hyperu(a + 1.0, b + 1.0, x))

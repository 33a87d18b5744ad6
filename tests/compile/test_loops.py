"""Loops as machine code: rows of loops whose number of turns is known only when they run."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad


def grow(x: Any) -> Any:
    """Multiplies until it is large: more turns for smaller x."""
    return ad.while_loop(lambda c: np.sum(c * c) < 300.0, lambda c: 1.5 * c + 0.1 * np.sin(x) * x, x)


def in_a_branch(x: Any) -> Any:
    return np.sum(ad.cond(np.sum(x) > 0, grow, lambda x: x * x * x, x))


def in_a_loop(x: Any) -> Any:
    """Each turn of the outer loop takes another number of turns inside."""
    return np.sum(ad.scan(lambda c, k: (grow(np.tanh(c) * k), np.sum(c)), x, np.array([0.3, 2.0, 0.1, 1.0]))[1])


def in_a_while_loop(x: Any) -> Any:
    return np.sum(ad.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, grow(np.tanh(c[1]) / (1 + c[0]))), (0, x))[1])


def second_derivatives(f: Any) -> Any:
    """Reverse over reverse: the rows of the loop back are kept as well."""
    return lambda x: ad.vjp(ad.grad(f), x)[1](np.linspace(1.0, 2.0, x.size))[0]


@pytest.mark.parametrize("function", [in_a_branch, in_a_loop, in_a_while_loop])
@pytest.mark.parametrize("transformed", [ad.grad, second_derivatives, ad.hessian])
def test_rows_of_while_loops(function: Any, transformed: Any) -> None:
    g = transformed(function)
    compiled = ad.jit(g)
    for x in (np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 0.5]), np.array([-1.0, 0.25, 0.5])):
        want = g(x)
        np.testing.assert_allclose(compiled(x), want, rtol=1e-9, atol=1e-9 * np.max(np.abs(want)))
    (how,) = {one.how for one in compiled.report().specialisations}
    # rows of rows of any number are left to NumPy, which is said
    assert how == "compiled" if function is in_a_branch else how.endswith("known only when the program runs")

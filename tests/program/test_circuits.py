"""Arithmetic circuits: polynomials evaluated exactly, their sizes, and their derivatives against SymPy."""

from fractions import Fraction

import numpy as np
import pytest
import sympy

import adjoint as ad


def circuit(f, n=2):
    return ad.trace(f)(*np.ones(n)).program.circuit()


@pytest.mark.row("B4.1.h")
def test_factored_and_expanded():
    """(x + y)² takes fewer edges than x² + 2 x y + y²; both are the same polynomial."""
    factored, expanded = circuit(lambda x, y: (x + y) ** 2), circuit(lambda x, y: x * x + 2 * x * y + y * y)
    assert factored.size == 4 < expanded.size == 12
    x, y = sympy.symbols("x y")
    assert sympy.expand(factored(x, y) - expanded(x, y)) == 0
    assert factored(Fraction(1, 3), Fraction(1, 6)) == Fraction(1, 4)
    assert (factored.degree, factored.depth) == (2, 2)
    np.testing.assert_allclose(ad.grad(factored, argnums=(0, 1))(2.0, 3.0), (10.0, 10.0))


def test_differences_and_powers():
    polynomial = lambda x, y: (x - 2 * y) ** 5 - x**3 * (-y) + 7
    made = circuit(polynomial)
    x, y = sympy.symbols("x y")
    assert sympy.expand(made(x, y) - polynomial(x, y)) == 0
    assert made.degree == 5
    assert {node[0] for node in made.nodes} <= {"input", "constant", "add", "multiply"}
    expected = [float(sympy.diff(polynomial(x, y), v).subs({x: 1.5, y: -0.5})) for v in (x, y)]
    np.testing.assert_allclose(ad.jit(ad.grad(made, argnums=(0, 1)))(1.5, -0.5), expected, rtol=1e-12)
    several = circuit(lambda x, y: (x + y, x * y))
    assert several(2, 3) == (5, 6)


def test_what_is_no_polynomial():
    with pytest.raises(ad.ProgramError, match="sin, which is no sum and no product"):
        circuit(lambda x, y: np.sin(x))
    with pytest.raises(ad.ProgramError, match="power"):
        circuit(lambda x, y: (1 + x * x) ** 0.3)
    with pytest.raises(ad.ProgramError, match="Give each one as an argument"):
        ad.trace(lambda x: x + x)(np.ones(2)).program.circuit()

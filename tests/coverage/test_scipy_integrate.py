"""The rows of scipy.integrate are complete and true."""

import numpy as np
import pytest
import scipy.stats

from adjoint.coverage import CONSTANT, DIFFERENTIABLE, REFUSED
from adjoint.scipy import integrate
from tests.coverage.agreement import Example, at, fault, fault_of_compiled, faults_of_names, of, rows_of
from tests.support.sweeps import sampled

Y, X = np.array([1.0, 0.3, 2.0, 1.4, -0.5]), np.array([0.0, 0.7, 1.0, 2.2, 2.5])


def _first(call):
    """The first of what it returns, as a number of NumPy: SciPy has one of Python."""
    return lambda *xs: np.positive(call(*xs)[0])


@_first
def _quad(f, a, b, c, p):
    return f(lambda x, c: np.where(x < p, np.sin(c * x), c), a, b, (c,), points=[p])


def _tplquad(f, a, b, c):
    return f(lambda z, y, x, c: x * y * c, a, b, 0.0, 1.0, 0.0, lambda x, y: x, (c,))


EXAMPLES: dict[str, Example] = {
    "trapezoid": at(Y, X),
    "cumulative_trapezoid": at(Y, X),
    "simpson": at(Y, X),
    "cumulative_simpson": of(lambda f, y, x: f(y, x=x), Y, X),
    "romb": at(Y, 0.3),
    "fixed_quad": of(lambda f, a, b: f(np.sin, a, b)[0], 0.2, 1.1),
    "newton_cotes": of(lambda f: f(3)[0]),
    "lebedev_rule": of(lambda f: f(3)[1]),
    "quad": of(_quad, 0.1, 1.1, 0.7, 0.4),
    "quad_vec": of(lambda f, a, b, c: f(lambda x, c: np.sin(c * x) * np.ones(2), a, b, args=(c,))[0], 0.1, 1.1, 0.7),
    "dblquad": of(_first(lambda f, a, b, c: f(lambda y, x, c: x * y * c, a, b, 0.0, lambda x: x, (c,))), 0.1, 1.1, 0.7),
    "tplquad": of(_first(_tplquad), 0.1, 1.1, 0.7),
    "nquad": of(_first(lambda f, r, c: f(lambda x, y, c: np.sin(c * x * y), r, (c,))), [[0.0, 1.1], [0.2, 0.9]], 0.7),
    "qmc_quad": of(
        lambda f, a, b: f(lambda x: np.sin(x[0]), a, b, n_points=64, qrng=scipy.stats.qmc.Halton(1, seed=0)).integral,
        0.2,
        1.1,
    ),
    "tanhsinh": of(lambda f, a, b, c: f(lambda x, c: np.sin(c * x), a, b, args=(c,)).integral, 0.2, 1.1, 0.7),
    "cubature": of(lambda f, a, b, c: f(lambda x, c: np.sin(c * x[:, 0]), a, b, args=(c,)).estimate, [0.2], [1.1], 0.7),
    "nsum": of(lambda f, b: f(lambda k: 1.0 / k**2, 1.0, b).sum, 9.0),
    "odeint": of(
        lambda f, y, c: f(lambda y, t, c: -c * y * t, y, [0.0, 1.0], (c,), rtol=1e-13, atol=1e-14), [1.0], 0.7
    ),
    "solve_ivp": of(
        lambda f, y, c: f(lambda t, y, c: -c * y * t, (0, 1), y, args=(c,), rtol=1e-13, atol=1e-14).y[:, -1], [1.0], 0.7
    ),
    "solve_bvp": of(
        lambda f, x: f(lambda x, y: 3.0 * x**2 + 0 * y, lambda a, b: a - 1.0, x, np.ones((1, 5)), tol=1e-10).y[:, -1],
        np.linspace(0.0, 1.1, 5),
    ),
}


def test_every_function_has_a_row_and_every_row_a_function():
    assert not faults_of_names("scipy.integrate")


@pytest.mark.parametrize("row", sampled(rows_of("scipy.integrate", DIFFERENTIABLE), 4), ids=lambda row: row.name)
def test_differentiable(row):
    assert fault(row, EXAMPLES[row.name]) is None
    assert fault_of_compiled(row, EXAMPLES[row.name]) is None


@pytest.mark.parametrize(
    "row", [*rows_of("scipy.integrate", CONSTANT), *rows_of("scipy.integrate", REFUSED)], ids=lambda row: row.name
)
def test_constant_and_refused(row):
    assert fault(row, EXAMPLES[row.name]) is None


def test_functions_of_ours_have_rows():
    assert set(integrate.__all__) == {row.name for row in rows_of("scipy.integrate", DIFFERENTIABLE)}

"""Functions that solve, in other languages and libraries, with a decorator."""

import ctypes
import ctypes.util
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

import adjoint as ad
from adjoint import implicit


@implicit.solution(lambda t, price: np.exp(t) + t - price)
def implied(price):
    """The t with eᵗ + t = price."""
    return brentq(lambda t: np.exp(t) + t - price, -5.0, 5.0, xtol=1e-15)


def test_a_decorated_function_is_itself_with_derivatives():
    assert implied.__name__ == "implied"
    assert "eᵗ + t = price" in implied.__doc__
    assert_allclose(
        [implied(1.0), ad.grad(implied)(1.0), ad.grad(ad.grad(implied))(1.0)], [0.0, 0.5, -0.125], atol=1e-14
    )
    assert_allclose(ad.jit(ad.vmap(ad.grad(implied)))(np.array([1.0, 1.0 + np.e])), [0.5, 1 / (1 + np.e)], rtol=1e-12)


def test_a_solver_in_c():
    cbrt = ctypes.CDLL(ctypes.util.find_library("m")).cbrt
    cbrt.restype, cbrt.argtypes = ctypes.c_double, [ctypes.c_double]
    root = implicit.solution(lambda x, a: x**3 - a)(lambda a: cbrt(float(a)))
    assert_allclose(ad.jacfwd(ad.jacrev(root))(8.0), -2 / 9 * 8.0 ** (-5 / 3), rtol=1e-12)


def cubed(x, a):
    return x**3 - a


def rooted(a):
    return np.cbrt(a)


OBJECTS = {
    "root": lambda: implicit.root(cubed, rooted),
    "newton": lambda: implicit.root(cubed, x0=1.0),
    "fixed point": lambda: implicit.fixed_point(rooted, x0=1.0),
    "argmin": lambda: implicit.argmin(cubed, x0=1.0),
    "constrained": lambda: implicit.argmin(cubed, rooted, subject_to=implicit.Constraints(bounds=(0.0, None))),
    "projected": lambda: implicit.argmin(cubed, rooted, subject_to=implicit.Projected(np.cos)),
    "value": lambda: implicit.value(cubed, rooted, sense="max"),
    "inverse": lambda: implicit.inverse(rooted, "contraction"),
    "adjoint state": lambda: implicit.adjoint_state(cubed, cubed, rooted),
    "solution": lambda: implicit.solution(cubed)(rooted),
    "sensitivity": lambda: implicit.sensitivity(implicit.root(cubed, rooted)),
    "sensitivity at a point": lambda: implicit.sensitivity(implicit.root(cubed, rooted))(8.0),
    "neumann": lambda: implicit.Neumann(3),
    "warm start": lambda: implicit.WarmStarted("cg"),
    "conditions": lambda: implicit.conditions.kkt(cubed, implicit.Constraints(equality=cubed)),
    "least squares": lambda: implicit.conditions.least_squares(cubed),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_pickle(name):
    assert type(pickle.loads(pickle.dumps(OBJECTS[name]()))) is type(OBJECTS[name]())


def test_a_pickled_root_has_its_derivative():
    again = pickle.loads(pickle.dumps(implicit.root(cubed, rooted)))
    assert_allclose(ad.grad(again)(8.0), 1 / 12, rtol=1e-12)

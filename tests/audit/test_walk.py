"""Walking through a program gives its value, and sees every primitive that runs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import audit
from adjoint.audit.walk import walk


def f(x):
    y = ad.scan(lambda c, t: (c + t, np.sin(c) * t), x[0], x, reverse=True)
    z = ad.while_loop(lambda c: c < 100.0, lambda c: c * x[1], 1.0)
    inner = ad.checkpoint(np.exp)(x[2])
    return y[0] + np.sum(y[1]) + z + inner + ad.cond(x[0] > 0, np.cos, np.sin, x[0])


def test_values_are_those_of_the_function():
    for x in (np.array([1.0, 2.0, 0.5]), np.array([-1.0, 3.0, 0.1])):
        assert_allclose(walk(ad.trace(f)(x).program, [x], lambda *_: None), [f(x)], rtol=1e-15)


def test_every_turn_and_only_the_side_taken_is_seen():
    seen = []
    walk(ad.trace(f)(np.ones(3)).program, [np.array([1.0, 2.0, 0.5])], lambda eq, xs, zs: seen.append(eq.op.title))
    assert seen.count("sin") == 3  # three turns of the scan, and not the other branch
    assert seen.count("cos") == seen.count("exp") == 1
    assert seen.count("less") == 8  # 1, 2, 4 … 128


def test_results_can_be_changed_on_the_way():
    program = ad.trace(lambda x: np.abs(x) + x)(1.0).program
    flip = lambda eq, xs, zs: [-zs[0]] if eq.op.title == "absolute" else None
    assert walk(program, [np.float64(3.0)], flip) == [0.0]


AT_A_POINT = {
    "generalized_jacobian": lambda w: audit.generalized_jacobian(np.sum)(w).vertices,
    "directional": lambda w: audit.directional(np.sum)(w, w),
    "lipschitz": lambda w: audit.lipschitz(np.sum, samples=2)(w),
    "tangent_space": lambda w: audit.tangent_space(lambda w: np.sum(w**2))(w).basis,
    "is_subgradient": lambda w: audit.is_subgradient(np.sum, w, w),
}


@pytest.mark.parametrize("name", AT_A_POINT)
def test_points_are_real_arrays(name):
    at = AT_A_POINT[name]
    np.testing.assert_allclose(at([1, 2]), at(np.array([1.0, 2.0], np.float32)))
    with pytest.raises(TypeError, match=rf"^{name}: .* must be real.* imaginary parts"):
        at(np.array([1 + 2j]))
    with pytest.raises(ValueError, match=rf"^{name}: .* NaN"):
        at(np.array([np.nan, 1.0]))
    with pytest.raises((TypeError, ValueError), match=rf"^{name}: "):
        at({} if name == "is_subgradient" else {"w": np.ones(2)})


def test_points_without_elements():
    none = np.zeros(0)
    assert audit.generalized_jacobian(lambda w: np.sum(np.abs(w)))(none).vertices.shape == (1, 0)
    assert audit.directional(np.sum)(none, none) == 0.0
    assert audit.tangent_space(lambda w: np.sum(w**2))(none).dimension == 0
    assert "takes no operations" in str(audit.cost(np.sum)(none))


def test_functions_that_are_nan_at_a_point():
    with np.errstate(all="ignore"):
        assert not audit.is_subgradient(lambda x: -np.log(x), -1.0, 1.0)
        with pytest.raises(ValueError, match="is NaN here"):
            audit.generalized_jacobian(np.log, method="exact")(-1.0)


@pytest.mark.parametrize("name", [name for name in AT_A_POINT if name != "lipschitz"])
def test_results_are_real_arrays(name):
    looked = {
        "generalized_jacobian": lambda f: audit.generalized_jacobian(f)(np.ones(2)),
        "directional": lambda f: audit.directional(f)(np.ones(2), np.ones(2)),
        "tangent_space": lambda f: audit.tangent_space(f)(np.ones(2)),
        "is_subgradient": lambda f: audit.is_subgradient(f, np.ones(2), np.ones(2)),
    }[name]
    with pytest.raises(TypeError, match=f"{name}: the function returned complex numbers"):
        looked(lambda x: 1j * np.sum(x))
    if name == "tangent_space":
        np.testing.assert_allclose(np.abs(looked(lambda x: {"a": x[:1] ** 2, "b": (x[0], x[0])}).basis), [[0.0, 1.0]])
    else:
        with pytest.raises(TypeError, match=f"{name}: the function returned a tuple"):
            looked(lambda x: (x[0], x[1]))

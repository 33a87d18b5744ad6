"""Right sides with branches and without source: the numbers are those of the same function with source."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ControlFlowError, TraceError
from adjoint.integrate import solve

SPACE: dict = {}
exec("def f(t, y, k):\n    return -2 * k * y if y > 0.5 else -4 * k * y * y\n", SPACE)


def end(f):
    return lambda k: solve(f, (0.0, 1.0), 1.0, args=(k,), method="heun", rtol=1e-3).last


FOUND, EXPECTED = end(SPACE["f"]), end(lambda t, y, k: -2 * k * y if y > 0.5 else -4 * k * y * y)


def test_values_and_gradients():
    np.testing.assert_array_equal(FOUND(0.7), EXPECTED(0.7))
    np.testing.assert_allclose(ad.grad(FOUND)(0.7), ad.grad(EXPECTED)(0.7), rtol=1e-13)
    with pytest.raises(ControlFlowError, match=r"ad\.cond"):
        ad.jit(FOUND)(0.7)


@pytest.mark.sweep
def test_second_derivatives_and_batches():
    np.testing.assert_allclose(ad.jvp(ad.grad(FOUND), (0.7,), (1.0,)), ad.jvp(ad.grad(EXPECTED), (0.7,), (1.0,)))
    batch = np.array([0.7, 0.3])
    np.testing.assert_allclose(ad.vmap(ad.grad(FOUND))(batch), ad.vmap(ad.grad(EXPECTED))(batch), rtol=1e-13)


def test_what_it_closes_over_is_not_lost():
    def closing(k):
        space: dict = {"k": k}
        exec("def f(t, y):\n    return -k * y if y > 0.5 else -y\n", space)
        return solve(space["f"], (0.0, 1.0), 1.0, method="heun", rtol=1e-3).last

    assert 0.3 < closing(0.7) < 0.6
    with pytest.raises(TraceError, match="args="):
        ad.grad(closing)(0.7)

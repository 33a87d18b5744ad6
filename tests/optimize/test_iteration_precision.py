"""Single precision: every method in compiled programs, where constants of double precision must not spread."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize

MINIMIZERS = ["bfgs", "lbfgs", "lbfgsb", "trust-exact", "newton", "cubic", "newton-cg", "cg", "gd",
              optimize.BFGS(search=optimize.HagerZhang()), optimize.BFGS(search=optimize.Armijo())]  # fmt: skip


def quartic(x, a):
    return np.sum((x - a) ** 2) + np.sum(x**4)


EXACT = 0.385458498  # 4 x³ + 2 x = 1


@pytest.mark.parametrize("method", MINIMIZERS, ids=str)
def test_minimizers(method):
    solve = lambda a: optimize.minimize(quartic, np.zeros(2, np.float32), a, method=method).value
    found = ad.jit(solve)(np.float32(0.5))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, EXACT, atol=2e-4)


@pytest.mark.parametrize("method", ["newton", "krylov", "broyden", "lm"])
def test_roots(method):
    F = lambda x, a: np.stack([x[0] ** 2 - a, x[1] - x[0]])
    solve = lambda a: optimize.root(F, np.ones(2, np.float32), a, method=method).value
    found = ad.jit(solve)(np.float32(0.5))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, 0.5**0.5, atol=1e-5)


@pytest.mark.parametrize("method", ["anderson", "picard"])
def test_fixed_points(method):
    solve = lambda a: optimize.fixed_point(lambda x: np.cos(a * x), np.ones(2, np.float32), method=method).value
    np.testing.assert_allclose(ad.jit(solve)(np.float32(0.5)), 0.90036722, atol=1e-5)


@pytest.mark.parametrize("method", ["chandrupatla", "bisect", "itp"])
def test_bracketed_roots(method):
    ends = (np.float32(0.0), np.float32(2.0))
    solve = lambda a: optimize.root_scalar(lambda x: x**3 - a, bracket=ends, method=method).value
    np.testing.assert_allclose(ad.jit(solve)(np.float32(0.5)), 0.5 ** (1 / 3), atol=1e-5)


@pytest.mark.parametrize("method", ["newton", "halley", "secant"])
def test_open_roots(method):
    solve = lambda a: optimize.root_scalar(lambda x: x**3 - a, x0=np.float32(1.0), method=method).value
    np.testing.assert_allclose(ad.jit(solve)(np.float32(0.5)), 0.5 ** (1 / 3), atol=1e-5)
    np.testing.assert_allclose(ad.jit(ad.grad(solve))(np.float32(0.5)), 0.5 ** (-2 / 3) / 3, atol=1e-4)

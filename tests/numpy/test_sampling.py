"""Differences, integrals, interpolation, convolution."""

import tracemalloc

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.signal.vector_convolution import PIECE
from tests.numpy.checking import Case, array, complex_array, every_check, signed

X, V, W = array(3, 4), array(5), array(3, seed=1)
GRID = np.array([0.0, 0.4, 0.9, 1.3, 2.0])
CASES = [
    Case("diff", np.diff, (X,)),
    Case("diff n", lambda x: np.diff(x, n=2, axis=0), (X,)),
    Case("diff edges", lambda x, p: np.diff(x, prepend=p, append=[[1.0], [2], [3]]), (X, 0.3)),
    Case("ediff1d", lambda x: np.ediff1d(x, to_begin=[1.0, 2.0], to_end=0.5), (V,)),
    Case("gradient", np.gradient, (V,)),
    Case("gradient 2d", np.gradient, (X,)),
    Case("gradient spacing", lambda x, h: np.gradient(x, h), (V, 0.3)),
    Case("gradient grid", lambda x, g: np.gradient(x, g), (V, GRID)),
    Case("gradient edge_order", lambda x: np.gradient(x, 0.5, edge_order=2), (V,)),
    Case("gradient grid edge_order", lambda x, g: np.gradient(x, g, edge_order=2), (V, GRID)),
    Case("gradient axis", lambda x: np.gradient(x, 2.0, axis=0), (X,)),
    Case("trapezoid", np.trapezoid, (X,)),
    Case("trapezoid x", lambda y, x: np.trapezoid(y, x), (V, GRID)),
    Case("trapezoid dx", lambda y, d: np.trapezoid(y, dx=d, axis=0), (X, 0.3)),
    Case("interp", lambda x, f: np.interp(x, GRID, f), (array(6, low=0.12, high=1.9), V)),
    Case("interp all", np.interp, (array(6, low=0.12, high=1.9), GRID, V)),
    Case("interp outside", lambda x, f: np.interp(x, GRID, f, left=-1.0), (array(6, low=-1, high=3), V)),
    Case("interp period", lambda x, f: np.interp(x, GRID, f, period=2.5), (array(6, low=-3, high=4), V)),
    *[
        Case(f"convolve {mode}", lambda a, v, mode=mode: np.convolve(a, v, mode), (V, W))
        for mode in ("full", "same", "valid")
    ],
    Case("convolve short first", lambda a, v: np.convolve(a, v, "same"), (W, V)),
    Case("convolve even", lambda a, v: np.convolve(a, v, "same"), (V, array(4))),
    *[
        Case(
            f"correlate {mode} {n} {m}", lambda a, v, mode=mode: np.correlate(a, v, mode), (array(n), array(m, seed=3))
        )
        for mode in ("full", "same", "valid")
        for n, m in ((5, 3), (3, 5), (5, 4), (4, 5), (6, 2), (2, 6), (4, 4))
    ],
    Case("correlate complex", lambda a, v: np.correlate(a, v, "full"), (complex_array(4), complex_array(2, seed=1))),
    *[
        Case(f"long {f.__name__} {mode}", lambda a, v, f=f, mode=mode: f(a, v, mode), (array(150), array(120, seed=1)))
        for f in (np.convolve, np.correlate)
        for mode in ("full", "same", "valid")
    ],
    Case("unwrap", np.unwrap, (signed(6) * 5,)),
    Case("unwrap period", lambda x: np.unwrap(x, period=1.0, axis=0), (X * 3,)),
    Case("unwrap discont", lambda x: np.unwrap(x, discont=5.0), (signed(6) * 5,)),
    Case("cumulative_sum", lambda x: np.cumulative_sum(x, axis=1, include_initial=True), (X,)),
    Case("cumulative_prod", lambda x: np.cumulative_prod(x), (V,)),
    Case("cumulative_prod initial", lambda x: np.cumulative_prod(x, axis=0, include_initial=True), (X,)),
]


@every_check(CASES)
def test_sampling(case, check) -> None:
    check(case)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.diff(x, -1),
        lambda x: np.gradient(x[:1]),
        lambda x: np.gradient(x, np.ones(7)),
        lambda x: np.interp(x, np.ones(2), np.ones(3)),
        lambda x: np.convolve(x, x, "other"),
        lambda x: np.convolve(x, x[:0]),
        lambda x: np.gradient(x, edge_order=3),
    ],
)
def test_wrong_arguments_raise(call) -> None:
    with pytest.raises(ValueError):
        ad.grad(lambda x: np.sum(call(x)))(np.ones(4))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_long_vectors_need_no_matrix(mode) -> None:
    """A kernel with more elements than one piece; 10⁸ products, whose matrix would not fit."""
    rng = np.random.default_rng(0)
    a, v = rng.normal(size=11_000), rng.normal(size=PIECE + 1000)
    f = lambda a, v: np.convolve(a, v, mode)
    tracemalloc.start()
    z, pull = ad.vjp(f, a, v)
    da, dv = pull(z)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * (a.nbytes + v.nbytes)
    np.testing.assert_allclose(z, np.convolve(a, v, mode), atol=1e-9)
    np.testing.assert_allclose(np.vdot(da, a), np.vdot(z, z))
    np.testing.assert_allclose(np.vdot(dv, v), np.vdot(z, z))


@pytest.mark.parametrize("points", [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 2.0, 2.0, 2.0]])
def test_interp_takes_the_last_of_equal_points(points: list[float]) -> None:
    """As NumPy's own, also at the very end, and where x is no number."""
    values = np.cos(np.arange(len(points)))
    x = np.array([-1.0, 0.0, 0.3, 1.0, 1.4, 2.0, 3.0, np.nan])
    for f in (ad.jit(np.interp), ad.vmap(np.interp, in_axes=(0, None, None))):
        np.testing.assert_allclose(f(x, np.array(points), values), np.interp(x, points, values), rtol=1e-15)

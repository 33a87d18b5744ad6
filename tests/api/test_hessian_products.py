"""Hessian-vector products: four ways, the choice between them, trees, transformations; against dense Hessians."""

import functools

import numpy as np
import pytest

import adjoint as ad
from adjoint.api import hessian_products
from adjoint.api.hessian_products import HVP_MODES, HvpTimes, hvp_times, predicted_hvp_costs
from adjoint.base.errors import DtypeError

RNG = np.random.default_rng(11)
A = RNG.normal(size=(4, 4))
X, V = RNG.normal(size=(2, 4))
FUNCTIONS = {
    "network": lambda x: np.sum(np.tanh(A @ np.tanh(A @ x)) ** 2),
    "log-sum-exp": lambda x: np.log(np.sum(np.exp(x))),
    "quadratic": lambda x: x @ A @ x,
    "linear": lambda x: np.sum(x),
    "powers": lambda x: np.prod(x) + np.sum(x**3),
}
MODES = ["auto", "measure", *HVP_MODES]


def differences(f, x, v, h=1e-5):
    return (ad.grad(f)(x + h * v) - ad.grad(f)(x - h * v)) / (2 * h)


@pytest.mark.parametrize("mode", MODES)
def test_all_modes_against_differences_of_the_gradient(mode):
    for name, f in FUNCTIONS.items():
        found = ad.hvp(f, (X,), (V,), mode=mode)
        np.testing.assert_allclose(found, differences(f, X, V), rtol=1e-7, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_complex_arguments(mode, dtype):
    """Not holomorphic, beside a real argument; eagerly and compiled."""
    z, u = ((x + 1j * y).astype(dtype) for x, y in (RNG.normal(size=(2, 2, 2)), RNG.normal(size=(2, 2, 2))))
    x, v = (s.astype(z.real.dtype) for s in (X, V))

    def f(z, x):
        squares = np.sum(np.abs(z) ** 2)
        return squares**2 + np.real(np.sum(z**3)) * np.sum(x**2) + np.imag(z[0, 0] * np.conj(z[1, 0]) ** 2)

    h = 1e-5
    gradient = lambda t: ad.grad(f, (0, 1))(z + t * u.astype(complex), x + t * v.astype(float))
    expected = [(a - b) / (2 * h) for a, b in zip(gradient(h), gradient(-h), strict=True)]
    for product in (ad.hvp, lambda f, xs, vs, mode: ad.jit(lambda *xs: ad.hvp(f, xs, vs, mode=mode))(*xs)):
        for found, wanted, like in zip(product(f, (z, x), (u, v), mode=mode), expected, (z, x), strict=True):
            assert found.dtype == like.dtype
            np.testing.assert_allclose(found, wanted, atol=1e-7 if dtype is np.complex128 else 2e-4)


@pytest.mark.parametrize("mode", MODES)
def test_complex_results_are_refused(mode):
    with pytest.raises(DtypeError, match="real output"):
        ad.hvp(lambda z: np.sum(z**3), (X + 1j,), (V + 0j,), mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_trees_and_several_arguments(mode):
    def two(x, p):
        return np.sum(x**2) * p["s"] ** 3

    by_x, by_p = ad.hvp(two, (X, {"s": 2.0}), (V, {"s": 0.5}), mode=mode)
    np.testing.assert_allclose(by_x, 2 * 8 * V + 2 * X * 12 * 0.5, rtol=1e-12)
    assert by_p["s"] == pytest.approx(2 * X @ V * 12 + X @ X * 12 * 0.5)


@pytest.mark.parametrize("mode", MODES)
def test_inside_other_transformations(mode):
    f = FUNCTIONS["network"]
    H = ad.hessian(f)(X)
    product = lambda x, v: ad.hvp(f, (x,), (v,), mode=mode)
    np.testing.assert_allclose(ad.jit(product)(X, V), H @ V, rtol=1e-12)
    np.testing.assert_allclose(ad.vmap(lambda v: product(X, v))(np.eye(4)), H, rtol=1e-11, atol=1e-12)
    third = ad.jvp(lambda x: ad.hessian(f)(x) @ V, (X,), (V,))[1]
    np.testing.assert_allclose(ad.jvp(lambda x: product(x, V), (X,), (V,))[1], third, rtol=1e-11, atol=1e-12)
    along = ad.grad(lambda x: V @ product(x, V))(X)
    np.testing.assert_allclose(along, third, rtol=1e-11, atol=1e-12)


def test_forward_over_forward_in_several_strides(monkeypatch):
    """The directions are pushed a few at a time; the last stride is not full; compiled, the strides are a loop."""
    f, H = FUNCTIONS["network"], ad.hessian(FUNCTIONS["network"])(X)
    monkeypatch.setattr(hessian_products, "BATCH", 12)
    for run in (lambda g: g, ad.jit):
        found = run(lambda x, v: ad.hvp(f, (x,), (v,), mode="forward-over-forward"))(X, V)
        np.testing.assert_allclose(found, H @ V, rtol=1e-12)
    monkeypatch.setattr(hessian_products, "BATCH", 1)
    np.testing.assert_allclose(ad.hvp(f, (X,), (V,), mode="forward-over-forward"), H @ V, rtol=1e-12)
    assert ad.hvp(np.sum, (np.zeros(0),), (np.zeros(0),), mode="forward-over-forward").shape == (0,)


def test_an_unknown_mode():
    with pytest.raises(ValueError, match="none of auto, measure, forward-over-reverse"):
        ad.hvp(np.sum, (X,), (X,), mode="sideways")


def test_arguments_stand_in_tuples():
    for primals, tangents in ((np.ones(3), (np.ones(3),)), ((np.ones(3),), np.ones(3))):
        with pytest.raises(TypeError, match=r"hvp\(f, \(x,\), \(v,\)\)"):
            ad.hvp(lambda x: np.sum(x**2), primals, tangents)


def test_predicted_costs():
    """Of a chain of products the three costs are alike; what is not needed costs nothing when compiled."""
    f = FUNCTIONS["network"]
    eager, compiled = (predicted_hvp_costs(f, (X,), compiled=c) for c in (False, True))
    assert set(eager) == set(compiled) == set(HVP_MODES[:3])
    assert max(eager.values()) < 3 * min(eager.values())
    assert all(compiled[mode] < eager[mode] for mode in compiled)
    # branches by value cannot be recorded without values: nothing is predicted, and hvp still works
    branching = lambda x: np.sum(x**3) if x[0] > 0 else np.sum(x**2)
    assert predicted_hvp_costs(branching, (X,)) == {}
    assert np.allclose(ad.hvp(branching, (np.ones(4),), (V,)), 6 * V)
    # it grows with the work
    small, large = (predicted_hvp_costs(lambda x: np.sum(np.sin(x)), (np.ones(n),)) for n in (10, 100_000))
    assert min(large.values()) > 10 * max(small.values())


def test_a_function_is_recorded_once_for_each_type():
    calls = []

    def f(x):
        calls.append(1)
        return np.sum(x**4)

    ad.hvp(f, (X,), (V,))
    assert len(calls) == 2  # recorded, then run
    ad.hvp(f, (X,), (V,))
    assert len(calls) == 3
    ad.hvp(f, (X[:2],), (V[:2],))
    assert len(calls) == 5


def test_times_are_remembered():
    times = hvp_times(FUNCTIONS["network"], (X,), (V,))
    assert isinstance(times, HvpTimes)
    assert set(times.products) == set(HVP_MODES[:3])
    assert times.products[times.fastest] == min(times.products.values())
    assert times.ratio == times.products[times.fastest] / times.function > 1
    assert hvp_times(FUNCTIONS["network"], (X,), (V,)) is times
    assert hvp_times(FUNCTIONS["network"], (X,), (V,), again=True) is not times
    assert str(times).count("× f") == 4
    assert times.fastest in str(times)


def test_what_is_measured_is_used(monkeypatch):
    """The mode with the least time is run; other data in the closure are the same function, other numbers are not."""
    seen = []
    inner = hessian_products._product
    monkeypatch.setattr(hessian_products, "_product", lambda mode, *rest: (seen.append(mode), inner(mode, *rest))[1])

    def made(n, data):
        return lambda x: np.sum(x**n * data)

    ad.hvp(made(3, X), (X,), (V,), mode="measure")
    timed = len(seen)
    assert timed > 9
    fastest = hvp_times(made(3, V), (X,), (V,)).fastest
    ad.hvp(made(3, V), (X,), (V,), mode="measure")
    assert seen[timed:] == [fastest]
    ad.hvp(made(4, X), (X,), (V,), mode="measure")
    assert len(seen) > timed + 9


class Callable:
    __slots__ = ()

    def __call__(self, x):
        return np.sum(x**3)


def test_callables_of_every_kind():
    f = functools.partial(lambda n, x: np.sum(x**n), 3)
    for g in (f, Callable(), ad.jit(FUNCTIONS["powers"]), ad.checkpoint(FUNCTIONS["powers"])):
        for mode in ("auto", "measure"):
            found = ad.hvp(g, (X,), (V,), mode=mode)
            np.testing.assert_allclose(found, differences(g, X, V), rtol=1e-6, atol=1e-8)


def test_times_of_compiled_products_decide_inside_compiled_functions(monkeypatch):
    f = lambda x: np.sum(np.sin(x) ** 3)
    times = hvp_times(f, (X,), (V,), compiler=ad.jit)
    assert times.compiled
    assert times is hvp_times(f, (X,), (V,), compiler=ad.jit)
    assert times is not hvp_times(f, (X,), (V,))
    seen = []
    inner = hessian_products._product
    monkeypatch.setattr(hessian_products, "_product", lambda mode, *rest: (seen.append(mode), inner(mode, *rest))[1])
    found = ad.jit(lambda x, v: ad.hvp(f, (x,), (v,), mode="measure"))(X, V)
    assert seen == [times.fastest]
    np.testing.assert_allclose(found, ad.hessian(f)(X) @ V, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("mode", ["auto", "measure"])
def test_choosing_draws_no_random_numbers(mode):
    """A generator that the function closes over stands where it would stand without the choice."""
    found = []
    for way in (mode, HVP_MODES[0]):
        rng = ad.random.default_rng(3)
        f = lambda x: np.sum(np.sin(x * rng.normal(size=4)))  # noqa: B023
        found.append((ad.hvp(f, (X,), (V,), mode=way), rng.normal()))
    assert found[0][1] == found[1][1]
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-13)

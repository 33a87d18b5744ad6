"""Resampling: against loops, polynomials that a method reproduces, numbers from elsewhere, every transformation."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import signal
from adjoint.base.errors import ShapeError
from tests.numpy.checking import Case, array, every_check, signed
from tests.support.recorded import RESAMPLED, RESAMPLINGS

CASES = [
    *[Case(m, lambda x, m=m: signal.resize(x, (5, 4), m), (signed(2, 3, 6),)) for m in ("nearest", "linear", "area")],
    Case("cubic corners", lambda x: signal.resize(x, 7, "cubic", align_corners=True), (signed(2, 4),)),
    Case("antialias", lambda x: signal.resize(x, (3, 2), antialias=True, axes=(0, 1)), (signed(7, 5, 2),)),
    Case("up and down", lambda x: signal.resize(signal.resize(x, 9, "cubic"), 4, "nearest-exact"), (signed(2, 5),)),
    Case("grid", signal.grid_sample, (signed(2, 2, 4, 3), 0.35 * signed(2, 3, 2, 2) - 0.11)),
    Case(
        "grid cubic",
        lambda x, g: signal.grid_sample(x, g, "cubic", padding="border", align_corners=True),
        (signed(1, 2, 4, 5), 0.4 * signed(1, 3, 2, 2) + 0.03),
    ),
]


@every_check(CASES)
def test_every_transformation(case, check):
    check(case)


def test_compiled():
    for case in (CASES[1], CASES[6]):
        np.testing.assert_allclose(ad.jit(case.function)(*case.inputs), case.function(*case.inputs), rtol=1e-13)
        gradient = ad.grad(lambda *xs, f=case.function: np.sum(f(*xs) ** 2))
        np.testing.assert_allclose(ad.jit(gradient)(*case.inputs), gradient(*case.inputs), rtol=1e-12)


def test_nearest_and_linear_by_hand():
    x = np.array([1.0, 2.0, 4.0])
    np.testing.assert_array_equal(signal.resize(x, 6, "nearest"), [1, 1, 2, 2, 4, 4])
    np.testing.assert_array_equal(signal.resize(x, 2, "nearest"), [1, 2])
    np.testing.assert_array_equal(signal.resize(x, 2, "nearest-exact"), [1, 4])
    np.testing.assert_allclose(signal.resize(x, 6), [1, 1.25, 1.75, 2.5, 3.5, 4])
    np.testing.assert_allclose(signal.resize(x, 5, align_corners=True), [1, 1.5, 2, 3, 4])
    np.testing.assert_allclose(signal.resize(np.arange(6.0), 3, "area"), [0.5, 2.5, 4.5])
    np.testing.assert_allclose(signal.resize(np.arange(6.0), 4, "area"), [0.5, 1.5, 3.5, 4.5])
    np.testing.assert_allclose(signal.resize(x, 1, align_corners=True), [1])


@pytest.mark.parametrize("method, degree, edge", [("linear", 1, 1), ("cubic", 2, 3)])
def test_polynomials_are_reproduced(method, degree, edge):
    """Away from the ends; the cubic with a = -0.5, which goes with antialias, is exact for parabolas."""
    old, new = np.arange(20) + 0.5, (np.arange(50) + 0.5) * 20 / 50
    inside = (new > edge) & (new < 20 - edge)
    z = signal.resize(np.polyval(np.arange(1.0, degree + 2), old), 50, method, antialias=method == "cubic")
    np.testing.assert_allclose(z[inside], np.polyval(np.arange(1.0, degree + 2), new)[inside], rtol=1e-12)


@pytest.mark.parametrize("method, size, antialias", RESAMPLINGS)
def test_values_of_another_library(method, size, antialias):
    """Cubic with and without antialias, as PyTorch computes them."""
    resized = signal.resize(np.array(RESAMPLED), size, method, antialias=antialias)
    np.testing.assert_allclose(resized, RESAMPLINGS[method, size, antialias], atol=1e-12)


def test_antialias_averages_all_samples():
    """Each sample counts as much as the others: the mean of the result is the mean of x, up to the ends."""
    weights = ad.jacobian(lambda x: signal.resize(x, 10, "linear", antialias=True))(np.zeros(40))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(weights.sum(axis=0)[6:-6], 0.25)
    plain = ad.jacobian(lambda x: signal.resize(x, 10, "linear"))(np.zeros(40))
    assert np.count_nonzero(plain) == 20


def test_grid_of_the_samples_gives_the_samples():
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    rows, columns = np.meshgrid((np.arange(4) + 0.5) / 2 - 1, (np.arange(5) + 0.5) / 2.5 - 1, indexing="ij")
    grid = np.broadcast_to(np.stack([columns, rows], axis=-1), (2, 4, 5, 2))
    for method in ("nearest", "linear", "cubic"):
        np.testing.assert_allclose(signal.grid_sample(x, grid, method), x, atol=1e-12)
    corners = np.array([[[[-1.0, -1.0], [1.0, 1.0]]]])
    np.testing.assert_allclose(
        signal.grid_sample(x[:1], corners, align_corners=True)[0, :, 0], x[0, :, [0, -1], [0, -1]].T
    )
    far = np.full((1, 1, 1, 2), 3.0)
    assert not np.any(signal.grid_sample(x[:1], far))
    np.testing.assert_allclose(signal.grid_sample(x[:1], far, padding="border")[0, :, 0, 0], x[0, :, -1, -1])
    inside = signal.grid_sample(x[:1], np.full((1, 1, 1, 2), 0.5))
    np.testing.assert_allclose(signal.grid_sample(x[:1], np.full((1, 1, 1, 2), 1.5), padding="reflection"), inside)


def test_large_arrays_take_little_memory_and_batches_have_their_own_taps():
    x = np.random.default_rng(1).normal(size=(3, 2000))
    np.testing.assert_allclose(
        signal.resize(x, 4000, axes=1)[:, 1:-1:2], 0.75 * x[:, :-1] + 0.25 * x[:, 1:], atol=1e-12
    )
    assert ad.grad(lambda x: np.sum(signal.resize(x, 4000, axes=1)))(x.astype(np.float32)).dtype == np.float32
    g = array(3, 2, 2, 2, low=-0.7, high=0.6)
    planes = signed(3, 1, 4, 4)
    f = lambda x, g: signal.grid_sample(x[None], g[None])[0]
    np.testing.assert_allclose(ad.vmap(f)(planes, g), signal.grid_sample(planes, g), atol=1e-13)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: signal.resize(x, 3, "quadratic"), ValueError, "nearest, nearest-exact"),
        (lambda x: signal.resize(x, (3, 3, 3)), ShapeError, "3 axes"),
        (lambda x: signal.resize(x, 3, "nearest", align_corners=True), ValueError, "align_corners"),
        (lambda x: signal.resize(x, 3, align_corners=True, antialias=True), ValueError, "half-pixel"),
        (lambda x: signal.resize(x[:0], 3, axes=0), ShapeError, "empty"),
        (lambda x: signal.grid_sample(x, x), ShapeError, "grid"),
        (lambda x: signal.grid_sample(x[None], np.zeros((1, 2, 1)), padding="wrap"), ValueError, "wrap"),
    ],
)
def test_errors_name_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call(np.ones((4, 6)))

"""Pooling: against loops over windows, and under every transformation."""

import itertools

import numpy as np
import pytest

import adjoint as ad
from adjoint import signal
from adjoint.base.errors import ShapeError
from tests.numpy.checking import Case, array, every_check, signed

CASES = [
    Case("max", lambda x: signal.max_pool(x, (2, 3)), (signed(2, 4, 6),)),
    Case(
        "max with all options",
        lambda x: signal.max_pool(x, (3, 2), stride=(2, 1), padding=1, dilation=(1, 2), ceil_mode=True),
        (signed(1, 2, 6, 5),),
    ),
    Case("min over other axes", lambda x: signal.min_pool(x, (2, 2), stride=1, axes=(1, 0)), (signed(4, 3, 2),)),
    Case("mean", lambda x: signal.avg_pool(x, (2, 2), stride=1, padding="same"), (signed(2, 4, 5),)),
    Case(
        "mean without padding",
        lambda x: signal.avg_pool(x, (3, 2), stride=2, padding=1, ceil_mode=True, count_include_pad=False),
        (signed(1, 6, 5),),
    ),
    Case("norm", lambda x: signal.lp_pool(x, 2, 3.0, stride=1), (signed(2, 5),)),
    Case("largest size", lambda x: signal.lp_pool(x, 2, np.inf), (signed(2, 4),)),
    Case("adaptive mean", lambda x: signal.adaptive_avg_pool(x, (3, None)), (signed(2, 7, 2),)),
    Case("adaptive max", lambda x: signal.adaptive_max_pool(x, (3, 2)), (signed(2, 7, 5),)),
    Case("unpool", lambda x: signal.max_unpool(x, np.array([[0, 5], [3, 3]]), 6), (array(2, 2),)),
    Case("all", lambda x: signal.global_max_pool(x, (1, 2)) + signal.global_avg_pool(x, [1, 2]), (signed(2, 3, 4),)),
]


@every_check(CASES)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("case", [CASES[1], CASES[4], CASES[8], CASES[9]], ids=lambda case: case.name)
def test_compiled(case):
    np.testing.assert_allclose(ad.jit(case.function)(*case.inputs), case.function(*case.inputs), rtol=1e-13)
    gradient = ad.grad(lambda x: np.sum(case.function(x) ** 2))
    np.testing.assert_allclose(ad.jit(gradient)(*case.inputs), gradient(*case.inputs), rtol=1e-12)


def windows(x, size, stride, padding, dilation, ceil):
    """For each place the elements of its window that lie in x, and how many lie in x or in the padding."""
    counts = []
    for n, k, b, p, d in zip(x.shape, size, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        count = room // b + 1
        if ceil and room % b and count * b < n + p:
            count += 1
        counts.append(count)
    for place in itertools.product(*map(range, counts)):
        ranges = [
            [b * q + d * j - p for j in range(k)]
            for q, k, b, p, d in zip(place, size, stride, padding, dilation, strict=True)
        ]
        padded = np.prod([sum(-p <= i < n + p for i in r) for r, n, p in zip(ranges, x.shape, padding, strict=True)])
        inside = [[i for i in r if 0 <= i < n] for r, n in zip(ranges, x.shape, strict=True)]
        yield place, [x[i] for i in itertools.product(*inside)], padded


def test_values_against_loops():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(7, 6))
    for size, stride, padding, dilation, ceil in itertools.product(
        [(2, 3)], [(1, 1), (2, 3)], [(0, 0), (1, 1)], [(1, 1), (2, 1)], [False, True]
    ):
        options = {"stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil}
        largest, smallest = signal.max_pool(x, size, **options), signal.min_pool(x, size, **options)
        mean, inner = signal.avg_pool(x, size, **options), signal.avg_pool(x, size, count_include_pad=False, **options)
        half, norm = signal.avg_pool(x, size, divisor=2.0, **options), signal.lp_pool(x, size, 3.0, **options)
        found = 0
        for place, elements, padded in windows(x, size, stride, padding, dilation, ceil):
            wanted = [max(elements), min(elements), sum(elements) / padded, np.mean(elements), sum(elements) / 2]
            wanted.append(np.sum(np.abs(elements) ** 3) ** (1 / 3))
            got = [z[place] for z in (largest, smallest, mean, inner, half, norm)]
            np.testing.assert_allclose(got, wanted, rtol=1e-12, err_msg=f"{place} {options}")
            found += 1
        assert found == largest.size == mean.size


def test_adaptive_values_against_loops():
    x = np.random.default_rng(1).normal(size=(2, 7, 5))
    for out in [(1, 1), (3, 2), (7, 5), (4, 6)]:
        mean, largest = signal.adaptive_avg_pool(x, out), signal.adaptive_max_pool(x, out)
        for p, q in itertools.product(*map(range, out)):
            rows = slice(p * 7 // out[0], -(-(p + 1) * 7 // out[0]))
            part = x[:, rows, q * 5 // out[1] : -(-(q + 1) * 5 // out[1])]
            np.testing.assert_allclose(mean[:, p, q], part.mean(axis=(1, 2)), rtol=1e-12)
            np.testing.assert_allclose(largest[:, p, q], part.max(axis=(1, 2)), rtol=1e-12)


def test_equal_elements_share():
    f = lambda x: np.sum(signal.max_pool(x, (2, 2)) * np.array([[1.0, 10.0]]))
    x = np.array([[1.0, 3.0, 0.0, 0.0], [3.0, 3.0, 0.0, 0.0]])
    np.testing.assert_allclose(ad.grad(f)(x), [[0.0, 1 / 3, 2.5, 2.5], [1 / 3, 1 / 3, 2.5, 2.5]])
    v = np.arange(8.0).reshape(2, 4)
    np.testing.assert_allclose(ad.jvp(f, (x,), (v,))[1], np.vdot(ad.grad(f)(x), v))
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(signal.adaptive_max_pool(x, (1, 2))))(x)[0, 2:], [0.25, 0.25])
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(signal.lp_pool(x, 2)))(np.zeros(4)), np.zeros(4))


def test_nan_spoils_its_windows_only():
    x = np.array([1.0, np.nan, 2.0, 3.0])
    np.testing.assert_array_equal(signal.max_pool(x, 2), [np.nan, 3.0])
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(signal.max_pool(x, 2)))(x), [np.nan, np.nan, 0.0, 1.0])


def test_indices_lead_back():
    x = np.random.default_rng(2).normal(size=(2, 3, 6, 4))
    z, where = signal.max_pool(x, (3, 2), stride=(2, 2), padding=(1, 0), return_indices=True)
    np.testing.assert_array_equal(
        np.take_along_axis(x.reshape(2, 3, -1), where.reshape(2, 3, -1), 2).reshape(z.shape), z
    )
    back = signal.max_unpool(*signal.max_pool(x, (3, 2), return_indices=True), (6, 4))
    np.testing.assert_array_equal(back[back != 0], x[back != 0])
    assert np.count_nonzero(back) == 2 * 3 * 4
    ties = signal.max_pool(np.array([2.0, 2.0, np.nan, np.nan]), 2, return_indices=True)[1]
    np.testing.assert_array_equal(ties, [0, 2])
    z, where = ad.vmap(lambda x: signal.max_pool(x, (2, 2), axes=(1, 2), return_indices=True))(x)
    assert where.shape == z.shape == (2, 3, 3, 2)


def test_integers_and_single_precision():
    np.testing.assert_array_equal(signal.max_pool(np.array([3, 1, 2, 5]), 2), [3, 5])
    np.testing.assert_array_equal(signal.min_pool(np.array([True, False, True, True]), 2), [False, True])
    np.testing.assert_array_equal(signal.avg_pool(np.array([3, 1, 2, 5]), 2), [2.0, 3.5])
    x = np.ones((4, 4), np.float32)
    for pool in (signal.max_pool, signal.avg_pool, signal.lp_pool):
        assert pool(x, (2, 2)).dtype == np.float32
        assert ad.grad(lambda x, pool=pool: np.sum(pool(x, (2, 2))))(x).dtype == np.float32


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: signal.max_pool(x, (2, 2, 2)), ShapeError, "3 axes"),
        (lambda x: signal.max_pool(x, 2, axes=(0, 1)), ShapeError, "axes"),
        (lambda x: signal.max_pool(x, 2, padding=2), ShapeError, "padding"),
        (lambda x: signal.max_pool(x, 0), ValueError, "size"),
        (lambda x: signal.max_pool(x + 0j, 2), TypeError, "complex"),
        (lambda x: signal.lp_pool(x, 2, -1.0), ValueError, "positive"),
        (lambda x: signal.adaptive_max_pool(x, (0, 1)), ValueError, "out"),
        (lambda x: signal.max_unpool(x, np.zeros((4, 2), int), 3), ShapeError, "indices"),
    ],
)
def test_errors_name_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call(np.ones((4, 6)))

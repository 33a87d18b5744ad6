"""Numbers that a right side closes over and that change from call to call make no new programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.integrate import solving


def _new_programs(call: Any, values: Any) -> tuple[int, list[Any]]:
    """How many programs the calls after the second one make, and all results."""
    found = [call(value) for value in values[:2]]
    before = set(solving._programs)
    found += [call(value) for value in values[2:]]
    return len(set(solving._programs) - before), found


KS = [0.5, 0.7, 1.1, -0.3, 2.0]


def test_closed_over_floats() -> None:
    call = lambda k: (
        ad.integrate.solve(lambda t, y: -k * y + 0.1 * np.sin(k * t), (0.0, 1.0), np.array([1.0, 2.0])).last
    )
    given = lambda k: (
        ad.integrate.solve(
            lambda t, y, k: -k * y + 0.1 * np.sin(k * t), (0.0, 1.0), np.array([1.0, 2.0]), args=(k,)
        ).last
    )
    new, found = _new_programs(call, KS)
    assert new == 0
    for k, value in zip(KS, found, strict=True):
        np.testing.assert_allclose(value, given(k), rtol=1e-12)


def test_inside_branches_and_of_events() -> None:
    def call(k: float) -> Any:
        def f(t: Any, y: Any) -> Any:
            if t > 0.25 * k:
                rate = k * y
            else:
                rate = np.array([k, 3.0 * k])
            return -rate

        half = ad.integrate.Event(lambda t, y: y[0] - k / 2)
        y0 = np.array([1.0, 9.0])
        path = ad.integrate.solve(f, (0.0, 1.0), y0, stops=(0.25 * k,), events=half, method="tsit5")
        return path.last, path.times[-1]

    ks = [1.0, 1.1, 1.15]
    new, found = _new_programs(call, ks)
    assert new == 0
    for k, ((y, z), t) in zip(ks, found, strict=True):
        # y falls by k until 1 - k²/4, then as exp(-k t), to k/2
        start = 1 - k * k / 4
        wait = np.log(start / (k / 2)) / k
        np.testing.assert_allclose([y, t], [k / 2, k / 4 + wait], rtol=1e-5)
        np.testing.assert_allclose(z, (9.0 - 0.75 * k * k) * np.exp(-k * wait), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_types_stay(dtype: Any) -> None:
    y0 = np.ones(3, dtype)
    for k in KS[:3]:
        path = ad.integrate.solve(
            lambda t, y, k=k: np.where(y.real > k, -k * y, 2 * k * y) + k, (0.0, 0.5), y0, rtol=1e-5, method="tsit5"
        )
        assert path.last.dtype == dtype
        again = ad.integrate.solve(
            lambda t, y, k: np.where(y.real > k, -k * y, 2 * k * y) + k,
            (0.0, 0.5),
            y0,
            args=(dtype(k).real,),
            rtol=1e-5,
            method="tsit5",
        )
        np.testing.assert_allclose(path.last, again.last, rtol=2e-5)


def test_integers_and_small_arrays() -> None:
    def call(n: int) -> Any:
        A = np.array([[0.0, 1.0], [-float(n), -0.1]])
        f = lambda t, y: A @ y + y[::-1] ** n
        return ad.integrate.solve(f, (0.0, 0.3), np.array([0.4, 0.2]), method="tsit5").last

    new, found = _new_programs(call, [2, 3, 4])
    assert new <= 2  # y**2 and y**3 may be operations of their own
    for n, value in zip([2, 3, 4], found, strict=True):
        from scipy.integrate import solve_ivp

        right = lambda t, y, n=n: np.array([[0.0, 1.0], [-n, -0.1]]) @ y + y[::-1] ** n
        expected = solve_ivp(right, (0.0, 0.3), [0.4, 0.2], rtol=1e-10, atol=1e-12).y[:, -1]
        np.testing.assert_allclose(value, expected, rtol=1e-6)


def test_gradients_of_hoisted_programs() -> None:
    def call(k: float) -> Any:
        f = lambda t, y: -k * y**3
        return ad.grad(lambda y0: ad.integrate.solve(f, (0.0, 1.0), y0, rtol=1e-9, method="tsit5").last)(2.0)

    new, found = _new_programs(call, KS[:3])
    assert new == 0
    for k, value in zip(KS[:3], found, strict=True):
        np.testing.assert_allclose(value, (1 + 8.0 * k) ** -1.5, rtol=1e-7)  # y = y₀ / √(1 + 2 k y₀²)


def test_compiled_programs_keep_their_numbers() -> None:
    """What is compiled does not depend on what was called before."""
    make = lambda k: ad.jit(lambda y0: ad.integrate.solve(lambda t, y: -k * y, (0.0, 1.0), y0).last)
    text = lambda k: str(make(k).lower(np.ones(2)).program)
    first = text(1.25)
    for k in KS[:3]:
        ad.integrate.solve(lambda t, y, k=k: -k * y, (0.0, 1.0), np.ones(2))
    assert text(1.25) == first

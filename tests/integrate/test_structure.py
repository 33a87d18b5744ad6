"""Symplectic and reversible methods: orders, flags, energy, round trips."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate

PENDULUM = lambda t, y: (y[1], -np.sin(y[0]))
SYMPLECTIC = ["symplectic-euler", "leapfrog", "yoshida4", "yoshida6"]


@pytest.mark.parametrize("method", SYMPLECTIC)
def test_order_and_energy(method):
    exact = integrate.solve(PENDULUM, (0.0, 4.0), (1.0, 0.3), method="verner9", rtol=1e-13, atol=1e-13).last
    errors = []
    for h in (0.2, 0.1):
        last = integrate.solve(PENDULUM, (0.0, 4.0), (1.0, 0.3), method=method, first_step=h).last
        errors.append(max(abs(a - b) for a, b in zip(last, exact, strict=True)))
    assert np.log2(errors[0] / errors[1]) > integrate.order(method) - 0.5
    energy = lambda q, p: 0.5 * p**2 - np.cos(q)
    times = np.sort(np.random.default_rng(0).uniform(0.0, 2e4, 400))
    q, p = integrate.solve(
        PENDULUM, (0.0, 2e4), (1.0, 0.0), method=method, first_step=0.1, save=times, max_steps=300_000
    ).values
    drift = np.abs(energy(q, p) - energy(1.0, 0.0))
    assert np.max(drift[200:]) < 1.5 * np.max(drift[:200]) + 1e-12
    assert np.max(drift) < 0.1


@pytest.mark.row("12.6.5-b")
def test_round_trips_and_flags():
    f = lambda t, s: np.stack([s[0] * (0.5 - 0.4 * s[1]), s[1] * (0.3 * s[0] - 0.6)])
    start = np.array([1.3, 0.8])

    def round_trip(name):
        method = integrate.choose(name)
        state, t, h = method.start(f, 0.0, start), 0.0, np.float64(0.05)
        for _ in range(200):
            state, t = method.step(f, t, h, state).state, t + h
        for _ in range(200):
            state, t = method.step(f, t, -h, state).state, t - h
        return np.max(np.abs(method.value(state) - start))

    assert integrate.choose("leapfrog-async").symmetric
    assert integrate.choose("leapfrog-async").reversible
    assert round_trip("leapfrog-async") < 1e-13
    for name in ("euler", "heun", "rk4", "dopri5"):
        assert not integrate.choose(name).symmetric
        assert not integrate.choose(name).reversible
    assert round_trip("euler") > 1e-3
    method = integrate.choose("leapfrog-async")
    state = method.start(f, 0.0, start)
    after = method.step(f, 0.0, np.float64(0.1), state).state
    back = method.inverse_step(f, 0.0, np.float64(0.1), after)
    np.testing.assert_allclose(back[0], start, rtol=1e-14)
    for name in SYMPLECTIC:
        assert integrate.choose(name).symplectic


def test_gradient_through_all_steps():
    end = lambda w: (
        integrate.solve(
            lambda t, s, w: w * s * (1.0 - s), (0.0, 2.0), 0.3, args=(w,), method="leapfrog-async", first_step=0.05
        ).last
    )
    step = 1e-6
    assert abs(ad.grad(end)(1.2) - (end(1.2 + step) - end(1.2 - step)) / (2 * step)) < 1e-8


def test_pairs_only():
    with pytest.raises(ValueError, match="pair"):
        integrate.solve(lambda t, y: -y, (0.0, 1.0), np.ones(3), method="leapfrog", first_step=0.1)

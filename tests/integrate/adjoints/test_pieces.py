"""Events, stops and mass matrices with every adjoint, against the derivative of all steps and differences."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.integrate import Event, Reversible, ReversibleHeun, solve
from adjoint.integrate.adjoints import continuous

CONTINUOUS = ["interpolate", "quadrature", "backsolve", "bvp", "forward"]
SOME = ["interpolate", *[pytest.param(a, marks=pytest.mark.sweep) for a in CONTINUOUS[1:]]]
P = np.array([1.3, 0.9, 0.3, 0.7, 6.0])


def swing(p, adjoint, method="tsit5", rtol=1e-10, last=False, **options):
    """A pendulum: f jumps at a stop, an event changes y and f, another one never happens or ends it."""
    a, b, c, T, end = p
    change = lambda t, y, a, b, c: y * np.stack([1 + 0 * a, b])
    then = lambda t, y, a, b, c: np.stack([y[1] - 0.1 * y[0], -a * y[0] - b * y[1]])
    turn = Event(lambda t, y, a, b, c: y[0] - c, direction=-1, terminal=False, change=change, then=then)
    depth = -0.2 if last else -1.2
    done = Event(lambda t, y, a, b, c: y[0] - depth * b)
    path = solve(
        lambda t, y, a, b, c: np.stack([y[1], -a * np.sin(y[0]) + np.where(t > T, c, 0.2 * t)]), (0.1 * a, end),
        np.stack([1.0 + 0 * a, 0.2 * b]), args=(a, b, c), events=[turn, done], stops=np.stack([T]),
        save=np.stack([0.4 + 0 * a, 1.1 * b]), integrand=lambda t, y, a, b, c: a * y[0] ** 2, rtol=rtol, atol=rtol,
        adjoint=adjoint, method=method, **options,
    )  # fmt: skip
    times = path.events[0].time + (path.events[1].time if last else 0.0)
    values = path.values * np.array([[1.0, 0.3], [0.2, 0.5]])
    return path.last @ np.array([1.0, 2.0]) + np.sum(values) + times + path.integrals


def differences(f, p, step=1e-5):
    return np.array([(f(p + d) - f(p - d)) / (2 * step) for d in step * np.eye(len(p))])


@pytest.mark.sweep
@pytest.mark.parametrize("adjoint, last", [("backsolve", False), ("quadrature", True), ("forward", True)])
def test_events_and_stops(adjoint, last):
    expected = differences(lambda p: swing(p, "discretize", last=last), P)
    assert swing(P, adjoint, last=last) == swing(P, "discretize", last=last)
    np.testing.assert_allclose(ad.grad(swing)(P, adjoint, last=last), expected, atol=2e-8)


def kicked(p, adjoint, method, **options):
    """y grows where a stop lets it, and is halved by an event."""
    k, T, c = p
    half = Event(lambda t, y, k, c: y - c, terminal=False, change=lambda t, y, k, c: k * y)
    path = solve(
        lambda t, y, k, c: -k * y + np.where(t > T, 2.0, 0.0), (0.0, 2.0), 1.0, args=(k, c), events=[half],
        stops=np.stack([T]), save=[1.9], adjoint=adjoint, method=method, **options,
    )  # fmt: skip
    return path.last + path.events[0].time + path.values[0]


@pytest.mark.parametrize("method, options", [
    (ReversibleHeun(adaptive=False), {"first_step": 0.01}),
    pytest.param(Reversible("dopri5"), {"rtol": 1e-8}, marks=pytest.mark.sweep),
])  # fmt: skip
def test_reversible_steps(method, options):
    p = np.array([0.6, 0.5, 1.2])
    found = ad.grad(lambda p: kicked(p, "reversible", method, **options))(p)
    np.testing.assert_allclose(found, differences(lambda p: kicked(p, "discretize", "bosh3", rtol=1e-9), p), atol=1e-3)


@pytest.mark.sweep
@pytest.mark.parametrize("method, options", [
    (ReversibleHeun(adaptive=False), {"first_step": 0.01}), (Reversible("dopri5"), {"rtol": 1e-8}),
])  # fmt: skip
def test_forwards_and_backwards_are_one_derivative_of_one_chain_of_steps(method, options):
    p, v = np.array([0.6, 0.5, 1.2]), np.array([0.3, -0.2, 0.5])
    f = lambda p: kicked(p, "reversible", method, **options)
    np.testing.assert_allclose(ad.jvp(f, (p,), (v,))[1], ad.grad(f)(p) @ v, rtol=1e-11)


@pytest.mark.parametrize("adjoint", SOME[:3])
def test_an_event_and_a_stop(adjoint):
    p = np.array([0.6, 0.5, 1.2])
    run = lambda p, adjoint: kicked(p, adjoint, "bosh3", rtol=1e-8, atol=1e-8)
    expected = differences(lambda p: run(p, "discretize"), p)
    np.testing.assert_allclose(ad.grad(run)(p, adjoint), expected, atol=1e-6)


@pytest.mark.sweep
@pytest.mark.parametrize("adjoint", CONTINUOUS)
def test_tangents_through_an_event_and_a_stop(adjoint):
    p = np.array([0.6, 0.5, 1.2])
    run = lambda p, adjoint: kicked(p, adjoint, "bosh3", rtol=1e-8, atol=1e-8)
    expected = np.sum(differences(lambda p: run(p, "discretize"), p))
    np.testing.assert_allclose(ad.jvp(lambda p: run(p, adjoint), (p,), (np.ones(3),))[1], expected, atol=1e-6)


def reaction(p, adjoint, method="rodas4", **options):
    """One equation and an algebraic one."""
    k, q, y, end, s = p
    f = lambda t, u, k, q: np.stack([-k * u[0] + u[1], u[1] ** 2 + q * u[1] - u[0] * (1 + 0.5 * np.sin(t))])
    path = solve(
        f, (0.1, end), np.stack([y, 0.5 + 0 * y]), args=(k, q), mass=np.diag([2.0, 0.0]), start="fix algebraic",
        save=np.stack([s]), adjoint=adjoint, method=method, rtol=1e-10, atol=1e-10,
        integrand=lambda t, u, k, q: u[1] * k, **options,
    )  # fmt: skip
    return path.last @ np.array([1.0, 2.0]) + path.values[0] @ np.array([0.3, 0.7]) + path.integrals


Q = np.array([1.3, 0.9, 0.7, 2.0, 1.2])


@pytest.mark.parametrize("adjoint", SOME)
def test_algebraic_equations(adjoint):
    expected = differences(lambda p: reaction(p, "discretize"), Q)
    np.testing.assert_allclose(ad.grad(reaction)(Q, adjoint), expected, atol=1e-6)


@pytest.mark.parametrize("adjoint", ["interpolate", pytest.param("forward", marks=pytest.mark.sweep)])
def test_the_mass_matrix_is_differentiated(adjoint):
    end = lambda m, adjoint: solve(
        lambda t, y: np.stack([-y[0] + y[1] * t, y[0] - y[1]]), (0.0, 1.0), np.array([1.0, 0.5]),
        mass=np.diag([2.0, 1.0]) + m * np.array([[0.0, 0.5], [0.3, 1.0]]), method="rodas4", rtol=1e-10, atol=1e-10,
        adjoint=adjoint,
    ).last @ np.array([1.0, -2.0])  # fmt: skip
    expected = (end(1e-5, "discretize") - end(-1e-5, "discretize")) / 2e-5
    np.testing.assert_allclose(ad.grad(end)(0.0, adjoint), expected, rtol=1e-7)


def test_a_gradient_does_not_ask_for_events_that_did_not_happen():
    never = Event(lambda t, y, k: y - 2.0)
    options = {"events": [never], "rtol": 1e-9, "method": "bosh3"}
    end = lambda k: solve(lambda t, y, k: -k * y, (0.0, 1.0), 1.0, args=(k,), **options).last
    np.testing.assert_allclose(ad.grad(end)(0.5), -np.exp(-0.5), rtol=1e-7)
    np.testing.assert_allclose(ad.jvp(end, (0.5,), (1.0,))[1], -np.exp(-0.5), rtol=1e-7)


def test_integrals_end_at_an_event():
    stop = Event(lambda t, y: y - 0.5)
    options = {"integrand": lambda t, y: y, "events": [stop], "rtol": 1e-9, "atol": 1e-9, "method": "tsit5"}
    path = solve(lambda t, y: -y, (0.0, 5.0), 1.0, **options)
    np.testing.assert_allclose(path.integrals, 0.5, atol=1e-8)


@pytest.mark.row("12.6.5-f")
@pytest.mark.parametrize("method", ["leapfrog-async", ReversibleHeun(adaptive=False)])
def test_backsolve_with_a_symmetric_method_recovers_the_input(method, monkeypatch):
    """ŝ₀ = x, so that forwards and backwards again give the same gradient."""
    drifts = []
    monkeypatch.setattr(continuous, "_warn_of_drift", lambda title, drift, bound: drifts.append(float(drift)))
    f = lambda t, s, w: np.stack([s[0] * (w[0] - w[1] * s[1]), s[1] * (w[3] * s[0] - w[2])])
    W, x = np.array([1.1, 0.4, 0.4, 0.1]), np.array([10.0, 5.0])
    end = lambda x, w, method, first_step: np.sum(
        solve(f, (0.0, 4.0), x, args=(w,), method=method, first_step=first_step, adjoint="backsolve").last
    )
    first, again = (ad.grad(end, (0, 1))(x, W, method, 1 / 64) for _ in range(2))
    assert len(drifts) == 2
    assert max(drifts) < 1e-12
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    step = 1e-5 * np.eye(2)
    slope = [(end(x + d, W, "verner8", None) - end(x - d, W, "verner8", None)) / 2e-5 for d in step]
    np.testing.assert_allclose(first[0], slope, rtol=2e-2, atol=2e-3)


def test_what_is_refused():
    f, span = lambda t, y: -y, (0.0, 1.0)
    with pytest.raises(ValueError, match="keeps no states"):
        solve(lambda t, y: (y[1], -y[0]), span, (1.0, 0.0), method="leapfrog", first_step=0.1, adjoint="backsolve")
    for how in ({"adjoint": "interpolate"}, {"adjoint": "reversible", "method": "reversible-heun"},
                {"control": "state and tangents"}):  # fmt: skip
        with pytest.raises(ValueError, match="Name times, save="):
            solve(f, span, 1.0, dense=True, **how)
    with pytest.raises(ValueError, match="inverse step"):
        solve(f, span, np.ones(1), mass=np.eye(1), adjoint="reversible")
    for how in ({"events": [Event(lambda t, y: y[0] - 0.5)]}, {"stops": (0.5,)}):
        with pytest.raises(ValueError, match="made consistent"):
            solve(f, span, np.ones(1), mass=np.eye(1), adjoint="interpolate", **how)
    with pytest.raises(ValueError, match="known while a program is traced"):
        ad.jit(lambda m: solve(f, span, np.ones(1), mass=m, adjoint="interpolate").last)(np.eye(1))

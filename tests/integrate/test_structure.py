"""Symplectic and reversible methods: orders, flags, energy, round trips."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate
from adjoint.integrate.system import Arguments, System, read_state, trace_function

PENDULUM = lambda t, y: (y[1], -np.sin(y[0]))
SYMPLECTIC = ["symplectic-euler", "leapfrog", "yoshida4", "yoshida6", "yoshida8"]


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


@pytest.mark.parametrize("method", [pytest.param(m, marks=pytest.mark.sweep) for m in SYMPLECTIC])
def test_energy_over_a_hundred_thousand_periods(method):
    """It swings and does not drift: means of 200 late times beside those of 200 early ones."""
    period, amplitude = 6.7, 1.0
    span = 1e5 * period
    late = np.random.default_rng(0).uniform(0.99, 1.0, 200)
    times = np.sort(np.concatenate([(1 - late) * span, late * span]))
    q, p = integrate.solve(
        PENDULUM, (0.0, span), (amplitude, 0.0), method=method, first_step=0.2, save=times, max_steps=4_000_000
    ).values
    off = 0.5 * p**2 - np.cos(q) + np.cos(amplitude)
    early, late = off[:200], off[200:]
    assert np.max(np.abs(late)) < 1.5 * np.max(np.abs(early)) + 1e-11
    assert abs(np.mean(late) - np.mean(early)) < 0.3 * np.max(np.abs(early)) + 1e-11


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


def _every_method():
    named = [integrate.choose(name) for name in integrate.methods() if name != "auto"]
    return [*named, integrate.Reversible("dopri5"), integrate.AsynchronousLeapfrog(damping=0.9)]


@pytest.mark.row("12.6.5-a")
@pytest.mark.parametrize(
    "method", _every_method(), ids=lambda m: f"{m.name}{'-damped' * (getattr(m, 'damping', 1) < 1)}"
)
def test_flags_say_what_steps_do(method):
    """Symmetric: a step of -h undoes one of h. Reversible: inverse_step does. Symplectic: areas stay."""
    h = np.float64(1.0 if method.order < 12 else 2.0)
    start = np.array([1.0, 0.3])
    _, layout = read_state("a test", "y", start)
    right = trace_function("a test", "f", lambda t, y: np.stack([y[1], -np.sin(y[0])]), layout, Arguments(()))
    f = System(right.program, layout, [], right.theta)
    if getattr(method, "uses_tolerances", False):
        f = f.with_tolerances(np.float64(1e-14), np.float64(1e-14))

    def walked(y):
        return method.step(f, np.float64(0.0), h, method.start(f, np.float64(0.0), y)).state

    if method.name == "bdf" or (
        method.name.startswith("adams") and method.order > 2
    ):  # their values from before do not turn around
        assert not (method.symmetric)
        assert not (method.reversible)
        assert not (method.symplectic)
        return
    with np.errstate(all="ignore"):
        back = method.step(f, h, -h, walked(start)).state
    assert (np.max(np.abs(method.value(back) - start)) < 1e-11) == bool(method.symmetric)
    if method.reversible and hasattr(method, "inverse_step") and (method.symmetric or not method.symplectic):
        first = method.start(f, np.float64(0.0), start)
        undone = method.inverse_step(f, np.float64(0.0), h, method.step(f, np.float64(0.0), h, first).state)
        for a, b in zip(ad.tree.leaves(first), ad.tree.leaves(undone), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
    if method.symplectic or method.name in ("euler", "rk4"):
        J = ad.jacfwd(lambda y: method.value(walked(y)))(start)
        assert (abs(np.linalg.det(J) - 1) < 1e-12) == bool(method.symplectic)


@pytest.mark.row("12.6.5-d")
def test_stability_of_the_leapfrog():
    """s′ = λ s: eigenvalues z ± √(z² + 1) at z = δ λ / 1 …, stable on the imaginary axis alone; damping helps."""

    def radius(z, damping=1.0):
        method = integrate.AsynchronousLeapfrog(damping=damping)
        f = lambda t, y: np.array([[z.real, -z.imag], [z.imag, z.real]]) @ y
        step = lambda v: np.concatenate(method.step(f, np.float64(0.0), np.float64(1.0), (v[:2], v[2:])).state)
        return np.max(np.abs(np.linalg.eigvals(np.stack([step(e) for e in np.eye(4)], axis=1))))

    assert abs(radius(-0.1 + 0j) - 1.105) < 5e-4
    assert abs(radius(0.7j) - 1.0) < 1e-12
    assert radius(1.2j) > 1.5
    assert abs(radius(-0.1 + 0j, 0.9) - 0.904) < 5e-4
    assert abs(radius(-0.3 + 0j, 0.9) - 1.08) < 5e-3
    with pytest.raises(ValueError, match=r"0\.5"):
        integrate.AsynchronousLeapfrog(damping=0.5)


A, U = np.array([[0.0, 1.0], [-1.0, -0.2]]), np.array([1.0, 2.0])


@pytest.mark.row("12.6.1-a")
@pytest.mark.parametrize(
    "options", [{"method": "rk4", "first_step": 0.002}, {"method": "tsit5", "rtol": 1e-11, "atol": 1e-12}]
)
def test_linear_equation_at_the_end_and_at_many_times(options):
    f = lambda t, s, A: {"a": A[0, 0] * s["a"] + A[0, 1] * s["b"], "b": A[1, 0] * s["a"] + A[1, 1] * s["b"]}
    times = np.array([0.0, 0.5, 2.0])
    path = integrate.solve(f, (0.0, 2.0), {"a": 1.0, "b": 0.0}, args=(A,), save=times, **options)
    assert abs(path.last["a"] + 0.2580702634) < 1e-10
    assert abs(path.last["b"] + 0.7516155021) < 1e-10
    from scipy.linalg import expm

    exact = np.stack([expm(t * A)[:, 0] for t in times])
    np.testing.assert_allclose(np.stack([path.values["a"], path.values["b"]], axis=1), exact, atol=1e-10)


@pytest.mark.row("12.6.1-b")
def test_linear_equation_in_closed_form():
    from scipy.linalg import expm_frechet

    end = lambda A, x: U @ integrate.linear(A, x, 2.0)
    x = np.array([1.0, 0.0])
    by_A, by_x = ad.grad(end, argnums=(0, 1))(A, x)
    np.testing.assert_allclose(by_x, [-1.7613012677, -0.0651712256], atol=1e-9)
    np.testing.assert_allclose(by_A, [[-1.4464102667, 0.6091675009], [0.8940635034, -2.0761922687]], atol=1e-9)
    np.testing.assert_allclose(by_A, 2.0 * expm_frechet(2.0 * A.T, np.outer(U, x), compute_expm=False), rtol=1e-12)


@pytest.mark.row("12.6.1-f")
def test_errors_are_in_proportion_to_the_tolerance():
    f = lambda t, s: np.stack([s[0] * (1.1 - 0.4 * s[1]), s[1] * (0.1 * s[0] - 0.4)])
    exact = integrate.solve(f, (0.0, 10.0), np.array([10.0, 5.0]), method="verner9", rtol=1e-13, atol=1e-13).last
    tolerances = 10.0 ** -np.arange(4.0, 11.0)
    errors = [np.max(np.abs(integrate.solve(f, (0.0, 10.0), np.array([10.0, 5.0]), method="dopri5", rtol=tol,
                                            atol=tol).last - exact)) for tol in tolerances]  # fmt: skip
    assert 0.8 < np.polyfit(np.log(tolerances), np.log(errors), 1)[0] < 1.2

"""`solve_ivp` and `odeint` under SciPy's names, in code that knows nothing of derivatives."""

import numpy as np
import pytest
import scipy.integrate as si

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import TraceError, UnsupportedError
from adjoint.scipy import integrate
from tests.support.sweeps import sampled

TIGHT = {"rtol": 1e-10, "atol": 1e-11}
TIMES = np.linspace(0.0, 3.0, 5)


def prey(t, y, a, b):
    hare, lynx = y
    return [a * hare - b * hare * lynx, -lynx + 0.5 * hare * lynx]


def difference(f, x, h=1e-3):
    """f′ by central differences, extrapolated."""
    central = lambda h: (f(x + h) - f(x - h)) / (2 * h)
    return (4 * central(h / 2) - central(h)) / 3


def last(a):
    path = si.solve_ivp(prey, (0, 3), [1.0, 2.0], args=(a, 0.7), **TIGHT)
    if not path.success:
        raise RuntimeError(path.message)
    return path.y[0, -1] * path.y[:, -1][1] + path.y[0][-1] + path.t[-1] * path.y.T[-1, 1]


def saved(a):
    path = si.solve_ivp(lambda t, y: prey(t, y, a, 0.7), (0, 3), [1.0, 2 * a], t_eval=TIMES, **TIGHT, method="DOP853")
    hare, lynx = path.y
    return np.sum(hare**2) + lynx[2] + np.sum(path.t)


def stiff(a):
    f = lambda t, y: np.array([-1000.0 * (y[0] - np.cos(a * t)), y[0] if t < 0.5 else y[0] * a])
    return si.solve_ivp(f, (0, 1), np.array([0, 1]), "Radau", [0.25, 1.0], rtol=1e-9, atol=1e-9, max_step=0.25).y[1, 1]


def moved(a):
    """Backwards, with an end that moves."""
    return si.solve_ivp(lambda t, y: -a * y * t, (1.0, -a), [1.0], **TIGHT).y[0, -1]


def listed(a):
    y, t = [1.0, a], TIMES * a
    return np.sum(si.odeint(lambda y, t, c: [c * y[1], -y[0] * t], y, t, args=(a,), rtol=1e-11, atol=1e-11)[1:] ** 2)


def dense(a):
    path = si.solve_ivp(lambda t, y: [-a * y[0]], (0, 1), [5.0], dense_output=True, **TIGHT)
    return path.sol(0.25)[0] + np.sum(path.sol(np.array([0.5, 0.2]))[0] * np.array([1.0, 2.0]))


def ground(t, y, g):
    return y[0]


ground.terminal, ground.direction = True, -1


def fallen(g):
    path = si.solve_ivp(lambda t, y, g: [y[1], -g], (0, 10), [5.0, 0.0], events=ground, args=(g,), **TIGHT)
    return path.t_events[0][0] + path.y[1, -1] * path.t[-1] + path.y_events[0][0][1]


CASES = [last, saved, stiff, moved, listed, dense, fallen]
BATCHED = [last, saved, fallen]


@pytest.mark.filterwarnings("ignore:integrate.solve. f jumps")  # of one case, at a time that nothing moves
@pytest.mark.parametrize("f", sampled(CASES, 6), ids=lambda f: f.__name__)
def test_unchanged_code(f):
    a = 1.1
    value, slope = ad.value_and_grad(f)(a)
    assert value == pytest.approx(f(a), rel=1e-6)
    assert slope == pytest.approx(difference(f, a, 1e-2), rel=1e-5, abs=2e-6)
    assert ad.jit(ad.grad(f))(a) == pytest.approx(slope, rel=1e-8)
    assert ad.jvp(f, (a,), (1.0,))[1] == pytest.approx(slope, rel=1e-8)
    if f in BATCHED:
        np.testing.assert_allclose(ad.vmap(f)(np.array([a, 0.8])), [f(a), f(0.8)], rtol=1e-6)


def test_the_result_is_scipys():
    def meet(t, y, a, b):
        return y[0] - y[1]

    def run(a):
        path = integrate.solve_ivp(prey, (0, 3), [1.0, 2.0], args=(a, 0.7), events=[meet])
        assert set(path) == set(theirs)
        assert (path.status, path.success) == (theirs.status, theirs.success)
        return path.t, path.y, path.t_events[0], path.y_events[0]

    theirs = si.solve_ivp(prey, (0, 3), [1.0, 2.0], args=(1.1, 0.7), events=[meet])
    exact = si.solve_ivp(prey, (0, 3), [1.0, 2.0], "DOP853", theirs.t, args=(1.1, 0.7), events=[meet], **TIGHT)
    t, y, t_event, y_event = ad.vjp(run, 1.1)[0]
    np.testing.assert_allclose(t, theirs.t, rtol=1e-12)
    np.testing.assert_allclose(y, exact.y, rtol=1e-4)
    np.testing.assert_allclose(t_event, exact.t_events[0], rtol=1e-4)
    np.testing.assert_allclose(y_event, exact.y_events[0], rtol=1e-4)


@pytest.mark.parametrize("direction", [0, 1, -1])
def test_events_that_are_zero_at_the_start_are_counted_as_scipy_does(direction):
    def crossings(w):
        zero = lambda t, y: y[0]
        zero.direction = direction
        path = si.solve_ivp(lambda t, y: [y[1], -w * w * y[0]], (0, 10), [0.0, 1.0], events=zero, **TIGHT)
        return path.t_events[0], path.y_events[0]

    times, states = crossings(1.0)
    found, again = ad.vjp(crossings, 1.0)[0]
    np.testing.assert_allclose(found, times, rtol=0, atol=1e-8)
    np.testing.assert_allclose(again, states, rtol=0, atol=1e-8)
    second = lambda w: crossings(w)[0][1]  # kπ / w
    np.testing.assert_allclose(ad.jit(ad.value_and_grad(second))(1.0), [times[1], -times[1]], rtol=1e-7)


def test_the_time_of_an_event_at_the_start_has_derivatives():
    level = lambda t, y: y[0] - 0.3
    level.direction = 1
    when = lambda c: si.solve_ivp(lambda t, y: np.exp(y), (0, 0.5), np.stack([c]), events=level).t_events[0][0]
    c = 0.3  # the time is exp(-c) - exp(-0.3)
    np.testing.assert_allclose(ad.jet(when, (c,), ((1.0, 0.0),))[1], [-np.exp(-c), np.exp(-c)], rtol=1e-9)
    level.terminal = True
    with pytest.raises(ValueError, match="ends where it begins"):
        ad.grad(when)(c)


def test_saved_times_after_the_end_are_left_out():
    count = lambda g: np.sum(
        si.solve_ivp(lambda t, y: [y[1], -g], (0, 10), [5.0, 0.0], t_eval=np.arange(10) / 5, events=low, **TIGHT).y[0]
    )
    low = lambda t, y: y[0] - 1.0
    low.terminal = True
    value, slope = ad.value_and_grad(count)(9.0)
    assert value == pytest.approx(count(9.0), rel=1e-8)
    assert slope == pytest.approx(difference(count, 9.0), rel=1e-6)


def test_plain_values_are_scipys():
    run = lambda solve: solve(prey, (0, 3), [1.0, 2.0], args=(1.1, 0.7))
    np.testing.assert_array_equal(run(integrate.solve_ivp).y, run(si.solve_ivp).y)
    inside = ad.grad(lambda a: a * run(si.solve_ivp).y[0, -1])(1.0)
    assert inside == run(si.solve_ivp).y[0, -1]
    decay = lambda y, t: -y
    np.testing.assert_array_equal(integrate.odeint(decay, 1.0, TIMES), si.odeint(decay, 1.0, TIMES))


def test_what_is_not_known_asks_for_its_times():
    total = lambda a: np.sum(si.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0]).y)
    with pytest.raises(TraceError, match="t_eval"):
        ad.jit(total)(1.0)
    with pytest.raises(TraceError, match="t_eval"):
        ad.vmap(lambda a: si.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0]).y[0, 3])(np.ones(2))
    third = lambda t, y: y[0] - 0.5
    third.terminal = 3
    with pytest.raises(UnsupportedError, match="terminal=3"):
        ad.grad(lambda a: si.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0], events=third).y[0, -1])(1.0)
    with config.override(convert=False), pytest.raises(TypeError, match=r"adjoint\.scipy\.integrate\.solve_ivp"):
        ad.grad(lambda a: si.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0]).y[0, -1])(1.0)


def test_failures_are_told():
    def blown(a):
        return si.solve_ivp(lambda t, y: a * y**2, (0, 2), [1.0]).y[0, -1]

    with pytest.raises(ValueError, match="has no derivative"):
        ad.grad(blown)(1.0)

"""Events: times, states and derivatives against closed forms and differences."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import adjoint as ad
from adjoint import integrate
from adjoint.base.errors import CheckError, DtypeError, ShapeError

GROUND = integrate.Event(lambda t, y, *_: y[0], direction=-1)
OPTIONS = {"method": "bosh3", "rtol": 1e-9, "atol": 1e-11}


def throw(t, y, g):
    return np.stack([y[1], -g])


def fall(g, height=5.0, **options):
    start = np.stack([height, 0.0 * height])
    return integrate.solve(throw, (0.0, 10.0), start, args=(g,), events=[GROUND], **{**OPTIONS, **options})


@pytest.mark.parametrize(
    "method", ["dopri5", *[pytest.param(m, marks=pytest.mark.sweep) for m in ("bosh3", "rodas5p")]]
)
def test_time_and_its_derivatives(method):
    path = fall(9.81, method=method, rtol=1e-9, atol=1e-11)
    exact = np.sqrt(10.0 / 9.81)
    assert path.status == "event"
    assert abs(path.events[0].time - exact) < 1e-12
    assert abs(path.time - exact) < 1e-12
    assert abs(path.last[0]) < 1e-12
    assert path.events[0].count == 1
    time = lambda g, h: fall(g, h, method=method, rtol=1e-9, atol=1e-11).events[0].time
    np.testing.assert_allclose(ad.grad(time, (0, 1))(9.81, 5.0), (-exact / (2 * 9.81), exact / 10.0), rtol=1e-9)


def test_higher_derivatives():
    time = lambda g: fall(g).events[0].time
    assert abs(ad.grad(ad.grad(time))(9.81) / (0.75 * np.sqrt(10.0) * 9.81**-2.5) - 1) < 1e-9
    # y = t, and the time of y³ = k is k^(1/3): six derivatives
    cube = integrate.Event(lambda t, y, k: y**3 - k)
    solve = lambda k: integrate.solve(lambda t, y, k: 1.0 + 0 * y, (0.0, 5.0), 0.0, args=(k,), events=[cube],
                                      method="rk4", first_step=2.5).events[0].time  # fmt: skip
    found = ad.jet(solve, (2.0,), ([1.0, 0.0, 0.0, 0.0, 0.0, 0.0],))[1]
    falling = np.cumprod(1 / 3 - np.arange(6))
    np.testing.assert_allclose(found, falling * 2.0 ** (1 / 3 - np.arange(1, 7)), rtol=1e-9)


def bouncing(g, restitution=0.8, **options):
    bounce = integrate.Event(
        lambda t, y, g, r: y[0], -1, terminal=False, change=lambda t, y, g, r: np.stack([0.0 * y[0], -r * y[1]])
    )
    f = lambda t, y, g, r: np.stack([y[1], -g])
    return integrate.solve(
        f, (0.0, 4.0), np.array([5.0, 0.0]), args=(g, restitution), events=[bounce], **{**OPTIONS, **options}
    )


def test_bounces_and_their_derivatives():
    path = bouncing(9.81, save=[1.0, 4.0])
    first = np.sqrt(10.0 / 9.81)
    second = first + 2 * 0.8 * first
    np.testing.assert_allclose(path.events[0].times[:3], [first, second, second + 2 * 0.64 * first], atol=1e-10)
    assert path.events[0].count == 3
    assert np.isnan(path.events[0].times[3])
    assert path.status == "finished"
    last = lambda g, r: bouncing(g, r).last[0]
    step = 1e-5
    expected = (
        (last(9.81 + step, 0.8) - last(9.81 - step, 0.8)) / (2 * step),
        (last(9.81, 0.8 + step) - last(9.81, 0.8 - step)) / (2 * step),
    )
    found = ad.grad(last, (0, 1))(9.81, 0.8)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(ad.jit(ad.grad(last, (0, 1)))(9.81, 0.8), found, rtol=1e-12)
    u = np.array([0.3, -0.2])
    pushed = ad.jvp(last, (9.81, 0.8), tuple(u))[1]
    assert abs(pushed - np.dot(found, u)) < 1e-11 * abs(pushed)


def test_two_crossings_in_one_step():
    # a slow solution, whose steps are long, and an event that dips below zero for a short while
    dip = integrate.Event(lambda t, y: (t - 2.0) ** 2 - 0.01 + 0 * y, terminal=False)
    path = integrate.solve(lambda t, y: 0 * y + 1.0, (0.0, 4.0), 0.0, events=[dip], method="dopri5", first_step=4.0)
    np.testing.assert_allclose(path.events[0].times[:2], [1.9, 2.1], atol=1e-9)
    assert path.events[0].count == 2
    up = integrate.Event(dip.g, direction=1, terminal=False)
    path = integrate.solve(lambda t, y: 0 * y + 1.0, (0.0, 4.0), 0.0, events=[up], method="dopri5", first_step=4.0)
    np.testing.assert_allclose(path.events[0].times[:1], [2.1], atol=1e-9)
    assert path.events[0].count == 1


@pytest.mark.parametrize("span", [(0.0, 10.0), (10.0, 0.0)])
def test_forwards_and_backwards_as_in_scipy(span):
    start, height = np.array([1.0, 0.3]), lambda t, y: y[0]
    f = lambda t, y: np.stack([y[1], -y[0]])
    for direction in (0, 1, -1):
        height.direction = direction  # type: ignore[attr-defined]
        expected = solve_ivp(f, span, start, events=height, rtol=1e-10, atol=1e-12).t_events[0]
        event = integrate.Event(lambda t, y: y[0], direction, terminal=False)
        path = integrate.solve(f, span, start, events=[event], **OPTIONS)
        assert path.events[0].count == len(expected)
        np.testing.assert_allclose(path.events[0].times[: len(expected)], expected, atol=1e-8)


def test_backwards_from_a_crossing_and_its_derivative():
    """y = sin t from t = π: the first crossing on the way back is that of y = level after the top."""
    f = lambda t, y, level: np.stack([y[1], -y[0]])
    event = integrate.Event(lambda t, y, level: y[0] - level, direction=-1)
    time = lambda level: integrate.solve(
        f, (np.pi, -1.0), np.stack([level, -np.sqrt(1 - level**2)]), args=(level,), events=[event], **OPTIONS
    ).events[0].time  # fmt: skip
    # y(t) = sin(t - s) with sin(π - s) = level, falling: back from there it rises to the top and falls to the level
    exact = lambda level: 2 * np.arcsin(level)
    np.testing.assert_allclose(time(0.3), exact(0.3), atol=1e-8)
    np.testing.assert_allclose(ad.grad(time)(0.3), 2 / np.sqrt(1 - 0.09), rtol=1e-7)


def test_several_crossings_in_one_step():
    wave = integrate.Event(lambda t, y: np.sin(3 * y), terminal=False)
    path = integrate.solve(lambda t, y: 1.0 + 0 * y, (0.0, 10.0), 0.0, events=[wave], method="tsit5", rtol=1e-3)
    np.testing.assert_allclose(path.events[0].times[:9], np.pi / 3 * np.arange(1, 10), atol=1e-9)
    assert path.events[0].count == 9


@pytest.mark.parametrize("direction, first", [(0, -1), (-1, -1), (1, 1)])
def test_a_dip_as_short_as_it_can_be(direction, first):
    # sin t comes above its largest value less δ for 2 √(2δ)
    level = integrate.Event(lambda t, y: 1.0 - 1e-9 - y, direction)
    path = integrate.solve(lambda t, y: np.cos(t), (0.0, 5.0), 0.0, events=[level], method="dop853", rtol=1e-12,
                           atol=1e-13)  # fmt: skip
    assert path.status == "event"
    assert abs(path.time - np.pi / 2 - first * np.sqrt(2e-9)) < 1e-8


def test_events_at_the_same_time():
    def bounce(i):
        change = lambda t, y: np.stack([-0.8 * v if j == i else v for j, v in enumerate(y)])
        return integrate.Event(lambda t, y: y[i - 1], -1, terminal=False, change=change)

    # two balls from the same height
    f = lambda t, y: np.stack([y[1], -9.81, y[3], -9.81])
    path = integrate.solve(f, (0.0, 2.0), np.array([5.0, 0, 5.0, 0]), events=[bounce(1), bounce(3)], **OPTIONS)
    assert [event.count for event in path.events] == [1, 1]
    after = 2.0 - np.sqrt(10 / 9.81)
    height = 0.8 * np.sqrt(2 * 9.81 * 5.0) * after - 9.81 / 2 * after**2
    np.testing.assert_allclose(path.last[[0, 2]], [height, height], rtol=1e-8)


def test_a_crossing_that_does_not_count_before_another_event():
    # y comes up through 0 and t through 0.3 in one step; it goes down again in a later one
    f = lambda t, y: np.where(t < 1.0, 1.0, -1.0)
    down, clock = integrate.Event(lambda t, y: y, -1), integrate.Event(lambda t, y: t - 0.3 + 0 * y, terminal=False)
    path = integrate.solve(f, (0.0, 5.0), -0.2, events=[down, clock], stops=[1.0], first_step=0.9, method="bosh3")
    assert (path.status, int(path.events[1].count)) == ("event", 1)
    assert abs(path.time - 1.8) < 1e-9


def test_units_of_an_event_do_not_matter():
    for unit in (1e-12, 1e12):
        half = integrate.Event(lambda t, y, unit: unit * (y - 0.5))
        path = integrate.solve(lambda t, y, unit: -y, (0.0, 5.0), 1.0, args=(unit,), events=[half], **OPTIONS)
        assert path.status == "event"
        assert abs(path.time - np.log(2.0)) < 1e-8


@pytest.mark.parametrize("g, status", [
    (lambda t, y: 0 * y, "grazing event"), (lambda t, y: np.sqrt(y - 2), "not finite"),
    (lambda t, y: 1.0 - t + 0 * y, "event"), (lambda t, y: (t - 0.61) ** 2 + 0 * y, "grazing event"),
    (lambda t, y: -np.abs(y - 0.5) ** 2, "grazing event"),
])  # fmt: skip
def test_zero_all_along_and_nan_and_the_last_moment(g, status):
    path = integrate.solve(lambda t, y: -y, (0.0, 1.0), 1.0, events=[integrate.Event(g)], method="bosh3")
    assert path.status == status
    assert (path.advice == "") == (status == "event")


@pytest.mark.parametrize(
    "height, status", [(1.0, "grazing event"), (1.0 + 1e-7, "grazing event"), (1.0 + 1e-5, "event")]
)
def test_a_crossing_that_turns_back_within_the_error_of_y_grazes(height, status):
    path = integrate.solve(lambda t, y: height * np.cos(t) + 0 * y, (0.0, 3.0), 0.0, events=lambda t, y: y - 1.0)
    assert path.status == status
    assert abs(path.time - np.arcsin(1 / height)) < 1e-3


def test_another_right_side_from_then_on():
    # free fall, and from a height on with a parachute: v′ = -g - k v
    opened = integrate.Event(
        lambda t, y, k: y[0] - 50.0, -1, terminal=False, then=lambda t, y, k: np.stack([y[1], -9.81 - k * y[1]])
    )
    ground = integrate.Event(lambda t, y, k: y[0], -1)
    f = lambda t, y, k: np.stack([y[1], -9.81 + 0 * k])
    land = lambda k: integrate.solve(
        f, (0.0, 60.0), np.array([100.0, 0.0]), args=(k,), events=[opened, ground], **OPTIONS
    )
    path = land(2.0)
    assert path.status == "event"
    assert abs(path.events[0].time - np.sqrt(100 / 9.81)) < 1e-9
    assert abs(path.last[1] + 9.81 / 2.0) < 1e-3
    time = lambda k: land(k).events[1].time
    step = 1e-5
    assert abs(ad.grad(time)(2.0) - (time(2.0 + step) - time(2.0 - step)) / (2 * step)) < 1e-6


def test_batch_elements_have_their_own_events():
    gravity = np.array([9.81, 3.7, 1.62])
    many = ad.vmap(lambda g: fall(g).events[0].time)(gravity)
    np.testing.assert_allclose(many, np.sqrt(10.0 / gravity), rtol=1e-11)
    derivatives = ad.jit(ad.vmap(ad.grad(lambda g: fall(g).events[0].time)))(gravity)
    np.testing.assert_allclose(derivatives, -np.sqrt(10.0 / gravity) / (2 * gravity), rtol=1e-8)


def test_saved_times_up_to_the_event():
    path = fall(9.81, save=[0.5, 1.0, 2.0])
    np.testing.assert_allclose(path.values[:2, 0], 5.0 - 0.5 * 9.81 * np.array([0.25, 1.0]), atol=1e-9)
    assert np.all(np.isnan(path.values[2]))


def test_an_event_that_does_not_happen():
    path = fall(0.01)
    assert path.status == "finished"
    assert np.isnan(path.events[0].time)
    assert path.events[0].count == 0
    with pytest.raises(CheckError, match="did not happen"):
        ad.grad(lambda g: fall(g).events[0].time)(0.01)


def test_bad_events():
    f, span = lambda t, y: -y, (0.0, 1.0)
    with pytest.raises(ShapeError, match="one number"):
        integrate.solve(f, span, np.ones(2), events=[integrate.Event(lambda t, y: y)])
    with pytest.raises(DtypeError, match="truth value"):
        integrate.solve(f, span, np.ones(2), events=[integrate.Event(lambda t, y: y[0] < 0.5)])
    with pytest.raises(ValueError, match="direction"):
        integrate.solve(f, span, np.ones(2), events=[integrate.Event(lambda t, y: y[0], direction=2)])
    with pytest.raises(ShapeError, match=r"events\[0\].change returned float64\[\]"):
        integrate.solve(f, span, np.ones(2), events=[integrate.Event(lambda t, y: y[0], change=lambda t, y: y[0])])

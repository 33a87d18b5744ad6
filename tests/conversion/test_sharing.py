"""Several names of one array: programs do with them what NumPy does, or say that they cannot."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ControlFlowError

X = np.array([1.0, 2.0, 3.0])


def view_in_a_loop(x):
    y = x * 1.0
    v = y
    for _ in range(41):
        v = v[::-1]
    v[0] = 10.0
    return np.sum(y * np.arange(3.0))


def view_of_the_last_iteration(x):
    y = x * 1.0
    total = 0.0
    for _ in range(41):
        v = y[1:]
        v[0] = v[0] * 1.1
        total = total + y[1]
    v[1] = 0.0
    return total + np.sum(y)


def exchanged(x):
    a, b = x * 1.0, x * 2.0
    c = a
    for _ in range(41):
        a, b = b, a
    a[0] = 10.0
    b[1] = 20.0
    return np.sum(a * a) + np.sum(b) + np.sum(c)


def view_in_a_while(x):
    y = x * 1.0
    v, s = y, np.abs(x[0])
    while s < 100:
        v, s = v[::-1], 2 * s
    v[0] = 10.0
    return np.sum(y * np.arange(3.0))


def no_iteration(x):
    """Two names of one array, one of which a loop assigns if it runs at all."""
    y = x * 1.0
    v, s = y, np.abs(x[0])
    while s < 0.5:
        v, s = v * 1.5, 2 * s
    y[0] = 10.0
    return np.sum(y) + np.sum(v * np.arange(3.0, 6.0))


def no_iteration_of_two(x):
    """Two variables that are one array if the loop does not run."""
    y = x * 1.0
    v, w, s = y, y, np.abs(x[0])
    del y
    while s < 0.5:
        v, w, s = v * 1.5, w * 0.5, 2 * s
    v[0] = 10.0
    return np.sum(v) + np.sum(w * np.arange(3.0, 6.0))


def chosen(x):
    y, z = x * 1.0, x * 2.0
    v = y if x[0] > 0 else z
    v[0] = 10.0
    return np.sum(y) + 3 * np.sum(z)


def chosen_by_or(x):
    y, z = x[:1] * 1.0, x[:1] * 2.0
    v = y or z
    v[0] = 10.0
    return np.sum(y) + 3 * np.sum(z)


def chosen_view(x):
    y = x * 1.0
    if x[0] > 0:
        v = y[1:]
    else:
        v = y[:2]
    v[0] = 10.0
    return np.sum(y * np.arange(3.0))


def view_of_what_is_written(x):
    y = x * 1.0
    if x[0] > 0:
        v = y[1:]
    else:
        v = y[:2]
    y[1] = 10.0
    return np.sum(v)


def two_names_on_one_side(x):
    if x[0] > 0:
        a = x * 2
        b = a
    else:
        a, b = x * 3, x * 4
    a[0] = 10.0
    return np.sum(b)


def two_names_on_both_sides(x):
    if x[0] > 0:
        a = x * 2
        b = a
    else:
        a = x * 3
        b = a
    a[0] = 10.0
    return np.sum(b)


def returned(x):
    def doubled(a):
        if a[0] > 0:
            return a
        return 2 * a

    y = x * 1.0
    v = doubled(y)
    v[0] = 7.0
    return np.sum(y)


def plain_arrays(x):
    a, b = np.zeros(3), np.ones(3)
    v = a if x[0] > 0 else b
    v[0] = 5.0
    return np.sum(a * x) + 2 * np.sum(b * x)


def written_plain_array(x):
    a, b = np.zeros(3), np.ones(3)
    v = a if x[0] > 0 else b
    a[0] = 5.0
    return np.sum(v * x)


def given_up(x):
    u = x * 1.0
    for _ in range(41):
        if np.sum(u) > 3.0:
            u = 0.5 * u
        u[0] = 0.1
        u[1] += 0.01
    return np.sum(u)


def given_up_with_a_break(x):
    u = x * 1.0
    for _ in range(50):
        if np.sum(u) > 3.0:
            u = 0.5 * u
        u[0] = 0.1
        if u[1] > 1.7:
            break
        u[1] += 0.05
    return np.sum(u)


class Box:
    def __init__(self, value):
        self.value = value


def objects(x):
    p, q = Box(x[0]), Box(x[1])
    o = p if x[0] > 0 else q
    o.value = 5.0 * x[2]
    return p.value + 2 * q.value


def made_objects(x):
    if x[0] > 0:
        o = Box(x[0])
    else:
        o = Box(x[1])
    o.value = o.value * 2
    return o.value


def one_object(x):
    a = Box(x[0])
    if x[0] > 0:
        o = a
        a.value = a.value * 2
    else:
        o = a
    o.value = o.value * 3
    return a.value + o.value


def objects_of_a_loop(x):
    box = Box(x)
    for _ in range(41):
        box = Box(0.9 * box.value)
    return np.sum(box.value)


SERVED = [
    view_in_a_loop, view_of_the_last_iteration, exchanged, two_names_on_both_sides, given_up, given_up_with_a_break,
    made_objects, one_object, objects_of_a_loop,
]  # fmt: skip
ASKED = [
    view_in_a_while, chosen, chosen_by_or, chosen_view, view_of_what_is_written, two_names_on_one_side, returned,
    plain_arrays, written_plain_array, objects, no_iteration, no_iteration_of_two,
]  # fmt: skip
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "trace": lambda f, x: ad.trace(f)(x)(x),
    "scan": lambda f, x: ad.scan(lambda c, x: (c + f(x), None), 0.0, np.stack([x, x]))[0] / 2,
}
COMPILED: dict[str, Callable[[Any, Any], Any]] = {
    "jit": lambda f, x: ad.jit(f)(x),
    "jit of vmap": lambda f, x: ad.jit(ad.vmap(f))(np.stack([-x, x]))[1],
    "slope": lambda f, x: f(x) + ad.jit(ad.jvp, static_argnums=0)(f, (x,), (x,))[1] - ad.jvp(f, (x,), (x,))[1],
}


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("f", [*SERVED, *ASKED], ids=lambda f: f.__name__)
def test_compiled_functions_see_every_name(f, sign) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "jit of")  # the batch elements may take too many paths
        for run in COMPILED.values():
            np.testing.assert_allclose(run(f, sign * X), f(sign * X), rtol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("f", SERVED, ids=lambda f: f.__name__)
def test_programs_see_every_name(f, program) -> None:
    for x in (X, -X):
        np.testing.assert_allclose(PROGRAMS[program](f, x), f(x), rtol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("f", ASKED, ids=lambda f: f.__name__)
def test_a_name_that_is_not_known_is_not_guessed(f, program) -> None:
    with pytest.raises(ControlFlowError, match=r"two names since an if|two names since a loop|bool\(\) of a traced"):
        PROGRAMS[program](f, X)


def test_an_array_that_a_loop_gives_up_is_no_second_name() -> None:
    """The loop stays one: with a branch inside, and not forty iterations."""
    assert len(str(ad.trace(given_up)(X)).splitlines()) < 40


def _second_name(x: Any, u: Any) -> Any:
    y = x * 1.0
    z = y
    s = 0.0
    for _ in range(500):
        y[:] = np.tanh(u) + 0.5 * y
        s = s + np.sum(z)
        z = z + 0.001
    return s


def _second_name_of_a_view(x: Any, u: Any) -> Any:
    y = x * 1.0
    z = y[:2]
    s = 0.0
    for _ in range(20):
        for _ in range(4):  # written further inside
            y[:] = np.tanh(u) + 0.5 * y
        s = s + np.sum(z)
        z = z + 1.0
    return s


@pytest.mark.parametrize("f", [_second_name, _second_name_of_a_view])
def test_a_variable_sees_what_is_written_until_it_is_assigned(f: Any) -> None:
    x, u = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(ad.jit(f)(x, u), f(x, u), rtol=1e-12)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(x, u), ad.grad(f)(x, u), rtol=1e-12)


def joined_in_a_loop(x, b):
    y, z, n = x * 1.0, np.sin(x), 0
    while n < 4 + 0 * b:
        z -= b
        y = 0.5 * y
        z = y  # from here on the two are one array
        n += 1
    return np.sum(y) + 3 * np.sum(z)


def joined_before_a_loop(x, b):
    y, n = x * 1.0, 0
    z = y
    while n < 4 + 0 * b:
        z -= b
        y = 0.5 * y
        n += 1
    return np.sum(y) + 3 * np.sum(z)


def joined_where_a_question_is_true(x, b):
    y, z, n = x * 1.0, np.sin(x), 0
    while n < 5 + 0 * b:
        y[n % 3] = z[0] * b
        y, z = z, y
        if y[0] > 0.2:
            y = z
        n += 1
    return np.sum(y) + 3 * np.sum(z)


@pytest.mark.filterwarnings("ignore:jit of:UserWarning")
@pytest.mark.parametrize("f", [joined_in_a_loop, joined_before_a_loop, joined_where_a_question_is_true])
def test_two_names_in_an_iteration_are_one_array_in_the_next_one(f: Callable[..., Any]) -> None:
    stacked, steps = np.stack([X, 0.3 * X]), np.array([0.2, 0.3])
    expected = [f(x, b) for x, b in zip(stacked, steps, strict=True)]
    np.testing.assert_allclose([ad.jit(f)(x, b) for x, b in zip(stacked, steps, strict=True)], expected, rtol=1e-14)
    np.testing.assert_allclose(ad.jit(ad.vmap(f))(stacked, steps), expected, rtol=1e-14)
    slope = (f(X, 0.2 + 1e-6) - f(X, 0.2 - 1e-6)) / 2e-6
    assert ad.jit(ad.grad(f, argnums=(0, 1)))(X, 0.2)[1] == pytest.approx(slope, abs=1e-7)


def added_to(x, b):
    y = x * 1.0
    z = y
    for _ in range(100):
        y += b * z[-1]  # a view of what is written
    return np.sum(y) + 3 * np.sum(z)


def added_to_in_a_while(x, b):
    y, n = np.zeros(3), 0
    z, held = y[1:], {"y": y}
    while n < 40 + 0 * b:
        y += b * x
        n += 1
    return np.sum(z) + 3 * np.sum(held["y"])


def added_to_and_assigned(x, b):
    y = x * 1.0
    z, n = y, 0
    while n < 4 + 0 * b:
        y += b
        y = 0.5 * y
        n += 1
    return np.sum(y) + 3 * np.sum(z)


def added_to_and_assigned_at_times(x, b):
    y = x * 1.0
    z = y
    for n in range(20):
        y += 0.1 * b * x
        if y[0] > 1.3 or n == 15:
            y = 0.5 * y
    return np.sum(y) + 3 * np.sum(z)


@pytest.mark.filterwarnings("ignore:jit of:UserWarning")
@pytest.mark.parametrize("f", [added_to, added_to_in_a_while, added_to_and_assigned, added_to_and_assigned_at_times])
def test_what_a_loop_adds_to_an_array_is_seen_by_its_other_names(f: Callable[..., Any]) -> None:
    assert ad.jit(f)(X, 0.05) == pytest.approx(f(X, 0.05), rel=1e-12)
    slope = (f(X, 0.05 + 1e-6) - f(X, 0.05 - 1e-6)) / 2e-6
    assert ad.jit(ad.grad(f, argnums=1))(X, 0.05) == pytest.approx(slope, rel=1e-6)


def test_an_array_without_other_names_is_carried_by_one_loop() -> None:
    def f(x):
        y = x * 1.0
        for _ in range(60):
            y += np.sin(x)
            if y[0] > 5.0:
                y = y / y[0]
            y[1:] -= 0.01 * y[:-1]
        return np.sum(y)

    jitted = ad.jit(f)
    assert jitted(X) == pytest.approx(f(X), rel=1e-12)
    assert "unrolled" not in str(jitted.report())

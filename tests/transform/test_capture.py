"""Arrays that a record refers to and the user writes to: the right derivative, or an error; never a wrong number."""

import threading

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import CaptureError
from adjoint.transform.capture import COPY_BELOW, Captured, any_locked

SMALL, LARGE = 4, COPY_BELOW // 8 + 1


@pytest.fixture(autouse=True)
def nothing_stays_locked():
    yield
    assert not any_locked()


def written_afterwards(x, w):
    """w is read, then changed, then read again: the derivative is w before + w after."""
    y = np.sum(x * w)
    w += 1.0
    return y + np.sum(x * w)


def test_a_small_captured_array_may_be_written_to() -> None:
    w = np.arange(1.0 * SMALL)
    before = w.copy()
    np.testing.assert_array_equal(ad.grad(written_afterwards)(np.ones(SMALL), w), 2 * before + 1)


def test_a_large_captured_array_is_locked_and_the_error_says_so() -> None:
    w = np.arange(1.0 * LARGE)
    with pytest.raises(ValueError, match=r"read-only, while reverse mode runs.*Write to a copy"):
        ad.grad(written_afterwards)(np.ones(LARGE), w)
    assert w.flags.writeable
    np.testing.assert_array_equal(w, np.arange(1.0 * LARGE))


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("transformation", ["vjp", "linearize"])
def test_written_between_record_and_use(size, transformation) -> None:
    """The pullback is used after the caller has changed both the argument and the captured array."""
    x, w = np.full(size, 2.0), np.full(size, 3.0)
    f = lambda x: x * x * w
    record = getattr(ad, transformation)(f, x)[1]
    x[...] = 100.0
    w[...] = -5.0
    found = record(np.ones(size))
    np.testing.assert_array_equal(found[0] if transformation == "vjp" else found, 12.0)


def test_a_captured_view_of_something_else() -> None:
    """An array that does not own its memory is copied: its base can still be written to."""
    base = np.full(2 * LARGE, 3.0)
    w = base[:LARGE]

    def f(x):
        y = np.sum(x * w)
        base[...] = 7.0  # w is a view of it
        return y

    np.testing.assert_array_equal(ad.grad(f)(np.ones(LARGE)), 3.0)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_the_argument_itself_written_to_inside(size) -> None:
    """The caller's array, not the traced one: what the record holds does not change."""
    x = np.full(size, 2.0)

    def f(t):
        y = np.sum(np.sin(t) * t)
        x[...] = 9.0
        return y

    try:
        found = ad.grad(f)(x)
    except ValueError:
        assert size == LARGE  # locked
        np.testing.assert_array_equal(x, 2.0)
        return
    np.testing.assert_allclose(found, np.sin(2.0) + 2 * np.cos(2.0), rtol=1e-14)


def test_unlocked_after_an_exception() -> None:
    w = np.ones(LARGE)

    def f(x):
        np.sum(x * w)
        raise KeyError("the user's own")

    with pytest.raises(KeyError, match="own"):
        ad.grad(f)(np.ones(LARGE))
    w[0] = 5.0
    assert w.flags.writeable


def test_unlocked_after_an_exception_on_the_way_back() -> None:
    w = np.ones(LARGE)

    @ad.custom_rule(vjp=lambda x: (np.sum(x), lambda ct: (1 / 0,)))
    def broken(x):
        return np.sum(x)

    with pytest.raises(ZeroDivisionError):
        ad.grad(lambda x: broken(x * w))(np.ones(LARGE))
    w[0] = 5.0


def test_nested_locks_count() -> None:
    w = np.ones(LARGE)

    def outer(x):
        inner = ad.grad(lambda y: np.sum(y * w) * np.sum(x))(x)
        return np.sum(inner * w)

    np.testing.assert_allclose(ad.grad(outer)(np.ones(LARGE)), np.full(LARGE, 1.0 * LARGE))
    w[0] = 2.0
    first, second = Captured(False, None), Captured(False, None)
    assert first.hold(w) is w
    assert second.hold(w) is w
    first.release()
    assert not w.flags.writeable
    second.release()
    assert w.flags.writeable


def test_an_array_that_was_read_only_stays_so() -> None:
    w = np.ones(LARGE)
    w.flags.writeable = False
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x * w))(np.ones(LARGE)), 1.0)
    assert not w.flags.writeable


def test_locks_in_two_threads() -> None:
    """Two gradients hold one array; it is writeable again after the later one only."""
    w = np.ones(LARGE)
    entered, leave = threading.Event(), threading.Event()
    found = {}

    def slow(x):
        y = np.sum(x * w)
        entered.set()
        leave.wait(10)
        return y

    thread = threading.Thread(target=lambda: found.update(slow=ad.grad(slow)(np.ones(LARGE))))
    thread.start()
    assert entered.wait(10)
    ad.grad(lambda x: np.sum(x * w))(np.ones(LARGE))
    assert not w.flags.writeable
    leave.set()
    thread.join(10)
    assert w.flags.writeable
    np.testing.assert_array_equal(found["slow"], 1.0)


def test_the_callers_argument_is_never_changed() -> None:
    x = np.arange(4.0)

    def f(x):
        x[0] = 10.0
        x *= 2.0
        x[1:] += x[:-1]
        return np.sum(x**2)

    ad.grad(f)(x)
    ad.jvp(f, (x,), (np.ones(4),))
    ad.vmap(f)(np.stack([x, x]))
    ad.jet(f, (x,), ((np.ones(4),),))
    np.testing.assert_array_equal(x, np.arange(4.0))


def test_a_traced_array_written_after_it_was_used() -> None:
    """x is read, overwritten, read again: earlier reads keep their values."""

    def f(x):
        x = x * 1.0
        y = np.sin(x)
        x[0] = 5.0
        x *= x
        return np.sum(y * x)

    def by_hand(x):
        z = np.array([5.0, *x[1:]]) if not np.iscomplexobj(x) else np.array([5.0 + 0j, *x[1:]])
        return np.sum(np.sin(x) * z * z)

    x = np.array([0.3, 0.5, 0.7])
    expected = [by_hand(x + 1e-30j * e).imag / 1e-30 for e in np.eye(3)]
    np.testing.assert_allclose(ad.grad(f)(x), expected, rtol=1e-13)
    np.testing.assert_allclose([ad.jvp(f, (x,), (e,))[1] for e in np.eye(3)], expected, rtol=1e-13)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_a_view_taken_before_the_lock(size) -> None:
    """A lock does not reach older views: what they overwrite is a copy, or the write is found out."""
    w = np.full(size, 3.0)
    view = w[:]

    def f(x):
        y = np.sum(x * w)
        view[...] = 7.0
        return y

    if size == LARGE:
        with pytest.raises(CaptureError, match="older view"):
            ad.grad(f)(np.ones(size))
    else:
        np.testing.assert_array_equal(ad.grad(f)(np.ones(size)), 3.0)


CONTROL_FLOW = {
    "scan": lambda x, b: ad.scan(lambda c, t: (c + t[0] * t[1] ** 2, t[0] * t[1]), 0.0, (x, b))[0],
    "scan, stacked": lambda x, b: np.sum(ad.scan(lambda c, t: (c, t[0] * t[1]), 0.0, (x, b))[1]),
    "scan, start": lambda x, b: np.sum(ad.scan(lambda c, t: (c * t, None), b, x)[0]),
    "map": lambda x, b: np.sum(ad.map(lambda t: t[0] * t[1], (x, b))),
    "while_loop": lambda x, b: np.sum(ad.while_loop(lambda v: np.sum(v) < 99.0, lambda v: v * b * x, x)),
    "fori_loop": lambda x, b: np.sum(ad.fori_loop(0, 3, lambda i, v: v * x, b)),
    "cond": lambda x, b: np.sum(ad.cond(x[0] < 9.0, lambda x, b: x * b, lambda x, b: x, x, b)),
    "checkpoint": lambda x, b: np.sum(ad.checkpoint(lambda x, b: np.sin(x) * b)(x, b)),
}


@pytest.mark.parametrize("name", CONTROL_FLOW)
def test_an_operand_of_control_flow_is_written_to_afterwards(name) -> None:
    f, x, b = CONTROL_FLOW[name], np.array([1.5, 2.5, 0.5, 3.5]), np.arange(1.0, 5.0)

    def rewriting(x):
        buffer = b.copy()
        z = f(x, buffer)
        buffer[:] = 99.0
        return z

    wanted = np.array([(f(x + h, b) - f(x - h, b)) / 2e-6 for h in 1e-6 * np.eye(4)])
    np.testing.assert_allclose(ad.grad(rewriting)(x), wanted, rtol=1e-6)
    np.testing.assert_allclose(ad.vmap(ad.grad(rewriting))(np.stack([x, x]))[1], wanted, rtol=1e-6)
    np.testing.assert_allclose(ad.linearize(rewriting, x)[1](np.ones(4)), np.sum(wanted), rtol=1e-6)
    np.testing.assert_allclose(ad.trace(ad.grad(rewriting))(x)(x), wanted, rtol=1e-6)
    buffer = b.copy()
    pullback = ad.vjp(lambda x: f(x, buffer), x)[1]
    buffer[:] = 99.0
    np.testing.assert_allclose(pullback(1.0)[0], wanted, rtol=1e-6)


@pytest.mark.parametrize("place", [0, 5, 1023, 1024, LARGE - 1])
def test_one_element_written_through_an_old_view_is_seen(place) -> None:
    w = np.full(LARGE, 3.0)
    view = w[:]

    def f(x):
        y = np.sum(x * w)
        view[place] = 7.0
        return y

    with pytest.raises(ValueError, match="older view"):
        ad.grad(f)(np.ones(LARGE))
    assert w.flags.writeable


def test_up_to_the_limit_the_derivative_is_that_of_the_values_used() -> None:
    w = np.full(200_000, 3.0)
    view = w[:]

    def f(x):
        y = np.sum(x * w)
        view[5] = 7.0
        return y

    np.testing.assert_array_equal(ad.grad(f)(np.ones(200_000)), 3.0)


@pytest.mark.parametrize("checkpoint", [None, 2])
@pytest.mark.parametrize("kind", ["scan", "while"])
def test_a_constant_that_a_loop_returns_is_the_callers_own(kind, checkpoint):
    """It is no longer the constant of the loop's program, which records refer to without a copy."""
    constant = np.arange(1.0, 1001.0)

    def last():
        if kind == "scan":
            return ad.scan(lambda c, t: (constant, t), 2.0 * constant, np.ones(3), checkpoint=checkpoint)[0]
        turn = lambda s: (s[0] + 1, constant)
        return ad.while_loop(lambda s: s[0] < 2, turn, (0, 2.0 * constant), checkpoint=checkpoint)[1]

    def written_to(x):
        weights = last()
        y = x * weights
        weights[:] = 0.0
        return np.sum(y)

    np.testing.assert_array_equal(ad.grad(written_to)(np.ones(1000)), constant)
    traced = ad.trace(lambda x: x * last())(2.0)
    last()[:] = 0.0
    np.testing.assert_array_equal(traced(2.0), 2.0 * np.arange(1.0, 1001.0))
    results = ad.trace(lambda x: (last(), x))(2.0)
    results(2.0)[0][:] = 0.0
    np.testing.assert_array_equal(results(2.0)[0], np.arange(1.0, 1001.0))

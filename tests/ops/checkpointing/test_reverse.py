"""The way back through loops that keep some of their states: the same numbers as when all are kept, in all modes."""

import tracemalloc

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.checkpointing.schedule import Revolve
from tests.support.checkpointed_loops import (
    FIRST,
    HS,
    SCAN_PLANS,
    SECOND,
    STARTS,
    WHILE_PLANS,
    XS,
    H,
    W,
    agree,
    repeated,
    scanned,
)

USES = FIRST | SECOND


@pytest.mark.parametrize("use", USES)
def test_scans(use) -> None:
    expected = USES[use](scanned(None), W, H, XS)
    for plan in SCAN_PLANS if use in FIRST else ["halving", "3 slots on disk"]:
        agree(USES[use](scanned(SCAN_PLANS[plan]), W, H, XS), expected)


@pytest.mark.parametrize("use", [u for u in USES if "jvp" not in u])
def test_while_loops(use) -> None:
    expected = USES[use](repeated(None), W, H, XS)
    for plan in WHILE_PLANS if use in FIRST else ["3 slots"]:
        agree(USES[use](repeated(WHILE_PLANS[plan]), W, H, XS), expected)


def test_lanes_that_end_at_different_turns() -> None:
    def gradients(plan):
        return ad.vmap(ad.grad(repeated(plan), argnums=(0, 1)), in_axes=(None, 0, None))(W, STARTS, XS)

    expected = [ad.grad(repeated(None), argnums=(0, 1))(W, h, XS) for h in STARTS]
    for plan in WHILE_PLANS.values():
        found = gradients(plan)
        for lane, (w, h) in enumerate(expected):
            agree((found[0][lane], found[1][lane]), (w, h))


@pytest.mark.parametrize("plan", ["halving", 3])
def test_from_the_last_row_to_the_first(plan) -> None:
    agree(
        ad.grad(scanned(plan, reverse=True), argnums=(0, 1, 2))(W, H, XS),
        ad.grad(scanned(None, reverse=True), argnums=(0, 1, 2))(W, H, XS),
    )


@pytest.mark.parametrize("plan", ["full", 2, "halving"])
@pytest.mark.parametrize("turns", [0, 1, 2])
def test_short_loops(plan, turns) -> None:
    def f(x):
        return ad.fori_loop(0, turns, lambda i, x: np.sin(x) + i, x, checkpoint=plan)

    x, expected = 0.3, 1.0
    for i in range(turns):
        x, expected = np.sin(x) + i, expected * np.cos(x)
    np.testing.assert_allclose(ad.grad(f)(0.3), expected, rtol=1e-14)


def test_bounds_that_are_traced() -> None:
    def f(x, n):
        return ad.fori_loop(0, n, lambda i, x: np.sin(x) + i * 0.1, x, checkpoint=3)

    compiled = ad.jit(ad.grad(f))
    np.testing.assert_allclose(compiled(0.3, 9), ad.grad(lambda x: f(x, 9))(0.3), rtol=1e-13)
    np.testing.assert_allclose(compiled(0.3, 4), ad.grad(lambda x: f(x, 4))(0.3), rtol=1e-13)


def test_complex_states() -> None:
    def f(z, plan):
        z = ad.scan(lambda z, t: (z * np.exp(0.1j * z) + t, None), z, np.arange(5.0), checkpoint=plan)[0]
        return np.abs(z) ** 2

    np.testing.assert_allclose(ad.grad(f)(0.3 + 0.2j, 2), ad.grad(f)(0.3 + 0.2j, None), rtol=1e-13)


def test_turns_that_run_again_print_nothing_and_draw_the_same(capsys) -> None:
    def f(x, rng, plan):
        def body(carry, t):
            x, rng = carry
            ad.debug.print("turn {}", t)
            return (np.sin(x) * (1 + 0.1 * rng.normal(size=3)), rng), None

        (x, _), _ = ad.scan(body, (x, rng), np.arange(6), checkpoint=plan)
        return np.sum(x)

    expected = ad.grad(f)(H, ad.random.default_rng(3), None)
    capsys.readouterr()
    np.testing.assert_allclose(ad.grad(f)(H, ad.random.default_rng(3), 2), expected, rtol=1e-13)
    assert capsys.readouterr().out.split("\n")[:-1] == [f"turn {t}" for t in range(6)]


STATES = 3.7 * 1.01 ** np.arange(8)


class Counted:
    """A black box with a derivative of its own, which counts how often it is called."""

    def __init__(self) -> None:
        self.calls = 0
        self.function = ad.custom_rule(self._value, vjp=self._rule)

    def _value(self, x):
        x = np.asarray(x)
        self.calls += bool(np.any(np.isclose(x, STATES)))  # other values come while the body is being read
        return x * 1.01

    def _rule(self, x):
        return np.multiply(x, 1.01), lambda ct: (ct * 1.01,)


@pytest.mark.parametrize("plan, calls", [("full", 28), (2, 14), (3, 11), (4, 10), ("halving", 12), (8, 7)])
def test_so_many_calls(plan, calls) -> None:
    """As many as planned, and one more for the value."""
    counted = Counted()

    def run(x):
        return ad.scan(lambda x, _: (counted.function(x), None), x, length=8, checkpoint=plan)[0]

    np.testing.assert_allclose(ad.grad(run)(STATES[0]), 1.01**8, rtol=1e-14)
    assert counted.calls == calls + 1


@pytest.mark.parametrize("order", ["gradient", "second derivative"])
def test_memory_grows_with_the_slots_not_with_the_turns(order) -> None:
    n = 20_000

    def peak(turns, plan):
        def f(x):
            return np.sum(ad.scan(lambda x, _: (np.sin(x) * 1.01, None), x, length=turns, checkpoint=plan)[0] ** 2)

        use = ad.grad(f) if order == "gradient" else ad.grad(lambda x: np.sum(ad.grad(f)(x) ** 2))
        x = np.linspace(0.1, 1, n)
        tracemalloc.start()
        try:
            use(x)
            return tracemalloc.get_traced_memory()[1] / (8 * n)
        finally:
            tracemalloc.stop()

    least = peak(60, 4)
    assert least < (30 if order == "gradient" else 45)
    assert peak(120, 4) < least + 8
    assert peak(120, None) > 110


def test_states_on_disk(tmp_path) -> None:
    n, turns = 20_000, 60

    def f(x):
        plan = ad.memory.Disk(str(tmp_path / "states"))
        return np.sum(ad.scan(lambda x, _: (np.sin(x) * 1.01, None), x, length=turns, checkpoint=plan)[0] ** 2)

    x = np.linspace(0.1, 1, n)
    tracemalloc.start()
    found = ad.grad(f)(x)
    peak = tracemalloc.get_traced_memory()[1] / (8 * n)
    tracemalloc.stop()
    assert peak < 15
    assert not list((tmp_path / "states").iterdir())  # the files are gone
    agree(found, ad.grad(lambda x: np.sum(_plain(x, turns) ** 2))(x))


def _plain(x, turns):
    for _ in range(turns):
        x = np.sin(x) * 1.01
    return x


def test_a_plan_stays_with_the_loop_under_transformations() -> None:
    program = ad.trace(lambda x: ad.jvp(lambda x: scanned(Revolve(3))(W, x, XS), (x,), (H,)))(H).program
    assert "Revolve(count=3" in str(program)
    program = ad.trace(ad.vmap(lambda h: scanned(Revolve(3))(W, h, XS)))(HS).program
    assert "Revolve(count=3" in str(program)

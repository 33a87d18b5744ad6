"""Chapter 8, sections 5 and 6: checkpointing and reversible layers; and checkpointing in the notes."""

import functools
import math
import tracemalloc
import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint.memory import CheckpointsAt, Halving, Online, Recompute, Revolve, fewest_calls, longest, schedule


class Steps:
    """A chain of steps that are black boxes with derivatives, counted when they are called with states of the chain."""

    def __init__(self, count: int) -> None:
        self.calls = 0
        self.states = 3.7 * 1.01 ** np.arange(count + 1)
        self.step = ad.custom_rule(self._value, vjp=lambda x: (np.multiply(x, 1.01), lambda ct: (ct * 1.01,)))

    def _value(self, x):
        x = np.asarray(x)
        self.calls += bool(np.any(np.isclose(x, self.states, rtol=1e-9)))
        return x * 1.01

    def gradient(self, checkpoint) -> float:
        count = len(self.states) - 1
        return ad.grad(lambda x: ad.scan(lambda x, _: (self.step(x), None), x, length=count, checkpoint=checkpoint)[0])(
            self.states[0]
        )


def executed(checkpoint, count: int) -> int:
    """Calls of a reversal that runs, without the last step, which only the value needs."""
    steps = Steps(count)
    np.testing.assert_allclose(steps.gradient(checkpoint), 1.01**count, rtol=1e-12)
    return steps.calls - 1


@pytest.mark.row("8.5.0a")
def test_storing_everything() -> None:
    for count in (8, 16):
        found = schedule(count, count)
        assert (found.calls, found.peak) == (count - 1, count)
    assert executed(8, 8) == 7


@pytest.mark.row("8.5.0b")
def test_recomputing_everything() -> None:
    for count in (8, 16):
        found = schedule("full", count)
        assert (found.calls, found.peak) == (count * (count - 1) // 2, 1)
    assert schedule(Recompute(), 8).calls == 28
    assert executed("full", 8) == 28


def peak(f, *args) -> int:
    tracemalloc.start()
    try:
        f(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.row("8.5.0c")
def test_checkpoints_of_the_user() -> None:
    x = np.linspace(0.1, 1.0, 50_000)

    def block(x):
        for _ in range(5):
            x = ad.checkpoint_name(np.sin(np.cos(x)), "outer")
        return x

    def loss(x, wrap=lambda f: f):
        for _ in range(4):
            x = wrap(block)(x)
        return np.sum(x)

    expected, whole = ad.grad(loss)(x), peak(ad.grad(loss), x)
    peaks = []
    for policy in ("nothing", ad.memory.names("outer"), "everything"):
        wrapped = functools.partial(loss, wrap=ad.checkpoint(policy=policy))
        np.testing.assert_allclose(ad.grad(wrapped)(x), expected, rtol=1e-13)
        peaks.append(peak(ad.grad(wrapped), x))
    assert peaks[0] < peaks[1] < peaks[2]
    assert peaks[0] < whole / 2
    assert peaks[2] == pytest.approx(whole, rel=0.05)


@pytest.mark.row("8.5.1a")
def test_one_split() -> None:
    for count, calls in ((8, 16), (16, 64)):
        assert schedule(CheckpointsAt((count // 2,)), count).calls == calls == count**2 // 4
    assert executed(CheckpointsAt((4,)), 8) == 16


@pytest.mark.row("8.5.1b")
def test_recursive_halving() -> None:
    for count, calls in ((8, 12), (16, 32), (64, 192), (1024, 5120)):
        found = schedule(Halving(), count)
        assert found.calls == calls == count // 2 * int(math.log2(count))
        assert found.peak == int(math.log2(count))  # and the state at the leaf
    assert executed("halving", 8) == 12
    assert executed("halving", 16) == 32


@functools.cache
def dynamic_program(count: int, slots: int) -> int:
    """Equation 8.3, as it stands."""
    if count == 1:
        return 0
    if slots == 1:
        return count * (count - 1) // 2
    return min(dynamic_program(count - far, slots - 1) + dynamic_program(far, slots) + far for far in range(1, count))


TABLE = {
    8: {1: 28, 2: 14, 3: 11, 4: 10},
    16: {1: 120, 2: 45, 3: 33, 4: 27},
    64: {1: 2016, 2: 420, 3: 258, 4: 200, 6: 156},
    100: {1: 4950, 2: 845, 3: 490, 4: 374, 5: 316},
}


@pytest.mark.row("8.5.2a")
def test_the_optimum() -> None:
    for count, row in TABLE.items():
        for slots, calls in row.items():
            found = schedule(Revolve(slots), count)
            assert found.calls == calls == dynamic_program(count, slots)
            assert found.peak <= slots
    assert schedule(Revolve(6), 64).calls < schedule(Halving(), 64).calls
    for slots, calls in TABLE[8].items():
        assert executed(slots, 8) == calls
    assert executed(6, 64) == 156


@pytest.mark.row("8.5.2b")
def test_the_optimum_for_unequal_costs() -> None:
    rng = np.random.default_rng(0)
    for count in (2, 5, 8):
        costs = tuple(rng.uniform(0.1, 3.0, count))

        def best(i: int, j: int, s: int, costs=costs) -> float:
            if j - i == 1:
                return 0.0
            if s == 1:
                return sum(sum(costs[i:m]) for m in range(i + 1, j))
            return min(sum(costs[i:m]) + best(m, j, s - 1) + best(i, m, s) for m in range(i + 1, j))

        for slots in (1, 2, 3):
            found = schedule(Revolve(slots, costs), count)
            assert found.cost(costs) == pytest.approx(best(0, count, slots))


@pytest.mark.row("8.5.2c")
def test_the_analytic_schedule() -> None:
    for count in range(1, 129):
        for slots in range(1, 11):
            assert fewest_calls(count, slots) == dynamic_program(count, slots)
    for count in (1, 2, 7, 20, 21, 100, 128):
        for slots in (1, 2, 3, 5, 10):
            found = schedule(Revolve(slots), count)
            repeats = next(r for r in range(200) if longest(slots, r) >= count)
            assert found.calls == fewest_calls(count, slots)
            assert max(found.repeats) <= repeats
    assert (longest(3, 3), longest(10, 3)) == (20, 286)


@pytest.mark.row("8.5.3")
def test_loops_of_unknown_length() -> None:
    for slots in (1, 2, 3, 5, 8):
        for count in range(1, 120):
            calls, least = schedule(Online(slots), count).calls, fewest_calls(count, slots)
            if count <= (slots + 1) * (slots + 2) // 2:
                assert calls == least
            assert calls <= 2 * least

    def newton(a, slots):
        return ad.while_loop(lambda x: np.abs(x * x - a) > 1e-13, lambda x: x - 0.1 * (x - a / x), a, checkpoint=slots)

    np.testing.assert_allclose(ad.grad(newton)(2.0, 3), 0.5 / np.sqrt(2.0), rtol=1e-10)
    np.testing.assert_allclose(ad.grad(newton)(2.0, 3), ad.grad(newton)(2.0, None), rtol=1e-13)
    np.testing.assert_allclose(ad.jit(ad.grad(lambda a: newton(a, 3)))(2.0), ad.grad(newton)(2.0, None), rtol=1e-12)


ROTATION = np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])


def relu(x):
    return np.maximum(x, 0.1 * x)


CONSTRUCTIONS = {
    "coupling": (ad.memory.coupling(np.sin, relu), lambda n: (np.linspace(0, 1, n), np.linspace(1, 2, n))),
    "momentum": (ad.memory.momentum(np.tanh), lambda n: (np.linspace(0, 1, n), np.linspace(0.1, 0.2, n))),
    "ordinary differential equation": (
        ad.memory.leapfrog(lambda q: -np.sin(q), 0.05),
        lambda n: (np.linspace(0, 1, n), np.linspace(1, 2, n)),
    ),
    "orthonormal recurrence": (
        ad.reversible(lambda x: relu(ROTATION @ x), inverse=lambda y: ROTATION.T @ np.minimum(y, 10 * y)),
        lambda n: np.stack([np.linspace(0, 1, n), np.linspace(1, 2, n)]),
    ),
}


@pytest.mark.row("8.6.1")
@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_reversible_chains(name) -> None:
    step, start = CONSTRUCTIONS[name]
    ((forwards, backwards, _),) = step.steps

    def loss(x, count, plan):
        body = (lambda x, _: (forwards(x), None), lambda x, _: backwards(x))
        x = ad.scan(body[0], x, length=count, checkpoint=ad.memory.Invertible(body[1]) if plan else None)[0]
        return sum(np.sum(leaf**2) for leaf in ad.tree.leaves(x))

    small = start(5)
    found, expected = (ad.tree.leaves(ad.grad(loss)(small, 12, plan)) for plan in (True, False))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
    large = start(2000)
    with (
        warnings.catch_warnings()
    ):  # some of these layers lose all digits in 1000 turns, and say so: memory counts here
        warnings.filterwarnings("ignore", message=".*led to another first state")
        few, many = (peak(ad.grad(loss), large, count, True) for count in (10, 1000))
    assert many < 1.1 * few
    assert peak(ad.grad(loss), large, 100, False) > 2 * many


@pytest.mark.row("8.6.2")
def test_orthonormal_derivatives() -> None:
    """The reverse of f is the forward of its inverse: chains of reflections, rotations and permutations."""
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(3, 4))
    order = np.array([2, 0, 3, 1])

    def reflection(v):
        return lambda x: x - 2 * v * (v @ x) / (v @ v)

    turn = np.eye(4)
    turn[1:3, 1:3] = ROTATION
    layers = [
        *[(reflection(v), reflection(v)) for v in vectors],
        (lambda x: x[order], lambda y: y[np.argsort(order)]),
        (lambda x: turn @ x + np.ones(4), lambda y: turn.T @ (y - np.ones(4))),
    ]
    chain = ad.reversible(*[ad.reversible(f, inverse=g, orthonormal=True) for f, g in layers])
    x, u = rng.normal(size=4), rng.normal(size=4)

    def plain(x):
        for f, _ in layers:
            x = f(x)
        return x

    y, pull = ad.vjp(chain, x)
    np.testing.assert_allclose(pull(u)[0], ad.vjp(plain, x)[1](u)[0], rtol=1e-13, atol=1e-13)

    def inverse(y):
        for _, g in reversed(layers):
            y = g(y)
        return y

    np.testing.assert_allclose(ad.jvp(inverse, (y,), (u,))[1], pull(u)[0], rtol=1e-13, atol=1e-13)
    program = ad.trace(lambda x, u: ad.vjp(chain, x)[1](u)[0])(x, u).program
    assert sum(eq.op.title == "reversible" for eq in program.equations) == 1  # the state behind it is all that is kept


@pytest.mark.row("A6.3.c")
def test_four_blocks_of_which_three_are_kept() -> None:
    """One block is computed twice: 5 evaluations where 4 would do, 1.25 times as many."""
    steps = Steps(4)

    def network(x):
        for k in range(1, 5):
            x = steps.step(x)
            x = ad.checkpoint_name(x, f"block {k}")
        return x

    def calls(policy) -> int:
        steps.calls = 0
        found = ad.grad(ad.checkpoint(network, policy=policy))(steps.states[0])
        np.testing.assert_allclose(found, 1.01**4, rtol=1e-13)
        return steps.calls

    everything = calls(ad.memory.names("block 1", "block 2", "block 3", "block 4"))
    assert everything == 4
    assert calls(ad.memory.names("block 1", "block 2", "block 4")) == 5 == 1.25 * everything

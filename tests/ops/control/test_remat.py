"""checkpoint: the same numbers in every mode and order, and less memory on the way back."""

import tracemalloc

import numpy as np
import pytest

import adjoint as ad

X = np.linspace(0.2, 0.9, 4)
V = np.array([1.0, -1.0, 0.5, 2.0])


def block(x):
    for _ in range(4):
        x = np.tanh(x) * np.cos(x) + 0.5 * x[::-1]
    return x


def loss(x, step=lambda f: f):
    inner = step(block)
    return np.sum(inner(inner(x)) ** 2)


USES = {
    "value": lambda f: f(X),
    "grad": lambda f: ad.grad(f)(X),
    "jvp": lambda f: ad.jvp(f, (X,), (V,))[1],
    "linearize": lambda f: ad.linearize(f, X)[1](V),
    "vjp": lambda f: ad.vjp(f, X)[1](2.0)[0],
    "vmap": lambda f: ad.vmap(f)(np.stack([X, V])),
    "vmap of grad": lambda f: ad.vmap(ad.grad(f))(np.stack([X, V])),
    "grad of vmap": lambda f: ad.grad(lambda xs: np.sum(ad.vmap(f)(xs)))(np.stack([X, V])),
    "hessian": lambda f: ad.hessian(f)(X),
    "reverse over reverse": lambda f: ad.grad(lambda x: ad.grad(f)(x) @ V)(X),
    "reverse over forward": lambda f: ad.grad(lambda x: ad.jvp(f, (x,), (V,))[1])(X),
    "jet": lambda f: np.stack(ad.jet(f, (X,), ((V, X, V),))[1]),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("depth", [1, 2])
def test_the_same_numbers(use, depth) -> None:
    def step(f):
        for _ in range(depth):
            f = ad.checkpoint(f)
        return f

    np.testing.assert_allclose(USES[use](lambda x: loss(x, step)), USES[use](loss), rtol=1e-13)


def test_closures_trees_and_keywords() -> None:
    @ad.checkpoint
    def f(p, *, scale):
        return {"out": np.tanh(p["w"] * scale) * C}

    C = np.array([2.0, 3.0])
    g = ad.grad(lambda p, s: np.sum(f(p, scale=s)["out"]), argnums=(0, 1))({"w": np.array([0.1, 0.2])}, 1.5)
    expected = ad.grad(lambda p, s: np.sum(np.tanh(p["w"] * s) * C), argnums=(0, 1))({"w": np.array([0.1, 0.2])}, 1.5)
    np.testing.assert_allclose(g[0]["w"], expected[0]["w"], rtol=1e-14)
    assert g[1] == pytest.approx(expected[1], rel=1e-14)
    assert ad.grad(lambda a: ad.checkpoint(lambda x: np.sin(x * a))(2.0))(0.5) == pytest.approx(2 * np.cos(1.0))


def test_memory() -> None:
    """Ten blocks of twenty operations each: kept whole, or one at a time."""
    x = np.linspace(0.0, 1.0, 40_000)

    def stage(x):
        for _ in range(20):
            x = np.sin(x)
        return x

    def total(step):
        def f(x):
            for _ in range(10):
                x = step(x)
            return np.sum(x)

        return f

    peaks = {}
    for name, step in {"kept": stage, "forgotten": ad.checkpoint(stage)}.items():
        g = ad.grad(total(step))(x)
        tracemalloc.start()
        np.testing.assert_allclose(ad.grad(total(step))(x), g, rtol=1e-12)
        peaks[name] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks["kept"] > 180 * x.nbytes
    assert peaks["forgotten"] < 60 * x.nbytes


def test_what_is_written_to_afterwards() -> None:
    """The inputs that are kept for the second run are the ones of the first."""
    w = np.ones(4)

    def f(x):
        y = ad.checkpoint(lambda x: np.sin(x) * w)(x)
        w[...] = 100.0
        return np.sum(y)

    np.testing.assert_allclose(ad.grad(f)(X), np.cos(X), rtol=1e-14)


def test_branches_take_the_same_way_again() -> None:
    f = ad.checkpoint(lambda x: np.sin(x) if x > 0.5 else x**2)
    assert ad.grad(f)(0.3) == 0.6
    assert ad.grad(f)(1.0) == pytest.approx(np.cos(1.0))


def test_a_counter_gives_way_inside_as_it_does_outside() -> None:
    """float32 times the counter of a loop is float32, in the loop that keeps it and in the one that reads it."""
    x = np.array([0.3, -0.5], np.float32)

    def f(x, wrap):
        body = lambda k, c: 0.5 * c + 0.5 * np.tanh(wrap(lambda k: c * k)(k)).astype(c.dtype)
        return np.sum(ad.fori_loop(0, 3 + 0 * np.sum(x).astype(int), body, x))

    expected = ad.grad(f)(x, lambda g: g)
    gradient = ad.grad(lambda x: f(x, ad.checkpoint))
    for g in (gradient(x), ad.jit(gradient)(x), *ad.jit(ad.vmap(gradient))(np.stack([x, x]))):
        assert g.dtype == np.float32
        np.testing.assert_allclose(g, expected, rtol=1e-6)

"""Layers that can be undone: derivatives as of ordinary functions, inverses found, memory that does not grow."""

import tracemalloc

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ShapeError
from tests.support.checkpointed_loops import agree

RNG = np.random.default_rng(2)
W, V = RNG.normal(size=(3, 3)) * 0.5, RNG.normal(size=(3, 3)) * 0.5
X = (RNG.normal(size=3), RNG.normal(size=3))
DX = (RNG.normal(size=3), RNG.normal(size=3))


def layer(x, w):
    a = x[0] + np.tanh(w @ x[1])
    return a, x[1] * 1.3 + np.sin(a)


def undone(y, w):
    b = (y[1] - np.sin(y[0])) / 1.3
    return y[0] - np.tanh(w @ b), b


CHAINS = {
    "given": ad.reversible(*[ad.reversible(layer, inverse=undone)] * 3),
    "found": ad.reversible(layer, layer, layer),
    "nested": ad.reversible(ad.reversible(layer, layer), layer),
}


def plain(x, *parameters):
    for p in parameters:
        x = layer(x, p)
    return x


def loss(chain, x, w, v):
    a, b = chain(x, w, v, 2 * w)
    return np.sum(a * b) + np.sum(b**3)


USES = {
    "value and gradient": lambda f: ad.value_and_grad(f, argnums=(0, 1, 2))(X, W, V),
    "parameters alone": lambda f: ad.grad(f, argnums=1)(X, W, V),
    "jvp": lambda f: ad.jvp(f, (X, W, V), (DX, V, W)),
    "linearize": lambda f: ad.linearize(lambda w: f(X, w, V), W)[1](V),
    "vmap of grad": lambda f: ad.vmap(ad.grad(f, argnums=(0, 1)), in_axes=(0, None, None))(
        tuple(np.stack(p) for p in zip(X, DX, strict=True)), W, V
    ),
    "grad of vmap": lambda f: ad.grad(
        lambda w: np.sum(ad.vmap(lambda x: f(x, w, V))(tuple(np.stack(p) for p in zip(X, DX, strict=True))))
    )(W),
    "forward over reverse": lambda f: ad.jvp(ad.grad(f, argnums=(0, 1)), (X, W, V), (DX, V, W))[1],
    "reverse over reverse": lambda f: ad.grad(lambda w: np.sum(ad.grad(f, argnums=1)(X, w, V) * V))(W),
    "jet": lambda f: ad.jet(lambda w: f(X, w, V), (W,), ((V, W, V),))[1],
}


@pytest.mark.parametrize("use", USES)
def test_the_same_numbers(use) -> None:
    expected = USES[use](lambda *a: loss(plain, *a))
    for chain in CHAINS.values():
        agree(USES[use](lambda *a, c=chain: loss(c, *a)), expected, 1e-9)


def test_compiled() -> None:
    compiled = ad.jit(ad.value_and_grad(lambda x, w, v: loss(CHAINS["found"], x, w, v), argnums=(0, 1, 2)))
    agree(compiled(X, W, V), USES["value and gradient"](lambda *a: loss(plain, *a)), 1e-9)


def test_what_layers_close_over() -> None:
    def f(w, v, with_inverse):
        step = ad.reversible(lambda x: layer(x, w + v), inverse=(lambda y: undone(y, v + w)) if with_inverse else None)
        return np.sum(step(step(X))[0])

    expected = ad.grad(lambda w, v: np.sum(layer(layer(X, w + v), w + v)[0]), argnums=(0, 1))(W, V)
    for given in (True, False):
        agree(ad.grad(f, argnums=(0, 1))(W, V, given), expected, 1e-10)


INVERTIBLE = {
    "arithmetic": lambda x: 2.0 / (3.0 - (x * 1.5 + 0.25)) - 1,
    "functions": lambda x: np.exp(np.tanh(np.log1p(np.sinh(x * 0.3) ** 1 + 2.0))),
    "shapes": lambda x: np.reshape(np.transpose(np.reshape(x, (2, 3))), (6,))[::-1] * 2,
    "a permutation": lambda x: x[np.array([3, 1, 0, 5, 2, 4])],
    "a matrix": lambda x: (np.eye(6) * 2 + np.diag(np.ones(5), 1)) @ x,
    "a matrix from the right": lambda x: x @ (np.eye(6) * 2 + np.diag(np.ones(5), 1)),
    "halves": lambda x: np.concatenate([x[:3] + np.cos(x[3:]), x[3:]]),
    "every second": lambda x: np.stack([x[::2] * np.exp(x[1::2]), x[1::2]], axis=1).reshape(-1),
}


@pytest.mark.parametrize("name", INVERTIBLE)
def test_inverses_are_found(name) -> None:
    f, x = INVERTIBLE[name], np.linspace(-0.7, 0.9, 6)
    found = ad.grad(lambda x: np.sum(np.sin(ad.reversible(f)(x))))(x)
    np.testing.assert_allclose(found, ad.grad(lambda x: np.sum(np.sin(f(x))))(x), rtol=1e-10, atol=1e-12)


def test_writing_in_place() -> None:
    def couple(x):
        y = ad.numpy.array(x)
        y[:3] += np.tanh(x[3:])
        y[3:] *= 2 + np.cos(y[:3])
        return y

    x = np.linspace(-0.7, 0.9, 6)
    found = ad.grad(lambda x: np.sum(np.sin(ad.reversible(couple, couple)(x))))(x)
    np.testing.assert_allclose(found, ad.grad(lambda x: np.sum(np.sin(couple(couple(x)))))(x), rtol=1e-10)


def peak(f, *args):
    tracemalloc.start()
    try:
        f(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_layers() -> None:
    n = 50_000
    x = np.linspace(0, 1, n), np.linspace(1, 2, n)

    def f(x, count):
        step = ad.memory.coupling(np.sin, np.cos)
        return np.sum(ad.reversible(*[step] * count)(x)[0])

    few, many = (peak(ad.grad(lambda x, c=c: f(x, c)), x) for c in (4, 40))
    assert many < 1.3 * few
    ordinary = peak(ad.grad(lambda x: np.sum(_coupled(x, 40))), x)
    assert ordinary > 4 * many


def _coupled(x, count):
    a, b = x
    for _ in range(count):
        a = a + np.sin(b)
        b = b + np.cos(a)
    return a


@pytest.mark.parametrize(
    "step",
    [ad.memory.coupling(np.sin, np.tanh), ad.memory.momentum(np.tanh), ad.memory.leapfrog(lambda q: -np.sin(q), 0.1)],
)
def test_ready_made_layers(step) -> None:
    ((forwards, backwards, _),) = step.steps
    agree(backwards(forwards(X)), X, 1e-12)
    agree(
        ad.grad(lambda x: np.sum(ad.reversible(*[step] * 5)(x)[1] ** 2))(X),
        ad.grad(lambda x: np.sum(_repeated(forwards, x)[1] ** 2))(X),
    )


def _repeated(f, x):
    for _ in range(5):
        x = f(x)
    return x


def test_parameters_of_ready_made_layers() -> None:
    f = ad.memory.coupling(lambda x, p: p @ x, lambda x, p: np.tanh(p @ x))
    found = ad.grad(lambda w, v: np.sum(f(X, (w, v))[1]), argnums=(0, 1))(W, V)

    def plain(w, v):
        a = X[0] + w @ X[1]
        return np.sum(X[1] + np.tanh(v @ a))

    agree(found, ad.grad(plain, argnums=(0, 1))(W, V))


def scanned(plan, w, x, xs):
    def body(carry, t):
        return layer(carry, w * t), np.sum(carry[0]) * t

    (a, b), ys = ad.scan(body, x, xs, checkpoint=plan)
    return np.sum(a * b) + np.sum(ys)


@pytest.mark.parametrize("compiled", [False, True])
def test_scans_that_are_undone(compiled) -> None:
    xs = np.linspace(0.1, 0.5, 7)
    plans = {
        "given": lambda w: ad.memory.Invertible(lambda y, t: undone(y, w * t)),
        "found": lambda w: ad.memory.Invertible(),
    }
    expected = ad.grad(lambda *a: scanned(None, *a), argnums=(0, 1, 2))(W, X, xs)
    for plan in plans.values():
        g = ad.grad(lambda w, x, xs, p=plan: scanned(p(w), w, x, xs), argnums=(0, 1, 2))
        agree((ad.jit(g) if compiled else g)(W, X, xs), expected, 1e-9)


@pytest.mark.parametrize("use", ["jvp", "hessian", "vmap", "linearize"])
def test_scans_that_are_undone_under_transformations(use) -> None:
    xs = np.linspace(0.1, 0.5, 7)
    uses = {
        "jvp": lambda f: ad.jvp(ad.grad(f), (W,), (V,)),
        "hessian": lambda f: ad.hessian(f)(W),
        "vmap": lambda f: ad.vmap(ad.grad(f))(np.stack([W, V])),
        "linearize": lambda f: ad.linearize(f, W)[1](V),
    }
    found, expected = (uses[use](lambda w, p=plan: scanned(p, w, X, xs)) for plan in (ad.memory.Invertible(), None))
    agree(found, expected, 1e-8)


def test_errors_name_the_remedy() -> None:
    with pytest.raises(ad.base.errors.RuleError, match=r"maximum at .*cannot be inverted.*inverse="):  # type: ignore[attr-defined]
        ad.grad(lambda x: np.sum(ad.reversible(lambda x: np.maximum(x, 0.0))(x)))(np.ones(3))
    with pytest.raises(ValueError, match="2 parameters were given to a chain of 3 layers"):
        CHAINS["found"](X, W, V)
    with pytest.raises(TypeError, match="an inverse belongs to one function"):
        ad.reversible(layer, layer, inverse=undone)
    with pytest.raises(ValueError, match=r"the inverse of <lambda> gives"):
        ad.grad(lambda x: np.sum(ad.reversible(lambda x: x * 2, inverse=lambda y: y[:1])(x)))(np.ones(3))
    with pytest.raises(TypeError, match="2 arrays go in and 1 come out"):
        ad.grad(lambda x: ad.reversible(lambda x: x[0] + x[1])(x))((1.0, 2.0))
    assert "layer, layer, layer" in repr(CHAINS["found"])


def test_states_and_parameters_are_pairs() -> None:
    three = np.arange(3.0)
    for made in (ad.memory.coupling(np.sin, np.cos), ad.memory.momentum(np.sin), ad.memory.leapfrog(np.sin, 0.1)):
        with pytest.raises(ShapeError, match=r"the state must be a pair; got an array of shape \(3,\)"):
            made(three)
    scaled = ad.memory.coupling(np.multiply, np.multiply)
    with pytest.raises(ShapeError, match="the parameters must be a pair"):
        scaled((three, three), three)
    with pytest.raises(ShapeError, match="2 parameters were given"):
        scaled((three, three), three, three)
    with pytest.raises(ValueError, match="cannot be undone"):
        ad.memory.momentum(np.sin, gamma=0.0)

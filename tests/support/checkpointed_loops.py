"""Loops with plans for their states, and all that can be asked of them."""

import numpy as np

import adjoint as ad
from adjoint.ops.checkpointing.schedule import CheckpointsAt, Disk, Revolve

RNG = np.random.default_rng(0)
TURNS = 13
W, H, XS = RNG.normal(size=(3, 3)) * 0.5, RNG.normal(size=3), RNG.normal(size=(TURNS, 3))
VW, VH, VX = RNG.normal(size=(3, 3)), RNG.normal(size=3), RNG.normal(size=(TURNS, 3))
HS = RNG.normal(size=(2, 3))
WEIGHTS = np.arange(1.0, TURNS + 1)
STARTS = np.array([[0.2, 0.2, 0.2], [1.0, 2.0, 3.0], [9.0, 9.0, 9.0]])  # one lane takes no turn

SCAN_PLANS = {
    "full": "full",
    "halving": "halving",
    "4 slots": 4,
    "more slots than turns": 40,
    "unequal costs": Revolve(3, tuple(range(1, TURNS + 1))),
    "kept": CheckpointsAt((5, 9)),
    "disk": Disk(),
    "3 slots on disk": Disk(slots=3),
}
WHILE_PLANS = {"full": "full", "1 slot": 1, "3 slots": 3, "online": "online", "3 slots on disk": Disk(slots=3)}


def scanned(plan, reverse=False):
    """A recurrent loop with outputs at every turn, and a whole number in the carry."""

    def f(w, h, xs):
        def body(carry, x):
            count, h = carry
            h = np.tanh(w @ h + x * (count % 3))
            return (count + 1, h), np.sum(h * x)

        (_, h), ys = ad.scan(body, (0, h), xs, reverse=reverse, checkpoint=plan)
        return np.sum(h**2) + np.sum(ys * WEIGHTS)

    return f


def repeated(plan):
    """A loop that ends when its values say so."""

    def f(w, h, _):
        def body(state):
            count, h = state
            return count + 1.0, h * 1.05 + 0.1 * np.sin(w[0] * h) + 0.001 * count * w[1]

        return np.sum(
            ad.while_loop(lambda s: np.sum(s[1] ** 2) < 50.0, body, (w[0, 0] * 0, h), checkpoint=plan)[1] ** 2
        )

    return f


def directional(f, w, h, xs):
    """⟨gradient, directions⟩: a function whose gradient is a Hessian-vector product."""
    gradients = ad.grad(f, argnums=(0, 1, 2))(w, h, xs)
    return sum(np.sum(g * v) for g, v in zip(gradients, (VW, VH, VX), strict=True))


FIRST = {
    "value and gradient": lambda f, w, h, xs: ad.value_and_grad(f, argnums=(0, 1, 2))(w, h, xs),
    "one gradient": lambda f, w, h, xs: ad.grad(f, argnums=1)(w, h, xs),
    "jvp": lambda f, w, h, xs: ad.jvp(f, (w, h, xs), (VW, VH, VX)),
    "vmap of grad": lambda f, w, h, xs: ad.vmap(ad.grad(f, argnums=(0, 1)), in_axes=(None, 0, None))(w, HS, xs),
    "grad of vmap": lambda f, w, h, xs: ad.grad(
        lambda w: np.sum(ad.vmap(f, in_axes=(None, 0, None))(w, HS, xs) * np.array([1.0, 2.0]))
    )(w),
}
SECOND = {
    "forward over reverse": lambda f, w, h, xs: ad.jvp(ad.grad(f, argnums=(0, 1, 2)), (w, h, xs), (VW, VH, VX))[1],
    "reverse over reverse": lambda f, w, h, xs: ad.grad(lambda *a: directional(f, *a), argnums=(0, 1, 2))(w, h, xs),
    "reverse over forward": lambda f, w, h, xs: ad.grad(lambda w: ad.jvp(f, (w, h, xs), (VW, VH, VX))[1])(w),
    "jet of grad": lambda f, w, h, xs: ad.jet(lambda w: ad.grad(f)(w, h, xs), (w,), ((VW, w, VW),))[1],
    "linearize of grad": lambda f, w, h, xs: ad.linearize(lambda w: ad.grad(f)(w, h, xs), w)[1](VW),
    "grad of vmap of grad": lambda f, w, h, xs: ad.grad(
        lambda w: np.sum(ad.vmap(lambda h: ad.grad(f)(w, h, xs) ** 2)(HS))
    )(w),
    "third derivative": lambda f, w, h, xs: ad.grad(
        lambda w: ad.jvp(lambda w: np.sum(ad.grad(f)(w, h, xs) ** 2), (w,), (VW,))[1]
    )(w),
}


def agree(found, expected, rounding=1e-10):
    """Two trees of numbers."""
    a, b = ad.tree.flatten(found), ad.tree.flatten(expected)
    assert a[1] == b[1]
    for x, y in zip(a[0], b[0], strict=True):
        np.testing.assert_allclose(x, y, rtol=rounding, atol=rounding)

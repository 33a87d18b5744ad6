"""jit and the other transformations, in every order: the same numbers as without it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sps

import adjoint as ad
import adjoint.numpy as anp
from tests.support.sweeps import sampled

x = np.array([0.3, 0.8, 1.7])
v = np.array([0.5, -1.0, 2.0])
square = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])


def mlp(x: Any) -> Any:
    for _ in range(2):
        x = np.tanh(square @ x + 0.1)
    return np.sum(x**2)


def loop(x: Any) -> Any:
    carry, ys = ad.scan(lambda c, b: (np.sin(c * b) + x[0], c**2), x[1], x)
    return carry + np.sum(ys)


def newton(x: Any) -> Any:
    def step(state: Any) -> Any:
        y, k = state
        return y - (y * y - np.sum(x)) / (2 * y), k + 1

    return ad.while_loop(lambda s: s[1] < 5, step, (1.0, 0))[0]


def branches(x: Any) -> Any:
    return ad.cond(np.sum(x) > 1, lambda x: np.sum(np.sin(x)), lambda x: np.sum(x) ** 3, x)


def assigned(x: Any) -> Any:
    z = anp.zeros((2, 3))
    z[0] = x
    z[1, 1:] = x[:2] ** 2
    z[0, 0] += 3 * x[2]
    return np.sum(z**3)


def gathered(x: Any) -> Any:
    return np.sum(x[np.array([2, 0, 0])] * x[::-1]) + np.sum(np.sort(x)[1:] ** 2) + np.take(x, [1]) @ x[:1]


def linear_algebra(x: Any) -> Any:
    a = square + np.diag(x)
    return np.log(np.linalg.det(a)) + np.sum(np.linalg.solve(a, x)) + np.trace(np.linalg.inv(a))


def special(x: Any) -> Any:
    return np.sum(sps.erf(x) + sps.gammaln(x) + sps.expit(x)) + ad.scipy.special.logsumexp(x)


def selected(x: Any) -> Any:
    return np.sum(np.where(x > 1, np.log(x), x**2)) + np.max(x) + np.sum(np.maximum(x, 1.0)) + np.linalg.norm(x)


def reduced(x: Any) -> Any:
    y = np.outer(x, x) + square
    return np.mean(y) + np.prod(x) + np.std(y, axis=0) @ x + np.sum(np.cumsum(x) / x) + np.einsum("ij,ij->", y, y)


def checkpointed(x: Any) -> Any:
    return np.sum(ad.checkpoint(lambda x: np.sin(np.exp(x)))(x))


def branching(x: Any) -> Any:
    total = 0.0
    for i in range(3):
        total = total + (np.sin(x[i]) if x[i] > 0.5 else x[i] ** 2)
    while total < 5:
        total = total * 2
    return total


@ad.custom_rule(jvp=lambda primals, tangents: (np.sin(primals[0]), np.cos(primals[0]) * tangents[0]))
def ruled(x: Any) -> Any:
    return np.sin(x)


def shaped(x: Any) -> Any:
    y = np.concatenate([x, x[:1]]).reshape(2, 2).T
    return np.sum(np.pad(y, 1) ** 2) + np.sum(np.stack([y, y * 2]) * np.broadcast_to(x[0], (2, 2, 2)))


def inner_derivative(x: Any) -> Any:
    return np.sum(ad.grad(lambda x: np.sum(np.sin(x) ** 2))(x) * x)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "mlp": mlp,
    "scan": loop,
    "while": newton,
    "cond": branches,
    "assigned": assigned,
    "gathered": gathered,
    "linear algebra": linear_algebra,
    "special": special,
    "selected": selected,
    "reduced": reduced,
    "checkpoint": checkpointed,
    "python branches": branching,
    "custom rule": lambda x: np.sum(ruled(x) ** 2),
    "shaped": shaped,
    "gradient inside": inner_derivative,
}

batch = np.stack([x, x + 0.1])
TRANSFORMATIONS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "grad": lambda f: ad.grad(f),
    "value_and_grad": lambda f: ad.value_and_grad(f),
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (v,)),
    "vjp": lambda f: lambda x: ad.vjp(f, x)[1](2.0),
    "linearize": lambda f: lambda x: ad.linearize(f, x)[1](v),
    "jet": lambda f: lambda x: ad.jet(f, (x,), ([v, x],)),
    "hessian": lambda f: ad.hessian(f),
    "hvp": lambda f: lambda x: ad.hvp(f, (x,), (v,)),
    "vmap": lambda f: lambda x: ad.vmap(f)(np.stack([x, x + 0.1])),
    "vmap of grad": lambda f: lambda x: ad.vmap(ad.grad(f))(np.stack([x, x + 0.1])),
    "jacrev of grad": lambda f: ad.jacrev(ad.grad(f)),
}
# every function with some transformations, and some functions with all of them
OFTEN = {"of": ("grad", "vmap", "hvp"), "inside": ("value_and_grad", "vmap of grad", "jet")}
ALL = ("mlp", "scan", "python branches")


def cases(where: str) -> list[tuple[str, str]]:
    return [(name, t) for name in FUNCTIONS for t in TRANSFORMATIONS if name in ALL or t in OFTEN[where]]


def agree(found: Any, expected: Any) -> None:
    a, s = ad.tree.flatten(found)
    b, t = ad.tree.flatten(expected)
    assert s == t
    for p, q in zip(a, b, strict=True):
        assert np.shape(p) == np.shape(q)
        assert np.asarray(p).dtype == np.asarray(q).dtype
        np.testing.assert_allclose(p, q, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name, transformation", sampled(cases("of"), every=2))
def test_jit_of_a_transformation(name: str, transformation: str) -> None:
    f, transform = FUNCTIONS[name], TRANSFORMATIONS[transformation]
    expected = transform(f)(x)
    fast = ad.jit(transform(f))
    agree(fast(x), expected)
    agree(fast(x), expected)


@pytest.mark.parametrize("name, transformation", sampled(cases("inside"), every=2))
def test_transformation_of_jit(name: str, transformation: str) -> None:
    f, transform = FUNCTIONS[name], TRANSFORMATIONS[transformation]
    fast = ad.jit(f)
    agree(transform(fast)(x), transform(f)(x))
    if transformation == "vmap of grad":
        agree(ad.jit(transform(fast))(x), transform(f)(x))


def test_a_compiled_function_in_a_compiled_function_is_converted_as_well() -> None:
    def fill(x: Any) -> Any:
        return np.full(3, x[0]) if x[1] > 0 else np.full(3, 2.0) * x[1]

    inner = ad.jit(lambda x: fill(x))
    for x in (np.array([4.0, 1.0]), np.array([4.0, -1.0])):
        expected = np.sum(fill(x))
        assert ad.jit(lambda x: np.sum(inner(x)))(x) == expected
        inner(x)
        assert ad.jit(lambda x: np.sum(inner(x)))(x) == expected


def _signed_roots(x: Any) -> Any:
    """It asks for plain values, which no program without guards gives."""
    total = 0.0
    for v in x:
        try:
            if v < 1.0:
                raise ValueError
            total = total + math.sqrt(v - 1.0)
        except ValueError:
            total = total + v**2
    return total


def _squares_of_groups(x: Any) -> Any:
    groups, which = np.unique(np.round(x).astype(int), return_inverse=True)
    sums = np.zeros(len(groups))
    np.add.at(sums, which, x)
    return np.sum(sums**2)


@pytest.mark.parametrize("f", [_signed_roots, _squares_of_groups])
def test_what_a_transformation_runs_as_python_is_converted_as_without_jit(f: Any) -> None:
    at, ahead = np.array([0.3, 1.7, 1.2]), np.array([1.0, -0.5, 0.3])
    slope = (f(at + 1e-6 * ahead) - f(at - 1e-6 * ahead)) / 2e-6
    assert ad.grad(ad.jit(f))(at) @ ahead == pytest.approx(slope, rel=1e-8)
    assert ad.jvp(ad.jit(f), (at,), (ahead,))[1] == pytest.approx(slope, rel=1e-8)
    np.testing.assert_allclose(ad.vmap(ad.jit(f))(np.stack([at, 0.99 * at])), [f(at), f(0.99 * at)], rtol=1e-14)

"""Branches over batches that are empty, and long branches over batches of any size."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.control.batch_elements import loops_over_elements
from adjoint.ops.control.cond import Cond
from adjoint.program.subprograms import all_equations


def test_a_branch_over_an_empty_batch():
    choose = lambda x: ad.cond(x[0] > 0, lambda x: {"s": np.sin(x), "n": 1}, lambda x: {"s": np.cos(x), "n": 2}, x)
    for mapped in (ad.vmap(choose), ad.jit(ad.vmap(choose))):
        found = mapped(np.zeros((0, 3)))
        assert found["s"].shape == (0, 3)
        assert found["n"].shape == (0,)
        assert found["n"].dtype == np.int64
    assert ad.vmap(ad.jacrev(lambda x: choose(x)["s"]))(np.zeros((0, 3))).shape == (0, 3, 3)


def chosen(x: Any, p: Any) -> Any:
    """A long branch, whose derivative keeps what it has computed; few elements take it."""
    long = lambda x: ad.fori_loop(0, 40, lambda i, s: np.sin(p * s) + np.exp(-s * s), x)
    return ad.cond(x > 1.0, long, lambda x: p * x * x, x)


def derivatives(x: Any, p: Any) -> Any:
    slope = ad.grad(chosen, (0, 1))
    return chosen(x, p), slope(x, p), ad.jvp(lambda x, p: slope(x, p), (x, p), (1.0, 0.5))[1]


@pytest.mark.parametrize("size", [5, 19])  # one block; two, and what is left
def test_long_branches_run_for_blocks_in_which_an_element_takes_them(size: int) -> None:
    x = np.random.default_rng(1).normal(size=size)
    x[:8] = np.minimum(x[:8], 0.9)
    x[-1] = 1.5
    batch = ad.vmap(derivatives, in_axes=(0, None))
    expected = [derivatives(one, 0.7) for one in x]
    found = ad.jit(batch)(x, 0.7)
    for leaf, rows in zip(ad.tree.leaves(found), zip(*map(ad.tree.leaves, expected), strict=True), strict=True):
        np.testing.assert_allclose(leaf, rows, rtol=1e-12, atol=1e-14)
    total = lambda p: np.sum(ad.vmap(chosen, in_axes=(0, None))(x, p))
    np.testing.assert_allclose(ad.jit(ad.grad(total))(0.7), sum(one[1][1] for one in expected), rtol=1e-12)
    with loops_over_elements():
        program = ad.trace(ad.vmap(chosen, in_axes=(0, None)))(x, 0.7).program
    assert any(isinstance(eq.op, Cond) for eq in all_equations(program))  # it is left out


def test_what_is_left_out_is_not_written_and_never_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were it NaN, second derivatives would be the same."""
    batch = ad.vmap(ad.grad(chosen, 1), in_axes=(0, None))
    assert "undefined" in str(ad.jit(batch).lower(np.ones(8), 0.7).simplified)
    x, a = np.array([*np.linspace(-1.0, 0.9, 8), 1.5, *np.linspace(-0.5, 0.5, 8)]), np.array([[0.3, -0.2], [0.5, 0.1]])

    def f(x: Any, a: Any) -> Any:
        long = lambda x: np.sum(ad.scan(lambda c, t: (np.tanh(a @ c) + t * x, None), x * np.ones(2), np.ones(30))[0])
        return ad.cond(x > 1.0, long, lambda x: x * x * a[0, 0], x)

    def squares(a: Any) -> Any:
        return np.sum(ad.vmap(lambda x: ad.grad(f)(x, a) ** 2)(x))

    expected = ad.grad(squares)(a)
    unknown = lambda kind, *_: np.full(kind.shape, np.nan if kind.dtype.kind == "f" else 0, kind.dtype)
    monkeypatch.setattr("adjoint.ops.control.cond.undefined", unknown)
    np.testing.assert_allclose(ad.jit(ad.grad(squares))(a), expected, rtol=1e-10)


def test_elements_that_do_not_take_a_branch_make_no_derivative_nan() -> None:
    """Cotangents of zero meet the logarithms of negative numbers in a product of matrices."""
    x, a = np.array([-1.5, 0.5, -0.2, 2.0]), np.array([[0.3, -0.2], [0.5, 0.1]])

    def f(x: Any, a: Any) -> Any:
        inside = lambda x: np.sum((a @ np.log(x * np.array([1.0, 2.0]))) ** 3) + np.prod(np.log(x) + a)
        return ad.cond(x > 0, inside, lambda x: x * x * a[0, 0], x)

    batch = lambda a: np.sum(ad.vmap(f, in_axes=(0, None))(x, a))
    found = ad.jit(lambda a: (ad.grad(batch)(a), ad.hessian(batch)(a)))(a)
    np.testing.assert_allclose(found[0], sum(ad.grad(f, 1)(one, a) for one in x), rtol=1e-10)
    np.testing.assert_allclose(found[1], sum(ad.hessian(lambda a, one=one: f(one, a))(a) for one in x), rtol=1e-10)

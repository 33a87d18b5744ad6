"""Control flow through every transformation, against the same function with Python's own loops and branches."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.testing import check_grads, difference_gradient
from tests.support.flow_cases import CASES, WEIGHTS
from tests.support.sweeps import sampled

X = np.array([0.6, 0.9, 0.35])
XS = np.stack([X, np.array([0.3, 0.2, 0.8]), np.array([0.9, 0.5, 0.4]), np.array([0.1, 0.7, 0.65])])
V, U = np.array([0.3, -0.7, 0.4]), 1.3

ORDERS = {
    "value": lambda f: f,
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (V,)),
    "vjp": lambda f: lambda x: ad.vjp(f, x)[1](U)[0],
    "linearize": lambda f: lambda x: ad.linearize(f, x)[1](V),
    "grad of grad": lambda f: ad.grad(lambda x: np.sum(ad.grad(f)(x) * V)),
    "jvp of grad": lambda f: lambda x: ad.jvp(ad.grad(f), (x,), (V,))[1],
    "grad of jvp": lambda f: ad.grad(lambda x: ad.jvp(f, (x,), (V,))[1]),
    "jet": lambda f: lambda x: ad.jet(f, (x,), ((V, 0.5 * V, V[::-1]),))[1],
    "hessian": lambda f: ad.hessian(f),
}


def close(found, expected) -> None:
    found, expected = ad.tree.leaves(found), ad.tree.leaves(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name, order", sampled(product(CASES, ORDERS), every=2))
def test_one_point(name, order) -> None:
    f, g = CASES[name]
    for x in XS:
        close(ORDERS[order](f)(x), ORDERS[order](g)(x))


@pytest.mark.parametrize("name, order", sampled(product(CASES, ORDERS), every=2))
def test_all_lanes_at_once(name, order) -> None:
    f, g = CASES[name]
    expected = [ad.tree.leaves(ORDERS[order](g)(x)) for x in XS]
    found = ad.tree.leaves(ad.vmap(ORDERS[order](f))(XS))
    close(found, [np.stack(column) for column in zip(*expected, strict=True)])


@pytest.mark.parametrize("order", ["value", "jvp", "vjp", "jet"])
@pytest.mark.parametrize("name", CASES)
def test_transformed_after_mapping(name, order) -> None:
    """grad of vmap: the loop over stacked values is differentiated."""
    f, g = CASES[name]
    shapes = {"value": lambda h: h(XS), "jvp": lambda h: ad.jvp(h, (XS,), (np.ones_like(XS) * V,))}
    shapes["vjp"] = lambda h: ad.vjp(h, XS)[1](np.arange(4.0))[0]
    shapes["jet"] = lambda h: ad.jet(h, (XS,), ((XS * V, XS * 0.1),))[1]
    close(shapes[order](ad.vmap(f)), shapes[order](lambda xs: np.stack([g(x) for x in xs])))


@pytest.mark.parametrize("name", CASES)
def test_against_differences(name) -> None:
    check_grads(CASES[name].f, (X,), order=2)


@pytest.mark.parametrize("name", CASES)
def test_traced_programs(name) -> None:
    """The loop inside a program of types alone, and its derivatives inside one."""
    f, g = CASES[name]
    for order in ("value", "vjp", "jvp of grad"):
        close(ad.trace(ORDERS[order](f))(X)(XS[1]), ORDERS[order](g)(XS[1]))


# ---- which arguments are mapped ----


@pytest.mark.parametrize("mapped", [(0, None, None), (None, 0, None), (None, None, 0), (0, 0, None), (0, None, 0)])
def test_lanes_of_predicates_carries_and_constants(mapped) -> None:
    def branches(p, c, w):
        return ad.cond(p > 0.5, lambda c: c * w, lambda c: np.sin(c) + w, c)

    def turns(p, c, w):
        return ad.while_loop(lambda s: s < 5.0 + p, lambda s: s * (1.5 + w * w) + 0.1, c)

    def walk(p, c, w):
        return ad.scan(lambda s, t: (s * w + t, s * p), c, np.arange(3.0))

    stacked = (np.array([0.2, 0.7, 0.9]), np.array([1.0, 2.0, 0.5]), np.array([0.3, -0.4, 0.8]))
    args = [s if m == 0 else s[1] for s, m in zip(stacked, mapped, strict=True)]
    lanes = [[a[i] if m == 0 else a for a, m in zip(args, mapped, strict=True)] for i in range(3)]
    for f in (branches, turns, walk):
        for h in (
            f,
            lambda p, c, w, f=f: ad.grad(lambda c, w: sum(np.sum(z) for z in ad.tree.leaves(f(p, c, w))), (0, 1))(c, w),
        ):
            rows = [ad.tree.leaves(h(*lane)) for lane in lanes]
            close(
                ad.tree.leaves(ad.vmap(h, in_axes=mapped)(*args)),
                [np.stack(column) for column in zip(*rows, strict=True)],
            )


def test_lanes_within_lanes_take_their_own_branch() -> None:
    def f(x, y):
        return ad.cond(x > y, lambda: np.log(x - y), lambda: x * y)

    xs, ys = np.array([0.5, 1.5, 2.5]), np.array([1.0, 2.0])
    found = ad.vmap(lambda y: ad.vmap(lambda x: ad.grad(f, (0, 1))(x, y))(xs))(ys)
    expected = [[(1 / (x - y), -1 / (x - y)) if x > y else (y, x) for x in xs] for y in ys]
    np.testing.assert_allclose(np.stack(found, axis=-1), expected)


# ---- what the branch not taken must not do ----


@pytest.mark.parametrize("transform", ["grad", "jvp", "jet"])
def test_nothing_leaks_out_of_the_branch_not_taken(transform) -> None:
    def f(x):
        return ad.cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)

    derivative = {
        "grad": ad.grad(f),
        "jvp": lambda x: ad.jvp(f, (x,), (1.0,))[1],
        "jet": lambda x: ad.jet(f, (x,), ((1.0, 0.0),))[1][0],
    }[transform]
    assert derivative(0.0) == 0.0
    xs = np.array([0.0, 4.0, 0.0])
    np.testing.assert_array_equal(ad.vmap(derivative)(xs), [0.0, 0.25, 0.0])
    np.testing.assert_array_equal(ad.vmap(ad.vmap(derivative))(np.stack([xs, xs])), [[0.0, 0.25, 0.0]] * 2)


def test_a_plain_predicate_runs_one_branch_only() -> None:
    def never(x):
        raise AssertionError("the branch not taken was run")

    assert ad.cond(True, lambda x: x + 1, never, 1.0) == 2.0
    assert ad.switch(1, [never, lambda x: x * 3, never], 2.0) == 6.0
    assert ad.grad(lambda x: ad.cond(x > 0, lambda x: x * x, lambda x: x, x))(3.0) == 6.0


def test_the_index_of_switch_is_clipped() -> None:
    branches = [lambda: 0.0, lambda: 1.0, lambda: 2.0]
    assert [ad.switch(i, branches) for i in (-5, 0, 1, 2, 9)] == [0, 0, 1, 2, 2]
    found = ad.vmap(lambda i: ad.switch(i, branches))(np.array([-5, 0, 1, 2, 9]))
    np.testing.assert_array_equal(found, [0, 0, 1, 2, 2])


# ---- results ----


def test_types_of_results() -> None:
    (count, flag, single), ys = ad.scan(
        lambda c, x: ((c[0] + 1, ~c[1], c[2] * x), (c[0], c[1], c[2])),
        (0, False, np.float32(1.0)),
        np.ones(3, np.float32),
    )
    assert (type(count), type(flag), type(single)) == (np.int64, np.bool_, np.float32)
    assert [y.dtype for y in ys] == [np.int64, bool, np.float32]
    assert ad.while_loop(lambda x: x < 10, lambda x: x * 2, 1) == 16
    assert ad.fori_loop(5, 2, lambda i, v: v + i, 0) == 0


def test_scan_without_xs_and_without_ys() -> None:
    last, ys = ad.scan(lambda c, _: (c + 1.0, None), 0.0, None, length=4)
    assert (last, ys) == (4.0, None)
    none, ys = ad.scan(lambda c, x: (None, x * 2), None, np.arange(3.0))
    assert none is None
    np.testing.assert_array_equal(ys, [0, 2, 4])


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_of_every_length(n, reverse) -> None:
    xs = np.random.default_rng(n).normal(size=(2, n, 2, 2))
    found = ad.associative_scan(np.matmul, xs, axis=1, reverse=reverse)
    rows = xs[:, ::-1] if reverse else xs
    expected = [rows[:, 0]]
    for i in range(1, n):
        expected.append(expected[-1] @ rows[:, i])
    expected = np.stack(expected[::-1] if reverse else expected, axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_recurrent_network_of_many_steps() -> None:
    xs = np.sin(np.arange(400.0))[:, None] * np.ones(3)

    def by_scan(w):
        return np.sum(ad.scan(lambda h, x: (np.tanh(w @ h + x), None), np.zeros(3), xs)[0])

    def by_python(w):
        h = np.zeros(3)
        for x in xs:
            h = np.tanh(w @ h + x)
        return np.sum(h)

    np.testing.assert_allclose(ad.grad(by_scan)(WEIGHTS), ad.grad(by_python)(WEIGHTS), rtol=1e-10)


# ---- errors ----


def inside(f):
    return lambda: ad.grad(f)(1.0)


ERRORS = {
    "carry dtype": (
        lambda: ad.scan(lambda c, x: (c * 1.5, None), 1, np.arange(3)),
        ValueError,
        r"carry enters the body as int64\[\].*0\.0",
    ),
    "carry shape": (
        lambda: ad.scan(lambda c, x: (np.stack([c, c]), None), 1.0, np.arange(3.0)),
        ValueError,
        "keep its type",
    ),
    "carry structure": (
        lambda: ad.scan(lambda c, x: ((c, c), None), 1.0, np.arange(3.0)),
        ValueError,
        "carry changes its structure",
    ),
    "while carry": (
        lambda: ad.while_loop(lambda s: s["n"] < 3, lambda s: {"n": s["n"] + 0.5}, {"n": 0}),
        ValueError,
        "'n'.*int64",
    ),
    "no pair": (lambda: ad.scan(lambda c, x: c, 1.0, np.arange(3.0)), ValueError, r"pair \(carry, y\)"),
    "ragged": (lambda: ad.scan(lambda c, x: (c, None), 1.0, (np.ones(3), np.ones(4))), ValueError, "3 and 4"),
    "length differs": (lambda: ad.scan(lambda c, x: (c, None), 1.0, np.ones(3), length=5), ValueError, "length is 5"),
    "no length": (lambda: ad.scan(lambda c, x: (c, None), 1.0), ValueError, "length="),
    "number in xs": (lambda: ad.scan(lambda c, x: (c, None), 1.0, (np.ones(3), 2.0)), ValueError, "first axis"),
    "if in a body": (lambda: ad.scan(lambda c, x: (c if c > 0 else -c, None), 1.0, np.ones(3)), TypeError, r"ad\.cond"),
    "while in a body": (
        lambda: ad.fori_loop(0, 3, lambda i, v: v * 2 if v < 3 else v, 1.0),
        TypeError,
        r"ad\.while_loop",
    ),
    "float() in a body": (lambda: ad.scan(lambda c, x: (c + float(x), None), 1.0, np.ones(3)), TypeError, "float"),
    "predicate shape": (lambda: ad.cond(np.ones(2) > 0, lambda: 1.0, lambda: 2.0), ValueError, r"np\.where"),
    "condition shape": (
        lambda: ad.while_loop(lambda x: x > 0, lambda x: x - 1, np.ones(2)),
        ValueError,
        "one truth value",
    ),
    "branch types": (inside(lambda x: ad.cond(x > 0, lambda x: x, lambda x: np.stack([x, x]), x)), TypeError, "bool"),
    "switch without branches": (lambda: ad.switch(0, []), ValueError, "at least one branch"),
    "switch by a float": (lambda: ad.switch(0.5, [lambda: 1.0]), TypeError, "integer"),
    "associative_scan ragged": (
        lambda: ad.associative_scan(np.add, (np.ones(3), np.ones(2))),
        ValueError,
        "different sizes",
    ),
    "associative_scan of a number": (lambda: ad.associative_scan(np.add, 1.0), ValueError, "axis"),
}


def test_branches_of_different_types() -> None:
    with pytest.raises(ValueError, match=r"one branch returns float64\[\] .* another float64\[2\]"):
        ad.vmap(lambda x: ad.cond(x > 0, lambda x: x, lambda x: np.stack([x, x]), x))(np.ones(3))
    with pytest.raises(ValueError, match="different trees"):
        ad.vmap(lambda x: ad.cond(x > 0, lambda x: x, lambda x: (x, x), x))(np.ones(3))


@pytest.mark.parametrize("name", [n for n in ERRORS if n != "branch types"])
def test_errors(name) -> None:
    call, kind, match = ERRORS[name]
    with config.override(convert=False), pytest.raises(kind, match=match):
        call()


def test_loops_inside_loops_that_stop_lane_by_lane_have_gradients() -> None:
    """What an inner loop keeps is as long as it ran, in each turn of the outer one."""

    def f(x: Any) -> Any:
        def outer(state: Any) -> Any:
            i, y = state
            inner = ad.while_loop(lambda q: np.sum(q * q) < 4 + i, lambda q: 1.3 * q + 0.1 * np.sin(q), 0.5 * y)
            return i + 1, inner

        return np.sum(ad.while_loop(lambda s: (s[0] < 3) & (np.sum(s[1]) < 2.5), outer, (0, x))[1] ** 2)

    xs = np.array([[0.3, -0.7, 1.1], [0.06, -0.14, 0.22], [1.0, 0.2, 1.5]])
    slopes = [difference_gradient(f, x) for x in xs]
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(xs), slopes, rtol=1e-6)
    np.testing.assert_allclose(ad.jit(ad.vmap(ad.grad(f)))(xs), slopes, rtol=1e-6)

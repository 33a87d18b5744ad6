"""Functions written with the control flow of `adjoint`, and the same functions in plain Python: the oracle."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import adjoint as ad

WEIGHTS = np.array([[0.5, -0.2, 0.1], [0.3, 0.4, -0.6], [-0.1, 0.2, 0.7]])


class Case(NamedTuple):
    """f and g compute the same number from an array of three."""

    f: Callable[[Any], Any]
    g: Callable[[Any], Any]


def _cond(x):
    return ad.cond(x[0] > 0.4, lambda x: np.sum(np.sin(x) * x), lambda x: np.sum(x**3), x)


def _cond_python(x):
    return np.sum(np.sin(x) * x) if x[0] > 0.4 else np.sum(x**3)


def _cond_closure(x):
    y = x * x
    return ad.cond(x[1] < x[2], lambda: np.sum(y * x[0]), lambda: np.exp(y[1]) * x[2])


def _cond_closure_python(x):
    y = x * x
    return np.sum(y * x[0]) if x[1] < x[2] else np.exp(y[1]) * x[2]


BRANCHES = [lambda x: x[0] * x[1], lambda x: np.sin(x[2]) * x[0], lambda x: x[1] ** 3]


def _switch(x):
    return ad.switch(ad.numpy.asarray(np.floor(x[0] * 3.0)).astype(int), BRANCHES, x)


def _switch_python(x):
    return BRANCHES[min(max(int(np.floor(x[0] * 3.0)), 0), 2)](x)


def _scan(x):
    last, ys = ad.scan(lambda c, w: (np.tanh(w @ c) + x[0], c[1] * x[2]), x, WEIGHTS[:, None, :] * np.ones((3, 3, 1)))
    return np.sum(last) + np.sum(ys**2)


def _scan_python(x):
    c, ys = x, 0.0
    for w in WEIGHTS[:, None, :] * np.ones((3, 3, 1)):
        c, y = np.tanh(w @ c) + x[0], c[1] * x[2]
        ys = ys + y**2
    return np.sum(c) + ys


def _scan_tree(x):
    def body(carry, step):
        total = {
            "sum": carry["sum"] + carry["state"][0] * step["a"],
            "state": (carry["state"][0] * 0.9 + step["b"], carry["state"][1] + 1),
        }
        return total, (carry["sum"] * x[1], carry["state"][1], carry["sum"] > 0.3)

    steps = {"a": x, "b": np.sin(x[::-1])}
    last, (a, count, flags) = ad.scan(body, {"sum": 0.0, "state": (x[0], 0)}, steps)
    return last["sum"] * last["state"][0] + np.sum(a * count) + np.sum(np.where(flags, a, 0.0)) + last["state"][1]


def _scan_tree_python(x):
    total, state, count, extra = 0.0, x[0], 0, 0.0
    for t in range(3):
        a = total * x[1]
        extra = extra + a * count + (a if total > 0.3 else 0.0)
        total, state, count = total + state * x[t], state * 0.9 + np.sin(x[::-1])[t], count + 1
    return total * state + extra + count


def _scan_reverse(x):
    last, ys = ad.scan(lambda c, t: (c * t + x[0], c - t), x[1], x, reverse=True)
    return last + ys[0] * ys[1] - ys[2] ** 2


def _scan_reverse_python(x):
    c, ys = x[1], [None] * 3
    for i in (2, 1, 0):
        c, ys[i] = c * x[i] + x[0], c - x[i]
    return c + ys[0] * ys[1] - ys[2] ** 2


def _empty(x):
    last, ys = ad.scan(lambda c, t: (c * t, c), np.prod(x), np.zeros((0,)))
    return last + np.sum(ys) + ad.fori_loop(3, 3, lambda i, v: v * 7.0, x[0])


def _while(x):
    def going(state):
        return state["x"] ** 2 < 30.0 + x[1]

    def body(state):
        return {"x": state["x"] * (1.2 + x[2] ** 2), "n": state["n"] + 1, "odd": ~state["odd"]}

    state = ad.while_loop(going, body, {"x": x[0] + 1.0, "n": 0, "odd": False})
    return state["x"] * np.where(state["odd"], 1.0, 2.0) + state["n"]


def _while_python(x):
    value, n, odd = x[0] + 1.0, 0, False
    while value**2 < 30.0 + x[1]:
        value, n, odd = value * (1.2 + x[2] ** 2), n + 1, not odd
    return value * (1.0 if odd else 2.0) + n


def _no_turn(x):
    return ad.while_loop(lambda v: v > 1e9, lambda v: v * 2.0, x[0] * x[1])


def _fori(x):
    return ad.fori_loop(1, 4, lambda i, v: v * x[0] + np.sin(i * x[1]), x[2])


def _fori_python(x):
    v = x[2]
    for i in range(1, 4):
        v = v * x[0] + np.sin(i * x[1])
    return v


def _fori_traced(x):
    return ad.fori_loop(0, ad.numpy.asarray(np.floor(3.0 + x[0])).astype(int), lambda i, v: v * x[1] + i, x[2])


def _fori_traced_python(x):
    v = x[2]
    for i in range(int(np.floor(3.0 + x[0]))):
        v = v * x[1] + i
    return v


def _map(x):
    return np.sum(ad.map(lambda t: np.exp(t) * x[1] + t**2, x))


def _map_python(x):
    return sum(np.exp(x[i]) * x[1] + x[i] ** 2 for i in range(3))


def _prefixes(x):
    a, b = ad.associative_scan(
        lambda s, t: (s[0] * t[0], s[1] * t[0] + t[1]), (np.concatenate([x, x * 0.5]), np.sin(np.concatenate([x, x])))
    )
    return np.sum(a) + b[-1] * b[2]


def _prefixes_python(x):
    elements = [(v, np.sin(v)) for v in x] + [(0.5 * v, np.sin(v)) for v in x]
    a, b = elements[0]
    total, bs = a, [b]
    for c, d in elements[1:]:
        a, b = a * c, b * c + d
        total = total + a
        bs.append(b)
    return total + bs[-1] * bs[2]


def _nested(x):
    def outer(c, t):
        inner, _ = ad.scan(lambda d, s: (d * s + ad.cond(d > 0.5, np.sin, np.cos, d), None), c, x)
        root = ad.while_loop(
            lambda v: abs(v * v - t * t - 1.0) > 1e-12, lambda v: (v + (t * t + 1.0) / v) / 2.0, 1.0 + t * t
        )
        return inner * root, inner

    last, ys = ad.scan(outer, x[0], x[1:])
    return last + np.sum(ys)


def _nested_python(x):
    c, total = x[0], 0.0
    for t in x[1:]:
        inner = c
        for s in x:
            inner = inner * s + (np.sin(inner) if inner > 0.5 else np.cos(inner))
        root = 1.0 + t * t
        while abs(root * root - t * t - 1.0) > 1e-12:
            root = (root + (t * t + 1.0) / root) / 2.0
        c, total = inner * root, total + inner
    return c + total


def _checkpointed(x):
    step = ad.checkpoint(lambda c, w: np.tanh(w @ c) * x[0])
    return np.sum(ad.scan(lambda c, w: (step(c, w), None), x, np.stack([WEIGHTS, WEIGHTS.T]))[0])


def _checkpointed_python(x):
    c = x
    for w in (WEIGHTS, WEIGHTS.T):
        c = np.tanh(w @ c) * x[0]
    return np.sum(c)


def _while_in_branch(x):
    def grow(y):
        return ad.while_loop(lambda v: v < 10.0, lambda v: v * (1.5 + y), y + 1.0)

    return ad.scan(lambda c, t: (ad.cond(c > 0.4, grow, lambda c: np.sin(c) * x[1], c) * t, None), x[0], 0.2 * x)[0]


def _while_in_branch_python(x):
    c = x[0]
    for t in 0.2 * x:
        v = c + 1.0
        while v < 10.0:
            v = v * (1.5 + c)
        c = (v if c > 0.4 else np.sin(c) * x[1]) * t
    return c


def _while_in_while(x):
    def outer(state):
        inner = ad.while_loop(lambda v: v < 10.0 * (state[1] + 1), lambda v: v * (1.5 + x[0]), state[0])
        return inner, state[1] + 1

    return ad.while_loop(lambda state: state[1] < 3, outer, (x[1] + 1.0, 0))[0]


def _while_in_while_python(x):
    v = x[1] + 1.0
    for n in range(3):
        while v < 10.0 * (n + 1):
            v = v * (1.5 + x[0])
    return v


CASES = {
    "cond": Case(_cond, _cond_python),
    "cond closing over values": Case(_cond_closure, _cond_closure_python),
    "switch": Case(_switch, _switch_python),
    "scan": Case(_scan, _scan_python),
    "scan over trees": Case(_scan_tree, _scan_tree_python),
    "scan in reverse": Case(_scan_reverse, _scan_reverse_python),
    "loops of length zero": Case(_empty, lambda x: np.prod(x) + x[0]),
    "while_loop": Case(_while, _while_python),
    "while_loop without a turn": Case(_no_turn, lambda x: x[0] * x[1]),
    "fori_loop": Case(_fori, _fori_python),
    "fori_loop with a traced bound": Case(_fori_traced, _fori_traced_python),
    "map": Case(_map, _map_python),
    "associative_scan": Case(_prefixes, _prefixes_python),
    "nested": Case(_nested, _nested_python),
    "while_loop in a branch": Case(_while_in_branch, _while_in_branch_python),
    "while_loop in while_loop": Case(_while_in_while, _while_in_while_python),
    "checkpoint inside": Case(_checkpointed, _checkpointed_python),
}

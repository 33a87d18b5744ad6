"""Views of views of views: random chains of NumPy's functions and assignments, plain NumPy against every mode.

NumPy itself says what is a view: which arrays have one owner, and which refuse to be written to.
"""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.program.trace import Tracer

windows = np.lib.stride_tricks.sliding_window_view


def matrix(a):
    """At least two axes."""
    return a if a.ndim > 1 else a[:, None]


def square(a):
    """Two equal axes at the front."""
    n = min(matrix(a).shape[:2])
    return matrix(a)[:n, :n]


# each step makes an array of one of those made before, and a number
STEPS = {
    "item": lambda a, k: a[k % len(a)] if a.ndim > 1 else a[k % 2 :],
    "slice": lambda a, k: a[k % 2 :: 1 + k % 3],
    "last axis": lambda a, k: a[..., k % 2 :: 1 + k % 2],
    "backwards": lambda a, k: a[..., ::-1],
    "column": lambda a, k: a[..., k % a.shape[-1]],
    "new axis": lambda a, k: a[:, None] if k % 2 else a[None],
    "T": lambda a, k: a.T,
    "mT": lambda a, k: a.mT if a.ndim > 1 else a.T,
    "transpose": lambda a, k: np.transpose(a, np.roll(np.arange(a.ndim), k)),
    "swapaxes": lambda a, k: np.swapaxes(a, 0, -1),
    "moveaxis": lambda a, k: np.moveaxis(a, k % a.ndim, 0),
    "rollaxis": lambda a, k: np.rollaxis(a, a.ndim - 1),
    "reshape": lambda a, k: a.reshape(-1),
    "reshape F": lambda a, k: a.reshape(-1, order="F"),
    "reshape A": lambda a, k: np.reshape(a, (-1,), order="A"),
    "reshape copy": lambda a, k: np.reshape(a, (-1,), copy=True),
    "reshape halves": lambda a, k: a.reshape((2, -1) if k % 2 else (-1, 2)) if a.size % 2 == 0 else a.reshape(1, -1),
    "reshape row": lambda a, k: a.reshape((1, *a.shape)),
    "ravel": lambda a, k: np.ravel(a),
    "ravel F": lambda a, k: a.ravel(order="F"),
    "ravel A": lambda a, k: a.ravel(order="A"),
    "ravel K": lambda a, k: a.ravel(order="K"),
    "flatten": lambda a, k: a.flatten(order="CFAK"[k % 4]),
    "squeeze": lambda a, k: np.squeeze(a),
    "expand_dims": lambda a, k: np.expand_dims(a, k % (a.ndim + 1)),
    "atleast": lambda a, k: np.atleast_3d(a) if k % 2 else np.atleast_2d(a),
    "split": lambda a, k: np.array_split(a, 2)[k % 2],
    "split last": lambda a, k: np.array_split(a, 2, axis=-1)[k % 2],
    "hsplit": lambda a, k: np.hsplit(a, [1])[k % 2],
    "unpack": lambda a, k: list(a)[k % len(a)] if a.ndim > 1 else a,
    "flip": lambda a, k: np.flip(a, k % a.ndim),
    "rot90": lambda a, k: np.rot90(matrix(a), k),
    "diagonal": lambda a, k: np.diagonal(matrix(a), k % 3 - 1),
    "diag": lambda a, k: np.diag(a, k % 3 - 1) if a.ndim in (1, 2) else a.diagonal(),
    "linalg.diagonal": lambda a, k: np.linalg.diagonal(matrix(a)),
    "einsum diagonal": lambda a, k: np.einsum("ii...->i...", square(a)),
    "einsum": lambda a, k: np.einsum("...i->i...", a),
    "broadcast_to": lambda a, k: np.broadcast_to(a, (2, *a.shape) if k % 2 else a.shape),
    "broadcast_arrays": lambda a, k: np.broadcast_arrays(a, np.zeros((2,) + (1,) * a.ndim))[0],
    "broadcast same": lambda a, k: np.broadcast_arrays(a, np.zeros(a.shape))[0],
    "meshgrid": lambda a, k: np.meshgrid(np.ravel(a), np.zeros(2), copy=k % 2 == 0, sparse=k % 4 == 3)[0],
    "windows": lambda a, k: windows(a, min(2, len(a)), axis=0),
    "real": lambda a, k: a.real,
    "conj": lambda a, k: a.conj(),
    "imag": lambda a, k: np.imag(a) + 0.0,
    "view": lambda a, k: a.view(),
    "ellipsis": lambda a, k: a[...],
    "copy": lambda a, k: a.copy(order="CFAK"[k % 4]),
    "np.copy": lambda a, k: np.copy(a),
    "astype": lambda a, k: a.astype(float, copy=k % 2 == 0),
    "flat": lambda a, k: a.flat[k % 2 :],
    "gather": lambda a, k: a[[k % len(a), 0]],
    "gather last": lambda a, k: a[..., [0, -1]],
    "double": lambda a, k: a * 2.0,
    "add": lambda a, k: a + np.ones(a.shape[-1]),
    "sum": lambda a, k: np.sum(a, axis=k % a.ndim, keepdims=a.ndim == 1),
    "where": lambda a, k: np.where(np.arange(a.shape[-1]) % 2, a, -a),
    "join": lambda a, k: np.concatenate([a, a * 0.5], axis=k % a.ndim),
    "like": lambda a, k: np.zeros_like(a) if k % 2 else np.full_like(a, 0.5),
    "roll": lambda a, k: np.roll(a, 1, axis=0),
    "cumsum": lambda a, k: np.cumsum(a, axis=0),
    "tile": lambda a, k: np.tile(a, 2),
    "repeat": lambda a, k: np.repeat(a, 1 + k % 2, axis=0),
    "sort": lambda a, k: np.sort(a, axis=0),
    "clip": lambda a, k: np.clip(a, -50.0, 50.0),
    "matmul": lambda a, k: np.matmul(np.ones((2, len(a))), a) if a.ndim == 2 else +a,
}
WRITES = {
    "all": lambda a, v, k: a.__setitem__(..., v),
    "first": lambda a, v, k: a.__setitem__(0, v * 0.5),
    "some": lambda a, v, k: a.__setitem__(slice(None, None, 2), v * v),
    "by list": lambda a, v, k: a.__setitem__([k % len(a), 0], v),
    "by mask": lambda a, v, k: a.__setitem__(np.arange(len(a)) % 2 == 0, v),
    "add": lambda a, v, k: a.__iadd__(v),
    "multiply": lambda a, v, k: a.__imul__(v * 0.7),
    "element": lambda a, v, k: a.__setitem__((k % a.shape[0],) + (0,) * (a.ndim - 1), v),
    "fill": lambda a, v, k: a.fill(v),
    "out": lambda a, v, k: np.multiply(a, v, out=a),
    "put": lambda a, v, k: np.put(a, [0, a.size - 1], v),
    "flat": lambda a, v, k: a.flat.__setitem__(slice(k % 2, None, 2), v * v),
    "copyto": lambda a, v, k: np.copyto(a, v),
    "sort": lambda a, v, k: a.sort(axis=0),
}


def owner(a):
    if isinstance(a, Tracer):
        while hasattr(a, "_base"):
            a = a._base[0]
        return a
    while getattr(a, "base", None) is not None:
        a = a.base
    return a


def play(steps, x, facts=None):
    """Follow the steps from one array; the result depends on every array that was made.

    `facts` takes down which arrays have the same owner, and which could not be written to.
    """
    arrays, refused = [x * 1.0], []
    for number, (kind, name, which, k) in enumerate(steps):
        a = arrays[which % len(arrays)]
        if a.ndim == 0 or a.size == 0 or a.ndim > 4 or a.size > 200:
            continue
        if kind == "view":
            arrays.append(STEPS[name](a, k))
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", DeprecationWarning)  # NumPy's word for what will be read-only
                WRITES[name](a, x[0, k % 4] + 0.0937 * k, k)
        except (ValueError, DeprecationWarning) as problem:
            if not re.search("read-only|broadcast_arrays", str(problem)):
                raise
            refused.append(number)
    if facts is not None:
        owners = [owner(a) if a.ndim else None for a in arrays]
        facts[:] = refused, [[p is q for q in owners] for p in owners if p is not None]
    return sum(np.sum(np.cos(0.3 * np.arange(a.size)).reshape(a.shape) * a * (1 + 0.1 * a)) for a in arrays)


views = st.tuples(st.just("view"), st.sampled_from(sorted(STEPS)), st.integers(0, 5), st.integers(0, 6))
writes = st.tuples(st.just("write"), st.sampled_from(sorted(WRITES)), st.integers(0, 5), st.integers(0, 6))
chains = st.lists(views | views | writes, min_size=2, max_size=8)
X = 0.7 + 0.5 * np.sin(np.arange(12.0) ** 2).reshape(3, 4)
V = np.cos(np.arange(12.0)).reshape(3, 4)


def in_scan(f, x):
    return ad.scan(lambda c, t: (c + f(t), None), 0.0, x[None])[0]


def in_fori_loop(f, x):
    return ad.fori_loop(0, 1, lambda i, c: c + f(x), 0.0)


def in_carry(f, x):
    return ad.fori_loop(0, 1, lambda i, c: (c[0], f(c[0])), (x, 0.0))[1]


def in_while_loop(f, x):
    return ad.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, c[1] + f(x)), (0, 0.0))[1]


MODES = {
    "grad": lambda f, x: ad.value_and_grad(f)(x),
    "jvp": lambda f, x: ad.jvp(f, (x,), (V,)),
    "jet": lambda f, x: (lambda z: (z[0], z[1][0]))(ad.jet(f, (x,), [[V]])),
    "vmap": lambda f, x: [part[1] for part in ad.vmap(ad.value_and_grad(f))(np.stack([x + 0.1, x]))],
    "grad of vmap": lambda f, x: ad.value_and_grad(lambda y: ad.vmap(f)(np.stack([x + 0.1, y]))[1])(x),
    "jit": lambda f, x: (ad.jit(f)(x), ad.jit(ad.grad(f))(x)),
    "vmap of jit": lambda f, x: [part[1] for part in ad.vmap(ad.value_and_grad(ad.jit(f)))(np.stack([x + 0.1, x]))],
    "map": lambda f, x: ad.value_and_grad(lambda x: ad.map(f, x[None])[0])(x),
    "scan": lambda f, x: ad.value_and_grad(lambda x: in_scan(f, x))(x),
    "fori_loop": lambda f, x: ad.value_and_grad(lambda x: in_fori_loop(f, x))(x),
    "carry": lambda f, x: ad.value_and_grad(lambda x: in_carry(f, x))(x),
    "while_loop": lambda f, x: ad.jvp(lambda x: in_while_loop(f, x), (x,), (V,)),
    "cond": lambda f, x: ad.value_and_grad(lambda x: ad.cond(x[0, 0] > -1.0, f, lambda x: 0.0, x))(x),
    "jit of scan": lambda f, x: (ad.jit(lambda x: in_scan(f, x))(x), ad.jit(ad.grad(lambda x: in_scan(f, x)))(x)),
}


def check(mode, steps) -> None:
    wanted_facts, facts = [], []
    value = play(steps, X, wanted_facts)
    slope = (play(steps, X + 1e-5 * V) - play(steps, X - 1e-5 * V)) / 2e-5
    if "jit" in mode:  # a function that changes `facts` would not be compiled
        ad.trace(lambda x: play(steps, x, facts))(X)
    got, derivative = MODES[mode](lambda x: play(steps, x, None if "jit" in mode else facts), X)
    assert facts == wanted_facts
    np.testing.assert_allclose(got, value, rtol=1e-10, atol=1e-10)
    derivative = np.sum(derivative * V) if np.shape(derivative) else derivative
    np.testing.assert_allclose(derivative, slope, rtol=1e-5, atol=1e-5 * (1 + abs(value)))


@pytest.mark.parametrize("mode", MODES)
def test_views_are_numpys(mode) -> None:
    compiled = "jit" in mode

    @settings(max_examples=3 if compiled else 10)
    @given(chains)
    def run(steps) -> None:
        check(mode, steps)

    run()


def by_differences(f, x):
    steps = 1e-6 * np.eye(x.size).reshape(-1, *x.shape)
    return np.array([(f(x + h) - f(x - h)) / 2e-6 for h in steps]).reshape(x.shape)


SMALL = np.array([[1.0, 2.0], [3.0, 4.0]])
EAGER_AND_COMPILED = ("grad", "jit", "map", "scan", "fori_loop", "vmap", "cond")


def compare(f, modes=EAGER_AND_COMPILED) -> None:
    value, gradient = f(SMALL), by_differences(f, SMALL)
    for mode in modes:
        got, derivative = MODES[mode](f, SMALL)
        np.testing.assert_allclose(got, value, rtol=1e-12, err_msg=mode)
        np.testing.assert_allclose(derivative, gradient, rtol=1e-6, atol=1e-6, err_msg=mode)


def test_a_reshaped_view_sees_what_is_written_later() -> None:
    def f(x):
        y = x * 1.0
        v = y[1:].reshape(-1)
        y[1] = x[0] ** 2
        return np.sum(v * v)

    assert f(SMALL) == 17.0
    compare(f)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(SMALL), [[4.0, 32.0], [0.0, 0.0]])


def test_a_diagonal_sees_what_is_written_later() -> None:
    def f(x):
        y = x * 1.0
        d = np.diagonal(y)
        y[0, 0] = x[0, 1] ** 2
        return np.sum(d)

    assert f(SMALL) == 8.0
    compare(f)
    np.testing.assert_allclose(ad.grad(f)(SMALL), [[0.0, 4.0], [0.0, 1.0]])


@pytest.mark.parametrize(
    "make",
    [
        np.diagonal,
        np.diag,
        np.linalg.diagonal,
        lambda y: np.broadcast_to(y, (3, 2, 2)),
        lambda y: np.broadcast_to(y, y.shape),
        lambda y: windows(y, 2, axis=0),
        lambda y: np.diagonal(y)[::-1],
        np.imag,
    ],
)
def test_read_only_views_refuse_as_numpys(make) -> None:
    def f(x):
        v = make(x * 1.0)
        v[0] = 5.0
        return np.sum(v)

    for call in (f, ad.grad(f), ad.jit(f), lambda x: ad.map(f, x[None])):
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            call(SMALL)


def test_rows_at_positions_that_are_not_known_yet_are_views() -> None:
    def step(i, c, x):
        y = c * 1.0
        row, column, block = y[i], y[:, i], y[None, i]
        y[i] = x[0] ** 2
        row[0] = row[1] * 0.5
        column *= 0.5
        y[i] += 1.0
        y[i, 1] *= 3.0
        block.ravel()[1] -= x[1, 1]
        return y + np.sum(row * column) / 10.0

    def loop(x):
        return np.sum(ad.fori_loop(0, 2, lambda i, c: step(i, c, x), x) ** 2) / 100.0

    def plain(x):
        return np.sum(step(1, step(0, x, x), x) ** 2) / 100.0

    assert loop(SMALL) == pytest.approx(plain(SMALL), rel=1e-12)
    expected = by_differences(plain, SMALL)
    for gradient in (ad.grad(loop), ad.jit(ad.grad(loop)), lambda x: ad.vmap(ad.grad(loop))(x[None])[0]):
        np.testing.assert_allclose(gradient(SMALL), expected, rtol=1e-6)

"""Wrong arguments of every operation: a traced call raises where NumPy raises, and works where NumPy works."""

import numpy as np
import pytest

import adjoint as ad

X, FOUR = np.array([1.0, 2.0, 3.0]), np.arange(1.0, 5.0)
WIDE, TALL, SQUARE = np.ones((2, 3)), np.ones((3, 4)), np.eye(3) + 0.1
windows = np.lib.stride_tricks.sliding_window_view


def written(x, index, value):
    y = x * 1.0
    y[index] = value
    return y


def added(x, value):
    y = x * 1.0
    y += value
    return y


def added_at(x, *args):
    y = x * 1.0
    np.add.at(y, *args)
    return y


# All of x: float64[3]. Most are wrong; some are right and stand beside a wrong one.
CALLS = {
    # pointwise
    "add": lambda x: x + FOUR,
    "multiply": lambda x: np.multiply(x, TALL),
    "maximum": lambda x: np.maximum(x, FOUR),
    "logaddexp": lambda x: np.logaddexp(x, FOUR),
    "where": lambda x: np.where(np.ones(4, bool), x, 0.0),
    "clip": lambda x: np.clip(x, FOUR, None),
    "select": lambda x: np.select([np.ones(4, bool)], [x]),
    "select, too many": lambda x: np.select([x > 0], [x, x]),
    "add in place": lambda x: added(x, FOUR),
    "add in place, wider": lambda x: added(x, SQUARE),
    "out": lambda x: np.add(x, x, out=FOUR * x[0]),
    "too few": lambda x: np.arctan2(x),
    "too many": lambda x: np.sin(x, x, x, x),
    "keyword": lambda x: np.sin(x, wrong=1),
    "bits": lambda x: x & x,
    "invert": lambda x: ~x,
    "shift": lambda x: x << 1,
    "ldexp": lambda x: np.ldexp(x, x),
    "gcd": lambda x: np.gcd(x, x),
    "truth": lambda x: x if x else -x,
    "remainder by zero": lambda x: x % np.float64(2.0),
    "cast": lambda x: x.astype(int, casting="safe"),
    # products
    "matmul": lambda x: x @ FOUR,
    "matmul, matrix": lambda x: WIDE @ x[:2],
    "matmul, number": lambda x: x @ np.float64(2.0),
    "dot": lambda x: np.dot(TALL, x),
    "vdot": lambda x: np.vdot(x, FOUR),
    "inner": lambda x: np.inner(x, FOUR),
    "outer": lambda x: np.outer(x, FOUR),
    "kron": lambda x: np.kron(x, FOUR),
    "cross": lambda x: np.cross(x, FOUR),
    "vecdot": lambda x: np.vecdot(x, FOUR),
    "matvec": lambda x: np.matvec(x, X) if hasattr(np, "matvec") else x @ FOUR,
    "tensordot": lambda x: np.tensordot(x, TALL, axes=([0], [1])),
    "einsum": lambda x: np.einsum("i,i->", x, FOUR),
    "einsum, axes": lambda x: np.einsum("ij->", x),
    "einsum, output": lambda x: np.einsum("i->j", x),
    "multi_dot": lambda x: np.linalg.multi_dot([x, WIDE, x]),
    "convolve": lambda x: np.convolve(x[:0], X),
    "correlate": lambda x: np.correlate(x, X[:0]),
    # shapes
    "reshape": lambda x: x.reshape(2, 2),
    "reshape, unknown": lambda x: np.reshape(x, (-1, 2)),
    "reshape, two unknown": lambda x: x.reshape(-1, -1),
    "ravel": lambda x: np.ravel(x, order="Z"),
    "broadcast_to": lambda x: np.broadcast_to(x, (3, 2)),
    "broadcast_to, right": lambda x: np.broadcast_to(x, (2, 3)),
    "transpose": lambda x: np.transpose(x, (1, 0)),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, 2),
    "expand_dims": lambda x: np.expand_dims(x, 5),
    "squeeze": lambda x: np.squeeze(x, axis=0),
    "concatenate": lambda x: np.concatenate([x, TALL]),
    "concatenate, rows": lambda x: np.concatenate([x[None], FOUR[None]], axis=0),
    "append": lambda x: np.append(x[None], TALL, axis=0),
    "stack": lambda x: np.stack([x, FOUR]),
    "stack, axis": lambda x: np.stack([x, x], axis=3),
    "vstack": lambda x: np.vstack([x, FOUR]),
    "hstack": lambda x: np.hstack([x, TALL]),
    "column_stack": lambda x: np.column_stack([x, FOUR]),
    "block": lambda x: np.block([[x], [FOUR]]),
    "split": lambda x: np.split(x, 2)[0],
    "array_split": lambda x: np.array_split(x, 0)[0],
    "pad": lambda x: np.pad(x, ((1, 1), (1, 1))),
    "pad, negative": lambda x: np.pad(x, -1),
    "tile, negative": lambda x: np.tile(x, -1),
    "repeat": lambda x: np.repeat(x, [1, 2]),
    "repeat, negative": lambda x: np.repeat(x, -1),
    "resize, negative": lambda x: np.resize(x, (-1,)),
    "flip": lambda x: np.flip(x, 1),
    "roll": lambda x: np.roll(x, 1, axis=1),
    "rot90": lambda x: np.rot90(x),
    "windows": lambda x: windows(x, 5),
    "insert": lambda x: np.insert(x, 9, 1.0),
    "delete": lambda x: np.delete(x, 9),
    "diagonal": lambda x: np.diagonal(x),
    "trace": lambda x: np.trace(x),
    "diag": lambda x: np.diag(x[None, None]),
    "meshgrid": lambda x: np.meshgrid(x, FOUR)[0],
    # reductions
    "sum": lambda x: np.sum(x, axis=1),
    "sum, twice": lambda x: np.sum(x, axis=(0, 0)),
    "sum, text": lambda x: np.sum(x, axis="0"),
    "sum, fraction": lambda x: np.sum(x, axis=0.0),
    "sum, where": lambda x: np.sum(x, where=np.ones(4, bool)),
    "sum, keyword": lambda x: np.sum(x, wrong=1),
    "mean": lambda x: np.mean(x, axis=-2),
    "prod": lambda x: np.prod(x, axis=3),
    "max": lambda x: np.max(x, axis=1),
    "max of nothing": lambda x: np.max(x[:0]),
    "nanmax of nothing": lambda x: np.nanmax(x[:0]),
    "argsort": lambda x: np.argsort(x, axis=1) * x,
    "var": lambda x: np.var(x, axis=1),
    "ptp": lambda x: np.ptp(x, axis=1),
    "median": lambda x: np.median(x, axis=1),
    "quantile": lambda x: np.quantile(x, 1.5),
    "percentile": lambda x: np.percentile(x, -1),
    "average": lambda x: np.average(x, weights=FOUR),
    "cov": lambda x: np.cov(x, FOUR),
    "cumsum": lambda x: np.cumsum(x, axis=1),
    "cumprod": lambda x: np.cumprod(x, axis=2),
    "nancumsum": lambda x: np.nancumsum(x, axis=1),
    "diff": lambda x: np.diff(x, axis=1),
    "diff, negative": lambda x: np.diff(x, n=-1),
    "gradient": lambda x: np.gradient(x[:1]),
    "trapezoid": lambda x: np.trapezoid(x, FOUR),
    "interp": lambda x: np.interp(x, X, FOUR),
    "sort": lambda x: np.sort(x, axis=1),
    "partition": lambda x: np.partition(x, 7),
    "argpartition": lambda x: np.argpartition(x, 7) * x,
    "lexsort": lambda x: np.lexsort((x, FOUR)) * 1.0,
    "searchsorted": lambda x: np.searchsorted(SQUARE, x) * x,
    "unwrap": lambda x: np.unwrap(x, axis=1),
    "add.reduce": lambda x: np.add.reduce(x, axis=1),
    "add.accumulate": lambda x: np.add.accumulate(x, axis=1),
    "add.reduceat": lambda x: np.add.reduceat(x, [5]),
    "add.at": lambda x: added_at(x, [7], 1.0),
    "add.at, right": lambda x: added_at(x, [1, 1], 1.0),
    "fft, length": lambda x: np.fft.fft(x, n=0),
    "fft, axis": lambda x: np.fft.fft(x, axis=1),
    # indices
    "index": lambda x: x[3],
    "index, negative": lambda x: x[-4],
    "index, too many": lambda x: x[0, 0],
    "index, list": lambda x: x[[0, 5]],
    "index, mask": lambda x: x[np.ones(4, bool)],
    "index, fraction": lambda x: x[1.0],
    "index, text": lambda x: x["a"],
    "index, step": lambda x: x[::0],
    "take": lambda x: np.take(x, 7),
    "take, axis": lambda x: np.take(x, 0, axis=1),
    "take_along_axis": lambda x: np.take_along_axis(x, np.zeros((1, 1), int), 0),
    "choose": lambda x: np.choose([0, 3, 1], [x, x]),
    "compress": lambda x: np.compress([1, 0, 0, 1], x),
    "write": lambda x: written(x, 5, 1.0),
    "write, shape": lambda x: written(x, slice(0, 2), x),
    "write, all": lambda x: written(x, ..., FOUR),
    "write, right": lambda x: written(x, slice(0, 2), x[1:]),
    "length of a number": lambda x: x * len(x[0]),
    "parts of a number": lambda x: sum(x[0]),
    # matrices
    "solve": lambda x: np.linalg.solve(SQUARE, x[:2]),
    "solve, not square": lambda x: np.linalg.solve(WIDE, x[:2]),
    "solve, vector": lambda x: np.linalg.solve(x, x),
    "lstsq": lambda x: np.linalg.lstsq(x, X, rcond=None)[0],
    "inv": lambda x: np.linalg.inv(TALL * x[0]),
    "inv, singular": lambda x: np.linalg.inv(SQUARE * 0.0 * x[0]),
    "inv, vector": lambda x: np.linalg.inv(x),
    "pinv": lambda x: np.linalg.pinv(x),
    "det": lambda x: np.linalg.det(x),
    "slogdet": lambda x: np.linalg.slogdet(TALL * x[0])[1],
    "cholesky": lambda x: np.linalg.cholesky(x),
    "cholesky, not positive": lambda x: np.linalg.cholesky(-SQUARE * x[0]),
    "eigh": lambda x: np.linalg.eigh(x)[0],
    "eig": lambda x: np.linalg.eig(x)[0],
    "svd": lambda x: np.linalg.svd(x)[1],
    "qr": lambda x: np.linalg.qr(x)[1],
    "norm": lambda x: np.linalg.norm(x, axis=1),
    "norm, Frobenius": lambda x: np.linalg.norm(x, "fro"),
    "matrix_power": lambda x: np.linalg.matrix_power(x, 2),
    "matrix transpose": lambda x: x.mT,
}
LANES = {n: np.stack([X + 0.1 * k for k in range(n)]) for n in (1, 2, 3, 4)}
MODES = {
    "vjp": lambda f: ad.vjp(f, X),
    "jvp": lambda f: ad.jvp(f, (X,), (X,)),
    "jet": lambda f: ad.jet(f, (X,), ((X, X),)),
    # lanes must not pass for rows, whatever their number
    **{f"vmap of {n}": lambda f, n=n: ad.vmap(f)(LANES[n]) for n in LANES},
    "vjp of vmap": lambda f: ad.vjp(ad.vmap(f), LANES[3]),
}
# What goes wrong with values, not with shapes: a program finds it when it runs.
BY_VALUE = {
    *("index, list", "take", "choose", "compress", "inv, singular", "cholesky, not positive", "write", "add.at"),
    *("quantile", "percentile"),
}


def outcome(call):
    try:
        with np.errstate(all="ignore"):
            call()
    except Exception as problem:
        return problem
    return None


@pytest.mark.parametrize("name", CALLS)
def test_raises_where_numpy_does(name) -> None:
    f = CALLS[name]
    numpys = outcome(lambda: f(X.copy()))
    for mode, run in MODES.items():
        ours = outcome(lambda run=run: run(f))
        assert (ours is None) == (numpys is None), f"{mode}: NumPy {numpys!r}, here {ours!r}"
        if ours is not None:
            assert isinstance(ours, ValueError | TypeError | IndexError), f"{mode}: {ours!r}"
            assert str(ours)


@pytest.mark.parametrize("name", CALLS)
def test_programs_raise_where_numpy_does(name) -> None:
    """When it is traced, or, for values, when it runs."""
    f = CALLS[name]
    numpys = outcome(lambda: f(X.copy()))
    ours = outcome(lambda: ad.trace(f)(X))
    if name in BY_VALUE and ours is None:
        ours = outcome(lambda: ad.trace(f)(X)(X))
    assert (ours is None) == (numpys is None), f"NumPy {numpys!r}, here {ours!r}"


@pytest.mark.parametrize(
    "f, text",
    [
        (lambda x: x + FOUR, r"add: .*float64\[3\].*float64\[4\]"),
        (lambda x: np.maximum(x, FOUR), r"maximum: .*float64\[3\].*float64\[4\]"),
        (lambda x: x @ FOUR, r"matmul \(@\): .*3.*4"),
        (lambda x: np.einsum("i,i->", x, FOUR), r"einsum.*3.*4|einsum.*i"),
        (lambda x: np.linalg.inv(WIDE * x), r"inv: .*float64\[2,3\].*square"),
        (lambda x: np.linalg.svd(x), r"svd: .*float64\[3\].*two axes"),
    ],
)
def test_programs_name_the_operation_and_the_types(f, text) -> None:
    with pytest.raises(ValueError, match=text):
        ad.trace(f)(X)

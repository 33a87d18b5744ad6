"""One use of every function of NumPy that takes traced values, by subject: functions of a vector of four numbers.

`FUNCTIONS[subject][name]` is a function of x: four different numbers between 0.2 and 0.9.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sps

import adjoint as ad
import adjoint.numpy as anp
from adjoint.scipy import special
from tests.support.matrix_algebra import FIXED, FOURIER, LINEAR_ALGEBRA, PRODUCTS, Function, matrix, words


def written(write: Callable[[Any, Any], Any]) -> Function:
    """What an array of zeros holds after it was written into."""

    def f(x: Any) -> Any:
        z = anp.zeros((4, 4))
        write(z, x)
        return z

    return f


def _of_two(f: Callable[..., Any]) -> Function:
    return lambda x: f(x, x[::-1] * 1.1)


def _of_integers(f: Callable[..., Any]) -> Function:
    return lambda x: f(np.rint(12 * x).astype(int), [1, 2, 3, 0])


def _along_axes(f: Callable[..., Any]) -> Function:
    return lambda x: (f(matrix(x)), f(matrix(x), axis=0), f(matrix(x), axis=1))


UFUNCS: dict[str, Function] = {
    **{
        name: getattr(np, name)
        for name in words(
            "absolute arccos arcsin arcsinh arctan arctanh cbrt ceil conjugate cos cosh deg2rad degrees exp exp2 expm1 "
            "fabs floor isfinite isinf isnan log log10 log1p log2 logical_not negative positive rad2deg radians "
            "reciprocal rint sign signbit sin sinh spacing sqrt square tan tanh trunc"
        )
    },
    **{
        name: _of_two(getattr(np, name))
        for name in words(
            "add arctan2 copysign divide equal float_power floor_divide fmax fmin fmod greater greater_equal heaviside "
            "hypot less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum multiply "
            "nextafter not_equal power remainder subtract"
        )
    },
    "arccosh": lambda x: np.arccosh(1 + x),
    "ldexp": lambda x: np.ldexp(x, [1, 2, -1, 0]),
    "gcd": lambda x: np.gcd(np.rint(12 * x).astype(int), 6),
    "lcm": lambda x: np.lcm(np.rint(12 * x).astype(int), 6),
    "invert": lambda x: np.invert(np.rint(12 * x).astype(int)),
    "bitwise_count": lambda x: np.bitwise_count(np.rint(12 * x).astype(int)),
    **{
        name: _of_integers(getattr(np, name))
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
    },
    "divmod": lambda x: np.divmod(x, 0.2),
    "modf": lambda x: np.modf(3 * x),
    "frexp": lambda x: np.frexp(3 * x),
    "vecdot": lambda x: np.vecdot(matrix(x), x),
    "matmul": lambda x: (matrix(x) @ x, x @ matrix(x), matrix(x) @ matrix(x).T),
    "reduce": lambda x: np.multiply.reduce(matrix(x), axis=1),
    "accumulate": lambda x: np.add.accumulate(matrix(x), axis=1),
    "ufunc.outer": lambda x: np.subtract.outer(x, x[1:]),
    "ufunc.at": written(lambda z, x: np.add.at(z, ([0, 1, 0, 3],), x[:, None])),
    "where=": lambda x: np.sin(x, where=np.array([True, False, True, True]), out=anp.zeros(4)),
}

ELEMENTS: dict[str, Function] = {
    "angle": lambda x: np.angle(x + 1j * x[::-1]),
    "around": lambda x: np.around(x, 1),
    "round": lambda x: np.round(10 * x),
    "clip": lambda x: (np.clip(x, 0.4, 0.7), np.clip(x, x[::-1], None), np.clip(x, None, 0.5)),
    "fix": lambda x: np.fix(3 * x),
    "i0": lambda x: np.i0(x),
    "imag": lambda x: np.imag(x * (1 + 2j)),
    "real": lambda x: np.real(x * (1 + 2j)),
    "real_if_close": lambda x: np.real_if_close(x),
    "interp": lambda x: np.interp([0.1, 0.5, 0.7], np.cumsum(x) / 3, x),
    "isclose": lambda x: np.isclose(x, 0.47),
    "iscomplex": lambda x: np.iscomplex(x),
    "isreal": lambda x: np.isreal(x),
    "isneginf": lambda x: np.isneginf(x),
    "isposinf": lambda x: np.isposinf(x),
    "nan_to_num": lambda x: np.nan_to_num(np.where(x > 0.5, np.nan, x)),
    "piecewise": lambda x: np.piecewise(x, [x < 0.4, x > 0.6], [np.sin, lambda y: y**2, 0.3]),
    "select": lambda x: np.select([x < 0.4, x > 0.6], [np.sin(x), x**2], 0.3),
    "choose": lambda x: np.choose([0, 1, 1, 0], [x, x**2]),
    "sinc": lambda x: np.sinc(x),
    "unwrap": lambda x: np.unwrap(9 * x),
    "where": lambda x: (np.where(x > 0.5, x, x**2), np.where(matrix(x) > 1, x, 0)),
    "vander": lambda x: np.vander(x, 3),
    "polyval": lambda x: np.polyval(x, x[0]),
    "polyadd": lambda x: np.polyadd(x, x[1:]),
    "polysub": lambda x: np.polysub(x, x[1:]),
    "polymul": lambda x: np.polymul(x, x[1:]),
    "polyder": lambda x: np.polyder(x),
    "polyint": lambda x: np.polyint(x),
    "polyfit": lambda x: np.polyfit(np.arange(4.0), x, 2),
    "poly": lambda x: np.poly(x),
    "complex arithmetic": lambda x: np.abs((x + 2j * x[::-1]) * np.exp(1j * x) / (1 + 1j * x)) + np.real(1j**x),
    "integers": lambda x: np.rint(12 * x).astype(int) % 5 // 2,
}

SINGLE: dict[str, Function] = {
    "astype": lambda x: np.astype(x, np.float32) ** 2,
    "float32": lambda x: np.sin(x.astype(np.float32)) * 2.5,
    "matrices": lambda x: np.linalg.solve(matrix(x).astype(np.float32), x.astype(np.float32)),
    "mixed": lambda x: np.sum(np.exp(x.astype(np.float32)) * x[:, None], axis=0),
    "complex64": lambda x: np.cumprod(x.astype(np.complex64) * 1j),
    "float16": lambda x: np.tanh(x.astype(np.float32)).astype(np.float16).astype(np.float32),
}

REDUCTIONS: dict[str, Function] = {
    **{
        name: _along_axes(getattr(np, name))
        for name in words(
            "all any argmax argmin count_nonzero mean median nanargmax nanargmin nanmax nanmean nanmedian nanmin "
            "nanprod nanstd nansum nanvar prod ptp std sum var"
        )
    },
    "max": lambda x: (np.max(matrix(x)), np.max(matrix(x), axis=0, keepdims=True), np.max(x, initial=0.5)),
    "min": lambda x: (
        np.min(matrix(x)),
        np.min(matrix(x), axis=1, keepdims=True),
        np.min(x, where=x > 0.4, initial=1),
    ),
    "average": lambda x: (np.average(matrix(x), axis=0, weights=x), np.average(x)),
    "quantile": lambda x: np.quantile(matrix(x), [0.2, 0.5], axis=0),
    "nanquantile": lambda x: np.nanquantile(x, 0.3),
    "percentile": lambda x: np.percentile(matrix(x), 30, axis=1),
    "nanpercentile": lambda x: np.nanpercentile(x, 40),
    "cumprod": lambda x: (np.cumprod(matrix(x), axis=0), np.cumprod(x * 1j)),
    "cumsum": lambda x: (np.cumsum(matrix(x), axis=1), np.cumsum(matrix(x)), np.cumsum(x * 1j)),
    "cumulative_prod": lambda x: np.cumulative_prod(x, include_initial=True),
    "cumulative_sum": lambda x: np.cumulative_sum(x, include_initial=True),
    "maximum.accumulate": lambda x: (np.maximum.accumulate(x), np.minimum.accumulate(matrix(x), axis=1)),
    "nancumprod": lambda x: np.nancumprod(x),
    "nancumsum": lambda x: np.nancumsum(matrix(x), axis=0),
    "corrcoef": lambda x: np.corrcoef(matrix(x)),
    "cov": lambda x: np.cov(matrix(x)),
    "trapezoid": lambda x: (np.trapezoid(x, dx=0.3), np.trapezoid(matrix(x), np.cumsum(x), axis=0)),
    "diff": lambda x: (np.diff(x), np.diff(matrix(x), n=2, axis=0)),
    "ediff1d": lambda x: np.ediff1d(x),
    "gradient": lambda x: (np.gradient(x), np.gradient(matrix(x), axis=0)),
    "linalg.norm": lambda x: (np.linalg.norm(x), np.linalg.norm(matrix(x), axis=1), np.linalg.norm(x, 3)),
    "linalg.vector_norm": lambda x: (np.linalg.vector_norm(x, ord=1), np.linalg.vector_norm(x, ord=np.inf)),
    "logsumexp": lambda x: (special.logsumexp(x), special.logsumexp(matrix(x), axis=1), special.softmax(x)),
    "log_softmax": lambda x: special.log_softmax(matrix(x), axis=0),
    "sum of where": lambda x: np.sum(matrix(x), axis=0, where=matrix(x) > 0),
    "var of ddof": lambda x: np.var(matrix(x), axis=(0, 1), ddof=1),
}

ORDER: dict[str, Function] = {
    "argpartition": lambda x: np.argpartition(x, 2)[2],
    "argsort": lambda x: np.argsort(x),
    "sort": lambda x: (np.sort(x), np.sort(matrix(x), axis=0)),
    "sort_complex": lambda x: np.sort_complex(x),
    "lexsort": lambda x: np.lexsort((x, np.array([1, 0, 1, 0]))),
    "partition": lambda x: np.partition(x, 1)[1],
    "searchsorted": lambda x: np.searchsorted(np.cumsum(x), [0.5, 1.5]),
    "digitize": lambda x: np.digitize(x, [0.4, 0.6]),
    "isin": lambda x: np.isin(x, [0.47, 0.82]),
    "bincount": lambda x: np.bincount([0, 2, 2, 1], weights=x),
    "take_along_axis": lambda x: np.take_along_axis(matrix(x), np.argsort(matrix(x), axis=0), axis=0),
}

# Their shapes or dtypes depend on values: Python is told, and a compiled program holds while the answer is the same.
SHAPES_BY_VALUE: dict[str, Function] = {
    "argwhere": lambda x: np.argwhere(x > 0.5),
    "flatnonzero": lambda x: np.flatnonzero(x > 0.5),
    "nonzero": lambda x: np.nonzero(x > 0.5),
    "unique": lambda x: np.unique(x),
    "unique_all": lambda x: np.unique_all(x).values,
    "unique_counts": lambda x: np.unique_counts(x).values,
    "unique_inverse": lambda x: np.unique_inverse(x).values,
    "unique_values": lambda x: np.unique_values(x),
    "union1d": lambda x: np.union1d(x, x[:2] * 2),
    "setdiff1d": lambda x: np.setdiff1d(x, x[:2]),
    "lib.scimath.sqrt": lambda x: np.emath.sqrt(2 + x),
    "lib.scimath.log": lambda x: np.emath.log(2 + x),
    "lib.scimath.log2": lambda x: np.emath.log2(2 + x),
    "lib.scimath.log10": lambda x: np.emath.log10(2 + x),
    "lib.scimath.logn": lambda x: np.emath.logn(3, 2 + x),
    "lib.scimath.power": lambda x: np.emath.power(2 + x, 1.5),
    "lib.scimath.arcsin": lambda x: np.emath.arcsin(x / 4),
    "lib.scimath.arccos": lambda x: np.emath.arccos(x / 4),
    "lib.scimath.arctanh": lambda x: np.emath.arctanh(x / 4),
    "intersect1d": lambda x: np.intersect1d(x, x[:2]),
    "setxor1d": lambda x: np.setxor1d(x, x[:2]),
    "extract": lambda x: np.extract(x > 0.5, x),
    "compress": lambda x: np.compress(x > 0.5, x),
    "trim_zeros": lambda x: np.trim_zeros(np.where(x > 0.4, x, 0.0)),
    "boolean index": lambda x: x[x > 0.5] ** 2,
    "place": written(lambda z, x: np.place(z, FIXED > 1, x)),
    "geomspace": lambda x: np.geomspace(x[0], x[1], 4),
    "linalg.matrix_rank": lambda x: np.linalg.matrix_rank(matrix(x)),
    "array_equal": lambda x: x * np.array_equal(x, x),
    "allclose": lambda x: x * np.allclose(x, x),
    "array_equiv": lambda x: x * np.array_equiv(x, x),
}

SHAPES: dict[str, Function] = {
    "append": lambda x: np.append(x, x[:2]),
    "apply_along_axis": lambda x: np.apply_along_axis(lambda r: r * r[0], 1, matrix(x)),
    "apply_over_axes": lambda x: np.apply_over_axes(np.sum, matrix(x), [0]),
    "array_split": lambda x: tuple(np.array_split(x, 3)),
    "atleast_1d": lambda x: np.atleast_1d(x[0]),
    "atleast_2d": lambda x: np.atleast_2d(x),
    "atleast_3d": lambda x: np.atleast_3d(x),
    "block": lambda x: np.block([[matrix(x), x[:, None]], [x, x[0]]]),
    "broadcast_arrays": lambda x: tuple(np.broadcast_arrays(x, x[:, None])),
    "broadcast_to": lambda x: np.broadcast_to(x, (3, 4)),
    "column_stack": lambda x: np.column_stack([x, x**2]),
    "concatenate": lambda x: np.concatenate([x, x**2, [1.0]]),
    "copy": lambda x: np.copy(x),
    "delete": lambda x: np.delete(x, [1, 3]),
    "diag": lambda x: (np.diag(x), np.diag(matrix(x), 1)),
    "diag_indices_from": lambda x: matrix(x)[np.diag_indices_from(matrix(x))],
    "diagflat": lambda x: np.diagflat(x[:2], 1),
    "diagonal": lambda x: np.diagonal(matrix(x), 1),
    "dsplit": lambda x: tuple(np.dsplit(np.reshape(x, (1, 2, 2)), 2)),
    "dstack": lambda x: np.dstack([x, x**2]),
    "expand_dims": lambda x: np.expand_dims(x, (0, 2)),
    "flip": lambda x: np.flip(matrix(x)),
    "fliplr": lambda x: np.fliplr(matrix(x)),
    "flipud": lambda x: np.flipud(matrix(x)),
    "full_like": lambda x: np.full_like(x, 2.0) * x,
    "empty_like": lambda x: np.empty_like(x).shape[0] * x,
    "zeros_like": lambda x: np.zeros_like(x) + x,
    "ones_like": lambda x: np.ones_like(x) * x,
    "hsplit": lambda x: tuple(np.hsplit(matrix(x), 2)),
    "hstack": lambda x: np.hstack([x, x**2]),
    "insert": lambda x: np.insert(x, [1, 3], x[:2] ** 2),
    "ix_": lambda x: matrix(x)[np.ix_([0, 2], [1, 3])],
    "linspace": lambda x: np.linspace(x[0], x[1], 5),
    "logspace": lambda x: np.logspace(x[0], x[1], 3),
    "matrix_transpose": lambda x: np.matrix_transpose(matrix(x)),
    "meshgrid": lambda x: tuple(np.meshgrid(x, x[:2])),
    "moveaxis": lambda x: np.moveaxis(np.reshape(matrix(x), (2, 2, 4)), 0, 2),
    "pad": lambda x: (np.pad(x, 2), np.pad(x, 2, mode="edge"), np.pad(x, 2, mode="reflect"), np.pad(x, 2, mode="wrap")),
    "ravel": lambda x: np.ravel(matrix(x), order="F"),
    "repeat": lambda x: (np.repeat(x, 2), np.repeat(x, [1, 0, 2, 1])),
    "reshape": lambda x: np.reshape(matrix(x), (8, 2)),
    "resize": lambda x: np.resize(x, (3, 2)),
    "roll": lambda x: (np.roll(x, 1), np.roll(matrix(x), (1, -1), axis=(0, 1))),
    "rollaxis": lambda x: np.rollaxis(matrix(x), 1),
    "rot90": lambda x: np.rot90(matrix(x)),
    "sliding_window_view": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2),
    "split": lambda x: tuple(np.split(x, [1, 3])),
    "squeeze": lambda x: np.squeeze(x[:, None]),
    "stack": lambda x: np.stack([x, x**2], axis=1),
    "swapaxes": lambda x: np.swapaxes(matrix(x), 0, 1),
    "take": lambda x: (np.take(x, [0, -1, 0]), np.take(matrix(x), [[1, 2]], axis=1)),
    "tile": lambda x: np.tile(x, (2, 2)),
    "transpose": lambda x: np.transpose(matrix(x)),
    "tril": lambda x: np.tril(matrix(x), -1),
    "tril_indices_from": lambda x: matrix(x)[np.tril_indices_from(matrix(x))],
    "triu": lambda x: np.triu(matrix(x)),
    "triu_indices_from": lambda x: matrix(x)[np.triu_indices_from(matrix(x))],
    "unstack": lambda x: np.unstack(matrix(x)),
    "vsplit": lambda x: tuple(np.vsplit(matrix(x), 2)),
    "vstack": lambda x: np.vstack([x, x**2]),
    "basic index": lambda x: matrix(x)[1:, ::-2],
    "fancy index": lambda x: (matrix(x)[[0, 3, 0]], matrix(x)[[0, 1], [2, 3]], matrix(x)[:, [1, 1]], x[..., None, [2]]),
    "fixed boolean index": lambda x: matrix(x)[FIXED > 0.4],
    "traced index": lambda x: (x[np.argmax(x)], matrix(x)[np.argsort(x)[:2]], x[np.floor(4 * x).astype(int)]),
}

WRITES: dict[str, Function] = {
    "copyto": written(lambda z, x: np.copyto(z, x, where=FIXED > 0.4)),
    "fill_diagonal": written(lambda z, x: np.fill_diagonal(z, x[0])),
    "put": written(lambda z, x: np.put(z, [1, 6, 9], x[:3])),
    "put_along_axis": written(lambda z, x: np.put_along_axis(z, np.array([[0, 1, 1, 3]]), x[None], 0)),
    "putmask": written(lambda z, x: np.putmask(z, FIXED > 0.4, x)),
    "slices": written(lambda z, x: (z.__setitem__((slice(1, 3), 0), x[:2]), z.__setitem__(slice(3, 4), x))),
    "index arrays": written(lambda z, x: z.__setitem__(([0, 2], [1, 1]), x[:2] ** 2)),
    "masks": written(lambda z, x: z.__setitem__(FIXED > 1, x)),
    "traced place": written(lambda z, x: z.__setitem__(np.argmax(x), x)),
    "sums in place": written(lambda z, x: (z.__iadd__(x), z[1].__imul__(x[0]), z[:, 2].__isub__(x))),
    "views": written(lambda z, x: z.T[1].__setitem__(slice(None), x)),
    "out=": written(lambda z, x: np.multiply(x, x[:, None], out=z)),
}

SPECIAL: dict[str, Function] = {
    **{
        name: getattr(sps, name)
        for name in words(
            "erf erfc erfcx erfinv erfcinv dawsn ndtr log_ndtr ndtri expit log_expit logit gamma gammaln psi rgamma "
            "j0 j1 i0 i1 i0e i1e y0 k0 k1 ellipk ellipe expi exp1 spence entr exprel cosm1"
        )
    },
    "xlogy": lambda x: sps.xlogy(x, 1.5),
    "xlog1py": lambda x: sps.xlog1py(x, x),
    "rel_entr": lambda x: sps.rel_entr(x, 1.5),
    "kl_div": lambda x: sps.kl_div(x, 1.5),
    "beta": lambda x: sps.beta(x, 1.5),
    "gammainc": lambda x: sps.gammainc(1.7, x),
    "betainc": lambda x: sps.betainc(1.7, 0.8, x),
    "jv": lambda x: sps.jv(1.7, x),
    "zeta": lambda x: sps.zeta(3.0, x),
    "polygamma": lambda x: special.polygamma(2, x),
    "multigammaln": lambda x: special.multigammaln(2 + x[0], 2),
    "boxcox": lambda x: sps.boxcox(x, 0.3),
    "huber": lambda x: sps.huber(0.5, x),
}


def draws(x: Any) -> Any:
    rng = ad.random.default_rng(3)
    return rng.normal(x, 0.3), rng.uniform(size=3) * x[0], rng.exponential(x), rng.gamma(2.0, x), rng.integers(0, 9, 3)


ruled = ad.custom_rule(jvp=lambda primals, tangents: (np.sin(primals[0]), np.cos(primals[0]) * tangents[0]))(np.sin)


FLOW: dict[str, Function] = {
    "scan": lambda x: ad.scan(lambda c, r: (np.tanh(c * r + x[0]), c[1]), x, matrix(x)),
    "scan in reverse": lambda x: ad.scan(lambda c, r: (c * r[0] + 1, c), x[0], matrix(x), reverse=True),
    "while_loop": lambda x: ad.while_loop(lambda c: np.sum(c) < 30, lambda c: 1.5 * c + x * x, x),
    "fori_loop": lambda x: ad.fori_loop(0, 5, lambda i, c: np.sin(c) * x + 0.1 * i, x),
    "cond": lambda x: (
        ad.cond(x[0] > 0.3, lambda x: np.sin(x), lambda x: x**2, x),
        ad.cond(x[0] > 0.4, lambda: x[0] * x, lambda: np.cos(x)),
    ),
    "switch": lambda x: ad.switch(np.argmax(x), [lambda x: x, lambda x: x**3, lambda x: -x], x),
    "map": lambda x: ad.map(lambda r: np.sum(r) * r, matrix(x)),
    "associative_scan": lambda x: ad.associative_scan(lambda a, b: a * b + 0.1 * a, matrix(x)),
    "loop in a branch": lambda x: ad.cond(
        np.sum(x) > 0, lambda x: ad.while_loop(lambda c: np.sum(c) < 30, lambda c: c * (1 + x[1]), x), np.sin, x
    ),
    "checkpoint": lambda x: ad.checkpoint(lambda x: np.sin(np.exp(x) * x))(x),
    "custom_rule": lambda x: ruled(x) * x,
    "stop_gradient": lambda x: ad.stop_gradient(np.sin(x)) * x,
    "random": draws,
    "derivative inside": lambda x: ad.grad(lambda y: np.sum(np.sin(y * x) ** 2))(x),
    "vmap inside": lambda x: ad.vmap(lambda r: np.sum(r * x) * r)(matrix(x)),
    "jit inside": lambda x: ad.jit(lambda x: np.exp(x) * x[0])(x),
}

FUNCTIONS: dict[str, dict[str, Function]] = {
    "ufuncs": UFUNCS,
    "elements": ELEMENTS,
    "single precision": SINGLE,
    "reductions": REDUCTIONS,
    "order": ORDER,
    "shapes by value": SHAPES_BY_VALUE,
    "shapes": SHAPES,
    "writes": WRITES,
    "products": PRODUCTS,
    "linear algebra": LINEAR_ALGEBRA,
    "fourier": FOURIER,
    "special": SPECIAL,
    "flow": FLOW,
}

"""Arguments for NumPy's functions: those not named here are called with a matrix, ufuncs with positive vectors."""

import numpy as np

from tests.coverage.agreement import Example, at, each, of

U = np.array([0.3, 0.55, 0.8])
V = np.array([0.7, 0.25, 0.45])
M = np.array([[0.9, -0.4, 1.3], [0.2, 1.7, -1.1]])
N = np.array([[0.35, 1.2, -0.6], [-0.85, 0.45, 2.1]])
S = np.array([[2.1, 0.3, -0.4], [0.5, 1.8, 0.2], [-0.3, 0.6, 2.5]])
H = S @ S.T
T = np.stack([S, S.T + 0.5])
WITH_NAN = np.array([[0.9, np.nan, 1.3], [0.2, 1.7, -1.1]])
Z = np.array([0.3 + 0.4j, 1.2 - 0.7j, -0.5 + 0.9j])
WHOLE = np.array([5, 3, 12])


def unary(name: str) -> Example:
    """A ufunc's own example: a vector for each argument."""
    ufunc = getattr(np, name)
    return at(*[U, V][: ufunc.nin])


def written(call):
    """A function that writes into a copy of its first argument."""

    def write(f, x, *rest):
        y = x * 1.0
        call(f, y, *rest)
        return y

    return write


UFUNCS: dict[str, Example] = {
    "arccosh": at(U + 1.5),
    "acosh": at(U + 1.5),
    "conj": at(Z),
    "conjugate": at(Z),
    "sign": at(U),
    "ldexp": of(lambda f, x: f(x, 3), U),
    "heaviside": of(lambda f, y: f(0.0, y), U),
    "matmul": at(S, M.T),
    "vecdot": at(M, N),
    "matvec": at(S, U),
    "vecmat": at(U, S),
    "isnat": at(U),
    **each(
        "bitwise_and bitwise_or bitwise_xor left_shift bitwise_left_shift right_shift bitwise_right_shift gcd lcm",
        of(lambda f: f(WHOLE, 6)),
    ),
    **each("bitwise_not bitwise_invert invert bitwise_count", of(lambda f: f(WHOLE))),
}

REDUCING: dict[str, Example] = {
    "average": of(lambda f, x, w: f(x, 1, w), M, N + 2.0),
    "quantile": of(lambda f, x, q: f(x, q, 1), M, [0.3]),
    "percentile": of(lambda f, x, q: f(x, q, 1), M, [30.0]),
    **each("nansum nanprod nanmax nanmin nanmean nanvar nanstd nanmedian nancumsum nancumprod", at(WITH_NAN)),
    "nanquantile": of(lambda f, x: f(x, 0.3, 0), M),
    "nanpercentile": of(lambda f, x: f(x, 30.0, 0), M),
    "cumulative_sum": of(lambda f, x: f(x, axis=1), M),
    "cumulative_prod": of(lambda f, x: f(x, axis=1), M),
    "histogram": of(lambda f, w: f([0.1, 0.5, 0.9], 2, weights=w)[0], U),
    "histogram2d": of(lambda f, w: f([0.1, 0.5, 0.9], [0.3, 0.4, 0.1], 2, weights=w)[0], U),
    "histogramdd": of(lambda f, w: f(np.array([[0.1, 0.3], [0.5, 0.4], [0.9, 0.1]]), 2, weights=w)[0], U),
    "bincount": of(lambda f, w: f([0, 2, 0], w), U),
    "cov": at(M),
    "corrcoef": at(M),
}

PRODUCTS: dict[str, Example] = {
    "dot": at(M, S),
    "vdot": at(U, V),
    "inner": at(M, N),
    "outer": at(U, V),
    "tensordot": of(lambda f, a, b: f(a, b, 1), M, S),
    "einsum": of(lambda f, a, b: f("ij,kj->ik", a, b), M, N),
    "einsum_path": of(lambda f, a, b: f("ij,kj->ik", a, b)[0], M, N),
    "kron": at(M, U),
    "cross": at(M, N),
    "trace": at(S),
    "convolve": at(U, V),
    "correlate": at(U, V),
    "trapezoid": at(M),
    "trapz": at(M),
    "interp": at([0.2, 0.9], [0.0, 0.5, 1.3], [2.0, -1.0, 4.0]),
    "unwrap": at(np.array([0.1, 3.0, 6.5, 9.9])),
    "poly": at([0.5, -1.2, 2.0]),
    "polyadd": at(U, V),
    "polysub": at(U, V),
    "polymul": at(U, V),
    "polydiv": at([1.0, 0.4, -2.0, 0.3], [0.8, -0.5]),
    "polyval": at(U, V),
    "polyder": at(U),
    "polyint": at(U),
    "roots": at([1.0, -3.5, 2.0]),
    "polyfit": of(
        lambda f, x, y, w: f(x, y, 1, w=w), [0.1, 0.5, 0.8, 1.2], [1.0, 0.3, -0.4, 0.2], [1.0, 0.7, 1.2, 0.6]
    ),
    "poly1d": of(lambda f, p, x: f(p)(x), U, V),
    "vander": at(U),
}

SHAPES: dict[str, Example] = {
    "angle": at(Z),
    "real": at(Z),
    "imag": at(Z),
    "clip": of(lambda f, x, low, high: f(x, low, high), M, -0.5, 1.0),
    "where": of(lambda f, x, y: f([True, False, True], x, y), U, V),
    "select": of(lambda f, x, y: f([[True, False, True]], [x], y), U, V),
    "piecewise": of(lambda f, x: f(x, [x < 0.5], [np.sin, np.cos]), U),
    "choose": of(lambda f, x, y: f([0, 1, 0], [x, y]), U, V),
    "astype": of(lambda f, x: f(x, np.float64), U),
    "reshape": of(lambda f, x: f(x, (3, 2)), M),
    "swapaxes": of(lambda f, x: f(x, 0, 1), M),
    "moveaxis": of(lambda f, x: f(x, 0, 1), M),
    "rollaxis": of(lambda f, x: f(x, 1), M),
    "expand_dims": of(lambda f, x: f(x, 0), M),
    "broadcast_to": of(lambda f, x: f(x, (2, 3)), U),
    "broadcast_arrays": at(U, M),
    "resize": of(lambda f, x: f(x, (2, 5)), M),
    "roll": of(lambda f, x: f(x, 1), M),
    "repeat": of(lambda f, x: f(x, 2), M),
    "tile": of(lambda f, x: f(x, (2, 1)), M),
    **each(
        "concatenate concat stack hstack vstack row_stack dstack column_stack block",
        of(lambda f, x, y: f([x, y]), M, N),
    ),
    "append": at(M, N),
    "insert": of(lambda f, x, y: f(x, 1, y), U, 0.4),
    "delete": of(lambda f, x: f(x, 1), U),
    "pad": of(lambda f, x: f(x, 1), M),
    **each("split array_split vsplit", of(lambda f, x: f(x, 2), T)),
    "hsplit": of(lambda f, x: f(x, [1]), M),
    "dsplit": of(lambda f, x: f(x, [1]), T),
    "unstack": at(M),
    "meshgrid": at(U, V),
    "diag": at(U),
    "diagflat": at(U),
    "diagonal": at(S),
    "take": of(lambda f, x: f(x, [0, 2]), U),
    "take_along_axis": of(lambda f, x: f(x, np.array([[0], [2]]), 1), M),
    "compress": of(lambda f, x: f([True, False, True], x), U),
    "extract": of(lambda f, x: f([True, False, True], x), U),
    "partition": of(lambda f, x: f(x, 1), M),
    "trim_zeros": of(lambda f, x: f(x * np.array([0.0, 1.0, 1.0])), U),
    "union1d": at(U, V),
    "setdiff1d": at(U, V),
    "setxor1d": at(U, V),
    "intersect1d": of(lambda f, x: f(x, x[1:] * 1.0), U),
    "copyto": of(written(lambda f, y, x: f(y, x)), M, N),
    "put": of(written(lambda f, y, x: f(y, [0, 2], x)), M, [0.2, 0.3]),
    "place": of(written(lambda f, y, x: f(y, np.array([True, False, True]), x)), U, [0.2, 0.3]),
    "putmask": of(written(lambda f, y, x: f(y, np.array([True, False, True]), x)), U, V),
    "put_along_axis": of(written(lambda f, y, x: f(y, np.array([[0], [2]]), x, 1)), M, [[0.2], [0.3]]),
    "fill_diagonal": of(written(lambda f, y, x: f(y, x)), S, 0.7),
    "apply_along_axis": of(lambda f, x: f(lambda row: np.sum(row**2), 1, x), M),
    "apply_over_axes": of(lambda f, x: f(np.sum, x, [0, 1]), M),
    "fromfunction": of(lambda f, x: f(lambda i, j: x * i + j, (2, 3)), U),
    "vectorize": of(lambda f, x: f(lambda t: t**2)(x), U),
    "linspace": of(lambda f, a, b: f(a, b, 4), 0.3, 2.0),
    "logspace": of(lambda f, a, b: f(a, b, 4), 0.3, 2.0),
    "geomspace": of(lambda f, a, b: f(a, b, 4), 0.3, 2.0),
    "full_like": of(lambda f, a: f(M, a), 0.7),
    "full": of(lambda f, a: f((2, 3), a), 0.7),
    "kaiser": of(lambda f, x: f(4, x), 0.7),
    "array": of(lambda f, x: f([x, 2.0 * x]), U),
    "r_": of(lambda f, x: f[x, 2.0 * x], U),
    "c_": of(lambda f, x: f[x, 2.0 * x], U),
}

CONSTANTS: dict[str, Example] = {
    "argpartition": of(lambda f, x: f(x, 1), M),
    "lexsort": of(lambda f, x, y: f((x, y)), U, V),
    "searchsorted": of(lambda f, x: f(x, 0.5), U),
    "digitize": of(lambda f, x: f(x, [0.4, 0.7]), U),
    "histogram_bin_edges": of(lambda f, x: f(x, [0.1, 0.5, 0.9]), U),
    "ix_": of(lambda f: f([0, 1], [2, 0])),
    **each("diag_indices_from tril_indices_from triu_indices_from", at(S)),
    **each("isclose allclose array_equal array_equiv isin in1d", at(U, V)),
    **each("may_share_memory shares_memory", of(lambda f, x: f(x, x), U)),
    "isclose": at(U, V),
    "can_cast": of(lambda f, x: f(x.dtype, "f4"), U),
    "array_repr": of(lambda f, x: len(f(x)) * 0, U),
    "array_str": of(lambda f, x: len(f(x)) * 0, U),
    "array2string": of(lambda f, x: len(f(x)) * 0, U),
    "packbits": of(lambda f, x: f(x > 0.5), U),
    "unpackbits": of(lambda f, x: f((x > 0.5).astype(np.uint8)), U),
    "ravel_multi_index": of(lambda f, x: f((np.argsort(x), np.argsort(-x)), (4, 4)), U),
    "unravel_index": of(lambda f, x: f(np.argsort(x), (2, 2)), U),
    "isdtype": of(lambda f: f(np.dtype("f8"), "integral")),
    "issubdtype": of(lambda f: f(np.float64, np.integer)),
    "mintypecode": of(lambda f: f(["f", "d"])),
    "promote_types": of(lambda f: f("f4", "f8")),
    "typename": of(lambda f: f("d")),
    "broadcast_shapes": of(lambda f: f((2, 1), (3,))),
    "base_repr": of(lambda f: f(5)),
    "binary_repr": of(lambda f: f(5)),
    "indices": of(lambda f: f((2, 3))),
    "mask_indices": of(lambda f: f(3, np.triu)),
    **each("mgrid ogrid s_ index_exp", of(lambda f: f[0:2])),
    "ndindex": of(lambda f: list(f(2, 3))),
    **each(
        "arange empty eye identity ones tri zeros diag_indices tril_indices triu_indices bartlett blackman "
        "hamming hanning",
        of(lambda f: f(3)),
    ),
}

REFUSED: dict[str, Example] = {
    **each("save savetxt savez savez_compressed", of(lambda f, x: f("never_written", x), U)),
    "bmat": of(lambda f, x: f([[x]]), M),
    "frompyfunc": of(lambda f, x: f(lambda t: t, 1, 1)(x), U),
    "nested_iters": of(lambda f, x: f(x, [[0], [1]]), M),
    "fromiter": of(lambda f, x: f([x[0], x[1]], float), U),
    "busday_count": at(U, V),
    "busday_offset": at(U, V),
    "busdaycalendar": of(lambda f, x: f(holidays=x), U),
}

EXAMPLES = {**UFUNCS, **REDUCING, **PRODUCTS, **SHAPES, **CONSTANTS, **REFUSED}


def example(name: str) -> Example:
    """Arguments for a function of NumPy."""
    if name in EXAMPLES:
        return EXAMPLES[name]
    return unary(name) if isinstance(getattr(np, name), np.ufunc) else at(M)

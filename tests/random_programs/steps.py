"""The steps of random functions: plain NumPy on a pool of arrays, chosen at random with one pool at hand.

A step may not fit (shapes, dtypes): then it raises, and whoever draws takes another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.ops.arrays.cumulative import LinearRecurrence
from adjoint.ops.arrays.logsumexp import LogSumExp
from adjoint.ops.arrays.norm import Length
from adjoint.ops.elementwise.pointwise import BY_NAME
from adjoint.ops.operators import UFUNCS

Pool = list[Any]


@dataclass
class Step:
    """One line of a function."""

    text: str
    run: Callable[[Pool], Any]


UNARY = sorted(name for name, op in BY_NAME.items() if op.arity == 1 and getattr(np, name, None) in UFUNCS)
BINARY = sorted(name for name, op in BY_NAME.items() if op.arity == 2 and getattr(np, name, None) in UFUNCS)
# Where a function is at home; others take any number.
INTO = {
    "arccosh": lambda x: 1.5 + np.absolute(x),
    **dict.fromkeys(["arccos", "arcsin", "arctanh"], lambda x: 0.5 * np.tanh(x)),
    **dict.fromkeys(["log", "log2", "log10", "sqrt", "reciprocal", "log1p"], lambda x: 0.25 + np.absolute(x)),
}
NUMBERS = [0.5, 2.0, -1.5, 0.0, 1, 2, -1, 3, True, np.float32(1.25), np.float64(-0.75), np.int64(2), np.int8(3)]
# Where functions of SciPy's are at home: on the line, beyond zero, between zero and one, between minus one and one.
SPECIAL = {
    "line": [
        "expit", "erf", "erfc", "erfcx", "ndtr", "log_ndtr", "log_expit", "i0", "i0e", "i1", "i1e", "j0", "j1", "dawsn",
        "exp10", "exprel", "sindg", "cosdg", "cosm1", "rgamma", "wofz", "entr", "round", "spence", "ber", "beip",
    ],
    "positive": ["gammaln", "digamma", "gamma", "k0", "k0e", "k1e", "y0", "y1", "exp1", "expi", "loggamma"],
    "unit": ["logit", "ndtri", "ellipk", "ellipe", "erfcinv"],
    "both": ["erfinv"],
}  # fmt: skip
HOME: dict[str, Callable[[Any], Any]] = {
    "line": lambda x: x,
    "positive": lambda x: 0.25 + np.absolute(x),
    "unit": lambda x: 0.5 + 0.4 * np.tanh(x),
    "both": lambda x: 0.8 * np.tanh(x),
}


def pick(r: Random, pool: Pool, ndim: int = 0, kinds: str = "fciub") -> int:
    """Which array; the last ones more often."""
    fits = [k for k, x in enumerate(pool) if x.ndim >= ndim and x.dtype.kind in kinds]
    if not fits:
        raise IndexError("nothing fits")
    return r.choice([*fits, *fits[-3:], fits[-1]])


def an_axis(r: Random, x: Any) -> int:
    return r.randrange(-x.ndim, x.ndim)


def some_axes(r: Random, x: Any) -> Any:
    if r.random() < 0.25 or not x.ndim:
        return None
    axes = [a for a in range(x.ndim) if r.random() < 0.5] or [r.randrange(x.ndim)]
    return tuple(axes) if len(axes) > 1 or r.random() < 0.2 else axes[0]


def a_unary(r: Random, pool: Pool) -> Step:
    i, name = pick(r, pool), r.choice(UNARY)
    into = INTO.get(name) if r.random() < 0.97 else None
    f = getattr(np, name)
    if into is None:
        return Step(f"np.{name}(x{i})", lambda p: f(p[i]))
    return Step(f"np.{name}(into(x{i}))", lambda p: f(into(p[i])))


COMMON = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "power"]


def a_binary(r: Random, pool: Pool) -> Step:
    i, name = pick(r, pool), r.choice([*BINARY, *COMMON])
    f = getattr(np, name)
    if name in ("divide", "power", "float_power") and r.random() < 0.8:
        plain = f
        f = lambda x, y: plain(0.5 + np.absolute(x), 2 + np.tanh(y))
    if r.random() < 0.3:
        number = r.choice(NUMBERS)
        if r.random() < 0.5:
            return Step(f"np.{name}(x{i}, {number!r})", lambda p: f(p[i], number))
        return Step(f"np.{name}({number!r}, x{i})", lambda p: f(number, p[i]))
    j = r.choice(fitting(pool, i))
    return Step(f"np.{name}(x{i}, x{j})", lambda p: f(p[i], p[j]))


def fitting(pool: Pool, i: int) -> list[int]:
    """The arrays that broadcast with one."""
    chosen = []
    for j, y in enumerate(pool):
        try:
            np.broadcast_shapes(pool[i].shape, y.shape)
        except ValueError:
            continue
        chosen.append(j)
    return chosen


def a_special(r: Random, pool: Pool) -> Step:
    import scipy.special

    i, home = pick(r, pool, kinds="f"), r.choice(["line", *SPECIAL])
    name = r.choice(SPECIAL[home])
    f = getattr(scipy.special, name)
    if home == "positive" and r.random() < 0.2:
        return Step(f"xlogy(|x{i}|, 1 + x{i}²)", lambda p: scipy.special.xlogy(np.absolute(p[i]), 1.0 + p[i] * p[i]))
    return Step(f"{name}({home} x{i})", lambda p: f(HOME[home](p[i])))


def a_choice(r: Random, pool: Pool) -> Step:
    i = pick(r, pool)
    j, k = r.choice(fitting(pool, i)), r.choice(fitting(pool, i))
    forms: dict[str, Callable[[Any, Any, Any], Any]] = {
        "where(x > 0.1, y, z)": lambda x, y, z: np.where(np.real(x) > 0.1, y, z),
        "where(x, y, 0)": lambda x, y, z: np.where(x, y, 0),
        "where(y < z, x, 0.5)": lambda x, y, z: np.where(np.real(y) < np.real(z), x, 0.5),
        "clip": lambda x, y, z: np.clip(x, -0.5, 0.7),
        "clip below": lambda x, y, z: np.clip(x, np.minimum(y, z), None),
        "select": lambda x, y, z: np.select([np.real(x) > 1, np.real(y) > 0], [x, y], z),
        "nan_to_num": lambda x, y, z: np.nan_to_num(x),
        "stop": lambda x, y, z: ad.stop_gradient(x) * y + z,
    }
    name = r.choice(sorted(forms))
    return Step(f"{name} of x{i}, x{j}, x{k}", lambda p: forms[name](p[i], p[j], p[k]))


DTYPES = [
    "float64", "float32", "float16", "complex128", "complex64",
    "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool",
]  # fmt: skip


def cast(x: Any, dtype: str) -> Any:
    """x as another dtype, with no number that does not fit."""
    kind = np.dtype(dtype).kind
    if kind in "iu" and x.dtype.kind in "fc":
        x = np.real(x)
        x = np.clip(np.where(np.isfinite(x), x, 0), -100 if kind == "i" else 0, 100)
    elif kind in "fiu" and x.dtype.kind == "c":
        x = np.real(x)
    return x.astype(dtype)


def a_cast(r: Random, pool: Pool) -> Step:
    i, dtype = pick(r, pool), r.choice(DTYPES)
    return Step(f"cast(x{i}, {dtype})", lambda p: cast(p[i], dtype))


def a_complex(r: Random, pool: Pool) -> Step:
    i = pick(r, pool)
    j = r.choice(fitting(pool, i))
    forms: dict[str, Callable[[Any, Any], Any]] = {
        "real": lambda x, y: np.real(x),
        "imag": lambda x, y: np.imag(x) * 1,
        "x + i y": lambda x, y: x + 1j * y,
        "angle": lambda x, y: np.angle(x + 5.0),
        "exp(i x)": lambda x, y: np.exp(1j * x),
        "conj(x) y": lambda x, y: np.conj(x) * y,
        "|x|": lambda x, y: np.absolute(x + 0.5),
    }
    name = r.choice(sorted(forms))
    return Step(f"{name} of x{i}, x{j}", lambda p: forms[name](p[i], p[j]))


REDUCTIONS = ["sum", "prod", "max", "min", "any", "all", "mean", "var", "count_nonzero", "sum", "max"]


def a_reduction(r: Random, pool: Pool) -> Step:
    i = pick(r, pool)
    axes, keep, name = some_axes(r, pool[i]), r.random() < 0.4, r.choice(REDUCTIONS)
    f = getattr(np, name)
    if name in ("sum", "prod") and r.random() < 0.15:
        dtype = r.choice(["float32", "float64", "int32", "complex64"])
        return Step(
            f"np.{name}(x{i}, axis={axes}, dtype={dtype})",
            lambda p: f(p[i].astype(dtype) if p[i].dtype.kind != "c" else p[i], axis=axes, keepdims=keep),
        )
    return Step(f"np.{name}(x{i}, axis={axes}, keepdims={keep})", lambda p: f(p[i], axis=axes, keepdims=keep))


def an_extremum_or_norm(r: Random, pool: Pool) -> Step:
    i = pick(r, pool, ndim=1)
    axis = an_axis(r, pool[i])
    axes = tuple(sorted(a for a in range(pool[i].ndim) if r.random() < 0.6)) or (0,)
    forms: dict[str, Callable[[Any], Any]] = {
        "argmax": lambda x: np.argmax(x, axis=axis),
        "argmin": lambda x: np.argmin(x, axis=axis, keepdims=True),
        "argmax of all": lambda x: np.argmax(x),
        "logsumexp": lambda x: LogSumExp(axes)(x),
        "length": lambda x: Length(axes)(x + 2),
        "norm": lambda x: np.linalg.norm(x, axis=axis),
        "norm 1": lambda x: np.linalg.norm(x, ord=1, axis=axis),
    }
    name = r.choice(sorted(forms))
    return Step(f"{name}(x{i}) over {axis} / {axes}", lambda p: forms[name](p[i]))


def a_running(r: Random, pool: Pool) -> Step:
    i = pick(r, pool, ndim=1)
    axis, reverse = an_axis(r, pool[i]), r.random() < 0.3
    turned = (lambda x: np.flip(x, axis)) if reverse else (lambda x: x)
    forms: dict[str, Callable[[Any], Any]] = {
        "cumsum": lambda x: np.cumsum(x, axis=axis),
        "cumprod": lambda x: np.cumprod(x, axis=axis),
        "cummax": lambda x: np.maximum.accumulate(x, axis=axis),
        "cumsum of all": lambda x: np.cumsum(x),
        "recurrence": lambda x: LinearRecurrence(axis % x.ndim, reverse)(np.tanh(x), x * 1.0),
        "diff": lambda x: np.diff(x, axis=axis),
    }
    name = r.choice(sorted(forms))
    return Step(f"{name}(x{i}, {axis}) {reverse}", lambda p: turned(forms[name](turned(p[i]))))


def a_sort(r: Random, pool: Pool) -> Step:
    i = pick(r, pool, ndim=1, kinds="fiub")
    axis = an_axis(r, pool[i])
    forms: dict[str, Callable[[Any], Any]] = {
        "sort": lambda x: np.sort(x, axis=axis),
        "argsort": lambda x: np.take_along_axis(x, np.argsort(x, axis=axis, kind="stable"), axis),
        "median": lambda x: np.median(x, axis=axis),
        "searchsorted": lambda x: np.searchsorted(np.linspace(-1.0, 1.0, 5), x),
    }
    name = r.choice(sorted(forms))
    return Step(f"{name}(x{i}, {axis})", lambda p: forms[name](p[i]))


def a_product(r: Random, pool: Pool) -> Step:
    i = pick(r, pool)
    j = r.randrange(len(pool)) if r.random() < 0.7 else i
    forms: dict[str, Callable[[Any, Any], Any]] = {
        "x @ y": lambda x, y: x @ y,
        "x.T @ y": lambda x, y: x.T @ y,
        "x @ y.T": lambda x, y: x @ y.T,
        "x[::-1] @ y": lambda x, y: x[::-1] @ y,
        "x @ y[..., ::-1]": lambda x, y: x @ y[..., ::-1],
        "dot": np.dot,
        "outer": np.outer,
        "inner": np.inner,
        "vdot": np.vdot,
        "tensordot": lambda x, y: np.tensordot(x, y, 1),
        "ij,jk,k": lambda x, y: np.einsum("ij,kj,k->ki", x, y, y[:, 0]),
        "ii->i": lambda x, y: np.einsum("ii->i", x),
        "ij,ij->i": lambda x, y: np.einsum("ij,ij->i", x, y),
        "ij,ik->jk": lambda x, y: np.einsum("ij,ik->jk", x, y),
        "...i,...i": lambda x, y: np.einsum("...i,...i->...", x, y),
        "ijk,ikl": lambda x, y: np.einsum("ijk,ikl->ijl", x, y),
        "i,j,k": lambda x, y: np.einsum("i,j->ji", x, y),
        "i,i": lambda x, y: np.einsum("i,i->", x, y),
        "x xᵀ": lambda x, y: x @ np.swapaxes(x, -1, -2),
    }
    name = r.choice(sorted(forms))
    return Step(f"{name} of x{i}, x{j}", lambda p: forms[name](p[i], p[j]))


def a_decomposition(r: Random, pool: Pool) -> Step:
    i = pick(r, pool, ndim=2, kinds="f")

    def regular(x: Any) -> Any:
        n = x.shape[-2]
        return x @ np.swapaxes(x, -1, -2) / (1 + x.shape[-1]) + 2.0 * np.eye(n, dtype=x.dtype)

    forms: dict[str, Callable[[Any], Any]] = {
        "solve": lambda x: np.linalg.solve(regular(x), x),
        "inv": lambda x: np.linalg.inv(regular(x)),
        "det": lambda x: np.linalg.det(regular(x) / 3),
        "cholesky": lambda x: np.linalg.cholesky(regular(x)),
        "slogdet": lambda x: np.linalg.slogdet(regular(x))[1],
        "eigvalsh": lambda x: np.linalg.eigvalsh(regular(x)),
        "qr": lambda x: np.linalg.qr(regular(x))[1],
        "fft": lambda x: np.abs(np.fft.fft(x)) ** 2,
        "rfft": lambda x: np.real(np.fft.rfft(x)),
        "svdvals": lambda x: np.linalg.svd(regular(x), compute_uv=False),
    }
    name = r.choice(sorted(forms))
    return Step(f"{name}(x{i})", lambda p: forms[name](p[i]))


def same_dtypes(arrays: Sequence[Any]) -> bool:
    return len({a.dtype for a in arrays}) == 1

"""Calls of ufuncs that are more than `ufunc(x)` or `ufunc(x, y)`: keywords, several outputs, gufuncs, and the door
to their methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.refusal import refuse
from adjoint.coverage import find
from adjoint.numpy import accumulating
from adjoint.numpy.dispatch import LATER, into, load_rules_of, normal_axis, refuse_keywords, refuse_plain_target
from adjoint.numpy.shaping import convert
from adjoint.ops.elementwise.compare import Exponent
from adjoint.ops.elementwise.pointwise import UFUNCS
from adjoint.ops.operators import GENERAL, coerced
from adjoint.program.trace import Tracer, bind
from adjoint.program.types import Value, promotion_token, type_of

# ufuncs that are made of others here
COMPOSED: dict[Any, Callable[..., Any]] = {}


def composed(ufunc: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function of ours that answers for a ufunc which is not a primitive."""

    def register(ours: Callable[..., Any]) -> Callable[..., Any]:
        if ufunc is None:
            LATER[ours.__name__] = ours
        COMPOSED[ufunc] = ours
        UFUNCS.pop(ufunc, None)  # so that plain calls arrive here too
        return ours

    return register


@composed(np.divmod)
def divmod_(x: Value, y: Value) -> tuple[Value, Value]:
    return np.floor_divide(x, y), np.remainder(x, y)


@composed(np._core.umath.clip)  # type: ignore[attr-defined]  (what plain.clip(low, x) calls)
def clip(x: Value, low: Value, high: Value) -> Value:
    return np.minimum(np.maximum(x, low), high)


@composed(np.modf)
def modf(x: Value) -> tuple[Value, Value]:
    """(fractional part, whole part), both with the sign of x."""
    x = convert(x, np.modf.resolve_dtypes((x.dtype, None, None))[0]) if x.dtype.kind in "biu" else x
    whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), 0.0, x - whole).astype(whole.dtype), x), whole


@composed(np.frexp)
def frexp(x: Value) -> tuple[Value, Value]:
    """(m, e) with x = m 2ᵉ."""
    exponent = bind(Exponent(), x)
    return np.ldexp(x, -exponent), exponent


def _last(x: Value, axis: int) -> Value:
    return x if axis in (-1, np.ndim(x) - 1) else np.moveaxis(x, axis, -1)


@composed(np.vecdot)
def vecdot(x1: Value, x2: Value, *, axis: int = -1, keepdims: bool = False) -> Value:
    """Σ conj(x₁) x₂ along an axis."""
    for x in (x1, x2):
        normal_axis(axis, np.ndim(x))
    x1, x2 = _last(x1, axis), _last(x2, axis)
    if x1.shape[-1] != x2.shape[-1]:
        raise ValueError(f"vecdot: the vectors have lengths {x1.shape[-1]} and {x2.shape[-1]}")
    z = np.einsum("...i,...i->...", np.conjugate(x1) if x1.dtype.kind == "c" else x1, x2)
    return np.expand_dims(z, axis) if keepdims else z


@composed(getattr(np, "matvec", None))
def matvec(x1: Value, x2: Value) -> Value:
    """A v for stacks of matrices and vectors."""
    if np.ndim(x1) < 2:
        raise ValueError(f"matvec: the matrix has {np.ndim(x1)} axes, and needs at least two")
    return np.matmul(x1, np.expand_dims(x2, -1))[..., 0]


@composed(getattr(np, "vecmat", None))
def vecmat(x1: Value, x2: Value) -> Value:
    """vᴴ A for stacks of vectors and matrices."""
    row = np.conjugate(x1) if x1.dtype.kind == "c" else x1
    return np.matmul(np.expand_dims(row, -2), x2)[..., 0, :]


def apply(ufunc: Any, inputs: Sequence[Any], extra: dict[str, Any] | None = None) -> Any:
    """The ufunc on values, at least one of them traced."""
    inputs = [coerced(ufunc.__name__, v) for v in inputs]
    if ufunc in COMPOSED and ufunc.signature is not None:  # vectors have a dtype; numbers give way in promotion
        inputs = [v if hasattr(v, "dtype") else np.asarray(v)[()] for v in inputs]
    if not any(isinstance(v, Tracer) for v in inputs):
        return ufunc(*inputs, **(extra or {}))
    if ufunc in COMPOSED:
        return COMPOSED[ufunc](*inputs, **(extra or {}))
    if extra:
        refuse_keywords(f"np.{ufunc.__name__}", extra)
    op = UFUNCS.get(ufunc)
    if op is None and load_rules_of(ufunc):
        op = UFUNCS[ufunc]
    if op is None:
        name = ufunc.__name__
        made = name.endswith(" (vectorized)")  # by np.frompyfunc
        known = getattr(np, name, None) is ufunc
        refuse(f"The ufunc {name}", find("numpy" if known or made else "scipy.special", "frompyfunc" if made else name))
    return bind(op, *inputs)


def call(ufunc: Any, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """ufunc(*inputs, out=…, where=…, dtype=…, casting=…)."""
    name = f"np.{ufunc.__name__}"
    out = kwargs.pop("out", None) or (None,) * ufunc.nout
    where = kwargs.pop("where", True)
    dtype, signature = kwargs.pop("dtype", None), kwargs.pop("signature", kwargs.pop("sig", None))
    casting = kwargs.pop("casting", "same_kind")
    kwargs.pop("order", None)  # the layout of the result in memory
    kwargs.pop("subok", None)
    extra = {k: kwargs.pop(k) for k in ("axis", "keepdims") if k in kwargs and ufunc.signature is not None}
    refuse_keywords(name, kwargs)
    _refuse_lost(ufunc, inputs, out)
    if dtype is not None or signature is not None:
        inputs = _as_loop(ufunc, inputs, dtype, signature, casting)
    elif casting in ("no", "equiv", "safe", "same_value"):
        inputs = _as_loop(ufunc, inputs, None, None, casting)
    if where is True:
        z = apply(ufunc, inputs, extra)
    else:
        with np.errstate(all="ignore"):  # what is left out may be outside the domain
            z = apply(ufunc, inputs, extra)
    parts = z if ufunc.nout > 1 else (z,)
    if where is not True:
        parts = tuple(
            np.where(where, part, part.dtype.type(0) if o is None else o) for part, o in zip(parts, out, strict=True)
        )
    results = tuple(into(o, part, f"{name}(out=…)") for part, o in zip(parts, out, strict=True))
    return results if ufunc.nout > 1 else results[0]


def _refuse_lost(ufunc: Any, inputs: Sequence[Any], out: Sequence[Any]) -> None:
    """`plain += x` arrives as ufunc(plain, x, out=(plain,)): refused before anything is computed."""
    for o in out:
        if o is not None and not isinstance(o, Tracer) and o.dtype.kind in "fc":
            itself = any(o is v for v in inputs)
            name = ufunc.__name__
            refuse_plain_target(
                f"An operation in place (np.{name}, as in `plain {_SYMBOLS[name]}= x`)"
                if itself and name in _SYMBOLS
                else f"np.{name}(out=…)",
                type(o).__name__,
            )


_SYMBOLS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "power": "**",
    "floor_divide": "//",
    "remainder": "%",
    "matmul": "@",
}


def _as_loop(ufunc: Any, inputs: Sequence[Any], dtype: Any, signature: Any, casting: str) -> list[Value]:
    """The inputs in the dtypes in which the ufunc will compute."""
    inputs = [coerced(ufunc.__name__, v) for v in inputs]
    tokens = tuple(promotion_token(type_of(v)) for v in inputs) + (None,) * ufunc.nout
    if signature is None:
        signature = None if dtype is None else (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    elif isinstance(signature, str):
        codes = signature.replace("->", "")
        signature = (
            tuple(np.dtype(c) for c in codes)
            if "->" in signature
            else (None,) * ufunc.nin + (np.dtype(codes),) * ufunc.nout
        )
    else:
        signature = tuple(None if d is None else np.dtype(d) for d in np.atleast_1d(np.asarray(signature, object)))
    chosen = {} if signature is None else {"signature": signature}
    loop = ufunc.resolve_dtypes(tokens, casting=casting, **chosen)
    return [convert(v if hasattr(v, "dtype") else np.asarray(v), d) for v, d in zip(inputs, loop, strict=False)]


def _outer(ufunc: Any, a: Any, b: Any, kwargs: dict[str, Any]) -> Any:
    """ufunc of every pair of elements."""
    a, b = (coerced(f"{ufunc.__name__}.outer", v) for v in (a, b))
    wide = np.reshape(a, np.shape(a) + (1,) * np.ndim(b)) if np.ndim(b) else a
    return call(ufunc, (wide, b), kwargs)


def general(ufunc: Any, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Everything that `__array_ufunc__` does not answer on its quick path."""
    if method == "__call__":
        return call(ufunc, inputs, kwargs)
    if ufunc.nin != 2 and method != "at":
        raise ValueError(f"{method} only supported for binary functions")
    if method == "outer":
        return _outer(ufunc, *inputs, kwargs)  # pyright: ignore[reportCallIssue]  (there are two)
    if method == "at":
        return accumulating.at(ufunc, *inputs)
    out = kwargs.pop("out", None)
    z = {"reduce": accumulating.reduce, "accumulate": accumulating.accumulate, "reduceat": accumulating.reduceat}[
        method
    ](ufunc, *inputs, **kwargs)
    return into(out, z, f"np.{ufunc.__name__}.{method}(out=…)")


GENERAL["ufunc"] = general

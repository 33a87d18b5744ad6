"""Primitives in the evaluator of a page, beside the same in Python."""

from typing import Any

import numpy as np

import adjoint.ops.special  # noqa: F401  (SciPy's functions become primitives when they are imported)
from adjoint.ops.elementwise.pointwise import UFUNCS
from adjoint.show.page.browser import evaluator
from adjoint.show.page.rules import encode, named

BY_NAME: dict[str, Any] = {str(op): op for op in UFUNCS.values()}
RUN = """cases => cases.map(({op, xs, dtypes}) => {
  const arrayed = xs.map((x) => arrays.decode(x.shape, x.dtype, x.value, x.imaginary));
  const why = primitives.reason(op, [...xs.map((x) => x.dtype), ...dtypes]);
  if (why) return {error: why};
  try {
    const word = (a) => (Object.is(a, -0) ? "-0" : Number.isFinite(a) ? a : String(a));
    return primitives.run(op, arrayed, dtypes).map((z) => ({
      shape: z.shape, dtype: z.dtype, data: Array.from(z.data, word), imaginary: Array.from(z.imaginary || [], word),
    }));
  } catch (problem) { return {error: problem.message}; }
})"""
WORDS = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf, "-0": -0.0}


def written(op: Any, xs: Any) -> tuple[dict[str, Any], list[Any]]:
    """A case for the page, and the values that it must give."""
    xs = [np.asarray(x) for x in xs]
    with np.errstate(all="ignore"):
        z = op.evaluate(*[x[()] if x.ndim == 0 else x for x in xs])
    zs = [np.asarray(part) for part in (z if op.several else (z,))]
    typed = [{"shape": list(x.shape), "dtype": str(x.dtype), **encode(x)} for x in xs]
    return {"op": named(op), "xs": typed, "dtypes": [str(part.dtype) for part in zs]}, zs


def evaluating_page() -> str:
    """A page with nothing but the evaluator."""
    head = "<!DOCTYPE html><html lang=en><meta charset=utf-8><title>evaluator</title>"
    return f"{head}<script>{evaluator()}</script></html>"


def numbers_of(words: list[Any]) -> Any:
    return np.array([WORDS.get(a, a) for a in words], float)


def found(out: dict[str, Any]) -> Any:
    """A result of the page as an array."""
    data = numbers_of(out["data"]).reshape(out["shape"])
    if not out["dtype"].startswith("complex"):
        return data
    z = np.empty(data.shape, complex)
    z.real, z.imag = data, numbers_of(out["imaginary"]).reshape(out["shape"])
    return z


def close(z: Any, expected: Any, rtol: float, atol: float) -> Any:
    """Where a result is right. Complex ones are near as points of the plane; infinite ones and NaN by parts."""
    if expected.dtype.kind in "biu":
        return z == expected
    near = np.isclose(z, expected, rtol=rtol, atol=atol, equal_nan=True)
    if expected.dtype.kind != "c":
        return near
    parts = [
        np.isclose(a, b, rtol, atol, equal_nan=True) for a, b in ((z.real, expected.real), (z.imag, expected.imag))
    ]
    return np.where(np.isfinite(expected), near, parts[0] & parts[1])


def faults(page: Any, rows: list[tuple[Any, list[Any], float, float]]) -> list[str]:
    """What the page computes otherwise than Python, for rows (primitive, arguments, rtol, atol)."""
    cases = [written(op, xs) for op, xs, _, _ in rows]
    outs = page.evaluate(RUN, [case for case, _ in cases])
    wrong: list[str] = []
    for (op, xs, rtol, atol), (_, expected), out in zip(rows, cases, outs, strict=True):
        label = f"{op} {named(op).get('parameters', '')}"
        if isinstance(out, dict) or [o["shape"] for o in out] != [list(z.shape) for z in expected]:
            wrong.append(f"{label}: {out if isinstance(out, dict) else [o['shape'] for o in out]}")
            continue
        for k, (o, z) in enumerate(zip(out, expected, strict=True)):
            got = found(o)
            for at in np.argwhere(~close(got, z, rtol, atol))[:5]:
                place = tuple(at)
                arguments = [np.broadcast_to(x, z.shape)[place] if np.size(x) <= z.size else "…" for x in xs]
                wrong.append(f"{label}{arguments}: result {k} is {got[place]} instead of {z[place]}")
    return wrong


def check(opened: Any, *rows: tuple[Any, list[Any], float, float]) -> None:
    """The page gives what Python gives."""
    wrong = faults(opened(evaluating_page()), list(rows))
    assert not wrong, "\n".join(wrong)

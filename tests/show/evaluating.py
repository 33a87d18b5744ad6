"""Primitives in the evaluator of a page, beside the same in Python.

CASES = {"jv": Case([(0.5, 1.0), (2.0, 30.0)], rtol=1e-13)}     the arguments of each sample

@pytest.mark.parametrize("name", CASES)
def test_values(opened, name):
    check(opened, CASES[name].of(name))
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import adjoint.ops.special  # noqa: F401  (SciPy's functions become primitives when they are imported)
from adjoint.ops.elementwise.pointwise import UFUNCS
from adjoint.program.op import Op
from adjoint.show.rules import encoded, named
from adjoint.show.scripts import evaluator

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


@dataclass(frozen=True)
class Case:
    """Samples of arguments, one tuple (or one number) for each element, and how far the page may be from Python.

    A value is right within rtol·|z| + atol. Samples are float64, or complex128 where one is complex; `dtypes` gives
    others (one for each argument: "int64").
    """

    samples: Any
    rtol: float = 1e-13
    atol: float = 0.0
    dtypes: tuple[str, ...] = ()

    def of(self, op: Op | str) -> tuple[Op, list[Any], float, float]:
        """(primitive, arrays of arguments, rtol, atol)."""
        columns = zip(*[s if isinstance(s, tuple) else (s,) for s in self.samples], strict=True)
        xs = [np.array(column) for column in columns]
        xs = [x.astype(self.dtypes[k] if self.dtypes else complex if x.dtype.kind == "c" else float)
              for k, x in enumerate(xs)]  # fmt: skip
        return BY_NAME[op] if isinstance(op, str) else op, xs, self.rtol, self.atol


def written(op: Any, xs: Any) -> tuple[dict[str, Any], list[Any]]:
    """A case for the page, and the values that it must give."""
    xs = [np.asarray(x) for x in xs]
    with np.errstate(all="ignore"):
        z = op.evaluate(*[x[()] if x.ndim == 0 else x for x in xs])
    zs = [np.asarray(part) for part in (z if op.several else (z,))]
    typed = [{"shape": list(x.shape), "dtype": str(x.dtype), **encoded(x)} for x in xs]
    return {"op": named(op), "xs": typed, "dtypes": [str(part.dtype) for part in zs]}, zs


def evaluating_page(cases: list[dict[str, Any]]) -> str:
    """A page with nothing but the evaluator of these cases."""
    dtypes = {dtype for case in cases for dtype in (*case["dtypes"], *(x["dtype"] for x in case["xs"]))}
    text = evaluator([case["op"] for case in cases], any(d.startswith("complex") for d in dtypes))
    return f"<!DOCTYPE html><html lang=en><meta charset=utf-8><title>evaluator</title><script>{text}</script></html>"


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


def check_against(
    opened: Any, name: str, columns: Any, exact: Any, rtol: float, atol: float = 0.0, digits: int = 30
) -> None:
    """The page gives what mpmath gives: exact(*arguments), a tuple for several results, within rtol·|z| + atol."""
    import mpmath

    op, xs = BY_NAME[name], [np.asarray(column) for column in columns]
    case, _ = written(op, xs)
    (outs,) = opened(evaluating_page([case])).evaluate(RUN, [case])
    assert isinstance(outs, list), outs
    wrong: list[str] = []
    with mpmath.workdps(digits):
        for i, arguments in enumerate(zip(*[x.tolist() for x in xs], strict=True)):
            values = exact(*map(mpmath.mpmathify, arguments))
            for k, value in enumerate(values if op.several else (values,)):
                got = found(outs[k])[i].item()
                if not abs(got - value) <= rtol * abs(value) + atol:
                    wrong.append(f"{name}{arguments}: result {k} is {got} instead of {mpmath.nstr(value, 18)}")
    assert not wrong, "\n".join(wrong)


def check(opened: Any, *rows: tuple[Any, list[Any], float, float]) -> None:
    """The page gives what Python gives."""
    page = opened(evaluating_page([written(op, xs)[0] for op, xs, _, _ in rows]))
    wrong = faults(page, list(rows))
    assert not wrong, "\n".join(wrong)

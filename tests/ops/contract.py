"""What every primitive promises, as checks on one example each.

The oracle for derivatives knows function values only: along a curve x(t) = x₀ + x₁ t + x₂ t² + …, the values f(x(t)) at
Chebyshev points around t = 0 are interpolated by a polynomial, whose coefficients are the Taylor coefficients of f ∘ x.
The first one checks `push`; `pull` is checked as the adjoint of `push`, `batch` against a loop.
"""

import itertools
import pickle
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import fit
from adjoint.program.types import ArrayType, type_of
from tests.ops.samples import NO_DIFFERENCES, Example, strided

ORDER, POINTS, RADIUS = 4, 13, 0.1
NODES = np.cos(np.pi * np.arange(POINTS) / (POINTS - 1))
TO_COEFFICIENTS = np.linalg.inv(np.vander(NODES, increasing=True))
TOLERANCE = [1e-14, 3e-8, 1e-7, 1e-6, 1e-5]  # of the k-th coefficient: rounding is divided by RADIUS**k
DTYPES = [np.dtype(c) for c in "?bBilefdFD"]


def parts_of(op: Any, z: Any) -> tuple[Any, ...]:
    """The results of a primitive as a tuple."""
    return tuple(z) if op.several else (z,)


def tolerance(*values: Any) -> float:
    """What rounding allows, by the coarsest dtype."""
    kinds = [np.asarray(v).dtype for v in values if v is not None]
    return max([1e-11, *[2e4 * float(np.finfo(k).eps) for k in kinds if k.kind in "fc"]])


def close(found: Any, expected: Any, tol: float, what: str) -> None:
    """Equal shapes, and values equal to `tol` relative to the largest of them."""
    assert np.shape(found) == np.shape(expected), f"{what}: shape {np.shape(found)}, not {np.shape(expected)}"
    if np.size(expected):
        scale = max(1.0, float(np.max(np.abs(expected))))
        error = np.max(np.abs(np.asarray(found, complex) - expected)) / scale
        assert error <= tol, f"{what}: off by {error:.1e} of {scale:.1e}: {found} is not {expected}"


def like(x: Any, rng: np.random.Generator, size: float = 1.0) -> Any:
    """A random value of the type of x."""
    v = rng.uniform(-size, size, np.shape(x))
    if x.dtype.kind == "c":
        v = v + 1j * rng.uniform(-size, size, np.shape(x))
    return np.asarray(v).astype(x.dtype)[()]


def generator(example: Example) -> np.random.Generator:
    return np.random.default_rng(len(str(example)))


def tangents(example: Example, rng: np.random.Generator) -> list[Any]:
    return [like(x, rng) if i in example.active else None for i, x in enumerate(example.args)]


def patterns(example: Example) -> Iterator[list[bool]]:
    """Which of the active arguments are differentiated: every choice."""
    active = example.active
    for n in range(1, len(active) + 1) if len(active) <= 3 else (1, len(active)):
        for chosen in itertools.combinations(active, n):
            yield [i in chosen for i in range(len(example.args))]


def widened(example: Example) -> list[Any]:
    """The arguments in double precision."""
    names = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}
    return [x.astype(names.get(x.dtype, x.dtype)) if hasattr(x, "dtype") else x for x in example.args]


def series_by_interpolation(example: Example, series: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """For each result, its Taylor coefficients along the curve with coefficients series[i] in argument i."""
    base = widened(example)

    def at(t: float) -> tuple[Any, ...]:
        moved = [
            x if not terms else x + sum(term * t**k for k, term in enumerate(terms, 1))
            for x, terms in zip(base, series, strict=True)
        ]
        return tuple(np.asarray(p) for p in parts_of(example.op, example.op.evaluate(*moved)))

    found = [np.stack(column) for column in zip(*[at(RADIUS * t) for t in NODES], strict=True)]
    fitted = [np.tensordot(TO_COEFFICIENTS, values, 1) for values in found]
    return [[c / RADIUS**k for k, c in enumerate(f[: ORDER + 1])] for f in fitted]


def compared_orders(example: Example) -> int:
    """How far differences can be trusted: to the first order when the result is rounded to single precision."""
    if example.op.title in NO_DIFFERENCES or not example.smooth:
        return 0
    results = [np.asarray(p) for p in parts_of(example.op, example.op.evaluate(*widened(example)))]
    kinds = {r.dtype for r in results if r.dtype.kind in "fc"}
    return 1 if any(k.itemsize // (2 if k.kind == "c" else 1) < 8 for k in kinds) else ORDER


# ---- the promises ----


def check_result_type(example: Example) -> None:
    """result_type says what evaluate gives, for these arguments and for every dtype that the primitive takes."""
    op, n = example.op, example.operands
    versions = [example.args]
    for dtype in DTYPES:
        versions.append(
            tuple(x.real.astype(dtype) if hasattr(x, "dtype") and i < n else x for i, x in enumerate(example.args))
        )
    for args in versions:
        types = [type_of(a) for a in args]
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error")  # a cast that loses the imaginary part counts as a refusal
                z = op.evaluate(*args)
        except (TypeError, ValueError, np.exceptions.ComplexWarning) as problem:
            if isinstance(problem, TypeError) and op.pointwise:
                refused(op, types)
            continue
        kinds = op.result_type(*types)
        for kind, part in zip(parts_of(op, kinds), parts_of(op, z), strict=True):
            assert (tuple(kind.shape), kind.dtype) == (np.shape(part), part.dtype), (
                f"{op}{types}: {kind} for a {type_of(part)}"
            )


def refused(op: Any, types: list[ArrayType]) -> None:
    """What NumPy does not take has no type either."""
    try:
        kind = op.result_type(*types)
    except (TypeError, ValueError):
        return
    raise AssertionError(f"{op}{types} does not evaluate, but has the type {kind}")


def check_push(example: Example) -> None:
    """ż has the type of z, and is what differences say; a tangent that is None counts as zero."""
    op, args, rng = example.op, example.args, generator(example)
    z = op.evaluate(*args)
    for wanted in patterns(example):
        dxs = [d if w else None for d, w in zip(tangents(example, rng), wanted, strict=True)]
        dz = pushed(op, args, z, dxs)
        slopes = series_by_interpolation(example, [[] if d is None else [d] for d in dxs])
        for d, part, series in zip(dz, parts_of(op, z), slopes, strict=True):
            if d is None:
                assert not compared_orders(example) or np.allclose(series[1], 0, atol=1e-8), (
                    f"{op}: a derivative is dropped: {series[1]}"
                )
                continue
            assert (np.shape(d), d.dtype) == (np.shape(part), part.dtype), (
                f"push of {op}: {type_of(d)} for a {type_of(part)}"
            )
            if compared_orders(example):
                rounded = 1e-3 if compared_orders(example) == 1 else TOLERANCE[1]
                close(d, series[1], max(rounded, tolerance(d, *args_in_float(example))), f"push of {op}")


def args_in_float(example: Example) -> list[Any]:
    return [example.args[i] for i in example.active]


def pushed(op: Any, xs: Sequence[Any], z: Any, dxs: Sequence[Any]) -> tuple[Any, ...]:
    with np.errstate(all="ignore"):
        dz = op.push(xs, z, dxs)
    return (None,) * (len(z) if op.several else 1) if dz is None else parts_of(op, dz)


def inner(u: Any, v: Any) -> float:
    """Re⟨u, v⟩, with None for zero."""
    return 0.0 if u is None or v is None else float(np.vdot(u, v).real)


def cotangent(op: Any, z: Any, rng: np.random.Generator) -> Any:
    made = tuple(like(p, rng) if p.dtype.kind in "fc" else None for p in parts_of(op, z))
    return made if op.several else made[0]


def pulled(
    op: Any, ct: Any, xs: Sequence[Any], z: Any, wanted: Sequence[bool], types: Sequence[ArrayType]
) -> list[Any]:
    """The cotangents as the tape sees them: those of pointwise primitives are fitted there."""
    with np.errstate(all="ignore"):
        cts = op.pull(ct, xs, z, wanted)
    cts = [*cts, *[None] * (len(wanted) - len(cts))]
    return [
        fit(c, t) if op.pointwise and c is not None and w else c for c, t, w in zip(cts, types, wanted, strict=True)
    ]


def differentiable_result(example: Example) -> bool:
    return any(p.dtype.kind in "fc" for p in parts_of(example.op, example.op.evaluate(*example.args)))


def check_pull(example: Example) -> None:
    """Re⟨ct, push(ẋ)⟩ = Re⟨pull(ct), ẋ⟩ for every choice of wanted arguments, each of its argument's type."""
    op, args, rng = example.op, example.args, generator(example)
    if not differentiable_result(example):
        return
    z = op.evaluate(*args)
    types = [type_of(a) for a in args]
    for wanted in patterns(example):
        dxs = [d if w else None for d, w in zip(tangents(example, rng), wanted, strict=True)]
        ct = cotangent(op, z, rng)
        cts = pulled(op, ct, args, z, wanted, types)
        for c, x, w in zip(cts, args, wanted, strict=True):
            if w and c is not None:
                assert (np.shape(c), c.dtype) == (np.shape(x), x.dtype), (
                    f"pull of {op}: {type_of(c)} for a {type_of(x)}"
                )
        dz = pushed(op, args, z, dxs)
        left = sum(inner(u, v) for u, v in zip(parts_of(op, ct), dz, strict=True))
        right = sum(inner(c, d) for c, d in zip(cts, dxs, strict=True))
        close(right, left, tolerance(*args_in_float(example), *parts_of(op, z)), f"pull of {op}, wanted {wanted}")


def check_keep(example: Example) -> None:
    """push and pull read only what keep says: types stand for the other arguments, None for z."""
    op, args, rng = example.op, example.args, generator(example)
    if not differentiable_result(example):
        return
    z, types = op.evaluate(*args), [type_of(a) for a in args]
    for wanted in patterns(example):
        keep_xs, keep_z = op.keep(wanted)
        xs = [x if k else t for x, k, t in zip(args, keep_xs, types, strict=True)]
        kept = z if keep_z else None
        dxs = [d if w else None for d, w in zip(tangents(example, rng), wanted, strict=True)]
        ct = cotangent(op, z, rng)
        ways = [pulled(op, ct, *given, wanted, types) for given in ((xs, kept), (args, z))]
        for found, expected in [pair for pair, w in zip(zip(*ways, strict=True), wanted, strict=True) if w]:
            if expected is not None:
                close(found, expected, 0.0, f"pull of {op} from what it keeps, wanted {wanted}")
        if op.pointwise or op.several:
            continue  # the tape pushes these by another way; see check_tape
        for found, expected in zip(pushed(op, xs, kept, dxs), pushed(op, args, z, dxs), strict=True):
            if expected is not None:
                close(found, expected, 0.0, f"push of {op} from what it keeps, wanted {wanted}")


def lane(x: Any, k: int) -> Any:
    """The k-th of several values like x: near it, or with its elements in another order."""
    if x.dtype.kind in "fc":
        return (x * x.dtype.type(1 + 0.02 * k)).astype(x.dtype)
    return np.roll(x, k) if np.ndim(x) else x


def check_batch(example: Example, size: int = 3) -> None:
    """The rule gives what a loop over lanes gives, for every choice of mapped arguments."""
    op, args = example.op, example.args
    arrays = [i for i, x in enumerate(args) if hasattr(x, "dtype")]
    several = range(1, len(arrays) + 1) if len(arrays) <= 4 else (1, len(arrays))
    for chosen in (c for n in several for c in itertools.combinations(arrays, n)):
        mapped = [i in chosen for i in range(len(args))]
        lanes = [[lane(x, k) if m else x for x, m in zip(args, mapped, strict=True)] for k in range(size)]
        xs = [np.stack([row[i] for row in lanes]) if m else args[i] for i, m in enumerate(mapped)]
        with np.errstate(all="ignore"):
            found = parts_of(op, op.batch(xs, mapped, size))
            rows = [parts_of(op, op.evaluate(*row)) for row in lanes]
        for part, *expected in zip(found, *rows, strict=True):
            whole = np.stack(expected)
            assert part.dtype == whole.dtype, f"batch of {op}, mapped {mapped}: {part.dtype}, not {whole.dtype}"
            close(part, whole, tolerance(whole) if whole.dtype.kind in "fc" else 0.0, f"batch of {op}, mapped {mapped}")


def check_sparse_pull(example: Example) -> None:
    """`pull_into` adds what pull returns."""
    if not example.op.sparse:
        return
    op, args, rng = example.op, example.args, generator(example)
    z = op.evaluate(*args)
    ct = like(np.asarray(z), rng)
    start = like(args[0], rng)
    buffer = np.array(start)
    op.pull_into(buffer, ct, [type_of(args[0]), *args[1:]])
    (expected,) = op.pull(ct, [type_of(args[0]), *args[1:]], None, [True])[:1]
    close(buffer, start + expected, tolerance(z), f"pull_into of {op}")


def check_is_a_value(example: Example) -> None:
    """Equal to its copy, hashable, printable."""
    copy = pickle.loads(pickle.dumps(example.op))
    assert copy == example.op
    assert hash(copy) == hash(example.op)
    assert example.op.title in str(example.op)


def check_layout(example: Example) -> None:
    """The layout that a primitive promises is that of its result, however the arguments lie; or it promises none."""
    op = example.op
    if op.several:
        return
    for arrange in (np.ascontiguousarray, strided, lambda x: np.ascontiguousarray(np.swapaxes(x, 0, 1)).swapaxes(0, 1)):
        args = [arrange(x) if np.ndim(x) > 1 else x for x in example.args]
        with np.errstate(all="ignore"):
            z = np.asarray(op.evaluate(*args))
        promised = op.layout([type_of(x) for x in args], [getattr(x, "strides", ()) for x in args], type_of(z))
        if promised is not None and z.size:
            wrong = [(s, t) for n, s, t in zip(z.shape, promised, z.strides, strict=True) if n > 1 and s != t]
            assert not wrong, f"{promised}, not {z.strides}, of arguments with {[np.shape(x) for x in args]}"

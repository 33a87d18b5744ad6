"""Functions with loops in loops, in every mode: eager, compiled, simplified, batched, and against the adjoint.

    f, jvp, vjp, grad, jvp of grad, grad of grad      as they are = under jit = the simplified program
    vmap of f, of its gradient and of its curvature   = one call for each batch element = under jit
    Re⟨u, J v⟩ = Re⟨Jᴴ u, v⟩

Batch elements differ, so that their loops end at different times and they take different branches.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import tree
from adjoint.base.errors import AdjointError, TraceError
from adjoint.program.program import interpret
from tests.random_programs.agreement import (
    RAISED,
    RUNS,
    Outcome,
    element_differences,
    operations,
    simplified,
    traced,
)
from tests.random_programs.functions import LOOPS_IN_LOOPS, RandomFunction, random_function
from tests.random_programs.noise import noised, noisy

REFUSED = (*RAISED, AdjointError, TypeError, ZeroDivisionError)
ELEMENTS = 3  # of a batch
MOST_COLUMNS = 8  # of a dense second derivative
Case = tuple[Callable[..., list[Any]], list[Any]]


def cases(f: RandomFunction, xs: Sequence[Any], rng: np.random.Generator) -> dict[str, Case]:
    """Every mode of a function, as (function of a list of arrays, arguments)."""
    smooth = [k for k, x in enumerate(xs) if np.asarray(x).dtype.kind in "fc"]
    found: dict[str, Case] = {"value": (lambda *ys: list(f(*ys)), list(xs))}
    if not smooth:
        return found
    n, argnums = len(xs), tuple(smooth)
    tangents = [like(xs[k], rng) for k in smooth]

    def moving(ys: Sequence[Any]) -> Callable[..., list[Any]]:
        def of(*zs: Any) -> list[Any]:
            arguments = list(ys)
            for k, z in zip(smooth, zs, strict=True):
                arguments[k] = z
            return [y for y in f(*arguments) if y.dtype.kind in "fc"]

        return of

    def push(*ys: Any) -> list[Any]:
        return list(ad.jvp(moving(ys[:n]), tuple(ys[k] for k in smooth), tuple(ys[n:]))[1])

    def pull(*ys: Any) -> list[Any]:
        return list(ad.vjp(moving(ys[:n]), *[ys[k] for k in smooth])[1](list(ys[n:])))

    def gradient(*ys: Any) -> list[Any]:
        return list(ad.grad(f.weighed, argnums=argnums)(*ys))

    def along(*ys: Any) -> Any:
        parts = zip(gradient(*ys[:n]), ys[n:], strict=True)
        return sum(np.sum(np.real(np.conj(g) * v)) for g, v in parts)

    def curvature(*ys: Any) -> list[Any]:
        def of(*zs: Any) -> list[Any]:
            arguments = list(ys[:n])
            for k, z in zip(smooth, zs, strict=True):
                arguments[k] = z
            return gradient(*arguments)

        return list(ad.jvp(of, tuple(ys[k] for k in smooth), tuple(ys[n:]))[1])

    results = [y for y in f(*xs) if y.dtype.kind in "fc"]
    if results:
        found["jvp"] = (push, [*xs, *tangents])
        found["vjp"] = (pull, [*xs, *[like(y, rng) for y in results]])
    found["grad"] = (gradient, list(xs))
    found["jvp of grad"] = (curvature, [*xs, *tangents])
    if sum(np.size(xs[k]) if np.isrealobj(xs[k]) else np.inf for k in smooth) <= MOST_COLUMNS:
        forward = lambda *ys: tree.leaves(ad.jacfwd(lambda *zs: gradient(*zs), argnums=argnums)(*ys))
        found["jacfwd of grad"] = (forward, list(xs))
    found["grad of grad"] = (lambda *ys: list(ad.grad(along, argnums=argnums)(*ys)), [*xs, *tangents])
    return found


def like(x: Any, rng: np.random.Generator) -> Any:
    """Numbers of the shape and dtype of x."""
    x = np.asarray(x)
    value = rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else 0.0)
    return np.asarray(value).astype(x.dtype)[()]


def check_nested(seed: int, *, all_modes: bool = False) -> Outcome:
    """The modes of a function of loops in loops; two of them and the value, one compiled, unless all are asked for."""
    outcome = Outcome()
    f = random_function(seed, LOOPS_IN_LOOPS)
    if not f.steps:
        return outcome
    rng = np.random.default_rng([seed, 3])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cases(f, f.values(0), rng)
        names = list(found)
        chosen = names if all_modes or len(names) == 1 else ["value", *rng.choice(names[1:], 2, replace=False)]
        compiled = chosen if all_modes else [str(rng.choice(chosen))]
        expected = {
            name: _check_case(f"seed {seed}, {name}", *found[name], outcome, compiled=name in compiled)
            for name in chosen
        }
        for name in names if all_modes else [str(rng.choice(names))]:
            _check_batch(f"seed {seed}, vmap of {name}", f, found[name], outcome, rng)
        if all_modes or rng.random() < 0.3:
            _check_adjoint(f"seed {seed}", found, expected, outcome)
    return outcome


def run(f: Callable[..., list[Any]], args: Sequence[Any]) -> list[Any] | Exception:
    try:
        return [np.asarray(z) for z in f(*args)]
    except REFUSED as problem:
        return problem


def _check_case(
    what: str, f: Callable[..., list[Any]], args: list[Any], outcome: Outcome, *, compiled: bool
) -> list[Any] | None:
    """A mode as it is, as a program, as it was recorded and simplified; and under jit, `compiled` or not recorded."""
    expected = run(f, args)
    program = traced(f, args)
    if program is not None and not isinstance(expected, Exception):
        operations(program, outcome.seen)
        compare(what + ", recorded", f, args, expected, lambda *xs: interpret(program, xs), outcome)
        simplified(program, args, what, outcome)
    if compiled or program is None:
        compare(what + ", jit", f, args, expected, ad.jit(f), outcome)
    return None if isinstance(expected, Exception) else expected


def _check_batch(what: str, f: RandomFunction, case: Case, outcome: Outcome, rng: np.random.Generator) -> None:
    """A batch of different arguments: each element as by itself."""
    function, first = case
    n = len(f.inputs)
    others = [[*f.values(0, draw), *first[n:]] for draw in range(1, ELEMENTS)]
    single = [run(function, args) for args in (first, *others)]
    if any(isinstance(one, Exception) for one in single):
        outcome.notes["an element of a batch raises"] += 1
        return
    args = [np.stack([np.asarray(x) for x in column]) for column in zip(first, *others, strict=True)]
    try:
        expected = [np.stack(column) for column in zip(*single, strict=True)]
    except ValueError:
        return  # shapes that depend on values
    batched: Callable[..., list[Any]] = lambda *ys: list(ad.vmap(lambda *zs: function(*zs))(*ys))
    spread = lambda: batch_spread(function, [first, *others])
    form = rng.choice(["plain", "plain", "twice", "outside"])
    if form == "twice":
        what, once = what + ", twice", batched
        batched = lambda *ys: [z[1] for z in ad.vmap(lambda *zs: once(*zs))(*[np.stack([y, y]) for y in ys])]
    elif form == "outside" and what.endswith("vmap of grad"):
        what, smooth = what + ", turned round", [k for k, x in enumerate(args) if x.dtype.kind in "fc"]
        total = lambda *ys: np.sum(ad.vmap(f.weighed)(*ys))
        batched = lambda *ys: list(ad.grad(total, argnums=tuple(smooth))(*ys))
    compare(what, batched, args, expected, batched, outcome, spread)
    compare(what + ", jit", batched, args, expected, ad.jit(batched), outcome, spread)


def compare(
    what: str,
    f: Callable[..., list[Any]],
    args: Sequence[Any],
    expected: list[Any] | Exception,
    other: Callable[..., list[Any]],
    outcome: Outcome,
    spread: Callable[[], list[list[Any]]] | None = None,
) -> None:
    try:
        actual = run(other, args)
    except Exception as problem:
        outcome.failures.append(f"{what}: raises {type(problem).__name__}: {problem}"[:600])
        return
    if isinstance(expected, Exception):
        outcome.notes[f"refused: {type(expected).__name__}: {expected}"[:140]] += 1
        if not isinstance(actual, Exception):
            outcome.failures.append(f"{what}: only as it is, {type(expected).__name__}: {expected}"[:600])
        return
    if isinstance(actual, TraceError) and "would outlive" in str(actual):
        outcome.notes["refused: an array of an outer transformation is written to"] += 1
        return
    if isinstance(actual, Exception):
        if type(actual) in RAISED and spread is None and any(isinstance(o, Exception) for o in _spread(f, args)):
            return  # at the edge of being an error
        outcome.failures.append(f"{what}: raises {type(actual).__name__}: {actual}"[:600])
        return
    outcome.programs += 1
    wrong = element_differences(actual, expected, spread or (lambda: _spread(f, args)))
    if wrong is not None:
        outcome.failures.append(f"{what}: {wrong}")


def _spread(f: Callable[..., list[Any]], args: Sequence[Any]) -> list[Any]:
    """Results with noise on every value."""
    rng = np.random.default_rng(7)
    program = traced(f, args)
    try:
        if program is None:  # it asks for values: the path that it takes with these
            program = ad.trace(f)(*args).program
        return [noisy(program, args, rng) for _ in range(RUNS)]
    except (AdjointError, AttributeError):  # plain Python alone can do this
        return [run(f, [noised(x, rng) for x in args]) for _ in range(RUNS)]
    except RAISED as problem:
        return [problem]


def batch_spread(f: Callable[..., list[Any]], elements: Sequence[Sequence[Any]]) -> list[Any]:
    runs = [_spread(f, args) for args in elements]
    if any(isinstance(one, Exception) for run in runs for one in run):
        return [RuntimeError("at the edge of being an error")]
    return [[np.stack(column) for column in zip(*group, strict=True)] for group in zip(*runs, strict=False)]


def _check_adjoint(what: str, found: dict[str, Case], known: dict[str, list[Any] | None], outcome: Outcome) -> None:
    """Re⟨u, J v⟩ = Re⟨Jᴴ u, v⟩, up to what noise makes of either."""
    if "jvp" not in found:
        return
    n = len(found["value"][1])
    v, u = found["jvp"][1][n:], found["vjp"][1][n:]
    pushed, pulled = (known.get(name) or run(*found[name]) for name in ("jvp", "vjp"))
    if isinstance(pushed, Exception) or isinstance(pulled, Exception):
        return
    inner = lambda xs, ys: sum(float(np.sum(np.real(np.conj(x) * y))) for x, y in zip(xs, ys, strict=True))
    left, right = inner(u, pushed), inner(pulled, v)
    if not (np.isfinite(left) and np.isfinite(right)):
        return
    eps = max(float(np.finfo(np.asarray(x).dtype).eps) for x in (*pushed, *pulled, *u, *v))
    scale = sum(
        float(np.sum(np.abs(x) * np.abs(y))) for x, y in [*zip(u, pushed, strict=True), *zip(pulled, v, strict=True)]
    )
    spread = max(_inner_spread(found["jvp"], u, left, inner), _inner_spread(found["vjp"], v, right, inner))
    if not abs(left - right) <= 300 * eps * scale + 60 * spread:
        outcome.failures.append(f"{what}, adjoint: <u, Jv> = {left!r}, <J*u, v> = {right!r} (noise makes {spread:.3g})")


def _inner_spread(case: Case, others: Sequence[Any], plain: float, inner: Callable[..., float]) -> float:
    runs = [abs(inner(run, others) - plain) for run in _spread(*case) if not isinstance(run, Exception)]
    return max([run for run in runs if np.isfinite(run)], default=np.inf)

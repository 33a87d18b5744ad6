"""Whether machine code computes what NumPy does, up to rounding.

How much rounding matters is found by running the program again with noise of a few roundings on every value: an
element may differ by a multiple of what the noise does to it, and a discrete result that the noise changes (a
comparison of equal numbers, the position of a maximum) may be any of them.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import adjoint as ad
import adjoint.numpy  # the methods of traced arrays
from adjoint.base.errors import AdjointError
from adjoint.compile.kernel import Kernel, Unsupported, compile_program
from adjoint.program.program import Program, interpret
from adjoint.program.record import record_program
from adjoint.program.types import type_of
from adjoint.simplify import simplify
from adjoint.simplify.finish import finish
from tests.random_programs.functions import RandomFunction, random_function
from tests.random_programs.noise import noisy

RAISED = (IndexError, ValueError, OverflowError, np.linalg.LinAlgError)  # by programs, for some values
RUNS = 8  # with noise
ROUNDINGS, FACTOR = 300.0, 60.0  # an element may differ by so many roundings of the largest one, and by this · noise
MATRICES = (
    "matmul", "einsum", "cholesky", "solve", "solve_triangular", "inv", "qr", "lu", "svd", "eigh", "det", "slogdet",
    "fourier", "halfspectrum", "fromhalfspectrum",
)  # fmt: skip  # whether inf - inf is met depends on the order of sums
TRACING = (AdjointError, AttributeError, TypeError, ValueError, IndexError, NotImplementedError, np.linalg.LinAlgError)


@dataclass
class Outcome:
    """What came of the programs of some seeds."""

    programs: int = 0  # compiled and compared
    any_size: int = 0  # of these, by code for any size
    seen: Counter[str] = field(default_factory=Counter[str])  # operations
    notes: Counter[str] = field(default_factory=Counter[str])
    failures: list[str] = field(default_factory=list[str])

    def add(self, other: Outcome) -> None:
        self.programs += other.programs
        self.any_size += other.any_size
        self.seen += other.seen
        self.notes += other.notes
        self.failures += other.failures


def differences(program: Program, args: Sequence[Any], actual: Sequence[Any], expected: Sequence[Any]) -> str | None:
    """What is wrong with the results of a program, in words; None if nothing is."""
    for k, (kind, a, b) in enumerate(zip(program.output_types, actual, expected, strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {k}: {a.dtype}{a.shape}, expected {b.dtype}{b.shape} ({kind})"
    if all(_close(np.asarray(a), np.asarray(b)) for a, b in zip(actual, expected, strict=True)):
        return None
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            others = [noisy(program, args, rng) for _ in range(RUNS)]
        except RAISED:
            return None  # at the edge of being an error
    seen: Counter[str] = Counter()
    operations(program, seen)
    # whether inf - inf or inf · 0 is met depends on the order of sums and products, also far above where it shows
    wild = any(t in seen for t in (*MATRICES, "prod")) and any(_is_wild(x) for x in args)
    for k, (a, b) in enumerate(zip(actual, expected, strict=True)):
        if wild and np.asarray(a).dtype.kind in "fc":
            b = np.where(np.isnan(a), a, b)
        elif wild and np.asarray(a).dtype == np.intp and any(t.startswith("arg") for t in seen):
            continue  # so does the place of the first NaN
        wrong = _wrong(
            np.asarray(a), np.asarray(b), [np.asarray(o[k]) for o in others], any(t in seen for t in MATRICES)
        )
        if wrong is not None:
            return f"output {k}: {wrong}"
    return None


def element_differences(actual: Sequence[Any], expected: Sequence[Any], spread: Callable[[], list[Any]]) -> str | None:
    """What is wrong with some results, given what noise makes of them; None if nothing is."""
    for k, (a, b) in enumerate(zip(actual, expected, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {k}: {a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
    if all(_close(a, b) for a, b in zip(actual, expected, strict=True)):
        return None
    others = spread()
    if any(isinstance(one, Exception) for one in others):
        return None  # at the edge of being an error
    for k, (a, b) in enumerate(zip(actual, expected, strict=True)):
        runs = [np.asarray(one[k]) for one in others]
        wrong = None if any(run.shape != b.shape for run in runs) else _wrong(a, b, runs, True)
        if wrong is not None:
            return f"output {k}: {wrong}"
    return None


def _is_wild(x: Any) -> bool:
    return not np.all(np.abs(np.asarray(x).astype(np.complex128)) < 1e9)


def _close(a: Any, b: Any) -> bool:
    """Whether results differ by so little that it need not be known what noise makes of them."""
    same = (a == b) | ((a != a) & (b != b))
    if a.dtype.kind in "iub" or np.all(same):
        return bool(np.all(same))
    finite = np.isfinite(b)
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= ROUNDINGS * np.finfo(a.dtype).eps * np.max(np.abs(b), initial=0, where=finite)
    return bool(np.all(same | (finite & near)))


def _wrong(a: Any, b: Any, others: list[Any], loose: bool) -> str | None:
    with np.errstate(all="ignore"):
        if a.dtype.kind in "iub":
            bad = (a != b) & np.all([o == b for o in others], axis=0)
        else:
            bad = _unlike(a, b, others, loose)
    if not np.any(bad):
        return None
    at = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(bad)))
    spread = max(abs(complex(np.atleast_1d(o)[at]) - complex(np.atleast_1d(b)[at])) for o in others)
    return (
        f"{np.count_nonzero(bad)} of {a.size} elements of {a.dtype}{a.shape}, first at {at}: "
        f"{np.atleast_1d(a)[at]!r}, expected {np.atleast_1d(b)[at]!r} (noise makes {spread:.3g})"
    )


def _unlike(a: Any, b: Any, others: list[Any], loose: bool) -> Any:
    eps = np.finfo(a.dtype).eps
    finite = np.isfinite(b)
    safe = np.where(finite, np.abs(b), 0)
    largest = np.max(safe) if b.size else 0
    spread = np.max([np.abs(o - b) for o in others], axis=0)
    steady = np.all([np.isfinite(o) for o in others], axis=0)
    allowed = ROUNDINGS * eps * largest + FACTOR * spread + np.finfo(a.dtype).tiny * 2 / eps
    bad = finite & steady & ~(np.abs(a - b) <= allowed)
    if loose or a.dtype.kind == "c" or a.dtype == np.float16:  # inf and NaN, and what overflows, depend on the order
        return bad
    same = (np.isnan(a) & np.isnan(b)) | (a == b)
    firm = np.all([(np.isnan(o) & np.isnan(b)) | (o == b) for o in others], axis=0)
    return bad | (~finite & firm & ~same)


def run_both(program: Program, kernel: Kernel, args: Sequence[Any], what: str, outcome: Outcome) -> None:
    """Compare one call; an index out of bounds must be refused by both."""
    problem: BaseException | None = None
    expected: list[Any] = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = interpret(program, args)
        except RAISED as raised:
            problem = raised
        try:
            actual = kernel.run(args)
        except RAISED as raised:
            if problem is None:
                outcome.failures.append(f"{what}: only the kernel raises {type(raised).__name__}: {raised}")
            outcome.notes["refused by both"] += problem is not None
            return
    if problem is not None:
        outcome.notes[f"refused by NumPy alone: {problem}"[:120]] += 1
        return
    wrong = differences(program, args, actual, expected)
    if wrong is not None:
        outcome.failures.append(f"{what}: {wrong}")


def operations(program: Program, seen: Counter[str]) -> None:
    """Count the operations of a program and of those inside."""
    for eq in program.equations:
        seen[eq.op.title] += 1
        inner = getattr(eq.op, "programs", None)
        for sub in inner().values() if inner is not None else ():
            operations(sub, seen)


def derivative(f: RandomFunction, mode: str, xs: Sequence[Any]) -> tuple[Callable[..., Any], list[Any]] | None:
    """A transformation of a function, with its arguments; None where it has no sense."""
    smooth = [k for k, x in enumerate(xs) if np.asarray(x).dtype.kind in "fc"]
    if mode == "vmap":
        stacked = [np.stack([np.asarray(x)] * 3) for x in xs]
        return (lambda *ys: list(ad.vmap(lambda *zs: f(*zs))(*ys))), stacked
    if not smooth:
        return None
    argnums = tuple(smooth)
    if mode == "value_and_grad":

        def both(*ys: Any) -> list[Any]:
            value, gradients = ad.value_and_grad(f.weighed, argnums=argnums)(*ys)
            return [value, *gradients]

        return both, list(xs)
    n = len(xs)
    if mode == "jvp":

        def push(*ys: Any) -> list[Any]:
            of = lambda *moving: f(*_put(ys[:n], smooth, moving))
            values, gradients = ad.jvp(of, tuple(ys[k] for k in smooth), tuple(ys[n:]))
            return [*values, *[s for s in gradients if s is not None]]

        return push, [*xs, *[np.ones_like(xs[k])[()] * np.asarray(xs[k]).dtype.type(0.5) for k in smooth]]
    if mode == "grad of vmap":
        stacked = [np.stack([np.asarray(x)] * 2) for x in xs]
        total = lambda *ys: np.sum(ad.vmap(f.weighed)(*ys))
        return (lambda *ys: list(ad.grad(total, argnums=argnums)(*ys))), stacked

    def curvature(*ys: Any) -> list[Any]:
        gradient = lambda *zs: ad.grad(f.weighed, argnums=argnums)(*zs)
        of = lambda *moving: gradient(*_put(ys[:n], smooth, moving))
        return list(ad.jvp(of, tuple(ys[k] for k in smooth), tuple(ys[n:]))[1])

    return curvature, [*xs, *[np.ones_like(xs[k])[()] for k in smooth]]


def _put(xs: Sequence[Any], where: Sequence[int], new: Sequence[Any]) -> list[Any]:
    arguments = list(xs)
    for k, x in zip(where, new, strict=True):
        arguments[k] = x
    return arguments


MODES = ["value_and_grad", "value_and_grad", "jvp", "vmap", "grad of vmap", "curvature"]


def traced(f: Callable[..., Any], args: Sequence[Any]) -> Program | None:
    """The program of a function; None if it cannot be traced, or has nothing to compute."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program, captured = record_program(lambda *xs: list(f(*xs)), [type_of(a) for a in args])
    except TRACING:
        return None
    return None if captured or not program.equations else program


def check_program(
    program: Program, args: Sequence[Any], what: str, outcome: Outcome, *, finished: bool = False
) -> Kernel | None:
    """Compile a program (a simplified one when it is finished), run it and compare."""
    try:
        kernel = compile_program(finish(program) if finished else program)
    except Unsupported as problem:
        outcome.notes[f"not compiled: {problem}"] += 1
        return None
    except Exception as problem:  # every one is a fault
        outcome.failures.append(f"{what}: the compiler raises {type(problem).__name__}: {problem}")
        return None
    outcome.programs += 1
    outcome.any_size += bool(kernel.notes["any size"])
    run_both(program, kernel, args, what, outcome)
    return kernel


def simplified(program: Program, args: Sequence[Any], what: str, outcome: Outcome) -> Program | None:
    """The program after simplification; it must compute the same."""
    try:
        simple = simplify(program)
    except Exception as problem:
        outcome.failures.append(f"{what}: simplification raises {type(problem).__name__}: {problem}")
        return None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = interpret(program, args)
            actual = interpret(simple, args)
        except RAISED:
            return simple
    wrong = differences(program, args, actual, expected)
    if wrong is not None:
        outcome.failures.append(f"{what} after simplification alone: {wrong}")
    return simple


def check_seed(seed: int, *, all_modes: bool = False) -> Outcome:
    """All programs of a seed: the function at three sizes, simplified, wild arguments, one derivative, and jit."""
    outcome = Outcome()
    f = random_function(seed)
    if not f.steps:
        return outcome
    choice = np.random.default_rng(seed)
    mode = MODES[choice.integers(len(MODES))]
    for which in range(3):
        xs = f.values(which)
        program = traced(f, xs)
        if program is not None:
            operations(program, outcome.seen)
            kernel = check_program(program, xs, f"seed {seed}, value at {which}", outcome)
            if kernel is not None and which != 1:
                for draw in (1, 2):
                    wild = f.values(which, draw, wild=True)
                    run_both(program, kernel, wild, f"seed {seed}, wild value {draw} at {which}", outcome)
            if which == 0:
                simple = simplified(program, xs, f"seed {seed}, value", outcome)
                if simple is not None:
                    check_program(simple, xs, f"seed {seed}, simplified value", outcome, finished=True)
        for w in dict.fromkeys(MODES) if all_modes else (mode,):
            _check_derivative(f, w, which, outcome)
    if choice.random() < 0.2 or all_modes:
        _check_jit(f, outcome)
    return outcome


def _check_derivative(f: RandomFunction, mode: str, which: int, outcome: Outcome) -> None:
    case = derivative(f, mode, f.values(which))
    program = traced(*case) if case is not None else None
    if case is None or program is None:
        return
    operations(program, outcome.seen)
    what = f"seed {f.seed}, {mode} at {which}"
    if which == 0:
        check_program(program, case[1], what, outcome)
    simple = simplified(program, case[1], what, outcome)
    if simple is not None:
        check_program(simple, case[1], f"{what}, simplified", outcome, finished=True)


def _check_jit(f: RandomFunction, outcome: Outcome) -> None:
    """The whole way, through jit."""
    jitted = ad.jit(lambda *xs: f(*xs))
    for which in (0, 1, 2, 0):
        xs = f.values(which)
        program = traced(f, xs)
        if program is None:
            continue
        what = f"seed {f.seed}, jit at {which}"
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = interpret(program, xs)
                warnings.simplefilter("error", RuntimeWarning)
                actual = jitted(*xs)
        except RAISED:
            continue
        except Exception as problem:
            outcome.failures.append(f"{what}: raises {type(problem).__name__}: {problem}")
            continue
        wrong = differences(program, xs, actual, expected)
        if wrong is not None:
            outcome.failures.append(f"{what}: {wrong}")

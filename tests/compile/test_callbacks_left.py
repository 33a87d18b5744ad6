"""What compiled programs leave to NumPy: nothing but a few primitives, each with its reason.

All primitives are compiled from their examples for the contract: as they are, with tangents, with cotangents, over a
batch, and as the body of a loop.
"""

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
import adjoint.ops
from adjoint.compile.expand import expand_program
from adjoint.compile.kernel import compile_program
from adjoint.compile.lower import LoweredCode
from adjoint.compile.runtime_sizes import name_sizes
from adjoint.jit.executable import simplify_or_report
from adjoint.ops.elementwise.pointwise import Ufunc
from adjoint.ops.special.declare import RULES
from adjoint.program.op import PRIMITIVES
from adjoint.program.program import Program
from tests.ops.examples import TESTED_ELSEWHERE, examples
from tests.ops.samples import Example
from tests.simplify.programs import program_of

for module in pkgutil.walk_packages(adjoint.ops.__path__, "adjoint.ops."):
    importlib.import_module(module.name)

SCIPY = "the algorithm is SciPy's, in Python and Fortran; it takes far longer than the call"
SERIES = "series and integrals whose length depends on the numbers"
ATTEMPTS = "how often it draws depends on the numbers"
LEFT = {
    **dict.fromkeys(["Logarithm", "RealPower", "SquareRoot", "Sign", "SpectralDerivative"], SCIPY),
    **dict.fromkeys(["Sylvester", "Stein", "Riccati", "TriangularCommutator", "LDL", "PivotOrder"], SCIPY),
    **dict.fromkeys(["ParameterDerivative", "Placed", "CarlsonIntegral", "FunctionSequence"], SERIES),
    **dict.fromkeys(["RandomGamma", "RandomPoisson", "RandomBinomial", "RandomSubset"], ATTEMPTS),
    "SparseSolve": "a factorization of sparse matrices, SuperLU",
    "Schur": "an order of the eigenvalues that a Python function chooses",
    "CoincidingSingularValues": "only where singular values coincide or are zero",
    "CoincidingEigenvalues": "only where eigenvalues coincide",
}

# Bases and orders that are not unique: tests of their own compare what defines them.
NOT_UNIQUE = {"Eigh", "SVD", "Eig", "ArgPartition", "Schur", "SingularDecomposition", "QR", "TridiagonalEigh"}


def by_primitive() -> dict[str, list[Example]]:
    found: dict[str, list[Example]] = defaultdict(list)
    for example in examples():
        op = example.op
        found[op.title if isinstance(op, Ufunc) else type(op).__name__].append(example)
    for op in RULES.values():  # functions of several arguments
        if not isinstance(op, Ufunc):
            whole, grid = getattr(op, "whole", ()), 0.01 * np.arange(6).reshape(2, 3)
            args = [np.full((2, 3), 2 + k) if a in whole else 0.4 + 0.1 * k + grid for k, a in enumerate(op.arguments)]
            found[op.title].append(Example(op, tuple(args)))
    return found


EXAMPLES = by_primitive()


def some(name: str, most: int) -> list[Example]:
    """A few examples of a primitive, from the first to the last."""
    found = EXAMPLES[name]
    return [found[i] for i in sorted({round(k * (len(found) - 1) / max(1, most - 1)) for k in range(most)})]


def contexts(example: Example) -> Iterator[tuple[str, Callable[..., Any], list[Any]]]:
    """(name, function, arguments) of the programs around an example."""
    op, args = example.op, example.args
    arrays = [i for i, x in enumerate(args) if hasattr(x, "dtype")]
    xs = [args[i] for i in arrays]

    def value(*xs: Any) -> list[Any]:
        full = list(args)
        for i, x in zip(arrays, xs, strict=True):
            full[i] = x
        z = op(*full)
        return list(z) if op.several else [z]

    yield "value", value, xs
    with np.errstate(all="ignore"):
        results = op.evaluate(*args)
    results = list(results) if op.several else [results]
    if example.active and all(np.asarray(z).dtype.kind in "fc" for z in results):
        moving = [arrays.index(i) for i in example.active]
        n = len(xs)

        def on(xs: Any) -> Callable[..., Any]:
            return lambda *ys: value(*[ys[moving.index(k)] if k in moving else xs[k] for k in range(n)])

        tangents = [xs[k] for k in moving]
        yield "jvp", lambda *a: ad.jvp(on(a[:n]), tuple(a[k] for k in moving), a[n:]), [*xs, *tangents]
        cotangents = [np.asarray(z) for z in results]
        yield "vjp", lambda *a: list(ad.vjp(on(a[:n]), *[a[k] for k in moving])[1](list(a[n:]))), [*xs, *cotangents]
    stacked = [np.stack([x, x, x]) for x in xs]
    yield "vmap", ad.vmap(value), stacked
    yield "scan", lambda *xs: ad.scan(lambda c, x: (c + 1.0, value(*x)), 0.0, xs), stacked


UNSUPPORTED = (ad.UnsupportedError, ad.ControlFlowError)  # derivatives that have no rule, or need a plain integer


def lowered(f: Callable[..., Any], args: list[Any]) -> LoweredCode | None:
    with np.errstate(all="ignore"):
        try:
            program = program_of(f, *args)[0]
        except UNSUPPORTED:
            return None
        simple, _ = simplify_or_report(program)
        return LoweredCode(name_sizes(expand_program(simple)))


def left(code: LoweredCode) -> set[str]:
    return {type(eq.op).__name__ for eq in code.callbacks}


def check(name: str, found: list[Example]) -> None:
    for example in found:
        for context, f, args in contexts(example):
            code = lowered(f, args)
            beyond = left(code) - set(LEFT) if code is not None else set()
            assert not beyond, f"{context} of {example} calls NumPy for {sorted(beyond)}"


@pytest.mark.parametrize("name", sorted(EXAMPLES)[::3])  # all of them in the sweeps, below
def test_no_callback(name: str) -> None:
    check(name, some(name, 1 if isinstance(EXAMPLES[name][0].op, Ufunc) else 2))


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_no_callback_in_any_example(name: str) -> None:
    check(name, EXAMPLES[name])


def test_exceptions_are_needed_and_documented() -> None:
    exceptional = {"CoincidingSingularValues", "CoincidingEigenvalues"}
    for name in set(LEFT) - exceptional:
        assert name in PRIMITIVES
        assert any(left(LoweredCode(expand_program(program_of(f, *args)[0]))) for f, args in _values(name)), name
    page = (Path(__file__).resolve().parents[2] / "docs" / "jit.md").read_text()
    for reason in set(LEFT.values()):
        assert reason in page, f"docs/jit.md does not say: {reason}"


def _values(name: str) -> Iterator[tuple[Callable[..., Any], list[Any]]]:
    for example in EXAMPLES[name]:
        yield next((f, args) for context, f, args in contexts(example) if context == "value")


EQUAL = sorted(set(EXAMPLES) - NOT_UNIQUE - set(TESTED_ELSEWHERE) - {n for n in EXAMPLES if n in LEFT})
OWN = [name for name in EQUAL if not isinstance(EXAMPLES[name][0].op, Ufunc)]
GROUPS = {group[0]: group for group in (OWN[i : i + 8] for i in range(0, len(OWN), 8))}


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_in_a_loop_as_numpy(group: list[str]) -> None:
    """Values of a few primitives, in the body of one loop."""
    chosen = [example for name in group for example in some(name, 2) if example.args]
    parts = [next((f, args) for context, f, args in contexts(e) if context == "value") for e in chosen]
    stacked = [np.stack([x, x]) for _, args in parts for x in args]

    def body(c: Any, xs: Any) -> Any:
        results, start = [], 0
        for f, args in parts:
            results.append(f(*xs[start : start + len(args)]))
            start += len(args)
        return c, results

    program: Program = program_of(lambda *xs: ad.scan(body, 0.0, xs)[1], *stacked)[0]
    got = iter(compile_program(program).run(stacked))
    for example in chosen:
        with np.errstate(all="ignore"):
            want = example.op.evaluate(*example.args)
        for z in want if example.op.several else [want]:
            exact, both = np.asarray(z), next(got)
            assert both.dtype == exact.dtype, str(example)
            tight = 1e-10 if exact.dtype.kind in "fc" and np.finfo(exact.dtype).bits == 64 else 1e-4
            largest = np.max(np.abs(exact[np.isfinite(exact)]), initial=0) if exact.dtype.kind in "fc" else 0
            for one in both:
                np.testing.assert_allclose(one, exact, rtol=tight, atol=tight * largest, err_msg=str(example))

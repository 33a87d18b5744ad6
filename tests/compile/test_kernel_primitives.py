"""All primitives in all contexts, compiled: what NumPy computes, for values, tangents, cotangents, batches and loops.

One program for each example has all of it: batches and loops of three elements, of one and of none. Examples of double
precision are run in single precision too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile.kernel import compile_program
from adjoint.ops.elementwise.pointwise import Ufunc
from adjoint.program.program import interpret
from adjoint.simplify import simplify
from adjoint.simplify.finish import finish
from tests.compile.test_callbacks_left import EXAMPLES, LEFT, NOT_UNIQUE, UNSUPPORTED, contexts, some
from tests.ops.samples import Example
from tests.random_programs.agreement import differences
from tests.simplify.programs import program_of
from tests.support.sweeps import sampled

NAMES = sorted(set(EXAMPLES) - NOT_UNIQUE - set(LEFT))
HALF = {np.dtype(np.float64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.complex64)}


def in_single_precision(example: Example) -> Example | None:
    """The same with numbers of half the size, if the primitive takes them."""
    args = [a.astype(HALF.get(a.dtype, a.dtype)) if hasattr(a, "dtype") else a for a in example.args]
    if all(a is b or a.dtype == b.dtype for a, b in zip(args, example.args, strict=True) if hasattr(a, "dtype")):
        return None
    try:
        with np.errstate(all="ignore"):
            example.op.evaluate(*args)
    except Exception:
        return None
    return Example(example.op, tuple(args))


def everything(example: Example) -> tuple[Callable[..., Any], list[Any]]:
    """(function, arguments): the results of all contexts that have rules, one after the other."""
    parts: list[tuple[Callable[..., Any], int]] = []
    arguments: list[Any] = []
    for name, f, args in contexts(example):
        sizes = [3, 1, 0] if name in ("vmap", "scan") else [None]
        for size in sizes:
            chosen = args if size is None else [x[:size] for x in args]
            try:
                with np.errstate(all="ignore"):
                    program_of(f, *chosen)
            except UNSUPPORTED:
                continue
            parts.append((f, len(chosen)))
            arguments += chosen

    def run(*xs: Any) -> list[Any]:
        results: list[Any] = []
        start = 0
        for f, count in parts:
            results += ad.tree.leaves(f(*xs[start : start + count]))
            start += count
        return results

    return run, arguments


def check(example: Example) -> None:
    with np.errstate(all="ignore"):
        program, args = program_of(*(lambda pair: (pair[0], *pair[1]))(everything(example)))
        expected = interpret(program, args)
        actual = compile_program(finish(simplify(program))).run(args)
        wrong = differences(program, args, actual, expected)
    assert wrong is None, f"{example}: {wrong}"


@pytest.mark.parametrize("name", sampled(NAMES, every=40))
def test_every_context_computes_what_numpy_does(name: str) -> None:
    for example in some(name, 1 if isinstance(EXAMPLES[name][0].op, Ufunc) else 2):
        check(example)
        single = in_single_precision(example)
        if single is not None:
            check(single)

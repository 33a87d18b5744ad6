"""Streams that many layers add to are written once for each layer, not summed up from their beginning."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile.plan import Fused, Plan
from tests.compile.test_ufuncs import compiled_without_callbacks
from tests.simplify.programs import program_of

R = np.random.default_rng(0)


def stream(x: Any, ws: Any) -> Any:
    for w in ws:
        x = x + np.maximum((x - np.mean(x, axis=-1, keepdims=True)) @ w, 0.0)
    return x


def largest_nest(depth: int, rows: int) -> int:
    """Nodes of the largest nest."""
    program, _ = program_of(lambda x, *ws: np.sum(stream(x, ws)), R.normal(size=(rows, 32)), *[np.eye(32)] * depth)
    steps = Plan(program, lambda op: True).steps
    return max(len(step.graph.nodes) for step in steps if isinstance(step, Fused) and step.graph is not None)


def test_nests_do_not_grow_with_the_depth() -> None:
    assert largest_nest(4, 32) == largest_nest(12, 32)


def test_short_arrays_stay_in_registers() -> None:
    assert largest_nest(8, 2) > largest_nest(4, 2)


@pytest.mark.parametrize("rows", [3, 40])
def test_derivatives(rows: int) -> None:
    x, ws = R.normal(size=(rows, 32)), [R.normal(size=(32, 32)) / 6.0 for _ in range(6)]
    slope = ad.grad(lambda x, *ws: np.sum(np.sin(stream(x, ws))), tuple(range(7)))
    for got, wanted in zip(compiled_without_callbacks(slope, x, *ws), slope(x, *ws), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


def test_what_pays() -> None:
    """A sum of four arrays that two nests read is written; a sum of two is computed twice."""
    xs = [R.normal(size=(30, 20)) for _ in range(4)]

    def written(f: Any) -> int:
        program, _ = program_of(f, *xs)
        plan = Plan(program, lambda op: True)
        return sum(v in plan.kept for eq in program.equations for v in eq.outputs if v.type.shape == (30, 20))

    deviation = lambda s: np.max(s - np.sum(s))
    assert written(lambda a, b, c, d: deviation(a + b) + np.sum(c * d)) == 0
    assert written(lambda a, b, c, d: deviation(a + b + c + d)) == 1

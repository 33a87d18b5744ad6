"""Slices that move: what all iterations read or write at once is what they do one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoint.ops.arrays.index import ScatterSet, subscript
from adjoint.ops.elementwise.arithmetic import add
from adjoint.program.check import check
from adjoint.program.program import Equation, Program, Var, interpret
from adjoint.program.types import ArrayType
from adjoint.simplify.reroll.moving_slices import Draft, MovingSlices

SHAPE = (12, 9, 5)
FLOAT = np.dtype(np.float64)


@st.composite
def items(draw, iterations):
    """For each iteration the items of a slice of an array of shape SHAPE."""
    columns = []
    for n in SHAPE[: draw(st.integers(1, 3))]:
        kind = draw(st.sampled_from(["integer", "moving", "anywhere", "window", "block", "all", "new"]))
        if kind == "integer":
            columns.append([draw(st.integers(-n, n - 1))] * iterations)
        elif kind == "moving":
            down = draw(st.booleans())
            columns.append([n - 1 - t if down else t for t in range(iterations)])
        elif kind == "anywhere":
            columns.append(draw(st.lists(st.integers(0, n - 1), min_size=iterations, max_size=iterations)))
        elif kind == "window":
            columns.append([(t % (n - 1), t % (n - 1) + 2, 1) for t in range(iterations)])
        elif kind == "block" and 2 * iterations <= n:
            columns.append([(2 * t, 2 * t + 2, None) for t in range(iterations)])
        elif kind == "new":
            columns.append([None] * iterations)
            columns.append([(None, None, None)] * iterations)
        else:
            columns.append([(None, None, None)] * iterations)
    return [("slice", row) for row in zip(*columns, strict=True)]


KEYS = st.integers(2, 5).flatmap(items)


def values(*shape):
    return np.random.default_rng(5).normal(size=shape)


def evaluated(draft, inputs, output, args):
    program = check(Program(tuple(inputs), tuple(draft.equations), (output,), draft.constants))
    return interpret(program, args)[0]


def drafted():
    return Draft(Equation(add, (), ()))


@given(KEYS)
def test_reads(keys):
    x = values(*SHAPE)
    slices = MovingSlices.of(keys, SHAPE)
    assert slices is not None
    if slices.moving:
        draft, v = drafted(), Var(ArrayType(SHAPE, FLOAT))
        found = evaluated(draft, [v], slices.read(draft, v), [x])
        np.testing.assert_array_equal(found, np.stack([x[subscript(key, ())] for key in keys]))


@given(KEYS)
def test_reads_of_one_iteration(keys):
    x = values(*SHAPE)
    slices = MovingSlices.of(keys, SHAPE)
    assert slices is not None
    for t, key in enumerate(keys):
        if slices.moving:
            draft, v = drafted(), Var(ArrayType(SHAPE, FLOAT))
            indices = [draft.constant(np.array(array[t])) for array in slices.indices(slices.moving)]
            found = evaluated(draft, [v], slices.read_one(draft, v, indices), [x])
            np.testing.assert_array_equal(found, x[subscript(key, ())])


@given(KEYS, st.integers(0, 2))
def test_writes_to_distinct_positions(keys, broadcast):
    x = values(*SHAPE)
    slices = MovingSlices.of(keys, SHAPE)
    assert slices is not None
    if not (slices.moving and slices.distinct):
        return
    outer = slices.outer
    shape = outer if broadcast == 0 or not outer else outer[1:] if broadcast == 1 else (1, *outer)
    new = values(len(keys), *shape)
    wanted = x.copy()
    for t, key in enumerate(keys):
        wanted[subscript(key, ())] = new[t]
    draft, v, w = drafted(), Var(ArrayType(SHAPE, FLOAT)), Var(ArrayType(new.shape, FLOAT))
    key, aligned, indices = slices.write(draft, w)
    z = draft.write(ScatterSet(key), v, aligned, *indices)
    np.testing.assert_array_equal(evaluated(draft, [v, w], z, [x, new]), wanted)


def test_slices_that_meet_are_not_distinct():
    windows = MovingSlices.of([("slice", ((t, t + 3, 1),)) for t in range(5)], SHAPE)
    assert windows is not None
    assert not windows.distinct


@pytest.mark.parametrize("key", [("gather", 1), ("slice", ((0, 2, 1),))])
def test_keys_of_different_form_have_no_slices(key):
    assert MovingSlices.of([("slice", (0,)), key], SHAPE) is None

"""Sizes that are found while a kernel runs: a name for each, and what is said where they cannot be compiled."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile.runtime_sizes import name_sizes, open_axes, same_rows
from adjoint.compile.symbolic_sizes import Sym, Unsupported, expected, is_found_later, plain
from adjoint.ops.arrays.rearrange import Transpose
from adjoint.ops.control.scan import Scan
from adjoint.ops.elementwise.pointwise import BY_NAME
from adjoint.program.program import Equation, Program, Var
from adjoint.program.subprograms import all_equations
from adjoint.program.types import ArrayType, Size
from adjoint.simplify import simplify

LOGICAL_NOT = BY_NAME["logical_not"]


def halve(x: Any) -> Any:
    return ad.while_loop(lambda s: s > 1.0, lambda s: s / 2 + 0.01 * np.sin(x), x)


def traced(f: Any, *args: Any) -> Program:
    return simplify(ad.trace(f)(*args).program)


def test_a_program_whose_sizes_are_known_is_left_alone() -> None:
    program = traced(lambda x: np.sum(np.sin(x)), np.ones(3))
    assert name_sizes(program) is program


def test_each_loop_has_a_size_of_its_own() -> None:
    program = traced(ad.grad(lambda x: halve(x) + halve(x * x)), 20.0)
    named = name_sizes(program)
    sizes = [n for eq in all_equations(named) for v in eq.outputs for n in v.type.shape]
    assert sizes
    assert all(is_found_later(n) for n in sizes)
    assert len({n.polynomial for n in sizes}) == 2  # two loops


def test_rows_of_different_lengths_have_their_open_axis_inside() -> None:
    program = traced(ad.grad(lambda x: np.sum(ad.scan(lambda c, t: (c, halve(x * t)), x, np.arange(4.0))[1])), 20.0)
    stacks = [v.type for eq in name_sizes(program).equations for v in eq.outputs if open_axes(v.type)]
    assert stacks
    assert all(kind.shape[0] == 4 and open_axes(kind) == [1] for kind in stacks)


def test_what_reads_rows_of_different_lengths_as_an_array_is_refused() -> None:
    program = traced(ad.grad(lambda x: np.sum(ad.scan(lambda c, t: (c, halve(x * t)), x, np.arange(4.0))[1])), 20.0)
    stack = next(v for eq in program.equations for v in eq.outputs if isinstance(eq.op, Scan) and len(v.type.shape) > 1)
    turned = Var(ArrayType(stack.type.shape[::-1], stack.type.dtype))
    equations = (*program.equations, Equation(Transpose((1, 0)), (stack,), (turned,)))
    with pytest.raises(Unsupported, match="transpose: its operand has rows of different lengths"):
        name_sizes(Program(program.inputs, equations, program.outputs, program.constants))


def test_one_number_in_all_rows_is_known_where_loops_alone_read_it() -> None:
    """The flag that says which iterations there were, at both levels; not the residuals beside it."""
    program = traced(ad.grad(lambda x: np.sum(ad.scan(lambda c, t: (c, halve(x * t)), x, np.arange(4.0))[1])), 20.0)
    scan = next(eq for eq in program.equations if isinstance(eq.op, Scan))
    numbers = {str(v.type.dtype): same_rows(program, v) for v in scan.outputs if len(v.type.shape) > 1}
    assert numbers["bool"] is not None
    assert numbers["bool"].value
    assert numbers.get("float64") is None
    flags = next(v for v in scan.outputs if v.type.dtype == bool)
    turned = Var(ArrayType(flags.type.shape, flags.type.dtype))
    equations = (*program.equations, Equation(LOGICAL_NOT, (flags,), (turned,)))
    assert same_rows(Program(program.inputs, equations, program.outputs, program.constants), flags) is None


def test_sizes_of_arguments_that_nobody_knows_are_refused() -> None:
    x = Var(ArrayType((Size("n"),), np.dtype(float)))
    with pytest.raises(Unsupported, match="arguments"):
        name_sizes(Program((x,), (), (x,), {}))


def test_estimates_and_messages() -> None:
    n, m = Sym.named("n0", 5), name_sizes(traced(ad.grad(halve), 20.0)).equations
    found = next(k for eq in m for v in eq.outputs for k in v.type.shape)
    assert (plain(n), plain(found), plain(7)) == (5, "?", 7)
    assert expected(n) == 5
    assert expected(3 * found) == 3 * expected(found) < 1000
    assert not is_found_later(n)
    assert is_found_later(found * n)

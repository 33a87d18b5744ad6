"""The rows of scipy.special are complete and true."""

import numpy as np
import pytest
import scipy.special

import adjoint as ad
from adjoint.coverage import CONSTANT, DIFFERENTIABLE, REFUSED
from adjoint.ops.elementwise.nary_ufuncs import NamedUfunc
from adjoint.ops.elementwise.pointwise import UFUNCS
from adjoint.scipy import special
from tests.coverage.agreement import fault, fault_of_compiled, faults_of_names, moving, rows_of
from tests.coverage.examples_special import example


def test_every_function_has_a_row_and_every_row_a_function():
    assert not faults_of_names("scipy.special")


@pytest.mark.parametrize("row", rows_of("scipy.special", DIFFERENTIABLE), ids=lambda row: row.name)
def test_differentiable(row):
    assert fault(row, example(row.name)) is None


@pytest.mark.parametrize("row", rows_of("scipy.special", DIFFERENTIABLE)[::12], ids=lambda row: row.name)
def test_compiled(row):
    """A sample: compiling takes longer than the function."""
    assert fault_of_compiled(row, example(row.name)) is None


@pytest.mark.parametrize("row", rows_of("scipy.special", CONSTANT), ids=lambda row: row.name)
def test_constant(row):
    assert fault(row, example(row.name)) is None


@pytest.mark.parametrize("row", rows_of("scipy.special", REFUSED), ids=lambda row: row.name)
def test_refused(row):
    assert fault(row, example(row.name)) is None


def test_rows_name_the_arguments_that_have_rules():
    behind = []
    for row in rows_of("scipy.special", DIFFERENTIABLE):
        op = UFUNCS.get(getattr(scipy.special, row.name))
        if isinstance(op, NamedUfunc):
            partials = tuple(name for name in op.arguments if name in op.partials)
            if row.arguments != (() if partials == op.arguments else partials):
                behind.append(f"{row.name}({', '.join(op.arguments)}) has rules for {', '.join(partials)}")
    assert not behind, "\n".join(["Rows that name other arguments than the rules:", *behind])


def test_functions_of_ours_have_rows():
    rows = {row.name: row for row in rows_of("scipy.special", DIFFERENTIABLE)}
    silent = [name for name in special.__all__ if name not in rows]
    assert not silent, f"functions of adjoint.scipy.special that the table does not call differentiable: {silent}"


@pytest.mark.parametrize(
    "row", [row for row in rows_of("scipy.special", DIFFERENTIABLE) if row.own], ids=lambda row: row.name
)
def test_scipys_own_function_is_right_or_names_ours(row):
    """Most of SciPy's Python functions convert their arguments; the error says what to call instead."""
    call, xs = example(row.name)
    with np.errstate(all="ignore"):
        try:
            value, tangent = ad.jvp(lambda *xs: moving(call(getattr(scipy.special, row.name), *xs)), xs, xs)
        except Exception as raised:
            words = "\n".join([str(raised), *getattr(raised, "__notes__", ())])
            assert f"adjoint.scipy.special.{row.name}" in words
        else:
            ours = ad.jvp(lambda *xs: moving(call(getattr(special, row.name), *xs)), xs, xs)
            for a, b in zip((*value, *tangent), (*ours[0], *ours[1]), strict=True):
                np.testing.assert_allclose(a, b, 1e-9)

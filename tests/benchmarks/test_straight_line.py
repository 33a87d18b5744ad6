"""The benchmark of compile times: it measures every stage, and its program is one that cannot be rolled up."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile.expand import expand_program
from adjoint.compile.lower import LoweredCode
from adjoint.simplify import simplify
from benchmarks.straight_line import STAGES, START, cells, integrated, page, rows


def test_every_stage_is_measured() -> None:
    found = list(rows([6, 12]))
    assert [row[:2] for row in found] == [("value", 6), ("value", 12), ("gradient", 6), ("gradient", 12)]
    assert all(set(row[3]) == set(STAGES) and min(row[3].values()) >= 0 for row in found)
    assert cells(found[0])[-1] == ""
    assert page(found).count("\n| ") == 5


def test_the_code_grows_with_the_number_of_steps() -> None:
    lengths = [len(simplify(ad.trace(integrated(n))(START).program).equations) for n in (100, 200)]
    assert lengths[1] > 1.8 * lengths[0]
    np.testing.assert_allclose(ad.jit(integrated(40))(START), integrated(40)(START), rtol=1e-12)


def calls(function: Callable[[], Any]) -> int:
    """How many functions are called and left."""
    count = 0

    def note(*_: Any) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("transform", [lambda f: f, ad.grad], ids=["value", "gradient"])
def test_work_grows_with_the_number_of_equations(transform: Any) -> None:
    """Within 1.2 of linear: as counts of calls, since times are those of the machine."""
    work, sizes = [], []
    for steps in (60, 240):
        with ad.config.override(convert=False):
            program = ad.trace(transform(integrated(steps)))(START).program
        sizes.append(len(program.equations))
        work.append(calls(lambda program=program: LoweredCode(expand_program(simplify(program)))))
    assert sizes[1] > 3.5 * sizes[0]
    assert work[1] / work[0] < 1.2 * sizes[1] / sizes[0]

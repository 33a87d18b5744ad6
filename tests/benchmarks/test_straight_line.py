"""The benchmark of compile times: it measures every stage, and its program is one that cannot be rolled up."""

import numpy as np

import adjoint as ad
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

"""Names that are live around statements."""

import numpy as np
import pytest

import adjoint as ad


def caught_in_a_loop(x):
    total, seen = 0.0, []
    for i in range(12):
        try:
            if i % 3 == 0:
                raise ValueError(f"number {i}")
            total = total + float(x) * i
        except ValueError as problem:
            if "number" not in str(problem):
                raise
            seen.append(str(problem))
    return total + len(seen)


def test_what_except_names_is_deleted_behind_it() -> None:
    assert ad.grad(caught_in_a_loop)(2.0) == caught_in_a_loop(1.0) - caught_in_a_loop(0.0)
    assert ad.jit(caught_in_a_loop)(np.float64(2.0)) == pytest.approx(caught_in_a_loop(2.0))
    assert ad.trace(caught_in_a_loop)(2.0)(3.0) == pytest.approx(caught_in_a_loop(3.0))

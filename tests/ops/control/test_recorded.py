"""Programs that are read until that has cost as much as compiling."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
import adjoint.jit.pipeline  # programs that are called run compiled
from adjoint.ops.control.recorded import call_program, keep_program
from adjoint.program.evaluate import work


def powers(x: Any) -> Any:
    """x¹⁰ by a loop."""
    return ad.while_loop(lambda state: state[0] < 10, lambda state: (state[0] + 1, state[1] * x), (0, 1.0))[1]


def test_read_then_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjoint.ops.control.recorded.WORK", 50)
    monkeypatch.setattr("adjoint.ops.control.recorded.EACH", 1)
    program = ad.trace(powers)(1.5).program
    f = lambda x: call_program(program, [x])[0]
    costs = []
    for x in (1.1, 1.2, 1.3, 1.4):
        before = work.equations
        np.testing.assert_allclose(f(x), x**10, rtol=1e-12)
        costs.append(work.equations - before)
    assert costs[0] > 0
    assert costs[-1] == 0
    np.testing.assert_allclose(ad.grad(f)(1.3), 10 * 1.3**9, rtol=1e-12)
    np.testing.assert_allclose(ad.jvp(ad.grad(f), (1.3,), (1.0,))[1], 90 * 1.3**8, rtol=1e-12)
    np.testing.assert_allclose(ad.jit(ad.vmap(f))(np.array([1.1, 0.9])), np.array([1.1, 0.9]) ** 10, rtol=1e-12)


def test_programs_that_do_the_same_are_one() -> None:
    first, second = ad.trace(powers)(1.5).program, ad.trace(powers)(2.5).program
    assert first is not second
    assert keep_program(second) is keep_program(first)
    plain = ad.trace(np.sin)(1.0).program
    assert keep_program(plain) is plain  # nothing to compile


def test_histories_of_loops_are_named_anew_and_known_again() -> None:
    first, second = (ad.trace(ad.grad(powers))(x).program for x in (1.5, 2.5))
    assert first != second
    assert keep_program(second) is keep_program(first)

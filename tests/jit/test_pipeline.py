"""Faults of our own while a program is simplified and compiled: the answer is right, and they are reported."""

import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.jit import executable
from adjoint.ops.elementwise.arithmetic import add, subtract


def f(x: Any) -> Any:
    return np.sum(np.exp(x) * x)


X = np.array([0.5, -1.0, 2.0])
EXPECTED = np.exp(X) * (1 + X)


def broken(*_: Any) -> Any:
    return [][0]


def test_simplification_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executable, "simplify", broken)
    fast = ad.jit(ad.grad(f))
    with (
        config.override(cache=False),
        pytest.warns(RuntimeWarning, match="simplification failed with IndexError") as seen,
    ):
        np.testing.assert_allclose(fast(X), EXPECTED, rtol=1e-14)
    assert seen[0].filename == __file__
    assert "not simplified" in str(fast.report())
    np.testing.assert_allclose(fast(X), EXPECTED, rtol=1e-14)


def test_a_simplified_program_that_does_not_compile_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simplification may be what is at fault: NumPy reads the program as it was traced."""

    def wrong(program: Any) -> Any:
        equations = [dataclasses.replace(eq, op=subtract) if eq.op is add else eq for eq in program.equations]
        return type(program)(program.inputs, tuple(equations), program.outputs, program.constants)

    monkeypatch.setattr(executable, "simplify", wrong)
    monkeypatch.setattr(executable, "compile_program", broken)
    fast = ad.jit(ad.grad(f))
    with (
        config.override(cache=False),
        pytest.warns(RuntimeWarning, match="the compiler failed with IndexError") as seen,
    ):
        np.testing.assert_allclose(fast(X), EXPECTED, rtol=1e-14)
    assert seen[0].filename == __file__
    assert "read by NumPy: the compiler failed with IndexError" in str(fast.report())


def test_both_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executable, "simplify", broken)
    monkeypatch.setattr(executable, "compile_program", broken)
    fast = ad.jit(ad.grad(f))
    with config.override(cache=False), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        np.testing.assert_allclose(fast(X), EXPECTED, rtol=1e-14)
    assert [w.filename for w in seen] == [__file__] * 2

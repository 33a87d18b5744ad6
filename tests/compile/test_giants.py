"""The cheaper tier for code without branches that is very long: the same results, and the report says so."""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.compile import giants, machine


@pytest.fixture
def everything_is_long(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every text is cut into pieces of a few lines."""
    monkeypatch.setattr(giants, "LONGEST", 3)
    monkeypatch.setattr(giants, "PIECE", 3)
    with config.override(cache=False):
        yield


def straight(x: Any) -> Any:
    for k in range(7):
        x = np.sin(x) * (1.0 + k) + np.sqrt(np.abs(x) + k)
    return np.sum(x)


def looping(x: Any) -> Any:
    x, path = ad.scan(lambda c, k: (np.tanh(c) + k, c * c), x, np.arange(5.0))
    x = ad.while_loop(lambda c: np.sum(c) > 1.0, lambda c: 0.5 * c, x)
    return np.sum(x) + np.sum(path)


def solving(x: Any) -> Any:
    A = np.eye(3) * 4.0 + np.outer(x, x)
    return np.sum(np.linalg.solve(A, x)) + np.linalg.slogdet(A)[1] + np.sort(x)[1]


@pytest.mark.parametrize("f", [straight, looping, solving])
@pytest.mark.usefixtures("everything_is_long")
def test_results_are_the_same(f: Callable[[Any], Any]) -> None:
    x = np.array([0.3, -0.4, 0.5])
    compiled = ad.jit(ad.value_and_grad(f) if f is not looping else lambda x: (f(x), ad.jacfwd(f)(x)))
    value, slope = compiled(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-14)
    step = 1e-6 * np.eye(3)
    differences = [(f(x + d) - f(x - d)) / 2e-6 for d in step]
    np.testing.assert_allclose(slope, differences, rtol=1e-7, atol=1e-9)
    assert "tier" in str(compiled.report())
    assert "compiled" in compiled.report().specializations[0].how


def test_short_code_is_compiled_as_always() -> None:
    compiled = ad.jit(straight)
    compiled(np.arange(3.0))
    assert "tier" not in str(compiled.report())


def test_blocks_are_cut_and_what_comes_from_them_is_renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giants, "PIECE", 4)
    lines = "\n".join(f"  %v{k + 1} = add i64 %v{k}, {k}" for k in range(20))
    text = f"""define i64 @answer(i64 %v0) {{
entry:
{lines}
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %s = phi i64 [ %v20, %entry ], [ %sum, %body ]
  %next = add i64 %i, 1
  %sum = add i64 %s, %i
  %more = icmp slt i64 %next, 10
  br i1 %more, label %body, label %done
done:
  ret i64 %sum
}}"""
    cut = giants.cut_blocks(text)
    assert max(giants.measure_blocks(text)) == 21
    assert max(giants.measure_blocks(cut)) <= 4 + 4
    machine.parse_verified(cut)
    code = machine.Loaded(machine._quick_machine().emit_object(machine.optimize(cut)[0]))
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("answer"))(7) == 7 + sum(range(20)) + sum(
        range(10)
    )


def test_several_long_blocks_are_a_giant_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giants, "LONGEST", 10)
    block = "block:\n" + "  line\n" * 8
    assert giants.giant_block("define\n" + 4 * block) == 0  # 4 · 8² < 3 · 10²
    assert giants.giant_block("define\n" + 5 * block) > 0

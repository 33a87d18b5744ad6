"""The benchmark of control flow: its programs agree with each other and with differences, and its tables are whole."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.conversion import forms
from benchmarks.control_flow import (
    CONTENDERS,
    Row,
    Workload,
    cells,
    compare,
    conversion_time,
    eager_rows,
    first_calls,
    page,
    ratio_text,
    workloads,
    written,
)
from benchmarks.flow import plain


@pytest.mark.parametrize("name", [n for n in workloads() if not n.endswith("10000") and "tree" not in n])
def test_plain_and_structured_programs_agree(name: str) -> None:
    row = compare(name, workloads()[name], rounds=1)  # it compares values and gradients
    assert set(row.times) <= set(CONTENDERS)
    assert min(row.times.values()) > 0


@pytest.mark.parametrize("name", ["kepler", "bonds", "gauss_seidel", "particle", "tree_walk"])
def test_gradients_are_those_of_differences(name: str) -> None:
    x = next(w.argument for w in workloads().values() if w.program == name)[:6]
    x = workloads()["tree with a stack, 127"].argument if name == "tree_walk" else x
    f = getattr(plain, name)
    direction = np.random.default_rng(2).normal(size=x.shape) * np.maximum(np.abs(x), 0.01)
    h = 1e-7
    slope = (f(x + h * direction) - f(x - h * direction)) / (2 * h)
    np.testing.assert_allclose(ad.grad(f)(x) @ direction, slope, rtol=2e-4)


def test_functions_of_many_lines_are_what_they_say() -> None:
    for lines in (15, 30):
        f = written(lines)
        last = max(line for _, _, line in f.__code__.co_lines() if line)
        assert lines - 2 <= last <= lines
        x = np.array([0.9, 0.4, -0.3, 1.2])
        np.testing.assert_allclose(ad.jit(f)(x), f(x), rtol=1e-12)
    assert conversion_time(written(15), forms.NATIVE, 1) > 0


def test_the_page_has_every_row() -> None:
    growth, eager = first_calls([15]), eager_rows(1)
    times = {"plain Python": 2e-6, "numba by hand": 1e-6, "JAX lax": 1e-3}
    rows = [Row("a", times, times), Row("b", {"plain Python": 1.0}, {})]
    text = page(rows, growth, eager)
    assert ratio_text(rows[0], "JAX lax", "plain Python") == "5e+02"
    assert cells(rows[1])[-1] == "–"
    assert "numba by hand: 1 of 1" in text
    assert text.count("\n| ") == 3 + 2 + 1 + len(eager)


def test_workloads_name_programs() -> None:
    assert all(isinstance(w, Workload) and hasattr(plain, w.program) for w in workloads().values())

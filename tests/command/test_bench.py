"""`adjoint bench`: gradients by hand agree with ours, and times are told."""

import json

import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.command import bench
from adjoint.testing import difference_gradient
from tests.command.commands import ran, refused


@pytest.mark.parametrize("problem", bench.problems(), ids=lambda problem: problem.name)
def test_gradients_by_hand(problem: bench.Problem) -> None:
    assert_allclose(ad.grad(problem.function)(*problem.args), problem.by_hand(*problem.args), rtol=1e-9, atol=1e-12)


def test_the_curve_against_differences() -> None:
    curve = bench.problems()[0]
    assert_allclose(curve.by_hand(*curve.args), difference_gradient(curve.function, curve.args[0]), rtol=1e-8)


def test_times_are_told() -> None:
    found = ran("bench", "--seconds", "0.01")
    assert found.code == 0
    for word in ("ad.grad", "ad.jit(ad.grad)", "by hand", "sum of 100,000 waves", "×)", "make bench"):
        assert word in found.out
    rows = json.loads(ran("bench", "--seconds", "0.01", "--json").out)
    assert len(rows) == len(bench.problems())
    for row in rows:
        assert min(row["value"], row["by_hand"], row["eager"], row["compiled"]) > 0
        assert row["error"] < 1e-8


def test_a_wrong_gradient_is_no_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = bench.Problem("wrong", lambda x: x**2, lambda x: x, (3.0,))
    monkeypatch.setattr(bench, "problems", lambda: [wrong])
    found = ran("bench", "--seconds", "0.01")
    assert found.code == 1
    assert "wrong: the gradient differs" in found.out


def test_seconds() -> None:
    assert "--seconds is 0" in refused("bench", "--seconds", "0")
    assert [bench.shown(t) for t in (2.5, 1.25e-3, 3e-6, 4e-9)] == ["2.5 s", "1.25 ms", "3 µs", "4 ns"]

"""The harness of the comparison: workers that answer, targets that are judged, exponents, the page."""

from pathlib import Path

import pytest

from benchmarks.peers.growth import SERIES, exponent
from benchmarks.peers.page import lines
from benchmarks.peers.results import Results, Second
from benchmarks.peers.rounds import Effort, Measured, compare
from benchmarks.peers.table import time_text
from benchmarks.peers.targets import judged
from benchmarks.peers.workloads import WORKLOADS

BRIEF = Effort(rounds=2, sample=1e-4, budget=0.01, patience=30.0)


def test_workers_take_turns_and_say_why_they_cannot() -> None:
    good, lost = compare(WORKLOADS["rosen"], "7", ["numpy by hand", "numpy by foot"], BRIEF, None)
    assert good.seconds is not None
    assert 0 < good.seconds < 1
    assert good.samples == 2
    assert good.error == 0.0
    assert good.peak is not None
    assert good.peak > 5
    assert lost.seconds is None
    assert lost.note.startswith("KeyError")


def figures(ours: float = 2e-6, peer: float = 11e-6, numba: float = 1e-6, compiling: float = 0.03) -> Results:
    """A run with one program, in which everything is measured."""
    row = lambda name, seconds, compile_time: Measured(
        "rosen", "1000", name, seconds, 3, 3, compile_time, 100.0, 1.0, 1e-16, report="1 kernel"
    )
    rows = [
        row("adjoint", ours, compiling),
        row("adjoint, plain loop", 2 * ours, compiling),
        row("jax", 3 * peer, 0.1),
        row("jax checkpoint", 2 * peer, 0.05),
        row("casadi C", peer, 9.0),
        row("numba by hand", numba, 0.3),
        Measured("rosen", "1000", "torch", note="no answer in 60 s"),
    ]
    scan = [
        Measured("rnn", series.size(work), "adjoint", 1e-6 * work**1.0, 1, 1, 0.05)
        for series in SERIES[:1]
        for work in series.work
    ]
    return Results("a processor", {"numpy": "2"}, rows, {"scan": scan}, [Second("rosen", "1000", 0.1, 0.012, 0.004)])


def verdict(results: Results, what: str, subject: str = "rosen 1000") -> tuple[float | None, bool | None]:
    (found,) = [v for v in judged(results) if v.subject.split(" (")[0] == subject and what in v.what]
    return found.figure, found.reached


def test_targets_are_judged_by_the_figures() -> None:
    results = figures()
    assert verdict(results, "best peer (casadi C) / ours") == (pytest.approx(5.5), True)
    assert verdict(results, "numba") == (pytest.approx(2.0), False)
    assert verdict(results, "compile") == (pytest.approx(30.0), True)
    assert verdict(results, "tracing") == (pytest.approx(8.0), True)
    assert verdict(results, "exponent of time", "growth, scan") == (pytest.approx(1.0), True)
    assert verdict(results, "µs a call", "rosen 10") == (None, None)
    assert verdict(figures(peer=9e-6), "best peer") == (pytest.approx(4.5), False)
    # 40 ms are always enough, half of JAX's fastest variant (25 ms) is less here
    assert verdict(figures(compiling=0.041), "compile") == (pytest.approx(41.0), False)


def test_wrong_answers_are_found() -> None:
    results = figures()
    assert not results.wrong()
    results.rows[2].error = float("nan")
    assert [row.contender for row in results.wrong()] == ["jax"]


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_the_exponent_is_that_of_the_upper_half(power: float) -> None:
    points = [(n, 5.0 if n < 100 else float(n) ** power) for n in (10, 30, 100, 300, 1000, 3000)]
    assert exponent(points) == pytest.approx(power, abs=1e-9)
    assert exponent(points[:2]) is None


def test_the_page_tells_what_was_found(tmp_path: Path) -> None:
    results = figures()
    results.store(tmp_path / "figures.json")
    text = "\n".join(lines(Results.stored(tmp_path / "figures.json"), {"times": "benchmarks/times.png"}))
    assert "| rosen 1000 | 2.00 µs | casadi C | 11.0 µs | 5.50 | 1.00 µs | 2.00 | - |" in text
    assert "| rosen 1000 | ours / numba by hand | 2.00 | ≤ 1.2 | **missed** |" in text
    assert "### Missed: rosen 1000" in text
    assert "1 kernel" in text
    assert "torch: no answer in 60 s." in text
    assert "Not installed, so left out: scipy, jax" in text
    assert "(benchmarks/times.png)" in text
    assert "benchmarks/growth.png" not in text


@pytest.mark.parametrize(
    "seconds, text", [(4.123e-7, "0.412 µs"), (3.9e-3, "3.90 ms"), (0.0421, "42.1 ms"), (7.5, "7.50 s"), (None, "-")]
)
def test_times_have_three_digits_and_a_unit(seconds: float | None, text: str) -> None:
    assert time_text(seconds) == text

"""`adjoint demo`: the lecture's example with its digits, then the tour, which checks its own numbers."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from matplotlib.image import imread

from tests.command.commands import ran, refused


@pytest.mark.row("L7.a")
def test_the_lectures_table() -> None:
    found = ran("demo", "--short")
    assert (found.code, found.err) == (0, "")
    forward = "1.25 0.75 0.7772999 0.6791787 −0.7772999 0.3208213 0.6041951 0.1029263 0.7071214"
    reverse = "0.2691087 −0.1398107 1.5546 −0.6416426 −1.5546 0.6416426 1 1 1"
    rows = [
        line.split() for line in found.out.splitlines() if "<statements" in line
    ]  # the process may have compiled others
    assert len(rows) == 9
    assert "\nloss: value and adjoints, 13 operations\n" in found.out
    for row, value, adjoint in zip(rows, forward.split(), reverse.split(), strict=True):
        assert row[-2] == adjoint
        assert value in row
    for number in ("0.1292979", "0.05939259", "0.5434737"):
        assert number in found.out


def test_the_tour_ends_well(tmp_path: Path) -> None:
    picture = tmp_path / "tour.png"
    found = ran("demo", "--picture", str(picture))
    assert found.code == 0, found.err
    assert found.out.count("✓") == 7
    assert "All 7 checks passed" in found.out
    drawn = imread(picture)
    assert drawn.shape[:2] == (728, 1300)
    assert drawn[..., :3].std() > 0.1  # something was drawn


def test_without_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: _none(name, known, *rest))
    found = ran("demo")
    assert found.code == 1
    assert "Kepler" in found.out
    assert "tumors" not in found.out
    assert "pip install 'adjoint[learn,plot]'" in found.out


def _none(name: str, known: Any, *rest: Any) -> Any:
    return None if name in ("sklearn", "matplotlib") else known(name, *rest)


def test_a_picture_that_has_no_place() -> None:
    assert "There is no folder" in refused("demo", "--picture", "nowhere/at/all.png")

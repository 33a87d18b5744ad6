"""The examples with sparse Jacobians run, at a small size; they check their own numbers and stop when one is off."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


def test_bundle_adjustment(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "bundle_adjustment.py"))["main"](5, 60, 400)
    shown = capsys.readouterr().out
    assert "colors" in shown
    assert shown.count("✓") == 2


def test_reaction_diffusion(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "reaction_diffusion.py"))["main"](12, 3)
    assert "✓ both arrive at the same place" in capsys.readouterr().out

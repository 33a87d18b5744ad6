"""The demonstration runs from start to end; it checks its own numbers as it goes, and stops when one is off."""

import os
import subprocess
import sys
from pathlib import Path

from matplotlib.image import imread

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_tour_ends_well(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}
    command = [sys.executable, str(ROOT / "examples" / "tour.py")]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("✓") == 6
    assert "All checks passed" in run.stdout
    picture = imread(tmp_path / "tour.png")
    assert picture.shape[:2] == (728, 1300)
    assert picture[..., :3].std() > 0.1  # something was drawn

"""Where the samples of operators are: in a folder beside this project, on machines that have it."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "opinfo"
PRESENT = (FOLDER / "data.npz").is_file()

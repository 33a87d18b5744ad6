"""Every picture of the documentation is drawn by a tool, and every such tool runs."""

import re
import runpy
from pathlib import Path

import pytest
from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[2]
TOOLS = sorted((ROOT / "tools").glob("*_picture.py"))
QUICK = "taylor_picture"


@pytest.mark.parametrize(
    "tool",
    [pytest.param(tool, id=tool.stem, marks=() if tool.stem == QUICK else pytest.mark.sweep) for tool in TOOLS],
)
def test_a_tool_draws_its_picture(tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    save = Figure.savefig

    def elsewhere(self: Figure, path: Path, **options: object) -> None:
        drawn.append(Path(path).name)
        save(self, tmp_path / Path(path).name, dpi=30)

    monkeypatch.setattr(Figure, "savefig", elsewhere)
    runpy.run_path(str(tool), run_name="__main__")
    assert drawn
    assert all(
        (tmp_path / name).stat().st_size > 1000 and (ROOT / "docs" / "pictures" / name).exists() for name in drawn
    )


def test_every_picture_has_a_tool() -> None:
    shown = {
        m for page in (ROOT / "docs").glob("*.md") for m in re.findall(r"\(pictures/(\w+\.png)\)", page.read_text())
    }
    drawn = {m for tool in TOOLS for m in re.findall(r"\"(\w+\.png)\"", tool.read_text())}
    assert shown <= drawn

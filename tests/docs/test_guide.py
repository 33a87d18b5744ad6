"""The guide's tables are those that its code prints, and its pictures can be drawn."""

import importlib.util
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_guide_is_what_its_code_says() -> None:
    spec = importlib.util.spec_from_file_location("guide", ROOT / "tools" / "guide.py")
    assert spec is not None
    assert spec.loader is not None
    guide = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(guide)
    page = guide.PAGE.read_text(encoding="utf-8")
    pieces = list(guide.filled(page, guide.PAGE.name))
    assert "".join(text for text, _, _ in pieces) == page, "run python tools/guide.py: the tables have changed"
    pictures = {picture: explained for _, picture, explained in pieces if picture is not None}
    assert len(pictures) == 5
    for picture, explained in pictures.items():
        drawn = explained.svg()
        assert ET.fromstring(drawn).tag.endswith("svg")
        kept = (guide.DOCS / picture).read_text(encoding="utf-8")
        assert ET.fromstring(kept).tag.endswith("svg")
        assert kept.count("data-variable") == drawn.count("data-variable")

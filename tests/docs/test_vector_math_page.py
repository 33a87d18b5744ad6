"""docs/vector_math.md names every function that is compiled, and no other."""

import re
from pathlib import Path

from adjoint.compile.vector_math import NAMES

ROOT = Path(__file__).resolve().parents[2]


def test_every_function_stands_on_the_page() -> None:
    text = (ROOT / "docs" / "vector_math.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert listed == list(NAMES), "write docs/vector_math.md anew: python tools/vector_math_page.py"

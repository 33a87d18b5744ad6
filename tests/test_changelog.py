"""Fragments of the changelog are well formed, so that a release can gather them."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "changelog.d"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\.(added|changed|deprecated|removed|fixed)\.md")
FRAGMENTS = sorted(path.name for path in FOLDER.iterdir() if path.name != "README.md")


def faults(name: str, text: str) -> list[str]:
    """What is wrong with a fragment."""
    checks = {
        "is not called <subject>.<added|changed|deprecated|removed|fixed>.md": NAME.fullmatch(name),
        "does not begin as a sentence does": re.match(r"[A-Z`]", text),
        "does not end with a full stop and one newline": re.search(r"[.!]\n\Z", text),
        "has a line of more than 120 columns": all(len(line) <= 120 for line in text.splitlines()),
        "has a heading; the kind in its name gives it one": not re.search(r"^#", text, re.MULTILINE),
    }
    return [fault for fault, passes in checks.items() if not passes]


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragment_is_well_formed(name: str) -> None:
    found = faults(name, (FOLDER / name).read_text(encoding="utf-8"))
    assert not found, f"changelog.d/{name} " + ", and ".join(found)


@pytest.mark.parametrize(
    "name, text, fault",
    [
        ("jet.new.md", "Good.\n", "is not called"),
        ("Jet.added.md", "Good.\n", "is not called"),
        ("jet.added.md", "", "does not begin"),
        ("jet.added.md", "No stop\n", "does not end"),
        ("jet.added.md", "# Added\nGood.\n", "has a heading"),
        ("jet.added.md", f"A{'a' * 120}.\n", "120 columns"),
    ],
)
def test_faults_are_seen(name: str, text: str, fault: str) -> None:
    assert any(found.startswith(fault) or fault in found for found in faults(name, text))

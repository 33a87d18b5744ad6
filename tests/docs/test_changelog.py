"""The changelog: versions in order, the newest one is the package's, and the names it gives exist."""

import importlib
import re
from itertools import pairwise
from pathlib import Path

import adjoint

TEXT = (Path(__file__).resolve().parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
HEADING = re.compile(r"(\d+)\.(\d+)\.(\d+) \((unreleased|\d{4}-\d\d-\d\d)\)")


def exists(name: str) -> bool:
    """Whether a dotted name is a module of this package, or an attribute of one."""
    module, _, attribute = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ImportError:
        return hasattr(importlib.import_module(module), attribute)
    return True


def test_versions_descend_to_the_first_and_the_newest_is_that_of_the_package() -> None:
    matches = [HEADING.fullmatch(section) for section in SECTIONS]
    assert all(matches), f"a section is called `## 1.2.3 (2026-01-31)` or `## 1.2.3 (unreleased)`: {SECTIONS}"
    versions = [tuple(map(int, match.groups()[:3])) for match in matches if match]
    assert all(newer > older for newer, older in pairwise(versions)), versions
    assert ".".join(map(str, versions[0])) == adjoint.__version__
    assert not any("unreleased" in section for section in SECTIONS[1:])


def test_lines_fit_and_sections_have_no_duplicate_subjects() -> None:
    assert [line for line in TEXT.splitlines() if len(line) > 120] == []
    newest = re.split(r"^## .*$", TEXT, flags=re.MULTILINE)[1]
    subjects = re.findall(r"^### (.*)$", newest, re.MULTILINE)
    assert len(subjects) == len(set(subjects))


def test_names_in_it_exist() -> None:
    names = re.findall(r"`(adjoint(?:\.\w+)+)`", TEXT)
    assert names
    assert [name for name in names if not exists(name)] == []

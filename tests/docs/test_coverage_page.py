"""docs/coverage.md says what the table says."""

import re
import runpy
from pathlib import Path

import pytest

from adjoint.coverage import KINDS, TABLES

ROOT = Path(__file__).resolve().parents[2]
COVERAGE_PAGE = runpy.run_path(str(ROOT / "tools" / "coverage_page.py"))


def test_the_page_is_current():
    written = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    if written != COVERAGE_PAGE["page"]():
        pytest.fail("docs/coverage.md is out of date; write it anew: python tools/coverage_page.py", pytrace=False)


def test_every_function_stands_in_its_section():
    sections = re.split(r"^## (\S+)$", COVERAGE_PAGE["page"](), flags=re.MULTILINE)[1:]
    texts = dict(zip(sections[::2], sections[1::2], strict=True))
    assert set(texts) == set(TABLES)
    for namespace, table in TABLES.items():
        missing = [name for name in table.rows if not re.search(rf"`{re.escape(name)}[`(]", texts[namespace])]
        assert not missing, namespace


def test_the_counts_add_up():
    text = COVERAGE_PAGE["page"]()
    rows = re.findall(r"^\| (?:`[\w.]+`|\*\*all\*\*) \| (.*) \|$", text, re.MULTILINE)[: len(TABLES) + 1]
    numbers = [[int(cell.strip("* ")) for cell in row.split("|")] for row in rows]
    assert [sum(column) for column in zip(*numbers[:-1], strict=True)] == numbers[-1]
    assert sum(numbers[-1]) == sum(len(table.rows) for table in TABLES.values())
    assert len(numbers[-1]) == len(KINDS)


def test_the_readme_has_the_count():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (all_of_them,) = re.findall(r"^\| \*\*all\*\* \| \*\*(\d+)\*\*", COVERAGE_PAGE["page"](), re.MULTILINE)
    assert re.findall(r"(\d+) functions of NumPy and SciPy are differentiable", readme) == [all_of_them]

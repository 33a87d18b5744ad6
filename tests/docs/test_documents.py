"""The documentation runs: every ```python block of README.md and docs/, page by page."""

import re
import traceback
from pathlib import Path

import pytest

from tests.docs.pages import PageError, blocks, page_names, run_page

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("name", page_names(ROOT))
def test_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if fault := fault_of(name):
        pytest.fail(fault, pytrace=False)


def fault_of(name: str) -> str | None:
    """What is wrong with a page, with the last lines of the traceback that led there."""
    try:
        run_page((ROOT / name).read_text(encoding="utf-8"), name)
    except PageError as error:
        return "".join([*traceback.format_exception(error.__cause__)[-4:-1], str(error)])
    return None


def test_the_readme_shows_code() -> None:
    assert list(blocks((ROOT / "README.md").read_text(encoding="utf-8")))


def test_the_readmes_explanation_names_its_line() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    named = {int(number) for line in lines for number in re.findall(r"README\.md:(\d+)", line)}
    assert named == {number for number, line in enumerate(lines, 1) if line.startswith("print(ad.explain(")}


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = []
    for name in page_names(ROOT):
        page = ROOT / name
        prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{name}: {target}")
    assert not broken, "\n".join(["Links to files that are not there:", *broken])


def test_every_path_that_a_page_names_exists() -> None:
    """Of the repository: `src/adjoint/ops`, `tests/docs/pages.py`."""
    missing = []
    for name in [*page_names(ROOT), "CONTRIBUTING.md"]:
        text = (ROOT / name).read_text(encoding="utf-8")
        for path in re.findall(r"`((?:src|tests|tools|docs|examples|benchmarks)/[\w./-]*)`", text):
            if not (ROOT / path).exists():
                missing.append(f"{name}: {path}")
    assert not missing, "\n".join(["Paths that are not there:", *missing])


def test_no_file_holds_the_two_sides_of_a_merge() -> None:
    marks = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
    paths = [
        p for folder in ("docs", "src", "tests", "tools", "examples", "benchmarks") for p in (ROOT / folder).rglob("*")
    ]
    texts = [
        p for p in [*paths, *ROOT.glob("*.*")] if p.suffix in {".py", ".md", ".yml", ".toml", ".txt", ".css", ".js"}
    ]
    assert not [str(p.relative_to(ROOT)) for p in texts if marks.search(p.read_text(encoding="utf-8"))]


def test_every_page_is_listed() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [name.removeprefix("docs/") for name in page_names(ROOT) if name.startswith("docs/")]
    missing = [f"mkdocs.yml does not list {page}" for page in pages if f" {page}\n" not in site]
    decisions = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md")):
        if f"({path.name})" not in decisions:
            missing.append(f"docs/decisions/README.md does not list {path.name}")
    assert not missing, "\n".join(["Pages that a reader would not find:", *missing])

"""docs/rules.md says what the classes say."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULES_PAGE = runpy.run_path(str(ROOT / "tools" / "rules_page.py"))


def test_the_page_is_current() -> None:
    written = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    if written != RULES_PAGE["page"]():
        pytest.fail("docs/rules.md is out of date; write it anew: python tools/rules_page.py", pytrace=False)


def test_every_primitive_stands_on_the_page() -> None:
    text = RULES_PAGE["page"]()
    names = [*[cls.__name__ for cls in RULES_PAGE["ours"]()], *RULES_PAGE["BY_NAME"]]
    missing = [name for name in names if f"`{name}`" not in text]
    assert not missing


def test_answers_are_found_in_the_class_that_has_them() -> None:
    answers = RULES_PAGE["answers"]

    class Parent:
        def push(self) -> None: ...

        def pull(self) -> None: ...

    class Child(Parent):
        def pull(self) -> None: ...

    assert [answers(Child, rule) for rule in ("push", "pull", "batch")] == ["Parent", "**own**", "–"]

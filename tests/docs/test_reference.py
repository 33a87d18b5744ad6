"""The API reference: every public name has an entry with an example, and every entry is a public name."""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjoint.compat import autograd
from tests.docs.pages import blocks
from tests.docs.public import OWN, names_of

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "api").glob("*.md"))}
ENTRY = re.compile(r"^::: (\S+)\.(\w+)$", re.MULTILINE)
ENTRIES = [match.groups() for text in PAGES.values() for match in ENTRY.finditer(text)]


def examples() -> dict[tuple[str, str], str]:
    """Entry → the text below it on its page, up to the next entry: some names have no docstring of their own."""
    below: dict[tuple[str, str], str] = {}
    for text in PAGES.values():
        _, *pieces = ENTRY.split(text)
        below |= {(module, name): after for module, name, after in zip(pieces[::3], pieces[1::3], pieces[2::3])}
    return below


BELOW = examples()


@pytest.mark.parametrize("package", OWN)
def test_every_public_name_has_an_entry_with_an_example(package: str) -> None:
    entered = {id(getattr(importlib.import_module(module), name)) for module, name in ENTRIES}
    faults = []
    for name, value in names_of(package).items():
        if id(value) not in entered:
            faults.append(f"{package}.{name} has no entry: write `::: {package}.{name}` on a page of docs/api")
        elif not shows_a_value(inspect.getdoc(value) or "") and not shows_a_value(BELOW.get((package, name), "")):
            faults.append(f"{package}.{name} has no example: write a ```python block with `# → value` in its docstring")
    assert not faults, "\n".join(faults)


def shows_a_value(text: str) -> bool:
    return any("# →" in block.code for block in blocks(text))


def test_every_entry_is_a_public_name() -> None:
    known = {(package, name) for package in OWN for name in names_of(package)}
    assert [entry for entry in ENTRIES if entry not in known] == []
    assert len(ENTRIES) == len(set(ENTRIES)), "a name has two entries"


def test_the_mirrors_are_on_their_pages() -> None:
    """Names of autograd in the table and in an example; functions of NumPy and SciPy in that of what is covered."""
    page = PAGES["autograd.md"]
    table, code = page.partition("| name |")[2], " ".join(block.code for block in blocks(page))
    assert [name for name in autograd.__all__ if f"`{name}" not in table or f"ag.{name}(" not in code] == []
    tables = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8") + PAGES["numpy_scipy.md"]
    covered = set(re.findall(r"`(\w+)[(`]", tables))
    mirrors = ("fft", "integrate", "interpolate", "linalg", "signal", "spatial.distance", "special", "stats")
    for package in ("numpy", *[f"scipy.{name}" for name in mirrors]):
        module = importlib.import_module(f"adjoint.{package}")
        functions = [name for name in module.__all__ if is_function(getattr(module, name)) and name not in covered]
        assert functions == [], package
        assert f"## adjoint.{'.'.join(package.split('.')[:2])}\n" in PAGES["numpy_scipy.md"]


def is_function(value: Any) -> bool:
    return isinstance(value, np.ufunc) or (callable(value) and not isinstance(value, type))

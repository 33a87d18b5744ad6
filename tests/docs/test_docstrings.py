"""The examples in docstrings run: ```python blocks, as in pages, each docstring by itself, with `np` and `ad` there."""

import importlib
import inspect
import linecache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.docs.pages import PageError, blocks, run_block
from tests.docs.public import OWN, names_of

MIRRORS = ("adjoint.scipy.interpolate",)  # of which every name has an example


@pytest.mark.parametrize("package", [*OWN, *MIRRORS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # some examples divide by zero to show the error
def test_examples_run(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    documented: dict[str, Any] = {"": importlib.import_module(package), **names_of(package)}
    faults = []
    for name, value in documented.items():
        title, docstring = f"{package}.{name}".rstrip("."), inspect.getdoc(value) or ""
        namespace: dict[str, Any] = {"__name__": "__example__", "np": np, "ad": ad}
        linecache.cache[title] = (len(docstring), None, docstring.splitlines(keepends=True), title)
        try:
            for block in blocks(docstring):
                run_block(block, title, namespace)
        except PageError as error:
            faults.append(str(error))
    assert not faults, "\n".join(faults)

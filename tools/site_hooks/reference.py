"""MkDocs hook: a function that shares its name with the module that defines it is looked up in that module.

`adjoint.linear.kronecker` is a function for Python, which imports, and a module for mkdocstrings, which reads files.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from typing import Any

DIRECTIVE = re.compile(r"^::: (?P<module>[\w.]+)\.(?P<name>\w+)$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return DIRECTIVE.sub(located, markdown) if page.file.src_uri.startswith("api/") else markdown


def located(match: re.Match[str]) -> str:
    """The directive, with the path of the defining module where the public path would be read as a module."""
    value = getattr(importlib.import_module(match["module"]), match["name"])
    home = str(getattr(value, "__module__", None))
    shadow = f"{home.rpartition('.')[0]}.{match['name']}"
    if not home.startswith("adjoint.") or importlib.util.find_spec(shadow) is None:
        return match[0]
    return f"::: {home}.{match['name']}"

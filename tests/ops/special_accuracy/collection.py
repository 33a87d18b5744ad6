"""All entries of the files beside this one, and the exact values that are kept."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

from tests.ops.special_accuracy.entry import Entry

HERE = Path(__file__).resolve().parent
REFERENCES = HERE / "references.json"


def entries() -> list[Entry]:
    """The entries, file by file."""
    names = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in {"collection", "entry"})
    modules = [importlib.import_module(f"tests.ops.special_accuracy.{name}") for name in names]
    return [entry for module in modules for entry in getattr(module, "ENTRIES", ())]


def stored() -> dict[str, str]:
    """The exact values, by `entry.key`."""
    return json.loads(REFERENCES.read_text(encoding="utf-8")) if REFERENCES.exists() else {}

"""What rewritten code calls, by name, and the file that has it: read when the first code that calls it is made."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import CellType

from adjoint.base.garbage import loading

PREFIX = "ad·"
_FILES = {
    "array_functions": {"call_into": "call_into"},
    "branches": {"if": "choose_block"},
    "builtins": {"fresh": "fresh", "class": "class_of_pattern", "last": "last_of"},
    "calls": {"call": "call", "made": "note_container_made"},
    "catching": {"trying": "trying", "managed": "managed"},
    "lifting": {"caught": "caught"},
    "log": {"cell": "Variable"},
    "loops": {"while": "run_while", "for": "run_for"},
    "mathematics": {"divide": "divide"},
    "special_methods": {"iterate": "iterate", "truth": "truth", "contains": "contains"},
    "stores": {
        "set_item": "set_item",
        "set_attribute": "set_attribute",
        "augment": "augment",
        "augment_item": "augment_item",
        "augment_attribute": "augment_attribute",
        "delete_item": "delete_item",
        "delete_attribute": "delete_attribute",
        "item": "get_item",
        "attribute": "get_attribute",
        "binary": "apply_binary",
        "unary": "apply_unary",
        "comparison": "apply_comparison",
    },
    "texts": {"formatted": "formatted", "text": "text", "percent": "percent"},
    "truths": {"choose": "choose", "and": "all_of", "or": "any_of", "not": "negate", "compare": "compare"},
    "unsure": {"read": "read_variable", "returned_value": "returned_value", "surely": "surely"},
    "values": {"undefined": "UNDEFINED"},
}
HELPERS = {f"{PREFIX}{name}": (file, own) for file, names in _FILES.items() for name, own in names.items()}


@cache
def helper(name: str) -> CellType:
    """What a name stands for in rewritten code, which closes over it."""
    file, own = HELPERS[name]
    with loading():
        return CellType(getattr(import_module(f"adjoint.conversion.{file}"), own))

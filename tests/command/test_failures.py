"""Errors of the user's code are told with the user's line."""

import json
from pathlib import Path

import pytest

from adjoint.command.failures import line_of, said_of
from tests.command.commands import folder, refused


def read(text):
    return json.loads(text)  # raises in Python's own library


def test_the_place_is_the_users_line_not_one_of_pythons_library():
    with pytest.raises(ValueError, match="property name") as caught:
        read("{")
    place = line_of(caught.value)
    assert place.startswith("test_failures.py:")
    assert place.endswith("in read: return json.loads(text)  # raises in Python's own library")
    assert "at test_failures.py:" in said_of(caught.value, "read raised ")


def test_files_that_cannot_be_read_are_told_with_their_line(tmp_path: Path):
    with folder(tmp_path, unwritten="x = 1\ndef broken(:\n    pass\n"):
        said = refused("explain", "unwritten:f", "x=1.0")
    assert "unwritten cannot be imported: SyntaxError: invalid syntax" in said
    assert "at unwritten.py:2: def broken(:" in said
    assert "importlib" not in said

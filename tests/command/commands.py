"""Running the command in this process: what it printed, what it said on standard error, and its exit code."""

import contextlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from adjoint.command.main import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def ran(*argv: str) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), mock.patch.dict(os.environ):
        os.environ.pop("COLUMNS", None)  # some runners of tests set it
        code = main(argv)
    return Ran(int(code), out.getvalue(), err.getvalue())


def refused(*argv: str) -> str:
    """The message of a command that cannot be done: one message, no traceback, exit code 2."""
    found = ran(*argv)
    assert found.code == 2, found
    assert "Traceback" not in found.err
    assert found.err.startswith(f"adjoint {argv[0]}: error: ") or found.err.startswith("adjoint: error: ")
    return found.err


@contextlib.contextmanager
def folder(path: Path, **files: str) -> Iterator[None]:
    """Inside a folder with these modules; what is imported from there is forgotten afterwards."""
    for name, text in files.items():
        (path / f"{name}.py").write_text(text, encoding="utf-8")
    before = Path.cwd()
    import sys

    known, paths = set(sys.modules), list(sys.path)
    os.chdir(path)
    try:
        with mock.patch.dict(os.environ):
            yield
    finally:
        os.chdir(before)
        sys.path[:] = paths
        for name in set(sys.modules) - known:
            if str(path) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]

"""The files of the package and of its tests, as the tests of the architecture and of the file layout look at them."""

from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "adjoint"
TESTS = ROOT / "tests"


def python_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def within_source(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def part_of(path: Path) -> str:
    """The folder, or top file, of src/adjoint that a source file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def refuse(offenders: Iterable[str], remedy: str) -> None:
    """Fail once, with all offenders."""
    if listed := list(offenders):
        pytest.fail(f"{remedy}\n" + "\n".join(f"  {offender}" for offender in listed), pytrace=False)

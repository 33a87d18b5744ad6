"""The layout of files, as tests: sizes, names, strict folders, paths, and tests that mirror the source.

Each test lists every offender with its line, and says what to do.
"""

import re
import tomllib
from pathlib import Path

from tests.support.source_files import ROOT, SOURCE, TESTS, part_of, python_files, refuse, shown

LONGEST = 400
# Names that another library chose for its modules, which its users import.
NAMED_BY_OTHERS = {"compat"}
VAGUE = {"util", "utils", "helper", "helpers", "misc", "common", "tools", "stuff", "shared", "extra", "extras"}

# Folders of tests/ with no counterpart in src/adjoint, and tests that look at a whole folder or at several.
TEST_FOLDERS_OF_THEIR_OWN = {
    "arguments",
    "benchmarks",
    "book",
    "corpus",
    "docs",
    "examples",
    "golden",
    "interop",
    "judges",
    "opinfo",
    "ops/special_accuracy",
    "random_programs",
    "support",
    "toolbox",
}
TESTS_ACROSS_FILES = {
    "test_architecture.py",
    "test_file_layout.py",
    "test_tiny.py",
    "compile/test_random_programs.py",
    "nn/test_references.py",
    "nn/test_bad_inputs.py",
    "nn/test_layers.py",
    "ops/test_contract.py",
    "ops/test_contract_mutations.py",
    "program/test_random.py",
    "transform/test_nesting.py",
    "transform/test_kinks.py",
}


def test_files_are_short() -> None:
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines())
        for folder in (SOURCE, TESTS, ROOT / "examples", ROOT / "benchmarks")
        for path in python_files(folder)
    }
    refuse(
        (f"{shown(path)} has {length} lines" for path, length in lengths.items() if length > LONGEST),
        f"Files have at most {LONGEST} lines; split these by subject:",
    )


def test_files_are_named_by_subject() -> None:
    paths = [path for folder in (SOURCE, TESTS, ROOT / "examples", ROOT / "benchmarks") for path in folder.rglob("*")]
    refuse(
        sorted(
            shown(path)
            for path in paths
            if path.stem.strip("_").removeprefix("test_") in VAGUE
            and "__pycache__" not in path.parts
            and not NAMED_BY_OTHERS & set(path.parts)
        ),
        "A name says the subject, not the habit; find the subject of these:",
    )


def test_strict_folders_are_strict() -> None:
    """What pyproject.toml promises of a folder holds for each of its files."""
    folders = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pyright"]["strict"]
    paths = [path for folder in folders for path in python_files(ROOT / folder)]
    refuse(
        (shown(path) for path in paths if re.search(r"^# pyright: basic", path.read_text(encoding="utf-8"), re.M)),
        "Files of a strict folder that pyright checks loosely; give types at the borders of their functions:",
    )


def test_no_paths_of_one_machine() -> None:
    machine = re.compile(r"(?<![\w.~)\]}])/(?:home|root|Users|work|farm|mnt|tmp)/|\b[A-Z]:\\\\?Users\b")
    folders = [ROOT / name for name in ("src", "tests", "docs", "examples", "benchmarks", ".ci")]
    paths = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    paths += [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]  # a file in a worktree of git
    offenders = [
        f"{shown(path)}:{number} {line.strip()[:100]}"
        for path in sorted(paths)
        if path.suffix in {".py", ".md", ".toml", ".yml", ".yaml", ".json", ".txt", ".program", ""}
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if machine.search(line)
    ]
    refuse(offenders, "Paths that exist on one machine only; make them relative, or use tmp_path:")


def test_tests_mirror_the_source() -> None:
    refuse(
        (f"{shown(path)}: {fault}" for path in python_files(TESTS) if (fault := misplaced(path.relative_to(TESTS)))),
        "tests/<folder>/test_<file>.py tests src/adjoint/<folder>/<file>.py (test_<file>_<aspect>.py: a part of it). "
        "Rename these, or add them to TESTS_ACROSS_FILES:",
    )


def misplaced(test: Path) -> str | None:
    """What is wrong with the place of a file below tests/; None when all is well."""
    folder, name = test.parent, test.stem
    if folder.parts and {folder.parts[0], folder.as_posix()} & TEST_FOLDERS_OF_THEIR_OWN:
        return None
    if not (SOURCE / folder).is_dir():
        return f"there is no folder src/adjoint/{folder.as_posix()}"
    if not folder.parts and not name.startswith("test_") and name != "conftest":
        return "what tests of several folders share stands in tests/support"
    if not name.startswith("test_") or test.as_posix() in TESTS_ACROSS_FILES:
        return None
    subject = name.removeprefix("test_")
    sources = {path.stem.strip("_") for path in (SOURCE / folder).glob("*.py")}
    sources |= {path.name for path in (SOURCE / folder).iterdir() if path.is_dir()}
    if any(subject == source or subject.startswith(f"{source}_") for source in sources):
        return None
    return f"there is no src/adjoint/{(folder / subject).as_posix()}.py"


def test_every_folder_has_tests() -> None:
    folders = {part_of(path) for path in python_files(SOURCE) if path.parent != SOURCE}
    refuse(
        sorted(f"src/adjoint/{name}" for name in folders if not list((TESTS / name).rglob("test_*.py"))),
        "Folders of the source with no tests beside them:",
    )

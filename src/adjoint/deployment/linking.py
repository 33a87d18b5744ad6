"""Object files become shared libraries, by the system's own linker, with the BLAS and LAPACK that are found.

The object file calls `dgesv_` and the like by the names that Fortran gives them. They are looked for in what the caller
names, in the system's LAPACK, in OpenBLAS, and last in the library that SciPy brings along, which has them as
`scipy_dgesv_`: a few instructions lead from the one name to the other.
"""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from adjoint.base.errors import ProgramError
from adjoint.base.source import warn_user

NAMED = 6  # functions in a message
# one instruction that goes to another function
JUMPS = {"x86_64": "jmp {}@PLT", "aarch64": "b {}"}


class Choice(NamedTuple):
    """Something to link with."""

    arguments: list[str]  # of the linker
    assembly: str = ""  # functions beside the object file
    note: str = ""  # where it comes from, if it is not the system's own


def link(objects: Path, shared: Path, needs: Sequence[str], libraries: Sequence[str] | None) -> None:
    """A shared library from an object file that calls the functions `needs`."""
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    by_hand = " ".join(["cc -shared -o", shared.name, objects.name, *(["-llapack", "-lblas"] if needs else []), "-lm"])
    if compiler is None:
        raise ProgramError(
            f"export: {objects.name} is written, but no C compiler was found to link {shared.name}. Where there is "
            f"one: {by_hand}"
        )
    failures: list[str] = []
    for choice in _choices(needs, libraries):
        failure = _link(compiler, objects, shared, choice)
        if failure is None:
            if choice.note:
                warn_user(
                    f"export: no LAPACK was found on this system, so {shared.name} is linked with {choice.note}, and "
                    f"works where that is. For other machines install liblapack-dev or libopenblas-dev, name a "
                    f"library (libraries=['openblas']), or link {objects.name} there: {by_hand}"
                )
            return
        failures.append(failure)
    listed = ", ".join(needs[:NAMED]) + (f" and {len(needs) - NAMED} others" if len(needs) > NAMED else "")
    remedy = (
        f" It calls {listed}, of LAPACK and BLAS: install liblapack-dev or libopenblas-dev, give the name or the path "
        f"of a library that has them (libraries=['openblas']), or link {objects.name}, which is written, where there "
        f"is one: {by_hand}"
        if needs
        else f" {objects.name} is written; link it by hand: {by_hand}"
    )
    raise ProgramError(f"export: linking {shared.name} failed: {failures[0]}.{remedy}")


def _choices(needs: Sequence[str], libraries: Sequence[str] | None) -> Iterator[Choice]:
    if libraries is not None:
        yield Choice([argument for name in libraries for argument in _named(name)])
    elif not needs:
        yield Choice([])
    else:
        yield Choice(["-llapack", "-lblas"])
        yield Choice(["-lopenblas"])
        bundled = _of_scipy(needs)
        if bundled is not None:
            yield bundled


def _named(library: str) -> list[str]:
    """A name as the linker knows it, or a file, which is found again where it is."""
    file = Path(library)
    if file.parent == Path() and not file.exists():
        return [library if library.startswith("-") else f"-l{library}"]
    file = file.resolve()
    return [str(file), f"-Wl,-rpath,{file.parent}"]


def _of_scipy(needs: Sequence[str]) -> Choice | None:
    """The library that SciPy's wheels have, with its own names for the functions."""
    import scipy

    jump = JUMPS.get(platform.machine())
    files = sorted((Path(str(scipy.__file__)).parent.parent / "scipy.libs").glob("libscipy_openblas*.so"))
    if jump is None or not files:
        return None
    try:
        loaded = ctypes.CDLL(str(files[0]))
    except OSError:
        return None
    if not all(hasattr(loaded, f"scipy_{name}") for name in needs):
        return None
    lines = [
        line
        for name in needs
        for line in (f".hidden {name}", f".globl {name}", f"{name}:", jump.format(f"scipy_{name}"))
    ]
    stack = '.section .note.GNU-stack,"",%progbits'
    arguments = [str(files[0]), f"-Wl,-rpath,{files[0].parent}"]
    return Choice(arguments, "\n".join([".text", *lines, stack, ""]), f"SciPy's own ({files[0]})")


def _link(compiler: str, objects: Path, shared: Path, choice: Choice) -> str | None:
    """What the linker says if it fails."""
    beside = ["-x", "assembler", "-", "-x", "none"] if choice.assembly else []
    checked = ["-Wl,-z,defs"] if platform.system() == "Linux" else []  # what is missing is said now, not when it runs
    command = [compiler, "-shared", *checked, "-o", str(shared), str(objects), *beside, *choice.arguments, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, input=choice.assembly)
    lines = [line for line in done.stderr.strip().splitlines() if "returned 1 exit status" not in line]
    return "; ".join(lines) or f"status {done.returncode}" if done.returncode else None

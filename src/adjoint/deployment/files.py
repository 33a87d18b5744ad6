"""Exported functions on disk: the program for its sizes, machine code beside it, and a checksum of both.

The code is believed only where the checksum is right (LLVM stops the process on garbage), on the same kind of machine,
and for the same text of the program: where simplification has changed since, it is compiled again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adjoint.api.tracing import TracedProgram
from adjoint.base.errors import ProgramError
from adjoint.compile import machine
from adjoint.compile.kernel import Unsupported, adopt, emit_object
from adjoint.jit.executable import COMPILED, Executable, remember_executable
from adjoint.jit.run import native_call
from adjoint.program.program import Program
from adjoint.program.save import Writer, write
from adjoint.simplify import simplify

CODE, FACTS = "code.o", "code.json"
ABI = 1  # of kernels: how they are called, and what they expect of this library


def write_file(path: str | os.PathLike[str], traced: Sequence[TracedProgram], notes: Mapping[str, Any]) -> None:
    """Save programs, with the machine code of one that has known sizes."""
    first = traced[0]
    files = _machine_code(first.program) if len(traced) == 1 else {}

    def describe(writer: Writer) -> dict[str, Any]:
        further = [writer.program(one.program) for one in traced[1:]]
        return {**first.describe(writer), "export": {**notes, "further": further}}

    write(path, first.program, describe, files)


def _machine_code(program: Program) -> dict[str, bytes]:
    try:
        text, content, facts = emit_object(simplify(program))
    except (Unsupported, ImportError):  # read by NumPy, also where it is loaded
        return {}
    said = {"for": _environment(), "program": _digest(text.encode()), "object": _digest(content), "facts": facts}
    return {CODE: content, FACTS: json.dumps(said).encode()}


def _environment() -> list[Any]:
    """What machine code depends on besides the program."""
    return [ABI, *machine.host(), list(machine.llvm().llvm_version_info)]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def take_machine_code(path: str | os.PathLike[str], source: Any, program: Program) -> bool:
    """Give a program the machine code that stands in its file, if it is for this machine and for this program."""
    import zipfile

    with zipfile.ZipFile(source) as file:
        if CODE not in file.namelist():
            return False
        content, said = file.read(CODE), json.loads(file.read(FACTS))
    if said["for"] != _environment():
        return False
    if _digest(content) != said["object"]:
        raise ProgramError(f"{Path(path)}: the machine code in it is damaged. Export the function again.")
    simple = simplify(program)
    kernel = adopt(simple, said["program"], content, said["facts"], _digest)
    if kernel is None:
        return False
    seconds = {"simplify": 0.0, "compile": 0.0}
    remember_executable(program, Executable(simple, native_call(kernel), COMPILED, kernel, seconds))
    return True

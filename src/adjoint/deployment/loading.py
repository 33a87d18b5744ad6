"""`load`: programs and exported functions from files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from adjoint.api.tracing import TracedProgram, read_program
from adjoint.base.errors import ProgramError
from adjoint.base.source import user_facing
from adjoint.deployment.exported import Exported
from adjoint.deployment.files import take_machine_code
from adjoint.program.save import opened

__all__ = ["load"]


@user_facing
def load(path: str | os.PathLike[str], classes: Sequence[type] = ()) -> TracedProgram | Exported:
    """What was saved: a program of `ad.trace`, or a function of `ad.export`, which runs as machine code.

    `classes` are the dataclasses, NamedTuples … of its arguments and results: none is imported by name.

    ```python
    import os, tempfile
    path = os.path.join(tempfile.mkdtemp(), "double.program")
    ad.trace(lambda x: 2 * x)(1.0).save(path)
    ad.load(path)(3.0)  # → 6.0
    ```
    """
    traced, text, reader = read_program(path, classes)
    notes = text.get("export")
    if notes is None:
        return traced
    programs = [reader.programs[number] for number in notes["further"]]
    further = [
        TracedProgram(program, traced.inputs, traced.outputs, name=traced.name, fixed=traced.fixed)
        for program in programs
    ]
    try:
        with opened(path) as source:
            take_machine_code(path, source, traced.program)
    except (ProgramError, MemoryError):
        raise
    except Exception as problem:  # whatever can be wrong with bytes that were changed
        raise ProgramError(
            f"{path}: the machine code in it is damaged: {problem}. Export the function again."
        ) from None
    shapes = [tuple(shape) for shape in notes["shapes"]]
    return Exported([traced, *further], notes["sizes"], shapes, notes["parameters"])

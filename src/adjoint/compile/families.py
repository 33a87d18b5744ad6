"""Rules of primitives that many programs do without: their files are read when a program has one of the family.

So the first program of a process does not wait for the rules of linear algebra and of signals, nor for the primitives
that they are written with.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from functools import cache

from adjoint.program.op import Op
from adjoint.program.program import Equation

# the folder of the primitives -> the files with their rules
FILES = {
    "adjoint.ops.linalg": (
        *("lapack", "factorizations", "banded"),
        *("expand_matrices", "expand_degenerate"),
    ),
    "adjoint.ops.signal": ("fourier", "convolutions", "banded", "expand_windows", "expand_signal"),
    "adjoint.ops.special": ("factorizations",),
}


def read_rules(equations: Iterable[Equation]) -> None:
    """Read the rules of all primitives of some equations."""
    for eq in equations:
        _read(type(eq.op))


@cache
def _read(kind: type[Op]) -> None:
    """A class outside of this library may belong to a family by one of its bases."""
    for base in kind.__mro__:
        for file in FILES.get(base.__module__.rpartition(".")[0], ()):
            importlib.import_module(f"adjoint.compile.{file}")

"""What an earlier process compiled of the same program: its finished form, and the name of its machine code.

The first call of a function in a new process traces it. All that follows is a function of the program alone, and is
kept on disk under the program's own text. Lines of user code are not: they are those of this process.
"""

# pyright: basic

from __future__ import annotations

import io
import pickle
from typing import Any

from adjoint.base.config import config
from adjoint.base.source import Location
from adjoint.compile import cache
from adjoint.compile.code import all_constants
from adjoint.compile.size_generic import Reading, describe_reading
from adjoint.jit.executable import COMPILED, Executable
from adjoint.program.program import Program
from adjoint.program.subprograms import all_equations

LARGEST = 1 << 20  # bytes of constants: larger ones take longer to read than to compute with


class ProgramCache:
    """What is known on disk of a program before it is simplified: `finished`, `plain` and `code`, or None."""

    def __init__(self, program: Program) -> None:
        self.finished: Program | None = None
        self.plain: Program | None = None  # the same in the operations that machine code is written for
        self.code: str | None = None  # the name of the machine code in the cache
        self._key = _key(program) if config.cache else None
        if self._key is None:
            return
        self._locations = {eq.location: None for eq in all_equations(program)}  # in the order in which they are met
        stored = cache.lookup(self._key)
        if stored is None:
            return
        try:
            self.finished, self.plain = _Reader(stored[0], list(self._locations)).load()
            self.code = stored[1]["code"]
        except Exception:  # a file that is damaged in a way that its checksum does not show is not there
            self.finished = self.plain = self.code = None

    def keep(self, executable: Executable) -> None:
        """Write down what was compiled of the program, unless something failed on the way."""
        if executable.kernel is not None and executable.how == COMPILED:
            self.write(executable.program, executable.kernel.program, executable.kernel.notes["name"])

    def write(self, simple: Program, plain: Program | None, code: str | None) -> None:
        """Write down the simplified program, the same as it is compiled, and the name of its machine code."""
        if plain is not None and not _is_of_known_sizes(plain):  # its names for sizes are those of this process
            plain = None
        if self._key is None or self.finished is not None or _size(simple) > LARGEST:
            return
        content = io.BytesIO()
        try:
            _Writer(content, {location: k for k, location in enumerate(self._locations)}).dump((simple, plain))
        except (pickle.PicklingError, TypeError, AttributeError):  # it holds a user function
            return
        cache.keep(self._key, content.getvalue(), {"code": code})


def _size(program: Program) -> int:
    return sum(getattr(value, "nbytes", 0) for value in all_constants(program).values())


def _is_of_known_sizes(program: Program) -> bool:
    return all(type(n) is int for eq in all_equations(program) for v in eq.outputs for n in v.type.shape)


def _key(program: Program) -> str | None:
    """A name for the program as it is, with what the simplified one inherits from it."""
    if _size(program) > LARGEST:
        return None
    try:
        text = describe_reading(Reading(program))
    except TypeError:  # something that cannot be compared
        return None
    if text is None:
        return None
    inherited = [(eq.scope, eq.quiet, eq.pulled) for eq in all_equations(program)]
    return cache.key("before simplification", text, repr(inherited))


class _Writer(pickle.Pickler):
    """Lines of user code are written as numbers."""

    def __init__(self, file: Any, locations: dict[Any, int]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._locations = locations

    def persistent_id(self, obj: Any) -> int | None:
        return self._locations.get(obj, -1) if type(obj) is Location else None


class _Reader(pickle.Unpickler):
    """Numbers are read as lines of user code."""

    def __init__(self, content: bytes, locations: list[Any]) -> None:
        super().__init__(io.BytesIO(content))
        self._locations = locations

    def persistent_load(self, pid: int) -> Any:
        return self._locations[pid] if pid >= 0 else None

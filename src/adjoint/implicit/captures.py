"""What a solver of the user's reads besides its arguments, where `jit` has put traced values there.

A compiled function sees the arrays of its module as inputs of the program, and so does a solver that it calls. One that
takes plain arrays only is made again with plain ones instead of them when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from types import FunctionType
from typing import Any, final

import numpy as np

from adjoint.base.foreign import is_refusal
from adjoint.base.source import is_library
from adjoint.conversion.log import CONTAINERS, Container, Log
from adjoint.jit.environment import Environment
from adjoint.program.trace import Tracer, primal
from adjoint.program.types import Value

__all__ = ["SolverCaptures", "undone_where_refused"]


@final
class SolverCaptures:
    """The traced values that a function reads from globals and closures, and the function with others there."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.traced = function, list[Value]()
        self._captures: Any = None
        self._stand_ins: list[int] = []
        code = getattr(function, "__code__", None)
        if isinstance(function, FunctionType) and code is not None and not is_library(code.co_filename):
            found = Environment(function).read()
            self.traced = [primal(v) for v in found.arrays if isinstance(v, Tracer)]
            if self.traced:  # they do not outlive their trace: others stand for them until it runs
                arrays = [np.zeros(v.shape, v.dtype) if isinstance(v, Tracer) else v for v in found.arrays]
                traced = zip(arrays, found.arrays, strict=True)
                self._stand_ins = [id(new) for new, old in traced if isinstance(old, Tracer)]
                self._captures = Environment(found.rebuild(arrays)[0]).read()

    def give(self, values: Sequence[Value]) -> Callable[..., Any]:
        """The function with these values for the traced ones."""
        if not values:
            return self.function
        given = dict(zip(self._stand_ins, values, strict=True))
        return self._captures.rebuild([given.get(id(v), v) for v in self._captures.arrays])[0]


@contextmanager
def undone_where_refused(function: Any) -> Generator[None]:
    """What a function has put into containers that it holds is taken out again where it turns out to need plain arrays.

    It is called once more then, with these, and traced values would stay behind.
    """
    log = Log(is_region=False)
    for owner in _containers(function):
        log.note(Container(owner))
    try:
        yield
    except Exception as error:
        if is_refusal(error):
            log.restore()
        raise


def _containers(function: Any) -> list[Any]:
    """Lists, dictionaries and sets in cells of a function, and in attributes of the object that it is a method of."""
    inner, owner = getattr(function, "__func__", function), getattr(function, "__self__", None)
    held = list(getattr(owner, "__dict__", {}).values())
    for cell in getattr(inner, "__closure__", None) or ():
        with suppress(ValueError):  # not assigned yet
            held.append(cell.cell_contents)
    return [value for value in held if isinstance(value, CONTAINERS)]

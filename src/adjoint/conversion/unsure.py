"""Variables of converted code that are assigned on some paths alone: reading them, and what a function returns."""

from __future__ import annotations

from typing import Any

from adjoint.conversion.branches import choose_block
from adjoint.conversion.values import UNDEFINED, Maybe
from adjoint.program.trace import Tracer


def read_variable(value: Any, name: str) -> Any:
    """A variable that may not be assigned yet."""
    if value is UNDEFINED:
        raise UnboundLocalError(f"cannot access local variable {name!r} where it is not associated with a value")
    if isinstance(value, Maybe):
        problem = UnboundLocalError(f"cannot access local variable {name!r} where it is not associated with a value")
        if isinstance(value.defined, Tracer):
            choose_block(value.defined, lambda: (), lambda: _raise(problem), (), ())
        elif not value.defined:
            raise problem
        return value.value
    return value


def _raise(problem: Exception) -> tuple[Any, ...]:
    raise problem


def returned_value(value: Any) -> Any:
    """What a function returns whose return statements stand in blocks; None where none was reached."""
    if isinstance(value, Maybe):  # no program gives a number or None: the function is specialized on which it is
        return value.value if value.defined else None
    return None if value is UNDEFINED else value


def surely(value: Any) -> Any:
    """A variable that is known to be assigned by now."""
    return value.value if isinstance(value, Maybe) else value

"""NumPy's errors about shapes and matrices inside a primitive, in words that name the operation and what it got.

A primitive runs NumPy on plain arrays, so that it is NumPy that complains. The primitive itself knows more: which
function the user called, and of what; its `result_type` refuses the same arguments, with the remedy.
"""

from __future__ import annotations

import re
from types import TracebackType
from typing import Any

import numpy as np

from adjoint.base.errors import AdjointError, ShapeError
from adjoint.base.foreign import is_missing_operand
from adjoint.base.source import Location, describe, explainers, is_library
from adjoint.program.op import Op
from adjoint.program.types import ArrayType, type_of

_CONTAINERS = r"unsupported operand type.*'(list|tuple|dict)'"
_OPERANDS = (("xs",), ("args",), ("x", "y"), ("x",))  # what the arguments of a primitive are called in our frames


def explain_misfit(error: Exception) -> Exception | None:
    """The error in other words, where it is one about shapes, matrices or containers."""
    better = _explained(error)
    return None if better is None else better.with_traceback(error.__traceback__)


def _about_operands(said: str) -> Exception | None:
    """What Python says where an operator is given a container, or nothing at all."""
    remedy = None
    if (match := re.search(_CONTAINERS, said)) is not None:
        remedy = (
            f"A {match[1]} is a container of numbers and arrays, not an array: pass np.array(…), or use np.stack "
            "inside the function."
        )
    elif is_missing_operand(said):
        said = re.sub(r"'\w+Tracer'", "a traced array", said)
        remedy = "One of them is None: is the return of a function missing?"
    if remedy is None or remedy in said:  # calls of this library stand inside each other: one of them has said it
        return None
    return TypeError(f"{said.removesuffix('.')}. {remedy}")


def _explained(error: Exception) -> Exception | None:
    """The error with the operation, the types of its arguments and the user's line; None when it is about others."""
    if type(error) is TypeError:
        return _about_operands(str(error))
    if type(error) is ShapeError:
        return _with_line(error)
    if isinstance(error, AdjointError) or type(error) not in (ValueError, np.linalg.LinAlgError):
        return None
    line, inside = _inside(error)
    failed = next((op for step in inside if (op := _primitive(step.tb_frame.f_locals))), None)
    name = next((title for step in inside if (title := _called(step.tb_frame.f_locals))), None)
    said = str(error).strip().removesuffix(".")
    if line is None or (failed is None and name is None):
        return None
    if failed is None:
        return ValueError(f"{name}, at {describe(line)}: {said}.")
    op, types = failed
    words = f"{name or op.title} of {' and '.join(map(str, types))}, at {describe(line)}: {said}."
    if isinstance(error, np.linalg.LinAlgError):
        return np.linalg.LinAlgError(words)
    try:
        op.result_type(*types)
    except ShapeError as refusal:
        asked = "" if name is None or str(refusal).startswith(name.rpartition(".")[2]) else f"{name}: "
        return ShapeError(f"{asked}{refusal} At {describe(line)}.")
    except Exception:  # it has no types for these arguments, for another reason
        return ValueError(words)
    return ValueError(words)


def _inside(error: Exception) -> tuple[Location | None, list[TracebackType]]:
    """The innermost line of the user's, and the frames that it called."""
    inside: list[TracebackType] = []
    entry, line = error.__traceback__, None
    while entry is not None:
        if is_library(entry.tb_frame.f_code.co_filename):
            inside.append(entry)
        else:
            inside, line = [], Location(entry.tb_frame.f_code, entry.tb_lasti)
        entry = entry.tb_next
    return line, inside


def _with_line(error: ShapeError) -> ShapeError | None:
    """A refusal of types with the user's line, as a primitive gives it where no array is there yet."""
    line, inside = _inside(error)
    frames = [step.tb_frame for step in inside]
    refused = any(
        frame.f_code.co_name == "result_type" and isinstance(frame.f_locals.get("self"), Op) for frame in frames
    )
    if not refused or line is None or (where := f" At {describe(line)}.") in str(error):
        return None
    return ShapeError(f"{error}{where}")


def _primitive(local: dict[str, Any]) -> tuple[Op, list[ArrayType]] | None:
    """The primitive that a frame of ours runs, and the types of its arguments."""
    op = next((local[name] for name in ("op", "self") if isinstance(local.get(name), Op)), None)
    if op is None:
        return None
    for names in _OPERANDS:
        if all(name in local for name in names):
            values = local[names[0]] if len(names) == 1 and names[0] != "x" else [local[name] for name in names]
            try:
                return op, [ArrayType(t.shape, t.dtype) for t in map(type_of, values)]
            except (AttributeError, TypeError):
                return None
    return None


def _called(local: dict[str, Any]) -> str | None:
    """The function of NumPy that was handed over to us in this frame."""
    function = local.get("func", local.get("ufunc"))
    name, module = getattr(function, "__name__", None), getattr(function, "__module__", None)
    if not isinstance(name, str) or function is None:
        return None
    return f"{(module or 'numpy').replace('numpy', 'np', 1)}.{name}"


explainers.append(explain_misfit)

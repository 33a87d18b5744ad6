"""Mathematical functions as LLVM instructions, for float and double, scalars and vectors of any width.

`call(function, name, *args)` writes a call of a function that LLVM inlines. Lanes never influence each other, and the
result does not depend on the width. `docs/vector_math.md` lists the accuracy that was measured.
"""

from __future__ import annotations

from adjoint.compile.ir import Function, Value
from adjoint.compile.vector_math import error_function, exponential, logarithm, power, trigonometric
from adjoint.compile.vector_math.lanes import LaneFunction, shared, square_root

_WRITERS: dict[str, tuple[int, LaneFunction]] = {
    "exp": (1, exponential.exp),
    "expm1": (1, exponential.expm1),
    "tanh": (1, exponential.tanh),
    "expit": (1, exponential.expit),
    "log": (1, logarithm.log),
    "log2": (1, logarithm.log2),
    "log10": (1, logarithm.log10),
    "log1p": (1, logarithm.log1p),
    "sin": (1, trigonometric.sin),
    "cos": (1, trigonometric.cos),
    "tan": (1, trigonometric.tan),
    "power": (2, power.power),
    "erf": (1, error_function.erf),
    "sqrt": (1, square_root),
}

NAMES: dict[str, int] = {name: arity for name, (arity, _) in _WRITERS.items()}


def call(function: Function, name: str, *args: Value) -> Value:
    """Write a call of a math function of floats or doubles, scalars or vectors, all of one type."""
    arity, write = _WRITERS[name]
    assert len(args) == arity, f"{name} takes {arity} arguments, and got {len(args)}"
    return shared(function, name, write, *args)

"""Mathematical functions as LLVM instructions, for float and double, scalars and vectors of any width.

`call(function, name, *args)` writes a call of a function that LLVM inlines. Lanes never influence each other, and the
result does not depend on the width. `docs/vector_math.md` lists the accuracy that was measured.
"""

from __future__ import annotations

from adjoint.compile.ir import Function, Value
from adjoint.compile.vector_math import (
    error_function,
    exponential,
    gamma,
    hyperbolic,
    inverse_trigonometric,
    log_sums,
    logarithm,
    power,
    quantiles,
    roots,
    trigonometric,
)
from adjoint.compile.vector_math.vectors import LaneFunction, call_shared, square_root

_WRITERS: dict[str, tuple[int, LaneFunction]] = {
    "exp": (1, exponential.exp),
    "exp2": (1, exponential.exp2),
    "exp10": (1, exponential.exp10),
    "expm1": (1, exponential.expm1),
    "expit": (1, exponential.expit),
    "log": (1, logarithm.log),
    "log2": (1, logarithm.log2),
    "log10": (1, logarithm.log10),
    "log1p": (1, logarithm.log1p),
    "logaddexp": (2, log_sums.logaddexp),
    "logaddexp2": (2, log_sums.logaddexp2),
    "softplus": (1, log_sums.softplus),
    "log_expit": (1, log_sums.log_expit),
    "logit": (1, hyperbolic.logit),
    "sin": (1, trigonometric.sin),
    "cos": (1, trigonometric.cos),
    "tan": (1, trigonometric.tan),
    "arcsin": (1, inverse_trigonometric.arcsin),
    "arccos": (1, inverse_trigonometric.arccos),
    "arctan": (1, inverse_trigonometric.arctan),
    "arctan2": (2, inverse_trigonometric.arctan2),
    "sinh": (1, hyperbolic.sinh),
    "cosh": (1, hyperbolic.cosh),
    "tanh": (1, hyperbolic.tanh),
    "arcsinh": (1, hyperbolic.arcsinh),
    "arccosh": (1, hyperbolic.arccosh),
    "arctanh": (1, hyperbolic.arctanh),
    "power": (2, power.power),
    "sqrt": (1, square_root),
    "cbrt": (1, roots.cbrt),
    "hypot": (2, roots.hypot),
    "erf": (1, error_function.erf),
    "erfc": (1, error_function.erfc),
    "erfcx": (1, error_function.erfcx),
    "ndtr": (1, error_function.ndtr),
    "log_ndtr": (1, error_function.log_ndtr),
    "erfinv": (1, quantiles.erfinv),
    "ndtri": (1, quantiles.ndtri),
    "gammaln": (1, gamma.gammaln),
    "gamma": (1, gamma.gamma),
    "rgamma": (1, gamma.rgamma),
    "digamma": (1, gamma.digamma),
}

NAMES: dict[str, int] = {name: arity for name, (arity, _) in _WRITERS.items()}


def call(function: Function, name: str, *args: Value) -> Value:
    """Write a call of a math function of floats or doubles, scalars or vectors, all of one type."""
    arity, write = _WRITERS[name]
    assert len(args) == arity, f"{name} takes {arity} arguments, and got {len(args)}"
    return call_shared(function, name, write, *args)

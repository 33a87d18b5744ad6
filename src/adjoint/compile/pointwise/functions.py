"""Elementary and special functions of real numbers: those of `vector_math` under the names of NumPy and SciPy."""

from __future__ import annotations

from adjoint.compile import vector_math
from adjoint.compile.ir import Function, Value
from adjoint.compile.pointwise.registers import Dtype
from adjoint.compile.pointwise.table import writes

# primitives -> the name in vector_math, where it is another
RENAMED = {
    "float_power": "power",
    "special.exp2": "exp2",
    "special.expm1": "expm1",
    "special.log1p": "log1p",
    "special.cbrt": "cbrt",
    "psi": "digamma" if "digamma" in vector_math.NAMES else "psi",
}

SAME = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos"),
    *("tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh"),
    *("arccosh", "arctanh", "power", "cbrt", "hypot", "logaddexp", "logaddexp2", "expit", "log_expit"),
    *("logit", "erf", "erfc", "erfcx", "ndtr", "log_ndtr", "ndtri", "erfinv", "gammaln"),
    *("gamma", "rgamma", "exp10"),
)


def _function(primitive: str, name: str) -> None:
    def write(f: Function, dtype: Dtype, *xs: Value) -> Value:
        return vector_math.call(f, name, *xs)

    writes(primitive, "f", needs=name)(write)


for _primitive, _name in (*((n, n) for n in SAME), *RENAMED.items()):
    _function(_primitive, _name)

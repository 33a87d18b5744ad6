"""The special cases of the Array API standard, version 2024.12, as data.

A row is `conditions → result`. A condition stands for the values of SAMPLES. A result is a number, or x, x1, x2, |x1|,
-|x1|; `±` before it means that its sign is not specified, `or` that one of two is right.
"""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

inf, nan = float("inf"), float("nan")
POSITIVE = (1e-30, 0.5, 1.0, 3.0, 1e30)
NEGATIVE = tuple(-value for value in POSITIVE)

SAMPLES: dict[str, tuple[float, ...]] = {
    "nan": (nan,),
    "-nan": (float(np.copysign(nan, -1.0)),),
    "inf": (inf,),
    "-inf": (-inf,),
    "±inf": (inf, -inf),
    "0": (0.0,),
    "-0": (-0.0,),
    "±0": (0.0, -0.0),
    "1": (1.0,),
    "3": (3.0,),
    "-1": (-1.0,),
    "±1": (1.0, -1.0),
    "+": POSITIVE,  # positive and finite
    "-": NEGATIVE,
    "nonzero": POSITIVE + NEGATIVE,
    "finite": (0.0, -0.0, *POSITIVE, *NEGATIVE),
    ">0": (*POSITIVE, inf),
    "<0": (*NEGATIVE, -inf),
    "not 0": (*POSITIVE, *NEGATIVE, inf, -inf),
    "not nan": (0.0, -0.0, *POSITIVE, *NEGATIVE, inf, -inf),
    "not 1": (0.0, -0.0, 0.5, 3.0, *NEGATIVE, inf, -inf, nan),
    "any": (0.0, -0.0, *POSITIVE, *NEGATIVE, inf, -inf, nan),
    ">1": (1.5, 1e30, inf),
    "<1": (0.999, 0.0, -0.0, -3.0, -inf),
    "<-1": (-1.5, -1e30, -inf),
    ">1 in size": (1.5, -3.0, inf, -inf),
    "<1 in size": (0.5, -0.5, 0.0, -0.0, 1e-30),
    "odd": (1.0, 3.0, 7.0),
    "-odd": (-1.0, -3.0, -7.0),
    "not odd": (0.5, 2.0, 1.5, 8.0, inf),
    "-not odd": (-0.5, -2.0, -1.5, -8.0, -inf),
    "not whole": (0.5, -1.5, 2.25),
    "whole": (1.0, -1.0, 3.0, -4.0, 0.0, -0.0, 1e30),
    "half to even 0": (0.5,),
    "half to even 2": (1.5, 2.5),
    "half to even -2": (-1.5, -2.5),
}

OF_ONE = {
    "abs": "nan → nan; -0 → 0; -inf → inf",
    "acos": "nan → nan; >1 → nan; <-1 → nan; 1 → 0",
    "acosh": "nan → nan; <1 → nan; 1 → 0; inf → inf",
    "asin": "nan → nan; >1 → nan; <-1 → nan; 0 → 0; -0 → -0",
    "asinh": "nan → nan; 0 → 0; -0 → -0; inf → inf; -inf → -inf",
    "atan": "nan → nan; 0 → 0; -0 → -0; inf → pi/2; -inf → -pi/2",
    "atanh": "nan → nan; <-1 → nan; >1 → nan; -1 → -inf; 1 → inf; 0 → 0; -0 → -0",
    "ceil": "whole → x; inf → inf; -inf → -inf; 0 → 0; -0 → -0; nan → nan",
    "cos": "nan → nan; ±0 → 1; ±inf → nan",
    "cosh": "nan → nan; ±0 → 1; ±inf → inf",
    "exp": "nan → nan; ±0 → 1; inf → inf; -inf → 0",
    "expm1": "nan → nan; 0 → 0; -0 → -0; inf → inf; -inf → -1",
    "floor": "whole → x; inf → inf; -inf → -inf; 0 → 0; -0 → -0; nan → nan",
    "isfinite": "±inf → False; nan → False; finite → True",
    "isinf": "±inf → True; nan → False; finite → False",
    "isnan": "nan → True; finite → False; ±inf → False",
    "log": "nan → nan; <0 → nan; ±0 → -inf; 1 → 0; inf → inf",
    "log1p": "nan → nan; <-1 → nan; -1 → -inf; -0 → -0; 0 → 0; inf → inf",
    "log2": "nan → nan; <0 → nan; ±0 → -inf; 1 → 0; inf → inf",
    "log10": "nan → nan; <0 → nan; ±0 → -inf; 1 → 0; inf → inf",
    "reciprocal": "nan → nan; inf → 0; -inf → -0; 0 → inf; -0 → -inf",
    "round": (
        "whole → x; inf → inf; -inf → -inf; 0 → 0; -0 → -0; nan → nan; "
        "half to even 0 → 0; half to even 2 → 2; half to even -2 → -2"
    ),
    "sign": "<0 → -1; ±0 → ±0; >0 → 1; nan → nan",
    "signbit": "0 → False; -0 → True; inf → False; -inf → True; + → False; - → True; nan → False; -nan → True",
    "sin": "nan → nan; 0 → 0; -0 → -0; ±inf → nan",
    "sinh": "nan → nan; 0 → 0; -0 → -0; inf → inf; -inf → -inf",
    "square": "nan → nan; ±inf → inf; ±0 → 0",
    "sqrt": "nan → nan; <0 → nan; 0 → 0; -0 → -0; inf → inf",
    "tan": "nan → nan; 0 → 0; -0 → -0; ±inf → nan",
    "tanh": "nan → nan; 0 → 0; -0 → -0; inf → 1; -inf → -1",
    "trunc": "whole → x; inf → inf; -inf → -inf; 0 → 0; -0 → -0; nan → nan",
}

_QUOTIENT = (
    "nan, any → nan; any, nan → nan; ±inf, ±inf → nan; ±0, ±0 → nan; 0, >0 → 0; -0, >0 → -0; 0, <0 → -0; -0, <0 → 0; "
    ">0, 0 → inf; >0, -0 → -inf; <0, 0 → -inf; <0, -0 → inf; +, inf → 0; -, -inf → 0; "
)
OF_TWO = {
    "add": (
        "nan, any → nan; any, nan → nan; inf, -inf → nan; -inf, inf → nan; inf, inf → inf; -inf, -inf → -inf; "
        "inf, finite → inf; -inf, finite → -inf; finite, inf → inf; finite, -inf → -inf; -0, -0 → -0; -0, 0 → 0; "
        "0, -0 → 0; 0, 0 → 0; ±0, nonzero → x2; nonzero, ±0 → x1; 1, -1 → 0; -1, 1 → 0"
    ),
    "atan2": (
        "nan, any → nan; any, nan → nan; >0, 0 → pi/2; >0, -0 → pi/2; 0, >0 → 0; 0, 0 → 0; 0, -0 → pi; 0, <0 → pi; "
        "-0, >0 → -0; -0, 0 → -0; -0, -0 → -pi; -0, <0 → -pi; <0, 0 → -pi/2; <0, -0 → -pi/2; +, inf → 0; "
        "+, -inf → pi; -, inf → -0; -, -inf → -pi; inf, finite → pi/2; -inf, finite → -pi/2; inf, inf → pi/4; "
        "inf, -inf → 3pi/4; -inf, inf → -pi/4; -inf, -inf → -3pi/4"
    ),
    "copysign": (
        "not nan, <0 → -|x1|; not nan, -0 → -|x1|; not nan, 0 → |x1|; not nan, >0 → |x1|; not nan, -nan → -|x1|; "
        "not nan, nan → |x1|; nan, <0 → -nan; nan, -0 → -nan; nan, 0 → nan; nan, >0 → nan; nan, -nan → -nan; "
        "-nan, nan → nan"
    ),
    "divide": (_QUOTIENT + "inf, + → inf; inf, - → -inf; -inf, + → -inf; -inf, - → inf; +, -inf → -0; -, inf → -0"),
    "equal": (
        "nan, any → False; any, nan → False; inf, inf → True; -inf, -inf → True; ±0, ±0 → True; "
        "1, 1 → True; 0, 1 → False"
    ),
    "floor_divide": (
        _QUOTIENT
        + "inf, + → inf or nan; inf, - → -inf or nan; -inf, + → -inf or nan; -inf, - → inf or nan; "
        + "+, -inf → -0 or -1; -, inf → -0 or -1"
    ),
    "greater": "nan, any → False; any, nan → False; inf, finite → True; -inf, any → False; ±0, ±0 → False",
    "greater_equal": "nan, any → False; any, nan → False; inf, not nan → True; ±0, ±0 → True",
    "hypot": (
        "±inf, any → inf; any, ±inf → inf; ±0, not nan → |x2|; not nan, ±0 → |x1|; finite, nan → nan; "
        "nan, finite → nan; "
        "nan, nan → nan"
    ),
    "less": "nan, any → False; any, nan → False; finite, inf → True; any, -inf → False; ±0, ±0 → False",
    "less_equal": "nan, any → False; any, nan → False; not nan, inf → True; ±0, ±0 → True",
    "logaddexp": "nan, any → nan; any, nan → nan; inf, not nan → inf; not nan, inf → inf",
    "maximum": "nan, any → nan; any, nan → nan; inf, not nan → inf; -inf, not nan → x2",
    "minimum": "nan, any → nan; any, nan → nan; -inf, not nan → -inf; inf, not nan → x2",
    "multiply": (
        "nan, any → nan; any, nan → nan; ±inf, ±0 → nan; ±0, ±inf → nan; inf, >0 → inf; inf, <0 → -inf; "
        "-inf, >0 → -inf; "
        "-inf, <0 → inf; >0, inf → inf; <0, inf → -inf; >0, -inf → -inf; <0, -inf → inf; 0, + → 0; 0, - → -0; "
        "-0, + → -0; "
        "-0, - → 0; 0, 0 → 0; 0, -0 → -0; -0, -0 → 0"
    ),
    "nextafter": "nan, any → nan; any, nan → nan; -0, 0 → 0; 0, -0 → -0",
    "not_equal": "nan, any → True; any, nan → True; inf, -inf → True; -inf, inf → True; ±0, ±0 → False; 0, 1 → True",
    "pow": (
        "not 1, nan → nan; any, ±0 → 1; nan, not 0 → nan; >1 in size, inf → inf; >1 in size, -inf → 0; ±1, ±inf → 1; "
        "1, not nan → 1; <1 in size, inf → 0; <1 in size, -inf → inf; inf, >0 → inf; inf, <0 → 0; -inf, odd → -inf; "
        "-inf, not odd → inf; -inf, -odd → -0; -inf, -not odd → 0; 0, >0 → 0; 0, <0 → inf; -0, odd → -0; "
        "-0, not odd → 0; -0, -odd → -inf; -0, -not odd → inf; -, not whole → nan"
    ),
    "remainder": (
        "nan, any → nan; any, nan → nan; ±inf, ±inf → nan; ±0, ±0 → nan; 0, >0 → 0; -0, >0 → 0; 0, <0 → -0; "
        "-0, <0 → -0; "
        ">0, ±0 → nan; <0, ±0 → nan; ±inf, + → nan; ±inf, - → nan; +, inf → x1; +, -inf → x2; -, inf → x2; -, -inf → x1"
    ),
    "subtract": (
        "nan, any → nan; any, nan → nan; inf, inf → nan; -inf, -inf → nan; inf, -inf → inf; inf, finite → inf; "
        "finite, inf → -inf; -0, 0 → -0; -0, -0 → 0; 0, 0 → 0; 0, -0 → 0; nonzero, ±0 → x1; 1, 1 → 0"
    ),
}

# of z = a + b j: `a, b → real part, imaginary part`
OF_COMPLEX = {
    "abs": "±inf, any → inf; any, ±inf → inf; nan, finite → nan; finite, nan → nan; nan, nan → nan",
    "acos": (
        "±0, 0 → pi/2, -0; ±0, nan → pi/2, nan; finite, inf → pi/2, -inf; nonzero, nan → nan, nan; -inf, + → pi, -inf; "
        "inf, + → 0, -inf; -inf, inf → 3pi/4, -inf; inf, inf → pi/4, -inf; ±inf, nan → nan, ±inf; "
        "nan, finite → nan, nan; "
        "nan, inf → nan, -inf; nan, nan → nan, nan"
    ),
    "acosh": (
        "±0, 0 → 0, pi/2; finite, inf → inf, pi/2; nonzero, nan → nan, nan; 0, nan → nan, ±pi/2; -inf, + → inf, pi; "
        "inf, + → inf, 0; -inf, inf → inf, 3pi/4; inf, inf → inf, pi/4; ±inf, nan → inf, nan; nan, finite → nan, nan; "
        "nan, inf → inf, nan; nan, nan → nan, nan"
    ),
    "asinh": (
        "0, 0 → 0, 0; +, inf → inf, pi/2; finite, nan → nan, nan; inf, + → inf, 0; inf, inf → inf, pi/4; "
        "nan, 0 → nan, 0; "
        "nan, nonzero → nan, nan; nan, inf → ±inf, nan; nan, nan → nan, nan"
    ),
    "atanh": (
        "0, 0 → 0, 0; 0, nan → 0, nan; 1, 0 → inf, 0; +, inf → 0, pi/2; nonzero, nan → nan, nan; inf, + → 0, pi/2; "
        "inf, inf → 0, pi/2; inf, nan → 0, nan; nan, finite → nan, nan; nan, inf → ±0, pi/2; nan, nan → nan, nan"
    ),
    "cosh": (
        "0, 0 → 1, 0; 0, inf → nan, ±0; 0, nan → nan, ±0; nonzero, inf → nan, nan; nonzero, nan → nan, nan; "
        "inf, 0 → inf, 0; "
        "inf, inf → ±inf, nan; inf, nan → inf, nan; nan, ±0 → nan, ±0; nan, nonzero → nan, nan; nan, nan → nan, nan; "
        "inf, 1 → inf, inf; inf, -1 → inf, -inf"
    ),
    "exp": (
        "±0, 0 → 1, 0; finite, inf → nan, nan; finite, nan → nan, nan; inf, 0 → inf, 0; -inf, 1 → 0, 0; "
        "-inf, -1 → 0, -0; "
        "inf, 1 → inf, inf; inf, -1 → inf, -inf; -inf, inf → ±0, ±0; inf, inf → ±inf, nan; -inf, nan → ±0, ±0; "
        "inf, nan → ±inf, nan; nan, 0 → nan, 0; nan, nonzero → nan, nan; nan, nan → nan, nan"
    ),
    "expm1": (
        "±0, 0 → 0, 0; finite, inf → nan, nan; finite, nan → nan, nan; inf, 0 → inf, 0; -inf, 1 → -1, 0; "
        "-inf, -1 → -1, -0; "
        "inf, 1 → inf, inf; inf, -1 → inf, -inf; -inf, inf → -1, ±0; inf, inf → ±inf, nan; -inf, nan → -1, ±0; "
        "inf, nan → ±inf, nan; nan, 0 → nan, 0; nan, nonzero → nan, nan; nan, nan → nan, nan"
    ),
    "isfinite": "nan, any → False; any, nan → False; ±inf, any → False; any, ±inf → False; finite, finite → True",
    "isinf": "±inf, any → True; any, ±inf → True; nan, finite → False; finite, nan → False; finite, finite → False",
    "isnan": "nan, any → True; any, nan → True; not nan, not nan → False",
    "log": (
        "-0, 0 → -inf, pi; 0, 0 → -inf, 0; finite, inf → inf, pi/2; finite, nan → nan, nan; -inf, + → inf, pi; "
        "inf, + → inf, 0; -inf, inf → inf, 3pi/4; inf, inf → inf, pi/4; ±inf, nan → inf, nan; nan, finite → nan, nan; "
        "nan, inf → inf, nan; nan, nan → nan, nan"
    ),
    "log1p": (
        "-1, 0 → -inf, 0; finite, inf → inf, pi/2; finite, nan → nan, nan; -inf, + → inf, pi; inf, + → inf, 0; "
        "-inf, inf → inf, 3pi/4; inf, inf → inf, pi/4; ±inf, nan → inf, nan; nan, finite → nan, nan; "
        "nan, inf → inf, nan; "
        "nan, nan → nan, nan"
    ),
    "sign": "±0, ±0 → ±0, ±0; nan, any → nan, nan; any, nan → nan, nan",
    "sinh": (
        "0, 0 → 0, 0; 0, inf → ±0, nan; 0, nan → ±0, nan; +, inf → nan, nan; +, nan → nan, nan; inf, 0 → inf, 0; "
        "inf, 1 → inf, inf; inf, 3 → -inf, inf; inf, inf → ±inf, nan; inf, nan → ±inf, nan; nan, 0 → nan, 0; "
        "nan, nonzero → nan, nan; nan, nan → nan, nan"
    ),
    # The standard's rows for a = ±inf and finite b > 0 contradict the branch that it asks for; these are C99's.
    "sqrt": (
        "±0, 0 → 0, 0; any, inf → inf, inf; finite, nan → nan, nan; -inf, + → 0, inf; inf, + → inf, 0; "
        "-inf, nan → nan, ±inf; inf, nan → inf, nan; nan, finite → nan, nan; nan, nan → nan, nan"
    ),
    "tanh": (
        "0, 0 → 0, 0; nonzero, inf → nan, nan; 0, inf → 0 or nan, nan; nonzero, nan → nan, nan; "
        "0, nan → 0 or nan, nan; "
        "inf, 1 → 1, 0; inf, inf → 1, ±0; inf, nan → 1, ±0; nan, 0 → nan, 0; nan, nonzero → nan, nan; "
        "nan, nan → nan, nan"
    ),
}

# Rows in which NumPy's own complex functions give something else; ours agree with NumPy there.
AS_NUMPY = {
    "expm1": ("±0, 0", "inf, 0", "inf, inf", "-inf, inf", "inf, nan", "-inf, nan", "nan, 0"),
    "sign": ("nan, any", "any, nan"),
}

# f(z) = -j g(j z), or g(j z) for cos: the standard says that these are handled as if they were implemented so
TURNED = {"asin": "asinh", "atan": "atanh", "sin": "sinh", "tan": "tanh", "cos": "cosh"}
# f(conj z) = conj f(z)
CONJUGATE = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "exp", "expm1", "log", "log1p", "log2", "log10"),
    *("sinh", "sqrt", "tanh"),
)


class Case(NamedTuple):
    """Arguments, and the results that are right."""

    row: str
    arguments: tuple[float, ...]
    wanted: str


def cases(rows: str) -> Iterator[Case]:
    """The cases that rows stand for."""
    for row in rows.split("; "):
        conditions, wanted = row.split(" → ")
        for arguments in itertools.product(*[SAMPLES[condition] for condition in conditions.split(", ")]):
            yield Case(row, arguments, wanted)


def right(found: Any, wanted: str, arguments: tuple[float, ...]) -> bool:
    """Whether a number, or a truth value, is what a row says."""
    if wanted in ("True", "False"):
        return bool(found) is (wanted == "True")
    if " or " in wanted:
        return any(right(found, one, arguments) for one in wanted.split(" or "))
    if wanted.startswith("±"):
        return right(abs(found), wanted[1:], arguments) or right(-abs(found), wanted[1:], arguments)
    if wanted in ("nan", "-nan"):
        return bool(np.isnan(found))
    value = _value(wanted, arguments)
    close = (
        np.isclose(found, value, rtol=1e-6, atol=0.0)
        if "pi" in wanted
        else found == np.asarray(found).dtype.type(value)
    )
    return bool(close and np.signbit(found) == np.signbit(value))


def _value(text: str, arguments: tuple[float, ...]) -> float:
    if text in ("x", "x1", "x2"):
        return arguments[1 if text == "x2" else 0]
    if text.endswith("|"):
        return (-1.0 if text.startswith("-") else 1.0) * abs(_value(text.strip("-|"), arguments))
    if "pi" in text:
        factor, _, divisor = text.partition("/")
        sign = -1.0 if factor.startswith("-") else 1.0
        return sign * float(factor.strip("-").removesuffix("pi") or 1) * np.pi / float(divisor or 1)
    return float(text)

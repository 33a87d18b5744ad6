"""The list of examples for the contract test: arguments for every primitive, at points where the derivative exists.

A new primitive adds a line to `examples_arrays.py` or its like. Ufuncs are drawn from `DOMAINS`; one that is not named
there is drawn from the interval (0.3, 0.8). All points keep a distance of 0.15 from kinks and singularities.
"""

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.ops.elementwise.pointwise import BY_NAME, Ufunc
from tests.ops.examples_arrays import array_examples
from tests.ops.examples_matrices import matrix_examples
from tests.ops.random_examples import random_examples
from tests.ops.samples import COMPLEX, SINGLE, SINGLE_COMPLEX, Example, strided
from tests.ops.signal_examples import signal_examples

WHOLE, SIGNED, INNER = (0.7, 1.8), (-1.8, 1.8), (-0.4, 0.4)
STEPS = "steps"  # integers plus a quarter
DOMAINS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(["add", "subtract", "multiply"], (SIGNED, SIGNED)),
    **dict.fromkeys(
        ["negative", "positive", "conjugate", "degrees", "radians", "rad2deg", "deg2rad", "square"], (SIGNED,)
    ),
    "divide": (SIGNED, WHOLE),
    **dict.fromkeys(["zetac", "riemann_zeta"], ((2.0, 3.0),)),
    "kolmogorov": ((0.8, 1.4),),
    **dict.fromkeys(["power", "float_power"], (WHOLE, SIGNED)),
    **dict.fromkeys(["reciprocal", "sqrt", "cbrt", "log", "log2", "log10"], (WHOLE,)),
    **dict.fromkeys(["hypot", "arctan2"], (WHOLE, WHOLE)),
    "ldexp": (SIGNED, "integers"),
    **dict.fromkeys(["absolute", "fabs"], (STEPS,)),
    **dict.fromkeys(["maximum", "minimum", "fmax", "fmin"], (STEPS, "halves")),
    **dict.fromkeys(["remainder", "fmod", "floor_divide"], ("odd", (2.0, 2.2))),
    "copysign": (STEPS, STEPS),
    "nextafter": (STEPS, "halves"),
    "heaviside": (STEPS, SIGNED),
    **dict.fromkeys(["logaddexp", "logaddexp2"], (SIGNED, SIGNED)),
    **dict.fromkeys(["exp", "exp2", "expm1", "sin", "cos", "sinh", "cosh", "tanh", "arcsinh", "arctan"], (SIGNED,)),
    "log1p": ((0.0, 1.0),),
    **dict.fromkeys(["tan", "arcsin", "arccos", "arctanh"], (INNER,)),
    "arccosh": ((1.8, 3.0),),
    "logit": ((0.45, 0.55),),
    "ndtri": ((0.4, 0.6),),
    "ndtri_exp": ((-1.5, -0.5),),
    "cotdg": ((30.0, 60.0),),
    **dict.fromkeys(["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"], (STEPS, "halves")),
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor"], (STEPS, STEPS)),
    **dict.fromkeys(
        ["logical_not", "isnan", "isinf", "isfinite", "signbit", "floor", "ceil", "rint", "trunc"], (STEPS,)
    ),
    **dict.fromkeys(["sign", "round"], (STEPS,)),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"], ("integers",) * 2),
    **dict.fromkeys(["gcd", "lcm"], ("integers",) * 2),
    **dict.fromkeys(["invert", "bitwise_count"], ("integers",)),
}


def draw(domain: Any, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """An array (0-d: a NumPy scalar) from a domain."""
    if domain == "integers":
        return rng.integers(1, 5, shape) if shape else np.int64(rng.integers(1, 5))
    if domain == STEPS:
        values = rng.integers(-3, 3, shape) + 0.25
    elif domain == "halves":
        values = rng.integers(-3, 3, shape) + 0.75
    elif domain == "odd":
        values = 2.1 * (rng.integers(-3, 3, shape) + 0.5)
    else:
        values = rng.uniform(*domain, shape)
    return np.float64(values) if shape == () else values


def with_imaginary(x: Any, rng: np.random.Generator) -> Any:
    """x moved off the real line."""
    return (x + 0.3j * rng.choice([-1.0, 1.0], np.shape(x)))[()]


def ufunc_examples(op: Ufunc) -> Iterator[Example]:
    """Shapes, orders of memory, dtypes, Python numbers; all that the ufunc takes."""
    rng = np.random.default_rng(zlib.crc32(op.name.encode()))
    domains = DOMAINS.get(op.name, ((0.3, 0.8),) * op.arity)
    make = lambda *shapes: tuple(draw(d, s, rng) for d, s in zip(domains, shapes, strict=True))
    arity = op.arity
    yield Example(op, make(*[(2, 3)] * arity))
    yield Example(op, make(*[()] * arity))
    yield Example(op, make(*[(0, 2)] * arity))
    yield Example(op, tuple(strided(x) for x in make(*[(2, 3)] * arity)), "strided")
    yield Example(op, tuple(np.asfortranarray(x) for x in make(*[(2, 3)] * arity)), "fortran")
    floats = make(*[(3,)] * arity)
    yield from _in_dtypes(op, floats, rng)
    if arity >= 2:
        rest = [()] * (arity - 2)
        yield Example(op, make((2, 1), (3,), *rest))
        yield Example(op, make((3,), (2, 3), *rest))
        yield Example(op, make((2, 3), (), *rest))
        yield Example(op, make((), (2, 3), *rest))
        yield Example(op, make((0, 1), (1, 3), *rest))
        yield from _mixed(op, make((2, 3), (3,), *rest), rng)


def _takes(op: Ufunc, args: tuple[Any, ...]) -> bool:
    try:
        with np.errstate(all="ignore"):
            op.evaluate(*args)
    except TypeError:
        return False
    return True


def _in_dtypes(op: Ufunc, args: tuple[Any, ...], rng: np.random.Generator) -> Iterator[Example]:
    moving = [x.dtype.kind == "f" for x in args]
    for dtype in (SINGLE, COMPLEX, SINGLE_COMPLEX):
        off_axis = tuple(
            with_imaginary(x, rng) if dtype.kind == "c" and m else x for x, m in zip(args, moving, strict=True)
        )
        cast = tuple(x.astype(dtype) if m else x for x, m in zip(off_axis, moving, strict=True))
        if any(moving) and _takes(op, cast):
            yield Example(op, cast)


def _mixed(op: Ufunc, args: tuple[Any, ...], rng: np.random.Generator) -> Iterator[Example]:
    """Two arguments of different dtypes, or one of them a Python number."""
    x, y, *rest = args
    if x.dtype.kind != "f":
        return
    as_integer = lambda a: np.maximum(1, np.rint(np.abs(a))).astype(int)
    candidates = [
        (x.astype(SINGLE), y.astype(SINGLE)),
        (x.astype(SINGLE), y),
        (as_integer(x), y),
        (x, as_integer(y)),
        (x, float(np.ravel(y)[0])),
        (float(np.ravel(x)[0]), y),
        (x.astype(SINGLE), float(np.ravel(y)[0])),
        (x, int(np.ravel(as_integer(y))[0])),
        (int(np.ravel(as_integer(x))[0]), y),
        (with_imaginary(x, rng), y),
        (x, with_imaginary(y, rng)),
        (np.float64(np.ravel(x)[0]), float(np.ravel(y)[0])),
    ]
    for pair in candidates:
        if _takes(op, (*pair, *rest)) and _away_from_steps(op, pair):
            yield Example(op, (*pair, *rest), "mixed")


def _away_from_steps(op: Ufunc, pair: tuple[Any, Any]) -> bool:
    """Rounding to integers may have put an argument onto a kink."""
    if op.name not in {"remainder", "fmod", "floor_divide"}:
        return True
    quotient = np.divide(*pair)
    return bool(np.all(np.abs(quotient - np.rint(quotient)) > 0.2))


# What holds programs or functions, or acts on the world, has tests of its own, in files that must be there.
TESTED_ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(["Cond", "Scan", "While"], "api/control_flow/test_loops.py"),
    **dict.fromkeys(["Attach", "OpaqueCall"], "ops/test_custom.py"),
    "Checkpoint": "ops/control/test_remat.py",
    **dict.fromkeys(
        ["CheckpointedScan", "CheckpointedWhile", "CheckpointedReverse"], "ops/checkpointing/test_reverse.py"
    ),
    **dict.fromkeys(["Unwritten", "Undefined"], "ops/checkpointing/test_unwritten.py"),
    "Mark": "ops/checkpointing/test_policies.py",
    "Reversible": "memory/test_reversible.py",
    "Undifferentiable": "random/test_draws.py",
    **dict.fromkeys(["Print", "Callback", "Check", "Raise"], "ops/test_effects.py"),
    "Expect": "ops/control/test_guards.py",
    "Call": "ops/control/test_call.py",
    "LinearSolve": "ops/linalg/test_linear_solve.py",
    "ImplicitSolve": "ops/test_implicit_solve.py",
    "Weaken": "ops/elementwise/test_weak_types.py",
    "Nonzero": "ops/arrays/test_search.py",
    "Cofactors": "ops/linalg/test_determinant.py",
    **dict.fromkeys(
        ["AdaptedEighBasis", "AdaptedSVDBasis", "AdaptedEigh", "AdaptedSVD"], "ops/linalg/test_degenerate_basis.py"
    ),
    **dict.fromkeys(["AdaptedEigBasis", "AdaptedEig"], "ops/linalg/test_eigenvalues.py"),
    **dict.fromkeys(
        ["NullSpaceResidue", "UndeterminedProduct", "UndeterminedMultiple"], "ops/linalg/test_degenerate_residue.py"
    ),
}


def examples() -> list[Example]:
    """All of them."""
    found = [e for op in BY_NAME.values() for e in ufunc_examples(op)]
    families = (array_examples, matrix_examples, random_examples, signal_examples)
    return found + [example for family in families for example in family()]

"""Whether a row of the table of coverage tells the truth: the function is called as the row says, and derivatives are
compared with differences of its own values.
"""

import importlib
import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy

import adjoint as ad
from adjoint.base.errors import ControlFlowError, UnsupportedError
from adjoint.coverage import CONSTANT, DIFFERENTIABLE, REFUSED, SIZES, TABLES, Row
from adjoint.program.trace import Tracer

STEP = 2e-3

# settings, files and the like: there is nothing to call them with inside of a computation
NOT_CALLED = """
    load loadtxt genfromtxt fromfile fromregex fromstring frombuffer errstate geterr seterr geterrcall seterrcall
    getbufsize setbufsize get_printoptions set_printoptions printoptions get_include info show_config show_runtime
    test get_workers set_workers register_backend set_backend set_global_backend skip_backend datetime_data
    find_best_blas_type get_blas_funcs get_lapack_funcs
"""

# SciPy finds these by search, and stops early: differences see the rest
SEARCHED = "chndtrix chndtridf chndtrinc nctdtrit nctdtridf nctdtrinc ncfdtr ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc"


class Example(NamedTuple):
    """Arguments for a function: `call(function, *xs)`, differentiated in the xs."""

    call: Callable[..., Any]
    xs: tuple[Any, ...]


def at(*xs: Any) -> Example:
    """f(*xs)."""
    return Example(lambda f, *xs: f(*xs), tuple(np.asarray(x, complex if np.iscomplexobj(x) else float) for x in xs))


def of(call: Callable[..., Any], *xs: Any) -> Example:
    """call(f, *xs)."""
    return Example(call, at(*xs).xs)


def each(names: str, value: Any) -> dict[str, Any]:
    """The same for several names."""
    return dict.fromkeys(names.split(), value)


def resolve(title: str) -> Any:
    """What a dotted name stands for."""
    parts = title.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(title)


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def expected(row: Row) -> bool:
    """Whether the installed package should have the function."""
    installed = version((np if row.namespace.startswith("numpy") else scipy).__version__)
    return (not row.since or installed >= version(row.since)) and (not row.until or installed < version(row.until))


def public(namespace: str) -> set[str]:
    """The functions of a module: no classes, no modules, no numbers."""
    module = importlib.import_module(namespace)
    names = module.__all__ if namespace.startswith("scipy") else dir(module)
    with warnings.catch_warnings(action="ignore"):
        values = {name: getattr(module, name) for name in names if not name.startswith("_")}
    plain = (type, types.ModuleType)
    return {name for name, value in values.items() if callable(value) and not isinstance(value, plain)}


def faults_of_names(namespace: str, speaks_of_all: bool = True) -> list[str]:
    """Public functions without a row, and rows without a function."""
    rows, module = TABLES[namespace].rows, importlib.import_module(namespace)
    found = [f"{namespace}.{name} has no row" for name in sorted(public(namespace) - set(rows)) if speaks_of_all]
    for row in rows.values():
        with warnings.catch_warnings(action="ignore"):
            there = hasattr(module, row.name)
        if there != expected(row):
            found.append(f"{row.title} is {'there' if there else 'not there'}; its row says otherwise (since=, until=)")
    return found


# Some functions of older versions are made of functions that take traced values; nothing is said of that.
LATEST = version(np.__version__) >= (2, 4) and version(scipy.__version__) >= (1, 17)

# The version of SciPy since which a function is right, or takes the numbers of the examples. Spheroidal functions wrote
# beyond their memory before.
CORRECTED = {
    "modfresnelp": "1.14",
    "factorial2": "1.15",
    "factorialk": "1.15",
    "hilbert2": "1.17",
    "pro": "1.17",
    "obl": "1.17",
}


def is_right(row: Row) -> bool:
    """Whether the installed version can be compared with."""
    first = CORRECTED.get(row.name) or CORRECTED.get(row.name[:3], "1.0")
    return row.namespace.startswith("numpy") or version(scipy.__version__) >= version(first)


def rows_of(namespace: str, kind: str) -> list[Row]:
    """The rows of one kind that can be tried with the installed packages."""
    rows = [row for row in TABLES[namespace].rows.values() if row.kind == kind and expected(row)]
    return [row for row in rows if is_right(row) and (row.takes != SIZES or row.name not in NOT_CALLED.split())]


def parts(y: Any) -> list[Any]:
    """Everything in a result that is no list or tuple."""
    if isinstance(y, list | tuple):
        return [part for entry in y for part in parts(entry)]
    return [y]


def moving(y: Any) -> tuple[Any, ...]:
    """The parts of a result that could have a derivative."""
    return tuple(part for part in parts(y) if getattr(getattr(part, "dtype", None), "kind", "") in ("f", "c"))


def directions(xs: tuple[Any, ...]) -> tuple[Any, ...]:
    rng = np.random.default_rng(1)
    draw = lambda x: rng.uniform(0.5, 1.0, x.shape) * rng.choice([-1.0, 1.0], x.shape)
    return tuple(draw(x) + 1j * draw(x) if x.dtype.kind == "c" else draw(x) for x in xs)


def difference(g: Callable[..., Any], xs: tuple[Any, ...], vs: tuple[Any, ...]) -> list[Any]:
    """d/dt g(x + t v) by central differences, extrapolated once: an error of order h⁴."""

    def central(h: float) -> list[Any]:
        above = g(*[x + h * v for x, v in zip(xs, vs, strict=True)])
        below = g(*[x - h * v for x, v in zip(xs, vs, strict=True)])
        return [(a - b) / (2 * h) for a, b in zip(above, below, strict=True)]

    return [(4 * fine - coarse) / 3 for fine, coarse in zip(central(STEP / 2), central(STEP), strict=True)]


def fault_of_differentiable(row: Row, example: Example) -> str | None:
    """What is wrong with a row that promises derivatives, or None."""
    function, (call, xs) = resolve(row.offered), example
    if row.arguments and len(row.arguments) != len(xs):
        return f"the example varies {len(xs)} arguments, the row names {row.arguments}"
    g = lambda *xs: moving(call(function, *xs))
    vs = directions(xs)
    value, tangent = ad.jvp(g, xs, vs)
    plain = moving(call(resolve(row.title) if not row.own else function, *[x.copy() if x.ndim else x[()] for x in xs]))
    if not plain or not all(np.allclose(a, b, 1e-12, 1e-12) for a, b in zip(value, plain, strict=True)):
        return f"the value is {value} instead of {plain}"
    want = difference(g, xs, vs)
    tolerance = 1e-3 if row.name in SEARCHED.split() else 1e-6
    if not all(np.allclose(a, b, tolerance, 1e-7) for a, b in zip(tangent, want, strict=True)):
        return f"the derivative is {tangent} instead of {want}"
    if not any(np.any(dy) for dy in tangent):
        return "the derivative is zero: is it constant?"
    _, pull = ad.vjp(g, *xs)
    cts = directions(value)
    left = sum(np.sum(np.real(np.conj(ct) * dy)) for ct, dy in zip(cts, tangent, strict=True))
    right = sum(np.sum(np.real(np.conj(gx) * v)) for gx, v in zip(pull(cts), vs, strict=True))
    if not np.isclose(left, right, 1e-8, 1e-10):
        return f"forward and reverse differ: {left}, {right}"
    return fault_of_lanes(g, xs)


def fault_of_lanes(g: Callable[..., Any], xs: tuple[Any, ...]) -> str | None:
    """What is wrong with a function of several arguments at once, or None."""
    stacks = [np.stack([x, 1.001 * x]) for x in xs]
    try:
        got = ad.vmap(g)(*stacks)
    except ControlFlowError:  # the shape of the result depends on the values, which differ
        return None
    want = [np.stack(column) for column in zip(*[g(*[s[k] for s in stacks]) for k in (0, 1)], strict=True)]
    same = all(np.allclose(a, b, 1e-9, 1e-11) for a, b in zip(got, want, strict=True))
    return None if same else f"the value is {got} instead of {want} for several at once"


def fault_of_constant(row: Row, example: Example) -> str | None:
    """What is wrong with a row that promises a result without a derivative, or None."""
    function, (call, xs), seen = resolve(row.offered), example, []

    def g(*xs: Any) -> Any:
        y = call(function, *xs[: len(example.xs)])
        seen[:] = [None if isinstance(part, Tracer) else part for part in parts(y)]
        return moving(y)

    if not xs:  # it takes plain numbers: the rest of the computation is traced
        xs = (np.ones(2),)
    value, tangent = ad.jvp(g, xs, directions(xs))
    if any(np.any(dy) for dy in tangent):
        return f"it has a derivative: {tangent}"
    want = parts(call(resolve(row.title), *(example.xs or ())))
    arrays = [part for part in want if getattr(getattr(part, "dtype", None), "kind", "") in ("f", "c")]
    if row.name.startswith("empty"):
        return None
    if not all(np.allclose(a, b) for a, b in zip(value, arrays, strict=True)):
        return f"the value is {value} instead of {arrays}"
    for a, b in zip(seen, want, strict=True):
        if a is not None and isinstance(b, bool | int | np.integer | np.ndarray | tuple) and not np.all(a == b):
            return f"the value is {a} instead of {b}"
    return None


def fault_of_refused(row: Row, example: Example) -> str | None:
    """What is wrong with a row that refuses, or None."""
    original = resolve(row.title)
    if row.namespace.startswith("scipy") and (
        LATEST or not row.name.endswith("cv_seq")
    ):  # which wrote beyond its memory
        example.call(original, *[x[()] for x in example.xs])  # with plain values there is nothing to refuse
    g, vs = (lambda *xs: moving(example.call(original, *xs))), directions(example.xs)
    try:
        tangent = ad.jvp(g, example.xs, vs)[1]
    except Exception:
        pass
    else:
        right = [np.allclose(*pair, 1e-6) for pair in zip(tangent, difference(g, example.xs, vs), strict=True)]
        if not all(right) or LATEST:
            return "it takes traced values"
    if isinstance(original, type):
        return None
    try:
        passed_on = resolve(f"adjoint.{row.title}")
        ad.jvp(lambda *xs: moving(example.call(passed_on, *xs)), example.xs, directions(example.xs))
    except UnsupportedError as raised:
        return None if row.words in str(raised) else f"it raises without its reason: {raised}"
    except Exception as raised:
        return f"it raises {raised!r}"
    return "adjoint's takes traced values"


def fault_of_compiled(row: Row, example: Example) -> str | None:
    """What is wrong with the compiled derivative, or None. (Reverse mode and lanes compile the same programs.)"""
    function, (call, xs) = resolve(row.offered), example
    vs = directions(xs)
    tangent = lambda *xs: ad.jvp(lambda *xs: moving(call(function, *xs)), xs, vs)[1]
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        got, want = ad.jit(tangent)(*xs), tangent(*xs)
    same = all(np.allclose(a, b, 1e-9, 1e-11) for a, b in zip(got, want, strict=True))
    return None if same else f"the compiled derivative is {got} instead of {want}"


FAULTS = {DIFFERENTIABLE: fault_of_differentiable, CONSTANT: fault_of_constant, REFUSED: fault_of_refused}


def fault(row: Row, example: Example) -> str | None:
    """What is wrong with a row, or None. Errors are faults too."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            return FAULTS[row.kind](row, example)
    except Exception as raised:
        return f"{type(raised).__name__}: {' '.join(str(raised).split())[:300]}"

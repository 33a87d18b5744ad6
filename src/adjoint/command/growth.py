"""How large the result of a step would be, told before it is computed: short texts can ask for enormous arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from adjoint.command.parsing import Step

LARGEST = 10_000_000  # numbers in one array, unless the given arrays are large themselves
_MOST_ITERATIONS = 1_000_000  # of loops, parts, bins
_MOST_WORK = 10_000_000_000  # products of numbers, where work grows faster than the result


Size = Callable[[tuple[Any, ...], Mapping[str, Any]], int]  # the arguments of a function -> numbers in its result


def size_of(value: Any) -> int:
    """How many numbers a value holds."""
    if isinstance(value, tuple | list):
        return sum(map(size_of, value))
    return int(np.size(value))


def _shape_size(shape: Any) -> int:
    return math.prod(int(n) for n in np.ravel(np.asarray(shape, dtype=object)))


def _argument(args: tuple[Any, ...], kwargs: Mapping[str, Any], position: int, name: str, default: Any) -> Any:
    return kwargs.get(name, args[position] if len(args) > position else default)


def _shape(position: int, name: str) -> Size:
    return lambda args, kwargs: _shape_size(_argument(args, kwargs, position, name, None) or 0)


def _square(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    n = int(args[0])
    columns = _argument(args, kwargs, 1, "M", None)
    return n * (n if columns is None else int(np.max(columns)))


def _product(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    return math.prod(map(size_of, args[:2]))


def _matrices(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    a, b = np.shape(args[0]), np.shape(args[1])
    if len(a) < 2 and len(b) < 2:
        return 1
    rows = math.prod(a[:-1])
    return rows * (math.prod(b) // b[-2] if len(b) > 1 and b[-2] else 1)


def _range(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args[:2], _argument(args, kwargs, 2, "step", 1))
    return int(min(max(0.0, (stop - start) / step), 1e30))


def _mesh(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    return len(args) * math.prod(map(size_of, args))


def _orders(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    n, m, *points = args
    return 2 * (abs(int(n)) + 1) * (abs(int(m)) + 1) * math.prod(map(size_of, points))


def _diagonal(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    return (size_of(args[0]) + abs(int(_argument(args, kwargs, 1, "k", 0)))) ** 2


# By the name of the function; other functions give no more numbers than their arguments broadcast to, or have.
_RESULT: dict[str, Size] = {
    **{name: _shape(0, "shape") for name in ("zeros", "ones", "full")},
    **{name: _shape(1, "s") for name in ("fftn", "ifftn", "fft2", "ifft2", "rfftn", "rfft2", "irfftn", "irfft2")},
    "resize": _shape(1, "new_shape"),
    "broadcast_to": _shape(1, "shape"),
    "eye": _square,
    "identity": _square,
    "tri": _square,
    "arange": _range,
    **dict.fromkeys(
        ("linspace", "logspace", "geomspace"),
        lambda args, kwargs: int(_argument(args, kwargs, 2, "num", 50)) * size_of(args[0]),
    ),
    "tile": lambda args, kwargs: size_of(args[0]) * _shape_size(_argument(args, kwargs, 1, "reps", 1)),
    "repeat": lambda args, kwargs: size_of(args[0]) * int(np.max(_argument(args, kwargs, 1, "repeats", 1))),
    "outer": _product,
    "kron": _product,
    "tensordot": lambda args, kwargs: _product(args, kwargs) if _argument(args, kwargs, 2, "axes", 2) == 0 else 0,
    "einsum": lambda args, kwargs: math.prod(map(size_of, args)),
    "meshgrid": _mesh,
    "ix_": _mesh,
    "diag": lambda args, kwargs: _diagonal(args, kwargs) if np.ndim(args[0]) == 1 else 0,
    "diagflat": _diagonal,
    "vander": lambda args, kwargs: size_of(args[0]) * int(_argument(args, kwargs, 1, "N", None) or size_of(args[0])),
    "matmul": _matrices,
    "dot": _matrices,
    "inner": lambda args, kwargs: _product(args, kwargs) // max(1, *np.shape(args[0])[-1:]) ** 2,
    **dict.fromkeys(("cov", "corrcoef"), lambda args, kwargs: len(np.atleast_2d(args[0])) ** 2),
    "svd": lambda args, kwargs: max(np.shape(args[0])[-2:]) ** 2,
    "bincount": lambda args, kwargs: int(np.max(args[0], initial=0)),
    "pad": lambda args, kwargs: math.prod(n + 2 * int(np.max(args[1])) for n in np.shape(args[0])),
    **dict.fromkeys(("assoc_legendre_p_all", "sph_legendre_p_all", "sph_harm_y_all", "lqmn"), _orders),
}

# Functions whose integers are lengths, and numbers of parts, bins and iterations.
_COUNTS = frozenset(
    ["split", "array_split", "hsplit", "vsplit", "dsplit", "unstack", "histogram", "histogramdd", "histogram2d",
     "histogram_bin_edges", "diff", "polyder", "polyint", "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "bartlett",
     "blackman", "hamming", "hanning", "kaiser", "convolve", "correlate", "matrix_power", "multigammaln"]
)  # fmt: skip


def _broadcast(args: tuple[Any, ...]) -> int:
    shapes = [np.shape(argument) for argument in args]
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return math.prod(max(lengths) for lengths in zip(*padded)) if rank else 1


def check_growth(step: Step, args: tuple[Any, ...], kwargs: Mapping[str, Any], largest: int, text: str) -> None:
    """Refuse a step whose result, or one of whose integers, would be enormous."""
    _check_orders(step, (*args, *kwargs.values()), text)
    if step.elementwise:
        expected = _broadcast(args)
    else:
        if step.name in _COUNTS:
            for argument in (*args, *kwargs.values()):
                for part in argument if isinstance(argument, tuple | list) else (argument,):
                    if isinstance(part, int | np.integer) and abs(int(part)) > _MOST_ITERATIONS:
                        raise step.refused(
                            f"has the argument {_show_number(part)}; at most {_MOST_ITERATIONS:,} is taken", text
                        )
            if step.name in ("convolve", "correlate") and math.prod(map(size_of, args[:2])) > _MOST_WORK:
                raise step.refused(f"takes more than {_MOST_WORK:,} products", text)
        rule = _RESULT.get(step.name)
        try:
            expected = rule(args, kwargs) if rule else 0
        except (TypeError, ValueError, IndexError, ZeroDivisionError, OverflowError):
            return  # the function itself says better what is wrong with its arguments
    if expected > largest:
        raise step.refused(f"would make {_show_number(expected)} numbers, more than {largest:,}", text)


# Functions of SciPy that take orders, by how their names begin or end, and the largest order: beyond it they run for
# minutes, or crash.
_ORDERS = {"mathieu_": 200, "obl_": 200, "pro_": 200, "vp": 1000, "_all": 10_000, "_seq": 10_000, "lq": 10_000,
           "riccati_": 10_000, "lmbda": 10_000, "pbdv": 10_000, "pbvv": 10_000, "lpmv": 10_000, "eval_": 1_000_000,
           "legendre_p": 1_000_000, "nctdtr": 10_000, "ncfdtr": 10_000, "chndtr": 10_000}  # fmt: skip


def _check_orders(step: Step, args: tuple[Any, ...], text: str) -> None:
    for affix, limit in _ORDERS.items():
        if step.name.startswith(affix) or step.name.endswith(affix):
            sizes = [float(np.max(np.abs(argument), initial=0.0)) for argument in args if _is_numeric(argument)]
            for size in sizes:
                if not size <= limit:
                    raise step.refused(f"has the argument {size:g}; at most {limit:,} is taken", text)


def _is_numeric(value: Any) -> bool:
    return isinstance(value, int | float | complex | np.ndarray | np.generic)


def _show_number(number: Any) -> str:
    return f"{int(number):,}" if abs(int(number)) < 1e15 else f"{float(number):.1e}"

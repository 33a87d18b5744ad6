"""Functions of NumPy and SciPy in converted code: arrays that are made, lists of traced values, arrays written to."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint.numpy as ours
import adjoint.scipy as our_scipy
from adjoint.base.loading import deferred
from adjoint.conversion.calls import FINDERS, METHODS, call, instead_of
from adjoint.conversion.growing import rejoin
from adjoint.conversion.lifting import any_traced, made_here
from adjoint.conversion.scipy_objects import adapt_method, adapter_of, call_adapted, find_selection
from adjoint.conversion.special_methods import iterate
from adjoint.conversion.stores import prepare_array
from adjoint.numpy.dispatch import as_array, is_traced
from adjoint.numpy.namespace import TAKES_LISTS
from adjoint.ops.operators import find_function
from adjoint.program.trace import Tracer, live_trace
from adjoint.tree import leaves

log_numbers = deferred("adjoint.conversion.builtins", "log_numbers")

_WRITING = ("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis")
_MAKING = (
    "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "zeros", "ones", "empty", "full", "eye",
    "identity", "arange", "linspace", "logspace", "geomspace", "tri", "zeros_like", "ones_like", "empty_like",
    "full_like", "copy", "diag", "tile", "repeat", "concatenate", "stack", "vstack", "hstack",
    "column_stack", "outer", "kron", "meshgrid", "atleast_1d", "atleast_2d", "vander",
)  # fmt: skip


def _making(name: str) -> Callable[..., Any]:
    """A function of NumPy that makes an array: plain and noted, or of traced values."""
    func, traced = getattr(np, name), getattr(ours, name)  # errors about shapes name what a frame calls `func`
    may_join = name in ("array", "asarray", "stack")

    @functools.wraps(func)
    def make(*args: Any, **kwargs: Any) -> Any:
        if may_join and args and (array := rejoin(args[0])) is not None:
            args = (array, *args[1:])
        if any(map(is_traced, args)) or (kwargs and any(map(is_traced, kwargs.values()))):
            return (func if _is_seen(func, args) else traced)(*args, **kwargs)
        made = func(*args, **kwargs)
        return made_here(made) if type(made) is np.ndarray and made.base is None and not _is_among(made, args) else made

    return make


@instead_of(np.ndenumerate)
def ndenumerate(arr: Any) -> Any:
    """np.ndenumerate: indices and elements."""
    return zip(np.ndindex(arr.shape), arr.ravel(), strict=True) if is_traced(arr) else np.ndenumerate(arr)


@instead_of(np.fromiter)
def fromiter(iterable: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    """np.fromiter: what an iterator gives may be traced."""
    values = iterate(iterable)
    values = list(values if count < 0 else itertools.islice(values, count))
    if is_traced(values) and len(values) >= count:
        return ours.array(values, dtype)
    return made_here(np.fromiter(values, dtype, count))


def call_vectorized(made: np.vectorize) -> Any:
    """A function that np.vectorize has made, with its function converted."""
    if live_trace() is None:
        return made
    function = getattr(made, "pyfunc", None)
    if not callable(function):
        return made  # a decorator that waits for its function
    options: dict[str, Any] = {"excluded": made.excluded, "cache": made.cache, "signature": made.signature}
    return ours.vectorize(lambda *args, **kwargs: call(function)(*args, **kwargs), made.otypes, None, **options)


METHODS["vectorize"] = call_vectorized


def _is_seen(func: Any, args: tuple[Any, ...]) -> bool:
    """Whether NumPy itself finds the traced values in a list of arrays, and hands them over."""
    listed = args[0] if args and isinstance(args[0], list | tuple) else ()
    handed = [p for p in listed if hasattr(p, "__array_function__") and not isinstance(p, np.ndarray)]
    return func in TAKES_LISTS and bool(handed)


def _is_among(made: Any, args: tuple[Any, ...]) -> bool:
    return any(made is a for a in args)


for _name in _MAKING:
    instead_of(getattr(np, _name))(_making(_name))


def _writing(name: str) -> None:
    theirs = getattr(np, name)

    @functools.wraps(theirs)
    def write(target: Any, *args: Any, **kwargs: Any) -> Any:
        if type(target) is np.ndarray:
            prepare_array(target, f"np.{name}", *args, *kwargs.values())
        return theirs(target, *args, **kwargs)

    instead_of(theirs)(write)


for _name in _WRITING:
    _writing(_name)


def _ufunc_at(method: Any) -> Any:
    def at(target: Any, *args: Any) -> Any:
        if type(target) is np.ndarray:
            prepare_array(target, f"np.{method.__self__.__name__}.at", *args)
        return method(target, *args)

    return at


def _ufunc(function: Any) -> Any:
    """A ufunc, or a method of one: lists of traced values are arrays."""

    def compute(*args: Any, **kwargs: Any) -> Any:
        if any(type(a) in (list, tuple) for a in args):
            args = tuple(as_array(a) if isinstance(a, list | tuple) and is_traced(a) else a for a in args)
        return function(*args, **kwargs)

    return compute


METHODS["ufunc"] = _ufunc


def call_into(function: Any) -> Any:
    """What is called instead of a function that is given `out=`."""
    chosen = call(function)
    title = f"np.{function.__name__}(out=…)" if isinstance(function, np.ufunc) else "out="

    def write(*args: Any, **kwargs: Any) -> Any:
        out = kwargs["out"][0] if isinstance(kwargs["out"], tuple) and kwargs["out"] else kwargs["out"]
        if type(out) is np.ndarray:
            prepare_array(out, title, *args, *[v for name, v in kwargs.items() if name != "out"])
        return chosen(*args, **kwargs)

    return write


def _find_object(made: Any) -> Any:
    """An object of SciPy that can be called."""
    adapter = adapter_of(made)
    return None if adapter is None else call_adapted(made, adapter)


_LOGGING = frozenset({"debug", "info", "warning", "warn", "error", "critical", "exception", "log"})


def _find_method(method: Any) -> Any:
    """A method of such an object, or of a logger."""
    logging: Any = sys.modules.get("logging")  # who has a logger has read its module
    is_logger = logging is not None and isinstance(method.__self__, logging.Logger | logging.LoggerAdapter)
    if is_logger and method.__name__ in _LOGGING:
        return functools.partial(log_numbers, method)
    return adapt_method(method)


def _find_in_logging(function: Any) -> Any:
    """logging.info and its like."""
    is_theirs = getattr(function, "__module__", None) == "logging" and not isinstance(function, type)
    return functools.partial(log_numbers, function) if is_theirs and function.__name__ in _LOGGING else None


METHODS["object"], METHODS["method"] = _find_object, _find_method
METHODS["ufunc.at"] = _ufunc_at
METHODS["array.write"] = lambda owner, *values: prepare_array(owner, "a method of a plain array", *values)


def _find_in_numpy(func: Any) -> Any:
    """A function of NumPy that finds traced values in every argument, and in lists."""
    module = getattr(func, "__module__", None) or ""
    if not module.startswith("numpy") or isinstance(func, type) or not hasattr(func, "_implementation"):
        return None
    name = func.__name__
    inner = module.removeprefix("numpy.") if module in ("numpy.linalg", "numpy.fft") else ""
    theirs, space = (getattr(np, inner), getattr(ours, inner)) if inner else (np, ours)
    found = getattr(space, name, None) if getattr(theirs, name, None) is func else None  # np.emath.sqrt is no np.sqrt
    if found is None or getattr(found, "__wrapped__", func) is not func:
        return None

    @functools.wraps(func)
    def pick(*args: Any, **kwargs: Any) -> Any:
        if any(map(is_traced, args)) or (kwargs and any(map(is_traced, kwargs.values()))):
            return found(*args, **kwargs)
        made = func(*args, **kwargs)
        return made_here(made) if type(made) is np.ndarray and made.base is None and not _is_among(made, args) else made

    return pick if find_function(func) is not None else None


def _find_in_polynomials(function: Any) -> Any:
    """A function or class of numpy.polynomial."""
    top, _, module = (getattr(function, "__module__", None) or "").rpartition(".")
    if top != "numpy.polynomial" or not hasattr(ours.polynomial, module):
        return None
    counterpart = getattr(getattr(ours.polynomial, module), getattr(function, "__name__", ""), None)
    return None if counterpart is function else counterpart


# Modules whose functions call yours: what yours reads may be traced though no argument is.
_CALLING = frozenset({"integrate", "optimize", "sparse.linalg"})
_known_modules: set[str] = set()
_scipy: dict[int, tuple[Any, str, str]] = {}  # by identity: the function, the module and its name there


def _find_in_scipy(function: Any) -> Any:
    """A function or class of SciPy that has a counterpart here, for traced arguments and functions that read some."""
    module = getattr(function, "__module__", None) or type(function).__module__
    if not module.startswith("scipy"):
        return None
    _learn_scipy()
    known = _scipy.get(id(function))
    if known is None:
        return None
    counterpart = _attribute(known[1], known[2])
    is_calling = known[1] in _CALLING

    @functools.wraps(function, updated=())
    def pick(*args: Any, **kwargs: Any) -> Any:
        if is_calling and live_trace() is not None:
            return counterpart(*args, **kwargs)
        if any_traced(*args, *kwargs.values()) or any(isinstance(v, Tracer) for v in leaves((args, kwargs))):
            return counterpart(*args, **kwargs)
        return function(*args, **kwargs)

    return pick


def _learn_scipy() -> None:
    """Note which functions of the loaded modules of SciPy have counterparts."""
    for name in list(our_scipy.__all__):
        _learn_module(f"scipy.{name}", name)


def _learn_module(theirs: str, path: str) -> None:
    module = sys.modules.get(theirs)
    if module is None or theirs in _known_modules:
        return
    _known_modules.add(theirs)
    counterpart = _module(path)
    for name in getattr(counterpart, "__all__", dir(counterpart)):
        function = getattr(module, name, None)
        if type(function).__name__ == "module":
            _learn_module(f"{theirs}.{name}", f"{path}.{name}")
        elif callable(function) and not isinstance(function, np.ufunc) and getattr(counterpart, name) is not function:
            _scipy.setdefault(id(function), (function, path, name))


def _module(path: str) -> Any:
    found: Any = our_scipy
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _attribute(path: str, name: str) -> Any:
    return getattr(_module(path), name)


FINDERS.extend([_find_in_numpy, _find_in_polynomials, _find_in_scipy, find_selection, _find_in_logging])

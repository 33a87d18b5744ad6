"""Which function of another library is asking for a plain array, and what to write instead.

Libraries such as SciPy, scikit-learn and pandas convert their arguments, so a traced value cannot pass. What runs now
is read from the stack: the outermost frame between the user's line and the question has the name that the user wrote.
"""

import os
import re
import sys
import threading
from collections.abc import Iterator
from opcode import opmap
from types import FrameType, TracebackType
from typing import Any, cast

import numpy as np

from adjoint.base.errors import AdjointError, TraceError
from adjoint.base.refusal import advice
from adjoint.base.remedies import remedy
from adjoint.base.source import Location, describe, explainers, is_library, user_frame
from adjoint.coverage import find

# what a decorator calls the function that it wraps
_WRAPPED = ("fun", "func", "f", "function", "hypotest_fun_in")
# Others may be the user's own: for them NumPy is said to ask, and the remedies are NumPy's.
_LIBRARIES = frozenset(
    {
        *("scipy", "sklearn", "pandas", "matplotlib", "seaborn", "skimage", "statsmodels", "networkx", "torch"),
        *("numba", "cvxpy", "xarray"),
    }
)
# What these return is decided by comparisons, which have no derivative: searches, iterations until a step is small.
_DECIDING = tuple(
    os.path.join("scipy", *parts) for parts in (("optimize", ""), ("_lib", "_elementwise_iterative_method.py"))
)
_REPORTED = "_adjoint_reported"  # attribute of an error
_HERE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_TRACER = r"\b(Tape|Forward|Batch|Record|Taylor|Watch)\w*Tracer\b"


class _Deciding(dict[str, bool]):
    """Does a code file belong to a solver whose result hangs on comparisons? Decided once for each file."""

    def __missing__(self, filename: str) -> bool:
        answer = is_library(filename) and any(f"{os.sep}{part}" in filename for part in _DECIDING)
        self[filename] = answer
        return answer


is_deciding = _Deciding()

_SPARSE = os.path.join("scipy", "sparse", "_")  # the files of the classes, not those of scipy.sparse.linalg
_OPERATOR = r"__r?(matmul|mul|truediv|add|sub|eq|ne|lt|le|gt|ge)__"


def is_operator_of_sparse(frame: FrameType | None) -> bool:
    """Whether an operator of a sparse array of SciPy asks: told that nothing is known of an operand, it leaves the
    answer to the operand's own (`__rmatmul__`). Its methods have nobody to leave it to.
    """
    while frame is not None and _SPARSE in frame.f_code.co_filename:
        if re.fullmatch(_OPERATOR, frame.f_code.co_name):
            return True
        frame = frame.f_back
    return False


def asking_function() -> tuple[str, str] | None:
    """(the library's function that the user's code called, the remedy), when one is running now."""
    user, frame = user_frame(1), sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    name = _named(_outwards(frame, user))
    return None if name is None else (name, _instead(name))


def deciding_function() -> tuple[str, str]:
    """(the solver that the user's code called, the remedy), while one decides by comparisons."""
    return asking_function() or ("A function of scipy.optimize", remedy("scipy.optimize"))


def _outwards(frame: FrameType | None, end: FrameType | None) -> Iterator[FrameType]:
    while frame is not None and frame is not end:
        yield frame
        frame = frame.f_back


def _named(frames: Iterator[FrameType]) -> str | None:
    """The public name of the outermost function or method of a library among frames, from the inside outwards."""
    name = None
    for frame in frames:
        package = _public(str(frame.f_globals.get("__name__")))
        if package.partition(".")[0] not in _LIBRARIES:
            continue
        if package.startswith("pandas"):  # its public names stand in one place, its classes in many
            name = f"pandas ({frame.f_code.co_qualname})"
            continue
        name = _method(frame, package) or _function(frame, package) or name or _plain_name(frame, package)
    return name


def _plain_name(frame: FrameType, package: str) -> str | None:
    return f"{package}.{frame.f_code.co_qualname}" if "." in package else None


def _public(module: str) -> str:
    """`scipy.optimize._zeros_py` -> `scipy.optimize`."""
    parts = module.split(".")
    private = [i for i, part in enumerate(parts) if part.startswith("_")]
    return ".".join(parts[: private[0]] if private else parts)


def _wrapped(frame: FrameType) -> Any:
    """The function that a decorator wraps, when the frame is the decorator's."""
    wrapped = [frame.f_locals.get(name) for name in _WRAPPED]
    return next((f for f in wrapped if isinstance(getattr(f, "__name__", None), str)), None)


def _function(frame: FrameType, package: str) -> str | None:
    inner = _wrapped(frame)
    candidates = [(package, frame.f_code.co_name)]
    if inner is not None:
        candidates += [(_public(str(getattr(inner, "__module__", ""))), inner.__name__), (package, inner.__name__)]
    for module, name in candidates:
        while "." in module:  # the name may stand in the package above
            if hasattr(sys.modules.get(module), name):
                return f"{module}.{name}"
            module = module.rpartition(".")[0]
    # under another name, as scipy.optimize.line_search, or in a module that shows what a private one has
    for module in (package, str(frame.f_globals.get("__name__")).replace("._", ".")):
        for name, value in list(vars(sys.modules.get(module, re)).items()):
            if name[0] != "_" and getattr(value, "__code__", None) is frame.f_code:
                return f"{module}.{name}"
    return None


def _method(frame: FrameType, package: str) -> str | None:
    """A method of an object whose class, or which itself, the package has under a name: `scipy.stats.norm.pdf`."""
    this: Any = frame.f_locals.get("self")
    if this is None:
        return None
    this = getattr(this, "dist", this)  # a distribution with its parameters
    kind = cast("type[Any]", type(this))
    module = _public(kind.__module__)
    own = (getattr(this, "name", None), getattr(this, "__name__", None))
    for name in (kind.__name__, *own, kind.__name__.removesuffix("_gen")):
        if isinstance(name, str) and hasattr(sys.modules.get(module), name):
            inner = _wrapped(frame)
            method = frame.f_code.co_name if inner is None else inner.__name__
            return f"{module}.{name}" if method in ("__init__", "__call__") else f"{module}.{name}.{method}"
    return None


def _instead(title: str) -> str:
    if title.startswith("pandas"):
        return remedy("pandas")
    package, _, name = title.rpartition(".")
    return advice(find(package, name)) or remedy(title)


def numpys_word() -> tuple[str, str] | None:
    """(the function of NumPy that is asking, what to write instead), when the table of coverage has a word on it."""
    name = (numpys_function() or "").removeprefix("np.")
    if name.startswith("polynomial."):
        ours = f"adjoint.numpy.{name}" if name[-1] != ")" else "adjoint.numpy.polynomial.polynomial.polyval(x, p.coef)"
        return f"np.{name}", f"Use {ours}, which takes traced values."
    instead = advice(find("numpy", name))
    return None if instead is None else (f"np.{name}", instead)


def numpys_function() -> str | None:
    """The function of NumPy that the user's code called, if it is one that is written in Python."""
    user, frame, name = user_frame(), sys._getframe(1), None  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame is not user:
        module = str(frame.f_globals.get("__name__"))
        if module.startswith("numpy.polynomial."):
            inner = frame.f_code.co_name
            name = f"{module.removeprefix('numpy.')}.{inner}" if inner[0] != "_" else "polynomial.Polynomial(…)"
        elif module.startswith("numpy"):
            name = frame.f_code.co_name
            kind = frame.f_code.co_qualname.split(".")[0]
            if kind != name and hasattr(np, kind):  # a method of one of NumPy's classes: np.vectorize(f)(x)
                name = kind
        frame = frame.f_back
    if name is None or name.startswith("polynomial.") or hasattr(np, name):
        return None if name is None else f"np.{name}"
    return "np.r_" if name == "__getitem__" else f"NumPy's {name}"


class _Refused(threading.local):
    """The last refusal in this thread, and the user's line: C code may put an error of its own in its place."""

    message: str = ""
    origin: Location | None = None


_refused = _Refused()


def remember_refusal(message: str, origin: Location | None) -> None:
    """Keep the words of a refusal until the error that reaches the user is known."""
    _refused.message, _refused.origin = message, origin


def is_refusal(error: Exception) -> bool:
    """Whether an error says, or stands in the place of one that says, that a traced value was asked for a plain one."""
    return isinstance(error, TraceError) or isinstance(explained(error), TraceError)


def explained(error: Exception) -> Exception | None:
    """The error that the user should see in the place of an obscure one of another library; None: this one.

    A refusal that the library replaced by an error of its own; an error that names our traced values.
    """
    if isinstance(error, AdjointError):
        _refused.origin = None  # the refusal has arrived: a later error at the same line is another one
        return None
    entries = list(_entries(error.__traceback__))
    origin = _refused.origin
    if origin is not None and any((e.tb_frame.f_code, e.tb_lasti) == origin for e in entries):
        return TraceError(_refused.message)
    users = [i for i, e in enumerate(entries) if not is_library(e.tb_frame.f_code.co_filename)]
    is_reported = bool(entries) and _speaks_for_itself(error, entries[-1])
    if not users or not entries:
        return None
    inside = entries[users[-1] + 1 :]
    asked = _named(e.tb_frame for e in reversed(inside))
    last = entries[users[-1]]
    line = describe(Location(last.tb_frame.f_code, last.tb_lasti))
    holds_traced = asked is not None and any(_holds_traced(e.tb_frame) for e in inside)
    is_obscure = not is_reported and re.search(_TRACER, str(error)) and not is_missing_operand(str(error))
    if isinstance(error, TypeError) and (holds_traced or is_obscure):
        who = asked or "A function that is not written in Python"
        return TraceError(
            f"{who} was given a traced value, at {line}, and takes plain arrays only ({error}). "
            f"Its derivative would be lost. {remedy('') if asked is None else _instead(asked)}"
        )
    if asked is not None and holds_traced:
        note = f"{asked} was given a traced value, at {line}, which may be why it failed. {_instead(asked)}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
    return None


def is_missing_operand(said: str) -> bool:
    """Whether Python says that an operator was given None, as by a function without a return."""
    return said.startswith("unsupported operand type(s) for ") and "'NoneType'" in said


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _speaks_for_itself(error: Exception, last: TracebackType) -> bool:
    """Whether a statement of this library has raised an error. Its traceback is shortened on the way to the user."""
    if not hasattr(error, _REPORTED):
        code = last.tb_frame.f_code
        setattr(
            error,
            _REPORTED,
            code.co_filename.startswith(_HERE) and code.co_code[last.tb_lasti] == opmap["RAISE_VARARGS"],
        )
    return bool(getattr(error, _REPORTED))


def _holds_traced(frame: FrameType) -> bool:
    return any(re.fullmatch(_TRACER, type(value).__name__) for value in list(frame.f_locals.values()))


explainers.append(explained)

__all__ = [
    "asking_function", "deciding_function", "explained", "is_deciding", "is_missing_operand", "is_operator_of_sparse",
    "is_refusal", "numpys_function", "numpys_word", "remember_refusal",
]  # fmt: skip

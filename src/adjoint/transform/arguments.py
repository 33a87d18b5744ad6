"""Arguments of transformations: which ones are meant, what their leaves are, and how values go back to the caller."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from adjoint import tree
from adjoint.base.errors import ControlFlowError, DtypeError, TraceError
from adjoint.base.suggestions import did_you_mean
from adjoint.ops.arrays.rearrange import Convert
from adjoint.program.record import RecordTracer, is_constant
from adjoint.program.trace import Trace, Tracer
from adjoint.program.types import Value, check_supported
from adjoint.transform.capture import explain_lock
from adjoint.transform.generators import GeneratorArguments, leaves_of

Argnums: TypeAlias = int | str | Sequence[int | str]
Side: TypeAlias = Literal["left", "right"] | None
SCALARS = (bool, int, float, complex)
FLOAT64 = np.dtype(np.float64)
# As Any: a test against them leaves the value Any, where the classes would make it an array of unknown elements.
_ARRAY: Any = np.ndarray
_SCALAR: Any = np.generic
_TRACED: Any = Tracer
_LISTS: Any = (tuple, list)
_DICTS: Any = (dict,)


def plain_value(leaf: Any, name: str | Callable[[], str]) -> Value:
    """A leaf as a number, an ndarray of native byte order or a traced value; refused when something would be lost."""
    kind = type(leaf)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(leaf, Tracer):
        return leaf if type(leaf) is not RecordTracer or not leaf.type.weak else Convert(leaf.dtype)(leaf)
    if kind is float or kind is np.float64:
        return np.float64(leaf)
    name = name if isinstance(name, str) else name()
    if kind is np.ndarray:
        array = leaf
    elif kind in SCALARS or isinstance(leaf, _SCALAR):
        if kind is complex:
            return np.complex128(leaf)
        if kind in SCALARS:
            return leaf
        check_supported(leaf.dtype, name)
        return leaf
    elif "numpy.ma" in sys.modules and isinstance(leaf, cast(Any, np.ma.MaskedArray)):  # else there are none
        if np.ma.is_masked(leaf):
            raise DtypeError(
                f"{name} is a masked array with masked elements, which would be lost. Use .filled(value), or select "
                "the rest."
            )
        array = np.array(leaf)
    elif isinstance(leaf, _ARRAY) or hasattr(leaf, "__array__") or hasattr(leaf, "__dlpack__"):
        array = _convert(leaf, name)
    else:
        raise DtypeError(
            f"{name} is a {kind.__name__}: only numbers, arrays and containers of them can be transformed. Convert it "
            "to an array, or leave it out (a constant: close over it; one more result: has_aux=True)."
        )
    check_supported(array.dtype, name)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def _convert(leaf: Any, name: str) -> Any:
    if isinstance(leaf, np.matrix):
        raise DtypeError(f"{name} is a np.matrix, whose * means something else. Convert it with np.asarray first.")
    try:
        return np.asarray(leaf) if hasattr(leaf, "__array__") else np.from_dlpack(leaf)
    except ControlFlowError:
        raise
    except (TypeError, ValueError, BufferError, RuntimeError) as problem:
        raise DtypeError(f"{name} is a {type(leaf).__name__} that does not convert to an array: {problem}") from problem


class Selection(NamedTuple):
    """The leaves that a transformation is about, and how to call the function with others in their positions."""

    leaves: list[Value]  # of all selected arguments
    active: list[int]  # which of them are differentiated; the others are integers and stay constant
    structure: Any  # of the tuple of selected arguments
    call: Callable[[Sequence[Value]], Any]  # the function, given new leaves
    single: bool  # argnums was one argument, not a tuple
    naming: Callable[[], list[str]]  # the user's words for the leaves: asked for in errors alone

    @property
    def names(self) -> list[str]:
        return self.naming()

    @property
    def values(self) -> list[Value]:
        return [self.leaves[i] for i in self.active]

    def completed(self, active: Sequence[Value]) -> list[Value]:
        """All leaves, with the active ones replaced."""
        full = list(self.leaves)
        for i, value in zip(self.active, active, strict=True):
            full[i] = value
        return full

    def result(self, leaves: Sequence[Value]) -> Any:
        """A tree like the selected argument, or a tuple of such trees."""
        made = tree.unflatten(self.structure, leaves)
        return made[0] if self.single else made


def describe_result(result: Any) -> str:
    """What a function returned, in a few words."""
    if isinstance(result, Tracer):
        return f"a {result.type}"
    if isinstance(result, tuple):
        return f"a tuple of {len(cast(Any, result))}"
    return "None" if result is None else f"a {type(result).__name__}"


def check_argnums(argnums: Any, transformation: str) -> None:
    """Refuse what names no argument: `grad(f, x)` for `grad(f)(x)`."""
    several: list[Any] = list(cast(Any, argnums)) if isinstance(argnums, list | tuple) else [argnums]
    if not all(isinstance(a, int | str | np.integer) and not isinstance(a, bool) for a in several):
        raise TypeError(
            f"{transformation}: argnums says which arguments are meant, by position or by name, one or a tuple "
            "of them; "
            f"got {'an array' if isinstance(argnums, _ARRAY) else repr(cast(Any, argnums))}. Arguments are "
            f"given to the result: {transformation}(f)(x)."
        )


_WITHOUT_ARGNUMS = ("jvp", "vjp", "linearize", "jet", "linear_transpose", "hvp")


def select(
    function: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...], kwargs: dict[str, Any], transformation: str
) -> Selection:
    """Find the arguments that `argnums` names, and their leaves."""
    single = isinstance(argnums, int | str | np.integer)
    if not single:
        check_argnums(argnums, transformation)
    wanted = [argnums] if single else list(argnums)  # type: ignore[arg-type]
    keys = [argument_key(function, w, args, kwargs, transformation) for w in wanted]  # type: ignore[arg-type]
    if len(set(keys)) != len(keys):
        raise TypeError(f"{transformation}: argnums={argnums} names an argument twice.")
    chosen = tuple(args[k] if isinstance(k, int) else kwargs[k] if k in kwargs else _default(function, k) for k in keys)
    leaves, structure = tree.flatten(chosen)

    def naming() -> list[str]:
        parameters = parameter_names(function)
        return [leaf_name(parameters, keys, path) for path in structure.paths()]

    values: list[Value] = [
        leaf
        if type(leaf) is np.ndarray and leaf.dtype is FLOAT64
        else plain_value(leaf, lambda i=i: f"{transformation}: argument {naming()[i]}")
        for i, leaf in enumerate(leaves)
    ]
    whole_argument = _whole_arguments(chosen)
    generators = GeneratorArguments(transformation, chosen, structure)
    state = generators.numbers  # changed by the function: constants of its derivative
    active: list[int] = []
    for i, value in enumerate(values):
        whole = whole_argument[i]
        if whole and (type(value) is int or _counts_as_int(leaves[i])):
            value = values[i] = np.float64(value) if type(value) is int else Convert(FLOAT64)(value)
        if isinstance(value, SCALARS):
            kind = "f" if isinstance(value, float) else "c" if isinstance(value, complex) else "i"
        else:
            kind = value.dtype.kind
        if kind in "fc":
            if i not in state:
                active.append(i)
        elif whole:
            raise DtypeError(
                f"{transformation}: argument {naming()[i]} has dtype "
                f"{leaves[i].dtype if isinstance(leaves[i], Tracer) else np.asarray(leaves[i]).dtype}, and "
                "integers are not differentiable. Convert it with .astype(float), or "
                + (
                    "keep it out of the arguments: lambda x: f(x, n)."
                    if transformation in _WITHOUT_ARGNUMS
                    else "differentiate another argument (argnums=…)."
                )
            )

    def call(new: Sequence[Value]) -> Any:
        trees = tree.unflatten(structure, new)
        copies = generators.copies(trees)
        positional, named = list(args), dict(kwargs)
        for key, made in zip(keys, trees, strict=True):
            if isinstance(key, int):
                positional[key] = made
            else:
                named[key] = made
        result = function(*positional, **named)
        generators.write_back(leaves_of(copies))
        return result

    return Selection(values, active, structure, call, single, naming)


def _counts_as_int(leaf: Any) -> bool:
    """Whether a traced value stands for an int of Python's."""
    return type(leaf) is RecordTracer and leaf.type.weak and leaf.dtype.kind == "i"


def _whole_arguments(chosen: tuple[Any, ...]) -> list[bool]:
    """For each leaf, whether it is an argument by itself, not part of a container."""
    flags: list[bool] = []
    for argument in chosen:
        leaves = tree.leaves(argument)
        flags += [True] if len(leaves) == 1 and leaves[0] is argument else [False] * len(leaves)
    return flags


def argument_key(
    function: Callable[..., Any], which: int | str, args: tuple[Any, ...], kwargs: dict[str, Any], transformation: str
) -> int | str:
    """Where an argument stands: a position, or a keyword."""
    if isinstance(which, str):
        if which in kwargs:
            return which
        names = parameter_names(function)
        if which not in names:
            near = did_you_mean(which, names)
            raise TypeError(
                f"{transformation}: the function has no argument called {which!r}; it has "
                f"{', '.join(names) or 'none by name'}.{near and ' '}{near}"
            )
        position = names.index(which)
    else:
        names, position = None, which + len(args) if which < 0 else which
    if not 0 <= position < len(args):
        names = parameter_names(function) if names is None else names
        name = names[position] if 0 <= position < len(names) else None
        if name is not None and (
            name in kwargs or (which == name and _default(function, name) is not inspect.Parameter.empty)
        ):
            return name
        raise TypeError(
            f"{transformation}: argnums={which!r}, but the function was called with {len(args)} positional "
            f"argument{'' if len(args) == 1 else 's'}{f' and without {name}' if name is not None else ''}. "
            + _countable(len(args), names)
        )
    return position


def _countable(count: int, names: list[str]) -> str:
    """What argnums may be in a call with so many arguments."""
    if not count:
        return "Give it its arguments by position, or name one that is given by keyword: argnums='x'."
    positions = "position 0" if count == 1 else f"positions 0 to {count - 1}"
    known = f" or a name ({', '.join(names)})" if names else ""
    return f"Arguments count from 0: give {positions}{known}."


def _default(function: Callable[..., Any], name: str) -> Any:
    """What an argument is when it is not given; `empty` when it must be, or cannot be given by name."""
    parameter = inspect.signature(function).parameters[name]
    by_name = parameter.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return parameter.default if by_name else inspect.Parameter.empty


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """What the arguments of a function are called; none where Python does not know."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def leaf_name(parameters: Sequence[str], keys: Sequence[int | str], path: str) -> str:
    """The user's word for a leaf: the parameter's name and the path inside it."""
    number, _, rest = path[1:].partition("]")
    key = keys[int(number)] if number.isdigit() else keys[0]
    if isinstance(key, str):
        return key + rest
    return (parameters[key] if key < len(parameters) else str(key)) + rest


def run(trace: Trace, call: Callable[..., Any], *args: Any) -> Any:
    """Call the user's function.

    NumPy's 'setting an array element with a sequence' and 'read-only' become our own errors.
    """
    try:
        return call(*args)
    except (TypeError, ValueError, SystemError) as problem:  # SystemError: C code that goes on after our refusal
        cause = problem.__cause__
        if isinstance(cause, TraceError):
            raise cause.with_traceback(problem.__traceback__) from None
        if isinstance(problem, ValueError):
            explain_lock(problem, trace.title)
        raise
    except AttributeError as problem:
        if "NotImplementedType" not in str(problem):
            raise
        # what pandas says to `series += x` when its own `series + x` is left to x
        raise TraceError(
            "pandas cannot take a traced value into one of its objects (series += x). Its derivative would be lost. "
            "Make a new value: series + x, or series.to_numpy() + x."
        ) from problem


def leave_trace(value: Value, trace: Trace, foreign: Sequence[Any] = ()) -> Value:
    """What a value of `trace` is outside of it: plain and new, never memory that the caller already has."""
    outer = True  # what the function returns without computing it may be anybody's
    if isinstance(value, _TRACED) and value._trace is trace:
        value, outer = value._value, False
    if isinstance(value, _ARRAY):
        if outer or value.base is not None or not value.flags.writeable or any(value is f for f in foreign):
            value = value.copy()
        return value if value.ndim else value[()]
    if isinstance(value, _TRACED) and value.shape and (outer or any(value is f for f in foreign)):
        with trace.below():
            value = value.copy()
    return value


def fresh(values: Sequence[Value], foreign: Sequence[Any] = ()) -> list[Value]:
    """Results that share no memory with each other or with anything the caller has, `foreign` above all."""
    seen: set[int] = {id(f) for f in foreign}
    out: list[Value] = []
    for value in values:
        if isinstance(value, _ARRAY):
            if value.base is not None or not value.flags.writeable or id(value) in seen or is_constant(value):
                value = value.copy()
            seen.add(id(value))
            value = value if value.ndim else value[()]
        elif isinstance(value, _TRACED) and value.shape:
            if id(value) in seen or hasattr(value, "_base"):
                value = value.copy()
            seen.add(id(value))
        out.append(value)
    return out


def own(value: Any, foreign: Sequence[Any]) -> Any:
    """What a function of the user's gives, as it is, but for arrays that the caller has: these are copied."""
    return _with_arrays(value, lambda array: fresh([array], foreign)[0])


def lent(value: Any) -> Any:
    """Arguments of a function of the user's, as they are, but for arrays, which it may write to: these are copied."""
    return _with_arrays(value, lambda array: array.__copy__())


def _with_arrays(value: Any, change: Callable[[Any], Any]) -> Any:
    """A tree of Python's containers with other arrays in it; whatever else it holds is held by the new one."""
    if type(value) in _LISTS:
        return type(value)([_with_arrays(part, change) for part in value])
    if type(value) in _DICTS:
        return dict(zip(value, [_with_arrays(part, change) for part in value.values()], strict=True))
    return change(value) if isinstance(value, _ARRAY | _TRACED) and value.ndim else value

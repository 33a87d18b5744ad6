"""The methods and attributes of ndarray on traced values: each is NumPy's function of the same name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from adjoint.base.errors import TraceError, UnsupportedError
from adjoint.base.source import describe, here, warn_user
from adjoint.numpy import shaping
from adjoint.numpy.array_api import check_device, check_version
from adjoint.numpy.dispatch import as_array, constant, give, normal_axis, refuse_keywords
from adjoint.numpy.flat import Flat
from adjoint.numpy.indexing import getitem, updated
from adjoint.numpy.inplace import arranged, layout, overwrite
from adjoint.numpy.shaping import axis_order, convert, in_order
from adjoint.ops.arrays.rearrange import Complex
from adjoint.ops.conversions import ask
from adjoint.program.journal import content
from adjoint.program.trace import Tracer, live_trace, refuse_conversion
from adjoint.program.types import Value

_VIEW_REMEDY = "bits cannot be read in another way. Use .astype(dtype) to convert, .reshape for another shape."


def _same_name(name: str) -> Callable[..., Any]:
    """x.name(…) = np.name(x, …)."""
    function = getattr(np, name)

    def method(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"np.{name} of this array."
    return method


# methods whose arguments are those of NumPy's function, in the same order
SAME = (
    *("sum", "mean", "prod", "max", "min", "std", "var", "argmax", "argmin", "argsort", "cumsum", "cumprod", "any"),
    *("all", "round", "swapaxes", "squeeze", "repeat", "take", "diagonal", "trace", "nonzero", "searchsorted"),
    *("choose", "argpartition", "dot", "ravel"),
)


def _varargs(args: tuple[Any, ...]) -> Any:
    """x.reshape(2, 3) and x.reshape((2, 3)) mean the same."""
    return args[0] if len(args) == 1 else args


def reshape(self: Tracer, *shape: Any, order: str = "C", copy: bool | None = None) -> Value:
    return shaping.reshape(self, _varargs(shape), order, copy=copy)


def transpose(self: Any, *axes: Any) -> Value:
    return shaping.transpose(self, None if not axes else _varargs(axes))


def flatten(self: Tracer, order: str = "C") -> Value:
    return shaping.flatten(self, order)


def astype(
    self: Tracer, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Value:
    dtype = np.dtype(dtype)
    if not np.can_cast(self.dtype, dtype, casting):  # type: ignore[arg-type]
        raise TypeError(f"Cannot cast array data from {self.dtype} to {dtype} according to the rule {casting!r}")
    if self.dtype == dtype:
        return copied(self, order) if copy else in_order(self, order)
    if self.dtype.kind == "c" and dtype.kind not in "cb":
        warn_user("Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning)
    z = convert(self, dtype)
    return z if order == "K" else arranged(z, axis_order(z, order))


def copied(self: Tracer, order: str = "C") -> Value:
    """A traced array of its own, of the transformation that runs: writing values of that to it does not write here."""
    unknown = order in ("A", "K") and layout(self) is None
    copy = self if unknown else arranged(self, axis_order(self, order))
    return constant(content(self, live_trace()).snapshot() if copy is self else copy)


def clip(self: Any, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Value:
    return np.clip(self, min, max, out=out, **kwargs)


def compress(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Value:
    return np.compress(condition, self, axis=axis, out=out)


def conjugate(self: Any) -> Value:
    """The array itself when it is real, as NumPy's method; np.conjugate makes a new one."""
    return np.conjugate(self) if self.dtype.kind == "c" else self


def view(self: Any, dtype: Any = None, type: Any = None) -> Value:
    """Another name for the same memory."""
    if (dtype not in (None, np.ndarray) and np.dtype(dtype) != self.dtype) or type not in (None, np.ndarray):
        raise UnsupportedError(
            f".view() of a traced {self.type} as another type, at {describe(here())}: {_VIEW_REMEDY}"
        )
    return np.reshape(self, self.shape)


def fill(self: Tracer, value: Any) -> None:
    self[...] = value  # type: ignore[index]


def put(self: Tracer, indices: Any, values: Any, mode: str = "raise") -> None:
    np.put(self, indices, values, mode=mode)  # type: ignore[call-overload]


def sort(self: Any, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    """In place, as ndarray.sort."""
    overwrite(self, np.sort(self, axis=axis, kind=kind, order=order, stable=stable), "x.sort()")


def partition(self: Tracer, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    """In place, as ndarray.partition."""
    overwrite(self, np.partition(self, kth, axis=axis, kind=kind, order=order), "x.partition()")  # type: ignore[call-overload]


def item(self: Any, *args: Any) -> Any:
    """An integer or truth value, by asking; a float keeps its derivative only as a traced value."""
    if self.dtype.kind in "fc":
        known = self._trace.known(self)
        if known is not None:
            return known.item(*args)
        refuse_conversion(
            self,
            ".item()",
            "Use it as it is, or x[i] for one element; stop_gradient(x) if the derivative is not wanted.",
        )
    chosen = (
        getitem(np.ravel(self), args[0])
        if len(args) == 1 and not isinstance(args[0], tuple)
        else getitem(self, _varargs(args) if args else ())
    )
    if np.size(chosen) != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    one = np.reshape(chosen, ())
    return ask(one, "int", lambda v: v.item() if hasattr(v, "item") else v) if isinstance(one, Tracer) else one.item()


def tolist(self: Tracer) -> Any:
    if self.dtype.kind in "fc":
        known = self._trace.known(self)
        if known is not None:
            return known.tolist()
        refuse_conversion(self, ".tolist()", "list(x) gives its traced parts; np.stack puts them together again.")
    return [row.tolist() if hasattr(row, "tolist") else row for row in self] if self.shape else item(self)  # type: ignore[attr-defined]


def _refused(call: str, why: str) -> Callable[..., NoReturn]:
    def method(self: Tracer, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(f"{call} of a traced {self.type}, at {describe(here())}: {why}")

    return method


def _real(self: Any) -> Value:
    return np.real(self)


def _set_part(self: Any, name: str, value: Any) -> None:
    """x.real = v or x.imag = v. After `x.real += v` the part has been written already."""
    if self.dtype.kind != "c":
        if name == "imag":
            raise TypeError("array does not have imaginary part to set")
        overwrite(self, as_array(value), "x.real = …")
        return
    base = getattr(value, "_base", None)
    if base is not None and base[0] is self and base[1].key == name:
        return
    parts = {"real": np.real(self), "imag": np.imag(self)}
    value = as_array(value)
    value = convert(value, parts["real"].dtype) if value.dtype.kind != "c" else value
    if value.dtype.kind == "c":
        raise TypeError(f"x.{name} = …: cannot cast {value.dtype} to the real numbers of {self.dtype}")
    overwrite(self, Complex()(*(parts | {name: np.broadcast_to(value, self.shape)}).values()), f"x.{name} = …")


def _set_flat(self: Tracer, value: Any) -> None:
    values = np.reshape(as_array(value), (-1,))
    overwrite(self, np.resize(values, self.shape), "x.flat = …")


class IndexUpdater:
    """x.at: updates that give a new array and leave x as it is."""

    __slots__ = ("_x",)

    def __init__(self, x: Tracer) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> IndexUpdate:
        return IndexUpdate(self._x, index)


class IndexUpdate:
    """x.at[index]: what is to be changed in a copy of x."""

    __slots__ = ("_index", "_x")

    def __init__(self, x: Tracer, index: Any) -> None:
        self._x, self._index = x, index

    def get(self, **kwargs: Any) -> Value:
        """x[index], as a copy."""
        refuse_keywords("x.at[…].get", kwargs)
        return np.copy(getitem(self._x, self._index))

    def set(self, values: Any, **kwargs: Any) -> Value:
        """A copy with x[index] = values."""
        refuse_keywords("x.at[…].set", kwargs)
        return updated(self._x, self._index, values)

    def apply(self, ufunc: Any, *operands: Any) -> Value:
        """A copy with x[index] = ufunc(x[index], …), once for each time an index occurs."""
        new = copied(self._x)
        ufunc.at(new, self._index, *operands)
        return new

    def add(self, values: Any) -> Value:
        """A copy with values added; repeated indices add repeatedly."""
        return self.apply(np.add, values)

    def subtract(self, values: Any) -> Value:
        """A copy with values subtracted."""
        return self.apply(np.subtract, values)

    def multiply(self, values: Any) -> Value:
        """A copy multiplied by values."""
        return self.apply(np.multiply, values)

    mul = multiply

    def divide(self, values: Any) -> Value:
        """A copy divided by values."""
        return self.apply(np.divide, values)

    def power(self, values: Any) -> Value:
        """A copy raised to the power of values."""
        return self.apply(np.power, values)

    def min(self, values: Any) -> Value:
        """A copy with the smaller of x[index] and values."""
        return self.apply(np.minimum, values)

    def max(self, values: Any) -> Value:
        """A copy with the larger of x[index] and values."""
        return self.apply(np.maximum, values)


def _to_device(self: Tracer, device: Any, /, *, stream: Any = None) -> Value:
    check_device("x.to_device", device)
    if stream is not None:
        raise ValueError(f"x.to_device was given the stream {stream!r}: the cpu has none. Leave it out.")
    return self


def _dlpack(
    self: Tracer, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> NoReturn:
    raise NoExport(f"__dlpack__() of a traced {self.type}, at {describe(here())}: {_EXPORT_REMEDY}")


def _deepcopy(self: Tracer, memo: Any) -> Value:
    return copied(self, "K")


def _size(self: Tracer) -> int:
    return math.prod(self.shape)


def _matrix_transpose(self: Any) -> Value:
    if self.ndim < 2:
        raise ValueError("matrix transpose with ndim < 2 is undefined")
    return np.swapaxes(self, normal_axis(-1, self.ndim), normal_axis(-2, self.ndim))


def _no_memory(name: str) -> property:
    def read(self: Tracer) -> Any:
        # an AttributeError, so that hasattr and getattr with a default work
        raise NoMemory(
            f"x.{name} of a traced {self.type}, at {describe(here())}: it stands for a computation and has no memory "
            "of its own."
        )

    return property(read)


class NoMemory(TraceError, AttributeError):
    """An attribute about memory was asked of a traced value."""


class NoExport(UnsupportedError, BufferError):
    """Another library asked for the memory of a traced value."""


_EXPORT_REMEDY = (
    "its derivative would be lost. Return it from the function and export the result, or use stop_gradient outside."
)


def install(namespace: Callable[[], Any]) -> None:
    """Give traced values ndarray's methods."""

    def array_namespace(self: Tracer, *, api_version: str | None = None) -> Any:
        check_version(api_version)
        return namespace()

    methods: dict[str, Any] = {name: _same_name(name) for name in SAME}
    methods |= {
        f.__name__: f
        for f in (
            reshape,
            transpose,
            flatten,
            astype,
            clip,
            compress,
            conjugate,
            view,
            fill,
            put,
            sort,
            partition,
            item,
            tolist,
        )
    }
    methods |= {
        "copy": copied,
        "__copy__": lambda self: copied(self, "K"),
        "__deepcopy__": _deepcopy,
        "conj": conjugate,
        "to_device": _to_device,
    }
    methods |= {
        "T": property(transpose),
        "mT": property(_matrix_transpose),
        "real": property(_real, lambda self, value: _set_part(self, "real", value)),
        "imag": property(lambda self: np.imag(self), lambda self, value: _set_part(self, "imag", value)),
        "flat": property(Flat, _set_flat),
        "size": property(_size),
        "itemsize": property(lambda self: self.dtype.itemsize),
        "nbytes": property(lambda self: _size(self) * self.dtype.itemsize),
        "device": property(lambda self: "cpu"),
        "at": property(IndexUpdater),
        "__array_namespace__": array_namespace,
        "__round__": lambda self, ndigits=None: np.round(self, ndigits or 0),
    }
    methods |= {
        name: _no_memory(name)
        for name in ("strides", "flags", "data", "ctypes", "base", "__array_interface__", "__array_struct__")
    }
    methods |= {
        "resize": _refused(
            ".resize()", "it would change the array's own memory. Use np.resize(x, shape) or x.reshape(shape)."
        ),
        "byteswap": _refused(".byteswap()", _VIEW_REMEDY),
        "getfield": _refused(".getfield()", _VIEW_REMEDY),
        "setfield": _refused(".setfield()", _VIEW_REMEDY),
        "setflags": _refused(".setflags()", "it has no memory of its own."),
        "tobytes": _refused(".tobytes()", _EXPORT_REMEDY),
        "tofile": _refused(".tofile()", _EXPORT_REMEDY),
        "dump": _refused(".dump()", _EXPORT_REMEDY),
        "dumps": _refused(".dumps()", _EXPORT_REMEDY),
        "__dlpack__": _dlpack,
        "__dlpack_device__": lambda self: (1, 0),
        "__reduce_ex__": _refused("pickling", _EXPORT_REMEDY),
    }
    give(methods)

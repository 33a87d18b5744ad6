"""Types of values: shape and dtype, known before the value is; sizes may be symbolic."""

from __future__ import annotations

import itertools
import math
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np

from adjoint.base.errors import DtypeError
from adjoint.base.records import record
from adjoint.tree.registry import register_leaf

# What flows through a program: an ndarray, a NumPy scalar, a Python number, or a traced value that stands for one.
Value: TypeAlias = Any

_fresh = itertools.count()


@record
class Size:
    """A length that is known only when the program runs (the number of turns of a while loop, say)."""

    name: str
    found: bool = field(default=False, compare=False)  # by a loop; one that is read again finds it under another name

    @staticmethod
    def fresh(hint: str = "n") -> Size:
        """A size different from all others, which a loop finds."""
        return Size(f"{hint}{next(_fresh)}", found=True)

    def __str__(self) -> str:
        return self.name


Shape: TypeAlias = tuple[Any, ...]  # of int | Size


@record
class ArrayType:
    """Shape and dtype of an array; `weak` marks a Python number, which gives way in promotion (NEP 50).

    ```python
    program = ad.trace(lambda x: x @ x)(ad.ArrayType((3,), np.float64))
    program(np.ones(3))  # → 3.0
    ```
    """

    shape: Shape
    dtype: np.dtype[Any]
    weak: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Of the elements; a length that is not known counts as one."""
        return math.prod(n if isinstance(n, int) else 1 for n in self.shape) * self.dtype.itemsize

    @property
    def differentiable(self) -> bool:
        """Whether values of this type have tangents: real and complex floats do, integers and booleans do not."""
        return self.dtype.kind in "fc"

    def zeros(self) -> Value:
        """The zero of this type."""
        return np.zeros(self.shape, self.dtype) if self.shape else self.dtype.type(0)

    def __str__(self) -> str:
        sizes = ",".join(str(s) for s in self.shape)
        return f"{self.dtype.name}[{sizes}]" if not self.weak else f"{self.dtype.name}[{sizes}]~"

    __repr__ = __str__


register_leaf(ArrayType)  # a type stands where an array would, and is not a container of its fields

_PYTHON_NUMBERS: dict[type, ArrayType] = {
    bool: ArrayType((), np.dtype(np.bool_)),
    int: ArrayType((), np.dtype(np.int64), weak=True),
    float: ArrayType((), np.dtype(np.float64), weak=True),
    complex: ArrayType((), np.dtype(np.complex128), weak=True),
}


_known_types: dict[tuple[Shape, np.dtype[Any]], ArrayType] = {}  # making one costs more than finding it


def is_whole(kind: ArrayType) -> bool:
    """Whether all sizes of a type are known."""
    return all(isinstance(n, int) for n in kind.shape)


def type_of(value: Value) -> ArrayType:
    """The type of an array, number or traced value."""
    known = _PYTHON_NUMBERS.get(type(value))  # pyright: ignore[reportUnknownArgumentType]
    if known is not None:
        return known
    key: tuple[Shape, np.dtype[Any]] = (value.shape, value.dtype)
    known = _known_types.get(key)
    if known is None:
        if len(_known_types) >= 4096:
            _known_types.clear()
        known = _known_types[key] = ArrayType(*key)
    return known


def is_differentiable(value: Value) -> bool:
    """Whether a value has tangents (see ArrayType.differentiable)."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    return kind is float or kind is complex or (hasattr(value, "dtype") and value.dtype.kind in "fc")


def promotion_token(kind: ArrayType) -> Any:
    """What NumPy's promotion functions take for this type: the dtype, or int/float/complex for weak numbers."""
    if not kind.weak:
        return kind.dtype
    return {"i": int, "f": float, "c": complex}[kind.dtype.kind]


def result_dtype(*types: ArrayType) -> np.dtype[Any]:
    """NumPy's common dtype of several types (NEP 50)."""
    strong = [t.dtype for t in types if not t.weak]
    weak: list[Any] = [promotion_token(t)(0) for t in types if t.weak]
    return np.result_type(*strong, *weak)


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the real part."""
    return np.finfo(dtype).dtype if dtype.kind == "c" else dtype


def check_supported(dtype: np.dtype[Any], what: str) -> None:
    """Refuse dtypes that cannot be computed with here, with the remedy."""
    if dtype.kind not in "biufc":
        raise DtypeError(
            f"{what} has dtype {dtype}, which has no arithmetic here. Convert it to numbers first, e.g. with "
            ".astype(float)."
        )
    if dtype.char in "gG":
        raise DtypeError(
            f"{what} has dtype {dtype.name}; extended precision is not supported: use .astype(np."
            f"{'complex128' if dtype.kind == 'c' else 'float64'})."
        )

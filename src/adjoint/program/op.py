"""The contract of a primitive: its fields are its static parameters, its methods are its rules.

The engine asks a primitive z = f(x₁ … xₙ) for these rules and no others:

| rule | question |
|---|---|
| evaluate | the value, on plain NumPy arrays |
| result_type | the type of z, from the types of the x's; the only place where shapes are compared |
| push | ż from ẋ: the derivative applied to tangents |
| pull | x̄ from z̄: its adjoint applied to a cotangent |
| keep | which x's, and whether z, push and pull will read again |
| batch | the same function on stacked arguments (the stack always stands first) |
| coefficient | the k-th Taylor coefficient of z, from those of the x's and the lower ones of z |
| layout | how z lies in memory, from how the x's lie: what is a view in NumPy depends on it |

`push`, `pull` and `coefficient` follow from one differential fact by the classes of `adjoint.ops.calculus`;
`result_type` and `batch` from how the primitive treats axes. The rules are written in plain NumPy: on arrays they run
at NumPy's speed, on traced values they are traced.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar, dataclass_transform

from adjoint.program.layout import Strides, compact, is_compact
from adjoint.program.trace import bind
from adjoint.program.types import ArrayType, Value

PRIMITIVES: dict[
    str, type[Op]
] = {}  # name of the class -> class, for saved programs, documentation and the contract test


class Op(ABC):
    """A primitive. Called with values, it acts on them under whatever trace is live."""

    pointwise: ClassVar[bool] = False  # element by element, one output, partials in `factors`: the tape has a fast path
    several: ClassVar[bool] = False  # gives a tuple
    flat: ClassVar[bool] = False  # derivative zero everywhere
    masks: ClassVar[bool] = False  # its pull makes cotangents with structural zeros (select, scatter)
    sparse: ClassVar[bool] = False  # its pull touches few elements (indexing): see `pull_into`
    overwrites: ClassVar[bool] = False  # it is x[…] = v, whose pull can reuse the memory of the cotangent
    effect: ClassVar[bool] = False  # must run, and in order, even when nothing reads its result
    opaque: ClassVar[bool] = False  # runs a function of the user's, of which nothing is known but what it does
    saves: ClassVar[bool] = False  # decides itself what reverse mode keeps, in `save`
    closes: ClassVar[bool] = False  # its rules are the user's functions, which may close over traced values
    linear: ClassVar[bool] = False  # linear in its differentiable arguments together
    multilinear: ClassVar[bool] = False  # linear in each of them

    @property
    def title(self) -> str:
        """The name used in messages and printed programs."""
        return type(self).__name__.lower()

    @abstractmethod
    def evaluate(self, *xs: Value) -> Value: ...

    @abstractmethod
    def result_type(self, *types: ArrayType) -> Any: ...

    @abstractmethod
    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value: ...

    @abstractmethod
    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]: ...

    @abstractmethod
    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]: ...

    @abstractmethod
    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value: ...

    @abstractmethod
    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value: ...

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        """How NumPy's result lies in memory, from how the x's lie; None: not known. In C order when all x's are."""
        plain = all(is_compact(t, s) for t, s in zip(types, strides, strict=True))
        return compact(result) if plain else None

    def __call__(self, *xs: Value) -> Value:
        return bind(self, *xs)

    def __str__(self) -> str:
        fields = (
            [f"{f.name}={getattr(self, f.name)}" for f in dataclasses.fields(self)]
            if dataclasses.is_dataclass(self)
            else []
        )
        return self.title + (f"[{', '.join(fields)}]" if fields else "")


C = TypeVar("C", bound=type[Op])


@dataclass_transform(frozen_default=True)
def primitive(cls: C) -> C:
    """Declare a concrete primitive: a frozen dataclass with every rule answered.

    A missing rule fails here, at import.
    """
    made = dataclasses.dataclass(frozen=True, repr=False)(cls)
    missing = sorted(getattr(made, "__abstractmethods__", ()))
    if missing:
        raise TypeError(f"primitive {cls.__name__} does not answer: {', '.join(missing)}")
    if cls.__name__ in PRIMITIVES:
        raise TypeError(f"two primitives are called {cls.__name__}")
    PRIMITIVES[cls.__name__] = made
    return made

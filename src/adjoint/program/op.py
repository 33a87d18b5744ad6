"""The contract of a primitive: its fields are its static parameters, its methods are its rules.

A primitive z = f(x₁ … xₙ) answers these rules:

| rule | question |
|---|---|
| evaluate | the value, on plain NumPy arrays |
| result_type | the type of z, from the types of the x's; the only place where shapes are compared |
| push | ż from ẋ: the derivative applied to tangents |
| pull | x̄ from z̄: its adjoint applied to a cotangent |
| keep | which x's, and whether z, push and pull will read again |
| batch | the same function on stacked arguments (the batch axis always stands first) |
| coefficient | the k-th Taylor coefficient of z, from those of the x's and the lower ones of z |

`push`, `pull` and `coefficient` follow from one differential fact by the classes of `adjoint.ops.calculus`;
`result_type` and `batch` from how the primitive treats axes. The rules are written in plain NumPy: on arrays they run
at NumPy's speed, on traced values they are traced.

All else about a primitive has a default, and a class states what differs: its facts (class attributes below), and
these optional rules. `op.stated` holds the names of those that its class states.

| optional rule | question | default |
|---|---|---|
| expand | z composed of other primitives: native code without a lowering | none |
| layout | how z lies in memory, from how the x's lie: what is a view in NumPy depends on it | C order |
| flops | (flops, calls of elementary functions) of one application | no model |
| workspace | bytes that one application needs beside its arguments and results | 0 |
| programs, unroll | the programs inside; running them step by step | none inside |
| jvp, vmap, jet, save | a whole transformation, where element rules do not say it: control flow | by the rules above |
| series_push | push as Taylor mode reads it | push |
| pull_into, subscript | cotangents added in place, elements written in place: indexing | none |
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

from adjoint.base.records import record
from adjoint.program.layout import Strides, compact, is_compact
from adjoint.program.trace import bind
from adjoint.program.types import ArrayType, Value

if TYPE_CHECKING:
    from adjoint.program.program import Program

PRIMITIVES: dict[
    str, type[Op]
] = {}  # name of the class -> class, for saved programs, documentation and the contract test


@record
class EffectKind:
    """What a primitive does beside computing its result."""

    ordered: bool = True  # happens in the order in which effects stand
    has_results: bool = False  # gives values that others read
    has_derivatives: bool = False  # its results are differentiable
    repeatable: bool = False  # may happen again when a value is recomputed; else what it gave must be kept
    deferred: bool = False  # waits until a mapped function has run: batch elements that disagree make it run again


class Op(ABC):
    """A primitive. Called with values, it acts on them under whatever trace is live."""

    # how it differentiates
    linear: ClassVar[bool] = False  # linear in its differentiable arguments together
    multilinear: ClassVar[bool] = False  # linear in each of them
    linear_arguments: ClassVar[tuple[int, ...]] = ()  # linear in these, for given values of the others
    flat: ClassVar[bool] = False  # derivative zero everywhere
    is_implicit: ClassVar[bool] = False  # its derivative is that of an equation which z solves, not of its steps
    masks: ClassVar[bool] = False  # its pull makes cotangents with structural zeros (select, scatter)
    sparse: ClassVar[bool] = False  # its pull touches few elements (indexing): see `pull_into`
    closes: ClassVar[bool] = False  # its rules are user functions, which may close over traced values
    saves: ClassVar[bool] = False  # decides itself what reverse mode keeps, in `save`
    # what it computes with
    several: ClassVar[bool] = False  # gives a tuple
    pointwise: ClassVar[bool] = False  # element by element, one output, partials in `factors`: the tape has a fast path
    is_view: ClassVar[bool] = False  # names elements of its first argument in another order: costs nothing
    is_elementwise: ClassVar[bool] = False  # element i of z depends on elements i of the x's alone, broadcast
    is_selection: ClassVar[bool] = False  # every element of z is an element of an x, or a constant
    has_indices: ClassVar[bool] = False  # its parameters are indices, which must lie within bounds
    is_movement: ClassVar[bool] = False  # moves numbers about, without arithmetic
    is_marker: ClassVar[bool] = False  # its results are its first arguments: it concerns derivatives alone
    contracts: ClassVar[bool] = False  # sums products over shared axes: its result costs much for its size
    never_raises: ClassVar[bool] = False  # has a result for all arguments of its types
    returns_arguments: ClassVar[bool] = False  # its results are some of its arguments themselves
    weakens: ClassVar[bool] = False  # its result is a Python number, which gives way in promotion
    overwrites: ClassVar[bool] = False  # it is x[…] = v, whose pull can reuse the memory of the cotangent
    size_fields: ClassVar[tuple[str, ...]] = ()  # its fields that hold sizes and positions
    # what runs inside it
    is_control: ClassVar[bool] = False  # has programs inside, over which transformations are mapped
    unrolls: ClassVar[bool] = False  # `unroll` may run it step by step, also on traced values
    is_loop: ClassVar[bool] = False  # runs a body again and again, with a carry
    is_exceptional: ClassVar[bool] = False  # stands in a branch that only special numbers take
    opaque: ClassVar[bool] = False  # runs a user function, of which nothing is known but what it does
    effect: ClassVar[EffectKind | None] = None  # must run even when nothing reads its result
    # the optional rules that a class states
    stated: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.stated = frozenset(name for name in OPTIONAL if getattr(cls, name, None) is not getattr(Op, name))

    def with_sizes(self, types: Sequence[ArrayType], shapes: Sequence[tuple[Any, ...]]) -> Op:
        """The same where arguments of these types, in which sizes are open, have these shapes."""
        return self

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

    @property
    def kinks(self) -> Any:
        """Where it is not smooth (see `adjoint.ops.kinks`); None: nowhere, or not known."""
        return None

    # Optional rules

    @property
    def parameters(self) -> int:
        """How many of the last arguments are parameters without derivative (indices, masks)."""
        return 0

    def expand(self, *args: Any, **kwargs: Any) -> Any:
        """z by other primitives, in plain NumPy: compiled programs hold these instead."""
        raise self._unstated("expand")

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        """How NumPy's result lies in memory, from how the x's lie; None: not known. In C order when all x's are."""
        plain = all(is_compact(t, s) for t, s in zip(types, strides, strict=True))
        return compact(result) if plain else None

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        """(flops, calls of elementary functions) of one application to such arguments and results; None: no model."""
        return (0, 0) if self.is_movement or self.is_view else None

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        """Bytes that it needs while it runs, beside its arguments and results."""
        return 0

    def may_raise(self, *types: ArrayType) -> bool:
        """Whether arguments of these types may make it raise; then it does not run before it must."""
        return not (self.is_view or self.never_raises)

    def programs(self) -> dict[str, Program]:
        """The programs inside, by title, for printing and saving."""
        return {}

    def unroll(self, xs: Sequence[Value], run: Callable[[Program, Sequence[Value]], list[Value]]) -> list[Value]:
        """The results, where `run(program, args)` runs each program inside as often as it takes."""
        raise self._unstated("unroll")

    def jvp(self, xs: Sequence[Value], dxs: Sequence[Value], trace: Any) -> tuple[Any, Any]:
        """(outputs, tangents); None is a zero tangent."""
        raise self._unstated("jvp")

    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]:
        """Outputs, each with whether it is stacked."""
        raise self._unstated("vmap")

    def jet(self, series: Sequence[list[Value]], trace: Any) -> Sequence[list[Value]]:
        """Taylor coefficients of the outputs from those of the inputs."""
        raise self._unstated("jet")

    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        """(outputs, residuals for `pull` and `push`)."""
        raise self._unstated("save")

    def is_determined(self, xs: Sequence[Value]) -> bool:
        """Whether these values tell which programs run, and how often."""
        return True

    def without_checkpoints(self) -> Op:
        """The same, where reverse mode keeps all that it will read."""
        return self

    def series_push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        """Push as Taylor mode reads it."""
        return self.push(xs, z, dxs)

    def pull_into(self, buffer: Value, ct: Value, xs: Sequence[Any]) -> None:
        """Add the cotangent of the first argument to a buffer."""
        raise self._unstated("pull_into")

    def subscript(self, indices: Sequence[Value]) -> Any:
        """The index of the elements that it writes to."""
        raise self._unstated("subscript")

    def static_parameters(self) -> dict[str, Any]:
        """Its fields, by name."""
        return (
            {f.name: getattr(self, f.name) for f in dataclasses.fields(self)} if dataclasses.is_dataclass(self) else {}
        )

    def _unstated(self, rule: str) -> TypeError:
        return TypeError(f"primitive {self.title} does not state the rule {rule}")

    def __call__(self, *xs: Value) -> Value:
        return bind(self, *xs)

    def __str__(self) -> str:
        fields = [f"{name}={value}" for name, value in self.static_parameters().items()]
        return self.title + (f"[{', '.join(fields)}]" if fields else "")


OPTIONAL = (
    *("expand", "flops", "workspace", "programs", "unroll", "jvp", "vmap", "jet", "save"),
    *("series_push", "pull_into", "subscript"),
)

C = TypeVar("C", bound=type[Op])


@dataclass_transform(frozen_default=True)
def primitive(cls: C) -> C:
    """Declare a concrete primitive: a frozen dataclass with every rule answered.

    A missing rule fails here, at import. Outside of this library a class may be declared anew, as in a notebook; inside
    of it where Ctrl-C has ended the import of its file, which is read again.
    """
    declared = record(repr=False)(cls)
    missing = sorted(getattr(declared, "__abstractmethods__", ()))
    if missing:
        raise TypeError(f"primitive {cls.__name__} does not answer: {', '.join(missing)}")
    other = PRIMITIVES.get(cls.__name__)
    modules = () if other is None or other.__module__ == cls.__module__ else (cls.__module__, other.__module__)
    if any(module.split(".")[0] == "adjoint" for module in modules):
        raise TypeError(f"two primitives are called {cls.__name__}: {other.__module__} has one. Choose another name.")
    PRIMITIVES[cls.__name__] = declared
    return declared

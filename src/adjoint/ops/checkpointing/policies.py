"""What reverse mode may keep of a checkpointed function: policies, and marks that give values names.

A policy says of every equation whether its results may be kept. Of those that may, the ones are kept that save work;
everything else is recomputed from them and from the arguments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.base.records import record
from adjoint.base.source import describe
from adjoint.ops.calculus import Linear
from adjoint.ops.checkpointing.disk import Files
from adjoint.program.op import primitive
from adjoint.program.program import Equation
from adjoint.program.save import RECORDS
from adjoint.program.types import ArrayType, Value


@primitive
class Mark(Linear):
    """The identity: gives a value a name, by which policies know it."""

    is_view = True
    is_selection = True
    is_marker = True

    name: str

    def evaluate(self, *xs: Value) -> Value:
        return xs[0]

    def result_type(self, *types: ArrayType) -> Any:
        return types[0]

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (ct,)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(xs[0])


@record
class Intermediate:
    """A result inside a checkpointed function, as a user policy sees it.

    ```python
    small = lambda value: value.nbytes < 100
    ad.grad(ad.checkpoint(lambda x: np.sin(np.cos(x)), policy=small))(1.0)  # → -0.721606…
    ```
    """

    operation: str
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]
    name: str | None  # given by checkpoint_name
    where: str  # the user's line
    scope: tuple[str, ...]

    @property
    def nbytes(self) -> int:
        """Its size in memory."""
        return sum(t.size * t.dtype.itemsize for t in self.outputs)

    @staticmethod
    def of(eq: Equation) -> Intermediate:
        """The results of an equation."""
        types = tuple(a.type for a in eq.inputs), tuple(v.type for v in eq.outputs)
        name = eq.op.name if isinstance(eq.op, Mark) else None
        return Intermediate(eq.op.title, *types, name, describe(eq.location), eq.scope)


@record
class Policy(ABC):
    """What may be kept.

    ```python
    isinstance(ad.memory.names("hidden"), ad.memory.Policy)  # → True
    ```
    """

    @abstractmethod
    def saves(self, eq: Equation) -> bool:
        """Whether the results of an equation may be kept."""

    @property
    def files(self) -> Files | None:
        """Where it is kept, when that is not memory."""
        return None


@record
class Everything(Policy):
    """All results may be kept: as without a checkpoint."""

    def saves(self, eq: Equation) -> bool:
        return True


@record
class Products(Policy):
    """Results of matrix products, contractions and convolutions, which cost much for their size."""

    def saves(self, eq: Equation) -> bool:
        return eq.op.contracts


@record
class Named(Policy):
    """Values that `checkpoint_name` has given one of these names."""

    names: tuple[str, ...]

    def saves(self, eq: Equation) -> bool:
        return isinstance(eq.op, Mark) and eq.op.name in self.names


@record
class AllBut(Policy):
    """All values but those that `checkpoint_name` has given one of these names."""

    names: tuple[str, ...]

    def saves(self, eq: Equation) -> bool:
        return not (isinstance(eq.op, Mark) and eq.op.name in self.names)


@record
class Chosen(Policy):
    """What a user function says."""

    choose: Callable[[Intermediate], object]

    def saves(self, eq: Equation) -> bool:
        return bool(self.choose(Intermediate.of(eq)))


@record
class Offloaded(Policy):
    """What another policy keeps, in files (where values are known: compiled programs keep it in memory)."""

    policy: Policy
    storage: Files

    def saves(self, eq: Equation) -> bool:
        return self.policy.saves(eq)

    @property
    def files(self) -> Files | None:
        return self.storage


for _policy in (Everything, Products, Named, AllBut, Chosen, Offloaded):
    RECORDS[_policy.__name__] = _policy

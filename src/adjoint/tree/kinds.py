"""What a container is: how objects of one class are taken apart into children and built again."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias, final

__all__ = ["Kind", "Leaf", "Node", "Static", "Tree", "listed"]

# Any nesting of containers, and what stands at its ends: no static type can say more.
Tree: TypeAlias = Any
Leaf: TypeAlias = Any

# (class, number of children, what else the container needs to be built again), or None for a leaf.
# The class stands here and not its kind: classes compare, hash and pickle by themselves.
Node: TypeAlias = tuple[type, int, Hashable] | None


def listed(words: Iterable[object], most: int = 8) -> str:
    """The words separated by commas, the first few of them."""
    texts = [str(word) for word in words]
    return ", ".join(texts if len(texts) <= most else [*texts[:most], f"... ({len(texts)} in all)"])


@final
class Static:
    """A value that belongs to the structure: compared by equality, or by identity when it has no hash."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    @property
    def by_identity(self) -> bool:
        """True when the value cannot be hashed, so that only the very same object counts as equal."""
        try:
            hash(_hashed(self.value))
        except TypeError:
            return True
        return False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static):
            return NotImplemented
        if self.value is other.value:
            return True
        # 1, 1.0 and True are equal in Python, but a function may treat them differently.
        if type(self.value) is not type(other.value) or self.by_identity or other.by_identity:
            return False
        return bool(self.value == other.value)

    def __hash__(self) -> int:
        try:
            return hash(_hashed(self.value))
        except TypeError:
            return id(self.value)

    def __reduce__(self) -> tuple[type["Static"], tuple[object]]:
        return Static, (self.value,)

    def __repr__(self) -> str:
        name = getattr(self.value, "__name__", None)
        text = name if isinstance(name, str) else repr(self.value)
        return text if len(text) <= 60 else text[:57] + "..."


def _hashed(value: Any) -> object:
    """What stands for the value in a hash: slices have none before Python 3.12."""
    return (slice, value.start, value.stop, value.step) if type(value) is slice else value


class Kind(ABC):
    """How containers of one class are opened and built again. One object for each class."""

    __slots__ = ("container",)

    # Inside a record (a dataclass, an attrs class), strings, functions, flags ... are static.
    is_record = False

    def __init__(self, container: Any) -> None:
        self.container = container

    @abstractmethod
    def open(self, value: Any) -> tuple[Node, Sequence[Any]]:
        """The node and the children of a container; (None, ()) when this value is a leaf after all."""

    @abstractmethod
    def build(self, data: Any, children: list[Any]) -> Any:
        """The container with these children. The list may be kept."""

    def maker(self, data: Any, fixed: Sequence[object]) -> Callable[..., Any]:
        """`build` as a function of the children, for many calls; `fixed` are children that are the same in all."""
        return lambda *children: self.build(data, list(children))

    @abstractmethod
    def labels(self, data: Any, arity: int) -> list[str]:
        """How each child is reached: `[0]`, `['w']`, `.bias`."""

    @abstractmethod
    def text(self, data: Any, children: list[str]) -> str:
        """The container written out, given its children written out."""

    @abstractmethod
    def describe(self, data: Any, arity: int) -> str:
        """The container in a few words, for errors."""

    def __repr__(self) -> str:
        return f"<containers of class {self.container.__name__}>"

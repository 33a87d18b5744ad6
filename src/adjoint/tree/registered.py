"""Containers of other libraries: a class with a function that takes its objects apart and one that builds them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast, final

from adjoint.base.errors import TreeError
from adjoint.tree.containers import positions
from adjoint.tree.kinds import Kind, Node, Static

__all__ = ["RegisteredKind"]

# The static data, and the names of the children when they have some.
Data: TypeAlias = tuple[Static, tuple[str, ...] | None]


@final
class RegisteredKind(Kind):
    """A class registered with functions that take its objects apart and build them."""

    __slots__ = ("flatten", "unflatten")

    def __init__(
        self,
        container: type,
        flatten: Callable[[Any], tuple[Iterable[Any] | Mapping[str, Any], object]],
        unflatten: Callable[[Any, Any], Any],
    ) -> None:
        super().__init__(container)
        self.flatten = flatten
        self.unflatten = unflatten

    def open(self, value: Any) -> tuple[Node, Sequence[Any]]:
        answer: Any = self.flatten(value)
        if not isinstance(answer, tuple) or len(cast("tuple[Any, ...]", answer)) != 2:
            raise TreeError(
                f"The flatten function registered for {self.container.__name__} must return (children, static data); "
                f"it returned {answer!r}."
            )
        children, static = cast("tuple[Any, Any]", answer)
        if isinstance(children, Mapping):
            named = cast("Mapping[str, Any]", children)
            return (self.container, len(named), (Static(static), tuple(named))), list(named.values())
        values: list[Any] = list(children)
        return (self.container, len(values), (Static(static), None)), values

    def build(self, data: Data, children: list[Any]) -> Any:
        static, names = data
        contents = tuple(children) if names is None else dict(zip(names, children, strict=True))
        return self.unflatten(static.value, contents)

    def labels(self, data: Data, arity: int) -> list[str]:
        names = data[1]
        return positions(arity) if names is None else [f".{name}" for name in names]

    def text(self, data: Data, children: list[str]) -> str:
        static, names = data
        parts = children if names is None else [f"{n}={child}" for n, child in zip(names, children, strict=True)]
        rest = [] if static.value is None else [f"static={static}"]
        return f"{self.container.__name__}({', '.join([*parts, *rest])})"

    def describe(self, data: Data, arity: int) -> str:
        static = data[0]
        note = " (compared by identity, because it cannot be hashed)" if static.by_identity else ""
        rest = "" if static.value is None else f" and the static data {static}{note}"
        return f"a {self.container.__name__} with {arity} children{rest}"

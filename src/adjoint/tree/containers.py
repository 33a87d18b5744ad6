"""The containers of Python: tuple, list, dict, OrderedDict, defaultdict, NamedTuple, None; and static values."""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, cast, final

from adjoint.tree.kinds import Kind, Node, Static, listed

__all__ = [
    "DefaultDictKind",
    "DictKind",
    "ListKind",
    "NamedTupleKind",
    "NoneKind",
    "OrderedDictKind",
    "StaticKind",
    "TupleKind",
    "named_text",
    "positions",
]


def positions(arity: int) -> list[str]:
    """[0], [1], ..."""
    return [f"[{i}]" for i in range(arity)]


def named_text(name: str, fields: Iterable[str], children: list[str]) -> str:
    """Point(x=*, y=*)."""
    return f"{name}({', '.join(f'{field}={child}' for field, child in zip(fields, children, strict=True))})"


@final
class TupleKind(Kind):
    """(a, b, c)."""

    __slots__ = ()

    def open(self, value: tuple[Any, ...]) -> tuple[Node, Sequence[Any]]:
        return (tuple, len(value), None), value

    def build(self, data: None, children: list[Any]) -> tuple[Any, ...]:
        return tuple(children)

    def labels(self, data: None, arity: int) -> list[str]:
        return positions(arity)

    def text(self, data: None, children: list[str]) -> str:
        return f"({children[0]},)" if len(children) == 1 else f"({', '.join(children)})"

    def describe(self, data: None, arity: int) -> str:
        return f"a tuple of {arity}"


@final
class ListKind(Kind):
    """[a, b, c]."""

    __slots__ = ()

    def open(self, value: list[Any]) -> tuple[Node, Sequence[Any]]:
        return (list, len(value), None), value

    def build(self, data: None, children: list[Any]) -> list[Any]:
        return children

    def labels(self, data: None, arity: int) -> list[str]:
        return positions(arity)

    def text(self, data: None, children: list[str]) -> str:
        return f"[{', '.join(children)}]"

    def describe(self, data: None, arity: int) -> str:
        return f"a list of {arity}"


@final
class NamedTupleKind(Kind):
    """Point(x=a, y=b)."""

    __slots__ = ()

    def open(self, value: tuple[Any, ...]) -> tuple[Node, Sequence[Any]]:
        return (self.container, len(value), None), value

    def build(self, data: None, children: list[Any]) -> Any:
        # A class may have a __new__ of its own with other arguments.
        return cast(Any, tuple).__new__(self.container, children)

    def labels(self, data: None, arity: int) -> list[str]:
        return [f".{name}" for name in self.container._fields]

    def text(self, data: None, children: list[str]) -> str:
        return named_text(self.container.__name__, self.container._fields, children)

    def describe(self, data: None, arity: int) -> str:
        return f"the NamedTuple {self.container.__name__}"


@final
class NoneKind(Kind):
    """None: a container with nothing inside."""

    __slots__ = ()

    def open(self, value: None) -> tuple[Node, Sequence[Any]]:
        return (self.container, 0, None), ()

    def build(self, data: None, children: list[Any]) -> None:
        return None

    def labels(self, data: None, arity: int) -> list[str]:
        return []

    def text(self, data: None, children: list[str]) -> str:
        return "None"

    def describe(self, data: None, arity: int) -> str:
        return "None"


@final
class Keys(tuple[Any, ...]):
    """The keys of a dict in canonical order, compared as such; `inserted` remembers the order they stood in."""

    inserted: tuple[Any, ...]


def canonical(keys: tuple[Any, ...]) -> tuple[Any, ...]:
    """The keys in an order that does not depend on how they were inserted.

    Dicts with the same keys then have the same structure *and* the same order of leaves. Where the keys have no
    such order, the two structures differ, which is an error and not an exchange of leaves.
    """
    try:
        order = tuple(sorted(keys))
    except TypeError:
        order = tuple(sorted(keys, key=lambda key: (type(key).__module__, type(key).__qualname__, repr(key))))
    if order == keys:
        return keys
    result = Keys(order)
    result.inserted = keys
    return result


def items(keys: tuple[Any, ...], children: list[Any]) -> Iterable[tuple[Any, Any]]:
    """Pairs of key and child in the order in which the keys were inserted."""
    pairs = zip(keys, children, strict=True)
    if not isinstance(keys, Keys):
        return pairs
    values = dict(pairs)
    return [(key, values[key]) for key in keys.inserted]


def key_labels(keys: tuple[Any, ...]) -> list[str]:
    """['w'], ['b'], ..."""
    return [f"[{key!r}]" for key in keys]


def braces(keys: tuple[Any, ...], children: list[str]) -> str:
    """{'w': *, 'b': *}."""
    return "{" + ", ".join(f"{key!r}: {child}" for key, child in items(keys, children)) + "}"


@final
class DictKind(Kind):
    """{"w": a, "b": b}: leaves in the order of the sorted keys, insertion order kept when it is built again."""

    __slots__ = ()

    def open(self, value: dict[Any, Any]) -> tuple[Node, Sequence[Any]]:
        keys = canonical(tuple(value))
        return (dict, len(keys), keys), [value[key] for key in keys]

    def build(self, data: tuple[Any, ...], children: list[Any]) -> dict[Any, Any]:
        return dict(items(data, children))

    def labels(self, data: tuple[Any, ...], arity: int) -> list[str]:
        return key_labels(data)

    def text(self, data: tuple[Any, ...], children: list[str]) -> str:
        return braces(data, children)

    def describe(self, data: tuple[Any, ...], arity: int) -> str:
        return f"a dict with keys {listed(map(repr, data)) or '(none)'}"


@final
class OrderedDictKind(Kind):
    """OrderedDict: the order of the keys is part of the structure."""

    __slots__ = ()

    def open(self, value: OrderedDict[Any, Any]) -> tuple[Node, Sequence[Any]]:
        return (OrderedDict, len(value), tuple(value)), list(value.values())

    def build(self, data: tuple[Any, ...], children: list[Any]) -> OrderedDict[Any, Any]:
        return OrderedDict(zip(data, children, strict=True))

    def labels(self, data: tuple[Any, ...], arity: int) -> list[str]:
        return key_labels(data)

    def text(self, data: tuple[Any, ...], children: list[str]) -> str:
        return f"OrderedDict({braces(data, children)})"

    def describe(self, data: tuple[Any, ...], arity: int) -> str:
        return f"an OrderedDict with keys, in this order, {listed(map(repr, data)) or '(none)'}"


@final
class DefaultDictKind(Kind):
    """defaultdict: a dict whose factory is part of the structure."""

    __slots__ = ()

    def open(self, value: defaultdict[Any, Any]) -> tuple[Node, Sequence[Any]]:
        keys = canonical(tuple(value))
        return (defaultdict, len(keys), (Static(value.default_factory), keys)), [value[key] for key in keys]

    def build(self, data: tuple[Any, tuple[Any, ...]], children: list[Any]) -> defaultdict[Any, Any]:
        return defaultdict(data[0].value, items(data[1], children))

    def labels(self, data: tuple[Any, tuple[Any, ...]], arity: int) -> list[str]:
        return key_labels(data[1])

    def text(self, data: tuple[Any, tuple[Any, ...]], children: list[str]) -> str:
        return f"defaultdict({data[0]}, {braces(data[1], children)})"

    def describe(self, data: tuple[Any, tuple[Any, ...]], arity: int) -> str:
        return f"a defaultdict of {data[0]} with keys {listed(map(repr, data[1])) or '(none)'}"


@final
class StaticKind(Kind):
    """A value that is part of the structure; it has no leaves and is built as itself."""

    __slots__ = ()

    def open(self, value: Any) -> tuple[Node, Sequence[Any]]:
        return (Static, 0, value if type(value) is Static else Static(value)), ()

    def build(self, data: Static, children: list[Any]) -> object:
        return data.value

    def labels(self, data: Static, arity: int) -> list[str]:
        return []

    def text(self, data: Static, children: list[str]) -> str:
        return repr(data)

    def describe(self, data: Static, arity: int) -> str:
        note = " (compared by identity, because it cannot be hashed)" if data.by_identity else ""
        return f"the static value {data!r}{note}"

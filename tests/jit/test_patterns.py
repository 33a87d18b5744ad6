"""What compiled calls give back: containers of the user's classes."""

import dataclasses
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ad


class Watched:
    """A data descriptor: it keeps what it is given under another name."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"_{name}"

    def __get__(self, record: Any, owner: type) -> Any:
        return self if record is None else record.__dict__[self.name]

    def __set__(self, record: Any, value: Any) -> None:
        record.__dict__[self.name] = value


@dataclasses.dataclass
class Plain:
    x: Any
    name: str = "plain"
    rest: Any = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any
    parts: tuple[Any, ...] = ()


@dataclasses.dataclass(slots=True)
class Slotted:
    x: Any
    label: str = "slots"


@dataclasses.dataclass
class Described:
    x: Any = Watched()


@dataclasses.dataclass
class Partly:
    x: Any
    y: Any = dataclasses.field(init=False)


class Pair(NamedTuple):
    first: Any
    second: Any


def partly(x: Any) -> Any:
    return Partly(x)  # its second field is never set


@pytest.mark.parametrize(
    "make",
    [
        lambda x: Plain(2 * x, "given", {"b": x, "a": [Frozen(x + 1, (x, None))]}),
        lambda x: Frozen(x, (Plain(x), Slotted(3 * x), Pair(x, Frozen(x)))),
        lambda x: Pair(Slotted(x, "other"), OrderedDict(b=x, a=2 * x)),
        lambda x: [Described(x), defaultdict(list, k=x)],
        partly,
    ],
)
def test_results_in_containers_of_users(make: Any) -> None:
    """A compiled call builds what the plain call builds: classes, attributes, and what is not set."""
    fast, x = ad.jit(make), np.array([1.0, 2.0])
    for _ in range(3):  # the first call traces
        got, wanted = fast(x), make(x)
        assert ad.tree.structure(got) == ad.tree.structure(wanted)
        for one, other in zip(ad.tree.leaves(got), ad.tree.leaves(wanted), strict=True):
            np.testing.assert_array_equal(one, other)
    assert fast(x) is not fast(x)


def test_attributes_keep_their_order() -> None:
    got = ad.jit(lambda x: Plain(x, "given", x))(np.ones(2))
    assert list(vars(got)) == ["x", "name", "rest"]
    got.extra = 1  # an object like any other
    assert not hasattr(ad.jit(partly)(np.ones(2)), "y")

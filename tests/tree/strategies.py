"""Random trees, and an array of foreign make: what several tests of trees share."""

import enum
import keyword
import re
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import attrs
import numpy as np
from hypothesis import strategies as st

from adjoint import tree


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Layer:
    w: Any
    b: Any
    activation: Any = np.tanh
    name: str = "layer"


@dataclass(frozen=True, slots=True)
class Frozen:
    value: Any
    unit: str = tree.static(default="m")
    rest: Any = field(default=None, init=False)

    def __post_init__(self):
        if isinstance(self.value, str):
            raise TypeError("built with __init__, which no tree may do")


@attrs.define
class Motor:
    torque: Any
    _label: Any = "left"


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Box:
    """A container of another library."""

    def __init__(self, items, label):
        self.items = items
        self.label = label


tree.register(Box, lambda box: (box.items, box.label), lambda label, items: Box(list(items), label))

keys = st.one_of(
    st.text("abcxyz_ '\"]\\é", max_size=4),
    st.integers(-3, 3),
    st.sampled_from([Color.RED, Color.BLUE, (1, "a"), None, b"k", 2.5]),
)
identifiers = st.text("abcxyz_", min_size=1, max_size=4).filter(lambda text: not keyword.iskeyword(text))
scalars = st.one_of(st.integers(-5, 5), st.floats(allow_nan=False, width=32), st.sampled_from([1j, 0.5 - 2j]))


@st.composite
def arrays(draw, dtypes=("f8", "f4", "c16", "i8", "?")):
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    size = int(np.prod(shape))
    return np.arange(1, size + 1).reshape(shape).astype(dtype)


def containers(children):
    """One more level of containers around trees."""
    few = st.lists(children, max_size=3)
    return st.one_of(
        few,
        few.map(tuple),
        st.dictionaries(keys, children, max_size=3),
        st.dictionaries(keys, children, max_size=3).map(OrderedDict),
        st.dictionaries(keys, children, max_size=3).map(lambda items: defaultdict(list, items)),
        st.builds(Point, children, children),
        st.builds(Layer, children, children, st.sampled_from([np.tanh, abs]), st.text(max_size=2)),
        st.builds(Frozen, children, st.sampled_from(["m", "s"])),
        st.builds(Motor, children, st.sampled_from(["left", Color.RED, b"x"])),
        st.builds(Box, few, st.sampled_from(["a", 3, None])),
    )


def trees(leaves=None, max_leaves=12):
    """Nested containers of every kind around the leaves (arrays and numbers)."""
    ends = st.one_of(scalars, arrays()) if leaves is None else leaves
    return st.recursive(st.one_of(ends, st.none()), containers, max_leaves=max_leaves)


class Duck(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that is no ndarray and cannot become one, as a traced value; it counts what NumPy asks of it."""

    def __init__(self, value):
        self.value = np.asarray(value)

    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)
    ndim = property(lambda self: self.value.ndim)

    def __array__(self, *args, **kwargs):
        raise TypeError("a duck is no ndarray")

    def __getitem__(self, index):
        return Duck(self.value[index])

    def astype(self, dtype):
        return Duck(self.value.astype(dtype))

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return Duck(getattr(ufunc, method)(*plain(list(inputs)), **options))

    def __array_function__(self, function, types, args, kwargs):
        return Duck(function(*plain(list(args)), **kwargs))


def plain(x):
    """Ducks as the arrays inside them."""
    if isinstance(x, Duck):
        return x.value
    return [plain(item) for item in x] if isinstance(x, list | tuple) else x


def same(a, b):
    """Are two trees equal: the same classes, keys, order of keys, values and element types? By plain recursion."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray | np.generic):
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)
    if isinstance(a, Box):
        return a.label == b.label and same(a.items, b.items)
    if hasattr(a, "__dataclass_fields__") or hasattr(a, "__attrs_attrs__"):
        names = getattr(a, "__dataclass_fields__", None) or [f.name for f in a.__attrs_attrs__]
        return all(same(getattr(a, name), getattr(b, name)) for name in names)
    return a == b


def named(value: object) -> str:
    """What a value is called in the name of a test: no address, so that all workers collect the same names."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))

"""The arguments of one call of a compiled function: which leaves are inputs, which are fixed, and what makes two calls
alike.

Arrays and numbers are inputs: their shapes and dtypes are part of the key, their values are not. Python's numbers keep
their weak types. Texts, flags, functions and what is named static are part of the key.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from adjoint import tree
from adjoint.base.errors import DtypeError
from adjoint.jit.environment import Around, Surroundings
from adjoint.jit.facts import NUMBERS, Same, token
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.arguments import plain_value
from adjoint.tree.static_values import STATIC_TYPES

# As Any: a test against it leaves the value Any, where the class would make it an array of unknown elements.
_ARRAY: Any = np.ndarray
_SCALAR: Any = np.generic
LARGEST = 2**62  # Python's whole numbers from here on are part of the program: their sums would not fit into an array


class Fixed:
    """An argument that is named static, in the place of a leaf."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Call(NamedTuple):
    """One call: what is computed with, and what identifies the program to do it."""

    key: Hashable
    values: list[Value]  # of the inputs among the leaves, then the arrays that the function reads besides
    inputs: list[int]  # their numbers among the leaves
    functions: list[int]  # the leaves that are functions of the user's
    leaves: list[Any]
    structure: Any  # of (args, kwargs)
    given: tuple[Any, Any]  # (args, kwargs)
    is_traced: bool
    around: Around  # what the function reads besides

    @property
    def types(self) -> list[ArrayType]:
        """The types of the inputs."""
        return [type_of(v) for v in self.values]

    def replaced(self, inputs: Sequence[Value]) -> Any:
        """The function, and (args, kwargs), with other values of the inputs."""
        own = len(self.inputs)
        function, *given = self.around.replaced(inputs[own:])
        full = [leaf.value if type(leaf) is Fixed else leaf for leaf in self.leaves]
        for place, value in zip((*self.inputs, *self.functions), (*inputs[:own], *given), strict=True):
            full[place] = value
        return function, *tree.unflatten(self.structure, full)


class Signature:
    """How the calls of one function are read."""

    def __init__(
        self, function: Callable[..., Any], static_argnums: int | Sequence[int], static_argnames: str | Sequence[str]
    ) -> None:
        self.surroundings = Surroundings(function)
        self._static = (
            (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums),
            (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames),
        )
        self.methods: dict[type, bool] = {}
        self._resolve()

    def _resolve(self) -> None:
        """Which arguments are static, by the function's parameters as they are now."""
        function, (numbers, names) = self.surroundings.function, self._static
        self._code = getattr(function, "__code__", None)
        self.parameters, self.positional = _parameters(function)
        for name in names:
            if self.parameters and name not in self.parameters and not self._takes_any_keyword(function):
                raise TypeError(
                    f"jit: static_argnames has {name!r}, but the function has no argument of that name; it has "
                    f"{', '.join(self.parameters) or 'none'}."
                )
        count = len(self.positional)
        numbers = tuple(n + count if n < 0 else n for n in numbers)
        self.static_names = {*names, *[self.positional[n] for n in numbers if 0 <= n < count]}
        self.static_places = {*numbers, *[self.positional.index(n) for n in names if n in self.positional]}

    @staticmethod
    def _takes_any_keyword(function: Callable[..., Any]) -> bool:
        kinds = [p.kind for p in inspect.signature(function).parameters.values()]
        return inspect.Parameter.VAR_KEYWORD in kinds

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any], is_method: Callable[[Any], bool]) -> Call:
        """Take one call apart."""
        if getattr(self.surroundings.function, "__code__", None) is not self._code:
            self._resolve()
        if self.static_places:
            args = tuple(Fixed(a) if i in self.static_places else a for i, a in enumerate(args))
        if self.static_names:
            kwargs = {k: Fixed(v) if k in self.static_names else v for k, v in kwargs.items()}
        leaves, structure = tree.flatten((args, kwargs))
        functions: list[int] = []
        given: list[Any] = []
        kinds: list[Hashable] = []
        values: list[Value] = []
        inputs: list[int] = []
        traced = False
        for number, leaf in enumerate(leaves):
            cls = cast(Any, type(leaf))
            if cls is _ARRAY and leaf.dtype.char in NUMBERS and leaf.dtype.isnative:
                kinds.append((leaf.shape, leaf.dtype))
            elif cls is float or cls is complex or (cls is int and -LARGEST <= leaf < LARGEST):
                kinds.append(cls)
            elif isinstance(leaf, Tracer):
                kinds.append((leaf.shape, leaf.dtype))
                traced = True
            elif isinstance(leaf, _SCALAR) and leaf.dtype.char in NUMBERS:
                kinds.append(leaf.dtype)
            elif fixed := self._fixed(leaf, number, args, is_method, structure):
                kinds.append(fixed)
                named = leaf.value if cls is Fixed else leaf
                if self.surroundings.follows(named):
                    functions.append(number)
                    given.append(named)
                continue
            else:
                leaf = self._plain(leaf, number, structure)
                kinds.append((leaf.shape, leaf.dtype))
            values.append(leaf)
            inputs.append(number)
        around = self.surroundings.now(given)
        for array in around.arrays:
            traced = traced or isinstance(array, Tracer)
            values.append(array)
            kinds.append((array.shape, array.dtype))
        key = (structure, tuple(kinds), around.facts)
        return Call(key, values, inputs, functions, leaves, structure, (args, kwargs), traced, around)

    def _fixed(
        self, leaf: Any, number: int, args: tuple[Any, ...], is_method: Callable[[Any], bool], structure: Any
    ) -> Any:
        """The token of a leaf that is part of the program by itself; None when it is not."""
        if type(leaf) is Fixed:
            return self._token(leaf, number, structure)
        if isinstance(leaf, bool | str | bytes | int):
            return token(leaf)
        if isinstance(leaf, STATIC_TYPES) or (callable(leaf) and not hasattr(leaf, "__array__")):
            return _hashed(leaf)
        if number == 0 and args and args[0] is leaf and is_method(leaf):
            return Same(leaf)
        return None

    def _token(self, leaf: Fixed, number: int, structure: Any) -> Hashable:
        value: Any = leaf.value
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"jit: argument {self.name(structure, number)} is static, and a {type(value).__name__} cannot be: two "
                "calls are compared by it, so it must be hashable. Pass a tuple instead of a list, for instance."
            ) from None
        return "static", token(value) if type(value) in (float, complex, tuple) else _typed(value)

    def _plain(self, leaf: Any, number: int, structure: Any) -> Value:
        try:
            value = plain_value(leaf, lambda: f"jit: argument {self.name(structure, number)}")
        except DtypeError as problem:
            if type(leaf).__module__.startswith("numpy.random"):
                raise DtypeError(
                    f"jit: argument {self.name(structure, number)} is a {type(leaf).__name__} of NumPy's: its numbers "
                    "would be frozen. Pass ad.random.default_rng(seed), which has the same methods."
                ) from None
            if isinstance(leaf, _ARRAY | _SCALAR) or hasattr(leaf, "__array__") or hasattr(leaf, "__dlpack__"):
                raise
            raise DtypeError(
                f"{problem} Name it in static_argnames if it is part of the program, or register its class with "
                "ad.tree.register if it holds arrays."
            ) from None
        return np.asarray(value)[()] if isinstance(value, bool | int | float | complex) else value

    def name(self, structure: Any, number: int) -> str:
        """The user's word for a leaf of (args, kwargs)."""
        path: str = structure.paths()[number]
        place, _, rest = path.removeprefix("[0][").partition("]")
        if path.startswith("[0][") and place.isdigit():
            return (self.positional[int(place)] if int(place) < len(self.positional) else place) + rest
        return path.removeprefix("[1]").removeprefix("['").replace("']", "", 1)

    def changes(self, call: Call, key: Any) -> tuple[list[str], list[str]] | None:
        """What differs from another call, by name: arguments, and what should be one. None: calls of another form.

        Numbers and functions that are read from outside, and functions that are arguments, make a program for each.
        """
        structure, kinds, facts = cast(Any, call.key)
        if len(key) != 3 or key[0] != structure:
            return None
        arguments: list[str] = []
        others: list[str] = []
        for number, leaf in enumerate(call.leaves):
            if kinds[number] != key[1][number]:
                (others if callable(leaf) else arguments).append(self.name(structure, number))
        others += call.around.changed(key[2])
        if facts == key[2]:  # so the arrays are the same ones
            own = len(call.leaves)
            arrays = zip(call.around.names(), kinds[own:], key[1][own:], strict=True)
            arguments += [name for name, now, then in arrays if now != then]
        return arguments, list(dict.fromkeys(others))

    def described(self, call: Call) -> list[tuple[str, str]]:
        """The arguments by name, with their types, or values if they are part of the program."""
        types = iter(call.types)
        inputs = set(call.inputs)
        found: list[tuple[str, str]] = []
        for number, leaf in enumerate(call.leaves):
            fixed = leaf.value if type(leaf) is Fixed else leaf
            text = str(next(types)) if number in inputs else f"{getattr(fixed, '__name__', None) or repr(fixed)[:80]}"
            found.append((self.name(call.structure, number), text))
        arrays = zip(call.around.names(), map(str, types), strict=True)
        return [*found, *arrays, *call.around.numbers()]


def _hashed(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return Same(value)
    return "static", _typed(value)


def _typed(value: Any) -> Hashable:
    cls = cast(Any, type(value))
    return cls, value


def _parameters(function: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """All parameter names, and those that can be given by position, in order."""
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return [], []
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return list(found), [name for name, p in found.items() if p.kind in by_place]

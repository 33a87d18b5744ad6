"""The arguments of one call of a compiled function: which leaves are inputs, which are static, and its signature.

Arrays and numbers are inputs: their shapes and dtypes are part of the signature, their values are not. Python numbers
keep their weak types. Strings, booleans, functions and what is named static are part of it: a new value retraces.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from adjoint import tree
from adjoint.base.errors import DtypeError
from adjoint.jit.environment import Captures, Environment
from adjoint.jit.facts import LARGEST, NUMBERS, Same, token
from adjoint.jit.objects import functions_held, is_object
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.arguments import plain_value
from adjoint.tree.static_values import STATIC_TYPES

# As Any: a test against it leaves the value Any, where the class would make it an array of unknown elements.
_ARRAY: Any = np.ndarray
_SCALAR: Any = np.generic


class Fixed:
    """An argument that is named static, as a leaf."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Signature(NamedTuple):
    """What makes two calls alike: they share programs when their signatures are equal."""

    structure: Any  # of (args, kwargs)
    kinds: tuple[Hashable, ...]  # of the leaves, then of the captured arrays: shape and dtype, or the static value
    facts: tuple[Hashable, ...]  # of what else the function captures


class Call(NamedTuple):
    """One call: what is computed with, and what identifies the program to do it."""

    signature: Signature
    values: list[Value]  # of the inputs among the leaves, then the arrays that the function reads besides
    inputs: list[int]  # their numbers among the leaves
    functions: list[int]  # the leaves that are user functions, or objects that are looked into
    leaves: list[Any]
    arguments: tuple[Any, Any]  # (args, kwargs)
    is_traced: bool
    captures: Captures  # what the function reads besides

    @property
    def structure(self) -> Any:
        """The structure of (args, kwargs)."""
        return self.signature.structure

    @property
    def types(self) -> list[ArrayType]:
        """The types of the inputs."""
        return [type_of(v) for v in self.values]

    def with_inputs(self, inputs: Sequence[Value]) -> Any:
        """The function, and (args, kwargs), with other values of the inputs."""
        own = len(self.inputs)
        function, *functions = self.captures.rebuild(inputs[own:])
        full = [leaf.value if type(leaf) is Fixed else leaf for leaf in self.leaves]
        for number, value in zip((*self.inputs, *self.functions), (*inputs[:own], *functions), strict=True):
            full[number] = value
        return function, *tree.unflatten(self.structure, full)


class CallReader:
    """How the calls of one function are read."""

    def __init__(
        self, function: Callable[..., Any], static_argnums: int | Sequence[int], static_argnames: str | Sequence[str]
    ) -> None:
        self.environment = Environment(function)
        self._static = (
            (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums),
            (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames),
        )
        self.methods: dict[type, bool] = {}
        self._resolve()

    def _resolve(self) -> None:
        """Which arguments are static, by the function's parameters as they are now."""
        function, (numbers, names) = self.environment.function, self._static
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
        self.static_positions = {*numbers, *[self.positional.index(n) for n in names if n in self.positional]}

    @staticmethod
    def _takes_any_keyword(function: Callable[..., Any]) -> bool:
        kinds = [p.kind for p in inspect.signature(function).parameters.values()]
        return inspect.Parameter.VAR_KEYWORD in kinds

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any], is_method: Callable[[Any], bool]) -> Call:
        """Take one call apart."""
        if getattr(self.environment.function, "__code__", None) is not self._code:
            self._resolve()
        if self.static_positions:
            args = tuple(Fixed(a) if i in self.static_positions else a for i, a in enumerate(args))
        if self.static_names:
            kwargs = {k: Fixed(v) if k in self.static_names else v for k, v in kwargs.items()}
        leaves, structure = tree.flatten((args, kwargs))
        functions: list[int] = []
        user_functions: list[Any] = []
        constants: list[Any] = []
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
            elif fixed := self._static_token(leaf, number, args, is_method, structure):
                kinds.append(fixed)
                named = leaf.value if cls is Fixed else leaf
                is_own = is_object(named) and self.environment.is_user_class(cast(Any, type(named)))
                if self.environment.follows(named) or (is_own and cls is not Fixed):
                    functions.append(number)
                    user_functions.append(named)
                elif is_own:
                    constants.append(named)
                continue
            else:
                leaf = self._plain(leaf, number, structure)
                kinds.append((leaf.shape, leaf.dtype))
            values.append(leaf)
            inputs.append(number)
        constants += [held for held in functions_held(structure) if self.environment.follows(held)]
        captures = self.environment.read(user_functions, [*constants, *self._classes(structure)])
        for array in captures.arrays:
            traced = traced or isinstance(array, Tracer)
            values.append(array)
            kinds.append(_kind(array))
        signature = Signature(structure, tuple(kinds), captures.facts)
        return Call(signature, values, inputs, functions, leaves, (args, kwargs), traced, captures)

    def _classes(self, structure: Any) -> list[type]:
        """The user classes of containers among the arguments, whose methods the function may call."""
        found = dict.fromkeys(node[0] for node in structure.nodes if node is not None)
        return [cls for cls in found if self.environment.is_user_class(cls)]

    def _static_token(
        self, leaf: Any, number: int, args: tuple[Any, ...], is_method: Callable[[Any], bool], structure: Any
    ) -> Any:
        """The token of a leaf that is part of the program by itself; None when it is not."""
        if type(leaf) is Fixed:
            return self._token(leaf, number, structure)
        if isinstance(leaf, bool | str | bytes | int):
            return token(leaf)
        if isinstance(leaf, STATIC_TYPES) or (callable(leaf) and not hasattr(leaf, "__array__")):
            return _static_key(leaf)
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
        return "static", token(value) if type(value) in (float, complex, tuple) else _typed_key(value)

    def _plain(self, leaf: Any, number: int, structure: Any) -> Value:
        try:
            value = plain_value(leaf, lambda: f"jit: argument {self.name(structure, number)}")
        except DtypeError as problem:
            if type(leaf).__module__.startswith("numpy.random"):
                raise DtypeError(
                    f"jit: argument {self.name(structure, number)} is NumPy's {type(leaf).__name__}: its numbers "
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
        position, _, rest = path.removeprefix("[0][").partition("]")
        if path.startswith("[0][") and position.isdigit():
            return (self.positional[int(position)] if int(position) < len(self.positional) else position) + rest
        return path.removeprefix("[1]").removeprefix("['").replace("']", "", 1)

    def changes(self, call: Call, other: Signature) -> tuple[list[str], list[str]] | None:
        """What differs from another signature, by name: arguments, and what should be one. None: of another form.

        Numbers and functions that are captured, and functions that are arguments, make a program for each.
        """
        structure, kinds, facts = call.signature
        if other.structure != structure:
            return None
        arguments: list[str] = []
        others: list[str] = []
        for number, leaf in enumerate(call.leaves):
            if kinds[number] != other.kinds[number]:
                (others if callable(leaf) else arguments).append(self.name(structure, number))
        others += call.captures.changed(other.facts)
        if facts == other.facts:  # so the arrays are the same ones
            own = len(call.leaves)
            arrays = zip(call.captures.names(), kinds[own:], other.kinds[own:], strict=True)
            arguments += [name for name, now, then in arrays if now != then]
        return arguments, list(dict.fromkeys(others))

    def describe(self, call: Call) -> list[tuple[str, str]]:
        """The arguments by name, with their types, or values if they are part of the program."""
        types = iter(call.types)
        inputs = set(call.inputs)
        arguments: list[tuple[str, str]] = []
        for number, leaf in enumerate(call.leaves):
            fixed = leaf.value if type(leaf) is Fixed else leaf
            text = str(next(types)) if number in inputs else f"{getattr(fixed, '__name__', None) or repr(fixed)[:80]}"
            arguments.append((self.name(call.structure, number), text))
        arrays = zip(call.captures.names(), map(str, types), strict=True)
        return [*arguments, *arrays, *call.captures.numbers()]


def _kind(value: Any) -> Hashable:
    if isinstance(value, _SCALAR):
        return value.dtype
    cls = cast(Any, type(value))
    return cls if cls in (int, float, complex) else (value.shape, value.dtype)


def _static_key(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return Same(value)
    return "static", _typed_key(value)


def _typed_key(value: Any) -> Hashable:
    cls = cast(Any, type(value))
    return cls, value


def _parameters(function: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """All parameter names, and those that can be given by position, in order."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return [], []
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return list(parameters), [name for name, p in parameters.items() if p.kind in by_position]

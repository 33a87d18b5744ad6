"""Frozen dataclasses that are quick to declare.

`dataclasses` writes and compiles the text of six functions for every frozen class, close to a millisecond, and the
library declares two hundred of them before the first gradient. Here a function is compiled once for each number of
fields, and a class gets it with the names replaced.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, FrozenInstanceError
from functools import cache, partial
from reprlib import recursive_repr
from types import CodeType, FunctionType
from typing import Any, ClassVar, TypeVar, dataclass_transform, get_origin, overload

__all__ = ["parameter_names", "record"]

C = TypeVar("C", bound=type)


@overload
def record(cls: C) -> C: ...
@overload
def record(*, eq: bool = True, repr: bool = True, frozen: bool = True) -> Callable[[C], C]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(cls: Any = None, *, eq: bool = True, repr: bool = True, frozen: bool = True) -> Any:
    """`dataclasses.dataclass(frozen=True)`, in a tenth of the time; what the class states itself stays as it is."""
    return partial(_declare, eq=eq, repr=repr, frozen=frozen) if cls is None else _declare(cls, eq, repr, frozen)


def _declare(cls: Any, eq: bool, repr: bool, frozen: bool) -> Any:
    own: dict[str, Any] = cls.__dict__.copy()
    for name in ("__setattr__", "__delattr__") if frozen else ():
        if name in own:
            raise TypeError(f"record {cls.__name__} states {name}, which is that of records.")
    if not cls.__doc__:
        cls.__doc__ = f"{cls.__name__}({', '.join(cls.__annotations__)})"
    fields = _set_fields(cls, own, frozen)
    compared = [field.name for field in fields if field.compare]
    if frozen:
        cls.__setattr__, cls.__delattr__ = _refuse_change, _refuse_removal
    if eq and "__eq__" not in own:
        cls.__eq__ = _named(cls, _equal(len(compared)), compared)
    if eq and not frozen:
        cls.__hash__ = own.get("__hash__")
    elif eq and own.get("__hash__") is None:
        hashed = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
        cls.__hash__ = _named(cls, _hash(len(hashed)), hashed)
    if repr and "__repr__" not in own:
        cls.__repr__ = _describe
    if "__init__" not in own:
        cls.__init__ = _initializer(cls, fields)
    return cls


@dataclasses.dataclass(frozen=True)
class _Template:
    """What `dataclasses` notes of a class and of a field."""

    field: Any


@dataclasses.dataclass
class _Changing:
    """The same of a class whose objects change."""


_PARAMS: Any = {True: _Template.__dataclass_params__, False: _Changing.__dataclass_params__}  # type: ignore[attr-defined]
_FIELD: Any = dataclasses.Field  # as Any: a test against it leaves the value Any
_KIND: Any = dataclasses.fields(_Template)[0]._field_type  # type: ignore[attr-defined]


def _set_fields(cls: Any, own: Mapping[str, Any], frozen: bool) -> tuple[dataclasses.Field[Any], ...]:
    """The fields of a class and of those it inherits from, noted where `dataclasses` looks for them."""
    fields: dict[str, dataclasses.Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        if (known := base.__dict__.get("__dataclass_fields__")) is not None:
            if base.__dataclass_params__.frozen is not frozen:
                raise TypeError(f"record {cls.__name__} inherits from {base.__name__}: only one of them is frozen.")
            fields |= known
    for name, kind in cls.__annotations__.items():
        if _is_of_class(kind):
            continue
        default = own.get(name, MISSING)
        field: Any = default if isinstance(default, _FIELD) else dataclasses.field(default=default)
        if type(field.default).__hash__ is None:
            raise ValueError(f"record {cls.__name__}: the default of {name} can change; use default_factory.")
        if isinstance(default, _FIELD):
            delattr(cls, name) if field.default is MISSING else setattr(cls, name, field.default)
        field.name, field.type, field._field_type = name, kind, _KIND  # type: ignore[attr-defined]
        field.kw_only = field.kw_only is True
        fields[name] = field
    cls.__dataclass_fields__, cls.__dataclass_params__ = fields, _PARAMS[frozen]
    if "__match_args__" not in own:
        cls.__match_args__ = tuple(fields)
    return tuple(fields.values())


def _is_of_class(kind: Any) -> bool:
    """Whether an annotation is that of an attribute of the class, and of no field."""
    if isinstance(kind, str):
        return kind.startswith(("ClassVar", "typing.ClassVar"))
    return kind is ClassVar or get_origin(kind) is ClassVar


def _initializer(cls: Any, fields: Sequence[dataclasses.Field[Any]]) -> FunctionType:
    if any(not field.init or field.kw_only for field in fields):
        raise TypeError(f"record {cls.__name__}: every field is an argument of __init__, by position.")
    factories = {f.name: f.default_factory for f in fields if f.default_factory is not MISSING}
    has_default = [f.default is not MISSING or f.name in factories for f in fields]
    first = has_default.index(True) if True in has_default else len(fields)
    if not all(has_default[first:]):
        raise TypeError(f"record {cls.__name__}: a field without a default follows one that has a default.")
    code = _init(len(fields), bool(factories), hasattr(cls, "__post_init__"))
    function = _named(cls, code, [field.name for field in fields], factories)
    function.__defaults__ = tuple(field.default for field in fields[first:])
    return function


# Functions for a number of fields that are called a0, a1, …


def _named(cls: Any, code: CodeType, names: Sequence[str], factories: Any = None) -> FunctionType:
    """The function of a template, with the names of the fields."""
    known = {f"a{k}": name for k, name in enumerate(names)}
    qualified = f"{cls.__qualname__}.{code.co_name}"
    code = code.replace(
        co_names=tuple(known.get(name, name) for name in code.co_names),
        co_varnames=tuple(known.get(name, name) for name in code.co_varnames),
        co_consts=tuple(known.get(value, value) if type(value) is str else value for value in code.co_consts),
        co_qualname=qualified,
    )
    function = FunctionType(code, {"store": object.__setattr__, "MISSING": MISSING, "factories": factories})
    function.__qualname__, function.__module__ = qualified, cls.__module__
    return function


def _compile(*lines: str) -> CodeType:
    code = compile("\n ".join(lines), __file__, "exec")
    return next(value for value in code.co_consts if isinstance(value, CodeType))


@cache
def _init(count: int, made: bool, post: bool) -> CodeType:
    """`made`: some fields have values made for each object; `post`: something runs at the end."""
    names = [f"a{k}" for k in range(count)]
    lines = [f"store(self, '{name}', {name})" for name in names]  # not into __dict__: reading would be slower
    if made:
        lines.append("for name, make in factories.items():")
        lines.append(" if getattr(self, name) is MISSING: store(self, name, make())")
    lines += ["self.__post_init__()"] if post else []
    return _compile(f"def __init__({', '.join(['self', *names])}):", *lines, "return None")


@cache
def _equal(count: int) -> CodeType:
    mine, other = ("".join(f"{owner}.a{k}, " for k in range(count)) for owner in ("self", "other"))
    return _compile(
        "def __eq__(self, other):",
        f"if other.__class__ is self.__class__: return ({mine}) == ({other})",
        "return NotImplemented",
    )


@cache
def _hash(count: int) -> CodeType:
    return _compile("def __hash__(self):", f"return hash(({''.join(f'self.a{k}, ' for k in range(count))}))")


# The same for all records


def _refuse_change(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_removal(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


@recursive_repr()
def _describe(self: Any) -> str:
    shown = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def parameter_names(f: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters of an expression, without `inspect`, which takes its time for each of hundreds."""
    stated = getattr(f, "__signature__", None)
    return tuple(stated.parameters) if stated else f.__code__.co_varnames[: f.__code__.co_argcount]

"""Functions with derivatives of their own: `primitive`, and the rules that are given to it afterwards.

A rule for reverse mode, `defvjp`, is a maker for each argument: maker(ans, *args, **kwargs) gives g ↦ Jᵀg. A rule for
forward mode, `defjvp`, is jvp(g, ans, *args, **kwargs) = J g. One of the two is enough; the other follows from it.

For complex values the pairing of g and v is Re Σ g v, without a conjugate: with f holomorphic, Jᵀg = f'(z) g.
"""

# pyright: basic

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.custom_rules import custom_rule
from adjoint.base.errors import RuleError, TraceError, UnsupportedError
from adjoint.base.source import describe, here
from adjoint.compat.autograd.boxes import Box, nothing_traced, notrace_primitive
from adjoint.compat.autograd.vspaces import VSpace, vspace
from adjoint.program.trace import Tracer

__all__ = [
    "Box",
    "JVPNode",
    "VJPNode",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "deflinear",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "register_notrace",
    "vspace",
]


class NotDefined(UnsupportedError, NotImplementedError):
    """The derivative of a primitive in an argument was not given."""


class VJPNode:
    """Stands for reverse mode in `register_notrace`."""


class JVPNode:
    """Stands for forward mode in `register_notrace`."""


def conjugated(x: Any) -> Any:
    """From our cotangents to those of autograd, or back."""
    return tree.map(lambda leaf: np.conj(leaf) if np.iscomplexobj(leaf) else leaf, x)


def is_moving(value: Any) -> bool:
    """Whether a value, or anything in a container, is traced."""
    if isinstance(value, Tracer):
        return True
    if isinstance(value, list | tuple | dict):
        return any(isinstance(leaf, Tracer) for leaf in tree.leaves(value))
    return False


class Primitive:
    """A function that is called with plain values, and whose derivative is what its rules say."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun, updated=())
        self.__name__ = getattr(fun, "__name__", "primitive")
        self.fun = fun
        self.vjp_maker: Callable[..., Any] | None = None  # (argnums, ans, args, kwargs) -> g -> cotangents
        self.jvp_maker: Callable[..., Any] | None = None  # (argnums, gs, ans, args, kwargs) -> tangent
        self.flat = False
        self._value = named(_value, self.__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        moving = tuple(i for i, a in enumerate(args) if is_moving(a))
        if any(map(is_moving, kwargs.values())):
            name = next(k for k, v in kwargs.items() if is_moving(v))
            raise TraceError(
                f"{self.__name__}: the keyword argument {name} is traced, at {describe(here())}, and the rules of a "
                "primitive are for positional arguments. Pass it by position."
            )
        if not moving:
            return self.fun(*args, **kwargs)
        if self.flat:
            return notrace_primitive(self.fun)(*args, **kwargs)
        if self.vjp_maker is None and self.jvp_maker is None:
            raise NotDefined(
                f"{self.__name__}: its derivative in argument {moving[0]} is asked for, at {describe(here())}, and "
                f"none is defined. Give one with defvjp({self.__name__}, …) or defjvp({self.__name__}, …)."
            )
        rules = {"vjp": _vjp if self.vjp_maker else None, "jvp": _jvp if self.jvp_maker else None}
        call = _Call(self, args, kwargs, moving)
        return custom_rule(self._value, static=("call",), batch=_one_at_a_time, **rules)(
            call, *[args[i] for i in moving]
        )

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<primitive {self.__name__}>"

    def defvjp(self, vjpmaker: Callable[..., Any], argnum: int = 0) -> None:
        """The rule of one argument in an older form: vjpmaker(g, ans, vs, gvs, *args, **kwargs)."""
        self._deprecated("defvjp")

        def staged(ans: Any, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
            return lambda g: vjpmaker(g, ans, vspace(args[argnum]), vspace(g), *args, **kwargs)

        self._older[argnum] = staged
        defvjp(self, *self._older.values(), argnums=list(self._older))

    def defgrad(self, gradfun: Callable[..., Any], argnum: int = 0) -> None:
        """The rule of one argument: gradfun(ans, *args, **kwargs) gives g ↦ Jᵀg."""
        self._deprecated("defgrad")
        self._older[argnum] = gradfun
        defvjp(self, *self._older.values(), argnums=list(self._older))

    def defvjp_is_zero(self, argnums: Iterable[int] = (0,)) -> None:
        """These arguments have derivative zero."""
        self._deprecated("defvjp_is_zero")
        self._older.update(dict.fromkeys(argnums))
        defvjp(self, *self._older.values(), argnums=list(self._older))

    @functools.cached_property
    def _older(self) -> dict[int, Any]:
        return {}

    def _deprecated(self, method: str) -> None:
        warnings.warn(
            f"{self.__name__}.{method} is an older form; write defvjp({self.__name__}, …).",
            DeprecationWarning,
            stacklevel=3,
        )


class _Call:
    """One call of a primitive as a function of the arguments that move."""

    def __init__(self, made: Primitive, args: Sequence[Any], kwargs: dict[str, Any], moving: tuple[int, ...]) -> None:
        self.primitive, self.args, self.kwargs, self.moving = made, list(args), kwargs, moving
        self.__name__ = made.__name__

    def full(self, given: Sequence[Any]) -> list[Any]:
        args = list(self.args)
        for i, v in zip(self.moving, given, strict=True):
            args[i] = v
        return args

    def __call__(self, *given: Any) -> Any:
        """The function itself, on plain values."""
        with nothing_traced():
            return self.primitive.fun(*self.full(given), **self.kwargs)

    def answer(self, given: Sequence[Any]) -> Any:
        """The result, with the derivatives that `given` still has."""
        return self.primitive(*self.full(given), **self.kwargs) if any(map(is_moving, given)) else self(*given)


def named(function: Any, name: str) -> Any:
    """The same function under the name that errors are to show."""
    return FunctionType(function.__code__, function.__globals__, name)


def _value(call: Any, *given: Any) -> Any:
    return call(*given)


def _one_at_a_time(call: Any, *stacked: Any) -> Any:
    """The function knows plain arrays only: vmap calls it for each element, compiled code calls back to it."""
    size = len(tree.leaves(stacked)[0])
    results = [call(*tree.map(lambda leaf, i=i: leaf[i], stacked)) for i in range(size)]
    return tree.map(lambda *leaves: np.stack(leaves), *results)


def _vjp(call: Any, *given: Any) -> tuple[Any, Callable[[Any], Any]]:
    args = call.full(given)
    ans = call.answer(given)
    pull = call.primitive.vjp_maker(call.moving, ans, tuple(args), call.kwargs)

    def pullback(ct: Any) -> Any:
        return tuple(conjugated(g) for g in pull(conjugated(ct)))

    return ans, pullback


def _jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    call, *given = primals
    args = call.full(given)
    ans = call.answer(given)
    return ans, call.primitive.jvp_maker(call.moving, tuple(tangents[1:]), ans, tuple(args), call.kwargs)


def primitive(f_raw: Callable[..., Any]) -> Primitive:
    """A function whose derivative is given by defvjp or defjvp. It is called with plain arrays, so that it may do
    anything."""
    return Primitive(f_raw)


def _given(fun: Any, what: str) -> Primitive:
    if not isinstance(fun, Primitive):
        raise RuleError(
            f"{what}: {getattr(fun, '__name__', fun)} is not a primitive. Make one, f = primitive({{function}}), and "
            "call that; the functions of NumPy have their rules."
        )
    return fun


def defvjp_argnums(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """vjpmaker(argnums, ans, args, kwargs) gives g ↦ the cotangents of these arguments."""
    _given(fun, "defvjp_argnums").vjp_maker = vjpmaker


def defvjp_argnum(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """vjpmaker(argnum, ans, args, kwargs) gives g ↦ the cotangent of this argument."""

    def all_of_them(argnums: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
        pulls = [vjpmaker(argnum, ans, args, kwargs) for argnum in argnums]
        return lambda g: tuple(pull(g) for pull in pulls)

    defvjp_argnums(fun, all_of_them)


def defvjp(fun: Any, *vjpmakers: Callable[..., Any] | None, argnums: Iterable[int] | None = None) -> None:
    """A maker for each argument (or for those in `argnums`): maker(ans, *args, **kwargs) gives g ↦ Jᵀg; None: zero."""
    made = _given(fun, "defvjp")
    makers = dict(zip(itertools.count() if argnums is None else argnums, vjpmakers, strict=False))
    for argnum, maker in makers.items():
        if maker is not None and not callable(maker):
            raise RuleError(f"defvjp: the rule of {made.__name__} in argument {argnum} is no function: {maker!r}.")

    def maker_of(argnum: int, ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
        if argnum not in makers:
            raise NotDefined(
                f"{made.__name__}: its derivative in argument {argnum} is asked for, at {describe(here())}, and defvjp "
                f"gave those in {', '.join(map(str, sorted(makers))) or 'none'}."
            )
        maker = makers[argnum]
        return (lambda g: vspace(args[argnum]).zeros()) if maker is None else maker(ans, *args, **kwargs)

    defvjp_argnum(made, maker_of)


def defjvp_argnums(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """jvpmaker(argnums, gs, ans, args, kwargs) is the tangent of the result."""
    _given(fun, "defjvp_argnums").jvp_maker = jvpmaker


def defjvp_argnum(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """jvpmaker(argnum, g, ans, args, kwargs) is the tangent of the result when this argument moves."""

    def sum_of_them(argnums: Sequence[int], gs: Sequence[Any], ans: Any, args: Any, kwargs: Any) -> Any:
        terms = [jvpmaker(argnum, g, ans, args, kwargs) for argnum, g in zip(argnums, gs, strict=True)]
        return functools.reduce(lambda a, b: tree.map(lambda x, y: x + y, a, b), terms)

    defjvp_argnums(fun, sum_of_them)


def defjvp(fun: Any, *jvpfuns: Any, argnums: Iterable[int] | None = None) -> None:
    """A function jvp(g, ans, *args, **kwargs) for each argument; "same": the function is linear in it; None: zero."""
    made = _given(fun, "defjvp")
    rules = dict(zip(itertools.count() if argnums is None else argnums, jvpfuns, strict=False))

    def tangent(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        if argnum not in rules:
            raise NotDefined(
                f"{made.__name__}: its derivative in argument {argnum} is asked for, at {describe(here())}, and defjvp "
                f"gave those in {', '.join(map(str, sorted(rules))) or 'none'}."
            )
        rule = rules[argnum]
        if rule is None:
            return vspace(ans).zeros()
        if isinstance(rule, str):
            if rule != "same":
                raise RuleError(f'defjvp: the rule of {made.__name__} is a function, None or "same"; got {rule!r}.')
            return made(*args[:argnum], g, *args[argnum + 1 :], **kwargs)
        return rule(g, ans, *args, **kwargs)

    defjvp_argnum(made, tangent)


def def_linear(fun: Any) -> None:
    """The function is linear in each of its arguments."""
    made = _given(fun, "def_linear")
    defjvp_argnum(made, lambda argnum, g, ans, args, kwargs: made(*args[:argnum], g, *args[argnum + 1 :], **kwargs))


deflinear = def_linear


def register_notrace(trace_type: type, primitive_fun: Any) -> None:
    """The primitive's derivative is zero."""
    _given(primitive_fun, "register_notrace").flat = True


def __getattr__(name: str) -> Any:
    if name in ("SparseObject", "Node"):
        raise AttributeError(
            f"autograd.extend.{name} belongs to the inside of autograd. A rule returns arrays; "
            "np.add.at on adjoint.numpy.zeros adds at a few positions."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

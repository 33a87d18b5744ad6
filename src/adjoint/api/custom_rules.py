"""`custom_rule`: functions with derivative rules of their own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.gradients import Transformed
from adjoint.base.errors import RuleError
from adjoint.base.foreign import is_refusal
from adjoint.base.records import record
from adjoint.base.source import describe, here, user_facing
from adjoint.ops.custom import Attach, OpaqueCall
from adjoint.ops.elementwise.select import StopGradient
from adjoint.program.program import Program
from adjoint.program.record import Record
from adjoint.program.trace import Tracer, bind, primal
from adjoint.program.types import Value, type_of
from adjoint.transform.arguments import plain_value
from adjoint.transform.custom import ClosureRule, UserRule
from adjoint.transform.drivers import check_leaf
from adjoint.transform.generators import GeneratorArguments
from adjoint.transform.record_function import record_function

__all__ = ["custom_rule"]


@user_facing
def custom_rule(
    function: Callable[..., tree.Tree] | None = None,
    *,
    jvp: Callable[..., tree.Tree] | None = None,
    vjp: Callable[..., tree.Tree] | None = None,
    batch: Callable[..., tree.Tree] | None = None,
    static: Sequence[str] = (),
    nondiff: Sequence[str] = (),
) -> tree.Tree:
    """Give a function its own derivative.

    `jvp(primals, tangents)` returns (y, dy); `vjp(*args)` returns (y, pullback), and `pullback(ct)` a cotangent (or
    None) for each argument. One of them is enough: the other is derived by transposition. Neither: the derivative comes
    from differences, with a warning. `static` names arguments that are any Python objects, `nondiff` names array
    arguments without derivative. The rules are given all arguments in their usual positions (in `primals` those by
    keyword too, in order); the tangents of static and nondiff ones are None, and the pullback gives no cotangents for
    static ones. `batch(*stacked_args)` maps the function itself over a first axis of all array arguments at once;
    without it it is batched as usual, or run element by element if the function is a black box.

    The function may call anything that takes arrays: SciPy, C, Fortran, numba. What it closes over is differentiated as
    usual.

    ```python
    @ad.custom_rule(vjp=lambda x: (np.exp(x), lambda ct: (ct * np.exp(x),)))
    def exp(x):
        return np.exp(x)
    ad.grad(exp)(0.0), ad.grad(ad.grad(exp))(0.0)  # → (1.0, 1.0)
    ```
    """
    if function is None:
        return functools.partial(
            custom_rule, jvp=jvp, vjp=vjp, batch=batch, static=tuple(static), nondiff=tuple(nondiff)
        )
    for name in (*static, *nondiff):
        if name not in inspect.signature(function).parameters:
            raise RuleError(f"custom_rule: {getattr(function, '__name__', function)} has no argument called {name!r}.")
    return Transformed(_custom_rule, function, _RuleOptions(jvp, vjp, batch, tuple(static), tuple(nondiff)))


class _PutBack:
    """Calls a function of all arguments with the static ones put back in their positions."""

    def __init__(self, names: Sequence[str], static: dict[str, Any], keyword: Sequence[str]) -> None:
        self.names, self.static, self.keyword = names, static, frozenset(keyword)

    def __call__(self, function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        given = iter(arrays)
        values = {n: self.static[n] if n in self.static else next(given) for n in self.names}
        positional = [v for n, v in values.items() if n not in self.keyword]
        return function(*positional, **{n: v for n, v in values.items() if n in self.keyword})

    def listed(self, arrays: Sequence[Any], static: bool) -> tuple[Any, ...]:
        """All arguments in order, those by keyword too; None for the static ones unless they are asked for."""
        given = iter(arrays)
        return tuple((self.static[n] if static else None) if n in self.static else next(given) for n in self.names)


@record
class _RuleOptions(Options):
    """The options of `custom_rule`."""

    jvp: Callable[..., Any] | None
    vjp: Callable[..., Any] | None
    batch: Callable[..., Any] | None
    static: tuple[str, ...]
    nondiff: tuple[str, ...]


def _custom_rule(function: Callable[..., Any], options: _RuleOptions, args: Any, kwargs: Any) -> Any:
    title = getattr(function, "__name__", "function")
    bound = inspect.signature(function).bind(*args, **kwargs)
    if not isinstance(function, np.ufunc):  # the keywords of ufuncs have defaults that exclude each other
        bound.apply_defaults()
    named: dict[str, Any] = {}
    keyword: list[str] = []
    for name, parameter in bound.signature.parameters.items():
        if name not in bound.arguments:
            continue
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            named.update({f"{name}[{i}]": v for i, v in enumerate(bound.arguments[name])})
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            named.update(bound.arguments[name])
            keyword += list(bound.arguments[name])
        else:
            named[name] = bound.arguments[name]
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                keyword.append(name)
    static = {n: v for n, v in named.items() if n in options.static or _is_static(v)}
    arrays = tuple(v for n, v in named.items() if n not in static)
    if GeneratorArguments(title, arrays):
        raise RuleError(
            f"{title}: a function with a custom rule takes no random generator, since its rules would draw anew. "
            "Draw outside, and pass the numbers."
        )
    names = [n for n in named if n not in static]
    y: Any = None
    put_back = _PutBack(list(named), static, keyword)
    leaves, structure = tree.flatten(arrays)
    values = [
        plain_value(leaf, f"{title}: argument {path}") for leaf, path in zip(leaves, structure.paths(), strict=True)
    ]
    if not any(isinstance(v, Tracer) for v in values):
        return put_back(function, arrays)
    stripped = [primal(v) for v in values]
    memo = None
    program: Program | None = None
    captured: list[Tracer] = []
    plain = not any(isinstance(v, Tracer) for v in stripped)
    if _may_close(function):
        y, program, captured = _record(function, put_back, structure, stripped)
    if program is None and options.vjp is not None and plain:
        memo = put_back(options.vjp, tree.unflatten(structure, stripped))
        y = (
            memo[0]
            if isinstance(memo, tuple) and len(memo) == 2
            else put_back(function, tree.unflatten(structure, stripped))
        )
    elif program is None:
        y = _run(function, options, put_back, structure, stripped)
    outputs, result = tree.flatten(y)
    outputs = [check_leaf(leaf) for leaf in outputs]
    outputs = [np.asarray(v)[()] if isinstance(v, bool | int | float | complex) else v for v in outputs]
    if program is None and any(isinstance(v, Tracer) and v.has_tangent() for v in outputs):
        raise RuleError(
            f"{title}: it reads a traced value that is none of its arguments (a function that it was given closes over "
            f"one, or a global variable holds one), at {describe(here())}: its derivative would be lost. Pass the "
            "value as an argument."
        )
    # inside a recorded body the function's own equations are recorded too: the rule alone is to be differentiated
    outputs = [bind(StopGradient(), v) if isinstance(v, Tracer) else v for v in outputs]
    nondiff = [n in options.nondiff for n in names]
    rule: Any = UserRule(function, options.jvp, options.vjp, structure, put_back, nondiff, result, title)
    if isinstance(memo, tuple) and len(memo) == 2:
        rule.memo = (stripped, memo)
    if program is not None and captured:
        rule = ClosureRule(rule, program, len(values))
    out = Attach(rule, len(outputs))(*outputs, *_strip_nondiff(nondiff, arrays, values), *captured)
    return tree.unflatten(result, out)


def _may_close(function: Callable[..., Any]) -> bool:
    """Whether a function can hold traced values of its own: a closure, a bound object, or what is no plain function."""
    return not inspect.isfunction(function) or function.__closure__ is not None


def _record(
    function: Callable[..., Any], put_back: _PutBack, structure: Any, values: list[Value]
) -> tuple[Any, Program | None, list[Tracer]]:
    """(result, program, captured values) of a run on values without derivatives; no program for a black box."""
    record = Record(concrete=True, purpose="a function with a custom rule", runs_again=False)
    inputs = [record.input(type_of(v), v) for v in values]
    try:
        recorded = record_function(
            function,
            lambda leaves: (put_back, (function, tree.unflatten(structure, leaves)), {}),
            record,
            inputs,
            may_draw=True,
        )
    except Exception as error:
        if not is_refusal(error):
            raise
        return None, None, []
    return tree.unflatten(recorded.structure, recorded.values), recorded.program, recorded.captured


def _strip_nondiff(nondiff: Sequence[bool], arrays: tuple[Any, ...], values: list[Value]) -> list[Value]:
    """The inputs; those declared without derivative are stripped of it."""
    out: list[Value] = []
    rest = iter(values)
    for part, flag in zip(arrays, nondiff, strict=True):
        for _ in tree.leaves(part):
            value = next(rest)
            out.append(primal(value) if flag else value)
    return out


def _is_static(value: Any) -> bool:
    return isinstance(value, str | bytes) or (callable(value) and not isinstance(value, Tracer))


def _run(
    function: Callable[..., Any], options: _RuleOptions, put_back: _PutBack, structure: Any, values: list[Value]
) -> Any:
    """The function on values without derivatives: under what remains (vmap, a recording), or as a black box."""
    batch = options.batch
    try:
        if batch is None:
            return put_back(function, tree.unflatten(structure, values))
    except Exception as error:
        if not is_refusal(error):
            raise
    found: list[Any] = []

    def flat(*leaves: Value) -> list[Value]:
        out, made = tree.flatten(put_back(function, tree.unflatten(structure, leaves)))
        found.append(made)
        return [np.asarray(v)[()] for v in out]

    def stacked(*leaves: Value) -> list[Value]:
        assert batch is not None
        out, made = tree.flatten(put_back(batch, tree.unflatten(structure, leaves)))
        found.append(made)
        return [np.asarray(v) for v in out]

    out = OpaqueCall(flat, None if batch is None else stacked)(*values)
    return tree.unflatten(found[0], out)

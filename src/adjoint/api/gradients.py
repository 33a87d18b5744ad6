"""What users call: derivatives and batching of plain NumPy functions, over trees of arrays."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

import adjoint.numpy  # noqa: F401  # pyright: ignore[reportUnusedImport]  (gives traced values NumPy's protocols)
from adjoint import tree
from adjoint.api.function import Function, Options, Transformed, transformation
from adjoint.api.linearized import Pullback, Pushforward, tangents_of, with_zeros
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.base.records import record
from adjoint.base.source import user_facing
from adjoint.ops.elementwise.select import StopGradient
from adjoint.program.trace import bind
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform import inner_programs, tape_fast  # noqa: F401  (give others what they ask for)
from adjoint.transform.arguments import (
    Argnums,
    Selection,
    Side,
    fresh,
    leaf_name,
    own,
    parameter_names,
    plain_value,
    select,
)
from adjoint.transform.batch_driver import run_batch
from adjoint.transform.drivers import (
    Linearized,
    apply_transpose,
    check_floating,
    gradient,
    outside,
    push_forward,
    split_aux,
    tangent_leaves,
)
from adjoint.transform.generators import GeneratorArguments, leaves_of

tape_fast.install()


@record
class _GradOptions(Options):
    """The options of `grad` and `value_and_grad`."""

    argnums: Argnums
    has_aux: bool
    holomorphic: bool
    side: Side


@record
class _TransposeOptions(Options):
    """The options of `linear_transpose`."""

    primals: tuple[tree.Tree, ...]


@record
class _VmapOptions(Options):
    """The options of `vmap`."""

    in_axes: Any
    out_axes: Any
    axis_size: int | None


@user_facing
def grad(
    function: Function, argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False, side: Side = None
) -> Transformed:
    """The gradient of a scalar function: `grad(f)(x)` has the structure, shapes and dtypes of `x`.

    `argnums` names the arguments to differentiate, by position or by name; several give a tuple. With `has_aux` the
    function returns (value, aux) and the result is (gradient, aux). For complex x and real f it is ∂f/∂x + i ∂f/∂y, the
    direction of steepest ascent; with `holomorphic` it is f'(z). Integer leaves inside a tree are constants, and their
    gradient is zero. With `side` "right" or "left" it is the limit of gradients as all numbers come from that side.

    ```python
    f = lambda x: np.sum(np.sin(x) ** 2)
    ad.grad(f)(np.array([0.0, 1.0]))  # → [0.0, 0.909297…]
    ad.grad(lambda a, b: a * b**2, argnums=("a", "b"))(2.0, 3.0)  # → (9.0, 12.0)
    ad.grad(ad.grad(np.sin))(1.0)  # → -0.841470…
    ```
    """
    return Transformed(_grad, function, _GradOptions(argnums, has_aux, holomorphic, side))


@user_facing
def value_and_grad(
    function: Function, argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False, side: Side = None
) -> Transformed:
    """(value, gradient) in one call; ((value, aux), gradient) with `has_aux`. See `grad`.

    ```python
    ad.value_and_grad(lambda x: x**3)(2.0)  # → (8.0, 12.0)
    ```
    """
    return Transformed(_value_and_grad, function, _GradOptions(argnums, has_aux, holomorphic, side))


def _grad(function: Function, options: _GradOptions, args: Any, kwargs: Any) -> Any:
    _, aux, result = _gradients("grad", function, options, args, kwargs)
    return (result, aux) if options.has_aux else result


def _value_and_grad(function: Function, options: _GradOptions, args: Any, kwargs: Any) -> Any:
    value, aux, result = _gradients("value_and_grad", function, options, args, kwargs)
    return ((value, aux) if options.has_aux else value), result


def _gradients(name: str, function: Function, options: _GradOptions, args: Any, kwargs: Any) -> tuple[Value, Any, Any]:
    chosen = select(function, options.argnums, args, kwargs, name)
    if options.holomorphic and any(type_of(v).dtype.kind != "c" for v in chosen.values):
        raise DtypeError(
            f"{name}(holomorphic=True) needs complex arguments; {chosen.names[0]} is {type_of(chosen.values[0])}."
        )
    value, aux, gs = gradient(
        lambda active: chosen.call(chosen.completed(active)),
        chosen.values,
        has_aux=options.has_aux,
        holomorphic=options.holomorphic,
        transformation=name,
        side=options.side,
    )
    return value, aux, chosen.result(with_zeros(chosen, gs))


def all_arguments(function: Function, primals: Sequence[Any], name: str) -> Selection:
    if not isinstance(primals, tuple | list):
        raise TypeError(
            f"{name}: primals must be a tuple with one entry for each argument; got {type(primals).__name__}. Write "
            f"{name}(f, (x,), …)."
        )
    if not primals and (missing := required_parameters(function)):
        listed = ", ".join(missing)
        given = f"{name}(f, ({listed},), …)" if name in ("jvp", "jet") else f"{name}(f, {listed})"
        raise TypeError(f"{name} is given the arguments of the function too, here {listed}: write {given}.")
    return select(function, tuple(range(len(primals))), tuple(primals), {}, name)


def required_parameters(function: Function) -> list[str]:
    """The arguments by position without which a function cannot be called; none when they are not known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in by_position and p.default is p.empty]


@transformation
def jvp(
    function: Function, primals: Sequence[tree.Tree], tangents: Sequence[tree.Tree], *, has_aux: bool = False
) -> tuple[tree.Tree, ...]:
    """(f(x), ∂f(x)[v]): value and directional derivative, by forward mode.

    `primals` and `tangents` are tuples of trees.

    ```python
    ad.jvp(np.sin, (0.0,), (1.0,))  # → (0.0, 1.0)
    ad.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0))  # → (6.0, 3.0)
    ```
    """
    chosen = all_arguments(function, primals, "jvp")
    if not isinstance(tangents, tuple | list):
        raise TypeError(
            f"jvp: tangents must be a tuple like primals; got {type(tangents).__name__}. Write jvp(f, (x,), (v,))."
        )
    given = tangents_of(chosen, tuple(tangents), "jvp tangents")
    y, dy, aux = push_forward(
        lambda active: chosen.call(chosen.completed(active)), chosen.values, given, has_aux=has_aux
    )
    return (y, dy, aux) if has_aux else (y, dy)


@transformation
def vjp(function: Function, *primals: tree.Tree, has_aux: bool = False) -> tuple[tree.Tree, ...]:
    """(f(x), pullback): `pullback(u)` is the tuple of ∂f(x)*[u], one for each argument; it can be called many times.

    For complex values it is the adjoint with respect to Re⟨u, v⟩.

    ```python
    value, pullback = ad.vjp(lambda x, y: x * y, 2.0, 3.0)
    pullback(1.0)  # → (3.0, 2.0)
    ```
    """
    chosen = all_arguments(function, primals, "vjp")
    recorded = Linearized(lambda active: chosen.call(chosen.completed(active)), chosen.values, has_aux=has_aux)
    check_floating(recorded.output_types, "vjp")
    y = tree.unflatten(recorded.structure, recorded.values)
    pullback = Pullback(recorded, chosen)
    return (y, pullback, recorded.aux) if has_aux else (y, pullback)


@transformation
def linearize(function: Function, *primals: tree.Tree, has_aux: bool = False) -> tuple[tree.Tree, ...]:
    """(f(x), pushforward): `pushforward(*tangents)` is ∂f(x)[v], replayed from one recorded run of f.

    ```python
    value, pushforward = ad.linearize(lambda x: x**2, np.array([1.0, 2.0]))
    pushforward(np.array([1.0, 0.0]))  # → [2.0, 0.0]
    ```
    """
    chosen = all_arguments(function, primals, "linearize")
    recorded = Linearized(lambda active: chosen.call(chosen.completed(active)), chosen.values, has_aux=has_aux)
    y = tree.unflatten(recorded.structure, recorded.values)
    pushforward = Pushforward(recorded, chosen)
    return (y, pushforward, recorded.aux) if has_aux else (y, pushforward)


@user_facing
def linear_transpose(function: Function, *primals: tree.Tree) -> Transformed:
    """The transpose of a linear function: `linear_transpose(f, x)(u)` is the tuple of f*[u].

    `primals` give shapes and dtypes only.

    ```python
    ad.linear_transpose(lambda x: x[1:] - x[:-1], np.zeros(3))(np.array([1.0, 1.0]))  # → ([-1.0, 0.0, 1.0],)
    ```
    """
    return Transformed(_linear_transpose, function, _TransposeOptions(primals))


def _linear_transpose(function: Function, options: _TransposeOptions, args: Any, kwargs: Any) -> Any:
    primals = tuple(tree.map(_example, p) for p in options.primals)
    chosen = all_arguments(function, primals, "linear_transpose")

    def cotangents(structure: Any, types: list[Any]) -> list[Value]:
        return tangent_leaves(
            args[0] if len(args) == 1 else args, structure, types, "linear_transpose cotangent", structure.paths()
        )

    found = apply_transpose(lambda active: chosen.call(chosen.completed(active)), chosen.values, cotangents)
    return chosen.result(with_zeros(chosen, found))


def _example(leaf: Any) -> Value:
    """A zero of the leaf's type: only shape and dtype matter."""
    return np.zeros(leaf.shape, leaf.dtype)[()] if isinstance(leaf, ArrayType) else leaf


@user_facing
def vmap(
    function: Function, in_axes: tree.Tree = 0, out_axes: tree.Tree = 0, *, axis_size: int | None = None
) -> Transformed:
    """Map a function over an axis of its arguments, all batch elements at once.

    `in_axes` is one axis for all arguments, or a tuple with an axis, None (not mapped) or a tree of these for each.
    Python's own `if` and `while` on mapped values work: batch elements that go different ways are run in groups. A
    random generator that is mapped gives every batch element a stream of its own; one that is not mapped gives all
    batch elements the same numbers.

    ```python
    ad.vmap(ad.grad(np.sin))(np.array([0.0, np.pi]))  # → [1.0, -1.0]
    dot = ad.vmap(np.dot, in_axes=(0, None))
    dot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones(2))  # → [3.0, 7.0]
    ```
    """
    return Transformed(_vmap, function, _VmapOptions(in_axes, out_axes, axis_size))


def _vmap(function: Function, options: _VmapOptions, args: Any, kwargs: Any) -> Any:
    in_axes, n = options.in_axes, len(args)
    if isinstance(in_axes, list | tuple) and len(in_axes) != n:
        raise TypeError(
            f"vmap: in_axes has {len(in_axes)} {'entry' if len(in_axes) == 1 else 'entries'}, but the function "
            "was called "
            f"with {n} argument{'' if n == 1 else 's'}. Give one axis for all, or one entry (an axis or None) for each."
        )
    axes = [*in_axes, *[0] * len(kwargs)] if isinstance(in_axes, list | tuple) else [in_axes] * n + [0] * len(kwargs)
    everything = (*args, *kwargs.values())
    leaves, structure = tree.flatten(everything)
    chosen = tree.broadcast_prefix("vmap in_axes", tuple(axes), structure, "in_axes", "the arguments")
    names = structure.paths()
    generators = GeneratorArguments("vmap", everything, structure)
    leaves = generators.split(leaves, chosen, options.axis_size) if generators else leaves
    values, mapped, sizes = [], [], {}

    def describe(path: str) -> str:
        return f"argument {leaf_name(parameter_names(function), [*range(n), *kwargs], path)}"

    for leaf, axis, name in zip(leaves, chosen, names, strict=True):
        if axis is None:
            values.append(leaf)
            mapped.append(False)
            continue
        value = plain_value(leaf, lambda name=name: f"vmap: {describe(name)}")
        shape = np.shape(value)
        if not isinstance(axis, int | np.integer) or isinstance(axis, bool):
            raise TypeError(
                f"vmap: in_axes has {axis!r} for {describe(name)}; an axis is an integer, or None for an "
                "argument that all "
                "batch elements share."
            )
        if not shape or not -len(shape) <= axis < len(shape):
            raise ShapeError(
                f"vmap: {describe(name)} has shape {shape}, so it has no axis {axis} to map over. Give None in "
                "in_axes "
                "to pass it to all batch elements."
            )
        sizes[name] = shape[axis]
        values.append(np.moveaxis(value, axis, 0) if axis % len(shape) else value)
        mapped.append(True)
    size = options.axis_size if not sizes else next(iter(sizes.values()))
    if size is None:
        raise ShapeError(
            "vmap: no argument is mapped, so the size of the batch is unknown. Give axis_size=…, or map an argument."
        )
    asked = options.axis_size
    if any(found != size for found in sizes.values()) or asked not in (None, size):
        raise ShapeError(
            f"vmap: the mapped axes have different sizes: {', '.join(f'{describe(k)}: {v}' for k, v in sizes.items())}"
            f"{f', axis_size: {asked}' if asked is not None else ''}. Map axes of one "
            "size (in_axes), or give None in in_axes to what all batch elements share."
        )

    def call(new: Sequence[Value]) -> Any:
        made = tree.unflatten(structure, new)
        copies = generators.copies(made)
        result = function(*made[:n], **dict(zip(kwargs, made[n:], strict=True)))
        return (result, leaves_of(copies)) if generators else result

    outputs, flags, out_structure = run_batch(call, values, mapped, size)
    if generators:
        out_structure = out_structure.children()[0]
        k = out_structure.num_leaves
        generators.write_back_batch(outputs[k:], flags[k:], chosen, size)
        outputs, flags = outputs[:k], flags[:k]
    out_axes = tree.broadcast_prefix("vmap out_axes", options.out_axes, out_structure, "out_axes", "the result")
    placed = [
        _move_batch_axis(v, f, axis, size, path)
        for v, f, axis, path in zip(outputs, flags, out_axes, out_structure.paths(), strict=True)
    ]
    return tree.unflatten(out_structure, fresh(placed, leaves))


def _move_batch_axis(value: Value, mapped: bool, axis: int | None, size: int, path: str) -> Value:
    """A result with its batch elements along the axis asked for."""
    if axis is None:
        if mapped:
            raise ShapeError(
                f"vmap: out_axes is None for result{path}, but it differs between batch elements. Give the axis "
                "that they "
                "are to be stacked along."
            )
        return value.copy() if isinstance(value, np.ndarray) else value
    if not mapped:
        value = np.broadcast_to(value, (size, *np.shape(value)))
    if not -np.ndim(value) <= axis < np.ndim(value):
        raise ShapeError(
            f"vmap: out_axes is {axis} for result{path}, which has {np.ndim(value)} axes with the one of the "
            "batch. Give one "
            f"from 0 to {np.ndim(value) - 1}."
        )
    return np.moveaxis(value, 0, axis) if axis else value


@user_facing
def stop_gradient(x: tree.Tree) -> tree.Tree:
    """x, with derivative zero.

    ```python
    ad.grad(lambda x: x * ad.stop_gradient(x))(3.0)  # → 3.0
    ```
    """
    return own(tree.map(lambda leaf: bind(StopGradient(), leaf), x), tree.leaves(x))


__all__ = [
    "Transformed", "all_arguments", "grad", "jvp", "linear_transpose", "linearize", "outside", "split_aux",
    "stop_gradient", "value_and_grad", "vjp", "vmap",
]  # fmt: skip

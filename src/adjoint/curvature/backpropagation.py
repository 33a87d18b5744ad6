"""Second derivatives in one walk back through the graph of a function: whole Hessians, and their diagonal blocks.

On a chain s_k = f_k(s_{k-1}) with r = ∇φ(s_k), R = ∇²φ(s_k) the walk is

    r ← ∂f_k(s_{k-1})*[r],    R ← ∂²f_k(s_{k-1})*[r] + ∂f_k(s_{k-1})* R ∂f_k(s_{k-1}),    ∂²f*[r] = ∇²⟨f, r⟩

and on a graph the terms between variables are added (see `adjoint.curvature.elimination`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.gradients import Function, Transformed
from adjoint.base.errors import ShapeError
from adjoint.curvature.elimination import Block, Eliminated, ancestors, dense, eliminate
from adjoint.curvature.graph import Graph, record_graph
from adjoint.linear.operators.kronecker import kronecker
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.structures import matrix
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.arguments import Argnums, Selection, fresh, select
from adjoint.transform.drivers import check_floating

__all__ = ["SecondOrder", "backpropagate", "block_gauss_newton", "block_hessian", "loss_curvature", "scalar_graph"]


class SecondOrder(NamedTuple):
    """f(x), ∇f(x), ∇²f(x).

    ```python
    ad.curvature.backpropagate(lambda x: x**3)(2.0).hessian  # → 12.0
    ```
    """

    value: Any
    gradient: Any
    hessian: Any


def backpropagate(function: Function, argnums: Argnums = 0) -> Transformed:
    """Value, gradient and Hessian of a scalar function, exactly, in one walk back through its graph.

    `backpropagate(f)(x)` is (f(x), ∇f(x), ∇²f(x)), the Hessian laid out as by `ad.hessian`. It takes as much memory as
    the Hessians in the intermediate variables that are live at a time, and is quick where these are small or diagonal.

    ```python
    value, gradient, hessian = ad.curvature.backpropagate(lambda x: np.prod(x))(np.array([2.0, 3.0]))
    hessian  # → [[0.0, 1.0], [1.0, 0.0]]
    ```
    """
    return Transformed(_backpropagate, function, _BackpropagateOptions(argnums))


@dataclass(frozen=True)
class _BackpropagateOptions(Options):
    """The options of `backpropagate`."""

    argnums: Argnums


@dataclass(frozen=True)
class _BlockOptions(Options):
    """The options of `block_hessian`."""

    argnums: Argnums
    by: str
    cross: bool
    as_maps: bool


@dataclass(frozen=True)
class _BlockLossOptions(_BlockOptions):
    """The options of `block_gauss_newton`."""

    loss: Function


def _backpropagate(function: Function, options: _BackpropagateOptions, args: Any, kwargs: Any) -> SecondOrder:
    chosen = select(function, options.argnums, args, kwargs, "backpropagate")
    graph = scalar_graph(chosen, "backpropagate")
    eliminated = eliminate(graph, _seed(graph), {}, lambda u, v: True)
    count = len(chosen.values)
    gradients = [_or_zero(eliminated.gradients[i], graph.types[i]) for i in range(count)]
    rows = [[_whole(eliminated, graph.types, i, j) for j in range(count)] for i in range(count)]
    full = [_arrange(chosen, row, graph.types[i].shape) for i, row in enumerate(rows)]
    return SecondOrder(
        graph.values[0], chosen.result(_complete(chosen, gradients, ())), chosen.result(_rows_of_all(chosen, full))
    )


def block_hessian(
    function: Function, argnums: Argnums = 0, *, by: str = "leaf", cross: bool = True, as_maps: bool = False
) -> Transformed:
    """The diagonal blocks of the Hessian of a scalar function, in one walk back through its graph.

    One block for each leaf x of the arguments, of shape x.shape + x.shape, or (`by="child"`) for each entry of the
    argument, with the layout of `ad.hessian`: the parameters of a layer. The blocks are exact on every graph. Blocks
    between intermediate variables that share a parameter are carried along; without `cross` they are left out, which
    costs less, is exact for chains and trees, and an approximation where a variable is used twice. With `as_maps` the
    blocks of leaves are linear maps (`adjoint.linear`) on the elements of the leaf in NumPy's order: Kronecker products
    R ⊗ s sᵀ for the matrices W that are read once, in W s, and matrices for all others.

    ```python
    f = lambda p: np.sum(p["a"] ** 2) * p["b"]
    ad.curvature.block_hessian(f)({"a": np.ones(2), "b": 3.0})["a"]  # → [[6.0, 0.0], [0.0, 6.0]]
    ```
    """
    return Transformed(_block_hessian, function, _BlockOptions(argnums, by, cross, as_maps))


def _block_hessian(function: Function, options: _BlockOptions, args: Any, kwargs: Any) -> Any:
    chosen = select(function, options.argnums, args, kwargs, "block_hessian")
    groups = _groups(chosen, options)
    graph = scalar_graph(chosen, "block_hessian")
    keep = _keep(graph, groups, options.cross)
    eliminated = eliminate(graph, _seed(graph), {}, keep, as_products=len(groups) if options.as_maps else 0)
    return _blocks(chosen, eliminated, graph.types, options)


def block_gauss_newton(
    loss: Callable[..., Any],
    model: Function,
    argnums: Argnums = 0,
    *,
    by: str = "leaf",
    cross: bool = True,
    as_maps: bool = False,
) -> Transformed:
    """The diagonal blocks of the Gauss-Newton matrix ∂f* ∇²ℓ ∂f of ℓ∘f, in one walk back through the graph of f.

    `block_gauss_newton(loss, model)(w)`, where `loss` takes what `model` returns. Options as in `block_hessian`.

    ```python
    model = lambda p: p["a"] * p["b"]
    result = ad.curvature.block_gauss_newton(lambda z: np.sum(z**2), model)({"a": np.ones(2), "b": 3.0})["a"]
    result  # → [[18.0, 0.0], [0.0, 18.0]]
    ```
    """
    return Transformed(_block_gauss_newton, model, _BlockLossOptions(argnums, by, cross, as_maps, loss))


def _block_gauss_newton(model: Function, options: _BlockLossOptions, args: Any, kwargs: Any) -> Any:
    chosen = select(model, options.argnums, args, kwargs, "block_gauss_newton")
    groups = _groups(chosen, options)
    graph = record_graph(lambda active: chosen.call(chosen.completed(active)), chosen.values)
    _, seeds = loss_curvature(options.loss, graph)
    keep = _keep(graph, groups, options.cross)
    products = len(groups) if options.as_maps else 0
    eliminated = eliminate(graph, {}, seeds, keep, second=False, as_products=products)
    return _blocks(chosen, eliminated, graph.types, options)


def loss_curvature(loss: Callable[..., Any], graph: Graph) -> tuple[dict[int, Value], dict[tuple[int, int], Block]]:
    """∇ℓ and ∇²ℓ at the results of a graph, by the indices of these results."""
    from_leaves = lambda *leaves: loss(tree.unflatten(graph.structure, leaves))
    moving = tuple(k for k, index in enumerate(graph.outputs) if index >= 0)
    values = tuple(graph.values)
    first = hessian_and_gradient(from_leaves, moving, values)
    gradients: dict[int, Value] = {}
    blocks: dict[tuple[int, int], Block] = {}
    for i, k in enumerate(moving):
        u = graph.outputs[k]
        gradients[u] = first[0][i] if u not in gradients else gradients[u] + first[0][i]
        for j, m in enumerate(moving):
            v = graph.outputs[m]
            if u > v:
                continue
            block = first[1][i][j]
            blocks[u, v] = Block(block if (u, v) not in blocks else blocks[u, v].values + block)
    return gradients, blocks


def hessian_and_gradient(function: Function, argnums: tuple[int, ...], values: tuple[Value, ...]) -> tuple[Any, Any]:
    """∇ℓ and ∇²ℓ in some arguments."""
    if not argnums:
        return (), ()
    result = backpropagate(function, argnums)(*values)
    return result.gradient, result.hessian


def scalar_graph(chosen: Selection, name: str) -> Graph:
    """The graph of a function that gives one real number."""
    graph = record_graph(lambda active: chosen.call(chosen.completed(active)), chosen.values)
    if len(graph.values) != 1 or np.shape(graph.values[0]) != ():
        returned = f"{len(graph.values)} values" if len(graph.values) != 1 else str(type_of(graph.values[0]))
        raise ShapeError(f"{name} needs a function with one scalar output; it returned {returned}. Sum it first.")
    check_floating([type_of(graph.values[0])], name)
    return graph


def _seed(graph: Graph) -> dict[int, Value]:
    index = graph.outputs[0]
    return {index: np.ones((), graph.types[index].dtype)[()]} if index >= 0 else {}


def _keep(graph: Graph, groups: Sequence[int], cross: bool) -> Callable[[int, int], bool]:
    if not cross:
        return lambda u, v: False
    reach = ancestors(graph, groups)
    return lambda u, v: reach[u] & reach[v] != 0


def _groups(chosen: Selection, options: _BlockOptions) -> list[int]:
    """The number of the block of each active leaf."""
    by = options.by
    if by == "child" and (options.as_maps or not options.cross):
        raise ValueError('by="child" needs the terms between arrays: it goes neither with as_maps nor without cross.')
    if by == "leaf":
        return list(range(len(chosen.active)))
    if by != "child":
        raise ValueError(f'by={by!r} is neither "leaf" (a block for each array) nor "child" (for each entry).')
    numbers: list[int] = []
    for argument in chosen.structure.children():
        for child in argument.children() or [argument]:
            numbers += [len(set(numbers))] * child.num_leaves
    return [numbers[i] for i in chosen.active]


def _whole(eliminated: Eliminated, types: Sequence[ArrayType], i: int, j: int) -> Value:
    u, v = min(i, j), max(i, j)
    block = eliminated.blocks.get((u, v))
    if block is None:
        return np.zeros((*types[i].shape, *types[j].shape), types[i].dtype)
    values = dense(block, types[u].shape)
    if i <= j:
        return values
    leading, n = types[u].ndim, np.ndim(values)
    return np.transpose(values, (*range(leading, n), *range(leading)))


def _or_zero(value: Value, kind: ArrayType) -> Value:
    return kind.zeros() if value is None else value


def _complete(chosen: Selection, values: Sequence[Value], shape: tuple[int, ...]) -> list[Value]:
    """Values of the active leaves and zeros of the others, whose second derivative is none."""
    full: list[Value] = [np.zeros((*shape, *np.shape(leaf)), type_of(leaf).dtype)[()] for leaf in chosen.leaves]
    for i, value in zip(chosen.active, fresh(values), strict=True):
        full[i] = value
    return full


def _arrange(chosen: Selection, row: Sequence[Value], shape: tuple[int, ...]) -> Any:
    return chosen.result(_complete(chosen, row, shape))


def _rows_of_all(chosen: Selection, rows: Sequence[Any]) -> list[Any]:
    """Rows of the active leaves, and rows of zeros of the others."""
    remaining = iter(rows)
    active = set(chosen.active)
    return [
        next(remaining)
        if i in active
        else chosen.result([np.zeros((*np.shape(leaf), *np.shape(other))) for other in chosen.leaves])
        for i, leaf in enumerate(chosen.leaves)
    ]


def _blocks(chosen: Selection, eliminated: Eliminated, types: Sequence[ArrayType], options: _BlockOptions) -> Any:
    if options.by == "leaf":
        zeros: list[Any] = [np.zeros((*np.shape(leaf), *np.shape(leaf)))[()] for leaf in chosen.leaves]
        if options.as_maps:
            zeros = [_map_of(zero, int(np.size(leaf))) for zero, leaf in zip(zeros, chosen.leaves, strict=True)]
        for i, k in enumerate(chosen.active):
            if not options.as_maps:
                zeros[k] = _whole(eliminated, types, i, i)
            elif i in eliminated.products:
                zeros[k] = kronecker(*[matrix(factor, "symmetric") for factor in eliminated.products[i].factors])
            else:
                zeros[k] = _map_of(_whole(eliminated, types, i, i), types[i].size)
        return chosen.result(zeros)
    arguments: list[Any] = []
    start = 0
    number = {leaf: i for i, leaf in enumerate(chosen.active)}
    for argument in chosen.structure.children():
        parts = argument.children()
        blocks: list[Any] = []
        for child in parts or [argument]:
            leaves = range(start, start + child.num_leaves)
            start += child.num_leaves
            rows = [
                tree.unflatten(child, [_of_leaves(eliminated, types, chosen, number, k, m) for m in leaves])
                for k in leaves
            ]
            blocks.append(tree.unflatten(child, rows))
        outermost = tree.Structure((argument.nodes[0], *[None] * len(parts)), len(parts)) if parts else None
        arguments.append(blocks[0] if outermost is None else tree.unflatten(outermost, blocks))
    return arguments[0] if chosen.single else tuple(arguments)


def _map_of(block: Value, size: int) -> LinearMap:
    return matrix(np.reshape(block, (size, size)), "symmetric")


def _of_leaves(
    eliminated: Eliminated, types: Sequence[ArrayType], chosen: Selection, number: dict[int, int], k: int, m: int
) -> Value:
    if k in number and m in number:
        return _whole(eliminated, types, number[k], number[m])
    return np.zeros((*np.shape(chosen.leaves[k]), *np.shape(chosen.leaves[m])))

"""Gauss-Newton matrices of layers that are products with a matrix, as Kronecker products of means.

A layer z = s W adds to the Gauss-Newton matrix of one example the block s sᵀ ⊗ Σ_c g_c g_cᵀ, where the g_c are
the columns of a root of ∇²ℓ, carried back to z. Of many examples the block is a mean of such products, and

    A ⊗ G,    A = mean of s sᵀ,    G = mean of Σ_c g_c g_cᵀ

stands for it: exact for one example, and where s and g do not vary together. Its inverse is A⁻¹ ⊗ G⁻¹.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.gradients import Function, Transformed, vmap
from adjoint.api.jacobians import hessian
from adjoint.curvature.arrangement import one_argument
from adjoint.curvature.gauss_newton import CLIPPED, Loss, stack_pair
from adjoint.curvature.graph import Graph, Node, record_graph
from adjoint.curvature.local import pulled
from adjoint.linear.operators.kronecker import kronecker
from adjoint.linear.operators.structures import diagonal, matrix
from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.ops.arrays.rearrange import Reshape, Transpose
from adjoint.ops.calculus import total
from adjoint.program.types import Value, type_of

__all__ = ["Factors", "kronecker_factors", "kronecker_gauss_newton"]

Factors = tuple[Value, ...]  # (A, G) of a product, (a matrix,), or (the diagonal,)
LEFT, RIGHT = 1, 2  # z = s W, z = W s
WHOLE = 512  # elements of a leaf that is in no product: up to so many its block is a matrix, and above its diagonal


def kronecker_gauss_newton(loss: Loss, model: Function, *, samples: tuple[tree.Tree, tree.Tree]) -> Transformed:
    """The diagonal blocks of the Gauss-Newton matrix over samples, with Kronecker products for layers (K-FAC).

    `kronecker_gauss_newton(loss, model, samples=(x, y))(w)`, with model(w, x) and loss(z, y) of one example, is a tree
    like w of linear maps on the elements of a leaf: A ⊗ G for the matrices that are used in products (NumPy's `@`, dot,
    einsum; the rows of a matrix that is multiplied count as examples), and the exact block for all others, of which
    only the diagonal is kept where they have more than 512 elements. A matrix that is used several times gets the mean
    of its A and the sum of its G. For likelihoods of exponential families these are blocks of Fisher's matrix.

    ```python
    layer, squares = lambda W, x: x @ W, lambda z, y: 0.5 * np.sum((z - y) ** 2)
    one = (np.array([[1.0, 2.0]]), np.zeros((1, 3)))
    block = ad.curvature.kronecker_gauss_newton(squares, layer, samples=one)(np.ones((2, 3)))
    block.to_dense()[:, 0]  # → [1.0, 0.0, 0.0, 2.0, 0.0, 0.0]
    ```
    """
    return Transformed(_kronecker_gauss_newton, model, _Options(loss, samples))


@dataclass(frozen=True)
class _Options(Options):
    """The options of `kronecker_gauss_newton`."""

    loss: Function
    samples: Any


def _kronecker_gauss_newton(model: Function, options: _Options, args: Any, kwargs: Any) -> Any:
    w, model = one_argument("kronecker_gauss_newton", model, args, kwargs)
    factors = kronecker_factors(options.loss, model, w, options.samples)
    return tree.unflatten(tree.structure(w), [_map_of(parts) for parts in factors])


def _map_of(parts: Factors) -> Any:
    if len(parts) == 2:
        return kronecker(*[matrix(part, "positive semidefinite") for part in parts])
    return diagonal(parts[0]) if np.ndim(parts[0]) == 1 else matrix(parts[0], "positive semidefinite")


def kronecker_factors(loss: Loss, model: Function, w: Any, samples: Any) -> list[Factors]:
    """The factors of the blocks of all leaves of w, as means over samples."""
    xs, ys = stack_pair(samples, "samples")
    leaves, structure = tree.flatten(w)
    products: list[int] = []

    def one(x: Any, y: Any) -> list[Any]:
        call = lambda values: model(tree.unflatten(structure, values), x)
        rows, kinds = _rows(record_graph(call, leaves), lambda z: loss(z, y), len(leaves))
        products[:] = kinds
        return rows

    found = vmap(one)(xs, ys)
    return [_means(rows, kind) for rows, kind in zip(found, products, strict=True)]


def _means(rows: Any, kind: int) -> Factors:
    """A ⊗ G from the rows s and g of all samples, or G ⊗ A of W s; of other leaves the matrix, or its diagonal."""
    if kind:
        s, g = rows  # (samples, uses, inputs), (samples, columns, uses, outputs)
        inputs, outputs = np.shape(s)[-1], np.shape(g)[-1]
        flat, back = np.reshape(s, (-1, inputs)), np.reshape(g, (-1, outputs))
        A, G = flat.T @ flat / np.shape(flat)[0], back.T @ back / np.shape(g)[0]
        return (A, G) if kind == LEFT else (G, A)
    (v,) = rows  # (samples, columns, elements)
    size, count = np.shape(v)[-1], np.shape(v)[0]
    flat = np.reshape(v, (-1, size))
    return (np.sum(flat * flat, axis=0) / count,) if size > WHOLE else (flat.T @ flat / count,)


def _rows(graph: Graph, loss: Loss, count: int) -> tuple[list[Any], list[int]]:
    """For each of the first `count` inputs (s, g) of its products, or (v,), what is carried back to it; and kinds."""
    stacks, columns = _roots(graph, loss)
    names, reads = _alias(graph, count)
    uses: dict[int, list[tuple[Value, Value, int]]] = {leaf: [] for leaf in range(count)}
    with graph.reading(), np.errstate(all="ignore"):
        while graph.nodes:
            node = graph.nodes.pop()
            given = [stacks.pop(o, None) if o >= 0 else None for o in node.outputs]
            if all(g is None for g in given):
                continue
            side, name = next(((k, names[i]) for k, i in enumerate(node.inputs) if i in names), (0, None))
            use = None if name is None else _use(node, side, given[0], transposed=name[1])
            if name is not None and use is not None:
                uses[name[0]].append(use)
            for parent, g in zip(node.parents, pulled(node, given), strict=True):
                if g is not None:
                    stacks[parent] = total(stacks.get(parent), g)
    rows: list[Any] = []
    kinds: list[int] = []
    for leaf in range(count):
        sides = {side for _, _, side in uses[leaf]}
        kinds.append(sides.pop() if len(uses[leaf]) == reads[leaf] and len(sides) == 1 else 0)
        if kinds[-1]:
            s, g, _ = zip(*uses[leaf], strict=True)
            rows.append((np.concatenate(s), np.concatenate(g, axis=1)))
        else:
            kind = graph.types[leaf]
            v = stacks.get(leaf)
            v = np.zeros((columns, *kind.shape), kind.dtype) if v is None else v
            rows.append((np.reshape(v, (columns, kind.size)),))
    return rows, kinds


def _roots(graph: Graph, loss: Loss) -> tuple[dict[int, Value], int]:
    """The columns of a root of ∇²ℓ, as stacks of cotangents of the results; and how many they are."""
    flat, unravel = tree.ravel(tree.unflatten(graph.structure, graph.values))
    H = hessian(lambda v: loss(unravel(v)))(flat)
    eigenvalues, vectors = np.linalg.eigh(H)
    least = CLIPPED * len(flat) * np.finfo(H.dtype).eps * np.max(np.abs(eigenvalues))
    kept = eigenvalues > least  # a loss that is not convex gives the part of it that is
    columns = (vectors * np.where(kept, np.sqrt(np.where(kept, eigenvalues, 1.0)), 0.0)).T
    stacks: dict[int, Value] = {}
    start = 0
    for index, value in zip(graph.outputs, graph.values, strict=True):
        kind = type_of(value)
        part = np.reshape(columns[:, start : start + kind.size], (len(flat), *kind.shape)).astype(kind.dtype)
        start += kind.size
        if index >= 0:
            stacks[index] = total(stacks.get(index), part)
    return stacks, len(flat)


def _alias(graph: Graph, count: int) -> tuple[dict[int, tuple[int, bool]], list[int]]:
    """The variables that are a matrix of the inputs, or its transpose: (which, whether); and how often each is read."""
    names = {index: (index, False) for index in range(count) if graph.types[index].ndim == 2}
    reads = [0] * count
    for node in graph.nodes:
        for index in node.inputs:
            if index not in names:
                if 0 <= index < count:
                    reads[index] += 1
                continue
            leaf, transposed = names[index]
            op, shape = node.op, graph.types[index].shape
            if isinstance(op, Transpose):
                names[node.outputs[0]] = (leaf, transposed ^ (tuple(op.axes) == (1, 0)))
            elif isinstance(op, Reshape) and np.shape(node.zs[0]) == shape:
                names[node.outputs[0]] = (leaf, transposed)
            else:
                reads[leaf] += 1
    for index in graph.outputs:  # a result that is a parameter itself
        if index in names:
            reads[names[index][0]] += 1
    return names, reads


def _use(node: Node, side: int, g: Value, transposed: bool) -> tuple[Value, Value, int] | None:
    """The rows s (uses, inputs) and g (columns, uses, outputs) of a product, and on which side of it W stands."""
    letters = _letters(node)
    if letters is None or node.inputs[0] == node.inputs[1]:
        return None
    own, other, output = letters[side], letters[1 - side], letters[2]
    inner = [letter for letter in own if letter in other and letter not in output]
    outer = [letter for letter in own if letter in output and letter not in other]
    positions = [letter for letter in other if letter not in inner]
    if len(inner) != 1 or len(outer) != 1 or not set(positions) <= set(output):
        return None
    value = node.xs[1 - side]
    s = np.transpose(value, [other.index(letter) for letter in (*positions, *inner)])
    back = np.transpose(g, [0, *[1 + output.index(letter) for letter in (*positions, *outer)]])
    s = np.reshape(s, (-1, np.shape(s)[-1]))
    back = np.reshape(back, (np.shape(back)[0], -1, np.shape(back)[-1]))
    return s, back, LEFT if (own.index(inner[0]) == 0) ^ transposed else RIGHT


def _letters(node: Node) -> tuple[str, str, str] | None:
    """The indices of both operands and of the result, if the node is a sum of products of two arrays."""
    if isinstance(node.op, Einsum):
        inputs, output = node.op.spec.split("->")
        parts = inputs.split(",")
        return (parts[0], parts[1], output) if len(parts) == 2 else None
    if not isinstance(node.op, MatMul):
        return None
    dimensions = [np.ndim(x) for x in node.xs]
    stack = "abcdefgh"
    left = "t" if dimensions[0] == 1 else stack[: dimensions[0] - 2] + "it"
    right = "t" if dimensions[1] == 1 else stack[: dimensions[1] - 2] + "tj"
    if max(dimensions) > 2 and min(dimensions) > 2:
        return None  # two stacks: neither is a matrix of the inputs
    output = stack[: max(dimensions) - 2] if max(dimensions) > 2 else ""
    return left, right, output + ("i" if "i" in left else "") + ("j" if "j" in right else "")

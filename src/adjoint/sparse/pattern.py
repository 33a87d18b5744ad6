"""Sparsity patterns of Jacobians and Hessians, found by looking at the program instead of running it."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.api.function import Options
from adjoint.api.gradients import Transformed
from adjoint.base.errors import ShapeError, UnsupportedError
from adjoint.sparse import axis_rules, control_rules, element_rules  # noqa: F401  (enter their rules)
from adjoint.sparse.recording import Recorded, record_derivative, sizes_of
from adjoint.sparse.relations import Dependence, Matrix, empty, identity, stacked
from adjoint.sparse.walking import Fact, Walk, walk_program
from adjoint.transform.arguments import Argnums

LARGEST = 200_000_000  # entries of a pattern: more would not fit into memory


def pattern(
    function: Callable[..., Any], argnums: Argnums = 0, *, order: int = 1, local: bool = False, has_aux: bool = False,
    holomorphic: bool = False,
) -> Transformed:  # fmt: skip
    """Where the Jacobian of a function (order 1) or the Hessian of a scalar function (order 2) can be nonzero.

    `pattern(f)(*args)` is a `scipy.sparse.csr_array` of booleans: one row for each number in the result of f, one
    column for each number in the arguments that `argnums` names, in the order of their leaves. P[i, j] is False only
    where ∂fᵢ/∂xⱼ = 0

    * for all values of the arrays of floats among the arguments (integers, booleans and what f closes over are as
      given); the function is not run, so it must not ask a value for its truth;
    * with `local`, for the values given: a branch not taken, a factor that is zero, an element that is not the maximum
      leave no trace.

    Derivatives that cancel each other are counted as nonzero, and an operation of which nothing is known mixes all that
    it reads. The pattern of a Hessian is that of the gradient's program, made symmetric.

    A function of complex numbers may depend on them arbitrarily; for the Hessian of a complex function of them it is
    `holomorphic`.

    ```python
    result = ad.sparse.pattern(lambda x: x[1:] * x[:-1])(np.ones(3)).toarray()
    result  # → [[True, True, False], [False, True, True]]
    ```
    """
    if order not in (1, 2):
        raise ValueError(f"sparse.pattern: order is 1 (Jacobian) or 2 (Hessian), not {order}.")
    return Transformed(_pattern, function, _PatternOptions(argnums, order, local, has_aux, holomorphic))


@dataclass(frozen=True)
class _PatternOptions(Options):
    """The options of `pattern`."""

    argnums: Argnums
    order: int
    local: bool
    has_aux: bool
    holomorphic: bool


def _pattern(function: Callable[..., Any], options: _PatternOptions, args: Any, kwargs: Any) -> Matrix:
    recorded = record_derivative(
        function, options.argnums, args, kwargs, name="sparse.pattern", order=options.order,
        has_aux=options.has_aux, with_values=options.local, holomorphic=options.holomorphic, any_complex=True,
    )  # fmt: skip
    return pattern_of(recorded, order=options.order, local=options.local)


def pattern_of(recorded: Recorded, *, order: int = 1, local: bool = False) -> Matrix:
    """The pattern of a program: its outputs by its selected inputs."""
    types = recorded.program.input_types
    sizes = [n if s else 0 for n, s in zip(sizes_of(types), recorded.selected, strict=True)]
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    total = int(ends[-1])
    every = identity(total)
    facts = [
        Fact(t, recorded.values[i] if local and recorded.values is not None else None,
             Dependence.of(every[ends[i] : ends[i + 1]]) if s else None)
        for i, (t, s) in enumerate(zip(types, recorded.selected, strict=True))
    ]  # fmt: skip
    rows = [_write_out(f, total) for f in walk_program(Walk(total, local), recorded.program, facts)]
    matrix = stacked(rows) if rows else empty(0, total)
    if order == 2:
        if matrix.shape[0] != matrix.shape[1]:
            raise ShapeError(
                f"sparse.pattern: the gradient has {matrix.shape[0]} numbers, the arguments {matrix.shape[1]}."
            )
        matrix = matrix + matrix.T.tocsr()
    matrix.sum_duplicates()
    matrix.sort_indices()
    return matrix


def _write_out(fact: Fact, inputs: int) -> Matrix:
    size = fact.size
    if size is None:
        raise UnsupportedError(
            f"sparse.pattern: a result has the type {fact.type}, whose size is known only when the program runs. "
            "Use local=True."
        )
    if fact.reach is None:
        return empty(size, inputs)
    entries = fact.reach.entries * (size if fact.reach.uniform else 1)
    if min(entries, size * inputs) > LARGEST:
        raise UnsupportedError(
            f"sparse.pattern: {size} results depend on {inputs} numbers in so many ways that the pattern is as good as "
            "full. Use ad.jacobian with chunk_size, or products (ad.jvp, ad.vjp) instead."
        )
    return fact.reach.matrix(size)

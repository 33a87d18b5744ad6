"""cond and switch: one of several functions, chosen by a value."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.control_flow.bodies import Body, check_functions, flatten_values, types_of
from adjoint.base.errors import DtypeError, ShapeError, TreeError
from adjoint.base.numpy_warnings import with_lines_of_users
from adjoint.base.source import user_facing
from adjoint.conversion.driver import prepare
from adjoint.ops.control.cond import Cond
from adjoint.program.program import Program
from adjoint.program.record import record_program
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.transform.arguments import lent, own
from adjoint.transform.generators import GeneratorArguments


@user_facing
def cond(
    predicate: tree.Tree,
    true_branch: Callable[..., tree.Tree],
    false_branch: Callable[..., tree.Tree],
    *operands: tree.Tree,
) -> tree.Tree:
    """true_branch(*operands) if predicate else false_branch(*operands).

    With a plain predicate only the chosen branch runs. With a traced one both are traced; under `vmap` each batch
    element takes its own branch.

    ```python
    relu_like = lambda x: ad.cond(x > 0, lambda x: x**2, lambda x: -x, x)
    ad.grad(relu_like)(3.0), ad.grad(relu_like)(-3.0)  # → (6.0, -1.0)
    ```
    """
    check_functions("cond", "cond(predicate, f, g, *operands)", true_branch=true_branch, false_branch=false_branch)
    if callable(predicate):
        raise TypeError(
            "cond: the predicate is a truth value, not a function. Write cond(x > 0, f, g, x), with the "
            "predicate first."
        )
    if np.shape(predicate) != ():
        raise ShapeError(
            f"cond: the predicate must be one truth value; it has shape {np.shape(predicate)}. Use np.where to choose "
            "by element."
        )
    if not isinstance(predicate, Tracer) or predicate._trace.counts:
        return own(prepare(true_branch if predicate else false_branch)(*lent(operands)), tree.leaves(operands))
    holds: Any = predicate
    index = np.where(holds if holds.dtype.kind == "b" else np.not_equal(holds, 0), 0, 1)
    return _choose("cond", index, [true_branch, false_branch], operands)


@user_facing
def switch(index: tree.Tree, branches: Sequence[Callable[..., tree.Tree]], *operands: tree.Tree) -> tree.Tree:
    """branches[index](*operands); the index is clipped to the number of branches.

    ```python
    ad.switch(1, [np.sin, np.cos, np.exp], 0.0)  # → 1.0
    ```
    """
    if not branches:
        raise ValueError("switch: needs at least one branch.")
    if np.shape(index) != ():
        raise ShapeError(
            f"switch: the index must be one integer; it has shape {np.shape(index)}. Map it with ad.vmap, or "
            "use np.select."
        )
    if not isinstance(index, Tracer) or index._trace.counts:
        chosen: Any = index
        taken = prepare(branches[min(max(operator.index(chosen), 0), len(branches) - 1)])
        return own(taken(*lent(operands)), tree.leaves(operands))
    if index.dtype.kind not in "iu":
        raise DtypeError(f"switch: the index must be an integer, not {index.type}.")
    return _choose("switch", index, branches, operands)


@with_lines_of_users
def _choose(name: str, index: Value, branches: Sequence[Callable[..., Any]], operands: tuple[Any, ...]) -> Any:
    values, structure = flatten_values(operands, f"{name}: operand")
    types = types_of(values)
    generators = GeneratorArguments(name, operands, structure)
    traced = [Body(b, structure, types, f"a branch of {name}", generators) for b in branches]
    for other in traced[1:]:
        if other.links != traced[0].links:
            raise TreeError(
                f"{name}: one branch returns the random generator it was given, and another one a different generator."
            )
        tree.check_same_structure(f"{name}: the branches return different trees", traced[0].result, other.result)
        for path, a, b in zip(
            traced[0].result.paths(), traced[0].program.output_types, other.program.output_types, strict=False
        ):
            if (a.shape, a.dtype) != (b.shape, b.dtype):
                raise ShapeError(
                    f"{name}: one branch returns {a} for result{path}, another {b}. Make them agree, e.g. with "
                    ".astype or np.broadcast_to."
                )
    captured = [c for t in traced for c in t.captured]
    programs, start = [], 0
    for t in traced:
        programs.append(_with_inputs(t.program, len(values), start, captured))
        start += len(t.captured)
    out = Cond(tuple(programs))(index, *values, *captured)
    n = traced[0].result.num_leaves
    generators.write_back(out[n:])
    result = tree.unflatten(traced[0].result, out[:n])
    generators.join(traced[0].links, result)
    return result


def _with_inputs(program: Program, own: int, start: int, captured: Sequence[Tracer]) -> Program:
    """The program with the captured values of all branches as inputs, of which it reads its own."""
    kinds = types_of(captured)
    mine = range(start, start + len(program.inputs) - own)
    return record_program(
        lambda *flat: program(*flat[:own], *[flat[own + i] for i in mine]), [*program.input_types[:own], *kinds]
    )[0]

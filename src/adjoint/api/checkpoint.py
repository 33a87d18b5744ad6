"""`checkpoint`: functions that reverse mode runs again instead of keeping what they computed (rematerialization)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

import numpy as np

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.gradients import Transformed
from adjoint.base.source import user_facing
from adjoint.ops.checkpointing.policies import Chosen, Everything, Intermediate, Mark, Policy, Products
from adjoint.ops.control.remat import Checkpoint
from adjoint.program.program import Program
from adjoint.program.record import RecordTracer, is_symbolic, record_program
from adjoint.program.trace import Tracer, bind, primal
from adjoint.program.types import Value, type_of
from adjoint.transform.arguments import plain_value
from adjoint.transform.drivers import checked_leaf
from adjoint.transform.generators import GeneratorArguments, leaves_of

__all__ = ["checkpoint", "checkpoint_name"]

Choice: TypeAlias = Policy | str | Callable[[Intermediate], object] | None


@overload
def checkpoint(function: Callable[..., tree.Tree], *, policy: Choice = None) -> Transformed: ...
@overload
def checkpoint(*, policy: Choice = None) -> Callable[[Callable[..., tree.Tree]], Transformed]: ...
@user_facing
def checkpoint(
    function: Callable[..., tree.Tree] | None = None, *, policy: Choice = None
) -> Transformed | Callable[[Callable[..., tree.Tree]], Transformed]:
    """The same function, whose intermediate values reverse mode does not keep: it is run again on the way back.

    Costs one more evaluation, saves the memory of everything between its arguments and its results. `policy` says what
    may be kept all the same: "nothing" (as None), "everything", "products" (results of matrix products and
    convolutions), a policy of `ad.memory` (values that `checkpoint_name` has named, files), or a function that says
    yes or no to each `ad.memory.Intermediate`.

    ```python
    block = ad.checkpoint(lambda x: np.sum(np.sin(np.cos(x))))
    np.allclose(ad.grad(block)(np.ones(3)), ad.grad(block.function)(np.ones(3)))  # → True
    ```
    """
    if function is None:
        return lambda f: checkpoint(f, policy=policy)
    return Transformed(_checkpoint, function, _CheckpointOptions(_policy(policy)))


@user_facing
def checkpoint_name(value: tree.Tree, name: str) -> tree.Tree:
    """The same value (a tree), by a name that policies of `checkpoint` know: policy=ad.memory.names(name).

    ```python
    layer = lambda x: np.sum(np.sin(ad.checkpoint_name(np.tanh(x), "hidden")))
    ad.grad(ad.checkpoint(layer, policy=ad.memory.names("hidden")))(0.0)  # → 1.0
    ```
    """
    return tree.map(lambda leaf: bind(Mark(name), leaf) if isinstance(leaf, Tracer) else leaf, value)


def _policy(policy: Any) -> Policy | None:
    if policy is None or policy == "nothing":
        return None
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str) and policy in _POLICIES:
        return _POLICIES[policy]
    if callable(policy):
        return Chosen(policy)
    raise ValueError(
        f'checkpoint: policy={policy!r} is not known. Give "nothing", "everything", "products", a policy of '
        "ad.memory (names, all_but_names, offload), or a function of an ad.memory.Intermediate."
    )


_POLICIES: dict[str, Policy] = {"everything": Everything(), "products": Products()}


@dataclass(frozen=True)
class _CheckpointOptions(Options):
    """The options of `checkpoint`."""

    policy: Policy | None


def _checkpoint(function: Callable[..., Any], options: _CheckpointOptions, args: Any, kwargs: Any) -> Any:
    policy = options.policy
    if isinstance(policy, Everything):
        return function(*args, **kwargs)
    leaves, structure = tree.flatten((args, kwargs))
    arrays = [
        i
        for i, leaf in enumerate(leaves)
        if isinstance(leaf, Tracer | np.ndarray | np.generic)  # Python's numbers stay what they are, and give way
    ]
    values = [v if isinstance(v := leaves[i], Tracer) else plain_value(v, "checkpoint: an argument") for i in arrays]
    found: list[Any] = []
    generators = GeneratorArguments("checkpoint", (args, kwargs), structure)

    def flat(*given: Value) -> list[Value]:
        full = list(leaves)
        for i, value in zip(arrays, given, strict=True):
            full[i] = value
        positional, named = tree.unflatten(structure, full)
        copies = generators.copies((positional, named))
        out, made = tree.flatten(function(*positional, **named))
        out = [checked_leaf(leaf) for leaf in (*out, *leaves_of(copies))]
        found.append((made, out))
        return out

    def recorded(given: list[Value] | None) -> tuple[Program, list[Tracer]]:
        found.clear()
        return record_program(flat, types, values=given, purpose="a checkpointed function")

    stripped = [primal(v) for v in values]
    types = [v.type if isinstance(v, RecordTracer) else type_of(v) for v in values]
    # running on values that are not known would only be recorded twice
    known = not any(is_symbolic(v) for v in stripped)
    runs = known and policy is None and not any(isinstance(v, RecordTracer) for v in stripped)
    if runs or not known:
        program, captured = recorded(stripped if known else None)
    else:  # what is kept is found when the program runs: values are needed only if Python asks for them
        try:
            program, captured = recorded(None)
        except Exception:
            program, captured = recorded(stripped)
    made, outputs = found[0]
    op = Checkpoint(program, policy)
    if runs:
        plain = [o._value if isinstance(o, RecordTracer) else primal(o) for o in outputs]
        op.remember(
            [*stripped, *[primal(c) for c in captured]],
            [np.asarray(v)[()] if isinstance(v, bool | int | float | complex) else v for v in plain],
        )
    results = op(*values, *captured)
    generators.write_back(results[made.num_leaves :])
    return tree.unflatten(made, results[: made.num_leaves])

"""`checkpoint`: functions that reverse mode runs again instead of keeping what they computed (rematerialization)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

import numpy as np

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.gradients import Transformed
from adjoint.base.records import record
from adjoint.base.source import user_facing
from adjoint.ops.checkpointing.policies import Chosen, Everything, Intermediate, Mark, Policy, Products
from adjoint.ops.control.remat import Checkpoint
from adjoint.ops.elementwise.weak_types import strengthened
from adjoint.program.record import Record, RecordTracer, is_symbolic
from adjoint.program.trace import Tracer, bind, primal
from adjoint.program.types import Value, type_of
from adjoint.transform.arguments import fresh, plain_value
from adjoint.transform.generators import GeneratorArguments
from adjoint.transform.record_function import RecordedFunction, bind_leaves, record_function

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
    """The same function, whose intermediate values reverse mode does not keep: the backward pass runs it again.

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


@record
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
    generators = GeneratorArguments("checkpoint", (args, kwargs), structure)
    bind = bind_leaves(function, leaves, structure, arrays)

    def record(given: Sequence[Value]) -> RecordedFunction:
        trace = Record(concrete=given is not unknown, purpose="a checkpointed function", runs_again=False)
        inputs = [trace.input(t, v) for t, v in zip(types, given, strict=True)]
        return record_function(function, bind, trace, inputs, generators, may_draw=True)

    stripped = [primal(v) for v in values]
    unknown = [None] * len(values)
    types = [v.type if isinstance(v, RecordTracer) else type_of(v) for v in values]
    # running on values that are not known would only be recorded twice
    known = not any(is_symbolic(v) for v in stripped)
    runs = known and policy is None and not any(isinstance(v, RecordTracer) for v in stripped)
    if runs or not known:
        recorded = record(stripped if known else unknown)
    else:  # what is kept is decided when the program runs: values are needed only if Python asks for them
        try:
            recorded = record(unknown)
        except Exception:
            recorded = record(stripped)
    op = Checkpoint(strengthened(recorded.program), policy)
    if runs:
        op.remember(
            [*stripped, *[primal(c) for c in recorded.captured]],
            [np.asarray(v)[()] if isinstance(v, bool | int | float | complex) else v for v in recorded.values],
        )
    results, n = op(*values, *recorded.captured), recorded.structure.num_leaves
    generators.write_back(results[n:])
    return tree.unflatten(recorded.structure, fresh(results[:n], values))

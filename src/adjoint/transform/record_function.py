"""One way from a function to a program: all drivers that write down what a user function does go through here.

record, inputs    what writes, and its input variables: `record.input(type, value)`
bind(xs)          (function, args, kwargs) to call, with these values of the inputs
generators        the random generators among the arguments: they are threaded through the program
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, TypeAlias, cast

import numpy as np

from adjoint import tree
from adjoint.base.records import record
from adjoint.base.source import here
from adjoint.program.freezing import without_draws
from adjoint.program.program import Program
from adjoint.program.record import Record, RecordTracer
from adjoint.program.trace import Tracer, primal, running
from adjoint.program.types import Value
from adjoint.transform.arguments import run
from adjoint.transform.drivers import check_leaf
from adjoint.transform.generators import GeneratorArguments, leaves_of
from adjoint.tree.containers import Keys

__all__ = ["NO_GENERATORS", "RecordedFunction", "bind_leaves", "record_function"]

Bind: TypeAlias = Callable[[Sequence[Value]], tuple[Callable[..., Any], Sequence[Any], dict[str, Any]]]
NO_GENERATORS = GeneratorArguments("record_function", ())


@record
class RecordedFunction:
    """What a function does: its outputs are the leaves of the result, then those of the random generators."""

    program: Program
    structure: Any  # of the result
    leaves: list[Value]  # the outputs as they were recorded
    constants: dict[int, Any]  # the leaves of the result that are no outputs, by number
    captured: list[Tracer]  # values of outer traces that the function closes over: the last inputs of the program
    arguments: list[RecordTracer]  # the inputs as the function has left them: it may have assigned to them
    links: list[int | None]  # which random generators in the result are arguments
    draws: bool  # whether it drew from a random generator among the arguments

    @property
    def values(self) -> list[Value]:
        """The outputs of a record that carries values along, as they are outside of it."""
        return [leaf._value if isinstance(leaf, RecordTracer) else primal(leaf) for leaf in self.leaves]


def bind_leaves(function: Callable[..., Any], leaves: Sequence[Any], structure: Any, numbers: Sequence[int]) -> Bind:
    """Call a function with (args, kwargs) of these leaves, those of these numbers replaced by the inputs."""

    def bind(inputs: Sequence[Value]) -> tuple[Callable[..., Any], Sequence[Any], dict[str, Any]]:
        full = list(leaves)
        for number, value in zip(numbers, inputs, strict=True):
            full[number] = value
        return function, *tree.unflatten(structure, full)

    return bind


def _with_known_keys(leaves: list[Any], structure: tree.Structure) -> tuple[list[Any], tree.Structure]:
    """A result with plain numbers for traced keys of dicts: where a key was hashed it was asked for."""
    if not any(node is not None and _is_traced(node[2]) for node in structure.nodes):
        return leaves, structure
    nodes = [node if node is None else (node[0], node[1], _known(node[2])) for node in structure.nodes]
    return tree.flatten(tree.Structure(tuple(nodes), structure.num_leaves).unflatten(leaves))


def _is_traced(key: Any) -> bool:
    return isinstance(key, RecordTracer) or (type(key) in (tuple, Keys) and any(map(_is_traced, key)))


def _known(key: Any) -> Any:
    if type(key) is Keys:
        keys = Keys(map(_known, key))
        keys.inserted = tuple(map(_known, key.inserted))
        return keys
    if type(key) is tuple:
        return tuple(map(_known, cast(Any, key)))
    return cast(Record, key._trace).ask(key, "value", _number) if isinstance(key, RecordTracer) else key


def _number(value: Value) -> Any:
    return np.asarray(value).item()


def record_function(
    function: Callable[..., Any],
    bind: Bind,
    record: Record,
    inputs: Sequence[RecordTracer],
    generators: GeneratorArguments = NO_GENERATORS,
    *,
    carried: int = 0,
    is_output: Callable[[Any], bool] | None = None,
    may_draw: bool = False,
    staged: bool = False,
) -> RecordedFunction:
    """Run a function on the inputs of a record, and write down what it does.

    The first `carried` random generators are passed on in the result, so they are not threaded beside it. Leaves of the
    result that are not `is_output` are constants; None: all are outputs. Draws from generators that are no arguments
    are refused unless the function `may_draw`, since the program would repeat them. `staged`: what is computed from
    outer values alone is part of the program, too.
    """
    copies: list[Any] = []
    before: list[Value] = []
    arguments = [x.snapshot() for x in inputs]  # they may be assigned to inside

    def call() -> Any:
        bound, args, kwargs = bind(arguments)
        copies.extend(generators.copies((args, kwargs)))
        before.extend(leaves_of(copies))
        return bound(*args, **kwargs)

    with (
        nullcontext() if may_draw else without_draws(function, record.purpose),
        running(record),
        record.staging() if staged else nullcontext(),
    ):
        record.started = here()
        result = run(record, call)
        leaves, structure = _with_known_keys(*tree.flatten(result))
        constants = {i: leaf for i, leaf in enumerate(leaves) if is_output is not None and not is_output(leaf)}
        computed = [leaf for i, leaf in enumerate(leaves) if i not in constants]
        outputs = [check_leaf(leaf) for leaf in (*computed, *leaves_of(copies[carried:]))]
        program, captured = record.program(inputs, outputs)
    return RecordedFunction(
        program,
        structure,
        outputs,
        constants,
        captured,
        arguments,
        generators.links(copies, result),
        any(a is not b for a, b in zip(leaves_of(copies), before, strict=True)),
    )

"""The functions that control flow is given, as programs: traced once over the leaves of trees; and what is carried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError, TreeError
from adjoint.conversion.driver import Converted, prepare, run_again
from adjoint.ops.elementwise.weak_types import strengthened
from adjoint.program.program import Program
from adjoint.program.record import Record
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.arguments import plain_value
from adjoint.transform.generators import GeneratorArguments, leaves_of
from adjoint.transform.record_function import record_function


class Body:
    """A function as a program over leaves: the program, the values it closes over, and the structure of its result.

    The leaves of the random generators among the arguments, from number `threaded` on, stand behind the result as the
    function leaves them.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        structure: Any,
        types: Sequence[ArrayType],
        purpose: str,
        generators: GeneratorArguments,
        threaded: int = 0,
    ) -> None:
        run_again(lambda f: self._trace(f, structure, types, purpose, generators, threaded), prepare(function))

    def _trace(
        self, function: Callable[..., Any], structure: Any, types: Sequence[ArrayType], purpose: str,
        generators: GeneratorArguments, threaded: int,
    ) -> None:  # fmt: skip
        record = Record(purpose=purpose)
        call = partial(call_checked, _CALLS.get(purpose, "f(*operands)"), purpose, function)
        # both branches of a cond are traced for each call, so their numbers are new; a body runs more than once
        is_branch = purpose.startswith("a branch")
        recorded = record_function(
            function,
            lambda leaves: (call, tree.unflatten(structure, leaves), {}),
            record,
            [record.input(t) for t in types],
            generators,
            carried=threaded,
            may_draw=is_branch,
            staged=is_branch,
        )
        self.program = strengthened(recorded.program)
        self.captured = recorded.captured
        self.result = recorded.structure
        self.links = recorded.links  # which random generators in the result are arguments
        self.draws = recorded.draws  # whether it drew from one


def call_checked(call: str, purpose: str, function: Callable[..., Any], *args: Any) -> Any:
    """function(*args); when it takes other arguments, the error says how it is called."""
    try:
        return function(*args)
    except TypeError as problem:
        step = problem.__traceback__ and problem.__traceback__.tb_next
        while step is not None and step.tb_frame.f_code is Converted.__call__.__code__:
            step = step.tb_next
        if step is not None or "argument" not in str(problem):
            raise
        raise TypeError(f"{purpose} is called as {call}: {problem}.") from None


# how the functions of each form are called
_CALLS = {
    "the body of scan": "body(carry, x)",
    "the condition of while_loop": "condition(value)",
    "the body of while_loop": "body(value)",
    "the inverse of a body": "inverse(carry, y)",
}


def check_functions(name: str, call: str, **functions: Any) -> None:
    """Refuse what is no function where one is needed: the arguments may stand in another order."""
    for role, function in functions.items():
        if not callable(function):
            raise TypeError(f"{name}: {role} must be a function, not a {type(function).__name__}. Write {call}.")


def flatten_values(value: Any, what: str) -> tuple[list[Value], Any]:
    """Leaves as arrays: Python numbers become NumPy scalars of the usual types."""
    leaves, structure = tree.flatten(value)
    names = structure.paths()
    out = [plain_value(leaf, f"{what}{name}") for leaf, name in zip(leaves, names, strict=True)]
    return [np.asarray(v)[()] if isinstance(v, bool | int | float | complex) else v for v in out], structure


def types_of(values: Sequence[Value]) -> list[ArrayType]:
    return [ArrayType(t.shape, t.dtype) for t in [type_of(v) for v in values]]


def check_carry(name: str, before: Any, types: Sequence[ArrayType], after: Any, found: Sequence[ArrayType]) -> None:
    try:
        tree.check_same_structure(
            f"{name}: the carry changes its structure", before, after, "the initial carry", "what the body returns"
        )
    except TreeError:
        raise
    for path, a, b in zip(before.paths(), types, found, strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise ShapeError(
                f"{name}: carry{path} enters the body as {a} and leaves it as {b}. The carry must keep its type: "
                f"start with a value of type {b} (e.g. {_suggest(b)}), or convert in the body."
            )


def _suggest(kind: ArrayType) -> str:
    return (
        f"np.zeros({kind.shape}, {kind.dtype})"
        if kind.shape
        else {"f": "0.0", "c": "0j", "i": "0", "b": "False"}.get(kind.dtype.kind, "0")
    )


def captured_first(program: Program, own: int, captured: int) -> Program:
    return Program(
        program.inputs[own : own + captured] + program.inputs[:own],
        program.equations,
        program.outputs,
        program.constants,
    )


def write_back_carry(generators: GeneratorArguments, own: int, traced: Body, last: Any) -> Any:
    """The last carry, where the random generators that the body passed on are the caller's own, moved on."""
    kept = traced.links[: len(generators.copies(last))]
    for copy, link in zip(generators.copies(last), kept):
        if link is not None and link < own:
            generators.write_back(leaves_of([copy]), [link])
    for number in set(range(own)) - set(kept):  # used up inside, and another one passed on
        generators.positions[number].state.renew()
    generators.join(kept, last)
    return last

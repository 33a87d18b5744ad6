"""scan, while_loop, fori_loop: loops that stay loops, whose bodies are traced once."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from adjoint import tree
from adjoint.api.control_flow.bodies import (
    Body,
    call_checked,
    captured_first,
    check_carry,
    check_functions,
    flatten_values,
    types_of,
    write_back_carry,
)
from adjoint.base.errors import ShapeError, TraceError, TreeError
from adjoint.base.numpy_warnings import with_lines_of_users
from adjoint.base.source import user_facing
from adjoint.conversion.driver import prepare
from adjoint.ops.checkpointing.invert_program import attach_inverse
from adjoint.ops.checkpointing.invertible import Invertible
from adjoint.ops.checkpointing.schedule import Disk, Plan, plan_of
from adjoint.ops.control.counted_loop import inner
from adjoint.ops.control.progress_effects import report_progress
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.ops.elementwise.weak_types import Weaken
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.transform.arguments import fresh
from adjoint.transform.generators import GeneratorArguments

Checkpoint: TypeAlias = int | str | Plan | Disk | Invertible | None
MOST_LISTED = 1 << 20  # numbers of iterations that stand in an array; beyond, they are counted


@user_facing
def scan(
    body: Callable[..., tree.Tree],
    init: tree.Tree,
    xs: tree.Tree = None,
    length: int | None = None,
    *,
    reverse: bool = False,
    checkpoint: Checkpoint = None,
    progress: bool | str = False,
) -> tuple[tree.Tree, tree.Tree]:
    """carry, y = body(carry, x) for each x along the first axis of `xs`; returns (last carry, ys stacked).

    Both are trees. `xs` may be None when `length` is given. With `reverse` the loop runs from the last x to the first.
    `checkpoint` says what reverse mode keeps: None all that it will read; a number S so many carries at once, and turns
    run again, as few as possible; "full", "halving", or a plan of `ad.memory`. `progress`, a text, shows the
    iterations.

    ```python
    total = lambda x: ad.scan(lambda s, x: (s + x**2, s), 0.0, x)
    total(np.array([1.0, 2.0, 3.0]))  # → (14.0, [0.0, 1.0, 5.0])
    ad.grad(lambda x: total(x)[0])(np.array([1.0, 2.0, 3.0]))  # → [2.0, 4.0, 6.0]
    ```
    """
    check_functions("scan", "scan(body, init, xs)", body=body)
    return _scan("scan", body, init, xs, length, reverse, checkpoint, progress)


@with_lines_of_users
def _scan(
    name: str, body: Callable[..., Any], init: Any, xs: Any, length: int | None, reverse: bool, checkpoint: Any,
    progress: bool | str,
) -> tuple[Any, Any]:  # fmt: skip
    carry, carry_structure = flatten_values(init, f"{name}: init")
    arrays, xs_structure = flatten_values(xs, f"{name}: xs")
    sizes: set[Any] = {np.shape(a)[0] if np.ndim(a) else None for a in arrays}
    if None in sizes:
        raise ShapeError(
            "scan: every array in xs needs a first axis to walk along; one of them is a number. Put it into the "
            "carry, or close over it."
        )
    if len(sizes) > 1 or (length is not None and sizes and sizes != {length}):
        raise ShapeError(
            f"scan: the first axes of xs have sizes {' and '.join(map(str, sorted(sizes)))}"
            f"{f', but length is {length}' if length is not None else ''}. Every array in xs has one entry for each "
            "iteration: cut them to one length."
        )
    if length is None and not sizes:
        raise ShapeError("scan: without xs, give length=… (the number of iterations).")
    iterations = length if length is not None else sizes.pop()
    if progress:
        rest = (init, xs, length, reverse, checkpoint, False)
        return report_progress(progress, iterations, body, lambda step: _scan(name, step, *rest))
    structure = tree.structure((tree.unflatten(carry_structure, carry), tree.unflatten(xs_structure, arrays)))
    types, kinds = types_of(carry), [inner(t) for t in types_of(arrays)]
    generators, own = GeneratorArguments(name, (init, xs)), len(GeneratorArguments(name, init).positions)
    traced = Body(body, structure, [*types, *kinds], f"the body of {name}", generators, own)
    n = len(carry)
    try:
        out_carry, out_ys = _pair_structure(traced.result)
    except TreeError:
        made = tree.unflatten(traced.result, [v.type for v in traced.program.outputs[: traced.result.num_leaves]])
        raise TreeError(
            f"scan: the body must return a pair (carry, y); it returned {made}. Return carry, None if there is no y."
        ) from None
    outs = traced.program.output_types
    check_carry(name, carry_structure, types, out_carry, outs[:n])
    program = captured_first(traced.program, n + len(arrays), len(traced.captured))
    constants: list[Value] = list(traced.captured)
    plan: Any
    if isinstance(checkpoint, Invertible):
        inverse = None
        if checkpoint.inverse is not None:
            inverse = Body(
                checkpoint.inverse, structure, [*types, *kinds], "the inverse of a body", GeneratorArguments(name, ())
            )
            check_carry(f"{name}: the inverse", carry_structure, types, inverse.result, inverse.program.output_types)
            constants += inverse.captured
        program, plan = attach_inverse(program, n, len(arrays), None if inverse is None else inverse.program)
    else:
        plan = plan_of(checkpoint, True, name)
    out = Scan(program, len(constants), n, iterations, reverse, plan)(*constants, *carry, *arrays)
    out = fresh(out, [*carry, *arrays])
    m = n + out_ys.num_leaves
    generators.write_back(out[m:], range(own, len(generators.positions)))
    return write_back_carry(generators, own, traced, tree.unflatten(carry_structure, out[:n])), tree.unflatten(
        out_ys, out[n:m]
    )


def _pair_structure(structure: Any) -> tuple[Any, Any]:
    """The structures of the two parts of a pair."""
    probe = tree.unflatten(structure, list(range(structure.num_leaves)))
    if not isinstance(probe, tuple) or len(probe) != 2:
        raise TreeError("not a pair")
    return tree.structure(probe[0]), tree.structure(probe[1])


@user_facing
def while_loop(
    condition: Callable[[tree.Tree], tree.Tree],
    body: Callable[[tree.Tree], tree.Tree],
    init: tree.Tree,
    *,
    checkpoint: Checkpoint = None,
    progress: bool | str = False,
) -> tree.Tree:
    """value = init; while condition(value): value = body(value); return value.

    Differentiable in both modes, to any order. `checkpoint` says what reverse mode keeps: None all that it will read; a
    number S (or "online") so many values at once, chosen on the way; "full" the first. `progress`, a text, shows
    iterations.

    ```python
    halve = lambda x: ad.while_loop(lambda y: y > 1.0, lambda y: y / 2, x)
    ad.value_and_grad(halve)(10.0)  # → (0.625, 0.0625)
    ```
    """
    check_functions("while_loop", "while_loop(condition, body, init)", condition=condition, body=body)
    return _while("while_loop", condition, body, init, checkpoint, progress)


def try_until(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """`while_loop` for attempts, of which the first is as a rule the last: elements of a batch make them together."""
    return _while("while_loop", condition, body, init, None, False, once=True)


@with_lines_of_users
def _while(
    name: str, condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, checkpoint: Any,
    progress: bool | str, once: bool = False,
) -> Any:  # fmt: skip
    if progress:
        return report_progress(
            progress, None, body, lambda step: _while(name, condition, step, init, checkpoint, False)
        )
    carry, structure = flatten_values(init, f"{name}: init")
    types = types_of(carry)
    single = tree.structure((tree.unflatten(structure, carry),))
    generators = GeneratorArguments(name, init, structure)
    test = Body(condition, single, types, f"the condition of {name}", generators, len(generators.positions))
    if test.draws:
        raise TraceError(
            f"{name}: the condition drew random numbers. Draw them in the body, and carry what the condition needs."
        )
    step = Body(body, single, types, f"the body of {name}", generators, len(generators.positions))
    if len(test.program.outputs) != 1 or test.program.output_types[0].shape != ():
        raise ShapeError(
            f"{name}: the condition must return one truth value; it returned "
            f"{', '.join(str(t) for t in test.program.output_types) or 'nothing'}. Use np.any or np.all of an array."
        )
    check_carry(name, structure, types, step.result, step.program.output_types)
    n = len(carry)
    loop = While(
        captured_first(test.program, n, len(test.captured)),
        captured_first(step.program, n, len(step.captured)),
        len(test.captured),
        len(step.captured),
        plan_of(checkpoint, False, name),
        once,
    )
    last = tree.unflatten(structure, fresh(loop(*test.captured, *step.captured, *carry), carry))
    return write_back_carry(generators, len(generators.positions), step, last)


@user_facing
def fori_loop(
    lower: tree.Tree,
    upper: tree.Tree,
    body: Callable[[tree.Tree, tree.Tree], tree.Tree],
    init: tree.Tree,
    *,
    checkpoint: Checkpoint = None,
    progress: bool | str = False,
) -> tree.Tree:
    """value = init; for i in range(lower, upper): value = body(i, value); return value.

    The bounds may be traced. In the types of results i counts as an int of Python's: x * i has the dtype of x.
    `checkpoint` is that of `scan`, or of `while_loop` if a bound is traced.

    ```python
    power = lambda x, n: ad.fori_loop(0, n, lambda i, y: y * x, 1.0)
    ad.value_and_grad(power)(2.0, 5)  # → (32.0, 80.0)
    ```
    """
    name = "fori_loop"
    check_functions(name, "fori_loop(lower, upper, body, init)", body=body)
    carry, structure = flatten_values(init, f"{name}: init")
    types = types_of(carry)
    body = prepare(body)

    def run_body(i: Value, value: Any) -> Any:
        new = call_checked("body(i, value)", f"the body of {name}", body, Weaken()(i), value)
        result, after = flatten_values(new, f"{name}: the body's result")
        check_carry(name, structure, types, after, types_of(result))
        return new  # itself: random generators in it are those that were handed in

    if not isinstance(lower, Tracer) and not isinstance(upper, Tracer):
        start, stop = _bound("lower", lower), _bound("upper", upper)
        if stop - start > MOST_LISTED and not isinstance(checkpoint, Invertible):  # whose inverse knows no counter
            count = lambda state, _: ((state[0] + 1, run_body(*state)), None)
            state = (np.int64(start), init)
            return _scan(name, count, state, None, stop - start, False, checkpoint, progress)[0][1]
        iterations = np.arange(start, max(start, stop))
        return _scan(name, lambda c, i: (run_body(i, c), None), init, iterations, None, False, checkpoint, progress)[0]
    first = lower if isinstance(lower, Tracer) else np.int64(lower)
    goes_on, step = lambda state: state[0] < upper, lambda state: (state[0] + 1, run_body(*state))
    return _while(name, goes_on, step, (first, init), checkpoint, progress)[1]


def _bound(role: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"fori_loop: {role} must be an integer; got {value!r}. Convert it with int(), or use while_loop."
        ) from None

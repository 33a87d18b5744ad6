"""Control flow as functions: cond, switch, scan, while_loop, fori_loop, map, associative_scan.

All transformations pass through them.

Plain Python control flow works too in every eager transformation; these are for loops that should stay loops, and for
traced programs. Bodies are traced once, so a value-dependent `if` inside them has to be a `cond`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, TypeAlias

import numpy as np

from adjoint import tree
from adjoint.base.errors import DtypeError, ShapeError, TraceError, TreeError
from adjoint.base.source import user_facing
from adjoint.ops.control import Cond
from adjoint.ops.inverses import undoable
from adjoint.ops.loops import While
from adjoint.ops.prefixes import prefixes
from adjoint.ops.scan import Scan
from adjoint.ops.slots import Disk, Plan, plan_of
from adjoint.ops.telling import told
from adjoint.ops.turns import inner
from adjoint.ops.undo import Invertible
from adjoint.program.freezing import without_draws
from adjoint.program.program import Program
from adjoint.program.record import record_program
from adjoint.program.trace import Traced
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.arguments import fresh, plain_value
from adjoint.transform.drivers import checked_leaf
from adjoint.transform.states import Held, leaves_of

Checkpoint: TypeAlias = int | str | Plan | Disk | Invertible | None

__all__ = ["associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop"]


class _Traced:
    """A function as a program over leaves: the program, the values it closes over, and the structure of its result.

    The leaves of the random generators among the arguments, from number `threaded` on, stand behind the result as the
    function leaves them.
    """

    links: list[int | None]  # which random generators in the result are arguments
    draws: bool  # whether it drew from one

    def __init__(
        self,
        function: Callable[..., Any],
        structure: Any,
        types: Sequence[ArrayType],
        purpose: str,
        held: Held,
        threaded: int = 0,
    ) -> None:
        found: list[Any] = []

        def flat(*leaves: Value) -> list[Value]:
            given = tree.unflatten(structure, leaves)
            copies = held.copies(given)
            result = function(*given)
            out, made = tree.flatten(result)
            self.links = held.links(copies, result)
            self.draws = any(
                a is not b for a, b in zip(leaves_of(copies), leaves_of(held.copies(tree.unflatten(structure, leaves))))
            )
            found.append(made)
            return [checked_leaf(leaf) for leaf in (*out, *leaves_of(copies[threaded:]))]

        # both branches of a cond are traced for each call, so their numbers are new; a body runs more than once
        with nullcontext() if purpose.startswith("a branch") else without_draws(function, purpose):
            self.program, self.captured = record_program(
                flat, types, purpose=purpose, staged=purpose.startswith("a branch")
            )
        self.result = found[0]


def _leaves(value: Any, what: str) -> tuple[list[Value], Any]:
    """Leaves as arrays: Python numbers become NumPy scalars of the usual types."""
    leaves, structure = tree.flatten(value)
    names = structure.paths()
    out = [plain_value(leaf, f"{what}{name}") for leaf, name in zip(leaves, names, strict=True)]
    return [np.asarray(v)[()] if isinstance(v, bool | int | float | complex) else v for v in out], structure


def _types(values: Sequence[Value]) -> list[ArrayType]:
    return [ArrayType(t.shape, t.dtype) for t in [type_of(v) for v in values]]


@user_facing
def cond(
    predicate: tree.Tree,
    true_branch: Callable[..., tree.Tree],
    false_branch: Callable[..., tree.Tree],
    *operands: tree.Tree,
) -> tree.Tree:
    """true_branch(*operands) if predicate else false_branch(*operands).

    With a plain predicate only the chosen branch runs. With a traced one both are traced; under `vmap` each lane takes
    its own branch.
    """
    if np.shape(predicate) != ():
        raise ShapeError(
            f"cond: the predicate must be one truth value; it has shape {np.shape(predicate)}. Use np.where to choose "
            "by element."
        )
    if not isinstance(predicate, Traced):
        return (true_branch if predicate else false_branch)(*operands)
    holds: Any = predicate
    index = np.where(holds if holds.dtype.kind == "b" else np.not_equal(holds, 0), 0, 1)
    return _choose("cond", index, [true_branch, false_branch], operands)


@user_facing
def switch(index: tree.Tree, branches: Sequence[Callable[..., tree.Tree]], *operands: tree.Tree) -> tree.Tree:
    """branches[index](*operands); the index is clipped to the number of branches."""
    if not branches:
        raise ValueError("switch: needs at least one branch.")
    if np.shape(index) != ():
        raise ShapeError(f"switch: the index must be one integer; it has shape {np.shape(index)}.")
    if not isinstance(index, Traced):
        return branches[min(max(operator.index(index), 0), len(branches) - 1)](*operands)
    if index.dtype.kind not in "iu":
        raise DtypeError(f"switch: the index must be an integer, not {index.type}.")
    return _choose("switch", index, branches, operands)


def _choose(name: str, index: Value, branches: Sequence[Callable[..., Any]], operands: tuple[Any, ...]) -> Any:
    values, structure = _leaves(operands, f"{name}: operand")
    types = _types(values)
    held = Held(name, operands, structure)
    traced = [_Traced(b, structure, types, f"a branch of {name}", held) for b in branches]
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
    held.hand_back(out[n:])
    result = tree.unflatten(traced[0].result, out[:n])
    held.join(traced[0].links, result)
    return result


def _with_inputs(program: Program, own: int, start: int, captured: Sequence[Traced]) -> Program:
    """The program with the captured values of all branches as inputs, of which it reads its own."""
    kinds = [c.type for c in captured]  # Python's numbers stay weak
    mine = range(start, start + len(program.inputs) - own)
    return record_program(
        lambda *flat: program(*flat[:own], *[flat[own + i] for i in mine]), [*program.input_types[:own], *kinds]
    )[0]


def _check_carry(name: str, before: Any, types: Sequence[ArrayType], after: Any, found: Sequence[ArrayType]) -> None:
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
                f"start with a value of type {b} (e.g. {_suggested(b)}), or convert in the body."
            )


def _suggested(kind: ArrayType) -> str:
    return (
        f"np.zeros({kind.shape}, {kind.dtype})"
        if kind.shape
        else {"f": "0.0", "c": "0j", "i": "0", "b": "False"}.get(kind.dtype.kind, "0")
    )


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
    run again, as few as possible; "full", "halving", or a plan of `ad.memory`. `progress`, a text, shows the turns.
    """
    carry, carry_structure = _leaves(init, "scan: init")
    arrays, xs_structure = _leaves(xs, "scan: xs")
    sizes: set[Any] = {np.shape(a)[0] if np.ndim(a) else None for a in arrays}
    if None in sizes:
        raise ShapeError(
            "scan: every array in xs needs a first axis to walk along; one of them is a number. Put it into the "
            "carry, or close over it."
        )
    if len(sizes) > 1 or (length is not None and sizes and sizes != {length}):
        raise ShapeError(
            f"scan: the first axes of xs have sizes {sorted(sizes)}"
            f"{f', but length is {length}' if length is not None else ''}."
        )
    if length is None and not sizes:
        raise ShapeError("scan: without xs, give length=… (the number of turns).")
    turns = length if length is not None else sizes.pop()
    if progress:
        rest = {"xs": xs, "length": length, "reverse": reverse, "checkpoint": checkpoint}
        return told(progress, turns, body, lambda turn: scan(turn, init, **rest))
    structure = tree.structure((tree.unflatten(carry_structure, carry), tree.unflatten(xs_structure, arrays)))
    types, kinds = _types(carry), [inner(t) for t in _types(arrays)]
    held, own = Held("scan", (init, xs)), len(Held("scan", init).places)
    traced = _Traced(body, structure, [*types, *kinds], "the body of scan", held, own)
    n = len(carry)
    try:
        out_carry, out_ys = _pair_structure(traced.result)
    except TreeError:
        raise TreeError(f"scan: the body must return a pair (carry, y); it returned {traced.result}.") from None
    outs = traced.program.output_types
    _check_carry("scan", carry_structure, types, out_carry, outs[:n])
    program = _captured_first(traced.program, n + len(arrays), len(traced.captured))
    constants: list[Value] = list(traced.captured)
    plan: Any
    if isinstance(checkpoint, Invertible):
        inverse = None
        if checkpoint.inverse is not None:
            inverse = _Traced(
                checkpoint.inverse, structure, [*types, *kinds], "the inverse of a body", Held("scan", ())
            )
            _check_carry("scan: the inverse", carry_structure, types, inverse.result, inverse.program.output_types)
            constants += inverse.captured
        program, plan = undoable(program, n, len(arrays), None if inverse is None else inverse.program)
    else:
        plan = plan_of(checkpoint, True, "scan")
    out = Scan(program, len(constants), n, turns, reverse, plan)(*constants, *carry, *arrays)
    out = fresh(out, [*carry, *arrays])
    m = n + out_ys.num_leaves
    held.hand_back(out[m:], range(own, len(held.places)))
    return _carried(held, own, traced, tree.unflatten(carry_structure, out[:n])), tree.unflatten(out_ys, out[n:m])


def _carried(held: Held, own: int, traced: _Traced, last: Any) -> Any:
    """The last carry, where the random generators that the body passed on are the caller's own, moved on."""
    kept = traced.links[: len(held.copies(last))]
    for copy, link in zip(held.copies(last), kept):
        if link is not None and link < own:
            held.hand_back(leaves_of([copy]), [link])
    for number in set(range(own)) - set(kept):  # used up inside, and another one passed on
        held.places[number].state.renew()
    held.join(kept, last)
    return last


def _pair_structure(structure: Any) -> tuple[Any, Any]:
    """The structures of the two parts of a pair."""
    probe = tree.unflatten(structure, list(range(structure.num_leaves)))
    if not isinstance(probe, tuple) or len(probe) != 2:
        raise TreeError("not a pair")
    return tree.structure(probe[0]), tree.structure(probe[1])


def _captured_first(program: Program, own: int, captured: int) -> Program:
    return Program(
        program.inputs[own : own + captured] + program.inputs[:own],
        program.equations,
        program.outputs,
        program.constants,
    )


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
    number S (or "online") so many values at once, chosen on the way; "full" the first. `progress`, a text, shows turns.
    """
    if progress:
        return told(progress, None, body, lambda turn: while_loop(condition, turn, init, checkpoint=checkpoint))
    carry, structure = _leaves(init, "while_loop: init")
    types = _types(carry)
    single = tree.structure((tree.unflatten(structure, carry),))
    held = Held("while_loop", init, structure)
    test = _Traced(condition, single, types, "the condition of while_loop", held, len(held.places))
    if test.draws:
        raise TraceError(
            "while_loop: the condition drew random numbers. Draw them in the body, and carry what the condition needs."
        )
    turn = _Traced(body, single, types, "the body of while_loop", held, len(held.places))
    if len(test.program.outputs) != 1 or test.program.output_types[0].shape != ():
        raise ShapeError(
            "while_loop: the condition must return one truth value; it returned "
            f"{', '.join(str(t) for t in test.program.output_types)}."
        )
    _check_carry("while_loop", structure, types, turn.result, turn.program.output_types)
    n = len(carry)
    loop = While(
        _captured_first(test.program, n, len(test.captured)),
        _captured_first(turn.program, n, len(turn.captured)),
        len(test.captured),
        len(turn.captured),
        plan_of(checkpoint, False, "while_loop"),
    )
    last = tree.unflatten(structure, fresh(loop(*test.captured, *turn.captured, *carry), carry))
    return _carried(held, len(held.places), turn, last)


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

    The bounds may be traced. `checkpoint` is that of `scan`, or of `while_loop` if a bound is traced.
    """
    if not isinstance(lower, Traced) and not isinstance(upper, Traced):
        start, stop = operator.index(lower), operator.index(upper)
        turns = np.arange(start, max(start, stop))
        turn = lambda value, i: (body(i, value), None)
        return scan(turn, init, turns, checkpoint=checkpoint, progress=progress)[0]
    first = lower if isinstance(lower, Traced) else np.int64(lower)
    _, result = while_loop(
        lambda state: state[0] < upper,
        lambda state: (state[0] + 1, body(state[0], state[1])),
        (first, init),
        checkpoint=checkpoint,
        progress=progress,
    )
    return result


@user_facing
def map(function: Callable[[tree.Tree], tree.Tree], xs: tree.Tree) -> tree.Tree:
    """function(x) for each x along the first axis of `xs`, one after the other, stacked. `vmap` does all at once."""
    return scan(lambda _, x: (None, function(x)), None, xs)[1]


@user_facing
def associative_scan(
    function: Callable[[tree.Tree, tree.Tree], tree.Tree], elems: tree.Tree, *, reverse: bool = False, axis: int = 0
) -> tree.Tree:
    """Running combinations e₀, e₀∘e₁, e₀∘e₁∘e₂, … of an associative function, in O(log n) steps over whole arrays.

    `function(a, b)` combines trees of stacked elements (it is given many pairs at once, along `axis`).
    """
    leaves, structure = _leaves(elems, "associative_scan: elems")
    if any(not np.ndim(x) for x in leaves):
        raise ShapeError("associative_scan: every element needs an axis to scan along; one of them is a number.")
    sizes = {np.shape(x)[axis] for x in leaves}
    if len(sizes) != 1:
        raise ShapeError(f"associative_scan: the arrays have different sizes along axis {axis}: {sorted(sizes)}.")
    moved = [np.moveaxis(x, axis, 0) for x in leaves]
    moved = [np.flip(x, 0) for x in moved] if reverse else moved

    def combine(a: Sequence[Value], b: Sequence[Value]) -> list[Value]:
        ours = [tree.unflatten(structure, [np.moveaxis(x, 0, axis) for x in side]) for side in (a, b)]
        out = tree.leaves_like("associative_scan", structure, function(*ours))
        return [np.moveaxis(x, axis, 0) for x in out]

    found = prefixes(combine, moved)
    found = [np.flip(x, 0) for x in found] if reverse else found
    return tree.unflatten(structure, fresh([np.moveaxis(x, 0, axis) for x in found], leaves))

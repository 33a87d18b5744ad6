"""Whole derivatives: Jacobians and Hessians."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.control_flow.stacks import map as map_elements
from adjoint.api.function import Options
from adjoint.api.gradients import Function, Transformed
from adjoint.base.errors import AdjointError, DtypeError
from adjoint.base.records import record
from adjoint.base.source import user_facing
from adjoint.program.op import Op
from adjoint.program.trace import Trace, live_trace
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.arguments import Argnums, Selection, fresh, select
from adjoint.transform.batch_driver import run_batch
from adjoint.transform.drivers import Linearized, check_floating

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]

NAMES = {"forward": "jacfwd", "reverse": "jacrev", "auto": "jacobian"}


PULL_COST = 1.1  # what a pulled direction costs, in pushed ones: about the same, as measured
MEMORY = 1 << 29  # bytes that the directions which run at the same time may take by default
CACHE = 1 << 19  # bytes of the largest value that they compute in a program, where they go through a loop …
LARGE = 1 << 22  # … which they do when all at once would take more than this
FEW = 16  # directions, at least, so that products of matrices have something to do


@user_facing
def jacfwd(
    function: Function,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
) -> Transformed:
    """The Jacobian by forward mode: one pushed direction for each input element.

    A tree of outputs, each with the tree of inputs: every leaf has shape output.shape + input.shape.

    `chunk_size` directions run at the same time, by default as many as fit into half a gigabyte (inside `jit`: into the
    cache, one chunk after the other in a loop).

    ```python
    ad.jacfwd(np.cumprod)(np.array([2.0, 3.0]))  # → [[1.0, 0.0], [3.0, 2.0]]
    ```
    """
    return _transform("forward", function, argnums, has_aux, holomorphic, chunk_size)


@user_facing
def jacrev(
    function: Function,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
) -> Transformed:
    """The Jacobian by reverse mode: one pulled direction for each output element. Otherwise like `jacfwd`.

    ```python
    ad.jacrev(np.cumprod)(np.array([2.0, 3.0]))  # → [[1.0, 0.0], [3.0, 2.0]]
    ```
    """
    return _transform("reverse", function, argnums, has_aux, holomorphic, chunk_size)


@user_facing
def jacobian(
    function: Function,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    mode: str = "auto",
) -> Transformed:
    """The Jacobian by the mode that takes fewer directions, otherwise like `jacfwd`.

    n inputs take n pushed directions, m outputs m pulled ones: "auto" is "reverse" for a wide Jacobian (m < n), and
    "forward" for a tall or square one, which keeps nothing. `mode` may name one. For a sparse Jacobian see
    `ad.sparse.jacobian`.

    ```python
    ad.jacobian(lambda x: np.stack([x[0] * x[1], x[1] ** 2]))(np.array([2.0, 3.0]))  # → [[3.0, 2.0], [0.0, 6.0]]
    ```
    """
    if mode not in NAMES:
        raise ValueError(f'jacobian: mode={mode!r} is not known. Give "auto", "forward" or "reverse".')
    return _transform(mode, function, argnums, has_aux, holomorphic, chunk_size)


def _transform(
    mode: str,
    function: Function,
    argnums: Argnums,
    has_aux: bool,
    holomorphic: bool,
    chunk_size: int | None,
    name: str | None = None,
) -> Transformed:
    name = name or NAMES[mode]
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"{name}: chunk_size is an integer above zero, or None; got {chunk_size!r}.")
    return Transformed(_jacobian, function, _JacobianOptions(argnums, has_aux, holomorphic, mode, chunk_size, name))


@record
class _JacobianOptions(Options):
    """The options of `jacobian`, `jacfwd`, `jacrev` and `hessian`."""

    argnums: Argnums
    has_aux: bool
    holomorphic: bool
    mode: str
    chunk: int | None
    name: str  # of the function that the user called


def _jacobian(function: Function, options: _JacobianOptions, args: Any, kwargs: Any) -> Any:
    name = options.name
    chosen = select(function, options.argnums, args, kwargs, name)
    if any(type_of(v).dtype.kind == "c" for v in chosen.values) and not options.holomorphic:
        raise DtypeError(
            f"{name} of complex arguments needs holomorphic=True: a function of z and conj(z) has no single complex "
            "Jacobian. Use jvp or vjp."
        )
    recorded = Linearized(lambda active: chosen.call(chosen.completed(active)), chosen.values, has_aux=options.has_aux)
    check_floating(recorded.output_types, name)
    _check_holomorphic(recorded, name)
    mode = options.mode if options.mode != "auto" else cheaper_mode(recorded)
    chunk = options.chunk or default_chunk(recorded)
    conjugate = options.holomorphic
    blocks = _columns(recorded, chunk) if mode == "forward" else _rows(recorded, chunk, conjugate=conjugate)
    result = tree.unflatten(
        recorded.structure,
        [
            chosen.result(_with_integers(chosen, fresh(row), t))
            for row, t in zip(blocks, recorded.output_types, strict=True)
        ],
    )
    return (result, recorded.aux) if options.has_aux else result


def _check_holomorphic(recorded: Linearized, name: str) -> None:
    """A real result that moves with complex arguments is not holomorphic: the two modes would not agree on it."""
    if all(t.dtype.kind != "c" for t in recorded.input_types):
        return
    for t, position in zip(recorded.output_types, recorded.positions, strict=True):
        if t.dtype.kind != "c" and position >= 0:
            raise DtypeError(
                f"{name}(holomorphic=True) needs complex results; the function returned {t}, and a real function of "
                "complex numbers is not holomorphic. Use grad or vjp, or return it with has_aux=True."
            )


def _with_integers(chosen: Selection, row: Sequence[Value], out: Any) -> list[Value]:
    full: list[Any] = [np.zeros((*out.shape, *np.shape(leaf)), type_of(leaf).dtype) for leaf in chosen.leaves]
    for i, block in zip(chosen.active, row, strict=True):
        full[i] = block
    return full


def numbers(types: Sequence[Any]) -> int:
    """How many numbers values of these types hold together."""
    return sum(math.prod(t.shape) for t in types)


def cheaper_mode(recorded: Linearized) -> str:
    """ "forward" or "reverse": one direction costs about the same in both, so their number decides."""
    return "reverse" if numbers(recorded.output_types) < numbers(recorded.input_types) else "forward"


def default_chunk(recorded: Linearized) -> int | None:
    """How many directions fit into MEMORY. Those of a program go through the cache in a loop, or all at once: None.

    A direction takes one number for each number that the record computed, and one for each input and output.
    """
    if _is_recorded():
        return _chunk_of_program(recorded)
    each = numbers(recorded.input_types) + numbers(recorded.output_types) + sum(map(_extent, recorded.entries))
    return max(1, MEMORY // (8 * max(1, each)))


def _chunk_of_program(recorded: Linearized) -> int | None:
    """As many as fit into the cache, unless what each chunk reads again is more than what then need not be written."""
    size = min(numbers(recorded.input_types), numbers(recorded.output_types))
    each = 8 * max((1, *map(_computed, recorded.entries)))
    chunk = max(FEW, CACHE // each)
    if size * each <= LARGE or size <= chunk:
        return None
    again = 8 * max(map(_extent, recorded.entries)) * (size // chunk)
    if 2 * again <= size * each:
        return chunk
    return None if size * each <= MEMORY else max(FEW, MEMORY // each)


def _recording() -> Trace | None:
    """The innermost program that is being recorded."""
    trace = live_trace()
    while trace is not None and not trace.records:
        trace = trace.outer
    return trace


def _is_recorded() -> bool:
    """Whether a program is being recorded."""
    return _recording() is not None


_traces_directions: ContextVar[bool] = ContextVar("adjoint_traces_directions", default=False)


@contextmanager
def traced_directions() -> Generator[None]:
    """What is computed of unit vectors alone is written into programs, not computed while they are recorded.

    So the program is the same for arguments of any size, whose unit vectors follow from their positions.
    """
    token = _traces_directions.set(True)
    try:
        yield
    finally:
        _traces_directions.reset(token)


def _extent(entry: Any) -> int:
    """About how many numbers an entry of the record stands for: as many as the largest value or type that it holds."""
    _, _, _, x, y, z, types = entry
    held = (*(x if isinstance(x, _SEQUENCE) else (x,)), y, *(z if isinstance(z, _SEQUENCE) else (z,)), *(types or ()))
    known = [v.shape for v in held if hasattr(v, "shape") and all(isinstance(n, int) for n in v.shape)]
    return max(map(math.prod, known), default=0)


def _computed(entry: Any) -> int:
    """About how many numbers the entry computes for a direction: what it only reads, as a matrix, is not counted."""
    op, _, _, x, *_ = entry
    if not isinstance(op, Op) or op.several or not isinstance(x, _SEQUENCE):
        return _extent(entry)
    kinds = [v if isinstance(v, ArrayType) else type_of(v) for v in x]
    try:
        shape = op.result_type(*kinds).shape
    except (AdjointError, ValueError, TypeError):
        return _extent(entry)
    return math.prod(shape) if all(isinstance(n, int) for n in shape) else 0


_SEQUENCE: Any = (tuple, list)


def _basis(types: Sequence[Any], first: int, last: int) -> list[Value]:
    """For each leaf a stack of tangents that together run through the unit vectors from `first` to before `last`."""
    stacks: list[Value] = []
    start = 0
    for t in types:
        n = math.prod(t.shape)
        stack = np.zeros((last - first, n), t.dtype)
        here = np.arange(max(first, start), min(last, start + n))
        stack[here - first, here - start] = 1
        stacks.append(stack.reshape(last - first, *t.shape))
        start += n
    return stacks


def _map_directions(
    function: Callable[[Sequence[Value]], Sequence[Value]],
    types: Sequence[Any],
    out_types: Sequence[Any],
    chunk: int | None,
    unit: complex = 1,
) -> list[Value]:
    """A linear function of all unit vectors: for each of its results a stack, chunk by chunk."""
    size = numbers(types)
    if not size:
        return [np.zeros((0, *t.shape), t.dtype) for t in out_types]
    # the number of chunks is no polynomial of the sizes: a program for any size takes all directions at once
    chunk = size if chunk is None or _traces_directions.get() else min(chunk, size)
    if chunk < size and _is_recorded():
        return _loop_over_directions(function, types, size, chunk, unit)
    parts: list[list[Value]] = []
    for first in range(0, size, chunk):
        last = min(first + chunk, size)
        stacks = [s * s.dtype.type(unit) if s.dtype.kind == "c" else s for s in _basis(types, first, last)]
        if _traces_directions.get() and (program := _recording()) is not None:
            stacks = [program.constant(s) for s in stacks]
        out, flags, _ = run_batch(lambda stack: list(function(stack)), stacks, [True] * len(stacks), last - first)
        full = [z if f else np.broadcast_to(z, (last - first, *np.shape(z))) for z, f in zip(out, flags, strict=True)]
        parts.append(full)
    return parts[0] if len(parts) == 1 else [np.concatenate(column) for column in zip(*parts, strict=True)]


def _loop_over_directions(
    function: Callable[[Sequence[Value]], Sequence[Value]], types: Sequence[Any], size: int, chunk: int, unit: complex
) -> list[Value]:  # fmt: skip
    """The same as a loop of the program: its body is written once, and what it computes stays in the cache."""

    def directions(number: Value) -> list[Value]:
        row = (np.arange(chunk) + number * chunk)[:, None]
        stacks: list[Value] = []
        start = 0
        for t in types:
            n = math.prod(t.shape)
            factor = t.dtype.type(unit if t.dtype.kind == "c" else 1)
            stack = (row == np.arange(start, start + n)).astype(t.dtype) * factor
            stacks.append(np.reshape(stack, (chunk, *t.shape)))
            start += n
        out, flags, _ = run_batch(lambda stack: list(function(stack)), stacks, [True] * len(stacks), chunk)
        return [z if f else np.broadcast_to(z, (chunk, *np.shape(z))) for z, f in zip(out, flags, strict=True)]

    found: Any = map_elements(directions, np.arange(-(-size // chunk)))
    return [np.reshape(z, (-1, *np.shape(z)[2:]))[:size] for z in found]


def _columns(recorded: Linearized, chunk: int | None) -> list[list[Value]]:
    """blocks[output][input] from one pushed direction per input element."""
    pushed = _map_directions(recorded.push, recorded.input_types, recorded.output_types, chunk)
    blocks: list[list[Value]] = []
    for column in pushed:
        row, start = [], 0
        for t in recorded.input_types:
            n = math.prod(t.shape)
            part = np.moveaxis(column[start : start + n], 0, -1)
            row.append(np.reshape(part, (*part.shape[:-1], *t.shape)))
            start += n
        blocks.append(row)
    return blocks


def _rows(recorded: Linearized, chunk: int | None, *, conjugate: bool) -> list[list[Value]]:
    """blocks[output][input] from one pulled direction per output element.

    A complex output of a real input needs two: pull(u) = Re(Jᴴ u), so that J = pull(1) + i pull(i).
    """

    def pulled(unit: complex) -> list[Value]:
        return _map_directions(recorded.pull, recorded.output_types, recorded.input_types, chunk, unit)

    real = [t.dtype.kind != "c" for t in recorded.input_types]
    first = pulled(1)
    second = pulled(1j) if any(real) and any(t.dtype.kind == "c" for t in recorded.output_types) else first
    blocks: list[list[Value]] = []
    start = 0
    for t in recorded.output_types:
        n = math.prod(t.shape)

        def block(stack: Value, t: Any = t, start: int = start, n: int = n) -> Value:
            return np.reshape(stack[start : start + n], (*t.shape, *np.shape(stack)[1:]))

        row: list[Value] = []
        for p, q, is_real in zip(first, second, real, strict=True):
            if is_real:
                row.append(block(p) + t.dtype.type(1j) * block(q) if t.dtype.kind == "c" else block(p))
            else:
                row.append(np.conjugate(block(p)) if conjugate else block(p))
        blocks.append(row)
        start += n
    return blocks


@user_facing
def hessian(
    function: Function,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
) -> Transformed:
    """The matrix of second derivatives (forward over reverse). For trees: a tree of trees, each leaf of shape
    output.shape + input.shape + input.shape; for a scalar function of one array x: x.shape + x.shape.

    `chunk_size` columns are found at the same time, by default as many as fit into half a gigabyte. For a sparse
    Hessian see `ad.sparse.hessian`.

    ```python
    ad.hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]))  # → [[6.0, 4.0], [4.0, 0.0]]
    ```
    """
    inner = _transform("reverse", function, argnums, has_aux, holomorphic, None, "hessian")
    return _transform("forward", inner, argnums, has_aux, holomorphic, chunk_size, "hessian")

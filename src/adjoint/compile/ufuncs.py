"""Pointwise functions without instructions of their own: the loops in C of SciPy and NumPy, called on whole arrays."""

# A primitive's parameters are read by its class.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.compile import vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.elements import find_dtypes
from adjoint.compile.emit import Emitter, Operand, Unsupported, lowers
from adjoint.compile.expand import RULES
from adjoint.compile.graph import is_lazy
from adjoint.compile.ir import Value
from adjoint.compile.ufunc_loops import Loop, find_loop
from adjoint.compile.views import strides_of
from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.elementwise.nary_ufuncs import NamedUfunc, SeveralUfunc
from adjoint.ops.elementwise.pointwise import Ufunc
from adjoint.program.program import Equation, Literal
from adjoint.program.types import ArrayType


def _find(op: Any, types: Sequence[ArrayType]) -> tuple[Loop, list[np.dtype[Any]]] | None:
    """The loop of a ufunc for operands of some types, and its dtypes."""
    dtypes = find_dtypes(op.ufunc, types)
    if dtypes is None:
        return None
    letters = "".join(d.char for d in dtypes)
    nin = op.ufunc.nin
    types_of_loop = f"{letters[:nin]}->{letters[nin:]}"
    home = "numpy" if getattr(np, op.ufunc.__name__, None) is op.ufunc else "special"
    loop = find_loop(home, op.ufunc.__name__, types_of_loop)
    return None if loop is None else (loop, list(dtypes))


@RULES.rule(Ufunc, NamedUfunc, SeveralUfunc)
def _conversion_rule(eq: Equation) -> Callable[..., Any] | None:
    """Operands in the dtypes of the loop, where they have others."""
    if (not eq.op.several and is_lazy(eq)) or (found := _find(eq.op, [a.type for a in eq.inputs])) is None:
        return None
    dtypes = found[1]
    wrong = [not isinstance(a, Literal) and a.type.dtype != d for a, d in zip(eq.inputs, dtypes, strict=False)]
    if not any(wrong):
        return None
    return lambda op, *xs: op(*[Convert(d)(x) if w else x for x, d, w in zip(xs, dtypes, wrong, strict=False)])


@lowers(Ufunc, NamedUfunc, SeveralUfunc, strided=True, any_size=True)
def write_loop(emitter: Emitter, op: Any, eq: Equation) -> None:
    """Call the loop once for all elements that stand at even distances, in loops over the axes that do not."""
    found = _find(op, [a.type for a in eq.inputs])
    if found is None or any(
        not isinstance(a, Literal) and a.type.dtype != d for a, d in zip(eq.inputs, found[1], strict=False)
    ):
        return write_callback(emitter, eq)
    (loop, dtypes), out = found, eq.outputs[0].type
    operands = [_operand(emitter, a, d) for a, d in zip(eq.inputs, dtypes, strict=False)]
    operands += [Operand(emitter.pointer(v), strides_of(v.type.shape), v.type) for v in eq.outputs]
    shape, strides = collapse(out.shape, [_align(x, out.ndim) for x in operands])
    size = math.prod(out.shape)
    if type(size) is int and size == 0:
        return None
    items = [x.dtype.itemsize for x in operands]

    def walk(axis: int, pointers: Sequence[Value]) -> None:
        f = emitter.f
        if axis < len(shape) - 1:
            with f.loop(f.index(0), emitter.number(shape[axis])) as i:
                moved = [
                    f.element(p, f.mul(i, emitter.number(s[axis] * n)), "i8")
                    for p, s, n in zip(pointers, strides, items, strict=True)
                ]
                walk(axis + 1, moved)
            return
        count = emitter.number(shape[-1]) if shape else f.index(1)
        steps = [emitter.number(s[-1] * n if shape else 0) for s, n in zip(strides, items, strict=True)]
        call_loop(emitter, loop, pointers, [count], steps)

    walk(0, [x.pointer for x in operands])
    emitter.shared.work += emitter.times * size * 100.0
    emitter.shared.may_raise = True
    emitter.shared.steps.append(f"{op.title} of {out}: a loop in C")
    return None


def _operand(emitter: Emitter, atom: Any, dtype: np.dtype[Any]) -> Operand:
    """An operand where it stands; a number of the program is put into memory in the dtype of the loop."""
    if not isinstance(atom, Literal):
        return emitter.view(atom)
    f = emitter.f
    buffer = f.allocate("i8", dtype.itemsize)
    vectors.store(f, dtype, vectors.number(f, dtype, atom.value, 1), buffer, f.index(0), 1, 1)
    return Operand(buffer, (), ArrayType((), dtype))


def _align(x: Operand, ndim: int) -> list[Any]:
    """Strides over the axes of the result: zero where an operand is broadcast."""
    return [0] * (ndim - len(x.shape)) + [0 if n == 1 else s for n, s in zip(x.shape, x.strides, strict=True)]


def collapse(shape: Sequence[Any], strides: Sequence[Sequence[Any]]) -> tuple[list[Any], list[list[Any]]]:
    """Neighboring axes made one where all operands walk through both as through one; axes of one element left out."""
    kept = [a for a, n in enumerate(shape) if n != 1]
    sizes, steps = [shape[a] for a in kept], [[s[a] for a in kept] for s in strides]
    axis = len(sizes) - 2
    while axis >= 0:
        if all(s[axis] == s[axis + 1] * sizes[axis + 1] for s in steps):
            sizes[axis : axis + 2] = [sizes[axis] * sizes[axis + 1]]
            for s in steps:
                s[axis : axis + 2] = [s[axis + 1]]
        axis -= 1
    return sizes, steps


def call_loop(
    emitter: Emitter, loop: Loop, pointers: Sequence[Value], sizes: Sequence[Value], strides: Sequence[Value]
) -> None:
    """loop(addresses, sizes, strides, data)."""
    f = emitter.f
    if emitter.shared.standalone:
        raise Unsupported(f"{loop.function.split('.')[2]} is a function in C of NumPy's or SciPy's")
    emitter.shared.symbols.update(loop.symbols)
    tables: list[Value] = []
    for kind, values in (("ptr", pointers), ("i64", sizes), ("i64", strides)):
        table = f.allocate(kind, len(values), align=8)
        tables.append(table)
        for k, value in enumerate(values):
            f.store(value, f.element(table, f.index(k), kind), 8)
    data = f.module.name_data(loop.data) if loop.data is not None else Value("null", "ptr")
    f.call(loop.function, "void", *tables, data, declared=True)


__all__ = ["call_loop", "collapse", "write_loop"]

"""Small kernels for the tests of calls, and specializations for given arguments."""

import ctypes
from collections.abc import Iterator
from functools import cache
from itertools import count
from typing import Any

import numpy as np

from adjoint.compile import machine
from adjoint.compile.callable import (
    ArrayLeaf,
    DictNode,
    Entry,
    Equal,
    ListNode,
    Node,
    NumberLeaf,
    Output,
    OutputType,
    Same,
    Specialization,
    TupleNode,
    TupleOf,
)

FLOAT = np.dtype(np.float64)


@cache
def loaded(text: str) -> machine.Loaded:
    return machine.Loaded(machine.compile_object(text))


def kernel(body: str, outside: str = "") -> int:
    """The address of a kernel that is written as the body of an LLVM function; %t is the table."""
    return loaded(f"{outside}\ndefine i64 @kernel(ptr %t) {{\nentry:\n{body}\n}}\n").address("kernel")


def slot(name: str, index: int) -> str:
    """Load a pointer of the table."""
    return f"%{name}.at = getelementptr ptr, ptr %t, i64 {index}\n%{name} = load ptr, ptr %{name}.at"


@cache
def echo(*sizes: int) -> int:
    """Copies input i to output i; sizes in bytes."""
    lines = []
    for i, size in enumerate(sizes):
        lines += [slot(f"a{i}", i), slot(f"b{i}", len(sizes) + i)]
        lines.append(f"call void @llvm.memcpy.p0.p0.i64(ptr %b{i}, ptr %a{i}, i64 {size}, i1 false)")
    return kernel("\n".join([*lines, "ret i64 0"]), "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")


@cache
def pointers(number: int, output: int) -> int:
    """Writes the first `number` pointers of its table into output slot `output`, as int64."""
    lines = [slot("out", output)]
    for i in range(number):
        lines += [slot(f"p{i}", i), f"%at{i} = getelementptr ptr, ptr %out, i64 {i}", f"store ptr %p{i}, ptr %at{i}"]
    return kernel("\n".join([*lines, "ret i64 0"]))


@cache
def status_kernel() -> int:
    """Ends with the status that its input, an int64, says; writes 7 to its output."""
    return kernel(f"{slot('a', 0)}\n{slot('b', 1)}\n%s = load i64, ptr %a\nstore i64 7, ptr %b\nret i64 %s")


@cache
def busy(words: int, iterations: int) -> int:
    """Fills its workspace with the input, an int64, waits, and ends with status 9 if another call wrote there."""
    return kernel(
        f"""{slot("a", 0)}
{slot("b", 1)}
{slot("w", 2)}
%x = load i64, ptr %a
br label %fill
fill:
%i = phi i64 [ 0, %entry ], [ %i1, %fill ]
%pi = getelementptr i64, ptr %w, i64 %i
store volatile i64 %x, ptr %pi
%i1 = add i64 %i, 1
%more = icmp slt i64 %i1, {words}
br i1 %more, label %fill, label %iteration
iteration:
%k = phi i64 [ 0, %fill ], [ %k1, %next ]
br label %look
look:
%j = phi i64 [ 0, %iteration ], [ %j1, %fine ]
%pj = getelementptr i64, ptr %w, i64 %j
%y = load volatile i64, ptr %pj
%same = icmp eq i64 %x, %y
br i1 %same, label %fine, label %spoilt
fine:
%j1 = add i64 %j, 1
%further = icmp slt i64 %j1, {words}
br i1 %further, label %look, label %next
next:
%k1 = add i64 %k, 1
%again = icmp slt i64 %k1, {iterations}
br i1 %again, label %iteration, label %done
done:
store i64 %x, ptr %b
ret i64 0
spoilt:
ret i64 9"""
    )


# Specializations for arguments


def leaves(tree: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Numbers and arrays of a tree, as arrays, in order."""
    if isinstance(tree, dict):
        for item in tree.values():
            yield from leaves(item)
    elif isinstance(tree, tuple | list):
        for item in tree:
            yield from leaves(item)
    elif isinstance(tree, np.ndarray | np.generic | bool | int | float | complex):
        yield np.asarray(tree)


def node(tree: Any, slots: Iterator[int]) -> Node:
    """The node that matches a tree: its arrays and numbers are inputs, the rest is static."""
    if type(tree) is np.ndarray:
        return ArrayLeaf(next(slots), tree.dtype, tree.shape)
    if isinstance(tree, np.generic | bool | int | float | complex):
        return NumberLeaf(next(slots), type(tree))
    if type(tree) is dict:
        return DictNode({key: node(item, slots) for key, item in tree.items()})
    if isinstance(tree, tuple):
        return TupleNode([node(item, slots) for item in tree], type(tree))
    if type(tree) is list:
        return ListNode([node(item, slots) for item in tree])
    return Equal(tree) if type(tree) in (str, bytes) else Same(tree)


def copying(*args: Any, heavy: bool = False, **kwargs: Any) -> Specialization:
    """A specialization for these arguments whose result is a tuple of all their leaves."""
    slots = count()
    positional = [node(arg, slots) for arg in args]
    keywords = {name: node(arg, slots) for name, arg in kwargs.items()}
    arrays = [*leaves(args), *leaves(kwargs)]
    return Specialization(
        kernel=echo(*[a.nbytes for a in arrays]),
        inputs=len(arrays),
        positional=positional,
        keywords=keywords,
        outputs=[OutputType(a.dtype, a.shape) for a in arrays],
        result=TupleOf([Output(i) for i in range(len(arrays))]),
        heavy=heavy,
    )


class Missed(Exception):
    """No specialization took the call."""


class Gave(Exception):
    """A kernel ended with a status."""


def missed(entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise Missed(args, kwargs)


def gave(entry: Entry, number: int, status: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise Gave(number, status)


def entry(*specializations: Specialization) -> Entry:
    call = Entry(missed, gave)
    for specialization in specializations:
        call.add(specialization)
    return call


def whole_number(kernel: int, **options: Any) -> Specialization:
    """int → np.int64, by a kernel."""
    return Specialization(
        kernel=kernel,
        inputs=1,
        positional=[NumberLeaf(0, int)],
        outputs=[OutputType(np.dtype(np.int64), ())],
        result=Output(0),
        **options,
    )


def function_address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0

"""What a call of a compiled function costs before and after its kernel: matching, outputs, building the result.

The kernel does nothing. NumPy's own cheapest call and a Python function of no content stand beside, as yardsticks.
"""

import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.compile import machine
from adjoint.compile.callable import (
    ArrayLeaf,
    ContentLeaf,
    DictNode,
    DictOf,
    Entry,
    Equal,
    Fixed,
    NumberLeaf,
    ObjectNode,
    Output,
    OutputType,
    Specialization,
    TupleOf,
)

FLOAT = np.dtype(np.float64)
CODE = machine.Loaded(machine.compile_object("define i64 @nothing(ptr %t) { ret i64 0 }"))


class Holder:
    """An object with an array and a number."""

    def __init__(self, weight: Any) -> None:
        self.weight, self.rate = weight, 0.5


def unexpected(*report: Any) -> Any:
    raise RuntimeError(report)


def entry(inputs: int, positional: Any, outputs: int, result: Any, **options: Any) -> Entry:
    made = Entry(unexpected, unexpected)
    kinds = [OutputType(FLOAT, (3,))] * outputs
    kernel = CODE.address("nothing")
    made.add(Specialization(kernel, inputs, positional, kinds, result, keep=CODE, **options))
    return made


def microseconds(call: Callable[[], Any]) -> float:
    number = 100_000
    return min(timeit.repeat(call, number=number, repeat=7)) / number * 1e6


def main() -> None:
    x = np.arange(3.0)
    leaf = lambda i: ArrayLeaf(i, FLOAT, (3,))
    names = [f"weight_{i}" for i in range(20)]
    tree = dict.fromkeys(names, x)
    nothing = entry(0, [], 0, TupleOf([]))
    one = entry(1, [leaf(0)], 1, Output(0))
    number = entry(1, [NumberLeaf(0, float)], 0, TupleOf([]))
    five = entry(5, [leaf(i) for i in range(5)], 2, TupleOf([Output(0), Output(1)]))
    freed = entry(5, [leaf(i) for i in range(5)], 2, TupleOf([Output(0), Output(1)]), heavy=True)
    twenty = DictNode({name: leaf(i) for i, name in enumerate(names)})
    large = entry(20, [twenty], 0, TupleOf([]))
    gradients = entry(20, [twenty], 20, DictOf({name: Output(i) for i, name in enumerate(names)}))
    holder = Holder(x)
    attributes = {"weight": leaf(0), "rate": Equal(0.5)}
    held = Fixed(holder, ObjectNode(Holder, attributes, exact=False))
    object_read = entry(1, [], 0, TupleOf([]), captured=[held])
    ten_objects = [
        Fixed(Holder(x), ObjectNode(Holder, {"weight": leaf(i), "rate": Equal(0.5)}, exact=False)) for i in range(10)
    ]
    objects_read = entry(10, [], 0, TupleOf([]), captured=ten_objects)
    thousand = np.zeros(1000)
    elements = entry(0, [], 0, TupleOf([]), captured=[Fixed(thousand, ContentLeaf(thousand.copy()))])
    rows: list[tuple[str, Callable[[], Any]]] = [
        ("an empty lambda (part of all below)", lambda: None),
        ("no arguments, an empty tuple", lambda: nothing()),
        ("a float", lambda: number(1.0)),
        ("1 array in, 1 out", lambda: one(x)),
        ("5 arrays in, 2 out", lambda: five(x, x, x, x, x)),
        ("5 arrays in, 2 out, other threads let run", lambda: freed(x, x, x, x, x)),
        ("a dict of 20 arrays in", lambda: large(tree)),
        ("a dict of 20 arrays in, another out", lambda: gradients(tree)),
        ("an array and a number of an object read", lambda: object_read()),
        ("an array and a number of 10 objects read", lambda: objects_read()),
        ("1000 elements of a constant compared", lambda: elements()),
        ("numpy.add of 3 numbers", lambda: np.add(x, x)),
        ("numpy.empty of 3 numbers", lambda: np.empty(3)),
    ]
    for name, call in rows:
        print(f"{name:45} {microseconds(call):6.3f} µs")


if __name__ == "__main__":
    main()

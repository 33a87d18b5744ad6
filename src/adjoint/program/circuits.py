"""Arithmetic circuits: polynomials as graphs of sums and products alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.base.errors import ProgramError
from adjoint.base.records import record

if TYPE_CHECKING:
    from adjoint.program.program import Program

__all__ = ["Circuit", "circuit_of"]


@record
class Circuit:
    """Nodes in order, each ("input", number), ("constant", value), ("add", a, b) or ("multiply", a, b).

    It is called with a number for each input: of any kind that adds and multiplies, traced ones included.

    ```python
    traced = ad.trace(lambda x, y: (x + y) ** 2)(1.0, 2.0)
    circuit = traced.program.circuit()
    circuit(2.0, 3.0), circuit.size, circuit.degree  # → (25.0, 4, 2)
    ad.grad(circuit)(2.0, 3.0)  # → 10.0
    ```
    """

    nodes: tuple[tuple[Any, ...], ...]
    outputs: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of edges."""
        return sum(len(node) - 1 for node in self.nodes if node[0] in ("add", "multiply"))

    @property
    def depth(self) -> int:
        """The longest way from an input to an output, in edges."""
        depths: list[int] = []
        for kind, *operands in self.nodes:
            before: list[int] = [depths[i] + 1 for i in operands] if kind in ("add", "multiply") else [0]
            depths.append(max(before))
        return max((depths[i] for i in self.outputs), default=0)

    @property
    def degree(self) -> int:
        """The degree that the polynomial has at most."""
        degrees: list[int] = []
        for kind, *operands in self.nodes:
            own: list[int] = [degrees[i] for i in operands] if kind in ("add", "multiply") else [int(kind == "input")]
            degrees.append(sum(own) if kind == "multiply" else max(own))
        return max((degrees[i] for i in self.outputs), default=0)

    def __call__(self, *inputs: Any) -> Any:
        values: list[Any] = []
        for kind, *rest in self.nodes:
            if kind == "input":
                values.append(inputs[rest[0]])
            elif kind == "constant":
                values.append(rest[0])
            else:
                a, b = values[rest[0]], values[rest[1]]
                values.append(a + b if kind == "add" else a * b)
        found = tuple(values[i] for i in self.outputs)
        return found[0] if len(found) == 1 else found


class _Writer:
    """Nodes, where equal ones are the same."""

    def __init__(self) -> None:
        self.nodes: list[tuple[Any, ...]] = []
        self._known: dict[tuple[Any, ...], int] = {}

    def node(self, *content: Any) -> int:
        if content not in self._known:
            self._known[content] = len(self.nodes)
            self.nodes.append(content)
        return self._known[content]

    def constant(self, value: Any) -> int:
        array = np.asarray(value)
        if array.shape:
            raise ProgramError(f"circuit: {array.shape} is the shape of a constant; a circuit computes with numbers.")
        return self.node("constant", array.item())

    def power(self, base: int, exponent: int) -> int:
        """By repeated squaring."""
        if exponent == 0:
            return self.constant(1)
        if exponent == 1:
            return base
        half = self.power(base, exponent // 2)
        square = self.node("multiply", half, half)
        return square if exponent % 2 == 0 else self.node("multiply", square, base)


def circuit_of(program: Program) -> Circuit:
    """A program of numbers that adds, subtracts, multiplies and takes whole powers, by + and × alone."""
    writer, at = _Writer(), dict[int, int]()  # by the identity of the variable

    def read(atom: Any) -> int:
        return at[id(atom)] if id(atom) in at else writer.constant(atom.value)

    def minus(x: int) -> int:
        return writer.node("multiply", writer.constant(-1), x)

    for i, variable in enumerate(program.inputs):
        if variable.type.shape:
            raise ProgramError(
                f"circuit: input {i} is {variable.type}; a circuit computes with numbers. Give each one as an argument."
            )
        at[id(variable)] = writer.node("input", i)
    at |= {id(v): writer.constant(value) for v, value in program.constants.items()}
    for eq in program.equations:
        name = eq.op.title
        if name in ("add", "multiply"):
            made = writer.node(name, read(eq.inputs[0]), read(eq.inputs[1]))
        elif name == "subtract":
            made = writer.node("add", read(eq.inputs[0]), minus(read(eq.inputs[1])))
        elif name in ("negative", "positive", "square"):
            a = read(eq.inputs[0])
            made = minus(a) if name == "negative" else a if name == "positive" else writer.node("multiply", a, a)
        elif name == "power" and (exponent := _whole(eq.inputs[1], program)) is not None:
            made = writer.power(read(eq.inputs[0]), exponent)
        else:
            raise ProgramError(
                f"circuit: the program has {eq.op.title}, which is no sum and no product; a circuit is a polynomial."
            )
        at[id(eq.outputs[0])] = made
    return Circuit(tuple(writer.nodes), tuple(read(a) for a in program.outputs))


def _whole(atom: Any, program: Program) -> int | None:
    """A constant exponent, if it is an integer from 0 on."""
    value: Any = getattr(atom, "value", None)
    if value is None:
        value = next((held for v, held in program.constants.items() if v is atom), None)
    if value is None or np.ndim(value) or value < 0 or int(value) != value:
        return None
    return int(value)

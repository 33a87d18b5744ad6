"""A function as a graph of primitives, with all values: what second derivatives are carried back through.

The nodes stand in the order in which they were computed, so that reading them backwards meets every variable after all
its uses. Loops, branches and calls whose course is known are written out as what they do.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any, NamedTuple

from adjoint import tree
from adjoint.base.errors import DtypeError
from adjoint.base.source import here
from adjoint.program.op import Op
from adjoint.program.program import interpret
from adjoint.program.trace import Trace, Tracer, running
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.arguments import leave_trace, run
from adjoint.transform.capture import Captured
from adjoint.transform.drivers import check_leaf

__all__ = ["Graph", "Node", "record_graph"]


class Node(NamedTuple):
    """zs = op(xs): where its arguments and results stand in the graph (-1: not a variable), and their values."""

    op: Op
    inputs: tuple[int, ...]
    xs: tuple[Value, ...]
    outputs: tuple[int, ...]
    zs: tuple[Value, ...]

    @property
    def parents(self) -> list[int]:
        """The distinct variables that it reads."""
        return list(dict.fromkeys(i for i in self.inputs if i >= 0))

    def positions(self, parent: int) -> list[int]:
        """Where a variable stands among the arguments."""
        return [k for k, i in enumerate(self.inputs) if i == parent]


class GraphTracer(Tracer):
    """A value and its index among the variables of a graph; -1 for one that depends on no input."""

    __slots__ = ("_index",)

    def __init__(self, trace: Graph, value: Value, index: int) -> None:
        self._trace, self._value, self._index = trace, value, index

    def has_tangent(self) -> bool:
        return self._index >= 0 or super().has_tangent()

    def snapshot(self) -> GraphTracer:
        return GraphTracer(self._trace, self._value, self._index)  # type: ignore[arg-type]

    def _adopt(self, other: Value) -> None:
        mine = isinstance(other, GraphTracer) and other._trace is self._trace
        self._value, self._index = (other._value, other._index) if mine else (other, -1)


class Graph(Trace):
    """Writes down nodes with their values. Several inputs are several variables; constants are none."""

    title = "the graph of a function"
    differentiates = True

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[Node] = []
        self.types: list[ArrayType] = []
        self.values: list[Value] = []  # of the outputs of the whole function
        self.outputs: list[int] = []
        self.structure: Any = None
        self.captured = Captured(False, self.outer)

    @property
    def size(self) -> int:
        """The number of variables."""
        return len(self.types)

    def variable(self, value: Value) -> GraphTracer:
        """A new variable."""
        kind = type_of(value)
        if kind.dtype.kind == "c":
            raise DtypeError(
                "Second derivatives are carried back through real values only, and the function computes a complex "
                f"one ({kind}). Use ad.hessian or ad.hvp, or write real and imaginary parts apart."
            )
        self.types.append(ArrayType(kind.shape, kind.dtype))
        return GraphTracer(self, value, len(self.types) - 1)

    def constant(self, value: Value) -> GraphTracer:
        return GraphTracer(self, value, -1)

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        if get_ident() != self.thread:
            self.wrong_thread()
        mine = [isinstance(a, GraphTracer) and a._trace is self for a in args]
        values = [a._value if m else a for a, m in zip(args, mine, strict=True)]
        indices = [a._index if m else -1 for a, m in zip(args, mine, strict=True)]
        if op.flat or max(indices, default=-1) < 0:
            z = op(*values)
            return tuple(map(self._settled, z)) if op.several else self._settled(z)
        if op.is_control and op.unrolls and not op.is_implicit and op.is_determined(values):
            return tuple(op.unroll(args, interpret))
        z = op(*values)
        xs = tuple(v if m else self.captured.hold(v) for v, m in zip(values, mine, strict=True))
        zs = tuple(z) if op.several else (z,)
        results = [self.variable(part) if type_of(part).differentiable else part for part in zs]
        outputs = tuple(r._index if isinstance(r, GraphTracer) and r._trace is self else -1 for r in results)
        self.nodes.append(Node(op, tuple(indices), xs, outputs, zs))
        return tuple(results) if op.several else results[0]

    def _settled(self, z: Value) -> Value:
        return GraphTracer(self, z, -1) if type(z) is not bool and z.dtype.kind in "fc" else z

    def end(self) -> None:
        super().end()
        self.captured.release()


def record_graph(call: Callable[[Sequence[Value]], Any], values: Sequence[Value]) -> Graph:
    """The graph of a function; its first variables are the inputs."""
    graph = Graph()
    with running(graph):
        graph.started = here()
        inputs = [graph.variable(graph.captured.hold(v)) for v in values]
        leaves, graph.structure = tree.flatten(run(graph, call, [x.snapshot() for x in inputs]))
        leaves = [check_leaf(leaf) for leaf in leaves]
        mine = [isinstance(leaf, GraphTracer) and leaf._trace is graph for leaf in leaves]
        graph.outputs = [leaf._index if m else -1 for leaf, m in zip(leaves, mine, strict=True)]
        graph.values = [leave_trace(leaf, graph) for leaf in leaves]
        graph.captured.verify()
    return graph

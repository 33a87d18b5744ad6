"""Directed acyclic graphs: the order in which a computation can run, and the graphs of a program.

A node is any value that hashes; an edge (a, b) says that b needs what a gives.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adjoint.base.errors import ProgramError
from adjoint.base.records import record

if TYPE_CHECKING:
    from adjoint.program.op import Op
    from adjoint.program.program import Program
    from adjoint.program.types import ArrayType

__all__ = ["Bipartite", "Dag", "bipartite_of", "dag_of"]

Node = Hashable


class Dag:
    """A directed acyclic graph, from its edges and, if some have none, its nodes; a cycle raises.

    ```python
    graph = ad.extend.Dag([(0, 1), (0, 2), (0, 3), (1, 3), (2, 3), (1, 4), (3, 4)])
    graph.parents(3), graph.children(1), graph.roots, graph.leaves  # → ((0, 1, 2), (3, 4), (0,), (4,))
    graph.order()  # → (0, 1, 2, 3, 4)
    add, product = lambda *s: sum(s), lambda a, b: a * b
    graph.run({1: lambda a: a + 1, 2: lambda a: a * 2, 3: add, 4: product}, {0: 10})[4]  # → 451
    ```
    """

    def __init__(self, edges: Iterable[tuple[Node, Node]], nodes: Iterable[Node] = ()) -> None:
        self.edges = tuple(dict.fromkeys(edges))
        self.nodes = tuple(dict.fromkeys([*nodes, *[node for edge in self.edges for node in edge]]))
        self._parents: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        self._children: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for a, b in self.edges:
            self._parents[b].append(a)
            self._children[a].append(b)
        self._order = self._sorted()

    def _known(self, node: Node) -> Node:
        if node not in self._parents:
            raise ProgramError(f"Dag: there is no node {node!r}; it has {', '.join(map(repr, self.nodes)) or 'none'}.")
        return node

    def parents(self, node: Node) -> tuple[Node, ...]:
        """The nodes that a node needs, in the order of the edges."""
        return tuple(self._parents[self._known(node)])

    def children(self, node: Node) -> tuple[Node, ...]:
        """The nodes that need it."""
        return tuple(self._children[self._known(node)])

    @property
    def roots(self) -> tuple[Node, ...]:
        """The nodes that need nothing."""
        return tuple(node for node in self.nodes if not self._parents[node])

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The nodes that nobody needs."""
        return tuple(node for node in self.nodes if not self._children[node])

    def _sorted(self) -> tuple[Node, ...]:
        """Kahn's algorithm: of the nodes that can run, the one that was named first."""
        missing = {node: len(parents) for node, parents in self._parents.items()}
        ready, order = [node for node in self.nodes if not missing[node]], list[Node]()
        while ready:
            node = ready.pop(0)
            order.append(node)
            for child in self._children[node]:
                missing[child] -= 1
                if not missing[child]:
                    ready.append(child)
        if len(order) < len(self.nodes):
            stuck = [repr(node) for node in self.nodes if missing[node]]
            raise ProgramError(f"Dag: there is a cycle among {', '.join(stuck)}; take an edge out.")
        return tuple(order)

    def order(self) -> tuple[Node, ...]:
        """One order in which every edge points forward."""
        return self._order

    def orders(self) -> Iterator[tuple[Node, ...]]:
        """All such orders."""
        missing = {node: len(parents) for node, parents in self._parents.items()}

        def extended(begun: list[Node]) -> Iterator[tuple[Node, ...]]:
            if len(begun) == len(self.nodes):
                yield tuple(begun)
                return
            for node in self.nodes:
                if missing[node] == 0:
                    missing[node] = -1
                    for child in self._children[node]:
                        missing[child] -= 1
                    yield from extended([*begun, node])
                    missing[node] = 0
                    for child in self._children[node]:
                        missing[child] += 1

        return extended([])

    def paths(self, first: Node, last: Node) -> Iterator[tuple[Node, ...]]:
        """All paths from one node to another."""
        self._known(last)
        waiting: list[tuple[Node, ...]] = [(self._known(first),)]
        while waiting:
            path = waiting.pop()
            if path[-1] == last:
                yield path
                continue
            waiting += [(*path, child) for child in reversed(self._children[path[-1]])]

    def run(self, functions: Mapping[Node, Callable[..., Any]], inputs: Mapping[Node, Any]) -> dict[Node, Any]:
        """The value of every node: an input, or its function of the values of its parents. A tuple is one value."""
        values: dict[Node, Any] = {}
        for node in self._order:
            if node in inputs:
                values[node] = inputs[node]
            elif node in functions:
                values[node] = functions[node](*[values[parent] for parent in self._parents[node]])
            else:
                raise ProgramError(f"Dag: node {node!r} has neither a function nor an input.")
        return values

    def __repr__(self) -> str:
        return f"<Dag of {len(self.nodes)} nodes, {len(self.edges)} edges>"


@record
class Bipartite:
    """A program as a graph of two kinds of nodes: variables by number, and functions with the variables they read and
    write. A function may have several results; `program()` is the program again.
    """

    types: tuple[ArrayType, ...]
    functions: tuple[tuple[Op, tuple[Any, ...], tuple[int, ...]], ...]  # (operation, numbers or literals, numbers)
    inputs: tuple[int, ...]
    outputs: tuple[Any, ...]
    source: Program

    def dag(self) -> Dag:
        """Nodes ("variable", i) and ("function", j)."""
        edges: list[tuple[Node, Node]] = []
        for j, (_, read, written) in enumerate(self.functions):
            edges += [(("variable", i), ("function", j)) for i in read if isinstance(i, int)]
            edges += [(("function", j), ("variable", i)) for i in written]
        return Dag(edges, [("variable", i) for i in range(len(self.types))])

    def program(self) -> Program:
        """The program that this is the graph of, put together again from its nodes."""
        source = self.source
        variables = _variables(source)
        made: list[Any] = [type(variable)(kind) for variable, kind in zip(variables, self.types, strict=True)]

        def atoms(several: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(made[a] if isinstance(a, int) else a for a in several)

        equations = tuple(
            type(eq)(op, atoms(read), atoms(written), eq.location, eq.scope, eq.quiet)
            for eq, (op, read, written) in zip(source.equations, self.functions, strict=True)
        )
        number = {id(v): i for i, v in enumerate(variables)}
        constants = {made[number[id(v)]]: value for v, value in source.constants.items()}
        return type(source)(atoms(self.inputs), equations, atoms(self.outputs), constants)


def _variables(program: Program) -> list[Any]:
    return [*program.inputs, *program.constants, *[v for eq in program.equations for v in eq.outputs]]


def dag_of(program: Program) -> Dag:
    """The graph of a program: its inputs and constants, then its equations, by number."""
    producer = {id(v): i for i, v in enumerate((*program.inputs, *program.constants))}
    edges: list[tuple[Node, Node]] = []
    for number, eq in enumerate(program.equations, len(producer)):
        edges += [(producer[id(a)], number) for a in eq.inputs if id(a) in producer]
        producer.update({id(v): number for v in eq.outputs})
    count = len(program.inputs) + len(program.constants) + len(program.equations)
    return Dag(edges, range(count))


def bipartite_of(program: Program) -> Bipartite:
    """Variables and functions of a program."""
    variables = _variables(program)
    number = {id(v): i for i, v in enumerate(variables)}

    def numbered(atoms: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(number.get(id(a), a) for a in atoms)

    functions = tuple((eq.op, numbered(eq.inputs), numbered(eq.outputs)) for eq in program.equations)
    return Bipartite(
        tuple(v.type for v in variables), functions, numbered(program.inputs), numbered(program.outputs), program
    )

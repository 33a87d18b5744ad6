"""Graphs of computations: orders by enumeration, paths, execution, and programs as graphs."""

import itertools

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.dag import Dag

EDGES = [(0, 1), (0, 2), (0, 3), (1, 3), (2, 3), (1, 4), (3, 4)]


@pytest.mark.row("B4.1.b")
def test_a_graph_of_five_nodes():
    graph = Dag(EDGES)
    assert set(graph.parents(3)) == {0, 1, 2}
    assert set(graph.children(1)) == {3, 4}
    assert graph.roots == (0,)
    assert graph.leaves == (4,)
    paths = set(graph.paths(0, 4))
    brute = {
        (0, *middle, 4)
        for n in range(4)
        for middle in itertools.permutations((1, 2, 3), n)
        if all(edge in EDGES for edge in itertools.pairwise((0, *middle, 4)))
    }
    assert paths == brute


@pytest.mark.row("B4.1.c")
def test_orders():
    """Every order in which all edges point forward, found also by trying all permutations; a cycle raises."""
    graph = Dag(EDGES)
    forward = lambda order: all(order.index(a) < order.index(b) for a, b in EDGES)
    expected = {order for order in itertools.permutations(range(5)) if forward(order)}
    assert set(graph.orders()) == expected == {(0, 1, 2, 3, 4), (0, 2, 1, 3, 4)}
    assert graph.order() in expected
    with pytest.raises(ad.ProgramError, match="cycle among 1, 2"):
        Dag([(0, 1), (1, 2), (2, 1)])
    assert len(list(Dag([], nodes="abc").orders())) == 6


@pytest.mark.row("B4.1.a", "B4.1.d", "B4.1.f")
def test_execution():
    """In order, each node its function of its parents: the direct call; a chain; tuples as values of one node."""
    functions = {1: np.sin, 2: lambda a: a**2, 3: lambda a, b, c: a * b + c, 4: lambda a, b: (a + b, a - b)}
    run = lambda x: Dag(EDGES).run(functions, {0: x})[4]
    a, b = np.sin(0.7), 0.7 * np.sin(0.7) + 0.49
    np.testing.assert_allclose(run(0.7), (a + b, a - b), rtol=1e-15)
    assert ad.grad(lambda x: run(x)[0])(0.7) == pytest.approx(np.cos(0.7) + np.sin(0.7) + 0.7 * np.cos(0.7) + 1.4)
    chain = Dag([(i, i + 1) for i in range(3)])
    steps = {1: np.sin, 2: np.exp, 3: np.sqrt}
    assert chain.run(steps, {0: 0.3})[3] == np.sqrt(np.exp(np.sin(0.3)))
    with pytest.raises(ad.ProgramError, match="node 1 has neither"):
        chain.run({}, {0: 1.0})
    with pytest.raises(ad.ProgramError, match="no node 9"):
        chain.parents(9)


def shared(x, y):
    """x₂ e^{x₁} is computed once and used twice."""
    a = y * np.exp(x)
    return a * np.sqrt(x + a)


def test_the_graph_of_a_program():
    program = ad.trace(shared)(1.0, 2.0).program
    graph = program.dag()
    assert graph.roots == (0, 1)
    names = ["x", "y", *[eq.op.name for eq in program.equations]]
    product = names.index("multiply")
    assert {names[child] for child in graph.children(product)} == {"add", "multiply"}
    assert len(list(graph.paths(1, graph.leaves[0]))) == 2
    values = {number: eq.op for number, eq in enumerate(program.equations, 2)}
    assert graph.run(values, {0: 1.0, 1: 2.0})[graph.leaves[0]] == shared(1.0, 2.0)


@pytest.mark.row("B4.1.g")
def test_variables_and_functions():
    """Functions with several results are one node; the program comes back from the graph."""
    program = ad.trace(lambda a: np.linalg.eigh(a @ a.T)[0] + np.ones(3))(np.diag([1.0, 2.0, 3.0])).program
    graph = program.bipartite()
    several = [j for j, (_, _, written) in enumerate(graph.functions) if len(written) > 1]
    assert several
    dag = graph.dag()
    assert len(dag.children(("function", several[0]))) == 2
    assert all(a[0] != b[0] for a, b in dag.edges)
    again = graph.program()
    assert again == program
    assert again is not program
    np.testing.assert_array_equal(again(np.eye(3))[0], program(np.eye(3))[0])

"""What one element is computed from: equal expressions once, windows decided or masked."""

import numpy as np

from adjoint.compile.graph import Graph, Source, cost_of, is_lazy, lazy_rule
from adjoint.compile.views import identity
from adjoint.ops.elementwise.pointwise import BY_NAME
from tests.simplify.programs import program_of


def graph_of(f, *args, box=None):
    program, _ = program_of(f, *args)
    (out,) = program.outputs
    definitions = {eq.outputs[0]: eq for eq in program.equations if len(eq.outputs) == 1 and is_lazy(eq)}
    source = Source(definitions, set(program.inputs) | set(program.constants))
    graph = Graph(source, box or tuple((0, n) for n in out.type.shape), set())
    graph.node(out, identity(out.type.ndim))
    return graph


def kinds(graph):
    return [n.kind for n in graph.nodes]


X = np.arange(20.0)


def test_equal_expressions_are_one_node() -> None:
    graph = graph_of(lambda x: np.sin(x) * np.sin(x) + x[:], X)
    assert kinds(graph).count("load") == 1
    assert len([n for n in graph.nodes if n.kind == "point"]) <= 4


def test_views_cost_nothing() -> None:
    graph = graph_of(lambda x: x.reshape(4, 5).T[::-1, 1:] * 2.0, X)
    assert kinds(graph) == ["load", "point"]
    (load,) = [n for n in graph.nodes if n.kind == "load"]
    assert (load.position.offset, dict(load.position.terms)) == (9, {0: -1, 1: 5})


def test_a_join_is_masked_over_all_and_decided_in_its_parts() -> None:
    f = lambda x: np.concatenate([x * 2.0, x + 1.0])
    whole = graph_of(f, X)
    assert "choose" in kinds(whole)
    assert whole.edges == {(0, 20)}
    for box in ((0, 20), (20, 40)):
        part = graph_of(f, X, box=(box,))
        assert "choose" not in kinds(part)
        assert not part.edges
        assert kinds(part).count("load") == 1


def test_a_pad_of_which_nothing_is_seen_is_a_number() -> None:
    graph = graph_of(lambda x: np.pad(x, (0, 7)), X, box=((20, 27),))
    assert kinds(graph) == []


def test_which_operations_are_lazy() -> None:
    program, _ = program_of(
        lambda x: [np.sin(x), np.sort(x), x[::2], np.concatenate([x, x]), np.pad(x, 1), np.sum(x)], X
    )
    lazy = {eq.op.title for eq in program.equations if is_lazy(eq)}
    assert {"sin", "slice", "concatenate"} <= lazy
    assert not {"argsort", "sum"} & lazy
    assert any(not lazy_rule(eq.op).elementwise for eq in program.equations)


def test_costs() -> None:
    assert cost_of(BY_NAME["add"]) == 1
    assert cost_of(BY_NAME["add"]) < cost_of(BY_NAME["divide"]) < cost_of(BY_NAME["exp"])

"""The order of loops: the vector axis, how wide, axes made one."""

import numpy as np

from adjoint.compile.ir import Value
from adjoint.compile.machine import vector_bits
from adjoint.compile.order import axis_across, collapse_axes, loop_order, vector_axis, vector_width
from adjoint.compile.plan import Plan
from adjoint.compile.results import Output
from adjoint.compile.views import Index, linear, strides_of
from tests.simplify.programs import program_of


def layout(f, *args):
    """The nest of a function of one step, as the block would write it."""
    program, _ = program_of(f, *args)
    (step,) = Plan(program, lambda op: False).steps
    outputs = []
    for root in step.roots:
        index = tuple(Index(0, ((a, 1),)) for a in range(len(root.shape)) if a not in root.axes)
        node = step.graph.nodes[-1]
        outputs.append(Output(root, node, linear(index, strides_of(root.var.type.shape)), Value("%p", "ptr"), True))
    return step.graph, outputs


X = np.ones((6, 40))


def test_the_vector_axis_is_that_of_neighbors() -> None:
    assert vector_axis(*layout(lambda x: x * 2.0, X)) == 1
    assert vector_axis(*layout(lambda x: x.T + x.T, X)) in (0, 1)
    assert vector_axis(*layout(lambda x: np.sum(x, axis=0), X)) == 1
    assert vector_axis(*layout(lambda x: np.sin(x), np.float64(1.0))) is None


def test_sums_over_rows_go_inside_the_vector() -> None:
    graph, outputs = layout(lambda x: np.sum(x * x, axis=0), X)
    assert loop_order(graph, outputs, 1) == [1, 0]
    graph, outputs = layout(lambda x: np.sum(x * x, axis=1), X)
    assert loop_order(graph, outputs, 1) == [0, 1]


def test_an_array_across_the_vectors_is_read_line_by_line() -> None:
    """Squares of numbers anywhere, others where their rows share places in the cache; if little is computed again."""
    aligned, odd = np.ones((96, 256)), np.ones((96, 257))
    for f, x, expected in [
        (lambda x: x.T * 2.0, aligned, 0),
        (lambda x: x.T * 2.0, odd, 0),
        (lambda x: x.T * 2.0, aligned * 1j, 0),
        (lambda x: x.T * 2.0, odd * 1j, None),
        (lambda x: x * 2.0, aligned, None),
        (lambda x: np.sum(x.T * 2.0, axis=0), aligned, None),
        (lambda x: x.T * (x[0] * x[0] + x[1] * x[0])[:, None], aligned, None),
        (lambda x: x.T * 2.0, aligned[:4], None),
    ]:
        graph, outputs = layout(f, x)
        vector = vector_axis(graph, outputs)
        assert axis_across(graph, outputs, vector) == expected
        if expected is not None:
            assert loop_order(graph, outputs, vector) == [1, 0]


def test_the_widest_number_fills_registers() -> None:
    registers = 1 if vector_bits() == 512 else 2
    for dtype in ("float64", "float32", "int8"):
        graph, outputs = layout(lambda x: x + x, X.astype(dtype))
        width = vector_width(graph, outputs, 1)
        assert width == min(registers * vector_bits() // 8 // np.dtype(dtype).itemsize, 32)
    graph, outputs = layout(lambda x: x + x, np.ones((5, 3)))
    assert vector_width(graph, outputs, 1) == 3


def test_axes_that_follow_one_another_become_one() -> None:
    graph, outputs = collapse_axes(*layout(lambda x: np.sin(x) + 1.0, np.ones((3, 4, 5))))
    assert graph.box == ((0, 60), (0, 1), (0, 1))
    assert all(dict(o.position.terms) == {0: 1} for o in outputs)
    graph, _ = collapse_axes(*layout(lambda x: x[:, 1:] + 1.0, X))
    assert graph.box == ((0, 6), (0, 39))
    graph, _ = collapse_axes(*layout(lambda x: np.sum(x, axis=1), X))
    assert graph.box == ((0, 6), (0, 40))

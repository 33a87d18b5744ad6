"""What is kept in memory, and what is computed together."""

import numpy as np

from adjoint.compile.plan import Fused, Plan, Single
from adjoint.ops.control.scan import Scan
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType
from tests.random_programs.running import agrees
from tests.simplify.programs import program_of

X = np.linspace(-1.0, 1.0, 60).reshape(6, 10)


def plan_of(f, *args, strided=False):
    program, _ = program_of(f, *args)
    return program, Plan(program, lambda op: strided)


def test_a_chain_of_pointwise_operations_is_one_nest() -> None:
    _, plan = plan_of(lambda x: np.sum(np.tanh(x * 2.0 + 1.0)[::-1].T ** 2, axis=0), X)
    (step,) = plan.steps
    assert isinstance(step, Fused)
    assert [r.kind for r in step.roots] == ["sum"]


def test_reductions_over_one_domain_share_their_nest() -> None:
    _, plan = plan_of(lambda x: [np.sum(x), np.max(x, axis=0), x * 2.0, np.prod(x, axis=1)], X)
    (step,) = plan.steps
    assert len(step.roots) == 4


def test_what_needs_a_sum_waits_for_it() -> None:
    _, plan = plan_of(lambda x: x / np.sum(x), X)
    first, second = plan.steps
    assert [r.kind for r in first.roots] == ["sum"]
    assert [r.kind for r in second.roots] == ["store"]


def test_what_is_dear_and_read_often_is_kept() -> None:
    program, plan = plan_of(lambda x: (e := np.exp(x))[:-1] * e[1:] + np.sum(e), X)
    dear = [eq.outputs[0] for eq in program.equations if eq.op.title == "exp"]
    assert any(v in plan.kept for v in dear)
    cheap, plan = plan_of(lambda x: (x + 1.0)[:-1] * (x + 1.0)[1:], X)
    assert plan.kept == {cheap.outputs[0]}


def test_operands_of_an_operation_that_reads_any_stride_stay_views() -> None:
    program, plan = plan_of(lambda x: np.argsort((x * 2.0).T[::2], axis=0), X, strided=True)
    single = next(s for s in plan.steps if isinstance(s, Single))
    (eq,) = [eq for eq in program.equations if eq.op.title == "argsort"]
    view = plan.view(eq.inputs[0])
    assert view is not None
    assert view.base is not eq.inputs[0]
    assert view.strides == (2, 10)
    assert not view.contiguous
    assert single.reads


def test_outputs_that_are_inputs_numbers_or_the_same_twice_are_copied() -> None:
    program, plan = plan_of(lambda x: [x, x, np.sin(x), 2.0 * x, x], X)
    assert len(plan.aliases) == 3
    actual = agrees(lambda x: [x, (y := np.sin(x)), y, y[::-1], x], X).run([X])
    assert len({a.ctypes.data for a in actual}) == 5
    assert program.outputs[0] is program.inputs[0]


def test_deep_expressions_are_cut() -> None:
    def deep(x):
        for k in range(40):
            x = x * 1.001 + x[::-1] * (0.01 * k)
            x = x / 2.0
        return x

    agrees(deep, X)


def test_a_view_of_what_is_kept_later_is_looked_at_again() -> None:
    """A loop reads a column of an array that repeats it, and then the array, which has memory of its own by then."""
    vector, matrix = ArrayType((3,), np.dtype(float)), ArrayType((3, 9), np.dtype(float))
    body, _ = record_program(lambda s, v, c, k: [c + s * k + np.sum(v, axis=1)], [vector, matrix, vector, vector])

    def f(x):
        spread = np.broadcast_to(x, (3, 9))
        return Scan(body, 2, 1, 2)(spread[:, 0], spread, np.zeros(3), np.ones((2, 3)))[0]

    agrees(f, np.array([[1.0], [2.0], [3.0]]))

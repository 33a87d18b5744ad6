"""The interface of loops, part by part: what is left of it, and that the results are the same."""

import numpy as np

import adjoint as ad
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.program.check import check
from adjoint.program.program import Program, interpret
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType, type_of
from adjoint.simplify import simplify
from adjoint.simplify.loops.interface import simplify_interfaces
from adjoint.simplify.loops.liveness import prune_dead_parts
from adjoint.simplify.loops.parts import inside_first
from tests.simplify.programs import loop_of, loops_of, program_of, same_results, titles

X = np.array([0.6, 0.9, 0.35])


def tidied(f, *args) -> Program:
    """The program of f after the pass, compared with the one before."""
    before, arguments = program_of(f, *args)
    after = check(prune_dead_parts(check(inside_first(simplify_interfaces)(before))))
    same_results(before, after, arguments, rounding=0.0)
    return after


def test_a_carry_that_stays_is_a_constant() -> None:
    program = tidied(lambda x: ad.scan(lambda c, t: ((c[0], c[0] * c[1] + t), None), (x[0], x[1]), x)[0], X)
    op = loop_of(program).op
    assert (op.constants, op.carries) == (1, 1)
    assert program.outputs[0] is program.equations[0].outputs[0]  # its result is x[0]


def test_carries_that_stay_because_all_of_them_do() -> None:
    def f(x):
        start = x[0]
        return ad.scan(lambda c, t: ((c[1], c[0]), c[0] * t), (start, start), x)

    program = tidied(f, X)
    assert loop_of(program).op.carries == 0


def test_carries_that_start_alike_and_part_stay_two() -> None:
    def f(x):
        start = x[0]
        return ad.scan(lambda c, t: ((c[1] * t, c[0] + t), None), (start, start), x)[0]

    program = tidied(f, X)
    assert loop_of(program).op.carries == 2


def test_equal_carries_are_one() -> None:
    def f(x):
        def body(c, t):
            new = c[0] * t
            return (new, new, c[2] + c[1]), None

        start = x[0]
        return ad.scan(body, (start, start, x[1]), x)[0]

    assert loop_of(tidied(f, X)).op.carries == 2


def test_equal_carries_of_a_while_loop_are_one() -> None:
    def f(x):
        def body(s):
            new = s["a"] * (1.5 + x[1])
            return {"a": new, "b": new, "n": s["n"] + 1, "still": s["still"]}

        first = x[0]
        start = {"a": first, "b": first, "n": 0, "still": x[2]}
        return ad.while_loop(lambda s: s["b"] + s["still"] < 9.0, body, start)

    op = loop_of(tidied(f, X)).op
    assert isinstance(op, While)
    assert op.carries == 2
    assert (op.condition_constants, op.body_constants) == (1, 1)


def test_constants_and_arrays_once_and_numbers_as_literals() -> None:
    def f(x):
        two = ad.numpy.asarray(x[1] * 0.0 + 2.0)
        return ad.scan(lambda c, t: (c * x[0] + t[0] * two * x[0] - t[1], None), 0.0, (x, x))[0]

    def g(x):
        return ad.jvp(f, (x,), (np.ones(3),))

    before, arguments = program_of(g, X)
    after = check(simplify_interfaces(simplify_interfaces(before)))
    same_results(before, after, arguments, rounding=0.0)
    assert len(loop_of(after).inputs) < len(loop_of(before).inputs)
    given = loop_of(after).inputs
    assert len(set(given)) == len(given)


def test_an_array_of_equal_rows_is_a_constant() -> None:
    def f(x):
        rows = np.broadcast_to(x, (4, 3))
        columns = np.broadcast_to(x[:1], (4, 3))
        ones = np.ones((4, 3))
        return ad.scan(lambda c, t: (np.sin(c) * t[0] + t[1] - t[2], None), x, (rows, columns, ones))[0]

    op = loop_of(tidied(f, X)).op
    assert len(op.body.inputs) == op.constants + op.carries


def test_rows_that_differ_in_the_sign_of_zero_are_not_equal() -> None:
    rows = np.array([0.0, -0.0, 0.0])
    program = tidied(lambda x: ad.scan(lambda c, t: (c, np.copysign(c, t)), x[0], rows)[1], X)
    op = loop_of(program).op
    assert len(op.body.inputs) == op.constants + op.carries + 1


def test_stacks_that_are_known_outside() -> None:
    def f(x):
        return ad.scan(lambda c, t: (c * t, (c, x[1], t, 2.0, c, np.arange(2.0))), x[0], x)

    program = tidied(f, X)
    assert len(loop_of(program).outputs) == 2  # the carry and one stack
    assert titles(program).count("broadcast") == 3
    assert program.outputs[3] is program.inputs[0]
    assert program.outputs[1] is program.outputs[5]


def test_the_flags_of_a_while_loop_are_literals_in_the_loop_back() -> None:
    def f(x):
        return ad.while_loop(lambda v: v < 9.0, lambda v: v * (1.5 + x[1]), x[0])

    program = tidied(ad.grad(f), X)
    _, back = loops_of(program)
    assert all(v.type.dtype != bool for v in back.op.body.inputs)


def test_a_loop_that_counts_its_iterations_by_its_arrays_keeps_one() -> None:
    def f(x):
        return ad.while_loop(lambda s: s[1] < 3, lambda s: (s[0] + x[1], s[1] + 1), (x[0], 0))[0]

    program = tidied(ad.grad(f), X)
    op = loops_of(program)[-1].op
    assert op.length is None
    assert len(op.body.inputs) == op.constants + op.carries + 1


def test_loops_inside_loops() -> None:
    def f(x):
        def outer(c, t):
            inner, _ = ad.scan(lambda d, s: ((d[0], d[0] * d[1] + s), None), (t, c), x)
            return inner[1], None

        return ad.scan(outer, x[0], x)[0]

    program = tidied(f, X)
    assert loop_of(loop_of(program).op.body).op.carries == 1


def test_carries_with_the_same_next_value_end_alike() -> None:
    def f(x):
        def body(c, t):
            new = c[0] * t
            return (new, new + 0.0, c[1]), c[1] * t

        (a, b, _), ys = ad.scan(body, (x[0], x[1], x[2]), x)
        return a, b, ys

    def g(x, iterations):
        def body(c, t):
            new = c[0] * t
            return (new, new, c[1]), c[2] + c[1]

        return ad.scan(body, (x[0], x[1], x[2]), x[:iterations])

    tidied(f, X)
    program = tidied(lambda x: g(x, 3), X)
    assert program.outputs[0] is program.outputs[1]
    nothing = tidied(lambda x: g(x, 0), X)  # no iteration: they end as they start
    assert nothing.outputs[0] is not nothing.outputs[1]


def test_rows_of_a_size_that_nobody_knows_are_not_repeated_outside() -> None:
    number = ArrayType((), np.dtype(float))
    condition, _ = record_program(lambda s: [s < 10.0], [number])
    history, _ = record_program(lambda s: [s * 2.0, s], [number])

    def f(x):
        rows = While(condition, history, 0, 0)(x)[1]
        again, _ = record_program(lambda rows, c: [c + np.sum(rows), rows], [type_of(rows), number])
        return Scan(again, 1, 1, 3)(rows, x)

    program = simplify(record_program(f, [number])[0])
    last, stack = interpret(program, [np.float64(2.0)])
    assert last == 2.0 + 3 * (2.0 + 4.0 + 8.0)
    np.testing.assert_array_equal(stack, [[2.0, 4.0, 8.0]] * 3)


def test_stacks_that_became_one_value_since_are_constants() -> None:
    """0.85 A is stacked for the backward pass, until it is moved out of the loop."""

    def f(a):
        x = np.ones(12)
        for _ in range(100):
            x = 0.85 * a @ x + 0.1
        return np.sum(x**2)

    def stacked(program: Program) -> int:
        return max(v.type.size for eq in program.equations for v in eq.outputs)

    a = np.arange(144.0).reshape(12, 12) / 1000.0
    lowered = ad.jit(ad.grad(f)).lower(a)
    before, after = lowered.program, check(simplify(lowered.program))
    same_results(before, after, [a])
    assert stacked(before) == 100 * 144
    assert stacked(after) == 100 * 12

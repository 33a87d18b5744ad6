"""What nobody reads of loops and branches goes; what somebody needs, iterations later, stays."""

import dataclasses

import numpy as np

import adjoint as ad
from adjoint.ops.control.scan import Scan
from adjoint.program.check import check
from adjoint.program.program import Equation, Program
from adjoint.simplify.loops.liveness import prune_dead_parts
from tests.simplify.programs import loop_of, loops_of, program_of, same_results, titles

X = np.array([0.6, 0.9, 0.35])


def _with(program: Program, old: Equation, new: Equation) -> Program:
    equations = tuple(new if eq is old else eq for eq in program.equations)
    return Program(program.inputs, equations, program.outputs, program.constants)


def pruned(f, *args) -> Program:
    before, arguments = program_of(f, *args)
    after = check(prune_dead_parts(before))
    same_results(before, after, arguments, rounding=0.0)
    return after


def test_stacks_that_nobody_reads() -> None:
    eq = loop_of(pruned(lambda x: ad.scan(lambda c, t: (c * t, (c, np.sin(c))), x[0], x)[0], X))
    assert len(eq.outputs) == 1
    assert titles(eq.op.body) == ["multiply"]


def test_a_carry_that_only_itself_needs_goes_and_one_that_is_needed_iterations_later_stays() -> None:
    def f(x):
        def body(c, t):
            _a, b, d, lonely = c
            return (b * t, d + 1.0, d * x[1], np.sin(lonely) + d), None

        return ad.scan(body, (x[0], x[1], x[2], 0.0), x)[0][0]

    eq = loop_of(pruned(f, X))
    assert eq.op.carries == 3
    assert "sin" not in titles(eq.op.body)


def test_constants_and_arrays_that_only_dead_parts_read() -> None:
    def f(x):
        return ad.scan(lambda c, t: ((c[0] * t[0], c[1] + t[1] * x[2]), None), (x[0], x[1]), (x, np.sin(x)))[0][0]

    program = pruned(f, X)
    op = loop_of(program).op
    assert len(op.body.inputs) == 2
    assert "sin" not in titles(program)


def test_what_the_condition_reads_stays() -> None:
    def f(x):
        return ad.while_loop(lambda s: s[1] < 3, lambda s: (s[0] * 2.0, s[1] + 1, s[2] * 3.0), (x[0], 0, x[1]))[0]

    assert loop_of(pruned(f, X)).op.carries == 2


def test_a_loop_inside_that_needs_less_frees_the_carry_around_it() -> None:
    def f(x):
        def outer(c, t):
            inner, _ = ad.scan(lambda d, s: ((d[0] * s, d[1] + s), None), (c[0], c[1]), x)
            return inner, None

        return ad.scan(outer, (x[0], x[1]), x)[0][0]

    eq = loop_of(pruned(f, X))
    assert eq.op.carries == 1
    assert loop_of(eq.op.body).op.carries == 1


def test_rows_that_a_loop_inside_counts_by_are_needed_only_if_it_reads_no_others() -> None:
    def f(x, a, b):
        def outer(c, rows):
            return ad.scan(lambda d, s: (d + np.tanh(s[1]), None), c, rows)[0], None

        return ad.scan(outer, x[0], (a, b))[0]

    before, arguments = program_of(f, X, np.ones((2, 4)), np.full((2, 4), 0.5))
    outer = loop_of(before)
    inner = loop_of(outer.op.body)
    counting = Scan(inner.op.body, inner.op.constants, inner.op.carries, None)  # of as many iterations as rows
    around = _with(outer.op.body, inner, dataclasses.replace(inner, op=counting))
    scan = Scan(around, outer.op.constants, outer.op.carries, outer.op.length)
    after = check(prune_dead_parts(_with(before, outer, dataclasses.replace(outer, op=scan))))
    same_results(before, after, arguments, rounding=0.0)
    assert len(loop_of(after).op.body.inputs) == 2  # the carry, and a row of b


def test_results_and_operands_of_branches() -> None:
    def f(x):
        return ad.cond(x[0] > 0.4, lambda a, b: (np.sin(a), b), lambda a, b: (a, np.cos(b)), x[0], x[1] * x[2])[0]

    program = pruned(f, X)
    (eq,) = [eq for eq in program.equations if eq.op.title == "cond"]
    assert len(eq.outputs) == 1
    assert len(eq.inputs) == 2
    assert "multiply" not in titles(program)


def test_a_loop_that_nobody_reads_goes_and_one_that_prints_stays(capsys) -> None:
    def f(x):
        ad.scan(lambda c, t: (c * t, None), x[0], x)

        def loud(c, t):
            ad.debug.print("{}", t)
            return c * t, c

        ad.scan(loud, x[0], x)
        return x[1]

    program, _ = program_of(f, X)
    after = check(prune_dead_parts(program))
    (eq,) = loops_of(after)
    assert eq.outputs == ()
    assert eq.op.carries == 0
    after(X)
    assert capsys.readouterr().out == "0.6\n0.9\n0.35\n"


def test_nothing_to_do() -> None:
    program, _ = program_of(lambda x: ad.scan(lambda c, t: (c * t, c), x[0], x), X)
    assert prune_dead_parts(program) is program

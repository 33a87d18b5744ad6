"""A loop taken apart and put together again is the same loop."""

import numpy as np

import adjoint as ad
from adjoint.program.check import check
from adjoint.program.program import Equation, Program
from adjoint.simplify.loops.parts import acts, inside_first, open_loop
from tests.simplify.programs import loop_of, loops_of, program_of

X = np.array([0.6, 0.9, 0.35])


def scanned(x):
    return ad.scan(lambda c, t: (c * t + x[0], c), x[1], x)[1]


def scanned_sum(x):
    return np.sum(scanned(x))


def while_scanned(x):
    return ad.while_loop(lambda s: s[0] < x[2] + 4.0, lambda s: (s[0] + 1.0, s[1] * x[0]), (0.0, x[1]))[1]


def test_put_together_again() -> None:
    for f in (scanned, ad.grad(scanned_sum), while_scanned):
        program, _ = program_of(f, X)
        eq = loops_of(program)[-1]
        loop = open_loop(eq)
        assert loop is not None
        assert loop.close() is eq
        loop.changed = True
        again = loop.close()
        assert again is not eq
        rest = tuple(again if e is eq else e for e in program.equations)
        assert check(Program(program.inputs, rest, program.outputs, program.constants)) == program


def test_other_equations_are_no_loops() -> None:
    program, _ = program_of(lambda x: np.sin(x), X)
    assert open_loop(program.equations[0]) is None


def test_effects_are_seen_at_any_depth() -> None:
    def loud(x):
        def body(c, t):
            return ad.cond(c > 0, lambda c: (ad.debug.print("{}", c), c)[1], lambda c: -c, c), None

        return ad.scan(body, x[0], x)[0]

    assert acts(loop_of(program_of(loud, X)[0]).op)
    assert not acts(loop_of(program_of(scanned, X)[0]).op)


def test_inside_first_reaches_every_program_from_within() -> None:
    def f(x):
        return ad.scan(lambda c, t: (ad.scan(lambda d, s: (np.sin(d) * s, None), c, x)[0] * t, None), x[0], x)[0]

    program, _ = program_of(f, X)
    depths: list[list[str]] = []

    def noted(p: Program) -> Program:
        depths.append([eq.op.title for eq in p.equations])
        return p

    assert inside_first(noted)(program) is program
    assert depths == [["sin", "multiply"], ["scan", "multiply"], ["slice", "scan"]]

    def doubled(p: Program) -> Program:
        return Program(p.inputs, tuple(_renamed(e) for e in p.equations), p.outputs, p.constants)

    assert inside_first(doubled)(program) == program


def _renamed(eq: Equation) -> Equation:
    return Equation(eq.op, eq.inputs, eq.outputs)

"""Every fault of a program is found, and named by equation and line."""

import dataclasses

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ProgramError
from adjoint.program.check import check
from adjoint.program.program import Equation, Literal, Program, Var
from adjoint.program.types import ArrayType


def f(x, y):
    z = np.sin(x) * y
    return np.sum(z + np.arange(3.0))


def program() -> Program:
    return ad.trace(f)(np.ones(3), 2.0).program


def changed(number: int, **changes) -> Program:
    p = program()
    equations = list(p.equations)
    equations[number] = dataclasses.replace(equations[number], **changes)
    return dataclasses.replace(p, equations=tuple(equations))


def test_a_traced_program_is_well_formed() -> None:
    p = program()
    assert check(p) is p


def test_a_variable_that_nothing_binds() -> None:
    stray = Var(ArrayType((3,), np.dtype(float)))
    with pytest.raises(
        ProgramError, match=r"equation 0, sin at test_check\.py:\d+, in f: z = np\.sin\(x\) \* y: it reads a variable"
    ):
        check(changed(0, inputs=(stray,)))
    with pytest.raises(ProgramError, match="output 0: it reads a variable"):
        check(dataclasses.replace(program(), outputs=(stray,)))


def test_use_before_binding() -> None:
    p = program()
    first, second, *rest = p.equations
    with pytest.raises(ProgramError, match="equation 0, multiply"):
        check(dataclasses.replace(p, equations=(second, first, *rest)))


def test_a_variable_bound_twice() -> None:
    p = program()
    with pytest.raises(ProgramError, match=r"equation 1, multiply .* bound already"):
        check(_bound_twice(p))
    with pytest.raises(ProgramError, match=r"input 1: .* bound already"):
        check(dataclasses.replace(p, inputs=(p.inputs[0], p.inputs[0])))


def _bound_twice(p: Program) -> Program:
    first, second, *rest = p.equations
    return dataclasses.replace(p, equations=(first, dataclasses.replace(second, outputs=first.outputs), *rest))


@pytest.mark.parametrize(
    "kind", [ArrayType((4,), np.dtype(float)), ArrayType((3,), np.dtype("f4")), ArrayType((3, 1), np.dtype(float))]
)
def test_a_type_that_the_primitive_does_not_give(kind) -> None:
    with pytest.raises(ProgramError, match=r"equation 0, sin .* gives float64\[3\] for float64\[3\], but is declared"):
        check(changed(0, outputs=(Var(kind),)))


def test_arguments_that_the_primitive_does_not_take() -> None:
    p = program()
    wrong = Var(ArrayType((2,), np.dtype(float)))
    eq = dataclasses.replace(p.equations[1], inputs=(p.equations[0].outputs[0], wrong))
    with pytest.raises(ProgramError, match=r"does not take float64\[3\], float64\[2\]: .*broadcast"):
        check(dataclasses.replace(p, inputs=(p.inputs[0], wrong), equations=(p.equations[0], eq, *p.equations[2:])))


def test_a_constant_of_another_type() -> None:
    p = program()
    (v,) = p.constants
    with pytest.raises(ProgramError, match=r"constant 0 is declared as float64\[3\], but is float64\[4\]"):
        check(dataclasses.replace(p, constants={v: np.ones(4)}))


@pytest.mark.parametrize("name", ["scan", "cond", "while", "checkpoint"])
def test_programs_inside_are_checked(name) -> None:
    functions = {
        "scan": lambda x: ad.scan(lambda c, t: (np.sin(c) * t, None), x, np.ones(3))[0],
        "cond": lambda x: ad.cond(x > 0, lambda x: np.sin(x), lambda x: x, x),
        "while": lambda x: ad.while_loop(lambda v: v > 1.0, lambda v: np.sin(v), x),
        "checkpoint": ad.checkpoint(lambda x: np.sin(x) * 2.0),
    }
    p = ad.trace(functions[name])(2.0).program
    check(p)
    (at,) = [i for i, eq in enumerate(p.equations) if eq.op.title == name]
    op = p.equations[at].op
    broken = {}
    for field in dataclasses.fields(op):
        value = getattr(op, field.name)
        if isinstance(value, Program):
            broken[field.name] = _with_wrong_sine(value)
        elif name == "cond":
            broken[field.name] = tuple(map(_with_wrong_sine, value))
    wrong = dataclasses.replace(p.equations[at], op=dataclasses.replace(op, **broken))
    with pytest.raises(ProgramError, match=rf"equation {at}, {name} .*: equation \d, sin .* declared to give float32"):
        check(dataclasses.replace(p, equations=(*p.equations[:at], wrong, *p.equations[at + 1 :])))


def _with_wrong_sine(p: Program) -> Program:
    wrong = Var(ArrayType((), np.dtype("f4")))
    equations = [dataclasses.replace(eq, outputs=(wrong,)) if eq.op.title == "sin" else eq for eq in p.equations]
    return dataclasses.replace(p, equations=tuple(equations))


def test_literals_and_sizes_known_only_at_run_time() -> None:
    def sizes(x):
        return ad.grad(lambda x: ad.while_loop(lambda v: v < 9.0, lambda v: v * v, x))(x)

    check(ad.trace(sizes)(2.0).program)
    x = Var(ArrayType((), np.dtype(float)))
    z = Var(ArrayType((), np.dtype(float)))
    (multiply,) = [eq.op for eq in program().equations if eq.op.title == "multiply"]
    check(Program((x,), (Equation(multiply, (x, Literal(2)), (z,)),), (z, Literal(1.0))))

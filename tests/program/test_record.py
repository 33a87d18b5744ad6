"""Recording programs: from types alone or beside values; constants, captured values, guards, locations."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ControlFlowError, LeakError, ShapeError
from adjoint.base.source import describe
from adjoint.program.program import Literal, interpret
from adjoint.program.record import Record, record_program
from adjoint.program.trace import running
from adjoint.program.types import ArrayType, type_of

FLOAT = np.dtype(float)
VECTOR, NUMBER = ArrayType((3,), FLOAT), ArrayType((), FLOAT)


def program_of(f, *types):
    program, captured = record_program(lambda *xs: [f(*xs)], types)
    assert not captured
    return program


def test_a_symbolic_record_knows_types_only() -> None:
    seen = []

    def f(x):
        seen.append((x.shape, x.dtype, x._value))
        return np.sum(np.sin(x) * 2.0)

    program = program_of(f, VECTOR)
    assert seen == [((3,), FLOAT, None)]
    assert [str(eq.op) for eq in program.equations] == ["sin", "multiply", "sum[axes=(0,)]"]
    x = np.array([0.1, 0.2, 0.3])
    assert program(x)[0] == np.sum(np.sin(x) * 2.0)


def test_shapes_are_compared_while_recording() -> None:
    with pytest.raises(ShapeError, match="broadcast"):
        program_of(lambda x: x + np.ones(4), VECTOR)
    with pytest.raises(ShapeError, match="columns"):
        program_of(lambda x: np.ones((2, 4)) @ x, VECTOR)


def test_weak_numbers_are_literals_and_stay_weak() -> None:
    program = program_of(lambda x: 2 * x + 0.5, ArrayType((3,), np.dtype(np.float32)))
    assert program.output_types == (ArrayType((3,), np.dtype(np.float32)),)
    literals = [a.value for eq in program.equations for a in eq.inputs if isinstance(a, Literal)]
    assert literals == [2, 0.5]


def test_constants_are_copied_and_shared() -> None:
    w = np.arange(3.0)
    program = program_of(lambda x: x * w + w, VECTOR)
    assert len(program.constants) == 1
    w[...] = 100.0
    np.testing.assert_array_equal(program(np.ones(3))[0], 2 * np.arange(3.0))


def test_a_constant_written_to_between_two_uses() -> None:
    w = np.ones(3)

    def f(x):
        y = x * w
        w[...] = 5.0
        return y + x * w

    np.testing.assert_array_equal(program_of(f, VECTOR)(np.ones(3))[0], 6.0)


def test_values_of_outer_traces_become_inputs() -> None:
    found = []

    def f(a):
        program, captured = record_program(lambda x: [np.sin(x) * a + a], [VECTOR])
        assert captured[0]._trace is a._trace
        assert len(program.inputs) == 1 + len(captured)
        (y,) = interpret(program, [np.ones(3), *captured])
        found.append(len(captured))
        return np.sum(y)

    assert ad.grad(f)(2.0) == pytest.approx(3 * (np.sin(1.0) + 1.0), rel=1e-14)


def test_a_concrete_record_answers_and_notes_guards() -> None:
    def f(x):
        if x[0] > 0:
            x = x * 2.0
        for _ in range(int(x[1])):
            x = x + 1.0
        return [x]

    with running(Record(concrete=True)) as record:
        value = np.array([1.0, 2.0, 3.0])
        x = record.input(type_of(value), value)
        (y,) = f(x)
        program, _ = record.program([x], [y])
    assert [(g.question, g.answer) for g in record.guards] == [("bool", True), ("int", 4)]
    assert [g.position for g in record.guards] == sorted(g.position for g in record.guards)
    np.testing.assert_array_equal(y._value, [6.0, 8.0, 10.0])
    np.testing.assert_array_equal(program(value)[0], [6.0, 8.0, 10.0])


@pytest.mark.parametrize(
    "question",
    [
        lambda x: 1.0 if x > 0 else 2.0,
        lambda x: [0.0] * int(x),
        lambda x: {x: 1},
        lambda x: 0.0 if not x else 1.0,
        lambda x: x and 1.0,
    ],
)
def test_python_may_not_ask_a_symbolic_value(question) -> None:
    with pytest.raises(ControlFlowError, match=r"ad\.cond"):
        program_of(question, NUMBER)


def test_an_argument_assigned_to_inside() -> None:
    def f(x):
        x[0] = 10.0
        x *= 2.0
        return x

    program = program_of(f, VECTOR)
    x = np.ones(3)
    np.testing.assert_array_equal(program(x)[0], [20.0, 2.0, 2.0])
    np.testing.assert_array_equal(x, 1.0)


def test_results_that_are_inputs_constants_and_numbers() -> None:
    program, _ = record_program(lambda x: [x, 3.0, np.ones(2), x], [VECTOR])
    x, three, ones, again = program(np.arange(3.0))
    assert three == 3.0
    np.testing.assert_array_equal(ones, 1.0)
    np.testing.assert_array_equal(x, again)
    assert not program.equations


def test_every_equation_knows_its_line_and_scope() -> None:
    def f(x):
        with ad.scope("first"):
            y = np.sin(x)
        return y * 2.0

    first, second = program_of(f, VECTOR).equations
    assert "np.sin(x)" in describe(first.location)
    assert "y * 2.0" in describe(second.location)
    assert first.scope == ("first",)
    assert second.scope == ()


def test_a_recorded_value_leaks() -> None:
    leaked = []
    record_program(lambda x: leaked.append(x) or [x], [VECTOR])
    with pytest.raises(LeakError):
        leaked[0] + 1.0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ad.grad(lambda x: np.sum(np.tanh(x) * x))(x),
        lambda x: ad.jvp(np.sin, (x,), (np.ones(3),))[1],
        lambda x: ad.vmap(lambda y: y * np.exp(y))(x),
        lambda x: ad.jet(np.sin, (x,), ((np.ones(3), np.zeros(3)),))[1][1],
        lambda x: ad.vmap(ad.grad(lambda y: y * np.exp(y)))(x),
        lambda x: ad.vjp(lambda x: x[::-1] * x, x)[1](x)[0],
        lambda x: np.sort(x)[np.array([0, 2])] @ np.ones(2),
        lambda x: np.where(x > 0.5, x, 0.0).cumsum(),
    ],
)
def test_transformations_are_recorded(f) -> None:
    """A program of a derivative evaluates to the derivative; and it can be differentiated again."""
    x = np.array([0.3, 0.9, 0.6])
    program = program_of(f, VECTOR)
    np.testing.assert_allclose(program(x)[0], f(x), rtol=1e-14)
    v = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(ad.jvp(lambda x: program(x)[0], (x,), (v,))[1], ad.jvp(f, (x,), (v,))[1], rtol=1e-13)
    lanes = np.stack([x, x[::-1]])
    np.testing.assert_allclose(ad.vmap(lambda x: program(x)[0])(lanes), np.stack([f(y) for y in lanes]), rtol=1e-14)
    again = program_of(lambda x: interpret(program, [x])[0], VECTOR)
    assert again == program


def test_effects_inside_a_loop_are_written_down_once(capsys) -> None:
    def f(x):
        def body(i, v):
            ad.debug.print("{}", i)
            return v + x

        return ad.fori_loop(0, 12, body, x)

    program = ad.trace(f, concrete=True)(1.0)
    capsys.readouterr()
    assert program(1.0) == 13.0
    assert capsys.readouterr().out.split() == [str(i) for i in range(12)]


@pytest.mark.parametrize("function", [lambda a: a + 300, lambda a: 300 - a, lambda a: a * -1, lambda a: a & 256])
def test_ints_that_a_dtype_has_no_room_for(function) -> None:
    """As NumPy's own arithmetic: an error, no other number."""
    a = np.array([1, 2], np.uint8)
    for transformed, x in ((function, a), (ad.jit(function), a), (ad.vmap(function), a[None])):
        with pytest.raises(OverflowError, match="out of bounds for uint8"):
            transformed(x)

"""Programs print, compare, hash and are read by one loop. The prints of ten gradients stand in tests/golden.

`ADJOINT_GOLDEN=write pytest tests/program/test_program.py` writes them anew; the difference shows what a change did.
"""

import os
import weakref
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.arrays.rearrange import Reshape
from adjoint.ops.arrays.reduce import Sum
from adjoint.ops.elementwise.pointwise import BY_NAME
from adjoint.program.identity import identify
from adjoint.program.op import PRIMITIVES, Op, primitive
from adjoint.program.program import Equation, Literal, Program, Var, interpret, names
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType, Size, result_dtype, type_of
from adjoint.simplify import simplify

FLOAT = np.dtype(float)
VECTOR, MATRIX, NUMBER = ArrayType((3,), FLOAT), ArrayType((3, 3), FLOAT), ArrayType((), FLOAT)


def program_of(f, *types) -> Program:
    return record_program(lambda *xs: [f(*xs)], types)[0]


def small() -> Program:
    return program_of(lambda x: np.sum(np.sin(x) * 2.0), VECTOR)


# ---- printing ----


def test_print() -> None:
    assert str(small()).splitlines() == [
        "(a: float64[3]) {",
        "  b: float64[3] = sin a",
        "  c: float64[3] = multiply b 2.0",
        "  d: float64[] = sum[axes=(0,)] c",
        "} -> d",
    ]
    assert repr(small()) == "<Program of 3 equations>"
    assert "&gt;" not in small()._repr_html_()
    assert "<pre>" in small()._repr_html_()


def test_constants_are_printed_short() -> None:
    text = str(program_of(lambda x: x * np.arange(100.0), ArrayType((100,), FLOAT)))
    assert "b: float64[100] = [ 0.  1. ... 98. 99.]" in text


def test_names_go_on_after_z() -> None:
    listed = list(islice(names(), 26 * 27 + 1))
    assert listed[:3] == ["a", "b", "c"]
    assert listed[25:28] == ["z", "aa", "ab"]
    assert listed[26 * 27] == "aaa"
    assert len(set(listed)) == len(listed)


GRADIENTS = {
    "sine": (lambda x: np.sum(np.sin(x)), [VECTOR]),
    "product": (lambda x, y: np.sum(x * y), [VECTOR, VECTOR]),
    "quadratic form": (lambda x, a: x @ a @ x, [VECTOR, MATRIX]),
    "layer": (lambda w, x: np.sum(np.tanh(w @ x) ** 2), [MATRIX, VECTOR]),
    "broadcast": (lambda x, s: np.sum(np.exp(x * s)), [VECTOR, NUMBER]),
    "indexing": (lambda x: x[0] * x[1] + np.sum(x[::-1]), [VECTOR]),
    "selection": (lambda x: np.sum(np.where(x > 0, np.sqrt(x), x)), [VECTOR]),
    "maximum": (lambda x: np.max(x) - np.min(x), [VECTOR]),
    "power": (lambda x: x**3 / (1.0 + x**2), [NUMBER]),
    "assignment": (lambda x: _assigned(x), [VECTOR]),
    "softmax": (lambda x: np.log(np.sum(np.exp(x - np.max(x)))), [VECTOR]),
    "cumulative": (lambda x: np.sum(np.cumsum(x) * np.cumprod(x)), [VECTOR]),
}


def _assigned(x):
    y = x * 2.0
    y[1] = y[0] ** 2
    return np.sum(y)


@pytest.mark.parametrize("name", GRADIENTS)
def test_golden(name) -> None:
    f, types = GRADIENTS[name]
    program = record_program(lambda *xs: list(ad.grad(f, argnums=tuple(range(len(xs))))(*xs)), types)[0]
    path = Path(__file__).resolve().parent.parent / "golden" / f"{name.replace(' ', '_')}.program"
    text = str(program) + "\n"
    if os.environ.get("ADJOINT_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "ADJOINT_GOLDEN=write writes the files anew"


def test_every_golden_file_has_a_gradient() -> None:
    files = {p.stem for p in (Path(__file__).resolve().parent.parent / "golden").glob("*.program")}
    assert files == {name.replace(" ", "_") for name in GRADIENTS}


# ---- equality ----


def test_equal_programs() -> None:
    assert small() == small()
    assert hash(small()) == hash(small())
    assert len({small(), small()}) == 1


DIFFERENT = [
    lambda x: np.sum(np.sin(x) * 3.0),
    lambda x: np.sum(np.sin(x) * 2),  # an integer
    lambda x: np.sum(2.0 * np.sin(x)),
    lambda x: np.sum(np.cos(x) * 2.0),
    lambda x: np.sum(np.sin(x) * np.float32(2.0)),
    lambda x: np.sum(np.sin(x) * np.full(3, 2.0)),
    lambda x: np.sum(x * 2.0),
    lambda x: np.sin(x) * 2.0,
]


@pytest.mark.parametrize("f", DIFFERENT)
def test_different_programs(f) -> None:
    assert program_of(f, VECTOR) != small()


def test_the_type_of_the_input_counts() -> None:
    assert program_of(np.sin, VECTOR) != program_of(np.sin, ArrayType((4,), FLOAT))
    assert program_of(np.sin, VECTOR) != program_of(np.sin, ArrayType((3,), np.dtype(np.float32)))


def test_constants_count_by_value() -> None:
    w = np.arange(3.0)
    f = lambda w: program_of(lambda x: x * w, VECTOR)
    assert f(w) == f(w.copy())
    assert f(w) != f(w + 1)
    assert f(w) != f(w.astype(np.float32))
    assert hash(f(w)) == hash(f(w.copy()))


@pytest.mark.parametrize("a, b, same", [(np.nan, np.nan, True), (0.0, -0.0, False), (1, 1.0, False), (1, True, False)])
def test_literals(a, b, same) -> None:
    assert (Literal(a).key() == Literal(b).key()) is same


# ---- the loop ----


def test_values_are_dropped_after_their_last_use() -> None:
    """The interpreter holds no more than the program still needs."""
    program = program_of(lambda x: np.exp(np.sin(np.cos(np.tan(x)))), VECTOR)
    alive, peak = [], []

    class Watched(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            plain = [np.asarray(x) for x in inputs]
            out = getattr(ufunc, method)(*plain, **kwargs).view(Watched)
            alive.append(weakref.ref(out))
            peak.append(sum(r() is not None for r in alive))
            return out

    interpret(program, [np.ones(3).view(Watched)])
    assert len(peak) == 4
    assert max(peak) <= 2


def test_several_results_of_one_equation() -> None:
    class Halves(Op):
        """x and what is left: two results."""

        several = True

        def evaluate(self, *xs):
            return xs[0] / 2, xs[0] / 2

        def result_type(self, *types):
            return types[0], types[0]

        push = pull = keep = batch = coefficient = None  # type: ignore[assignment]

    x, a, b, c = (Var(VECTOR) for _ in range(4))
    op = Halves()
    program = Program((x,), (Equation(op, (x,), (a, b)), Equation(BY_NAME["add"], (a, b), (c,))), (c, a))
    total, half = program(np.ones(3))
    np.testing.assert_array_equal(total, 1.0)
    np.testing.assert_array_equal(half, 0.5)


def test_unused_results_and_repeated_outputs() -> None:
    program, _ = record_program(lambda x: [x, x], [VECTOR])
    a, b = program(np.ones(3))
    np.testing.assert_array_equal(a, b)
    with_dead = program_of(lambda x: (np.exp(x), x * 2.0)[1], VECTOR)
    assert len(with_dead.equations) == 2
    np.testing.assert_array_equal(with_dead(np.ones(3))[0], 2.0)


def test_the_wrong_number_of_arguments() -> None:
    with pytest.raises(ValueError):
        small()(np.ones(3), 1.0)


def test_a_number_is_no_array_of_one_element() -> None:
    """Programs that give back one and the other are two."""
    programs = []
    for value in (np.array(0.0), np.zeros(1), np.zeros((1, 1))):
        v = Var(type_of(value))
        programs.append(Program((), (), (v,), {v: value}))
    assert len(set(programs)) == len({identify(p) for p in programs}) == 3
    for program in programs:
        assert simplify(program).output_types == program.output_types


def test_sizes_that_are_found_when_it_runs_keep_their_places() -> None:
    """A reshape leaves out an axis of one between two lengths that nobody knows beforehand."""
    n, m = Size.fresh(), Size.fresh()
    x = Var(ArrayType((n, 1, 3, m), FLOAT))
    op = Reshape((n, 3, m))
    z = Var(op.result_type(x.type))
    program = Program((x,), (Equation(op, (x,), (z,)),), (z,))
    for shape in [(28, 1, 3, 6), (1, 1, 3, 3), (3, 1, 3, 1), (0, 1, 3, 2)]:
        value = np.arange(float(np.prod(shape))).reshape(shape)
        np.testing.assert_array_equal(interpret(program, [value])[0], value[:, 0])


# ---- types and primitives ----


def test_types() -> None:
    assert str(ArrayType((2, Size("n")), FLOAT)) == "float64[2,n]"
    assert str(type_of(1.0)) == "float64[]~"
    assert type_of(np.float32(1)) == ArrayType((), np.dtype(np.float32))
    assert type_of(True).dtype == bool
    assert not type_of(np.arange(3)).differentiable
    assert ArrayType((2, 3), FLOAT).size == 6
    assert Size.fresh() != Size.fresh()
    assert ArrayType((2,), FLOAT).zeros().shape == (2,)
    assert type(NUMBER.zeros()) is np.float64


@pytest.mark.parametrize("a", [np.float32(1), np.arange(3), 1, 1.0, 1j, np.complex64(1), True, np.ones(2, np.float32)])
@pytest.mark.parametrize("b", [np.float32(1), 2, 2.0, 2j, np.int8(1), np.ones(2)])
def test_promotion_is_numpys(a, b) -> None:
    expected = np.result_type(a, b)
    assert result_dtype(type_of(a), type_of(b)) == expected


def test_a_missing_rule_fails_when_the_class_is_made() -> None:
    with pytest.raises(TypeError, match=r"Unfinished does not answer: .*pull.*push"):

        @primitive
        class Unfinished(Op):
            def evaluate(self, *xs):
                return xs[0]

    assert "Unfinished" not in PRIMITIVES


def test_two_primitives_of_one_name() -> None:
    with pytest.raises(TypeError, match="two primitives"):
        primitive(type("Sum", (Sum,), {"__module__": __name__}))
    assert PRIMITIVES["Sum"] is Sum


def test_primitives_are_values() -> None:
    assert Sum((0, 1)) == Sum((0, 1))
    assert Sum((0,)) != Sum((1,))
    assert len({Sum((0,)), Sum((0,))}) == 1
    with pytest.raises(AttributeError):
        Sum((0,)).axes = (1,)

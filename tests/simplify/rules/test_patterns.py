"""Identities as text: what their letters stand for, and what they refuse."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.rewriter import Rewriter
from adjoint.simplify.rules.patterns import identity
from adjoint.simplify.rules.rule import RuleBook


def titles(rules, f, *args) -> list[str]:
    """The primitives that remain when these rules alone are applied."""
    program = drop_dead_code(ad.trace(f)(*args).program)
    return [eq.op.title for eq in drop_dead_code(Rewriter(program, RuleBook(rules)).run()).equations]


X, Y = np.array([0.5, 2.0]), np.array([1.5, -1.0])


def test_operands_of_commutative_operations_are_found_in_either_order() -> None:
    rules = identity("x + sin(y)", "cos(x - y)")
    assert titles(rules, lambda x, y: x + np.sin(y), X, Y) == ["subtract", "cos"]
    assert titles(rules, lambda x, y: np.sin(y) + x, X, Y) == ["subtract", "cos"]
    assert titles(identity("x - sin(y)", "x"), lambda x, y: np.sin(y) - x, X, Y) == ["sin", "subtract"]


def test_a_letter_that_occurs_twice_is_one_value() -> None:
    rules = identity("x * sin(x)", "x")
    assert titles(rules, lambda x, y: x * np.sin(x), X, Y) == []
    assert titles(rules, lambda x, y: x * np.sin(y), X, Y) == ["sin", "multiply"]


def test_numbers_are_computed_in_the_dtype_of_the_whole() -> None:
    rules = identity("x * c + x * d", "x * (c + d)")
    program = ad.trace(lambda x: x * 0.1 + x * 0.2)(X.astype(np.float32)).program
    (eq,) = drop_dead_code(Rewriter(program, RuleBook(rules)).run()).equations
    assert eq.inputs[1].value == np.float32(0.1) + np.float32(0.2)
    assert eq.outputs[0].type.dtype == np.float32


def test_operations_of_another_dtype_are_not_matched() -> None:
    rules = identity("sin(x) * y", "y", kinds="f")
    single = X.astype(np.float32)
    assert titles(rules, lambda x, y: np.sin(x) * y, single, Y) == ["sin", "multiply"]
    assert titles(rules, lambda x, y: np.sin(x) * y, X, Y) == []


def test_conditions_see_the_letters() -> None:
    rules = identity("x * c", "x", lambda c: c > 2)
    assert titles(rules, lambda x: x * 3.0, X) == []
    assert titles(rules, lambda x: x * 1.5, X) == ["multiply"]


def test_only_where_nothing_else_reads_what_is_inside() -> None:
    rules = identity("exp(sin(x))", "x", once=True)
    assert titles(rules, lambda x: np.exp(np.sin(x)), X) == []
    assert titles(rules, lambda x: (np.exp(s := np.sin(x)), s), X) == ["sin", "exp"]


def test_a_text_that_is_no_identity() -> None:
    with pytest.raises(SyntaxError, match="means nothing in an identity"):
        identity("x[0]", "x")


def test_a_python_number_does_not_stand_for_a_result() -> None:
    """It would promote otherwise: a weak float64 times a float32 is a float32."""
    weak, single = ArrayType((), np.dtype(np.float64), weak=True), ArrayType((2,), np.dtype(np.float32))
    program, _ = record_program(lambda x, y: [x * np.float64(1) * y], [weak, single])
    rewritten = drop_dead_code(Rewriter(program, RuleBook(identity("x * 1", "x"))).run())
    assert len(rewritten.equations) == 2
    assert rewritten(0.5, X.astype(np.float32))[0].dtype == np.float64
    whole = ArrayType((), np.dtype(np.int64), weak=True)
    program, _ = record_program(lambda x: [np.sin(x * np.float64(1))], [whole])
    assert len(drop_dead_code(Rewriter(program, RuleBook(identity("x * 1", "x"))).run()).equations) == 2

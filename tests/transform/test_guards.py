"""Answers to what Python asks while a function is recorded on types."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.program import Program
from adjoint.program.trace import running
from adjoint.program.types import type_of
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.transform.guards import GuardingTrace, ValueRequested


def recorded(function: Any, *values: Any, answers: bool = True) -> tuple[GuardingTrace, Program, Any]:
    record = GuardingTrace(answers=answers)
    with running(record):
        inputs = [record.add_input(type_of(v), v) for v in values]
        result = function(*[x.snapshot() for x in inputs])
        program, _ = record.program(inputs, [result])
    return record, program, result


def test_only_what_the_answer_needs_is_evaluated() -> None:
    def f(x: Any) -> Any:
        y = x * 3
        unneeded = np.linalg.inv(np.reshape(x, (1, 1)) * 0)  # would raise
        return y if y > 2 else unneeded

    record, program, _ = recorded(f, np.float64(1.0))
    assert [g.question for g in record.expected] == ["bool"]
    program = drop_dead_code(program)
    assert program(np.float64(5.0)) == (15.0,)
    with pytest.raises(TypeError, match="another way"):
        program(np.float64(0.0))


def test_a_question_is_asked_once() -> None:
    def f(x: Any) -> Any:
        positive = x > 0
        y = x if positive else -x
        return y if positive else y + 1

    record, _, _ = recorded(f, np.float64(1.0))
    assert len(record.expected) == 1


def test_answers_in_order_of_asking() -> None:
    def f(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = x * 2 if x < 3 else x
        return x

    record, _, _ = recorded(f, np.float64(1.0), 3)
    assert [(g.question, g.answer, g.number) for g in record.expected] == [
        ("index", 3, 0), ("bool", True, 1), ("bool", True, 2), ("bool", False, 3),
    ]  # fmt: skip


def test_a_key_is_guarded_by_its_value() -> None:
    names = {1.5: "one and a half", 2.0: "two"}
    record, _, _ = recorded(lambda x: x * len(names[x]), np.float64(1.5))
    assert ("value", 1.5) in [(g.question, g.answer) for g in record.expected]


def test_without_answers_it_gives_up() -> None:
    with pytest.raises(ValueRequested):
        recorded(lambda x: x if x > 0 else -x, np.float64(1.0), answers=False)


def test_loops_in_the_way_stay_silent(capsys: pytest.CaptureFixture[str]) -> None:
    def loud(c: Any, b: Any) -> Any:
        ad.debug.print("turn {}", b)
        return c + b, None

    def f(x: Any) -> Any:
        total, _ = ad.scan(loud, x, np.arange(3.0))
        return total if total > 0 else -total

    recorded(f, np.float64(1.0))
    assert capsys.readouterr().out == ""


def test_pythons_numbers_stay_weak() -> None:
    _, program, result = recorded(lambda rate, n, x: (rate / 2 + n) * x, 0.5, 3, np.ones(2, np.float32))
    assert result.dtype == np.float32
    assert program(0.5, 3, np.ones(2, np.float32))[0].dtype == np.float32
    _, _, result = recorded(lambda rate, x: np.sqrt(rate) * x, 0.5, np.ones(2, np.float32))
    assert result.dtype == np.float64


def test_what_is_made_of_ints_is_a_size() -> None:
    _, _, result = recorded(lambda n, x: np.arange(n * 2 + 1) + x, 2, np.float64(1.0))
    assert result.shape == (5,)
    with pytest.raises(TypeError, match="float"):
        recorded(lambda rate: float(rate), 0.5)

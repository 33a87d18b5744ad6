"""Expressions as functions: their values against Python's own evaluation, their steps, and how they refuse."""

import linecache
import math

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.base.source import describe
from adjoint.command.expressions import Expression, value_of, variables_of
from adjoint.command.failures import ExpressionError
from adjoint.testing import complex_step

CURVE = "sqrt(x**2 + exp(x**2)) + cos(x**2 + exp(x**2))"
# What Python may see when it evaluates a text of ours: the oracle.
PYTHON = {**vars(np), **{name: getattr(scipy.special, name) for name in ("expit", "gamma", "erf")}, "np": np}
PYTHON |= {"linalg": np.linalg, "fft": np.fft, "special": scipy.special, "numpy": np, "norm": np.linalg.norm}


@pytest.mark.parametrize(
    "text",
    [
        CURVE,
        "np.sqrt(x) + numpy.exp(-x)",
        "x + 2*x - x/3 + x//2 + x%0.7 - -x + +x",
        "2**x**2",
        "-x**2",
        "1.5e-3*x + 0x10",
        "expit(x) * special.gamma(x) + erf(x)",
        "linalg.norm([x, 1, 2]) + norm([x, 2]) + np.linalg.det([[x, 1], [2, x]])",
        "where(x > 1, x, -x) + maximum(x, 2) + minimum(x, 0)",
        "sum([x, 2*x, 3]) * mean([x, 1])",
        "[x, 2, 3] @ [1, x, 3]",
        "array([[x, 2], [3, 4]])[0, -1] + array([1, x, 3])[1:][0]",
        "arange(5)[::2][-1] * x",
        "sum(reshape([x, 2, 3, 4], (2, 2)), axis=0)[1]",
        "sum(ones((2, 3)) * x, axis=(0, 1), keepdims=False)",
        "concatenate([[x], [1, 2]])[0]",
        "concatenate(([x], [1, 2, 3]))[1] + x",
        "stack([x, x])[1]",
        "hypot(x, 3)",
        "pi * x + e",
        "np.pi * x - numpy.e",
        "np . linalg.norm([x, 1])",
        "real(fft.fft([x, 1, 2]))[1]",
        "linalg.eigh([[x, 1], [1, 2]])[0][1]",
        "linalg.slogdet([[x, 1], [0, 2]])[1]",
        "array([x, 1])[..., None][0, 0]",
        "  sum([x,\n 1]) ",
    ],
)
def test_values_are_those_of_python(text: str) -> None:
    found, trouble = Expression.parse(text, ["x"]).at(x=np.float64(1.3))
    lists = {"x": np.float64(1.3), "pi": math.pi, "e": math.e}
    known = eval(text.strip().replace("[x, 2, 3] @", "array([x, 2, 3]) @").replace("\n", ""), dict(PYTHON), lists)
    assert trouble is None
    assert_allclose(found, known, rtol=1e-15)
    assert_allclose(Expression.parse(text, ["x"]).function(np.float64(1.3)), known, rtol=1e-15)


def test_chained_comparisons_hold_together() -> None:
    between = Expression.parse("where(0 < x < 1, x, 0)", ["x"])
    assert [float(between.at(x=x)[0]) for x in (-1.0, 0.5, 2.0)] == [0.0, 0.5, 0.0]


def test_gradient_of_an_expression() -> None:
    f = Expression.parse(CURVE, ["x"]).function
    by_hand = complex_step(lambda x: np.sqrt(x**2 + np.exp(x**2)) + np.cos(x**2 + np.exp(x**2)), 1.0, 1.0)
    assert ad.grad(f)(1.0) == pytest.approx(by_hand, rel=1e-13)
    assert ad.jit(ad.grad(f))(1.0) == pytest.approx(by_hand, rel=1e-13)
    assert ad.grad(f)(1.0) == pytest.approx(5.9830826, abs=5e-8)


def test_equal_parts_are_one_step() -> None:
    texts = [step.text for step in Expression.parse(CURVE, ["x"]).steps]
    c = "x**2 + exp(x**2)"
    assert texts == ["x**2", "exp(x**2)", c, f"sqrt({c})", f"cos({c})", CURVE]


def test_equal_names_of_two_packages_are_two_steps() -> None:
    """The diagonals of np.diagonal run along the first axes, those of linalg.diagonal along the last."""
    text = "sum(np.diagonal(reshape(arange(8), (2, 2, 2)))*x) + 10*sum(linalg.diagonal(reshape(arange(8), (2, 2, 2))))"
    cube = np.arange(8).reshape(2, 2, 2)
    known = np.diagonal(cube).sum() + 10 * np.linalg.diagonal(cube).sum()
    assert Expression.parse(text, ["x"]).at(x=1.0)[0] == known


def test_names_for_parts() -> None:
    named = Expression.parse("c = x**2 + exp(x**2); sqrt(c) + cos(c)", ["x"])
    assert [step.label for step in named.steps] == ["", "", "c", "", "", ""]
    assert named.at(x=1.0)[0] == Expression.parse(CURVE, ["x"]).at(x=1.0)[0]


def test_equations_know_the_text_they_come_from() -> None:
    expression = Expression.parse("sin(x) * exp(x)", ["x"])
    program = ad.trace(expression.function)(1.0).program
    told = [describe(equation.location) for equation in program.equations]
    assert [text.partition(": ")[2] for text in told] == ["sin(x)", "exp(x)", "sin(x) * exp(x)"]
    assert told[0].startswith("<expression")
    statements = Expression.parse("c = sin(x) + 1; c * x", ["x"])
    program = ad.trace(statements.function)(1.0).program
    told = [describe(equation.location).partition(": ")[2] for equation in program.equations]
    assert told == ["c = sin(x) + 1", "c = sin(x) + 1", "c * x"]
    assert linecache.getline(statements.function.__code__.co_filename, 2) == "c * x\n"


def test_arguments_by_place_and_by_name() -> None:
    f = Expression.parse("x - 2*y", ["y", "x"]).function
    assert f(1.0, 5.0) == f(x=5.0, y=1.0) == 3.0
    with pytest.raises(TypeError):
        f(1.0)


@pytest.mark.parametrize("name", ["θ", "größe", "变量", "steps", "f", "np1", "_private"])
def test_names_of_variables(name: str) -> None:
    assert Expression.parse(f"{name}**2", [name]).function(3.0) == 9.0


def test_a_variable_hides_a_constant() -> None:
    assert Expression.parse("e + pi", ["e"]).at(e=1.0)[0] == 1 + math.pi


def test_unused_variables() -> None:
    assert Expression.parse("x + 1", ["x", "y"]).unused == ("y",)


@pytest.mark.parametrize(
    "text, x, part, column",
    [
        ("1/x", 0.0, "1/x", 1),
        ("2 + log(x - 1)", 1.0, "log(x - 1)", 5),
        ("sqrt(-x)*0", 1.0, "sqrt(-x)", 1),
        ("exp(x) + exp(1000*x)", 1.0, "exp(1000*x)", 10),
        ("sum([1, 2] / (x - [1, 2]))", 2.0, "[1, 2] / (x - [1, 2])", 5),
    ],
)
def test_where_a_number_stops_being_finite(text: str, x: float, part: str, column: int) -> None:
    _, trouble = Expression.parse(text, ["x"]).at(x=np.float64(x))
    assert trouble is not None
    assert (trouble.text, trouble.column) == (part, column)
    assert f"column {column}" in str(trouble)


def test_infinity_that_was_written_down_is_no_trouble() -> None:
    assert Expression.parse("minimum(x, inf)", ["x"]).at(x=1.0) == (1.0, None)


@pytest.mark.parametrize(
    "text, value",
    [
        ("1", 1.0),
        ("-2.5e-3", -2.5e-3),
        ("pi/2", math.pi / 2),
        ("[1, 2]", [1.0, 2.0]),
        ("[[1, 2], [3, 4]]", [[1.0, 2.0], [3.0, 4.0]]),
        ("linspace(0, 1, 3)", [0.0, 0.5, 1.0]),
        ("True", 1.0),
        ("1+2j", 1 + 2j),
    ],
)
def test_values(text: str, value: object) -> None:
    found = value_of(text)
    assert_allclose(found, value)
    assert np.asarray(found).dtype.kind in "fc"


def test_whole_numbers_stay_whole_where_that_is_wanted() -> None:
    found = variables_of({"n": "3", "x": "1.0", "flag": "True", "a": "[1, 2]"}, floats=False)
    assert type(found["n"]) is int
    assert found["flag"] is True
    assert found["a"].dtype.kind == "i"
    with pytest.raises(ExpressionError, match=r"^y=sin\(: This cannot be read"):
        variables_of({"y": "sin("})


@pytest.mark.parametrize("text", ["(1, 2)", "None", "y", "linalg.eigh([[1.0]])"])
def test_values_that_are_none(text: str) -> None:
    with pytest.raises(ExpressionError):
        value_of(text)


WORDS = ["x", "y", "sin", "(", ")", "[", "]", ",", ".", "__class__", "**", "9", "0", "1e9", "lambda", ":", " ", "if",
         "else", "for", "in", "'a'", "import", "np", "linalg", "norm", "=", ";", "\n", "@", "-", "/", "zeros", "arange",
         "axis=", "None", "...", "eval", "{", "}", "é", "²", "\0", "%", "outer", "tile"]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=14).map("".join) | st.text(max_size=20))
def test_any_text_gives_numbers_or_a_clear_error(text: str) -> None:
    try:
        value, _ = Expression.parse(text, ["x"]).at(x=np.float64(1.5))
    except ExpressionError:
        return
    numbers = value if isinstance(value, tuple | list) else (value,)
    assert all(item is None or isinstance(item, bool | int | float | complex | np.generic | np.ndarray | tuple)
               for item in numbers)  # fmt: skip

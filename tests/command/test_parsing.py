"""What expressions refuse: every kind of thing that could run code, fill the memory or be a slip of the keyboard."""

import pytest

from adjoint.command.expressions import Expression
from adjoint.command.failures import ExpressionError
from adjoint.command.parsing import LONGEST


def refusal(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        Expression.parse(text, ["x", "A"]).at(x=1.0, A=[[1.0, 2.0], [3.0, 4.0]])
    return caught.value


@pytest.mark.parametrize(
    "text, column, said",
    [
        ("x.__class__", 1, "attribute __class__"),
        ("().__class__.__bases__", 1, "attribute __bases__"),
        ("(1).real", 1, "attribute real"),
        ("np.__dict__", 1, "attribute __dict__"),
        ("1 + np.sin.__globals__", 5, "attribute __globals__"),
        ("__import__('os')", 1, "__import__ is no function"),
        ("__builtins__", 1, "__builtins__ is not taken"),
        ("eval('1')", 1, "eval is no function"),
        ("exec(x)", 1, "exec is no function"),
        ("open('a')", 1, "open is no function"),
        ("getattr(x, 1)", 1, "getattr is no function"),
        ("np.load('f.npy')", 1, "np.load is no function"),
        ("np.fromfile(x)", 1, "np.fromfile is no function"),
        ("np.save(x)", 1, "np.save is no function"),
        ("np.copyto(A, x)", 1, "np.copyto is no function"),
        ("vectorize(x)", 1, "vectorize is no function"),
        ("np.testing.test(x)", 1, "np.testing is no part"),
        ("os.system('ls')", 1, "os is no part"),
        ("lambda: 1", 1, "lambda is not taken"),
        ("(lambda: 1)()", 2, "called by their names"),
        ("[a for a in A]", 1, "comprehension"),
        ("sum(a for a in A)", 4, "comprehension"),
        ("{1: 2}", 1, "dictionary"),
        ("{1, 2}", 1, "set"),
        ("sin('a')", 5, "Text in quotes"),
        ("b'a'", 1, "Text in quotes"),
        ("f'{x}'", 1, "Text"),
        ("(y := 1)", 2, "`:=`"),
        ("sum(*A)", 5, "star"),
        ("sum(A, **A)", 10, "star"),
        ("sum(A, out=A)", 12, "out="),
        ("import os", 1, "An import is not taken"),
        ("x; x", 1, "second expression"),
        ("x += 1; x", 1, "An assignment with an operator"),
        ("x = 1; x", 1, "x has a value already"),
        ("pi = 3; pi", 1, "pi has a value already"),
        ("c = 1", 1, "The last part is the result"),
        ("def f(): pass", 1, "A function is not taken"),
        ("while x: x", 1, "A loop is not taken"),
        ("await x", 1, "`await`"),
        ("x if x > 0 else 0", 1, r"where(c, a, b)"),
        ("x and 1", 1, "logical_and"),
        ("not x", 1, "logical_not"),
        ("~x", 1, "logical_not"),
        ("x ^ 2", 1, r"Write x**2"),
        ("1 + (x | 2)", 6, "logical_or"),
        ("x in A", 1, "Compare with"),
        ("A[x]", 3, "An index is an integer"),
        ("A[True]", 3, "An index is an integer"),
        ("A['a']", 3, "An index is an integer"),
        ("A.T", 1, "transpose(x)"),
        ("np.sqrt", 1, "Write np.sqrt(x)"),
        ("1 + np.linalg.norm * x", 5, "Write np.linalg.norm(x)"),
        ("A.sum()", 1, "sum(x)"),
        ("2(x)", 1, "Write 2*(x + 1)"),
        ("x(2)", 1, "Write x*(...)"),
        ("sin", 1, "Call it: sin(x)"),
        ("x * (1, 2)", 5, "Write a list [x, y]"),
        ("x + None", 5, "None is no number"),
        ("...", 1, "indices only"),
        ("max(x, 0)", 1, "maximum(a, b)"),
        ("1 / 0", 1, "divides by zero"),
        ("2 * (3 // 0)", 6, "divides by zero"),
        ("0.0 ** -1", 1, "divides by zero"),
        ("(-8) ** (1/3)", 1, "cbrt"),
        ("A @ [1, 2, 3]", 1, "cannot be computed"),
        ("[[1, 2], [3]]", 1, "cannot be computed"),
        ("A[2]", 1, "cannot be computed"),
        ("linalg.inv([[1, 1], [1, 1]])", 1, "Singular matrix"),
        ("θ + 1", 1, "θ has no value"),
        ("2x", 1, "a product is written 2*x"),
        ("x²", 2, "powers are written x**2"),
        ("sin(x", 4, "never closed"),
        ("x +", 4, "cannot be read"),
        ("'a", 1, "no text in quotes"),
    ],
)
def test_refusals_name_the_thing_and_its_column(text: str, column: int, said: str) -> None:
    error = refusal(text)
    assert said in error.plain
    assert error.column == column, error
    assert f"column {column}" in error.plain
    marked, mark = str(error).splitlines()[-2:]
    assert marked.strip() == text
    assert mark.index("^") == marked.index(text) + column - 1


@pytest.mark.parametrize(
    "text, meant",
    [
        ("sqr(x)", "sqrt"),
        ("np.sqr(x)", "sqrt"),
        ("expo(x)", "exp"),
        ("linalg.nrom(A)", "norm"),
        ("special.expitt(x)", "expit"),
        ("lnalg.norm(A)", "linalg"),
        ("ln(x)", "log"),
        ("sigmoid(x)", "expit"),
        ("sigmod(x)", "expit"),
        ("relu(x)", "maximum(x, 0)"),
        ("SIN(x)", "sin"),
        ("arcsine(x)", "arcsin"),
        ("X + 1", "x"),
        ("PI", "pi"),
    ],
)
def test_a_typo_gets_a_suggestion(text: str, meant: str) -> None:
    assert f"Did you mean {meant}?" in str(refusal(text))


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9**9",
        "2**(10**6)",
        "10**400",
        "(9**99)**99",
        "9" * 400,
        "9" * 5000,
        "10.0**400",
        "-9**9**9",
        "1" + "0" * 4000,
    ],
)
def test_enormous_numbers(text: str) -> None:
    assert any(word in str(refusal(text)) for word in ("too large", "digits"))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 300 + "x" + ")" * 300,
        "-" * 3000 + "x",
        "sin(" * 150 + "x" + ")" * 150,
        "[" * 100 + "x" + "]" * 100,
        "x**" * 1000 + "2",
        "x+" * 4000 + "x",
        "x" + "[0]" * 2000,
    ],
)
def test_deep_nesting(text: str) -> None:
    assert len(str(refusal(text))) < 500


def test_long_sums_are_no_nesting() -> None:
    assert Expression.parse(" + ".join(["x"] * 500), ["x"]).at(x=1.0)[0] == 500.0


def test_long_texts() -> None:
    assert "characters" in str(refusal("x + " * LONGEST))
    assert "characters" in str(refusal(f"[{'1, ' * LONGEST}]"))


def test_empty_texts() -> None:
    for text in ("", "   ", "\n", "# only a remark"):
        assert "empty" in str(refusal(text))


def test_zero_characters() -> None:
    assert "null" in str(refusal("x\0"))

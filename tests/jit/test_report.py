"""f.report(): every specialization, why it was made, and what is left to NumPy and to Python."""

import io
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.jit.report import shorten
from adjoint.scipy import linalg


@pytest.fixture(scope="module")
def fast() -> Any:
    @ad.jit
    def model(x: Any, how: str = "plain", n: int = 3) -> Any:
        if np.sum(x) > 0:
            return np.sum(linalg.logm(np.diag(1.0 + x))) * n
        return x[0]

    x = np.ones(3)
    for _ in range(4):
        model(x)
    model(-x)
    model(x.astype(np.float32), n=2, how="other")
    return model


def test_what_it_holds(fast: Any) -> None:
    positive, negative, third = fast.report().specializations
    assert positive.guards[0].startswith("bool is True at test_report.py")
    assert negative.guards[0].startswith("bool is False at test_report.py")
    assert positive.arguments == negative.arguments == {"x": "float64[3]"}
    assert third.arguments == {"x": "float32[3]", "how": "'other'", "n": "int64[]~"}
    assert (positive.calls, negative.calls, third.calls) == (4, 1, 1)
    assert positive.why == "the first call of this kind"
    assert "another answer: bool" in negative.why
    assert "test_report.py" in negative.why
    for one in (positive, negative, third):
        assert {"trace", "simplify", "compile", "first run"} <= set(one.seconds)
        assert all(s > 0 for s in one.seconds.values())
        assert one.how == "compiled"
        assert one.equations[0] >= one.equations[1] > 0
    assert any("logm" in call and "test_report.py" in call for call in positive.callbacks)
    assert not negative.callbacks


def test_how_it_is_shown(fast: Any) -> None:
    report = fast.report()
    text = str(report)
    assert text.startswith("model: 3 specializations, called 6 times")
    for words in ("holds when bool is True at", "made for", "if np.sum(x) > 0:", "how: 'other'", "calls      4"):
        assert words in text
    page = report._repr_html_()
    assert page.count("<tr>") == page.count("</tr>") > 10
    assert "&gt; 0" in page
    from rich.console import Console

    console = Console(width=200, file=io.StringIO())
    console.print(report)
    assert "holds when" in console.file.getvalue()
    assert report.as_dict()["specializations"][2]["arguments"]["n"] == "int64[]~"


def test_calls_that_ran_as_python() -> None:
    def f(x: Any) -> Any:
        return x if x > 0 else -x

    fast = ad.jit(f, branches="guards")
    ad.grad(fast)(2.0)
    report = fast.report()
    assert report.eager_calls == 1
    assert report.eager_reasons == ["it asks for values, inside a transformation"]
    assert "1 as plain Python (it asks" in str(report)

    sizes = ad.jit(lambda n: np.arange(n).sum())
    with config.override(specializations=1):
        sizes(2)
        with pytest.warns(RuntimeWarning):
            sizes(3)
    assert sizes.report().eager_calls == 1
    assert "more than 1 specializations" in str(sizes.report())


def test_calls_inside_transformations() -> None:
    fast = ad.jit(lambda x: np.sum(np.sin(x)))
    ad.grad(fast)(np.ones(2))
    (one,) = fast.report().specializations
    assert one.why == "a call inside a transformation"
    assert one.calls == 1
    assert one.how == "compiled"
    assert one.seconds["compile"] > 0
    assert len(one.kernels) >= 2  # the way forth and the way back


def test_before_the_first_call() -> None:
    report = ad.jit(np.sin).report()
    assert str(report) == "sin: 0 specializations, never called"


def test_many_steps_are_counted() -> None:
    assert shorten(["a", "b"], 3) == ["a", "b"]
    assert shorten(list("abcde"), 3) == ["a", "b", "and 3 more"]


def test_equal_guards_stand_there_once_with_their_number():
    def f(x):
        total = 0.0
        for i in range(3):
            total = total + (x[i] ** 2 if x[i] > 0 else -x[i])
        return total

    fast = ad.jit(f)
    fast(np.ones(3))
    text = str(fast.report())
    assert text.startswith("f: 1 specialization, called once")
    assert text.count("holds when") == 1
    assert "(3 times)" in text
    assert "compiled in this process" in text or "compiled, loaded from the cache" in text
    assert "1 results" not in text
    assert len(fast.report().specializations[0].guards) == 3


def test_a_call_of_numpy_in_a_loop_is_a_warning() -> None:
    looped = ad.jit(lambda x: ad.fori_loop(0, 3, lambda i, y: linalg.logm(y) + x, x))
    looped(np.eye(2) * 3.0)
    (one,) = looped.report().specializations
    assert len(one.looped) == 1
    assert one.looped[0].startswith("logm at test_report.py")
    assert "stands in a loop" in str(looped.report())
    once = ad.jit(lambda x: linalg.logm(x) + x)
    once(np.eye(2) * 3.0)
    (one,) = once.report().specializations
    assert one.callbacks
    assert not one.looped
    assert "stands in a loop" not in str(once.report())


def test_what_is_said_on_a_side_of_a_branch_is_not_called_in_every_iteration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def step(y: Any, t: Any) -> Any:
        tell = lambda y: (ad.debug.print("large: {}", y), y / 2)[1]
        return ad.cond(y > 2.0, tell, lambda y: y + t, y), None

    run = ad.jit(lambda x: ad.scan(step, x, np.ones(4))[0])
    assert run(0.5) == 2.25
    assert capsys.readouterr().out == "large: 2.5\n"
    (one,) = run.report().specializations
    assert one.callbacks
    assert not one.looped
    always = ad.jit(lambda x: ad.scan(lambda y, t: ((ad.debug.print("{}", y), y + t)[1], None), x, np.ones(2))[0])
    always(0.5)
    assert len(always.report().specializations[0].looped) == 1

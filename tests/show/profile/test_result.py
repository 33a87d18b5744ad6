"""How a profile is shown and told."""

import io
import json

import numpy as np
import pytest

import adjoint as ad


def loss(w, x):
    scores = x @ w
    return np.sum(np.exp(scores) < 3) + np.mean(scores**2)


@pytest.fixture(scope="module")
def found():
    return ad.profile(loss, seconds=0.02)(np.ones(4), np.ones((6, 4)))


def test_text(found) -> None:
    lines = str(found).splitlines()
    assert lines[0].startswith("loss: value ")
    assert "value and gradient" in lines[0]
    assert "in primitives" in lines[1]
    assert "Python and the record" in lines[1]
    assert lines[2].split() == ["forward", "backward", "share", "calls", "flops", "bytes", "saved", "line"]
    assert sum("scores = x @ w" in line for line in lines) == 1
    assert repr(found) == str(found)


def test_long_tables_end() -> None:
    source = "def f(x):\n" + "".join(f"    x = np.sin(x) + {i}\n" for i in range(60)) + "    return x\n"
    names = {"np": np}
    exec(source, names)
    text = str(ad.profile(names["f"], seconds=0.0)(1.0))
    assert "more lines" in text
    assert len(text.splitlines()) < 50


def test_rich_and_html(found) -> None:
    from rich.console import Console

    console = Console(width=160, record=True, file=io.StringIO())
    console.print(found)
    assert "scores = x @ w" in console.export_text()
    html = found._repr_html_()
    assert html.count("<tr>") == 1 + len(found.lines)
    assert "&lt; 3" in html
    assert "< 3" not in html
    assert "display:flex" in html


def test_as_dict_is_plain(found) -> None:
    told = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert told["name"] == "loss"
    assert told["overhead"] == found.overhead
    assert told["forward"] + told["backward"] == pytest.approx(found.kernels)
    assert {one["line"] for one in told["lines"]} == {one.line for one in found.lines}
    assert told["nested"]["name"] == "loss"
    assert "compiled" not in told

"""`adjoint explain`: tables with the right numbers, files, and clear words for bad input."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from adjoint.command import explain
from tests.command.commands import folder, ran, refused
from tests.command.test_targets import MODEL

CURVE = "sqrt(x**2 + exp(x**2)) + cos(x**2 + exp(x**2))"


def test_the_slides_example() -> None:
    """f'(1) = 5.9830826 with its six intermediate rows."""
    found = ran("explain", CURVE, "x=1.0")
    assert (found.code, found.err) == (0, "")
    assert "6 operations" in found.out
    for number in ("5.983083", "2.718282", "3.718282", "1.928285", "0.8382725", "1.090012", "0.8045494"):
        assert number in found.out


def test_modes() -> None:
    assert "tangents" in ran("explain", "sin(x)*y", "x=1", "y=2", "--mode", "forward").out
    assert "second" in ran("explain", "sin(x)*y", "x=1", "y=2", "--mode", "second").out
    assert ran("explain", "x*[1, 2]", "x=2", "--mode", "forward").code == 0


def test_statements_have_names_and_rows() -> None:
    found = ran("explain", "c = x**2 + 3*x; sin(c)", "x=1", "--detail", "statements")
    rows = [line for line in found.out.splitlines() if "<statements" in line]
    assert len(rows) == 2
    assert rows[0].startswith("c ")


def test_an_expression_may_begin_with_a_minus() -> None:
    assert "−4" in ran("explain", "-x**2", "x=2").out


@pytest.mark.parametrize(
    "argv, said",
    [
        (["sqr(x)", "x=1"], "sqr is no function that expressions may call (column 1). Did you mean sqrt?"),
        (["y + x", "x=1"], "y has no value"),
        (["1/0 + x", "x=1"], "`1/0` divides by zero (column 1)."),
        (["x.__class__", "x=1"], "The attribute __class__ is not taken (column 1)."),
        (["9**9**9**9*x", "x=1"], "too large a number"),
        (["sum(ones(10**12))*x", "x=1"], "would make 1,000,000,000,000 numbers, more than 10,000,000"),
        (["x*[1, 2]", "x=1"], "gives an array of shape (2,), and adjoints are those of one number; write sum(...)"),
        (["linalg.eigh([[x, 1], [1, 2]])", "x=1"], "gives 2 results"),
        (["x > 0", "x=1"], "gives true or false, which have no derivative"),
        (["argmax([x, 1])", "x=1"], "gives integers"),
        (["x", "x=sin("], "x=sin(: This cannot be read"),
        (["x", "x=[[1, 2], [3]]"], "x=[[1, 2], [3]]: `[[1, 2], [3]]` (column 1) cannot be computed"),
        (["x", "x=1", "--html", "nowhere/at/all.html"], "There is no folder nowhere"),
        (["x", "x=1", "--latex", "--json"], "choose one of them"),
        (["model:fails", "x=1.0"], "raised ValueError: x is too large"),
        (["model:pair", "x=1.0"], "gives 2 results"),
        (["model:vector", "x=1.0"], "shape (3,)"),
        (["model:nothing", "x=1.0"], "model:nothing gives"),
        (["model:flag", "x=1.0"], "true or false"),
        (["model:text", "x=1.0"], "model:text gives str"),
        (["model:steps", "x=1", "n=2"], "None of the arguments of model:steps is a float; write x=1.0"),
    ],
)
def test_bad_input(argv: list[str], said: str, tmp_path: Path) -> None:
    with folder(tmp_path, model=MODEL):
        assert said in refused("explain", *argv)


@pytest.mark.parametrize(
    "text, part", [("1/x", "`1/x` (column 1) is inf (a division by zero)"), ("2*log(x)", "`log(x)` (column 3) is -inf")]
)
def test_what_is_not_finite_is_explained_and_told(text: str, part: str) -> None:
    found = ran("explain", text, "x=0")
    assert found.code == 1
    assert "inf" in found.out
    assert part in found.err


def test_a_derivative_that_is_not_finite() -> None:
    found = ran("explain", "sqrt(x)", "x=0")
    assert found.code == 1
    assert "is inf" in found.err
    assert "sqrt(x)" in found.err


class Written:
    """Stands for an explanation, and notes what was asked of it."""

    nonfinite = ()

    def html(self, path: str) -> None:
        Path(path).write_text("a page", encoding="utf-8")

    def svg(self, path: str) -> None:
        Path(path).write_text("a picture", encoding="utf-8")

    def latex(self) -> str:
        return "a derivation"

    def json(self) -> str:
        return "{}"

    def __str__(self) -> str:
        return "a table"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Addresses that a browser was asked for; in a folder of their own, with explanations that are quick."""
    asked: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(explain, "explain", lambda f, **options: lambda *args: Written())
    monkeypatch.setattr(explain.webbrowser, "open", lambda address: asked.append(address) or "none" not in address)
    return asked


@pytest.mark.parametrize(
    "options, printed, files",
    [
        ([], "a table\n", []),
        (["--html", "a.html"], "", ["a.html"]),
        (["--svg", "a.svg"], "", ["a.svg"]),
        (["--svg", "a.svg", "--html", "a.html", "--json"], "{}\n", ["a.html", "a.svg"]),
        (["--latex"], "a derivation\n", []),
    ],
)
def test_what_is_written(options: list[str], printed: str, files: list[str], opened: list[str], tmp_path: Path) -> None:
    found = ran("explain", "x", "x=1", *options)
    assert (found.code, found.out) == (0, printed)
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    assert [f"wrote {name}" in found.err for name in files] == [True] * len(files)
    assert not opened


def test_the_browser_is_asked(opened: list[str], tmp_path: Path) -> None:
    assert ran("explain", "x", "x=1", "--open").code == 0
    assert ran("explain", "x", "x=1", "--open", "--html", "b.html").code == 0
    assert opened == [(tmp_path / name).as_uri() for name in ("explanation.html", "b.html")]
    found = ran("explain", "x", "x=1", "--open", "--html", "none.html")
    assert found.code == 2
    assert "No browser could be started; open none.html yourself." in found.err


@pytest.mark.usefixtures("opened")
def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "a.html").mkdir()
    assert "a.html cannot be written: Is a directory." in refused("explain", "x", "x=1", "--html", "a.html")


def test_pictures_and_derivations(tmp_path: Path) -> None:
    path = tmp_path / "graph.svg"
    assert ran("explain", "sin(x)*y", "x=1", "y=2", "--svg", str(path)).code == 0
    assert ElementTree.parse(path).getroot().tag.endswith("svg")
    assert "\\bar v" in ran("explain", "sin(x)*y", "x=1", "y=2", "--latex").out


def test_a_page_and_its_data(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    found = ran("explain", "c = sin(x); c*y", "x=1", "y=2", "--html", str(path), "--json")
    assert found.code == 0
    assert found.err == f"adjoint explain: wrote {path}\n"
    page = path.read_text(encoding="utf-8")
    assert "<html" in page
    assert "https://" not in re.sub(r"https?://www\.w3\.org/\S*", "", page)  # nothing is fetched
    told = json.loads(found.out)
    assert told["variables"]["label"] == ["x", "y", "c", ""]
    assert told["variables"]["value"][-1] == pytest.approx(2 * np.sin(1.0))


def test_a_function_and_a_file(tmp_path: Path) -> None:
    with folder(tmp_path, model=MODEL):
        np.savez("args.npz", w=np.array([1.0, 2.0]), x=np.float64(3.0))
        found = ran("explain", "model:loss", "--args", "args.npz")
    assert (found.code, found.err) == (0, "")
    assert "loss" in found.out
    assert "model.py:7" in found.out


COUNTING = """
from pathlib import Path
import adjoint as ad

def f(x, n=2):
    with Path("runs").open("a") as file:
        file.write("run ")
    ad.debug.print("x is {}", x)
    return x**n if x > 0 else -x

class Model:
    def __call__(self, x):
        return 2.0 * x

model = Model()
"""


@pytest.mark.parametrize("options", [[], ["--html", "page.html", "--svg", "graph.svg", "--json"], ["n=3"]])
def test_a_function_runs_once(options: list[str], tmp_path: Path) -> None:
    with folder(tmp_path, counting=COUNTING):
        found = ran("explain", "counting:f", "x=1.5", *options)
    assert found.code == 0
    assert (tmp_path / "runs").read_text(encoding="utf-8") == "run "
    assert found.out.count("x is 1.5") == 1


def test_an_object_that_is_called(tmp_path: Path) -> None:
    with folder(tmp_path, counting=COUNTING):
        assert ran("explain", "counting:model", "x=1.5").out.startswith("Model: ")


def test_large_arrays_are_summarized(tmp_path: Path) -> None:
    np.savez(tmp_path / "large.npz", x=np.linspace(0.0, 1.0, 2_000_000))
    found = ran("explain", "sum(sin(x)**2)", "--args", str(tmp_path / "large.npz"))
    assert found.code == 0
    assert len(found.out) < 3_000


def test_an_expression_has_no_column_of_lines() -> None:
    found = ran("explain", "sum((A @ x - 1)**2)", "A=[[1, 2], [3, 4]]", "x=[0.5, -1]")
    assert "<expression" not in found.out
    assert "line" not in found.out

"""Tables as text: aligned whatever the letters are, and cut to the width of a terminal."""

import io

import numpy as np
import pytest
from rich.console import Console

import adjoint as ad
from adjoint.show.explanation.lines import columns, lay_out_lines, width


def test_accents_take_no_column_and_letters_of_east_asia_take_two():
    assert width("v\u0304₁") == 2
    assert width("θ\u0302") == 1
    assert width("변수") == 4
    assert width("plain") == 5


def test_columns_are_aligned_and_empty_ones_left_out():
    text = lay_out_lines([["", "name", "x"], ["", "변수", "1"], ["", "a", "2"]])
    assert text == ["name  x", "───────", "변수  1", "a     2"]


def test_the_longest_cells_are_cut_to_the_width_of_the_terminal():
    lines = [["head", "other"], ["f" * 70, "1.5"], ["v\u0304" * 70, "2.5"]]
    text = lay_out_lines(lines, 50)
    assert max(map(width, text)) == 50
    assert text[2].endswith("…  1.5")
    assert text[3].endswith("…  2.5")
    assert len(lay_out_lines(lines)[2]) == 75  # no terminal, nothing is cut


def model(A, x):
    y = np.tanh(A @ x)
    if y[0] > 0.0:
        y = 2.0 * y
    return np.sum((y - 1) ** 2)


ARGUMENTS = (np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, -1.0]))


@pytest.mark.parametrize("mode", ["reverse", "forward", "second"])
def test_traces_stand_one_above_the_other_where_the_terminal_is_narrow(monkeypatch, mode):
    explanation = ad.explain(model, mode=mode)(*ARGUMENTS)
    monkeypatch.delenv("COLUMNS", raising=False)
    whole = [line for line in str(explanation).splitlines() if not line.startswith("note")]
    assert max(map(width, whole)) > 80
    monkeypatch.setenv("COLUMNS", "80")
    assert columns() == 80
    narrow = [line for line in str(explanation).splitlines() if not line.startswith("note")]
    assert max(map(width, narrow)) <= 80
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(explanation)
    for text in ("\n".join(narrow), console.export_text()):
        assert "tanh(v₁)" in text
        assert "v₋₁ @ v₀" in text
        assert "forward primal trace" in text
        assert ("forward tangent trace" if mode == "forward" else "reverse adjoint") in text


def test_values_that_only_a_test_reads_have_no_row_of_zeros():
    text = str(ad.explain(model)(*ARGUMENTS))
    assert "v₃ = v₂[0]" in text
    assert "v\u0304₃" not in text
    assert "= 0" in str(ad.explain(lambda x, y: y * 2.0)(1.0, 2.0))  # an argument without influence keeps its zero

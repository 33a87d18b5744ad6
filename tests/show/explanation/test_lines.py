"""Tables as text: aligned whatever the letters are, and cut to the width of a terminal."""

from adjoint.show.explanation.lines import laid_out, width


def test_accents_take_no_column_and_letters_of_east_asia_take_two():
    assert width("v\u0304₁") == 2
    assert width("θ\u0302") == 1
    assert width("변수") == 4
    assert width("plain") == 5


def test_columns_are_aligned_and_empty_ones_left_out():
    text = laid_out([["", "name", "x"], ["", "변수", "1"], ["", "a", "2"]])
    assert text == ["name  x", "───────", "변수  1", "a     2"]


def test_the_longest_cells_are_cut_to_the_width_of_the_terminal():
    lines = [["head", "other"], ["f" * 70, "1.5"], ["v\u0304" * 70, "2.5"]]
    text = laid_out(lines, 50)
    assert max(map(width, text)) == 50
    assert text[2].endswith("…  1.5")
    assert text[3].endswith("…  2.5")
    assert len(laid_out(lines)[2]) == 75  # no terminal, nothing is cut

"""Counted functions."""

from adjoint.testing.counting import count_calls


def test_calls_are_counted_and_results_unchanged():
    @count_calls
    def area(width, height=2):
        """Width times height."""
        return width * height

    assert area(3) == 6
    assert area(3, height=4) == 12
    assert area.calls == 2
    assert area.reset() == 2
    assert area.calls == 0
    assert area.__name__ == "area"
    assert area.__doc__ == "Width times height."

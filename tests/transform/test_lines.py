"""Tapes with lines: the way back is done for the lines that went forwards, and nothing else changes."""

import numpy as np

import adjoint as ad
from adjoint.base.origins import pinned
from adjoint.base.source import describe
from adjoint.transform.lines import Lining, lined


def smooth(x):
    wave = np.sin(x)
    return np.sum(wave * x)


def looped(x):
    def body(carry, t):
        carry = np.tanh(carry) * t
        return carry, carry * 2.0

    last, rows = ad.scan(body, x, np.linspace(0.5, 1.0, 3))
    return np.sum(last) + np.sum(rows)


def pulled_lines(program):
    """(line of the user's, what is pulled through) of all equations on the way back, inside loops too."""
    found = []
    for eq in program.equations:
        if eq.pulled is not None:
            found.append((describe(eq.location).rpartition(": ")[2], eq.pulled))
        for inner in eq.op.programs().values() if hasattr(eq.op, "programs") else ():
            found += pulled_lines(inner)
    return found


def test_gradients_stay_what_they_are() -> None:
    x = np.linspace(-1.0, 1.0, 5)
    for f in (smooth, looped):
        plain = ad.grad(f)(x)
        with lined(Lining()):
            np.testing.assert_array_equal(ad.grad(f)(x), plain)
            np.testing.assert_array_equal(ad.jit(ad.grad(f))(x), ad.jit(ad.grad(f))(x))
            np.testing.assert_allclose(ad.vjp(f, x)[1](1.0)[0], plain, rtol=1e-15)
            assert pinned() is None
        np.testing.assert_array_equal(ad.grad(f)(x), plain)


def test_the_way_back_knows_its_lines() -> None:
    with lined(Lining()):
        program = ad.trace(ad.grad(smooth))(np.ones(3)).program
    assert {("wave = np.sin(x)", "sin"), ("return np.sum(wave * x)", "multiply")} <= set(pulled_lines(program))


def test_the_way_back_through_a_loop_knows_the_lines_of_its_body() -> None:
    with lined(Lining()):
        program = ad.trace(ad.grad(looped))(np.ones(3)).program
    assert {
        ("carry = np.tanh(carry) * t", "tanh"),
        ("carry = np.tanh(carry) * t", "multiply"),
        ("return carry, carry * 2.0", "multiply"),
    } <= set(pulled_lines(program))


def test_notes_go_with_the_lines_and_readers_are_told() -> None:
    seen = []
    with lined(Lining(note=lambda: "here", reading=lambda tape: seen.extend(tape.lines.origins))):
        ad.grad(smooth)(np.ones(40_000))
    assert [place.note for place in seen] == ["here"] * len(seen)
    assert [place.pulled for place in seen] == ["input", "sin", "multiply", "sum"]

"""Equations that nothing reads go; effects stay, at any depth."""

import numpy as np

import adjoint as ad
from adjoint.program.check import check
from adjoint.simplify import simplify
from adjoint.simplify.dead_code import drop_dead_code


def test_what_nothing_reads_goes() -> None:
    def f(x):
        np.sin(x) * np.arange(3.0)
        return x * 2.0

    program = ad.trace(f)(np.ones(3)).program
    after = check(drop_dead_code(program))
    assert [eq.op.title for eq in after.equations] == ["multiply"]
    assert not after.constants
    assert drop_dead_code(after) is after


def test_effects_stay(capsys) -> None:
    def f(x):
        ad.debug.print("x = {}", x + 1.0)
        ad.scan(lambda h, y: (ad.debug.print("y = {}", y), (h, None))[1], x, np.arange(2.0))
        ad.check(x > 0, "x is positive")
        return np.ones(2)

    program = simplify(ad.trace(f)(1.0).program)
    np.testing.assert_array_equal(program(np.float64(3.0))[0], np.ones(2))
    assert capsys.readouterr().out.split("\n")[:3] == ["x = 4.0", "y = 0.0", "y = 1.0"]


def test_effects_are_not_shared(capsys) -> None:
    def f(x):
        ad.debug.print("again {}", x)
        ad.debug.print("again {}", x)
        return x

    simplify(ad.trace(f)(1.0).program)(np.float64(3.0))
    assert capsys.readouterr().out == "again 3.0\nagain 3.0\n"

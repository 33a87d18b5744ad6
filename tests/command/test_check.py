"""`adjoint check`: right derivatives pass, wrong ones are found, each told in a table."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.command.commands import folder, ran, refused

WRONG = """
import numpy as np
import adjoint as ad

@ad.custom_rule(vjp=lambda x: (np.sum(x**2), lambda ct: (ct * x,)))  # the factor 2 is forgotten
def wrong(x):
    return np.sum(x**2)

def whole(x, n):
    return n * x**2

def names(x):
    return "none"
"""


def test_right_derivatives_pass() -> None:
    found = ran("check", "sin(x) * exp(y)", "x=1", "y=2")
    assert (found.code, found.err) == (0, "")
    assert found.out.count("agrees") == 9
    assert "All 9 comparisons agree" in found.out
    assert f"{np.sin(1) * np.exp(2):.10g}" in found.out


def test_orders_and_modes() -> None:
    assert ran("check", "x**3", "x=1", "--order", "1", "--mode", "reverse").out.count("agrees") == 1
    assert ran("check", "x**3", "x=1", "--order", "3", "--mode", "forward").out.count("agrees") == 3
    assert ran("check", "linalg.norm(A @ x)", "A=[[1,2],[3,4]]", "x=[1,2]", "--order", "1").code == 0
    assert ran("check", "[x, x**2]", "x=2", "--order", "1").code == 0  # results may be arrays


def test_wrong_derivatives_are_found(tmp_path: Path) -> None:
    with folder(tmp_path, wrong=WRONG):
        found = ran("check", "wrong:wrong", "x=[1.0, 2.0]", "--mode", "reverse")
        told = json.loads(ran("check", "wrong:wrong", "x=1.5", "--mode", "reverse", "--json").out)
    assert found.code == 1
    assert "differs" in found.out
    assert "They differ by the factor 2" in found.out
    assert "comparisons differ" in found.out
    assert told["passed"] is False
    assert told["rows"][0]["order"] == 1
    assert told["rows"][0]["error"] == pytest.approx(1 / 3, rel=1e-6)  # |1 - 2| of 1 + 2


def test_kinks_are_told() -> None:
    """At order 1 symmetric differences of |x| agree with the slope 0 that derivatives take at 0."""
    found = ran("check", "3 * abs(x)", "x=0", "--order", "1")
    assert found.code == 0
    assert "note: absolute has a kink here" in found.out
    assert "the derivative used is 0; possible: [-1, 1]" in found.out
    assert ran("check", "3 * abs(x - 0.001)", "x=0", "--order", "1").out.count("note:") == 0


def test_differences_across_a_kink_disagree() -> None:
    assert ran("check", "maximum(x, 0) + 1", "x=0").code == 1


def test_json() -> None:
    told = json.loads(ran("check", "exp(x)", "x=1", "--json").out)
    assert told["function"] == "exp(x)"
    assert told["passed"] is True
    assert {row["compared"] for row in told["rows"]} == {
        "forward mode and differences",
        "reverse mode and differences",
        "forward and reverse mode",
    }
    assert max(row["error"] for row in told["rows"]) < 1e-8


def test_what_cannot_be_checked(tmp_path: Path) -> None:
    assert "is inf (a division by zero)" in refused("check", "1/x", "x=0")
    assert "orders from 1 to 6" in refused("check", "x", "x=1", "--order", "0")
    assert "no derivative to check" in refused("check", "x > 0", "x=1")
    with folder(tmp_path, wrong=WRONG):
        assert "no derivative to check" in refused("check", "wrong:names", "x=1.0")
        assert ran("check", "wrong:whole", "x=2.0", "n=3", "--order", "1").code == 0


def test_unused_variables_are_noted() -> None:
    found = ran("check", "x**2", "x=1", "y=2", "--order", "1")
    assert found.code == 0
    assert "y does not occur" in found.err


def test_singular_points_are_named_as_such() -> None:
    found = ran("check", "sqrt(x)", "x=0.0")
    assert "sqrt is singular here" in found.out + found.err
    assert "its derivative is not finite" in found.out + found.err

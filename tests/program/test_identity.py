"""Recordings that are one program whatever the sizes are called that loops find."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.arrays.rearrange import Reshape
from adjoint.program.identity import identify
from adjoint.program.program import Equation, Program, Var
from adjoint.program.types import ArrayType, Size


def halvings(x: Any, y: Any, least: float = 0.1) -> Any:
    """Σ (x/2ᵏ + y) sin(x/2ᵏ) while x/2ᵏ > least."""
    body = lambda state: (state[0] / 2, state[1] + (state[0] + y) * np.sin(state[0]))
    return ad.while_loop(lambda state: state[0] > least, body, (x, 0.0))[1]


@pytest.mark.parametrize(
    "f, x",
    [
        (ad.grad(halvings), 3.0),
        (ad.grad(ad.grad(halvings)), 3.0),
        (ad.vmap(ad.grad(halvings)), np.array([0.5, 3.0])),
        (lambda x, y: ad.scan(lambda c, y: (c + ad.grad(halvings)(x, y), None), 0.0, np.ones(3) * y)[0], 3.0),
    ],
    ids=["grad", "grad of grad", "vmap", "in a scan"],
)
def test_a_second_recording_is_the_same_program(f: Any, x: Any) -> None:
    first, second = (ad.trace(f)(x, x).program for _ in range(2))
    assert first is not second
    assert identify(first) == identify(second)
    assert hash(identify(first)) == hash(identify(second))


def test_other_numbers_are_another_program() -> None:
    first, second = (ad.trace(ad.grad(lambda x, y, d=d: halvings(x, y, d)))(3.0, 1.0).program for d in (0.1, 0.2))
    assert identify(first) != identify(second)


def _reshaped(*names: str) -> Program:
    """(a: [m], b: [n]) ↦ a given one of the two sizes, by its name."""
    sizes = [Size(name, found=True) for name in names]
    a, b = (Var(ArrayType((n,), np.dtype(np.float64))) for n in sizes[:2])
    c = Var(a.type)
    return Program((a, b), (Equation(Reshape((sizes[2],)), (a,), (c,)),), (c,))


def test_sizes_are_told_apart() -> None:
    assert identify(_reshaped("m", "n", "m")) == identify(_reshaped("p", "q", "p"))
    assert identify(_reshaped("m", "n", "m")) != identify(_reshaped("m", "n", "n"))
    assert identify(_reshaped("m", "m", "m")) != identify(_reshaped("m", "n", "m"))
    assert identify(_reshaped("m", "n", "p")) != identify(_reshaped("m", "n", "q"))  # not in a type

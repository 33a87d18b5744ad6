"""Habits of users of SciPy and diffrax: what they write is served, or answered by what is written here."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate
from adjoint.integrate import elsewhere

TURN = lambda t, y: np.stack([y[1], -y[0]])
START = np.array([1.0, 0.0])


@pytest.mark.parametrize(
    "name, says",
    [("solve_ivp", "adjoint.scipy.integrate"), ("diffeqsolve", "solve"), ("SaveAt", "save="), ("Dopri5", "dopri5")],
)
def test_names_of_other_libraries(name: str, says: str) -> None:
    with pytest.raises(AttributeError, match=says):
        getattr(integrate, name)
    assert not hasattr(integrate, name)


def test_every_name_is_another_one_than_ours() -> None:
    assert not set(elsewhere.MODULE) & set(integrate.__all__)
    path, integral = integrate.solve(TURN, (0.0, 0.1), START), integrate.quad(np.sin, 0.0, 1.0)
    for found, names in ((path, elsewhere.TRAJECTORY), (integral, elsewhere.INTEGRAL)):
        for name in names:
            with pytest.raises(AttributeError, match="Here it is"):
                getattr(found, name)
    with pytest.raises(AttributeError, match="Did you mean values"):
        path.vallues
    with pytest.raises(TypeError, match=r"\.value is the number"):
        integral[0]


@pytest.mark.parametrize(
    "f, y0, how, says",
    [
        (TURN, [1.0, 0.0], {}, r"y0 = np\.array"),
        (lambda t, y: [y[1], -y[0]], START, {}, r"np\.stack"),
        (lambda t, y, args: -args[0] * y, START, {"args": (1.0, 2.0)}, r"args=\(args,\)"),
        (lambda t, y, k: -k * y, START, {"args": 2.0}, r"args=\(p,\)"),
        (lambda t, y, k: -k * y, START, {"args": np.ones(1)}, r"args=\(p,\)"),
        (TURN, START, {"t_eval": [1.0]}, "Here it is save="),
        (TURN, START, {"dense_output": True}, "Here it is dense="),
        (TURN, START, {"jac": TURN}, "Here it is jacobian="),
    ],
)
def test_arguments_that_are_written_otherwise_here(f: Any, y0: Any, how: Any, says: str) -> None:
    with pytest.raises((TypeError, ad.TreeError), match=says):
        integrate.solve(f, (0.0, 1.0), y0, **how)


def test_a_plain_function_is_an_event() -> None:
    g = lambda t, y: y[0]
    for events in (g, [g]):
        path = integrate.solve(TURN, (0.0, 10.0), START, events=events, rtol=1e-9)
        np.testing.assert_allclose(path.events[0].time, np.pi / 2, rtol=1e-8)
    with pytest.raises(TypeError, match=r"integrate\.Event"):
        integrate.solve(TURN, (0.0, 1.0), START, events=[3])

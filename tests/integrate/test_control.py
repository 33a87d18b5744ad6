"""Step control on problems of DETEST (Hull, Enright, Fellen, Sedgwick 1972) over [0, 20]: errors follow tolerances."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from adjoint.integrate import solve


def _orbit(e):
    def f(t, y):
        r3 = (y[0] ** 2 + y[1] ** 2) ** 1.5
        return np.stack([y[2], y[3], -y[0] / r3, -y[1] / r3])

    return f, np.array([1 - e, 0.0, 0.0, np.sqrt((1 + e) / (1 - e))])


def _rigid(t, y):
    return np.stack([y[1] * y[2], -y[0] * y[2], -0.51 * y[0] * y[1]])


PROBLEMS = {
    "A1": (lambda t, y: -y, np.array([1.0])),
    "A2": (lambda t, y: -0.5 * y**3, np.array([1.0])),
    "A3": (lambda t, y: y * np.cos(t), np.array([1.0])),
    "A4": (lambda t, y: y / 4 * (1 - y / 20), np.array([1.0])),
    "A5": (lambda t, y: (y - t) / (y + t), np.array([4.0])),
    "B1": (lambda t, y: np.stack([2 * (y[0] - y[0] * y[1]), -(y[1] - y[0] * y[1])]), np.array([1.0, 3.0])),
    "B2": (lambda t, y: np.stack([-y[0] + y[1], y[0] - 2 * y[1] + y[2], y[1] - y[2]]), np.array([2.0, 0.0, 1.0])),
    "B3": (lambda t, y: np.stack([-y[0], y[0] - y[1] ** 2, y[1] ** 2]), np.array([1.0, 0.0, 0.0])),
    "B5": (_rigid, np.array([0.0, 1.0, 1.0])),
    "D1": _orbit(0.1),
    "D3": _orbit(0.5),
    "D5": _orbit(0.9),
    "E2": (lambda t, y: np.stack([y[1], (1 - y[0] ** 2) * y[1] - y[0]]), np.array([2.0, 0.0])),
    "E3": (lambda t, y: np.stack([y[1], y[0] ** 3 / 6 - y[0] + 2 * np.sin(2.78535 * t)]), np.array([0.0, 0.0])),
}
SAMPLE = [("A3", "dopri5"), ("B1", "tsit5"), ("D1", "verner8")]
METHODS = ["bosh3", "dopri5", "tsit5", "dop853", "verner6", "verner7", "verner8", "verner9"]


def _errors(problem, method, tolerances):
    f, y0 = PROBLEMS[problem]
    plain = lambda t, y: np.asarray(f(t, y))
    exact = solve_ivp(plain, (0.0, 20.0), y0, method="DOP853", rtol=3e-14, atol=1e-15).y[:, -1]
    found = [solve(f, (0.0, 20.0), y0, method=method, rtol=tol, atol=tol).raise_if_failed().last for tol in tolerances]
    return np.array([np.max(np.abs(y - exact)) for y in found])


@pytest.mark.parametrize("problem, method", SAMPLE)
def test_errors_follow_tolerances(problem, method):
    tolerances = 10.0 ** -np.arange(4.0, 10.0)
    errors = _errors(problem, method, tolerances)
    assert 0.8 < np.polyfit(np.log(tolerances), np.log(errors), 1)[0] < 1.2
    assert np.all(errors < 100 * tolerances)


@pytest.mark.sweep
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("problem", list(PROBLEMS))
def test_every_method_on_every_problem(problem, method):
    """At the end of an unstable orbit errors are those of twenty time units: within 10⁴ tolerances there."""
    tolerances = 10.0 ** -np.arange(4.0, 9.0 if method == "bosh3" else 11.0)
    errors = _errors(problem, method, tolerances)
    assert np.all(errors < (1e5 if problem[0] in "DE" else 1e3) * tolerances)

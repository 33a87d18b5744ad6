"""Jumps that move are told of by every integral; kinks and jumps that stand still are not."""

import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate, optimize
from adjoint.integrate.quadrature.adaptive import integrate_adaptively
from adjoint.integrate.quadrature.jumps import SEGMENTS, may_jump, segments_of
from adjoint.integrate.quadrature.reading import read_integrand

ZERO, ONE = np.zeros(2), np.ones(2)
rng = lambda: ad.random.default_rng(0)
step = lambda x, theta: np.where(x < theta, 1.0, 0.0)

BOXES = {
    "cubature": lambda f, theta: integrate.cubature(f, ZERO, ONE, args=(theta,), rtol=1e-3).value,
    "corners at infinity": lambda f, theta: (
        integrate.cubature(lambda x: f(x, theta) * np.exp(-np.sum(x)), ZERO, [np.inf, np.inf], rtol=1e-3).value
    ),
    "monte carlo": lambda f, theta: integrate.monte_carlo(f, ZERO, ONE, 500, rng(), args=(theta,)).value,
    "qmc": lambda f, theta: integrate.qmc(f, ZERO, ONE, 64, rng(), args=(theta,)).value,
    "nquad": lambda f, theta: (
        integrate.nquad(lambda x, y: f(np.stack([x, y]), theta), [(0.0, 1.0), (0.0, 1.0)], rtol=1e-3).value
    ),
}
MOVE = {
    "a step": lambda x, theta: step(x[0], theta) + x[1],
    "a disk": lambda x, theta: np.where(np.sum(x**2) < theta**2, 1.0, 0.0),
    "a branch": lambda x, theta: 1.0 if x[0] < theta else 0.0,
    "a floor": lambda x, theta: np.floor(3.0 * x[0] + theta),
}
STAND = {
    "a fixed step": lambda x, theta: theta * step(x[0], 0.4),
    "a kink": lambda x, theta: np.where(x[0] > theta, x[0] - theta, 0.0) * x[1],
    "a steep root": lambda x, theta: np.where(x[0] > theta, np.sqrt(np.abs(x[0] - theta)), 0.0),
}


def some(names, chosen):
    return [name if name in chosen else pytest.param(name, marks=pytest.mark.sweep) for name in names]


@pytest.mark.parametrize("jump", some(MOVE, ["a disk"]))
@pytest.mark.parametrize("box", some(BOXES, ["cubature", "monte carlo", "qmc"]))
def test_jumps_that_move(box: str, jump: str) -> None:
    with pytest.warns(RuntimeWarning, match=r"f jumps near x = .*derivative does not know that the jump moves"):
        ad.grad(lambda theta: BOXES[box](MOVE[jump], theta))(0.45)


@pytest.mark.parametrize("kind", some(STAND, ["a kink"]))
@pytest.mark.parametrize("box", some(BOXES, ["cubature", "monte carlo", "nquad"]))
def test_jumps_that_stand_still_and_kinks(box: str, kind: str) -> None:
    moved = lambda theta: BOXES[box](STAND[kind], theta)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*jumps")
        warnings.filterwarnings("ignore", message=".*was not found")
        found = ad.grad(moved)(0.45)
    assert found == pytest.approx((moved(0.46) - moved(0.44)) / 0.02, abs=0.05)


@pytest.mark.parametrize("box", ["cubature", "monte carlo"])
@pytest.mark.parametrize(
    "transform",
    [
        pytest.param(lambda f: ad.jit(ad.grad(f)), id="jit"),
        pytest.param(lambda f: lambda t: ad.vmap(ad.grad(f))(np.array([t, t])), id="vmap", marks=pytest.mark.sweep),
        pytest.param(lambda f: lambda t: ad.jvp(f, (t,), (1.0,)), id="jvp"),
    ],
)
def test_under_transformations(transform, box: str) -> None:
    with pytest.warns(RuntimeWarning, match=r"f jumps near x = \[0.45"):
        transform(lambda theta: BOXES[box](MOVE["a step"], theta))(0.45)


def test_the_ends_of_a_box_move_samples_over_a_jump() -> None:
    inside = lambda high: integrate.monte_carlo(lambda x: step(x[0], 0.4), ZERO, high * ONE, 500, rng()).value
    with pytest.warns(RuntimeWarning, match=r"f jumps near x = \[0.4"):
        ad.grad(inside)(1.0)


QUAD = {
    "where it is cut": {"f": step, "theta": 0.5},
    "at a low tolerance": {"f": step, "rtol": 1e-2},
    "a fixed rule": {"f": step, "method": "gauss"},
    "tanh-sinh": {"f": step, "method": "tanh-sinh"},
    "beside a singularity": {"f": lambda x, theta: step(x, theta) / np.sqrt(x)},
    "a low step on a steep function": {"f": lambda x, theta: np.exp(3 * x) + 0.02 * step(x, theta), "rtol": 1e-4},
    "backwards": {"f": step, "ends": (1.0, 0.0)},
}


@pytest.mark.parametrize("name", QUAD)
def test_one_dimension(name: str) -> None:
    case = dict(QUAD[name])
    f, theta, ends = case.pop("f"), case.pop("theta", 0.4), case.pop("ends", (0.0, 1.0))
    with pytest.warns(RuntimeWarning, match=f"f jumps near x = {theta}"):
        ad.grad(lambda theta: integrate.quad(f, *ends, args=(theta,), **case).value)(theta)
    if case.get("method") is None:  # named, nothing is said
        sign = 1.0 if ends == (0.0, 1.0) else -1.0
        named = ad.grad(lambda theta: integrate.quad(f, *ends, args=(theta,), points=(theta,)).value)(theta)
        assert named == pytest.approx(sign * (f(theta - 1e-12, theta) - f(theta + 1e-12, theta)), rel=1e-6)


def cube(x, theta):
    """y with y³ + y = x θ."""
    return optimize.root(lambda y: y**3 + y - x * theta, 0.5 * x).x


@pytest.mark.parametrize(
    "f, moves",
    [
        pytest.param(cube, False, id="iterations of a solver"),
        pytest.param(ad.grad(cube, argnums=1), False, id="diagnosis of its derivative"),
        pytest.param(lambda x, theta: np.where(cube(x, theta) > 0.5, 1.0, 0.0), True, id="a branch on a solution"),
        pytest.param(
            lambda x, theta: optimize.root(lambda y: y**3 + y - step(x, theta), 0.5 * x).x, True, id="in an equation"
        ),
    ],
)
def test_solutions_jump_where_their_equations_do(f, moves: bool) -> None:
    made = read_integrand("quad", f, (0.4,))
    assert may_jump(made.program, (False, False, *[True] * len(made.theta))) == moves


@pytest.mark.parametrize("theta", [0.5, 1e-4, 0.9999, 0.4995])
def test_jumps_beyond_the_outermost_nodes(theta: float) -> None:
    """The first intervals are enough for the integral: it looks smooth, and f jumps beside their ends."""
    with pytest.warns(RuntimeWarning, match="f jumps near x"):
        ad.jit(ad.grad(lambda theta: integrate.quad(lambda x: 2.0 + step(x, theta), 0.0, 1.0).value))(theta)


def test_few_segments_of_smooth_functions_are_looked_at() -> None:
    counts = []
    for f in (lambda s: np.sin(3.0 * s)[:, None], lambda s: np.abs(s - 0.3)[:, None]):
        ends = [np.float64(0.0), np.float64(1.0)]
        found = integrate_adaptively(f, ends, "gauss-kronrod", 1e-10, 1e-12, 200, 1)
        counts.append(segments_of(found, np.array(ends), 2, found.value[0])[2])
    assert counts == [4, SEGMENTS]

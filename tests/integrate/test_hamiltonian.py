"""Hamilton's equations of an energy, by symplectic and by other methods; pairs that cannot be split."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate


def energy(q, p):
    """A pendulum beside an oscillator, with a spring between them."""
    return 0.5 * p["a"] ** 2 + np.sum(p["b"] ** 2) - np.cos(q["a"]) + np.sum((q["b"] - q["a"]) ** 2)


def by_hand(t, y):
    q, p = y
    pull = 2.0 * (q["b"] - q["a"])
    return {"a": p["a"], "b": 2.0 * p["b"]}, {"a": -np.sin(q["a"]) + np.sum(pull), "b": -pull}


START = ({"a": 1.0, "b": np.array([0.5, -0.2])}, {"a": 0.0, "b": np.array([0.1, 0.3])})


@pytest.mark.parametrize("method", ["leapfrog", "dopri5"])
def test_equations_of_an_energy(method):
    solve = lambda f: integrate.solve(f, (0.0, 3.0), START, method=method, first_step=0.05, rtol=1e-9).last
    ours, plain = solve(integrate.Hamiltonian(energy)), solve(by_hand)
    for a, b in zip(ad.tree.leaves(ours), ad.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_energy_that_depends_on_time_and_parameters():
    driven = integrate.Hamiltonian(lambda t, q, p, w: 0.5 * p**2 + 0.5 * w * q**2 - q * np.cos(t), has_time=True)
    end = lambda w: integrate.solve(driven, (0.0, 2.0), (1.0, 0.0), args=(w,), method="dop853", rtol=1e-11).last[0]
    # x″ + 4 x = cos t from (1, 0): x = ⅔ cos 2t + ⅓ cos t
    assert abs(end(4.0) - (2 * np.cos(4.0) + np.cos(2.0)) / 3) < 1e-9
    assert abs(ad.jit(ad.grad(end))(4.0) - (end(4.0 + 1e-5) - end(4.0 - 1e-5)) / 2e-5) < 1e-7


def test_pairs_are_asked_for():
    with pytest.raises(TypeError, match=r"pair \(q, p\)"):
        integrate.solve(integrate.Hamiltonian(lambda q, p: q * p), (0.0, 1.0), np.ones(2), method="dopri5")


@pytest.mark.parametrize(
    "f, which",
    [
        (lambda t, y: (y[1], -np.sin(y[0]) - 0.3 * y[1]), "p′ depends on p"),
        (lambda t, y: np.stack([y[1] - 0.3 * y[0], -y[0]]), "q′ depends on q"),
    ],
)
def test_what_cannot_be_split_warns(f, which):
    start = (1.0, 0.0) if which.startswith("p") else np.array([1.0, 0.0])
    with pytest.warns(RuntimeWarning, match=f"here {which}. Its order is 1"):
        integrate.solve(f, (0.0, 1.0), start, method="yoshida4", first_step=0.1)

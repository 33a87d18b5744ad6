"""Hares and lynxes of Hudson Bay: the rates of a differential equation, from the pelts of 21 years.

    python examples/predator_and_prey.py [starts]

    hare′ = (a - b lynx) hare        lynx′ = (d hare - c) lynx

Pelts in thousands, 1900 to 1920, as the Hudson's Bay Company took them in (MacLulich 1937, Elton and Nicholson 1942;
the numbers as tabulated in P. Howard's lecture notes "Modeling basics", 2009). The logarithms of the pelts are fitted,
since errors are relative. Each step of the fit needs the derivative of 42 numbers in four rates and two first states:
one compiled program.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import integrate, optimize

YEARS = np.arange(1900.0, 1921.0)
HARE = np.array([30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1,
                 40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7])  # fmt: skip
LYNX = np.array([4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4,
                 8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6])  # fmt: skip
PELTS = np.log(np.stack([HARE, LYNX]))
NAMES = ("a", "b", "c", "d", "hare in 1900", "lynx in 1900")
GUESS = np.log([0.5, 0.02, 0.8, 0.02, 30.0, 4.0])


def prey(t: Any, y: Any, rates: Any) -> Any:
    a, b, c, d = rates
    return {"hare": (a - b * y["lynx"]) * y["hare"], "lynx": (d * y["hare"] - c) * y["lynx"]}


def paths(years: Any, p: Any) -> Any:
    """Logarithms of both numbers in some years; p are the logarithms of the rates and of the first numbers."""
    rates, start = np.exp(p[:4]), {"hare": np.exp(p[4]), "lynx": np.exp(p[5])}
    found = integrate.solve(prey, (YEARS[0], YEARS[-1]), start, args=(rates,), save=years, rtol=1e-8, atol=1e-8)
    return np.log(np.stack([found.values["hare"], found.values["lynx"]]))


def fit(pelts: Any = PELTS, guess: Any = GUESS) -> Any:
    return optimize.curve_fit(paths, YEARS, pelts, guess)


def fit_by_scipy() -> Any:
    """The same numbers by SciPy's solver and its fit, with derivatives by differences."""
    from scipy.integrate import solve_ivp
    from scipy.optimize import least_squares

    def misfit(p: Any) -> Any:
        a, b, c, d, hare, lynx = np.exp(p)
        f = lambda t, y: [(a - b * y[1]) * y[0], (d * y[0] - c) * y[1]]
        path = solve_ivp(f, (YEARS[0], YEARS[-1]), [hare, lynx], "DOP853", YEARS, rtol=1e-10, atol=1e-10)
        return np.ravel(np.log(path.y) - PELTS)

    return least_squares(misfit, GUESS, xtol=1e-12, ftol=1e-12).x


def main(starts: int = 50) -> None:
    found = fit().raise_if_failed()
    values, errors = np.exp(found.value), found.standard_errors
    for name, value, error in zip(NAMES, values, errors, strict=True):
        print(f"{name:>13} {value:8.4f} ± {value * error:.4f}")
    theirs = fit_by_scipy()
    distance = np.max(np.abs(found.value - theirs) / errors)
    print(f"{distance:.1e} standard errors from SciPy's fit by differences")
    assert distance < 1e-3
    print(f"✓ {int(found.iterations)} steps")

    period = found.propagate(lambda p: 2 * np.pi / np.exp(0.5 * (p[0] + p[2])))
    rest = found.propagate(lambda p: np.stack([np.exp(p[2] - p[3]), np.exp(p[0] - p[1])]))
    around = " and ".join(f"{v:.1f} ± {e:.1f}" for v, e in zip(rest.value, rest.error, strict=True))
    print(f"small cycles take {period.value:.2f} ± {period.error:.2f} years, around {around} thousand hares and lynxes")
    influence = np.reshape(found.influence()[0], PELTS.shape)
    year = int(np.argmax(np.abs(influence[0])))
    h = 1e-3 * (np.arange(21) == year) * np.array([[1.0], [0.0]])
    difference = (fit(PELTS + h, found.value).value[0] - fit(PELTS - h, found.value).value[0]) / 2e-3
    print(f"the hares of {YEARS[year]:.0f} weigh most on the first rate: {influence[0, year]:.4f}")
    assert abs(difference - influence[0, year]) < 1e-3 * abs(difference)
    print("✓ the influence of a datum is the derivative of the fit")

    scatter = GUESS + 0.1 * np.random.default_rng(0).normal(size=(starts, 6))
    many = ad.jit(ad.vmap(lambda guess: fit(guess=guess).fun))
    many(scatter)
    began = time.perf_counter()
    misfits = many(scatter)
    took = time.perf_counter() - began
    same = np.sum(misfits < found.fun * (1 + 1e-6))
    print(f"{starts} fits from scattered starts: {took:.2f} s, {same} arrive at the same misfit")
    assert np.min(misfits) > found.fun * (1 - 1e-6)
    assert same > starts // 2
    print("✓ none is better")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

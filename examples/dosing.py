"""Infusions of a drug, planned by their gradient: how much and when, to keep the level in the blood where it helps.

    python examples/dosing.py [steps]

    blood′ = rate(t) - k₁₂ blood + k₂₁ tissue - V blood / (K vol + blood)        tissue′ = k₁₂ blood - k₂₁ tissue

The body removes the drug at a limited speed (Michaelis and Menten), so that doses do not add up and no formula gives
the level. The rate of infusion jumps when a dose begins and when it ends: these times are `stops`. Steps end on them,
and the derivative in the times themselves is right.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import integrate, optimize

VOLUME, LIMIT, HALF = (
    45.0,
    25.0,
    6.0,
)  # liters of blood and the like; mg removed in an hour at most; mg / l at half speed
TO_TISSUE, BACK = 0.15, 0.10  # of the content, in an hour
LENGTH = 1.5  # hours of an infusion
WANTED = 15.0  # mg / l; 10 to 20 help
HOURS = 48.0
AMOUNTS, TIMES = np.full(4, 400.0), np.array([0.0, 12.0, 24.0, 36.0])


def body(t: Any, y: Any, amounts: Any, times: Any) -> Any:
    blood, tissue = y
    rate = np.sum(np.where((t >= times) & (t < times + LENGTH), amounts / LENGTH, 0.0))
    moved = TO_TISSUE * blood - BACK * tissue
    return np.stack([rate - moved - LIMIT * blood / (HALF * VOLUME + blood), moved])


def squared_distance(t: Any, y: Any, amounts: Any, times: Any) -> Any:
    return (y[0] / VOLUME - WANTED) ** 2


def course(amounts: Any, times: Any, save: Any = None) -> Any:
    return integrate.solve(
        body, (0.0, HOURS), np.zeros(2), args=(amounts, times), save=save, integrand=squared_distance,
        stops=np.sort(np.concatenate([times, times + LENGTH])), method="dopri5", rtol=1e-8, atol=1e-8,
    )  # fmt: skip


def cost(plan: Any) -> Any:
    """The mean squared distance of the level from the wanted one."""
    return course(plan["amounts"], plan["times"]).integrals / HOURS


def cost_by_scipy(amounts: Any, times: Any) -> float:
    """The same by SciPy, piece by piece between the jumps."""
    from scipy.integrate import solve_ivp

    def extended(t: float, y: Any) -> Any:
        state = np.asarray(y[:2])
        return [*body(middle, state, amounts, times), squared_distance(t, state, amounts, times)]

    y: Any = np.zeros(3)
    edges = np.sort(np.concatenate([[0.0, HOURS], times, times + LENGTH]))
    for begin, end in pairwise(edges):
        middle = (begin + end) / 2  # the rate is constant in between
        if end > begin:
            y = solve_ivp(extended, (begin, end), y, "DOP853", rtol=1e-11, atol=1e-11).y[:, -1]
    return float(y[2] / HOURS)


def plan_doses(steps: int) -> Any:
    """Amounts and times with the least cost; the first dose is given at once."""
    unpack = lambda p: {"amounts": 400 * p[:4], "times": np.concatenate([np.zeros(1), 12 * p[4:]])}
    found = optimize.minimize(lambda p: cost(unpack(p)), np.array([1, 1, 1, 1, 1, 2, 3.0]), method=optimize.LBFGS(),
                              max_iterations=steps)  # fmt: skip
    return unpack(found.value)


def main(steps: int = 100) -> None:
    usual = {"amounts": AMOUNTS, "times": TIMES + 1.0}
    own, theirs = float(cost(usual)), cost_by_scipy(**usual)
    print(f"the usual doses: cost {own:.6f}, by SciPy piece by piece {theirs:.6f}")
    assert abs(own - theirs) < 1e-6 * theirs
    slopes = ad.jit(ad.grad(cost))(usual)
    print("dose   a mg more            an hour later")
    h = 1e-3
    for k in range(4):
        e = h * (np.arange(4) == k)
        moved = lambda a, b: cost_by_scipy(AMOUNTS + a, TIMES + 1.0 + b)
        by = [(moved(e, 0) - moved(-e, 0)) / (2 * h), (moved(0, e) - moved(0, -e)) / (2 * h)]
        print(f"{k:4d}  {slopes['amounts'][k]:9.6f} {by[0]:9.6f}  {slopes['times'][k]:9.5f} {by[1]:9.5f}")
        np.testing.assert_allclose([slopes["amounts"][k], slopes["times"][k]], by, rtol=1e-4, atol=1e-6)
    print("✓ the gradient in amounts and times is that of differences of SciPy's")

    plan = plan_doses(steps)
    save = np.linspace(0.0, HOURS, 481)
    print("dose      hours    mg")
    for k in range(4):
        print(f"{k:4d} {plan['times'][k]:10.2f} {plan['amounts'][k]:7.1f}")
    inside = {}
    for name, one in (("usual", {"amounts": AMOUNTS, "times": TIMES}), ("planned", plan)):
        level = course(**one, save=save).values[:, 0] / VOLUME
        inside[name] = np.mean((level > 10) & (level < 20))
        print(
            f"{name:>8}: cost {float(cost(one)):7.3f}, {100 * inside[name]:.0f} % of the time between 10 and 20 mg / l"
        )
    assert cost(plan) < 0.7 * cost({"amounts": AMOUNTS, "times": TIMES})
    print("✓ the plan is better")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

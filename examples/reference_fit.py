"""A fit that NIST certifies, with error bars on everything: parameters, curve, half-life, and the weight of each datum.

python examples/reference_fit.py [repetitions]

y = b₁ (1 - exp(-b₂ x)): the biochemical oxygen demand of a water sample over days (Box, Hunter and Hunter 1978;
BoxBOD of NIST's Statistical Reference Datasets). From the start (1, 1) many solvers fail on it.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import optimize

DAYS = np.array([1.0, 2.0, 3.0, 5.0, 7.0, 10.0])
DEMAND = np.array([109.0, 149.0, 149.0, 191.0, 213.0, 224.0])
CERTIFIED = {"limit": (2.1380940889e02, 1.2354515176e01), "rate": (5.4723748542e-01, 1.0455993237e-01)}


def model(x: Any, p: Any) -> Any:
    return p["limit"] * (1 - np.exp(-p["rate"] * x))


def fit(y: Any = DEMAND) -> Any:
    return optimize.curve_fit(model, DAYS, y, {"limit": 1.0, "rate": 1.0})


def main(repetitions: int = 2000) -> None:
    found = fit().raise_if_failed()
    for name, (value, error) in CERTIFIED.items():
        own, spread = found.value[name], found.standard_errors[name]
        print(f"{name:>6} {own:.8g} ± {spread:.6g}, certified {value:.8g} ± {error:.6g}")
        assert abs(own - value) < 1e-6 * value
        assert abs(spread - error) < 1e-4 * error
    print(f"✓ {int(found.iterations)} steps, {int(found.evaluations['jacobian'])} Jacobians")

    half = found.propagate(lambda p: np.log(2) / p["rate"])
    print(f"half of it is reached after {half.value:.3f} ± {half.error:.3f} days")
    influence = found.influence()["rate"]
    print("a unit more on a day changes the rate by", np.round(influence, 5))
    h = 1e-3
    moved = [fit(DEMAND + s * h * (DAYS == 1.0)).value["rate"] for s in (1, -1)]
    assert abs((moved[0] - moved[1]) / (2 * h) - influence[0]) < 1e-5 * abs(influence[0])
    print("✓ the influence is the derivative of the fit")

    deviation = np.sqrt(2 * found.fun / (len(DAYS) - 2))
    noise = 0.1 * deviation * np.random.default_rng(0).normal(size=(repetitions, len(DAYS)))
    many = ad.jit(ad.vmap(lambda y: fit(y).value["rate"]))
    many(model(DAYS, found.value) + noise)
    began = time.perf_counter()
    rates = many(model(DAYS, found.value) + noise)
    took = time.perf_counter() - began
    ratio = np.std(rates) / (0.1 * found.standard_errors["rate"])
    print(f"{repetitions} fits of repeated experiments: {1e3 * took:.0f} ms, spread by error {ratio:.3f}")
    assert 0.9 < ratio < 1.1
    print("✓ the standard error is the spread of repeated experiments")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""A portfolio with shadow prices: what each limit costs, and how that cost moves.

    python examples/portfolio.py [aversions]

    minimize γ/2 wᵀΣ w - μᵀw    subject to   Σ w = 1,   0 ≤ w ≤ 0.3,   S w ≤ limits of the sectors

The multipliers of the program are prices: one more unit of a limit gains so much. Prices are solutions too, and have
derivatives: which estimate of a return would change them most?
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import optimize

ASSETS, SECTORS = 12, 3


def market() -> tuple[Any, Any, Any]:
    """Expected returns, their covariance, and which sector each asset is of."""
    rng = np.random.default_rng(4)
    loads = rng.normal(size=(ASSETS, 4)) * 0.1
    covariance = loads @ loads.T + np.diag(rng.uniform(0.002, 0.02, size=ASSETS))
    sectors = (np.arange(ASSETS)[None] % SECTORS == np.arange(SECTORS)[:, None]).astype(float)
    return rng.uniform(0.02, 0.14, size=ASSETS), covariance, sectors


def choose(aversion: Any, returns: Any, limits: Any) -> Any:
    """The portfolio for an aversion γ against risk."""
    _, covariance, sectors = market()
    return optimize.qp(
        aversion * covariance, -returns, A=np.ones((1, ASSETS)), b=np.ones(1), G=sectors, h=limits, lower=0.0, upper=0.3
    ).raise_if_failed()


def frontier(count: int) -> tuple[Any, Any, Any]:
    """Risk, return and the price of each sector's limit, for many aversions in one compiled call."""
    returns, covariance, _ = market()
    limits = np.full(SECTORS, 0.45)

    def look(aversion: Any) -> Any:
        found = choose(aversion, returns, limits)
        w = found.value
        return np.sqrt(w @ covariance @ w), returns @ w, found.multipliers.inequality

    return ad.jit(ad.vmap(look))(np.geomspace(0.3, 30.0, count))


def main(count: int = 64) -> None:
    returns, _, sectors = market()
    limits = np.full(SECTORS, 0.45)
    risk, gain, prices = frontier(count)
    print(f"{count} portfolios: risk from {risk[0]:.3f} to {risk[-1]:.3f}, return from {gain[0]:.3f} to {gain[-1]:.3f}")
    assert np.all(np.diff(risk) <= 1e-9)
    assert np.all(np.diff(gain) <= 1e-9)
    assert np.all(prices >= -1e-12)
    print("✓ less risk is never paid for with more return")

    found = choose(2.0, returns, limits)
    price = found.multipliers.inequality
    step = 1e-5
    more = step * np.eye(SECTORS)[int(np.argmax(price))]
    moved = [choose(2.0, returns, limits + sign * more).fun for sign in (1, -1)]
    difference = -(moved[0] - moved[1]) / (2 * step)
    print(f"sectors hold {np.round(sectors @ found.value, 3)} of at most {limits}; prices {np.round(price, 5)}")
    assert abs(np.max(price) - difference) < 1e-7
    print("✓ the price of a limit is what a little more of it gains")

    binding = int(np.argmax(price))
    of_price = ad.jit(ad.grad(lambda mu: choose(2.0, mu, limits).multipliers.inequality[binding]))(returns)
    way = np.random.default_rng(0).normal(size=ASSETS)
    read = lambda mu: choose(2.0, mu, limits).multipliers.inequality[binding]
    difference = (read(returns + step * way) - read(returns - step * way)) / (2 * step)
    most = int(np.argmax(np.abs(of_price)))
    print(f"the price of sector {binding} depends most on the return of asset {most}: {of_price[most]:+.3f} per unit")
    assert abs(of_price @ way - difference) < 1e-6
    assert np.all(np.abs(of_price[(found.value < 1e-9) & (found.multipliers.lower > 1e-9)]) < 1e-12)
    print("✓ the derivative of a price; assets that are not held do not matter")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

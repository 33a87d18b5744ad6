"""Draws docs/pictures/stochastic_equations.png and boundary_values.png."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot

import adjoint as ad
from adjoint import integrate

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"


def draw_stochastic() -> None:
    """Paths of a mean-reverting process; strong errors over steps."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    times = np.linspace(0.0, 4.0, 401)
    run = lambda rng: integrate.solve_sde(
        lambda t, y: 2.0 * (1.0 - y), lambda t, y: 0.4 * np.sqrt(y), (0.0, 4.0), 0.2, rng, save=times, steps=400
    )
    paths = ad.vmap(run)(ad.random.default_rng(0).split(300)).values
    left.plot(times, paths[:12].T, lw=0.7, alpha=0.7)
    left.plot(times, np.mean(paths, axis=0), "k", lw=2.5, label="mean of 300 paths")
    left.plot(times, 1 - 0.8 * np.exp(-2 * times), color="C3", ls="--", lw=1.5, label="its expectation")
    left.set_xlabel("t")
    left.legend(loc="upper left")
    counts = np.array([4, 16, 64])

    def error(rng, name, n):
        W = integrate.Brownian(rng, (0.0, 1.0))
        found = integrate.solve_sde(
            lambda t, y: 0.4 * y, lambda t, y: 0.6 * y, (0.0, 1.0), 1.0, W, method=name, steps=n
        )
        return abs(found.last - np.exp(0.4 - 0.18 + 0.6 * W(1.0)))

    for name in ("euler-maruyama", "milstein", "midpoint", "sri"):
        errors = [
            np.mean(ad.vmap(lambda r, m=name, n=n: error(r, m, n))(ad.random.default_rng(1).split(200))) for n in counts
        ]
        right.loglog(1 / counts, errors, "o-", label=name)
    right.set_xlabel("step")
    right.set_xticks(1 / counts, [f"1/{n}" for n in counts])
    right.minorticks_off()
    right.set_title("mean |error| at the end")
    right.legend()
    figure.savefig(PICTURES / "stochastic_equations.png", dpi=110)


def draw_boundary() -> None:
    """Both solutions of Bratu's problem; the nodes that a layer gets."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    bratu = lambda t, y: np.stack([y[1], -np.exp(y[0])])
    ends = lambda a, b: np.stack([a[0], b[0]])
    times = np.linspace(0.0, 1.0, 200)
    for height in (0.0, 3.0):
        guess = np.stack([np.full(5, height), np.zeros(5)], axis=1)
        found = integrate.solve_boundary(bratu, ends, np.linspace(0.0, 1.0, 5), guess, tol=1e-4)
        left.plot(times, found.at(times)[:, 0], label=f"from y = {height:.0f}")
        left.plot(found.mesh, found.values[:, 0], "k.", ms=4)
    left.set_title("y″ + eʸ = 0, y(0) = y(1) = 0")
    left.legend()
    for epsilon in (1e-1, 1e-2, 1e-3):
        f = lambda x, y, e: np.stack(
            [y[1], -(x * y[1] + np.pi * (np.pi * e * np.cos(np.pi * x) + x * np.sin(np.pi * x))) / e]
        )
        conditions = lambda a, b, e: np.stack([a[0] + 2, b[0]])
        mesh = np.linspace(-1.0, 1.0, 9)
        found = integrate.solve_boundary(f, conditions, mesh, np.zeros((9, 2)), args=(epsilon,), tol=1e-3)
        right.plot(found.mesh, found.values[:, 0], ".-", ms=4, label=f"ε = {epsilon:g}, {len(found.mesh)} nodes")
    right.set_title("nodes go where the residual is")
    for panel in (left, right):
        panel.set_xlabel("t")
        panel.locator_params(axis="x", nbins=5)
    right.legend()
    figure.savefig(PICTURES / "boundary_values.png", dpi=110)


if __name__ == "__main__":
    draw_stochastic()
    draw_boundary()

"""Draws docs/pictures/differential_equations.png, stability.png, adjoints.png and optimization.png.

Run it from anywhere: `python tools/equations_picture.py`.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import integrate, optimize

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
MARKS = {"bosh3": "o", "dopri5": "s", "tsit5": "^", "dop853": "D", "verner9": "v"}
RUNGE_KUTTA = ["euler", "midpoint", "rk4", "dopri5"]
STIFF = {"rodas5p": "o", "radau": "s", "bdf": "^", "kvaerno5": "D"}
ADJOINTS = ["discretize", "interpolate", "quadrature", "backsolve", "bvp", "forward"]
IMPLICIT = ["implicit-euler", "trapezoid", "kvaerno5"]


def prey(t: Any, y: Any, rates: Any) -> Any:
    """Hares and lynxes."""
    a, b, c, d = rates
    return {"hare": (a - b * y["lynx"]) * y["hare"], "lynx": (d * y["hare"] - c) * y["lynx"]}


def draw_paths(axes: Any) -> None:
    """A path over time, four in the plane, and the work that digits take."""
    rates, span = np.array([0.5, 0.02, 0.9, 0.03]), (0.0, 20.0)
    solve = lambda start, **options: integrate.solve(prey, span, start, args=(rates,), **options)
    solve({"hare": 34.0, "lynx": 5.9}, dense=True).plot(axes[0])
    axes[0].set_title("a path")
    axes[0].set_ylim(0.0, 88.0)
    axes[0].legend(loc="upper center", ncols=2, frameon=False)
    for hares in (34.0, 50.0, 70.0, 95.0):
        solve({"hare": hares, "lynx": 15.0}, dense=True).phase(0, 1, axes[1])
    axes[1].set_title("the plane of states")
    exact = solve({"hare": 34.0, "lynx": 5.9}, method="verner9", rtol=1e-13, atol=1e-13).last
    for method, mark in MARKS.items():
        runs = [solve({"hare": 34.0, "lynx": 5.9}, method=method, rtol=r, atol=r) for r in 10.0 ** -np.arange(3, 12)]
        errors = [max(abs(run.last[k] - exact[k]) / abs(exact[k]) for k in exact) for run in runs]
        axes[2].loglog([int(run.evaluations) for run in runs], errors, marker=mark, markersize=4, label=method)
    axes[2].set_title("work and precision")
    axes[2].set_xlabel("evaluations of f")
    axes[2].set_ylabel("relative error at the end")
    axes[2].legend(fontsize=8)


def draw_stability(axes: Any) -> None:
    """Where a step of y′ = λ y does not grow."""
    real, imaginary = np.meshgrid(np.linspace(-8.0, 8.0, 240), np.linspace(-6.0, 6.0, 180))
    z = real + 1j * imaginary
    for panel, methods in zip(axes[:2], (RUNGE_KUTTA, IMPLICIT), strict=True):
        for k, name in enumerate(methods):
            size = np.abs(integrate.stability_function(name)(z))
            panel.contour(real, imaginary, size, levels=[1.0], colors=[f"C{k}"])
            panel.plot([], [], color=f"C{k}", label=name)
        panel.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
        panel.axvline(0.0, color="0.8", linewidth=0.8, zorder=0)
        panel.set_xlabel("Re hλ")
        panel.set_ylabel("Im hλ")
        panel.set_aspect("equal")
        panel.legend(fontsize=8, loc="upper right")
    axes[0].set_title("explicit: stable inside")
    axes[1].set_title("implicit: stable outside, on the left")
    draw_stiff_work(axes[2])


def robertson(t: Any, y: Any) -> Any:
    """Three substances whose reactions take microseconds and days."""
    a, b, c = y
    return np.stack([-0.04 * a + 1e4 * b * c, 0.04 * a - 1e4 * b * c - 3e7 * b**2, 3e7 * b**2])


def draw_stiff_work(panel: Any) -> None:
    """The time that digits take on a stiff equation."""
    start, sizes = np.array([1.0, 0.0, 0.0]), np.array([1e-3, 1e-7, 1e-3])
    solve = lambda method, tol: integrate.solve(robertson, (0.0, 1e5), start, method=method, rtol=tol, atol=tol * sizes)
    exact = solve("radau", 1e-13).last
    for method, mark in STIFF.items():
        run = ad.jit(lambda tol, method=method: solve(method, tol).last)
        tolerances = 10.0 ** -np.arange(3, 11)
        errors = [np.max(np.abs(run(tol) / exact - 1)) for tol in tolerances]
        times = [1e3 * min(_seconds(partial(run, tol)) for _ in range(20)) for tol in tolerances]
        panel.loglog(times, errors, marker=mark, markersize=4, label=method)
    panel.set_title("Robertson's equations to t = 10⁵")
    panel.set_xlabel("milliseconds of a compiled call")
    panel.set_ylabel("relative error at the end")
    panel.legend(fontsize=8)


def _seconds(run: Any) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def draw_adjoints(axes: Any) -> None:
    """Gradients by all adjoints at one tolerance, and how they come nearer at smaller ones."""
    rates, span, start = np.array([0.5, 0.02, 0.9, 0.03]), (0.0, 20.0), {"hare": 34.0, "lynx": 5.9}
    compare = lambda tol: integrate.compare_adjoints(
        prey, span, start, args=(rates,), method="tsit5", rtol=tol, atol=tol, adjoints=ADJOINTS
    )
    tolerances = [1e-4, 1e-6, 1e-8]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the drift of backsolve, which is what is shown
        found = [compare(tol) for tol in tolerances]
    found[1].plot(axes[0])
    axes[0].set_title("gradients at rtol = 1e-6")
    for name, mark in zip(ADJOINTS, "os^Dvx", strict=True):
        axes[1].loglog(tolerances, [row[name].from_continuous for row in found], marker=mark, markersize=5, label=name)
    axes[1].invert_xaxis()
    axes[1].set_title("and at others")
    axes[1].set_xlabel("rtol = atol")
    axes[1].set_xticks(tolerances)
    axes[1].minorticks_off()
    axes[1].legend(fontsize=8)


def draw_descent(axes: Any) -> None:
    """Three methods in one valley."""
    f = lambda x: (1 - x[0]) ** 2 + 20 * (x[1] - x[0] ** 2) ** 2
    methods = {
        "gradient descent": optimize.GradientDescent(),
        "BFGS": "bfgs",
        "trust region": "trust-exact",
    }
    for panel, (title, method) in zip(axes, methods.items(), strict=True):
        seen: list[Any] = []
        start = np.array([-1.2, 1.0])
        found = optimize.minimize(f, start, method=method, callback=seen.append, max_iterations=400)
        window = ((-1.6, 1.6), (-0.6, 1.8))
        optimize.contours(f, found, path=seen, window=window, axes=panel)
        panel.set_title(f"{title}: {int(found.iterations)} iterations")


def main() -> None:
    """All of them."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    for name, draw, columns, size in (
        ("differential_equations.png", draw_paths, 3, (10.5, 3.4)),
        ("stability.png", draw_stability, 3, (12.0, 3.6)),
        ("adjoints.png", draw_adjoints, 2, (9.5, 3.8)),
        ("optimization.png", draw_descent, 3, (10.5, 3.2)),
    ):
        figure, axes = plt.subplots(1, columns, figsize=size, layout="constrained")
        draw(axes)
        figure.savefig(PICTURES / name, dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    main()

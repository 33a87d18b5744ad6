"""Draws docs/pictures/least_squares.png and docs/pictures/implicit.png.

Run it from anywhere: `python tools/implicit_picture.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import implicit, optimize

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"


def errors(figure: Any) -> None:
    """A robust fit beside a plain one, with errors of the curve; and what each datum does."""
    t = np.linspace(0.0, 4.0, 17)
    noise = 0.07 * np.random.default_rng(2).normal(size=17)
    model = lambda t, p: p["a"] * np.exp(-p["k"] * t)
    y = model(t, {"a": 3.0, "k": 1.0}) + noise
    y[8] += 1.4
    plain = optimize.curve_fit(model, t, y, {"a": 1.0, "k": 1.0})
    robust = optimize.curve_fit(model, t, y, {"a": 1.0, "k": 1.0}, loss="cauchy", loss_scale=0.1)
    at = np.linspace(-0.2, 4.2, 90)
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    for found, name, color in ((plain, "squares", "C3"), (robust, "Cauchy's loss", "C0")):
        curve = found.propagate(lambda p: model(at, p))
        left.fill_between(
            at, curve.value - 2 * curve.error, curve.value + 2 * curve.error, color=color, alpha=0.2, lw=0
        )
        left.plot(at, curve.value, color=color, label=name)
    left.plot(t, y, "k.", ms=5)
    left.set(title="a fit, twice its error, and an outlier", xlabel="t")
    left.legend(frameon=False)
    right.axhline(0.0, color="0.7", lw=1)
    right.vlines(t, 0.0, plain.influence()["k"], color="C3", lw=3)
    right.set(title="∂k / ∂ datum", xlabel="t")


def trust(figure: Any) -> None:
    """Where an active set changes, and how an inner tolerance becomes an error of the derivative."""
    left, right = figure.subplots(1, 2)
    rules = implicit.Constraints(bounds=(0.0, None))
    f = lambda x, a: 0.5 * (x - a) ** 2 + 0.25 * x**4
    roots = lambda a: optimize.root_scalar(lambda x: x - a + x**3, bracket=(-3.0, 3.0)).value
    solver = lambda a: np.maximum(roots(a), 0.0)
    sharp = implicit.argmin(f, solver, subject_to=rules, check="ignore")
    a = np.linspace(-1.0, 1.5, 121)
    left.plot(a, ad.vmap(sharp)(a), color="k", label="x(a) = argmin over x ≥ 0")
    left.plot(a, ad.vmap(ad.grad(sharp))(a), color="C0", label="its derivative")
    for tau, shade in ((1e-2, 0.45), (1e-1, 0.75)):
        soft = implicit.argmin(f, solver, subject_to=rules, smoothing=tau, check="ignore")
        left.plot(a, ad.vmap(ad.grad(soft))(a), color="C1", alpha=shade, lw=1, label=f"smoothing {tau:g}")
    left.set(xlabel="a", title="a bound that lets go")
    left.legend(frameon=False, fontsize=7)

    tolerances = 10.0 ** -np.arange(1.0, 9.0)
    predicted, true = [], []
    for tolerance in tolerances:
        loose = implicit.root(lambda x, a: x**3 + x - a, lambda a, t=tolerance: roots_of(a) * (1 + t), check="ignore")
        exact = 1 / (3 * roots_of(4.0) ** 2 + 1)
        predicted.append(implicit.report(loose)(4.0).predicted_error)
        true.append(abs(ad.grad(loose)(4.0) - exact) / exact)
    right.loglog(tolerances, true, "ko", ms=4, label="true")
    right.loglog(tolerances, predicted, "-", color="C1", label="predicted by the report")
    right.set(xlabel="error of the solver", title="error of the derivative")
    right.legend(frameon=False)


def roots_of(a: Any) -> Any:
    """The root of x³ + x = a, in closed form."""
    half = np.sqrt(a * a / 4 + 1 / 27)
    return np.cbrt(a / 2 + half) + np.cbrt(a / 2 - half)


DRAWN = {"least_squares.png": errors, "implicit.png": trust}


def main() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    for name, drawing in DRAWN.items():
        figure = plt.figure(figsize=(7.6, 3.4), layout="constrained")
        drawing(figure)
        figure.savefig(PICTURES / name, dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main()

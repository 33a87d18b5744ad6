"""Draws the pictures of docs/examples/index.md: one of each program in examples/, at a small size.

Run it from anywhere: `python tools/gallery_picture.py`.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ad

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"


def example(name: str) -> dict[str, Any]:
    """What a program of examples/ defines."""
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))


def swing_up(figure: Any) -> None:
    torque, angle = example("pendulum_swing_up")["swing_up"]()
    ax = figure.add_subplot(xlabel="time", title="torque found by gradients")
    time = 0.05 * np.arange(len(angle))
    ax.axhline(np.pi, color="0.7", lw=1, ls="--")
    ax.plot(time, angle, label="angle")
    ax.plot(time, torque, label="torque")
    ax.legend(frameon=False)


def gaussian_process(figure: Any) -> None:
    program = example("gaussian_process")
    x, y = program["observations"](25)
    at = np.linspace(-0.5, 7.0, 120)
    mean, deviation = program["predict"](at, x, y, program["fit"](x, y))
    ax = figure.add_subplot(title="a Gaussian process, fitted")
    ax.fill_between(at, mean - 2 * deviation, mean + 2 * deviation, color="C0", alpha=0.2, lw=0)
    ax.plot(at, mean)
    ax.plot(x, y, "k.", ms=4)


def hanging_net(figure: Any) -> None:
    net, _ = example("hanging_net")["hang"](12)
    ax = figure.add_subplot(projection="3d", title="a net at rest, by Newton and cg")
    ax.plot_wireframe(*np.moveaxis(net, -1, 0), linewidth=0.8)
    ax.view_init(18, -60)
    ax.set(xticks=[], yticks=[], zticks=[])


def reaction_diffusion(figure: Any) -> None:
    program = example("reaction_diffusion")
    jacobian = ad.sparse.jacobian(program["defect"], with_value=True)
    state = program["start"](24)
    axes = figure.subplots(1, 2)
    for ax, title in zip(axes, ("start", "after ten implicit steps"), strict=True):
        ax.imshow(state[0], cmap="viridis", interpolation="bilinear")
        ax.set(xticks=[], yticks=[], title=title)
        for _ in range(10 if title == "start" else 0):
            state, _ = program["stepped"](state, 0.002, jacobian)


def bundle_adjustment(figure: Any) -> None:
    program = example("bundle_adjustment")
    start, data, (_, truth) = program["problem"](5, 80, 400)
    start = (start[0], start[1] + 0.05 * np.random.default_rng(2).normal(size=truth.shape), start[2])
    (_, points), costs = program["adjusted"](start, data, 6)
    ax = figure.add_subplot(title=f"squared error {costs[0]:.3g} → {costs[-1]:.3g}")
    ax.plot(*np.stack([start[1][:, :2], points[:, :2]], axis=-1).transpose(1, 2, 0), color="0.75", lw=0.8)
    ax.plot(*start[1][:, :2].T, ".", color="C1", ms=4, label="guess")
    ax.plot(*points[:, :2].T, ".", color="C0", ms=4, label="adjusted")
    ax.set(xticks=[], yticks=[])
    ax.legend(frameon=False)


def hyper_cleaning(figure: Any) -> None:
    program = example("hyper_cleaning")
    weights, is_wrong = program["learned"](400, 15)
    ax = figure.add_subplot(xlabel="learned weight", ylabel="images", title="labels that are wrong lose their weight")
    bins = np.linspace(0.0, 1.0, 30)
    ax.hist([weights[~is_wrong], weights[is_wrong]], bins, stacked=True, label=["right label", "wrong label"])
    ax.legend(frameon=False)


def reference_fit(figure: Any) -> None:
    program = example("reference_fit")
    found, model = program["fit"](), program["model"]
    at = np.linspace(0.0, 11.0, 80)
    curve = found.propagate(lambda p: model(at, p))
    left, right = figure.subplots(1, 2, width_ratios=(2, 1))
    left.fill_between(at, curve.value - curve.error, curve.value + curve.error, color="C0", alpha=0.2, lw=0)
    left.plot(at, curve.value)
    left.plot(program["DAYS"], program["DEMAND"], "k.", ms=5)
    left.set(xlabel="days", title="a fit and its error")
    right.bar(range(6), found.influence()["rate"], color="C1")
    right.set(xticks=[], xlabel="datum", title="∂ rate / ∂ y")


def coefficient_field(figure: Any) -> None:
    true, data, _, found = example("coefficient_field")["recover"](32, 150)
    figure.set_size_inches(4.8, 2.4)
    panels = figure.subplots(1, 3)
    for ax, field, title in zip(panels, (data, true, found.value), ("data", "true", "found"), strict=True):
        same = {"cmap": "viridis"} if title == "data" else {"cmap": "RdBu", "vmin": -1.0, "vmax": 1.0}
        shown = ax.imshow(field.T, origin="lower", interpolation="bilinear", **same)
        ax.set(xticks=[], yticks=[], title=title)
        if title != "true":
            figure.colorbar(shown, ax=ax if title == "data" else panels[1:], location="bottom", fraction=0.08)


def language_model(figure: Any) -> None:
    run = example("language_model")["train"](6.0, tuple(np.linspace(0.0, 1.0, 9)))
    seconds, _, bits, _ = zip(*run.history, strict=True)
    ax = figure.add_subplot(xlabel="seconds of processor time", ylabel="bits per byte", title="a model of help pages")
    ax.plot(seconds, bits, "o-", ms=3)
    words = lambda text: "".join(c if c.isprintable() else " " for c in text.decode("utf-8", "replace"))[:34]
    for (at, _, value, text), dy in zip((run.history[3], run.history[-1]), (1.4, 0.7), strict=True):
        ax.annotate(f"“{words(text)}…”", (at, value), (at, value + dy), ha="right" if at > 4 else "left", fontsize=7,
                    arrowprops={"arrowstyle": "-", "color": "0.6"})  # fmt: skip
    ax.set(ylim=(0, None))


def digits(figure: Any) -> None:
    program = example("digits")
    judged = program["judge"](program["train"](40).model)
    shown = np.argsort(-np.sum(judged.sets, axis=1))[:8]
    figure.suptitle("which digits it may have seen", fontsize=11)
    for ax, k in zip(figure.subplots(2, 4).flat, shown, strict=True):
        ax.imshow(judged.x[k].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        ax.set_title(", ".join(map(str, np.flatnonzero(judged.sets[k]))), fontsize=10)


def lasso_path(figure: Any) -> None:
    penalties, w, rates = example("lasso_path")["path"](60)
    ax = figure.add_subplot(xlabel="penalty λ", title="a lasso path and its tangents", xscale="log")
    ax.plot(penalties, w, lw=1)
    for k in range(6, 60, 9):
        near = penalties[k] * np.array([0.85, 1.15])
        ax.plot(near, w[k] + (near - penalties[k])[:, None] * rates[k], color="0.2", lw=2, alpha=0.5)


def model_predictive_control(figure: Any) -> None:
    program = example("model_predictive_control")
    start = np.array([2.0, 0.0])
    ax = figure.add_subplot(xlabel="time", title="a cart that stops at its mark, within limits")
    for weights, style in ((np.zeros(2), "-"), (np.array([0.7, -0.3]), "--")):
        states, forces, _ = ad.jit(lambda w: program["drive"](w, start, 40))(weights)
        time = program["STEP"] * np.arange(40)
        for curve, color, name in (
            (states[:, 0], "C0", "position"),
            (states[:, 1], "C1", "speed"),
            (forces, "C2", "force"),
        ):
            ax.plot(time, curve, style, color=color, label=name if style == "-" else None)
    for limit in (-program["SPEED"], program["FORCE"]):
        ax.axhline(limit, color="0.7", lw=1, ls=":")
    ax.legend(frameon=False)


def portfolio(figure: Any) -> None:
    risk, gain, prices = example("portfolio")["frontier"](80)
    left, right = figure.subplots(1, 2)
    left.plot(risk, gain)
    left.set(xlabel="risk", ylabel="return", title="portfolios")
    right.plot(risk, prices, label=[f"sector {k}" for k in range(prices.shape[1])])
    right.set(xlabel="risk", title="prices of limits")
    right.legend(frameon=False)


def predator_and_prey(figure: Any) -> None:
    program = example("predator_and_prey")
    found, years = program["fit"](), np.linspace(1900.0, 1920.0, 200)
    curves = found.propagate(lambda p: program["paths"](years, p))
    ax = figure.add_subplot(ylabel="pelts, thousands", title="hares and lynxes of Hudson Bay")
    for k, (name, pelts) in enumerate((("hare", program["HARE"]), ("lynx", program["LYNX"]))):
        low, high = (np.exp(curves.value[k] + s * curves.error[k]) for s in (-1, 1))
        ax.fill_between(years, low, high, color=f"C{k}", alpha=0.2, lw=0)
        ax.plot(years, np.exp(curves.value[k]), color=f"C{k}", label=name)
        ax.plot(program["YEARS"], pelts, ".", color=f"C{k}", ms=6)
    ax.set(xticks=[1900, 1905, 1910, 1915, 1920])
    ax.legend(frameon=False)


def bouncing_ball(figure: Any) -> None:
    program = example("bouncing_ball")
    aimed = program["aim"](np.array([0.6, 2.5]))
    ax = figure.add_subplot(xlabel="meters", title="throws of a Newton iteration")
    ax.axhline(0.0, color="0.5", lw=1)
    for k, velocity in enumerate((program["FIRST"], *aimed[:2], aimed[-1])):
        last = float(program["arrival"](velocity)[1])
        y = program["throw"](velocity, save=np.linspace(0.0, 10.0, 2001)).values
        shown = y[: int(last * 200) + 1]
        ax.plot(*shown[:, :2].T, color="C0" if k == 3 else "0.7", lw=1.8 if k == 3 else 1, zorder=3 if k == 3 else 2)
        ax.plot(*shown[-1, :2], "o", color="C0" if k == 3 else "0.7", ms=4)
    ax.plot([8.0, 8.0], [0.5, 0.7], color="C1", lw=4, alpha=0.6)
    ax.annotate(
        "the ring, at 2.5 s", (7.9, 0.75), (5.6, 2.2), fontsize=8, arrowprops={"arrowstyle": "-", "color": "0.6"}
    )


def neural_equation(figure: Any) -> None:
    program = example("neural_equation")
    model, start, paths = program["train"](400)
    times = np.linspace(0.0, 12.0, 300)
    ax = figure.add_subplot(xlabel="angle", ylabel="speed", title="a pendulum, learned from points")
    ax.plot(paths[..., 0].ravel(), paths[..., 1].ravel(), ".", color="0.6", ms=2.5)
    y = program["run"](model, start, times).values
    for k in range(len(start)):
        ax.plot(*y[:, k].T, lw=0.9, color="C0", alpha=0.7)
    grid = np.stack(np.meshgrid(np.linspace(-2.6, 2.6, 14), np.linspace(-2.2, 2.2, 12)), axis=-1)
    ax.quiver(*np.moveaxis(grid, -1, 0), *np.moveaxis(model(grid), -1, 0), color="C1", alpha=0.5, width=0.004)


def dosing(figure: Any) -> None:
    program = example("dosing")
    times = np.linspace(0.0, program["HOURS"], 481)
    ax = figure.add_subplot(xlabel="hours", ylabel="mg / l", title="infusions planned by their gradient", ylim=(0, 26))
    ax.axhspan(10, 20, color="C2", alpha=0.12, lw=0)
    usual = {"amounts": program["AMOUNTS"], "times": program["TIMES"]}
    for name, plan, color in (("usual", usual, "0.5"), ("planned", program["plan_doses"](100), "C0")):
        level = program["course"](**plan, save=times).values[:, 0] / program["VOLUME"]
        ax.plot(times, level, color=color, label=name)
        for at, amount in zip(plan["times"], plan["amounts"], strict=True):
            ax.bar(at, amount / 200, 1.5, align="edge", color=color, alpha=0.5)
    ax.legend(frameon=False, loc="upper right")


def two_moons(figure: Any) -> None:
    program = example("two_moons")
    model = program["train"](800)
    x = np.linspace(-2.6, 2.6, 90)
    grid = np.stack(np.meshgrid(x, x), axis=-1)
    density = np.exp(ad.jit(program["log_density"])(model, grid.reshape(-1, 2))).reshape(90, 90)
    z = np.random.default_rng(3).normal(size=(40, 2))
    paths = program["integrate"].solve(
        lambda t, y, model: ad.vmap(lambda y: program["pushed"](t, y, model))(y), (0.0, 1.0), z, args=(model,),
        save=np.linspace(0.0, 1.0, 40),
    ).values  # fmt: skip
    left, right = figure.subplots(1, 2)
    left.plot(*program["moons"](np.random.default_rng(5), 500).T, ".", ms=2, color="0.5")
    left.plot(*np.moveaxis(paths, -1, 0), color="C0", lw=0.7, alpha=0.7)
    left.plot(*paths[-1].T, ".", color="C0", ms=5)
    right.pcolormesh(x, x, density, cmap="viridis", rasterized=True)
    for ax, title in ((left, "a Gaussian flows there"), (right, "the density")):
        ax.set(xlim=(-2.6, 2.6), ylim=(-2.6, 2.6), xticks=[], yticks=[], title=title, aspect="equal")


DRAWN = {
    "gallery_pendulum_swing_up.png": swing_up,
    "gallery_gaussian_process.png": gaussian_process,
    "gallery_hanging_net.png": hanging_net,
    "gallery_reaction_diffusion.png": reaction_diffusion,
    "gallery_bundle_adjustment.png": bundle_adjustment,
    "gallery_hyper_cleaning.png": hyper_cleaning,
    "gallery_reference_fit.png": reference_fit,
    "gallery_coefficient_field.png": coefficient_field,
    "gallery_digits.png": digits,
    "gallery_language_model.png": language_model,
    "gallery_lasso_path.png": lasso_path,
    "gallery_model_predictive_control.png": model_predictive_control,
    "gallery_portfolio.png": portfolio,
    "gallery_predator_and_prey.png": predator_and_prey,
    "gallery_bouncing_ball.png": bouncing_ball,
    "gallery_neural_equation.png": neural_equation,
    "gallery_dosing.png": dosing,
    "gallery_two_moons.png": two_moons,
}


def draw() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    PICTURES.mkdir(exist_ok=True)
    for name, drawing in DRAWN.items():
        figure = plt.figure(figsize=(4.8, 3.2), layout="constrained")
        drawing(figure)
        figure.savefig(PICTURES / name, dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    draw()

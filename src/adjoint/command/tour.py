"""The tour: derivatives, a Hessian, a loop, a model and its gradients one by one, in the terminal and in one picture.

All that is differentiated here is plain NumPy and plain Python; every number is checked against another way to it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from adjoint.api.gradients import grad, value_and_grad, vmap
from adjoint.api.jacobians import hessian
from adjoint.api.taylor import jet
from adjoint.base.progress import progress
from adjoint.command.stage import Stage

# ------------------------------------------------------------------------------------------ 1. gradients


def curve(x: Any) -> Any:
    c = x**2 + np.exp(x**2)
    return np.sqrt(c) + np.cos(c)


def show_gradients(stage: Stage, x: float = 1.0, orders: int = 4) -> None:
    """Four derivatives of a curve, by two ways."""
    stage.heading("Derivatives of plain NumPy code")
    stage.code("""
def f(x):
    c = x**2 + np.exp(x**2)
    return np.sqrt(c) + np.cos(c)

ad.grad(f)(1.0)
""")
    value, taylor = jet(curve, (x,), ((1.0,) + (0.0,) * (orders - 1),))
    shown = stage.table("derivative at 1", "grad, nested", "jet, one pass", "difference")
    shown.add_row("f", f"{curve(x):.12f}", f"{value:.12f}", f"{abs(value - curve(x)):.0e}")
    derivative, worst = curve, 0.0
    for order, by_jet in enumerate(taylor, 1):
        derivative = grad(derivative)
        nested = derivative(x)
        worst = max(worst, abs(nested - by_jet) / abs(nested))
        shown.add_row("f" + "′" * order, f"{nested:.12f}", f"{by_jet:.12f}", f"{abs(nested - by_jet):.0e}")
    stage.print(shown)
    by_complex_step = curve(x + 1e-30j).imag / 1e-30
    stage.verdict("reverse mode against the complex step, f′", abs(grad(curve)(x) - by_complex_step), 1e-12)
    stage.verdict("reverse mode, nested, against Taylor mode, relative", worst, 1e-10)


# ------------------------------------------------------------------------------------------ 2. a Hessian


def tumor_data() -> tuple[Any, Any]:
    """Features with a column of ones, and labels."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    data: Any = load_breast_cancer()
    features = StandardScaler().fit_transform(data.data)
    return np.column_stack([features, np.ones(len(features))]), data.target


def show_hessian(stage: Stage) -> None:
    """Newton's method with the exact Hessian, and error bars from it."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression

    stage.heading("A Hessian: Newton's method on 569 tumors")
    stage.code("""
def loss(w):                                           # logistic regression
    return np.sum(np.logaddexp(0.0, -signs * (features @ w))) + np.sum(w[:-1]**2) / 2

w = w - np.linalg.solve(ad.hessian(loss)(w), ad.grad(loss)(w))
""")
    features, target = tumor_data()
    signs = 2.0 * target - 1.0

    def loss(w: Any) -> Any:
        return np.sum(np.logaddexp(0.0, -signs * (features @ w))) + np.sum(w[:-1] ** 2) / 2

    value_and_gradient, curvature = value_and_grad(loss), hessian(loss)
    shown = stage.table("step", "loss", "|gradient|", "accuracy")
    w = np.zeros(features.shape[1])
    for step in range(12):
        value, g = value_and_gradient(w)
        accuracy = np.mean((features @ w > 0) == target)
        shown.add_row(str(step), f"{value:.9f}", f"{np.linalg.norm(g):.1e}", f"{accuracy:.1%}")
        if np.linalg.norm(g) < 1e-10:
            break
        w = w - np.linalg.solve(curvature(w), g)
    stage.print(shown)
    reference = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(features[:, :-1], target)
    theirs = np.append(reference.coef_, reference.intercept_)
    stage.verdict(
        "31 coefficients against scikit-learn's own solver, largest difference", np.max(np.abs(w - theirs)), 1e-3
    )
    deviation = np.sqrt(np.diag(np.linalg.inv(curvature(w))))
    data: Any = load_breast_cancer()
    names = data.feature_names
    strongest = np.argsort(-np.abs(w[:-1] / deviation[:-1]))[:2]
    listed = ", ".join(f"{names[k]} {w[k]:+.2f} ± {deviation[k]:.2f}" for k in strongest)
    stage.print(f"  Error bars from the inverse Hessian: {listed}")


# ------------------------------------------------------------------------------------------ 3. a while loop


def eccentric_anomaly(e: Any, M: Any) -> Any:
    """E with E - e sin E = M, by Newton's method: as many steps as it takes."""
    E = M + e * np.sin(M)
    step = 1.0
    while abs(step) > 1e-13:
        step = (E - e * np.sin(E) - M) / (1.0 - e * np.cos(E))
        E = E - step
    return E


def show_loop(stage: Stage, M: float = 1.0) -> None:
    """A loop with as many turns as it takes, differentiated."""
    stage.heading("A while loop: Kepler's equation")
    stage.code("""
def eccentric_anomaly(e, M):                           # E - e sin E = M
    E, step = M + e * np.sin(M), 1.0
    while abs(step) > 1e-13:
        step = (E - e * np.sin(E) - M) / (1.0 - e * np.cos(E))
        E = E - step
    return E

ad.grad(eccentric_anomaly, argnums=(0, 1))(e, M)
""")
    shown = stage.table("orbit", "e", "E", "∂E/∂e (loop)", "(by hand)", "∂E/∂M (loop)", "(by hand)")
    worst = 0.0
    for orbit, e in {"Earth": 0.0167, "Mercury": 0.2056, "Pluto": 0.2488, "Halley": 0.9671}.items():
        E, partials = value_and_grad(eccentric_anomaly, argnums=(0, 1))(e, M)
        known = np.sin(E) / (1.0 - e * np.cos(E)), 1.0 / (1.0 - e * np.cos(E))
        worst = max(worst, *(abs(a - b) for a, b in zip(partials, known, strict=True)))
        columns = [E, partials[0], known[0], partials[1], known[1]]
        shown.add_row(orbit, f"{e:.4f}", *(f"{number:.10f}" for number in columns))
    stage.print(shown)
    stage.verdict("the loop differentiated against the implicit function theorem", worst, 1e-10)


# ------------------------------------------------------------------------------------------ 4. a model


def scores(params: Any, images: Any) -> Any:
    """Two layers."""
    hidden = np.tanh(images @ params["W"] + params["b"])
    return hidden @ params["V"] + params["c"]


def cross_entropy(params: Any, images: Any, labels: Any) -> Any:
    """The mean loss of the labels."""
    z = scores(params, images)
    z = z - np.max(z, axis=-1, keepdims=True)
    log_total = np.log(np.sum(np.exp(z), axis=-1))
    return np.mean(log_total - np.take_along_axis(z, labels[..., None], axis=-1)[..., 0])


def initial(rng: np.random.Generator, inputs: int, hidden: int, classes: int) -> dict[str, Any]:
    """Random weights."""
    return {
        "W": rng.normal(0.0, inputs**-0.5, (inputs, hidden)),
        "b": np.zeros(hidden),
        "V": rng.normal(0.0, hidden**-0.5, (hidden, classes)),
        "c": np.zeros(classes),
    }


def adam(
    params: dict[str, Any],
    gradients: dict[str, Any],
    state: dict[str, Any],
    step: int,
    rate: float = 3e-3,
    decay: tuple[float, float] = (0.9, 0.999),
) -> None:
    """One step of Adam; the state holds the running means of each slope and of its square."""
    for name, gradient in gradients.items():
        mean, square = state[name]
        mean = decay[0] * mean + (1 - decay[0]) * gradient
        square = decay[1] * square + (1 - decay[1]) * gradient**2
        state[name] = mean, square
        unbiased = mean / (1 - decay[0] ** step), square / (1 - decay[1] ** step)
        params[name] = params[name] - rate * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)


def digits() -> list[Any]:
    """Images and labels to learn from, and others to be judged by."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    data: Any = load_digits()
    return train_test_split(data.data / 16.0, data.target, test_size=0.2, random_state=0, stratify=data.target)


def fit(
    train: Any, test: Any, train_labels: Any, test_labels: Any, epochs: int = 60, batch: int = 64
) -> tuple[Any, ...]:
    """Weights, losses and accuracies by epoch, and the number of steps."""
    rng = np.random.default_rng(0)
    params = initial(rng, train.shape[1], 64, 10)
    state = {name: (np.zeros_like(p), np.zeros_like(p)) for name, p in params.items()}
    loss_and_gradients = value_and_grad(cross_entropy)
    losses, accuracies, step = [], [], 0
    for _ in progress(range(epochs), "Fitting 4,810 weights"):
        order, total = rng.permutation(len(train)), 0.0
        for start in range(0, len(train), batch):
            chosen = order[start : start + batch]
            loss, gradients = loss_and_gradients(params, train[chosen], train_labels[chosen])
            step += 1
            adam(params, gradients, state, step)
            total += loss * len(chosen)
        losses.append(total / len(train))
        accuracies.append(np.mean(scores(params, test).argmax(-1) == test_labels))
    return params, losses, accuracies, step


def show_model(stage: Stage, train: Any, test: Any, train_labels: Any, test_labels: Any) -> tuple[Any, Any, Any]:
    """Fit a network to handwritten digits."""
    stage.heading("A model: 1,437 handwritten digits, two layers, Adam")
    stage.code("""
def scores(params, images):
    hidden = np.tanh(images @ params["W"] + params["b"])
    return hidden @ params["V"] + params["c"]

loss, slopes = ad.value_and_grad(cross_entropy)(params, images, labels)
""")
    start = time.perf_counter()
    params, losses, accuracies, steps = fit(train, test, train_labels, test_labels)
    seconds = time.perf_counter() - start
    shown = stage.table("epoch", "accuracy on unseen digits", "training loss", "")
    for epoch in [0, 1, 2, 4, 9, 19, 39, len(losses) - 1]:
        bar = "[cyan]" + "█" * round(30 * losses[epoch] / losses[0]) + "▏[/]"
        shown.add_row(str(epoch + 1), f"{accuracies[epoch]:.1%}", f"{losses[epoch]:.4f}", bar)
    shown.columns[-1].justify = "left"
    stage.print(shown)
    stage.print(f"  {steps:,} steps in {seconds:.1f} s: {1e3 * seconds / steps:.2f} ms each")
    stage.verdict("share of unseen digits that it gets wrong", 1 - accuracies[-1], 0.05)
    return params, losses, accuracies


# ------------------------------------------------------------------------------------------ 5. per example


def show_per_example(stage: Stage, params: Any, test: Any, test_labels: Any) -> Any:
    """The gradient of each example's own loss, all at once."""
    stage.heading("One gradient per example: which digits does the model still argue about?")
    stage.code("""
per_example = ad.vmap(ad.grad(cross_entropy), in_axes=(None, 0, 0))
slopes = per_example(params, images, labels)           # slopes["W"].shape == (360, 64, 64)
""")
    per_example = vmap(grad(cross_entropy), in_axes=(None, 0, 0))
    start = time.perf_counter()
    stacked = per_example(params, test, test_labels)
    together = time.perf_counter() - start
    start = time.perf_counter()
    one_by_one = [grad(cross_entropy)(params, image, label) for image, label in zip(test, test_labels, strict=True)]
    apart = time.perf_counter() - start
    worst = max(np.max(np.abs(stacked[name] - np.stack([g[name] for g in one_by_one]))) for name in params)
    influence = np.sqrt(sum(np.sum(part**2, axis=tuple(range(1, part.ndim))) for part in stacked.values()))
    shown = stage.table("digit", "examples", "median |gradient|", "largest |gradient|")
    for digit in range(10):
        of_this = influence[test_labels == digit]
        shown.add_row(str(digit), str(len(of_this)), f"{np.median(of_this):.4f}", f"{np.max(of_this):.2f}")
    stage.print(shown)
    stage.print(
        f"  {len(test)} gradients: {1e3 * together:.0f} ms in one vmap, {1e3 * apart:.0f} ms one by one",
    )
    stage.verdict("vmap against a loop, largest difference", worst, 1e-12)
    return influence


# ------------------------------------------------------------------------------------------ the picture


def save_picture(
    path: str, params: Any, losses: Any, accuracies: Any, test: Any, test_labels: Any, influence: Any
) -> None:
    """The learning curve, and the digits with the largest and the smallest gradients."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 5.6), layout="constrained")
    parts: Any = figure.subfigures(1, 2, width_ratios=[1.1, 1])
    left, right = parts
    above, below = left.subplots(2, 1, sharex=True)
    epochs = np.arange(1, len(losses) + 1)
    above.semilogy(epochs, losses, color="#0b7285", linewidth=2)
    above.set(ylabel="training loss", title="Fitting handwritten digits")
    below.plot(epochs, accuracies, color="#e8590c", linewidth=2)
    below.set(xlabel="epoch", ylabel="accuracy, unseen", ylim=(0.8, 1.0))
    for axes in (above, below):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)

    guesses = scores(params, test).argmax(-1)
    chosen = np.concatenate([np.argsort(-influence)[:8], np.argsort(influence)[:4]])
    right.suptitle("Largest gradients (two rows), smallest (last row)", fontsize=11)
    for axes, k in zip(right.subplots(3, 4).flat, chosen, strict=True):
        axes.imshow(test[k].reshape(8, 8), cmap="gray_r")
        right_guess = guesses[k] == test_labels[k]
        label = f"{guesses[k]}" if right_guess else f"{guesses[k]}, is {test_labels[k]}"
        axes.set_title(label, color="#2b8a3e" if right_guess else "#c92a2a", fontsize=10)
        axes.set_axis_off()
    figure.savefig(path, dpi=130)
    plt.close(figure)

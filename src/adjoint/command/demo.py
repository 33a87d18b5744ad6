"""`adjoint demo`: an example explained step by step, then the tour."""

from __future__ import annotations

import argparse
import importlib.util
import platform
import sys
import time
from pathlib import Path

import numpy as np

from adjoint.api.gradients import value_and_grad
from adjoint.command import tour
from adjoint.command.expressions import Expression
from adjoint.command.failures import CommandError, Exit
from adjoint.command.stage import Stage
from adjoint.show import explain
from adjoint.testing import complex_step_gradient

HELP = """
Explain the gradient of a small logistic regression step by step; then take a tour: derivatives of any order, a Hessian,
a loop, a model fitted to handwritten digits. Every number is checked against another way to it. Takes half a minute.
The data of the tour come with scikit-learn, the picture is drawn by matplotlib: pip install 'adjoint[learn,plot]'.
"""

# Two examples ((1, 1.5), 0) and ((1.5, -1), 1), y = σ(w·(1, x)), and the sum of squares of c - y.
LECTURE = """
z1 = w0 + w1 + 1.5*w2
z2 = w0 + 1.5*w1 - w2
y1 = expit(z1)
y2 = expit(z2)
e1 = 0 - y1
e2 = 1 - y2
s1 = e1**2
s2 = e2**2
s1 + s2
"""
WEIGHTS = (-1.0, 1.5, 0.5)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `adjoint demo`."""
    parser.add_argument("--picture", metavar="FILE", default="tour.png", help="where to draw (default: tour.png)")
    parser.add_argument("--short", action="store_true", help="only the example, not the tour")


def run(options: argparse.Namespace) -> Exit:
    """The example, then the chapters for which there are data."""
    if not Path(options.picture).resolve().parent.is_dir():
        raise CommandError(f"There is no folder {Path(options.picture).parent} for {options.picture}.")
    start = time.perf_counter()
    stage = Stage()
    ours = sys.modules["adjoint"].__version__
    stage.panel(
        "[bold]adjoint[/]: derivatives of the NumPy code you already have\n"
        f"[dim]version {ours}, NumPy {np.__version__}, Python {platform.python_version()}[/]"
    )
    show_example(stage)
    if options.short:
        return Exit.WELL
    missing = show_tour(stage, options.picture)
    stage.console.print()
    summary = f"All {stage.checks} checks passed in [bold]{time.perf_counter() - start:.1f} s[/]."
    if missing:
        stage.panel(
            f"{summary} Left out for want of {missing}:\n[bold]pip install 'adjoint\\[learn,plot]'[/]", "yellow"
        )
    else:
        stage.panel(f"{summary} The learning curve and the hardest digits: [bold]{options.picture}[/]", "green")
    return Exit.NO if missing else Exit.WELL


def show_example(stage: Stage) -> None:
    """The lecture's table: forward primal trace and reverse adjoint trace of a loss."""
    stage.heading("A gradient, step by step: logistic regression on two examples")
    body = LECTURE.replace("s1 + s2", "return s1 + s2").replace("\n", "\n    ").rstrip()
    stage.code(f"def loss(w0, w1, w2):{body}")
    stage.code("print(ad.explain(loss, detail='statements')(-1.0, 1.5, 0.5))")
    loss = Expression.parse(LECTURE, ["w0", "w1", "w2"])
    loss.function.__name__ = "loss"  # as it is called in the code above
    explanation = explain(loss.function, detail="statements")(*WEIGHTS)
    stage.console.print(str(explanation), markup=False)
    stage.console.print()
    _, gradient = value_and_grad(loss.function, argnums=(0, 1, 2))(*WEIGHTS)
    x, c = np.array([[1.0, 1.0, 1.5], [1.0, 1.5, -1.0]]), np.array([0.0, 1.0])
    known = complex_step_gradient(lambda w: np.sum((c - 1 / (1 + np.exp(-x @ w))) ** 2), np.array(WEIGHTS))
    stage.verdict("the gradient against the complex step", float(np.max(np.abs(np.array(gradient) - known))), 1e-14)


def show_tour(stage: Stage, picture: str) -> str:
    """All chapters; returns what is missing for some of them."""
    missing = [name for module, name in _PACKAGES.items() if importlib.util.find_spec(module) is None]
    tour.show_gradients(stage)
    if "scikit-learn" in missing:
        tour.show_loop(stage)
        return " and ".join(missing)
    tour.show_hessian(stage)
    tour.show_loop(stage)
    train, test, train_labels, test_labels = tour.digits()
    params, losses, accuracies = tour.show_model(stage, train, test, train_labels, test_labels)
    influence = tour.show_per_example(stage, params, test, test_labels)
    if not missing:
        tour.save_picture(picture, params, losses, accuracies, test, test_labels, influence)
    return " and ".join(missing)


_PACKAGES = {"sklearn": "scikit-learn", "matplotlib": "matplotlib"}

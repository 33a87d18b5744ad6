"""Draws docs/pictures/certificates.png: the error of gradient descent, and the bounds that theory gives.

Run it from anywhere: `python tools/certificates_picture.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from adjoint import optimize
from adjoint.optimize import certificates

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "certificates.png"


def main() -> None:
    """One run and its bounds."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    h = np.linspace(0.05, 1.0, 20)
    x0 = np.ones(20)
    method = optimize.GradientDescent(step_size=1.0)
    found = optimize.minimize(lambda x: 0.5 * np.sum(h * x * x), x0, method=method, history=True, max_iterations=120)
    kept = certificates.check_bounds(found, 1.0, 0.0, distance=float(np.linalg.norm(x0)), mu=0.05)
    figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
    kept.plot(axes)
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()

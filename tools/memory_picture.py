"""Draws docs/pictures/memory_triangle.png: three schedules for the same chain.

Run it from anywhere: `python tools/memory_picture.py`.
"""

from __future__ import annotations

from pathlib import Path

import adjoint as ad

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "memory_triangle.png"
STEPS = 20
PLANS = {
    "3 slots, the best": ad.memory.Revolve(3),
    "halving": ad.memory.Halving(),
    "20 slots: everything": ad.memory.Revolve(20),
}


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(PLANS), figsize=(11, 4.2), sharey=True, layout="constrained")
    for (title, plan), place in zip(PLANS.items(), axes, strict=True):
        found = ad.memory.schedule(plan, STEPS)
        found.draw(place)
        place.set(title=f"{title}\n{found.calls} calls, {found.peak} slots", xticks=range(0, STEPS + 1, 5))
        if place is not axes[0]:
            place.set_ylabel("")
    axes[0].set_ylim(None, -1)
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()

"""Handwritten digits: a network is trained, stopped, resumed, calibrated, and says which digits it may have seen.

    python examples/digits.py [epochs]

1797 images of 8 x 8 pixels (scikit-learn has them). A network of one hidden layer with dropout learns from 60 % of
them; a tenth says which epoch was best, a tenth calibrates its probabilities, and the rest judges.
"""

from __future__ import annotations

import sys
import tempfile
import time
from typing import Any, NamedTuple

import numpy as np

import adjoint as ad
from adjoint import nn
from adjoint.nn import calibration, conformal
from adjoint.optimize import updates

BATCH, COVERAGE = 64, 0.98


class Judged(NamedTuple):
    """Of the test images: pixels, labels, probabilities before and after calibration, and the sets of digits."""

    x: Any
    y: Any
    raw: Any
    p: Any
    sets: Any
    temperature: float


def digits() -> list[Any]:
    """Images and labels in four parts: to learn from, to choose the epoch, to calibrate, to judge."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    source = ad.data.arrays(x=(images / 16).astype(np.float32), y=labels)
    return list(source.split((0.6, 0.1, 0.1, 0.2), ad.random.default_rng(0), stratify="y"))


def loss(model: Any, batch: Any, rng: Any) -> Any:
    """-log p of the label, one number for each image; dropout where there is a generator."""
    return nn.cross_entropy(model(batch["x"], rng=rng), batch["y"])


def train(epochs: int, **options: Any) -> Any:
    learn, choose, *_ = digits()
    rng = ad.random.default_rng(1)
    model = nn.MLP.init(rng, [64, 256, 10], dropout=0.3, dtype=np.float32)
    steps = epochs * -(-len(learn) // BATCH)
    rule = updates.chain(updates.clip_by_norm(1.0), updates.adamw(updates.cosine(3e-3, steps)))
    return nn.fit(model, loss, learn, rule, epochs=epochs, batch=BATCH, rng=rng, validation=choose, average=0.99,
                  metrics={"accuracy": nn.accuracy}, **options)  # fmt: skip


def judge(model: Any) -> Judged:
    """Probabilities with the temperature that suits images kept aside, and sets that hold the label with a promise."""
    *_, aside, test = (part[:] for part in digits())
    scores = model(aside["x"])
    warmth = calibration.temperature(scores, aside["y"])
    p = warmth(model(test["x"]))
    split = conformal.Split(COVERAGE).calibrate(conformal.scores.lac(warmth(scores), aside["y"]))
    return Judged(test["x"], test["y"], nn.softargmax(model(test["x"])), p, split.sets(conformal.scores.lac(p)),
                  warmth.temperature)  # fmt: skip


def main(epochs: int = 60) -> None:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        half = train(epochs, folder=folder, stop=lambda now: now.epoch == epochs // 2)
        run = train(epochs, folder=folder, resume=True)
    print(f"{half}\n{run}   {time.perf_counter() - began:.1f} s")
    whole = train(epochs)
    pairs = zip(ad.tree.leaves(run.state), ad.tree.leaves(whole.state), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)
    print("✓ stopped and resumed, it is the run that was left alone, to the bit")

    judged = judge(run.model)
    right = np.argmax(judged.p, axis=1) == judged.y
    print(f"{100 * np.mean(right):.1f} % of {len(right)} test images are read right")
    assert np.mean(right) > 0.95
    print("✓ it reads digits")

    before, after = (-np.mean(np.log(p[np.arange(len(p)), judged.y])) for p in (judged.raw, judged.p))
    print(f"temperature {judged.temperature:.2f}: log loss {before:.4f} before, {after:.4f} after; "
          f"calibration error {calibration.ece(judged.p, judged.y):.4f}")  # fmt: skip
    held = np.mean(judged.sets[np.arange(len(right)), judged.y])
    sizes = np.sum(judged.sets, axis=1)
    print(f"sets hold the label in {100 * held:.1f} % of the images, {100 * COVERAGE:.0f} % are promised; "
          f"{np.mean(sizes):.2f} digits on average, {np.max(sizes)} at most")  # fmt: skip
    assert held > COVERAGE - 0.03
    print("✓ what it is not sure of, it says")
    for k in np.argsort(-sizes)[:3]:
        seen = ", ".join(str(d) for d in np.flatnonzero(judged.sets[k]))
        print(f"image {k}: one of {seen} (it is {judged.y[k]})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

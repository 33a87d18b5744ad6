"""Losses against PyTorch's, values and gradients for each example; tools/loss_references.py makes the numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.nn import losses

with np.load(Path(__file__).with_name("references.npz")) as file:
    FROZEN = dict(file)
OTHERWISE = {
    "huber": lambda f, t: losses.huber(f, t, delta=0.6),
    "smoothed": lambda z, y: losses.cross_entropy(z, y, smoothing=0.1),
    "soft_margin": lambda f, y: losses.logistic(f, (y + 1) / 2),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", sorted({key.split("/")[0] for key in FROZEN}))
def test_torch(name: str, compiled: bool) -> None:
    part = lambda start: [FROZEN[f"{name}/{start}{i}"] for i in range(4) if f"{name}/{start}{i}" in FROZEN]
    arguments, gradients = part("x"), part("g")
    loss = OTHERWISE.get(name) or getattr(losses, name)
    wrap: Any = ad.jit if compiled else (lambda f: f)
    assert_allclose(wrap(loss)(*arguments), FROZEN[f"{name}/y"], rtol=1e-10, atol=1e-12)
    paired = lambda *xs: np.sum(FROZEN[f"{name}/c"] * loss(*xs))
    found = wrap(ad.grad(paired, argnums=tuple(range(len(gradients)))))(*arguments)
    for ours, theirs in zip(found, gradients, strict=True):
        assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)

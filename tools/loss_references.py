"""Writes tests/nn/losses/references.npz: values and gradients of PyTorch's losses, one number for each example.

Run it where torch is installed: `python tools/loss_references.py`. Of each case there are its arguments x0, x1, …, the
result y, a cotangent c of it, and the gradients of Σ c y by the arguments that are differentiated, g0, g1, …
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

FILE = Path(__file__).resolve().parent.parent / "tests" / "nn" / "losses" / "references.npz"


def cases() -> dict[str, tuple[Callable[..., Any], list[Any], int]]:
    """name → (torch's function, its arguments, how many of them are differentiated)."""
    each = {"reduction": "none"}
    f, t, z = torch.randn(7), torch.randn(7), 3 * torch.randn(6, 5)
    labels, signs = torch.randint(0, 5, (6,)), torch.sign(torch.randn(7))
    rows = F.softmax(torch.randn(6, 5), -1)
    counts, scale = torch.poisson(torch.full((7,), 2.0)), torch.rand(7) + 0.3
    pair, one = (lambda m: torch.stack([torch.zeros(7), m], dim=1)), torch.ones(7, dtype=torch.long)
    return {
        "squared": (lambda f, t: F.mse_loss(f, t, **each), [f, t], 2),
        "absolute": (lambda f, t: F.l1_loss(f, t, **each), [f, t], 2),
        "huber": (lambda f, t: F.huber_loss(f, t, delta=0.6, **each), [f, t], 2),
        "gaussian_nll": (lambda m, s, y: F.gaussian_nll_loss(m, y, s**2, full=True, **each), [f, scale, t], 3),
        "poisson_nll": (
            lambda f, y: F.poisson_nll_loss(f, y, log_input=True, **each) + torch.lgamma(y + 1),
            [f, counts],
            1,
        ),
        # of the scores (0, y f), where the second is right; theirs is a mean over both
        "hinge": (lambda f, y: 2 * F.multi_margin_loss(pair(f * y), one, **each), [2 * f, signs], 1),
        "squared_hinge": (lambda f, y: 2 * F.multi_margin_loss(pair(f * y), one, p=2, **each), [2 * f, signs], 1),
        "logistic": (lambda f, y: F.binary_cross_entropy_with_logits(f, y, **each), [3 * f, (signs + 1) / 2], 1),
        "soft_margin": (lambda f, y: F.soft_margin_loss(f, y, **each), [3 * f, signs], 1),
        "cross_entropy": (lambda z, y: F.cross_entropy(z, y, **each), [z, labels], 1),
        "smoothed": (lambda z, y: F.cross_entropy(z, y, label_smoothing=0.1, **each), [z, labels], 1),
        "soft_cross_entropy": (lambda z, p: F.cross_entropy(z, p, **each), [z, rows], 2),
        "kl": (lambda p, q: F.kl_div(q.log(), p, **each).sum(-1), [rows, F.softmax(z, -1)], 2),
        "entropy": (lambda p: torch.special.entr(p).sum(-1), [rows], 1),
    }


def compute() -> dict[str, Any]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    found: dict[str, Any] = {}
    for name, (function, arguments, count) in cases().items():
        given = [x.clone().requires_grad_(i < count) for i, x in enumerate(arguments)]
        y = function(*given)
        c = torch.randn(y.shape)
        (y * c).sum().backward()
        found |= {f"{name}/y": y.detach().numpy(), f"{name}/c": c.numpy()}
        found |= {f"{name}/x{i}": x.detach().numpy() for i, x in enumerate(given)}
        found |= {f"{name}/g{i}": x.grad.numpy() for i, x in enumerate(given[:count])}
    torch.set_default_dtype(before)
    return found


def main() -> None:
    found = compute()
    np.savez_compressed(FILE, **found)
    print(f"{FILE}: {len(found)} arrays, {FILE.stat().st_size} bytes, torch {torch.__version__}")


if __name__ == "__main__":
    main()

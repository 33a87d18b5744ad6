"""A small language model with weights far from where models begin."""

from typing import Any

import adjoint as ad
from adjoint import nn

POSITIONS = ["learned", "sinusoidal", "rope", "alibi", None]


def language_model(positions: str | None = "learned", **options: Any) -> nn.LanguageModel:
    settings: dict[str, Any] = {"tokens": 7, "width": 8, "heads": 2, "depth": 2, "context": 12, "positions": positions}
    made = nn.LanguageModel.init(ad.random.default_rng(0), **{**settings, **options})
    return ad.tree.map(lambda leaf: leaf * 3, made)

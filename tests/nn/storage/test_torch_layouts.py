"""GPT-2 and Llama of Hugging Face's transformers, read into ours; tools/pretrained_references.py makes the numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn

FROZEN = dict(np.load(Path(__file__).parents[2] / "data/pretrained.npz"))
OPTIONS: dict[str, dict[str, Any]] = {
    "gpt2": {"heads": 2, "mlp": "gelu_tanh", "positions": "learned"},
    "llama": {"heads": 4, "kv_heads": 2, "hidden": 12, "mlp": "swiglu", "positions": "rope", "normalization": "rms",
              "eps": 1e-6, "bias": False, "tied": False},
}  # fmt: skip


def make(name: str, **options: Any) -> Any:
    return nn.LanguageModel.init(ad.random.default_rng(0), tokens=13, width=8, depth=2, context=16,
                                 **{**OPTIONS[name], **options})  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_scores(name: str, tmp_path: Path) -> None:
    theirs = {key.removeprefix(f"{name}/"): FROZEN[key] for key in FROZEN if key.startswith(f"{name}/")}
    scores = theirs.pop("scores")
    model = nn.from_torch(theirs, like=make(name), layout=name)
    np.testing.assert_allclose(model(FROZEN["tokens"]), scores, atol=1e-5)
    from safetensors.numpy import save_file

    save_file(theirs, tmp_path / "model.safetensors")
    again = nn.from_torch(tmp_path / "model.safetensors", like=make(name, dtype=np.float32), layout=name)
    np.testing.assert_allclose(again(FROZEN["tokens"]), scores, atol=1e-4)


@pytest.mark.parametrize("layout, text", [
    ("bert", "layout='bert'"),
    ({"weight": "fc.weight.T"}, "does not say where bias"),
    ({"weight": "fc.weight", "bias": "fc.bias"}, "has shape"),
    ({"weight": "gone.T", "bias": "fc.bias"}, "no gone"),
])  # fmt: skip
def test_refusals(layout: Any, text: str) -> None:
    theirs = {"fc.weight": np.ones((2, 3)), "fc.bias": np.ones(2)}
    with pytest.raises((ValueError, ad.TreeError), match=text):
        nn.from_torch(theirs, like=nn.Linear.init(ad.random.default_rng(0), 3, 2), layout=layout)

"""Freezes weights and scores of small random models of Hugging Face's transformers into tests/data/pretrained.npz.

python tools/pretrained_references.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

FILE = Path(__file__).resolve().parent.parent / "tests/data/pretrained.npz"
TOKENS = [[3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 8, 2, 8, 1, 8]]


def compute() -> dict[str, Any]:
    torch.manual_seed(0)
    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=13, n_positions=16, n_embd=8, n_layer=2, n_head=2))
    config = LlamaConfig(vocab_size=13, hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, max_position_embeddings=16, rms_norm_eps=1e-6,
                         tie_word_embeddings=False)  # fmt: skip
    llama = LlamaForCausalLM(config)
    found = {"tokens": np.array(TOKENS)}
    for name, model in (("gpt2", gpt2), ("llama", llama)):
        for parameter in model.parameters():  # larger than at the start, so that every part counts
            parameter.data = parameter.data + 0.3 * torch.randn_like(parameter)
        model.eval()
        with torch.no_grad():
            found[f"{name}/scores"] = model(torch.tensor(TOKENS)).logits.numpy()
        for key, array in model.state_dict().items():
            found[f"{name}/{key}"] = array.numpy()
    return found


def main() -> None:
    np.savez_compressed(FILE, **compute())
    print(FILE, FILE.stat().st_size)


if __name__ == "__main__":
    main()

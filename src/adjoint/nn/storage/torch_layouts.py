"""Models of others: which array of a PyTorch model is which leaf of ours.

A layout is a table {path of a leaf: where its numbers are}: the name of an array, with `{}` for the number of a layer
where layers are stacked, and `.T` behind it where it is transposed. `Cut` takes one of several parts of an array,
`Joined` puts several behind each other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint.base.errors import TreeError
from adjoint.base.source import user_facing
from adjoint.base.suggestions import did_you_mean
from adjoint.nn.storage.files import read_file
from adjoint.nn.storage.trees import name_leaves, put_back

__all__ = ["Cut", "Joined", "from_torch"]


@final
@dataclass(frozen=True)
class Cut:
    """Part `number` of `parts` equal ones along the last axis."""

    name: str
    number: int
    parts: int


@final
@dataclass(frozen=True)
class Joined:
    """Several arrays behind each other along the last axis."""

    names: tuple[str, ...]


def _attention(prefix: str, of: Any, bias: bool) -> dict[str, Any]:
    kinds = ("weight", "bias") if bias else ("weight",)
    parts = ("query", "key", "value", "output")
    return {f"{prefix}.{part}.{kind}": of(part, kind) for part in parts for kind in kinds}


def _gpt2() -> dict[str, Any]:
    whole, layer = "layers.layers", "transformer.h.{}"
    cut = {"query": 0, "key": 1, "value": 2}

    def attention(part: str, kind: str) -> Any:
        return f"{layer}.attn.c_proj.{kind}" if part == "output" else Cut(f"{layer}.attn.c_attn.{kind}", cut[part], 3)

    table: dict[str, Any] = {
        "embedding.weight": "transformer.wte.weight",
        "position_table.weight": "transformer.wpe.weight",
    }
    table |= _attention(f"{whole}.attention", attention, True)
    pairs = {"attention_norm": "ln_1", "mlp_norm": "ln_2", "mlp.up": "mlp.c_fc", "mlp.down": "mlp.c_proj"}
    for kind in ("weight", "bias"):
        table |= {f"{whole}.{ours}.{kind}": f"{layer}.{theirs}.{kind}" for ours, theirs in pairs.items()}
        table[f"norm.{kind}"] = f"transformer.ln_f.{kind}"
    return table


def _llama() -> dict[str, Any]:
    whole, layer = "layers.layers", "model.layers.{}"
    letters = {"query": "q", "key": "k", "value": "v", "output": "o"}
    table: dict[str, Any] = {"embedding.weight": "model.embed_tokens.weight", "norm.weight": "model.norm.weight"}
    table |= _attention(f"{whole}.attention", lambda part, _: f"{layer}.self_attn.{letters[part]}_proj.weight.T", False)
    return table | {
        f"{whole}.attention_norm.weight": f"{layer}.input_layernorm.weight",
        f"{whole}.mlp_norm.weight": f"{layer}.post_attention_layernorm.weight",
        f"{whole}.mlp.up.weight": Joined((f"{layer}.mlp.gate_proj.weight.T", f"{layer}.mlp.up_proj.weight.T")),
        f"{whole}.mlp.down.weight": f"{layer}.mlp.down_proj.weight.T",
        "head.weight": "lm_head.weight.T",
    }


LAYOUTS = {"gpt2": _gpt2, "llama": _llama}


@user_facing
def from_torch(file: Any, *, like: Any, layout: str | Mapping[str, Any]) -> Any:
    """A model like `like` with the numbers of a PyTorch model: a safetensors file, or its state_dict.

    `layout` is "gpt2", "llama", or a table {path of a leaf: name of an array}, with `.T` behind names of transposed
    weights (those of torch.nn.Linear are) and `{}` for the number of a layer in a `Stack`.

    ```python
    theirs = {"fc.weight": np.arange(6.0).reshape(2, 3), "fc.bias": np.ones(2)}
    like = ad.nn.Linear.init(ad.random.default_rng(0), 3, 2)
    model = ad.nn.from_torch(theirs, like=like, layout={"weight": "fc.weight.T", "bias": "fc.bias"})
    model(np.ones(3))  # → [4.0, 13.0]
    ```
    """
    arrays = _read(file)
    if isinstance(layout, str):
        if layout not in LAYOUTS:
            raise ValueError(f"from_torch: layout={layout!r}; it is {', '.join(LAYOUTS)}, or a table of names.")
        table = LAYOUTS[layout]()
    else:
        table = dict(layout)
    found: dict[str, Any] = {}
    for name, leaf in name_leaves(like).items():
        if name not in table:
            raise TreeError(
                f"from_torch: the layout does not say where {name} is. {did_you_mean(name, list(table))}".rstrip()
            )
        found[name] = _array(arrays, table[name], np.shape(leaf))
    return put_back("from_torch: the file", found, like)


def _read(file: Any) -> dict[str, Any]:
    if isinstance(file, Mapping):
        return {name: np.asarray(array) for name, array in file.items()}
    name = os.fspath(file)
    if name.endswith(".safetensors"):
        return read_file(name)[0]
    import torch  # pyright: ignore[reportMissingImports]

    state = torch.load(name, map_location="cpu", weights_only=True)
    return {key: array.float().numpy() for key, array in state.items()}


def _array(arrays: Mapping[str, Any], where: Any, shape: tuple[int, ...]) -> Any:
    """The numbers of a leaf."""
    names = where.names if isinstance(where, Joined) else (where.name if isinstance(where, Cut) else where,)
    if "{}" in names[0]:
        return np.stack([_one(arrays, where, [name.format(k) for name in names]) for k in range(shape[0])])
    return _one(arrays, where, list(names))


def _one(arrays: Mapping[str, Any], where: Any, names: list[str]) -> Any:
    found = []
    for name in names:
        plain = name.removesuffix(".T")
        key = plain if plain in arrays else plain.split(".", 1)[-1]  # saved without the name of the whole
        if key not in arrays:
            raise TreeError(f"from_torch: the file has no {plain}. {did_you_mean(plain, list(arrays))}".rstrip())
        found.append(arrays[key].T if name.endswith(".T") else arrays[key])
    if isinstance(where, Cut):
        return np.split(found[0], where.parts, axis=-1)[where.number]
    return found[0] if len(found) == 1 else np.concatenate(found, axis=-1)

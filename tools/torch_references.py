"""Writes tests/nn/references.npz: values and gradients of PyTorch's layers and of two models of `transformers`.

Run it where torch and transformers are installed: `python tools/torch_references.py`. Arrays are float64 and in the
layout of `adjoint.nn` (weights are (inputs, outputs), layers of a transformer stacked), so that a test puts them into a
model by their paths. Of each case there are: inputs x0, x1, …; parameters p|path; the result y and a cotangent c of it;
and the gradients of Σ c y by the inputs (g0, g1, …) and by the parameters (g|path).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

FILE = Path(__file__).resolve().parent.parent / "tests" / "nn" / "references.npz"
STEPS, BATCHES = 200, 5
found: dict[str, Any] = {}


def array(t: Any) -> Any:
    return t.detach().numpy().copy() if isinstance(t, torch.Tensor) else np.asarray(t)


def case(name: str, run: Callable[..., Any], inputs: list[Any], parameters: dict[str, Any]) -> Any:
    """Note a case; `parameters`: path → (tensors, how their arrays become ours)."""
    leaves = [x.requires_grad_(True) if torch.is_floating_point(x) else x for x in inputs]
    y = run(*leaves)
    c = torch.randn(y.shape)
    (y * c).sum().backward()
    found[f"{name}/y"], found[f"{name}/c"] = array(y), array(c)
    for i, x in enumerate(leaves):
        found[f"{name}/x{i}"] = array(x)
        if torch.is_floating_point(x):
            found[f"{name}/g{i}"] = array(x.grad)
    note(name, parameters)
    return y


def note(name: str, parameters: dict[str, Any], gradients: bool = True) -> None:
    for path, (tensors, change) in parameters.items():
        found[f"{name}/p|{path}"] = change(*[array(t) for t in tensors])
        if gradients and all(t.grad is not None for t in tensors):
            # a parameter of ours that is a sum of theirs has the gradient of each
            ours = [tensors[0]] if change is add else tensors
            found[f"{name}/g|{path}"] = (same if change is add else change)(*[array(t.grad) for t in ours])


def same(a: Any) -> Any:
    return a


def turned(a: Any) -> Any:
    return a.T


def add(*xs: Any) -> Any:
    return sum(xs)


def plain(module: Any, prefix: str = "") -> dict[str, Any]:
    """Weight and bias as they are."""
    return {f"{prefix}{n}": ([p], same) for n, p in module.named_parameters()}


def linear(module: Any, prefix: str = "") -> dict[str, Any]:
    made = {f"{prefix}weight": ([module.weight], turned)}
    return made | ({f"{prefix}bias": ([module.bias], same)} if module.bias is not None else {})


def simple_layers() -> None:
    x = lambda *shape: torch.randn(*shape)
    layer = nn.Linear(4, 3)
    case("linear", layer, [x(5, 2, 4)], linear(layer))
    layer = nn.Bilinear(3, 4, 2)
    case(
        "bilinear",
        layer,
        [x(5, 3), x(5, 4)],
        {"weight": ([layer.weight], lambda w: w.transpose(1, 2, 0)), "bias": ([layer.bias], same)},
    )
    layer = nn.Embedding(7, 3)
    case("embedding", layer, [torch.tensor([[1, 2, 2], [6, 0, 1]])], plain(layer))
    for name, layer, shape in (
        ("conv1d", nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 9)),
        ("conv2d", nn.Conv2d(3, 5, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2)), (2, 3, 8, 7)),
        ("conv2d_same", nn.Conv2d(2, 3, 3, padding="same"), (2, 2, 5, 6)),
        ("conv3d", nn.Conv3d(2, 3, 2), (1, 2, 4, 3, 5)),
        ("conv_transpose", nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), (2, 4, 4, 5)),
        ("layer_norm", nn.LayerNorm(5), (3, 4, 5)),
        ("rms_norm", nn.RMSNorm(5, eps=1e-6), (3, 4, 5)),
        ("group_norm", nn.GroupNorm(2, 6), (3, 6, 4, 2)),
    ):
        for p in layer.parameters():
            nn.init.normal_(p)
        case(name, layer, [x(*shape)], plain(layer))
    for name, layer, shape in (
        ("batch_norm", nn.BatchNorm1d(4), (7, 4)),
        ("batch_norm_2d", nn.BatchNorm2d(3), (4, 3, 5, 2)),
    ):
        for p in layer.parameters():
            nn.init.normal_(p)
        first = x(*shape)
        layer(first)  # the statistics have moved once before
        found[f"{name}/before_mean"], found[f"{name}/before_variance"] = (
            layer.running_mean.numpy().copy(),
            layer.running_var.numpy().copy(),
        )
        case(name, layer, [x(*shape)], plain(layer))
        found[f"{name}/after_mean"], found[f"{name}/after_variance"] = (
            layer.running_mean.numpy().copy(),
            layer.running_var.numpy().copy(),
        )
        found[f"{name}/evaluated"] = array(layer.eval()(torch.tensor(found[f"{name}/x0"])))


def activations() -> None:
    functions = {
        "relu": F.relu, "leaky_relu": F.leaky_relu, "elu": F.elu, "selu": F.selu, "silu": F.silu, "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "softplus": F.softplus, "logistic": torch.sigmoid,
        "glu": F.glu, "softargmax": lambda x: F.softmax(x, -1), "log_softargmax": lambda x: F.log_softmax(x, -1),
        "logsumexp": lambda x: torch.logsumexp(x, -1),
    }  # fmt: skip
    for name, f in functions.items():
        case(f"activation_{name}", f, [3 * torch.randn(4, 6)], {})


def cell(module: Any, kind: str, i: int, j: int) -> dict[str, Any]:
    end = f"l{i}" + ("_reverse" if j else "")
    get = lambda n: getattr(module, f"{n}_{end}")
    prefix = f"cells[{i}][{j}]."
    made = {f"{prefix}input": ([get("weight_ih")], turned), f"{prefix}recurrent": ([get("weight_hh")], turned)}
    if kind == "gru":
        n = module.hidden_size
        both = lambda a, b: np.concatenate([(a + b)[: 2 * n], a[2 * n :]])
        made[f"{prefix}bias"] = ([get("bias_ih"), get("bias_hh")], both)
        made[f"{prefix}candidate_bias"] = ([get("bias_hh")], lambda b: b[2 * n :])
    else:
        made[f"{prefix}bias"] = ([get("bias_ih"), get("bias_hh")], add)
    return made


def recurrent() -> None:
    for kind, make in (("rnn", nn.RNN), ("lstm", nn.LSTM), ("gru", nn.GRU)):
        layer = make(3, 4, num_layers=2, bidirectional=True, batch_first=True)
        parameters = {k: v for i in range(2) for j in range(2) for k, v in cell(layer, kind, i, j).items()}
        case(kind, lambda x, layer=layer: layer(x)[0], [torch.randn(2, 6, 3)], parameters)
        fix_gru_bias(kind, kind, layer)
        layer.zero_grad()
        lengths = torch.tensor([6, 2, 4])

        def packed(x: Any, layer: Any = layer, lengths: Any = lengths) -> Any:
            rows = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return nn.utils.rnn.pad_packed_sequence(layer(rows)[0], batch_first=True, total_length=6)[0]

        case(f"{kind}_lengths", packed, [torch.randn(3, 6, 3)], parameters)
        fix_gru_bias(kind, f"{kind}_lengths", layer)
        found[f"{kind}_lengths/lengths"] = lengths.numpy()


def fix_gru_bias(kind: str, name: str, layer: Any) -> None:
    """The bias of the gates is one vector here: its gradient is that of their input bias."""
    if kind == "gru":
        for i in range(2):
            for j in range(2):
                end = f"l{i}" + ("_reverse" if j else "")
                found[f"{name}/g|cells[{i}][{j}].bias"] = array(getattr(layer, f"bias_ih_{end}").grad)


def heads(module: Any, prefix: str = "") -> dict[str, Any]:
    d = module.embed_dim
    made: dict[str, Any] = {}
    for i, name in enumerate(("query", "key", "value")):
        part = slice(i * d, (i + 1) * d)
        made[f"{prefix}{name}.weight"] = ([module.in_proj_weight], lambda w, part=part: w[part].T)
        made[f"{prefix}{name}.bias"] = ([module.in_proj_bias], lambda b, part=part: b[part])
    return made | linear(module.out_proj, f"{prefix}output.")


def attention() -> None:
    q, k, v = torch.randn(2, 4, 5, 3), torch.randn(2, 2, 6, 3), torch.randn(2, 2, 6, 3)
    mask = torch.rand(2, 1, 5, 6) < 0.7
    mask[..., 0] = True
    run = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    case("attention_grouped", run, [q, k, v], {})
    found["attention_grouped/mask"] = mask.numpy()
    bias = torch.randn(5, 6)
    run = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    case("attention_bias", run, [torch.randn(2, 5, 3), torch.randn(2, 6, 3), torch.randn(2, 6, 4)], {})
    found["attention_bias/bias"] = bias.numpy()
    run = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    case("attention_causal", run, [torch.randn(2, 5, 3), torch.randn(2, 5, 3), torch.randn(2, 5, 4)], {})
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    nn.init.normal_(layer.in_proj_bias)
    forbidden = torch.triu(torch.ones(5, 5, dtype=bool), 1)
    run = lambda x: layer(x, x, x, attn_mask=forbidden, need_weights=False)[0]
    case("multi_head", run, [torch.randn(3, 5, 8)], heads(layer))
    layer.zero_grad()
    padding = torch.tensor([[False] * 4, [False, False, True, True], [False, True, True, True]])
    run = lambda x, m: layer(x, m, m, key_padding_mask=padding, need_weights=False)[0]
    case("cross_attention", run, [torch.randn(3, 5, 8), torch.randn(3, 4, 8)], heads(layer))
    found["cross_attention/mask"] = ~padding.numpy()[:, None, :]


def transformer_layer(layer: Any, cross: bool = False, prefix: str = "") -> dict[str, Any]:
    made = heads(layer.self_attn, f"{prefix}attention.") | plain(layer.norm1, f"{prefix}attention_norm.")
    if cross:
        made |= heads(layer.multihead_attn, f"{prefix}cross.") | plain(layer.norm2, f"{prefix}cross_norm.")
    made |= linear(layer.linear1, f"{prefix}mlp.up.") | linear(layer.linear2, f"{prefix}mlp.down.")
    return made | plain(layer.norm3 if cross else layer.norm2, f"{prefix}mlp_norm.")


def transformers() -> None:
    forbidden = torch.triu(torch.ones(5, 5, dtype=bool), 1)
    for norm in ("pre", "post"):
        options = {
            "dim_feedforward": 12,
            "dropout": 0.0,
            "activation": "gelu",
            "batch_first": True,
            "norm_first": norm == "pre",
        }
        layer = nn.TransformerEncoderLayer(8, 2, **options)
        case(
            f"encoder_layer_{norm}",
            lambda x, layer=layer: layer(x, src_mask=forbidden),
            [torch.randn(2, 5, 8)],
            transformer_layer(layer),
        )
        layer = nn.TransformerDecoderLayer(8, 2, **options)
        run = lambda x, m, layer=layer: layer(x, m, tgt_mask=forbidden)
        case(f"decoder_layer_{norm}", run, [torch.randn(2, 5, 8), torch.randn(2, 4, 8)], transformer_layer(layer, True))


def stacked(layers: Any, get: Callable[[Any], Any], change: Callable[..., Any] = same) -> Any:
    return [get(layer) for layer in layers], lambda *xs: np.stack([change(x) for x in xs])


def language_models() -> None:
    tokens = torch.randint(0, 17, (2, 9))
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=17, n_positions=12, n_embd=8, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
        )
    )
    scramble(model)
    blocks = model.transformer.h
    parameters: dict[str, Any] = {
        "embedding.weight": ([model.transformer.wte.weight], same),
        "position_table.weight": ([model.transformer.wpe.weight], same),
        "norm.weight": ([model.transformer.ln_f.weight], same), "norm.bias": ([model.transformer.ln_f.bias], same),
    }  # fmt: skip
    for i, name in enumerate(
        ("query", "key", "value")
    ):  # their layer is (inputs, outputs) as ours, of the three together
        part = slice(8 * i, 8 * i + 8)
        parameters[f"layers.layers.attention.{name}.weight"] = stacked(
            blocks, lambda b: b.attn.c_attn.weight, lambda w, part=part: w[:, part]
        )
        parameters[f"layers.layers.attention.{name}.bias"] = stacked(
            blocks, lambda b: b.attn.c_attn.bias, lambda w, part=part: w[part]
        )
    for path, get in (
        ("attention.output", lambda b: b.attn.c_proj), ("attention_norm", lambda b: b.ln_1),
        ("mlp.up", lambda b: b.mlp.c_fc),
        ("mlp.down", lambda b: b.mlp.c_proj), ("mlp_norm", lambda b: b.ln_2),
    ):  # fmt: skip
        for leaf in ("weight", "bias"):
            parameters[f"layers.layers.{path}.{leaf}"] = stacked(
                blocks, lambda b, get=get, leaf=leaf: getattr(get(b), leaf)
            )
    case("gpt2", lambda t: model(t).logits, [tokens], parameters)
    config = LlamaConfig(
        vocab_size=17, hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=12, rms_norm_eps=1e-6, tie_word_embeddings=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    scramble(model)
    blocks = model.model.layers
    parameters = {
        "embedding.weight": ([model.model.embed_tokens.weight], same), "norm.weight": ([model.model.norm.weight], same),
        "head.weight": ([model.lm_head.weight], turned),
        "layers.layers.attention_norm.weight": stacked(blocks, lambda b: b.input_layernorm.weight),
        "layers.layers.mlp_norm.weight": stacked(blocks, lambda b: b.post_attention_layernorm.weight),
        "layers.layers.mlp.down.weight": stacked(blocks, lambda b: b.mlp.down_proj.weight, turned),
    }  # fmt: skip
    for name in ("query", "key", "value", "output"):
        parameters[f"layers.layers.attention.{name}.weight"] = stacked(
            blocks, lambda b, name=name: getattr(b.self_attn, f"{name[0]}_proj").weight, turned
        )
    gate = [p for b in blocks for p in (b.mlp.gate_proj.weight, b.mlp.up_proj.weight)]
    join = lambda *xs: np.stack([np.concatenate([a.T, b.T], 1) for a, b in zip(xs[::2], xs[1::2])])
    parameters["layers.layers.mlp.up.weight"] = (gate, join)
    case("llama", lambda t: model(t).logits, [tokens], parameters)


def scramble(model: Any) -> None:
    """Larger weights than models begin with: differences show."""
    model.double().eval()
    for p in model.parameters():
        nn.init.normal_(p, 1.0 if p.ndim == 1 else 0.0, 0.3)


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Linear(4 * 9, 3)

    def forward(self, x: Any) -> Any:
        return self.head(F.max_pool2d(F.relu(self.norm(self.conv(x))), 2).flatten(1))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(3, 6, batch_first=True), nn.Linear(6, 3)
        nn.init.zeros_(self.lstm.bias_hh_l0).requires_grad_(False)  # two biases that are added would move twice as fast

    def forward(self, x: Any) -> Any:
        return self.head(self.lstm(x)[0][:, -1])


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(
            8, 2, dim_feedforward=16, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.head = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.layer(x).mean(1))


def trainings() -> None:
    """Losses of 200 steps, from the same weights and batches."""
    shapes = {"mlp": (16, 4), "conv": (8, 1, 8, 8), "lstm": (8, 6, 3), "transformer": (8, 5, 8)}
    makes = {
        "mlp": lambda: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)),
        "conv": ConvNet,
        "lstm": Recurrent,
        "transformer": Small,
    }
    parameters = {
        "mlp": lambda m: linear(m[0], "layers[0].") | linear(m[2], "layers[1]."),
        "conv": lambda m: plain(m.conv, "conv.") | plain(m.norm, "norm.") | linear(m.head, "head."),
        "lstm": lambda m: cell(m.lstm, "lstm", 0, 0) | linear(m.head, "head."),
        "transformer": lambda m: transformer_layer(m.layer, prefix="layer.") | linear(m.head, "head."),
    }
    rules = {
        "sgd": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9), "adam": lambda p: torch.optim.Adam(p, 0.01),
        "adamw": lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.1),
    }  # fmt: skip
    for name, shape in shapes.items():
        model = makes[name]()
        start = {k: v.clone() for k, v in model.state_dict().items()}
        xs, ys = torch.randn(BATCHES, *shape), torch.randint(0, 3, (BATCHES, shape[0]))
        found[f"train_{name}/x"], found[f"train_{name}/labels"] = array(xs), array(ys)
        note(f"train_{name}", {k: ([*v[0]], v[1]) for k, v in parameters[name](model).items()}, gradients=False)
        for rule, make in rules.items():
            model.load_state_dict(start)
            for layer in model.modules():
                if isinstance(layer, nn.BatchNorm2d):
                    layer.reset_running_stats()
            optimizer, losses = make(model.parameters()), []
            for i in range(STEPS):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(xs[i % BATCHES]), ys[i % BATCHES])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            found[f"train_{name}/{rule}"] = np.array(losses)


def compute() -> dict[str, Any]:
    before = torch.get_default_dtype()
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    for part in (simple_layers, activations, recurrent, attention, transformers, language_models, trainings):
        part()
    torch.set_default_dtype(before)
    return found


def main() -> None:
    np.savez_compressed(FILE, **compute())
    print(f"{FILE}: {len(found)} arrays, {FILE.stat().st_size / 1e6:.2f} MB, torch {torch.__version__}")


if __name__ == "__main__":
    main()

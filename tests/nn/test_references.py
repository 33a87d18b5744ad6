"""Layers and models against PyTorch and transformers: values and gradients frozen by tools/torch_references.py."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import nn
from adjoint.nn.normalization import RunningStatistics
from adjoint.optimize import updates
from tests.support.sweeps import sampled

with np.load(Path(__file__).with_name("references.npz")) as file:
    FROZEN = dict(file)
RNG = ad.random.default_rng(0)
TOLERANCE = {"rtol": 1e-10, "atol": 1e-12}
SINGLE = {"rtol": 1e-5, "atol": 1e-5}  # parts of this model compute in float32, whatever the weights are


def of(name: str, start: str) -> dict[str, Any]:
    """What is frozen of a case, by what stands behind `start`."""
    head = f"{name}/{start}"
    return {key[len(head) :]: value for key, value in FROZEN.items() if key.startswith(head)}


def put(model: Any, name: str) -> Any:
    """The model with the frozen parameters; every floating leaf must be there."""
    given = of(name, "p|")
    paths = [path.removeprefix(".") for path in ad.tree.paths(model) if "statistics" not in path]
    assert sorted(given) == sorted(paths)
    for path, value in given.items():
        assert ad.tree.get(model, path).shape == value.shape, path
        model = ad.tree.replace(model, path, value)
    return model


def transformer(**options: Any) -> Any:
    return nn.TransformerLayer.init(RNG, 8, 2, hidden=12, **options)


# name -> (a model of the structure, how it is called); the call gets the frozen case as a function of keys
CASES: dict[str, tuple[Any, Any]] = {
    "linear": (nn.Linear.init(RNG, 4, 3), None),
    "bilinear": (nn.Bilinear.init(RNG, (3, 4), 2), None),
    "embedding": (nn.Embedding.init(RNG, 7, 3), None),
    "conv1d": (nn.Conv.init(RNG, 4, 6, 3, axes=1, stride=2, padding=1, groups=2), None),
    "conv2d": (nn.Conv.init(RNG, 3, 5, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2)), None),
    "conv2d_same": (nn.Conv.init(RNG, 2, 3, 3, padding="same"), None),
    "conv3d": (nn.Conv.init(RNG, 2, 3, 2, axes=3), None),
    "conv_transpose": (
        nn.ConvTranspose.init(RNG, 4, 6, 3, stride=2, padding=1, output_padding=1, groups=2),
        None,
    ),
    "layer_norm": (nn.LayerNorm.init(5), None),
    "rms_norm": (nn.RMSNorm.init(5), None),
    "group_norm": (nn.GroupNorm.init(6, 2), None),
    "rnn": (nn.RNN.init(RNG, 3, 4, layers=2, bidirectional=True), None),
    "lstm": (nn.LSTM.init(RNG, 3, 4, layers=2, bidirectional=True), None),
    "gru": (nn.GRU.init(RNG, 3, 4, layers=2, bidirectional=True), None),
    "multi_head": (nn.MultiHead.init(RNG, 8, 2), lambda m, x: m(x, causal=True)),
    "cross_attention": (
        nn.MultiHead.init(RNG, 8, 2),
        lambda m, x, memory: m(x, memory, mask=FROZEN["cross_attention/mask"]),
    ),
    "encoder_layer_pre": (transformer(), lambda m, x: m(x, causal=True)),
    "encoder_layer_post": (transformer(norm="post"), lambda m, x: m(x, causal=True)),
    "decoder_layer_pre": (transformer(cross=True), lambda m, x, memory: m(x, memory, causal=True)),
    "decoder_layer_post": (transformer(cross=True, norm="post"), lambda m, x, memory: m(x, memory, causal=True)),
    "gpt2": (
        nn.LanguageModel.init(RNG, tokens=17, width=8, heads=2, depth=2, context=12, mlp="gelu_tanh"),
        None,
    ),
    "llama": (
        nn.LanguageModel.init(
            RNG, tokens=17, width=16, heads=4, kv_heads=2, depth=2, context=12, positions="rope", hidden=20,
            mlp="swiglu", normalization="rms", eps=1e-6, bias=False, tied=False,
        ),
        None,
    ),
}  # fmt: skip
for kind in ("rnn", "lstm", "gru"):
    CASES[f"{kind}_lengths"] = (CASES[kind][0], lambda m, x, kind=kind: m(x, lengths=FROZEN[f"{kind}_lengths/lengths"]))


@pytest.mark.parametrize(
    "name, compiled",
    [
        *[pytest.param(name, False, id=f"eager-{name}") for name in CASES],
        *sampled([pytest.param(name, True, id=f"jit-{name}") for name in CASES], 3),
    ],
)
def test_layer(name, compiled):
    """Value, gradients by inputs and by every parameter."""
    template, call = CASES[name]
    model = put(template, name)
    inputs = [value for _, value in sorted(of(name, "x").items())]
    run = call or (lambda model, *xs: model(*xs))
    floating = [i for i, x in enumerate(inputs) if x.dtype.kind == "f"]
    wrap = ad.jit if compiled else (lambda f: f)
    close = SINGLE if name == "llama" else TOLERANCE
    assert_allclose(wrap(run)(model, *inputs), FROZEN[f"{name}/y"], **close)

    def paired(model, *xs):
        return np.sum(FROZEN[f"{name}/c"] * run(model, *xs))

    by_model, *by_inputs = wrap(ad.grad(paired, argnums=(0, *[i + 1 for i in floating])))(model, *inputs)
    for i, gradient in zip(floating, by_inputs, strict=True):
        assert_allclose(gradient, FROZEN[f"{name}/g{i}"], **close)
    for path, value in of(name, "g|").items():
        assert_allclose(ad.tree.get(by_model, path), value, err_msg=path, **close)


@pytest.mark.parametrize("name", sorted({key.split("/")[0] for key in FROZEN if key.startswith("activation_")}))
def test_activation(name):
    short = name.removeprefix("activation_")
    f = (lambda x: nn.gelu(x, approximate=True)) if short == "gelu_tanh" else getattr(nn, short)
    x = FROZEN[f"{name}/x0"]
    assert_allclose(f(x), FROZEN[f"{name}/y"], **TOLERANCE)
    gradient = ad.grad(lambda x: np.sum(FROZEN[f"{name}/c"] * f(x)))(x)
    assert_allclose(gradient, FROZEN[f"{name}/g0"], **TOLERANCE)


@pytest.mark.parametrize("name", ["attention_grouped", "attention_bias", "attention_causal"])
@pytest.mark.parametrize("block", [None, 2, 4, 64])
def test_attention(name, block):
    q, k, v = (FROZEN[f"{name}/x{i}"] for i in range(3))
    options = {
        "attention_grouped": {"mask": FROZEN["attention_grouped/mask"]},
        "attention_bias": {"mask": FROZEN["attention_bias/bias"]},
        "attention_causal": {"causal": True},
    }[name]

    def run(q, k, v):
        if name == "attention_grouped":
            k, v = np.repeat(k, 2, axis=-3), np.repeat(v, 2, axis=-3)
        return nn.attention(q, k, v, block=block, **options)

    assert_allclose(run(q, k, v), FROZEN[f"{name}/y"], **TOLERANCE)
    gradients = ad.grad(lambda *xs: np.sum(FROZEN[f"{name}/c"] * run(*xs)), argnums=(0, 1, 2))(q, k, v)
    for i, gradient in enumerate(gradients):
        assert_allclose(gradient, FROZEN[f"{name}/g{i}"], **TOLERANCE)


@pytest.mark.row("B4.5.a", "B4.5.b")
@pytest.mark.parametrize("name", ["batch_norm", "batch_norm_2d"])
def test_batch_normalization(name):
    """Training: the batch's own statistics (divisor n), running ones (divisor n - 1, momentum 0.1); then evaluation."""
    made = nn.BatchNorm.init(FROZEN[f"{name}/p|weight"].shape[0])
    before = RunningStatistics(FROZEN[f"{name}/before_mean"], FROZEN[f"{name}/before_variance"])
    model = put(ad.tree.replace(made, "statistics", before), name)
    x, rng = FROZEN[f"{name}/x0"], ad.random.default_rng(0)
    paired = lambda model, x: np.sum(FROZEN[f"{name}/c"] * model(x, rng=rng))
    by_model, by_x = ad.jit(ad.grad(paired, argnums=(0, 1)))(model, x)
    assert_allclose(by_x, FROZEN[f"{name}/g0"], **TOLERANCE)
    assert_allclose(by_model.weight, FROZEN[f"{name}/g|weight"], **TOLERANCE)
    assert_allclose(model.statistics.mean, FROZEN[f"{name}/after_mean"], **TOLERANCE)
    assert_allclose(model.statistics.variance, FROZEN[f"{name}/after_variance"], **TOLERANCE)
    assert_allclose(model(x), FROZEN[f"{name}/evaluated"], **TOLERANCE)


@dataclass(frozen=True)
class ConvNet:
    conv: nn.Conv
    norm: nn.BatchNorm
    head: nn.Linear

    def __call__(self, x, *, rng=None):
        x = ad.signal.max_pool(nn.relu(self.norm(self.conv(x), rng=rng)), (2, 2))
        return self.head(np.reshape(x, (len(x), -1)))


@dataclass(frozen=True)
class Recurrent:
    cells: Any
    head: nn.Linear

    def __call__(self, x, *, rng=None):
        return self.head(nn.pool(nn.LSTM(self.cells)(x), "last"))


@dataclass(frozen=True)
class Small:
    layer: nn.TransformerLayer
    head: nn.Linear

    def __call__(self, x, *, rng=None):
        return self.head(nn.pool(self.layer(x), "mean"))


MODELS = {
    "mlp": nn.MLP.init(RNG, [4, 8, 3], activation=np.tanh),
    "conv": ConvNet(nn.Conv.init(RNG, 1, 4, 3), nn.BatchNorm.init(4), nn.Linear.init(RNG, 36, 3)),
    "lstm": Recurrent(nn.LSTM.init(RNG, 3, 6).cells, nn.Linear.init(RNG, 6, 3)),
    "transformer": Small(nn.TransformerLayer.init(RNG, 8, 2, hidden=16), nn.Linear.init(RNG, 8, 3)),
}


RULES = {"sgd": updates.momentum(0.05), "adam": updates.adam(0.01), "adamw": updates.adamw(0.01, decay=0.1)}


def loss(model, batch, rng):
    return nn.cross_entropy(model(batch["x"], rng=rng), batch["y"])


@pytest.mark.parametrize("rule, name", sampled([(rule, name) for rule in RULES for name in MODELS], 3))
def test_200_steps(name, rule):
    """Losses of training from the same weights on the same batches."""
    model = put(MODELS[name], f"train_{name}")
    x, y = FROZEN[f"train_{name}/x"], FROZEN[f"train_{name}/labels"]
    data = ad.data.arrays(x=np.concatenate(x), y=np.concatenate(y))
    options = {"epochs": 40, "batch": y.shape[1], "shuffle": False, "compile": name != "mlp"}
    run = nn.fit(model, loss, data, RULES[rule], rng=RNG, **options)
    assert_allclose(run.history.steps, FROZEN[f"train_{name}/{rule}"], rtol=1e-6, atol=1e-9)

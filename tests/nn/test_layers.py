"""What all layers have in common: trees without plain numbers, transformations, element types, errors with paths."""

from dataclasses import dataclass, fields, is_dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import nn
from adjoint.nn.summarizing import layers_of
from adjoint.simplify.passes import simplify
from tests.support.sweeps import sampled


@dataclass(frozen=True)
class FiveSteps:
    """A decoder that is told how long to go on."""

    inner: nn.SequenceDecoder

    def __call__(self, x, *, rng=None):
        return self.inner(x, 5)


def layers(dtype=np.float64):
    """One of each, with an input."""
    rng, r = ad.random.default_rng(0), np.random.default_rng(0)
    x = lambda *shape: r.normal(size=shape).astype(dtype)
    make = lambda cls, *sizes, **options: cls.init(rng, *sizes, dtype=dtype, **options)
    vector, image, series = (x(6, 4),), (x(2, 4, 6, 6),), (x(2, 5, 4),)
    return {
        "Linear": (make(nn.Linear, 4, 3), vector),
        "Bilinear": (make(nn.Bilinear, (4, 3), 2), (x(6, 4), x(6, 3))),
        "MLP": (make(nn.MLP, [4, 5, 3], activation=nn.gelu, dropout=0.2), vector),
        "Conv": (make(nn.Conv, 4, 3, 3, padding="same"), image),
        "Conv last": (make(nn.Conv, 6, 3, 3, channels="last"), image),
        "ConvTranspose": (make(nn.ConvTranspose, 4, 3, 2, stride=2), image),
        "LayerNorm": (nn.LayerNorm.init(4, dtype=dtype), vector),
        "RMSNorm": (nn.RMSNorm.init(4, dtype=dtype), vector),
        "GroupNorm": (nn.GroupNorm.init(4, 2, dtype=dtype), image),
        "BatchNorm": (nn.BatchNorm.init(4, dtype=dtype), vector),
        "Dropout": (nn.Dropout(0.2), vector),
        "LoRA": (nn.LoRA.init(rng, make(nn.Linear, 4, 3), 2), vector),
        "Residual": (nn.Residual(make(nn.Linear, 4, 4), nn.relu), vector),
        "Sequential": (nn.Sequential((make(nn.Linear, 4, 4), np.tanh, nn.Dropout(0.1))), vector),
        "Concat": (nn.Concat((None, make(nn.Linear, 4, 2))), (vector * 2,)),
        "Stack": (nn.Stack.init(rng, 3, lambda rng: nn.Residual(nn.Linear.init(rng, 4, 4, dtype=dtype))), vector),
        "RNN": (make(nn.RNN, 4, 3, bidirectional=True), series),
        "LSTM": (make(nn.LSTM, 4, 3, layers=2, dropout=0.1), series),
        "GRU": (make(nn.GRU, 4, 3), series),
        "SequenceDecoder": (FiveSteps(make(nn.SequenceDecoder, 4, 3, 2)), vector),
        "MultiHead": (make(nn.MultiHead, 4, 2, rope=100.0, dropout=0.1), series),
        "FeedForward": (make(nn.FeedForward, 4, 6, mlp="swiglu"), series),
        "TransformerLayer": (make(nn.TransformerLayer, 4, 2, dropout=0.1), series),
        "Encoder": (make(nn.Encoder, 4, 2, 2), series),
        "Decoder": (make(nn.Decoder, 4, 2, 2), (x(2, 5, 4), x(2, 3, 4))),
        "Classify": (make(nn.Classify, 4, 3), series),
        "Tag": (make(nn.Tag, 4, 3), series),
    }


NAMES = list(layers())
TOKENS = np.array([[1, 2, 3, 4, 1]])


def run(layer, inputs, rng=None):
    return layer(*inputs, rng=rng)


@pytest.mark.parametrize("name", NAMES)
def test_every_floating_leaf_is_a_parameter_and_none_is_a_plain_number(name):
    layer, _ = layers()[name]
    assert all(type(leaf) is np.ndarray and leaf.dtype == np.float64 for leaf in ad.tree.leaves(layer))
    for path, part in layers_of(layer):
        assert is_dataclass(part)
        assert part.__dataclass_params__.frozen, path
        for field in fields(part):
            value = getattr(part, field.name)
            assert field.metadata.get("static") or not isinstance(value, bool | int | float | str), (path, field.name)


@pytest.mark.parametrize("name", sampled(NAMES, 4))
def test_transformations_agree(name):
    """jit, grad, jvp, vmap and jet, in evaluation and (with the same generator) in training."""
    layer, inputs = layers()[name]
    weights = np.random.default_rng(1).normal(size=np.shape(run(layer, inputs)))

    def value(layer, inputs, rng=None):
        return np.sum(weights * run(layer, inputs, rng) ** 2)

    for training in (False, True):
        rng = (lambda: ad.random.default_rng(5)) if training else (lambda: None)
        eager, gradient = ad.value_and_grad(value)(layers()[name][0], inputs, rng())
        compiled, other = ad.jit(ad.value_and_grad(value))(layers()[name][0], inputs, rng())
        assert_allclose(compiled, eager, rtol=1e-11)
        for a, b in zip(ad.tree.leaves(gradient), ad.tree.leaves(other), strict=True):
            assert_allclose(a, b, rtol=1e-9, atol=1e-11)
        flags = ad.tree.leaves(nn.trainable(layer))
        direction = np.random.default_rng(2)
        tangent = [
            direction.normal(size=leaf.shape) if flag else 0 * leaf
            for leaf, flag in zip(ad.tree.leaves(layer), flags, strict=True)
        ]
        expected = sum(float(np.sum(g * t)) for g, t in zip(ad.tree.leaves(gradient), tangent, strict=True))
        made = ad.tree.unflatten(ad.tree.structure(layer), tangent)
        along = lambda layer, rng=rng: value(layer, inputs, rng())
        _, pushed = ad.jvp(along, (layers()[name][0],), (made,))
        assert_allclose(pushed, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Concat"])
def test_axes_in_front_are_examples(name):
    """vmap over the first axis and a call with the whole batch give the same."""
    layer, inputs = layers()[name]
    if name in ("GroupNorm", "BatchNorm"):  # they need to know which axis is the batch
        single = lambda *xs: layer(*[x[None] for x in xs])[0]
    else:
        single = layer
    assert_allclose(ad.vmap(single)(*inputs), layer(*inputs), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Concat"])
def test_second_derivative_along_a_line_by_taylor_mode(name):
    layer, inputs = layers()[name]
    if name in ("MLP", "Residual"):
        layer = ad.tree.map(lambda leaf: leaf, layer)
    shape = np.shape(run(layer, inputs))
    weights = np.random.default_rng(1).normal(size=shape)
    along = lambda t: np.sum(weights * np.tanh(run(layer, [x * (1 + t) for x in inputs])))
    by_taylor = ad.derivative(along, 2)(0.1)
    h = 1e-4
    slope = ad.grad(along)
    assert_allclose(by_taylor, (slope(0.1 + h) - slope(0.1 - h)) / (2 * h), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_stays(name):
    """No float64 in the step of a float32 model: value, gradient, dropout, positions."""
    layer, inputs = layers(np.float32)[name]
    rng = ad.random.default_rng(0)
    traced = ad.trace(ad.grad(lambda layer, inputs, rng: np.sum(run(layer, inputs, rng) ** 2)))(layer, inputs, rng)
    assert "float64" not in str(simplify(traced.program))
    assert run(layer, inputs).dtype == np.float32


def test_single_precision_of_a_language_model():
    for positions in ("learned", "sinusoidal", "rope", "alibi"):
        model = nn.LanguageModel.init(
            ad.random.default_rng(0), tokens=7, width=8, heads=2, depth=2, context=8, positions=positions,
            dropout=0.1, dtype=np.float32,
        )  # fmt: skip
        loss = lambda model, rng: -np.sum(nn.log_softargmax(model(TOKENS, rng=rng))[..., 0])
        traced = ad.trace(ad.grad(loss))(model, ad.random.default_rng(1))
        assert "float64" not in str(simplify(traced.program))
        assert model.step(TOKENS, nn.Cache.empty(model, 1))[0].dtype == np.float32


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("Dropout", "BatchNorm", "Concat")])
def test_data_of_another_precision_is_refused(name):
    layer, inputs = layers(np.float32)[name]
    with pytest.raises(ad.DtypeError, match=r"model.*is float64, but the model is float32; write .*astype\(float32\)"):
        run(layer, [x.astype(np.float64) for x in inputs])


def test_errors_name_the_path():
    rng = ad.random.default_rng(0)
    model = nn.MLP.init(rng, [100, 128, 128, 64], activation=nn.relu)
    broken = ad.tree.replace(model, "layers[2]", nn.Linear.init(rng, 100, 64))
    expected = r"^model\.layers\[2\] \(Linear 100 → 64\): x is \(32, 128\); its last axis must be 100$"
    for call in (broken, ad.jit(lambda x: broken(x)), ad.vmap(lambda x: broken(np.broadcast_to(x, (32, 100))))):
        with pytest.raises(ad.ShapeError, match=expected):
            call(np.ones((32, 100)))
    nested = nn.Sequential((nn.Residual(nn.Sequential((nn.LayerNorm.init(5), nn.Linear.init(rng, 4, 5)))),))
    with pytest.raises(ad.ShapeError, match=r"^model\.layers\[0\]\.inner\.layers\[1\] \(Linear 4 → 5\)"):
        nested(np.ones((3, 5)))
    stack = nn.Encoder.init(rng, 8, 2, 3)
    with pytest.raises(ad.ShapeError, match=r"^model\.layers\.layers\.attention_norm \(LayerNorm 8\): x is \(5, 6\)"):
        stack(np.ones((5, 6)))
    with pytest.raises(ad.ShapeError, match=r"inner\(x\) is \(3, 5\); they must be equal"):
        nn.Residual(nn.Linear.init(rng, 4, 5))(np.ones((3, 4)))


def test_sizes_that_do_not_fit():
    rng = ad.random.default_rng(0)
    with pytest.raises(ValueError, match="3 heads do not divide a width of 8"):
        nn.MultiHead.init(rng, 8, 3)
    with pytest.raises(ValueError, match="4 heads cannot share 3 heads"):
        nn.MultiHead.init(rng, 8, 4, kv_heads=3)
    with pytest.raises(ValueError, match="6 channels do not divide into 4 groups"):
        nn.GroupNorm.init(6, 4)
    with pytest.raises(ValueError, match="do not divide into 2 groups"):
        nn.Conv.init(rng, 3, 4, 3, groups=2)
    with pytest.raises(ad.ShapeError, match="sizes are those of the input"):
        nn.MLP.init(rng, [3])
    with pytest.raises(TypeError, match="not a generator"):
        nn.Linear.init(0, 3, 4)


def test_compiled_closures_see_new_weights():
    """A compiled function that reads a model from outside computes with its present arrays."""
    for name in ("MLP", "Stack", "Conv", "LSTM", "MultiHead", "Residual", "Encoder"):
        layer, inputs = layers()[name]
        compiled = ad.jit(lambda *xs, layer=layer: layer(*xs))
        compiled(*inputs)
        for leaf in ad.tree.leaves(layer):
            leaf *= 1.1
        assert_allclose(compiled(*inputs), layer(*inputs), rtol=1e-11, atol=1e-12)

"""What is wrong is said in one sentence: where, what was given, what to do."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.optimize import updates

RNG = ad.random.default_rng(0)
X = np.random.default_rng(0).normal(size=(60, 4))
Y = (X[:, 0] > 0).astype(int)
MODEL = nn.MLP.init(RNG, [4, 8, 2])
LM = nn.LanguageModel.init(RNG, tokens=5, width=8, heads=2, depth=1, context=4)
BATCH_NORM = nn.BatchNorm.init(4)


def loss(model: Any, batch: Any) -> Any:
    return nn.cross_entropy(model(batch["x"]), batch["y"])


def fit(model: Any = MODEL, own: Any = loss, data: Any = None, **options: Any) -> Any:
    source = ad.data.arrays(x=X, y=Y) if data is None else data
    return nn.fit(model, own, source, updates.adam(0.01), **{"epochs": 1, "batch": 20, "rng": RNG, **options})


NAN = np.where(X > 2, np.nan, X)
DROPPING = nn.MLP.init(RNG, [4, 8, 2], dropout=0.5)
CASES: dict[str, tuple[Any, str]] = {
    "labels": (lambda: nn.cross_entropy(np.zeros((3, 2)), np.array([0, 1, 2])), "class 2 is beyond the 2 classes"),
    "labels in fit": (lambda: fit(data={"x": X, "y": Y + 1}, compile=True), "class 2 is beyond the 2 classes"),
    "rows": (lambda: nn.cross_entropy(np.zeros((2, 3)), np.ones((2, 3))), r"\(2, 3\), do not sum to 1 .*divide by"),
    "columns": (lambda: nn.losses.squared(np.zeros((5, 1)), np.zeros(5)), r"\(5, 1\) .*\(5,\).*f\[:, 0\]"),
    "columns in fit": (
        lambda: fit(nn.MLP.init(RNG, [4, 1]), lambda m, b: (m(b["x"]) - b["y"]) ** 2),
        r"shape \(20, 20\) for 20 examples, and axis 1 grows with the batch.*y\[:, None\]",
    ),
    "sizes without a generator": (
        lambda: nn.Linear.init(3, 4),  # type: ignore[call-arg]
        r"'outputs'\. It is called as Linear\.init\(rng, inputs, outputs, \*, bias=…",
    ),
    "part of a batch": (lambda: fit(batch=20.5), r"fit: batch=20\.5; it is an integer"),
    "a count as loss": (lambda: fit(own=lambda m, b: np.argmax(m(b["x"]), axis=1)), "int64, which has no derivative"),
    "a loss of three": (lambda: fit(own=lambda m, x, y: nn.cross_entropy(m(x), y)), "Linear 4 → 8.*x is a dict; give"),
    "a metric's name": (lambda: fit(metrics={"a": "accuracy"}, validation=(X, Y)), "functions by name, .*'accuracy'"),
    "a list of metrics": (lambda: nn.evaluate(MODEL, (X, Y), [nn.accuracy]), "evaluate: metrics are functions by name"),
    "a part to validate": (lambda: fit(validation=0.2), r"train, held = data\.split\(\(0\.8, 0\.2\), rng\)"),
    "other columns": (lambda: fit(validation={"x": X}), "validation data are columns x, those to learn from .* x, y"),
    "average": (lambda: fit(average=1.0), r"decay=1\.0; it is a number with 0 <= decay < 1"),
    "every": (lambda: fit(every=0), "every=0; it is an integer, at least 1"),
    "compile": (lambda: fit(compile="maybe"), "compile='maybe'; it is True, False"),
    "names of classes": (lambda: nn.cross_entropy(np.zeros((2, 2)), np.array(["a", "b"])), "return_inverse=True"),
    "rows of any length": (lambda: ad.data.arrays(x=[[1], [2, 3]]), r"fill them up by nn\.padded"),
    "notes": (lambda: nn.save("m.safetensors", MODEL, made=object()), "the note made is object; notes are strings"),
    "no folder": (lambda: nn.save("no/such/m.safetensors", MODEL), "there is no folder no/such for m"),
    "a file as folder": (lambda: fit(folder=__file__), "is a file; checkpoints need a folder"),
    "temperature": (lambda: nn.generate(LM, np.zeros(2, int), 2, RNG, temperature=-1.0), "neither can be negative"),
    "no size": (lambda: nn.MLP.init(RNG, [4, 0, 2]), "Linear: outputs=0; sizes are integers, at least 1"),
    "initial values": (lambda: nn.Linear.init(RNG, 4, 2, weight="xavier"), r"one of nn\.initializers, as he_normal"),
    "small image": (lambda: nn.Conv.init(RNG, 1, 2, 9)(np.ones((1, 1, 8, 8))), "smaller than the kernel; pad it"),
    "one logit": (lambda: nn.cross_entropy(3.0, 0), r"for losses\.logistic"),
    "smoothing": (lambda: nn.cross_entropy(np.zeros((1, 2)), np.array([0]), smoothing=1.5), "between 0 and 1"),
    "focus": (lambda: nn.losses.focal(np.zeros(2), 0, gamma=-1.0), "gamma is -1.0; it must not be negative"),
    "scale": (lambda: nn.losses.gaussian_nll(0.0, -1.0, 0.0), r"above zero; predict its logarithm, or take .*softplus"),
    "models": (lambda: nn.average([np.ones(2), np.ones(3)]), r"number 1 has .*\(3,\).*number 0 \[\(2,\)\]"),
    "hidden": (lambda: nn.Classifier(hidden="a").fit(X, Y), r"hidden='a'; it is a tuple of the sizes"),
    "batch of an estimator": (lambda: nn.Classifier(batch="x").fit(X, Y), "batch='x'; it is a number of examples"),
    "heads": (lambda: nn.MultiHead.init(RNG, 10, 3), "3 heads do not divide a width of 10; take 1, 2, 5, 10"),
    "context": (lambda: LM(np.zeros(5, int)), "5 tokens; the context has 4: cut the sequence"),
    "prompt": (lambda: nn.generate(LM, np.zeros(5, int), 2), "5 tokens does not fit into the context of 4; give its"),
    "no batch": (lambda: fit(batch=0), "Give a batch between 1 and 60"),
    "no data": (lambda: fit(data={"x": X[:0], "y": Y[:0]}), "empty, with no example"),
    "NaN": (lambda: nn.Classifier(epochs=1).fit(NAN, Y), "X contains NaN"),
    "NaN in fit": (lambda: fit(data={"x": NAN, "y": Y}), r"at step 0 \(epoch 0, batch 0; examples .*look at these"),
    "weights": (lambda: fit(weight=np.zeros(60)), "give some above zero"),
    "weights of an estimator": (lambda: nn.Classifier(epochs=1).fit(X, Y, np.zeros(60)), "at least one non-zero"),
    "precision": (
        lambda: nn.MLP.init(RNG, [4, 2], dtype=np.float32)(X),
        r"model\.layers\[0\] \(Linear 4 → 2\): x is float64, but the model is float32; write x\.astype",
    ),
    "a mean": (lambda: fit(own=lambda m, b: np.mean(loss(m, b)), batch=16), "Return one number for each example"),
    "some losses": (lambda: fit(own=lambda m, b: loss(m, b)[:3]), r"shape \(3,\), and the batch has 20 examples"),
    "generator in jit": (
        lambda: ad.jit(lambda m, x: m(x, rng=np.random.default_rng(0)))(DROPPING, X),
        r"make one with ad\.random\.default_rng",
    ),
    "one example": (lambda: BATCH_NORM(X[:1], rng=RNG), r"BatchNorm 4\): x is \(1, 4\).*train on larger batches"),
    "normalization in vmap": (
        lambda: ad.vmap(lambda x, norm: norm(x, rng=RNG), in_axes=(0, None))(X.reshape(6, 10, 4), BATCH_NORM),
        "Call the layer on the whole batch, outside of vmap",
    ),
    "patience": (lambda: fit(patience=3), "give validation="),
    "path": (
        lambda: nn.Sequential(nn.Linear.init(RNG, 4, 8), nn.Sequential(nn.relu, nn.MLP.init(RNG, [9, 2])))(X),
        r"model\.layers\[1\]\.layers\[1\]\.layers\[0\] \(Linear 9 → 2\): x is \(60, 8\); its last axis must be 9",
    ),
    "stack": (
        lambda: nn.Stack.of([nn.Linear.init(RNG, 3, 3), nn.Linear.init(RNG, 4, 4)]),
        r"weight of layer 1 has shape \(4, 4\), and of layer 0 \(3, 3\)",
    ),
    "a loss of scores": (lambda: fit(own=nn.cross_entropy), "Write lambda model, batch: cross_entropy"),
}


@pytest.mark.parametrize("name", CASES)
def test_refused(name: str) -> None:
    call, text = CASES[name]
    with pytest.raises((ValueError, TypeError, OSError, ad.AdjointError), match=text):
        call()


def test_warned() -> None:
    with pytest.warns(RuntimeWarning, match="as probabilities do. Give the logits"):
        nn.cross_entropy(np.full((2, 2), 0.5), np.array([0, 1]))
    with pytest.warns(RuntimeWarning, match=r"0\.9524 at most, not 0\.99.* at least 99 scores"):
        nn.conformal.Split(0.99).calibrate(np.arange(20.0))


def test_tokens_in_a_square_are_losses() -> None:
    """As many tokens as examples: the axis of tokens does not grow with the batch."""
    data = {"x": np.zeros((40, 5), int), "y": np.zeros((40, 5), int)}
    model = nn.LanguageModel.init(RNG, tokens=5, width=8, heads=2, depth=1, context=5)
    assert fit(model, data=data, batch=5).status == "done"


def test_checkpoint_of_another_structure(tmp_path: Path) -> None:
    fit(folder=tmp_path)
    with pytest.raises(ad.TreeError, match=r"layers\[0\]\.weight has shape \(4, 8\), the tree \(4, 9\)"):
        fit(nn.MLP.init(RNG, [4, 9, 2]), folder=tmp_path, resume=True)

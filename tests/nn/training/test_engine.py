"""The step of a run: its precision, its parts, and when it is compiled."""

import re
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.nn.training.engine import Engine
from adjoint.optimize import updates
from adjoint.simplify.passes import simplify

RNG = ad.random.default_rng(0)
X = np.random.default_rng(0).normal(size=(64, 6))
Y = np.random.default_rng(0).integers(0, 3, 64)


def loss(model: Any, batch: Any, rng: Any) -> Any:
    return nn.cross_entropy(model(batch["x"], rng=rng), batch["y"])


def test_single_precision_of_a_whole_step() -> None:
    """Clipping, AdamW, a schedule, an average: of float64 there are numbers alone, and the losses of examples."""
    single = {"dtype": np.float32}
    layers = (nn.Linear.init(RNG, 6, 8, **single), nn.gelu, nn.BatchNorm.init(8, **single), nn.Dropout(0.1),
              nn.LayerNorm.init(8, **single), nn.Linear.init(RNG, 8, 3, **single))  # fmt: skip
    model = nn.Sequential(layers)
    rule = updates.chain(updates.clip_by_norm(1.0), updates.adamw(updates.cosine(3e-3, 700)))
    engine = Engine("fit", model, loss, ad.data.arrays(x=X, y=Y), rule, batch=16, epochs=1, rng=RNG, decay=0.99,
                    compiled=False)  # fmt: skip
    leaves = engine.pack(engine.start(model))
    indices, weight = engine.plan(0)
    arguments = (engine.numbers, leaves, engine.columns, indices[0], weight[0], RNG.key)
    text = str(simplify(ad.trace(engine.programs.gathered)(*arguments).program))
    assert "float32[6,8]" in text
    assert set(re.findall(r"float64\[([\d,]+)\]", text)) <= {"16", "16,1"}


@pytest.mark.parametrize("parts", [2, 4])
def test_parts_of_a_batch_give_its_gradient(parts: int) -> None:
    """Tokens with weights, very different in number from part to part: total / weight of the whole batch."""
    rng = np.random.default_rng(0)
    ids, lengths = rng.integers(0, 5, (16, 9)), np.array([9, 1, 1, 1, 8, 9, 1, 2, 1, 1, 1, 1, 9, 9, 9, 9])
    data = ad.data.arrays(ids=ids, y=(ids + 1) % 5, length=lengths)
    model = nn.Sequential(nn.Embedding.init(RNG, 5, 4), nn.Linear.init(RNG, 4, 5))
    own = lambda m, b: (nn.cross_entropy(m(b["ids"]), b["y"]), np.arange(9) < b["length"][:, None])
    options = {"epochs": 3, "batch": 16, "rng": RNG, "shuffle": False}
    whole, split = (nn.fit(model, own, data, updates.sgd(0.5), accumulate=n, **options) for n in (1, parts))
    for a, b in zip(ad.tree.leaves(whole.model), ad.tree.leaves(split.model), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(whole.history["loss"], split.history["loss"], rtol=1e-12)


def test_short_runs_are_not_compiled() -> None:
    model = nn.MLP.init(RNG, [6, 3])
    made = lambda epochs, **options: Engine(
        "fit", model, loss, ad.data.arrays(x=X, y=Y), updates.sgd(0.1), batch=16, epochs=epochs, rng=RNG, **options
    )
    assert not made(5).compiled
    assert made(500).compiled
    assert made(5, compiled=True).compiled

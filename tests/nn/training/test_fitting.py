"""fit: the same as train, resume to the bit, signals, early stopping, averages, running statistics, refusals."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.optimize import train, updates

RNG = lambda seed=0: ad.random.default_rng(seed)


def problem(n: int = 60, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return ad.data.arrays(x=x, y=(x[:, 0] * x[:, 1] > 0).astype(np.int64))


def cross_entropy(model: Any, batch: Any, rng: Any = None) -> Any:
    return nn.metrics.log_loss.each(model(batch["x"], rng=rng), batch["y"])


def network(dropout: float = 0.2, dtype: Any = np.float64) -> Any:
    return nn.MLP.init(RNG(3), [2, 12, 2], dropout=dropout, dtype=dtype)


def same(a: Any, b: Any) -> bool:
    return all(np.asarray(x).tobytes() == np.asarray(y).tobytes()
               for x, y in zip(ad.tree.leaves(a), ad.tree.leaves(b), strict=True))  # fmt: skip


def test_fit_is_train() -> None:
    """The loop of `fit` and that of `train` take the same steps."""
    data, rule = problem(), updates.adam(0.01)
    run = nn.fit(network(), cross_entropy, data, rule, epochs=4, batch=16, rng=RNG())
    found = train(cross_entropy, network(), data.columns, rule, epochs=4, batch=16, rng=RNG())
    for a, b in zip(ad.tree.leaves(run.model), ad.tree.leaves(found.value), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_allclose(run.history.steps, found.history["fun"], rtol=1e-12)
    losses = [now.loss for now in nn.steps(network(), cross_entropy, data, rule, epochs=4, batch=16, rng=RNG())]
    np.testing.assert_array_equal(losses, run.history.steps)


class Cut(Exception):
    """A run that ends without a word."""


class Rows(ad.data.Source):
    """The examples of another source, until so many batches were read."""

    def __init__(self, data: Any, most: int) -> None:
        self.data, self.left = data, most

    def __len__(self) -> int:
        return len(self.data)

    def rows(self, indices: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise Cut
        return self.data.rows(indices)


def resume_after(cuts: Any, every: int, folder: Path, compiled: bool) -> None:
    """Runs that are cut, and go on, are the run that was left alone: model, rule, average, best value, history."""
    data, test = problem(), problem(20, 1)
    options: dict[str, Any] = {
        "epochs": 5, "batch": 16, "rng": RNG(), "validation": test, "average": 0.9, "compile": compiled,
        "metrics": {"accuracy": nn.accuracy},
    }  # fmt: skip
    rule = updates.adamw(updates.cosine(0.02, 20))
    whole = nn.fit(network(), cross_entropy, data, rule, **options)
    for cut in cuts:
        own = folder / f"cut{cut}"
        with pytest.raises(Cut):  # two batches are looked at before the first step
            nn.fit(network(), cross_entropy, Rows(data, cut + 2), rule, folder=own, every=every, **options)
        again = nn.fit(network(), cross_entropy, data, rule, folder=own, every=every, resume=True, **options)
        assert len(list(own.iterdir())) <= 3
        assert again.history == whole.history
        assert again.best == whole.best
        assert same(again.model, whole.model)
        assert same(again.state, whole.state)


@pytest.mark.parametrize("compiled", [False, True])
def test_resume_to_the_bit(tmp_path: Path, compiled: bool) -> None:
    resume_after((3, 8, 13), 2, tmp_path, compiled)


@pytest.mark.sweep
@pytest.mark.parametrize("every", [1, 3])
def test_resume_at_every_step(tmp_path: Path, every: int) -> None:
    resume_after(range(20), every, tmp_path, False)


SCRIPT = """
import sys, numpy as np, adjoint as ad
from adjoint import nn
from adjoint.optimize import updates
sys.path.insert(0, sys.argv[2])
from tests.nn.training.test_fitting import cross_entropy, network, problem, RNG
slow = lambda now: __import__("time").sleep(0.02)
run = nn.fit(network(), cross_entropy, problem(), updates.adam(0.01), epochs=8, batch=8, rng=RNG(), average=0.99,
             folder=sys.argv[1], every=3, resume=True, compile=False, callback=slow)
print(run.status)
nn.save(sys.argv[1] + "/end.safetensors", run.state)
"""


def start(folder: Path) -> Any:
    root = str(Path(__file__).parents[3])
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder), root], stdout=subprocess.PIPE,
                            env={**os.environ, "PYTHONPATH": f"{root}/src"}, text=True)  # fmt: skip


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_killed_and_continued_in_a_new_process(tmp_path: Path, how: Any) -> None:
    folder = tmp_path / "run"
    first = start(folder)
    while len(list(folder.glob("step-*"))) < 2 and first.poll() is None:
        time.sleep(0.01)
    first.send_signal(how)
    output = first.communicate()[0]
    assert ("interrupted" in output) == (how == signal.SIGTERM)
    assert start(folder).communicate()[0].strip() == "done"
    whole = nn.fit(network(), cross_entropy, problem(), updates.adam(0.01), epochs=8, batch=8, rng=RNG(), average=0.99,
                   compile=False)  # fmt: skip
    assert same(nn.load(folder / "end.safetensors", like=whole.state), whole.state)


def test_damaged_checkpoints_are_passed_over(tmp_path: Path) -> None:
    options: dict[str, Any] = {"batch": 16, "rng": RNG(), "folder": tmp_path}
    rule = updates.adam(0.01)
    nn.fit(network(), cross_entropy, problem(), rule, epochs=3, **options)
    newest = sorted(tmp_path.iterdir())[-1]
    data = bytearray(newest.read_bytes())
    data[-5] ^= 255
    newest.write_bytes(data)
    with pytest.warns(UserWarning, match="passed over"):
        run = nn.fit(network(), cross_entropy, problem(), rule, epochs=4, resume=True, **options)
    whole = nn.fit(network(), cross_entropy, problem(), rule, epochs=4, batch=16, rng=RNG())
    assert same(run.state, whole.state)
    other = nn.MLP.init(RNG(), [2, 9, 2])
    with pytest.raises(ad.TreeError, match=r"another structure.*layers\[0\]"):
        nn.fit(other, cross_entropy, problem(), rule, epochs=4, resume=True, **options)
    with pytest.raises(ad.TreeError, match="another generator"):
        nn.fit(network(), cross_entropy, problem(), rule, epochs=4, resume=True, **{**options, "rng": RNG(5)})
    with pytest.raises(FileExistsError, match="resume=True"):
        nn.fit(network(), cross_entropy, problem(), rule, epochs=4, **options)


def test_early_stopping_and_metrics() -> None:
    from sklearn.metrics import f1_score

    data, test = problem(20), problem(40, 1)
    run = nn.fit(network(0.0), cross_entropy, data, updates.adam(0.1), epochs=300, batch=10, rng=RNG(), validation=test,
                 patience=4, metrics={"accuracy": nn.accuracy, "f1": f1_score})  # fmt: skip
    checks = run.history["validation"]
    assert run.status == "stopped early"
    assert len(checks) == int(np.argmin(checks)) + 6
    assert run.best == (2 * (int(np.argmin(checks)) + 1), np.min(checks))
    z = run.model(test.columns["x"])
    np.testing.assert_allclose(np.mean(cross_entropy(run.model, test.columns)), np.min(checks), rtol=1e-12)
    best = int(np.argmin(checks))
    np.testing.assert_allclose(run.history["accuracy"][best], np.mean(z.argmax(-1) == test.columns["y"]))
    np.testing.assert_allclose(run.history["f1"][best], f1_score(test.columns["y"], z.argmax(-1)))
    assert run.history.table().splitlines()[0].split() == run.history.columns


def test_the_model_of_the_caller_stays() -> None:
    model = nn.Sequential((nn.Linear.init(RNG(), 2, 6), nn.BatchNorm.init(6), nn.Linear.init(RNG(1), 6, 2)))
    before = [np.array(leaf) for leaf in ad.tree.leaves(model)]
    data = problem()
    run = nn.fit(
        model, cross_entropy, data, updates.adamw(0.01, decay=0.5), epochs=6, batch=20, rng=RNG(), compile=True
    )
    for old, leaf in zip(before, ad.tree.leaves(model), strict=True):
        np.testing.assert_array_equal(old, leaf)
    statistics = run.model.layers[1].statistics
    flags = ad.tree.leaves(nn.trainable(model))
    assert not all(flags)
    moved = [not np.array_equal(a, b) for a, b in zip(before, ad.tree.leaves(run.model), strict=True)]
    assert all(moved)
    x = run.model.layers[0](data.columns["x"])
    np.testing.assert_allclose(statistics.mean, x.mean(axis=0), atol=0.5)


def test_single_precision_and_weights() -> None:
    data = problem()
    weight = np.where(np.arange(60) < 30, 1.0, 0.0)
    rule = updates.sgd(0.1)
    half = nn.fit(network(0.0, np.float32), cross_entropy, data, rule, epochs=1, batch=60, rng=RNG(), weight=weight)
    only = nn.fit(network(0.0, np.float32), cross_entropy, data.take(30), rule, epochs=1, batch=30, rng=RNG())
    for a, b in zip(ad.tree.leaves(half.model), ad.tree.leaves(only.model), strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_losses_of_batches() -> None:
    """One number for a batch is taken where nothing depends on its parts, and is the mean of those of the examples."""
    mean = lambda model, batch: np.mean(cross_entropy(model, batch))
    options: dict[str, Any] = {"epochs": 2, "rng": RNG(), "validation": problem(20, 1)}
    a, b = (nn.fit(network(0.0), loss, problem(), updates.adam(0.01), batch=20, **options)
            for loss in (mean, lambda model, batch: cross_entropy(model, batch)))  # fmt: skip
    np.testing.assert_allclose(a.history.steps, b.history.steps, rtol=1e-12)
    np.testing.assert_allclose(a.history["validation"], b.history["validation"], rtol=1e-12)
    for changed, text in (({"batch": 16}, "no multiple"), ({"batch": 20, "accumulate": 2}, "in parts"),
                          ({"batch": 20, "weight": np.ones(60)}, "have weights")):  # fmt: skip
        with pytest.raises(ad.ShapeError, match=text):
            nn.fit(network(0.0), mean, problem(), updates.adam(0.01), **options, **changed)


@pytest.mark.parametrize("kind", ["maps", "parquet"])
def test_sources_in_files(kind: str, tmp_path: Path) -> None:
    """The same run from a file, to the bit, also cut and resumed."""
    import pyarrow
    import pyarrow.parquet

    data = problem()
    x, y = data.columns["x"], data.columns["y"]
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    table = pyarrow.table({"x": pyarrow.array(list(x)), "y": y})
    pyarrow.parquet.write_table(table, tmp_path / "xy.parquet", row_group_size=7)
    source = (ad.data.memmap({"x": tmp_path / "x.npy", "y": tmp_path / "y.npy"}) if kind == "maps"
              else ad.data.parquet(tmp_path / "xy.parquet"))  # fmt: skip
    options: dict[str, Any] = {"batch": 16, "rng": RNG(), "compile": False}
    rule = updates.adam(0.01)
    whole = nn.fit(network(), cross_entropy, data, rule, epochs=3, **options)
    nn.fit(network(), cross_entropy, source, rule, epochs=1, folder=tmp_path / "run", **options)
    again = nn.fit(network(), cross_entropy, source, rule, epochs=3, folder=tmp_path / "run", resume=True, **options)
    assert same(again.state, whole.state)
    assert again.history == whole.history


def test_statistics_in_parts() -> None:
    """Batch normalization in parts of a batch: the statistics see every part, as four steps without an update would."""
    model = nn.Sequential((nn.BatchNorm.init(2), nn.Linear.init(RNG(1), 2, 2)))
    data = problem(8)
    run = nn.fit(
        model, cross_entropy, data, updates.sgd(0.0), epochs=1, batch=8, rng=RNG(), accumulate=2, shuffle=False
    )
    plain = nn.Sequential((nn.BatchNorm.init(2), nn.Linear.init(RNG(1), 2, 2)))
    for half in (data.columns["x"][:4], data.columns["x"][4:]):
        plain(half, rng=RNG())
    np.testing.assert_allclose(run.model.layers[0].statistics.mean, plain.layers[0].statistics.mean, rtol=1e-12)
    np.testing.assert_allclose(run.model.layers[0].statistics.variance, plain.layers[0].statistics.variance, rtol=1e-12)


def test_trainable_parts() -> None:
    model = network(0.0)
    run = nn.fit(model, cross_entropy, problem(), updates.adamw(0.1), epochs=1, batch=20, rng=RNG(),
                 trainable=["layers[-1]"])  # fmt: skip
    assert same(run.model.layers[0], model.layers[0])
    assert not same(run.model.layers[1], model.layers[1])
    flags = nn.fit(model, cross_entropy, problem(), updates.adamw(0.1), epochs=1, batch=20, rng=RNG(),
                   trainable=nn.trainable(model, "layers[1]"))  # fmt: skip
    assert same(flags.model, run.model)


def test_a_loss_that_is_not_finite() -> None:
    data = problem()
    data.columns["x"][17] = np.nan
    with pytest.raises(ad.NonFiniteError, match=r"at step \d+ \(epoch 0, batch \d; examples.*\b17\b"):
        nn.fit(network(0.0), cross_entropy, data, updates.adam(0.1), epochs=1, batch=20, rng=RNG())


@pytest.mark.parametrize("options, text", [
    ({"rng": None}, "default_rng"),
    ({"rng": np.random.default_rng(0)}, "ad.random.default_rng"),
    ({"patience": 3}, "validation="),
    ({"metrics": {"a": nn.accuracy}}, "validation="),
    ({"resume": True}, "folder"),
    ({"batch": 100}, "batch of 100"),
    ({"weight": np.zeros(60)}, "zero"),
    ({"weight": np.ones(3)}, "60 examples"),
    ({"trainable": ["nothing"]}, "nothing at"),
])  # fmt: skip
def test_refusals(options: Any, text: str) -> None:
    given = {"epochs": 1, "batch": 20, "rng": RNG(), **options}
    with pytest.raises((TypeError, ValueError, ad.AdjointError), match=text):
        nn.fit(network(), cross_entropy, problem(), updates.adam(0.1), **given)

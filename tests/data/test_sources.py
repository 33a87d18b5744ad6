"""Sources: batches from any position, parts, labels in proportion; files; what they refuse."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import data

N = 23
X = np.arange(2.0 * N).reshape(N, 2)
Y = np.arange(N) % 3
RNG = lambda: ad.random.default_rng(4)


def on_disk(folder: Path) -> dict[str, Any]:
    """The same examples in memory, in memory maps and in Parquet files."""
    import pyarrow
    import pyarrow.parquet

    X.tofile(folder / "x.bin")
    np.save(folder / "x.npy", X)
    np.save(folder / "y.npy", Y)
    table = pyarrow.table({"x": pyarrow.array(list(X)), "y": Y})
    pyarrow.parquet.write_table(table, folder / "xy.parquet", row_group_size=5)
    return {
        "arrays": data.arrays(x=X, y=Y),
        "maps": data.memmap({"x": folder / "x.npy", "y": folder / "y.npy"}),
        "parquet": data.parquet(folder / "xy.parquet"),
        "foreign": data.as_source(_Rows()),
    }


class _Rows:
    def __len__(self) -> int:
        return N

    def __getitem__(self, indices: Any) -> Any:
        return {"x": X[indices], "y": Y[indices]}


@pytest.mark.parametrize("kind", ["arrays", "maps", "parquet", "foreign"])
def test_batches_from_any_position(kind: str, tmp_path: Path) -> None:
    source = on_disk(tmp_path)[kind]
    assert len(source) == N
    all_of_them = list(source.batches(5, RNG(), epoch=2))
    order = data.epoch_order(RNG(), 2, N)
    for number, batch in enumerate(all_of_them):
        real = batch.indices[batch.weight > 0]
        np.testing.assert_array_equal(real, order[5 * number : 5 * number + 5])
        np.testing.assert_array_equal(batch.data["x"], X[batch.indices])
        np.testing.assert_array_equal(batch.data["y"], Y[batch.indices])
        assert len(batch.weight) == 5
    for begin in range(6):
        for late, whole in zip(source.batches(5, RNG(), 2, begin), all_of_them[begin:], strict=True):
            np.testing.assert_array_equal(late.data["x"], whole.data["x"])
    assert [len(b.indices) for b in source.batches(5, last="keep")] == [5, 5, 5, 5, 3]
    assert [len(b.indices) for b in source.batches(5, last="drop")] == [5, 5, 5, 5]
    copy = pickle.loads(pickle.dumps(source))
    np.testing.assert_array_equal(copy[np.array([3, 1])]["x"], X[[3, 1]])
    np.testing.assert_array_equal(source[-1]["x"], X[-1])
    np.testing.assert_array_equal(source[2:4]["x"], X[2:4])
    np.testing.assert_array_equal(source[Y == 1]["x"], X[Y == 1])


@pytest.mark.parametrize("kind", ["arrays", "maps", "parquet"])
def test_parts(kind: str, tmp_path: Path) -> None:
    source = on_disk(tmp_path)[kind]
    train, test, rest = source.split((0.6, 0.2, 0.2), RNG(), stratify="y")
    rows = [part[:]["x"][:, 0] for part in (train, test, rest)]
    assert sorted(np.concatenate(rows).tolist()) == X[:, 0].tolist()
    for part, share in ((train, 0.6), (test, 0.2), (rest, 0.2)):
        counts = np.bincount(part[:]["y"], minlength=3)
        assert np.all(np.abs(counts - share * np.bincount(Y)) <= 1.5), counts
    assert [len(part) for part in source.split((10, 5))] == [10, 5]
    np.testing.assert_array_equal(source.split((10, 5))[1][:]["x"], X[10:15])
    np.testing.assert_array_equal(source.take(np.array([5, 2])).take(np.array([1]))[0]["x"], X[2])
    assert len(source.take(4)) == 4


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.8, 0.1, 0.1), (0.7,)])
def test_labels_in_proportion(seed: int, shares: tuple[float, ...]) -> None:
    labels = np.random.default_rng(seed).choice(4, p=[0.6, 0.25, 0.1, 0.05], size=200)
    parts = data.arrays(y=labels).split(shares, ad.random.default_rng(seed), stratify="y")
    for part, share in zip(parts, shares, strict=True):
        counts = np.bincount(part[:]["y"], minlength=4)
        assert np.all(np.abs(counts - share * np.bincount(labels, minlength=4)) <= 1.5)


def test_text() -> None:
    ids = np.arange(50) % 7
    source = data.text(ids, 8, stride=3)
    for i in range(len(source)):
        np.testing.assert_array_equal(source[i]["x"], ids[3 * i : 3 * i + 8])
        np.testing.assert_array_equal(source[i]["y"], ids[3 * i + 1 : 3 * i + 9])
    assert 3 * (len(source) - 1) + 9 <= 50 < 3 * len(source) + 9
    assert next(source.batches(4)).data["x"].shape == (4, 8)


def test_binary_files(tmp_path: Path) -> None:
    on_disk(tmp_path)
    np.testing.assert_array_equal(data.memmap(tmp_path / "x.bin", float, (-1, 2))[:], X)
    np.testing.assert_array_equal(data.memmap(tmp_path / "x.bin", float, (3, 2))[:], X[:3])


@pytest.mark.parametrize("call, text", [
    (lambda folder: data.arrays(x=X, y=Y[:5]), "has 5 rows"),
    (lambda folder: data.arrays(), "by name"),
    (lambda folder: list(data.arrays(x=X).batches(24)), "batch of 24"),
    (lambda folder: list(data.arrays(x=X).batches(2, last="cut")), "'pad'"),
    (lambda folder: data.arrays(x=X)[40], "no example 40"),
    (lambda folder: data.arrays(x=X)[0.5], "integers"),
    (lambda folder: data.arrays(x=X).split((0.9, 0.3)), "at most 1"),
    (lambda folder: data.arrays(x=X).split((20, 20)), "cannot be taken"),
    (lambda folder: data.arrays(x=X).split((0.5,), stratify="z"), "no column 'z'"),
    (lambda folder: data.memmap(folder / "x.bin", np.float64, (-1, 5)), "not"),
    (lambda folder: data.memmap(folder / "x.bin"), "dtype"),
    (lambda folder: data.parquet(folder / "xy.parquet", ["z"]), "no column 'z'"),
    (lambda folder: data.text([0.5, 1.0], 1), "integers"),
    (lambda folder: data.text(b"abc", 3), "between 1 and 2"),
])  # fmt: skip
def test_refusals(call: Any, text: str, tmp_path: Path) -> None:
    on_disk(tmp_path)
    with pytest.raises((TypeError, ValueError, KeyError, IndexError, ad.ShapeError), match=text):
        call(tmp_path)

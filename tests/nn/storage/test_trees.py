"""Files: read by the safetensors package, all kinds of arrays, refusals that name the leaf."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import adjoint as ad
from adjoint import nn

TREE = {
    "transposed": np.arange(6.0).reshape(2, 3).T, "strided": np.arange(10.0)[::3], "flipped": np.arange(4)[::-1],
    "complex": np.array([1 + 2j, 3 - 1j]), "single": np.complex64(1 + 1j), "number": 0.5, "count": 3, "flag": True,
    "empty": np.zeros((0, 3)), "half": np.ones(3, np.float16), "bytes": np.arange(3, dtype=np.uint8),
    "big": np.arange(3, dtype=">i4"), "nested": [np.float32(2.0), (np.ones((2, 2), np.int32),)],
}  # fmt: skip


def test_the_package_reads_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "tree.safetensors"
    nn.save(path, TREE, made="here", epoch=3)
    theirs = load_file(path)
    np.testing.assert_array_equal(theirs["['transposed']"], TREE["transposed"])
    np.testing.assert_array_equal(theirs["['strided']"], TREE["strided"])
    np.testing.assert_array_equal(theirs["['flipped']"], TREE["flipped"])
    np.testing.assert_array_equal(theirs["['complex']"], [[1.0, 2.0], [3.0, -1.0]])
    assert nn.notes(path) == {"made": "here", "epoch": 3}
    back = nn.load(path, like=TREE)
    for a, b in zip(ad.tree.leaves(back), ad.tree.leaves(TREE), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype.newbyteorder("=") == np.asarray(b).dtype.newbyteorder("=")


def test_files_of_the_package_are_read(tmp_path: Path) -> None:
    path = tmp_path / "theirs.safetensors"
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.ones(3, np.float32)}
    save_file(arrays, path)
    found = nn.load(path)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def test_models(tmp_path: Path) -> None:
    model = nn.MLP.init(ad.random.default_rng(0), [3, 4, 2], dtype=np.float32)
    nn.save(tmp_path / "m.safetensors", model)
    assert "layers[0].weight" in nn.load(tmp_path / "m.safetensors")
    again = nn.load(tmp_path / "m.safetensors", like=model)
    np.testing.assert_array_equal(again(np.ones(3, np.float32)), model(np.ones(3, np.float32)))
    wide = nn.load(tmp_path / "m.safetensors", like=nn.MLP.init(ad.random.default_rng(0), [3, 4, 2]))
    assert wide.layers[0].weight.dtype == np.float64


@pytest.mark.parametrize("like, text", [
    (lambda: nn.MLP.init(ad.random.default_rng(0), [3, 5, 2]), r"layers\[0\].weight has shape \(3, 4\)"),
    (lambda: nn.MLP.init(ad.random.default_rng(0), [3, 4, 2, 2]), r"no layers\[2\].weight"),
    (lambda: nn.Linear.init(ad.random.default_rng(0), 3, 4), "no weight"),
    (lambda: ad.tree.map(lambda leaf: leaf.astype(int), nn.MLP.init(ad.random.default_rng(0), [3, 4, 2])), "of type"),
])  # fmt: skip
def test_other_structures(like: Any, text: str, tmp_path: Path) -> None:
    nn.save(tmp_path / "m.safetensors", nn.MLP.init(ad.random.default_rng(0), [3, 4, 2]))
    with pytest.raises(ad.TreeError, match=text):
        nn.load(tmp_path / "m.safetensors", like=like())


def test_every_leaf_that_differs_is_shown_on_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    nn.save(path, {"a": np.zeros(3), "b": np.zeros((2, 2), np.float32), "c": np.zeros(1), "old": np.zeros(4, np.int64)})
    like = {"a": np.zeros(3), "b": np.zeros(5), "c": np.zeros(1, np.int64), "new": np.zeros(())}
    with pytest.raises(ad.TreeError) as caught:
        nn.load(path, like=like)
    head, *table = str(caught.value).splitlines()
    assert "['b'] has shape (2, 2), the tree (5,). 4 of 5 leaves differ:" in head
    assert [line.split(maxsplit=1)[0] for line in table] == ["leaf", "['b']", "['c']", "['new']", "['old']"]
    assert [line.split(maxsplit=1)[1] for line in table[1:]] == [
        "float32 (2, 2)  float64 (5,)",
        "float64 (1,)    int64 (1,)",
        "-               float64 ()",
        "int64 (4,)      -",
    ]
    nn.save(path, {f"w{i}": np.zeros(2) for i in range(30)})
    with pytest.raises(ad.TreeError, match=r"60 of 60 leaves differ[\s\S]*… and 40 more$"):
        nn.load(path, like={f"v{i}": np.zeros(2) for i in range(30)})


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 something else", b"\x10\x00\x00\x00\x00\x00\x00\x00{notjson}12345678"]
)
def test_other_files(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(ad.AdjointError, match="no safetensors file"):
        nn.load(tmp_path / "x.safetensors")


def test_cut_off_and_changed(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    nn.save(path, np.arange(100.0))
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])
    with pytest.raises(ad.AdjointError, match="damaged"):
        nn.load(path)
    path.write_bytes(whole[:-1] + b"\x00")
    with pytest.raises(ad.AdjointError, match="checksum"):
        nn.load(path)
    with pytest.raises(ad.AdjointError, match="no array of numbers"):
        nn.save(path, {"a": np.array(["text"])})
    assert not list(tmp_path.glob("*.part"))

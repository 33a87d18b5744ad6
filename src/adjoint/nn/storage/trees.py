"""Trees of arrays in safetensors files: names are the paths of the leaves."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import TreeError
from adjoint.base.source import user_facing
from adjoint.base.suggestions import did_you_mean
from adjoint.nn.storage.files import read_file, read_header, write_file
from adjoint.program.trace import Tracer

__all__ = ["load", "name_leaves", "notes", "put_back", "save"]

ALONE = "value"  # the name of a tree that is one array
MOST = 20  # rows of a table of differences


def name_leaves(whole: Any) -> dict[str, Any]:
    """The leaves of a tree by their paths."""
    leaves, structure = tree.flatten(whole)
    return {(path.removeprefix(".") or ALONE): leaf for path, leaf in zip(structure.paths(), leaves, strict=True)}


@user_facing
def save(path: str | os.PathLike[str], whole: Any, **texts: Any) -> None:
    """Write a tree of arrays to a safetensors file: names are paths, and notes are kept beside them.

    The file appears whole or not at all. Complex numbers are stored as pairs.

    ```python
    ad.nn.save("model.safetensors", {"w": np.ones((2, 3)).T, "b": 0.5}, epoch=3)
    ad.nn.load("model.safetensors")["['w']"].shape, ad.nn.notes("model.safetensors")["epoch"]  # → ((3, 2), 3)
    ```
    """
    named = name_leaves(whole)
    for name, leaf in named.items():
        if isinstance(leaf, Tracer):
            raise TreeError(f"save: {name} is a traced {leaf.type}; files are written outside of compiled functions.")
        if np.asarray(leaf).dtype.kind not in "biufc":
            raise TreeError(f"save: {name} is {type(leaf).__name__}, no array of numbers.")
    for name, text in texts.items():
        try:
            json.dumps(text)
        except TypeError:
            raise TypeError(f"save: the note {name} is {type(text).__name__}; notes are strings, numbers, lists and "
                            "dictionaries of them. Arrays belong into the tree.") from None  # fmt: skip
    write_file(path, named, {"notes": json.dumps(texts)})


@user_facing
def load(path: str | os.PathLike[str], like: Any = None) -> Any:
    """The tree in a safetensors file: in the structure of `like`, or as a dictionary of arrays by path.

    With `like`, every leaf must be there with its shape; floating leaves take the precision of `like`.

    ```python
    model = ad.nn.MLP.init(ad.random.default_rng(0), [2, 3, 1])
    ad.nn.save("model.safetensors", model)
    again = ad.nn.load("model.safetensors", like=model)
    np.array_equal(again(np.ones(2)), model(np.ones(2)))  # → True
    ```
    """
    arrays, _ = read_file(path)
    return arrays if like is None else put_back(f"load: {os.fspath(path)}", arrays, like)


@user_facing
def notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What was noted beside a tree.

    ```python
    ad.nn.save("model.safetensors", np.ones(2), made="today")
    ad.nn.notes("model.safetensors")  # → {'made': 'today'}
    ```
    """
    return json.loads(read_header(path)[1].get("notes", "{}"))


def put_back(title: str, arrays: dict[str, Any], like: Any) -> Any:
    """Arrays by name in the structure of a tree; the error shows every leaf that differs, on both sides."""
    structure = tree.structure(like)
    wanted = {name: np.asarray(leaf) for name, leaf in name_leaves(like).items()}
    if not all(name in arrays and _fits(arrays[name], leaf) for name, leaf in wanted.items()) or len(arrays) > len(
        wanted
    ):
        raise TreeError(_explain_difference(title, arrays, wanted))
    found = []
    for name, leaf in wanted.items():
        array = arrays[name].astype(leaf.dtype, copy=False)
        found.append(array if array.ndim else array[()])
    return structure.unflatten(found)


def _fits(array: Any, leaf: Any) -> bool:
    return array.shape == leaf.shape and array.dtype.kind == leaf.dtype.kind


def _explain_difference(title: str, arrays: dict[str, Any], wanted: dict[str, Any]) -> str:
    """A table of the leaves that differ, in the order of the tree: what the file has, and what the tree has."""
    names = [*wanted, *(name for name in arrays if name not in wanted)]
    describe = lambda array: "-" if array is None else f"{array.dtype} {array.shape}"
    rows = [
        (name, describe(arrays.get(name)), describe(wanted.get(name)))
        for name in names
        if name not in arrays or name not in wanted or not _fits(arrays[name], wanted[name])
    ]
    first, there, here = rows[0]
    if here == "-":
        reason = f"it has {first} ({there}), which the tree does not have"
    elif there == "-":
        reason = f"there is no {first} ({here} in the tree). {did_you_mean(first, list(arrays))}".rstrip(" .")
    elif arrays[first].shape != wanted[first].shape:
        reason = f"{first} has shape {arrays[first].shape}, the tree {wanted[first].shape}"
    else:
        reason = f"{first} is of type {arrays[first].dtype}, in the tree {wanted[first].dtype}"
    shown = [("leaf", "file", "tree"), *rows[:MOST]]
    widths = [max(len(row[i]) for row in shown) for i in (0, 1)]
    table = [f"  {name:<{widths[0]}}  {there:<{widths[1]}}  {here}" for name, there, here in shown]
    more = [f"  … and {len(rows) - MOST} more"] if len(rows) > MOST else []
    count = f"{len(rows)} of {len(names)} leaves differ"
    return "\n".join([f"{title} is of another structure: {reason}. {count}:", *table, *more])

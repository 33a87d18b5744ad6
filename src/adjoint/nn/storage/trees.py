"""Trees of arrays in safetensors files: names are the paths of the leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
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
    """Arrays by name in the structure of a tree; refuses what does not fit, naming the first leaf that differs."""
    leaves, structure = tree.flatten(like)
    names = list(name_leaves(like))
    missing = [name for name in names if name not in arrays]
    if missing:
        near = did_you_mean(missing[0], list(arrays))
        raise TreeError(f"{title} is of another structure: there is no {missing[0]} ({len(missing)} of {len(names)} "
                        f"leaves are missing; the file has {_some(list(arrays))}). {near}".rstrip())  # fmt: skip
    extra = [name for name in arrays if name not in set(names)]
    if extra:
        raise TreeError(
            f"{title} is of another structure: it has {extra[0]}, which the tree does not have ({_some(names)})."
        )
    found = []
    for name, leaf in zip(names, leaves, strict=True):
        array, wanted = arrays[name], np.asarray(leaf)
        if array.shape != wanted.shape:
            raise TreeError(
                f"{title} is of another structure: {name} has shape {array.shape}, the tree {wanted.shape}."
            )
        if array.dtype != wanted.dtype:
            if array.dtype.kind != wanted.dtype.kind:
                raise TreeError(f"{title}: {name} is of type {array.dtype}, in the tree {wanted.dtype}.")
            array = array.astype(wanted.dtype)
        found.append(array if array.ndim else array[()])
    return structure.unflatten(found)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (" …" if len(names) > 6 else "")

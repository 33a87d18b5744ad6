"""The results of a nest of loops: elements that are stored, and reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.records import record
from adjoint.compile.graph import Node
from adjoint.compile.ir import Value
from adjoint.compile.views import Index
from adjoint.program.program import Var

COMBINE = {
    "sum": "add",
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
    "any": "logical_or",
    "all": "logical_and",
}


def neutral(kind: str, dtype: np.dtype[Any]) -> Any:
    """What a reduction starts from."""
    if kind in ("sum", "any"):
        return 0
    if kind in ("prod", "all"):
        return 1
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return info.min if kind == "max" else info.max
    if dtype.kind == "b":
        return kind == "min"
    return -np.inf if kind == "max" else np.inf


@record(frozen=False)
class Root:
    """A result of a nest: every element stored, or a reduction over some axes."""

    var: Var
    value: Any  # the atom whose elements are stored or reduced
    shape: tuple[Any, ...]  # the part of the domain that it covers, from the origin
    kind: str = "store"  # or sum, prod, max, min, any, all
    axes: tuple[int, ...] = ()
    target: Any = None  # where it goes, when that is not the memory of `var`


@record(frozen=False)
class Output:
    """A root in one box: its node, and where it goes."""

    root: Root
    node: Node
    position: Index  # in elements of the target, from the counters
    base: Value
    fresh: bool  # no other box adds to a reduction: it may be stored rather than combined
    registers: int = 0  # the level from which all loops are reduced: accumulators live there
    outside: bool = False  # reduced axes stand further out: accumulate in memory

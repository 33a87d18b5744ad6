"""Containers of arrays: nested tuples, lists, dicts, NamedTuples, dataclasses, attrs classes, and registered classes.

leaves, structure = flatten(tree);   unflatten(structure, leaves);   map(f, tree);   ravel(tree)
"""

from adjoint.tree.compare import broadcast_prefix, check_same_structure, leaves_like
from adjoint.tree.flatten import flatten, leaves, structure, unflatten
from adjoint.tree.kinds import Leaf, Tree
from adjoint.tree.mapping import map, map_with_path
from adjoint.tree.paths import get, paths, replace
from adjoint.tree.ravel import Unravel, ravel
from adjoint.tree.registry import register, register_leaf
from adjoint.tree.spaces import add, basis, norm, scale, size, subtract, vdot, zeros_like
from adjoint.tree.static_values import static
from adjoint.tree.structure import Structure

__all__ = [
    "Leaf",
    "Structure",
    "Tree",
    "Unravel",
    "add",
    "basis",
    "broadcast_prefix",
    "check_same_structure",
    "flatten",
    "get",
    "leaves",
    "leaves_like",
    "map",
    "map_with_path",
    "norm",
    "paths",
    "ravel",
    "register",
    "register_leaf",
    "replace",
    "scale",
    "size",
    "static",
    "structure",
    "subtract",
    "unflatten",
    "vdot",
    "zeros_like",
]

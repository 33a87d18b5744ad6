"""map and associative_scan: a function along an axis of arrays, element by element or in pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adjoint import tree
from adjoint.api.control_flow.bodies import flatten_values
from adjoint.api.control_flow.loops import scan
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.conversion.driver import prepare
from adjoint.ops.control.associative_scan import prefixes
from adjoint.program.types import Value
from adjoint.transform.arguments import fresh


@user_facing
def map(function: Callable[[tree.Tree], tree.Tree], xs: tree.Tree) -> tree.Tree:
    """function(x) for each x along the first axis of `xs`, one after the other, stacked. `vmap` does all at once.

    ```python
    ad.map(lambda x: np.sum(x**2), np.array([[1.0, 2.0], [3.0, 4.0]]))  # → [5.0, 25.0]
    ```
    """
    called = prepare(function)
    return scan(lambda _, x: (None, called(x)), None, xs)[1]


@user_facing
def associative_scan(
    function: Callable[[tree.Tree, tree.Tree], tree.Tree], elems: tree.Tree, *, reverse: bool = False, axis: int = 0
) -> tree.Tree:
    """Running combinations e₀, e₀∘e₁, e₀∘e₁∘e₂, … of an associative function, in O(log n) steps over whole arrays.

    `function(a, b)` combines trees of stacked elements (it is given many pairs at once, along `axis`).

    ```python
    ad.associative_scan(np.multiply, np.array([1.0, 2.0, 3.0, 4.0]))  # → [1.0, 2.0, 6.0, 24.0]
    ```
    """
    leaves, structure = flatten_values(elems, "associative_scan: elems")
    called = prepare(function)
    if any(not np.ndim(x) for x in leaves):
        raise ShapeError("associative_scan: every element needs an axis to scan along; one of them is a number.")
    sizes = {np.shape(x)[axis] for x in leaves}
    if len(sizes) != 1:
        raise ShapeError(f"associative_scan: the arrays have different sizes along axis {axis}: {sorted(sizes)}.")
    moved = [np.moveaxis(x, axis, 0) for x in leaves]
    moved = [np.flip(x, 0) for x in moved] if reverse else moved

    def combine(a: Sequence[Value], b: Sequence[Value]) -> list[Value]:
        ours = [tree.unflatten(structure, [np.moveaxis(x, 0, axis) for x in side]) for side in (a, b)]
        out = tree.leaves_like("associative_scan", structure, called(*ours))
        return [np.moveaxis(x, axis, 0) for x in out]

    found = prefixes(combine, moved)
    found = [np.flip(x, 0) for x in found] if reverse else found
    return tree.unflatten(structure, fresh([np.moveaxis(x, 0, axis) for x in found], leaves))

"""Which form the Jacobian of an equation has: its pattern and coloring are found once for each program."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.source import warn_user
from adjoint.integrate.forms import DENSE, FREE, Sparse, SparsePattern
from adjoint.integrate.reading import known_value
from adjoint.integrate.system import System
from adjoint.program.types import Value, type_of
from adjoint.sparse.coloring import as_pattern, color
from adjoint.sparse.pattern import pattern as find_pattern

__all__ = ["FEW", "check_split", "choose_form"]

FEW = 50  # equations whose Jacobian is a dense matrix in any case
DIAGONALS = 12  # so many, or fewer, are solved as a band
_found: OrderedDict[Any, Any] = OrderedDict()
REMEMBERED = 64


def choose_form(title: str, jacobian: Any, method: Any, system: System, masses: Sequence[Value]) -> Any:
    """The form that `jacobian=` asks for, or that fits."""
    if isinstance(jacobian, str) and jacobian not in ("auto", "dense", "sparse", "free"):
        raise ValueError(f"{title}: jacobian is {jacobian!r}; it is 'auto', 'dense', 'sparse', 'free', or the pattern "
                         "of ∂f/∂y as a matrix.")  # fmt: skip
    if not method.implicit:
        return DENSE
    if isinstance(jacobian, str):
        if jacobian == "free":
            if getattr(method, "solves_complex", False):
                raise ValueError(f"{title}: {method.name} solves complex equations, for which jacobian='free' is not "
                                 "made. Take method='bdf' or 'kvaerno5'.")  # fmt: skip
            return FREE
        if jacobian == "dense" or (jacobian == "auto" and system.width < FEW):
            return DENSE
        found = _pattern_of(system)
        if found is None:
            if jacobian == "sparse":
                raise ValueError(f"{title}: the pattern of ∂f/∂y depends on integers that are not known while a "
                                 "program is traced. Give it: jacobian=pattern.")  # fmt: skip
            return DENSE
    else:
        n = system.width
        if np.shape(jacobian) != (n, n):
            raise ValueError(f"{title}: jacobian has shape {np.shape(jacobian)}; y has {n} numbers, so that the "
                             f"pattern of ∂f/∂y is a matrix ({n}, {n}).")  # fmt: skip
        found = as_pattern(jacobian)
    entries = found
    if masses:
        known = known_value(masses[0])
        if known is None:
            return DENSE
        entries = entries + _as_sparse(known)
    return _form(entries, isinstance(jacobian, str) and jacobian == "auto", isinstance(jacobian, str))


def _as_sparse(matrix: Any) -> Any:
    from scipy.sparse import csr_array

    return csr_array(np.asarray(matrix) != 0)


def _form(entries: Any, is_auto: bool, is_whole: bool) -> Any:
    from scipy.sparse import csr_array, eye_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = entries.shape[0]
    whole = csr_array((entries + eye_array(n, dtype=bool)).astype(bool))
    whole.sum_duplicates()
    whole.sort_indices()
    key = (n, whole.indices.tobytes(), whole.indptr.tobytes(), is_auto, is_whole)
    if key in _found:
        return _found[key]
    coloring = color(whole, "column")
    form: Any = DENSE
    if not is_auto or (coloring.number <= n // 3 and whole.nnz <= 0.3 * n * n):
        order = np.asarray(reverse_cuthill_mckee(whole, symmetric_mode=False))
        position = np.argsort(order)
        rows = np.repeat(np.arange(n), np.diff(whole.indptr))
        distance = position[rows] - position[whole.indices]
        low, up = int(max(distance.max(), 0)), int(max(-distance.min(), 0))
        pattern = SparsePattern(coloring)
        is_band = low + up + 1 <= DIAGONALS
        form = (
            Sparse(pattern, tuple(order.tolist()), low, up, is_whole)
            if is_band
            else Sparse(pattern, (), 0, 0, is_whole)
        )
    _remember(key, form)
    return form


def _remember(key: Any, value: Any) -> None:
    _found[key] = value
    while len(_found) > REMEMBERED:
        _found.popitem(last=False)


def check_split(title: str, method: Any, system: System) -> None:
    """Warn where q′ depends on q, or p′ on p: a method that moves one after the other has order 1 then."""
    if not method.splits or system.size % 2:
        return
    found, n = _pattern_of(system), system.size // 2
    if found is None:
        return
    at = found.tocoo()
    rows, columns = at.row < n, at.col < n
    both = (at.row < 2 * n) & (at.col < 2 * n) & (rows == columns)
    if np.any(both):
        which = " and ".join(
            text for here, text in ((rows, "q′ depends on q"), (~rows, "p′ depends on p")) if np.any(both & here)
        )
        warn_user(
            f"{title}: {method.name} is for y = (q, p) whose q′ depends on p alone and p′ on q alone; here {which}. "
            "Its order is 1 then, and energy may drift. Take 'reversible-heun', 'dop853' or another method for any "
            "equation."
        )


def _pattern_of(system: System) -> Any:
    """Where ∂f/∂y can be nonzero, for all values of the floats that f reads; None if that cannot be told."""
    whole: list[Any] = []
    for value in system.own_theta:
        kind = type_of(value)
        if kind.dtype.kind in "fc":
            whole.append(np.zeros(kind.shape, kind.dtype))
            continue
        known = known_value(value)
        if known is None:
            return None
        whole.append(known)
    is_float = [v.dtype.kind in "fc" for v in whole]
    key = (
        system.program,
        system.stiff_program,
        tuple(v.tobytes() for v, f in zip(whole, is_float, strict=True) if not f),
    )
    if key not in _found:

        def F(y: Value, t: Value, *floats: Value) -> Value:
            given = iter(floats)
            theta = [next(given) if f else v for v, f in zip(whole, is_float, strict=True)]
            return system.changed(theta, has_mass=False).implicit(t, y)

        floats = [np.asarray(v) for v, f in zip(whole, is_float, strict=True) if f]
        _remember(key, find_pattern(F)(np.zeros(system.width, system.dtype), np.zeros(()), *floats))
    return _found[key]

"""The numbers that `solve` is given, checked as far as they are known."""

from __future__ import annotations

from operator import index as operator_index
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.debug import check
from adjoint.integrate.system import Layout
from adjoint.program.trace import TRACED, primal
from adjoint.program.types import Value

__all__ = [
    "joined",
    "known_value",
    "read_count",
    "read_mass",
    "read_number",
    "read_size",
    "read_span",
    "read_stops",
    "read_times",
    "read_tolerance",
]


def known_value(value: Any) -> Any:
    """The number behind a value, None while a program is traced."""
    found = primal(value) if isinstance(value, TRACED) else value
    return None if isinstance(found, TRACED) else np.asarray(found)


def _float(title: str, name: str, value: Any) -> Value:
    if isinstance(value, TRACED):
        return value if value.dtype == np.float64 else value.astype(np.float64)
    try:
        found = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{title}: {name} must be real numbers; got {value!r}.") from None
    return found[()]


def read_number(title: str, name: str, value: Any) -> Value:
    """A number that is not NaN."""
    found = _float(title, name, value)
    known = known_value(found)
    if np.ndim(found) != 0 or (known is not None and np.isnan(known)):
        raise ValueError(f"{title}: {name} is {value!r}; it must be one number.")
    return found


def read_size(title: str, name: str, value: Any) -> Value:
    """A number above zero."""
    found = read_number(title, name, value)
    message = f"{title}: {name} is {{}}; it must be positive."
    known = known_value(found)
    if known is None or known.ndim:
        check(found > 0, message, found)
    elif not known > 0:
        raise ValueError(message.format(value))
    return found


def read_count(title: str, name: str, count: Any) -> int:
    """An integer above zero."""
    try:
        found = operator_index(count)
    except TypeError:
        raise TypeError(f"{title}: {name} is {count!r}; it is an integer.") from None
    if found < 1:
        raise ValueError(f"{title}: {name} is {found}; it must be positive.")
    return found


def read_span(title: str, span: Any) -> tuple[Value, Value]:
    """(t₀, t₁): two finite times that differ."""
    try:
        t0, t1 = span
    except (TypeError, ValueError):
        raise ValueError(f"{title}: span must be a pair (t0, t1); got {span!r}.") from None
    t0, t1 = (_float(title, "span", t) for t in (t0, t1))
    if np.ndim(t0) or np.ndim(t1):
        raise ValueError(f"{title}: span must be a pair of numbers (t0, t1); its ends have shapes {np.shape(t0)} and "
                         f"{np.shape(t1)}. ad.vmap solves for many spans.")  # fmt: skip
    a, b = known_value(t0), known_value(t1)
    if a is not None and b is not None:
        if not (np.isfinite(a) and np.isfinite(b)):
            raise ValueError(f"{title}: span is ({a}, {b}); both ends must be finite. Stop at an event, or substitute "
                             "t = s / (1 - s).")  # fmt: skip
        if a == b:
            raise ValueError(f"{title}: span is one point, ({a}, {b}); its ends must differ.")
    return t0, t1


def joined(numbers: Any) -> Any:
    """A list of numbers, some of which are traced, as one vector; anything else as it is."""
    if not isinstance(numbers, list | tuple) or not any(isinstance(v, TRACED) for v in numbers):
        return numbers
    return np.stack([v if isinstance(v, TRACED) else np.asarray(v, float) for v in numbers])


def read_times(title: str, save: Any, t0: Value, t1: Value) -> Value:
    """Times at which y is given: sorted along the span, and inside."""
    if save is None:
        return np.zeros(0)
    found = _float(title, "save", joined(save))
    if np.ndim(found) != 1:
        raise ValueError(f"{title}: save has shape {np.shape(found)}; it is a list of times. Write np.atleast_1d(…).")
    if not found.shape[0]:
        raise ValueError(f"{title}: save is empty. Leave it out for the end alone.")
    return _ordered(title, "save", found, t0, t1)


def read_stops(title: str, stops: Any, t0: Value, t1: Value) -> Value:
    """Times at which f jumps: sorted along the span, and inside."""
    if isinstance(stops, list | tuple) and not len(stops):
        return np.zeros(0)
    return _ordered(title, "stops", _float(title, "stops", np.atleast_1d(joined(stops))), t0, t1)


def _ordered(title: str, name: str, times: Value, t0: Value, t1: Value) -> Value:
    known, a, b = known_value(times), known_value(t0), known_value(t1)
    if known is None or a is None or b is None or known.ndim != 1 or a.ndim or b.ndim:
        along = np.where(t1 >= t0, 1.0, -1.0) * np.concatenate([np.stack([t0]), times, np.stack([t1])])
        message = f"{title}: {name} is {{}}, which is not in the order of the span ({{}}, {{}}) or lies outside of it."
        check(np.all(along[1:] >= along[:-1]), message, times, t0, t1)
        return times
    if np.any(np.isnan(known)):
        raise ValueError(f"{title}: {name} holds NaN.")
    sign = 1.0 if b > a else -1.0
    if np.any(np.diff(known) * sign < 0):
        raise ValueError(f"{title}: {name} is not in the order of the span, from {a} to {b}. Write np.sort(…)"
                         f"{'' if sign > 0 else '[::-1]'}.")  # fmt: skip
    outside = known[(known - a) * sign < 0], known[(known - b) * sign > 0]
    for part in outside:
        if part.size:
            raise ValueError(f"{title}: {name} has {part.flat[0]}, which lies outside the span ({a}, {b}).")
    return times


def read_mass(title: str, mass: Any, method: Any, layout: Layout) -> list[Value]:
    """The mass matrix, if there is one."""
    if mass is None:
        return []
    if not getattr(method, "takes_mass", False):
        raise ValueError(f"{title}: mass= needs a method for M y′ = f, and {method.name} is none. Take 'rodas5p'.")
    n = layout.size
    found = mass if isinstance(mass, TRACED) else np.asarray(mass, layout.dtype)
    known = known_value(found)
    if known is not None and not np.all(np.isfinite(known)):
        raise ValueError(f"{title}: mass holds NaN or infinity.")
    if found.shape == (n,):
        found = np.diag(found)
    if found.shape != (n, n):
        raise ValueError(f"{title}: mass has shape {found.shape}; y has {n} numbers, so that it is a matrix ({n}, {n}) "
                         "or its diagonal.")  # fmt: skip
    return [found]


def read_tolerance(title: str, name: str, value: Any, layout: Layout) -> Value:
    """One number, or a tree like y0 of them: a number for each number of y."""
    is_number = isinstance(value, int | float) or (hasattr(value, "shape") and value.shape == ())
    if not is_number:
        leaves = tree.leaves_like(f"{title}: {name}", layout.structure, value)
        whole: list[Any] = []
        for leaf, t in zip(leaves, layout.types, strict=True):
            each = _float(title, name, leaf)
            if np.ndim(each) and np.shape(each) != t.shape:
                raise ValueError(f"{title}: {name} has shape {np.shape(each)} where y0 has {t.shape}. Give one number, "
                                 "or one for each number of y0.")  # fmt: skip
            flat = np.reshape(np.broadcast_to(each, t.shape), (-1,))
            whole += [flat, flat] if t.dtype.kind == "c" else [flat]
        value = np.concatenate(whole)
    found = _float(title, name, value)
    known = known_value(found)
    if known is None:
        check(np.all(found > 0), f"{title}: {name} is {{}}; tolerances are positive.", found)
        return found
    least = 4 * float(np.finfo(layout.dtype).eps) if name == "rtol" else 0.0
    if not np.all(known > 0):
        raise ValueError(f"{title}: {name} is {value}; tolerances are positive. Give {name}="
                         f"{'1e-6' if name == 'rtol' else '1e-9'}, say.")  # fmt: skip
    if np.any(known < least):
        raise ValueError(f"{title}: {name} is {value}, below what rounding in {layout.dtype} allows. Give at least "
                         f"{least:.2g}.")  # fmt: skip
    return found

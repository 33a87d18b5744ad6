"""Choosing and reordering: permutations are the order of random words."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError, TraceError
from adjoint.program.op import primitive
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.random.discrete import Discrete
from adjoint.random.draws import Draw
from adjoint.random.parameters import array, delivered, frozen, known, numbers, require, sizes

SPARSE = 50  # fewer than one in so many is a sparse choice


@primitive
class RandomSubset(Draw):
    """k different numbers below n, n much larger than k, in random order: Floyd's algorithm.

    For j = n-k, …, n-1 take t = ⌊w (j+1)⌋, or j if t was taken before; then order what was found by further words.
    """

    shape: tuple[int, ...]  # (k,)
    population: int

    @property
    def title(self) -> str:
        return "random_subset"

    def drawn_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int64)

    def evaluate(self, *xs: Value) -> Value:
        key, counter = xs
        words, order = self.words(key, counter), self.words(key, counter, 1)
        (k,) = self.shape
        result = np.empty(words.shape, np.int64)
        for stream in np.ndindex(words.shape[:-1]):
            taken: dict[int, None] = {}
            for j, word in zip(range(self.population - k, self.population), words[stream].tolist()):
                t = word * (j + 1) >> 64
                taken[j if t in taken else t] = None
            chosen = np.fromiter(taken, np.int64, k)
            result[stream] = chosen[np.argsort(order[stream], kind="stable")]
        return result


class Ordering(Discrete):
    """Choices and permutations."""

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Value:
        """Elements of `a` (or integers below it), with probabilities `p`.

        Without replacement and with probabilities, the elements with the smallest e / p are taken, e exponential: the
        same distribution as taking one after the other. `shuffle` is here for NumPy's sake: the order is always random.
        """
        a = array(a)
        if np.ndim(a) == 0 and a.dtype.kind not in "iu":
            raise TypeError(f"choice: a must be an array or a positive integer, not {a}.")
        n = int(a) if np.ndim(a) == 0 else np.shape(a)[axis]
        shape = () if size is None else sizes("choice", size)
        count = 1
        for length in shape:
            count *= length
        if n <= 0 and count:
            raise ValueError("choice: a must be a positive integer, or an array that is not empty along the axis.")
        if not replace and count > n:
            raise ValueError(f"choice: cannot take {count} of {n} elements without replacement.")
        index = self._chosen(n, shape, count, replace, None if p is None else _probabilities(p, n, count, replace))
        return index if np.ndim(a) == 0 else np.take(a, index, axis=axis)

    def _chosen(self, n: int, shape: tuple[int, ...], count: int, replace: bool, p: Value) -> Value:
        if replace and p is None:
            return self.integers(0, max(n, 1), size=shape)
        if replace:
            below = np.cumsum(p)
            u = self._standard("choice", "uniform", shape)
            return np.minimum(np.searchsorted(below / below[-1], u, side="right"), n - 1)
        if p is not None:
            with np.errstate(divide="ignore"):
                clocks = -np.log(self._standard("choice", "open_uniform", (n,))) / p
            return np.reshape(np.argsort(clocks, kind="stable")[:count], shape)
        if count * SPARSE < n:
            return np.reshape(self._draw("choice", RandomSubset((count,), n)), shape)
        return np.reshape(self._order("choice", (n,), 0)[:count], shape)

    def permutation(self, x: Any, axis: int = 0) -> Value:
        """A copy of x with its slices along the axis in random order; the numbers below x when it is one."""
        x = array(x)
        if np.ndim(x) == 0:
            if x.dtype.kind not in "iu":
                raise TypeError(f"permutation: x must be an array or an integer, not {x}.")
            return self._order("permutation", (int(x),), 0)
        return np.take(x, self._order("permutation", (np.shape(x)[axis],), 0), axis=axis)

    def permuted(self, x: Any, *, axis: int | None = None, out: Any = None) -> Value:
        """A copy of x with each slice along the axis in a random order of its own; all of x when there is no axis."""
        x = array(x)
        if axis is None:
            order = self._order("permuted", (int(np.prod(np.shape(x))),), 0)
            drawn = np.reshape(np.take(np.reshape(x, (-1,)), order), np.shape(x))
        else:
            drawn = np.take_along_axis(x, self._order("permuted", np.shape(x), axis), axis=axis)
        return delivered("permuted", drawn, out)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the slices of x along the axis in random order, in place. x is an array, traced or not, or a list."""
        if isinstance(x, MutableSequence) and axis == 0:
            order = self._order("shuffle", (len(x),), 0)
            if isinstance(order, Tracer):
                raise TraceError("shuffle: a list cannot be put in a traced order. Use permutation of an array.")
            x[:] = [x[i] for i in order.tolist()]
            return
        if not isinstance(x, Tracer | np.ndarray):
            raise TypeError(f"shuffle: x must be an array or a list, not {type(x).__name__}; permutation makes a copy.")
        if not x.shape:
            raise ShapeError("shuffle: a number has no order.")
        order: Any = self._order("shuffle", (np.shape(x)[axis],), 0)
        if isinstance(order, Tracer) and not isinstance(x, Tracer):
            raise TraceError(
                "shuffle: a plain array cannot be put in a traced order in place. Use x = rng.permutation(x)."
            )
        target: Any = x
        target[...] = np.take(target, array(order), axis=axis)

    def _order(self, call: str, shape: tuple[int, ...], axis: int) -> Value:
        """Random permutations along an axis."""
        return np.argsort(self._words(call, shape), axis=axis, kind="stable")


def _probabilities(p: Any, n: int, count: int, replace: bool) -> Value:
    (p,) = numbers("choice", p=p)
    if np.shape(p) != (n,):
        raise ShapeError(f"choice: p has shape {np.shape(p)}, but there are {n} elements to choose from.")
    require("choice", "p", p, "a probability")
    total, values = known(np.sum(p)), known(p)
    if total is not None and np.any(np.abs(np.asarray(total) - 1.0) > 1e-8):
        raise ValueError(f"choice: the probabilities p must add up to 1; they add up to {np.ravel(total)[0]}.")
    if not replace and values is not None and np.any(np.count_nonzero(values, axis=-1) < count):
        raise ValueError(f"choice: fewer than {count} of the probabilities p are positive.")
    return frozen("choice", "p", p)

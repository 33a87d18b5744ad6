"""np.vectorize: a function of numbers, or of small arrays, on arrays; one call for each element.

(vmap makes one call for all.)
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import NO_VALUE, as_array, is_traced
from adjoint.numpy.shaping import convert
from adjoint.program.trace import live_trace
from adjoint.program.types import Value

_CORE = r"\(\s*(?:\w+(?:\s*,\s*\w+)*)?\s*\)"
_CORES = rf"{_CORE}(?:\s*,\s*{_CORE})*"
_SIGNATURE = rf"^\s*({_CORES})\s*->\s*({_CORES})\s*$"


def parse(signature: str) -> tuple[list[list[str]], list[list[str]]]:
    """The names of the core axes of the arguments and of the results."""
    found = re.match(_SIGNATURE, signature)
    if found is None:
        raise ValueError(f"Not a valid gufunc signature: {signature}")
    return tuple(  # type: ignore[return-value]
        [re.findall(r"\w+", core) for core in re.findall(_CORE, side)] for side in found.groups()
    )


class vectorize:  # noqa: N801
    """A function of numbers on arrays, element by element. Inside a transformation it takes traced values too."""

    def __init__(
        self,
        pyfunc: Any = NO_VALUE,
        otypes: Any = None,
        doc: str | None = None,
        excluded: Any = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        self.pyfunc, self.otypes, self.signature, self.cache = pyfunc, otypes, signature, cache
        self.excluded = set() if excluded is None else set(excluded)
        self._options = {
            "otypes": otypes, "doc": doc, "excluded": excluded, "cache": cache, "signature": signature
        }  # fmt: skip
        self._cores = None if signature is None else parse(signature)
        if pyfunc is not NO_VALUE:
            self._plain = np.vectorize(pyfunc, **self._options)
            functools.update_wrapper(self, pyfunc)
            self.__doc__ = self._plain.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.pyfunc is NO_VALUE:  # as a decorator with options
            return vectorize(args[0], **self._options)
        if live_trace() is None and not any(is_traced(v) for v in (*args, *kwargs.values())):
            return self._plain(*args, **kwargs)
        positions: list[Any] = [i for i in range(len(args)) if i not in self.excluded]
        positions += [name for name in kwargs if name not in self.excluded]
        arrays = [as_array(kwargs[p] if isinstance(p, str) else args[p]) for p in positions]

        def call(*values: Any) -> Any:
            given: list[Any] = list(args)
            named = dict(kwargs)
            for position, v in zip(positions, values, strict=True):
                if isinstance(position, str):
                    named[position] = v
                else:
                    given[position] = v
            return self.pyfunc(*given, **named)

        return self._mapped(call, arrays)

    def _mapped(self, call: Callable[..., Any], arrays: Sequence[Value]) -> Any:
        """All calls, one after another, and their results as arrays."""
        cores = [[] for _ in arrays] if self._cores is None else self._cores[0]
        if len(cores) != len(arrays):
            raise TypeError(f"wrong number of positional arguments: expected {len(cores)}, got {len(arrays)}")
        sizes = self._sizes(cores, arrays)
        loops = [x.shape[: x.ndim - len(core)] for x, core in zip(arrays, cores, strict=True)]
        shape = np.broadcast_shapes(*loops)
        rows = [
            np.reshape(np.broadcast_to(x, (*shape, *x.shape[len(loop) :])), (math.prod(shape), *x.shape[len(loop) :]))
            for x, loop in zip(arrays, loops, strict=True)
        ]
        results = [call(*[row[i] for row in rows]) for i in range(math.prod(shape))]
        if not results:
            return self._empty(shape, sizes)
        several = isinstance(results[0], tuple)
        columns = list(zip(*results, strict=True)) if several else [results]
        wanted = None if self._cores is None else self._cores[1]
        if wanted is not None and len(wanted) != len(columns):
            raise ValueError(f"wrong number of outputs from pyfunc: expected {len(wanted)}, got {len(columns)}")
        parts = [self._joined(column, shape, i, sizes) for i, column in enumerate(columns)]
        return tuple(parts) if several else parts[0]

    def _sizes(self, cores: list[list[str]], arrays: Sequence[Value]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for x, core in zip(arrays, cores, strict=True):
            if x.ndim < len(core):
                raise ValueError(f"{x.ndim}-dimensional argument does not have enough dimensions for core ({core})")
            for name, n in zip(core, x.shape[x.ndim - len(core) :], strict=True):
                if sizes.setdefault(name, n) != n:
                    raise ValueError(f"inconsistent size for core dimension {name!r}: {n} vs {sizes[name]}")
        return sizes

    def _joined(self, column: Any, shape: tuple[int, ...], i: int, sizes: dict[str, int]) -> Value:
        arrays = [as_array(r) for r in column]
        if self._cores is None and arrays[0].ndim:
            raise ValueError("the function of np.vectorize without a signature must give numbers")
        for name, n in zip(() if self._cores is None else self._cores[1][i], arrays[0].shape, strict=True):
            if sizes.setdefault(name, n) != n:
                raise ValueError(f"inconsistent size for core dimension {name!r}: {n} vs {sizes[name]}")
        z = np.stack(arrays) if is_traced(arrays) else np.asarray(arrays)
        z = np.reshape(z, (*shape, *z.shape[1:]))
        types = self._types()
        return z if types is None else convert(z, types[i])

    def _types(self) -> list[np.dtype[Any]] | None:
        return None if self.otypes is None else [np.dtype(t) for t in self.otypes]

    def _empty(self, shape: tuple[int, ...], sizes: dict[str, int]) -> Any:
        types = self._types()
        if types is None:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        cores = [[] for _ in types] if self._cores is None else self._cores[1]
        parts: list[Any] = [
            np.zeros((*shape, *[sizes[name] for name in core]), t) for core, t in zip(cores, types, strict=True)
        ]
        return tuple(parts) if len(parts) > 1 else parts[0]

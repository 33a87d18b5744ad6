"""`Generator`: NumPy's method names, on streams that are functions of a key and a counter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import TraceError
from adjoint.base.source import describe, here
from adjoint.program.trace import Tracer
from adjoint.random.bits import seed_key
from adjoint.random.continuous import Continuous
from adjoint.random.ordering import Ordering
from adjoint.random.stream import program_trace
from adjoint.tree.registry import register


class Generator(Continuous, Ordering):
    """A random generator; made by `default_rng(seed)`.

    Its methods are those of `numpy.random.Generator`. Drawing moves its counter, and nothing else; the same seed gives
    the same numbers on every machine. It is a container of two arrays, key and counter, so it passes through
    transformations, loops and branches: what is drawn from it inside moves it outside, too.

    ```python
    one, two = ad.random.default_rng(7), ad.random.default_rng(7)
    one.normal() == ad.jit(lambda rng: rng.normal())(two)  # → True
    ```
    """

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(np.random.Generator, name):
            raise AttributeError(
                f"ad.random has no {name} yet. Draw with NumPy's generator outside the function that is transformed, "
                "and pass it in."
            )
        raise AttributeError(f"a random generator has no {name!r}")


def default_rng(seed: int | Sequence[int] | Generator | None = None) -> Generator:
    """A generator from an integer, or a sequence of them; from the operating system's entropy when there is none.

    A generator is returned as it is.

    ```python
    rng = ad.random.default_rng(0)
    rng.normal(size=2).shape, rng.counter > 0  # → ((2,), True)
    ```
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, Tracer):
        raise TraceError(
            f"default_rng: the seed is a traced {seed.type}, at {describe(here())}. Make the generator outside, and "
            "take rng.at(seed) from it."
        )
    if seed is None and program_trace() is not None:
        raise TraceError(
            f"default_rng: no seed was given, at {describe(here())}, inside a function that is traced once and run "
            "often: every run would see the same numbers. Make the generator outside, and pass it in."
        )
    return Generator(seed_key(seed), np.uint64(0))


def _taken_apart(rng: Generator) -> tuple[Mapping[str, Any], None]:
    return {"key": rng.key, "counter": rng.counter}, None


def _put_together(static: None, leaves: Mapping[str, Any]) -> Generator:
    return Generator(leaves["key"], leaves["counter"])


register(Generator, _taken_apart, _put_together)
